"""The baselines compared with plain implementations of their definitions, and their results on STS Benchmark."""

import math
import re
import sys

import numpy as np
import pytest
import wordfreq

from gem_index import open_vectors
from gem_index.errors import ConfigError, InputError, MissingExtraError
from gem_index.errors.installing import install_line
from gem_index.evaluate.baselines import (
    BASELINES,
    MeanEncoder,
    PowerMeanEncoder,
    SifEncoder,
    UsifEncoder,
)
from gem_index.evaluate.lexical_baselines import Bm25, TfIdf
from gem_index.text.tokens import tokenize
from gem_index.vectors.mapped import MappedVectors


def named(begin: str, extra: str) -> str:
    """Return the pattern of a message that names an extra by the line that installs it."""
    return f"{begin} .*{re.escape(install_line(f'gem-index[{extra}]'))}"


CORPUS = [
    "The bank account is open, and the bank has money!",
    "two ducks swimming in the river water",
    "",
    "renew your visa at the school by phone",
    "a cup of tea and a phone plan with battery",
    "...",
    "zzyzzx unknown flurble",
    "river",
    "river river",
    "how do they open an account for the loan",
    "can you renew the loan at this bank",
    "Ein Café am Fluß",
]
EMPTY = [i for i, text in enumerate(CORPUS) if not tokenize(text)]
DENSE = [MeanEncoder, SifEncoder, UsifEncoder, PowerMeanEncoder]


# The definitions, a sentence and a word at a time; sentence vectors are not yet of unit length.


def words_of(vectors, text):
    tokens = tokenize(text)
    return tokens, vectors.lookup(tokens)[0].astype(np.float64)


def naive_mean(vectors, texts):
    found = np.zeros((len(texts), vectors.dimension))
    for i, text in enumerate(texts):
        tokens, rows = words_of(vectors, text)
        for row in rows:
            found[i] += row / len(tokens)
    return found


def naive_power_means(vectors, texts):
    found = np.zeros((len(texts), 3 * vectors.dimension))
    for i, text in enumerate(texts):
        _, rows = words_of(vectors, text)
        if len(rows):
            found[i] = np.concatenate([rows.mean(axis=0), rows.max(axis=0), rows.min(axis=0)])
    return found


def naive_sif(vectors, texts, a=1e-3):
    found = np.zeros((len(texts), vectors.dimension))
    for i, text in enumerate(texts):
        tokens, rows = words_of(vectors, text)
        for token, row in zip(tokens, rows, strict=True):
            found[i] += a / (a + wordfreq.word_frequency(token, "en")) * row / len(tokens)
    first = np.linalg.svd(found, full_matrices=False)[2][0]
    return found - np.outer(found @ first, first)


def naive_usif(vectors, texts, normalised, length=11, m=5):
    vocabulary = wordfreq.get_frequency_dict("en")
    threshold = 1 - (1 - 1 / len(vocabulary)) ** length
    alpha = sum(p > threshold for p in vocabulary.values()) / len(vocabulary)
    a = (1 - alpha) / (alpha * 0.5 * len(vocabulary))
    found = np.zeros((len(texts), vectors.dimension))
    for i, text in enumerate(texts):
        tokens, rows = words_of(vectors, text)
        if normalised == "dimensions":
            rows = rows / np.sqrt((rows**2).sum(axis=0))
        else:
            rows = rows / np.sqrt((rows**2).sum(axis=1, keepdims=True))
        for token, row in zip(tokens, rows, strict=True):
            found[i] += a / (0.5 * a + wordfreq.word_frequency(token, "en")) * row / len(tokens)
    _, sigma, directions = np.linalg.svd(found, full_matrices=False)
    cleaned = found.copy()
    for j in range(m):
        share = sigma[j] ** 2 / (sigma[:m] ** 2).sum()
        cleaned -= share * np.outer(found @ directions[j], directions[j])
    return cleaned


