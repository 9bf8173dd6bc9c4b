"""A collection: a named set of documents, and all operations on it."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from gem_index.collection.corpus.questions import CorpusQuestions
from gem_index.collection.request import Query, SearchOptions, SearchRequest, check_queries
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
from gem_index.collection.tables import CollectionTables
from gem_index.errors import GemIndexError, InputError, UnknownNameError
from gem_index.files.inputs import user_path
from gem_index.gem.combined import Encoder
from gem_index.gem.reranking import Candidate, RerankResults
from gem_index.gem.reranking import rerank as _rerank
from gem_index.progress import ProgressOption, reporting
from gem_index.quoting import quoted, quoted_error
from gem_index.store.names import CollectionRepository
from gem_index.store.upsert import OnExisting
from gem_index.store.workspace import Workspace
from gem_index.targets.protocol import Target
from gem_index.text.synonyms import Synonyms

__all__ = ["Collection", "Documents"]


Documents: TypeAlias = Iterable[Any] | AsyncIterable[Any]
"""The input of :func:`gem_index.readers.documents_from`."""


class Collection(CollectionTables, CorpusQuestions):
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

    # ----------------------------------------------------------------- writing

    def upsert(
        self,
        documents: Documents,
        *,
        id: str | None = None,
        text: str | Sequence[str] | None = None,
        metadata: Sequence[str] | None = None,
        clean: Sequence[str] | None = None,
        on_existing: OnExisting = "replace",
        prune: bool = False,
        progress: ProgressOption = None,
    ) -> UpsertReport:
        """Add documents; if the id of a document is stored already, with other content, the document is replaced.

        One call is one transaction. When the call returns, all documents are durable. If it raises, no document of the
        call is stored. The model does not change; :meth:`refit` fits the model on the present texts.

        Parameters
        ----------
        documents : iterable
            Documents, mappings, texts, pairs ``(id, text)``, a data frame, an Arrow table or an async iterable; see
            :func:`gem_index.readers.documents_from`. The input is read once. A :class:`~gem_index.readers.FolderReader`
            reads only new or changed files; a :class:`~gem_index.readers.QueryReader` with ``since`` reads only new or
            changed rows.
        id : str, optional
            The field or column of the id. Default: the field in :attr:`reading`, else ``id``. A document without this
            field gets a hash of its content as id.
        text : str or sequence of str, optional
            The field or column of the text. Default: the fields in :attr:`reading`, else ``text``. Several fields are joined
            by a blank line. ``NAME*2`` means the field NAME with the weight 2: the words of the field count twice. If there
            are several names, all without a weight, the words of a field called title, subject, question or heading
            count twice, too.
        metadata : sequence of str, optional
            The fields or columns of the metadata; by default all others.
        clean : sequence of str, optional
            What to remove from the texts: ``html``, ``auto``, ``quotes``, ``signatures``. Default: the cleaning in
            :attr:`reading`, else none. The text of a :class:`~gem_index.Document` is not changed.
        on_existing : {"replace", "keep", "refuse"}
            What to do if the id of a document is stored already: replace the stored document, keep it (it counts as
            unchanged), or raise an error.
        prune : bool
            If the input is a folder or query, delete each of its stored documents whose file or row no longer exists.
        progress : bool or callable, optional
            True shows a bar on standard error. A function is called with stage, done and total.

        Raises
        ------
        DuplicateIdError
            If two documents of the call have the same id.
        ExistingIdError
            If ``on_existing`` is ``refuse`` and an id is stored already.
        ConfigError
            If ``on_existing`` has another value, or ``prune`` is set and the documents come from neither a folder nor a
            query.
        InputError
            If a document would replace a document of another folder or query.
        HomeBusyError
            If another process writes for too long.
        """
        from gem_index.collection.write.intake import Intake
        from gem_index.collection.write.writing import upsert
        from gem_index.readers.fields import with_title_weights

        kept = self.reading
        fields = kept.get("text_fields")
        intake = Intake.of(
            documents,
            id=id or kept.get("id_field"),
            text=with_title_weights(text, fields) if text else fields,
            metadata=metadata,
            clean=kept.get("clean", ()) if clean is None else clean,
            on_existing=on_existing,
            prune=prune,
        )
        with self.access.workspace.write_lock(), reporting(progress, "store") as show:
            return upsert(self.access, intake, show)

    def delete(
        self,
        ids: Iterable[str | int] | None = None,
        *,
        where: Mapping[str, Any] | None = None,
    ) -> DeleteReport:
        """Delete documents, in one transaction; no later search finds them.

        Parameters
        ----------
        ids : iterable of str or int, optional
        where : mapping, optional
            A filter as for :meth:`search`, instead of the ids.

        Raises
        ------
        InputError
            If neither ids nor a filter is given, if both are given, or if the filter is empty.
        FilterError
            If the filter is not of the documented form.
        """
        from gem_index.collection.write.writing import delete

        return delete(self.access, ids, where)

    def set_field(
        self,
        field: str,
        values: Mapping[str, Any],
        *,
        where: Mapping[str, Any] | None = None,
        replace: bool = False,
        progress: ProgressOption = None,
    ) -> int:
        """Write a field of the metadata, such as the topic of each document, in one transaction.

        Afterwards filters can use the field. The texts and the model do not change. A stored map of the documents is
        removed. If a document is later stored again, for example by ``build`` with the same file, it loses the field,
        because it then has only the metadata from this file.

        Parameters
        ----------
        field : str
            A name without ``.``, ``"``, ``[``, ``]`` and ``$``.
        values : mapping of str to JSON value
            A value for each id; ids that the collection does not have are ignored. A document whose id is missing here, or
            has the value None, loses the field.
        where : mapping, optional
            A filter as for :meth:`search`. Documents that the filter does not accept keep their field, except if their id is
            in ``values``.
        replace : bool
            If documents already have the field: True replaces its value, False raises an error.
        progress : bool or callable, optional
            As for :meth:`upsert`.

        Returns
        -------
        int
            The number of documents that changed.

        Raises
        ------
        InputError
            If the name cannot be used in filters, a value is not JSON, or a document has the field and ``replace`` is not
            set. Nothing was changed.
        """
        from gem_index.collection.write.field_values import set_field

        with reporting(progress, "store") as show:
            return set_field(self.access, field, values, where, replace, show)

    def check_field_is_free(
        self, field: str, *, where: Mapping[str, Any] | None = None, replace: bool = False
    ) -> None:
        """Check, before a long operation, that :meth:`set_field` can write a field.

        Raises
        ------
        InputError
            If the name cannot be used in filters, or a document has the field and ``replace`` is not set.
        """
        from gem_index.collection.write.field_values import check_field_is_free

        check_field_is_free(self.access, field, where, replace)

    def set_description(self, description: str) -> None:
        """Store a description of the documents, for people and assistants that choose a collection.

        Parameters
        ----------
        description : str
            One line of at most 1,000 characters; empty for none.

        Raises
        ------
        InputError
            If the description is not a string, has more than 1,000 characters, or has control characters.
        """
        from gem_index.collection.write.description import set_description

        set_description(self.access, description)

    def set_synonyms(self, synonyms: Synonyms | Iterable[Iterable[str]]) -> None:
        """Store synonyms and abbreviations, as groups of forms with the same meaning, instead of the groups stored before.

        A query that contains one form of a group also searches for the other forms, by meaning and by words. The next
        search uses the new groups; nothing is indexed again.

        Parameters
        ----------
        synonyms : Synonyms or iterable of iterables of str
            Groups of at least two forms. A form is one word or several words. An empty input removes all synonyms.

        Raises
        ------
        InputError
            If a group has only one form, a form has no word, or a form is in two groups.

        Examples
        --------
        >>> import gem_index
        >>> faq = gem_index.Home("home").create_collection("faq")
        >>> _ = faq.upsert([("7", "How do I reset my virtual private network?")])
        >>> faq.set_synonyms([["VPN", "virtual private network"]])
        >>> faq.search("vpn is slow").synonyms
        {'VPN': ('virtual private network',)}
        """
        from gem_index.collection.write.description import set_synonyms

        given = synonyms if isinstance(synonyms, Synonyms) else Synonyms.of_groups(synonyms)
        set_synonyms(self.access, given)

    def refit(self, progress: ProgressOption = None) -> None:
        """Fit the model on the present texts of the collection, and encode all these texts again.

        Searches use the old model until the new model is complete. If the process is killed, the same call on the same
        documents resumes from the fitted model and the last checkpoint (saved about every minute).

        Raises
        ------
        InputError
            If there are no documents.
        DiskError
            If the index cannot be written; the present index stays in use.
        """
        from gem_index.collection.write.writing import index_errors, refit

        with index_errors(self.access), reporting(progress, "fit") as show:
            refit(self.access, show)

    def compact(self, progress: ProgressOption = None) -> None:
        """Rebuild the index from the present documents; the new index has no trace of a deleted document."""
        from gem_index.collection.write.writing import compact, index_errors

        with index_errors(self.access), reporting(progress, "encode") as show:
            compact(self.access, show)

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

    # ------------------------------------------------------------ verification

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
