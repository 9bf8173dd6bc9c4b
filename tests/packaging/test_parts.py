"""The table of parts names tests that exist, and its extras stand in pyproject.toml."""

import subprocess
import sys
import tomllib
from types import SimpleNamespace

import pytest

from choosing import pytest_terminal_summary
from pages import ROOT
from parts import CORE, PARTS, part_of, parts_in

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@pytest.mark.parametrize("entry", [entry for part in PARTS.values() for entry in part.holds])
def test_an_entry_names_tests(entry):
    assert entry.isascii()  # pytest writes other letters of an argument as escapes
    path, *names = entry.partition("[")[0].split("::")
    file = ROOT / "tests" / path
    if not names:
        assert file.exists()
        return
    contracts = sorted((ROOT / "gem_index" / "testing").rglob("*.py")) if names[1:] else []
    lines = [line for each in (file, *contracts) for line in each.read_text().splitlines()]
    for name in names:
        assert any(line.strip().startswith((f"def {name}(", f"class {name}")) for line in lines)


def test_no_entry_stands_in_two_parts():
    entries = [entry for part in PARTS.values() for entry in part.holds]
    assert len(entries) == len(set(entries))


def test_the_longest_entry_decides():
    assert part_of("server/test_guard.py::TestKeys::test_one") == "server"
    assert part_of("server/page/test_frame.py") == "browser"
    assert part_of("servers/test_guard.py") == part_of("unit/test_index.py") == CORE
    assert parts_in("server/test_guard.py") == {"server"}


def test_every_part_that_needs_packages_has_an_extra():
    named = {f"test-{name}" for name, part in PARTS.items() if part.modules}
    assert named | {"test-all"} == {name for name in EXTRAS if name.startswith("test-")}
    everything = " ".join(EXTRAS["test-all"])
    assert all(name in everything for name in named)
    for name in named:  # each of them can be installed alone
        assert ",test" in EXTRAS[name][0]
        assert EXTRAS[name][0].startswith("gem-index[")


def test_seconds_are_added_up_by_part():
    def report(part, when, seconds):
        place = ("test_a.py", 1, "test_a")
        return pytest.TestReport("a", place, {part: 1}, "passed", None, when, duration=seconds)

    told = []
    stats = {
        "": [report("server", "setup", 2.5), report("core", "setup", 0.5)],
        "passed": [report("server", "call", 1.5), report("core", "call", 9)],
        "warnings": ["not a report"],
    }
    pytest_terminal_summary(SimpleNamespace(stats=stats, write_line=told.append))
    assert told == ["seconds of tests: core 10, server 4"]
    pytest_terminal_summary(SimpleNamespace(stats={}, write_line=told.append))
    assert len(told) == 1


def test_one_of_each_runs_every_test_with_one_of_its_arguments():
    def test_of(name):
        return name.partition("[")[0]

    def collected(*options):
        command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-n", "0", __file__]
        done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, check=True)
        return [line for line in done.stdout.decode().splitlines() if "::" in line]

    everything = set(collected())
    first, second = (set(collected("--one-of-each", f"--randomly-seed={i}")) for i in range(2))
    assert first < everything
    assert sorted(map(test_of, first)) == sorted({*map(test_of, everything)})
    assert second != first
