"""Descriptions of collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; collections that are there have an empty description."""
    op.add_column(
        "collections", sa.Column("description", sa.Text, nullable=False, server_default="")
    )
