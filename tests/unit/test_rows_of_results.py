"""What the results of a collection hold: each table, each row of a notebook and each form as JSON, compared as a whole."""

import re

import numpy as np
import pytest

from gem_index import WeightedText
from gem_index.collection.corpus.drift import Drift
from gem_index.collection.corpus.labels import DocumentLabel, LabelQuality, Labels
from gem_index.collection.corpus.novelty import NovelDocument, Novelty, Share
from gem_index.collection.corpus.results import (
    DuplicateGroup,
    DuplicateGroups,
    Topic,
    TopicExample,
)
from gem_index.collection.corpus.topic_counts import count_topics
from gem_index.collection.corpus.topic_list import Topics
from gem_index.collection.results import (
    FoundPassage,
    FoundPiece,
    SearchResult,
    SearchResults,
)
from gem_index.gem.explanation import Explanation, WordWeight
from gem_index.gem.matches import MatchedPair, MatchedWord, MatchExplanation
from gem_index.gem.reranking import RerankResult, RerankResults

LONG = "word " * 60


def cells(found):
    """The cells of the table that a notebook shows, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", found._repr_html_(), re.DOTALL)
    return [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row, re.DOTALL) for row in rows]


TOPICS = Topics(
    [
        Topic(
            ("visa", "passport"),
            3,
            (TopicExample("a", "my visa"), TopicExample("b", "t")),
            "visa",
            "travel",
        ),
        Topic(("bank",), 1, (), "bank"),
    ],
    assigned={"a": 0, "b": 0, "c": None, "d": 1},
)


def test_topics():
    assert list(TOPICS.rows()) == [
        {
            "topic": 0,
            "name": "visa",
            "words": ["visa", "passport"],
            "documents": 3,
            "examples": ["a", "b"],
            "main": "travel",
        },
        {"topic": 1, "name": "bank", "words": ["bank"], "documents": 1, "examples": [], "main": ""},
    ]
    assert list(TOPICS.by_document().rows()) == [
        {"id": "a", "topic": 0, "name": "visa", "main": "travel"},
        {"id": "b", "topic": 0, "name": "visa", "main": "travel"},
        {"id": "c", "topic": None, "name": None, "main": None},
        {"id": "d", "topic": 1, "name": "bank", "main": ""},
    ]
    assert TOPICS.field_values() == {"a": "visa", "b": "visa", "d": "bank"}
    assert cells(TOPICS) == [
        ["documents", "words", "example"],
        ["3", "visa, passport", "my visa"],
        ["1", "bank", ""],
    ]
    assert (TOPICS.points, TOPICS.main) == ((), ())


@pytest.mark.parametrize(
    ("period", "values"),
    [
        (None, {"2024-01-05": {0: 1}, "2024-02-01": {1: 1}, "2025-01-01": {0: 2}}),
        ("year", {"2024": {0: 1, 1: 1}, "2025": {0: 2}}),
        ("month", {"2024-01": {0: 1}, "2024-02": {1: 1}, "2025-01": {0: 2}}),
        ("day", {"2024-01-05": {0: 1}, "2024-02-01": {1: 1}, "2025-01-01": {0: 2}}),
    ],
)
def test_counts_of_topics(period, values):
    rows = [
        {"topic": 0, "day": ["2025-01-01", "2024-01-05"]},
        {"topic": 1, "day": "2024-02-01"},
        {"topic": 0, "day": "2025-01-01"},
        {"topic": None, "day": "2025-01-01"},
        {"topic": 0, "day": None},
        {"topic": 0},
    ]
    found = count_topics(TOPICS, rows, "day", period)
    assert found.counts == values
    assert list(found.counts) == sorted(values)
    assert [tuple(row.values()) for row in found.rows()] == [
        (value, topic, TOPICS[topic].name, count)
        for value, sizes in values.items()
        for topic, count in sizes.items()
    ]


def test_groups_of_near_duplicates():
    groups = DuplicateGroups(
        [
            DuplicateGroup(
                ("a", "b", "c"), (1.0, 0.875, 0.97), LONG, ("wording", "meaning"), (1.0, 0.5, 0.7),
                (None, "number", None),
            ),
            DuplicateGroup(("d", "e"), (1.0, 1.0), "same", ("wording",), (1.0, 1.0), (None, None)),
        ]
    )  # fmt: skip
    both = "wording, meaning"
    assert [tuple(row.items()) for row in groups.rows()] == [
        tuple(zip(("group", "id", "score", "overlap", "contrast", "views"), row, strict=True))
        for row in [
            ("a", "a", 1.0, 1.0, None, both),
            ("a", "b", 0.875, 0.5, "number", both),
            ("a", "c", 0.97, 0.7, None, both),
            ("d", "d", 1.0, 1.0, None, "wording"),
            ("d", "e", 1.0, 1.0, None, "wording"),
        ]
    ]
    assert groups.field_values() == {"a": "a", "b": "a", "c": "a", "d": "d", "e": "d"}
    head, first, second = cells(groups)
    assert head == ["documents", "score", "view", "first", "text"]
    assert first[:4] == ["3", "0.875", both, "a"]
    assert len(first[4]) <= 200
    assert second == ["2", "1.000", "wording", "d", "same"]


def test_labels():
    labels = Labels(
        [DocumentLabel("a", "visa", 1.0, True), DocumentLabel("b", "bank", 0.75, False)],
        [LabelQuality("visa", 6, 0.875, 0.5), LabelQuality("bank", 2, 0.0, 1.0)],
        0.625,
        (0.3, 0.9),
        4,
        7,
    )
    assert list(labels.rows()) == [
        {"id": "a", "label": "visa", "probability": 1.0, "example": True},
        {"id": "b", "label": "bank", "probability": 0.75, "example": False},
    ]
    assert (labels.baseline, labels.field_values()) == (0.75, {"a": "visa", "b": "bank"})
    assert (labels.accuracy, labels.interval, labels.parts) == (0.625, (0.3, 0.9), 4)
    assert (labels.unlabeled, labels.changed) == (7, 0)
    assert cells(labels) == [
        ["label", "examples", "precision", "recall", "documents"],
        ["visa", "6", "0.88", "0.50", "1"],
        ["bank", "2", "0.00", "1.00", "1"],
    ]


def test_drift():
    share = Share(0.5, 0.25, 0.75, 0.25)
    assert not share.above
    assert Share(0.5, 0.26, 0.75, 0.25).above
    novelty = Novelty(
        20, 30, share, share, True,
        (NovelDocument("x", "a new text", 0.25, 1), NovelDocument("y", "another", 0.5, 0)),
        (Topic(("visa",), 1, ()), Topic(("tax", "state"), 1, ())),
    )  # fmt: skip
    assert list(Drift(50, 20, (), 0.01, False, novelty, "look").rows()) == [
        {"id": "x", "similarity": 0.25, "words": ["tax", "state"], "text": "a new text"},
        {"id": "y", "similarity": 0.5, "words": ["visa"], "text": "another"},
    ]
    assert list(Drift(50, 20, (), 0.01, False).rows()) == []


PIECE = FoundPiece("a visa", 2, 10, 16, "Law > Visa", 3, 4)
FIELDS = {
    "id": "a",
    "score": 0.5,
    "text": "my visa",
    "metadata": {"n": 1},
    "cosine": 0.75,
    "bm25": 2.0,
}


def test_a_result_as_json():
    plain = SearchResult("a", 0.5, "my visa", {"n": 1}, 0.75, 2.0)
    assert plain.to_dict() == FIELDS
    assert plain.to_dict(why=True, similar=True) == {**FIELDS, "why": None, "similar": ()}
    full = SearchResult(
        "a", 0.5, WeightedText("my visa", [(3, 1.0), (4, 2.0)]), {"n": 1}, 0.75, 2.0, None, ("b", "c"), PIECE,
        FoundPassage("visa", 3, 7), False, "faq",
    )  # fmt: skip
    found = full.to_dict(similar=True)
    weights = found.pop("weights")
    assert weights == full.text.weights
    assert found == {
        **FIELDS,
        "similar": ("b", "c"),
        "piece": {
            "text": "a visa", "number": 2, "start": 10, "end": 16, "heading": "Law > Visa", "hits": 3, "page": 4,
        },
        "passage": {"text": "visa", "start": 3, "end": 7},
        "weak": False,
        "collection": "faq",
    }  # fmt: skip
    assert repr(plain) == "SearchResult('a', 0.500, 'my visa')"


def test_a_result_as_the_row_of_a_push():
    plain = SearchResult("a", 0.5, "my visa", {"n": 1})
    assert plain.as_row() is plain
    row = SearchResult("a", 0.5, "my whole visa", {"n": 1}, piece=PIECE).as_row()
    assert (row.id, row.text, row.score) == ("a#2", "a visa", 0.5)
    assert row.metadata == {
        "n": 1, "parent": "a", "piece": 2, "start": 10, "end": 16, "heading": "Law > Visa", "page": 4,
    }  # fmt: skip


def test_results_in_a_notebook_and_of_the_same_query():
    hits = [SearchResult("a", 0.5, "my visa", {}), SearchResult("b", np.float64(0.25), LONG, {})]
    results = SearchResults(hits, {"viza": "visa"}, {"vpn": ("network",)})
    head, first, second = cells(results)
    assert head == ["", "score", "id", "text"]
    assert first == ["1", "0.500", "a", "my visa"]
    assert second[:3] == ["2", "0.250", "b"]
    assert len(second[3]) <= 200
    fewer = results.with_hits(hits[1:])
    assert (list(fewer), fewer.corrected, fewer.synonyms) == (
        hits[1:],
        {"viza": "visa"},
        {"vpn": ("network",)},
    )
    assert (SearchResults().corrected, SearchResults().synonyms) == ({}, {})


def test_a_ranking_and_explanations_in_a_notebook():
    """A place in the input is counted from 1, as the place in the ranking is."""
    ranked = RerankResults(
        [RerankResult(2, "a", 0.51249, "my visa"), RerankResult(0, None, 0.25, LONG)]
    )
    head, first, second = cells(ranked)
    assert head == ["", "score", "was", "id", "text"]
    assert first == ["1", "0.512", "3", "a", "my visa"]
    assert second[:4] == ["2", "0.250", "1", ""]
    assert len(second[4]) <= 200
    words = (
        WordWeight("visa", True, 0.1, 0.2, 0.3, 0.6, 0.75),
        WordWeight("viza", False, -0.00001, 0.0, 0.0, 0.0, 0.0),
    )
    assert cells(Explanation("visa viza", "f", words)) == [
        ["word", "share", "novelty", "significance", "uniqueness", "weight"],
        ["visa", "0.750", "0.100", "0.200", "0.300", "0.600"],
        ["viza (unknown)", "0.000", "0.000", "0.000", "0.000", "0.000"],
    ]
    ten = tuple(WordWeight(f"w{n}", True, 0, 0, 0, 0, n / 64) for n in range(10))
    shown = ", ".join(f"w{n} {n / 64:.2f}" for n in reversed(range(10)))
    assert repr(Explanation("ten", "f", ten)) == f"Explanation({shown})"
    more = (WordWeight("w", True, 0, 0, 0, 0, 0.0), *ten)
    assert repr(Explanation("more", "f", more)) == (
        f"Explanation({shown.removesuffix('w0 0.00')}w 0.00, … 11 words)"
    )
    named = [tuple(MatchedWord(f"{text}{i}", 0, 2, 0.1) for i in range(25)) for text in "ab"]
    pairs = tuple(MatchedPair(i, 24 - i, 0.5 - i / 100) for i in range(25))
    explained = MatchExplanation("first", "second", "f", 0.62749, *named, pairs)
    assert repr(explained) == (
        "MatchExplanation(0.627: a0 ~ b24 0.50, a1 ~ b23 0.49, a2 ~ b22 0.48, a3 ~ b21 0.47, a4 ~ b20 0.46)"
    )
    shown = cells(explained)
    assert shown[0] == ["first", "second", "share of 0.627"]
    assert (shown[1], shown[-1]) == (["a0", "b24", "0.500"], ["a19", "b5", "0.310"])
    assert len(shown) == 21


def test_the_metadata_of_a_row_can_be_changed_without_the_result():
    found = SearchResult("a", 0.5, "a text", {"place": "Rome"}, cosine=0.4)
    row = found.to_dict()
    row["metadata"]["place"] = "Bern"
    assert found.metadata == {"place": "Rome"}
    expected = {"id": "a", "score": 0.5, "text": "a text", "metadata": {"place": "Bern"}}
    assert row == {**expected, "cosine": 0.4, "bm25": None}
