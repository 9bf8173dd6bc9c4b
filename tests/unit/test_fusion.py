"""Fusion of two lists: every score compared with a calculation by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.index.fusion import fuse_ranks, fuse_scores
from gem_index.index.hits import best_of
from gem_index.index.terms import QueryTerms, counts_in_match, match_weights
from gem_index.text.analyzer import ENGLISH
from gem_index.text.tokens import frequent_english

DENSE = [(1, 0.9), (2, 0.6), (3, 0.3)]
MATCHING = [(3, 0.9), (4, 0.6)]


def weights_of(held, documents, analyzer):
    """The weights of a query that has exactly the counted terms."""
    return match_weights(QueryTerms(tuple(held)), held, documents, analyzer)


def score(cosine, match):
    return (cosine + 2.25 * match) / 3.25


class Lists:
    """The two lists of some documents (cosine, match) by seq, and what is asked of them."""

    def __init__(self, documents, missed=()):
        self.documents = documents
        self.missed = missed  # by an approximate index
        self.depths, self.asked = [], []

    @property
    def exact(self):
        return not self.missed

    def nearest(self, depth):
        self.depths.append(depth)
        cosines = [(s, c) for s, (c, _) in self.documents.items() if s not in self.missed]
        return best_of(cosines, depth)

    def matching(self, depth):
        return best_of([(s, m) for s, (_, m) in self.documents.items() if m], depth)

    def cosines(self, seqs):
        self.asked.append(("cosines", seqs.tolist()))
        return np.array([self.documents[seq][0] for seq in seqs.tolist()])

    def matches(self, seqs):
        self.asked.append(("matches", seqs.tolist()))
        return {seq: self.documents[seq][1] for seq in seqs.tolist()}

    def fused(self, k):
        return fuse_scores(self, k)

    def best(self, k):
        return best_of([(seq, score(*both)) for seq, both in self.documents.items()], k)


def many_documents(*first):
    """The documents given, and a hundred that neither words nor meaning bring near."""
    return dict(enumerate([*first, *((-0.5 - n / 1000, 0.0) for n in range(100))], 1))


def test_a_score_weighs_a_match_two_and_a_quarter_times_a_cosine():
    best, cosine = Lists({1: (0.9, 0.0), 2: (0.6, 0.0), 3: (0.3, 0.9), 4: (0.0, 0.6)}).fused(3)
    assert [seq for seq, _ in best] == [3, 4, 1]
    assert dict(best) == pytest.approx({3: score(0.3, 0.9), 4: score(0.0, 0.6), 1: score(0.9, 0)})
    assert cosine == pytest.approx({1: 0.9, 3: 0.3, 4: 0.0})


def test_scores_are_asked_for_where_they_can_reach_the_best():
    near = [(0.9 - n / 1000, 0.0) for n in range(30)]
    lists = Lists(many_documents(*near, (0.1, 0.9), (0.2, 0.01)))
    best, _ = lists.fused(1)
    assert best == [(31, pytest.approx(score(0.1, 0.9)))]
    assert lists.asked == [("cosines", [31])]  # 32 has almost no match


def test_an_approximate_index_may_have_missed_the_best():
    near = [(0.9 - n / 1000, 0.0) for n in range(30)]
    documents = many_documents(*near, (1.0, 0.09))
    assert [seq for seq, _ in Lists(documents, missed={31}).fused(1)[0]] == [31]


def test_lists_grow_while_a_document_outside_could_be_among_the_best():
    """The 33rd of either list is the best of all."""
    near = [(0.6, 0.0)] * 32
    matching = [(-0.6, 0.5)] * 32
    lists = Lists(many_documents(*near, *matching, (0.59, 0.49)))
    best, _ = lists.fused(1)
    assert best == [(65, pytest.approx(score(0.59, 0.49)))]
    assert lists.depths == [30, 120]
    lists = Lists(many_documents(*near, *matching, (0.59, 0.49), (0.9, 0.9)))
    assert lists.fused(1)[0] == [(66, pytest.approx(score(0.9, 0.9)))]
    assert lists.depths == [30]  # none outside can reach it


def test_a_weak_list_stays_weak():
    """No score depends on the other hits: the best of a list is not stretched to 1."""
    best, _ = Lists({1: (0.1, 0.0), 2: (0.05, 0.01)}).fused(3)
    assert dict(best) == pytest.approx({1: 0.1 / 3.25, 2: 0.0725 / 3.25})


def test_a_list_alone_keeps_its_order():
    lists = Lists({1: (0.9, 0.0), 2: (0.6, 0.0), 3: (0.3, 0.0)})
    assert [seq for seq, _ in lists.fused(3)[0]] == [1, 2, 3]
    assert lists.asked == []
    assert Lists({}).fused(3) == ([], {})


def test_scores_that_differ_by_rounding_are_one_score():
    """Equal texts, of which one is in the files and the other behind them, come by age."""
    lists = Lists({1: (0.5, 0.5), 2: (0.5 + 2e-7, 0.5), 3: (0.5 - 2e-7, 0.5), 4: (0.1, 0.2)})
    best, _ = lists.fused(3)
    assert [seq for seq, _ in best] == [1, 2, 3]
    assert len({value for _, value in best}) == 1
    assert lists.fused(1)[0] == best[:1]


GRADES = st.integers(-4, 4).map(lambda n: n / 4)


@given(
    documents=st.lists(st.tuples(GRADES, st.integers(0, 4).map(lambda n: n / 4)), max_size=60),
    k=st.integers(1, 8),
)
def test_the_best_of_all_documents_are_found(documents, k):
    """Compared with the scores of all documents, ties in the order of age."""
    lists = Lists(dict(enumerate(documents)))
    best, cosine = lists.fused(k)
    expected = lists.best(k)
    assert [value for _, value in best] == pytest.approx([value for _, value in expected])
    assert dict(best) == pytest.approx({seq: score(*documents[seq]) for seq, _ in best})
    assert cosine == {seq: documents[seq][0] for seq, _ in best}
    assert Lists(dict(enumerate(documents))).fused(2 * k)[0][:k] == best


def test_ranks_behind_a_hundred_change_nothing_before_them():
    dense = [(seq, 1 - seq / 1000) for seq in range(250)]
    lexical = [(249 - n, 1.0) for n in range(240)]
    every = fuse_ranks(dense, lexical, 250)
    assert len(every) == 250
    for k in (10, 100, 150, 200):
        assert fuse_ranks(dense[: max(100, k)], lexical[:100], k) == every[:k]


def test_reciprocal_ranks_begin_with_one():
    found = fuse_ranks(DENSE, MATCHING, 10)
    expected = {1: 1 / 61, 2: 1 / 62, 3: 1 / 63 + 1 / 61, 4: 1 / 62}
    assert dict(found) == pytest.approx(expected, rel=1e-12)
    assert [seq for seq, _ in found] == [3, 1, 2, 4]


def test_the_best_come_first_and_equal_ones_by_age():
    found = [(9, 0.5), (4, 0.7), (2, 0.5), (5, 0.7), (1, -0.1)]
    assert best_of(found, 3) == [(4, 0.7), (5, 0.7), (2, 0.5)]
    assert best_of(found, 9) == [(4, 0.7), (5, 0.7), (2, 0.5), (9, 0.5), (1, -0.1)]


def rarity(held, documents, background=0.0):
    return math.log(1 + (documents + 500 - held - background + 0.5) / (held + background + 0.5))


def test_a_match_weighs_words_by_the_square_of_their_rarity():
    """The common word is held by some of the 500 background texts too, and so less rare than in the collection."""
    rank = frequent_english().index("the") + 1
    common = rarity(50, 100, 500 * (1 - (1 - 0.1 / (rank + 2.7)) ** 30))
    rare = rarity(1, 100)
    found = weights_of({"xylophon": 1, "the": 50}, 100, ENGLISH)
    boosts = {"xylophon": math.log(1 + 99.5 / 1.5), "the": math.log(1 + 50.5 / 50.5)}
    total = rare**2 + common**2
    assert found == pytest.approx(
        {
            "xylophon": rare**2 / (2.2 * total * boosts["xylophon"]),
            "the": common**2 / (2.2 * total * boosts["the"]),
        }
    )
    assert weights_of({}, 100, ENGLISH) == {}


def test_a_word_that_no_document_holds_counts_in_the_total():
    alone = weights_of({"parcel": 0, "is": 2}, 5, ENGLISH)["is"]
    assert alone < 0.1 * weights_of({"is": 2}, 5, ENGLISH)["is"]


def test_a_word_with_symbols_that_no_document_holds_counts_nowhere():
    assert [counts_in_match("node.j", held) for held in (0, 1)] == [False, True]
    assert [counts_in_match("node", held) for held in (0, 1)] == [True, True]


def test_a_number_counts_three_times():
    """Numbers have at least two characters: people identify things by 4711 and a3, rarely by 7."""
    rare = math.log(1 + 99.5 / 1.5)
    for term, counts in (("4711", 3), ("a3", 3), ("7", 1), ("٤٢", 3)):
        found = weights_of({term: 1, "xylophon": 1}, 100, ENGLISH)
        total = (counts + 1) * rare
        assert found == pytest.approx({term: counts / (2.2 * total), "xylophon": 1 / (2.2 * total)})
