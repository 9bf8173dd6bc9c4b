"""The fast paths compared with the plain implementation of the paper."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.gem.config import GemConfig
from gem_index.gem.sentences import WeighedSentences
from gem_index.kernels.fits import coarse_vectors
from gem_index.kernels.sentences import Sentences, select_directions

EXAMPLES = settings().max_examples  # of the profile


@st.composite
def vocabularies(draw):
    """Word vectors with zero vectors, repeated and linearly dependent rows among random ones."""
    d = draw(st.sampled_from([2, 3, 5, 17, 64, 300, 400]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    count = draw(st.integers(1, 60))
    scale = draw(st.sampled_from([0.05, 1.0, 4.0]))
    rows = (rng.normal(size=(count, d)) * scale).astype(np.float32)
    for kind in draw(st.lists(st.sampled_from(["zero", "copy", "double", "sum"]), max_size=4)):
        i, j, k = rng.integers(0, count, size=3)
        rows[i] = {
            "zero": 0 * rows[j],
            "copy": rows[j],
            "double": 2 * rows[j],
            "sum": np.round(rows[j], 3) + np.round(rows[k], 3),
        }[kind]
    return rows, rng


@st.composite
def problems(draw):
    rows, rng = draw(vocabularies())
    n = draw(st.integers(0, 12) | st.integers(0, 200))
    sentence = rng.integers(0, len(rows), size=n).astype(np.int32)
    K = draw(st.integers(0, min(45, rows.shape[1])))
    directions = np.linalg.qr(rng.normal(size=(rows.shape[1], max(K, 1))))[0].T[:K]
    sigma = np.sort(rng.gamma(1.0, draw(st.sampled_from([1.0, 30.0])), size=K))[::-1].copy()
    options = {
        "window": draw(st.integers(0, 20)),
        "n_removed": draw(st.integers(0, 20)),
        "ranking": draw(st.sampled_from(["singular", "plain"])),
    }
    return rows, sentence, directions, sigma, options


@st.composite
def nearly_dependent_problems(draw):
    """Sentences without repeated words, in which some words are copies or sums of others plus epsilon times their length."""
    d = draw(st.sampled_from([4, 7, 24, 100, 300]))
    n = draw(st.integers(3, 16))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    rows = rng.normal(size=(n, d)) * draw(st.sampled_from([0.05, 1.0, 4.0]))
    order = rng.permutation(n)
    for place in range(draw(st.integers(1, 3))):
        i, j, k = order[[place % n, (place + 1) % n, (place + 2) % n]]
        noise = rng.normal(size=d)
        whole = rows[j] + (rows[k] if draw(st.booleans()) and k != i else 0)
        epsilon = 10 ** draw(st.floats(-7, -1.5))
        rows[i] = whole + epsilon * np.linalg.norm(whole) * noise / np.linalg.norm(noise)
    rows = rows.astype(np.float32)
    K = draw(st.integers(0, min(8, d)))
    directions = np.linalg.qr(rng.normal(size=(d, max(K, 1))))[0].T[:K]
    sigma = np.sort(rng.gamma(1.0, draw(st.sampled_from([1.0, 30.0])), size=K))[::-1].copy()
    options = {
        "window": draw(st.integers(0, 9)),
        "n_removed": draw(st.integers(0, 6)),
        "ranking": "singular",
    }
    return rows, np.arange(n, dtype=np.int32), directions, sigma, options


def clear_of_the_rank_tolerance(S, window):
    """Whether no share of a vector that its window leaves is within a factor of 4 of the tolerance, where rounding decides.

    All that is farther, however little is left, has to be weighed as the oracle weighs it. But a share below the tolerance,
    which counts as nothing, turns the plane of the others by its ratio to the smallest of these: another order of the words
    gives another plane. So windows in which this ratio is above 1e-6 are left out.
    """
    near = np.array([0.25, 4.0]) * naive.TOLERANCE
    for i in range(S.shape[1]):
        low, high = max(0, i - window), min(S.shape[1], i + window + 1)
        context = np.delete(S[:, low:high], i - low, axis=1)
        length = np.linalg.norm(S[:, i])
        Q = naive.orthonormal_basis(context)
        left = np.linalg.norm(S[:, i] - Q @ (Q.T @ S[:, i])) / length if length else 0.0
        lengths = np.linalg.norm(context, axis=0)
        unit = context[:, lengths > 0] / lengths[lengths > 0]
        pivots = (
            []
            if not unit.size
            else np.abs(np.diag(scipy.linalg.qr(unit, mode="r", pivoting=True)[0]))
        )
        shares = np.array([left, *pivots])
        if np.any((shares > near[0]) & (shares < near[1])):
            return False
        kept = np.array(pivots)[np.array(pivots) > naive.TOLERANCE]
        dropped = np.array(pivots)[np.array(pivots) <= naive.TOLERANCE]
        if dropped.size and dropped.max() > 1e-6 * kept.min(initial=1.0):
            return False
    return True


def by_kernels(rows, sentence, directions, sigma, options, **others):
    components = Components(directions, sigma, 1)
    config = GemConfig(**options, **others)
    out = np.full((1, rows.shape[1]), np.nan, dtype=np.float32)
    weighed = WeighedSentences.of(sentence, np.array([0, len(sentence)]), rows, components, config)
    weighed.compose(components, config, out)
    return out[0], weighed.weights


@settings(max_examples=3 * EXAMPLES)
@given(
    problem=problems(),
    removal=st.sampled_from(["sdr", "sir", "none"]),
    alphas=st.sampled_from(["nsu", "n", "su", ""]),
    share=st.sampled_from([1.0, 1.0, 0.5, 0.0]),
)
def test_encoding_equals_the_paper(problem, removal, alphas, share):
    rows, sentence, directions, sigma, options = problem
    S = rows[sentence].T.astype(np.float64)
    others = {"removal": removal, "alphas": alphas, "share": share}
    found, parts = by_kernels(rows, sentence, directions, sigma, options, **others)
    assert np.isfinite(found).all()
    assert np.isfinite(parts).all()
    assume(clear_of_the_rank_tolerance(S, options["window"]))
    expected = naive.weights(S, directions, sigma, **options)
    np.testing.assert_allclose(parts, expected, atol=4e-6)
    c = naive.encode(S, directions, sigma, **others, **options)
    removed_most = share == 1 and removal != "none" and rows.shape[1] <= options["n_removed"] + 1
    if not removed_most:  # what is left would be the rounding of float32 rows in both
        assert np.linalg.norm(found) == pytest.approx(np.linalg.norm(c), abs=1e-5)
        if c.any():
            assert found @ c >= 1 - 1e-6


@settings(max_examples=4 * EXAMPLES)
@given(problem=nearly_dependent_problems())
def test_nearly_dependent_words_are_weighed_as_by_qr(problem):
    """From 1e-7 to 3e-2 left of a word: on both sides of what slides, of what Cholesky tells, and of nothing."""
    rows, sentence, directions, sigma, options = problem
    S = rows.T.astype(np.float64)
    assume(clear_of_the_rank_tolerance(S, options["window"]))
    _, parts = by_kernels(rows, sentence, directions, sigma, options)
    expected = naive.weights(S, directions, sigma, **options)
    np.testing.assert_allclose(parts, expected, atol=4e-6)


EPSILONS = [2e-2, 1.2e-2, 8e-3, 1e-3, 1e-4, 1e-5, 4e-6, 2.5e-7, 1e-7]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("place", range(3))
def test_the_residual_of_a_near_copy_of_a_word(epsilon, place):
    """Words e1, e2 and e1 + epsilon e3: nothing but epsilon e3 is new in the last, by pencil and paper."""
    vectors = {0: [1.0, 0, 0], 1: [0, 1.0, 0], 2: [1.0, 0, epsilon]}
    order = np.roll([0, 1, 2], place)
    rows = np.array([vectors[i] for i in order], np.float32)
    epsilon = float(np.float32(epsilon))
    directions, sigma = np.eye(3)[2:], np.array([0.5])
    options = {"window": 5, "n_removed": 1, "ranking": "singular"}
    _, parts = by_kernels(rows, np.arange(3, dtype=np.int32), directions, sigma, options)
    length = np.hypot(1, epsilon)
    # e1 has as little that is new beside its near copy, across the plane of the two
    new = epsilon > naive.TOLERANCE
    r = {0: epsilon / length, 1: 1.0, 2: epsilon}
    along = {0: 1 / length, 1: 0.0, 2: 1.0}  # what of q lies along e3
    for place, word in enumerate(order):
        expected = [1.0, 0.0, 1.0]
        if word == 1 or new:
            whole = length if word == 2 else 1.0
            expected = [np.exp(r[word] / whole), r[word] / 3, np.exp(-0.5 * along[word])]
        np.testing.assert_allclose(parts[place], expected, atol=1e-9, err_msg=f"word {word}")


def chain(count):
    """e1, e1 + d e2, e2 + d e3, ...: each brings d of its length to those before, and all leave d^n of the first."""
    rows = np.zeros((count, 8), np.float32)
    rows[0, 0] = 1.0
    for i in range(1, count):
        rows[i, i - 1], rows[i, i] = 1.0, 0.02
    return rows


@pytest.mark.parametrize(
    ("rows", "window"),
    [
        *((np.roll(chain(count), turned, axis=0), 9) for count in range(2, 7) for turned in range(4)),
        # only the window of the word in the middle holds them all, and that word is far from the others
        *((chain(5)[[0, *order, 1]], 2) for order in ([2, 4, 3], [3, 4, 2])),
    ],
)  # fmt: skip
def test_words_that_only_all_others_together_span(rows, window):
    S = rows.T.astype(np.float64)
    assert clear_of_the_rank_tolerance(S, window)
    directions = np.linalg.qr(np.random.default_rng(len(rows)).normal(size=(8, 3)))[0].T
    sigma = np.array([3.0, 2.0, 1.0])
    options = {"window": window, "n_removed": 2, "ranking": "singular"}
    _, parts = by_kernels(rows, np.arange(len(rows), dtype=np.int32), directions, sigma, options)
    expected = naive.weights(S, directions, sigma, **options)
    np.testing.assert_allclose(parts, expected, atol=4e-6)


@settings(max_examples=3 * EXAMPLES // 2)
@given(vocabulary=vocabularies(), n=st.integers(0, 80), power=st.sampled_from([1.0, 2.0, 3.0, 4.0]))
def test_coarse_vectors_equal_the_paper(vocabulary, n, power):
    rows, rng = vocabulary
    sentence = rng.integers(0, len(rows), size=n).astype(np.int32)
    S = rows[sentence].T.astype(np.float64)
    if n:
        U, sigma, _ = np.linalg.svd(S, full_matrices=False)
        strong = sigma > 1e-6 * sigma[0]
        # A sign, and within equal singular values a direction, is only defined clear of zero and of each other.
        along = np.abs(U.T @ S.sum(axis=1))[strong]
        assume(np.all(along > 1e-6 * sigma[0]))
        assume(np.all(np.diff(sigma[strong]) < -1e-5 * sigma[0]))
    out = np.full((1, rows.shape[1]), np.nan)
    coarse_vectors(sentence, np.array([0, n]), rows, power, out)
    expected = naive.coarse_vector(S, power)
    np.testing.assert_allclose(out[0], expected, atol=1e-6 * max(1.0, np.abs(expected).max()))


def test_a_sentence_of_few_words_has_a_coarse_vector():
    """Each reflection of its Gram matrix leaves rounding of the one before, down to lengths of which the square is zero."""
    rng = np.random.default_rng(3)
    for _ in range(300):
        d, n = int(rng.choice([17, 64, 300])), int(rng.integers(20, 100))
        rows = (rng.normal(size=(rng.integers(1, 4), d)) * 0.05).astype(np.float32)
        sentence = rng.integers(0, len(rows), size=n).astype(np.int32)
        out = np.full((1, d), np.nan)
        coarse_vectors(sentence, np.array([0, n]), rows, 1.0, out)
        S = rows[sentence].T.astype(np.float64)
        np.testing.assert_allclose(out[0], naive.coarse_vector(S, 1.0), atol=1e-6)


@settings(max_examples=EXAMPLES)
@given(
    seed=st.integers(0, 2**32 - 1), n=st.integers(1, 60), d=st.integers(2, 30), K=st.integers(1, 45)
)
def test_directions_equal_the_svd_of_the_coarse_matrix(seed, n, d, K):
    coarse = np.random.default_rng(seed).normal(size=(n, d)) * np.geomspace(1, 0.01, d)
    statistics = CorpusStatistics(d)
    statistics.add(coarse, n)
    found = statistics.components(K)
    directions, sigma = naive.principal_directions(coarse, K)
    # products, and so the squares, are rounded to 44 bits of the largest: a small value keeps fewer digits
    np.testing.assert_allclose(
        found.singular_values**2, sigma**2, rtol=2e-6, atol=1e-12 * sigma[0] ** 2
    )
    overlap = np.linalg.svd(found.directions @ directions.T)[1]
    assert overlap.min() >= 0.9999 or len(sigma) < min(n, d)  # the K-th and K+1-th may nearly tie


def test_each_direction_points_toward_its_largest_component():
    """Its sign means nothing to GEM; a fixed one keeps stored components comparable."""
    coarse = np.random.default_rng(1).normal(size=(40, 9))
    for turned in (coarse, -coarse, coarse[:, ::-1]):
        statistics = CorpusStatistics(9)
        statistics.add(turned, 40)
        directions = statistics.components(9).directions
        strongest = np.abs(directions).argmax(axis=1)
        assert (directions[np.arange(9), strongest] > 0).all()


@pytest.mark.parametrize("plain", [False, True])
def test_of_directions_that_tie_the_first_are_selected(plain):
    ids, offsets = np.array([0, 1], np.int32), np.array([0, 2])
    projections = np.array([[1.0, 0.0, -1.0, 2.0, 0.5], [0.0, 1.0, 0.0, 0.0, 0.5]])
    sigma = np.array([1.0, 1.0, 1.0, 1.0, 1.0])
    selected = np.empty((1, 5), dtype=np.int64)
    batch = Sentences(ids, offsets, np.zeros((2, 1), np.float32), projections)
    select_directions(batch, sigma, plain, selected)
    assert selected.tolist() == [[3, 0, 1, 2, 4]]


def test_of_a_sentence_without_words_the_first_directions_are_selected():
    selected = np.empty((1, 3), dtype=np.int64)
    empty = np.zeros(0, np.int32), np.zeros(2, np.int64)
    batch = Sentences(*empty, np.zeros((1, 1), np.float32), np.ones((1, 4)))
    select_directions(batch, np.ones(4), True, selected)
    assert selected.tolist() == [[0, 1, 2]]


def test_the_oracle_reproduces_itself_on_a_worked_example():
    """Two orthogonal words: r = |v|, so alpha_n = e, alpha_s = |v| / 2, alpha_u = exp(-|sigma D q| / h)."""
    S = np.array([[2.0, 0.0], [0.0, 3.0], [0.0, 0.0]])
    directions, sigma = np.array([[1.0, 0, 0]]), np.array([0.5])
    expected = [[np.e, 1.0, np.exp(-0.5)], [np.e, 1.5, 1.0]]
    options = {"window": 7, "n_removed": 1, "ranking": "singular"}
    np.testing.assert_allclose(naive.weights(S, directions, sigma, **options), expected)
    rows = S.T.astype(np.float32)
    _, parts = by_kernels(rows, np.array([0, 1], np.int32), directions, sigma, options)
    np.testing.assert_allclose(parts, expected, rtol=1e-12)
