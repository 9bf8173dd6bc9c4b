"""Read documents from files of records, folders, SQL queries, and Python objects."""

from gem_index.readers.field_summaries import FieldSummary
from gem_index.readers.folders import FolderReader, ReadFile
from gem_index.readers.inspection import Inspection, inspect_records
from gem_index.readers.objects import documents_from
from gem_index.readers.parts import Part
from gem_index.readers.queries import QueryReader
from gem_index.readers.records import DocumentReader
from gem_index.readers.synonyms import read_synonyms
from gem_index.readers.walk import FoundFile
from gem_index.text.chunking import Piece
from gem_index.text.synonyms import Synonyms

__all__ = [
    "DocumentReader",
    "FieldSummary",
    "FolderReader",
    "FoundFile",
    "Inspection",
    "Part",
    "Piece",
    "QueryReader",
    "ReadFile",
    "Synonyms",
    "documents_from",
    "inspect_records",
    "read_synonyms",
]
