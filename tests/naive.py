r"""GEM as the paper writes it, plain and slow: the oracle every fast path is compared with.

Yang, Zhu, Chen, "Parameter-free Sentence Embedding via Orthogonal Basis", EMNLP-IJCNLP 2019. Everything is float64
numpy and nothing comes from the library: a full singular value decomposition per sentence, a QR factorisation per
window. "Spec" is the project's own description of the algorithm, "Eq." an equation of the paper.

A sentence is its matrix S of shape (d, n), a column a word. The corpus is its K principal directions, shape (K, d), a
row a direction, with their singular values, shape (K,); K may be 0.
"""

from __future__ import annotations

import hashlib
from typing import Literal, TypeAlias

import numpy as np
import regex
import scipy.linalg
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]
Ranking: TypeAlias = Literal["singular", "plain"]
Removal: TypeAlias = Literal["sdr", "sir", "none"]

TOLERANCE = 1e-6  # a remainder of at most this share of its vector counts as zero (docs/algorithm.md, section 4)


def tokenize(text: str) -> list[str]:
    r"""Split a text into lower-case words (docs/algorithm.md, section 1).

    Parameters
    ----------
    text : str
        Any Unicode text.

    Returns
    -------
    list of str
        Matches of ``\w+|[^\w\s]+``, lower-cased after splitting, without those that hold no alphanumeric character.
    """
    # NLTK matches with `regex`, whose \w covers combining marks; that of `re` splits words of many scripts.
    tokens = regex.findall(r"\w+|[^\w\s]+", text)
    return [token.lower() for token in tokens if any(character.isalnum() for character in token)]


def row_of_unknown(word: str, rows: int) -> int:
    """Return the row that stands for an unknown word in a source of so many rows (docs/algorithm.md, section 2)."""
    return int.from_bytes(hashlib.sha256(word.encode("utf-8")).digest(), "big") % rows


def coarse_vector(S: Array, power: float) -> Array:
    """Return g = sum_j sigma_j^t u_j, each u_j turned toward the sum of the words (Eq. 7, docs/algorithm.md, section 3).

    Parameters
    ----------
    S : array of shape (d, n)
        The sentence.
    power : float
        t.

    Returns
    -------
    array of shape (d,)
        g; zero for a sentence without words.
    """
    d, n = S.shape
    g = np.zeros(d)
    if n == 0:
        return g
    U, sigma, _ = np.linalg.svd(S, full_matrices=False)
    total = S.sum(axis=1)
    for j in range(min(n, d)):
        u = U[:, j] if U[:, j] @ total >= 0 else -U[:, j]
        g = g + sigma[j] ** power * u
    return g


def principal_directions(coarse: Array, K: int) -> tuple[Array, Array]:
    """Return the top K left singular vectors of X^c = [g_1 ... g_N] and its singular values (docs/algorithm.md, section 3).

    Parameters
    ----------
    coarse : array of shape (N, d)
        A coarse vector a row; those of empty sentences (zero) count as absent.
    K : int
        How many directions to keep at most.

    Returns
    -------
    directions : array of shape (K_eff, d)
    singular_values : array of shape (K_eff,)
        K_eff is at most min(K, d, N). Our decision: a direction whose singular value is at most 1e-6 of the largest is
        one the corpus does not have, and it is left out.
    """
    X = coarse[np.any(coarse != 0, axis=1)].T
    d, N = X.shape
    if N == 0:
        return np.zeros((0, d)), np.zeros(0)
    U, sigma, _ = np.linalg.svd(X, full_matrices=False)
    K_eff = min(K, d, N, np.count_nonzero(sigma > TOLERANCE * sigma[0]))
    return U[:, :K_eff].T, sigma[:K_eff]


def select_directions(
    S: Array, directions: Array, sigma: Array, h: int, ranking: Ranking
) -> list[int]:
    """Return which h directions correlate most with the sentence, ties to the smaller k (Eq. 8; algorithm.md, section 4).

    Parameters
    ----------
    S : array of shape (d, n)
    directions : array of shape (K, d)
    sigma : array of shape (K,)
    h : int
    ranking : {"singular", "plain"}
        o_k = sigma_k ||S^T d_k|| or o_k = ||S^T d_k||.

    Returns
    -------
    list of int
        h_eff = min(h, K) indices, the largest o first.
    """
    if ranking not in ("singular", "plain"):
        raise ValueError(f"ranking is {ranking!r}, not 'singular' or 'plain'")
    o = np.linalg.norm(S.T @ directions.T, axis=0)
    if ranking == "singular":
        o = sigma * o
    return sorted(range(len(o)), key=lambda k: (-o[k], k))[:h]


