"""Calibrations of collections."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a column; collections that exist are not calibrated."""
    op.add_column(
        "collections", sa.Column("calibration", sa.Text, nullable=False, server_default="")
    )
