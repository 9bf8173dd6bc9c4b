"""Convert files of many kinds to text: Markdown, HTML, PDF, Word, mail, archives.

Imports little: the processes that convert files start often.
"""

from gem_index.converting.pages import ARCHIVES, KINDS, READING_VERSION, Page, kind_of
from gem_index.converting.processes import ConversionError, ConverterPool

__all__ = [
    "ARCHIVES",
    "KINDS",
    "READING_VERSION",
    "ConversionError",
    "ConverterPool",
    "Page",
    "kind_of",
]
