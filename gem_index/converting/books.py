"""Books in EPUB."""

from __future__ import annotations

import posixpath
import urllib.parse
import zipfile
from pathlib import Path

from gem_index.converting.html_pages import block_text
from gem_index.converting.pages import Page
from gem_index.converting.support import LARGEST_ENTRY, Pages, needs
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted, quoted_error

__all__ = ["book_file"]


def book_file(path: Path, _encoding: str | None) -> Pages:
    """Read an EPUB, chapter after chapter."""
    with needs("EPUB"):
        from lxml import etree
    parser = etree.XMLParser(resolve_entities=False, no_network=True, huge_tree=False)
    try:
        with zipfile.ZipFile(path) as book:
            container = etree.fromstring(_member(book, "META-INF/container.xml"), parser)
            package_name = container.xpath("string(//*[local-name()='rootfile']/@full-path)")
            package = etree.fromstring(_member(book, package_name), parser)
            items = {
                item.get("id"): item.get("href", "")
                for item in package.xpath("//*[local-name()='manifest']/*[local-name()='item']")
            }
            chapters = []
            for place in package.xpath(
                "//*[local-name()='spine']/*[local-name()='itemref']/@idref"
            ):
                href = urllib.parse.unquote(items.get(place, "")).partition("#")[0]
                name = posixpath.normpath(posixpath.join(posixpath.dirname(package_name), href))
                chapters.append(_chapter_text(_member(book, name)))
    except (
        zipfile.BadZipFile,
        etree.XMLSyntaxError,
        KeyError,
        ValueError,
        NotImplementedError,
    ) as error:
        raise InputError(
            f"it is not an EPUB: {quoted_error(error)}; expected an undamaged book"
        ) from error
    title = package.xpath("string(//*[local-name()='title'])")
    author = package.xpath("string(//*[local-name()='creator'])").strip()
    text = "\n\n".join(filter(None, chapters))
    yield Page(str(title), text, metadata={"author": str(author)} if author else {})


def _member(book: zipfile.ZipFile, name: str) -> bytes:
    """Return a file inside a zip file, never more than its limit."""
    with book.open(name) as file:
        content = file.read(LARGEST_ENTRY + 1)
    if len(content) > LARGEST_ENTRY:
        raise InputError(
            f"{quoted(name)} in it has more than {LARGEST_ENTRY >> 20} MiB; expected a book of smaller chapters"
        )
    return content


def _chapter_text(content: bytes) -> str:
    from lxml import html as lxml_html

    if not content.strip():
        return ""
    tree = lxml_html.document_fromstring(content)
    body = tree.find("body")
    return block_text(tree if body is None else body)
