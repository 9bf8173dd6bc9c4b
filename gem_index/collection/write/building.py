"""Create a collection, or update an existing one: the steps of :meth:`gem_index.Home.build`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from gem_index.collection.results import UpsertReport
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.state.models import open_vectors, record_of
from gem_index.collection.state.piece_encoder import expected_pieces
from gem_index.collection.state.texts import CollectionTexts
from gem_index.collection.write.choice import NEW_CHUNKING, CollectionChoice, check_agreement
from gem_index.collection.write.intake import Intake
from gem_index.collection.write.writing import detected_language, refit, upsert
from gem_index.errors import Action, DiskError, GemIndexError, InputError, NotIndexedError
from gem_index.gem.specification import EncoderSpec, make_encoder
from gem_index.index.kinds import AUTOMATIC, check_kind, resolve_kind
from gem_index.progress import Progress
from gem_index.readers import DocumentReader
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import TextSettings
from gem_index.store.workspace import Workspace, check_name
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.languages import SAMPLED
from gem_index.vectors.coverage import known_share

__all__ = [
    "as_not_indexed",
    "bring_up_to_date",
    "build_again",
    "build_new",
    "create",
    "drop",
    "keep_reading",
    "use_index",
]


def create(
    workspace: Workspace, name: str, specs: Sequence[EncoderSpec], choice: CollectionChoice
) -> CollectionAccess:
    """Create an empty collection; ``specs`` are the chosen encoders, with word vectors of the home."""
    check_name("collection", name)
    with workspace.database.writing() as connection:
        encoder = make_encoder(
            specs,
            lambda spec: open_vectors(workspace, spec, connection),
            lambda config: config.for_collection(choice.prior),
        )
        check_kind(choice.index or AUTOMATIC, encoder.dimension)
        model = record_of(encoder, [str(spec.vectors) for spec in specs])
        model_id = ModelRepository(connection).add(model)
        record = CollectionRepository(connection).add(
            name,
            model_id,
            choice.index or AUTOMATIC,
            chunking=_stored(choice.chunking or NEW_CHUNKING),
            analysis=choice.analyzer.stored,
        )
    return CollectionAccess(workspace, record)


def build_new(
    workspace: Workspace,
    name: str,
    specs: Sequence[EncoderSpec],
    choice: CollectionChoice,
    intake: Intake,
    reading: DocumentReader | None,
    progress: Progress | None,
) -> UpsertReport:
    """Create a collection, store its documents, and fit its model.

    The collection is removed if an error occurs before the documents are stored, or if no model can be fitted.

    Parameters
    ----------
    workspace : Workspace
        The caller holds its write lock.
    name : str
    specs : sequence of EncoderSpec
        The chosen encoders, with word vectors of the home.
    choice : CollectionChoice
    intake : Intake
    reading : DocumentReader, optional
        A reader whose options the collection stores; later calls read their files with these options.
    progress : callable, optional

    Raises
    ------
    NotIndexedError
        If the documents are stored and can be found, but fitting or indexing them failed.
    """
    access = create(workspace, name, specs, choice)
    try:
        # no index yet, because nobody searches the collection before the fit
        report = upsert(access, intake, progress, index=False)
        if not report.documents:
            intake.check_any()
    except BaseException as error:
        _discard(workspace, name, error)
        raise
    try:
        return _finish(access, report, reading, CollectionChoice(), progress)
    except NotIndexedError as error:
        if not isinstance(error.__cause__, InputError):
            raise
        # because a later refit on these texts would fail too: the user must give other texts
        drop(workspace, name)
        raise error.__cause__ from None


def build_again(
    access: CollectionAccess,
    choice: CollectionChoice,
    intake: Intake,
    reading: DocumentReader | None,
    progress: Progress | None,
) -> UpsertReport:
    """Update a collection, and refit it if anything has changed; parameters and errors are as for :func:`build_new`.

    Raises
    ------
    FingerprintMismatchError, ConfigError
        If the choice does not agree with the collection; see :func:`check_agreement`.
    """
    check_agreement(access, choice)
    report = upsert(access, intake, progress)
    return _finish(access, report, reading, choice, progress)


def _finish(
    access: CollectionAccess,
    report: UpsertReport,
    reading: DocumentReader | None,
    choice: CollectionChoice,
    progress: Progress | None,
) -> UpsertReport:
    """Store the reading options, then fit and index the documents; NotIndexedError if the fit or the index fails."""
    with as_not_indexed(access.name, report.documents, choice.to_repeat):
        if reading is not None:
            # stored only after the reading, which finds the types of columns
            keep_reading(access, reading.choices)
        bring_up_to_date(access, choice, progress)
        return _with_findings(access, report)


def _with_findings(access: CollectionAccess, report: UpsertReport) -> UpsertReport:
    """Add the fingerprint, the language and the share of known words to the report of a build."""
    now = access.status()
    with access.reading() as rows:
        texts = CollectionTexts(rows.documents).sample(SAMPLED)
        sources = [part.vectors for part in access.encoder(rows).encoders]
    return replace(
        report,
        fingerprint=now.fingerprint,
        language=now.language,
        known_words=known_share(sources, texts),
    )


def _discard(workspace: Workspace, name: str, error: BaseException) -> None:
    """Remove a collection after an error; if the removal fails too, add a note to the first error."""
    if not isinstance(error, Exception):
        workspace.database.roll_back_interrupted()
    try:
        drop(workspace, name)
    except GemIndexError as second:
        error.add_note(f"the collection {name} was not removed: {second}")


def drop(workspace: Workspace, name: str) -> None:
    """Remove a collection, if it exists, with its documents, model and files; the caller holds the write lock."""
    with workspace.database.writing() as connection:
        record = CollectionRepository(connection).find(name)
        if record is not None:
            CollectionRepository(connection).remove(record.id)
            ModelRepository(connection).remove(record.model_id)


def use_index(access: CollectionAccess, kind: str) -> bool:
    """Set the index kind of later snapshots; return True if the present snapshot is missing or has another kind.

    Raises
    ------
    ConfigError
        If FAISS cannot make an index of this kind.
    """
    check_kind(kind, access.encoder().dimension)
    with access.writing() as rows:
        rows.names.use_index(access.id, kind)
        snapshot = rows.names.snapshot(access.id)
        vectors = expected_pieces(CollectionTexts(rows.documents), rows.record.chunking)
        wanted = resolve_kind(kind, vectors, access.encoder(rows).dimension).name
    return snapshot is None or snapshot.kind != wanted


def keep_reading(access: CollectionAccess, reading: Mapping[str, Any]) -> None:
    """Store the options for reading the collection's files; see :attr:`gem_index.Collection.reading`."""
    text = json.dumps(reading, sort_keys=True)
    with access.writing() as rows:
        if rows.record.reading != text:
            rows.names.use_reading(access.id, text)


