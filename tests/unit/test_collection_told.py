"""What a collection tells: its name and size, and the messages of its methods, as a whole."""

import json
import pickle

import pytest

from gem_index import Document
from gem_index.collection.request import SearchRequest
from gem_index.collection.state.calibration import (
    Calibration,
    ModeCalibration,
    calibration_state,
    score_bound,
)
from gem_index.collection.write import building
from gem_index.errors import DiskError, InputError, UnknownNameError


def some(count):
    return [Document(id=str(n), text=f"a visa number {n}", metadata={"n": n}) for n in range(count)]


def test_its_representation(home, faq):
    assert repr(faq) == "Collection('faq', 0 documents, tiny)"
    faq.upsert(some(1200))
    assert repr(faq) == "Collection('faq', 1,200 documents, tiny)"
    home.drop("faq")
    assert repr(faq).startswith("Collection('faq', ")
    assert "documents, tiny" not in repr(faq)


def test_it_is_true_without_documents(faq):
    assert faq
    assert len(faq) == 0


def test_a_pickle_of_a_dropped_collection_names_the_home(home, faq):
    faq.upsert(some(1))
    kept = pickle.dumps(faq)
    assert pickle.loads(kept).count() == 1
    home.drop("faq")
    with pytest.raises(UnknownNameError) as refused:
        pickle.loads(kept)
    assert f"the home {home.root} no longer has it" in str(refused.value)


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (lambda faq: faq.count_by("n", limit=0), "the limit is 0; expected at least 1 value"),
        (
            lambda faq: faq.search_many("a visa"),
            "found the text 'a visa'; expected a list of queries",
        ),
        (
            lambda faq: faq.similar("x"),
            "the collection faq has no document 'x'; expected the id of one of its documents",
        ),
        (
            lambda faq: faq.similar("empty"),
            "the document 'empty' has no words; expected a document with words",
        ),
        (
            lambda faq: faq.delete(),
            "found no ids and no filter; expected ids or a filter with a condition: it says which documents to delete",
        ),
        (
            lambda faq: faq.delete(where={}),
            "found an empty filter, which every document matches; expected ids or a filter with a condition: it says which "
            "documents to delete",
        ),
        (
            lambda faq: faq.delete([], where={"n": 1}),
            "found ids and a filter; expected one of them to say which documents to delete",
        ),
        (
            lambda faq: faq.set_field("a.b", {}),
            "the field is 'a.b'; expected a name without . \" [ ] $, such as topic",
        ),
        (
            lambda faq: faq.set_field("n", {"1": 1}, where={"n": {"$lt": 2}}),
            "2 documents of faq have the field 'n'; expected a name that no document has. If you do not need its values: "
            "replace them with replace=True",
        ),
        (
            lambda faq: faq.check_field_is_free("n"),
            "3 documents of faq have the field 'n'; expected a name that no document has. If you do not need its values: "
            "replace them with replace=True",
        ),
        (
            lambda faq: faq.calibrate(),
            "found 3 documents to calibrate with; expected at least 10",
        ),
        (
            lambda faq: faq.calibrate({f"visa {n}": ["1"] for n in range(9)}),
            "found 9 queries to calibrate with; expected at least 10",
        ),
        (
            lambda faq: faq.calibrate({f"visa {n}": ["1", "z", "y"] for n in range(10)}),
            "the queries expect 'y', which the collection faq does not have; expected ids of its documents",
        ),
    ],
)
def test_a_message(faq, call, told):
    faq.upsert([*some(3), Document(id="empty", text="...")])
    with pytest.raises(InputError) as refused:
        call(faq)
    assert str(refused.value) == told
    assert len(faq) == 4


def test_ten_queries_are_enough_to_calibrate_with(faq):
    faq.upsert(some(10))
    found = faq.calibrate({f"visa number {n}": [str(n)] for n in range(10)})
    assert (found.queries, found.known_answers, found.documents) == (10, True, 10)


def test_without_documents(faq):
    for call, told in (
        (
            faq.refit,
            "the collection faq has no documents; expected documents to fit on: add some first",
        ),
        (faq.drift, "the collection faq has no documents; expected some to compare"),
    ):
        with pytest.raises(InputError) as refused:
            call()
        assert str(refused.value) == told


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda faq, tell: faq.drift(progress=tell), [("fit", 4, 4)]),
        (lambda faq, tell: faq.sparse_encoder(progress=tell), [("fit", 4, 4)]),
    ],
)
def test_the_progress_of_a_question(faq, ask, told):
    faq.upsert(some(4))
    reports = []
    ask(faq, lambda *each: reports.append(each))
    assert reports == told


def test_the_progress_of_changes_and_of_files(home, faq, tmp_path):
    faq.upsert(some(4))
    path, indexing = tmp_path / "faq.jsonl", [("encode", 6, 6), ("index words", 6, 6)]
    for work, told in (
        (lambda tell: faq.upsert(some(7), progress=tell), [("store", 7, 7)]),
        (lambda _: faq.delete(["1"]), []),
        (lambda tell: faq.compact(progress=tell), indexing),
        (lambda tell: faq.refit(progress=tell), [("fit", 6, 6), *indexing]),
        (lambda tell: faq.set_field("x", {"2": 1}, progress=tell), [("store", 6, 6)]),
        (lambda tell: faq.export(path, progress=tell), [("export", 6, 6)]),
        (lambda tell: home.import_collection(path, "b", progress=tell), indexing),
        (lambda tell: faq.write_documents(tmp_path / "a.csv", progress=tell), [("write", 6, 6)]),
        (
            lambda tell: home.build("c", some(6), vectors="tiny", progress=tell),
            [("store", 6, 6), ("fit", 6, 6), *indexing],
        ),
    ):
        reports = []
        work(lambda *each, reports=reports: reports.append(each))
        assert reports == told


