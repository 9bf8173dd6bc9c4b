"""A collection: the use cases of a named set of documents."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from gem_index.collection.fusion import DEPTH, fuse
from gem_index.collection.publish import Progress, publish
from gem_index.collection.results import (
    CollectionStatus,
    DeleteReport,
    IndexStatus,
    IngestReport,
    Problem,
    SearchResult,
)
from gem_index.collection.view import Hits, View, ViewKeeper
from gem_index.config import GemConfig
from gem_index.documents import Document
from gem_index.errors import EmptyTextError, GemIndexError, InputError, UnknownNameError
from gem_index.gem.encoder import GemEncoder
from gem_index.index.kinds import check_kind
from gem_index.index.lexical import terms_of
from gem_index.index.snapshot import Snapshot
from gem_index.reranking import Candidate, RerankResult, rerank
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord
from gem_index.text import tokenize
from gem_index.workspace import Workspace

__all__ = ["Collection"]

_LOG = logging.getLogger(__name__)

_TAIL_LIMIT = 5000
_TAIL_SHARE = 0.05
_RANGE = 100  # hits that a search without a k begins with

MODES = ("dense", "lexical", "hybrid")
"""How a collection is searched."""


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
        self._views = ViewKeeper(workspace, record.id)

    # ----------------------------------------------------------------- writing

    def ingest(self, documents: Iterable[Document]) -> IngestReport:
        """Add documents, or replace those whose id exists and whose content differs.

        One call is one transaction: everything is durable when it returns, nothing is stored when it raises. A collection
        keeps its model; :meth:`refit` fits it to the texts of the day.

        Parameters
        ----------
        documents : iterable of Document
            Read once.

        Raises
        ------
        DuplicateIdError
            If an id comes twice in the call.
        HomeBusyError
            If another process keeps writing for too long.
        """
        with self._workspace.write_lock():
            report = self.store(documents)
            self._shorten_tail()
        return report

    def store(self, documents: Iterable[Document]) -> IngestReport:
        """Ingest without a look at the index, for a caller that refits next."""
        started = time.monotonic()
        with self._workspace.write_lock():
            with self._workspace.database.writing() as connection:
                self._record(connection)
                counts = DocumentRepository(connection, self._id).upsert(documents)
            status = self.status()
        return IngestReport(
            collection=self.name,
            added=counts.added,
            updated=counts.updated,
            unchanged=counts.unchanged,
            documents=status.documents,
            fingerprint=status.fingerprint,
            seconds=time.monotonic() - started,
        )

    def delete(self, ids: Iterable[str]) -> DeleteReport:
        """Delete documents by id, in one transaction; they are not found by any search that begins afterwards."""
        wanted = list(dict.fromkeys(ids))
        with self._workspace.write_lock():
            with self._workspace.database.writing() as connection:
                self._record(connection)
                missing = DocumentRepository(connection, self._id).delete(wanted)
            self._shorten_tail()
        return DeleteReport(len(wanted) - len(missing), tuple(missing))

    def refit(self, progress: Progress | None = None) -> None:
        """Fit the model on the collection's present texts and encode them all with it.

        The old model and index serve until the new ones are whole.

        Raises
        ------
        InputError
            If there are no documents.
        """
        with self._workspace.write_lock():
            with self._workspace.database.reading() as connection:
                record = self._record(connection)
                model = ModelRepository(connection).get(record.model_id)
                documents = DocumentRepository(connection, self._id)
                total = documents.count()
                if total == 0:
                    raise InputError(
                        f"the collection {self.name} holds no documents; expected some to fit on: add them first"
                    )
                encoder = GemEncoder(
                    self._workspace.open_vectors(model.vectors, connection),
                    GemConfig.from_json(model.config),
                    threads=self._workspace.settings.threads,
                )
                encoder.fit(_watched(documents.texts_after(0), total, progress))
            record_of_new = self._workspace.model_record(encoder, model.vectors)
            publish(self._workspace, self._id, encoder, record_of_new, progress)

    def use_index(self, kind: str) -> bool:
        """Take another kind of index for the snapshots to come; tell whether it is another one than before.

        Raises
        ------
        ConfigError
            If FAISS cannot make such an index.
        """
        with self._workspace.write_lock():
            check_kind(kind, self.encoder.dimension)
            with self._workspace.database.writing() as connection:
                before = self._record(connection).index_kind
                CollectionRepository(connection).use_index(self._id, kind)
        return kind != before

    def changed_since_fit(self) -> bool:
        """Tell whether the model was fitted on other documents than the present ones, or on none."""
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            documents = DocumentRepository(connection, self._id)
            fitted = (record.fitted_seq, record.fitted_documents)
            return record.fitted_seq == 0 or fitted != (documents.last_seq(), documents.count())

    def _shorten_tail(self) -> None:
        """Write a new snapshot when the documents outside of it have become many."""
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            snapshot = CollectionRepository(connection).snapshot(self._id)
            documents = DocumentRepository(connection, self._id)
            total = documents.count()
            covered = 0 if snapshot is None else documents.count(snapshot.last_seq)
            dead = 0 if snapshot is None else snapshot.vectors - covered
            if total - covered + dead <= max(_TAIL_LIMIT, _TAIL_SHARE * total):
                return
            encoder = self._views.encoder(connection, record)
        try:
            publish(self._workspace, self._id, encoder)
        except (GemIndexError, OSError) as error:
            # The documents are stored and found without it: what was acknowledged must not look refused.
            _LOG.warning("the index of %s was not brought up to date: %s", self.name, error)

    # ----------------------------------------------------------------- reading

    def search(
        self,
        query: str,
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        *,
        mode: str = "dense",
        min_score: float | None = None,
        fusion: str = "weighted",
    ) -> list[SearchResult]:
        """Return the k best documents for a query.

        Parameters
        ----------
        query : str
        k : int, optional
            At least 1; fewer come back only where fewer documents match. None, with ``min_score``, for all that reach it.
        mode : str
            ``dense``: by the cosine of the vectors; ``lexical``: by BM25 over stemmed words; ``hybrid``: by both.
        min_score : float, optional
            Only documents with at least this score.
        fusion : str
            How ``hybrid`` brings the two together: ``weighted`` or ``rrf``; see
            :func:`~gem_index.collection.fusion.fuse`.
        where : mapping, optional
            A metadata filter such as ``{"lang": "en", "year": {"$gte": 2020}}``, with ``$in``, ``$gt``, ``$gte``, ``$lt``,
            ``$lte``, ``$and``, ``$or`` and ``$not``.

        Raises
        ------
        EmptyTextError
            If the query holds no word.
        InputError
            If k is below 1, the mode or fusion has another name, or the filter is not of this form.
        """
        if k is None and min_score is None:
            raise InputError("found neither k nor min_score; expected one of them")
        if k is not None and (isinstance(k, bool) or not isinstance(k, int) or k < 1):
            raise InputError(f"k is {k!r}; expected a whole number of at least 1")
        if mode not in MODES:
            raise InputError(f"the mode is {mode!r}; expected {', '.join(MODES)}")
        if not tokenize(query):
            raise EmptyTextError(query)
        with self._workspace.database.reading() as connection:
            view = self._views.at(connection, self._record(connection))
            documents = DocumentRepository(connection, self._id)
            allowed = None if where is None or where == {} else documents.matching(where)
            wanted = _Wanted(view, documents, query, allowed, mode, fusion)
            best = wanted.best(k, min_score)
            stored = documents.by_seq([seq for seq, _ in best])
        return [
            SearchResult(
                stored[seq].document_id,
                min(1.0, max(-1.0, score)) if mode == "dense" else score,
                stored[seq].text,
                json.loads(stored[seq].metadata),
            )
            for seq, score in best
        ]

    def rerank(
        self, query: str, candidates: Sequence[Candidate], top_n: int | None = None
    ) -> list[RerankResult]:
        """Order candidates by their cosine with a query, by this collection's model; see :func:`gem_index.rerank`."""
        return rerank(query, candidates, self.encoder, top_n)

    @property
    def encoder(self) -> GemEncoder:
        """The encoder of the collection's model."""
        with self._workspace.database.reading() as connection:
            return self._views.encoder(connection, self._record(connection))

    def status(self) -> CollectionStatus:
        """Return counts, model and index at a glance, without opening any of them."""
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            model = ModelRepository(connection).get(record.model_id)
            snapshot = CollectionRepository(connection).snapshot(self._id)
            documents = DocumentRepository(connection, self._id)
            total = documents.count()
            last_seq = snapshot.last_seq if snapshot else 0
            covered = documents.count(last_seq) if snapshot else 0
        config = GemConfig.from_json(model.config)
        files = json.loads(snapshot.files) if snapshot else {}
        return CollectionStatus(
            name=self.name,
            documents=total,
            fingerprint=model.fingerprint,
            vectors=model.vectors,
            preset=config.preset_name,
            prior=config.prior,
            fitted=model.sentences,
            index=IndexStatus(
                snapshot.kind if snapshot else record.index_kind,
                snapshot.directory if snapshot else None,
                last_seq,
                total - covered,
            ),
            bytes=sum(entry["bytes"] for entry in files.values()),
        )

    # ------------------------------------------------------------ verification

    def verify(self, fix: bool = False) -> list[Problem]:
        """Compare the index files with what was written, and their ids with the stored documents.

        Parameters
        ----------
        fix : bool
            Make a damaged index anew from the texts.

        Returns
        -------
        list of Problem
            Empty when all is well.
        """
        details = self._index_problems()
        if details and fix:
            with self._workspace.write_lock():
                publish(self._workspace, self._id, self.encoder)
        return [Problem("index", f"{self.name}: {detail}", fix) for detail in details]

    def _index_problems(self) -> list[str]:
        with self._workspace.database.reading() as connection:
            record = self._record(connection)
            model = ModelRepository(connection).get(record.model_id)
            row = CollectionRepository(connection).snapshot(self._id)
            if row is None:
                return []
            documents = DocumentRepository(connection, self._id)
            seqs = documents.seqs()
            expected = set(seqs[seqs <= row.last_seq].tolist())
            dead, _ = documents.tombstones_after(0)
        folder = self._workspace.collection_folder(self._id) / row.directory
        files = json.loads(row.files)
        problems = Snapshot.damage(folder, files)
        if row.model_fingerprint != model.fingerprint:
            problems.append(
                f"the index was made by {row.model_fingerprint[:12]}, the model is {model.fingerprint[:12]}"
            )
        if not problems:
            held = set(Snapshot.open(folder, files).ids.tolist())
            if held - set(dead) != expected:
                problems.append(
                    f"the index holds {len(held - set(dead))} documents, the database {len(expected)}"
                )
        return problems

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


