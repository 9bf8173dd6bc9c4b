"""Two lists become one: every score by pencil and paper."""

import math

import numpy as np
import pytest

from gem_index.collection.fusion import fuse_ranks, fuse_scores
from gem_index.collection.view import best_of
from gem_index.index.lexical import match_weights

DENSE = [(1, 0.9), (2, 0.6), (3, 0.3)]
MATCHING = [(3, 0.9), (4, 0.6)]


def fused(dense, matching, k, cosines=None, matches=None):
    asked = []

    def of(values):
        def answer(seqs):
            asked.append(seqs.tolist())
            return values

        return answer

    best, cosine = fuse_scores(
        dense, matching, k, of(np.array(cosines or [], np.float32)), of(matches or {})
    )
    return best, cosine, asked


def test_a_score_is_a_third_of_the_cosine_and_two_of_the_match():
    best, cosine, asked = fused(DENSE, MATCHING, 10, [0.0], {1: 0.3})
    assert asked == [[4], [1, 2]]  # what each list does not say is asked for, and nothing else
    assert [seq for seq, _ in best] == [3, 1, 4, 2]
    assert dict(best) == pytest.approx({1: 1.5 / 3, 2: 0.6 / 3, 3: 2.1 / 3, 4: 1.2 / 3})
    assert cosine == pytest.approx({1: 0.9, 2: 0.6, 3: 0.3, 4: 0.0})
    assert fused(DENSE, MATCHING, 2, [0.0], {1: 0.3})[0] == best[:2]


def test_a_weak_list_stays_weak():
    """No score depends on the other hits: the best of a list is not stretched to 1."""
    best, _, _ = fused([(1, 0.1), (2, 0.05)], [(2, 0.01)], 10)
    assert dict(best) == pytest.approx({1: 0.1 / 3, 2: 0.07 / 3})


def test_a_list_alone_keeps_its_order():
    best, _, asked = fused(DENSE, [], 10)
    assert [seq for seq, _ in best] == [1, 2, 3]
    assert asked == [[1, 2, 3]]
    best, _, asked = fused([], MATCHING, 10, [0.1, 0.1])
    assert [seq for seq, _ in best] == [3, 4]
    assert asked == [[3, 4]]
    assert fused([], [], 10) == ([], {}, [])


def test_reciprocal_ranks_begin_with_one():
    found = fuse_ranks(DENSE, MATCHING, 10)
    expected = {1: 1 / 61, 2: 1 / 62, 3: 1 / 63 + 1 / 61, 4: 1 / 62}
    assert dict(found) == pytest.approx(expected, rel=1e-12)
    assert [seq for seq, _ in found] == [3, 1, 2, 4]


def test_the_best_come_first_and_equal_ones_by_age():
    found = [(9, 0.5), (4, 0.7), (2, 0.5), (5, 0.7), (1, -0.1)]
    assert best_of(found, 3) == [(4, 0.7), (5, 0.7), (2, 0.5)]
    assert best_of(found, 9) == [(4, 0.7), (5, 0.7), (2, 0.5), (9, 0.5), (1, -0.1)]


def test_a_match_weighs_words_by_the_square_of_their_rarity():
    rare, common = math.log(1 + 99.5 / 1.5), math.log(1 + 50.5 / 50.5)
    total = rare**2 + common**2
    assert match_weights({"visa": 1, "the": 50}, 100) == pytest.approx(
        {"visa": rare / (2.2 * total), "the": common / (2.2 * total)}
    )
    assert match_weights({}, 100) == {}
    every = math.log(1 + 0.5 / 10.5)
    assert match_weights({"the": 10}, 10) == pytest.approx({"the": 1 / (2.2 * every)})
