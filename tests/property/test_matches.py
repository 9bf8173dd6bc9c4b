"""A cosine is the sum of the contributions of word pairs, for all texts and configurations."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from conftest import WORDS
from gem_index import CombinedEncoder, GemConfig, GemEncoder
from gem_index.text.tokens import normalized_token, token_spans, tokenize
from gem_index.vectors.mapped import MappedVectors

CORPUS = [" ".join(WORDS[i : i + 7]) for i in range(0, len(WORDS) - 7, 3)]
CONFIGS = [
    GemConfig(n_removed=3, n_components=8),
    GemConfig(n_removed=3, n_components=8, share=0.4, alphas="nu", power=2),
    GemConfig(n_removed=2, n_components=8, removal="sir", ranking="plain"),
    GemConfig(n_removed=5, n_components=8, removal="none", alphas=""),
]


def vectors(seed, dimension=24):
    rows = np.random.default_rng(seed).normal(size=(len(WORDS), dimension))
    return MappedVectors.from_words(WORDS, rows.astype(np.float32))


SINGLE = [GemEncoder(vectors(1), config).fit(CORPUS) for config in CONFIGS]
ENCODERS = [*SINGLE, CombinedEncoder([SINGLE[0], SINGLE[1]], [1.0, 0.3])]

words = st.sampled_from([*WORDS, "Unknown", "ünïcode", "...", "_", "two\nlines", "don't"])
texts = st.lists(words, max_size=25).map(" ".join)


@settings(max_examples=200)
@given(first=texts, second=texts, which=st.integers(0, len(ENCODERS) - 1))
def test_shares_add_up_to_the_cosine(first, second, which):
    encoder = ENCODERS[which]
    found = encoder.explain_match(first, second)
    assert found.cosine == pytest.approx(encoder.similarity(first, second), abs=1e-6)
    for shares in (found.first_words, found.second_words, found.pairs):
        assert sum(part.share for part in shares) == pytest.approx(found.cosine, abs=1e-6)
    assert len(found.pairs) == len(found.first_words) * len(found.second_words)
    ordered = [pair.share for pair in found.pairs]
    assert ordered == sorted(ordered, reverse=True)
    for place, word in enumerate(found.second_words):
        own = sum(pair.share for pair in found.pairs if pair.second == place)
        assert own == pytest.approx(word.share, abs=1e-9)
    for text, parts in ((first, found.first_words), (second, found.second_words)):
        assert [text[word.begin : word.end].lower() for word in parts] == tokenize(text)
        assert [word.token for word in parts] == tokenize(text)


@given(st.text(max_size=60))
def test_spans_are_those_of_the_tokens(text):
    found = [normalized_token(text[begin:end]) for begin, end in token_spans(text)]
    assert found == tokenize(text)


def test_a_share_is_the_inner_product_of_weighted_and_projected_words():
    """By the plain twin: weights by QR, removal as a matrix."""
    encoder = SINGLE[1]
    config, components = encoder.config, encoder.components
    sums = []
    for text in ("renew a visa at the bank", "the river bank"):
        rows, _ = encoder.vectors.lookup(tokenize(text))
        S = rows.T.astype(np.float64)
        options = {"window": 7, "n_removed": 3, "ranking": "singular"}
        parts = naive.weights(S, components.directions, components.singular_values, **options)
        alpha = parts[:, 0] + parts[:, 2]
        chosen = naive.select_directions(
            S, components.directions, components.singular_values, 3, "singular"
        )
        D = components.directions[chosen]
        kept = np.eye(24) - config.share * D.T @ D
        weighted = (kept @ (S * alpha)).T
        sums.append(weighted / np.linalg.norm(weighted.sum(axis=0)))
    expected = sums[0] @ sums[1].T
    found = encoder.explain_match("renew a visa at the bank", "the river bank")
    for pair in found.pairs:
        assert pair.share == pytest.approx(expected[pair.first, pair.second], abs=1e-5)


def test_of_long_texts_the_strongest_pairs_are_listed(monkeypatch, small_vectors):
    encoder = GemEncoder(small_vectors)
    texts = "the bank of the river the bank", "open a bank account at the bank of the river"
    whole = encoder.explain_match(*texts)
    assert len(whole.pairs) == 7 * 10
    for most in (1, 10, 33, 69, 70, 71):
        monkeypatch.setattr("gem_index.gem.matches.MOST_PAIRS", most)
        found = encoder.explain_match(*texts)
        assert [pair.share for pair in found.pairs] == [pair.share for pair in whole.pairs[:most]]
        assert set(found.pairs) <= set(whole.pairs)
        assert (found.cosine, found.first_words) == (whole.cosine, whole.first_words)
