"""GEM as the paper writes it, plain and slow, in float64: the oracle that every fast path is compared with.

Nothing here is shared with the library: singular value decompositions and a QR factorisation per window, as in the
paper's Algorithm 1 (Yang, Zhu, Chen, EMNLP 2019). A sentence is its matrix S of shape (d, n), a column a word.
"""

from __future__ import annotations

import hashlib
import re

import numpy as np
import scipy.linalg

RANK = 1e-6  # a residual or singular value below this share counts as none (spec section 4)


def tokenize(text):
    """Spec section 1, for ASCII texts."""
    tokens = [token.lower() for token in re.findall(r"\w+|[^\w\s]+", text)]
    return [token for token in tokens if any(character.isalnum() for character in token)]


def row_of_unknown(word, rows):
    """Spec section 2."""
    return int(hashlib.sha256(word.encode("utf-8")).hexdigest(), 16) % rows


def coarse_vector(S, power):
    """Eq. 7: g = sum_j sigma_j^t u_j, each u_j oriented toward the sum of the words (spec section 3)."""
    if S.shape[1] == 0:
        return np.zeros(S.shape[0])
    U, sigma, _ = np.linalg.svd(S, full_matrices=False)
    signs = np.where(U.T @ S.sum(axis=1) >= 0, 1.0, -1.0)
    return U @ (signs * sigma**power)


def principal_directions(coarse, K):
    """Top K left singular vectors of X^c, and its singular values; coarse has a row a non-empty sentence."""
    _, sigma, Vt = np.linalg.svd(coarse, full_matrices=False)
    count = min(K, *coarse.shape)
    kept = [k for k in range(count) if sigma[k] > RANK * sigma[0]]
    return Vt[kept], sigma[kept]


def select_directions(S, directions, sigma, h, ranking):
    """Eq. 8: the h directions with the largest o_k, ties to the smaller k."""
    o = np.linalg.norm(S.T @ directions.T, axis=0)
    if ranking == "singular":
        o = sigma * o
    return sorted(range(len(sigma)), key=lambda k: (-o[k], k))[: min(h, len(sigma))]


def span(vectors):
    """An orthonormal basis of what some columns span, by QR with column pivoting on their directions."""
    lengths = np.linalg.norm(vectors, axis=0)
    vectors = vectors[:, lengths > 0] / lengths[lengths > 0]
    if vectors.shape[1] == 0:
        return np.zeros((vectors.shape[0], 0))
    Q, R, _ = scipy.linalg.qr(vectors, mode="economic", pivoting=True)
    return Q[:, np.abs(np.diag(R)) > RANK]


def word_weights(S, i, window, D, sigma_d):
    """Eqs. 4, 6, 9 of word i: its window matrix has v_i last (Def. 1)."""
    n = S.shape[1]
    low, high = max(0, i - window), min(n, i + window + 1)
    others = [j for j in range(low, high) if j != i]
    v = S[:, i]
    Q = span(S[:, others])
    residual = v - Q @ (Q.T @ v)
    residual = residual - Q @ (Q.T @ residual)
    r, length = np.linalg.norm(residual), np.linalg.norm(v)
    if length == 0 or r <= RANK * length:
        return 1.0, 0.0, 1.0
    q = residual / r
    alpha_u = np.exp(-np.linalg.norm(sigma_d * (D @ q)) / max(len(sigma_d), 1))
    return np.exp(r / length), r / (high - low), alpha_u


def weights(S, directions, sigma, *, window, removed, ranking):
    """The (n, 3) weights of a sentence's words."""
    chosen = select_directions(S, directions, sigma, removed, ranking)
    rows = [
        word_weights(S, i, window, directions[chosen], sigma[chosen]) for i in range(S.shape[1])
    ]
    return np.array(rows).reshape(-1, 3)


def encode(S, directions, sigma, *, window, removed, ranking, removal, alphas):
    """The unit vector of a sentence (Eqs. 10, 11); zero without words, or where removal leaves nothing."""
    d, n = S.shape
    if n == 0:
        return np.zeros(d)
    parts = weights(S, directions, sigma, window=window, removed=removed, ranking=ranking)
    used = ["nsu".index(letter) for letter in alphas]
    alpha = parts[:, used].sum(axis=1) if used else np.ones(n)
    c = S @ alpha
    before = np.linalg.norm(c)
    if removal == "sdr":
        D = directions[select_directions(S, directions, sigma, removed, ranking)]
    elif removal == "sir":
        D = directions[: min(removed, len(sigma))]
    else:
        D = directions[:0]
    c = c - D.T @ (D @ c)
    if np.linalg.norm(c) <= RANK * before:
        return np.zeros(d)
    return c / np.linalg.norm(c)
