"""From where texts live to documents: files of records, and Python objects."""

from gem_index.reading.fields import LINE
from gem_index.reading.formats import FORMATS, read_json_lines, read_objects
from gem_index.reading.objects import documents_from
from gem_index.reading.records import DocumentReader, readable_twice

__all__ = [
    "FORMATS",
    "LINE",
    "DocumentReader",
    "documents_from",
    "read_json_lines",
    "read_objects",
    "readable_twice",
]
