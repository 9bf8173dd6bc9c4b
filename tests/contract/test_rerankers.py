"""Our own re-ranking passes the contract that adapters pass."""

import pytest

from calls import SavedAsSettings, rank
from gem_index.testing import RerankerContract


class TestRerank(SavedAsSettings, RerankerContract):
    rank = staticmethod(rank)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda *given: rank(*given)[:-1], "each text comes once"),
        (lambda *given: [rank(*given)[0]] * len(given[2]), "each text comes once"),
        (lambda *given: rank(*given)[::-1], "the highest score comes first"),
        (lambda *given: [(i, s / 2) for i, s in rank(*given)], "Not equal to tolerance"),
    ],
    ids=["one is missing", "one comes often", "the worst first", "other scores"],
)
def test_a_wrong_ranking_is_noticed(wrong, message):
    contract = type("Wrong", (TestRerank,), {"rank": staticmethod(wrong)})()
    with pytest.raises(AssertionError, match=message):
        contract.test_works_unfitted()
