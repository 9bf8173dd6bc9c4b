"""Metrics against their definitions, libraries, and the official scorer's published figures."""

import json

import ir_measures
import numpy as np
import pytest
from ir_measures import AP, RR, R, nDCG
from scipy import stats

from gem_index.evaluate.metrics import (
    correlations,
    paired_bootstrap,
    pearson,
    ranking_scores,
    resampled_pearson,
)
from gem_index.evaluate.retrieval import measures
from semeval_files import read_predictions, read_relevancy, score_run


class TestCorrelations:
    def test_equal_scipys(self):
        rng = np.random.default_rng(1)
        gold = rng.integers(0, 6, 200).astype(float)
        scores = gold + rng.normal(size=200)
        r, rho = correlations(gold, scores)
        assert r == pytest.approx(100 * stats.pearsonr(gold, scores)[0], abs=1e-10)
        assert rho == pytest.approx(100 * stats.spearmanr(gold, scores)[0], abs=1e-10)

    def test_constant_scores_have_no_correlation(self):
        assert pearson(np.ones(5), np.arange(5.0)) == 0

    def test_bootstrap_covers_the_truth(self):
        rng = np.random.default_rng(2)
        gold = rng.normal(size=400)
        good, bad = gold + 0.5 * rng.normal(size=400), gold + 2 * rng.normal(size=400)
        found = paired_bootstrap(
            lambda s: resampled_pearson(gold, good, s) - resampled_pearson(gold, bad, s), 400
        )
        assert found.difference == pytest.approx(pearson(gold, good) - pearson(gold, bad))
        assert found.low < 89.44 - 44.72 < found.high  # 1 / sqrt(1.25) and 1 / sqrt(5)
        assert found.low > 0
        assert found.high - found.low < 25
        same = paired_bootstrap(
            lambda s: resampled_pearson(gold, good, s) - resampled_pearson(gold, good, s), 400
        )
        assert (same.difference, same.low, same.high) == (0, 0, 0)

    def test_the_interval_has_the_middle_95_percent_of_the_samples(self):
        whole, drawn = [], []

        def measure(samples):
            if not whole:
                whole.append(samples.tolist())
                return np.array([7.0])
            drawn.extend(samples.tolist())
            return np.arange(len(drawn) - len(samples), len(drawn), dtype=float)

        found = paired_bootstrap(measure, 5)
        assert whole == [[[0, 1, 2, 3, 4]]]
        assert len(drawn) == 2000
        assert found.difference == 7
        assert (found.low, found.high) == pytest.approx((49.975, 1949.025))
        first, whole[:], drawn[:] = list(drawn), [], []
        assert paired_bootstrap(measure, 5, samples=300).high == pytest.approx(291.525)
        assert drawn == first[:300]
        whole.clear()
        drawn.clear()
        paired_bootstrap(measure, 5, seed=1)
        assert drawn != first

    def test_a_sample_equals_pearson_of_it(self):
        rng = np.random.default_rng(3)
        x, y = rng.normal(size=(2, 30))
        samples = rng.integers(0, 30, (4, 30))
        expected = [pearson(x[s], y[s]) for s in samples]
        np.testing.assert_allclose(resampled_pearson(x, y, samples), expected)


class TestRankings:
    def test_by_hand(self):
        found = ranking_scores([[True, False, True], [False, False, True], [False, False]])
        np.testing.assert_allclose(found.average_precision, [100 * (1 + 2 / 3) / 2, 100 / 3, 0])
        np.testing.assert_allclose(found.reciprocal_rank, [100, 100 / 3, 0])
        # found of possible at ranks 1, 2, 3, ...: 1 of 2, 1 of 3, 3 of 3
        assert found.avg_rec == pytest.approx(100 * np.mean([1 / 2, 1 / 3, *[1] * 8]))
        assert found.map == pytest.approx((500 / 6 + 100 / 3) / 3)

    def test_without_a_relevant_candidate(self):
        found = ranking_scores([[False, False], []])
        assert (found.map, found.avg_rec, found.mrr) == (0, 0, 0)

    @pytest.mark.shared_data
    @pytest.mark.parametrize(
        ("gold", "published"),
        [
            ("SemEval2016-Task3-CQA-QL-dev", (71.35, 86.11, 76.67)),
            ("SemEval2016-Task3-CQA-QL-test", (74.75, 88.30, 83.79)),
            ("SemEval2017-Task3-CQA-QL-test", (41.85, 77.59, 46.42)),
        ],
    )
    def test_the_search_engines_published_scores(self, shared, gold, published):
        folder = shared / "data/semeval-cqa/gold"
        relevancy = read_relevancy(folder / f"{gold}.xml.subtaskB.relevancy")
        found = ranking_scores([list(candidates.values()) for candidates in relevancy.values()])
        assert (round(found.map, 2), round(found.avg_rec, 2), round(found.mrr, 2)) == published

    @pytest.mark.shared_data
    @pytest.mark.parametrize(
        ("run", "published"),
        [
            ("2017-SimBow-primary", (47.22, 82.60, 50.07)),
            ("2016-UH-PRHLT-primary", (76.70, 90.31, 83.02)),
            ("2016-ConvKN-primary", (76.02, 90.70, 84.64)),
            ("2016-Kelp-primary", (75.83, 91.02, 82.71)),
            ("2016-SLS-primary", (75.55, 90.65, 84.64)),
            ("2016-UniMelb-primary", (70.20, 86.21, 78.58)),
        ],
    )
    def test_systems_published_scores(self, shared, run, published):
        folder = shared / "data/semeval-cqa"
        gold = f"SemEval{run[:4]}-Task3-CQA-QL-test.xml.subtaskB.relevancy"
        found = score_run(
            read_relevancy(folder / "gold" / gold),
            read_predictions(folder / "runs" / f"{run}.txt"),
        )
        assert (round(found.map, 2), round(found.avg_rec, 2), round(found.mrr, 2)) == published


def test_retrieval_measures_equal_ir_measures():
    rng = np.random.default_rng(4)
    documents = [f"d{i}" for i in range(300)]
    rankings, relevance = [], []
    for _ in range(20):
        rankings.append(rng.permutation(documents)[:100].tolist())
        judged = rng.choice(documents, size=rng.integers(1, 40), replace=False).tolist()
        relevance.append({name: int(rng.integers(1, 4)) for name in judged})
    found = measures(rankings, relevance)
    qrels = {str(q): grades for q, grades in enumerate(relevance)}
    run = {
        str(q): {name: float(-place) for place, name in enumerate(ranking)}
        for q, ranking in enumerate(rankings)
    }
    theirs = {
        "ndcg@10": nDCG @ 10,
        "recall@10": R @ 10,
        "recall@100": R @ 100,
        "mrr@10": RR @ 10,
        "map": AP @ 100,
    }
    for name, measure in theirs.items():
        expected = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
        np.testing.assert_allclose(
            found[name], [100 * expected[str(q)] for q in range(20)], atol=1e-9, err_msg=name
        )
    assert json.dumps(found["map"].tolist())
