"""Take in documents that were encoded and indexed elsewhere, by an encoder that was fitted on them there."""

from __future__ import annotations

import shutil
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from gem_index.advice import Action
from gem_index.collection.access import CollectionAccess
from gem_index.collection.building import as_not_indexed, keep_reading
from gem_index.collection.models import record_of
from gem_index.collection.publish import publish
from gem_index.collection.results import IngestReport
from gem_index.collection.shard_plan import MakeShards, ShardPlan
from gem_index.collection.writing import upsert
from gem_index.documents import Document
from gem_index.errors import ConfigError, InputError
from gem_index.files import make_directory
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress, counted

__all__ = ["adopt"]


def adopt(
    access: CollectionAccess,
    encoder: Encoder,
    documents: Iterable[Document],
    make_shards: MakeShards,
    reading: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> IngestReport:
    """Store documents in an empty collection, and publish the fitted encoder and their index without encoding them again.

    Parameters
    ----------
    access : CollectionAccess
    encoder : Encoder
        Fitted on these documents; otherwise that of the collection.
    documents : iterable of Document
        Stored in one transaction.
    make_shards : callable
        Called in a thread of its own while the documents are written; they are stored when it has returned. Nobody else can
        write to the home meanwhile.
    reading : mapping, optional
        How files are read that are added later.
    progress : callable, optional

    Raises
    ------
    InputError
        If the collection holds documents.
    ConfigError
        If the encoder has other word vectors or another configuration than that of the collection.
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
                f"the collection {access.name} holds {held} documents; expected an empty one"
            )
        own = access.encoder()
        if own.unfitted().fingerprint != encoder.unfitted().fingerprint:
            raise ConfigError(
                f"the encoder has other word vectors or another configuration than the collection {access.name}; "
                "expected a fit of the collection's own"
            )
        # after a kill it is swept, like a snapshot that no row names
        plan = ShardPlan(first, index, access.folder / uuid.uuid4().hex[:12], progress)
        make_directory(plan.folder)
        try:
            report, shards = _store(access, documents, make_shards, plan)
            record = record_of(encoder, [part.vectors for part in model.encoders])
            with as_not_indexed(access.name, report.documents, Action.REFIT):
                keep_reading(access, reading or {})
                publish(access, encoder, record, progress, shards=shards)
        finally:
            shutil.rmtree(plan.folder, ignore_errors=True)  # what is left is swept
    return replace(report, fingerprint=encoder.fingerprint, seconds=time.monotonic() - started)


def _store(
    access: CollectionAccess,
    documents: Iterable[Document],
    make_shards: MakeShards,
    plan: ShardPlan,
) -> tuple[IngestReport, Sequence[Path]]:
    """Store documents while their shards are made; both, or none."""
    with ThreadPoolExecutor(1) as pool:
        shards = pool.submit(make_shards, plan)

        def all_documents() -> Iterator[Document]:
            for document in documents:
                if shards.done():
                    shards.result()  # has it failed?
                yield document
            shards.result()  # before the documents are committed

        watched = partial(counted, stage="store", progress=plan.report)
        try:
            report = upsert(access, [all_documents()], "refuse", watched=watched)
        except BaseException:
            plan.stop.set()
            raise
        return report, shards.result()