def orthonormal_basis(vectors: Array) -> Array:
    """Return an orthonormal basis, shape (d, rank), of what the columns span, dependent and zero ones included."""
    lengths = np.sqrt(np.sum(vectors**2, axis=0))
    unit = vectors[:, lengths > 0] / lengths[lengths > 0]
    if unit.shape[1] == 0:
        return np.zeros((len(vectors), 0))
    # Without pivoting, the column of Q that belongs to a dependent vector is arbitrary, and those after it tainted.
    Q, R, _ = scipy.linalg.qr(unit, mode="economic", pivoting=True)
    basis: Array = Q[:, np.abs(np.diag(R)) > TOLERANCE]
    return basis


def word_weights(
    S: Array, i: int, window: int, directions_selected: Array, sigma_selected: Array
) -> tuple[float, float, float]:
    """Return alpha_n, alpha_s and alpha_u of word i (Eqs. 4, 6 and 9, docs/algorithm.md, section 4).

    Parameters
    ----------
    S : array of shape (d, n)
    i : int
        The word, from 0.
    window : int
        m: the window holds at most m words before and m after, v_i moved last (Def. 1).
    directions_selected : array of shape (h_eff, d)
    sigma_selected : array of shape (h_eff,)

    Returns
    -------
    tuple of three float
        (1, 0, 1) for a zero vector and for one that its window already spans.
    """
    first, last = max(0, i - window), min(S.shape[1] - 1, i + window)
    context = [j for j in range(first, last + 1) if j != i]
    w = len(context) + 1
    v = S[:, i]
    Q = orthonormal_basis(S[:, context])
    residual = v - Q @ (Q.T @ v)
    residual = residual - Q @ (Q.T @ residual)  # the second time removes the rounding of the first
    r, length = float(np.linalg.norm(residual)), float(np.linalg.norm(v))
    if length == 0 or r <= TOLERANCE * length:
        return 1.0, 0.0, 1.0
    q = residual / r
    h_eff = len(sigma_selected)
    alpha_n = float(np.exp(r / length))
    alpha_s = r / w
    alpha_u = 1.0
    if h_eff > 0:
        alignment = np.linalg.norm(sigma_selected * (directions_selected @ q))
        alpha_u = float(np.exp(-alignment / h_eff))
    return alpha_n, alpha_s, alpha_u


def weights(
    S: Array, directions: Array, sigma: Array, *, window: int, n_removed: int, ranking: Ranking
) -> Array:
    """Return alpha_n, alpha_s and alpha_u of every word, shape (n, 3) (docs/algorithm.md, section 4).

    Parameters
    ----------
    S : array of shape (d, n)
    directions : array of shape (K, d)
    sigma : array of shape (K,)
    window : int
        m.
    n_removed : int
        h.
    ranking : {"singular", "plain"}

    Returns
    -------
    array of shape (n, 3)
    """
    chosen = select_directions(S, directions, sigma, n_removed, ranking)
    alphas = np.zeros((S.shape[1], 3))
    for i in range(S.shape[1]):
        alphas[i] = word_weights(S, i, window, directions[chosen], sigma[chosen])
    return alphas


def encode(
    S: Array,
    directions: Array,
    sigma: Array,
    *,
    window: int,
    n_removed: int,
    ranking: Ranking,
    removal: Removal,
    alphas: str,
    share: float = 1.0,
) -> Array:
    """Return the unit vector of a sentence (Eqs. 10 and 11, docs/algorithm.md, section 4).

    Parameters
    ----------
    S : array of shape (d, n)
    directions : array of shape (K, d)
    sigma : array of shape (K,)
    window : int
        m.
    n_removed : int
        h.
    ranking : {"singular", "plain"}
    removal : {"sdr", "sir", "none"}
        What is removed: the sentence's own h directions, the top h of the corpus, nothing. alpha_u always uses the
        sentence's own directions.
    alphas : str
        The weights that are summed, a subset of "nsu"; "" weighs every word 1.
    share : float
        How much of its part along the directions leaves the vector; 1 in the paper.

    Returns
    -------
    array of shape (d,)
        Never NaN: zero without words, and where removal leaves at most 1e-6 of the norm.
    """
    if removal not in ("sdr", "sir", "none"):
        raise ValueError(f"removal is {removal!r}, not 'sdr', 'sir' or 'none'")
    d, n = S.shape
    if n == 0:
        return np.zeros(d)
    parts = weights(S, directions, sigma, window=window, n_removed=n_removed, ranking=ranking)
    used = ["nsu".index(letter) for letter in alphas]
    alpha = parts[:, used].sum(axis=1) if used else np.ones(n)
    c = S @ alpha
    before = np.linalg.norm(c)
    D = directions[:0]
    if removal == "sdr":
        D = directions[select_directions(S, directions, sigma, n_removed, ranking)]
    elif removal == "sir":
        D = directions[:n_removed]
    c = c - share * (D.T @ (D @ c))
    after = np.linalg.norm(c)
    if after <= TOLERANCE * before:
        return np.zeros(d)
    unit: Array = c / after
    return unit
