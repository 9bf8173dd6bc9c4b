"""Options and findings of word vectors, sources that compose words, kinds of indexes.

Older snapshots hold no index over words: their rows are deleted, the texts stay, and the next write or the next verification
with fix makes new snapshots.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_DEFAULT_OPTIONS = (
    '{"case": "keep", "dtype": null, "limit": null, "oov": "hash", "scale": 1.0, "unit": false}'
)


def upgrade() -> None:
    """Add the columns."""
    with op.batch_alter_table("vector_sources") as table:
        table.alter_column("words", existing_type=sa.Integer, nullable=True)
        table.add_column(
            sa.Column("options", sa.Text, nullable=False, server_default=_DEFAULT_OPTIONS)
        )
        table.add_column(sa.Column("findings", sa.Text, nullable=False, server_default="{}"))
    op.execute("DELETE FROM snapshots")
    with op.batch_alter_table("snapshots") as table:
        table.add_column(sa.Column("kind", sa.Text, nullable=False, server_default="flat"))
    op.execute("UPDATE collections SET index_kind = 'auto'")
