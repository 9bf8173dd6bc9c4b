"""A filter that compares a field with another kind than its values is an error, at every size."""

import shutil

import pytest

from gem_index import Document, Home
from gem_index.errors import FilterError

METADATA = [
    {
        "day": f"2025-{i % 12 + 1:02}-{i % 28 + 1:02}",
        "at": f"2025-01-{i % 28 + 1:02}T10:00:00",
        "price": f"{i} EGP",
        "year": 2000 + i % 20,
        "many": i,
        "mixed": i if i % 2 else f"Grüße {i}",
        "when": "2025-02-03" if i % 3 else "01.02.2025",
        "open": i % 2 == 0,
        "tags": ["价格", "سعر"],
        "place": {"floor": i},
        "late": "" if i % 2 else f"2025-01-{i % 28 + 1:02}",
        "none": None,
    }
    for i in range(60)
]

REFUSED = [
    ({"day": {"$gte": "01.01.2025"}}, "'day' with the text '01.01.2025'; expected an ISO date, such as '2025-01-01'"),
    ({"at": {"$lt": "yesterday"}}, "'at' with the text 'yesterday'; expected an ISO date, such as '2025-01-01T10"),
    ({"late": {"$gt": "3.1.2025"}}, "'late' with the text '3.1.2025'; expected an ISO date, such as '2025-01-"),
    ({"when": {"$gte": "2025-01-01"}}, "'when' with the ISO date '2025-01-01'; expected a text, such as '01.02.2025'"),
    ({"price": {"$gte": "2025-01-01"}}, "'price' with the ISO date '2025-01-01'; expected a text, such as '0 EGP'"),
    ({"price": {"$lt": 10000}}, "'price' with the number 10000; expected a text, such as '0 EGP': no value of the field is"),
    ({"year": {"$gt": "2020"}}, "'year' with the text '2020'; expected a number, such as 2000: no value"),
    ({"many": {"$lte": "9"}}, "'many' with the text '9'; expected a number, such as 0"),
    ({"open": {"$gt": 0}}, "'open' with the number 0; expected a boolean, such as false"),
    ({"tags": {"$gt": "سعر"}}, "'tags' with the text 'سعر'; expected a list, such as"),
    ({"place": {"$gt": 1}}, "'place' with the number 1; expected an object, such as"),
    ({"place.floor": {"$gt": "1"}}, "'place.floor' with the text '1'; expected a number, such as 0"),
    ({"$or": [{"year": 2001}, {"$not": {"year": {"$lt": "x"}}}]}, "'year' with the text 'x'"),
    ({"year": "2001"}, "'year' with the text '2001'; expected a number"),
    ({"year": {"$in": ["2001", "2002"]}}, "'year' with the text '2001'; expected a number"),
    ({"open": "true"}, "'open' with the text 'true'; expected a boolean"),
    ({"price": 5, "year": 2001}, "'price' with the number 5; expected a text"),
]  # fmt: skip

ACCEPTED = [
    ({"day": {"$gte": "2025-06-01"}}, 35),
    ({"day": {"$gte": "2025"}}, 60),
    ({"day": {"$lt": "2025-07"}}, 30),
    ({"day": {"$gte": "2025-06-01 10:00"}}, 35),
    ({"when": {"$lt": "1"}}, 20),
    ({"mixed": {"$gte": 31}}, 15),
    ({"mixed": {"$gt": "Grüße 5"}}, 7),
    ({"year": {"$gt": 2010.5}}, 27),
    ({"late": {"$gte": "2025-01-20"}}, 8),
    ({"none": {"$gte": "2025-01-20"}}, 0),
    ({"tags": "价格"}, 60),
    ({"tags": 7}, 0),
    ({"year": {"$in": ["2001", None]}}, 0),
    ({"year": {"$ne": "2001"}}, 60),
    ({"open": None}, 0),
]


def filled(home, metadata=METADATA):
    made = home.create_collection("c")
    made.upsert(
        Document(id=i, text=f"a bank {i}", metadata=fields) for i, fields in enumerate(metadata)
    )
    return made


@pytest.fixture(scope="module", params=["the rows", "the fields of a snapshot"])
def template(request, tmp_path_factory):
    """A home that each test has a copy of."""
    with pytest.MonkeyPatch.context() as patch:
        if request.param != "the rows":
            patch.setattr("gem_index.index.snapshot_writing._LEAST_DOCUMENTS", 1)
        home = Home(tmp_path_factory.mktemp("template") / "home")
        filled(home).refit()
        stored = {path.name for path in home.root.glob("collections/*/*/*")}
        assert ("fields" in stored) == (request.param != "the rows")
        yield home.root


@pytest.fixture
def collection(template, tmp_path):
    return Home(shutil.copytree(template, tmp_path / "home")).collection("c")


@pytest.mark.parametrize(("where", "message"), REFUSED)
def test_refused(collection, where, message):
    asked = [
        lambda: collection.search("bank", where=where),
        lambda: collection.count(where),
        lambda: list(collection.documents(where)),
        lambda: collection.delete(where=where),
        lambda: collection.similar("1", where=where),
    ]
    for ask in asked:
        for _ in range(2):  # an answer may be kept
            with pytest.raises(FilterError) as caught:
                ask()
            assert message in str(caught.value)
    assert len(collection) == 60


@pytest.mark.parametrize(("where", "count"), ACCEPTED)
def test_accepted(collection, where, count):
    assert collection.count(where) == count
    assert len(collection.search("bank", 60, where=where)) == count


def test_what_comes_and_goes_counts(collection):
    where = {"year": {"$gt": "2020"}}
    with pytest.raises(FilterError):
        collection.search("bank", where=where)
    collection.upsert([Document(id="new", text="a bank", metadata={"year": "2021/22"})])
    assert [hit.id for hit in collection.search("bank", where=where)] == ["new"]
    collection.delete(["new"])
    with pytest.raises(FilterError):
        collection.count(where)
    dates = {"when": {"$gte": "2025-01-01"}}
    with pytest.raises(FilterError):
        collection.search("bank", where=dates)
    collection.delete(where={"when": "01.02.2025"})
    assert len(collection.search("bank", 60, where=dates)) == collection.count(dates) == 40


def test_kinds_of_deleted_documents_do_not_count_after_a_compaction(collection):
    where = {"year": {"$gt": "2020"}}
    collection.upsert([Document(id="new", text="a bank", metadata={"year": "2021/22"})])
    collection.refit()
    assert [hit.id for hit in collection.search("bank", where=where)] == ["new"]
    collection.delete(["new"])
    collection.compact()
    with pytest.raises(FilterError, match="'year' with the text '2020'; expected a number"):
        collection.search("bank", where=where)


def test_an_empty_collection_compares_with_anything(home):
    made = home.create_collection("c")
    assert made.count({"year": {"$gt": "2020"}}) == 0
    assert made.search("bank", where={"year": {"$gt": "2020"}}) == []
