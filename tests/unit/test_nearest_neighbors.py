"""The nearest neighbors of vectors."""

import numpy as np
import pytest

from gem_index.index import neighbors
from gem_index.index.neighbors import nearest_among, nearest_neighbors


def unit_vectors(count, dimension=16, seed=7):
    """Vectors in a hundred clusters, as those of texts are."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(100, dimension))
    rows = centers[rng.integers(100, size=count)] + 0.3 * rng.normal(size=(count, dimension))
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def brute_force(vectors, asked, k):
    cosines = vectors[asked] @ vectors.T
    cosines[np.arange(len(asked)), asked] = -2
    order = np.argsort(-cosines, axis=1, kind="stable")[:, :k]
    return order, np.take_along_axis(cosines, order, 1)


@pytest.mark.parametrize(("count", "recall"), [(2000, 1.0), (20_000, 1.0), (20_001, 0.95)])
def test_neighbors_are_those_of_brute_force(count, recall):
    vectors = unit_vectors(count)
    positions, cosines = nearest_neighbors(vectors, 5)
    assert positions.shape == cosines.shape == (count, 5)
    assert (positions != np.arange(count)[:, None]).all()
    assert (np.diff(cosines, axis=1) <= 0).all()
    asked = np.arange(0, count, count // 100)
    expected, best = brute_force(vectors, asked, 5)
    found = [np.isin(*pair).mean() for pair in zip(positions[asked], expected, strict=True)]
    assert np.mean(found) >= recall
    np.testing.assert_allclose(cosines[asked].max(axis=1), best.max(axis=1), atol=1e-3)


def test_the_same_vectors_have_the_same_neighbors():
    vectors = unit_vectors(20_001)
    for first, second in zip(
        nearest_neighbors(vectors, 3), nearest_neighbors(vectors, 3), strict=True
    ):
        assert first.tobytes() == second.tobytes()


def test_one_of_many_equal_vectors_is_not_its_own_neighbor():
    vectors = np.repeat(unit_vectors(2), [6, 1], axis=0)
    positions, cosines = nearest_neighbors(vectors, 3)
    assert all(i not in positions[i] for i in range(7))
    np.testing.assert_allclose(cosines[:6], 1, atol=1e-6)


def test_no_cosine_is_above_one():
    """The inner product of two equal unit vectors can be, in float32."""
    vectors = np.repeat(unit_vectors(200), 2, axis=0)
    products = np.einsum("ij,ij->i", vectors, vectors)
    assert products.max() > 1
    positions, cosines = nearest_neighbors(vectors, 2)
    assert (positions[:, 0] // 2 == np.arange(400) // 2).all()
    assert cosines.max() == 1
    assert nearest_among(vectors, vectors).max() == 1


def test_a_vector_whose_list_has_no_others_is_its_own_neighbor(monkeypatch):
    """Its cosine is -1, lower than any other, so that callers see that nothing is near."""
    monkeypatch.setattr(neighbors, "_EXACT", 10)
    monkeypatch.setattr(neighbors, "_PROBED", 1)
    vectors = np.eye(40, 64, dtype=np.float32)  # all are equally far from one another
    positions, cosines = nearest_neighbors(vectors, 8)
    missed = cosines == -1
    assert missed.any()
    assert (positions[missed] == np.nonzero(missed)[0]).all()
    assert (positions[~missed] != np.nonzero(~missed)[0]).all()


def test_the_nearest_of_others():
    vectors, queries = unit_vectors(300), unit_vectors(20, seed=8)
    np.testing.assert_allclose(
        nearest_among(vectors, queries), (queries @ vectors.T).max(axis=1), atol=1e-6
    )
