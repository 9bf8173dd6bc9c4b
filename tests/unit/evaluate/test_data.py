"""The files of evaluations, whole: what is read, and what is refused."""

from __future__ import annotations

import gzip
import json

import pytest

from gem_index.errors import InputError, RecordError
from gem_index.evaluate.data import Question, read_questions, read_sts, sentences_of
from gem_index.evaluate.pairs import read_pairs
from gem_index.evaluate.retrieval import read_beir
from gem_index.text.tokens import WeightedText

LAYOUT = (
    "expected lines of score TAB sentence TAB sentence, or an original sts-dev.csv of the STS Benchmark with the score in "
    "column 5 and the sentences in 6 and 7, or SICK's own files"
)
ORIGIN = "the STS Benchmark is at ixa2.si.ehu.eus/stswiki, STS 2012 to 2016 at alt.qcri.org/semeval2016/task1"
CQA = (
    "expected the XML of SemEval 2016/2017 Task 3 (alt.qcri.org/semeval2017/task3), or JSON lines with orgq_id, "
    "orgq_subject, orgq_body, relq_id, relq_subject, relq_body and relevant"
)
BEIR = (
    "expected a folder in BEIR's layout: corpus.jsonl (_id, title, text), queries.jsonl (_id, text) and "
    "qrels/SPLIT.tsv (query-id, corpus-id, score); github.com/beir-cellar/beir names such data sets"
)
SICK = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"


class TestPairs:
    @pytest.mark.parametrize(
        ("content", "gold"),
        [
            ("5\ta\tb\n1.5\tc\td\n", [5, 1.5]),
            ("\ufeff5\ta\tb\r\n1.5\tc\td", [5, 1.5]),
            ("g\tf\ty\t1\t5\ta\tb\ng\tf\ty\t2\t1.5\tc\td\tsource\n", [5, 1.5]),
            (f"{SICK}1\ta\tb\t5\tNEUTRAL\n2\tc\td\t1.5\tENTAILMENT\n", [5, 1.5]),
        ],
    )
    def test_each_layout(self, tmp_path, content, gold):
        (tmp_path / "x.txt").write_text(content, encoding="utf-8")
        [part] = read_sts([str(tmp_path / "x.txt")])
        assert (part.name, part.gold.tolist()) == ("x.txt", gold)
        assert (part.first, part.second) == (("a", "c"), ("b", "d"))

    def test_a_folder_stands_for_its_data_and_files_keep_their_order(self, tmp_path):
        names = (
            "b/x.csv",
            "a/y.tsv",
            "a/x.txt",
            "c.csv",
            "README.txt",
            "LICENSE.txt",
            "a/licence.csv",
            "a/notes.md",
        )
        for name in names:
            path = tmp_path / "sts" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"1\t{name}\tb\n2\tc\td\n")
        (tmp_path / "one.data").write_text("1\ta\tb\n2\tc\td\n")
        found = read_sts([str(tmp_path / "one.data"), str(tmp_path / "sts")])
        assert [each.name for each in found] == [
            "one.data",
            "a/x.txt",
            "a/y.tsv",
            "b/x.csv",
            "c.csv",
        ]
        assert sentences_of(found[:2]) == ["a", "c", "b", "d", "a/x.txt", "c", "b", "d"]

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            (b"1\ta\tb\n2\tc\n", f" line 2: found '2\\tc'; {LAYOUT}"),
            (b"1\ta\tb\ninf\tc\td\n", f" line 2: found 'inf\\tc\\td'; {LAYOUT}"),
            (b"1\ta\tb\n" + b"x" * 99, f" line 2: found '{'x' * 60}'; {LAYOUT}"),
            (b"1\ta\tb\n\n2\tc\xff\td\n", " line 3: byte 4 is not UTF-8; expected UTF-8 text"),
            (f"1\ta\tb\n{SICK}".encode(), f" line 2: found {SICK.strip()[:60]!r}; {LAYOUT}"),
            (b"\n\n", f" holds no scored pairs; {LAYOUT}"),
            (
                b"2.50\ta\tb\n2.5\tc\td\n",
                " holds 2 pairs of the score 2.5; expected scores that differ: a correlation needs them",
            ),
        ],
    )
    def test_what_is_refused(self, tmp_path, content, told):
        path = tmp_path / "x.txt"
        path.write_bytes(content)
        with pytest.raises(InputError) as refused:
            read_sts([str(path)])
        assert str(refused.value) == f"{path}{told}"

    def test_what_is_missing(self, tmp_path):
        for names, told in (
            ([str(tmp_path / "x")], f"cannot read {tmp_path}/x: no such file; {LAYOUT}: {ORIGIN}"),
            ([str(tmp_path)], f"found no file of sentence pairs; {LAYOUT}: {ORIGIN}"),
            ([], f"found no file of sentence pairs; {LAYOUT}: {ORIGIN}"),
        ):
            with pytest.raises(InputError) as refused:
                read_sts(names)
            assert str(refused.value) == told


