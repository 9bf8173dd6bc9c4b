"""What evaluations report, whole: JSON and tables, of candidates whose scores are known."""

from __future__ import annotations

from pathlib import PurePosixPath

import numpy as np
import pytest

from gem_index.evaluate.candidates import (
    GEM,
    EncoderScorer,
)
from gem_index.evaluate.cqa import evaluate_cqa, pair_texts, ranked_by
from gem_index.evaluate.data import Question, ScoredPairs
from gem_index.evaluate.lexical_baselines import TfIdf
from gem_index.evaluate.metrics import (
    correlations,
    paired_bootstrap,
    ranking_scores,
    resampled_pearson,
)
from gem_index.evaluate.retrieval import RetrievalTask, evaluate_retrieval, measures
from gem_index.evaluate.sts import evaluate_sts
from known_scorers import Known, Spread


def shown(interval):
    return f"{interval.difference:+.2f} ({interval.low:+.2f} … {interval.high:+.2f})"


def pairs_of(name, gold, texts):
    first, second = (tuple(f"{text}{side}" for text in texts) for side in "xy")
    return ScoredPairs(name, np.array(gold, float), first, second)


SCORES = {
    GEM: lambda a, b: len(a) + 2.0 * a.count("b"),
    "mean": lambda a, b: 1.0 * a.count("a"),
    "TF-IDF": lambda a, b: 0.5,
}


class TestPairs:
    FILES = (
        pairs_of("2012/a.txt", [1, 2, 4, 3], ["a", "ab", "abb", "aab"]),
        pairs_of("2012/b.txt", [5, 2, 2], ["b", "aa", "bab"]),
        pairs_of("2013/c.txt", [0, 1, 2.5, 4, 3], ["a", "b", "aaa", "ab", "bb"]),
    )

    def measured(self, parts):
        """Return the results of each file, and the folders' mean of each candidate."""
        files = []
        for part in parts:
            of = {
                name: Known(score, []).score(part.first, part.second)
                for name, score in SCORES.items()
            }
            results = {}
            for name, scores in of.items():
                r, rho = correlations(part.gold, scores)
                results[name] = {"pearson": r, "spearman": rho}
                if name != GEM:
                    found = paired_bootstrap(
                        lambda s, g=part.gold, o=of[GEM], t=scores: (
                            resampled_pearson(g, o, s) - resampled_pearson(g, t, s)
                        ),
                        len(scores),
                    )
                    results[name]["gain"] = {
                        "pearson": found.difference,
                        "low": found.low,
                        "high": found.high,
                    }
            files.append({"name": part.name, "pairs": len(part.gold), "results": results})
        means = {}
        for name in SCORES:
            means[name] = {}
            for measure in ("pearson", "spearman"):
                years = {}
                for file in files:
                    year = PurePosixPath(file["name"]).parent
                    years.setdefault(year, []).append(file["results"][name][measure])
                means[name][measure] = pytest.approx(
                    np.mean([np.mean(values) for values in years.values()])
                )
        return files, means

    def evaluated(self, parts):
        corpora = []
        found = {name: lambda s=score: Known(s, corpora) for name, score in SCORES.items()}
        return evaluate_sts(parts, found), corpora

    def test_of_several_files(self):
        found, corpora = self.evaluated(self.FILES)
        files, means = self.measured(self.FILES)
        assert corpora == [[*each.first, *each.second] for each in self.FILES for _ in SCORES]
        assert found.json == {
            "task": "sts",
            "pairs": 12,
            **means[GEM],
            "baselines": {name: means[name] for name in ("mean", "TF-IDF")},
            "files": files,
        }
        [table] = found.tables
        assert (table.title, table.headings, table.digits, table.note) == (
            "Semantic textual similarity",
            ("Pearson", ">pairs", ">GEM", ">mean", ">TF-IDF"),
            2,
            "",
        )
        assert list(table.rows) == [
            *(
                (each["name"], each["pairs"], *(each["results"][n]["pearson"] for n in SCORES))
                for each in files
            ),
            ("mean", 12, *(means[name]["pearson"] for name in SCORES)),
        ]

    @pytest.mark.parametrize("name", ["a.txt", "sts-dev.csv", "sts-test.csv"])
    def test_of_one_file(self, name):
        part = pairs_of(name, self.FILES[2].gold, ["a", "b", "aaa", "ab", "bb"])
        found, _ = self.evaluated([part])
        [file], means = self.measured([part])
        results = file["results"]
        assert found.json["baselines"] == {
            each: means[each] | {"gain": results[each]["gain"]} for each in ("mean", "TF-IDF")
        }
        table, *others = found.tables
        assert (table.title, table.headings) == (
            f"{name}, 5 pairs",
            ("model", ">Pearson", ">Spearman", ">GEM's gain (95 %)"),
        )
        gains = {
            each: "{pearson:+.2f} ({low:+.2f} … {high:+.2f})".format(**result["gain"])
            for each, result in results.items()
            if each != GEM
        }
        assert list(table.rows) == [
            (each, result["pearson"], result["spearman"], gains.get(each))
            for each, result in results.items()
        ]
        assert [(each.title, each.headings) for each in others] == (
            [("The paper's Table 1", ("model", ">dev", ">test"))] if "sts" in name else []
        )
        for each in others:
            assert each.cells()[0] == ["GEM + L.F.P. (paper)", "83.5", "78.4"]
            assert each.cells()[4] == ["PARANMT-50M, trained (paper)", "-", "79.9"]

    def test_the_papers_table_stands_beside_a_folder_that_has_one_of_its_files(self):
        parts = [self.FILES[0], pairs_of("b/sts-test.csv", [1, 2], ["a", "b"])]
        assert [each.title for each in self.evaluated(parts)[0].tables] == [
            "Semantic textual similarity",
            "The paper's Table 1",
        ]


