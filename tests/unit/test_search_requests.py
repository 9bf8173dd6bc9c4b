"""The arguments of a search: each bound, and each message as a whole."""

import numpy as np
import pytest

from gem_index.collection.corpus.duplicates_request import DuplicatesRequest
from gem_index.collection.request import (
    SearchRequest,
    check_queries,
    check_threshold,
    share_of_cosine,
)
from gem_index.collection.search.modes import unit_vector
from gem_index.collection.search.passages import passages_of
from gem_index.collection.search.periods import field_of_period, in_periods, part_of_date
from gem_index.collection.state.metadata_fields import FieldCounts, ValueCount
from gem_index.errors import InputError

VECTOR = [1.0, 0.0]


@pytest.mark.parametrize(
    ("query", "options", "told"),
    [
        ("a", {"k": None}, "found neither k nor min_score; expected one of them"),
        ("a", {"k": 0}, "k is 0; expected a whole number of at least 1"),
        ("a", {"offset": -1}, "offset is -1; expected a whole number of at least 0"),
        (
            "a",
            {"sort_by": "-"},
            "the field to sort by is '-'; expected a name, such as year or -year",
        ),
        (
            "a",
            {"fusion": "rrf", "min_score": "auto"},
            "found the min_score auto with the fusion rrf, whose scores come from ranks; expected a number, or the fusion "
            "weighted",
        ),
        (None, {}, "the query is None; expected a text, or a vector"),
        (True, {}, "the query is True; expected a text, or a vector"),
        (b"a", {}, "the query is b'a'; expected a text, or a vector"),
        (VECTOR, {"rerank": True}, "found a vector to re-rank by; expected a text"),
        (VECTOR, {"why": True}, "found a vector to explain; expected a text"),
        (
            VECTOR,
            {"mode": "hybrid"},
            "found a vector for a hybrid search; expected a text, which has words",
        ),
        (
            VECTOR,
            {},
            "found a query vector and the fingerprint None; expected a text, or the vector with the fingerprint of its "
            "encoder: fingerprint=encoder.fingerprint",
        ),
    ],
)
def test_a_request_that_is_refused(query, options, told):
    with pytest.raises(InputError) as refused:
        SearchRequest(query, **options)
    assert str(refused.value) == told
    with pytest.raises(InputError) as refused:
        check_queries([query], **{"k": 10, **options})
    assert str(refused.value) == f"query 1: {told}"


def test_the_number_of_a_query_is_told():
    with pytest.raises(InputError, match=r"^query 3: the query is None"):
        check_queries(["a visa", "a bank", None], 10)
    assert [each.query for each in check_queries(["a visa", "a bank"], 3)] == ["a visa", "a bank"]


def test_the_least_and_the_default_arguments():
    asked = SearchRequest("a visa", 1, offset=0)
    assert (asked.k, asked.mode, asked.fusion, asked.correct) == (1, "hybrid", "weighted", True)
    assert asked.from_first is asked
    assert (asked.words, asked.filtered, asked.by_ranks) == ("a visa", False, False)
    further = SearchRequest("a visa", 10, offset=20).from_first
    assert (further.k, further.offset) == (30, 0)
    further = SearchRequest("a visa", None, min_score=0.5, offset=20).from_first
    assert (further.k, further.offset) == (None, 0)
    assert SearchRequest("a visa", mode="dense").words == ""
    assert SearchRequest("a visa", mode="lexical").words == "a visa"
    assert not SearchRequest("a visa", where={}).filtered
    assert SearchRequest("a visa", where=[]).filtered  # malformed, which the search tells
    assert SearchRequest("a visa", collapse=True).collapse == 0.95
    assert SearchRequest("a visa", collapse=1).collapse == 1
    assert SearchRequest("a visa", fusion="rrf").by_ranks
    assert not SearchRequest("a visa", fusion="rrf", mode="dense").by_ranks
    auto = SearchRequest("a visa", min_score="auto")
    assert auto.with_min_score(0.25).least_score == 0.25
    assert SearchRequest("a visa", min_score=0.5).with_min_score(0.25).least_score == 0.5


@pytest.mark.parametrize(
    ("options", "share"),
    [
        ({"mode": "dense"}, 1.0),
        ({"mode": "hybrid"}, 1 / 3.25),
        ({"mode": "lexical"}, None),
        ({"mode": "hybrid", "fusion": "rrf"}, None),
        ({"mode": "dense", "rerank": True}, None),
        ({"mode": "dense", "boost": "n:1"}, None),
        ({"mode": "dense", "rerank": False, "boost": None, "fusion": "weighted"}, 1.0),
    ],
)
def test_the_share_of_the_cosine_in_a_score(options, share):
    assert share_of_cosine(options) == share


@pytest.mark.parametrize("threshold", [0, -0.1, 1.0001, "x", None, float("nan")])
def test_a_threshold_of_near_duplicates_that_is_refused(threshold):
    with pytest.raises(
        InputError,
        match=r"^the name is .*; expected a cosine above 0 and at most 1, such as 0\.95$",
    ):
        check_threshold(threshold, "the name")


