"""Results in the order of their metadata: boosts, an order by a field, and several collections together."""

import time
from datetime import UTC, datetime

import pytest

from brute_force import documents
from gem_index import Document, Home
from gem_index.collection.results import SearchResult
from gem_index.collection.search import ordering
from gem_index.collection.search.ordering import Boost, boosted, field_of, sorted_by
from gem_index.errors import InputError, UnknownNameError
from gem_index.home import CollectionGroup
from homes import create_faq

NOW = datetime(2026, 1, 31, tzinfo=UTC)


def result(name, score=1.0, **metadata):
    return SearchResult(name, score, "text", metadata)


def names(results):
    return [each.id for each in results]


@pytest.mark.parametrize(
    ("boost", "value", "factor"),
    [
        ("d:30d", "2026-01-31", 1.0),
        ("d:30d", "2026-01-01T00:00:00+00:00", 0.75),
        ("d:30d", "2026-01-01T05:00:00+05:00", 0.75),
        ("d:30d", "2025-12-02", 0.625),
        ("d:720h", "2026-01-01", 0.75),
        ("d:4w", "2026-01-03", 0.75),
        ("d:1y", "1026", 0.5),
        ("d:395d", "2025", 0.75),  # its first day
        ("d:1y", "2025-01-30T18:00", 0.75),  # 365.25 days
        ("d:30d", "2026-01", 0.75),  # its first day
        ("d:30d", "2030-01-01", 1.0),  # not before now
        ("d:30d", "31.01.2026", 0.5),
        ("d:30d", None, 0.5),
        ("d:10", 10, 0.75),
        ("d:10", 90, 0.95),
        ("d:2.5", 2.5, 0.75),
        ("d:10", 10**400, 1.0),  # more than a float can be
        ("d:10", -(10**400), 0.5),
        ("d:10", 0, 0.5),
        ("d:10", -5, 0.5),
        ("d:10", True, 0.5),
        ("d:10", "10", 0.5),
    ],
)
def test_the_factor_of_a_boost(boost, value, factor):
    found = Boost.parse(boost).factor({"d": value}, NOW)
    assert found == pytest.approx(factor, abs=1e-9)
    assert Boost.parse(boost).factor({}, NOW) == 0.5


@pytest.mark.parametrize("zone", ["XYZ-12", "XYZ+9"])
@pytest.mark.parametrize("date", ["2026-01-24", "2026-01-24T00:00:00"])
def test_a_date_without_a_time_zone_is_in_utc_wherever_the_machine_is(monkeypatch, zone, date):
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert Boost.parse("d:7d").factor({"d": date}, NOW) == 0.75
    finally:
        monkeypatch.undo()
        time.tzset()


def test_a_field_of_an_object_and_a_name_with_a_colon():
    assert Boost.parse("a:b:30d").field == "a:b"
    assert Boost.parse("author.votes:10").factor({"author": {"votes": 10}}, NOW) == 0.75
    assert field_of({"a.b": 1, "a": {"b": 2}}, "a.b") == 1
    assert field_of({"a": [1]}, "a.b") is None


@pytest.mark.parametrize(
    "text", ["", "d", "d:", "d:30m", "d:0d", ":30d", "d:-3", "d:1e9", 7, "d:∞"]
)
def test_a_boost_of_another_form(text):
    with pytest.raises(InputError, match=r"^the boost is .*; expected FIELD:NUMBER"):
        Boost.parse(text)


def test_boosted_results_are_in_the_order_of_their_new_scores():
    results = [
        result("old", 0.9, votes=0),
        result("liked", 0.6, votes=30),
        result("none", 0.5),
        result("below", -0.1, votes=99),
    ]
    found = boosted(results, Boost.parse("votes:10"), NOW)
    assert [(each.id, round(each.score, 4)) for each in found] == [
        ("liked", 0.525),
        ("old", 0.45),
        ("none", 0.25),
        ("below", -0.1),
    ]


