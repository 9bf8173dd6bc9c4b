"""The query record of a table, and the results that a search makes of its rows, without a database."""

import json
import zlib
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index import GemConfig
from gem_index.collection.push import query_record
from gem_index.collection.push.found_rows import FoundRow, folded
from gem_index.collection.push.query_record import QueryRecord, QueryRecords
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


class Rows:
    """The table of query records: its rows in memory, and the steps that changed them."""

    def __init__(self):
        self.rows = {}
        self.steps = []
        self.before_fetch = lambda ids: None

    def upsert(self, batch):
        self.steps.append(("upsert", list(batch.ids)))
        for name, text, fields in zip(batch.ids, batch.texts, batch.metadata, strict=True):
            self.rows[name] = TargetDocument(name, np.zeros(2, np.float32), text, fields)

    def finish(self):
        self.steps.append(("finish",))

    def delete(self, ids):
        self.steps.append(("delete", list(ids)))
        for name in ids:
            del self.rows[name]

    def fetch(self, ids):
        self.before_fetch(list(ids))
        return {name: self.rows[name] for name in ids if name in self.rows}

    def metadata_of(self, ids):
        return {name: self.rows[name].metadata for name in ids if name in self.rows}

    def documents(self):
        return iter(list(self.rows.values()))


@pytest.fixture
def rows():
    return Rows()


@pytest.fixture
def records(rows, monkeypatch):
    """The records of a target whose table exists after the first record was written."""
    target = SimpleNamespace(live=lambda: rows if rows.steps else None, create=lambda _: rows)
    monkeypatch.setattr(query_record, "open_target", lambda _: target)
    monkeypatch.setattr(query_record, "_url_beside", lambda _: "db://records")
    size = len(made(Chunking(None)).to_bytes()) * 4 // 3
    monkeypatch.setattr(query_record, "_PART", size // 3 + 2)
    return QueryRecords(SimpleNamespace(url="db://t"))


def test_a_target_without_a_record(rows, records):
    def told():
        with pytest.raises(ConfigError) as refused:
            records.read("tok")
        return str(refused.value)

    missing = "the target db://t has no query record; expected the table of a finished push; push once more"
    assert told() == missing
    assert (records.texts_of("tok"), records.synonyms_of("tok")) == (None, "")
    records.keep("tok")
    assert rows.steps == []
    records.write("other", made(Chunking(None)))
    assert told() == missing
    assert (records.texts_of("tok"), records.synonyms_of("tok")) == (None, "")


def test_the_first_row_of_a_record_is_written_last_and_earlier_rows_are_deleted_after_it(
    rows, records
):
    first, second = made(Chunking(None)), made(Chunking(40))
    records.write("tok", first)
    before = list(rows.rows)
    records.write("other", first)
    rows.steps.clear()
    records.write('tok {"chunk": 40}', second)
    (_, later), (_, begin), finish, (_, gone) = rows.steps
    assert (begin, finish, gone) == (["tok 0"], ("finish",), before[:-1])
    assert [name.split()[:2] for name in later] == [
        ["tok", str(n)] for n in range(1, len(later) + 1)
    ]
    assert records.read("tok").to_bytes() == second.to_bytes()
    assert records.read("other").to_bytes() == first.to_bytes()
    assert records.texts_of("tok") == 2
    assert records.synonyms_of("tok") == second.words.synonyms.fingerprint
    records.keep("other")
    assert {name.split()[0] for name in rows.rows} == {"other"}


def test_a_record_that_a_push_replaces_while_it_is_read_is_read_again(rows, records):
    first, second = made(Chunking(None)), made(Chunking(40))
    records.write("tok", first)

    def replace(ids):
        if "tok 0" not in ids:  # its other rows are asked for
            rows.before_fetch = lambda ids: None
            records.write("tok", second)

    rows.before_fetch = replace
    assert records.read("tok").to_bytes() == second.to_bytes()


@pytest.mark.parametrize("place", [1, -1])
def test_a_record_without_one_of_its_rows_is_damaged(rows, records, place):
    records.write("tok", made(Chunking(None)))
    del rows.rows[sorted(rows.rows)[place]]
    with pytest.raises(ConfigError, match="^the query record of db://t is damaged; "):
        records.read("tok")


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
