"""Counts of documents by the values of a field, and documents in the order of a field."""

import random

import numpy as np
import pytest

from gem_index import Document
from gem_index.collection.search.ordering import sorted_by
from gem_index.errors import FilterError, InputError
from gem_index.index import fields, snapshot_writing
from gem_index.results import SearchResult, ValueCount

PLACES = ["Berlin", "北京", "القاهرة", "", None, ["Berlin", "Oslo"], [], [["x"], "Oslo", "Oslo"]]


def metadata(i):
    draw = random.Random(i)
    found = {
        "place": draw.choice(PLACES),
        "stars": draw.choice([1, 1.0, 2, True, 10**17 + 1, "1"]),
        "author": draw.choice([{"name": "Ann"}, {"name": "Bo", "age": 3}, {"age": 4}, "Cy"]),
        "number": i % 97 + 0.5,
        "text": "a\0b" if i == 7 else "a",
    }
    return {name: value for name, value in found.items() if draw.random() < 0.9}


def build_stored(home, vectors_folder, *, size=300):
    documents = [Document(id=str(i), text=f"river {i}", metadata=metadata(i)) for i in range(size)]
    home.build("faq", documents, vectors=str(vectors_folder), prior=0)


def build_and_change(home, vectors_folder, least_documents):
    build_stored(home, vectors_folder)
    found = home.collection("faq")
    found.upsert([Document(id=f"n{i}", text="bank", metadata=metadata(i)) for i in range(300, 330)])
    found.upsert([Document(id="3", text="changed", metadata={"place": "Oslo", "late": "x"})])
    found.delete(["1", "n301", "12"])


@pytest.fixture(params=[1, snapshot_writing._LEAST_DOCUMENTS])
def stored(request, copied_home, small_vectors_folder, monkeypatch):
    """A collection with files of fields or without, later documents and deleted ones."""
    monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", request.param)
    return copied_home(build_and_change, small_vectors_folder, request.param).collection("faq")


@pytest.mark.parametrize("name", ["place", "stars", "author.name", "number", "text", "late"])
@pytest.mark.parametrize("where", [None, {"number": {"$lt": 40}}, {"$not": {"place": "Oslo"}}])
def test_a_count_is_that_of_the_filter_for_the_value(stored, name, where):
    counts = stored.count_by(name, where)
    assert counts.documents == stored.count(where)
    assert counts.distinct == len(counts.values)
    for each in counts.values[:12]:
        both = {name: each.value} if where is None else {"$and": [where, {name: each.value}]}
        assert each.documents == stored.count(both)
    order = [each.documents for each in counts.values]
    assert order == sorted(order, reverse=True)
    any_value = {name: {"$in": [each.value for each in counts.values]}}
    found = stored.count(any_value if where is None else {"$and": [where, any_value]})
    assert counts.missing == counts.documents - found


def test_a_field_with_many_numbers(home, small_vectors_folder, monkeypatch):
    monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", 1)
    monkeypatch.setattr(fields, "_MOST_VALUES", 10)
    build_stored(home, small_vectors_folder)
    found = home.collection("faq")
    found.delete(["5"])
    for later in ([], [Document(id="n", text="bank", metadata={"number": "x"})]):
        found.upsert(later)
        plain = [(d.metadata.get("number"), d.id) for d in found.documents() if d.id != "7"]
        hits = [SearchResult(name, 0.0, "", {"number": n}) for n, name in plain]
        for sort_by in ("number", "-number"):
            ids = [d.id for d in found.documents({"number": {"$exists": True}}, sort_by=sort_by)]
            expected = [
                hit.id for hit in sorted_by(hits, sort_by) if hit.metadata["number"] is not None
            ]
            assert ids == expected
        assert found.count_by("number").distinct == len({n for n, _ in plain} - {None})
    with pytest.raises(InputError, match=r"no document has the field 'number\.x'"):
        found.count_by("number.x")


