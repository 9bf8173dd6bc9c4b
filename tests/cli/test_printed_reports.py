"""Reports of slow measures as people read them, whole: the measures are replaced, what is printed is compared."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from gem_index.collection import Collection
from gem_index.collection.corpus.drift import Drift
from gem_index.collection.corpus.labels import DocumentLabel, LabelQuality, Labels
from gem_index.collection.corpus.novelty import NovelDocument, Novelty, Share
from gem_index.collection.state.calibration import Calibration, ModeCalibration

SHARES = (Share(0.5, 0.25, 0.75, 0.125), Share(0.0625, 0, 1, 0.03125))


@pytest.fixture
def replaced(monkeypatch, faq):
    """Replace a method of a collection by one that returns a value; return the arguments of its calls."""

    def replace(name, value):
        calls = []

        def method(self, *arguments, **named):
            calls.append((arguments, named))
            return value

        monkeypatch.setattr(Collection, name, method)
        monkeypatch.setenv("COLUMNS", "200")
        return calls

    return replace


def shown(answer):
    """The printed lines, without the spaces and lines that make tables."""
    assert (answer.status, answer.err) == (0, "")
    lines = [" ".join(line.split()) for line in answer.out.splitlines()]
    return [line for line in lines if line.strip("─ ")]


def novelty(found, documents=(), topics=()):
    return Novelty(30, 40, *SHARES, found, tuple(documents), tuple(topics))


COMPARED = [
    "Compared: 30 new texts with 40 of the fit.",
    "new texts share interval expected",
    "far from the texts of the fit 0.500 0.250 to 0.750 0.125",
    "among the nearest of each other 0.062 0.000 to 1.000 0.031",
]


class TestDrift:
    def test_a_refit_changes_much(self, gem, replaced):
        replaced("drift", Drift(50, 20, (), 0.0125, True, novelty(False), "refit"))
        assert shown(gem("drift", "faq")) == [
            "20 of 50 documents came after the fit. A refit would change a cosine by 0.013 on average.",
            *COMPARED,
            "No new subjects.",
            "Refit it: gem-index refit faq",
        ]

    def test_new_subjects(self, gem, replaced):
        topics = [
            SimpleNamespace(
                documents=21,
                words=("ducks", "river", "x"),
                examples=[SimpleNamespace(text="a\n b")],
            ),
            SimpleNamespace(
                documents=1, words=("dogs",), examples=[SimpleNamespace(text="c" * 130)]
            ),
        ]
        documents = [NovelDocument(f"d{n}", f"text\t{n}", n / 32, n % 2) for n in range(22)]
        replaced("drift", Drift(50, 20, (), 0.5, False, novelty(True, documents, topics), "look"))
        assert shown(gem("drift", "faq")) == [
            "20 of 50 documents came after the fit. A refit would change a cosine by 0.500 on average.",
            *COMPARED,
            "New subjects: 22 texts are far from the texts of the fit.",
            "documents words typical",
            "21 ducks, river, x a b",
            f"1 dogs {'c' * 120}",
            "id similarity words text",
            *(
                f"d{n} {n / 32:.3f} {'dogs' if n % 2 else 'ducks, river'} text {n}"
                for n in range(20)
            ),
            "2 more: --json, or --output",
            "Look at these documents. If they belong to the collection, refit it: gem-index refit faq",
        ]

    @pytest.mark.parametrize("since", [0, 7])
    def test_few_texts(self, gem, replaced, since):
        replaced("drift", Drift(50, since, (), 0.0, False))
        few = "There are fewer than 20 new texts, or fewer than 20 texts of the fit: too few to look for new subjects."
        assert shown(gem("drift", "faq")) == [
            f"{since} of 50 documents came after the fit. A refit would change a cosine by 0.000 on average.",
            *([few] if since else []),
            "No refit is needed.",
        ]


@pytest.fixture
def labels():
    made = Labels(
        [DocumentLabel("1", "a", 0.5, True), DocumentLabel("2", "b", 0.75, False)],
        [LabelQuality("a", 6, 0.5, 0.125), LabelQuality("b", 2, 1.0, 0.0)],
        accuracy=0.625,
        interval=(0.25, 0.875),
        parts=3,
        unlabeled=4,
    )
    made.changed = 1
    return made


QUALITY = [
    "Cross-validated on 8 examples in 3 parts: 0.62 are right (0.25 to 0.88). The most frequent label alone: 0.75.",
    "label examples precision recall documents",
    "a 6 0.50 0.12 1",
    "b 2 1.00 0.00 1",
]


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ((), ["1 documents changed: 2 have the field team now."]),
        (("--dry-run",), ["2 documents would get the field team; nothing was written."]),
        (
            ("-o", "FOLDER/rows.csv"),
            ["1 documents changed: 2 have the field team now.", "2 rows in FOLDER/rows.csv."],
        ),
    ],
)
def test_labels(gem, replaced, labels, tmp_path, options, told):
    (tmp_path / "examples.csv").write_text("id,team\n1,a\n")
    calls = replaced("label", labels)
    options = [option.replace("FOLDER", str(tmp_path)) for option in options]
    answer = gem("label", "faq", tmp_path / "examples.csv", "--field", "team", *options)
    lines = [line.replace(str(tmp_path), "FOLDER") for line in shown(answer)]
    assert lines == [*QUALITY, *told, "4 documents get no label."]
    assert len(calls) == 1
    labels.unlabeled = 0
    again = gem("label", "faq", tmp_path / "examples.csv", "--field", "team", *options)
    assert "get no label" not in again.out


@pytest.mark.parametrize(
    ("known", "told"),
    [
        (
            True,
            "Searched for 12 queries with known documents: at or above the score, at most one in ten first results is "
            "wrong.",
        ),
        (
            False,
            "Searched for parts of 12 documents in the other documents: three in ten parts still reach the score.",
        ),
    ],
    ids=["known", "parts"],
)
def test_a_calibration(gem, replaced, known, told):
    modes = {"dense": ModeCalibration(0.5, 7, 1), "lexical": ModeCalibration(None, 0, None)}
    replaced("calibrate", Calibration(modes, 12, known, 5, "f"))
    assert shown(gem("calibrate", "faq")) == [
        told,
        "mode weak below queries that reach it wrong among them",
        "dense 0.500 7 1",
        "lexical - 0 -",
        "Searches of faq now mark weak results; --min-score auto leaves them out.",
    ]
