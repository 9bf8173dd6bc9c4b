"""Methods of :class:`~gem_index.Collection` that change it: its documents, a field of them, its settings, its model."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from gem_index.collection.results import DeleteReport, UpsertReport
from gem_index.collection.state.documents import StoredDocuments
from gem_index.progress import ProgressOption, reporting
from gem_index.store.upsert import OnExisting
from gem_index.text.synonyms import Synonyms

__all__ = ["CollectionChanges", "Documents"]

Documents: TypeAlias = Iterable[Any] | AsyncIterable[Any]
"""The input of :func:`gem_index.readers.documents_from`."""


class CollectionChanges(StoredDocuments):
    """Changes of a collection. Only one thread or process can write to a home at a time."""

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
