"""Store documents whose encoder was fitted, and whose index was built, on other machines."""

from __future__ import annotations

import shutil
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from gem_index.collection.results import UpsertReport
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.models import record_of
from gem_index.collection.write.building import as_not_indexed, keep_reading
from gem_index.collection.write.intake import Intake
from gem_index.collection.write.publish import publish
from gem_index.collection.write.writing import upsert
from gem_index.documents import Document
from gem_index.errors import Action, ConfigError, InputError
from gem_index.files.inputs import make_directory
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress

__all__ = ["MakeShards", "ShardPlan", "ingest_shards"]


@dataclass(frozen=True)
class ShardPlan:
    """A request for the shards of an index.

    Attributes
    ----------
    first : int
        The ``seq`` of the first document; the following documents have consecutive seqs.
    index : str
        The index kind of the collection.
    folder : Path
        The folder for the shards.
    report : callable, optional
        Called with stage, done and total.
    stop : threading.Event
        The event is set when the shards are no longer needed; then stop.
    """

    first: int
    index: str
    folder: Path
    report: Progress | None = None
    stop: threading.Event = field(default_factory=threading.Event)


MakeShards: TypeAlias = Callable[[ShardPlan], Sequence[Path]]
"""A function that returns the folders of the shards; together, the shards have all documents, in order."""


def ingest_shards(
    access: CollectionAccess,
    encoder: Encoder,
    documents: Iterable[Document],
    make_shards: MakeShards,
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> UpsertReport:
    """Store documents in an empty collection, and publish their finished encoder and index; nothing is encoded again.

    Parameters
    ----------
    access : CollectionAccess
    encoder : Encoder
        An encoder with the word vectors and configuration of the collection, fitted on these documents.
    documents : iterable of Document
        The documents, which are stored in one transaction.
    make_shards : callable
        Makes the shards, in a separate thread, while the documents are written. The commit waits for the shards. Until
        the commit, no other process can write to the home.
    reading : mapping, optional
        The options for reading later files.
    progress : callable, optional

    Raises
    ------
    InputError
        If the collection is not empty.
    ConfigError
        If the encoder and the collection have different word vectors or configurations.
    NotIndexedError
        If the documents are stored, but indexing them failed.
    """
    started = time.monotonic()
    with access.workspace.write_lock():
        with access.reading() as rows:
            model, held = rows.model(), rows.counts().documents
            first, index = rows.documents.next_seq(), rows.record.index_kind
        if held:
            raise InputError(
                f"the collection {access.name} has {held} documents; expected an empty one"
            )
        own = access.encoder()
        if own.unfitted().fingerprint != encoder.unfitted().fingerprint:
            raise ConfigError(
                f"the encoder has other word vectors or another configuration than the collection {access.name}; "
                "expected a fit of the collection's own"
            )
        # if this process is killed, the sweep removes the folder, because no row names it
        plan = ShardPlan(first, index, access.folder / uuid.uuid4().hex[:12], progress)
        make_directory(plan.folder)
        try:
            report, shards = _store(access, documents, make_shards, plan)
            record = record_of(encoder, [part.vectors for part in model.encoders])
            with as_not_indexed(access.name, report.documents, Action.REFIT):
                keep_reading(access, reading or {})
                publish(access, encoder, record, progress, shards=shards)
        finally:
            shutil.rmtree(plan.folder, ignore_errors=True)  # the sweep removes what remains
    return replace(report, fingerprint=encoder.fingerprint, seconds=time.monotonic() - started)


def _store(
    access: CollectionAccess,
    documents: Iterable[Document],
    make_shards: MakeShards,
    plan: ShardPlan,
) -> tuple[UpsertReport, Sequence[Path]]:
    """Store documents while their shards are made; if the documents or the shards fail, nothing is stored."""
    with ThreadPoolExecutor(1) as pool:
        shards = pool.submit(make_shards, plan)

        def all_documents() -> Iterator[Document]:
            for document in documents:
                if shards.done():
                    shards.result()  # raises if the shards have failed
                yield document
            shards.result()  # waits: the documents are committed after the shards are made

        try:
            report = upsert(access, Intake([all_documents()], "refuse"), plan.report, index=False)
        except BaseException:
            plan.stop.set()
            raise
        return report, shards.result()
