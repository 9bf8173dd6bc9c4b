"""Documents with several vectors, found by the best of them, compared with all inner products."""

import numpy as np
import pytest

from gem_index.index.dense import DenseIndex
from gem_index.index.kinds import IndexKind
from gem_index.index.pieces import PieceIndex
from gem_index.index.rows import RowsWriter, VectorRows

COUNTS = np.array([6, 1, 1, 4, 2, 1, 9, 1])
STARTS = np.concatenate([[0], np.cumsum(COUNTS)])
FLAT, SQ8 = IndexKind("flat", "Flat"), IndexKind("sq8", "SQ8")
COARSE = IndexKind("PQ1x4", "PQ1x4")


@pytest.fixture(scope="module")
def vectors():
    rows = np.random.default_rng(3).normal(size=(COUNTS.sum(), 8))
    rows[: COUNTS[0]] += 3 * rows[0]  # all pieces of the first document are near one another
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


@pytest.fixture(params=["exact", "rows", "one each"])
def made(request, vectors, tmp_path):
    """An index of documents, and the vectors of each."""
    counts = np.ones(len(vectors), np.int64) if request.param == "one each" else COUNTS
    kind = COARSE if request.param == "rows" else FLAT
    index = DenseIndex.empty(8, kind, lambda: vectors)
    index.add(vectors)
    exact = index
    if kind is COARSE:
        with RowsWriter(tmp_path / "0000.i16", 8) as writer:
            writer.append(vectors)
        exact = VectorRows.open(tmp_path, 8)
    return PieceIndex(index, counts, exact), np.split(vectors, np.cumsum(counts)[:-1])


def test_the_best_documents_have_their_best_pieces(made, vectors):
    index, pieces = made
    rng = np.random.default_rng(1)
    for query in vectors[[0, 3, 12]]:
        best = np.array([(own @ query).max() for own in pieces])
        for k in (1, 2, 3, len(pieces), 2 * len(pieces)):
            for accepted in (None, rng.random(len(pieces)) < 0.5):
                mask = np.ones(len(pieces), bool) if accepted is None else accepted
                order = [i for i in np.argsort(-best) if mask[i]][:k]
                found, scores = index.nearest(query, k, accepted, proposed=40)
                assert found.tolist() == order
                np.testing.assert_allclose(scores, best[order], atol=2e-4)
                if isinstance(index._vectors, DenseIndex):
                    assert index.nearest(query, k, accepted)[0].tolist() == order


def test_the_vectors_of_documents(made, vectors):
    index, pieces = made
    counts = np.array([len(own) for own in pieces])
    places = np.array([len(pieces) - 1, 2, 0])
    assert (len(index), index.has_vectors) == (len(pieces), True)
    assert index.whole(places).tolist() == (counts[places] == 1).tolist()
    mask = np.zeros(len(pieces), bool)
    mask[places] = True
    assert index.vectors_of(mask) == counts[places].sum()
    for place, own in enumerate(pieces):
        np.testing.assert_allclose(index.pieces(place), own, atol=1e-4)
    single = np.flatnonzero(counts == 1)[::-1]
    expected = np.concatenate([pieces[place] for place in single])
    np.testing.assert_allclose(index.take(single), expected, atol=1e-4)
    query = vectors[4]
    best = [(pieces[place] @ query).max() for place in places]
    np.testing.assert_allclose(index.best(places, query), best, atol=2e-4)
    assert index.best(places[:0], query).shape == (0,)


def test_an_index_without_exact_vectors(vectors):
    index = DenseIndex.empty(8, SQ8, lambda: vectors)
    index.add(vectors)
    found = PieceIndex(index, COUNTS, None)
    assert not found.has_vectors
    places, _ = found.nearest(vectors[STARTS[3]], 8)
    assert sorted(places.tolist()) == list(range(8))
    assert places[0] == 3
