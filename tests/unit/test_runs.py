"""Runs of signs, in scripts that put no blanks between words, are looked up by the known words in them."""

from __future__ import annotations

import random

import numpy as np
import pytest

from gem_index import open_vectors
from gem_index.errors import ConfigError
from gem_index.vectors import SourceOptions
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.runs import known_words, mostly_runs
from gem_index.vectors.subword import SubwordVectors, open_wordllama

WORDS = ["我", "的", "电脑", "电脑桌", "坏了", "计算机", "hello"]
MATRIX = np.random.default_rng(3).normal(size=(len(WORDS), 6)).astype(np.float32)


def vectors(**options):
    return MappedVectors.from_words(WORDS, MATRIX, SourceOptions(**options))


def by_definition(run, words, longest=8):
    """Return the place and the word of each known word in a run."""
    found, at = [], 0
    while at < len(run):
        length = next(
            (n for n in range(longest, 0, -1) if run[at : at + n] in words and len(run) >= at + n),
            0,
        )
        if length:
            found.append((at, run[at : at + length]))
        at += max(length, 1)
    return found


def test_the_longest_known_words_from_left_to_right():
    split = vectors(runs="split")
    found, unknown = split.lookup(["我的电脑坏了", "电脑桌子", "电脑", "图书馆", "helloworld"])
    assert unknown.tolist() == [False, False, False, True, True]
    expected = MATRIX[[0, 1, 2, 4]].mean(axis=0)
    np.testing.assert_allclose(found[0], expected, rtol=1e-6)
    np.testing.assert_allclose(found[1], MATRIX[3], rtol=1e-6)
    np.testing.assert_array_equal(found[2], MATRIX[2])
    plain, all_unknown = vectors(runs="word").lookup(["图书馆", "helloworld", "我的电脑坏了"])
    np.testing.assert_array_equal(found[3:], plain[:2])
    assert all_unknown.all()
    assert not np.allclose(plain[2], expected)


@pytest.mark.parametrize("at_once", [1, 3, 16, 1 << 16])
def test_equals_the_definition(monkeypatch, at_once):
    monkeypatch.setattr("gem_index.vectors.runs._SIGNS_AT_ONCE", at_once)
    draw = random.Random(5)
    words = {"".join(draw.choices("天地人一二三", k=draw.randrange(1, 10))) for _ in range(60)}
    places = {word: place for place, word in enumerate(sorted(words))}
    for _ in range(50):
        run = "\n".join(
            "".join(draw.choices("天地人一二三四", k=draw.randrange(1, 30))) for _ in range(3)
        )
        at, rows = known_words(
            run, lambda asked: np.array([places.get(word, -1) for word in asked])
        )
        expected = by_definition(run, words)
        assert at.tolist() == [place for place, _ in expected]
        assert rows.tolist() == [places[word] for _, word in expected]


def test_each_run_is_independent_of_the_others():
    split = vectors(runs="split", unit=True)
    words = ["我的电脑坏了", "电脑的", "坏了坏了我", "hello", "x"]
    together, _ = split.lookup(words)
    for word, row in zip(words, together, strict=True):
        np.testing.assert_array_equal(split.lookup([word])[0][0], row)
    np.testing.assert_allclose(np.linalg.norm(together, axis=1), 1, rtol=1e-5)


def test_numbers_near_the_largest_stay_finite():
    large = MappedVectors.from_words(
        ["我", "的"], np.full((2, 3), 3e38, np.float32), SourceOptions(runs="split")
    )
    assert np.isfinite(large.lookup(["我的"])[0]).all()


def test_zeros_for_runs_without_a_known_word():
    found, unknown = vectors(runs="split", oov="zero").lookup(["图书馆", "我们"])
    assert (found[0] == 0).all()
    np.testing.assert_allclose(found[1], MATRIX[0])
    assert unknown.tolist() == [True, False]


def test_the_option_is_part_of_the_fingerprint():
    assert vectors().fingerprint == vectors(runs="word").fingerprint
    assert vectors().fingerprint != vectors(runs="split").fingerprint
    assert (
        SourceOptions.from_json('{"oov": "hash"}').runs is None
    )  # of a source that was stored before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["的", "电脑", "the"], True),
        (["ภาษา", "the"], True),
        (["the", "of", "and", "in", "的"], False),
        (["사람", "말"], False),
        ([], False),
    ],
)
def test_which_tables_are_of_such_scripts(words, expected):
    assert mostly_runs(words) is expected


def test_a_stored_table_keeps_its_choice(home, tmp_path):
    lines = [
        f"{word} {' '.join(map(str, row))}"
        for word, row in zip(WORDS, MATRIX.tolist(), strict=True)
    ]
    (tmp_path / "zh.txt").write_text("\n".join(lines))
    stored = home.vectors.add("zh", str(tmp_path / "zh.txt"))
    assert stored.options["runs"] == "split"
    other = home.vectors.add(
        "zh-word", str(tmp_path / "zh.txt"), options=SourceOptions(runs="word")
    )
    assert "runs" not in other.options
    assert stored.fingerprint != other.fingerprint
    assert open_vectors(str(tmp_path / "zh.txt")).fingerprint == stored.fingerprint
    _, unknown = home.vectors.open("zh").lookup(["我的电脑坏了"])
    assert not unknown.any()


def test_vectors_composed_of_pieces_have_no_such_option():
    known = open_wordllama()
    with pytest.raises(ConfigError, match="found case=fallback, runs=split or a limit"):
        SubwordVectors(known.rows, known.pieces, SourceOptions(runs="split"))
    with pytest.raises(ConfigError, match="runs is 'signs'; expected word, split"):
        SourceOptions(runs="signs")