QUESTIONS = [
    Question(
        "q1", "ab", "", (("c1", "b", ""), ("c2", "a", "b"), ("c3", "", "a")), (False, True, True)
    ),
    Question("q2", "b", "a", (("c4", "a", ""), ("c5", "bb", "")), (False, True)),
    Question("q3", "ab", "", (("c6", "a", ""), ("c7", "a", "")), (True, False)),
]


class TestQuestions:
    def test_whole(self):
        corpora = []
        scores = {GEM: lambda a, b: b.count("b"), "other": lambda a, b: b.count("a")}
        found = {name: lambda s=score: Known(s, corpora) for name, score in scores.items()}
        result = evaluate_cqa(QUESTIONS, found, "subject+body")
        # the texts of questions once each, then those of candidates
        assert corpora == [["ab", "b\n\na", "b", "a\n\nb", "a", "a", "bb", "a", "a"]] * 2
        rankings = {
            "GEM": [[False, True, True], [True, False], [True, False]],
            "search engine": [[False, True, True], [False, True], [True, False]],
            "other": [[True, True, False], [False, True], [True, False]],
        }
        expected = {name: ranking_scores(ranking) for name, ranking in rankings.items()}
        told = {
            name: {"map": each.map, "avg_rec": each.avg_rec, "mrr": each.mrr}
            for name, each in expected.items()
        }
        gains = {}
        for name in ("search engine", "other"):
            difference = expected[GEM].average_precision - expected[name].average_precision
            gains[name] = paired_bootstrap(lambda s, d=difference: d[s].mean(axis=1), 3)
        assert result.json == {
            "task": "cqa",
            "text": "subject+body",
            "questions": 3,
            **told[GEM],
            "baselines": {
                name: told[name]
                | {"gain": {"map": each.difference, "low": each.low, "high": each.high}}
                for name, each in gains.items()
            },
        }
        assert gains["search engine"].difference > 0
        table, paper = result.tables
        assert (table.title, table.headings) == (
            "3 questions, 7 candidates, subject+body",
            ("model", ">MAP", ">AvgRec", ">MRR", ">GEM's gain (95 %)"),
        )
        assert list(table.rows) == [
            (name, *told[name].values(), None if name == GEM else shown(gains[name]))
            for name in rankings
        ]
        assert (paper.title, paper.headings, paper.cells()[0]) == (
            "The paper's Table 2 (test 2017)",
            ("model", ">MAP"),
            ["GEM + L.F.P. (paper)", "49.11"],
        )

    @pytest.mark.parametrize(
        ("part", "first", "second"),
        [
            ("subject", ["ab", "b"], ["b", "a", ""]),
            ("body", ["ab", "a"], ["b", "b", "a"]),  # the subject instead of an empty body
            ("subject+body", ["ab", "b\n\na"], ["b", "a\n\nb", "a"]),
            ("subject+subject+body", ["ab\n\nab", "b\n\nb\n\na"], ["b\n\nb", "a\n\na\n\nb", "a"]),
        ],
    )
    def test_texts(self, part, first, second):
        found = pair_texts(QUESTIONS[:2], part)
        assert found[0] == [first[0]] * 3 + [first[1]] * 2
        assert found[1][:3] == second

    def test_equal_scores_keep_the_order_of_the_search_engine(self):
        equal = np.zeros(7)
        assert ranked_by(QUESTIONS, equal) == [list(each.relevant) for each in QUESTIONS]
        last = np.array([1, 1, 2, 5, 5, 0, 3], float)
        assert ranked_by(QUESTIONS, last) == [[True, False, True], [False, True], [False, True]]


