"""Ids among others, both ascending."""

import numpy as np
import pytest

from gem_index.index.hits import among, members


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
