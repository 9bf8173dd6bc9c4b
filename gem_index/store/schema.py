"""The tables after the newest migration (a test compares the two)."""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

__all__ = [
    "HEAD_REVISION",
    "api_keys",
    "collections",
    "documents",
    "files",
    "metadata",
    "model_parts",
    "models",
    "snapshots",
    "sources",
    "target_documents",
    "targets",
    "tombstones",
    "vector_sources",
]

HEAD_REVISION = "0011"
"""The revision that this version reads and writes; a test compares it with the newest migration."""

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
        "pk": "pk_%(table_name)s",
    }
)

vector_sources = Table(
    "vector_sources",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("fingerprint", Text, nullable=False),
    Column("words", Integer),  # NULL: words are composed of pieces
    Column("dimension", Integer, nullable=False),
    Column("format", Text, nullable=False),
    Column("origin", Text, nullable=False),
    Column("licence", Text, nullable=False),
    Column("location", Text, nullable=False),  # folder below the home's vectors/
    Column("created_at", Text, nullable=False),
    Column("options", Text, nullable=False),  # JSON
    Column(
        "findings", Text, nullable=False
    ),  # JSON: problems tolerated in reading, precision lost in storing
)

models = Table(
    "models",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, unique=True),  # NULL: belongs to a collection
    Column("fingerprint", Text, nullable=False),
    Column("vectors", Text, nullable=False),  # as the user named them: "a" or "a+b"
    Column("vectors_fingerprint", Text, nullable=False),
    Column("config", Text, nullable=False),  # JSON; "" if there are model_parts
    Column("recipe", Text, nullable=False),  # "" when fitted, else the background recipe
    Column("dimension", Integer, nullable=False),
    Column("sentences", Integer, nullable=False),
    Column("directions", LargeBinary),  # float64 little-endian (K, d); NULL for background
    Column("singular_values", LargeBinary),  # float64 little-endian (K,)
    Column("created_at", Text, nullable=False),
)

model_parts = Table(
    "model_parts",
    metadata,
    # the encoders of a combined model, side by side in the order of the ids; columns as in models
    Column("id", Integer, primary_key=True),
    Column("model_id", Integer, ForeignKey("models.id", ondelete="CASCADE"), nullable=False),
    Column("weight", Float, nullable=False),
    Column("fingerprint", Text, nullable=False),
    Column("vectors", Text, nullable=False),
    Column("vectors_fingerprint", Text, nullable=False),
    Column("config", Text, nullable=False),
    Column("recipe", Text, nullable=False),
    Column("dimension", Integer, nullable=False),
    Column("sentences", Integer, nullable=False),
    Column("directions", LargeBinary),
    Column("singular_values", LargeBinary),
    Column("created_at", Text, nullable=False),
    Index(None, "model_id"),
)

collections = Table(
    "collections",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("model_id", Integer, ForeignKey("models.id"), nullable=False),
    Column("index_kind", Text, nullable=False),
    Column("fitted_seq", Integer, nullable=False),  # the last document that the model was fitted on
    Column("fitted_documents", Integer, nullable=False),  # the number of documents of the fit
    Column("created_at", Text, nullable=False),
    Column("reading", Text, nullable=False, server_default="{}"),  # JSON: how its files are read
    Column("cutting", Text, nullable=False, server_default="{}"),  # JSON: the chunking
    Column("analysis", Text, nullable=False, server_default="{}"),  # JSON: how texts become terms
    Column("description", Text, nullable=False, server_default=""),  # for people and assistants
    Column("calibration", Text, nullable=False, server_default=""),  # JSON; "" without one
    Column("synonyms", Text, nullable=False, server_default=""),  # JSON; "" without any
    sqlite_autoincrement=True,  # an id names a folder of snapshots: never reused
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Integer, primary_key=True),
    # one current snapshot per collection: publishing replaces the row
    Column(
        "collection_id",
        Integer,
        ForeignKey("collections.id", ondelete="CASCADE"),
        nullable=False,
        unique=True,
    ),
    Column("directory", Text, nullable=False),
    Column("last_seq", Integer, nullable=False),
    Column("vectors", Integer, nullable=False),
    Column("model_fingerprint", Text, nullable=False),
    Column("files", Text, nullable=False),  # JSON: name -> {"sha256", "bytes"}
    Column("created_at", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column(
        "kind", Text, nullable=False
    ),  # of this index; the collection's index_kind may be "auto"
)

