"""Every command has help and an example that is run; every command line of the documentation exists."""

import shlex

import pytest
from rich.text import Text

from command_tree import ALL
from gem_index_cli.examples import EXAMPLES
from pages import DOCS, GUIDES, NOT_RUN, SERVED, commands, shell_lines

PAPER = DOCS / "paper.md"  # whose commands plugins/paper has, and its tests read
PAGES = [*GUIDES, SERVED, *(page for page in sorted(DOCS.glob("*.md")) if page != PAPER)]


def path_of(command):
    """The path of the command that a line runs: past the options of every command, then one name or two."""
    words = shlex.split(command)[1:]
    while words[0] == "--home":
        del words[:2]
    path = tuple(words[:2]) if tuple(words[:2]) in ALL else tuple(words[:1])
    return path, words[len(path) :]


def lines_of(pages):
    return {
        command
        for page in pages
        for line in shell_lines(page.read_text())
        for command in commands(line)
    }


RUN = {path_of(command)[0] for command in lines_of([*GUIDES, SERVED]) - set(NOT_RUN)}
"""Commands that a test runs as a page names them (test_guides.py, tests/server/test_pages.py)."""


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_has_help_and_a_page_with_an_example_that_runs(path):
    command = ALL[path]
    assert command.help
    for parameter in command.params:
        if parameter.name not in ("name", "help"):
            told = getattr(parameter, "help", None)
            assert told, f"{' '.join(path)}: {parameter.name}"
            assert Text.from_markup(told).plain == told  # rich leaves out what it takes for markup
    assert EXAMPLES[" ".join(path)]
    left_out = {path_of(command)[0] for command in NOT_RUN}
    assert path in RUN | left_out
    assert left_out - RUN == {
        ("mcp",),
        ("watch",),
    }  # whose own tests run them


def test_what_is_left_out_stands_in_a_page():
    assert set(NOT_RUN) <= lines_of(GUIDES)


@pytest.mark.parametrize("line", sorted(lines_of(PAGES)))
def test_the_command_lines_of_pages_parse(line):
    path, words = path_of(line)
    ALL[path].make_context("gem-index", words)


def test_every_command_that_prints_results_takes_json():
    servers = {("mcp",), ("serve",)}
    commands = [command for path, command in ALL.items() if path not in servers]
    assert all("as_json" in {p.name for p in command.params} for command in commands)
