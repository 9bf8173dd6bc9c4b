"""Measure how much of their wording two texts share whose vectors are near.

``python -m benchmarks.overlaps THRESHOLD FOLDER...`` reads retrieval sets in BEIR's layout and encodes up to 4,000
documents and 2,000 queries of each with the bundled vectors. It prints how many pairs have a cosine of at least the
threshold, the percentiles 0, 1, 5 and 50 of the overlap of their trigrams (of at most 3,000 pairs), and the percentiles 100,
99, 95 and 50 of that of random pairs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from gem_index import open_provider
from gem_index.evaluate.retrieval import read_beir
from gem_index.text.tokens import tokenize
from gem_index.text.trigrams import trigrams

_TEXTS = {"documents": 4000, "queries": 2000}
_PAIRS = 3000
_PERCENTILES = (0, 1, 5, 50)


def overlaps(texts: list[str], pairs: np.ndarray) -> np.ndarray:
    """Return the Jaccard similarity of the trigrams of pairs of texts."""
    sets = {place: trigrams(tokenize(texts[place])) for place in np.unique(pairs).tolist()}
    found = []
    for first, second in pairs.tolist():
        both = len(np.intersect1d(sets[first], sets[second], assume_unique=True))
        found.append(both / max(1, len(sets[first]) + len(sets[second]) - both))
    return np.array(found)


def shown(values: np.ndarray, percentiles: tuple[int, ...]) -> str:
    return (
        " ".join(f"{each:.2f}" for each in np.percentile(values, percentiles))
        if len(values)
        else "-"
    )


def main() -> None:
    threshold = float(sys.argv[1])
    provider = open_provider()
    draw = np.random.default_rng(0)
    print("set | texts | near pairs | their overlap | overlap of random pairs, from above")
    for folder in map(Path, sys.argv[2:]):
        task = read_beir(folder)
        for kind, most in _TEXTS.items():
            texts = list(getattr(task, kind).values())[:most]
            vectors = np.asarray(provider.embed_documents(texts), np.float32)
            near = np.argwhere(np.triu(vectors @ vectors.T >= threshold, 1))
            chosen = near[draw.permutation(len(near))[:_PAIRS]]
            random = draw.integers(0, len(texts), (_PAIRS, 2))
            random = random[random[:, 0] != random[:, 1]]
            print(
                f"{folder.name}, {kind}",
                len(texts),
                len(near),
                shown(overlaps(texts, chosen), _PERCENTILES),
                shown(overlaps(texts, random), tuple(100 - each for each in _PERCENTILES)),
                sep=" | ",
                flush=True,
            )


if __name__ == "__main__":
    main()
