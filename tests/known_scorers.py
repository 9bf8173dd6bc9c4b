"""A scorer and an encoder of known results, for tests of evaluations."""

from __future__ import annotations

import numpy as np


class Known:
    """A scorer whose score of a pair is that of a function; it tells on what it was fitted."""

    def __init__(self, score, corpora):
        self._score, self._corpora = score, corpora

    def fit(self, corpus):
        self._corpora.append(list(corpus))
        return self

    def score(self, first, second):
        return np.array([self._score(a, b) for a, b in zip(first, second, strict=True)], float)


class Spread:
    """An encoder whose vector of a text is its number of each of the first letters."""

    def __init__(self, letters="abc"):
        self.letters, self.corpora = letters, []

    def fit(self, corpus):
        self.corpora.append(list(corpus))
        return self

    def encode(self, texts):
        rows = np.array([[text.count(each) for each in self.letters] for text in texts], np.float32)
        rows = rows.reshape(-1, len(self.letters))
        norms = np.linalg.norm(rows, axis=1, keepdims=True)
        return rows / np.where(norms > 0, norms, 1)