def test_no_result_has_a_value_to_boost_by():
    results = [result("a", votes="many"), result("b")]
    with pytest.raises(InputError) as caught:
        boosted(results, Boost.parse("votes:10"), NOW)
    assert str(caught.value) == (
        "none of the best 2 results has a number in the field 'votes', such as 'many'; expected a field of numbers to boost "
        "by"
    )
    assert boosted([], Boost.parse("votes:10"), NOW) == []


def test_sorted_by_a_field():
    results = [
        result("c", year=2020),
        result("x"),
        result("b", year=2010),
        result("t", year="spring"),
        result("d", year=2020),
        result("y", year=None),
        result("z", year=[1]),
    ]
    assert names(sorted_by(results, "year")) == ["b", "c", "d", "t", "x", "y", "z"]
    assert names(sorted_by(results, "-year")) == ["t", "c", "d", "b", "x", "y", "z"]
    assert names(sorted_by(results, "absent")) == names(results)


def test_whole_numbers_of_any_size_are_sorted_exactly():
    large = 10**400
    numbers = {"a": large + 1, "b": 2**53 + 1, "c": -large, "d": large, "e": 2.0**53}
    results = [result(name, n=number) for name, number in numbers.items()]
    assert names(sorted_by(results, "n")) == ["c", "e", "b", "d", "a"]
    assert names(boosted(results, Boost.parse("n:10"), NOW)) == ["a", "d", "b", "e", "c"]


def fill(home, vectors_folder):
    create_faq(home, vectors_folder)
    rows = [
        Document(id=each.id, text=each.text, metadata={"n": n, "day": f"2026-01-{n % 28 + 1:02d}"})
        for n, each in enumerate(documents(300))
    ]
    home.collection("faq").upsert(rows)
    home.collection("faq").refit()


@pytest.fixture
def home(copied_home, small_vectors_folder):
    return copied_home(fill, small_vectors_folder)


@pytest.fixture
def faq(home, monkeypatch):
    class Fixed(datetime):
        @classmethod
        def now(cls, tz=None):
            return NOW

    monkeypatch.setattr(ordering, "datetime", Fixed)
    return home.collection("faq")


QUERY = "open a bank account by phone"


@pytest.mark.parametrize("options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"rerank": True}])
@pytest.mark.parametrize("boost", ["n:50", "day:7d"])
def test_a_boost_chooses_from_the_best_hundred(faq, boost, options):
    best = faq.search(QUERY, 100, **options)
    expected = boosted(best, Boost.parse(boost), NOW)
    found = faq.search(QUERY, 10, boost=boost, **options)
    assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in expected[:10]]
    assert names(found) != names(best[:10])
    assert names(faq.search(QUERY, 5, boost=boost, offset=5, **options)) == names(found[5:])
    assert faq.search_many([QUERY], 10, boost=boost, **options) == [found]


@pytest.mark.parametrize("options", [{"boost": "n:50"}, {"rerank": True}])
def test_all_results_are_reordered_if_more_than_a_hundred_are_requested(faq, options):
    best = faq.search(QUERY, 150)
    found = faq.search(QUERY, 150, **options)
    assert len(found) == 150
    assert set(names(found)) == set(names(best))
    assert names(faq.search(QUERY, 60, offset=90, **options)) == names(found[90:])
    assert faq.search_many([QUERY], 150, **options) == [found]


def test_the_lowest_score_is_compared_before_a_boost(faq):
    least = faq.search(QUERY, 20)[-1].score
    found = faq.search(QUERY, None, min_score=least, boost="n:50")
    assert set(names(found)) == set(names(faq.search(QUERY, None, min_score=least)))
    assert min(hit.score for hit in found) < least


def test_a_page_is_sorted_by_a_field(faq):
    best = faq.search(QUERY, 20)
    found = faq.search(QUERY, 10, offset=10, sort_by="-n")
    assert set(names(found)) == set(names(best[10:]))
    numbers = [hit.metadata["n"] for hit in found]
    assert numbers == sorted(numbers, reverse=True)


