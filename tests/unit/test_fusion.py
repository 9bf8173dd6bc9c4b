"""Two lists become one: every score by pencil and paper."""

import pytest

from gem_index.collection.fusion import fuse
from gem_index.collection.view import best_of
from gem_index.errors import ConfigError

DENSE = [(1, 0.9), (2, 0.5), (3, 0.1)]
LEXICAL = [(3, 8.0), (4, 2.0)]


def test_weighted_scores_of_both_lists_brought_to_one_scale():
    found = fuse(DENSE, LEXICAL, 10)
    assert [seq for seq, _ in found] == [1, 2, 3, 4]
    assert dict(found) == pytest.approx({1: 0.85, 2: 0.425, 3: 0.15, 4: 0.0})
    assert fuse(DENSE, LEXICAL, 2) == found[:2]


def test_reciprocal_ranks_begin_with_one():
    found = fuse(DENSE, LEXICAL, 10, "rrf")
    expected = {1: 1 / 61, 2: 1 / 62, 3: 1 / 63 + 1 / 61, 4: 1 / 62}
    assert dict(found) == pytest.approx(expected, rel=1e-12)
    assert [seq for seq, _ in found] == [3, 1, 2, 4]


@pytest.mark.parametrize("fusion", ["weighted", "rrf"])
def test_a_list_alone_keeps_its_order(fusion):
    assert [seq for seq, _ in fuse(DENSE, [], 10, fusion)] == [1, 2, 3]
    assert [seq for seq, _ in fuse([], LEXICAL, 10, fusion)] == [3, 4]
    assert fuse([], [], 10, fusion) == []


def test_a_list_of_equal_scores_counts_in_full():
    assert dict(fuse([(7, 0.3)], [(8, 1.0), (9, 1.0)], 10)) == pytest.approx(
        {7: 0.85, 8: 0.15, 9: 0.15}
    )


def test_another_fusion_is_refused():
    with pytest.raises(ConfigError, match="the fusion is 'sum'; expected weighted or rrf"):
        fuse(DENSE, LEXICAL, 3, "sum")


def test_the_best_come_first_and_equal_ones_by_age():
    found = [(9, 0.5), (4, 0.7), (2, 0.5), (5, 0.7), (1, -0.1)]
    assert best_of(found, 3) == [(4, 0.7), (5, 0.7), (2, 0.5)]
    assert best_of(found, 9) == [(4, 0.7), (5, 0.7), (2, 0.5), (9, 0.5), (1, -0.1)]
