"""Text, Markdown, reStructuredText, HTML and notebooks."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gem_index.converting.html_pages import html_page
from gem_index.converting.pages import Page
from gem_index.converting.support import Pages, decoded, needs
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error

__all__ = [
    "html_content",
    "html_file",
    "markdown_file",
    "notebook_file",
    "rst_file",
    "text_file",
]

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*\n", re.DOTALL)
_TAG = re.compile(r"<[^<>]*>")
_TITLE_LINE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)


def text_file(path: Path, encoding: str | None) -> Pages:
    """Read a text file."""
    text = decoded(path.read_bytes(), encoding)
    if "\0" in text[:4096]:
        raise InputError("it holds zero bytes; expected text")
    yield Page("", text)


def markdown_file(path: Path, encoding: str | None) -> Pages:
    """Read a Markdown file: its title comes from the front matter or the first heading."""
    yield _markdown_page(decoded(path.read_bytes(), encoding))


def _markdown_page(source: str) -> Page:
    """Return paragraphs, lists, tables and code of Markdown as plain text; headings keep their marks."""
    from markdown_it import MarkdownIt

    title = ""
    front = _FRONT_MATTER.match(source)
    if front:
        found = _TITLE_LINE.search(front[1])
        title = found[1].strip().strip("\"'") if found else ""
        source = source[front.end() :]
    parts: list[str] = []
    cells = in_row = tight = False
    level = 0
    for token in MarkdownIt("commonmark").enable("table").parse(source):
        block, between = "", "\n\n"
        if token.type == "inline":
            block = "".join(_inline_text(child) for child in token.children or [])
            between = " | " if cells else "\n" if tight else "\n\n"
            cells = cells or in_row
            if level:
                title = title or block
                block = f"{'#' * level} {' '.join(block.split())}"
        elif token.type in ("fence", "code_block"):
            block = token.content.rstrip()
        elif token.type == "html_block":
            block = _without_tags(token.content)
        elif token.type == "tr_open":
            in_row = True
        elif token.type == "tr_close":
            in_row = cells = False
        level = int(token.tag[1]) if token.type == "heading_open" else 0
        tight = token.hidden or in_row
        if block.strip():
            parts += [between, block]
    return Page(title, "".join(parts[1:]))


def _inline_text(token: Any) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "html_inline":
        return ""
    return str(token.content)


def _without_tags(html: str) -> str:
    """Return HTML without comments and tags; a missing end of a comment is searched only once."""
    parts: list[str] = []
    place = 0
    while (begin := html.find("<!--", place)) >= 0 and (end := html.find("-->", begin + 4)) >= 0:
        parts.append(html[place:begin])
        place = end + 3
    parts.append(html[place:])
    return "".join(_TAG.sub("", part) for part in parts).strip()


def rst_file(path: Path, encoding: str | None) -> Pages:
    """Read a reStructuredText file."""
    with needs("reStructuredText"):
        from docutils import nodes
        from docutils.core import publish_doctree

        from gem_index.converting.rst_directives import accept_directives
    source = decoded(path.read_bytes(), encoding)
    accept_directives(source)
    try:
        tree = publish_doctree(
            source,
            settings_overrides={
                "report_level": 5,
                "halt_level": 5,
                "file_insertion_enabled": False,
                "raw_enabled": False,
                "warning_stream": io.StringIO(),
                "_disable_config": True,
            },
        )
    except RecursionError as error:
        raise InputError(
            "its lists are nested too deeply; expected less than 100 levels"
        ) from error
    for kind in (nodes.system_message, nodes.comment, nodes.substitution_definition):
        for node in list(tree.findall(kind)):
            node.parent.remove(node)
    for node in list(tree.findall(nodes.problematic)):  # a role or directive of Sphinx
        label = re.sub(r"^:[\w:+.-]+:`~?([^`<]+?)(?:\s*<[^>]*>)?`$", r"\1", node.astext())
        node.parent.replace(node, nodes.Text(label))
    titles = [
        title
        for title in tree.findall(nodes.title)
        if title.parent is tree or isinstance(title.parent, nodes.section)
    ]
    named = titles[0].astext() if titles else ""
    around = sum(title.parent is tree for title in titles)  # 1 if the document itself has a title
    for title in titles:
        inside = sum(isinstance(each, nodes.section) for each in _ancestors(title))
        marked = f"{'#' * min(inside + around, 6)} {title.astext()}"
        title.parent.replace(title, nodes.title("", marked))
    yield Page(named, tree.astext())


def _ancestors(node: Any) -> Iterator[Any]:
    while node.parent is not None:
        node = node.parent
        yield node


def html_file(path: Path, encoding: str | None) -> Pages:
    """Read a web page."""
    yield html_content(path.read_bytes(), encoding)


def html_content(content: bytes, encoding: str | None = None) -> Page:
    """Return the page that is read from HTML."""
    with needs("HTML"):
        return html_page(content, encoding)


def notebook_file(path: Path, _encoding: str | None) -> Pages:
    """Read a Jupyter notebook: its text cells, and the code between them."""
    try:
        notebook = json.loads(path.read_bytes())
        cells = notebook["cells"] if "cells" in notebook else notebook["worksheets"][0]["cells"]
        parts = [
            (cell["cell_type"], "".join(cell.get("source", cell.get("input", ""))))
            for cell in cells
        ]
    except (ValueError, KeyError, TypeError, IndexError, RecursionError) as error:
        raise InputError(f"it is not a notebook: {quoted_error(error)}; expected .ipynb") from error
    title = ""
    blocks = []
    for kind, source in parts:
        if kind == "markdown":
            page = _markdown_page(source)
            title = title or page.title
            blocks.append(page.text)
        elif kind == "code":
            blocks.append(source)
    yield Page(title, "\n\n".join(block for block in blocks if block.strip()))
