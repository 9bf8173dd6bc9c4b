"""The rows of documents in a target, and the plan of a push, without a database: each answer and message as a whole."""

from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.collection.piece_rows import (
    PieceRows,
    left_rows,
    piece_fields,
    piece_of,
    piece_rows,
    row_ids,
    taken_id,
)
from gem_index.collection.push.held_rows import earlier_rows
from gem_index.collection.push.plan import plan_push
from gem_index.collection.push.sending import PushOptions, send, storable
from gem_index.errors import ConfigError, GemIndexError, TargetUnavailableError
from gem_index.targets import retries
from gem_index.targets.batch import TargetBatch
from gem_index.text.chunking import Chunking, Piece

PLACE = {"parent": "a", "piece": 2, "start": 0, "end": 5}


def test_ids_of_rows():
    assert [row_ids("a", n) for n in (1, 2, 3)] == [["a"], ["a#1", "a#2"], ["a#1", "a#2", "a#3"]]


def test_the_row_of_a_piece_is_known_by_its_metadata_and_id():
    assert piece_of("a#2", {**PLACE, "more": 1}) == ("a", 2)
    for row, fields in (
        ("a", {}),
        ("a#3", PLACE),
        ("b#2", PLACE),
        ("a#2", {**PLACE, "piece": "2"}),
        ("a#True", {**PLACE, "piece": True}),
        ("a#2", {name: value for name, value in PLACE.items() if name != "end"}),
    ):
        assert piece_of(row, fields) is None


def test_the_place_of_a_piece_has_only_what_is_known():
    assert piece_fields("a", 2, Piece(0, 5)) == PLACE
    assert piece_fields("a", 2, Piece(0, 5, "Law", 3)) == {**PLACE, "heading": "Law", "page": 3}


def test_documents_that_no_rule_divides_are_their_own_rows():
    given = (["a", "b"], ["one", "two"], [{"n": 1}, {}])
    rows = piece_rows(Chunking(None), *given)
    assert (rows.ids, rows.texts, rows.metadata, rows.embedded) == (*given, given[1])
    assert (rows.counts, rows.of_pieces) == ([1, 1], [])


def test_long_documents_have_a_row_for_each_piece():
    long = "# Law\n\n" + "a visa for a week. " * 20
    rows = piece_rows(
        Chunking(20, headings=True), ["a", "b", "c"], ["one", long, "two"], [{}, {"n": 1}, {"n": 2}]
    )
    count = len(rows.ids) - 2
    assert count > 2
    assert list(rows.ids) == ["a", *row_ids("b", count), "c"]
    assert rows.counts == [1, count, 1]
    assert rows.of_pieces == row_ids("b", count)
    assert (rows.texts[0], rows.texts[-1], rows.embedded[-1]) == ("one", "two", "two")
    assert (rows.metadata[0], rows.metadata[-1]) == ({}, {"n": 2})
    for number, (text, fields, embedded) in enumerate(
        zip(rows.texts[1:-1], rows.metadata[1:-1], rows.embedded[1:-1], strict=True), 1
    ):
        assert text == long[fields["start"] : fields["end"]]
        assert (fields["parent"], fields["piece"], fields["n"]) == ("b", number, 1)
        assert embedded in (text, f"{fields.get('heading')}\n\n{text}")
    assert any(embedded.startswith("Law\n\n") for embedded in rows.embedded[2:-1])


@pytest.mark.parametrize(
    ("count", "before", "left"),
    [
        (1, 0, []),
        (1, 1, []),
        (3, 3, []),
        (3, 2, []),
        (2, 4, ["a#3", "a#4"]),
        (1, 2, ["a#1", "a#2"]),
        (2, 1, ["a"]),
        (1, 3, ["a#1", "a#2", "a#3"]),
    ],
)
def test_rows_of_an_earlier_content_that_are_left(count, before, left):
    assert left_rows(["x", "a"], [1, count], [0, before]) == left


def test_the_id_of_a_piece_is_taken():
    error = taken_id("a#1", "do this")
    assert isinstance(error, ConfigError)
    assert str(error) == (
        "the document 'a#1' has the id of a piece of another document; expected another id: give it one, or do this"
    )


def schema(**fields):
    return SimpleNamespace(**{"token": "t", "fingerprint": "f" * 64, **fields})


def record(**fields):
    return SimpleNamespace(
        **{"token": "t", "fingerprint": "f" * 64, "texts": True, "complete": True, **fields}
    )


LIVE = object()


def planned(live=LIVE, known=None, staged=None, rows=3, count=3, **options):
    table = live
    if live is LIVE:
        table = SimpleNamespace(schema=schema(), count=lambda: count)
    target = SimpleNamespace(live=lambda: table, url="db://t")
    notes = SimpleNamespace(live=known, staged=staged, rows=lambda _: rows)
    plan = plan_push(target, notes, "f" * 64, PushOptions(**options))
    assert (plan.live, plan.record) == (table, known)
    return plan.step


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ({"live": None}, "create"),
        ({"live": None, "known": record(complete=False)}, "create"),
        ({"live": None, "known": record(), "full": True}, "create"),
        ({"known": record()}, "update"),
        ({"known": record(complete=False), "count": 1}, "update"),
        ({"known": record(), "full": True}, "replace"),
        ({"known": record(), "full": True, "count": 1}, "replace"),
        ({"full": True}, "replace"),
        ({"known": record(), "staged": record()}, "replace"),
        ({"known": record(), "texts": False}, "replace"),
    ],
)
def test_the_step_of_a_push(given, step):
    assert planned(**given) == step


