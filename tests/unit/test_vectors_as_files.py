"""Word vectors as a file to copy, and what their fingerprint depends on; with n-grams and words that share rows."""

import numpy as np
import pytest

from gem_index.errors import ConfigError
from gem_index.vectors import cut_to_words, mapped, neighbors
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.neighbors import nearest_words, solve_analogy
from gem_index.vectors.ngrams import NgramTable
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.rows import Rows
from gem_index.vectors.vocabulary import Vocabulary
from word_rows import content_of

WORDS = ["tea", "bank", "visa"]
ROWS = np.array([[3, 4], [0.5, 0], [0, -2]], np.float32)
BUCKETS = np.arange(10, dtype=np.float32).reshape(5, 2)


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch):
    monkeypatch.setattr(mapped, "_BLOCK", 2)


def source(dtype=np.float32, buckets=None, lengths=(2, 3), shared=None, words=WORDS, **options):
    ngrams = None if buckets is None else NgramTable(Rows(buckets), *lengths)
    return MappedVectors(
        Rows(ROWS.astype(dtype)),
        Vocabulary.build(words),
        SourceOptions(**options),
        row_of_word=shared,
        ngrams=ngrams,
    )


@pytest.mark.parametrize(
    ("dtype", "options", "stored", "rows"),
    [
        (np.float16, {}, np.float16, ROWS),
        (np.float32, {}, np.float32, ROWS),
        (np.float16, {"scale": 2.0}, np.float32, 2 * ROWS),
        (np.float16, {"unit": True}, np.float32, [[0.6, 0.8], [1, 0], [0, -1]]),
        (np.float32, {"unit": True, "scale": 0.5}, np.float32, [[0.3, 0.4], [0.5, 0], [0, -0.5]]),
    ],
)
def test_the_rows_of_a_copy(dtype, options, stored, rows):
    file = source(dtype, **options).as_file("mine", "folder")
    words, found = content_of(file)
    assert (file.origin, file.format, file.dimension, file.words) == ("mine", "folder", 2, 3)
    assert (file.dtype, found.dtype, words, file.composition) == (stored, stored, WORDS, None)
    np.testing.assert_allclose(found, rows, rtol=1e-6)


def test_words_that_share_rows():
    shared = source(shared=np.array([2, 2, 0]))
    words, rows = content_of(shared.as_file("mine", "spacy"))
    assert (words, rows.tolist()) == (WORDS, ROWS[[2, 2, 0]].tolist())
    assert shared.lookup(["visa", "tea"])[0].tolist() == ROWS[[0, 2]].tolist()


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_the_ngrams_of_a_copy(scale):
    found = source(buckets=BUCKETS, scale=scale).as_file("mine", "fasttext").composition
    assert (found.shortest, found.longest) == (2, 3)
    np.testing.assert_array_equal(np.concatenate(list(found.rows())), BUCKETS * scale)
    assert source(buckets=BUCKETS, unit=True).as_file("mine", "fasttext").composition is None


def test_everything_that_changes_a_look_up_changes_the_fingerprint():
    other = BUCKETS.copy()
    other[-1, -1] += 1
    prints = [
        each.fingerprint
        for each in (
            source(),
            source(np.float16),
            source(words=["tea", "bank", "visas"]),
            source(shared=np.array([0, 1, 2])),
            source(shared=np.array([0, 1, 1])),
            source(oov="zero"),
            source(unit=True),
            source(buckets=BUCKETS),
            source(buckets=other),
            source(buckets=BUCKETS, lengths=(2, 4)),
            source(buckets=BUCKETS, lengths=(1, 3)),
            source(buckets=BUCKETS, oov="hash"),
        )
    ]
    assert len(set(prints)) == len(prints)
    assert source().fingerprint == source(oov="hash", runs="word").fingerprint


def test_the_number_of_words_and_the_precision_count_only_by_what_is_stored():
    first = MappedVectors.from_words(WORDS[:2], ROWS[:2])
    limited = MappedVectors.from_words(WORDS, ROWS, SourceOptions(limit=2))
    assert limited.fingerprint == first.fingerprint
    half = MappedVectors.from_words(WORDS, ROWS, SourceOptions(dtype="float16"))
    assert half.fingerprint == MappedVectors.from_words(WORDS, ROWS.astype(np.float16)).fingerprint


