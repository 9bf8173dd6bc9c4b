"""How the texts of a collection become terms."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; collections that are there keep the English stemmer of the first version."""
    op.add_column(
        "collections", sa.Column("analysis", sa.Text, nullable=False, server_default="{}")
    )
