"""The words of CONTRIBUTING.md: each is defined once, and the retired ones stay out of what people read."""

import ast
import re
from collections import Counter

import pytest

from command_tree import ALL
from pages import DOCS, ROOT

CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
SECTION = CONTRIBUTING.partition("\n## Words\n")[2].partition("\n## ")[0]
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")]
    for line in SECTION.splitlines()
    if line.startswith("|")
][2:]
AFTER = SECTION.rpartition("|\n")[2].partition("`tests/")[0]
RETIRED = {
    words for cell in (*(row[2] for row in ROWS), AFTER) for words in re.findall(r"`([^`]+)`", cell)
}

PAGES = [
    *(ROOT / name for name in ("README.md", "SECURITY.md")),
    *(page for page in sorted(DOCS.rglob("*.md")) if page.parent.name != "api"),  # docstrings
    *sorted((ROOT / "plugins").rglob("README.md")),
    ROOT / "gem_index/server/page/words.en.json",
]
SOURCES = [
    path
    for folder in ("gem_index", "cli", "plugins")
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "tests" not in path.parts
]


def found_in(text):
    """The retired words of a text, also where a line ends between two words."""
    joined = " ".join(text.split()).lower()
    return [
        words
        for words in sorted(RETIRED)
        if words.lower() in joined and re.search(rf"\b{re.escape(words.lower())}\b", joined)
    ]


def prose(page):
    """A page without its blocks and spans of code."""
    return re.sub(r"`[^`\n]*`", "", re.sub(r"^```.*?^```$", "", page, flags=re.M | re.S))


def strings(source):
    """The strings of a module that are no docstrings, among them its messages."""
    tree = ast.parse(source)
    alone = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def test_each_word_is_defined_once():
    assert len(ROWS) > 40
    assert all(len(row) == 3 and row[0] and row[1] for row in ROWS)
    assert [word for word, times in Counter(row[0] for row in ROWS).items() if times > 1] == []


def test_no_word_is_defined_and_retired():
    assert {"workspace", "passed over", "refused by name"} <= RETIRED
    assert RETIRED.isdisjoint(row[0] for row in ROWS)


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_pages(path):
    assert found_in(prose(path.read_text(encoding="utf-8"))) == []


def test_help_texts():
    for path, command in ALL.items():
        told = [command.help or "", *(getattr(each, "help", None) or "" for each in command.params)]
        assert found_in("\n".join(told)) == [], path


def test_messages():
    wrong = {
        str(path.relative_to(ROOT)): (words, text)
        for path in SOURCES
        for text in strings(path.read_text(encoding="utf-8"))
        if " " in text and (words := found_in(text))
    }
    assert wrong == {}
