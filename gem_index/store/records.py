"""Database rows as values, which the repositories take and return."""

from __future__ import annotations

import datetime
import json
from dataclasses import dataclass, field
from typing import TypedDict

from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.synonyms import Synonyms

__all__ = [
    "CollectionRecord",
    "ModelRecord",
    "SnapshotRecord",
    "SourceRecord",
    "StoredDocument",
    "TextSettings",
    "now",
]


def now() -> str:
    """Return the current time in UTC, ISO 8601, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True, kw_only=True)
class SourceRecord:
    """Registered word vectors.

    ``words`` is None if words are composed of subwords; ``options`` and ``findings`` are JSON; ``location`` is the folder
    below the home's ``vectors``.
    """

    name: str
    fingerprint: str
    words: int | None
    dimension: int
    format: str
    origin: str
    licence: str
    options: str
    findings: str
    location: str
    created_at: str = field(default_factory=now)


@dataclass(frozen=True, kw_only=True)
class ModelRecord:
    """A configuration with components; the arrays are little-endian float64 bytes, None for background components.

    A model of several encoders has ``parts``, each with its ``weight``, in order. The row of such a model has only the
    fingerprint, the dimension and the number of sentences.
    """

    name: str | None
    fingerprint: str
    vectors: str
    vectors_fingerprint: str
    config: str
    recipe: str
    dimension: int
    sentences: int
    directions: bytes | None
    singular_values: bytes | None
    created_at: str = field(default_factory=now)
    id: int | None = None
    weight: float | None = None
    parts: tuple[ModelRecord, ...] = ()

    @property
    def encoders(self) -> tuple[ModelRecord, ...]:
        """The parts of the model, or the model itself if it has none."""
        return self.parts or (self,)


class TextSettings(TypedDict, total=False):
    """What a collection does with texts, as JSON: the chunking, and how texts become terms; or one of them."""

    cutting: str
    analysis: str


@dataclass(frozen=True, kw_only=True)
class CollectionRecord:
    """A collection: a named set of documents with one model.

    The model was fitted on ``fitted_documents`` documents, up to ``fitted_seq``; both are 0 before the first fit. The last
    three fields show a reader whether anything has changed: the directory of the current snapshot, the newest document and
    the newest tombstone. ``reading``, ``cutting`` and ``analysis`` are JSON: the arguments for reading files, the chunking,
    and how texts become terms. ``description`` says what the documents are,
    ``calibration`` is JSON: which scores are weak; ``synonyms`` is JSON: groups of forms that mean the same.
    """

    id: int
    name: str
    model_id: int
    index_kind: str
    fitted_seq: int
    fitted_documents: int
    created_at: str
    reading: str
    cutting: str
    analysis: str
    description: str
    calibration: str
    synonyms: str
    directory: str | None
    last_seq: int
    last_change: int

    @property
    def map_directory(self) -> str:
        """The name of the folder for the map of the present fit."""
        return f"map-{self.fitted_seq}-{self.fitted_documents}"

    @property
    def chunking(self) -> Chunking:
        """The chunking of the collection."""
        return Chunking.of(json.loads(self.cutting))

    @property
    def analyzer(self) -> Analyzer:
        """How texts become terms."""
        return Analyzer.of(self.analysis)

    @property
    def synonyms_of_words(self) -> Synonyms:
        """The synonyms of the words of queries."""
        return Synonyms.of(self.synonyms)


@dataclass(frozen=True, kw_only=True)
class SnapshotRecord:
    """The current index files; they cover the documents up to ``last_seq``."""

    collection_id: int
    directory: str
    kind: str
    last_seq: int
    vectors: int
    model_fingerprint: str
    files: str
    seconds: float
    created_at: str = field(default_factory=now)

    @property
    def bytes(self) -> int:
        """The size of the files."""
        return sum(entry["bytes"] for entry in json.loads(self.files).values())


@dataclass(frozen=True, kw_only=True)
class StoredDocument:
    """A document as stored; ``metadata`` is JSON text."""

    seq: int
    document_id: str
    text: str
    metadata: str
