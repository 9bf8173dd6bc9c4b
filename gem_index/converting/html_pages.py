"""Convert the bytes of an HTML page to its title and its text without menus."""

from __future__ import annotations

import codecs
import contextlib
import re
from collections.abc import Callable
from typing import Any

from gem_index.converting.pages import Page
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error

__all__ = ["block_text", "html_page"]

_NO_TEXT = (
    "//script|//style|//noscript|//template|//iframe|//object|//svg|//select|//textarea|//button"
    '|//*[@class="lineno" or @class="linenos"]'  # of listings by Doxygen and Pygments
)
_NAVIGATION = (
    "//nav|//footer[not(ancestor::article or ancestor::main or ancestor::blockquote)]"
    '|//*[@role="navigation" or @role="search" or @role="contentinfo" or @role="menu"]'
    '|//*[@hidden or @aria-hidden="true" or @class="navigation" or @class="footer" or @id="footer"]'
    '|//*[contains(translate(@style, " ", ""), "display:none")]'
)
_MAIN = '//main|//*[@role="main"]'
_TURNING = (  # links to the previous, next and upper page: values of HTML's rel, or the keys of DocBook and Texinfo
    '//a[@rel="next" or @rel="prev" or @rel="previous" or @rel="up"'
    ' or @accesskey="n" or @accesskey="p" or @accesskey="u"]'
)
_TURNED = 500  # largest number of characters of a block of such links
_LISTS = ("ul", "ol", "dl", "table", "td", "div", "section")
_MENU = 0.7  # least share of links in the text of a menu
_LONG_TAG = re.compile(rb"<[a-zA-Z][^<>]{8192,}")
_QUOTED = re.compile(rb"\"[^\"]*\"|'[^']*'")
_MOST_ATTRIBUTES = 4096
_NO_LINK = "no-link"
_HEADING = re.compile(r"h[1-6]", re.ASCII)
_PARAGRAPH = re.compile(
    r"p|div|section|article|main|header|footer|aside|h[1-6]|[uod]l|table|blockquote|pre|figure|hr|details",
    re.ASCII,
)
_NOT_IN_A_CELL = ("table", "ul", "ol", "dl", "pre", "h1", "h2", "h3", "h4", "h5", "h6")
"""Elements that data tables do not contain: a table with one of them is for the layout of the page."""
_LINE = re.compile(r"li|t[rdh]|d[td]|br|caption|figcaption|summary|option", re.ASCII)


def html_page(content: bytes, encoding: str | None = None) -> Page:
    """Return the title, the text and the author and date of a page.

    If the page marks its main part, only the text of this part is taken. Navigation, footers and hidden parts, as HTML and
    ARIA mark them, are left out; so are lists and tables that consist mostly of links. A page that is nothing else keeps
    them.

    Parameters
    ----------
    content : bytes
    encoding : str, optional
        A name of Python's; by default UTF-8 where the page is that, else what it declares.

    Raises
    ------
    InputError
        If it is not HTML, or nested so deeply that the parser leaves out the rest.
    """
    from lxml import etree
    from lxml import html as lxml_html

    if not content.strip():
        return Page("", "")
    for tag in _LONG_TAG.finditer(content):  # the parser compares each attribute with all before it
        if len(_QUOTED.sub(b"", tag[0]).split()) > _MOST_ATTRIBUTES:
            raise InputError(
                f"a tag has more than {_MOST_ATTRIBUTES:,} attributes; expected a page with fewer: remove that element"
            )
    # huge: allow elements nested 2048 deep instead of 256; unclosed tags of real pages nest deeper than 256
    parser = lxml_html.HTMLParser(encoding=_encoding(content, encoding), huge_tree=True)
    try:
        tree = lxml_html.document_fromstring(content, parser=parser)
    except etree.ParserError:  # a page with only comments
        return Page("", "")
    except (ValueError, LookupError) as error:
        raise InputError(f"it is not HTML: {quoted_error(error)}; expected an HTML page") from error
    if any(entry.type_name == "ERR_RESOURCE_LIMIT" for entry in parser.error_log):
        raise InputError(
            "its elements are nested so deeply that the rest of the page would be left out; expected at most 2,000 levels"
        )
    metadata = {"author": _named(tree, "author"), "date": _named(tree, "date")}
    named = _flat(tree.findtext(".//title"))
    _drop(tree.xpath(_NO_TEXT))
    _unlink(tree)
    text, headings = _main_part(tree)
    in_title = max((each for each in headings if each in named), key=len, default="")
    return Page(
        in_title or named or next(iter(headings), ""),
        text,
        metadata={key: value for key, value in metadata.items() if value},
    )


