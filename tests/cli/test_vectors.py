"""The vectors commands: what they print and refuse."""

import json

import numpy as np
import pytest

from gem_index.vectors.formats.registry import read_vectors

NOTE = (
    "Note: the word vectors know {} of the words of a sample; the texts may be in another language or script, or the "
    "vectors keyed otherwise. gem-index vectors catalogue lists vectors of other languages.\n"
)


@pytest.fixture
def glove(tmp_path):
    path = tmp_path / "v.txt"
    lines = [
        "the 1 0 0",
        "man 0 1 0",
        "woman 0 1 1",
        "king 2 1 0",
        "queen 2 1 1",
        "Paris 0 0 3",
        "the 9 9 9",
    ]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_add_reports_tolerated_problems_and_loss(gem, glove):
    answer = gem("vectors", "add", "v", glove, "--dtype", "int8", "--case", "fallback")
    assert answer.status == 0
    assert "v: 7 words, 3 dimensions (glove)." in answer.out
    assert "1 words are repeated; the first of each is used." in answer.out
    assert "Storing in fewer bits moved a row by" in answer.out
    shown = gem("vectors", "show", "v", "--json").json
    assert shown["options"] == {"dtype": "int8", "case": "fallback"}
    assert shown["findings"]["duplicates"] == 1
    assert shown["origin"] == str(glove)
    assert "case=fallback" in gem("vectors", "show", "v").out


@pytest.fixture
def fasttext(tmp_path):
    import fasttext

    (tmp_path / "corpus.txt").write_text("the river bank and a boat\n" * 30)
    model = fasttext.train_unsupervised(
        str(tmp_path / "corpus.txt"), dim=10, bucket=20, minCount=1, epoch=1, thread=10, verbose=0
    )
    model.save_model(str(tmp_path / "m.bin"))
    return tmp_path / "m.bin"


def test_ngrams_are_used_unless_something_else_is_chosen(gem, fasttext, glove):
    answer = gem("vectors", "add", "ngrams", fasttext)
    assert "Unknown words are composed of their n-grams (--oov subword" in answer.out
    assert gem("vectors", "add", "as-json", fasttext, "--json").json["options"] == {
        "oov": "subword"
    }
    answer = gem("vectors", "add", "hashed", fasttext, "--oov", "hash")
    assert "n-grams" not in answer.out
    assert gem("vectors", "show", "hashed", "--json").json["options"] == {}
    assert "n-grams" not in gem("vectors", "add", "words", glove).out


def test_coverage(gem, glove, tmp_path):
    gem("vectors", "add", "v", glove, "--case", "fallback")
    (tmp_path / "c.txt").write_text("The man in Paris, the king in paris\nqueen in in zebra\n")
    found = gem("vectors", "show", "v", "--coverage", tmp_path / "c.txt", "--json").json["coverage"]
    assert (found["tokens"], found["types"]) == (12, 7)
    assert found["known_tokens"] == pytest.approx(7 / 12)
    assert found["known_types"] == pytest.approx(5 / 7)
    assert found["unknown_words"] == [["in", 4], ["zebra", 1]]
    assert sum(count for _, count in found["norms"]) == 5
    assert found["norms"][-1] == [3.0, 1]
    printed = gem("vectors", "show", "v", "--coverage", tmp_path / "c.txt").out
    assert max(line.count("\u2588") for line in printed.splitlines()) == 20
    assert "58.33%" in printed
    assert "zebra" in printed
    (tmp_path / "c.txt").write_text("the man the king\n")
    printed = gem("vectors", "show", "v", "--coverage", tmp_path / "c.txt").out
    assert "100.00%" in printed
    assert "unknown word" not in printed


def test_analogy(gem, glove):
    gem("vectors", "add", "v", glove)
    found = gem("vectors", "analogy", "man", "king", "woman", "--vectors", "v", "-k", 1, "--json")
    assert found.json[0]["word"] == "queen"
    assert "queen" in gem("vectors", "analogy", "man", "king", "woman", "--vectors", "v").out
    answer = gem("vectors", "analogy", "man", "king", "nobody", "--vectors", "v")
    assert answer.status == 2
    assert "do not hold the word 'nobody'" in answer.err