def unit(rows):
    norms = np.linalg.norm(rows, axis=1, keepdims=True)
    return rows / np.where(norms > 0, norms, 1)


@pytest.mark.parametrize(
    ("encoder", "naive"),
    [
        (MeanEncoder, naive_mean),
        (PowerMeanEncoder, naive_power_means),
        (SifEncoder, naive_sif),
        (UsifEncoder, lambda vectors, texts: naive_usif(vectors, texts, "dimensions")),
        (
            lambda vectors: UsifEncoder(vectors, normalised="words"),
            lambda vectors, texts: naive_usif(vectors, texts, "words"),
        ),
    ],
    ids=["mean", "p-mean", "SIF", "uSIF", "uSIF of unit words"],
)
def test_dense_baselines_follow_their_definitions(small_vectors, encoder, naive):
    fitted = encoder(small_vectors).fit(CORPUS)
    expected = unit(naive(small_vectors, CORPUS))
    found = fitted.encode(CORPUS)
    assert found.dtype == np.float32
    assert found.shape == (len(CORPUS), fitted.dimension)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    assert not found[EMPTY].any()
    np.testing.assert_allclose(
        fitted.score(CORPUS, CORPUS[::-1]), np.sum(expected * expected[::-1], axis=1), atol=1e-6
    )


def test_usif_smooths_as_it_does_for_the_vocabulary_of_wordfreq():
    found = UsifEncoder(MappedVectors.from_words(["a"], np.ones((1, 2)))).a
    assert found == pytest.approx(7.0e-4, rel=0.01)


@pytest.mark.parametrize("encoder", DENSE)
class TestDense:
    def test_a_batch_gives_what_its_texts_give_alone(self, small_vectors, encoder, monkeypatch):
        fitted = encoder(small_vectors).fit(CORPUS)
        together = fitted.encode(CORPUS)
        alone = np.concatenate([fitted.encode([text]) for text in CORPUS])
        np.testing.assert_allclose(together, alone, atol=1e-6)
        monkeypatch.setattr("gem_index.evaluate.lexical_baselines._BLOCK", 3)
        in_blocks = encoder(small_vectors).fit(iter(CORPUS)).encode(iter(CORPUS))
        np.testing.assert_allclose(together, in_blocks, atol=1e-6)

    def test_the_same_input_gives_the_same_bytes(self, small_vectors, encoder):
        found = [encoder(small_vectors).fit(CORPUS).encode(CORPUS).tobytes() for _ in range(2)]
        assert found[0] == found[1]

    def test_nothing_and_texts_without_words(self, small_vectors, encoder):
        fitted = encoder(small_vectors).fit(CORPUS)
        assert fitted.encode([]).shape == (0, fitted.dimension)
        assert fitted.score([], []).shape == (0,)
        assert not fitted.encode(["", "?!", "_"]).any()
        assert fitted.score(["", "river", "river"], ["river", "...", "river"]) == pytest.approx(
            [0, 0, 1]
        )

    def test_one_string_or_unequal_sides_are_refused(self, small_vectors, encoder):
        fitted = encoder(small_vectors).fit(CORPUS)
        with pytest.raises(InputError, match="found one string 'river'; expected a list"):
            fitted.encode("river")
        with pytest.raises(InputError, match="found one string 'river'"):
            fitted.score("river", ["r"] * 5)
        with pytest.raises(InputError, match="found one string 'river'; expected a list of texts"):
            fitted.score(["r"] * 5, "river")
        with pytest.raises(InputError, match="found 1 first and 2 second texts"):
            fitted.score(["river"], ["river", "bank"])


def test_a_word_alone_is_its_vector_and_an_unknown_one_its_hash_row(small_vectors):
    rows, unknown = small_vectors.lookup(["river", "flurble"])
    assert unknown.tolist() == [False, True]
    expected = unit(rows.astype(np.float64))
    encoder = MeanEncoder(small_vectors)
    np.testing.assert_allclose(encoder.encode(["River!", "flurble"]), expected, atol=1e-7)
    thrice = np.concatenate([expected[0]] * 3) / math.sqrt(3)
    np.testing.assert_allclose(
        PowerMeanEncoder(small_vectors).encode(["river"])[0], thrice, atol=1e-7
    )


