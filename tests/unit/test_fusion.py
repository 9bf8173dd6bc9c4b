"""Fusion of two lists: every score compared with a calculation by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.index.fusion import fuse_ranks, fuse_scores
from gem_index.index.hits import best_of
from gem_index.index.lexical import match_weights

DENSE = [(1, 0.9), (2, 0.6), (3, 0.3)]
MATCHING = [(3, 0.9), (4, 0.6)]


def score(cosine, match):
    return (cosine + 2.25 * match) / 3.25


def fused(dense, matching, k, depth=3, cosines=None, matches=None, exact=True):
    asked = []

    def of(name, values):
        def answer(seqs):
            asked.append((name, seqs.tolist()))
            return values

        return answer

    best, cosine = fuse_scores(
        dense,
        matching,
        k,
        depth,
        exact,
        of("cosines", np.array(cosines or [], np.float32)),
        of("matches", matches or {}),
    )
    return best, cosine, asked


def test_a_score_weighs_a_match_two_and_a_quarter_times_a_cosine():
    best, cosine, asked = fused(DENSE, MATCHING, 3, 3, [0.0])
    assert asked == [("cosines", [4])]  # a list that ends before the depth holds all matches
    assert [seq for seq, _ in best] == [3, 4, 1]
    assert dict(best) == pytest.approx({3: score(0.3, 0.9), 4: score(0.0, 0.6), 1: score(0.9, 0)})
    assert cosine == pytest.approx({1: 0.9, 3: 0.3, 4: 0.0})


def test_missing_scores_of_an_incomplete_list_are_requested():
    best, _, asked = fused(DENSE, MATCHING, 2, 2, [0.0], {1: 0.5, 2: 0.6})
    assert asked == [("cosines", [4]), ("matches", [1, 2])]
    assert dict(best) == pytest.approx({1: score(0.9, 0.5), 3: score(0.3, 0.9)})


def test_scores_that_cannot_reach_the_best_are_not_requested():
    """A document outside a list has at most the score of the list's last entry."""
    dense, matching = [(1, 0.9), (2, 0.2)], [(1, 0.9), (4, 0.1)]
    best, _, asked = fused(dense, matching, 1, 2)
    assert (best, asked) == ([(1, pytest.approx(0.9))], [])
    dense, matching = [(1, 0.9), (2, 0.2)], [(1, 0.4), (4, 0.39)]
    assert fused(dense, matching, 1, 2, [1.0], exact=True)[2] == []
    best, _, asked = fused(dense, matching, 1, 2, [1.0], exact=False)
    assert (best[0][0], asked) == (4, [("cosines", [4])])  # it may have missed the best


def test_a_weak_list_stays_weak():
    """No score depends on the other hits: the best of a list is not stretched to 1."""
    best, _, _ = fused([(1, 0.1), (2, 0.05)], [(2, 0.01)], 3)
    assert dict(best) == pytest.approx({1: 0.1 / 3.25, 2: 0.0725 / 3.25})


def test_a_list_alone_keeps_its_order():
    best, _, asked = fused(DENSE, [], 3)
    assert [seq for seq, _ in best] == [1, 2, 3]
    assert asked == []
    best, _, asked = fused([], MATCHING, 3, 3, [0.1, 0.1])
    assert [seq for seq, _ in best] == [3, 4]
    assert asked == [("cosines", [3, 4])]
    assert fused([], [], 3) == ([], {}, [])


GRADES = st.integers(-4, 4).map(lambda n: n / 4)


@given(
    documents=st.lists(st.tuples(GRADES, st.integers(0, 4).map(lambda n: n / 4)), max_size=12),
    k=st.integers(1, 8),
    more=st.integers(0, 4),
    missed=st.sets(st.integers(0, 11)),
)
def test_the_best_of_the_union_are_found_whatever_is_left_out(documents, k, more, missed):
    """Compared with the scores of all documents in both lists, ties in the order of age."""
    depth = k + more
    cosines = [(seq, cosine) for seq, (cosine, _) in enumerate(documents)]
    matches = [(seq, match) for seq, (_, match) in enumerate(documents) if match]
    exact = not missed
    dense = best_of([pair for pair in cosines if pair[0] not in missed], depth)
    matching = best_of(matches, depth)
    union = {seq for seq, _ in dense + matching}
    expected = best_of([(seq, score(*documents[seq])) for seq in union], k)
    best, cosine = fuse_scores(
        dense,
        matching,
        k,
        depth,
        exact,
        lambda seqs: np.array([documents[seq][0] for seq in seqs]),
        lambda seqs: {seq: documents[seq][1] for seq in seqs.tolist()},
    )
    assert [seq for seq, _ in best] == [seq for seq, _ in expected]
    assert dict(best) == pytest.approx(dict(expected))
    assert cosine == {seq: documents[seq][0] for seq, _ in expected}


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


def test_a_number_counts_twice():
    """Numbers have at least two characters: people identify things by 4711 and a3, rarely by 7."""
    rare = math.log(1 + 99.5 / 1.5)
    for term, counts in (("4711", 2), ("a3", 2), ("7", 1), ("٤٢", 2)):
        total = (counts + 1) * rare**2
        assert match_weights({term: 1, "visa": 1}, 100) == pytest.approx(
            {term: counts * rare / (2.2 * total), "visa": rare / (2.2 * total)}
        )