@pytest.mark.parametrize(
    ("text", "vectors", "share"),
    [
        ("man king x", "v", None),
        ("man king x y", "v", None),
        ("man king x y z", "v", "40%"),
        ("man king x y z", "v+w", None),
        ("man king x y z", "w+v", None),
        ("man u x y z", "w+v", "40%"),
    ],
)
def test_a_note_if_less_than_half_of_the_words_are_known(
    gem, glove, tmp_path, text, vectors, share
):
    (tmp_path / "w.txt").write_text("the 1 0 0\nx 0 1 0\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({"text": text}) + "\n")
    gem("vectors", "add", "v", glove)
    gem("vectors", "add", "w", tmp_path / "w.txt")
    answer = gem("fit", "m", tmp_path / "c.jsonl", "--vectors", vectors, "--json")
    assert answer.status == 0, answer.err
    assert answer.json["model"] == "m"
    assert answer.err == ("" if share is None else NOTE.format(share))


def test_a_word_is_known_if_one_encoder_of_several_knows_it(gem, glove, tmp_path):
    (tmp_path / "w.txt").write_text("the 1 0 0\nx 0 1 0\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({"text": "man king x y z"}) + "\n")
    for name, first, second, told in (
        ("a", "w.txt", "v.txt", ""),
        ("b", "v.txt", "w.txt", ""),
        ("c", "w.txt", "w.txt", NOTE.format("20%")),
    ):
        encoders = [{"vectors": str(tmp_path / each)} for each in (first, second)]
        (tmp_path / "both.json").write_text(json.dumps({"encoders": encoders}))
        answer = gem("fit", name, tmp_path / "c.jsonl", "--config", tmp_path / "both.json")
        assert (answer.status, answer.err) == (0, told)


def test_fit_vocabulary_and_export(gem, glove, tmp_path):
    gem("vectors", "add", "v", glove)
    (tmp_path / "c.jsonl").write_text(json.dumps({"text": "a man, a king"}) + "\n")
    cut = gem(
        "vectors", "fit-vocabulary", "small", tmp_path / "c.jsonl", "--vectors", "v",
        "--frequent", 0, "--dtype", "float16", "--json",
    ).json  # fmt: skip
    assert (cut["words"], cut["format"]) == (2, "cut")
    answer = gem("vectors", "export", "small", "-o", tmp_path / "small.vec", "--json")
    assert answer.json == {"rows": 2, "output": str(tmp_path / "small.vec")}
    words, rows = next(read_vectors(tmp_path / "small.vec").chunks())
    assert words == ["man", "king"]
    np.testing.assert_array_equal(rows, [[0, 1, 0], [2, 1, 0]])


def test_fit_vocabulary_stores_as_it_is_told(gem, tmp_path):
    (tmp_path / "words.txt").write_text("the 1 0 0\nman 0.1 1 0\nking 2 1 0.3\n")
    (tmp_path / "c.jsonl").write_text(json.dumps({"text": "a man, a king"}) + "\n")
    gem("vectors", "add", "v", tmp_path / "words.txt")
    line = ("vectors", "fit-vocabulary", "small", tmp_path / "c.jsonl", "--vectors", "v")
    answer = gem(*line, "--dtype", "int8", "--case", "fallback")
    assert answer.out == (
        "small: 2 words, 3 dimensions (cut).\n"
        "Storing in fewer bits moved a row by 0.29% of its length (mean; largest 0.35%).\n"
    )
    assert gem("vectors", "show", "small", "--json").json["options"] == {
        "case": "fallback",
        "dtype": "int8",
    }
    gem("vectors", "remove", "small")
    told = gem(*line, "--case", "lower", "--json").json
    assert (told["words"], told["options"]) == (2, {"case": "lower"})
    assert (told["origin"], told["findings"]["loss"]) == ("v cut to 2 words", None)


def test_catalogue(gem):
    found = {entry["name"]: entry for entry in gem("vectors", "catalogue", "--json").json}
    assert found["glove.840B.300d"]["bytes"] == 2_176_768_927
    assert "PDDL" in gem("vectors", "catalogue").out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["add", "v", "absent.txt"], "no file, address or known vectors are named 'absent.txt'"),
        (["add", "no such name"], "expected 1 to 64 letters"),
        (["add", "unheard-of"], "no file, address or known vectors are named 'unheard-of'"),
        (["add", "v", "{glove}", "--dtype", "float64"], "dtype is 'float64'; expected float32"),
        (
            ["add", "v", "{glove}", "--format", "nonsense"],
            "the format is 'nonsense'; expected one of",
        ),
        (["add", "v", "{glove}", "--format", "word2vec-text"], "line 1 is b'the 1 0 0"),
        (["add", "v", "{glove}", "--oov", "subword"], "has no n-grams"),
        (["add", "v", "{glove}", "--from", "x"], "found a mirror for"),
        (["export", "absent", "-o", "x.txt"], "no vectors are named 'absent'"),
        (["export", "wordllama", "-o", "x.txt"], "composes words from pieces"),
        (
            ["fit-vocabulary", "s", "{glove}", "--vectors", "absent"],
            "no vectors are named 'absent'",
        ),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(
    gem, glove, state, tmp_path, monkeypatch, arguments, message
):
    monkeypatch.chdir(tmp_path)
    gem("vectors", "list")
    before = state()
    answer = gem("vectors", *(argument.format(glove=glove) for argument in arguments))
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.count("\n") == 1
    assert message in answer.err
    assert state() == before
    assert not (tmp_path / "x.txt").exists()


@pytest.mark.parametrize(
    "command", [["add", "v", "{glove}"], ["fit-vocabulary", "v", "{glove}", "--vectors", "tiny"]]
)
@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--limit", 0, "limit is 0; expected at least 1"),
        ("--limit", -1, "limit is -1; expected at least 1"),
        ("--scale", 0, "scale is 0.0; expected a number from 1e-9 to 1e9"),
        ("--scale", "nan", "scale is nan; expected a number from 1e-9 to 1e9"),
        ("--oov", "", "oov is ''; expected hash, zero, subword"),
        ("--case", "", "case is ''; expected keep, lower, fallback"),
        ("--contractions", "", "contractions is ''; expected word, apostrophe"),
        ("--runs", "", "runs is ''; expected word, split"),
        ("--dtype", "", "dtype is ''; expected float32, float16, int8"),
    ],
)
def test_a_given_value_counts_even_if_it_is_zero_or_empty(
    gem, glove, command, option, value, message
):
    answer = gem("vectors", *(part.format(glove=glove) for part in command), option, value)
    assert (answer.status, answer.out, answer.err) == (2, "", f"Error: {message}\n")