class _Wanted:
    """One search: what is asked for, of one state of the collection."""

    def __init__(
        self,
        view: View,
        documents: DocumentRepository,
        query: str,
        allowed: npt.NDArray[np.int64] | None,
        mode: str,
        fusion: str,
    ) -> None:
        self._view = view
        self._documents = documents
        self._allowed = allowed
        self._mode = mode
        self._fusion = fusion
        self._vector = view.encoder.encode([query])[0] if mode != "lexical" else None
        self._terms = list(dict.fromkeys(terms_of(query))) if mode != "dense" else []

    def best(self, k: int | None, min_score: float | None) -> Hits:
        """Return the k best hits, or all that reach a score."""
        if min_score is None:
            assert k is not None
            return self._search(k)
        asked = k or _RANGE
        while True:
            hits = self._search(asked)
            good = [hit for hit in hits if hit[1] >= min_score]
            if k is not None or len(good) < len(hits) or len(hits) < asked:
                return good
            asked *= 4

    def _search(self, k: int) -> Hits:
        if self._mode == "dense":
            return self._dense(k)
        if self._mode == "lexical":
            return self._lexical(k)
        depth = max(DEPTH, k)
        return fuse(self._dense(depth), self._lexical(depth), k, self._fusion)

    def _dense(self, k: int) -> Hits:
        assert self._vector is not None
        return self._view.search(self._vector, k, self._allowed, self._texts)

    def _lexical(self, k: int) -> Hits:
        return self._view.search_words(self._terms, k, self._allowed) if self._terms else []

    def _texts(self, seqs: npt.NDArray[np.int64]) -> list[str]:
        found = self._documents.by_seq(seqs.tolist())
        return [found[seq].text for seq in seqs.tolist()]


def _watched(
    rows: Iterable[tuple[int, str]], total: int, progress: Progress | None
) -> Iterable[str]:
    for done, (_, text) in enumerate(rows, 1):
        yield text
        if progress is not None and (done % 1000 == 0 or done == total):
            progress("fit", done, total)
