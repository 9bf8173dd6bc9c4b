"""The documents of a collection as rows: upserts over many batches, and deletions until they are forgotten."""

import tracemalloc

import pytest

from gem_index import Document
from gem_index.errors import DuplicateIdError
from gem_index.store.documents import DocumentRepository


@pytest.fixture
def other(home):
    """Another collection of the same home: nothing of it may be seen or touched."""
    other = home.create_collection("other", vectors="wordllama")
    other.upsert(document(f"o{i}") for i in range(3))
    return other


@pytest.fixture
def rows(other, home, faq):
    with home.workspace.database.writing() as connection:
        yield DocumentRepository(connection, faq.access.id)


def document(identifier, text="the bank"):
    return Document(id=identifier, text=text)


def numbered(count):
    return [document(str(i)) for i in range(count)]


class TestColumns:
    def test_documents_without_gaps_are_those_of_the_collection(self, rows, other):
        rows.upsert(numbered(3))
        with other.access.workspace.database.reading() as connection:
            strangers = DocumentRepository(connection, other.access.id).seqs().tolist()
        first, second, third = rows.seqs().tolist()
        assert rows.columns([first, second, third])[:2] == ([first, second, third], ["0", "1", "2"])
        assert rows.columns(strangers)[0] == []
        assert rows.columns(range(1, third + 1))[0] == [first, second, third]

    @pytest.mark.parametrize("wanted", [(0, 2), (2, 0), (0, 0, 2), (2, 2), (1,), ()])
    def test_gaps_another_order_and_seqs_that_come_twice(self, rows, wanted):
        rows.upsert(numbered(3))
        seqs = rows.seqs().tolist()
        found, names, texts, metadata = rows.columns([seqs[place] for place in wanted])
        expected = sorted(set(wanted))
        assert (found, names) == ([seqs[place] for place in expected], list(map(str, expected)))
        assert (texts, metadata) == (["the bank"] * len(expected), ["{}"] * len(expected))

    def test_two_documents_cost_what_they_cost_however_far_apart(self, rows):
        rows.upsert(numbered(1))
        [seq] = rows.seqs().tolist()
        rows.columns([seq])
        tracemalloc.start()
        try:
            assert rows.columns([seq, seq + 10_000_000])[1] == ["0"]
            assert tracemalloc.get_traced_memory()[1] < 1_000_000
        finally:
            tracemalloc.stop()

    def test_the_first_seqs(self, rows):
        rows.upsert(numbered(3))
        assert rows.seqs(2).tolist() == rows.seqs().tolist()[:2]
        assert len(rows.seqs(4)) == 3


class TestTombstones:
    def test_a_delete_is_followed_from_any_change_on(self, rows):
        rows.upsert(numbered(4))
        first, second, third, fourth = rows.seqs().tolist()
        assert rows.delete(["2"]) == []
        seqs, change = rows.tombstones_after(0)
        assert seqs == [third]
        assert rows.tombstones_after(change) == ([], change)
        rows.delete(["0", "3"])
        seqs, last = rows.tombstones_after(change)
        assert (seqs, last) == ([first, fourth], change + 2)
        assert rows.tombstones_after(change + 1) == ([fourth], last)
        assert rows.seqs().tolist() == [second]

    def test_those_up_to_a_change_are_forgotten_and_no_later_one(self, rows):
        rows.upsert(numbered(3))
        seqs = rows.seqs().tolist()
        rows.delete(["0", "1", "2"])
        _, last = rows.tombstones_after(0)
        rows.forget_tombstones(last - 1)
        assert rows.tombstones_after(0) == (seqs[2:], last)
        rows.forget_tombstones(last)
        assert rows.tombstones_after(0) == ([], 0)

    def test_the_buried_up_to_a_seq_are_counted_with_it(self, rows):
        rows.upsert(numbered(3))
        first, second, third = rows.seqs().tolist()
        rows.delete(["1"])
        assert [rows.buried(seq) for seq in (first, second, third)] == [0, 1, 1]
        rows.delete(["0", "2"])
        assert [rows.buried(seq) for seq in (0, first, second, third)] == [0, 1, 2, 3]

    def test_those_of_another_collection_stay(self, rows, other):
        theirs = DocumentRepository(rows._connection, other.access.id)
        theirs.delete(["o1"])
        seqs, last = theirs.tombstones_after(0)
        rows.upsert(numbered(2))
        rows.delete(["0"])
        rows.forget_tombstones(last + 10)
        assert rows.buried(10**9) == 0
        assert theirs.tombstones_after(0) == (seqs, last)
        assert theirs.buried(10**9) == 1
        assert theirs.count() == 2

    def test_a_replaced_document_is_deleted_and_new(self, rows):
        rows.upsert(numbered(2))
        before = rows.seqs().tolist()
        counts = rows.upsert([document("0", "a river"), document("1")])
        assert (counts.added, counts.updated, counts.unchanged) == (0, 1, 1)
        assert rows.tombstones_after(0)[0] == before[:1]
        assert rows.seqs().tolist() == [before[1], before[1] + 1]
        assert rows.texts(rows.seqs().tolist()[::-1]) == ["a river", "the bank"]


