"""The pytest plugin of ``parts.py``: marks each test with its part, and says what a part that is not installed needs."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from parts import (
    CORE,
    PARTS,
    SHARED,
    all_installed,
    line_for_program,
    missing,
    part_of,
    parts_in,
)

TESTS = Path(__file__).resolve().parent

_missing = cache(missing)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--require-parts",
        action="store_true",
        help="fail, rather than skip, tests that need a package or program that is missing",
    )
    parser.addoption(
        "--one-of-each",
        action="store_true",
        help="run each test with one of its arguments only, drawn by the seed of the order",
    )
    parser.addoption(
        "--every", type=int, default=1, help="with 3, run every third test of the drawn order"
    )


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers; a path of a part that is named on the command line is selected by that."""
    # Workers and the processes that tests start inherit it: threads that wait actively take the processors of each other.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    config.addinivalue_line("markers", f"{CORE}: what pytest runs without -m")
    for name, part in PARTS.items():
        config.addinivalue_line("markers", f"{name}: {part.summary}")
    if config.option.markexpr == CORE:
        named = {part_of(_below_tests(config, argument)) for argument in config.args}
        config.option.markexpr = " or ".join([CORE, *sorted(named - {CORE})])


def pytest_report_header(config: pytest.Config) -> str:
    chosen = config.option.markexpr or "all"
    return f'parts: {chosen} (of {CORE}, {", ".join(PARTS)}; -m "" runs all)'


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Do not import files of which -m selects no test: that would take longer than to collect the core."""
    selected = set(config.option.markexpr.split(" or "))
    if collection_path.suffix != ".py" or not selected <= {CORE, *PARTS}:
        return None  # an expression that only pytest evaluates
    return True if selected.isdisjoint(parts_in(_name(collection_path))) else None


def pytest_pycollect_makemodule(
    module_path: Path, parent: pytest.Collector
) -> pytest.Collector | None:
    """Put one test in the place of a file that cannot be imported, for its part is not installed."""
    if _missing(part_of(_name(module_path))):
        found: pytest.Collector = _NotInstalled.from_parent(parent, path=module_path)
        return found
    return None


def pytest_itemcollected(item: pytest.Item) -> None:
    item.add_marker(_part(item))


@pytest.hookimpl(trylast=True)  # after -m has selected, and the order was drawn
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Keep one item of each test with --one-of-each, and every third item with --every 3."""
    kept = items
    if config.option.one_of_each:
        kept = list({item.nodeid.partition("[")[0]: item for item in items}.values())
    kept = kept[:: config.option.every]
    config.hook.pytest_deselected(items=list(set(items).difference(kept)))
    items[:] = kept


def pytest_runtest_setup(item: pytest.Item) -> None:
    part = _part(item)
    if line := _missing(part):
        _absent(item.config, f"tests of the part {part} need: {line}")
    if item.get_closest_marker("shared_data") and not SHARED.is_dir():
        pytest.skip("the research data sets are not beside this checkout")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how long the tests of each part took, with their set-up; tests in several processes are added up."""
    seconds: Counter[str] = Counter()
    for report in chain.from_iterable(terminalreporter.stats.values()):
        if isinstance(report, pytest.TestReport):
            seconds.update(
                {name: report.duration for name in (CORE, *PARTS) if name in report.keywords}
            )
    if seconds:
        told = ", ".join(f"{name} {took:.0f}" for name, took in seconds.most_common())
        terminalreporter.write_line(f"seconds of tests: {told}")


@pytest.fixture(scope="session")
def need_program(request: pytest.FixtureRequest) -> Any:
    """Skip the test, or with --require-parts fail, if a program is missing: need_program('strace')."""

    def need(program: str) -> None:
        if line := line_for_program(program):
            _absent(request.config, f"the test needs: {line}")

    return need


class _NotInstalled(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        yield _NeedsItsPart.from_parent(self, name="not_installed")


class _NeedsItsPart(pytest.Item):
    def runtest(self) -> None:
        raise AssertionError("the part has been installed since it was looked for")


def _absent(config: pytest.Config, reason: str) -> None:
    if config.option.require_parts or all_installed():
        pytest.fail(reason, pytrace=False)
    pytest.skip(reason)


def _part(item: pytest.Item) -> str:
    return part_of("::".join([_name(item.path), *item.nodeid.split("::")[1:]]))


def _name(path: Path) -> str:
    """Return the name of a file in the table of parts."""
    return path.relative_to(TESTS).as_posix() if path.is_relative_to(TESTS) else path.as_posix()


def _below_tests(config: pytest.Config, argument: str) -> str:
    """Return the name of a file, a folder or a test that the command line names."""
    path, *rest = argument.split("::")
    return "::".join([_name((config.invocation_params.dir / path).resolve()), *rest])
