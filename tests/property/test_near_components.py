"""Components of near vectors against a comparison of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.index.forests import joined_forest
from gem_index.index.near_groups import near_components
from gem_index.kernels.near_pairs import TILE


def naive_components(vectors, threshold):
    exact = vectors.astype(np.float64)
    near = exact @ exact.T >= threshold
    firsts = np.arange(len(vectors))
    while True:
        lowest = np.array([firsts[row].min() if row.any() else i for i, row in enumerate(near)])
        lowest = np.minimum(firsts, lowest)
        if np.array_equal(lowest, firsts):
            return firsts
        firsts = lowest


def unit(rows):
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def clustered(rng, count, dimension, spread):
    """Vectors around few centres, so that there are chains, groups and single ones."""
    centres = rng.normal(size=(max(1, count // 3), dimension))
    chosen = centres[rng.integers(0, len(centres), count)]
    return unit(chosen + spread * rng.normal(size=(count, dimension)))


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(1, 3 * TILE),
    dimension=st.sampled_from([1, 2, 7, 8, 40, 100]),
    spread=st.sampled_from([0.0, 0.05, 0.2, 0.5]),
    threshold=st.sampled_from([1e-7, 0.3, 0.8, 0.95, 0.999]),
    threads=st.integers(1, 3),
)
def test_all_near_pairs_are_joined_and_no_others(
    seed, count, dimension, spread, threshold, threads
):
    vectors = clustered(np.random.default_rng(seed), count, dimension, spread)
    products = np.abs(vectors.astype(np.float64) @ vectors.T.astype(np.float64) - threshold)
    threshold += 1e-9 if products.min() < 1e-12 else 0.0  # no pair at the very threshold
    found = near_components(vectors, threshold, threads)
    np.testing.assert_array_equal(found, naive_components(vectors, threshold))


def test_many_tiles_in_several_threads_and_their_progress():
    vectors = clustered(np.random.default_rng(1), 40 * TILE + 5, 64, 0.04)
    seen = []
    found = near_components(vectors, 0.95, 3, lambda done, total: seen.append((done, total)))
    np.testing.assert_array_equal(found, naive_components(vectors, 0.95))
    pairs = len(vectors) * (len(vectors) - 1) // 2
    assert len(set(found.tolist())) < len(vectors)
    left = [max(0, len(vectors) - done * 16 * TILE) for done in (1, 2, 3)]  # a task has 16 tiles
    assert seen == [(pairs - rest * (rest - 1) // 2, pairs) for rest in left]
    assert seen[-1] == (pairs, pairs)


def test_the_error_of_a_task_ends_the_work():
    def join(task, forest):
        forest[task + 1] = task
        if task == 4:
            raise RuntimeError("a damaged row")

    done = []
    assert joined_forest(6, [0, 2], 2, join, done.append).tolist() == [0, 0, 2, 2, 4, 5]
    assert done == [0, 2]
    with pytest.raises(RuntimeError, match="^a damaged row$"):
        joined_forest(6, [0, 4, 2], 2, join, done.append)
    assert done == [0, 2, 0]


@pytest.mark.parametrize("count", [0, 1, 2, TILE, TILE + 1])
@pytest.mark.parametrize("threshold", [1e-12, 0.5])
def test_zero_vectors_are_near_to_none(count, threshold):
    found = near_components(np.zeros((count, 5), np.float32), threshold, 1)
    assert found.tolist() == list(range(count))


def test_equal_vectors_are_one_component_whatever_their_number():
    vectors = np.tile(unit(np.ones((1, 9))), (5 * TILE, 1))
    assert near_components(vectors, 0.999, 2).tolist() == [0] * len(vectors)


@given(seed=st.integers(0, 2**32 - 1), kinds=st.integers(1, 4))
def test_vectors_of_different_labels_are_not_joined(seed, kinds):
    rng = np.random.default_rng(seed)
    vectors = clustered(rng, 2 * TILE, 8, 0.05)
    labels = rng.integers(0, kinds, len(vectors)).astype(np.int32)
    found = near_components(vectors, 0.95, 2, labels=labels)
    for label in range(kinds):
        [places] = np.nonzero(labels == label)
        alone = near_components(vectors[places], 0.95, 1)
        np.testing.assert_array_equal(found[places], places[alone])


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(2, TILE + 20),
    least=st.sampled_from([0.1, 0.2, 0.5, 0.9, 1.0]),
    size=st.sampled_from([3, 40, 400]),
    kinds=st.sampled_from([20, 500, 5000]),
)
def test_the_sets_of_joined_vectors_overlap(seed, count, least, size, kinds):
    rng = np.random.default_rng(seed)
    vectors = clustered(rng, count, 8, 0.05)
    whole = [np.unique(rng.integers(0, kinds, rng.integers(0, size))) for _ in range(3)]
    sets = []
    for _ in range(count):  # parts of a few sets, some with other members
        members = whole[rng.integers(3)]
        members = members[rng.random(len(members)) < rng.choice([0.3, 0.8, 1.0])]
        sets.append(np.union1d(members, rng.integers(0, kinds, rng.integers(0, 3))))
    begins = np.cumsum([0, *map(len, sets)])
    found = near_components(
        vectors, 0.9, 2, sets=(np.concatenate(sets).astype(np.int32), begins), least_overlap=least
    )
    exact = vectors.astype(np.float64)
    near = exact @ exact.T >= 0.9
    held = [set(each.tolist()) for each in sets]
    for x in range(count):
        for y in range(count):
            both, either = len(held[x] & held[y]), len(held[x] | held[y])
            near[x, y] &= x == y or (either > 0 and both / either >= least)
    firsts = np.arange(count)
    while True:
        lowest = np.array([firsts[row].min() if row.any() else i for i, row in enumerate(near)])
        lowest = np.minimum(firsts, lowest)
        if np.array_equal(lowest, firsts):
            break
        firsts = lowest
    np.testing.assert_array_equal(found, firsts)