def test_thresholds_at_the_bounds():
    assert [check_threshold(each, "x") for each in (1e-9, 1)] == [1e-9, 1]
    asked = DuplicatesRequest.of(1, "wording", 1, False)
    assert asked == DuplicatesRequest(1, ("wording",), 1, False, "single")
    assert DuplicatesRequest() == DuplicatesRequest(
        0.95, ("wording", "meaning"), 0.7, False, "single"
    )


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"views": ()}, "the views are (); expected one or both of wording, meaning"),
        ({"views": "x"}, "the views are 'x'; expected one or both of wording, meaning"),
        ({"views": ["x", "meaning"]}, "expected one or both of wording, meaning"),
        ({"link": "x"}, "the link is 'x'; expected single or complete"),
        (
            {"overlap": 0},
            "the overlap is 0; expected a share of trigrams above 0 and at most 1, such as 0.7",
        ),
        (
            {"overlap": 1.1},
            "the overlap is 1.1; expected a share of trigrams above 0 and at most 1, such as 0.7",
        ),
        (
            {"threshold": 0},
            "the threshold is 0; expected a cosine above 0 and at most 1, such as 0.95",
        ),
    ],
)
def test_a_request_for_near_duplicates_that_is_refused(changed, told):
    given = {"threshold": 0.9, "views": "meaning", "overlap": 0.5, "contrasts": False, **changed}
    with pytest.raises(InputError) as refused:
        DuplicatesRequest.of(**given)
    assert str(refused.value).endswith(told)


@pytest.mark.parametrize(
    ("vector", "told"),
    [
        ([1.0], "the query is an array of shape (1,) and length 1; "),
        ([[3.0, 4.0]], "the query is an array of shape (1, 2) and length 5; "),
        ([0.0, 0.0], "the query is an array of shape (2,) and length 0; "),
        ([np.inf, 0.0], "the query is an array of shape (2,) and length inf; "),
    ],
)
def test_a_vector_that_is_refused(vector, told):
    with pytest.raises(InputError) as refused:
        unit_vector(vector, 2)
    assert str(refused.value) == (
        f"{told}expected a text, or a finite vector of shape (2,) that is not zero"
    )


def test_a_vector_of_texts_is_refused_and_another_gets_unit_length():
    with pytest.raises(InputError) as refused:
        unit_vector(["a", "b"], 2)
    assert str(refused.value) == (
        "the query is ['a', 'b']; expected a text, or a vector of 2 numbers"
    )
    found = unit_vector([3, 4], 2)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [0.6, 0.8])


@pytest.mark.parametrize(
    ("words", "first", "last", "count"),
    [
        (20, None, None, 0),
        (21, (0, 20), (10, 21), 2),
        (30, (0, 20), (10, 30), 2),
        (31, (0, 20), (20, 31), 3),
        (1000, (0, 20), (980, 1000), 99),
        (1001, (0, 21), (980, 1001), 99),
        (2000, (0, 40), (1960, 2000), 99),
    ],
)
def test_passages_have_twenty_words_or_a_fiftieth_of_the_text(words, first, last, count):
    text = "w " * words  # word n begins at 2 n
    places = passages_of(text)
    assert len(places) == count
    if count:
        numbers = [(begin // 2, end // 2 + 1) for begin, end in (places[0], places[-1])]
        assert numbers == [first, last]


def test_periods():
    counts = FieldCounts(
        "day",
        documents=9,
        missing=2,
        distinct=4,
        values=(
            ValueCount("2025-01-05", 3),
            ValueCount("2024-12-31T23:00", 2),
            ValueCount("2024-12-01", 1),
            ValueCount("2024-01-01", 1),
        ),
    )
    for period, limit, distinct, values in (
        ("year", None, 2, [("2024", 4), ("2025", 3)]),
        ("month", None, 3, [("2024-01", 1), ("2024-12", 3), ("2025-01", 3)]),
        ("month", 2, 3, [("2024-12", 3), ("2025-01", 3)]),
        ("day", 1, 4, [("2025-01-05", 3)]),
        ("day", 3, 4, [("2024-12-01", 1), ("2024-12-31", 2), ("2025-01-05", 3)]),
    ):
        assert in_periods(counts, period, limit) == FieldCounts(
            f"{period}(day)", 9, 2, distinct, tuple(ValueCount(*each) for each in values)
        )
    assert field_of_period("month(a(b))") == ("a(b)", "month")
    assert field_of_period("week(a)") == ("week(a)", None)
    assert field_of_period("month(a) ") == ("month(a) ", None)
    with pytest.raises(InputError) as refused:
        part_of_date("day", "5.1.2024", "year")
    assert str(refused.value) == (
        "the field 'day' has the value '5.1.2024'; expected ISO dates, such as 2024-03-05"
    )
