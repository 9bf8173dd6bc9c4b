"""Alembic migrations of gem-index's database."""
