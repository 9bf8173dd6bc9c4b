"""What was pushed into vector databases: a row for each target, and one for each of its documents."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two tables; nothing is copied."""
    op.create_table(
        "targets",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("collection_id", sa.Integer, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("staged", sa.Boolean, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("texts", sa.Boolean, nullable=False),
        sa.Column("complete", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_targets"),
        sa.UniqueConstraint(
            "collection_id", "url", "staged", name="uq_targets_collection_id_url_staged"
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name="fk_targets_collection_id_collections",
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "target_documents",
        sa.Column("target_id", sa.Integer, nullable=False),
        sa.Column("document_id", sa.Text, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("target_id", "document_id", name="pk_target_documents"),
        sa.ForeignKeyConstraint(
            ["target_id"],
            ["targets.id"],
            name="fk_target_documents_target_id_targets",
            ondelete="CASCADE",
        ),
    )
