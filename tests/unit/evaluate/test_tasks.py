"""Evaluations as a user runs them, on small test files and on the paper's data."""

import json
import re
import sys

import numpy as np
import pytest

from gem_index import GemConfig, GemEncoder, open_vectors
from gem_index.errors import ConfigError, InputError, MissingExtraError, RecordError
from gem_index.errors.installing import install_line
from gem_index.evaluate.candidates import candidates
from gem_index.evaluate.cqa import evaluate_cqa, pair_texts
from gem_index.evaluate.data import read_questions, read_sts
from gem_index.evaluate.plots import plot_suite
from gem_index.evaluate.retrieval import evaluate_retrieval, read_beir
from gem_index.evaluate.sts import evaluate_sts
from gem_index.evaluate.tables import Table
from gem_index.evaluate.tune import tune
from gem_index.evaluate.tuning_data import score_on_pairs, score_on_questions
from gem_index.vectors.specification import VectorSpec

PAIRS = [
    (5.0, "the bank of the river", "the bank of the river"),
    (4.0, "open a bank account", "open an account at the bank"),
    (2.5, "two ducks in the river", "the river and two cups"),
    (1.0, "renew my visa", "tea in a cup"),
    (0.0, "the phone plan", "two ducks swim"),
]
RELATED = [
    ("R1", "visa renewal", "how do I renew my visa", True),
    ("R2", "", "tea in the cup", False),
]


def questions_xml():
    threads = "".join(
        f"""<OrgQuestion ORGQ_ID="Q{q}"><OrgQSubject>Visa</OrgQSubject><OrgQBody>renew the visa &amp; more</OrgQBody>
        <Thread THREAD_SEQUENCE="x"><RelQuestion RELQ_ID="Q{q}_{name}"
        RELQ_RELEVANCE2ORGQ="{"PerfectMatch" if good else "Irrelevant"}"><RelQSubject>{subject}</RelQSubject>
        <RelQBody>{body}</RelQBody></RelQuestion></Thread></OrgQuestion>"""
        for q in (1, 2)
        for name, subject, body, good in RELATED[::-1]
    )
    return f"<!DOCTYPE xml [<!ELEMENT xml (OrgQuestion*)>]>\n<xml>{threads}</xml>"


def question_rows():
    return "".join(
        json.dumps(
            {
                "orgq_id": f"Q{q}",
                "orgq_subject": "Visa",
                "orgq_body": "renew the visa & more",
                "relq_id": f"Q{q}_{name}",
                "relq_subject": subject,
                "relq_body": body,
                "relevant": int(good),
            }
        )
        + "\n"
        for q in (1, 2)
        for name, subject, body, good in RELATED[::-1]
    )


