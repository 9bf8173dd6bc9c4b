"""The fields of metadata, from a sample of documents."""

import pytest

from gem_index import Document
from gem_index.collection.state import metadata_fields as module


@pytest.fixture
def large(home, vectors_folder):
    return home.create_collection("large", vectors=str(vectors_folder))


def stored(collection, *metadata):
    collection.upsert(
        [Document(id=str(i), text="a bank", metadata=each) for i, each in enumerate(metadata)]
    )
    return {each.name: each for each in collection.metadata_fields()}


def test_kinds_and_frequent_values_by_the_names_of_filters(large):
    fields = stored(
        large,
        {"lang": "de", "year": 2020, "place": {"city": "Köln", "zip": None}},
        {"lang": "de", "year": 2021.5, "day": "2025-01-14", "tags": ["a", "b"]},
        {"lang": "zh", "year": "unknown", "place": {"city": "北京"}},
        {"lang": "ar", "open": True, "a.b": 1},
    )
    assert list(fields)[:2] == ["lang", "year"]
    assert (fields["lang"].kinds, fields["lang"].values) == (("text",), ("de", "zh", "ar"))
    assert (fields["lang"].documents, fields["year"].documents) == (1.0, 0.75)
    assert (fields["lang"].distinct, fields["year"].distinct) == (3, 3)
    assert fields["tags"].distinct == 2  # members
    assert fields["year"].kinds == ("number", "text")
    assert fields["year"].values == (2020, 2021.5, "unknown")
    assert fields["place.city"].values == ("Köln", "北京")
    assert (fields["place.zip"].kinds, fields["place.zip"].values) == ((), (None,))
    assert fields["day"].kinds == ("ISO date",)
    assert (fields["tags"].kinds, fields["tags"].values) == (("list",), (["a", "b"],))
    assert (fields["open"].kinds, fields["open"].values) == (("boolean",), (True,))
    for name, value in (("place.city", "北京"), ("lang", "zh"), ("a.b", 1)):
        assert large.count({name: fields[name].values[-1]}) == 1, (name, value)


def test_the_field_of_most_documents_is_first_whatever_its_values_are(large):
    stored(
        large,
        *({"id": n, "same": "x", "list": [n, n + 1, n + 2]} for n in range(3)),
        {"same": "x", "late": 1},
        {"same": "x", "early": 1},
    )
    assert [(each.name, each.documents, each.distinct) for each in large.metadata_fields()] == [
        ("same", 1.0, 1),
        ("id", 0.6, 3),
        ("list", 0.6, 5),
        ("late", 0.2, 1),
        ("early", 0.2, 1),
    ]


def test_no_documents_and_no_metadata(large):
    assert large.metadata_fields() == []
    assert stored(large, {}, {}) == {}


def test_long_values_and_many_fields_are_left_out(large):
    fields = stored(large, {"a": "x" * 200} | {f"f{i}": i for i in range(300)})
    assert len(fields) == 100
    assert fields["a"].values == ()
    assert fields["a"].kinds == ("text",)


def test_a_sample_is_read_of_a_large_collection(home, large, monkeypatch):
    """It reaches from the first document to the last, past those of other collections and deleted ones."""
    monkeypatch.setattr(module, "_SAMPLED", 10)
    large.upsert([Document(id=f"a{i}", text="a", metadata={"n": i}) for i in range(50)])
    home.create_collection("other").upsert([(str(i), "b") for i in range(50)])
    large.upsert([Document(id=f"b{i}", text="a", metadata={"n": i}) for i in range(50, 1000)])
    large.delete([f"b{i}" for i in range(200, 300)])
    with large.access.reading() as rows:
        sample = rows.documents.metadata_sample(10)
    assert len(sample) == 10
    assert (sample[0], sample[-1]) == ('{"n":0}', '{"n":999}')
    [field] = large.metadata_fields()
    assert field.documents == 1.0
