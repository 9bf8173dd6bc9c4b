"""The cache of filter results between searches: reading only new documents, eviction, threads."""

from collections import OrderedDict

import numpy as np
import pytest

from gate import Gate
from gem_index.collection.state import filter_cache as filters
from gem_index.collection.state.filter_cache import FilterCache


class Documents:
    """Documents 1 to n; a filter accepts the multiples of its number."""

    def __init__(self, last):
        self.last = last
        self.read = []

    def matching(self, where, after=0):
        self.read.append((where["n"], after))
        return np.array([i for i in range(after + 1, self.last + 1) if i % where["n"] == 0])


def ask(cache, documents, n, directory="a"):
    return cache.matching(documents, {"n": n}, directory, documents.last).tolist()


def test_only_later_documents_are_read():
    cache, documents = FilterCache(), Documents(10)
    assert ask(cache, documents, 3) == [3, 6, 9]
    assert ask(cache, documents, 3) == [3, 6, 9]
    documents.last = 15
    assert ask(cache, documents, 3) == [3, 6, 9, 12, 15]
    assert ask(cache, documents, 4) == [4, 8, 12]
    assert documents.read == [(3, 0), (3, 10), (4, 0)]


def test_an_older_state_is_answered_from_what_is_known_of_a_newer_one():
    cache, documents = FilterCache(), Documents(15)
    ask(cache, documents, 3)
    documents.last = 10
    assert ask(cache, documents, 3) == [3, 6, 9, 12, 15]
    documents.last = 15
    assert ask(cache, documents, 3) == [3, 6, 9, 12, 15]
    assert documents.read == [(3, 0)]


def test_of_no_documents_nothing_is_kept_for_those_to_come():
    cache, documents = FilterCache(), Documents(0)
    assert ask(cache, documents, 2) == []
    documents.last = 2
    assert ask(cache, documents, 2) == [2]
    assert documents.read == [(2, 0), (2, 0)]


def test_another_snapshot_is_another_cache():
    cache, documents = FilterCache(), Documents(10)
    ask(cache, documents, 3)
    assert ask(cache, documents, 3, "b") == [3, 6, 9]
    assert documents.read == [(3, 0), (3, 0)]
    assert cache._ids == 3


def test_the_filter_that_was_used_longest_ago_is_forgotten_first(monkeypatch):
    monkeypatch.setattr(filters, "_MOST_IDS", 20)
    cache, documents = FilterCache(), Documents(20)
    for n in (2, 4, 5):  # 10, 5 and 4 ids
        ask(cache, documents, n)
    ask(cache, documents, 2)
    ask(cache, documents, 10)  # 2 more: 21 in all
    documents.read.clear()
    for n in (2, 5, 10):
        ask(cache, documents, n)
    assert documents.read == []
    ask(cache, documents, 4)
    assert documents.read == [(4, 0)]
    assert cache._ids <= 20


def test_filters_that_match_nothing_are_bounded_too(monkeypatch):
    monkeypatch.setattr(filters, "_MOST_FILTERS", 3)
    cache, documents = FilterCache(), Documents(10)
    for n in (100, 101, 102, 103):
        ask(cache, documents, n)
    documents.read.clear()
    for n in (101, 102, 103, 100):
        ask(cache, documents, n)
    assert documents.read == [(100, 0)]


def test_filters_are_read_at_the_same_time():
    cache, documents, gate = FilterCache(), Documents(10), Gate()
    documents.matching = gate.around(documents.matching)
    found = gate.run_two(lambda: ask(cache, documents, 3), lambda: ask(cache, documents, 5))
    assert found == ([3, 6, 9], [5, 10])
    assert gate.most == 2


def test_one_thread_at_a_time_stores_results():
    cache, documents, gate = FilterCache(), Documents(10), Gate()

    class Entries(OrderedDict):
        __setitem__ = gate.around(OrderedDict.__setitem__)

    cache._entries = Entries()
    gate.run_two(lambda: ask(cache, documents, 3), lambda: ask(cache, documents, 5))
    assert gate.most == 1
    assert cache._ids == 5


def test_a_result_for_a_replaced_snapshot_is_not_cached():
    cache, documents = FilterCache(), Documents(10)
    matching = documents.matching

    def replaced_meanwhile(where, after=0):
        documents.matching = matching
        ask(cache, documents, 5, "b")
        return matching(where, after)

    documents.matching = replaced_meanwhile
    assert ask(cache, documents, 3, "a") == [3, 6, 9]
    documents.read.clear()
    assert ask(cache, documents, 5, "b") == [5, 10]
    assert documents.read == []
    assert ask(cache, documents, 3, "b") == [3, 6, 9]
    assert documents.read == [(3, 0)]


@pytest.mark.parametrize("where", [{"n": 2, "x": {1}}, {"n": 2, "x": np.int64(3)}])
def test_a_filter_that_only_its_owner_could_tell_from_others_is_not_kept(where):
    cache, documents = FilterCache(), Documents(4)
    for _ in range(2):
        assert cache.matching(documents, where, "a", 4).tolist() == [2, 4]
    assert len(documents.read) == 2
    assert not cache._entries
