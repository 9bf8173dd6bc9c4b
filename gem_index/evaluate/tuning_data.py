"""Score configurations on dev data."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from statistics import mean

from gem_index.evaluate.candidates import GEM, EncoderScorer
from gem_index.evaluate.cqa import evaluate_cqa
from gem_index.evaluate.data import read_questions, read_sts
from gem_index.evaluate.metrics import pearson
from gem_index.evaluate.sts import scores_of
from gem_index.evaluate.tune import Score
from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.vectors.base import VectorSource

__all__ = ["score_on_pairs", "score_on_questions"]

Open = Callable[[str], VectorSource]


def score_on_pairs(files: Sequence[str], opened: Open) -> Score:
    """Return a function that scores a configuration by the mean Pearson's r x 100 over files of sentence pairs."""
    parts, opened = read_sts(files), cache(opened)

    def score(config: GemConfig, spec: str) -> float:
        found = {GEM: lambda: EncoderScorer(GemEncoder(opened(spec), config))}
        return mean(pearson(part.gold, scores_of(part, found)[GEM]) for part in parts)

    return score


def score_on_questions(files: Sequence[str], opened: Open) -> Score:
    """Return a function that scores a configuration by the mean average precision x 100 on questions with candidates."""
    questions, opened = read_questions(files), cache(opened)

    def score(config: GemConfig, spec: str) -> float:
        found = {GEM: lambda: EncoderScorer(GemEncoder(opened(spec), config))}
        return float(evaluate_cqa(questions, found, "subject+body").json["map"])

    return score
