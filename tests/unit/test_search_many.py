"""Many queries at once: the results are those of single searches."""

import numpy as np
import pytest

from gem_index import Chunking, Document
from gem_index.errors import FilterError, InputError

WORDS = ["the", "my", "how", "you", "keep", "phone", "bank", "account", "open", "visa", "renew"]
RNG = np.random.default_rng(5)
QUERIES = [" ".join(RNG.choice(WORDS, 4)) for _ in range(12)]


def documents(count, begin=0):
    rng = np.random.default_rng(begin)
    for i in range(begin, begin + count):
        text = " ".join(rng.choice(WORDS, 30 if i % 5 == 0 else 8))
        yield Document(id=f"d{i}", text=text, metadata={"even": i % 2 == 0})


def fill(home, vectors_folder, index):
    home.build("c", documents(600), vectors=str(vectors_folder), index=index, chunking=Chunking(15))
    made = home.collection("c")
    made.upsert(documents(100, 1000))
    made.delete([f"d{i}" for i in range(0, 50, 3)])


@pytest.fixture(params=["flat", "pq"])
def collection(request, copied_home, small_vectors_folder):
    return copied_home(fill, small_vectors_folder, request.param).collection("c")


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"mode": "dense"},
        {"mode": "lexical"},
        {"where": {"even": True}},
        {"fusion": "rrf"},
        {"rerank": True},
        {"collapse": True},
        {"pieces": True},
        {"k": None, "min_score": 0.5},
    ],
)
def test_pages_are_parts_of_one_list(collection, options):
    query = QUERIES[0]
    whole = collection.search(query, **{"k": 15, **options})
    pages = [
        collection.search(query, **{"k": 5, **options}, offset=offset) for offset in (0, 5, 10)
    ]
    names, *others = [[(hit.id, hit.score) for hit in hits] for hits in (whole, *pages)]
    if options.get("k", 5) is None:
        assert others == [names[offset:] for offset in (0, 5, 10)]
        assert len(names) > 10
    else:
        assert [name for page in others for name in page] == names
        assert len(names) == 15
    assert list(collection.search(query, k=5, offset=10_000)) == []


@pytest.mark.parametrize("offset", [-1, 1.5, "2", None])
def test_a_wrong_offset(collection, offset):
    with pytest.raises(InputError, match="the offset|offset is"):
        collection.search("the bank", offset=offset)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"offset": 3},
        {"mode": "dense", "k": 3},
        {"mode": "lexical"},
        {"where": {"even": True}},
        {"fusion": "rrf"},
        {"rerank": True, "k": 5},
        {"why": True, "k": 2},
        {"collapse": True},
        {"pieces": True},
        {"exact": True},
        {"k": None, "min_score": 0.6},
    ],
)
def test_as_one_by_one(collection, options):
    many = collection.search_many(QUERIES, **options)
    assert many == [collection.search(query, **options) for query in QUERIES]
    assert any(len(results) > 1 for results in many)


def test_vectors(collection):
    vectors = collection.encoder.encode(QUERIES)
    fingerprint = collection.encoder.fingerprint
    many = collection.search_many(vectors, fingerprint=fingerprint)
    assert many == [collection.search(v, fingerprint=fingerprint) for v in vectors]


def test_none_and_one(collection):
    assert collection.search_many([]) == []
    assert collection.search_many(iter(["open"])) == [collection.search("open")]


def test_one_state_and_one_transaction(collection, monkeypatch):
    database = collection.access.workspace.database
    opened, reading = [], type(database).reading

    def counted(self):
        opened.append(self)
        return reading(self)

    monkeypatch.setattr(type(database), "reading", counted)
    collection.search_many(QUERIES)
    assert len(opened) == 1


@pytest.mark.parametrize(
    ("queries", "options", "message"),
    [
        ("open", {}, "found the text 'open'; expected a list of queries"),
        (["open", "???"], {}, "query 2: the query '\\?\\?\\?' holds no word"),
        (["open", None], {}, "query 2: the query is None; expected a text, or a vector"),
        (["open"], {"k": 0}, "query 1: k is 0; expected a whole number of at least 1"),
    ],
)
def test_refused(collection, queries, options, message):
    with pytest.raises(InputError, match=message):
        collection.search_many(queries, **options)


def test_a_malformed_filter(collection):
    with pytest.raises(FilterError, match="no document has the field"):
        collection.search_many(QUERIES, where={"evn": True})