@pytest.mark.parametrize("field", ["", "-", 3])
def test_a_field_to_sort_by_has_a_name(faq, field):
    with pytest.raises(InputError, match="the field to sort by is"):
        faq.search(QUERY, sort_by=field)


@pytest.fixture
def other(home, small_vectors_folder):
    """A second collection with a model of its own."""
    rows = [
        {"id": f"o{n}", "text": each.text, "n": n}
        for n, each in enumerate(documents(40, begin=500))
    ]
    home.build("other", rows, vectors="tiny")
    return home.collection("other")


def test_collections_of_several_models_are_merged_by_rank(home, faq, other):
    group = home.group(["faq", "other"])
    assert (group.name, group.compares_scores()) == ("faq,other", False)
    found = group.search(QUERY, 9)
    lists = {each.name: each.search(QUERY, 9) for each in (faq, other)}
    for name, hits in lists.items():
        mine = [hit.id for hit in found if hit.collection == name]
        assert mine == names(hits)[: len(mine)]
    for place in range(0, 8, 2):
        pair = found[place : place + 2]
        assert {hit.collection for hit in pair} == {"faq", "other"}
        assert pair[0].score >= pair[1].score
    assert group.search(QUERY, 4, offset=3) == found[3:7]
    assert found[0].to_dict()["collection"] == found[0].collection
    assert "collection" not in faq.search(QUERY, 1)[0].to_dict()


def test_collections_of_one_model_are_merged_by_score(home, small_vectors_folder):
    for name, begin in (("one", 0), ("two", 600)):
        made = home.create_collection(name, vectors="tiny")
        made.upsert(documents(50, begin=begin))
    group = home.group(["one", "two"])
    assert group.compares_scores("hybrid")
    assert not group.compares_scores("lexical")
    found = group.search(QUERY, 12, mode="dense")
    every = [
        (hit.score, name, hit.id)
        for name in ("one", "two")
        for hit in home.collection(name).search(QUERY, 12, mode="dense")
    ]
    assert [hit.score for hit in found] == sorted((score for score, *_ in every), reverse=True)[:12]
    home.collection("two").upsert([{"id": "last", "text": "rarely", "rare": 1}])
    again = group.search(QUERY, 12, mode="dense")
    assert names(group.search(QUERY, 12, mode="dense", sort_by="-rare")) == names(again)


@pytest.mark.parametrize("together", [False, True])
def test_a_field_to_sort_by_that_no_document_has_is_refused_with_its_neighbors(home, faq, together):
    other = home.create_collection("bare", vectors="tiny")
    other.upsert(["how do I renew a visa?"])
    searched = home.group(["bare", "faq"]) if together else faq
    with pytest.raises(InputError) as refused:
        searched.search(QUERY, sort_by="-m")
    assert str(refused.value) == (
        "no document has the field 'm'; expected a field of the metadata: these documents have no metadata"
        if together
        else "no document has the field 'm'; expected a field of the metadata: the fields are 'day', 'n'"
    )
    assert searched.search(QUERY, 3, offset=100_000, sort_by="m") == []
    assert len(searched.search(QUERY, 3, sort_by="n")) == 3


def test_a_group_searches_as_its_collection_alone(home, faq):
    alone = home.group(["faq", "faq"])
    assert names(alone.search(QUERY, 7)) == names(faq.search(QUERY, 7))
    assert alone.search_many([], 7) == []


def test_bad_groups(home, faq):
    with pytest.raises(UnknownNameError, match="did you mean faq"):
        home.group(["faq", "fax"])
    with pytest.raises(InputError, match="found no collections"):
        home.group([])
    with pytest.raises(InputError, match="expected at least one"):
        CollectionGroup([])
    group = home.group(["faq"])
    with pytest.raises(InputError, match="query 1: offset"):
        group.search(QUERY, offset=-1)
    with pytest.raises(InputError, match="expected a list of queries"):
        group.search_many("text")


def test_a_home_opened_again_has_the_group(home, faq, other):
    assert Home(home.root).group(["other", "faq"]).search(QUERY, 3) == home.group(
        ["other", "faq"]
    ).search(QUERY, 3)
