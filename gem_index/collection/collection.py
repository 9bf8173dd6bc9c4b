"""A collection: the use cases of a named set of documents."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

from sqlalchemy import Connection

from gem_index.collection.counts import count_documents
from gem_index.collection.drift import Drift, measure_drift
from gem_index.collection.exports import write_export
from gem_index.collection.filters import FilterCache
from gem_index.collection.models import open_unfitted, record_of
from gem_index.collection.publish import publish
from gem_index.collection.refit_checkpoint import RefitCheckpoint
from gem_index.collection.results import (
    CollectionStatus,
    DeleteReport,
    IndexStatus,
    IngestReport,
    Problem,
    SearchResult,
    SearchResults,
)
from gem_index.collection.searching import Hit, Query, Search, SearchRequest
from gem_index.collection.verification import index_problems
from gem_index.collection.view import StaleStateError, ViewCache
from gem_index.collection.why import explain_hit
from gem_index.documents import Document
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    GemIndexError,
    InputError,
    UnknownNameError,
)
from gem_index.files import user_path
from gem_index.gem.combined import Encoder
from gem_index.gem.config import GemConfig
from gem_index.gem.reranking import Candidate, RerankResults
from gem_index.gem.reranking import rerank as _rerank
from gem_index.index.dense import spread
from gem_index.index.kinds import check_kind, resolve_kind
from gem_index.progress import Progress, ProgressOption, counted, reporting
from gem_index.quoting import quoted, quoted_error
from gem_index.store.database import FORK_GATE
from gem_index.store.documents import DocumentRepository, OnExisting
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, StoredDocument
from gem_index.store.workspace import Workspace
from gem_index.text import check_text, check_texts

__all__ = ["Collection"]

_LOG = logging.getLogger(__name__)

RERANKED = 100
"""The least number of hits that are re-ranked; more where ``k`` is larger."""

_TAIL_LIMIT = 5000
_TAIL_SHARE = 0.05
_READ_AT_ONCE = 2000


class Collection:
    """A named set of documents, embedded by one model; made by :class:`~gem_index.home.Home`.

    Any number of threads and processes may search; one at a time writes. A search sees every document that was
    acknowledged before it began.

    Parameters
    ----------
    workspace : Workspace
    record : CollectionRecord
    """

    def __init__(self, workspace: Workspace, record: CollectionRecord) -> None:
        self.name = record.name
        self._id = record.id
        self._workspace = workspace
        self._views = ViewCache(workspace, record.id)
        self._filters = FilterCache()

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and its home: whoever unpickles it opens the collection again."""
        return _reopen, (self._workspace, self.name)

    def __len__(self) -> int:
        """Return how many documents there are."""
        return self.count()

    def __bool__(self) -> bool:
        """Be true also without documents."""
        return True

    def __repr__(self) -> str:
        """Return the name, how many documents, and the word vectors."""
        try:
            status = self.status()
        except GemIndexError as error:
            return f"Collection({self.name!r}, {quoted_error(error)})"
        return f"Collection({self.name!r}, {status.documents:,} documents, {status.vectors})"

    # ----------------------------------------------------------------- writing

    def ingest(
        self,
        documents: Iterable[Document],
        *,
        on_existing: OnExisting = "replace",
        progress: ProgressOption = None,
    ) -> IngestReport:
        """Add documents, or replace those whose id exists and whose content differs.

        One call is one transaction: everything is durable when it returns, nothing is stored when it raises. A collection
        keeps its model; :meth:`refit` fits it to the texts of the day.

        Parameters
        ----------
        documents : iterable of Document
            Read once.
        on_existing : {"replace", "keep", "refuse"}
            What becomes of a document whose id is stored already; one that is kept counts as unchanged.
        progress : bool or callable, optional
            True for a bar on standard error; a function is called with stage, done and total.

        Raises
        ------
        DuplicateIdError
            If an id comes twice in the call.
        ExistingIdError
            If an id is stored already and is to be refused.
        ConfigError
            If ``on_existing`` is none of the three.
        HomeBusyError
            If another process keeps writing for too long.
        """
        check_texts(documents, "documents")
        with self._workspace.write_lock(), reporting(progress, "store") as show:
            report = self.store(counted(documents, "store", show), on_existing=on_existing)
            self._shorten_tail(show)
        return report

    def store(
        self, documents: Iterable[Document], *, on_existing: OnExisting = "replace"
    ) -> IngestReport:
        """Ingest without a look at the index, for a caller that refits next."""
        if on_existing not in get_args(OnExisting):
            raise ConfigError(
                f"on_existing is {quoted(on_existing)}; expected one of {', '.join(get_args(OnExisting))}"
            )
        started = time.monotonic()
        with self._workspace.write_lock(), self._workspace.database.writing() as connection:
            record = self._record(connection)
            counts = DocumentRepository(connection, self._id).upsert(documents, on_existing)
            # after the commit nothing is read: what can fail must not make stored documents look refused
            fingerprint = ModelRepository(connection).get(record.model_id).fingerprint
            total = count_documents(connection, self._id).documents
        return IngestReport(
            collection=self.name,
            added=counts.added,
            updated=counts.updated,
            unchanged=counts.unchanged,
            documents=total,
            fingerprint=fingerprint,
            seconds=time.monotonic() - started,
        )

    def delete(self, ids: Iterable[str | int]) -> DeleteReport:
        """Delete documents by id, in one transaction; they are not found by any search that begins afterwards."""
        wanted = _checked_ids(ids)
        with self._workspace.write_lock():
            with self._workspace.database.writing() as connection:
                self._record(connection)
                missing = DocumentRepository(connection, self._id).delete(wanted)
            self._shorten_tail()
        return DeleteReport(len(wanted) - len(missing), tuple(missing))

    def refit(self, progress: ProgressOption = None) -> None:
        """Fit the model on the collection's present texts and encode them all with it.

        The old model and index serve until the new ones are whole. After a kill the same call, on the same documents, goes
        on from the fitted model and from a checkpoint a minute of encoding.

        Raises
        ------
        InputError
            If there are no documents.
        """
        with self._workspace.write_lock(), reporting(progress, "fit") as show:
            with self._workspace.database.reading() as connection:
                record = self._record(connection)
                model = ModelRepository(connection).get(record.model_id)
                documents = DocumentRepository(connection, self._id)
                seqs = documents.seqs()
                if not len(seqs):
                    raise InputError(
                        f"the collection {self.name} holds no documents; expected some to fit on: add them first"
                    )
                fresh = open_unfitted(self._workspace, model, connection)
                folder = self._workspace.collection_folder(self._id)
                unfinished = RefitCheckpoint(folder, record, seqs, fresh)
                texts = _watched(documents.texts_after(0), len(seqs), show)
                encoder = unfinished.fitted(fresh, lambda: fresh.fit(texts))
            record_of_new = record_of(encoder, [part.vectors for part in model.encoders])
            publish(self._workspace, self._id, encoder, record_of_new, show, unfinished=unfinished)

    def compact(self, progress: ProgressOption = None) -> None:
        """Rebuild the index from the living documents, so that it holds nothing of deleted ones."""
        with self._workspace.write_lock(), reporting(progress, "encode") as show:
            publish(self._workspace, self._id, self.encoder, None, show, afresh=True)

    def export(self, path: str | Path, progress: ProgressOption = None) -> int:
        """Write the collection to a file, with vectors and model; see :mod:`gem_index.collection.exports`.

        Returns
        -------
        int
            How many documents it holds.
        """
        with (
            self._workspace.database.reading() as connection,
            reporting(progress, "export") as show,
        ):
            record = self._record(connection)
            model = ModelRepository(connection).get(record.model_id)
            documents = DocumentRepository(connection, self._id)
            encoder = self._views.encoder(connection, record)
            return write_export(user_path(path), record, model, documents, encoder, show)

    def drift(self, sample: int = 5000, progress: ProgressOption = None) -> Drift:
        """Measure how far the texts have moved from those that the model was fitted on.

        The model is compared with one fitted on all present texts, which is what a refit would give: a fit on a sample
        would differ by its size alone. It takes as long as the fit, not as a refit, which encodes and indexes as well.

        Parameters
        ----------
        sample : int
            Upper bound on the documents whose pairwise cosines are compared, taken at even intervals.
        progress : callable, optional
            Called with stage, done and total.

        Raises
        ------
        InputError
            If there are no documents.
        """
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            documents = DocumentRepository(connection, self._id)
            seqs = documents.seqs()
            encoder = self._views.encoder(connection, record)
            if not len(seqs):
                raise InputError(
                    f"the collection {self.name} holds no documents; expected some to compare"
                )
            found = documents.by_seq(spread(seqs, sample).tolist())
            fresh = encoder
            if _fitted_on_others(record, documents):
                fresh = encoder.unfitted()
                with reporting(progress, "fit") as show:
                    fresh.fit(_watched(documents.texts_after(0), len(seqs), show))
        since = int((seqs > record.fitted_seq).sum())
        texts = [found[seq].text for seq in sorted(found)]
        return measure_drift(encoder, fresh, texts, len(seqs), since)

    def use_index(self, kind: str) -> bool:
        """Take another kind of index for the snapshots to come; tell whether it is another one than the present one's.

        Raises
        ------
        ConfigError
            If FAISS cannot make such an index.
        """
        with self._workspace.write_lock():
            check_kind(kind, self.encoder.dimension)
            with self._workspace.database.writing() as connection:
                names = CollectionRepository(connection)
                names.use_index(self._id, kind)
                snapshot = names.snapshot(self._id)
                wanted = resolve_kind(kind, count_documents(connection, self._id).documents).name
        return snapshot is None or snapshot.kind != wanted

    @property
    def reading(self) -> dict[str, Any]:
        """How the files that it was built of were read, other than by default: arguments of a DocumentReader."""
        with self._workspace.database.reading() as connection:
            found: dict[str, Any] = json.loads(self._record(connection).reading)
        return found

    def read_as(self, reading: Mapping[str, Any]) -> None:
        """Keep how files are read, see :attr:`reading`."""
        text = json.dumps(reading, sort_keys=True)
        with self._workspace.write_lock(), self._workspace.database.writing() as connection:
            if self._record(connection).reading != text:
                CollectionRepository(connection).use_reading(self._id, text)

    def changed_since_fit(self) -> bool:
        """Tell whether the model was fitted on other documents than the present ones, or on none."""
        with self._workspace.database.reading() as connection:
            return _fitted_on_others(
                self._record(connection), DocumentRepository(connection, self._id)
            )

    def _shorten_tail(self, progress: Progress | None = None) -> None:
        """Write a new snapshot when the documents outside of it have become many."""
        try:
            with self._workspace.database.reading() as connection:
                record = self._record(connection)
                counts = count_documents(connection, self._id)
                if counts.tail + counts.dead <= max(_TAIL_LIMIT, _TAIL_SHARE * counts.documents):
                    return
                encoder = self._views.encoder(connection, record)
            publish(self._workspace, self._id, encoder, progress=progress)
        except (GemIndexError, OSError, MemoryError) as error:
            # The documents are stored and found without it: what was acknowledged must not look refused.
            _LOG.warning("the index of %s was not brought up to date: %s", self.name, error)

    # ----------------------------------------------------------------- reading

    def search(
        self,
        query: Query,
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        *,
        mode: str | None = None,
        min_score: float | None = None,
        fusion: str = "weighted",
        fingerprint: str | None = None,
        rerank: bool = False,
        why: bool = False,
    ) -> SearchResults:
        """Return the k best documents for a query.

        Parameters
        ----------
        query : str or array (dimension,)
            A text; in the mode ``dense`` also a vector of this collection's encoder, given with its fingerprint.
        k : int, optional
            At least 1; fewer come back only where fewer documents match. None, with ``min_score``, for all that reach it.
        mode : str, optional
            ``dense``: by the cosine of the vectors; ``lexical``: by BM25 over stemmed words; ``hybrid``, the default for a
            text: by both. A vector is searched ``dense``.
        min_score : float, optional
            Only documents with at least this score, on the scale of the mode; see :class:`SearchResult`.
        fusion : str
            How ``hybrid`` brings the two together: ``weighted``, by (cosine + 2.25 match) / 3.25, or ``rrf``, by
            their ranks; see :mod:`gem_index.index.fusion`.
        where : mapping, optional
            A metadata filter such as ``{"lang": "en", "year": {"$gte": 2020}}``, with ``$in``, ``$gt``, ``$gte``, ``$lt``,
            ``$lte``, ``$and``, ``$or`` and ``$not``.

        fingerprint : str, optional
            Of the encoder or provider that made a query vector; vectors of two encoders have no cosine, of whatever length
            they are.
        rerank : bool
            Order the best hits of the mode, :data:`RERANKED` at least, by their cosine with the query, which is then the
            score; ``min_score`` is held against the mode's own.
        why : bool
            Explain each hit: what each word, and each pair of words, adds to its cosine with the query.

        Returns
        -------
        SearchResults
            A list of :class:`SearchResult`, best first.

        Raises
        ------
        EmptyTextError
            If the query holds no word.
        FingerprintMismatchError
            If another encoder made the query vector.
        InputError
            If k is below 1, a vector is not one of this collection's dimension or comes without a fingerprint, the mode or
            fusion has another name, or the filter is not of this form.
        """
        asked = SearchRequest(query, k, where, mode, min_score, fusion, fingerprint)
        if why and not isinstance(query, str):
            raise InputError("found a vector to explain the hits of; expected a text")
        if rerank:
            if not isinstance(query, str):
                raise InputError("found a vector to re-rank by; expected a text")
            deep = None if k is None else max(k, RERANKED)
            hits = self.search(query, deep, where, mode=mode, min_score=min_score, fusion=fusion)
            encoder = self.encoder
            ranked = _rerank(query, [(hit.id, hit.text) for hit in hits], encoder, k)
            return SearchResults(
                replace(
                    hits[best.index],
                    score=best.score,
                    cosine=best.score,
                    why=explain_hit(encoder, query, best.text) if why else None,
                )
                for best in ranked
            )
        while True:
            try:
                best, stored, encoder = self._search_once(asked)
                break
            except StaleStateError:
                continue  # a newer one is in use: its state is the one to answer from
        return SearchResults(
            SearchResult(
                stored[hit.seq].document_id,
                _at_most_one(hit.score) if asked.mode == "dense" else hit.score,
                stored[hit.seq].text,
                json.loads(stored[hit.seq].metadata),
                None if hit.cosine is None else _at_most_one(hit.cosine),
                hit.bm25,
                explain_hit(encoder, str(query), stored[hit.seq].text) if why else None,
            )
            for hit in best
        )

    def _search_once(
        self, asked: SearchRequest
    ) -> tuple[list[Hit], dict[int, StoredDocument], Encoder]:
        """Search one state of the collection."""
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            view = self._views.at(connection, record)
            documents = DocumentRepository(connection, self._id)
            allowed = None
            if asked.filtered:
                assert asked.where is not None
                allowed = self._filters.matching(
                    documents, asked.where, record.directory, record.last_seq
                )
            search = Search(view, documents, asked, allowed)
            try:
                best = search.best()
            except CorruptionError as error:
                if self._views.replaced(view.directory):
                    raise StaleStateError from error
                if asked.mode != "hybrid":
                    raise
                _LOG.warning("%s; searching by meaning alone", error)
                best = search.without_words().best()
            return best, documents.by_seq([hit.seq for hit in best]), view.encoder

    def get(self, ids: Iterable[str | int]) -> list[Document]:
        """Return the documents with these ids, in the order asked for; those that are not there are left out."""
        wanted = _checked_ids(ids)
        with self._workspace.database.reading() as connection:
            documents = DocumentRepository(connection, self._id)
            self._record(connection)
            seqs = documents.seqs_of(wanted)
            found = documents.by_seq(list(seqs.values()))
        return [_document(found[seqs[identifier]]) for identifier in wanted if identifier in seqs]

    def documents(self, where: Mapping[str, Any] | None = None) -> Iterator[Document]:
        """Iterate over the documents that a filter accepts, in the order of their last change.

        They are those of one moment, that of the first step, whatever is written meanwhile.

        Parameters
        ----------
        where : mapping, optional
            A filter as for :meth:`search`; all documents without one.

        Raises
        ------
        FilterError
            If the filter is not of the documented form.
        """
        with self._workspace.database.reading_slowly() as connection:
            documents = DocumentRepository(connection, self._id)
            with FORK_GATE.passing():
                self._record(connection)
                seqs = (
                    documents.seqs() if where is None or where == {} else documents.matching(where)
                )
            for begin in range(0, len(seqs), _READ_AT_ONCE):
                batch = seqs[begin : begin + _READ_AT_ONCE].tolist()
                with FORK_GATE.passing():
                    found = documents.by_seq(batch)
                yield from (_document(found[seq]) for seq in batch)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return how many documents there are, or how many a filter accepts."""
        with self._workspace.database.reading() as connection:
            self._record(connection)
            if where is None or where == {}:
                return count_documents(connection, self._id).documents
            return len(DocumentRepository(connection, self._id).matching(where))

    def rerank(
        self, query: str, candidates: Sequence[Candidate], top_n: int | None = None
    ) -> RerankResults:
        """Order candidates by their cosine with a query, by this collection's model; see :func:`gem_index.rerank`."""
        return _rerank(query, candidates, self.encoder, top_n)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the collection's model."""
        with self._workspace.database.reading() as connection:
            return self._views.encoder(connection, self._record(connection))

    def status(self) -> CollectionStatus:
        """Return counts, model and index at a glance, without opening any of them."""
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            model = ModelRepository(connection).get(record.model_id)
            snapshot = CollectionRepository(connection).snapshot(self._id)
            counts = count_documents(connection, self._id)
            last_seq = snapshot.last_seq if snapshot else 0
            since_fit = DocumentRepository(connection, self._id).count(record.fitted_seq)
        configs = [GemConfig.from_json(part.config) for part in model.encoders]
        files = json.loads(snapshot.files) if snapshot else {}
        return CollectionStatus(
            name=self.name,
            documents=counts.documents,
            fingerprint=model.fingerprint,
            vectors=model.vectors,
            preset=", ".join(config.preset_name for config in configs),
            prior=max(config.prior for config in configs),
            fitted=model.sentences,
            since_fit=since_fit,
            index=IndexStatus(
                snapshot.kind if snapshot else record.index_kind,
                snapshot.directory if snapshot else None,
                last_seq,
                counts.tail,
            ),
            bytes=sum(entry["bytes"] for entry in files.values()),
        )

    # ------------------------------------------------------------ verification

    def verify(self, fix: bool = False) -> list[Problem]:
        """Compare index files and documents with the hashes of what was written, and the index's ids with the documents'.

        Parameters
        ----------
        fix : bool
            Rebuild a damaged index from the texts.

        Returns
        -------
        list of Problem
            Empty when all is well.
        """
        with self._workspace.database.reading() as connection:
            self._record(connection)
        details = index_problems(self._workspace, self._views, self._id)
        if details and fix:
            with self._workspace.write_lock():
                publish(self._workspace, self._id, self.encoder, afresh=True)
        problems = [Problem("index", f"{self.name}: {detail}", fix) for detail in details]
        with self._workspace.database.reading() as connection:
            damaged = list(DocumentRepository(connection, self._id).damaged())
        return problems + [
            Problem(
                "documents",
                f"the document {quoted(identifier)} of {self.name} is not what was stored; add it again or restore a backup",
                False,
            )
            for identifier in damaged
        ]

    def _record(self, connection: Connection) -> CollectionRecord:
        names = CollectionRepository(connection)
        record = names.find(self.name)
        if record is None or record.id != self._id:
            raise UnknownNameError(
                "collection",
                self.name,
                [other.name for other in names.all()],
                "make one with: gem-index build NAME FILE",
            )
        return record


