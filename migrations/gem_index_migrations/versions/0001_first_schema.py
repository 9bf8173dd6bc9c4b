"""First schema: word vectors, models, collections, documents, tombstones, snapshots.

Revision 0001, the first one.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create every table."""
    op.create_table(
        "vector_sources",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("words", sa.Integer, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("origin", sa.Text, nullable=False),
        sa.Column("licence", sa.Text, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_vector_sources"),
        sa.UniqueConstraint("name", name="uq_vector_sources_name"),
    )
    op.create_table(
        "models",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("vectors", sa.Text, nullable=False),
        sa.Column("vectors_fingerprint", sa.Text, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("recipe", sa.Text, nullable=False),
        sa.Column("dimension", sa.Integer, nullable=False),
        sa.Column("sentences", sa.Integer, nullable=False),
        sa.Column("directions", sa.LargeBinary),
        sa.Column("singular_values", sa.LargeBinary),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_models"),
        sa.UniqueConstraint("name", name="uq_models_name"),
    )
    op.create_table(
        "collections",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("model_id", sa.Integer, nullable=False),
        sa.Column("index_kind", sa.Text, nullable=False),
        sa.Column("fitted_seq", sa.Integer, nullable=False),
        sa.Column("fitted_documents", sa.Integer, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_collections"),
        sa.UniqueConstraint("name", name="uq_collections_name"),
        sa.ForeignKeyConstraint(["model_id"], ["models.id"], name="fk_collections_model_id_models"),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "snapshots",
        sa.Column("id", sa.Integer, nullable=False),
        sa.Column("collection_id", sa.Integer, nullable=False),
        sa.Column("directory", sa.Text, nullable=False),
        sa.Column("last_seq", sa.Integer, nullable=False),
        sa.Column("vectors", sa.Integer, nullable=False),
        sa.Column("model_fingerprint", sa.Text, nullable=False),
        sa.Column("files", sa.Text, nullable=False),
        sa.Column("created_at", sa.Text, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_snapshots"),
        sa.UniqueConstraint("collection_id", name="uq_snapshots_collection_id"),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name="fk_snapshots_collection_id_collections",
            ondelete="CASCADE",
        ),
    )
    op.create_table(
        "documents",
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("collection_id", sa.Integer, nullable=False),
        sa.Column("document_id", sa.Text, nullable=False),
        sa.Column("text", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("content_hash", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("seq", name="pk_documents"),
        sa.UniqueConstraint(
            "collection_id", "document_id", name="uq_documents_collection_id_document_id"
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name="fk_documents_collection_id_collections",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_documents_collection_id_seq", "documents", ["collection_id", "seq"])
    op.create_table(
        "tombstones",
        sa.Column("change", sa.Integer, nullable=False),
        sa.Column("collection_id", sa.Integer, nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("change", name="pk_tombstones"),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name="fk_tombstones_collection_id_collections",
            ondelete="CASCADE",
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_tombstones_collection_id_change", "tombstones", ["collection_id", "change"])