@pytest.fixture
def pairs(tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text("".join(f"{score}\t{a}\t{b}\n" for score, a, b in PAIRS))
    return str(path)


@pytest.fixture
def vectors(vectors_folder):
    return open_vectors(str(vectors_folder))


def of(vectors, *names, **config):
    return candidates(lambda: GemEncoder(vectors, GemConfig(**config)), vectors, names)


class TestPairs:
    def test_both_layouts(self, tmp_path, pairs):
        benchmark = tmp_path / "sts-dev.csv"
        benchmark.write_text("".join(f"g\tf\ty\t1\t{s}\t{a}\t{b}\n" for s, a, b in PAIRS))
        (one,), (other,) = read_sts([pairs]), read_sts([str(benchmark)])
        np.testing.assert_array_equal(one.gold, [s for s, _, _ in PAIRS])
        np.testing.assert_array_equal(one.gold, other.gold)
        assert (one.first, one.second) == (other.first, other.second)

    def test_an_unknown_baseline_is_told_the_known_ones(self, vectors):
        with pytest.raises(ConfigError, match="the baseline is 'median'; expected mean, "):
            of(vectors, "median")

    def test_a_fitted_encoder_stays_as_it_is(self, pairs, vectors):
        encoder = GemEncoder(vectors).fit(["the river bank", "a cup of tea"])
        before = encoder.fingerprint
        evaluate_sts(read_sts([pairs]), candidates(lambda: encoder, None, (), True))
        assert encoder.fingerprint == before
        evaluate_sts(read_sts([pairs]), candidates(lambda: encoder, None, (), False))
        assert encoder.fingerprint != before

    def test_scores_are_those_of_the_encoder(self, pairs, vectors):
        found = evaluate_sts(read_sts([pairs]), of(vectors, "mean"))
        first, second = [a for _, a, _ in PAIRS], [b for _, _, b in PAIRS]
        encoder = GemEncoder(vectors).fit(first + second)
        cosines = (encoder.encode(first) * encoder.encode(second)).sum(axis=1)
        expected = 100 * np.corrcoef([s for s, _, _ in PAIRS], cosines)[0, 1]
        assert found.json["pearson"] == pytest.approx(expected, abs=1e-4)
        assert found.json["pairs"] == 5
        gain = found.json["baselines"]["mean"]["gain"]
        assert gain["pearson"] == pytest.approx(
            found.json["pearson"] - found.json["baselines"]["mean"]["pearson"]
        )
        assert gain["low"] <= gain["pearson"] <= gain["high"]

    def test_folders_are_averaged_by_year(self, tmp_path, vectors):
        rows = [f"{s}\t{a}\t{b}\n" for s, a, b in PAIRS]
        for name, content in (
            ("2012/a.txt", rows),
            ("2012/b.txt", rows[:4]),
            ("2013/c.txt", rows[1:]),
            ("readme.txt", ["no data\n"]),
        ):
            path = tmp_path / "sts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(content))
        found = evaluate_sts(read_sts([str(tmp_path / "sts")]), of(vectors))
        by_name = {f["name"]: f["results"]["GEM"]["pearson"] for f in found.json["files"]}
        assert list(by_name) == ["2012/a.txt", "2012/b.txt", "2013/c.txt"]
        years = (by_name["2012/a.txt"] + by_name["2012/b.txt"]) / 2, by_name["2013/c.txt"]
        assert found.json["pearson"] == pytest.approx(sum(years) / 2)

    @pytest.mark.parametrize("line", ["x\ta\tb", "1\ta", "nan\ta\tb", "1 a b"])
    def test_a_bad_line_is_named(self, tmp_path, line):
        path = tmp_path / "p.txt"
        path.write_text(f"1\ta\tb\n{line}\n")
        with pytest.raises(RecordError, match="p.txt line 2: .*score TAB sentence TAB sentence"):
            read_sts([str(path)])

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"5\ta\tb\n3\t\xff\tb\n", "line 2: byte 3 is not UTF-8; expected UTF-8 text"),
            (b"\n\ta\tb\n", "holds no scored pairs"),
        ],
    )
    def test_files_without_scored_pairs(self, tmp_path, content, message):
        (tmp_path / "p.txt").write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_sts([str(tmp_path / "p.txt")])

    def test_pairs_without_a_score_are_left_out(self, tmp_path):
        (tmp_path / "p.txt").write_text("5\ta\tb\n\tc\td\n1\te\tf\n")
        (part,) = read_sts([str(tmp_path / "p.txt")])
        assert (part.gold.tolist(), part.first) == ([5, 1], ("a", "e"))

    def test_scores_that_do_not_vary(self, tmp_path):
        path = tmp_path / "p.txt"
        path.write_text("2\ta\tb\n2\tc\td\n")
        with pytest.raises(InputError, match="2 pairs of the score 2; expected scores that differ"):
            read_sts([str(path)])

    def test_missing_files_say_where_such_data_comes_from(self, tmp_path):
        with pytest.raises(InputError, match="no such file; expected .*stswiki"):
            read_sts([str(tmp_path / "none.csv")])
        (tmp_path / "empty").mkdir()
        with pytest.raises(InputError, match="found no file of sentence pairs"):
            read_sts([str(tmp_path / "empty")])


