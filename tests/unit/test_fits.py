"""A fit: the same bytes however its corpus is divided, and a cost that follows the number of words."""

import itertools
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index import GemConfig, GemEncoder, open_vectors
from gem_index.errors import ConfigError
from gem_index.gem.components import CorpusStatistics
from gem_index.gem.exact_sum import ExactSum
from gem_index.gem.summaries import fit_parts
from gem_index.kernels.fits import symmetric_eigen

CONFIG = GemConfig.trained(prior=1000)


def texts(count, seed=3):
    rng = np.random.default_rng(seed)
    words = [f"word{n}" for n in range(300)] + [
        "the",
        "of",
        "and",
        "bank",
        "river",
        "account",
        "to",
        "open",
    ]
    return [" ".join(rng.choice(words, rng.integers(1, 120))) for _ in range(count)]


@pytest.fixture
def vectors(vectors_folder):
    return open_vectors(str(vectors_folder))


class TestFingerprint:
    def test_does_not_depend_on_threads_blocks_or_parts(self, vectors, monkeypatch):
        corpus = texts(700)
        found = {GemEncoder(vectors, CONFIG, threads=n).fit(corpus).fingerprint for n in (1, 2, 5)}
        encoder = GemEncoder(vectors, CONFIG)
        parts = [encoder.corpus_statistics(corpus[begin::3]) for begin in (2, 0, 1)]
        merged = parts[0].merge(parts[1]).merge(parts[2])
        sent = CorpusStatistics.from_arrays(merged.to_arrays())
        assert sent.sentences == merged.sentences == 700
        assert sent.components(5).sentences == 700
        found.add(encoder.fit_statistics(sent).fingerprint)
        found.add(GemEncoder(vectors, CONFIG).fit(corpus[::-1]).fingerprint)
        monkeypatch.setattr("gem_index.gem.encoder._BLOCK", 37)
        found.add(GemEncoder(vectors, CONFIG).fit(corpus).fingerprint)
        assert len(found) == 1

    def test_does_not_depend_on_the_threads_of_linear_algebra(self, vectors_folder):
        code = (
            "import sys; from test_fits import *\n"
            "print(GemEncoder(open_vectors(sys.argv[1]), CONFIG).fit(texts(300)).fingerprint)"
        )
        found = set()
        for threads in ("1", "2", "8"):
            environment = os.environ | {"OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
            run = [sys.executable, "-c", code, str(vectors_folder)]
            path = os.path.dirname(__file__)  # noqa: PTH120 - for the module search of a process
            done = subprocess.run(run, env=environment, cwd=path, capture_output=True, check=True)
            found.add(done.stdout)
        assert len(found) == 1

    def test_other_texts_have_another(self, vectors):
        one, other = (GemEncoder(vectors, CONFIG).fit(texts(50, seed)) for seed in (1, 2))
        assert one.fingerprint != other.fingerprint


@given(
    seed=st.integers(0, 2**32 - 1),
    rows=st.integers(1, 400),
    d=st.integers(1, 12),
    scale=st.integers(-30, 30),
)
def test_a_sum_is_exact_and_near_the_plain_product(seed, rows, d, scale):
    rng = np.random.default_rng(seed)
    coarse = rng.normal(size=(rows, d)) * 2.0**scale * rng.integers(1, 9, (rows, 1)) ** 3
    coarse[rng.random(rows) < 0.1] = 0.0
    whole, parts = CorpusStatistics(d), CorpusStatistics(d)
    whole.add(coarse, rows)
    for part in np.array_split(coarse[rng.permutation(rows)], 5):
        other = CorpusStatistics(d)
        other.add(part, len(part))
        parts.merge(other)
    assert whole.moment.tobytes() == parts.moment.tobytes()
    assert parts.sentences == rows
    expected = coarse.T @ coarse
    np.testing.assert_allclose(whole.moment, expected, atol=1e-11 * np.abs(expected).max(), rtol=0)


def test_products_half_way_between_two_steps_do_not_depend_on_their_order():
    rng = np.random.default_rng(4)
    rows = rng.integers(-(2**23), 2**23, (500, 9)) * 2.0**-23  # products are multiples of 2^-46
    found = set()
    for _ in range(5):
        summed = ExactSum(9)
        summed.add(rng.permutation(rows))
        found.add(summed.total().tobytes())
    assert len(found) == 1


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(1, 40), rank=st.integers(0, 40))
def test_eigenvectors_are_those_of_lapack(seed, n, rank):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(n, min(rank, n))) * 10.0 ** rng.integers(-4, 5)
    matrix = half @ half.T
    values, vectors = symmetric_eigen(matrix)
    largest = max(np.abs(matrix).max(), 1e-300)
    expected = np.linalg.eigvalsh(matrix)
    np.testing.assert_allclose(np.sort(values), expected, atol=1e-12 * largest * n, rtol=0)
    np.testing.assert_allclose(vectors @ vectors.T, np.eye(n), atol=1e-12 * n)
    np.testing.assert_allclose(vectors.T * values @ vectors, matrix, atol=1e-12 * largest * n)


class TestParts:
    def test_sentences_of_up_to_thirty_words_are_whole(self):
        lengths = np.array([0, 1, 25, 30, 31, 50, 51, 500])
        offsets = np.concatenate([[0], np.cumsum(lengths)])
        parts = fit_parts(offsets, 25)
        assert set(offsets.tolist()) <= set(parts.tolist())
        sizes = np.diff(parts)
        assert sizes.sum() == lengths.sum()
        assert sizes[:4].tolist() == [0, 1, 25, 30]
        assert sizes[4:].tolist() == [15, 16, 25, 25, 17, 17, 17, *[25] * 20]
        assert fit_parts(offsets, 0) is offsets

    def test_the_papers_presets_take_whole_texts(self):
        for name in ("sts", "cqa", "transfer"):
            assert GemConfig.preset(name).fit_words == 0
            assert "fit_words" not in GemConfig.preset(name).to_fields()
        assert GemConfig.trained().fit_words == 25
        old = GemConfig.of({**GemConfig.trained().to_fields(), "fit_words": 0})
        assert (old.fit_words, old.preset_name) == (0, "trained")

    def test_short_texts_have_the_same_fit(self, vectors):
        short = [" ".join(text.split()[:30]) for text in texts(200)]
        parts, whole = (
            GemEncoder(vectors, GemConfig.trained(fit_words=words)).fit(short) for words in (25, 0)
        )
        assert parts.components.identity() == whole.components.identity()
        assert parts.components.sentences == 200

    def test_a_long_text_is_fitted_as_its_parts(self, vectors):
        """Equal to fitting the parts themselves; it still counts as one text."""
        [long] = [" ".join(texts(1, seed)[0] for seed in range(30))]
        words = long.split()
        count = -(-len(words) // 25)
        cuts = [len(words) * part // count for part in range(count + 1)]
        pieces = [" ".join(words[a:b]) for a, b in itertools.pairwise(cuts)]
        whole = GemEncoder(vectors, CONFIG).corpus_statistics([long])
        apart = GemEncoder(vectors, CONFIG).corpus_statistics(pieces)
        assert whole.moment.tobytes() == apart.moment.tobytes()
        assert (whole.sentences, apart.sentences) == (1, count)

    @pytest.mark.parametrize("value", [-1, 2.5, True, "25"])
    def test_another_number_of_words_is_refused(self, value):
        with pytest.raises(ConfigError, match="fit_words is .*; expected a whole number from 0"):
            GemConfig(fit_words=value)