def row(question, candidate, relevant, others=None):
    return {
        "orgq_id": question,
        "orgq_subject": f"subject {question}",
        "orgq_body": f"body {question}",
        "relq_id": candidate,
        "relq_subject": f"subject {candidate}",
        "relq_body": f"body {candidate}",
        "relevant": relevant,
    } | (others or {})


def thread(question, candidate, label):
    return (
        f'<OrgQuestion ORGQ_ID="{question}"><OrgQSubject>subject {question}</OrgQSubject><OrgQBody>body {question}'
        f'</OrgQBody><Thread><RelQuestion RELQ_ID="{candidate}" RELQ_RELEVANCE2ORGQ="{label}"><RelQSubject>subject '
        f"{candidate}</RelQSubject><RelQBody>body {candidate}</RelQBody></RelQuestion></Thread></OrgQuestion>"
    )


class TestQuestions:
    def test_both_forms_keep_the_order_of_their_first_rows(self, tmp_path):
        rows = [("q1", "b", 0), ("q2", "a", 1), ("q1", "a", 1), ("q1", "c", 1)]
        labels = ["Irrelevant", "PerfectMatch", "Relevant", "PerfectMatch"]
        (tmp_path / "x.jsonl").write_text("".join(json.dumps(row(*each)) + "\n" for each in rows))
        threads = (thread(q, c, label) for (q, c, _), label in zip(rows, labels, strict=True))
        (tmp_path / "x.xml").write_text(f"<xml>{''.join(threads)}</xml>")

        def question(name, *candidates):
            return Question(
                name, f"subject {name}", f"body {name}",
                tuple((each, f"subject {each}", f"body {each}") for each, _ in candidates),
                tuple(good for _, good in candidates),
            )  # fmt: skip

        expected = [
            question("q1", ("b", False), ("a", True), ("c", True)),
            question("q2", ("a", True)),
        ]
        names = [str(tmp_path / name) for name in ("x.jsonl", "x.xml")]
        assert [read_questions([name]) for name in names] == [expected] * 2
        assert read_questions(names) == expected * 2
        (tmp_path / "x.xml").write_text("<xml></xml>")
        with pytest.raises(InputError) as refused:
            read_questions(names)
        assert str(refused.value) == f"{names[1]} holds no questions; {CQA}"

    @pytest.mark.parametrize(
        ("fields", "told"),
        [
            ({"relevant": 2}, "no relevant 0 or 1"),
            ({"relevant": None}, "no relevant 0 or 1"),
            ({"orgq_body": None, "relq_id": 5}, "no orgq_body"),
            ({"relq_id": 5}, "no relq_id"),
        ],
    )
    def test_a_row_that_lacks_a_value(self, tmp_path, fields, told):
        path = tmp_path / "x.jsonl"
        rows = [row("q1", "a", 1), row("q1", "b", 0, fields)]
        path.write_text("".join(json.dumps(each) + "\n" for each in rows))
        with pytest.raises(RecordError) as refused:
            read_questions([str(path)])
        assert str(refused.value) == f"{path} line 2: {told}; {CQA}"

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("<xml><OrgQuestion/></xml>", f" holds an OrgQuestion without a RelQuestion; {CQA}"),
            (
                f"<xml>{thread('q1', 'a', 'Good')}</xml>",
                " labels the candidate 'a' 'Good'; expected PerfectMatch, Relevant, Irrelevant",
            ),
            (
                f"<xml>{thread('q1', 'a', 'Relevant') * 2}</xml>",
                " holds the candidate 'a' of 'q1' twice; expected each once",
            ),
            ("<xml>", f" is not XML: no element found: line 1, column 5; {CQA}"),
        ],
    )
    def test_what_is_refused(self, tmp_path, content, told):
        path = tmp_path / "x.xml"
        path.write_text(content)
        with pytest.raises(InputError) as refused:
            read_questions([str(path)])
        assert str(refused.value) == f"{path}{told}"


