"""Contract tests for adapters that re-rank candidates.

In your own package, with pytest::

    from gem_index.testing import RerankerContract

    class TestMyReranker(RerankerContract):
        rank = staticmethod(my_adapter_calls.rank)      # in a module that a child process can import

        def make(self, **choice):                       # the arguments of gem_index.open_provider
            return MyReranker(**choice, top_n=None)

        def save(self, adapter):
            return adapter.to_dict()

        def load(self, saved):
            return MyReranker.from_dict(saved)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gem_index.gem.combined import Encoder
from gem_index.testing.adapters import TEXTS, WORDLESS, AdapterContract

__all__ = ["RerankerContract"]

_QUERY = "renewing my visa"


class RerankerContract(AdapterContract):
    """Test methods for one re-ranker; inherit, and define how to make, call, save and load it.

    Attributes
    ----------
    rank : callable
        Takes the adapter, a query and n texts; returns n pairs (position in the texts, score), in the adapter's order.
        Child processes import it by name from its module.
    many : int
        Number of candidates in the largest batch.
    lazy : bool
        Whether the adapter opens its encoder on first use.
    """

    rank: ClassVar[Callable[[Any, str, list[str]], Sequence[tuple[int, float]]]]

    def call(self) -> Callable[[Any, list[str]], Any]:
        """Return the function that ranks texts for one query and returns their scores in the order of the texts."""
        return partial(_scores, type(self).rank, _QUERY)

    def expected(self, encoder: Encoder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the cosines of texts with the query, (n,)."""
        rows = encoder.encode([_QUERY, *texts])
        return np.asarray(rows[1:] @ rows[0])

    def test_the_best_candidate_comes_first(self) -> None:
        """The text with the meaning of the query comes first, at any position of the input."""
        for texts, place in ((TEXTS, 0), (TEXTS[::-1], len(TEXTS) - 1)):
            assert type(self).rank(self.make(), _QUERY, list(texts))[0][0] == place

    def test_candidates_without_words_score_zero(self) -> None:
        """They score zero, alone and in a batch."""
        adapter = self.make()
        scores = self.rows(adapter, [*WORDLESS, *TEXTS])
        assert scores[: len(WORDLESS)].tolist() == [0.0] * len(WORDLESS)
        assert scores[len(WORDLESS)] > 0.5
        assert self.rows(adapter, WORDLESS).tolist() == [0.0] * len(WORDLESS)

    def test_equal_scores_keep_the_order(self) -> None:
        """Equal texts keep their order, and so do all texts if the query has no words."""
        adapter = self.make()
        ranking = type(self).rank(adapter, _QUERY, [TEXTS[1], *TEXTS[:1] * 3])
        assert [place for place, _ in ranking] == [1, 2, 3, 0]
        for query in WORDLESS:
            ranking = type(self).rank(adapter, query, list(TEXTS))
            assert [tuple(pair) for pair in ranking] == [(i, 0.0) for i in range(len(TEXTS))]


def _scores(
    rank: Callable[[Any, str, list[str]], Sequence[tuple[int, float]]],
    query: str,
    adapter: Any,
    texts: list[str],
) -> list[float]:
    ranking = rank(adapter, query, texts)
    assert sorted(place for place, _ in ranking) == list(range(len(texts))), "each text comes once"
    assert all(a >= b for (_, a), (_, b) in pairwise(ranking)), "the highest score comes first"
    return [score for _, score in sorted(ranking)]