@pytest.mark.parametrize(("count", "stored"), [(65_535, True), (65_536, False)])
def test_a_field_has_as_many_values_as_codes_of_16_bits(tmp_path, count, stored):
    writer = fields.FieldsWriter()
    writer.append([f'{{"name": "n{i}", "same": 1}}' for i in range(count)])
    writer.write(tmp_path / "fields")
    found = fields.SnapshotFields(tmp_path / "fields")
    assert found.names == (["name", "same"] if stored else ["same"])
    assert found.left_out == ([] if stored else ["name"], False)
    if stored:
        column = found.column("name")
        assert [column.values[column.codes[i] - 1] for i in (0, 1, -1)] == [
            '"n0"',
            '"n1"',
            f'"n{count - 1}"',
        ]


def test_numbers_and_booleans_are_different_values(stored):
    stored.delete(where={"number": {"$gte": 0}})
    stored.delete([d.id for d in stored.documents()])
    values = [1, 1.0, True, "1", [1, "1", 1], {"x": 1}, None]
    stored.upsert(
        Document(id=str(i), text="bank", metadata={"v": value}) for i, value in enumerate(values)
    )
    stored.upsert([Document(id="without", text="bank")])
    counts = stored.count_by("v")
    assert counts.values == (ValueCount(1, 3), ValueCount("1", 2), ValueCount(True, 1))
    assert [type(each.value) for each in counts.values] == [int, str, bool]
    assert (counts.documents, counts.missing, counts.distinct) == (8, 3, 3)
    assert stored.count_by("v", limit=1).values == (ValueCount(1, 3),)
    assert stored.count_by("v", limit=1).distinct == 3


@pytest.mark.parametrize("name", ["number", "stars", "place"])
@pytest.mark.parametrize("where", [None, {"number": {"$gt": 20}}])
def test_the_order_of_a_field_is_that_of_results(stored, name, where):
    stored.delete(["7"])  # metadata with a zero byte are not read
    plain = list(stored.documents(where))
    hits = [SearchResult(d.id, 0.0, str(d.text), d.metadata) for d in plain]
    for sort_by in (name, f"-{name}"):
        found = [d.id for d in stored.documents(where, sort_by=sort_by)]
        assert found == [hit.id for hit in sorted_by(hits, sort_by)]
        newest = [d.id for d in stored.documents(where, sort_by=sort_by, newest_first=True)]
        assert newest == [hit.id for hit in sorted_by(hits[::-1], sort_by)]
        page = stored.documents(where, 10, 5, sort_by=sort_by)
        assert [d.id for d in page] == found[10:15]
    assert [d.id for d in stored.documents(where, newest_first=True)] == [d.id for d in plain][::-1]


def test_a_field_that_no_document_has(stored):
    told = (
        "no document has the field 'plaec'; expected a field of the metadata: did you mean 'place'"
    )
    with pytest.raises(InputError, match=told):
        stored.count_by("plaec")
    with pytest.raises(InputError, match=told):
        list(stored.documents(sort_by="-plaec"))
    for name in ("number.x", "text.x", "place.x"):  # these have no objects
        with pytest.raises(InputError, match=f"no document has the field '{name}'"):
            stored.count_by(name)
    with pytest.raises(FilterError, match="without quotes"):
        stored.count_by('a"b')
    with pytest.raises(InputError, match="the limit is 0"):
        stored.count_by("place", limit=0)


def test_an_empty_collection_has_no_values(home, small_vectors_folder):
    home.create_collection("none", vectors=str(small_vectors_folder))
    counts = home.collection("none").count_by("x")
    assert (counts.documents, counts.missing, counts.distinct, counts.values) == (0, 0, 0, ())


def test_damaged_files_are_not_read(stored, caplog):
    before = stored.count_by("place"), [d.id for d in stored.documents(sort_by="number")]
    folders = list(stored.access.folder.glob("*/fields"))
    for path in (path for folder in folders for path in folder.glob("*.npy")):
        np.save(path, np.zeros(3, np.uint16))
    assert before == (stored.count_by("place"), [d.id for d in stored.documents(sort_by="number")])
    assert bool(folders) == ("reading the stored documents instead" in caplog.text)
