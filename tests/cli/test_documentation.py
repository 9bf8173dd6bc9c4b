"""Every command has help and is in the README; every command line in the README exists."""

import re
import shlex
from pathlib import Path

import pytest

from command_tree import ALL

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_has_help_and_stands_in_the_readme(path):
    command = ALL[path]
    assert command.help
    for parameter in command.params:
        if parameter.name not in ("name", "help"):
            assert getattr(parameter, "help", None), f"{' '.join(path)}: {parameter.name}"
    assert f"gem-index {' '.join(path)}" in README


def readme_lines():
    for block in re.findall(r"```sh\n(.*?)```", README, re.S):
        for line in block.splitlines():
            yield from (part for part in line.split(" | ") if part.startswith("gem-index "))


@pytest.mark.parametrize("line", list(readme_lines()))
def test_the_readmes_command_lines_parse(line):
    words = shlex.split(line)[1:]
    path = tuple(words[:2]) if tuple(words[:2]) in ALL else tuple(words[:1])
    command = ALL[path]
    command.make_context("gem-index", words[len(path) :])


def test_every_command_that_prints_results_takes_json():
    assert all("as_json" in {p.name for p in command.params} for command in ALL.values())
