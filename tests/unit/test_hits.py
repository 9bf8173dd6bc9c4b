"""Ids among others, both ascending."""

import numpy as np
import pytest

from gem_index.index.hits import among, best_first, members


@pytest.mark.parametrize("gaps", [False, True])
def test_ids_that_are_wanted(gaps):
    rng = np.random.default_rng(0)
    for _ in range(300):
        begin, count = rng.integers(0, 20, 2)
        ids = np.arange(begin, begin + count)
        if gaps:
            ids = ids[rng.random(count) < 0.7]
        wanted = np.unique(rng.integers(0, 40, rng.integers(0, 30)))
        np.testing.assert_array_equal(members(ids, wanted), np.isin(ids, wanted))
        np.testing.assert_array_equal(among(ids[::-1], wanted), np.isin(ids[::-1], wanted))


@pytest.mark.parametrize("k", [1, 3, 10, 11, 12, 40])
def test_the_best_come_first_and_equal_ones_by_place(k):
    rng = np.random.default_rng(k)
    for _ in range(100):
        places = rng.permutation(100)[:11]
        scores = rng.integers(-3, 3, 11).astype(np.float32)
        found, best = best_first(places, scores, k)
        expected = sorted(zip(-scores, places, strict=True))[:k]
        assert found.tolist() == [place for _, place in expected]
        assert best.tolist() == [-score for score, _ in expected]
