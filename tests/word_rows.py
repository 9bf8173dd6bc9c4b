"""Seven words with rows of five numbers, and a function that reads a complete vector file."""

import numpy as np

WORDS = ["the", "of", "river", "\u00e9t\u00e9", "\u6771\u4eac", "new_york", "bank"]
MATRIX = np.random.default_rng(3).normal(size=(7, 5)).astype(np.float32)


def content_of(file):
    words, rows = [], []
    for chunk_words, chunk in file.chunks():
        words += chunk_words
        rows.append(chunk)
    return words, np.concatenate(rows)
