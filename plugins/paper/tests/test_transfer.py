"""The supervised tasks, on small test files with the layouts of the real ones."""

import sys

import numpy as np
import pytest
from gem_index_paper import transfer
from gem_index_paper.transfer import GRID, TASKS, TransferResult, evaluate_transfer
from gem_index_paper.transfer_data import read_examples, target_distributions
from gem_index_paper.transfer_report import evaluate_tasks
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from gem_index import GemConfig, GemEncoder, open_vectors
from gem_index.errors import ConfigError, InputError, MissingExtraError, RecordError
from gem_index.evaluate.candidates import candidates

POLARITY = {
    "MR": ("rt-polarity.neg", "rt-polarity.pos"),
    "CR": ("custrev.neg", "custrev.pos"),
    "SUBJ": ("subj.objective", "subj.subjective"),
    "MPQA": ("mpqa.neg", "mpqa.pos"),
}
TREC_CLASSES = ("ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM")
SICK_CLASSES = ("CONTRADICTION", "NEUTRAL", "ENTAILMENT")
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment"
MRPC_HEADER = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String"


def write(path, lines, encoding="utf-8", end="\n"):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes("".join(line + end for line in lines).encode(encoding))


def write_task(folder, task, each=20):
    """Write a task whose examples of class k, each of them, say the word class<k>."""
    if task in POLARITY:
        for k, name in enumerate(POLARITY[task]):
            write(folder / task / name, [f"class{k} \xe9 {i}" for i in range(each)], "latin-1")
    elif task == "SST":
        for part in ("train", "dev", "test"):
            rows = [f"class{i % 2} {part} {i} \t{i % 2}" for i in range(2 * each)]
            write(folder / f"SST/sentiment-{part}", rows)
    elif task == "TREC":
        for name in ("train_5500.label", "TREC_10.label"):
            rows = [
                f"{TREC_CLASSES[i % 6]}:fine class{i % 6} \xf0 {name} {i} ?"
                for i in range(6 * each)
            ]
            write(folder / "TREC" / name, rows, "latin-1")
    elif task == "MRPC":
        for part in ("train", "test"):
            rows = [f"{i % 2}\t{i}\t{i}\tfirst\tclass{i % 2} {part} {i}" for i in range(2 * each)]
            write(folder / f"MRPC/msr_paraphrase_{part}.txt", [MRPC_HEADER, *rows], end="\r\n")
    else:
        for part, end in (("train", "\n"), ("trial", "\n"), ("test_annotated", "\r\n")):
            rows = [
                f"{i}\tfirst\tclass{i % 15} {part} {i}\t{1 + i % 5}.0\t{SICK_CLASSES[i % 3]}"
                for i in range(15 * each // 4)
            ]
            write(folder / f"SICK/SICK_{part}.txt", [SICK_HEADER, *rows], end=end)


def encode_classes(texts):
    """Vectors (n, 16) near one axis for each word class<k>, near the last one for any other text."""
    axes = [int(t.split()[0][5:]) if t.startswith("class") else 15 for t in texts]
    noise = np.random.default_rng(5).normal(scale=0.01, size=(len(texts), 16))
    return (np.eye(16)[axes] + noise).astype(np.float32)


def encode_noise(texts):
    return np.random.default_rng(3).normal(size=(len(texts), 16)).astype(np.float32)


class TestTasks:
    @pytest.mark.parametrize("task", [task for task in TASKS if task != "SICK-R"])
    def test_linearly_separable_classes_are_solved(self, tmp_path, task):
        write_task(tmp_path, task)
        found = evaluate_transfer(task, tmp_path, encode_classes)
        assert (found.task, found.dev, found.test) == (task, 100.0, 100.0)
        assert found.extra == ({"f1": 100.0} if task == "MRPC" else {})

    def test_relatedness_is_learned(self, tmp_path):
        write_task(tmp_path, "SICK-R")
        found = evaluate_transfer("SICK-R", tmp_path, encode_classes)
        assert found.test > 99.5
        assert found.dev > 99.5
        assert (
            95 < found.extra["spearman"] < found.test
        )  # the gold has ties, what is found has none

    @pytest.mark.parametrize(
        ("task", "each", "chance", "margin"),
        [
            ("MR", 150, 50, 12),
            ("SST", 150, 50, 12),
            ("TREC", 50, 100 / 6, 9),
            ("MRPC", 150, 50, 12),
        ],
    )
    def test_noise_is_near_chance(self, tmp_path, task, each, chance, margin):
        write_task(tmp_path, task, each)
        assert evaluate_transfer(task, tmp_path, encode_noise).test == pytest.approx(
            chance, abs=margin
        )

    def test_noise_says_nothing_of_relatedness(self, tmp_path):
        write_task(tmp_path, "SICK-R", 80)
        assert abs(evaluate_transfer("SICK-R", tmp_path, encode_noise).test) < 20

    @pytest.mark.parametrize(("task", "noise"), [("MPQA", 0.5), ("MRPC", 0.5), ("SICK-R", 0.2)])
    def test_the_same_vectors_give_the_same_numbers_at_any_length(self, tmp_path, task, noise):
        write_task(tmp_path, task)

        def noisy(texts):
            return encode_classes(texts) + np.float32(noise) * encode_noise(texts)

        found = evaluate_transfer(task, tmp_path, noisy)
        assert 60 < found.test < 99
        assert found == evaluate_transfer(task, tmp_path, noisy)
        assert found == evaluate_transfer(task, tmp_path, lambda texts: 1024 * noisy(texts))

    def test_the_test_part_has_no_say_in_the_choice(self, tmp_path):
        write_task(tmp_path, "TREC")
        path = tmp_path / "TREC/TREC_10.label"
        before = evaluate_transfer("TREC", tmp_path, encode_classes)
        path.write_bytes(path.read_bytes().replace(b"ABBR:", b"NUM:"))
        after = evaluate_transfer("TREC", tmp_path, encode_classes)
        assert (before.dev, before.test) == (100.0, 100.0)
        assert (after.dev, after.test) == (100.0, pytest.approx(100 * 5 / 6))

    def test_each_distinct_text_is_encoded_once(self, tmp_path):
        write_task(tmp_path, "MRPC", 10)
        calls = []

        def encode(texts):
            calls.append(list(texts))
            return encode_classes(texts)

        found = evaluate_transfer("MRPC", tmp_path, encode)
        (texts,) = calls
        expected = [
            "first",
            *(f"class{i % 2} {p} {i}" for p in ("train", "test") for i in range(20)),
        ]
        assert sorted(texts) == sorted(expected)
        assert found.sentences == 41

    @pytest.mark.parametrize(
        ("task", "paths"), [("CR", 50), ("TREC", 5), ("SST", 1), ("SICK-R", 1)]
    )
    def test_progress_counts_every_fit_of_the_choice(self, tmp_path, task, paths):
        write_task(tmp_path, task, 12)
        seen = []
        evaluate_transfer(task, tmp_path, encode_classes, lambda *step: seen.append(step))
        total = paths * len(GRID)
        assert seen == [(done, total) for done in range(1, total + 1)]

    def test_empty_texts_without_vectors_are_taken(self, tmp_path):
        write_task(tmp_path, "MPQA")
        found = evaluate_transfer("MPQA", tmp_path, lambda texts: np.zeros((len(texts), 4)))
        assert found.test == 50.0

    def test_questions_of_trec(self, shared):
        vectors = open_vectors(str(shared / "vectors/glove-6b-100d-top100k"))

        def encode(texts):
            return GemEncoder(vectors, GemConfig.transfer()).fit(texts).encode(texts)

        found = evaluate_transfer("TREC", shared / "data/senteval", encode)
        assert found.sentences == 5871
        assert 70 < found.test < 85
        assert 65 < found.dev < 85


class TestFiles:
    def test_sentences_are_cut_at_line_feeds_alone(self, tmp_path):
        write(tmp_path / "MR/rt-polarity.neg", ["one \x85 sentence", "\xe9t\xe9 "], "latin-1")
        write(tmp_path / "MR/rt-polarity.pos", ["good", "", "better"], "latin-1", "\r\n")
        examples = read_examples("MR", tmp_path)["all"]
        assert examples.texts == (["one \x85 sentence", "\xe9t\xe9", "good", "", "better"],)
        assert examples.gold.tolist() == [0, 0, 1, 1, 1]

    def test_sentiment_where_the_download_script_puts_it(self, tmp_path):
        write_task(tmp_path, "SST", 1)
        expected = read_examples("SST", tmp_path)
        (tmp_path / "moved/SST").mkdir(parents=True)
        (tmp_path / "SST").rename(tmp_path / "moved/SST/binary")
        moved = read_examples("SST", tmp_path / "moved")
        assert expected["dev"].texts == (["class0 dev 0", "class1 dev 1"],) == moved["dev"].texts
        assert moved["dev"].gold.tolist() == [0, 1]

    def test_questions_have_coarse_classes(self, tmp_path):
        write_task(tmp_path, "TREC", 1)
        train = read_examples("TREC", tmp_path)["train"]
        assert train.texts[0][3] == "class3 \xf0 train_5500.label 3 ?"
        assert train.gold.tolist() == [0, 1, 2, 3, 4, 5]

    def test_pairs(self, tmp_path):
        write_task(tmp_path, "MRPC", 1)
        write_task(tmp_path, "SICK-E", 4)
        paraphrases = read_examples("MRPC", tmp_path)["test"]
        assert paraphrases.texts == (["first", "first"], ["class0 test 0", "class1 test 1"])
        assert paraphrases.gold.tolist() == [0, 1]
        entailment = read_examples("SICK-E", tmp_path)["test"]
        assert entailment.texts[1][14] == "class14 test_annotated 14"
        assert entailment.gold.tolist() == [0, 1, 2] * 5
        assert read_examples("SICK-R", tmp_path)["dev"].gold.tolist() == [1, 2, 3, 4, 5] * 3

    @pytest.mark.parametrize("task", TASKS)
    def test_a_missing_file_is_described(self, tmp_path, task):
        with pytest.raises(InputError) as raised:
            evaluate_transfer(task, tmp_path, encode_classes)
        message = str(raised.value)
        assert f"cannot read {tmp_path / task.split('-')[0]}/" in message
        assert "; expected " in message
        assert "SentEval's data/downstream/get_transfer_data.bash" in message
        assert "https://" in message
        assert "\n" not in message

    @pytest.mark.parametrize(
        ("task", "name", "row", "problem"),
        [
            ("SST", "SST/sentiment-dev", "no label", "which has 1 tab-separated columns"),
            ("SST", "SST/sentiment-test", "fine\t2", "whose label is '2'"),
            (
                "TREC",
                "TREC/train_5500.label",
                "What is this ?",
                "which is not a label and a question",
            ),
            ("TREC", "TREC/TREC_10.label", "ANIMAL:cat What ?", "whose label is 'ANIMAL'"),
            ("TREC", "TREC/TREC_10.label", "NUM:date ", "which is not a label and a question"),
            ("MRPC", "MRPC/msr_paraphrase_test.txt", "1\t2\t3\ta", "which has 4 tab-separated"),
            ("SICK-E", "SICK/SICK_train.txt", "1\ta\tb\t3\tMAYBE", "whose label is 'MAYBE'"),
            ("SICK-R", "SICK/SICK_trial.txt", "1\ta\tb\t5.1\tNEUTRAL", "whose score is 5.1"),
            ("SICK-R", "SICK/SICK_trial.txt", "1\ta\tb\tnan\tNEUTRAL", "whose score is nan"),
            ("SICK-R", "SICK/SICK_trial.txt", "1\ta\tb\thigh\tNEUTRAL", "'high'"),
        ],
    )
    def test_a_bad_line_is_named(self, tmp_path, task, name, row, problem):
        write_task(tmp_path, task, 1)
        path = tmp_path / name
        lines = path.read_bytes().split(b"\n")[:2]
        path.write_bytes(b"\n".join([*lines, row.encode(), b""]))
        with pytest.raises(RecordError, match="; expected ") as raised:
            read_examples(task, tmp_path)
        assert (raised.value.source, raised.value.line) == (str(path), 3)
        assert problem in raised.value.problem

    def test_a_line_that_is_not_utf8_is_named(self, tmp_path):
        write_task(tmp_path, "SST", 1)
        write(tmp_path / "SST/sentiment-train", ["good\t1", "caf\xe9\t1"], "latin-1")
        with pytest.raises(RecordError, match="sentiment-train line 2: byte 4 is not UTF-8"):
            read_examples("SST", tmp_path)

    @pytest.mark.parametrize("task", ["MRPC", "SICK-R", "SICK-E"])
    def test_a_file_without_its_header_is_refused(self, tmp_path, task):
        write_task(tmp_path, task, 4)
        (path,) = tmp_path.rglob("*train*")
        path.write_bytes(path.read_bytes().split(b"\n", 1)[1])
        with pytest.raises(RecordError, match="line 1: found the header .* expected "):
            read_examples(task, tmp_path)

    def test_a_file_without_examples_is_refused(self, tmp_path):
        write_task(tmp_path, "SICK-E", 4)
        write(tmp_path / "SICK/SICK_trial.txt", [SICK_HEADER])
        with pytest.raises(InputError, match=r"SICK_trial\.txt holds no examples; expected"):
            read_examples("SICK-E", tmp_path)

    @pytest.mark.parametrize(("task", "each", "needed"), [("CR", 9, 10), ("TREC", 4, 5)])
    def test_too_few_examples_for_folds_are_refused(self, tmp_path, task, each, needed):
        write_task(tmp_path, task, each)
        with pytest.raises(InputError, match=f"{each} examples .* {needed} or more examples of"):
            evaluate_transfer(task, tmp_path, encode_classes)

    def test_a_single_class_is_refused(self, tmp_path):
        write_task(tmp_path, "SST")
        write(tmp_path / "SST/sentiment-train", ["good\t1"] * 20)
        with pytest.raises(InputError, match=r"SST \(train\) has 20 examples of 1 classes"):
            evaluate_transfer("SST", tmp_path, encode_classes)


class TestArguments:
    def test_an_unknown_task_is_told_the_known_ones(self, tmp_path):
        with pytest.raises(ConfigError, match="'STS'; expected one of MR, CR, .*, SICK-E"):
            evaluate_transfer("STS", tmp_path, encode_classes)

    @pytest.mark.parametrize(
        "wrong",
        [
            lambda texts: np.zeros((len(texts) - 1, 3)),
            lambda texts: np.zeros(len(texts)),
            lambda texts: np.full((len(texts), 3), np.nan),
        ],
    )
    def test_anything_but_a_matrix_of_vectors_is_refused(self, tmp_path, wrong):
        write_task(tmp_path, "SST", 2)
        with pytest.raises(InputError, match=r"encoding 12 texts gave .* of shape \(12, d\)"):
            evaluate_transfer("SST", tmp_path, wrong)

    def test_without_scikit_learn_the_extra_is_named(self, tmp_path, monkeypatch):
        monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
        with pytest.raises(MissingExtraError, match=r"gem-index\[eval\]"):
            evaluate_transfer("MR", tmp_path, encode_classes)

    def test_a_result_is_a_value(self):
        assert TransferResult("MR", None, 50.0) == TransferResult("MR", None, 50.0, {}, 0)


class TestRelatedness:
    def test_target_distributions_by_hand(self):
        expected = [[1, 0, 0, 0, 0], [0, 0, 0.4, 0.6, 0], [0, 0, 0, 1, 0], [0, 0, 0, 0.1, 0.9]]
        found = target_distributions(np.array([1.0, 3.6, 4.0, 4.9]))
        np.testing.assert_allclose(found, expected, atol=1e-12)

    def test_target_distributions_have_the_score_as_mean(self):
        scores = np.append(np.random.default_rng(1).uniform(1, 5, 50), [1, 5])
        found = target_distributions(scores)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        np.testing.assert_allclose(found @ [1, 2, 3, 4, 5], scores)
        assert ((found > 0).sum(axis=1) <= 2).all()

    def test_the_gradient_is_that_of_the_loss(self):
        generator = np.random.default_rng(2)
        x = generator.normal(size=(7, 3))
        targets = target_distributions(generator.uniform(1, 5, 7))
        weights = generator.normal(size=5 * 4)
        _, gradient = transfer.distribution_loss(weights, x, targets, 0.3)
        step = 1e-6
        for i, direction in enumerate(step * np.eye(20)):
            above, _ = transfer.distribution_loss(weights + direction, x, targets, 0.3)
            below, _ = transfer.distribution_loss(weights - direction, x, targets, 0.3)
            assert gradient[i] == pytest.approx((above - below) / (2 * step), abs=1e-8)

    def test_the_loss_by_hand(self):
        targets = np.array([[0.4, 0.6]])
        weights = np.array([1.0, 0.5, 2.0, 0.0])  # a weight and an intercept of each value
        loss, _ = transfer.distribution_loss(weights, np.array([[1.0]]), targets, 0.1)
        log_sum = np.log(np.exp(1.5) + np.exp(2.0))
        assert loss == pytest.approx(
            -(0.4 * (1.5 - log_sum) + 0.6 * (2 - log_sum)) + 0.05 * (1 + 4)
        )

    @pytest.mark.parametrize("c", [0.25, 16.0])
    def test_whole_scores_are_logistic_regression(self, c):
        """Distributions on one score each are classes, which scikit-learn solves too."""
        generator = np.random.default_rng(4)
        x = generator.normal(size=(200, 6)).astype(np.float32)
        y = np.clip(np.round(3 + x[:, 0] + generator.normal(size=200)), 1, 5)
        model = transfer._Relatedness()
        model.fit(x, y, c)
        oracle = LogisticRegression(C=c, tol=1e-8, max_iter=10_000).fit(x.astype(np.float64), y)
        expected = oracle.predict_proba(x.astype(np.float64)) @ [1, 2, 3, 4, 5]
        np.testing.assert_allclose(model.predict(x), expected, atol=1e-3)

    def test_a_second_fit_forgets_the_first(self):
        generator = np.random.default_rng(6)
        x = generator.normal(size=(100, 5)).astype(np.float32)
        y = generator.uniform(1, 5, 100)
        once, twice = transfer._Relatedness(), transfer._Relatedness()
        twice.fit(x, y, 256.0)
        for model in (once, twice):
            model.fit(x, y, 1.0)
        np.testing.assert_allclose(once.predict(x), twice.predict(x), atol=1e-3)


class TestReport:
    def test_each_candidate_is_tested_on_each_task_and_compared_with_the_paper(
        self, tmp_path, vectors_folder
    ):
        for task in ("SUBJ", "MRPC"):
            write_task(tmp_path, task)
        vectors = open_vectors(str(vectors_folder))
        found = candidates(
            lambda: GemEncoder(vectors, GemConfig.transfer()), vectors, ["mean"], False
        )
        seen = []
        report = evaluate_tasks(tmp_path, ["MRPC", "SUBJ"], found, lambda *step: seen.append(step))
        assert seen == [("transfer", done, 4) for done in (1, 2, 3, 4)]
        ours = report.json["results"]
        assert list(ours) == ["MRPC", "SUBJ"]
        assert ours["MRPC"].keys() == {"dev", "test", "f1"}
        assert report.json["baselines"]["mean"].keys() == {"MRPC", "SUBJ"}
        (table,) = report.tables
        assert table.headings == ("model", ">MRPC", ">SUBJ")
        rows = {row[0]: row[1:] for row in table.rows}
        assert rows["GEM"][0] == f"{ours['MRPC']['test']:.1f}/{ours['MRPC']['f1']:.1f}"
        assert rows["GEM + L.F.P. (paper)"] == ("75.4/82.9", "93.8")


def test_f1_is_that_of_the_paraphrases():
    generator = np.random.default_rng(8)
    gold, found = generator.integers(0, 2, (2, 60)).astype(float)
    assert transfer._f1(gold, found) == pytest.approx(100 * f1_score(gold, found))
    assert transfer._f1(gold, 0 * found) == 0.0
