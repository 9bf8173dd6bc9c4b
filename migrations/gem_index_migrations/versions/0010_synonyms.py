"""Synonyms of collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; collections that exist have no synonyms."""
    op.add_column("collections", sa.Column("synonyms", sa.Text, nullable=False, server_default=""))
