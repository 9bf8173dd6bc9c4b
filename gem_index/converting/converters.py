"""From the bytes of a file to its pages; runs in a process of its own, which a hostile file may crash."""

from __future__ import annotations

import codecs
import contextlib
import email.policy
import io
import json
import logging
import mailbox
import posixpath
import re
import urllib.parse
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from email.message import EmailMessage
from email.parser import BytesParser
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

from gem_index.converting.pages import Page
from gem_index.errors import InputError, MissingExtraError
from gem_index.quoting import quoted, quoted_error

__all__ = ["convert"]

Pages: TypeAlias = Iterable[Page]

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?\n)---[ \t]*\n", re.DOTALL)
_TITLE_LINE = re.compile(r"^title:[ \t]*(.+)$", re.MULTILINE)
_BLANKS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
_LARGEST_MEMBER = 64 << 20  # bytes of a file inside an EPUB
_LONGEST_KEY = 400  # characters


def convert(path: Path, kind: str, encoding: str | None = None) -> Iterator[Page]:
    """Iterate over the pages of a file.

    Parameters
    ----------
    path : Path
    kind : str
        One of the values of :data:`~gem_index.converting.pages.KINDS`.
    encoding : str, optional
        Of text files: a name of Python's, or ``auto`` to detect it; UTF-8 by default.

    Raises
    ------
    InputError
        If the file is not of its kind, or damaged; MissingExtraError if a library for it is not installed.
    """
    keys: set[str] = set()
    for number, page in enumerate(_CONVERTERS[kind](path, encoding), 1):
        title = " ".join(page.title.split())[:200]
        text = _BLANKS.sub("\n\n", page.text.replace("\r\n", "\n")).strip()
        if title and title not in text[: len(title) + 200]:
            text = f"{title}\n\n{text}"
        key = page.key[:_LONGEST_KEY]
        while key in keys:
            key = f"{key}:{number}"
        keys.add(key)
        yield Page(title, text, key, page.metadata, page.problem)