def bring_up_to_date(
    access: CollectionAccess, choice: CollectionChoice, progress: Progress | None
) -> None:
    """Refit the collection if a document, the index kind, the chunking or the language has changed."""
    changed = choice.index is not None and use_index(access, choice.index)
    with access.reading() as rows:
        settings = _chosen_settings(rows, choice)
        stale = rows.changed_since_fit()
    if changed or settings or stale:
        refit(access, progress, settings)


def _chosen_settings(rows: CollectionRows, choice: CollectionChoice) -> TextSettings:
    """Return the chosen chunking and language that differ from those of the collection.

    They are stored only with the new index: with a stored setting that the index does not have, each search would encode
    all texts.
    """
    record, settings = rows.record, TextSettings()
    if choice.chunking is not None and choice.chunking != record.chunking:
        settings["cutting"] = _stored(choice.chunking)
    if choice.language is not None:
        analysis = choice.analyzer.stored
        found = detected_language(rows.with_text_settings({"analysis": analysis}))
        analyzer = choice.analyzer if found is None else Analyzer(found.language)
        if analyzer != record.analyzer:
            settings["analysis"] = analyzer.stored
    return settings


def _stored(chunking: Chunking) -> str:
    return json.dumps(chunking.fields, sort_keys=True)


@contextmanager
def as_not_indexed(name: str, documents: int, action: Action) -> Iterator[None]:
    """Turn a GemIndexError, OSError or MemoryError of the block into NotIndexedError; add a note to any other error.

    NotIndexedError tells that the documents are stored, and that ``action`` completes the index. A KeyboardInterrupt
    is raised as a new KeyboardInterrupt, with the NotIndexedError as its argument.

    Raises
    ------
    NotIndexedError
        If the block raises a GemIndexError, an OSError or a MemoryError.
    """
    try:
        yield
    except (GemIndexError, OSError, MemoryError) as error:
        # NotIndexedError itself tells what is stored and what to do, so a DiskError contributes only its cause
        cause = error.__cause__
        reason = cause if isinstance(error, DiskError) and isinstance(cause, OSError) else error
        raise NotIndexedError(name, documents, reason, action) from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(NotIndexedError(name, documents, error, action)) from error
    except BaseException as error:
        error.add_note(str(NotIndexedError(name, documents, error, action)))
        raise
