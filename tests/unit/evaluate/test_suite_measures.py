"""What each kind of task of a suite measures, beside the definitions; and the word search that it is measured with."""

from __future__ import annotations

import json

import numpy as np
import pytest

from gem_index.evaluate.cqa import pair_texts, ranked_by
from gem_index.evaluate.lookups import make_lookups
from gem_index.evaluate.metrics import ranking_scores
from gem_index.evaluate.retrieval import WordSearch, measures
from gem_index.evaluate.suite_file import read_suite


class Letters:
    """An encoder whose vector of a text is its number of each letter."""

    def fit(self, _corpus):
        return self

    def encode(self, texts):
        rows = [[text.lower().count(chr(97 + i)) for i in range(26)] for text in texts]
        vectors = np.array(rows, np.float32).reshape(-1, 26)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(norms > 0, norms, 1)


class TestMeasures:
    @pytest.fixture
    def sets(self, tmp_path):
        names = ("visa fees", "bank", "river ducks", "stale tea", "loan 4711", "open visa")
        rows = [
            {
                "orgq_id": f"q{q}", "orgq_subject": subject, "orgq_body": body,
                "relq_id": f"q{q}-{i}", "relq_subject": name, "relq_body": f"{name} of {subject} {q}{i}{i}",
                "relevant": int((q + i) % 3 == 0),
            }
            for q, (subject, body) in enumerate([("visa", "renew it"), ("tea", "stale"), ("loan", "a bank")])
            for i, name in enumerate(names)
        ]  # fmt: skip
        (tmp_path / "made.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
        tasks = ("cqa", "retrieval", "lookup")
        sets = ", ".join(f'{{ task = "{task}", path = "made.jsonl" }}' for task in tasks)
        (tmp_path / "suite.toml").write_text(f"set = [{sets}]")
        return read_suite(tmp_path / "suite.toml").sets

    def test_related_questions_are_ranked_by_subject_and_body(self, sets):
        [cqa, *_] = sets
        with cqa.words() as words:
            assert words is None
            found = cqa.measure(Letters, words)
        first, second = pair_texts(cqa.data, "subject+body")
        both = Letters().encode([*first, *second])
        scores = (both[: len(first)] * both[len(first) :]).sum(axis=1)
        expected = ranking_scores(ranked_by(cqa.data, scores)).map
        assert {task: each.score for task, each in found.items()} == {
            "cqa": pytest.approx(expected)
        }
        assert (found["cqa"].items, cqa.by_words(None)) == (3, {})

    def test_a_collection_is_searched_by_meaning_and_as_by_default(self, sets):
        _, retrieval, _ = sets
        data = retrieval.data
        ids, queries = list(data.documents), list(data.queries.values())
        rows = Letters().encode(queries) @ Letters().encode(data.documents.values()).T
        with retrieval.words() as words:
            found = retrieval.measure(Letters, words) | retrieval.by_words(words)
            ranked = {
                "retrieval": [np.argsort(-row, kind="stable").tolist() for row in rows],
                "search": [[place for place, _ in words.bm25(query)] for query in queries],
            }
            expected = {
                task: measures(
                    [[ids[place] for place in ranking] for ranking in rankings],
                    list(data.relevance.values()),
                )["ndcg@10"].mean()
                for task, rankings in ranked.items()
            }
            assert {task: each.score for task, each in found.items()} == pytest.approx(expected)
            fused = [words.fused(query, row) for query, row in zip(queries, rows, strict=True)]
            hybrid = measures(
                [[ids[place] for place, _ in ranking] for ranking in fused],
                list(data.relevance.values()),
            )["ndcg@10"].mean()
            own = retrieval.measure(Letters, words)
            assert own["search"].score == pytest.approx(hybrid)
        assert len({expected["retrieval"], expected["search"], hybrid}) == 3

    def test_a_look_up_succeeds_if_the_document_is_first(self, sets):
        *_, lookup = sets
        lookups = make_lookups(lookup.texts)
        rows = Letters().encode([each.query for each in lookups]) @ Letters().encode(lookup.texts).T
        with lookup.words() as words:
            ours, theirs = lookup.measure(Letters, words), lookup.by_words(words)
            fused = [words.fused(each.query, row) for each, row in zip(lookups, rows, strict=True)]
            by_words = [words.bm25(each.query) for each in lookups]
        for found, rankings in ((ours, fused), (theirs, by_words)):
            right = [
                bool(hits) and hits[0][0] == each.document
                for each, hits in zip(lookups, rankings, strict=True)
            ]
            assert list(found) == ["lookup"]
            assert found["lookup"].score == pytest.approx(100 * np.mean(right))
        assert ours["lookup"].score < 100


class TestWords:
    def test_the_language_is_that_of_the_texts(self, tmp_path):
        texts = [
            f"Die Müllabfuhr kommt am Dienstag um {hour} Uhr in die Stadt" for hour in range(9)
        ]
        words = WordSearch(tmp_path, texts)
        assert sorted(place for place, _ in words.bm25("Muellabfuhr")) == list(range(9))
        assert words.bm25("zebra") == words.bm25("") == []

    def test_all_words_of_a_query_and_all_texts_count(self, tmp_path):
        words = WordSearch(tmp_path, ["some tea", "some visa", "some tea and a visa", "ducks"])
        found = words.bm25("tea visa")
        assert found[0][0] == 2
        assert sorted(place for place, _ in found) == [0, 1, 2]
        hybrid = words.fused("tea visa", np.array([0.1, 0.2, 0.3, 0.25], np.float32))
        assert hybrid[0][0] == 2
        assert sorted(place for place, _ in hybrid) == [0, 1, 2, 3]