def _entry(key: str, read: Callable[[], Page]) -> Page:
    """Return an entry of an archive, or the problem with it."""
    try:
        page = read()
    except (MissingExtraError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a parser may raise anything on a hostile entry, and it is named
        return Page("", "", key, problem=f"it cannot be read: {quoted_error(error)}")
    return replace(page, key=page.key or key)


def _decoded(content: bytes, encoding: str | None) -> str:
    """Return the text of a file.

    Raises
    ------
    InputError
        If it is of another encoding.
    """
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if content.startswith(mark) and encoding in (None, "auto"):
            return content.decode(name + ("-sig" if name == "utf-8" else ""))
    try:
        return content.decode("utf-8" if encoding in (None, "auto") else str(encoding))
    except UnicodeDecodeError as error:
        if encoding != "auto":
            raise InputError(
                f"byte {error.start + 1} is not {encoding or 'UTF-8'}; expected {encoding or 'UTF-8'} text: "
                "name the encoding, or auto"
            ) from error
    from charset_normalizer import from_bytes

    best = from_bytes(content).best()
    if best is None:
        raise InputError("its encoding was not recognised; expected text: name the encoding")
    return str(best)


def _text(path: Path, encoding: str | None) -> Pages:
    text = _decoded(path.read_bytes(), encoding)
    if "\0" in text[:4096]:
        raise InputError("it holds zero bytes; expected text")
    yield Page("", text)


def _markdown(path: Path, encoding: str | None) -> Pages:
    yield _markdown_page(_decoded(path.read_bytes(), encoding))


def _markdown_page(source: str) -> Page:
    """Return headings, paragraphs, lists, tables and code of Markdown as plain text."""
    from markdown_it import MarkdownIt

    title = ""
    front = _FRONT_MATTER.match(source)
    if front:
        found = _TITLE_LINE.search(front[1])
        title = found[1].strip().strip("\"'") if found else ""
        source = source[front.end() :]
    text = ""
    cells = in_row = heading = tight = False
    for token in MarkdownIt("commonmark").enable("table").parse(source):
        block, between = "", "\n\n"
        if token.type == "inline":
            block = "".join(_inline_text(child) for child in token.children or [])
            between = " | " if cells else "\n" if tight else "\n\n"
            cells = cells or in_row
            title = title or (block if heading else "")
        elif token.type in ("fence", "code_block"):
            block = token.content.rstrip()
        elif token.type == "html_block":
            block = _without_tags(token.content)
        elif token.type == "tr_open":
            in_row = True
        elif token.type == "tr_close":
            in_row = cells = False
        heading = token.type == "heading_open"
        tight = token.hidden or in_row
        if block.strip():
            text += f"{between}{block}" if text else block
    return Page(title, text)


def _inline_text(token: Any) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return "\n"
    if token.type == "html_inline":
        return ""
    return str(token.content)


def _without_tags(html: str) -> str:
    return re.sub(r"<!--.*?-->|<[^<>]*>", "", html, flags=re.DOTALL).strip()


def _rst(path: Path, encoding: str | None) -> Pages:
    with _extra("reStructuredText"):
        from docutils import nodes
        from docutils.core import publish_doctree
    tree = publish_doctree(
        _decoded(path.read_bytes(), encoding),
        settings_overrides={
            "report_level": 5,
            "halt_level": 5,
            "file_insertion_enabled": False,
            "raw_enabled": False,
            "warning_stream": io.StringIO(),
            "_disable_config": True,
        },
    )
    for kind in (nodes.system_message, nodes.comment, nodes.substitution_definition):
        for node in list(tree.findall(kind)):
            node.parent.remove(node)
    for node in list(tree.findall(nodes.problematic)):  # a role or directive of Sphinx
        label = re.sub(r"^:[\w:+.-]+:`~?([^`<]+?)(?:\s*<[^>]*>)?`$", r"\1", node.astext())
        node.parent.replace(node, nodes.Text(label))
    title = next(iter(tree.findall(nodes.title)), None)
    yield Page(title.astext() if title is not None else "", tree.astext())


def _html(path: Path, encoding: str | None) -> Pages:
    yield _html_page(path.read_bytes(), encoding)


def _html_page(content: bytes, encoding: str | None = None, url: str | None = None) -> Page:
    with _extra("HTML"):
        from lxml import etree
        from lxml import html as lxml_html
        from trafilatura import extract
        from trafilatura.settings import use_config
    config = use_config()
    config.set("DEFAULT", "EXTRACTION_TIMEOUT", "0")
    if not content.strip():
        return Page("", "")
    try:
        parser = lxml_html.HTMLParser(encoding=_html_encoding(content, encoding), huge_tree=False)
        tree = lxml_html.document_fromstring(content, parser=parser)
    except etree.ParserError:  # nothing but comments
        return Page("", "")
    except (ValueError, LookupError) as error:
        raise InputError(f"it is not HTML: {quoted_error(error)}; expected an HTML page") from error
    named = tree.findtext(".//title") or tree.findtext(".//h1") or ""
    first = tree.xpath("//h1")
    heading = " ".join(first[0].text_content().replace("¶", " ").split()) if first else ""
    author, date = _named(tree, "author"), _named(tree, "date")
    text = extract(
        tree, url=url, include_comments=False, include_tables=True, favor_recall=True, config=config
    )
    if not text:  # what extraction leaves out as boilerplate is better than nothing
        for node in tree.xpath("//script|//style|//noscript|//head|//nav"):
            node.drop_tree()
        text = "\n".join(part.strip() for part in tree.itertext() if part.strip())
    metadata = {"author": author, "date": date}
    return Page(
        heading if heading and heading in named else (named or heading),
        text.replace("¶", ""),
        metadata={key: value for key, value in metadata.items() if value},
    )


def _html_encoding(content: bytes, encoding: str | None) -> str | None:
    """Return the encoding of a page: what is given, UTF-8 where it is that, else what the page declares."""
    if encoding not in (None, "auto"):
        with contextlib.suppress(LookupError):  # a server may name one that does not exist
            return codecs.lookup(str(encoding)).name
    try:
        content.decode("utf-8")
    except UnicodeDecodeError:
        return None if re.search(rb"charset", content[:4096], re.IGNORECASE) else "cp1252"
    return "utf-8"


def _named(tree: Any, name: str) -> str:
    found = tree.xpath("//meta[@name=$name]/@content", name=name)
    return " ".join(str(found[0]).split())[:200] if found else ""


def _pdf(path: Path, _encoding: str | None) -> Pages:
    with _extra("PDF"):
        import pypdfium2
    try:
        document = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        problem = quoted_error(error)
        expected = "a file without a password" if "assword" in problem else "an undamaged PDF"
        raise InputError(f"it cannot be opened: {problem}; expected {expected}") from error
    pages = []
    for number in range(len(document)):
        page = document[number]
        pages.append(page.get_textpage().get_text_bounded().replace("\r\n", "\n").replace("￾", ""))
        page.close()
    text = "\n\n".join(pages)
    said = document.get_metadata_dict()
    title = said.get("Title", "").strip()
    if not title or re.search(
        r"\.(docx?|tex|dvi|indd|pdf)$|^untitled|^microsoft word", title, re.I
    ):
        title = next((line.strip() for line in text.split("\n") if len(line.strip()) > 3), "")
    metadata = {"pages": len(pages), "author": said.get("Author", "").strip()}
    yield Page(title, text, metadata={key: value for key, value in metadata.items() if value})


def _docx(path: Path, _encoding: str | None) -> Pages:
    with _extra("Word"):
        import docx
        from docx.opc.exceptions import PackageNotFoundError
        from docx.table import Table
    try:
        document = docx.Document(str(path))
    except (PackageNotFoundError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"it is not a Word file: {quoted_error(error)}; expected .docx") from error
    title = (document.core_properties.title or "").strip()
    blocks: list[str] = []

    def take(parts: Iterable[Any]) -> None:
        nonlocal title
        for part in parts:
            if isinstance(part, Table):
                for row in part.rows:
                    cells = dict.fromkeys(cell.text.strip() for cell in row.cells)
                    blocks.append(" | ".join(filter(None, cells)))
                continue
            style = part.style.name if part.style is not None else ""
            if not title and style in ("Title", "Heading 1"):
                title = part.text
            blocks.append(part.text)

    take(document.iter_inner_content())
    author = (document.core_properties.author or "").strip()
    text = "\n\n".join(block for block in blocks if block.strip())
    yield Page(title, text, metadata={"author": author} if author else {})


def _pptx(path: Path, _encoding: str | None) -> Pages:
    with _extra("PowerPoint"):
        from pptx import Presentation
        from pptx.exc import PackageNotFoundError
    try:
        presentation = Presentation(str(path))
    except (PackageNotFoundError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(
            f"it is not a PowerPoint file: {quoted_error(error)}; expected .pptx"
        ) from error
    title = (presentation.core_properties.title or "").strip()
    slides: list[str] = []
    for slide in presentation.slides:
        named = slide.shapes.title
        if named is not None and (not title or title == "PowerPoint Presentation"):
            title = named.text_frame.text.strip()
        parts = list(_shape_texts(slide.shapes))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            parts.append(slide.notes_slide.notes_text_frame.text)
        slides.append("\n".join(part for part in parts if part.strip()))
    yield Page(title, "\n\n".join(filter(None, slides)), metadata={"slides": len(slides)})


def _shape_texts(shapes: Iterable[Any]) -> Iterator[str]:
    for shape in shapes:
        if shape.has_text_frame:
            yield shape.text_frame.text
        elif getattr(shape, "has_table", False):
            for row in shape.table.rows:
                yield " | ".join(cell.text for cell in row.cells)
        elif hasattr(shape, "shapes"):
            yield from _shape_texts(shape.shapes)


def _epub(path: Path, _encoding: str | None) -> Pages:
    with _extra("EPUB"):
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
        content = file.read(_LARGEST_MEMBER + 1)
    if len(content) > _LARGEST_MEMBER:
        raise InputError(
            f"{quoted(name)} in it has more than {_LARGEST_MEMBER >> 20} MiB; expected a book of smaller chapters"
        )
    return content


def _chapter_text(content: bytes) -> str:
    from lxml import html as lxml_html

    if not content.strip():
        return ""
    tree = lxml_html.document_fromstring(content)
    body = tree.find("body")
    return _blocks(tree if body is None else body)


_BLOCK = re.compile(
    r"p|div|section|article|h[1-6]|[uo]l|li|table|tr|blockquote|pre|d[td]|figure|br", re.ASCII
)


def _blocks(element: Any) -> str:
    """Return the text of an element of HTML, a blank line between its blocks."""
    parts: list[str] = []

    def walk(node: Any) -> None:
        if not isinstance(node.tag, str) or node.tag in ("script", "style", "head"):
            return
        block = _BLOCK.fullmatch(node.tag)
        if block:
            parts.append("\n\n")
        parts.append(re.sub(r"\s+", " ", node.text or ""))
        for child in node:
            walk(child)
            parts.append(re.sub(r"\s+", " ", child.tail or ""))
        if block:
            parts.append("\n\n")

    walk(element)
    return re.sub(r" *\n\n[\n ]*", "\n\n", "".join(parts)).strip()


def _eml(path: Path, _encoding: str | None) -> Pages:
    with path.open("rb") as file:
        message = BytesParser(policy=email.policy.default).parse(file)
    assert isinstance(message, EmailMessage)
    yield _mail_page(message)


def _mail_page(message: EmailMessage, key: str = "") -> Page:
    body = message.get_body(preferencelist=("plain", "html"))
    text = ""
    if body is not None:
        try:
            text = str(body.get_content())
        except (LookupError, ValueError):  # an encoding that is none
            content = body.get_payload(decode=True)
            text = content.decode("utf-8", "replace") if isinstance(content, bytes) else ""
        if body.get_content_subtype() == "html":
            text = _html_page(text.encode(), "utf-8").text
    metadata = {}
    for name in ("from", "to", "date", "message-id"):
        value = " ".join(_header(message, name).split())
        if value:
            metadata[name.replace("-", "_")] = value[:500]
    if "date" in metadata:
        moment = getattr(message["date"], "datetime", None)
        if moment is not None:
            metadata["date"] = moment.isoformat()
    return Page(_header(message, "subject"), text, key, metadata)


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = str(message.get(name, ""))
    except (
        ValueError,
        LookupError,
        IndexError,
        AttributeError,
    ):  # the parser of headers on a malformed one
        return ""
    return value.encode("utf-8", "replace").decode()


def _mbox(path: Path, _encoding: str | None) -> Pages:
    def parsed(file: Any) -> EmailMessage:
        message = BytesParser(policy=email.policy.default).parse(file)
        assert isinstance(message, EmailMessage)
        return message

    with contextlib.closing(mailbox.mbox(path, factory=parsed, create=False)) as box:  # type: ignore[arg-type]
        for number, place in enumerate(box.iterkeys(), 1):
            yield _entry(str(number), partial(_mail_of, box, place))


def _mail_of(box: Any, place: Any) -> Page:
    message = box[place]
    assert isinstance(message, EmailMessage)
    return _mail_page(message, _header(message, "message-id").strip().strip("<>"))


def _ipynb(path: Path, _encoding: str | None) -> Pages:
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


def _warc(path: Path, _encoding: str | None) -> Pages:
    with _extra("WARC", "archives"):
        from warcio.archiveiterator import ArchiveIterator
        from warcio.exceptions import ArchiveLoadFailed
    seen: set[str] = set()
    with path.open("rb") as file:
        try:
            for record in ArchiveIterator(file):
                if record.rec_type != "response" or record.http_headers is None:
                    continue
                url = record.rec_headers.get_header("WARC-Target-URI") or ""
                status = record.http_headers.get_statuscode()
                kind = record.http_headers.get_header("Content-Type") or ""
                if status != "200" or "html" not in kind or url in seen:
                    continue
                content = record.content_stream().read(_LARGEST_MEMBER)
                named = re.search(r"charset=[\"']?([\w-]+)", kind)
                charset = named[1] if named else None
                page = _entry(url, partial(_html_page, content, charset, url))
                seen.add(url)
                yield replace(page, metadata={**page.metadata, "url": url})
        except ArchiveLoadFailed as error:
            raise InputError(
                f"it is not WARC: {quoted_error(error)}; expected an undamaged archive"
            ) from error


def _zim(path: Path, _encoding: str | None) -> Pages:
    with _extra("ZIM", "archives"):
        from libzim.reader import Archive
    try:
        archive = Archive(path)
    except RuntimeError as error:
        raise InputError(
            f"it is not ZIM: {quoted_error(error)}; expected an undamaged archive"
        ) from error
    for number in range(archive.all_entry_count):
        entry = archive._get_entry_by_id(number)  # libzim's only way to all entries
        if entry.is_redirect:
            continue
        item = entry.get_item()
        if item.mimetype.startswith("text/html"):
            page = _entry(entry.path, partial(_html_page, bytes(item.content), "utf-8"))
            yield replace(page, title=entry.title or page.title)


class _extra:  # noqa: N801 - reads like a statement
    """Turn a missing library into the error that names its extra."""

    def __init__(self, what: str, extra: str = "documents") -> None:
        self._what, self._extra = what, extra

    def __enter__(self) -> None:
        logging.getLogger("trafilatura").setLevel(logging.CRITICAL)

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: object) -> None:
        if isinstance(error, ImportError):
            raise MissingExtraError(f"reading {self._what}", self._extra) from error


_CONVERTERS: dict[str, Callable[[Path, str | None], Pages]] = {
    "text": _text,
    "markdown": _markdown,
    "rst": _rst,
    "html": _html,
    "pdf": _pdf,
    "docx": _docx,
    "pptx": _pptx,
    "epub": _epub,
    "eml": _eml,
    "ipynb": _ipynb,
    "mbox": _mbox,
    "warc": _warc,
    "zim": _zim,
}
