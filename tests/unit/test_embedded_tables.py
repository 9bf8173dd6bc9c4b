"""A table that documents are embedded into: its report and its messages as a whole, without a database."""

import dataclasses
import time
from types import SimpleNamespace

import pytest

from gem_index.collection.push.embedding import OpenTable, finish_table, open_table
from gem_index.collection.push.sending import PushOptions
from gem_index.collection.results import PushReport
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.targets.protocol import TargetDocument, TargetSchema
from gem_index.text.chunking import Chunking

ENCODER = SimpleNamespace(fingerprint="f" * 64, dimension=2)
WHOLE, CUT = Chunking(None), Chunking(40)


def row(name, **metadata):
    return TargetDocument(name, None, None, metadata)


def pieces(parent, count):
    place = {"parent": parent, "start": 0, "end": 5}
    return [row(f"{parent}#{n}", **place, piece=n) for n in range(1, count + 1)]


class Table:
    def __init__(self, rows, size=None):
        self.rows = rows
        self.size = len(rows) if size is None else size
        self.finished = 0

    def finish(self):
        self.finished += 1

    def count(self):
        return self.size

    def documents(self):
        return iter(self.rows)


class Target:
    """A target that may have sparse vectors."""

    url = "db://t"

    def __init__(self, word_dimensions=0, live=None):
        self.word_dimensions = word_dimensions
        self._live = live

    def live(self):
        return self._live


def report(table, chunking, *, before, filled, total, added, target=None, words=None, texts=0):
    opened = OpenTable(target or Target(), table, chunking, before, filled, words, texts)
    found = finish_table(opened, ENCODER, total, added, time.monotonic())
    assert table.finished == 1
    assert found.seconds >= 0
    return dataclasses.replace(found, seconds=0.0)


def expected(added, updated, unchanged, documents, **more):
    return PushReport(
        None, "db://t", added, updated, 0, unchanged, documents, "f" * 64, 0.0, **more
    )


def test_the_report_of_whole_texts():
    rows = [row("a"), row("b"), row("c")]
    assert report(Table(rows), WHOLE, before=1, filled=True, total=3, added=7) == expected(
        2, 1, 0, 3
    )
    assert report(Table(rows), WHOLE, before=3, filled=True, total=1, added=0) == expected(
        0, 1, 2, 3
    )
    assert report(Table(rows), WHOLE, before=0, filled=False, total=3, added=3) == expected(
        3, 0, 0, 3
    )


def test_the_report_of_pieces_counts_documents():
    rows = [*pieces("a", 3), row("b"), *pieces("c", 2)]
    assert report(Table(rows), CUT, before=2, filled=True, total=2, added=1) == expected(1, 1, 1, 3)
    # the workers of a new table may count a document twice
    assert report(Table(rows), CUT, before=0, filled=False, total=4, added=4) == expected(
        3, 1, 0, 3
    )


@pytest.mark.parametrize(("size", "counted"), [(10_000, True), (10_001, False)])
def test_a_large_table_of_pieces_is_not_read(size, counted):
    rows = [*pieces("a", 3), row("b")]
    assert report(Table(rows, size), CUT, before=2, filled=True, total=2, added=1) == expected(
        1, 1, 0 if counted else None, 2 if counted else None
    )
    assert report(Table(rows, size), CUT, before=0, filled=False, total=2, added=2) == expected(
        2, 0, 0, 2
    )


def test_words_are_told_where_the_database_can_store_them():
    def told(target, words, texts):
        rows = [row(str(n)) for n in range(8)]
        found = report(
            Table(rows), WHOLE, before=8, filled=True, total=0, added=0,
            target=target, words=words, texts=texts,
        )  # fmt: skip
        return found.words, found.words_due

    assert told(Target(0), None, 0) == (None, False)
    assert told(Target(100), None, 0) == (False, False)
    assert told(Target(100), object(), 3) == (True, True)
    assert told(Target(100), object(), 4) == (True, True)  # twice as many rows
    assert told(Target(100), object(), 5) == (True, False)


def opened(token, chunking=None, *, texts=True, fingerprint="f" * 64, asked_texts=True):
    schema = TargetSchema(fingerprint=fingerprint, dimension=2, token=token, texts=texts)
    table = SimpleNamespace(schema=schema, count=lambda: 3)
    return open_table(Target(live=table), ENCODER, PushOptions(texts=asked_texts), chunking)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"token": "abc"},
            "db://t is the table of a collection; expected another table, or a push of the collection",
        ),
        (
            {"token": "embedded {nonsense"},
            "the target db://t has the chunking '{nonsense'; expected chunk, overlap and headings: name another table, or "
            "use the version of gem-index that filled it",
        ),
        (
            {"token": 'embedded {"chunk": 40}', "chunking": Chunking(30)},
            "the target db://t has the chunking {'chunk': 40}, found {'chunk': 30}; expected the same: leave it out, or "
            "name another table",
        ),
        (
            {"token": "embedded", "chunking": Chunking(30)},
            "the target db://t has the chunking none, found {'chunk': 30}; expected the same: leave it out, or name another "
            "table",
        ),
        (
            {"token": "embedded", "texts": False},
            "the target db://t was made without texts; expected the same again",
        ),
        (
            {"token": "embedded", "asked_texts": False},
            "the target db://t was made with texts; expected the same again",
        ),
    ],
)
def test_a_table_that_does_not_agree(given, told):
    with pytest.raises(ConfigError) as refused:
        opened(**given)
    assert str(refused.value) == told


def test_a_table_of_another_encoder():
    with pytest.raises(FingerprintMismatchError) as refused:
        opened("embedded", fingerprint="e" * 64)
    assert str(refused.value) == (
        "the target db://t was made with the encoder eeeeeeeeeeee, found ffffffffffff; use the encoder it was filled with, "
        "or another table"
    )


def test_a_table_that_agrees():
    found = opened('embedded {"chunk": 40}', Chunking(40))
    assert (found.chunking.chunk, found.before, found.filled) == (40, 3, True)
    assert (found.words, found.texts) == (None, 0)
    assert opened("embedded").chunking.chunk is None