class TestQuestions:
    def test_xml_and_rows_are_the_same(self, tmp_path):
        (tmp_path / "q.xml").write_text(questions_xml())
        (tmp_path / "q.jsonl").write_text(question_rows())
        one, other = (
            read_questions([str(tmp_path / "q.xml")]),
            read_questions([str(tmp_path / "q.jsonl")]),
        )
        assert one == other
        assert [q.id for q in one] == ["Q1", "Q2"]
        assert one[0].relevant == (False, True)

    def test_ranks_and_measures(self, tmp_path, vectors):
        (tmp_path / "q.jsonl").write_text(question_rows())
        found = evaluate_cqa(
            read_questions([str(tmp_path / "q.jsonl")]),
            of(vectors, "TF-IDF", removal="none"),
            "subject+body",
        )
        assert found.json["map"] == 100
        engine = found.json["baselines"]["search engine"]
        assert engine["map"] == engine["mrr"] == 50
        assert engine["gain"]["map"] == 50

    def test_texts(self, tmp_path):
        (tmp_path / "q.jsonl").write_text(question_rows())
        questions = read_questions([str(tmp_path / "q.jsonl")])
        first, second = pair_texts(questions, "subject+body")
        assert first[0] == "Visa\n\nrenew the visa & more"
        assert second[:2] == ["tea in the cup", "visa renewal\n\nhow do I renew my visa"]
        assert pair_texts(questions, "subject")[1][:2] == ["", "visa renewal"]
        twice = pair_texts(questions, "subject+subject+body")[0][0]
        assert twice == "Visa\n\nVisa\n\nrenew the visa & more"
        with pytest.raises(ConfigError, match="the text is 'all'; expected one of subject"):
            pair_texts(questions, "all")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ('{"orgq_id": "Q1"}\n', "line 1: no orgq_subject; expected the XML of SemEval"),
            ("<xml><OrgQuestion/></xml>", "without a RelQuestion"),
            ("<xml>", "is not XML"),
            ("<xml></xml>", "holds no questions"),
        ],
    )
    def test_other_files_are_refused(self, tmp_path, content, message):
        path = tmp_path / "q"
        path.write_text(content)
        with pytest.raises(InputError, match=message):
            read_questions([str(path)])

    def test_rows_of_a_question_need_not_stand_together(self, tmp_path):
        lines = question_rows().splitlines(keepends=True)
        path = tmp_path / "q.jsonl"
        path.write_text("".join([lines[0], lines[2], lines[1], lines[3]]))
        assert [len(q.candidates) for q in read_questions([str(path)])] == [2, 2]
        path.write_text("".join([*lines, lines[0]]))
        with pytest.raises(InputError, match="holds the candidate 'Q1_R2' of 'Q1' twice"):
            read_questions([str(path)])

    def test_xml_with_a_mark_or_another_label(self, tmp_path):
        path = tmp_path / "q.xml"
        path.write_text("\ufeff" + questions_xml(), encoding="utf-8")
        assert len(read_questions([str(path)])) == 2
        path.write_text(questions_xml().replace("Irrelevant", "?"))
        with pytest.raises(
            InputError, match=r"labels the candidate 'Q1_R2' '\?'; expected Perfect"
        ):
            read_questions([str(path)])

    def test_an_entity_bomb_is_not_expanded(self, tmp_path):
        path = tmp_path / "q.xml"
        path.write_text(
            '<!DOCTYPE xml [<!ENTITY a "aaaa">]><xml><OrgQuestion>&a;</OrgQuestion></xml>'
        )
        with pytest.raises(InputError, match="is not XML: undefined entity"):
            read_questions([str(path)])


