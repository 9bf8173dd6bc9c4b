"""Labels that are learned from examples."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

from gem_index import Document
from gem_index.errors import InputError, MissingExtraError, RecordError
from gem_index.errors.installing import install_line

WORDS = {
    "visa": "renew my residence visa|extend a visa|papers for a visa|visa office|passport and visa",
    "bank": "open a bank account|a loan of the bank|my bank card|interest of a bank|bank transfer",
    "ärzte": "einen Arzt finden|der Zahnarzt ist zu|Termin beim Arzt|Arzt am Abend|welcher Arzt hilft",
}
TEXTS = {
    f"{label}{number}{copy}": f"{text}{copy}"
    for label, texts in WORDS.items()
    for number, text in enumerate(texts.split("|"))
    for copy in ("", " please", " 签证", " today?")
}


TRUTH = {name: next(label for label in WORDS if name.startswith(label)) for name in TEXTS}
EXAMPLES = [
    {"id": name, "label": label} for name, label in TRUTH.items() if name.endswith((" please", "0"))
]


@pytest.fixture
def faq(home):
    home.build("faq", [Document(id=name, text=text) for name, text in TEXTS.items()])
    return home.collection("faq")


def test_all_documents_get_the_label_of_their_kind(faq):
    found = faq.label(EXAMPLES, "team")
    assert {each.id: each.label for each in found} == TRUTH
    assert [each.id for each in found] == list(TEXTS)
    given = {each["id"] for each in EXAMPLES}
    assert {each.id for each in found if each.example} == given
    assert all((each.probability == 1) == each.example for each in found)
    assert {each.id: each.metadata for each in faq.documents()} == {
        name: {"team": label} for name, label in TRUTH.items()
    }
    assert (found.changed, found.unlabeled, found.parts) == (len(TEXTS), 0, 5)


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (
            lambda faq, tell: faq.label(EXAMPLES, "team", progress=tell),
            [*(("learn", part, 5) for part in range(1, 6)), ("label", 60, 60), ("store", 60, 60)],
        ),
        (lambda faq, tell: faq.topics(3, progress=tell), [("read", 60, 60), ("name", 60, 60)]),
    ],
    ids=["label", "topics"],
)
def test_progress_is_told(faq, ask, told):
    reports = []
    ask(faq, lambda *each: reports.append(each))
    assert reports == told


def test_the_measures_are_those_of_scikit_learn(faq):
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import accuracy_score, recall_score
    from sklearn.model_selection import StratifiedKFold

    from gem_index.sparse import SparseEncoder, WordFeatures

    noisy = [
        {**each, "label": "visa" if number % 5 == 0 else each["label"]}
        for number, each in enumerate(EXAMPLES)
    ]
    found = faq.label(noisy, dry_run=True)
    seqs = {each.id: number for number, each in enumerate(faq.documents())}
    noisy.sort(key=lambda each: seqs[each["id"]])
    texts = [TEXTS[each["id"]] for each in noisy]
    names = np.array([each["label"] for each in noisy])
    vectors = faq.encoder.encode(texts)
    predicted = names.copy()
    with faq.access.reading() as rows:
        analyzer = rows.record.analyzer
    for taught, left in StratifiedKFold(5, shuffle=True, random_state=0).split(texts, names):
        seen = [texts[i] for i in taught]
        words = WordFeatures(SparseEncoder.fit(seen, analyzer), seen)
        model = LogisticRegression(C=3, max_iter=1000)
        model.fit(words.beside(vectors[taught], seen), names[taught])
        predicted[left] = model.predict(words.beside(vectors[left], [texts[i] for i in left]))
    assert found.accuracy == accuracy_score(names, predicted) < 1
    assert found.interval[0] < found.accuracy < found.interval[1]
    quality = {each.label: each for each in found.qualities}
    for label in WORDS:
        assert quality[label].recall == recall_score(
            names, predicted, labels=[label], average="micro"
        )
        assert quality[label].examples == (names == label).sum()
    assert found.baseline == (names == "visa").mean()


def test_a_dry_run_writes_nothing(faq):
    before = {each.id: each.metadata for each in faq.documents()}
    found = faq.label(EXAMPLES, dry_run=True)
    assert (len(found), found.changed) == (len(TEXTS), 0)
    assert {each.id: each.metadata for each in faq.documents()} == before


def test_files_frames_and_texts_teach_the_same(faq, tmp_path):
    by_id = faq.label(EXAMPLES, dry_run=True)
    texts = [{"text": TEXTS[each["id"]], "team": each["label"]} for each in EXAMPLES]
    lines = tmp_path / "examples.jsonl"
    lines.write_text("".join(json.dumps(each) + "\n" for each in texts))
    table = pa.Table.from_pylist(EXAMPLES)
    pyarrow.csv.write_csv(table, tmp_path / "examples.csv")
    for source in (tmp_path / "examples.csv", table, lines, str(lines)):
        found = faq.label(source, "team", dry_run=True)
        assert {each.id: each.label for each in found} == TRUTH
        assert [each.examples for each in found.qualities] == [
            each.examples for each in by_id.qualities
        ]


def test_texts_and_documents_teach_in_any_order(faq):
    """A text may have an id that the collection does not know: that of another file."""
    texts = [{"id": f"other {i}", "text": f"river {i} bank", "label": "bank"} for i in range(3)]
    for examples in ([*texts, *EXAMPLES], [*EXAMPLES, *texts]):
        found = faq.label(examples, dry_run=True)
        assert {each.id for each in found if each.example} == {each["id"] for each in EXAMPLES}


def test_numbers_are_labels_and_records_without_a_label_are_left_out(faq):
    numbers = {label: number for number, label in enumerate(WORDS)}
    records = [{"id": each["id"], "label": numbers[each["label"]]} for each in EXAMPLES]
    found = faq.label([*records, {"id": "bank1", "label": ""}, {"id": "bank2"}], dry_run=True)
    assert {each.id: each.label for each in found} == {
        name: str(numbers[label]) for name, label in TRUTH.items()
    }
    assert sum(each.example for each in found) == len(EXAMPLES)


def test_a_filter_and_a_probability_leave_documents_out(faq):
    faq.set_field("kind", {name: label for name, label in TRUTH.items() if label != "bank"})
    faq.label(EXAMPLES, "team", where={"kind": {"$exists": True}})
    assert faq.count({"team": {"$exists": True}}) == 40
    assert faq.count({"team": "bank"}) == 0
    sure = faq.label(EXAMPLES, min_probability=1.0, dry_run=True)
    assert all(each.example for each in sure)
    assert sure.unlabeled == len(TEXTS) - len(EXAMPLES)


def test_documents_without_words_get_no_label(faq):
    faq.upsert([Document(id="empty", text="?!"), Document(id="long", text="a bank visa " * 20_000)])
    found = faq.label(EXAMPLES, dry_run=True)
    assert "empty" not in {each.id for each in found}
    assert next(each for each in found if each.id == "long").label in ("bank", "visa")
    assert found.unlabeled == 1


def test_an_existing_field_is_replaced_only_if_asked_for(faq):
    faq.label(EXAMPLES, "team")
    with pytest.raises(InputError, match="60 documents of faq have the field 'team'"):
        faq.label(EXAMPLES, "team")
    swapped = [{**each, "label": each["label"].upper()} for each in EXAMPLES]
    faq.label(swapped, "team", replace=True)
    assert faq.count({"team": "VISA"}) == 20


@pytest.mark.parametrize(
    ("examples", "told"),
    [
        ([], "examples has no labels; expected an id or a text with its label"),
        ([{"id": "bank0"}], "examples has no labels"),
        (
            [{"id": "bank0", "label": "a"}],
            "^found only examples with the label 'a'; expected at least two labels$",
        ),
        (
            [{"id": "bank0", "label": "a"}, {"id": "visa0", "label": "b"}],
            "^found one text with the label '[ab]'; expected at least two of each label, to learn from one and measure with "
            "the other: add examples, or leave the label out$",
        ),
        (
            [{"id": "gone", "label": "a"}],
            "^the examples name 'gone', which the collection faq does not have; expected ids of its documents, or texts$",
        ),
        (
            [{"id": "bank0", "label": "a"}, {"id": "bank0", "label": "b"}],
            "give 'bank0' the labels 'a' and 'b'; expected one label per document",
        ),
    ],
)
def test_examples_that_teach_nothing_are_refused(faq, examples, told):
    with pytest.raises(InputError, match=told):
        faq.label(examples)
    assert all(not each.metadata for each in faq.documents())


def test_two_texts_of_each_label_are_enough(faq):
    some = [each for label in WORDS for each in EXAMPLES if each["label"] == label][:2]
    other = [each for each in EXAMPLES if each["label"] != some[0]["label"]][:2]
    found = faq.label([*some, *other])
    assert {each.label for each in found} == {some[0]["label"], other[0]["label"]}
    assert [each.examples for each in found.qualities] == [2, 2]


@pytest.mark.parametrize("record", [{"label": "a"}, {"id": "bank0", "label": [1]}, "bank0"])
def test_a_record_of_another_form_is_named(faq, record):
    with pytest.raises(RecordError, match="examples line 2: found .*; expected an id or a text"):
        faq.label([EXAMPLES[0], record])


FORM = 'expected an id or a text with its label, such as {"id": "7", "label": "billing"}'


@pytest.mark.parametrize("kind", [str, Path])
def test_a_file_of_examples_is_named_in_messages(faq, tmp_path, kind):
    path = tmp_path / "labels.csv"
    path.write_text("id,label\nbank0,\n")
    with pytest.raises(InputError) as refused:
        faq.label(kind(path))
    assert str(refused.value) == f"{path} has no labels; {FORM}"
    path.write_text("id,label\nbank0,a\n,b\n")
    with pytest.raises(RecordError) as wrong:
        faq.label(kind(path))
    assert str(wrong.value).startswith(f"{path} line 3: found ")
    assert str(wrong.value).endswith(f"; {FORM}")


def test_without_scikit_learn_the_error_has_the_line_that_installs_it(faq, monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.linear_model", None)
    with pytest.raises(MissingExtraError, match=re.escape(install_line("gem-index[label]"))):
        faq.label(EXAMPLES)


@pytest.mark.parametrize("probability", [-0.1, 1.1, "half"])
def test_a_probability_out_of_range_is_refused(faq, probability):
    with pytest.raises(InputError, match="min_probability is .*; expected a number from 0 to 1"):
        faq.label(EXAMPLES, min_probability=probability)