documents = Table(
    "documents",
    metadata,
    # AUTOINCREMENT: a seq is never reused, so a vector in an index can never refer to another document
    Column("seq", Integer, primary_key=True),
    Column(
        "collection_id", Integer, ForeignKey("collections.id", ondelete="CASCADE"), nullable=False
    ),
    Column("document_id", Text, nullable=False),
    Column("text", Text, nullable=False),
    Column("metadata", Text, nullable=False),  # JSON
    Column("content_hash", LargeBinary, nullable=False),
    Column("weights", Text),  # JSON: lengths and weights of its fields; NULL for a plain text
    Column("source_id", Integer),  # the row in sources of its document source; NULL without one
    UniqueConstraint("collection_id", "document_id"),
    Index(None, "collection_id", "seq"),
    sqlite_autoincrement=True,
)

tombstones = Table(
    "tombstones",
    metadata,
    # AUTOINCREMENT, so that a reader needs only the changes after the last one it has read
    Column("change", Integer, primary_key=True),
    Column(
        "collection_id", Integer, ForeignKey("collections.id", ondelete="CASCADE"), nullable=False
    ),
    Column("seq", Integer, nullable=False),
    Index(None, "collection_id", "change"),
    sqlite_autoincrement=True,
)

targets = Table(
    "targets",
    metadata,
    # the target of a push; a staged row is an unfinished replacement
    Column("id", Integer, primary_key=True),
    Column(
        "collection_id", Integer, ForeignKey("collections.id", ondelete="CASCADE"), nullable=False
    ),
    Column("url", Text, nullable=False),  # without credentials
    Column("staged", Boolean, nullable=False),
    Column("token", Text, nullable=False),  # recorded in the database's table too
    Column("fingerprint", Text, nullable=False),
    Column("texts", Boolean, nullable=False),
    Column("complete", Boolean, nullable=False),  # False during a push, and after one was killed
    Column("created_at", Text, nullable=False),
    UniqueConstraint("collection_id", "url", "staged"),
)

target_documents = Table(
    "target_documents",
    metadata,
    # acknowledged documents of a target: the id and the content
    Column("target_id", Integer, ForeignKey("targets.id", ondelete="CASCADE"), primary_key=True),
    Column("document_id", Text, primary_key=True),
    Column("seq", Integer, nullable=False),
    Column(
        "pieces", Integer, nullable=False, server_default="1"
    ),  # number of its rows in the target
)

sources = Table(
    "sources",
    metadata,
    # a document source (folder or query), with the state that is needed to read only changes
    Column("id", Integer, primary_key=True),
    Column(
        "collection_id", Integer, ForeignKey("collections.id", ondelete="CASCADE"), nullable=False
    ),
    Column("location", Text, nullable=False),  # without credentials
    Column("options", Text, nullable=False),  # JSON: how it is read
    Column("since", Text),  # JSON: the highest value of a query's column; NULL if there is none
    UniqueConstraint("collection_id", "location"),
    sqlite_autoincrement=True,  # documents may refer to a source that was removed
)

files = Table(
    "files",
    metadata,
    # a file of a folder as it was when its documents were stored
    Column("source_id", Integer, ForeignKey("sources.id", ondelete="CASCADE"), primary_key=True),
    Column("path", Text, primary_key=True),
    Column("size", Integer, nullable=False),
    Column("modified", Integer, nullable=False),  # nanoseconds since 1970
    Column("sha256", Text, nullable=False),
    Column("documents", Integer, nullable=False),
    Column("version", Integer, nullable=False),  # version of the reading code
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("digest", LargeBinary, nullable=False),  # SHA-256 of the key, which is not kept
    # read, write, admin or keys; each includes the ones before it
    Column("permission", Text, nullable=False),
    Column("created_at", Text, nullable=False),
    Column("made_by", Text),  # the name of the key that made it; NULL for a key of the operator
)
