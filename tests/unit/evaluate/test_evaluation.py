"""Measures of a search with one's own queries."""

import numpy as np
import pytest

from brute_force import documents
from gem_index.errors import InputError
from gem_index.evaluation import SETTINGS, Mean, evaluate_search
from homes import create_faq


def fill_faq(home, vectors_folder):
    create_faq(home, vectors_folder)
    home.collection("faq").upsert(documents(60))
    home.collection("faq").refit()


@pytest.fixture
def faq(copied_home, small_vectors_folder):
    return copied_home(fill_faq, small_vectors_folder).collection("faq")


def test_the_mean_and_its_interval():
    values = np.array([0.0, 100.0] * 50)
    found = Mean.of(values)
    assert found.value == 50
    assert 38 < found.low < 42  # 50 - 1.96 * 5
    assert 58 < found.high < 62
    assert Mean.of(np.array([70.0])) == Mean(70.0, 70.0, 70.0)


def test_each_setting_is_measured_as_its_search_finds(faq):
    queries = [(each.text[: len(each.text) // 2], each.id) for each in faq.documents(limit=15)]
    found = evaluate_search(faq, [*queries, ("no answer", [])])
    assert [each.setting for each in found] == list(SETTINGS)
    expected = dict(queries)
    for each in found:
        ranks = []
        for query, name in expected.items():
            hits = [hit.id for hit in faq.search(query, 10, **SETTINGS[each.setting])]
            ranks.append(hits.index(name) + 1 if name in hits else np.inf)
        ranks = np.array(ranks)
        assert (each.collection, each.queries) == ("faq", len(expected))
        assert each.mrr.value == pytest.approx(100 * np.mean(1 / ranks))
        assert each.first.value == pytest.approx(100 * np.mean(ranks == 1))
        assert each.recall.value == pytest.approx(100 * np.mean(ranks <= 10))
        assert each.ndcg.value == pytest.approx(100 * np.mean(1 / np.log2(1 + ranks)))
        assert each.ndcg.low <= each.ndcg.value <= each.ndcg.high


def test_several_collections_and_named_settings(faq):
    settings = {"one": {"mode": "lexical"}, "other": {"rerank": True}}
    [document] = faq.documents(limit=1)
    found = evaluate_search([faq, faq], [(document.text, document.id)], settings)
    assert [(each.collection, each.setting) for each in found] == [
        ("faq", "one"),
        ("faq", "other"),
    ] * 2
    assert found[0].first == Mean(100.0, 100.0, 100.0)


def test_bad_queries(faq):
    with pytest.raises(
        InputError, match="^found no query with a right document; expected at least one"
    ):
        evaluate_search(faq, [("a bank", [])])
    with pytest.raises(
        InputError, match="the queries expect 'nowhere', which the collection faq does not"
    ):
        evaluate_search(faq, [("a bank", "nowhere")])