def test_an_unknown_word_takes_one_of_the_rows_not_of_the_words():
    shared = source(shared=np.array([0, 0, 0]))
    found, unknown = shared.lookup([f"unknown{n}" for n in range(60)])
    assert unknown.all()
    assert {tuple(row) for row in found.tolist()} == {tuple(row) for row in ROWS.tolist()}
    many = MappedVectors(Rows(ROWS[:1]), Vocabulary.build(WORDS), row_of_word=np.zeros(3, np.int64))
    assert many.lookup(["unknown0", "unknown1", "unknown2"])[0].tolist() == [[3, 4]] * 3


def test_composed_words_need_ngrams():
    with pytest.raises(ConfigError) as refused:
        source(oov="subword")
    assert str(refused.value) == (
        "oov is 'subword' and these vectors have no n-grams; expected hash or zero"
    )


def test_capitalised_words_are_found_after_lower_cased_ones():
    table = MappedVectors.from_words(
        ["Tea house", "TEA", "bank", "Bank"], np.eye(4, dtype=np.float32), SourceOptions(case="fallback", oov="zero"),
    )  # fmt: skip
    found, unknown = table.lookup(["BANK", "bank", "Bank", "tea HOUSE", "tea"])
    assert found.argmax(axis=1).tolist()[:4] == [2, 2, 3, 0]
    assert unknown.tolist() == [False] * 4 + [True]


def test_near_words_of_many_blocks_and_of_repeated_words(monkeypatch):
    monkeypatch.setattr(neighbors, "_BLOCK", 2)
    words = ["tea", "bank", "cup", "cup", "visa"]
    rows = np.array([[1, 0], [0, 1], [0.9, 0.1], [0.2, 0.9], [0.8, 0.3]], np.float32)
    found = nearest_words(MappedVectors.from_words(words, rows), "tea", 5)
    assert [word for word, _ in found] == ["cup", "visa", "bank"]
    expected = [0.9 / 0.82**0.5, 0.8 / 0.73**0.5, 0.0]
    assert [cosine for _, cosine in found] == pytest.approx(expected, abs=1e-6)
    both = CombinedVectors([MappedVectors.from_words(words, rows)])
    assert nearest_words(both, "tea", 5) == found


@pytest.mark.parametrize("block", [2, 2048])
@pytest.mark.parametrize(
    ("frequent", "words"),
    [
        (0, ["w29", "w05", "w11"]),
        (2, ["w00", "w07", "w29", "w05", "w11"]),
        (4, ["w00", "w07", "w14", "w21", "w29", "w05", "w11"]),
        (40, [f"w{n * 7 % 30:02}" for n in range(30)]),
    ],
)
def test_a_cut_has_the_frequent_words_first_and_then_those_of_the_corpus(
    monkeypatch, block, frequent, words
):
    monkeypatch.setattr(cut_to_words, "_BLOCK", block)
    order = [f"w{n * 7 % 30:02}" for n in range(30)]
    rows = np.arange(60, dtype=np.float32).reshape(30, 2)
    whole = MappedVectors.from_words(order, rows, SourceOptions(oov="zero"))
    texts = ["x w11 w05", "w29 x w29 x", "w29 w05"]
    file = cut_to_words.cut_to_words(whole, "mine", texts, frequent)
    found, kept = content_of(file)
    assert (found, file.words, file.origin, file.format) == (words, len(words), "mine", "cut")
    np.testing.assert_array_equal(kept, rows[[order.index(word) for word in words]])


def test_an_analogy_does_not_depend_on_the_lengths_of_vectors():
    words = ["a", "b", "c", "short", "long"]
    rows = np.array([[10, 0], [0, 1], [1, 1], [-0.17, 1], [-9, 2]], np.float32)
    found = solve_analogy(MappedVectors.from_words(words, rows), "a", "b", "c", 2)
    assert [word for word, _ in found] == ["short", "long"]
    assert found[0][1] == pytest.approx(1, abs=1e-4)