def _encoding(content: bytes, encoding: str | None) -> str | None:
    """Return the encoding of a page: the given one, UTF-8 if the page is valid UTF-8, else the one that it declares."""
    if encoding not in (None, "auto"):
        with contextlib.suppress(LookupError):  # a server may name an encoding that does not exist
            return codecs.lookup(str(encoding)).name
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return None if re.search(rb"charset", content[:4096], re.IGNORECASE) else "cp1252"
    return "utf-8"


def _named(tree: Any, name: str) -> str:
    found = tree.xpath("//meta[@name=$name]/@content", name=name)
    return _flat(found[0])[:200] if found else ""


def _flat(text: str | None) -> str:
    return " ".join((text or "").split())


def _drop(nodes: list[Any]) -> None:
    for node in nodes:
        if node.getparent() is not None:
            node.drop_tree()


def _unlink(tree: Any) -> None:
    """Remove links that are not menu links: anchors, marks such as ¶ beside headings, and headings that are links."""
    from lxml import etree

    for link in tree.xpath("//a"):
        if link.getparent() is None:
            continue
        text = link.text_content().strip()
        if len(text) == 1 and not text.isalnum():
            link.drop_tree()
        elif link.get("href") is None or any(
            isinstance(above.tag, str) and _HEADING.fullmatch(above.tag)
            for above in link.iterancestors()
        ):
            link.tag = _NO_LINK
    etree.strip_tags(
        tree, _NO_LINK
    )  # all at once: one after the other, the time would grow with their nesting


def _main_part(tree: Any) -> tuple[str, list[str]]:
    """Return the text of the main part of a page, and its headings of the first level."""
    body = tree if tree.find("body") is None else tree.find("body")
    everything = block_text(body)
    _drop(tree.xpath(_NAVIGATION))
    for link in tree.xpath(_TURNING):
        block = next(link.iterancestors("p", "ul", "table", "div"), None)
        if block is None or (block.tag == "div" and block.find(".//p") is not None):
            continue
        if len(_flat(block.text_content())) <= _TURNED:
            _drop([block])
    marked = [part for part in tree.xpath(_MAIN) if part.text_content().strip()]
    part = marked[0] if len(marked) == 1 else body
    headings = [_flat(heading.text_content()) for heading in part.iter("h1")]
    with_menus = block_text(part)
    _drop_menus(part)
    return block_text(part) or with_menus or everything, [each for each in headings if each]


def _drop_menus(part: Any) -> None:
    """Remove lists and tables whose text is mostly links, the outer ones first."""
    for block in list(part.iter(*_LISTS)):
        if block is part or part not in block.iterancestors():
            continue
        links = [len(_flat(link.text_content())) for link in block.iter("a")]
        if len(links) > 1 and sum(links) > _MENU * len(_flat(block.text_content())):
            _drop([block])


def block_text(element: Any) -> str:
    """Return the text of an element: a blank line between paragraphs, one line per item or row, bars between cells.

    In tables for the layout of a page, each cell begins a line. Headings are marked as in Markdown.
    """
    pieces: list[str] = []
    gap = ""

    def part(wanted: str) -> None:
        nonlocal gap
        gap = max(gap, wanted)  # of "", a line break and two

    def put(piece: str) -> None:
        nonlocal gap
        if piece and pieces and gap:
            pieces[-1] = pieces[-1].rstrip()
            pieces.append(gap)
        if piece:
            pieces.append(piece)
            gap = ""

    def put_words(text: str | None) -> None:
        words = re.sub(r"\s+", " ", text or "")
        put(words.lstrip() if gap or not pieces or pieces[-1].endswith(" ") else words)

    todo: list[
        tuple[Callable[[Any], None], Any]
    ] = []  # a stack, last element first, because a page may be nested deeper than Python's calls

    def visit(node: Any) -> None:
        if not isinstance(node.tag, str) or node.tag in ("script", "style", "head"):
            return
        wanted = (
            "\n\n" if _PARAGRAPH.fullmatch(node.tag) else "\n" if _LINE.fullmatch(node.tag) else ""
        )
        part(wanted)
        todo.append((part, wanted))
        if _HEADING.fullmatch(node.tag) and _flat(node.text_content()):
            put(f"{'#' * int(node.tag[1])} {_flat(node.text_content())}")
        elif node.tag == "pre":
            put(node.text_content().strip("\n").rstrip())
        elif node.tag == "tr" and not any(True for _ in node.iter(*_NOT_IN_A_CELL)):
            cells = (_flat(block_text(cell)) for cell in node.iterchildren("td", "th"))
            put(" | ".join(filter(None, cells)))
        else:
            put_words(node.text)
            for child in reversed(node):
                todo.extend(((put_words, child.tail), (visit, child)))

    todo.append((visit, element))
    while todo:
        call, value = todo.pop()
        call(value)
    return "".join(pieces).strip()
