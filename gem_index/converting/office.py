"""Word and PowerPoint files."""

from __future__ import annotations

import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from gem_index.converting.pages import Page
from gem_index.converting.support import Pages, needs
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error

__all__ = ["slides_file", "word_file"]


def word_file(path: Path, _encoding: str | None) -> Pages:
    """Read a Word file, with its tables and notes; headers and footers are left out."""
    with needs("Word"):
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
    pending: list[str] = []  # notes of the block before
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
        except SyntaxError as error:  # the exception of lxml is one of these
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
    ):  # its rows are read separately
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
            if child.tag in (
                old,
                qn("w:pPr"),
            ):  # skipped: a text box for old programs, and tab stops
                continue
            parts.append(
                (child.text or "") if child.tag == qn("w:t") else breaks.get(child.tag, "")
            )
            walk(child)

    walk(element)
    return "".join(parts).strip()


def slides_file(path: Path, _encoding: str | None) -> Pages:
    """Read a PowerPoint file, slide after slide."""
    with needs("PowerPoint"):
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
        ):  # the title in the properties is often the name of the template
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
