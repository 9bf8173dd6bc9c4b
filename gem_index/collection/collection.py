"""A collection: the use cases of a named set of documents."""

from __future__ import annotations

import json
from collections.abc import AsyncIterable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from gem_index.chunking import Chunking
from gem_index.collection.corpus.drift import Drift, drift_of
from gem_index.collection.corpus.results import DocumentMap, DuplicateGroups, MapColors, Topics
from gem_index.collection.near import NEAR
from gem_index.collection.request import Query, SearchOptions, SearchRequest
from gem_index.collection.results import (
    CollectionStatus,
    DeleteReport,
    Problem,
    PushReport,
    SearchResults,
    UpsertReport,
)
from gem_index.collection.search.answer import answer, answer_all, similar_to
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.write.adopting import MakeShards
from gem_index.documents import Document, check_ids
from gem_index.errors import GemIndexError, InputError, UnknownNameError
from gem_index.files import user_path
from gem_index.gem.combined import Encoder
from gem_index.gem.reranking import Candidate, RerankResults
from gem_index.gem.reranking import rerank as _rerank
from gem_index.progress import ProgressOption, reporting
from gem_index.quoting import quoted, quoted_error
from gem_index.store.database import FORK_GATE
from gem_index.store.names import CollectionRepository
from gem_index.store.records import StoredDocument
from gem_index.store.upsert import OnExisting
from gem_index.store.workspace import Workspace
from gem_index.targets.protocol import Target

__all__ = ["Collection", "Documents"]

_READ_AT_ONCE = 2000

Documents: TypeAlias = Iterable[Any] | AsyncIterable[Any]
"""What :func:`gem_index.reading.documents_from` takes."""


