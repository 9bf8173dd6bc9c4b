"""Neighbours, deletion by filter, and fields that no document has."""

import pytest

from gem_index import Document
from gem_index.errors import FilterError, InputError


def build_faq(home, vectors_folder):
    documents = [
        Document(id="a", text="the river bank", metadata={"n": 1, "tags": ["x", "y"]}),
        Document(id="b", text="a river", metadata={"n": 2, "tags": ["y"]}),
        Document(id="c", text="a visa", metadata={"n": 3}),
        Document(id="empty", text=""),
    ]
    home.build("faq", documents, vectors=str(vectors_folder), prior=0)


@pytest.fixture
def home(copied_home, small_vectors_folder):
    return copied_home(build_faq, small_vectors_folder)


def test_neighbours(faq):
    everything = faq.similar("a", 10)
    assert {hit.id for hit in everything} == {"b", "c", "empty"}
    [nearest] = faq.similar("a", 1)
    assert nearest == everything[0]
    first, second = faq.encoder.encode(["the river bank", nearest.text])
    assert nearest.score == pytest.approx(float(first @ second), abs=1e-6)
    assert [hit.id for hit in faq.similar("a", where={"n": {"$lte": 2}})] == ["b"]


def test_neighbours_of_nothing(faq):
    with pytest.raises(
        InputError, match="has no document 'zz'; expected the id of one of its documents"
    ):
        faq.similar("zz")
    with pytest.raises(InputError, match="the document 'empty' has no words"):
        faq.similar("empty")
    with pytest.raises(InputError, match="k is 0"):
        faq.similar("a", 0)


def test_deletion_by_filter(faq):
    report = faq.delete(where={"tags": "y"})
    assert (report.deleted, report.missing) == (2, ())
    assert [document.id for document in faq.documents()] == ["c", "empty"]
    assert faq.delete(where={"n": 99}).deleted == 0
    assert [hit.id for hit in faq.search("river", 9, mode="dense")] != []


@pytest.mark.parametrize(
    ("arguments", "found"),
    [
        ({}, "found no ids and no filter"),
        ({"ids": ["a"], "where": {"n": 1}}, "found ids and a filter"),
        ({"ids": ["a"], "where": {}}, "found ids and a filter"),
        ({"where": {}}, "found an empty filter"),
    ],
)
def test_a_deletion_names_documents_in_one_way(faq, arguments, found):
    with pytest.raises(InputError, match=found):
        faq.delete(**arguments)
    assert len(faq) == 4


def test_a_field_that_no_document_has(faq):
    for work in (
        lambda where: faq.search("river", where=where),
        lambda where: list(faq.documents(where)),
        faq.count,
        lambda where: faq.delete(where=where),
        lambda where: faq.similar("a", where=where),
    ):
        with pytest.raises(FilterError, match="no document has the field 'tagz' .* 'tags'"):
            work({"tagz": "x"})
    with pytest.raises(FilterError, match="has the field 'zzz' .*: the fields are 'n', 'tags'"):
        faq.count({"n": 1, "$not": {"zzz": None}})
    nested = {"author": {"name": "Ada", "born": {"year": 1815}}, "notes": [{"page": 1}]}
    faq.upsert([Document(id="nested", text="a river", metadata=nested)])
    for wrong, right in (("author.nam", "author.name"), ("author.born.yaer", "author.born.year")):
        with pytest.raises(FilterError, match=f"'{wrong}' .*: did you mean '{right}'"):
            faq.count({wrong: "x"})
    with pytest.raises(
        FilterError, match="'zzz' .*: the fields are 'author', 'n', 'notes', 'tags'"
    ):
        faq.count({"zzz": 1})
    faq.upsert([Document(id="nested", text="a river", metadata={**nested, "author.name": "Ada"})])
    with pytest.raises(FilterError, match="the fields are 'author', 'author.name', 'n', 'notes'"):
        faq.count({"zzz": 1})
    faq.delete(["nested"])
    # some documents are accepted, or are so without the field
    assert faq.count({"$or": [{"n": 1}, {"tagz": 1}]}) == 1
    assert faq.count({"tagz": {"$exists": False}}) == 4
    assert faq.count({"tagz": {"$exists": True}}) == 0


@pytest.mark.parametrize(
    "where",
    [
        {"$or": [{"n": {"$in": ["a"]}} for _ in range(400)]},
        {"tags": {"$like": "%" * 60_000}},
        {"$or": [{"n": i} for i in range(500)]},
    ],
)
def test_a_filter_that_is_too_large_for_sqlite(faq, where):
    with pytest.raises(FilterError, match="the filter is too large for SQLite: .*expected fewer"):
        faq.count(where)


def test_the_first_eight_fields_are_named(faq):
    fields = {f"field {i:02}": 1 for i in range(12)}
    faq.upsert([Document(id="many", text="a river", metadata=fields)])
    first = ", ".join(f"'{name}'" for name in list(fields)[:8])
    with pytest.raises(FilterError, match=f"the fields are {first}$"):
        faq.count({"zzz": 1})


def test_an_empty_collection_names_no_fields(home, vectors_folder):
    empty = home.create_collection("empty", vectors=str(vectors_folder))
    assert empty.count({"n": 1}) == 0