def test_means_by_hand():
    vectors = MappedVectors.from_words(["a", "b"], np.array([[3.0, -1.0], [-1.0, 1.0]]))
    np.testing.assert_allclose(MeanEncoder(vectors).encode(["a b", "a a b b"]), [[1, 0], [1, 0]])
    np.testing.assert_allclose(
        PowerMeanEncoder(vectors).encode(["b a a"])[0],
        np.array([5 / 3, -1 / 3, 3, 1, -1, -1]) / math.sqrt(26 / 9 + 12),
        atol=1e-7,
    )


@pytest.mark.parametrize("encoder", [SifEncoder, UsifEncoder])
class TestCommonComponents:
    def test_nothing_is_left_of_the_only_sentence(self, small_vectors, encoder):
        """The remainder is rounding noise, which must not be scaled to unit length."""
        fitted = encoder(small_vectors).fit(["the river bank", ""])
        assert not fitted.encode(["the river bank"]).any()
        assert fitted.encode(["two ducks"]).any()

    def test_a_fit_is_needed_first_and_needs_words(self, small_vectors, encoder):
        with pytest.raises(InputError, match="SIF was not fitted on a corpus"):
            encoder(small_vectors).encode(["river"])
        with pytest.raises(InputError, match="no text with a word"):
            encoder(small_vectors).fit(["", "..."])

    def test_wordfreq_is_an_extra(self, small_vectors, encoder, monkeypatch):
        monkeypatch.setitem(sys.modules, "wordfreq", None)
        with pytest.raises(MissingExtraError, match=named("SIF and uSIF", "eval")):
            encoder(small_vectors).fit(CORPUS)


def test_sif_removes_its_direction_whole_and_usif_in_part(small_vectors):
    sif, usif = (encoder(small_vectors).fit(CORPUS) for encoder in (SifEncoder, UsifEncoder))
    (direction,) = sif._common.directions
    np.testing.assert_allclose(sif.encode(CORPUS) @ direction, 0, atol=1e-6)
    assert usif._common.directions.shape == (5, small_vectors.dimension)
    assert np.abs(usif.encode(CORPUS) @ usif._common.directions[0]).max() > 0.1


def test_usif_names_what_it_can_normalise(small_vectors):
    with pytest.raises(ConfigError, match="'rows'; expected dimensions or words"):
        UsifEncoder(small_vectors, normalised="rows")


DOCUMENTS = ["the bank the river", "the bank", "tea, river and more tea for the ducks"]


class TestBm25:
    def test_by_hand(self):
        """Three documents of 4, 2 and 8 words, 14/3 on average."""
        found = (
            Bm25().fit(DOCUMENTS).score(["river", "bank bank", "the tea", "visa"], DOCUMENTS + [""])
        )

        def part(held, tf, length):
            idf = math.log(1 + (3 - held + 0.5) / (held + 0.5))
            return idf * 2.2 * tf / (tf + 1.2 * (0.25 + 0.75 * length / (14 / 3)))

        expected = [part(2, 1, 4), 2 * part(2, 1, 2), part(3, 1, 8) + part(1, 2, 8), 0]
        np.testing.assert_allclose(found, expected, rtol=1e-12)
        assert found[0] == pytest.approx(0.4992, abs=1e-4)

    def test_texts_without_words_do_not_count(self, monkeypatch):
        monkeypatch.setattr("gem_index.evaluate.lexical_baselines._BLOCK", 2)
        plain = Bm25().fit(DOCUMENTS).score(["the river"] * 3, DOCUMENTS)
        padded = Bm25().fit(["", *DOCUMENTS, "..."]).score(["the river"] * 3, DOCUMENTS)
        assert plain.tobytes() == padded.tobytes()

    def test_a_fit_replaces_the_one_before(self):
        twice = Bm25().fit(CORPUS).fit(DOCUMENTS).score(["the river"] * 3, DOCUMENTS)
        assert (twice == Bm25().fit(DOCUMENTS).score(["the river"] * 3, DOCUMENTS)).all()

    def test_documents_and_words_outside_of_the_corpus(self):
        """A word that no document of the corpus holds has the greatest weight."""
        found = Bm25(k1=0).fit(DOCUMENTS).score(["visa"], ["a visa at the school"])
        np.testing.assert_allclose(found, [math.log(8)])