class TestBeir:
    @pytest.fixture
    def write(self, tmp_path):
        def written(
            packed=False,
            judgements="query-id\tcorpus-id\tscore\nq2\td1\t3\nq1\td2\t1\nq1\td1\t0\n",
            split="test",
        ):
            folder = tmp_path / "small"
            (folder / "qrels").mkdir(parents=True, exist_ok=True)
            corpus = [
                {"_id": "d1", "title": "Visa", "text": "renew it"},
                {"_id": "d2", "title": None, "text": "two ducks"},
                {"_id": "d3", "text": "tea"},
            ]
            queries = [{"_id": f"q{i}", "text": f"query {i}"} for i in (1, 2, 3)]
            for name, content in (
                ("corpus.jsonl", "".join(json.dumps(each) + "\n" for each in corpus)),
                ("queries.jsonl", "".join(json.dumps(each) + "\n" for each in queries)),
                (f"qrels/{split}.tsv", judgements),
            ):
                if packed:
                    (folder / f"{name}.gz").write_bytes(gzip.compress(content.encode()))
                else:
                    (folder / name).write_text(content)
            return folder

        return written

    @pytest.mark.parametrize("packed", [True, False])
    @pytest.mark.parametrize("split", ["test", "dev"])
    def test_whole(self, write, packed, split):
        task = read_beir(str(write(packed, split=split)), split)
        title = WeightedText.joined([("Visa", 2.0), ("renew it", 1.0)])
        assert task.name == "small"
        assert dict(task.documents) == {"d1": title, "d2": "two ducks", "d3": "tea"}
        assert task.documents["d1"].weights == title.weights
        assert list(task.queries.items()) == [("q2", "query 2"), ("q1", "query 1")]
        assert task.relevance == {"q2": {"d1": 3}, "q1": {"d2": 1}}

    def test_without_headings(self, write):
        assert read_beir(str(write(judgements="q1\td1\t1\nq1\td2\t2\n"))).relevance == {
            "q1": {"d1": 1, "d2": 2}
        }

    @pytest.mark.parametrize(
        ("judgements", "told"),
        [
            ("q1\td1\t1\nq1\td2\n", f"/qrels/test.tsv line 2: no judgement; {BEIR}"),
            ("q1\td1\t1\nq1\td2\tscore\n", f"/qrels/test.tsv line 2: no judgement; {BEIR}"),
            ("q1\td1\t0\n", f"/qrels/test.tsv holds no relevant document; {BEIR}"),
            ("q1\td1\t1\nq9\td1\t1\n", ": the judged query 'q9' is not in queries.jsonl"),
        ],
    )
    def test_what_is_refused(self, write, judgements, told):
        folder = write(judgements=judgements)
        with pytest.raises(InputError) as refused:
            read_beir(str(folder))
        assert str(refused.value) == f"{folder}{told}"

    def test_a_split_that_is_missing(self, write):
        folder = write()
        with pytest.raises(InputError) as refused:
            read_beir(str(folder), "dev")
        assert str(refused.value) == f"{folder} holds no qrels/dev.tsv; {BEIR}"


class TestOwnPairs:
    @pytest.mark.parametrize("first", ["first", "text1", "sentence1", "question1"])
    @pytest.mark.parametrize("score", ["score", "label", "is_duplicate"])
    def test_names_of_columns(self, tmp_path, first, score):
        seconds = {
            "first": "second",
            "text1": "text2",
            "sentence1": "sentence2",
            "question1": "question2",
        }
        names = (first, seconds[first], score)
        rows = [dict(zip(names, each, strict=True)) for each in (("a", "b", 1), ("c", "d", 0))]
        (tmp_path / "x.csv").write_text("\n".join([",".join(names), "a,b,1", "c,d,0"]))
        for source in (rows, tmp_path / "x.csv"):
            found = read_pairs(source)
            assert (found.first, found.second) == (("a", "c"), ("b", "d"))
            assert (found.scores.tolist(), found.labels.tolist()) == ([1, 0], [True, False])

    @pytest.mark.parametrize("scores", [(0, 2), (0, 1, 0.5), (1, 2)])
    def test_other_numbers_are_no_labels(self, scores):
        found = read_pairs([("a", "b", score) for score in scores])
        assert (found.scores.tolist(), found.labels) == (list(scores), None)

    def test_the_first_known_name_is_taken(self):
        rows = [
            {"label": i, "score": 5 + i, "text1": "x", "first": "a", "second": "b"} for i in (0, 1)
        ]
        found = read_pairs(rows)
        assert (found.first, found.scores.tolist()) == (("a", "a"), [5, 6])

    def test_a_record_may_be_as_long_as_the_settings_say(self, tmp_path, monkeypatch):
        path = tmp_path / "x.jsonl"
        path.write_text('{"first": "%s", "second": "b", "score": 1}\n' % ("a" * 2000))
        monkeypatch.setenv("GEM_INDEX_MAX_RECORD_BYTES", "1024")
        with pytest.raises(RecordError, match=r"x\.jsonl line 1: "):
            read_pairs(path)

    def test_the_place_of_a_bad_record_is_told(self, tmp_path):
        path = tmp_path / "x.csv"
        path.write_text("first,second,score\na,b,1\nc,d,\n")
        form = 'expected two texts and a number, such as {"first": "...", "second": "...", "score": 3.5}'
        with pytest.raises(RecordError) as refused:
            read_pairs(path)
        assert str(refused.value).startswith(f"{path} line 3: found ")
        assert str(refused.value).endswith(f"; {form}")
        path.write_text("first,second,score\na,b,1\nc,d,1\n")
        with pytest.raises(InputError) as refused:
            read_pairs(path)
        assert str(refused.value) == (
            f"{path} holds 2 pairs with equal numbers; expected different numbers, such as 0 and 1"
        )
