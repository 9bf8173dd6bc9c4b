"""Folders of files of many kinds: which files there are, and the documents in each."""

from gem_index.reading.folders.pages import ARCHIVES, KINDS, READING_VERSION, Page, kind_of
from gem_index.reading.folders.reader import FolderReader, ReadFile
from gem_index.reading.folders.walk import FoundFile

__all__ = [
    "ARCHIVES",
    "KINDS",
    "READING_VERSION",
    "FolderReader",
    "FoundFile",
    "Page",
    "ReadFile",
    "kind_of",
]