class Collection:
    """A named set of documents, embedded by one model; made by :class:`~gem_index.home.Home`.

    Any number of threads and processes may search; one at a time writes. A search sees every document that was
    acknowledged before it began.

    Parameters
    ----------
    access : CollectionAccess
        Its rows, files and caches, for other packages of gem-index; not part of the stable interface.
    """

    def __init__(self, access: CollectionAccess) -> None:
        self.access = access

    @property
    def name(self) -> str:
        """Its name in the home."""
        return self.access.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the home; unpickling opens the collection again."""
        return _reopen, (self.access.workspace, self.name)

    def __len__(self) -> int:
        """Return how many documents there are."""
        return self.count()

    def __bool__(self) -> bool:
        """Return True, also without documents."""
        return True

    def __repr__(self) -> str:
        """Return the name, how many documents, and the word vectors."""
        try:
            status = self.status()
        except GemIndexError as error:
            return f"Collection({self.name!r}, {quoted_error(error)})"
        return f"Collection({self.name!r}, {status.documents:,} documents, {status.vectors})"

    # ----------------------------------------------------------------- writing

    def upsert(
        self,
        documents: Documents,
        *,
        id: str | None = None,
        text: str | Sequence[str] | None = None,
        metadata: Sequence[str] | None = None,
        on_existing: OnExisting = "replace",
        prune: bool = False,
        progress: ProgressOption = None,
    ) -> UpsertReport:
        """Add documents, or replace those whose id exists and whose content differs.

        One call is one transaction: everything is durable when it returns, nothing is stored when it raises. A collection
        keeps its model; :meth:`refit` fits the model on the present texts.

        Parameters
        ----------
        documents : iterable
            Read once: documents, mappings, texts, ``(id, text)``, a data frame, an Arrow table, an async iterable; see
            :func:`gem_index.reading.documents_from`. Of a
            :class:`~gem_index.reading.FolderReader` only new or changed files are read, of a
            :class:`~gem_index.reading.QueryReader` with ``since`` only such rows.
        id : str, optional
            The field or column of the id; by default that of :attr:`reading`, else ``id``, and a hash of the text where
            there is none.
        text : str or sequence of str, optional
            That of the text, by default that of :attr:`reading`, else ``text``; several are joined by a blank line, and
            ``NAME*2`` counts twice.
        metadata : sequence of str, optional
            Those of the metadata; all others by default.
        on_existing : {"replace", "keep", "refuse"}
            What to do with a document whose id is stored already; a kept one counts as unchanged.
        prune : bool
            Delete documents that came from the folder or the query and are no longer there.
        progress : bool or callable, optional
            True for a bar on standard error; a function is called with stage, done and total.

        Raises
        ------
        DuplicateIdError
            If an id comes twice in the call.
        ExistingIdError
            If ``on_existing`` is ``refuse`` and an id is stored already.
        ConfigError
            If ``on_existing`` is none of the three, or ``prune`` is asked for something else than a folder or a query.
        InputError
            If a document would replace one that came from another folder or query.
        HomeBusyError
            If another process keeps writing for too long.
        """
        from gem_index.collection.write.intake import Intake
        from gem_index.collection.write.writing import shorten_tail, upsert

        kept = self.reading
        intake = Intake.of(
            documents,
            id=id or kept.get("id_field"),
            text=text or kept.get("text_fields"),
            metadata=metadata,
            on_existing=on_existing,
            prune=prune,
        )
        with self.access.workspace.write_lock(), reporting(progress, "store") as show:
            report = upsert(self.access, intake, show)
            shorten_tail(self.access, show)
        return report

    def delete(
        self,
        ids: Iterable[str | int] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
    ) -> DeleteReport:
        """Delete documents, in one transaction; they are not found by any search that begins afterwards.

        Parameters
        ----------
        ids : iterable of str or int, optional
        where : mapping, optional
            A filter as for :meth:`search`, instead of the ids.

        Raises
        ------
        InputError
            If neither is given, or both; an empty filter does not name all documents.
        FilterError
            If the filter is not of the documented form.
        """
        from gem_index.collection.write.writing import delete

        return delete(self.access, ids, where)

    def adopt(
        self,
        encoder: Encoder,
        documents: Iterable[Document],
        make_shards: MakeShards,
        reading: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> UpsertReport:
        """Fill an empty collection with documents that were encoded and indexed elsewhere: on a cluster.

        Parameters
        ----------
        encoder : GemEncoder or CombinedEncoder
            That of the collection, fitted on these documents.
        documents : iterable of Document
            Stored in one transaction.
        make_shards : callable
            Takes a :class:`~gem_index.ShardPlan` and returns the folders of shards, which are index snapshots of consecutive
            documents. Called in a thread of its own while the documents are written; they are stored when it has returned.
        reading : mapping, optional
            How files are read that are added later: arguments of a DocumentReader.
        progress : bool or callable, optional

        Raises
        ------
        InputError
            If the collection holds documents.
        ConfigError
            If the encoder is not a fit of the collection's.
        """
        from gem_index.collection.write.adopting import adopt

        with reporting(progress, "store") as show:
            return adopt(self.access, encoder, documents, make_shards, reading, show)

    def refit(self, progress: ProgressOption = None) -> None:
        """Fit the model on the collection's present texts and encode them all with it.

        The old model and index serve until the new ones are complete. After a kill the same call, on the same documents,
        resumes from the fitted model and from a checkpoint per minute of encoding.

        Raises
        ------
        InputError
            If there are no documents.
        """
        from gem_index.collection.write.writing import refit

        with reporting(progress, "fit") as show:
            refit(self.access, show)

    def compact(self, progress: ProgressOption = None) -> None:
        """Rebuild the index from the living documents, so that nothing of deleted ones remains in it."""
        from gem_index.collection.write.writing import compact

        with reporting(progress, "encode") as show:
            compact(self.access, show)

    def export(self, path: str | Path, progress: ProgressOption = None) -> int:
        """Write the collection to a file, with vectors and model; see :mod:`gem_index.collection.write.exports`.

        Returns
        -------
        int
            How many documents it holds.
        """
        from gem_index.collection.write.exports import write_export

        with self.access.reading() as rows, reporting(progress, "export") as show:
            encoder = self.access.encoder(rows)
            return write_export(user_path(path), rows, encoder, show)

    def push(
        self,
        url: str | Target,
        *,
        full: bool = False,
        dry_run: bool = False,
        batch: int = 1000,
        texts: bool = True,
        drop_unsupported: bool = False,
        progress: ProgressOption = None,
    ) -> PushReport:
        """Push the collection into a vector database, or bring the database into step with it.

        Only changes since the last push are sent, also deletions. A push that was killed resumes when it is run again. After
        a refit all vectors are written to a staged table, which then replaces the live one.

        Parameters
        ----------
        url : str or Target
            Such as ``parquet:///folder`` (docs/databases.md), or an open target, which stays open.
        full : bool
            Replace the table of an earlier push, also if somebody changed it.
        dry_run : bool
            Only count; the database and the notes of it are not changed.
        batch : int
            Documents that are sent at once, 1 to 100,000.
        texts : bool
            Store the texts beside their vectors.
        drop_unsupported : bool
            Leave out metadata that the database cannot store, instead of an error.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        ConfigError
            If the URL is malformed, the table is not one of gem-index, or metadata cannot be stored.
        TargetChangedError
            If the table is not as the last push left it.
        MissingTargetError
            If the package for the database is not installed.
        """
        # Imported here because a process that searches does not push.
        from gem_index.collection.push.pushing import push
        from gem_index.collection.push.sending import PushOptions

        options = PushOptions(
            full=full,
            dry_run=dry_run,
            batch=batch,
            texts=texts,
            drop_unsupported=drop_unsupported,
        )
        with reporting(progress, "push") as show:
            return push(self.access, url, options, show)

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
        return drift_of(self.access, sample, progress)

    @property
    def reading(self) -> dict[str, Any]:
        """How the files that it was built of were read, other than by default: arguments of a DocumentReader."""
        with self.access.reading() as rows:
            found: dict[str, Any] = json.loads(rows.record.reading)
        return found

    @property
    def chunking(self) -> Chunking:
        """How long texts are cut into pieces."""
        with self.access.reading() as rows:
            return rows.record.chunking

    @property
    def sources(self) -> dict[str, Mapping[str, Any]]:
        """The folders and queries that it is filled from, each with the arguments of its reader other than the defaults."""
        with self.access.reading() as rows:
            return {source.location: source.options for source in rows.sources.all()}

    # ----------------------------------------------------------------- reading

    def search(
        self,
        query: Query,
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Return the k best documents for a query.

        Parameters
        ----------
        query : str or array (dimension,)
            A text; in the mode ``dense`` also a vector of this collection's encoder, given with its fingerprint.
        k : int, optional
            At least 1; fewer come back only where fewer documents match. None, with ``min_score``, for all that reach it.
        where : mapping, optional
            A metadata filter such as ``{"lang": "en", "year": {"$gte": 2020}}``, with ``$in``, ``$gt``, ``$gte``, ``$lt``,
            ``$lte``, ``$and``, ``$or`` and ``$not``.
        **options
            ``mode``, ``min_score``, ``fusion``, ``fingerprint``, ``rerank``, ``why``, ``collapse``, ``pieces``, ``exact``:
            see :class:`~gem_index.results.SearchOptions`.

        Returns
        -------
        SearchResults
            A list of :class:`~gem_index.results.SearchResult`, best first.

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
        return answer(self.access, SearchRequest(query, k, where, **options))

    def search_many(
        self,
        queries: Iterable[Query],
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResults]:
        """Return the k best documents for each of some queries, all from one state of the collection.

        The results are those of :meth:`search`, whose parameters these are, for each query alone. Queries are encoded
        together and searched in threads.

        Parameters
        ----------
        queries : iterable of str or array (dimension,)
            A single text is refused.

        Returns
        -------
        list of SearchResults
            In the order of the queries.

        Raises
        ------
        InputError
            As of :meth:`search`, with the place of the query that it concerns.
        """
        if isinstance(queries, str):
            raise InputError(f"found the text {quoted(queries)}; expected a list of queries")
        requests = []
        for place, query in enumerate(queries, 1):
            try:
                requests.append(SearchRequest(query, k, where, **options))
            except InputError as error:
                raise InputError(f"query {place}: {error}") from error
        return answer_all(self.access, requests)

    def neighbours(
        self, document_id: str | int, k: int = 10, where: Mapping[str, Any] | None = None
    ) -> SearchResults:
        """Return the documents nearest in meaning to one of the collection, without itself, best first.

        Parameters
        ----------
        document_id : str or int
        k : int
        where : mapping, optional
            A filter as for :meth:`search`.

        Raises
        ------
        InputError
            If there is no such document, its text holds no word, or k is below 1.
        """
        return similar_to(self.access, document_id, k, where)

    def duplicates(
        self,
        threshold: float = NEAR,
        *,
        where: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> DuplicateGroups:
        """Return the groups of documents that say nearly the same.

        Documents of equal text, and pairs whose cosine reaches the threshold, are in one group: all pairs are tested, and
        near pairs form chains, whose ends may be less near than the threshold.

        Parameters
        ----------
        threshold : float
            Above 0, at most 1; cosines are compared up to rounding, 1e-6.
        where : mapping, optional
            A filter as for :meth:`search`: only documents that it accepts are compared.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        DuplicateGroups
            A list of :class:`DuplicateGroup`, the largest first.

        Raises
        ------
        InputError
            If the threshold is out of its range.
        FilterError
            If the filter is not of the documented form.
        """
        # Imported here because a process that searches does not compare all pairs.
        from gem_index.collection.corpus.duplicates import duplicates_of

        with reporting(progress, "read") as show:
            return duplicates_of(self.access, threshold, where, show)

    def topics(
        self,
        n: int | None = None,
        *,
        where: Mapping[str, Any] | None = None,
        progress: ProgressOption = None,
    ) -> Topics:
        """Return what the documents are about: clusters of their vectors, each named by its words.

        The same documents give the same topics. Equal texts count once for the clusters, and each for itself in the numbers.

        Parameters
        ----------
        n : int, optional
            How many topics; by default the root of an eighth of the number of different texts, 24 at most.
        where : mapping, optional
            A filter as for :meth:`search`: only documents that it accepts are looked at.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        Topics
            A list of :class:`Topic`, the largest first, with a method that draws a map.

        Raises
        ------
        InputError
            If n is below 1, or there are fewer different texts with words.
        FilterError
            If the filter is not of the documented form.
        MissingExtraError
            If scikit-learn is not installed.
        """
        # Imported here because a process that searches does not look for topics.
        from gem_index.collection.corpus.topics import topics_of

        with reporting(progress, "read") as show:
            return topics_of(self.access, n, where, show)

    def document_map(self) -> DocumentMap | None:
        """Return the map that was made since the last refit, None if there is none; see :meth:`make_map`."""
        from gem_index.collection.corpus.document_map import kept_map

        return kept_map(self.access)

    def map_colors(self, made: DocumentMap, name: str) -> MapColors:
        """Return groups of a map's documents by a metadata field: its most frequent values, or ranges of numbers.

        Parameters
        ----------
        made : DocumentMap
        name : str
            A field; one that no document has gives a single group.
        """
        from gem_index.collection.corpus.document_map import colors_of

        return colors_of(self.access, made, name)

    def make_map(self, progress: ProgressOption = None) -> DocumentMap:
        """Give documents places in the plane, near those of documents that say the like, and keep them until the next refit.

        The places are a t-SNE (van der Maaten and Hinton, 2008) of the vectors, computed by openTSNE from the principal
        components; the same documents give the same places on one machine. Of a collection with more than 100,000
        different texts that many have a place, at even intervals.

        Parameters
        ----------
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        InputError
            If no document holds a word, or the collection is refitted meanwhile.
        MissingExtraError
            If openTSNE is not installed.
        """
        from gem_index.collection.corpus.document_map import make_map

        with reporting(progress, "read") as show:
            return make_map(self.access, show)

    def get(self, ids: Iterable[str | int]) -> list[Document]:
        """Return the documents with these ids, in the order asked for; those that are not there are left out."""
        wanted = check_ids(ids)
        with self.access.reading() as rows:
            seqs = rows.documents.seqs_of(wanted)
            found = rows.documents.by_seq(list(seqs.values()))
        return [_document(found[seqs[identifier]]) for identifier in wanted if identifier in seqs]

    def documents(
        self, where: Mapping[str, Any] | None = None, offset: int = 0, limit: int | None = None
    ) -> Iterator[Document]:
        """Iterate over the documents that a filter accepts, in the order of their last change.

        They are the documents of one moment, that of the first step; later writes are not seen.

        Parameters
        ----------
        where : mapping, optional
            A filter as for :meth:`search`; all documents without one.
        offset : int
            How many documents to pass over at the beginning; their texts are not read.
        limit : int, optional
            The largest number of documents to return. By default all are returned.

        Raises
        ------
        FilterError
            If the filter is not of the documented form.
        """
        with self.access.workspace.database.reading_in_steps() as connection:
            with FORK_GATE.passing():
                documents = self.access.rows(connection).documents
                seqs = (
                    documents.seqs() if where is None or where == {} else documents.accepted(where)
                )
            seqs = seqs[offset : None if limit is None else offset + limit]
            for begin in range(0, len(seqs), _READ_AT_ONCE):
                batch = seqs[begin : begin + _READ_AT_ONCE].tolist()
                with FORK_GATE.passing():
                    found = documents.by_seq(batch)
                yield from (_document(found[seq]) for seq in batch)

    def count(self, where: Mapping[str, Any] | None = None) -> int:
        """Return how many documents there are, or how many a filter accepts."""
        with self.access.reading() as rows:
            if where is None or where == {}:
                return rows.counts().documents
            return len(rows.documents.accepted(where))

    def rerank(
        self, query: str, candidates: Sequence[Candidate], top_n: int | None = None
    ) -> RerankResults:
        """Order candidates by their cosine with a query, by this collection's model; see :func:`gem_index.rerank`."""
        return _rerank(query, candidates, self.encoder, top_n)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the collection's model."""
        return self.access.encoder()

    def status(self) -> CollectionStatus:
        """Return counts, model and index at a glance, without opening any of them."""
        return self.access.status()

    # ------------------------------------------------------------ verification

    def verify(self, fix: bool = False) -> list[Problem]:
        """Compare files and documents with their stored hashes, and the ids of the index with those of the documents.

        Parameters
        ----------
        fix : bool
            Rebuild a damaged index from the texts.

        Returns
        -------
        list of Problem
            Empty when all is well.
        """
        from gem_index.collection.write.verification import problems_of

        return problems_of(self.access, fix)


def _reopen(workspace: Workspace, name: str) -> Collection:
    with workspace.database.reading() as connection:
        record = CollectionRepository(connection).find(name)
    if record is None:
        raise UnknownNameError(
            "collection", name, (), f"the home {workspace.root} holds it no more"
        )
    return Collection(CollectionAccess(workspace, record))


def _document(stored: StoredDocument) -> Document:
    metadata = json.loads(stored.metadata)
    return Document(id=stored.document_id, text=stored.text, metadata=metadata)
