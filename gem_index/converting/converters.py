"""Convert the bytes of a file to pages. This runs in a separate process, because a hostile file may crash it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from gem_index.converting.books import book_file
from gem_index.converting.mail import mail_file, mailbox_file
from gem_index.converting.markup import html_file, markdown_file, notebook_file, rst_file, text_file
from gem_index.converting.office import slides_file, word_file
from gem_index.converting.pages import Page
from gem_index.converting.pdf import pdf_file
from gem_index.converting.support import Pages
from gem_index.converting.web_archives import web_archive, zim_archive

__all__ = ["convert"]

_BLANKS = re.compile(r"\n[ \t]*\n(?:[ \t]*\n)+")
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


_CONVERTERS: dict[str, Callable[[Path, str | None], Pages]] = {
    "text": text_file,
    "markdown": markdown_file,
    "rst": rst_file,
    "html": html_file,
    "pdf": pdf_file,
    "docx": word_file,
    "pptx": slides_file,
    "epub": book_file,
    "eml": mail_file,
    "ipynb": notebook_file,
    "mbox": mailbox_file,
    "warc": web_archive,
    "zim": zim_archive,
}
