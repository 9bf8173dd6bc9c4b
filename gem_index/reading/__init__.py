"""From where texts live to documents: files of records, folders, SQL queries, and Python objects."""

from gem_index.chunking import Chunking, Piece
from gem_index.reading.fields import LINE
from gem_index.reading.folders import FolderReader
from gem_index.reading.formats import FORMATS, read_json_lines, read_objects
from gem_index.reading.inputs import Inputs
from gem_index.reading.objects import documents_from
from gem_index.reading.parts import WHOLE, Part
from gem_index.reading.queries import QueryReader
from gem_index.reading.records import DocumentReader, readable_twice

__all__ = [
    "FORMATS",
    "LINE",
    "WHOLE",
    "Chunking",
    "DocumentReader",
    "FolderReader",
    "Inputs",
    "Part",
    "Piece",
    "QueryReader",
    "documents_from",
    "read_json_lines",
    "read_objects",
    "readable_twice",
]