def test_a_field_that_is_free(faq):
    faq.upsert(some(3))
    faq.check_field_is_free("n", where={"n": 7})
    faq.check_field_is_free("n", replace=True)
    faq.check_field_is_free("new")
    with pytest.raises(InputError, match=r"^the field is '\$n'"):
        faq.check_field_is_free("$n")


def test_a_document_with_the_longest_id_and_the_deepest_metadata(home, faq, tmp_path):
    metadata = json.loads('{"a":' * 89 + "[1]" + "}" * 89)  # with the list, 90 levels
    longest = "\N{LATIN SMALL LETTER E WITH ACUTE}" * 512
    faq.upsert([Document(id=longest, text="a visa", metadata=metadata)])
    faq.export(tmp_path / "faq.jsonl")
    for collection in (faq, home.import_collection(tmp_path / "faq.jsonl", "again")):
        [found] = collection.documents()
        assert (found.id, found.metadata) == (longest, metadata)


def test_a_description_of_the_longest_length(faq):
    faq.set_description(f" {'x' * 1000}\n")
    assert faq.description == "x" * 1000


def test_the_report_of_a_deletion_counts_a_document_once(faq):
    faq.upsert(some(3))
    report = faq.delete(["1", "x", "1", "2"])
    assert (report.deleted, report.missing) == (2, ("x",))
    report = faq.delete(where={"n": {"$gte": 0}})
    assert (report.deleted, report.missing) == (1, ())


def test_the_progress_of_a_verification(faq, monkeypatch):
    monkeypatch.setattr("gem_index.store.documents._BATCH", 2)
    faq.upsert(some(3))
    reports = []
    assert faq.verify(progress=lambda *each: reports.append(each)) == []
    assert reports == [("verify", 2, 3), ("verify", 3, 3)]


def test_a_verification_that_mends_nothing_builds_nothing(faq):
    faq.upsert(some(3))
    faq.refit()
    before = faq.status().index
    assert faq.verify(fix=True) == []
    assert faq.status().index == before


def test_an_index_that_does_not_fit_into_memory_costs_no_document(faq, monkeypatch, caplog):
    def large(*_, **__):
        raise MemoryError("too large")

    monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 2)
    monkeypatch.setattr("gem_index.collection.write.writing.publish_in", large)
    assert faq.upsert(some(5)).added == 5
    assert "the index of faq was not brought up to date: too large" in caplog.text
    caplog.clear()
    assert faq.delete(["1"]).deleted == 1
    assert "the index of faq was not brought up to date: too large" in caplog.text
    assert len(faq) == 4


def test_a_failed_build_that_cannot_be_removed_says_so(home, faq, monkeypatch):
    def refused(*_):
        raise DiskError("no space")

    monkeypatch.setattr(building, "drop", refused)
    with pytest.raises(InputError) as failed:
        home.build("new", [{"id": "1"}], vectors="tiny")
    [note] = failed.value.__notes__
    assert note == "the collection new was not removed: no space"


class Record:
    name = "faq"

    def __init__(self, calibration=""):
        self.calibration = calibration


CALIBRATED = Record(
    Calibration(
        {"hybrid": ModeCalibration(0.5, 20, 1), "dense": ModeCalibration(None, 0, 0)}, 20, True, 9, "f"
    ).to_json()
)  # fmt: skip
ADVICE = ": call home.collection('faq').calibrate()"


def asked(mode="hybrid", **options):
    return SearchRequest("a visa", mode=mode, **options)


@pytest.mark.parametrize(
    ("record", "fingerprint", "mode", "told"),
    [
        (
            Record(),
            "f",
            "hybrid",
            f"found the min_score auto, but 'faq' is not calibrated; expected a number, or a calibration{ADVICE}",
        ),
        (
            CALIBRATED,
            "g",
            "hybrid",
            "found the min_score auto, but 'faq' was calibrated with another model, chunking or language; expected a "
            f"number, or a new calibration{ADVICE}",
        ),
        (
            CALIBRATED,
            "f",
            "dense",
            "found the min_score auto, but no score of the mode dense separates right results of 'faq' from wrong ones; "
            "expected a number, or another mode",
        ),
    ],
)
def test_a_score_that_is_not_known(record, fingerprint, mode, told):
    with pytest.raises(InputError) as refused:
        score_bound(record, fingerprint, asked(mode, min_score="auto"))
    assert str(refused.value) == told
    assert score_bound(record, fingerprint, asked(mode)) is None
    assert score_bound(record, fingerprint, asked(mode, min_score=0.25)) is None


def test_a_score_that_is_known():
    assert score_bound(CALIBRATED, "f", asked(min_score="auto")) == 0.5
    assert score_bound(CALIBRATED, "f", asked()) == 0.5
    assert score_bound(CALIBRATED, "f", asked(fusion="rrf")) is None
    assert calibration_state(Record(), "f") == "missing"
    assert calibration_state(CALIBRATED, "f") == "valid"
    assert calibration_state(CALIBRATED, "g") == "void"
