"""Where documents came from (folders, queries, files), and how long texts are cut."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add two tables and three columns; nothing is copied."""
    op.create_table(
        "sources",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("collection_id", sa.Integer, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("options", sa.Text, nullable=False),
        sa.Column("since", sa.Text),
        sa.PrimaryKeyConstraint("id", name="pk_sources"),
        sa.UniqueConstraint("collection_id", "location", name="uq_sources_collection_id_location"),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name="fk_sources_collection_id_collections",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "files",
        sa.Column("source_id", sa.Integer, nullable=False),
        sa.Column("path", sa.Text, nullable=False),
        sa.Column("size", sa.Integer, nullable=False),
        sa.Column("modified", sa.Integer, nullable=False),
        sa.Column("sha256", sa.Text, nullable=False),
        sa.Column("documents", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("source_id", "path", name="pk_files"),
        sa.ForeignKeyConstraint(
            ["source_id"],
            ["sources.id"],
            name="fk_files_source_id_sources",
            ondelete="CASCADE",
        ),
    )
    op.add_column("documents", sa.Column("source_id", sa.Integer))
    op.add_column("collections", sa.Column("cutting", sa.Text, nullable=False, server_default="{}"))
    op.add_column(
        "target_documents", sa.Column("pieces", sa.Integer, nullable=False, server_default="1")
    )