class TestRetrieval:
    def test_whole(self):
        documents = {f"d{i}": text for i, text in enumerate(["a", "ab", "abc", "bb", "ccb", "ca"])}
        queries = {"q1": "a b", "q2": "c", "q3": "b b b a"}
        relevance = {"q1": {"d1": 2, "d2": 1}, "q2": {"d5": 1}, "q3": {"d3": 1, "d0": 3}}
        task = RetrievalTask("small", documents, queries, relevance)
        encoders = {GEM: Spread(), "other": Spread("cab"), "half": Spread("a")}
        found = {name: lambda e=each: EncoderScorer(e) for name, each in encoders.items()}
        result = evaluate_retrieval(task, {**found, "words": TfIdf})
        assert [each.corpora for each in encoders.values()] == [[list(documents.values())]] * 3
        names = ("ndcg@10", "recall@10", "recall@100", "mrr@10", "map")
        own = {}
        for name, encoder in encoders.items():
            cosines = encoder.encode(queries.values()) @ encoder.encode(documents.values()).T
            rankings = [np.argsort(-row, kind="stable") for row in cosines]
            ids = [[list(documents)[place] for place in ranking] for ranking in rankings]
            own[name] = measures(ids, list(relevance.values()))
        means = {
            name: {each: pytest.approx(values[each].mean()) for each in names}
            for name, values in own.items()
        }
        json, (table,) = result.json, result.tables
        assert set(json["baselines"]) == {"other", "half", "GEM + BM25", "BM25"}
        assert {name: json["baselines"][name] for name in ("other", "half")} == {
            name: means[name] for name in ("other", "half")
        }
        assert {key: value for key, value in json.items() if key != "baselines"} == {
            "task": "retrieval",
            "name": "small",
            "documents": 6,
            "queries": 3,
            **means[GEM],
        }
        assert (table.title, table.headings) == (
            "small: 3 queries, 6 documents",
            ("model", *(f">{name}" for name in names), ">GEM's gain in nDCG (95 %)"),
        )
        rows = {row[0]: row[1:] for row in table.rows}
        assert list(rows) == [GEM, "GEM + BM25", "other", "half", "BM25"]
        assert rows[GEM] == (*means[GEM].values(), None)
        difference = own[GEM]["ndcg@10"] - own["half"]["ndcg@10"]
        gain = paired_bootstrap(lambda s: difference[s].mean(axis=1), 3)
        assert gain.difference > 0
        assert rows["half"] == (*means["half"].values(), shown(gain))
        assert rows["BM25"][:5] == tuple(json["baselines"]["BM25"].values())

    def test_a_hundred_documents_are_measured(self):
        documents = {f"d{i}": "a" * (i + 1) + "b" * 150 for i in range(150)}
        relevance = {"q": dict.fromkeys(documents, 1)}
        task = RetrievalTask("many", documents, {"q": "a"}, relevance)
        found = evaluate_retrieval(task, {GEM: lambda: EncoderScorer(Spread())}).json
        assert found["recall@100"] == pytest.approx(100 * 100 / 150)
        assert found["recall@10"] == pytest.approx(100 * 10 / 150)
