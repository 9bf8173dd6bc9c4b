"""A search of a table with a filter finds what the collection finds, and the database narrows its search."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from gem_index.collection.collection import Collection
from gem_index.collection.push.searching import SearchedTarget
from gem_index.documents import Document
from gem_index.errors import FilterError, RejectedDocumentsError
from gem_index.targets.narrowing import NarrowingTable, conditions_of
from gem_index.targets.protocol import WordsTable
from gem_index.testing.targets.base import TargetTests

__all__ = ["FilterTests"]

_ODD: list[dict[str, Any]] = [
    {"lang": "de", "year": 2024, "price": 1},
    {"lang": "de", "year": 2024.0, "price": 1.0},
    {"lang": "de", "year": "2024", "new": "true"},
    {"lang": ["de", "fr"], "year": [2024, 2030]},
    {"lang": ["de"], "new": [True, False], "price": [0.5, 1.5]},
    {"lang": {"de": 1}, "year": {"from": 2024}},
    {"lang": None, "year": None},
    {"lang": "DE", "year": -5, "price": -0.25},
    {"lang": "五", "name": 'd\'être "x" \\ %', "a-b c": "x"},
    {"lang": "a\nb", "author": {"name": "A"}, "author.name": "B"},
    {"new": False, "year": 2**60, "price": 1e300},
    {},
]
_FILTERS: list[dict[str, Any]] = [
    {"lang": "de"},
    {"lang": {"$in": ["de", "五", "nl"]}},
    {"lang": {"$in": [*(f"x{i}" for i in range(30)), "de"]}},
    {"lang": {"$eq": "de"}, "year": 2024},
    {"lang": {"$ne": "en"}},
    {"lang": {"$like": "d%"}},
    {"lang": None},
    {"lang": "a\nb"},
    {"year": 2024.0},
    {"year": {"$in": [2024, "2024", -5]}},
    {"year": {"$gt": 2022, "$lte": 2024}},
    {"year": {"$gte": 2.0**60}},
    {"year": {"$lt": 0}},
    {"price": {"$in": [1, 0.5]}},
    {"price": {"$gt": 0.75, "$lt": 1.25}},
    {"new": True},
    {"new": {"$in": [False, 1]}},
    {"name": 'd\'être "x" \\ %'},
    {"a-b c": "x"},
    {"author.name": "A"},
    {"author.name": "B"},
    {"$and": [{"lang": "de"}, {"$not": {"year": {"$gte": 2024}}}]},
    {"$or": [{"lang": "五"}, {"year": {"$lt": 2001}}]},
]


class FilterTests(TargetTests):
    """Filters of metadata."""

    @pytest.fixture
    def filtered(self, faq: Collection, url: str) -> Collection:
        """Return the pushed collection, with the documents of different metadata that the database can store."""
        target = self.open(url)
        for number, metadata in enumerate(_ODD):
            refused = target.unsupported(metadata)
            kept = {name: value for name, value in metadata.items() if name not in refused}
            faq.upsert([Document(id=f"odd{number}", text=f"find the bank {number}", metadata=kept)])
        try:
            faq.push(url)
        except RejectedDocumentsError as error:  # their fields have other types in other documents
            faq.delete(list(error.reasons))
            faq.push(url)
        return faq

    def accepted(self, filtered: Collection) -> Iterator[tuple[dict[str, Any], set[str]]]:
        """Iterate over filters and the ids of the documents that each accepts, whose fields the database can store."""
        for where in _FILTERS:
            with suppress(FilterError):
                found = filtered.search("find the bank", 100, where, correct=False)
                yield where, {hit.id for hit in found}

    @pytest.mark.parametrize("mode", ["hybrid", "dense"])
    def test_a_filter_accepts_what_it_accepts_in_the_collection(
        self, filtered: Collection, url: str, mode: str
    ) -> None:
        """Also where the database compares values in another way: a missing field, a list, 1 and 1.0, text and number."""
        with SearchedTarget(filtered.access.workspace, url) as target:
            for where, expected in self.accepted(filtered):
                found = target.search("find the bank", 100, where, mode=mode)
                assert {hit.id for hit in found} == expected, where

    def test_the_database_narrows_its_search(self, filtered: Collection, url: str) -> None:
        """Both of its queries return the rows that may be accepted, and those only where it can compare them."""
        table = self.table(url)
        if not isinstance(table, NarrowingTable):
            pytest.skip("the engine does not narrow its searches: all its rows are read if need be")
        vector = filtered.encoder.encode(["find the bank"])[0]
        words = filtered.sparse_encoder().embed_query("find the bank")
        for where, accepted in self.accepted(filtered):
            narrowed = table.narrowed(conditions_of(where))
            assert accepted <= {hit.id for hit in narrowed.query(vector, 100)}, where
            if isinstance(narrowed, WordsTable) and table.schema.words:
                matched = {each for each in accepted if each.startswith("odd")}
                assert matched <= {hit.id for hit in narrowed.match(words, 100)}, where
        few = table.narrowed(conditions_of({"lang": "de", "year": {"$lt": 2025}}))
        assert {hit.id for hit in few.query(vector, 100)} <= {f"odd{n}" for n in range(6)}
        assert len(table.query(vector, 100)) > 60