class TestTfIdf:
    def test_by_hand(self):
        found = TfIdf().fit(DOCUMENTS).score(["The river bank?", "tea visa"], [DOCUMENTS[0], "tea"])
        the, bank = 1.0, math.log(4 / 3) + 1  # in three and in two documents of three
        query, document = np.array([the, bank, bank]), np.array([2 * the, bank, bank])
        cosine = query @ document / np.linalg.norm(query) / np.linalg.norm(document)
        np.testing.assert_allclose(found, [cosine, 1])

    def test_scikit_learn_is_an_extra(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sklearn.feature_extraction.text", None)
        with pytest.raises(MissingExtraError, match=named("TF-IDF needs", "eval")):
            TfIdf().fit(DOCUMENTS)


@pytest.mark.parametrize("baseline", [TfIdf, Bm25])
class TestLexical:
    def test_nothing_and_texts_without_words(self, baseline):
        fitted = baseline().fit(iter(CORPUS))
        assert fitted.score([], []).shape == (0,)
        assert fitted.score(["", "river", "river"], ["river", "...", "bank"]).tolist() == [0, 0, 0]
        assert fitted.score(["river"], ["river"])[0] > 0.5

    def test_invalid_arguments_are_refused(self, baseline):
        with pytest.raises(InputError, match="was not fitted on a corpus"):
            baseline().score(["river"], ["river"])
        with pytest.raises(InputError, match="no text with a word"):
            baseline().fit(["", "..."])
        with pytest.raises(InputError, match="found one string"):
            baseline().fit("river")
        for first, second in (("river", ["r"] * 5), (["r"] * 5, "river")):
            with pytest.raises(InputError, match="found one string 'river'; expected a list of t"):
                baseline().fit(CORPUS).score(first, second)
        with pytest.raises(InputError, match="found 1 first and 2 second texts"):
            baseline().fit(CORPUS).score(["river"], ["river", "bank"])


def test_every_baseline_is_named(small_vectors):
    assert list(BASELINES) == ["mean", "SIF", "uSIF", "p-mean", "TF-IDF", "BM25"]
    for make in BASELINES.values():
        scores = make(small_vectors).fit(CORPUS).score(CORPUS, CORPUS[1:] + CORPUS[:1])
        assert scores.dtype == np.float64
        assert scores.shape == (len(CORPUS),)
        assert np.isfinite(scores).all()


def sts_benchmark(shared, split):
    path = shared / "data" / "stsbenchmark" / f"sts-{split}.csv"
    # quotation marks are part of the sentences: the format has no quoting
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").split("\n") if line]
    gold = np.array([float(row[4]) for row in rows])
    return gold, [row[5] for row in rows], [row[6] for row in rows]


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("dev", {"mean": 58.636, "SIF": 77.60, "uSIF": 78.56}),
        ("test", {"mean": 45.22, "SIF": 70.56, "uSIF": 71.19}),
    ],
)
def test_sts_benchmark_pearson(shared, split, expected):
    vectors = open_vectors(str(shared / "vectors" / "googlenews-300d"))
    gold, first, second = sts_benchmark(shared, split)
    for name, pearson in expected.items():
        scores = BASELINES[name](vectors).fit(first + second).score(first, second)
        assert 100 * np.corrcoef(gold, scores)[0, 1] == pytest.approx(pearson, abs=0.01), name
