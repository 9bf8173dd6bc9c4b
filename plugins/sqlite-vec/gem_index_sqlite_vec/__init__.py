"""SQLite with sqlite-vec as a target of ``gem-index push``: ``sqlite-vec:///folder/file.sqlite?table=faq``."""

from gem_index_sqlite_vec.database import connect
from gem_index_sqlite_vec.target import SqliteVecTarget

__all__ = ["SqliteVecTarget", "connect"]
