"""Write to a collection: store and delete documents, refit the model, rebuild the index."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from sqlalchemy import Connection

from gem_index.collection.results import DeleteReport, UpsertReport
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.models import open_unfitted, record_of
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.state.texts import CollectionTexts
from gem_index.collection.write.intake import Intake, take_in
from gem_index.collection.write.publish import AS_STORED, publish, publish_in
from gem_index.collection.write.refit_checkpoint import RefitCheckpoint
from gem_index.documents import check_ids
from gem_index.errors import GemIndexError, InputError
from gem_index.files.publishing import disk_errors
from gem_index.progress import Progress
from gem_index.store.records import TextSettings
from gem_index.text.analyzer import Analyzer
from gem_index.text.languages import SAMPLED, DetectedLanguage, detect_language

__all__ = [
    "compact",
    "delete",
    "detected_language",
    "index_errors",
    "refit",
    "shorten_tail",
    "upsert",
    "warn_of_index",
]

_LOG = logging.getLogger(__name__)

# A write makes a new snapshot in two cases: the added and deleted documents exceed both limits for documents, or the
# characters of the tail exceed both limits for characters.
_TAIL_LIMIT = 5000  # added and deleted documents
_TAIL_SHARE = 0.05  # added and deleted documents, as a share of the collection
_TAIL_CHARACTERS = 100_000  # characters of the tail, because the next reader must encode them
# characters of the tail per byte of the snapshot; a new snapshot copies most bytes of the old one
_TAIL_BYTE_SHARE = 0.002


def upsert(
    access: CollectionAccess,
    intake: Intake,
    progress: Progress | None = None,
    *,
    index: bool = True,
) -> UpsertReport:
    """Store documents in one transaction; see :meth:`gem_index.Collection.upsert`.

    The caller holds the write lock of the home. If the tail becomes long and ``index`` is true, the transaction also
    switches to a new snapshot, because otherwise the next reader would have to encode a long tail.
    """
    started = time.monotonic()
    with access.writing() as rows:
        writing = rows.documents.upserting(intake.on_existing, rows.record.chunking)
        deleted = take_in(rows, intake, writing, progress)
        changed = writing.counts
        detected = detected_language(rows)
        if detected is not None:
            analysis = Analyzer(detected.language).stored
            rows.names.use_text_settings(access.id, {"analysis": analysis})
        failed = shorten_tail(access, rows.connection, progress) if index else None
        # read before the commit: an error after the commit would suggest that nothing was stored
        fingerprint = rows.model().fingerprint
        total = rows.counts().documents
    warn_of_index(access, failed)
    return UpsertReport(
        collection=access.name,
        added=changed.added,
        updated=changed.updated,
        unchanged=changed.unchanged,
        deleted=deleted,
        pieces=changed.pieces,
        documents=total,
        fingerprint=fingerprint,
        seconds=time.monotonic() - started,
        language=rows.record.analyzer.language if detected is None else detected.language,
        language_share=None if detected is None else detected.share,
    )


def detected_language(rows: CollectionRows) -> DetectedLanguage | None:
    """Return the language of the documents; None if the collection has a fixed language or no documents."""
    texts = CollectionTexts(rows.documents)
    if not rows.record.analyzer.detects or not len(texts):
        return None
    return detect_language(texts.sample(SAMPLED))


def delete(
    access: CollectionAccess,
    ids: Iterable[str | int] | None = None,
    where: Mapping[str, Any] | None = None,
) -> DeleteReport:
    """Delete documents by id or by a filter, in one transaction; see :meth:`gem_index.Collection.delete`."""
    if ids is not None and where is not None:
        raise InputError(
            "found ids and a filter; expected one of them to say which documents to delete"
        )
    if ids is None and not where:
        found = (
            "no ids and no filter"
            if where is None
            else "an empty filter, which every document matches"
        )
        raise InputError(
            f"found {found}; expected ids or a filter with a condition: it says which documents to delete"
        )
    wanted = check_ids(ids or ())
    with access.writing() as rows:
        if where is not None:
            wanted = rows.documents.ids_of(rows.documents.accepted(where))
        deleted = len(set(rows.documents.seqs_of(wanted).values()))
        missing = rows.documents.delete(wanted)
        failed = shorten_tail(access, rows.connection)
    warn_of_index(access, failed)
    return DeleteReport(deleted, tuple(missing))


def refit(
    access: CollectionAccess,
    progress: Progress | None,
    settings: TextSettings = AS_STORED,
) -> None:
    """Fit the model on the present texts and index them; see :meth:`gem_index.Collection.refit`.

    Parameters
    ----------
    access : CollectionAccess
    progress : callable, optional
    settings : TextSettings
        Other settings than the stored ones; they are stored when searches switch to the new index.
    """
    with access.workspace.write_lock():
        with access.reading() as stored:
            rows = stored.with_text_settings(settings)
            model, texts = rows.model(), CollectionTexts(rows.documents)
            if not len(texts):
                raise InputError(
                    f"the collection {access.name} has no documents; expected documents to fit on: add some first"
                )
            fresh = open_unfitted(access.workspace, model, rows.connection)
            unfinished = RefitCheckpoint(access.folder, rows.record, texts.seqs, fresh)
            pieces = PieceEncoder(fresh, rows.record.chunking, rows.record.analyzer)
            encoder = unfinished.fitted(
                fresh, lambda: fresh.fit(pieces.of_all(texts.all(progress)))
            )
        record = record_of(encoder, [part.vectors for part in model.encoders])
        publish(access, encoder, record, progress, settings=settings, unfinished=unfinished)


def index_errors(access: CollectionAccess) -> AbstractContextManager[None]:
    """Turn an OSError of a block that writes an index into a DiskError."""
    return disk_errors(f"the index of {access.name}", "the present index stays in use")


def compact(access: CollectionAccess, progress: Progress | None = None) -> None:
    """Rebuild the index from the texts of the present documents."""
    with access.workspace.sweep_lock(), access.workspace.write_lock():
        # remove the map, because the names of its topics may be words of deleted documents
        with access.reading() as rows:
            folder = access.map_folder(rows.record)
        if folder.exists():
            shutil.rmtree(folder)
        publish(access, access.encoder(), progress=progress, reuse=False)


def shorten_tail(
    access: CollectionAccess, connection: Connection, progress: Progress | None = None
) -> Exception | None:
    """If the tail is now long, write a new snapshot in the caller's transaction; if this fails, return the error."""
    try:
        rows = access.rows(connection)  # the rows as this transaction sees them
        if _has_long_tail(rows):
            publish_in(access, rows, access.encoder(rows), progress)
    except (GemIndexError, OSError, MemoryError) as error:
        return error
    return None


def warn_of_index(access: CollectionAccess, failed: Exception | None) -> None:
    """Warn after the commit that the index could not be written.

    This is only a warning, because the documents are stored and searches find them.
    """
    if failed is not None:
        _LOG.warning("the index of %s was not brought up to date: %s", access.name, failed)


def _has_long_tail(rows: CollectionRows) -> bool:
    """Tell whether the tail is so long that a new snapshot costs less than it saves."""
    counts = rows.counts()
    if counts.tail + counts.dead > max(_TAIL_LIMIT, _TAIL_SHARE * counts.documents):
        return True
    snapshot = rows.names.snapshot(rows.record.id)
    after, size = (0, 0) if snapshot is None else (snapshot.last_seq, snapshot.bytes)
    return rows.documents.characters(after) > max(_TAIL_CHARACTERS, _TAIL_BYTE_SHARE * size)
