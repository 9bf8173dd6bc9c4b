"""calibrate, and searches of a calibrated collection."""

import json

import pytest

from gem_index_cli.main import run

TEXTS = [
    *("How do I renew a visa?", "When does the bank open?", "Is the school open today?"),
    *(
        "Where can I buy a cheap flight?",
        "How long is a passport valid?",
        "Which bus goes to the river?",
    ),
    *("Wie eröffne ich ein Konto bei der Bank?", "Wann öffnet die Bibliothek am Samstag?"),
    *(
        "护照的有效期是多长时间",
        "كيف أجدد جواز السفر؟",
        "What does a doctor cost?",
        "Who repairs bicycles?",
    ),
]


def build(home):
    path = home.root.parent / "r.jsonl"
    rows = [json.dumps({"id": str(n), "text": text}) for n, text in enumerate(TEXTS)]
    path.write_text("\n".join(rows))
    assert run(["--home", str(home.root), "build", "faq", str(path)]) == 0


@pytest.fixture
def built(copied_home, tmp_path):
    """A home with the collection faq; return the folder that it is in."""
    copied_home(build)
    return tmp_path


@pytest.fixture
def expected(built):
    """A file of queries and the ids of their documents."""
    path = built / "expected.csv"
    path.write_text("query,expected\n" + "".join(f'"{text}",{n}\n' for n, text in enumerate(TEXTS)))
    return path


def test_from_the_collection_alone(gem, built):
    told = gem("calibrate", "faq").out
    assert "Searched for parts of 12 documents in the other documents" in told
    assert [
        line.split()[0] for line in told.splitlines() if line[2:8].strip() and "0." in line
    ] == [
        "hybrid",
        "dense",
    ]
    found = gem("calibrate", "faq", "--json").json
    assert list(found["modes"]) == ["hybrid", "lexical", "dense"]
    assert (found["queries"], found["known_answers"]) == (12, False)
    assert gem("status", "faq", "--json").json["collections"][0]["calibration"] == "valid"


def test_with_known_answers_the_terminal_and_json_mark_weak_results(gem, built, expected):
    told = gem("calibrate", "faq", expected).out
    assert "Searched for 12 queries with known documents" in told
    shown = gem("search", "faq", TEXTS[0], "-k", 2).out.splitlines()
    assert shown[0].split()[2:4] == ["0", "How"]
    assert shown[1].split()[2] == "weak"
    assert shown[0].index(" 0 ") == shown[1].index(shown[1].split()[3]) - 1  # ids in one column
    rows = gem("search", "faq", TEXTS[0], "-k", 2, "--json").json
    assert [row["weak"] for row in rows] == [False, True]
    assert [
        row["id"] for row in gem("search", "faq", TEXTS[0], "--min-score", "auto", "--json").json
    ] == ["0"]
    assert (
        gem("search", "faq", "is this open source", "--min-score", "auto").out
        == "Nothing was found.\n"
    )
    weak = gem("search", "faq", "is this open source").out
    assert weak.startswith("All results are weak: perhaps no document answers this.\n")


def test_a_refit_makes_it_void_and_says_so(gem, built):
    gem("calibrate", "faq")
    more = built / "more.txt"
    more.write_text("Where is the embassy?\n")
    gem("add", "faq", more)
    told = gem("refit", "faq").out
    note = (
        "The calibration of faq is void, because the model, the chunking or the language changed. Run: gem-index calibrate "
        "faq\n"
    )
    assert told.endswith(note)
    assert note in gem("build", "faq", more).out
    failed = gem("search", "faq", "visa", "--min-score", "auto")
    assert failed.status == 2
    assert "'faq' was calibrated with another model, chunking or language" in failed.err
    assert "run: gem-index calibrate faq" in failed.err
    gem("calibrate", "faq")
    assert "void" not in gem("status", "faq").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["search", "faq", "visa", "--min-score", "high"],
            "found --min-score 'high'; expected a number, or auto",
        ),
        (
            ["search", "faq", "visa", "--min-score", "auto"],
            "is not calibrated; expected a number, or a calibration: run: ",
        ),
        (["calibrate", "faq", "absent.csv"], "absent.csv"),
        (["calibrate", "fax"], "did you mean faq?"),
    ],
)
def test_bad_input(gem, built, arguments, message):
    failed = gem(*arguments)
    assert failed.status == 2
    assert message in failed.err
    assert failed.err.count("\n") == 1
