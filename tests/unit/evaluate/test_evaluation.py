"""Measures of a search with one's own queries."""

import numpy as np
import pytest

from brute_force import documents
from gem_index.errors import InputError, RecordError
from gem_index.evaluate.pairs import area_under_curve, best_threshold, read_pairs
from gem_index.evaluation import SETTINGS, Mean, evaluate_pairs, evaluate_search
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


SCORED = [
    ("open a bank account", "open an account at the bank", 5),
    ("open a bank account", "close a bank account", 3.5),
    ("renew a visa", "how do I renew my visa", 4.5),
    ("renew a visa", "the school is closed", 0.5),
    ("a cheap flight", "a river in the city", 0),
    ("a cheap flight", "the bank opens", 1),
]


def test_the_area_under_the_curve_counts_pairs_in_order():
    labels = np.array([True, False, True, False])
    assert area_under_curve(labels, np.array([0.9, 0.1, 0.8, 0.2])) == 1
    assert area_under_curve(labels, np.array([0.9, 0.85, 0.8, 0.2])) == 0.75
    assert area_under_curve(labels, np.array([0.5, 0.5, 0.5, 0.5])) == 0.5
    assert np.isnan(area_under_curve(labels[:1], np.array([0.5])))


def test_the_best_threshold_has_the_highest_f1_score():
    labels = np.array([True, True, False, True, False, False])
    cosines = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.5])
    threshold, f1 = best_threshold(labels, cosines)
    naive = {
        t: 2 * (labels & (cosines >= t)).sum() / ((cosines >= t).sum() + labels.sum())
        for t in cosines
    }
    assert f1 == max(naive.values())
    assert naive[threshold] == f1
    assert threshold == 0.6


@pytest.mark.parametrize(
    ("labels", "cosines", "expected"),
    [
        ([1, 0], [0.5, 0.5], (0.5, 2 / 3)),  # equal cosines are all above the threshold
        ([0, 1], [0.5, 0.5], (0.5, 2 / 3)),
        ([1, 0, 1], [0.9, 0.9, 0.1], (0.1, 0.8)),
        ([0, 1], [0.1, 0.9], (0.9, 1)),
    ],
)
def test_equal_cosines_have_one_threshold(labels, cosines, expected):
    assert best_threshold(np.array(labels) == 1, np.array(cosines)) == pytest.approx(expected)


def test_pairs_with_scores_and_with_labels(faq):
    encoder = faq.encoder
    [found] = evaluate_pairs({"faq": encoder}, SCORED)
    cosines = [
        float(encoder.encode([a]).astype(float)[0] @ encoder.encode([b]).astype(float)[0])
        for a, b, _ in SCORED
    ]
    numbers = [score for *_, score in SCORED]
    assert (found.encoder, found.pairs, found.auc, found.threshold) == ("faq", 6, None, None)
    assert found.pearson.value == pytest.approx(100 * np.corrcoef(cosines, numbers)[0, 1], abs=1e-3)
    assert found.pearson.low <= found.pearson.value <= found.pearson.high
    labels = [(a, b, int(score >= 3)) for a, b, score in SCORED]
    one, other = evaluate_pairs({"one": encoder, "other": encoder}, labels)
    assert one.auc == other.auc
    gold = np.array([label for *_, label in labels]) == 1
    assert one.auc.value == pytest.approx(100 * area_under_curve(gold, np.array(cosines)))
    assert one.f1 == pytest.approx(100 * best_threshold(gold, np.array(cosines))[1])


def test_pairs_from_files_frames_and_mappings(tmp_path):
    pandas = pytest.importorskip("pandas", reason='pip install ".[test-formats]"')
    rows = [{"question1": a, "question2": b, "is_duplicate": int(s > 3)} for a, b, s in SCORED]
    path = tmp_path / "pairs.csv"
    pandas.DataFrame(rows).to_csv(path, index=False)
    for source in (rows, pandas.DataFrame(rows), path, str(path)):
        found = read_pairs(source)
        assert found.first == tuple(a for a, *_ in SCORED)
        assert found.second == tuple(b for _, b, _ in SCORED)
        assert found.labels.tolist() == [s > 3 for *_, s in SCORED]
    assert read_pairs(SCORED).labels is None


@pytest.mark.parametrize(
    "record",
    [
        ("a", "b"),
        ("a", "b", "c"),
        ("a", 1, 2),
        {"first": "a", "second": "b"},
        "a",
        ("a", "b", np.nan),
    ],
)
def test_pairs_of_another_form(record):
    with pytest.raises(
        RecordError, match="pairs line 7: found .*; expected two texts and a number"
    ):
        read_pairs([*SCORED, record])


def test_pairs_with_equal_numbers():
    with pytest.raises(
        InputError, match="^pairs holds 1 pairs with equal numbers; expected different"
    ):
        read_pairs(SCORED[:1])
