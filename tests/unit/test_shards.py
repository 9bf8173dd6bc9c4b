"""A snapshot that is put together from shards is the one that is written of all documents at once."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace
from zlib import crc32

import faiss
import numpy as np
import pytest

from gem_index.errors import CorruptionError
from gem_index.index.dense import DenseIndex
from gem_index.index.kinds import resolve_kind
from gem_index.index.lexical import LexicalIndex
from gem_index.index.snapshot import Snapshot
from gem_index.index.snapshot_writing import NewSnapshot, join_snapshots, write_snapshot
from gem_index.text.analyzer import ENGLISH

DIMENSION, COUNT = 16, 1200
CUTS = [0, 333, 340, COUNT]
IDS = np.arange(7, 7 + COUNT)
TEXTS = [f"text {i} about {('tea', 'visas', 'ducks')[i % 3]}" for i in range(COUNT)]
COUNTS = np.array([1 + (crc32(text.encode()) % 5 == 0) for text in TEXTS])  # pieces
STARTS = np.concatenate([[0], np.cumsum(COUNTS)])


@pytest.fixture(scope="module")
def vectors():
    found = np.random.default_rng(5).normal(size=(COUNTS.sum(), DIMENSION)).astype(np.float32)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def inputs_of(kind, vectors, begin=0, end=COUNT, blank=None):
    """The inputs of a snapshot of some of the documents."""

    def rows(texts):
        places = [TEXTS.index(text) for text in texts]
        every = [range(STARTS[place], STARTS[place + 1]) for place in places]
        return vectors[np.concatenate(every)], COUNTS[places]

    def blocks(after):
        for some in range(begin, end, 100):
            stop = min(some + 100, end)
            if IDS[stop - 1] > after:
                yield IDS[some:stop], TEXTS[some:stop]

    def parts(texts):
        counts = COUNTS[[TEXTS.index(text) for text in texts]]
        return [text for text, n in zip(texts, counts, strict=True) for _ in range(n)], counts

    def empty(kind):
        if blank is not None:
            return DenseIndex.read(blank)
        return DenseIndex.empty(DIMENSION, kind, lambda: vectors)

    source = SimpleNamespace(
        texts=blocks,
        metadata=lambda after: None,
        parts=parts,
        rows=rows,
        empty=empty,
        report=lambda stage, last: None,
    )
    return NewSnapshot(kind, DIMENSION, "f" * 64, ENGLISH, source)


def shards_of(kind, vectors, folder):
    folder.mkdir()
    blank = folder / "blank"
    inputs_of(kind, vectors).source.empty(kind).write(blank)
    for number, (begin, end) in enumerate(pairwise(CUTS)):
        write_snapshot(folder / str(number), inputs_of(kind, vectors, begin, end, blank))
        yield folder / str(number)


FACTORS_APART = hasattr(faiss.IndexRaBitQFastScan, "factors_storage")  # FAISS 1.13
RABITQ = ("RaBitQfs", "IVF8,RaBitQfs")
JOINED = ("flat", "pq", "rabitq", "sq8", "ivf", "PCA8,Flat", "IVF8,PQ4x4fs")


@pytest.mark.parametrize("name", JOINED if FACTORS_APART else JOINED + RABITQ)
def test_shards_of_a_kind_become_its_index(tmp_path, vectors, name):
    kind = resolve_kind(name, int(COUNTS.sum()), DIMENSION)
    new = inputs_of(kind, vectors)
    shards = list(shards_of(kind, vectors, tmp_path / "shards"))
    never = replace(new, source=SimpleNamespace(metadata=lambda after: None))  # all is there
    joined = Snapshot.open(
        tmp_path / "joined", join_snapshots(tmp_path / "joined", never, shards, IDS)
    )
    whole = Snapshot.open(tmp_path / "whole", write_snapshot(tmp_path / "whole", new))
    check_same(joined, whole, vectors)
    for row in range(0, len(vectors), 97):  # the codes alone
        first, second = (each.index.index.nearest(vectors[row], 50) for each in (joined, whole))
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_allclose(first[1], second[1], atol=1e-6)  # a projection differs by block
    assert joined.mean_terms == whole.mean_terms
    linked = [path for path in (tmp_path / "joined").rglob("*") if path.stat().st_nlink > 1]
    assert {path.parent.name for path in linked if path.is_file()} >= {"words"}


@pytest.mark.parametrize("name", ["hnsw", "SQ8,RFlat", *(RABITQ if FACTORS_APART else ())])
def test_kinds_that_cannot_be_joined_are_made_of_exact_vectors(tmp_path, vectors, name):
    kind = resolve_kind(name, int(COUNTS.sum()), DIMENSION)
    new = inputs_of(kind, vectors)
    assert not new.source.empty(kind).joinable
    flat = resolve_kind("flat", 0, DIMENSION)
    shards = list(shards_of(flat, vectors, tmp_path / "shards"))
    joined = Snapshot.open(
        tmp_path / "joined", join_snapshots(tmp_path / "joined", new, shards, IDS)
    )
    whole = Snapshot.open(tmp_path / "whole", write_snapshot(tmp_path / "whole", new))
    check_same(joined, whole, vectors)


def check_same(one, other, vectors):
    np.testing.assert_array_equal(one.ids, other.ids)
    np.testing.assert_array_equal(one.index.counts, other.index.counts)
    every = np.arange(COUNT)
    for row in range(0, len(vectors), 97):
        first, second = (each.index.nearest(vectors[row], 9, None, 60) for each in (one, other))
        np.testing.assert_array_equal(first[0], second[0])
        np.testing.assert_allclose(first[1], second[1], atol=1e-6)
        best = one.index.best(every, vectors[row])
        np.testing.assert_array_equal(best, other.index.best(every, vectors[row]))
    terms = dict.fromkeys(["text", "tea", "duck", "42"], 1.0)
    assert dict(one.words.match(terms, COUNT, IDS)) == pytest.approx(
        dict(other.words.match(terms, COUNT, IDS))
    )
    assert one.words.frequencies(terms) == other.words.frequencies(terms)


def test_a_joined_snapshot_is_continued_like_any_other(tmp_path, vectors):
    kind = resolve_kind("pq", COUNT, DIMENSION)
    shards = list(shards_of(kind, vectors, tmp_path / "shards"))
    new = inputs_of(kind, vectors)
    files = join_snapshots(tmp_path / "joined", new, shards, IDS)
    alive = np.delete(IDS, [3, 335, 900])
    later = write_snapshot(tmp_path / "later", new, (tmp_path / "joined", alive), files)
    snapshot = Snapshot.open(tmp_path / "later", later)
    np.testing.assert_array_equal(snapshot.ids, alive)
    found = dict(snapshot.words.match({"text": 1.0}, COUNT, alive))
    assert set(found) == set(alive.tolist())
    assert len(LexicalIndex.open(tmp_path / "joined" / "words")) == COUNTS.sum()
    assert Snapshot.damage(tmp_path / "joined", files) == []


def test_shards_of_other_documents_are_refused(tmp_path, vectors):
    kind = resolve_kind("flat", 0, DIMENSION)
    shards = list(shards_of(kind, vectors, tmp_path / "shards"))
    new = inputs_of(kind, vectors)
    with pytest.raises(
        CorruptionError, match="found 1193 documents in 2 shards; expected the 1200"
    ):
        join_snapshots(tmp_path / "joined", new, shards[::2], IDS)
    with pytest.raises(CorruptionError, match="expected the 1200 of the collection"):
        join_snapshots(tmp_path / "joined", new, shards[::-1], IDS)
    assert not (tmp_path / "joined").exists()
