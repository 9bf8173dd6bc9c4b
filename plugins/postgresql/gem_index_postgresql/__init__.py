"""PostgreSQL with pgvector as a target of ``gem-index push``: ``postgresql://user@host/database?table=faq``."""

from gem_index_postgresql.target import PostgresqlTarget

__all__ = ["PostgresqlTarget"]