def _reopen(workspace: Workspace, name: str) -> Collection:
    with workspace.database.reading() as connection:
        record = CollectionRepository(connection).find(name)
    if record is None:
        raise UnknownNameError(
            "collection", name, (), f"the home {workspace.root} holds it no more"
        )
    return Collection(workspace, record)


def _fitted_on_others(record: CollectionRecord, documents: DocumentRepository) -> bool:
    fitted = (record.fitted_seq, record.fitted_documents)
    return record.fitted_seq == 0 or fitted != (documents.last_seq(), documents.count())


def _at_most_one(cosine: float) -> float:
    return min(1.0, max(-1.0, cosine))


def _checked_ids(ids: Iterable[str | int]) -> list[str]:
    """Return each id once, integers as their decimal text, as documents take them.

    Raises
    ------
    InputError
        If they are one string, or one of them is neither a string nor an integer.
    """
    check_texts(ids, "ids")
    names: dict[str, None] = {}
    for identifier in ids:
        if isinstance(identifier, bool) or not isinstance(identifier, str | int):
            raise InputError(f"the id is {quoted(identifier)}; expected a string or an integer")
        names[check_text(str(identifier), "id")] = None
    return list(names)


def _document(stored: StoredDocument) -> Document:
    metadata = json.loads(stored.metadata)
    return Document(id=stored.document_id, text=stored.text, metadata=metadata)


def _watched(
    rows: Iterable[tuple[int, str]], total: int, progress: Progress | None
) -> Iterable[str]:
    for done, (_, text) in enumerate(rows, 1):
        yield text
        if progress is not None and (done % 1000 == 0 or done == total):
            progress("fit", done, total)
