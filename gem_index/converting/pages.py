"""The kinds of files that are read from a folder, and the pages that are read from them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

__all__ = ["ARCHIVES", "KINDS", "READING_VERSION", "Page", "kind_of"]

READING_VERSION = 5
"""Increase this number if the code reads an unchanged file differently, so that folders are read again."""

KINDS: Mapping[str, str] = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".rst": "rst",
    ".txt": "text",
    ".text": "text",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".pdf": "pdf",
    ".docx": "docx",
    ".pptx": "pptx",
    ".epub": "epub",
    ".eml": "eml",
    ".ipynb": "ipynb",
    ".mbox": "mbox",
    ".warc": "warc",
    ".warc.gz": "warc",
    ".zim": "zim",
}
"""Kind of each ending of a file's name."""

ARCHIVES = frozenset({"mbox", "warc", "zim"})
"""Kinds that hold many documents."""


@dataclass(frozen=True)
class Page:
    """The text and metadata of a file, or of one entry of an archive.

    Parameters
    ----------
    title : str
        Empty if the file names none.
    text : str
    key : str
        Which entry of an archive, empty for a file that is one document.
    metadata : mapping
        Metadata from the file itself, such as the author or the number of pages.
    problem : str
        The reason why an entry of an archive cannot be read; other entries can.
    """

    title: str
    text: str
    key: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    problem: str = ""


def kind_of(name: str) -> str | None:
    """Return the kind of a file by its name, None if such files are not read."""
    lower = name.lower()
    for ending, kind in KINDS.items():
        if lower.endswith(ending):
            return kind
    return None
