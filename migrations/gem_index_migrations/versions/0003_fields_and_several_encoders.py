"""Fields with weights, and models of several encoders side by side."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add a table and columns; nothing is copied."""
    op.create_table(
        "model_parts",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("model_id", sa.Integer, nullable=False),
        sa.Column("weight", sa.Float, nullable=False),
        *(
            sa.Column(name, sa.Text, nullable=False)
            for name in ("fingerprint", "vectors", "vectors_fingerprint", "config", "recipe")
        ),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("sentences", sa.Integer, nullable=False),
        sa.Column("directions", sa.LargeBinary),
        sa.Column("singular_values", sa.LargeBinary),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_model_parts"),
        sa.ForeignKeyConstraint(
            ["model_id"],
            ["models.id"],
            name="fk_model_parts_model_id_models",
            ondelete="CASCADE",
        ),
    )
    op.create_index("ix_model_parts_model_id", "model_parts", ["model_id"])
    op.add_column("collections", sa.Column("reading", sa.Text, nullable=False, server_default="{}"))
    op.add_column("documents", sa.Column("weights", sa.Text))
