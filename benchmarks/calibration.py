"""Compare thresholds from collections alone with the results of real queries.

``python -m benchmarks.calibration FOLDER...`` reads retrieval sets in BEIR's layout and builds each as a collection. A part
of each of at most 1,000 documents (8, 12 or 16 words) is a query whose own document is left out of the results, as in
``Collection.calibrate``. A quantile of their best scores is the threshold. At most 1,000 real queries then tell, for the
first results at or above the threshold, how many are wrong, and how many of the right first results remain. With their right
documents left out of the results, they also tell how many queries without an answer still reach the threshold.

The quantile of each set is the one at which, in the other sets, right results and queries without an answer are separated
best: the share of right first results that are kept, minus the share of queries without an answer that reach the threshold
(Youden's index).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np

from gem_index import Collection, Document, Home
from gem_index.collection.corpus.calibrating import lowest_score, part_of, score_reached_by
from gem_index.common.arrays import F64, Mask
from gem_index.evaluate.retrieval import RetrievalTask, read_beir
from gem_index.index.dense import spread
from gem_index.text.tokens import tokenize

MODES = ("hybrid", "dense", "lexical")
UNITS = (8, 12, 16)
QUANTILES = (0.5, 0.6, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95)
_MOST = 1000  # documents, and queries
_DEPTH = 100
_OWN_UNITS = 12


def left_out(collection: Collection, task: RetrievalTask, mode: str, units: int) -> F64:
    """Return the best score (n,) of each part without its own document."""
    rng = np.random.default_rng(0)
    names = list(task.documents)
    chosen = [names[place] for place in spread(np.arange(len(names)), _MOST)]
    parts = [(name, part_of(task.documents[name], rng, units)) for name in chosen]
    parts = [(name, part) for name, part in parts if tokenize(part)]
    found = collection.search_many([part for _, part in parts], 2, mode=mode)
    return np.array(
        [
            next((hit.score for hit in hits if hit.id != name), 0.0)
            for (name, _), hits in zip(parts, found, strict=True)
        ]
    )


def asked(collection: Collection, task: RetrievalTask, mode: str) -> tuple[F64, Mask, F64]:
    """Return the score of each query's first result, whether it is wrong, and the score of the first wrong result."""
    names = [list(task.queries)[p] for p in spread(np.arange(len(task.queries)), _MOST)]
    depth = min(_DEPTH, 1 + max(len(task.relevance[name]) for name in names))
    found = collection.search_many([task.queries[name] for name in names], depth, mode=mode)
    first = [hits[0].score if hits else 0.0 for hits in found]
    wrong = [
        not hits or hits[0].id not in task.relevance[name]
        for name, hits in zip(names, found, strict=True)
    ]
    missed = [
        next((hit.score for hit in hits if hit.id not in task.relevance[name]), 0.0)
        for name, hits in zip(names, found, strict=True)
    ]
    return np.array(first), np.array(wrong), np.array(missed)


def _share(values: Mask) -> float:
    return float(values.mean()) if len(values) else 0.0


def outcome(first: F64, wrong: Mask, missed: F64, bound: float) -> tuple[float, float, float]:
    """Return the shares of wrong results at or above a threshold, of right ones kept, and of queries without an answer."""
    return _share(wrong[first >= bound]), _share(first[~wrong] >= bound), _share(missed >= bound)


def main() -> None:
    tasks = [read_beir(folder) for folder in sys.argv[1:]]
    scores: dict[tuple[str, int, str], F64] = {}
    real: dict[tuple[str, str], tuple[F64, Mask, F64]] = {}

    def youden(mode: str, name: str, quantile: float) -> float:
        bound = score_reached_by(scores[mode, _OWN_UNITS, name], quantile)
        _, kept, reached = outcome(*real[mode, name], bound)
        return kept - reached

    for task in tasks:
        with tempfile.TemporaryDirectory() as folder:
            home = Home(Path(folder))
            home.build("c", [Document(id=name, text=text) for name, text in task.documents.items()])
            collection = home.collection("c")
            for mode in MODES:
                real[mode, task.name] = asked(collection, task, mode)
                for units in UNITS:
                    scores[mode, units, task.name] = left_out(collection, task, mode, units)
        print(f"{task.name} searched", file=sys.stderr, flush=True)

    names = [task.name for task in tasks]
    print(
        "Means over the sets, %: wrong first results at or above the threshold; right first results"
    )
    print("that are kept; queries without their answer that reach it")
    print("mode    | words | " + " | ".join(f"q{100 * each:.0f}" for each in QUANTILES))
    for mode in MODES:
        for units in UNITS:
            cells = []
            for quantile in QUANTILES:
                means = np.mean(
                    [
                        outcome(*real[mode, n], score_reached_by(scores[mode, units, n], quantile))
                        for n in names
                    ],
                    axis=0,
                )
                cells.append(" ".join(f"{100 * each:.0f}" for each in means))
            print(f"{mode:7} | {units:5} | " + " | ".join(cells))
    print(
        "\nEach set with the quantile that the others choose, parts of 12 words; then the threshold from known answers"
    )
    print(
        "mode    | set            | quantile | threshold | wrong | right kept | reached without answer | all wrong | "
        "from answers | wrong | right kept | reached without answer"
    )
    for mode in MODES:
        for name in names:
            others = [each for each in names if each != name]
            quantile = max(QUANTILES, key=lambda q: np.mean([youden(mode, o, q) for o in others]))
            bound = score_reached_by(scores[mode, _OWN_UNITS, name], quantile)
            first, wrong, missed = real[mode, name]
            known = lowest_score(first, wrong)
            cells = [f"{quantile:.2f}", f"{bound:.3f}"]
            cells += [f"{100 * each:.0f}" for each in outcome(first, wrong, missed, bound)]
            cells.append(f"{100 * _share(wrong):.0f}")
            if known is not None:
                cells.append(f"{known:.3f}")
                cells += [f"{100 * each:.0f}" for each in outcome(first, wrong, missed, known)]
            print(f"{mode:7} | {name:14} | " + " | ".join(cells))


if __name__ == "__main__":
    main()