class TestRetrieval:
    @pytest.fixture
    def beir(self, tmp_path):
        root = tmp_path / "set"
        (root / "qrels").mkdir(parents=True)
        texts = {
            "d1": "how do I renew my visa",
            "d2": "two ducks in the river",
            "d3": "tea in the cup",
        }
        (root / "corpus.jsonl").write_text(
            "".join(json.dumps({"_id": i, "title": "", "text": t}) + "\n" for i, t in texts.items())
        )
        (root / "queries.jsonl").write_text(
            '{"_id": "q1", "text": "renew the visa"}\n{"_id": "q2", "text": "ducks"}\n{"_id": "q3", "text": "x"}\n'
        )
        (root / "qrels/test.tsv").write_text(
            "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t2\nq2\td3\t0\n"
        )
        return root

    def test_finds_what_is_relevant(self, beir, vectors):
        task = read_beir(str(beir))
        assert list(task.queries) == ["q1", "q2"]
        assert task.relevance == {"q1": {"d1": 1}, "q2": {"d2": 2}}
        found = evaluate_retrieval(task, of(vectors, "mean", removal="none"))
        assert set(found.json["baselines"]) == {"mean", "BM25", "GEM + BM25"}
        assert found.json["ndcg@10"] == found.json["map"] == 100
        assert found.json["baselines"]["BM25"]["recall@10"] == 100

    @pytest.mark.parametrize("name", ["corpus.jsonl", "queries.jsonl", "qrels/test.tsv"])
    def test_a_missing_file_is_named(self, beir, name):
        (beir / name).unlink()
        with pytest.raises(
            InputError, match=f"holds no {name}; expected a folder in BEIR's layout"
        ):
            read_beir(str(beir))

    def test_candidates_without_vectors_are_left_out(self, beir, vectors):
        found = evaluate_retrieval(read_beir(str(beir)), of(vectors, "TF-IDF"))
        assert set(found.json["baselines"]) == {"BM25", "GEM + BM25"}

    def test_bad_documents(self, beir):
        (beir / "corpus.jsonl").write_text('{"_id": "d1", "text": "a"}\n{"_id": 2, "text": "b"}\n')
        with pytest.raises(RecordError, match=r"corpus\.jsonl line 2: no _id and text; expected"):
            read_beir(str(beir))

    def test_nothing_relevant(self, beir):
        (beir / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t0\n")
        with pytest.raises(InputError, match=r"test\.tsv holds no relevant document"):
            read_beir(str(beir))

    def test_bad_judgements(self, beir):
        (beir / "qrels/test.tsv").write_text("q1\td1\n")
        with pytest.raises(RecordError, match="line 1: no judgement"):
            read_beir(str(beir))
        (beir / "qrels/test.tsv").write_text("q9\td1\t1\n")
        with pytest.raises(InputError, match="the judged query 'q9' is not in queries.jsonl"):
            read_beir(str(beir))


def test_plots_need_matplotlib(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(
        MissingExtraError, match=f"plots needs .*{re.escape(install_line('gem-index[plot]'))}"
    ):
        plot_suite({"configurations": [{"tasks": {}}]}, tmp_path / "plot.png")
    assert not list(tmp_path.iterdir())


class TestTune:
    def test_finds_the_best_accepted_positions(self):
        seen = []

        def score(config, spec):
            seen.append((config, spec))
            return -abs(config.window - 9) - abs(config.n_removed - 3) - (spec != "b")

        best, spec, found = tune(score, ["a", "b"], GemConfig())
        assert (best.window, best.n_removed, spec) == (9, 3, "b")
        assert found.json["score"] == 0
        assert all(c.n_removed <= c.n_components for c, _ in seen)

    def test_a_start_with_few_components_tries_no_more_removed_ones(self):
        seen = []
        tune(
            lambda config, spec: seen.append(config) or 0.0,
            ["a"],
            GemConfig(n_removed=2, n_components=10),
        )
        assert {c.n_removed for c in seen} == {0, 1, 2, 3, 5, 8, 10}
        assert {c.n_components for c in seen} >= {5, 10, 75}

    def test_searches_weights(self):
        def score(config, spec):
            parts = dict(part.partition("*")[::2] for part in spec.split("+"))
            return -abs(float(parts["a"] or 1) - 0.15) - abs(float(parts["b"] or 1) - 2)

        _, spec, found = tune(score, ["a+b"], GemConfig())
        assert found.json["score"] > -1e-9
        assert spec.startswith("a*0.15")
        assert spec.endswith("b*2.0")

    @pytest.mark.parametrize("sign", [1, -1])
    def test_a_weight_stays_within_what_a_specification_takes(self, sign):
        def score(config, spec):
            (part,) = VectorSpec.parse(spec).parts  # refuses a weight out of range
            return sign * part.weight

        _, spec, _ = tune(score, ["a"], GemConfig())
        weight = float(spec.partition("*")[2])
        assert 3e8 < weight <= 1e9 if sign > 0 else 1e-9 <= weight < 1e-8

    def test_scores_on_pairs_and_questions(self, pairs, vectors, tmp_path):
        direct = evaluate_sts(read_sts([pairs]), of(vectors, window=3)).json["pearson"]
        score = score_on_pairs([pairs], lambda spec: vectors)
        assert score(GemConfig(window=3), "x") == pytest.approx(direct)
        (tmp_path / "q.jsonl").write_text(question_rows())
        assert (
            score_on_questions([str(tmp_path / "q.jsonl")], lambda _: vectors)(
                GemConfig(removal="none"), "x"
            )
            == 100
        )


def test_tables_are_the_same_in_markdown():
    table = Table("T", ("a", ">b"), [("x", 1.0), ("y", None)], note="n")
    assert table.markdown() == "**T**\n\n| a | b |\n| --- | ---: |\n| x | 1.00 |\n| y | - |\n\nn"
