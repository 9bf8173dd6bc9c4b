"""A table holds sparse vectors of words, and finds documents by them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gem_index.collection.collection import Collection
from gem_index.collection.push.embedded_words import CountedInputs
from gem_index.collection.push.embedding import TableWords, embed_into
from gem_index.collection.push.searching import SearchedTarget
from gem_index.collection.push.sending import PushOptions
from gem_index.common.arrays import SparseVector
from gem_index.documents import Document
from gem_index.errors import ConfigError
from gem_index.home.home import Home
from gem_index.sparse import SparseEncoder
from gem_index.targets.protocol import TargetDocument, TargetTable, WordsTable, word_dimensions
from gem_index.testing.targets.base import (
    METADATA,
    PLANE,
    TargetTests,
    directed,
    documents,
    live,
    vector,
)
from gem_index.text.analyzer import ENGLISH

__all__ = ["WordsTests"]

_RULE = SparseEncoder(ENGLISH, 0, 2.0, {}).rule
_LARGE = 2**31 - 1


def _words(**terms: float) -> SparseVector:
    """Return a sparse vector: ``t7=0.5`` has the value 0.5 at the index 7."""
    return SparseVector.summed([int(name[1:]) for name in terms], list(terms.values()))


class WordsTests(TargetTests):
    """Sparse vectors beside the dense ones, where the engine has them."""

    def table_of_words(self, url: str, *rows: TargetDocument) -> TargetTable:
        """Return a new table with sparse vectors; the test is skipped if the engine has none."""
        target = self.open(url)
        if not word_dimensions(target):
            pytest.skip(
                "the engine has no sparse vectors: its candidates are scored from their texts"
            )
        table = target.create(replace(PLANE, words=_RULE))
        table.upsert(list(rows))
        return table

    def test_fetched_documents_are_whole(self, url: str) -> None:
        """Id, vector, text and metadata; ids that the table lacks are left out."""
        table = self.plane(
            self.open(url), directed("east", a=1), directed("none"), directed("west")
        )
        found = table.fetch(["none", "east", "unknown", "east"])
        assert set(found) == {"none", "east"}
        assert (found["east"].text, dict(found["east"].metadata)) == ("to the east", {"a": 1})
        assert found["east"].vector.tolist() == [1, 0]
        assert found["none"].vector.tolist() == [0, 0]
        assert table.fetch([]) == table.fetch(["unknown"]) == {}

    def test_words_are_found_by_their_inner_product(self, url: str) -> None:
        """Best first; documents without a common term are not found, and one may have no term at all."""
        table = self.table_of_words(
            url,
            TargetDocument("one", vector("east"), "a", {"a": 1}, _words(t3=0.5, t7=0.25)),
            TargetDocument("both", vector("west"), "b", {}, _words(t0=0.5, t3=0.25, t9=1.0)),
            TargetDocument("other", vector("north"), "c", {}, _words(t12=1.0)),
            TargetDocument("empty", vector("none"), "", {}, _words()),
        )
        assert isinstance(table, WordsTable)
        hits = table.match(_words(t3=1.0, t0=2.0, t99=5.0), 10)
        assert [(hit.id, round(hit.score, 5)) for hit in hits] == [("both", 1.25), ("one", 0.5)]
        assert [hit.id for hit in table.match(_words(t3=1.0), 1)] == ["one"]
        assert table.match(_words(t99=1.0), 5) == table.match(_words(), 5) == []
        assert table.match(_words(t3=1.0), 0) == []
        assert [hit.id for hit in table.query(vector("east"), 1)] == ["one"]

    def test_words_come_back_as_they_were_stored(self, url: str) -> None:
        """The largest index, too, by all ways of reading; a replaced document keeps none of the old ones."""
        first, second = _words(t0=0.125, t5=0.75), SparseVector.summed([_LARGE], [0.5])
        table = self.table_of_words(
            url,
            TargetDocument("a", vector("east"), "a", {}, first),
            TargetDocument("b", vector("east"), "b", {}, _words()),
        )
        table.upsert(
            [
                TargetDocument("a", vector("east"), "a", {}, second),
                TargetDocument("b", vector("east"), "b", {}, first),
            ]
        )
        dimensions = word_dimensions(self.open(url))
        for found in ({d.id: d for d in table.documents()}, table.fetch(["a", "b"])):
            for name, expected in (("a", second.folded(dimensions)), ("b", first)):
                words = found[name].words
                assert words is not None
                assert words.indices.tolist() == expected.indices.tolist()
                assert words.values.tolist() == expected.values.tolist()
        assert isinstance(table, WordsTable)
        assert [hit.id for hit in table.match(first, 5)] == ["b"]
        assert [hit.id for hit in table.match(second, 5)] == ["a"]
        table.delete(["a"])
        assert table.match(second, 5) == []

    def test_a_document_without_words_is_refused(self, url: str) -> None:
        """A table with sparse vectors takes no document without one."""
        table = self.table_of_words(url)
        with pytest.raises(ConfigError, match="without a sparse vector of words"):
            table.upsert([directed("east")])
        assert table.count() == 0

    def test_a_table_pushed_without_words_stays_so(self, faq: Collection, url: str) -> None:
        """Until it is pushed in full."""
        faq.push(url, words=False)
        self.assert_in_step(faq, url, words=False)
        faq.upsert([Document(id="new", text="a river of tea")])
        faq.push(url)
        self.assert_in_step(faq, url, words=False)
        faq.push(url, full=True)
        self.assert_in_step(faq, url)

    def test_changed_documents_get_words_by_the_same_rule(self, faq: Collection, url: str) -> None:
        """Long texts that come later do not change the vectors of those that are there."""
        faq.push(url)
        rule = live(self.open(url)).schema.words
        faq.upsert([Document(id="long", text="the river " * 40), *documents(9, begin=60)])
        faq.push(url)
        self.assert_in_step(faq, url)
        assert self.table(url).schema.words == rule

    def test_the_database_ranks_by_meaning_and_words_as_the_collection(
        self, faq: Collection, url: str
    ) -> None:
        """The sum of both inner products, over 3.25, is the score of a search."""
        faq.push(url)
        table, encoder = self.table(url), faq.sparse_encoder()
        if not isinstance(table, WordsTable) or not table.schema.words:
            pytest.skip(
                "the engine has no sparse vectors: its candidates are scored from their texts"
            )
        for query in ("renew a visa number 7", "pay the bank"):
            meaning = table.query(faq.encoder.encode([query])[0], 60)
            words = table.match(encoder.embed_query(query), 60)
            sums = {hit.id: hit.score for hit in meaning}
            for hit in words:
                sums[hit.id] = sums.get(hit.id, 0.0) + hit.score
            own = {hit.id: hit.score for hit in faq.search(query, 10, correct=False)}
            found = [sums[identifier] / 3.25 for identifier in own]
            np.testing.assert_allclose(found, list(own.values()), atol=2e-3)

    def test_a_search_of_the_table_returns_what_the_collection_returns(
        self, faq: Collection, url: str, tmp_path: Path
    ) -> None:
        """On a machine without its home, with the word vectors of the model alone."""
        faq.push(url)
        other = Home(tmp_path / "other machine")
        other.vectors.add("vectors", tmp_path / "vectors.txt")
        with other.target(url) as target:
            for query in ("renew a visa number 7", "pay the bank"):
                own = faq.search(query, 10, correct=False)
                found = target.search(query, 10)
                scores = [hit.score for hit in own]
                np.testing.assert_allclose([hit.score for hit in found], scores, atol=2e-3)
                assert found[0].text == {hit.id: hit.text for hit in own}[found[0].id]
            [hit] = target.search("number 7", 1, {"year": 2007})
            assert dict(hit.metadata) == METADATA | {"year": 2007}

    def test_synonyms_follow_a_push(self, faq: Collection, url: str) -> None:
        """The query record is replaced, in several rows at first; the documents are not sent again."""
        many = [[f"w{number * 7919 % 99_991}x", f"other{number}"] for number in range(6000)]
        for others in (many, []):
            faq.set_synonyms([["qqz", "visa"], *others])
            assert faq.push(url).updated == 0
            with SearchedTarget(faq.access.workspace, url) as target:
                own, found = (
                    faq.search("renew qqz number 7", 3),
                    target.search("renew qqz number 7", 3),
                )
                assert found.synonyms == own.synonyms == {"qqz": ("visa",)}
                scores = [hit.score for hit in own]
                np.testing.assert_allclose([hit.score for hit in found], scores, atol=2e-3)

    def test_documents_without_a_collection_are_searched_too(
        self, faq: Collection, url: str, tmp_path: Path
    ) -> None:
        """With the words that a first pass counted, also after a second run."""
        texts = list(faq.documents())
        counting = CountedInputs(texts, faq.sparse_encoder().analyzer.language)
        words = TableWords(faq.status().vectors, counting)
        for part in (texts, texts[:20]):
            report = embed_into(url, faq.encoder, part, PushOptions(batch=25), words=words)
            assert (report.documents, report.words_due) == (60, False)
            assert report.words is (True if word_dimensions(self.open(url)) else None)
        other = Home(tmp_path / "other machine")
        other.vectors.add("vectors", tmp_path / "vectors.txt")
        with other.target(url) as target:
            assert target.sparse_encoder.fingerprint == faq.sparse_encoder().fingerprint
            for query in ("renew a visa number 7", "pay the bank"):
                scores = [hit.score for hit in faq.search(query, 10, correct=False)]
                found = [hit.score for hit in target.search(query, 10)]
                np.testing.assert_allclose(found, scores, atol=2e-3)
