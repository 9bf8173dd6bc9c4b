"""The paper's example sentences: the small effect of removed stop words, and the weights of words."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import mean, variance
from typing import Any

from gem_index import GemEncoder
from gem_index.evaluate.tables import Evaluation, Table

__all__ = ["evaluate_examples", "evaluate_speed"]

_ROBUSTNESS = (
    (
        "the first tropical system to slam the US this year is expected to make landfall as a hurricane",
        "first tropical system slam US this year expected make landfall hurricane",
        0.954,
    ),
    ("The student is reading a physics book", "student is reading a physics book", 0.998),
    ("Someone is sitting on the blanket", "Someone is sitting on blanket", 0.981),
    (
        "A man walks along walkway to the store",
        "man walks along walkway to the store",
        0.984,
    ),
)
_WEIGHTS: tuple[tuple[str, dict[str, float]], ...] = (
    (
        "there are two ducks swimming in the river",
        {
            "ducks": 4.93,
            "river": 4.72,
            "swimming": 4.70,
            "two": 3.87,
            "are": 3.54,
            "there": 3.23,
            "in": 3.04,
            "the": 2.93,
        },
    ),
    (
        "the stock market closes lower on Friday",
        {
            "lower": 4.94,
            "stock": 4.93,
            "closes": 4.78,
            "market": 4.62,
            "friday": 4.51,
            "the": 3.75,
            "on": 3.70,
        },
    ),
)
_PAPER_SECONDS = (
    ("GEM, Xeon E5-2690 v4 (paper)", 20.08, 0.23),
    ("InferSent, Tesla P100 (paper)", 21.24, 0.15),
    ("SkipThought, Tesla P100 (paper)", 43.36, 0.10),
)
_TRIALS = 5


def evaluate_examples(encoder: GemEncoder) -> Evaluation:
    """Compute the cosines and weights of the paper's examples, and show the paper's values beside them."""
    cosines, json_cosines = [], []
    for original, shortened, paper in _ROBUSTNESS:
        found = encoder.similarity(original, shortened)
        cosines.append((original, shortened, found, paper))
        json_cosines.append(
            {"original": original, "removed": shortened, "cosine": found, "paper": paper}
        )
    tables = [Table("Robustness", ("sentence", "without", ">cosine", ">paper"), cosines, digits=3)]
    json_weights: list[dict[str, Any]] = []
    for sentence, paper_weights in _WEIGHTS:
        weights = {word.token.lower(): word.alpha for word in encoder.explain(sentence).words}
        rows = [
            (word, weights[word], paper_weights.get(word))
            for word in sorted(weights, key=lambda word: -weights[word])
        ]
        tables.append(Table(sentence, ("word", ">weight", ">paper"), rows))
        json_weights.append({"sentence": sentence, "weights": weights, "paper": paper_weights})
    return Evaluation(
        {"task": "examples", "robustness": json_cosines, "weights": json_weights}, tables
    )


def evaluate_speed(encoder: GemEncoder, sentences: Sequence[str]) -> Evaluation:
    """Time encoding, one sentence at a time and all at once, five times each, as in the paper's table of running times."""
    encoder.encode(sentences)  # compile the kernels before timing
    rows: list[tuple[object, ...]] = []
    json: dict[str, Any] = {"task": "speed", "sentences": len(sentences)}
    for name, key in (("one at a time", "single"), ("all at once", "batch")):
        seconds = []
        for _ in range(_TRIALS):
            started = time.perf_counter()
            if key == "single":
                for sentence in sentences:
                    encoder.encode([sentence])
            else:
                encoder.encode(sentences)
            seconds.append(time.perf_counter() - started)
        json[key] = {"seconds": mean(seconds), "variance": variance(seconds)}
        rows.append((f"gem-index, {name}", mean(seconds), variance(seconds)))
    headings = ("model", ">seconds", ">variance")
    title = f"Encoding {len(sentences)} sentences, {_TRIALS} trials"
    return Evaluation(json, [Table(title, headings, [*rows, *_PAPER_SECONDS], digits=4)])
