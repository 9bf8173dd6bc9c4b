"""The steps in which a push fills a table, with a table and records that note them."""

from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.collection.push.filling import Counts, TableFilling
from gem_index.collection.push.notes import Difference, SentDocuments
from gem_index.collection.push.rows import PushedRows
from gem_index.collection.push.sending import PushOptions
from gem_index.errors import ConfigError, TargetChangedError
from gem_index.targets.batch import TargetBatch
from gem_index.text.chunking import Chunking


class Steps(list):
    """A table, the records of a push and the rows of documents, which note their calls."""

    def __init__(self, difference, *, complete=True, counted=7, gone=()):
        self._difference = difference
        self.record = SimpleNamespace(id=1, complete=complete)
        self.counted = counted
        self.gone = set(gone)
        self.options = PushOptions(batch=2)
        self.target = SimpleNamespace(url="db://t")
        self.progress = []

    # the records
    def difference(self, _):
        return self._difference

    def mark(self, _, *, complete):
        self.append(("mark", complete))

    def announce(self, _, following, acknowledged):
        self.append(
            (
                "note",
                [name for sent in acknowledged for name in sent.ids],
                following and list(following.ids),
            )
        )

    def forget(self, _, ids):
        self.append(("forget", ids))

    def rows(self, _):
        return 7

    # the rows of documents
    def batch(self, seqs, *, new):
        ids = [f"d{seq}" for seq in seqs if seq not in self.gone]
        found = [seq for seq in seqs if seq not in self.gone]
        vectors = np.ones((len(ids), 2), np.float32)
        return SentDocuments(ids, found, [1] * len(ids)), TargetBatch(
            ids, vectors, None, [{}] * len(ids), new=new
        )

    # the table
    def upsert(self, batch):
        self.append(("upsert", list(batch.ids), batch.new))

    def delete(self, ids):
        self.append(("delete", ids))

    def finish(self):
        self.append(("finish",))

    def count(self):
        return self.counted


def difference(changed=(), held=(), pieces=(), stale=(), new=False):
    return Difference(*(np.array(each, np.int64) for each in (changed, held, pieces)), stale, new)


CHANGED = difference([3, 5, 8], [0, 1, 0], [0, 2, 0], [("x", 1), ("y", 2), ("z", 1)])


def calls(steps, *names):
    return [each for each in steps if each[0] in names]


def filled(steps):
    rows = SimpleNamespace(options=steps.options, target=steps.target, batch=steps.batch)
    return TableFilling(
        steps, steps.record, steps, rows, lambda *each: steps.progress.append(each)
    ).run()


def test_the_steps_of_an_update():
    steps = Steps(CHANGED)
    assert filled(steps) == Counts(added=2, updated=1, deleted=3)
    assert steps[0] == ("mark", False)
    assert steps[-2:] == [("finish",), ("mark", True)]
    assert calls(steps, "upsert") == [("upsert", ["d3", "d5"], False), ("upsert", ["d8"], False)]
    assert calls(steps, "delete") == [
        ("delete", ["d5#1", "d5#2"]),
        ("delete", ["x", "y#1", "y#2"]),
        ("delete", ["z"]),
    ]
    assert calls(steps, "forget") == [("forget", ["x", "y"]), ("forget", ["z"])]
    noted = calls(steps, "note")
    assert [name for _, done, _ in noted for name in done] == ["d3", "d5", "d8"]
    assert [following for _, _, following in noted] == [["d3", "d5"], ["d8"], None]
    assert steps.progress == [("push", 2, 3), ("push", 3, 3)]


def test_without_a_difference_a_complete_table_is_only_counted():
    steps = Steps(difference())
    assert filled(steps) == Counts(0, 0, 0)
    assert calls(steps, "upsert", "delete", "finish") == []
    assert calls(steps, "mark") == [("mark", True)]


def test_an_incomplete_table_is_finished():
    steps = Steps(difference(), complete=False)
    assert filled(steps) == Counts(0, 0, 0)
    assert calls(steps, "finish", "mark") == [("finish",), ("mark", True)]


def test_documents_that_were_deleted_meanwhile_count_for_the_progress_alone():
    steps = Steps(difference([1, 2, 3], [1, 1, 0], [1, 1, 0], new=True), complete=False, gone=[2])
    assert filled(steps) == Counts(added=1, updated=1, deleted=0)
    assert calls(steps, "upsert") == [("upsert", ["d1"], True), ("upsert", ["d3"], True)]
    assert steps.progress == [("push", 2, 3), ("push", 3, 3)]


def test_another_number_of_rows_is_told_and_the_push_stays_incomplete():
    steps = Steps(difference([1], [0], [0]), counted=6)
    with pytest.raises(
        TargetChangedError, match="the table has 6 rows after a push of 7; expected"
    ):
        filled(steps)
    assert calls(steps, "mark") == [("mark", False)]


class Encoder:
    dimension = 2

    def __init__(self, fingerprint="f"):
        self.fingerprint = fingerprint

    def encode(self, texts):
        return np.array([[len(text), ord(self.fingerprint)] for text in texts], np.float32)


class Access:
    """A collection with the documents of a mapping; its stored vectors are ones."""

    def __init__(self, chunking, **texts):
        self._chunking, self._texts = chunking, texts

    @contextmanager
    def reading(self):
        ids = list(self._texts)
        documents = SimpleNamespace(
            columns=lambda seqs: (
                seqs,
                [ids[seq] for seq in seqs],
                [self._texts[ids[seq]] for seq in seqs],
                ["{}"] * len(seqs),
            ),
            seqs_of=lambda names: {name: ids.index(name) for name in names if name in ids},
        )
        yield SimpleNamespace(documents=documents, record=SimpleNamespace(chunking=self._chunking))

    def view(self):
        return SimpleNamespace(
            encoder=Encoder("f"),
            vectors=lambda seqs, _: np.ones((len(seqs), 2), np.float32),
        )


TARGET = SimpleNamespace(unsupported=lambda _: [])
LONG = "a visa for a week. " * 20


def test_stored_vectors_are_sent_unless_the_encoder_is_another():
    access = Access(Chunking(None), a="one", b="two")
    for fingerprint, expected in (("f", [[1, 1], [1, 1]]), ("g", [[3, 103], [3, 103]])):
        rows = PushedRows(access, Encoder(fingerprint), TARGET, PushOptions())
        documents, batch = rows.batch([0, 1], new=True)
        assert (documents.ids, documents.seqs, documents.pieces) == (["a", "b"], [0, 1], [1, 1])
        assert batch.vectors.tolist() == expected
        assert batch.new


def test_pieces_are_encoded_and_whole_documents_keep_their_vectors():
    access = Access(Chunking(20), a="one", b=LONG, c="two")
    documents, batch = PushedRows(access, Encoder(), TARGET, PushOptions()).batch(
        [0, 1, 2], new=False
    )
    count = documents.pieces[1]
    assert documents.pieces == [1, count, 1]
    assert list(batch.ids) == ["a", *(f"b#{n}" for n in range(1, count + 1)), "c"]
    lengths = [len(text) for text in batch.texts]
    assert batch.vectors[:, 0].tolist() == [1, *lengths[1:-1], 1]


def test_a_document_with_the_id_of_a_piece_is_refused():
    access = Access(Chunking(20), **{"b": LONG, "b#2": "two"})
    with pytest.raises(ConfigError) as refused:
        PushedRows(access, Encoder(), TARGET, PushOptions()).batch([0], new=False)
    assert str(refused.value) == (
        "the document 'b#2' has the id of a piece of another document; expected another id: give it one, or build the "
        "collection without pieces"
    )