def test_another_encoder_replaces_the_table():
    live = SimpleNamespace(schema=schema(fingerprint="e" * 64), count=lambda: 3)
    assert planned(live, record(fingerprint="e" * 64)) == "replace"


NOT_AS_LEFT = "the target db://t is not as the last push left it: "


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (
            {"live": None, "known": record()},
            f"{NOT_AS_LEFT}a push filled the table before, but it no longer exists; ",
        ),
        ({}, f"{NOT_AS_LEFT}the table was filled by another collection, home or push; "),
        (
            {"known": record(token="u")},
            f"{NOT_AS_LEFT}the table was filled by another collection, home or push; ",
        ),
        (
            {"known": record(), "count": 2},
            f"{NOT_AS_LEFT}the table holds 2 rows, the last push left 3; ",
        ),
        (
            {"known": record(fingerprint="e" * 64)},
            "the target db://t was made with the encoder eeeeeeeeeeee, found ffffffffffff; push in full to replace its "
            "vectors",
        ),
    ],
)
def test_a_table_that_is_not_as_the_last_push_left_it(given, told):
    with pytest.raises(GemIndexError) as refused:
        planned(**given)
    assert str(refused.value).startswith(told)


@pytest.mark.parametrize("batch", [0, 100_001, 1.5, True])
def test_a_batch_out_of_its_bounds(batch):
    with pytest.raises(GemIndexError, match="the batch"):
        PushOptions(batch=batch)


def test_the_options_of_a_push():
    assert [PushOptions(batch=each).batch for each in (1, 100_000)] == [1, 100_000]
    assert PushOptions() == PushOptions(
        full=False, dry_run=False, batch=1000, texts=True, drop_unsupported=False, words=True
    )


def test_metadata_that_a_target_cannot_store():
    target = SimpleNamespace(
        unsupported=lambda fields: [name for name in fields if name.startswith("x")]
    )
    fields = [{"a": 1}, {"a": 2, "x1": [7], "x2": 8}, {"x3": 9}]
    ids = ["one", "two", "three"]
    assert storable(target, ids, fields[:1], False) is not None
    with pytest.raises(ConfigError) as refused:
        storable(target, ids, fields, False)
    assert str(refused.value) == (
        "the target cannot store the field 'x1' of the document 'two', [7]; expected other metadata, or that such fields "
        "are left out"
    )
    assert storable(target, ids, fields, True) == [{"a": 1}, {"a": 2}, {}]
    same = fields[:1]
    assert storable(target, ids, same, True) is same


class Table:
    """A table that holds the metadata of its rows, and notes what is asked of it."""

    def __init__(self, rows=(), failures=0):
        self.rows = dict(rows)
        self.failures = failures
        self.done = []

    def metadata_of(self, ids):
        return {name: self.rows[name] for name in ids if name in self.rows}

    def upsert(self, batch):
        self.done.append(("upsert", list(batch.ids), batch.new))
        if self.failures:
            self.failures -= 1
            raise TargetUnavailableError("db://t", "away")

    def delete(self, ids):
        self.done.append(("delete", list(ids)))


@pytest.mark.parametrize(
    ("old", "deleted"),
    [([], []), (["a", "c"], [("delete", ["c"])]), (["c", "d"], [("delete", ["c", "d"])])],
)
def test_rows_are_sent_as_new_once_and_then_the_old_ones_are_deleted(monkeypatch, old, deleted):
    monkeypatch.setattr(retries, "FIRST_WAIT", 0.0)
    table = Table(failures=1)
    batch = TargetBatch(["a", "b"], np.ones((2, 2), np.float32), None, [{}, {}], new=True)
    send(table, batch, old)
    assert table.done == [("upsert", ["a", "b"], True), ("upsert", ["a", "b"], False), *deleted]


def place(parent, number):
    return {**PLACE, "parent": parent, "piece": number}


def whole(*ids):
    return PieceRows(ids, ids, [{}] * len(ids), ids, [1] * len(ids))


@pytest.mark.parametrize("pieces", [2, 3, 5, 6, 7, 20])
def test_all_earlier_rows_are_found_last_piece_first(pieces):
    table = Table({f"a#{n}": place("a", n) for n in range(1, pieces + 1)} | {"b": {}, "other": {}})
    assert earlier_rows(table, ["a", "b", "c"], whole("a", "b", "c")) == {
        "a": [f"a#{n}" for n in range(pieces, 0, -1)],
        "b": ["b"],
    }


def test_rows_of_two_documents_are_refused_and_a_document_may_replace_its_own():
    rows = PieceRows(["a#1", "a#2"], ["x", "y"], [place("a", 1), place("a", 2)], ["x", "y"], [2])
    with pytest.raises(ConfigError) as refused:
        earlier_rows(Table({"a#2": {}}), ["a"], rows)
    assert str(refused.value) == str(taken_id("a#2", "embed the texts whole"))
    with pytest.raises(ConfigError) as refused:
        earlier_rows(Table({"a#1": place("a", 1)}), ["a#1"], whole("a#1"))
    assert str(refused.value) == str(taken_id("a#1", "embed the texts whole"))
    both = PieceRows(["a#1", "a#2", "a#2"], ["x"] * 3, [{}] * 3, ["x"] * 3, [2, 1])
    with pytest.raises(ConfigError, match="embed the texts whole"):
        earlier_rows(Table(), ["a", "a#2"], both)
    # the document whose row is taken is replaced in the same batch
    assert earlier_rows(Table({"a#1": place("a", 1)}), ["a#1", "a"], whole("a#1", "a")) == {
        "a": ["a#1"]
    }
