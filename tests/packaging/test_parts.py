"""The table of parts names tests that exist, and its extras stand in pyproject.toml."""

import tomllib
from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from choosing import pytest_collection_modifyitems, pytest_terminal_summary
from pages import ROOT
from parts import CORE, PARTS, part_of, parts_in

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


@dataclass(frozen=True)
class Item:
    """What the plugin reads of a test."""

    nodeid: str


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


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ({}, ["a::one[1]", "a::one[2]", "a::two", "b::three[x]", "b::three[y]"]),
        ({"one_of_each": True}, ["a::one[2]", "a::two", "b::three[y]"]),
        ({"every": 2}, ["a::one[1]", "a::two", "b::three[y]"]),
        ({"one_of_each": True, "every": 2}, ["a::one[2]", "b::three[y]"]),
    ],
)
def test_a_part_of_the_tests_in_their_drawn_order(options, kept):
    names = ["a::one[1]", "a::one[2]", "a::two", "b::three[x]", "b::three[y]"]
    items = list(map(Item, names))
    left_out = []
    config = SimpleNamespace(
        option=SimpleNamespace(**{"one_of_each": False, "every": 1, **options}),
        hook=SimpleNamespace(pytest_deselected=lambda items: left_out.extend(items)),
    )
    pytest_collection_modifyitems(config, items)
    assert [item.nodeid for item in items] == kept
    assert {item.nodeid for item in left_out} == set(names) - set(kept)
