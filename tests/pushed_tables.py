"""Replace a method of the tables that a test pushes, not of the second table, which holds the query record."""

from gem_index.collection.push.query_record import QUERY_SCHEMA
from gem_index.targets.parquet import ParquetTable


def replace_method(monkeypatch, name, replacement):
    """Replace a method of Parquet tables; the second table keeps its own."""
    original = getattr(ParquetTable, name)

    def method(table, *arguments):
        return (original if table.schema == QUERY_SCHEMA else replacement)(table, *arguments)

    monkeypatch.setattr(ParquetTable, name, method)
