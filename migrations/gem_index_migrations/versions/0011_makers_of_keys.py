"""Which key has made a key."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; commands have made the keys that exist."""
    op.add_column("api_keys", sa.Column("made_by", sa.Text))
