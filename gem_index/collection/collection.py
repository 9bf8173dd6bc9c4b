"""A collection: a named set of documents, and all operations on it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Unpack

from gem_index.collection.changes import CollectionChanges
from gem_index.collection.corpus.questions import CorpusQuestions
from gem_index.collection.request import Query, SearchOptions, SearchRequest, check_queries
from gem_index.collection.results import (
    CollectionStatus,
    Problem,
    PushReport,
    SearchResults,
)
from gem_index.collection.search.answer import answer, answer_all, similar_to
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.tables import CollectionTables
from gem_index.errors import GemIndexError, InputError, UnknownNameError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.files.inputs import user_path
from gem_index.gem.combined import Encoder
from gem_index.gem.reranking import Candidate, RerankResults
from gem_index.gem.reranking import rerank as _rerank
from gem_index.progress import ProgressOption, reporting
from gem_index.store.names import CollectionRepository
from gem_index.store.workspace import Workspace
from gem_index.targets.protocol import Target

__all__ = ["Collection"]


class Collection(CollectionChanges, CollectionTables, CorpusQuestions):
    """A named set of documents with one model; made by :class:`~gem_index.home.Home`.

    Many threads and processes can search at the same time, but only one can write at a time. A search sees every write
    that returned before the search began.

    Parameters
    ----------
    access : CollectionAccess
        The collection's rows, files and caches. Only other packages of gem-index may use this object; it is not part of
        the stable interface.
    """

    @property
    def name(self) -> str:
        """The name of the collection in its home."""
        return self.access.name

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the name and the home; unpickling opens the collection again."""
        return _reopen, (self.access.workspace, self.name)

    def __repr__(self) -> str:
        """Return the name, the number of documents and the word vectors."""
        try:
            status = self.status()
        except GemIndexError as error:
            return f"Collection({self.name!r}, {quoted_error(error)})"
        return f"Collection({self.name!r}, {status.documents:,} documents, {status.vectors})"

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
            A text. In the mode ``dense``, also a vector that this collection's encoder made; then ``fingerprint`` must be
            the fingerprint of this encoder.
        k : int, optional
            The number of results, at least 1. There are fewer results if fewer documents qualify: a result must be
            accepted by the filter and reach ``min_score``; in the mode ``lexical``, it must also have a term of the query.
            If ``k`` is None and ``min_score`` is given, all documents with at least this score are returned.
        where : mapping, optional
            A metadata filter such as ``{"lang": "en", "year": {"$gte": 2020}}``, with ``$in``, ``$gt``, ``$gte``, ``$lt``,
            ``$lte``, ``$and``, ``$or`` and ``$not``.
        **options
            ``mode``, ``min_score``, ``fusion``, ``fingerprint``, ``rerank``, ``why``, ``collapse``, ``pieces``, ``exact``,
            ``correct``, ``offset``, ``boost``, ``sort_by``: see :class:`~gem_index.collection.SearchOptions`.

        Returns
        -------
        SearchResults
            A list of :class:`~gem_index.results.SearchResult`, best first.

        Raises
        ------
        EmptyTextError
            If the query has no word.
        FingerprintMismatchError
            If another encoder made the query vector.
        InputError
            If k is below 1, a vector has another dimension or no fingerprint, or the mode, the fusion or the filter is not
            valid.
        """
        return answer(self.access, SearchRequest(query, k, where, **options))

    def warm_up(self) -> None:
        """Load what a search needs: the word vectors are read while FAISS is imported.

        Without this call, the first search loads both, one after the other.
        """
        from gem_index.collection.search.warming import warm_up

        warm_up(self.access)

    def search_many(
        self,
        queries: Iterable[Query],
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResults]:
        """Return the k best documents for each of several queries; all queries search the same state of the collection.

        Parameters and results are those of :meth:`search`, but the queries are encoded together, and searched in threads.

        Parameters
        ----------
        queries : iterable of str or array (dimension,)
            Several queries; a single text is an error.

        Returns
        -------
        list of SearchResults
            In the order of the queries.

        Raises
        ------
        InputError
            As from :meth:`search`; the message tells the number of the query.
        """
        if isinstance(queries, str):
            raise InputError(f"found the text {quoted(queries)}; expected a list of queries")
        return answer_all(self.access, check_queries(queries, k, where, **options))

    def similar(
        self, document_id: str | int, k: int = 10, where: Mapping[str, Any] | None = None
    ) -> SearchResults:
        """Return the documents of the collection that are nearest in meaning to one of its documents, best first.

        Parameters
        ----------
        document_id : str or int
        k : int
        where : mapping, optional
            A filter as for :meth:`search`.

        Raises
        ------
        InputError
            If there is no such document, its text has no word, or k is below 1.
        """
        return similar_to(self.access, document_id, k, where)

    def rerank(
        self, query: str, candidates: Sequence[Candidate], top_n: int | None = None
    ) -> RerankResults:
        """Order candidates by their cosine with a query, with the collection's model; see :func:`gem_index.rerank`."""
        return _rerank(query, candidates, self.encoder, top_n)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the collection's model."""
        return self.access.encoder()

    def status(self) -> CollectionStatus:
        """Return the status of the collection; the model and the index are not opened."""
        return self.access.status()

    def export(self, path: str | Path, progress: ProgressOption = None) -> int:
        """Write the collection to a file, with vectors and model; see :mod:`gem_index.collection.write.exports`.

        Returns
        -------
        int
            The number of documents in the file.
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
        words: bool = True,
        progress: ProgressOption = None,
    ) -> PushReport:
        """Push the collection into a vector database; later pushes send only what has changed.

        Deleted documents are deleted in the database, too. If the process is killed, the same call resumes the push. After a
        refit, all vectors are written to a staged table (a second, unfinished table), which then replaces the live table.

        Parameters
        ----------
        url : str or Target
            A URL such as ``parquet:///folder`` (docs/databases.md), or an open target. The push does not close an open
            target.
        full : bool
            Write the whole table of an earlier push again, even if the table was changed by other programs.
        dry_run : bool
            Only count what would change. One exception: if an earlier push was interrupted in its last step, this call
            completes the step.
        batch : int
            The number of documents per batch, from 1 to 100,000.
        texts : bool
            Store the texts beside their vectors.
        drop_unsupported : bool
            Leave out metadata that the database cannot store. If False, such metadata are an error.
        words : bool
            Store a sparse vector of the words beside each dense vector, if the database has sparse vectors. An existing
            table stays as it is, with or without sparse vectors, until a push replaces the whole table.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Raises
        ------
        ConfigError
            If the URL is malformed, if gem-index did not make the table, or if metadata cannot be stored.
        TargetChangedError
            If the table has changed since the last push.
        MissingTargetError
            If the package for the database is not installed.
        """
        # imported here, because most processes never push
        from gem_index.collection.push.pushing import push
        from gem_index.collection.push.sending import PushOptions

        options = PushOptions(
            full=full,
            dry_run=dry_run,
            batch=batch,
            texts=texts,
            drop_unsupported=drop_unsupported,
            words=words,
        )
        with reporting(progress, "push") as show:
            return push(self.access, url, options, show)

    def verify(self, fix: bool = False, progress: ProgressOption = None) -> list[Problem]:
        """Check the hashes of files and documents, and check that the index and the database have the same documents.

        Parameters
        ----------
        fix : bool
            Rebuild a damaged index from the texts.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        list of Problem
            The problems that were found.
        """
        from gem_index.collection.write.verification import problems_of

        with reporting(progress, "verify") as show:
            return problems_of(self.access, fix, show)


def _reopen(workspace: Workspace, name: str) -> Collection:
    with workspace.database.reading() as connection:
        record = CollectionRepository(connection).find(name)
    if record is None:
        raise UnknownNameError(
            "collection", name, (), f"the home {workspace.root} no longer has it"
        )
    return Collection(CollectionAccess(workspace, record))
