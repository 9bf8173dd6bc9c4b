"""DuckDB as a target of ``gem-index push``: ``duckdb:///folder/file.duckdb?table=faq``."""

from gem_index_duckdb.target import DuckDbTarget

__all__ = ["DuckDbTarget"]
