"""Re-ranking of related questions, SemEval 2016/2017 Task 3 subtask B (the paper's Table 2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from gem_index.common.arrays import F64
from gem_index.common.checks import check_choice
from gem_index.evaluate.candidates import GEM, Candidates
from gem_index.evaluate.data import Question
from gem_index.evaluate.metrics import RankingScores, paired_bootstrap, ranking_scores
from gem_index.evaluate.tables import Evaluation, Table

__all__ = ["PARTS", "evaluate_cqa", "pair_texts", "ranked_by"]


PARTS = ("subject+body", "subject", "body", "subject+subject+body")
"""The text of a question to compare; in the last the words of the subject count twice."""

_PAPER = (
    ("GEM + L.F.P. (paper)", 49.11),
    ("KeLP-contrastive1", 49.00),
    ("SimBow-contrastive2", 47.87),
    ("Reddit + SNLI tuned", 47.44),
    ("SimBow-primary", 47.22),
)


def pair_texts(questions: Sequence[Question], part: str) -> tuple[list[str], list[str]]:
    """Return for each candidate the text of its question and its own text, in order.

    Raises
    ------
    ConfigError
        If the part is not one of ``PARTS``.
    """
    check_choice(part, "the text", PARTS)

    def text(subject: str, body: str) -> str:
        texts = {"subject": subject, "body": body}
        return "\n\n".join(filter(None, (texts[name] for name in part.split("+")))) or subject

    first = [text(q.subject, q.body) for q in questions for _ in q.candidates]
    return first, [text(subject, body) for q in questions for _, subject, body in q.candidates]


def evaluate_cqa(questions: Sequence[Question], found: Candidates, part: str) -> Evaluation:
    """Rank each question's candidates by their scores, and compare with the search engine's order.

    Parameters
    ----------
    questions : sequence of Question
    found : Candidates
        Including ``GEM``; each is fitted on all texts of the questions.
    part : str
        One of ``PARTS``.

    Returns
    -------
    Evaluation
        The measures of the official scorer, x 100.
    """
    first, second = pair_texts(questions, part)
    corpus = [*dict.fromkeys(first), *second]
    results = {"search engine": ranking_scores([q.relevant for q in questions])}
    for name, make in found.items():
        results[name] = ranking_scores(
            ranked_by(questions, make().fit(corpus).score(first, second))
        )
    ours = results[GEM]
    json: dict[str, Any] = {
        "task": "cqa",
        "text": part,
        "questions": len(questions),
        **_measures(ours),
        "baselines": {},
    }
    rows = []
    for name in (GEM, *(name for name in results if name != GEM)):
        gain = None
        if name != GEM:
            gain = _gain(ours, results[name])
            json["baselines"][name] = _measures(results[name]) | {"gain": gain}
        interval = (
            f"{gain['map']:+.2f} ({gain['low']:+.2f} … {gain['high']:+.2f})" if gain else None
        )
        rows.append((name, *_measures(results[name]).values(), interval))
    title = f"{len(questions)} questions, {len(second)} candidates, {part}"
    table = Table(title, ("model", ">MAP", ">AvgRec", ">MRR", ">GEM's gain (95 %)"), rows)
    return Evaluation(
        json, [table, Table("The paper's Table 2 (test 2017)", ("model", ">MAP"), _PAPER)]
    )


def ranked_by(questions: Sequence[Question], scores: F64) -> list[list[bool]]:
    """Return whether each candidate is relevant, best first; equal scores in the search engine's order."""
    rankings, begin = [], 0
    for question in questions:
        end = begin + len(question.candidates)
        order = np.argsort(-scores[begin:end], kind="stable")
        rankings.append([question.relevant[place] for place in order])
        begin = end
    return rankings


def _measures(scores: RankingScores) -> dict[str, float]:
    return {"map": scores.map, "avg_rec": scores.avg_rec, "mrr": scores.mrr}


def _gain(ours: RankingScores, theirs: RankingScores) -> dict[str, float]:
    difference = ours.average_precision - theirs.average_precision
    interval = paired_bootstrap(lambda samples: difference[samples].mean(axis=1), len(difference))
    return {"map": interval.difference, "low": interval.low, "high": interval.high}