class TestUpsert:
    @pytest.mark.parametrize("place", [0, 1, 7, 8, 1999, 2000])
    def test_an_unchanged_document_that_comes_again_in_a_later_batch_is_told(self, rows, place):
        rows.upsert(numbered(2100))
        again = numbered(2100)
        with pytest.raises(DuplicateIdError, match=f"'{place}' occurs twice"):
            rows.upsert([*again, *(document(f"n{i}") for i in range(2500)), again[place]])

    @pytest.mark.parametrize("place", [0, 1, 7, 8, 1999, 2000])
    def test_a_changed_document_that_comes_again_in_a_later_batch_is_told(self, rows, place):
        rows.upsert(numbered(2100))
        again = [document(str(i), "a river") for i in range(2100)]
        with pytest.raises(DuplicateIdError, match=f"'{place}' occurs twice"):
            rows.upsert([*again, *(document(f"n{i}") for i in range(2500)), again[place]])

    def test_neighbours_of_an_unchanged_document_are_not_confused_with_it(self, rows):
        rows.upsert(numbered(50))
        counts = rows.upsert(numbered(50)[::2])
        counts = rows.upsert(numbered(50)[1::2])
        assert (counts.added, counts.updated, counts.unchanged) == (0, 0, 25)

    def test_missing_ids_are_named_once_and_in_order(self, rows):
        rows.upsert(numbered(3))
        assert rows.delete(["x", "1", "a", "x", "1"]) == ["x", "a"]
        assert rows.count() == 2


class TestReading:
    def test_only_later_documents(self, rows):
        rows.upsert(numbered(5))
        seqs = rows.seqs().tolist()
        assert rows.last_seq() == seqs[-1]
        assert rows.count(seqs[1]) == 3
        assert [seq for seq, _ in rows.texts_after(seqs[2])] == seqs[3:]
        assert rows.matching({}, seqs[3]).tolist() == seqs[4:]
        assert rows.seqs_of(["4", "0", "o1"]) == {"0": seqs[0], "4": seqs[4]}

    def test_many_texts_in_order(self, rows):
        rows.upsert(document(str(i), f"text {i}") for i in range(4100))
        seqs = rows.seqs().tolist()
        assert list(rows.texts_after(0)) == [(seq, f"text {i}") for i, seq in enumerate(seqs)]
        assert rows.texts(seqs[::-1]) == [f"text {i}" for i in range(4099, -1, -1)]
        assert list(rows.by_seq(seqs)) == seqs
        assert rows.ids_of(rows.seqs()[::-1]) == [str(i) for i in range(4099, -1, -1)]
        assert list(rows.damaged()) == []
