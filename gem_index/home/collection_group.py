"""Search several collections together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from heapq import merge
from typing import Any, Unpack

from gem_index.collection import Collection
from gem_index.collection.request import Query, SearchOptions, check_queries
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.collection.search.ordering import lacks_field, sorted_by
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted

__all__ = ["CollectionGroup"]


class CollectionGroup:
    """Several collections that are searched together; made by :meth:`gem_index.Home.group`.

    Parameters
    ----------
    collections : sequence of Collection
        At least one collection.
    """

    def __init__(self, collections: Sequence[Collection]) -> None:
        if not collections:
            raise InputError("found no collections to search together; expected at least one")
        self.collections = tuple(collections)

    @property
    def name(self) -> str:
        """The names of the collections, joined by commas."""
        return ",".join(each.name for each in self.collections)

    def compares_scores(self, mode: str | None = None) -> bool:
        """Tell whether scores of the collections can be compared: all models are equal, and the mode is not ``lexical``."""
        models = {each.status().fingerprint for each in self.collections}
        return len(models) == 1 and mode != "lexical"

    def search(
        self,
        query: Query,
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Return the best documents of all collections; each result names its ``collection``.

        If the collections have the same model, the results are in the order of their scores. Scores cannot be compared
        if the models differ, or in the mode ``lexical``, where a score depends on the other texts of the collection.
        Then the first results of all collections come first, then the second results, and so on. Results of equal rank
        are in the order of their scores.

        Parameters
        ----------
        query, k, where, **options
            As for :meth:`gem_index.Collection.search`, for each collection.

        Returns
        -------
        SearchResults

        Raises
        ------
        InputError
            As from :meth:`gem_index.Collection.search`, even if only one collection lacks a field of the filter.
        """
        [found] = self.search_many([query], k, where, **options)
        return found

    def search_many(
        self,
        queries: Iterable[Query],
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResults]:
        """Return the best documents of all collections for each of several queries; see :meth:`search`.

        Returns
        -------
        list of SearchResults
            In the order of the queries.
        """
        if isinstance(queries, str):
            raise InputError(f"found the text {quoted(queries)}; expected a list of queries")
        given = list(queries)
        requests = check_queries(given, k, where, **options)
        if not requests:
            return []
        first = requests[0].from_first
        all_of: SearchOptions = {**options, "offset": 0, "sort_by": None}
        found = [each.search_many(given, first.k, where, **all_of) for each in self.collections]
        by_score = self.compares_scores(first.mode)
        offset, by = requests[0].offset, first.sort_by
        answers = []
        for of_query in zip(*found, strict=True):
            named = [
                [replace(hit, collection=each.name) for hit in hits]
                for each, hits in zip(self.collections, of_query, strict=True)
            ]
            best = (_by_score(named) if by_score else _by_rank(named))[offset : first.k]
            corrected = {old: new for hits in of_query for old, new in hits.corrected.items()}
            synonyms = {form: others for hits in of_query for form, others in hits.synonyms.items()}
            if by is not None:
                if lacks_field(best, by):
                    self._check_field(by.removeprefix("-"))
                best = sorted_by(best, by)
            answers.append(SearchResults(best, corrected, synonyms))
        return answers

    def _check_field(self, name: str) -> None:
        """Check that a document of at least one collection has a field.

        Raises
        ------
        InputError
            That of the first collection that has documents.
        """
        errors: list[InputError] = []
        for each in self.collections:
            try:
                if each.count_by(name).documents:
                    return
            except InputError as error:
                errors.append(error)
        if errors:  # none if all documents were deleted meanwhile
            raise errors[0]


def _by_score(lists: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    return list(merge(*lists, key=lambda hit: -hit.score))


def _by_rank(lists: Sequence[Sequence[SearchResult]]) -> list[SearchResult]:
    ranked = [(rank, -hit.score, hit) for hits in lists for rank, hit in enumerate(hits)]
    return [hit for _, _, hit in sorted(ranked, key=lambda each: each[:2])]
