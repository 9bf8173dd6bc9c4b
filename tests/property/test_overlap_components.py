"""Components of sets by Jaccard similarity against a comparison of all pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.index.overlap_groups import overlap_components


def packed(sets):
    begins = np.cumsum([0, *map(len, sets)])
    members = [member for each in sets for member in sorted(each)]
    return np.array(members, np.int32), begins.astype(np.int64)


def naive_components(sets, threshold, labels):
    firsts = list(range(len(sets)))
    for i, one in enumerate(sets):
        for j in range(i):
            alike = one and sets[j] and len(one & sets[j]) / len(one | sets[j]) >= threshold
            if alike and labels[i] == labels[j] and firsts[i] != firsts[j]:
                low, high = sorted((firsts[i], firsts[j]))
                firsts = [low if each == high else each for each in firsts]
    return firsts


def similar_sets(rng, count, size):
    """Sets around few centres, so that there are chains, groups, single and empty ones."""
    centres = [rng.integers(0, 40, size) for _ in range(max(1, count // 4))]
    return [
        {int(m) for m in centres[rng.integers(len(centres))] if rng.random() < 0.8}
        | {int(m) for m in rng.integers(0, 40, rng.integers(0, 4))}
        for _ in range(count)
    ]


@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(0, 120),
    size=st.sampled_from([0, 1, 5, 20]),
    threshold=st.sampled_from([1e-9, 0.3, 0.5, 0.6, 2 / 3, 0.9, 1.0]),
    threads=st.integers(1, 3),
    kinds=st.integers(1, 3),
)
def test_all_similar_pairs_are_joined_and_no_others(seed, count, size, threshold, threads, kinds):
    rng = np.random.default_rng(seed)
    sets = similar_sets(rng, count, size)
    labels = rng.integers(0, kinds, count).astype(np.int32)
    found = overlap_components(*packed(sets), threshold, threads, labels=labels)
    assert found.tolist() == naive_components(sets, threshold, labels)


def test_many_tasks_in_several_threads_and_their_progress():
    rng = np.random.default_rng(1)
    sets = [{int(m) for m in rng.integers(0, 300, 8)} for _ in range(1500)]
    sets += [{*each, 1000} for each in sets]
    seen = []
    found = overlap_components(*packed(sets), 0.8, 3, lambda *step: seen.append(step))
    assert found.tolist() == naive_components(sets, 0.8, [0] * len(sets))
    assert seen == [(1024, 3000), (2048, 3000), (3000, 3000)]


@pytest.mark.parametrize("count", [1, 2, 3000])
def test_equal_sets_are_one_component_and_empty_sets_are_none(count):
    assert overlap_components(*packed([{1, 2, 3}] * count), 1.0, 2).tolist() == [0] * count
    assert overlap_components(*packed([set()] * count), 0.5, 2).tolist() == list(range(count))
