"""Calibration: which scores are weak, with known answers and from the collection alone."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from brute_force import documents
from gem_index import Document, Home
from gem_index.collection.corpus import calibrating
from gem_index.collection.corpus.calibrating import lowest_score, part_of, score_reached_by
from gem_index.errors import InputError, RecordError
from gem_index.evaluation import evaluate_search
from gem_index.readers.expected import read_expected
from gem_index.text.chunking import Chunking
from gem_index.text.units import units
from homes import create_faq


def fill_faq(home, vectors_folder):
    create_faq(home, vectors_folder)
    home.collection("faq").upsert(documents(60))
    home.collection("faq").refit()


@pytest.fixture
def home(copied_home, small_vectors_folder):
    return copied_home(fill_faq, small_vectors_folder)


@pytest.fixture
def faq(home):
    return home.collection("faq")


def expected_of(faq, count=20):
    return [(document.text, [document.id]) for document in faq.documents(limit=count)]


@pytest.mark.parametrize(
    ("scores", "wrong", "bound"),
    [
        ([0.9] * 9 + [0.5], [False] * 9 + [True], 0.5),  # one of ten
        ([0.9] * 8 + [0.5, 0.4], [False] * 8 + [True, True], None),  # two of ten
        (
            np.arange(20, 0, -1),
            [False] * 10 + [True] * 10,
            10,
        ),  # eleven of which one is wrong, twelve: two
        (
            [0.9] * 12 + [0.8] * 4,
            [False] * 12 + [True] * 2 + [False] * 2,
            0.9,
        ),  # equal scores together
        ([0.9] * 9, [False] * 9, None),  # fewer than ten
        ([], [], None),
    ],
)
def test_the_lowest_score_of_which_one_in_ten_is_wrong(scores, wrong, bound):
    rng = np.random.default_rng(0)
    order = rng.permutation(len(scores))
    found = lowest_score(np.array(scores, float)[order], np.array(wrong, bool)[order])
    assert found == bound


def test_the_score_that_three_in_ten_parts_reach():
    assert score_reached_by(np.arange(11.0)) == 7.0


@pytest.mark.parametrize(
    "text",
    [
        "one two three four five six seven eight nine ten eleven twelve thirteen fourteen",
        "Die Öffnungszeiten der Bibliothek sind montags bis freitags von neun bis achtzehn Uhr, samstags bis zwölf.",
        "黑豹队的防守仅丢了三百零八分在联赛中排名第六",
        "فقد دفاع بانثرز فقط ثلاثمئة وثمانية نقاط محتلاً المركز السادس في الدوري بينما تقدم الدوري",
    ],
)
def test_a_part_has_twelve_words_of_the_text(text):
    part = part_of(text, np.random.default_rng(0))
    assert part in text
    assert units(part) == 12


def test_a_part_is_of_any_place_in_the_text():
    rng = np.random.default_rng(0)
    parts = {part_of("one two three", rng, units=2) for _ in range(50)}
    assert parts == {"one two", "two three"}


def test_a_short_text_is_its_own_part():
    rng = np.random.default_rng(0)
    assert [part_of(text, rng) for text in (" open it! ", "", "  ")] == ["open it!", "", ""]


def test_queries_with_answers(faq):
    found = faq.calibrate(expected_of(faq))
    assert (found.known_answers, found.queries, found.documents) == (True, 20, 60)
    assert set(found.modes) == {"hybrid", "dense", "lexical"}
    for mode, measured in found.modes.items():
        hits = [faq.search(query, 1, mode=mode)[0] for query, _ in expected_of(faq)]
        right = [hit.id in ids for hit, (_, ids) in zip(hits, expected_of(faq), strict=True)]
        reached = [
            ok for hit, ok in zip(hits, right, strict=True) if hit.score >= measured.min_score
        ]
        assert (measured.reached, measured.wrong) == (len(reached), reached.count(False))
        assert reached.count(False) <= len(reached) / 10
    assert faq.calibration == found
    assert faq.status().calibration == "valid"


def test_progress_counts_the_queries_of_all_modes(faq, monkeypatch):
    monkeypatch.setattr(calibrating, "_BLOCK", 8)
    told = []
    faq.calibrate(expected_of(faq), progress=lambda *step: told.append(step))
    done = [8, 16, 20, 28, 36, 40, 48, 56, 60]
    assert told == [("search", each, 60) for each in done]


def test_without_queries_the_own_document_is_left_out(faq):
    found = faq.calibrate()
    assert (found.known_answers, found.queries) == (False, 60)
    rng = np.random.default_rng(0)
    parts = [(document.id, part_of(document.text, rng)) for document in faq.documents()]
    for mode, measured in found.modes.items():
        best = [
            next(hit.score for hit in faq.search(part, 2, mode=mode) if hit.id != name)
            for name, part in parts
        ]
        assert measured.min_score == pytest.approx(np.quantile(best, 0.7))
        assert (measured.reached, measured.wrong) == (
            sum(np.array(best) >= measured.min_score),
            None,
        )


def test_measurements_do_not_cut_long_texts_again(home, monkeypatch):
    """With a text of 5 MB, each query took two seconds."""
    home.build("pieces", documents(60), chunking=Chunking(10))
    collection = home.collection("pieces")
    expected = expected_of(collection)
    before = evaluate_search(collection, expected)

    def cut(*_, **__):
        pytest.fail("the pieces of a result are not measured")

    monkeypatch.setattr("gem_index.collection.search.answer.with_pieces", cut)
    assert collection.calibrate().queries == 60
    assert collection.calibrate(expected).queries == 20
    assert evaluate_search(collection, expected) == before


def test_the_same_collection_gives_the_same_calibration(faq):
    assert faq.calibrate() == faq.calibrate()


@pytest.mark.parametrize("options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"exact": True}])
def test_results_below_the_score_are_weak_and_auto_leaves_them_out(faq, options):
    assert {hit.weak for hit in faq.search("open a bank account", 40, **options)} == {None}
    bound = faq.calibrate().modes[options.get("mode", "hybrid")].min_score
    hits = faq.search("open a bank account", 40, **options)
    assert [hit.weak for hit in hits] == [hit.score < bound for hit in hits]
    assert any(hit.weak for hit in hits)
    strong = [hit for hit in hits if not hit.weak]
    assert faq.search("open a bank account", 40, min_score="auto", **options) == strong
    assert (
        faq.search("open a bank account", None, min_score="auto", **options)[: len(strong)]
        == strong
    )
    assert faq.search_many(["open a bank account"], 40, min_score="auto", **options) == [strong]


def test_a_re_ranked_result_is_weak_by_its_score_before(faq):
    faq.calibrate()
    before = {hit.id: hit.weak for hit in faq.search("open a bank account", 60)}
    again = faq.search("open a bank account", 60, rerank=True)
    assert {hit.id: hit.weak for hit in again} == before


def test_ranks_are_not_weak(faq):
    faq.calibrate()
    assert {hit.weak for hit in faq.search("open a bank account", fusion="rrf")} == {None}
    with pytest.raises(InputError, match="auto with the fusion rrf"):
        faq.search("open a bank account", fusion="rrf", min_score="auto")


def test_weak_is_in_the_dictionary_of_a_calibrated_result_only(faq):
    [hit] = faq.search("open a bank account", 1)
    assert "weak" not in hit.to_dict()
    assert replace(hit, weak=False).to_dict()["weak"] is False


def test_auto_without_a_calibration(faq):
    message = (
        "found the min_score auto, but 'faq' is not calibrated; expected a number, or a calibration: "
        "call home.collection('faq').calibrate()"
    )
    with pytest.raises(InputError) as caught:
        faq.search("open a bank account", min_score="auto")
    assert str(caught.value) == message


def test_a_new_model_makes_it_void_and_new_documents_do_not(home, faq):
    faq.calibrate()
    faq.upsert([Document(id="new", text="a bank account by phone")])
    assert faq.status().calibration == "valid"
    faq.refit()
    assert faq.calibration is None
    assert faq.status().calibration == "void"
    assert {hit.weak for hit in faq.search("open a bank account")} == {None}
    with pytest.raises(InputError, match="calibrated with another model, chunking or language"):
        faq.search("open a bank account", min_score="auto")
    faq.calibrate()
    assert Home(home.root).collection("faq").status().calibration == "valid"


def test_a_mode_in_which_no_score_separates(faq):
    wrong = [(document.text, []) for document in faq.documents(limit=20)]
    found = faq.calibrate(wrong)
    assert {each.min_score for each in found.modes.values()} == {None}
    with pytest.raises(
        InputError, match="no score of the mode hybrid separates right results of 'faq'"
    ):
        faq.search("open a bank account", min_score="auto")


def test_too_few_documents_or_queries(home):
    home.build("few", [{"id": str(n), "text": f"text number {n}"} for n in range(9)])
    few = home.collection("few")
    with pytest.raises(
        InputError, match="^found 9 documents to calibrate with; expected at least 10$"
    ):
        few.calibrate()
    with pytest.raises(
        InputError, match="^found 1 queries to calibrate with; expected at least 10$"
    ):
        few.calibrate([("text", "1")])
    assert few.status().calibration == "missing"


def test_an_expected_document_that_is_missing(faq):
    with pytest.raises(
        InputError, match="the queries expect 'nowhere', which the collection faq does not have"
    ):
        faq.calibrate([*expected_of(faq), ("a bank", ["nowhere"])])


def test_equal_texts_and_texts_without_words(home):
    rows = [
        {"id": f"{n}-{copy}", "text": f"question number {n} of many"}
        for n in range(12)
        for copy in "ab"
    ]
    home.build("twice", [*rows, {"id": "empty", "text": "…"}])
    found = home.collection("twice").calibrate()
    assert found.queries == 12
    assert found.documents == 25


TABLE = 'query,expected\nopen an account,7\n"a cheap flight","[""8"", 9]"\nopen an account,10\nno answer,\n'
PAIRS = {"open an account": ["7", "10"], "a cheap flight": ["8", "9"], "no answer": []}


@pytest.mark.parametrize("separator", [",", ";", "|"])
def test_expected_documents_of_a_table(tmp_path, separator):
    file = tmp_path / "q.csv"
    rows = [["query", "expected"], ["open an account", "7"], ["a cheap flight", '["8", "9"]']]
    text = "\n".join(
        separator.join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows
    )
    file.write_text(text + "\n")
    assert read_expected(str(file)) == {"open an account": ["7"], "a cheap flight": ["8", "9"]}


def test_expected_documents_of_a_file(tmp_path):
    table = tmp_path / "q.csv"
    table.write_text(TABLE)
    assert read_expected(table) == PAIRS
    lines = tmp_path / "q.jsonl"
    lines.write_text(
        "".join(json.dumps({"question": q, "ids": ids}) + "\n" for q, ids in PAIRS.items())
    )
    assert read_expected(str(lines)) == PAIRS


def test_expected_documents_of_objects():
    pandas = pytest.importorskip("pandas", reason='pip install ".[test-formats]"')
    frame = pandas.DataFrame({"query": ["a", "b", "c"], "expected": [1.0, None, 3.0]})
    assert read_expected(frame) == {"a": ["1"], "b": [], "c": ["3"]}
    lists = pandas.DataFrame({"text": ["a", "b"], "ids": [np.array([1, 2]), ["x"]]})
    assert read_expected(lists) == {"a": ["1", "2"], "b": ["x"]}
    assert read_expected([("a", 1), ("a", "2"), ("b", ("3", 4))]) == {
        "a": ["1", "2"],
        "b": ["3", "4"],
    }
    assert read_expected({"a": "1", "b": None}) == {"a": ["1"], "b": []}
    assert read_expected([("a", ["1", "2"]), ("a", ["2", "3"])]) == {"a": ["1", "2", "3"]}
    both = {"text": "c", "question": "b", "query": "a", "id": "3", "ids": "2", "expected": "1"}
    assert read_expected([both]) == {"a": ["1"]}
    del both["query"], both["expected"]
    assert read_expected([both]) == {"b": ["2"]}


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (
            {"query": "a"},
            "found {'query': 'a'}; expected a query and the ids of its right documents",
        ),
        ({"expected": "1"}, "found {'expected': '1'}; expected a query"),
        (("a", True), "expected a query and the ids"),
        (("a", {"x": 1}), "expected a query and the ids"),
        (("a", "[1"), "expected a query and the ids"),
        (("a", 1.5), "expected a query and the ids"),
        (("a", [["1", True]]), "expected a query and the ids"),
        (("…", "1"), "the query '…' has no word"),
        (7, "found 7; expected a query"),
    ],
)
def test_a_record_of_another_form(record, problem):
    with pytest.raises(RecordError) as caught:
        read_expected([("good", "1"), record])
    assert problem in str(caught.value)
    assert "line 2" in str(caught.value)


def test_no_records(tmp_path):
    with pytest.raises(InputError, match="^queries holds no queries; expected a query and the ids"):
        read_expected([])
    with pytest.raises(InputError, match="no such file"):
        read_expected(Path("absent.csv"))


@pytest.mark.parametrize("name", ["c.jsonl", "c.parquet"])
def test_an_export_has_it(home, tmp_path, name):
    faq = home.create_collection("exported")
    faq.upsert([Document(id=i, text=f"question {i} about a visa or bank {i}") for i in range(12)])
    kept = faq.calibrate()
    faq.export(tmp_path / name)
    home.import_collection(tmp_path / name, "copy")
    assert home.collection("copy").calibration == kept
    assert home.collection("copy").status().calibration == "valid"


@pytest.mark.parametrize("wrong", [7, "{}", "no", '{"modes": {"hybrid": {"x": 1}}}', "[1]"])
def test_a_damaged_calibration_is_refused(home, tmp_path, wrong):
    faq = home.create_collection("exported")
    faq.upsert([("1", "a bank")])
    faq.export(tmp_path / "c.jsonl")
    head, rest = (tmp_path / "c.jsonl").read_text().split("\n", 1)
    (tmp_path / "c.jsonl").write_text(
        json.dumps({**json.loads(head), "calibration": wrong}) + "\n" + rest
    )
    with pytest.raises(InputError, match="is damaged: in its head"):
        home.import_collection(tmp_path / "c.jsonl", "copy")
    assert "copy" not in [each.name for each in home.collections()]
