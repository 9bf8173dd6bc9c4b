"""The query record of a table, and the results that a search makes of its rows, without a database."""

import json
import zlib

import numpy as np
import pytest

from gem_index import GemConfig
from gem_index.collection.push import query_record
from gem_index.collection.push.found_rows import FoundRow, folded
from gem_index.collection.push.query_record import QueryRecord
from gem_index.collection.results import FoundPiece
from gem_index.errors import ConfigError
from gem_index.sparse import SparseEncoder
from gem_index.store.records import ModelRecord
from gem_index.targets.protocol import TargetDocument
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking

HASH = "0123456789abcdef" * 4
MODEL = ModelRecord(
    name=None,
    fingerprint=HASH,
    vectors="tiny",
    vectors_fingerprint=HASH,
    config=GemConfig().to_json(),
    recipe="",
    dimension=24,
    sentences=7,
    directions=None,
    singular_values=None,
    created_at="2026-01-01",
)


def made(chunking):
    words = SparseEncoder.fit(["a visa for a week", "a bank"], Analyzer("en"))
    return QueryRecord(MODEL, chunking, words.with_synonyms(words.synonyms))


@pytest.mark.parametrize("chunking", [Chunking(None), Chunking(40, 3, headings=True)])
def test_a_record_is_read_as_it_was_written(chunking):
    record = made(chunking)
    again = QueryRecord.of_bytes(record.to_bytes(), "db://t")
    assert (again.model, again.chunking) == (record.model, chunking)
    assert again.words.to_json() == record.words.to_json()
    assert again.to_bytes() == record.to_bytes()


def changed(**fields):
    known = json.loads(zlib.decompress(made(Chunking(None)).to_bytes()))
    return zlib.compress(json.dumps({**known, **fields}).encode())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"nonsense",
        zlib.compress(b"{"),
        zlib.compress(b"{}"),
        zlib.compress(b"[1]"),
        changed(model={}),
        changed(words={}),
        changed(words=7),
        changed(chunking={"chunk": -1}),
    ],
)
def test_a_damaged_record_is_told(content):
    with pytest.raises(ConfigError) as refused:
        QueryRecord.of_bytes(content, "db://t")
    assert str(refused.value) == (
        "the query record of db://t is damaged; expected the record that a push wrote; push in full again"
    )


def test_a_record_of_a_later_version_is_told():
    with pytest.raises(ConfigError) as refused:
        QueryRecord.of_bytes(changed(version=2), "db://t")
    assert str(refused.value) == (
        "the query record of db://t has version 2; expected 1; upgrade gem-index"
    )


def test_the_names_of_the_rows_of_a_record():
    assert query_record._row_names("tok", 3, "abc") == ["tok 0", "tok 1 abc", "tok 2 abc"]
    assert query_record._row_names('embedded {"chunk": 40}', 2, "") == ["embedded 0", "embedded 1"]


def row(name, score, text="text", **metadata):
    document = TargetDocument(name, np.zeros(2, np.float32), text, metadata)
    return FoundRow(document, score, score / 2)


def place(parent, number, **more):
    return {"parent": parent, "piece": number, "start": 10, "end": 16, **more}


ROWS = [
    row("a#2", 0.9, "a visa", **place("a", 2, heading="Law > Visa", page=4, n=1)),
    row("b", 0.8, None, n=2, heading="own"),
    row("a#1", 0.7, "other", **place("a", 1, n=1)),
    row("c#1", 0.6, "c text", **place("c", 1)),
]


def test_rows_become_documents_with_their_best_pieces():
    first, second, third = folded(ROWS, False)
    assert first.to_dict() == {
        "id": "a",
        "score": 0.9,
        "text": "a visa",
        "metadata": {"n": 1},
        "cosine": 0.45,
        "bm25": None,
        "piece": {
            "text": "a visa", "number": 2, "start": 10, "end": 16, "heading": "Law > Visa", "hits": 2, "page": 4,
        },
    }  # fmt: skip
    assert (second.id, second.score, second.text) == ("b", 0.8, "")
    assert (second.metadata, second.piece) == ({"n": 2, "heading": "own"}, None)
    assert third.piece == FoundPiece("c text", 1, 10, 16, "", 1, None)


def test_each_piece_is_a_result_if_pieces_are_asked_for():
    found = folded(ROWS, True)
    assert [(each.id, each.score) for each in found] == [
        ("a", 0.9),
        ("b", 0.8),
        ("a", 0.7),
        ("c", 0.6),
    ]
    assert [each.piece and each.piece.hits for each in found] == [1, None, 1, 1]
