"""PDF."""

from __future__ import annotations

import re
from pathlib import Path

from gem_index.converting.pages import Page
from gem_index.converting.pdf_text import hyphenated_words, repaired
from gem_index.converting.support import Pages, needs
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted_error

__all__ = ["pdf_file"]


def pdf_file(path: Path, _encoding: str | None) -> Pages:
    """Read a PDF, page after page."""
    with needs("PDF"):
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
