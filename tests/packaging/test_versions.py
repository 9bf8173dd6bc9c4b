"""Versions stand in one place each: the pages and files that repeat them are held to the pyproject files."""

import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

from pages import DOCS, ROOT

PLUGINS = {
    path.parent.relative_to(ROOT).as_posix(): tomllib.loads(path.read_text())["project"]
    for path in sorted(ROOT.glob("plugins/**/pyproject.toml"))
}
ROWS = {
    row[0].strip("`"): row[1:]
    for row in re.findall(
        r"^\| (\S+) \| (\S+) \| (.+?) \| (.+?) \|$",
        (DOCS / "cookbook" / "README.md").read_text().partition("## Versions")[2],
        re.MULTILINE,
    )
    if row[0].startswith("`")
}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_plugin_has_a_row():
    assert sorted(ROWS) == sorted(project["name"] for project in PLUGINS.values())
    assert list(ROWS) == sorted(ROWS)


@pytest.mark.parametrize("folder", PLUGINS)
def test_a_row_says_what_the_plugin_declares(folder):
    project = PLUGINS[folder]
    version, needs, tested = ROWS[project["name"]]
    gem, *others = project["dependencies"]
    assert version == project["version"]
    assert gem == "gem-index>=0.1"  # the page says so of all of them
    assert needs == ", ".join(f"`{needed}`" for needed in others)
    assert project["requires-python"] == PROJECT["requires-python"] == ">=3.11"
    frameworks = [Requirement(needed) for needed in others if "gem" not in needed]
    said = dict(each.split() for each in tested.split(", "))
    assert list(said) == [needed.name for needed in frameworks]
    for needed in frameworks:
        assert needed.specifier.contains(said[needed.name], prereleases=True)


def test_the_lowest_versions_are_those_that_are_tested():
    """.ci/minimum.txt pins each dependency to the lower bound of pyproject.toml."""
    lines = (ROOT / ".ci" / "minimum.txt").read_text().splitlines()
    pinned = [line for line in lines if line and not line.startswith("#")]
    assert pinned == [needed.replace(">=", "==") for needed in PROJECT["dependencies"]]


def test_the_workflow_runs_every_python_that_is_supported():
    workflow = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    versions = re.findall(r'"(3\.\d+)"', re.search(r"python: \[(.*)\]", workflow)[1])
    classifiers = PROJECT["classifiers"]
    assert [f"Programming Language :: Python :: {version}" for version in versions] == [
        name for name in classifiers if re.search(r":: 3\.\d+$", name)
    ]
    assert all(version in SpecifierSet(PROJECT["requires-python"]) for version in versions)
