"""From the bytes of a file to its pages; runs in a process of its own, which a hostile file may crash."""

from __future__ import annotations

import contextlib
import email.policy
import io
import json
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

from gem_index.converting.html_pages import block_text, html_page
from gem_index.converting.pages import Page
from gem_index.converting.pdf_text import hyphenated_words, repaired
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
        text = _BLANKS.sub("\n\n", page.text.replace("\r\n", "\n")).strip(" \t\n")
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
    """Return paragraphs, lists, tables and code of Markdown as plain text; headings keep their marks."""
    from markdown_it import MarkdownIt

    title = ""
    front = _FRONT_MATTER.match(source)
    if front:
        found = _TITLE_LINE.search(front[1])
        title = found[1].strip().strip("\"'") if found else ""
        source = source[front.end() :]
    text = ""
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

        from gem_index.converting.rst_directives import accept_directives
    source = _decoded(path.read_bytes(), encoding)
    accept_directives(source)
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
    around = sum(
        title.parent is tree for title in titles
    )  # 1 if the document has a title of its own
    for title in titles:
        inside = sum(isinstance(each, nodes.section) for each in _ancestors(title))
        marked = f"{'#' * min(inside + around, 6)} {title.astext()}"
        title.parent.replace(title, nodes.title("", marked))
    yield Page(named, tree.astext())


def _ancestors(node: Any) -> Iterator[Any]:
    while node.parent is not None:
        node = node.parent
        yield node


def _html(path: Path, encoding: str | None) -> Pages:
    yield _html_page(path.read_bytes(), encoding)


def _html_page(content: bytes, encoding: str | None = None) -> Page:
    with _extra("HTML"):
        return html_page(content, encoding)


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
        pages.append(page.get_textpage().get_text_bounded())
        page.close()
    hyphenated = hyphenated_words(pages)
    pages = [repaired(page, hyphenated) for page in pages]
    # a form feed divides pages, which gives pieces their page
    text = "\n\n\f".join(pages) if any(map(str.strip, pages)) else ""
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
        from docx.oxml.ns import qn
    try:
        document = docx.Document(str(path))
    except (PackageNotFoundError, KeyError, ValueError, zipfile.BadZipFile) as error:
        raise InputError(f"it is not a Word file: {quoted_error(error)}; expected .docx") from error
    title = (document.core_properties.title or "").strip()
    levels = {
        style.style_id: _TITLE_STYLES[style.name]
        for style in document.styles
        if style.name in _TITLE_STYLES
    }
    blocks: list[str] = []
    notes = _word_notes(document)
    pending: list[str] = []  # those of the block before
    for part in _word_blocks(document.element.body):
        blocks += pending
        pending = [
            notes.pop((reference.tag, reference.get(qn("w:id"))), "")
            for reference in part.iter(qn("w:footnoteReference"), qn("w:endnoteReference"))
        ]
        if part.tag == qn("w:tbl"):
            blocks += filter(None, map(_word_row, part.iter(qn("w:tr"))))
            continue
        text = _word_text(part)
        style = part.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        level = 0 if style is None else levels.get(style.get(qn("w:val")), 0)
        if level == 1:
            title = title or text
        blocks.append(f"{'#' * level} {' '.join(text.split())}" if level and text.strip() else text)
    author = (document.core_properties.author or "").strip()
    text = "\n\n".join(block for block in (*blocks, *pending) if block.strip())
    yield Page(title, text, metadata={"author": author} if author else {})


_TITLE_STYLES = {"Title": 1} | {f"Heading {level}": level for level in range(1, 7)}


def _word_notes(document: Any) -> dict[tuple[str, str | None], str]:
    """Return the footnotes and endnotes of a Word file by the tag and the id of the reference to each.

    Raises
    ------
    InputError
        If they are damaged.
    """
    from docx.oxml.ns import qn
    from docx.oxml.parser import parse_xml

    notes: dict[tuple[str, str | None], str] = {}
    for relation in document.part.rels.values():
        kind = relation.reltype.rpartition("/")[2].removesuffix("s")
        if kind not in ("footnote", "endnote") or relation.is_external:
            continue
        try:
            content = parse_xml(relation.target_part.blob)
        except SyntaxError as error:  # lxml's is one
            raise InputError(
                f"its notes cannot be read: {quoted_error(error)}; expected an undamaged .docx"
            ) from error
        for note in content.iter(qn(f"w:{kind}")):
            notes[qn(f"w:{kind}Reference"), note.get(qn("w:id"))] = _word_text(note)
    return notes


def _word_blocks(element: Any) -> Iterator[Any]:
    """Iterate over the paragraphs and tables of a Word file, also those in content controls and tracked insertions."""
    from docx.oxml.ns import qn

    for child in element:
        if child.tag in (qn("w:p"), qn("w:tbl")):
            yield child
        elif child.tag in (qn("w:sdt"), qn("w:sdtContent"), qn("w:ins"), qn("w:customXml")):
            yield from _word_blocks(child)


def _word_row(row: Any) -> str:
    from docx.oxml.ns import qn

    cells = row.xpath("./w:tc|./w:sdt/w:sdtContent/w:tc")
    if any(
        cell.find(f".//{qn('w:tbl')}") is not None for cell in cells
    ):  # its rows come by themselves
        return "\n\n".join(
            _word_text(part) for cell in cells for part in cell.iterchildren(qn("w:p"))
        )
    return " | ".join(filter(None, (" ".join(_word_text(cell).split()) for cell in cells)))


def _word_text(element: Any) -> str:
    """Return the text of a paragraph or cell with its links, fields, insertions and text boxes."""
    from docx.oxml.ns import qn

    breaks = {
        qn("w:tab"): "\t",
        qn("w:br"): "\n",
        qn("w:cr"): "\n",
        qn("w:p"): "\n",
        qn("w:noBreakHyphen"): "-",
    }
    old = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
    parts: list[str] = []

    def walk(node: Any) -> None:
        for child in node:
            if child.tag in (old, qn("w:pPr")):  # a text box for old programs; tab stops
                continue
            parts.append(
                (child.text or "") if child.tag == qn("w:t") else breaks.get(child.tag, "")
            )
            walk(child)

    walk(element)
    return "".join(parts).strip()


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
    title = ""
    slides: list[str] = []
    for slide in presentation.slides:
        named = slide.shapes.title
        if (
            named is not None and not title
        ):  # what the file says of itself is often the name of its template
            title = named.text_frame.text.strip()
        parts = list(_shape_texts(slide.shapes))
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
            parts.append(slide.notes_slide.notes_text_frame.text)
        slides.append("\n".join(part for part in parts if part.strip()))
    title = title or (presentation.core_properties.title or "").strip()
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
    return block_text(tree if body is None else body)


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

    with path.open("rb") as file:
        if file.read(5) not in (b"From ", b""):  # read as nothing
            raise InputError("it is not a mailbox: it does not begin with From; expected .mbox")
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
        if (
            file.read(5) not in (b"WARC/", b"") and path.suffix.lower() == ".warc"
        ):  # read as nothing
            raise InputError("it is not WARC: it does not begin with WARC/; expected an archive")
        file.seek(0)
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
                page = _entry(url, partial(_html_page, content, charset))
                seen.add(url)
                yield replace(page, metadata={**page.metadata, "url": url})
        # the second is what warcio raises on an archive that ends inside its first headers
        except (ArchiveLoadFailed, AttributeError) as error:
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

    def __enter__(self) -> None: ...

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
