"""Time the steps of encoding on one core, each as a separate kernel, from word ids.

python -m benchmarks.profile_encode --vectors FOLDER_OF_300D --stsbenchmark FOLDER
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.__main__ import timed
from benchmarks.background_prior import read_split
from gem_index import GemEncoder, open_vectors
from gem_index.gem.batches import TokenBatch
from gem_index.gem.sentences import WeighedSentences
from gem_index.kernels.sentences import project, select_directions, weigh_sentences


def main() -> None:
    """Print the microseconds per sentence for each step."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--stsbenchmark", type=Path, required=True)
    options = parser.parse_args()
    _, first, second = read_split(options.stsbenchmark, "train")
    texts = (first + second) * 5
    encoder = GemEncoder(open_vectors(options.vectors)).fit(texts[:20_000])
    components, config = encoder.components, encoder.config
    batch = TokenBatch.of_texts(texts)
    rows, _ = encoder.vectors.lookup(batch.words)
    weighed = WeighedSentences.of(batch.ids, batch.offsets, rows, components, config)
    out = np.empty((len(texts), encoder.dimension), np.float32)
    sigma, selected = components.singular_values, weighed.selected
    plain = config.ranking == "plain"

    def microseconds(work: Callable[[], Any]) -> float:
        return 1e6 * median(timed(work)) / len(texts)

    steps = {
        "find, number and look up words": microseconds(
            lambda: encoder.vectors.lookup(TokenBatch.of_texts(texts).words)
        ),
        "project distinct words": microseconds(lambda: project(rows, components.directions)),
        "rank the directions, select 17 of 45": microseconds(
            lambda: select_directions(weighed.batch, sigma, plain, selected)
        ),
        "weigh words (Gram matrix of windows, sliding inverse)": microseconds(
            lambda: weigh_sentences(weighed.batch, sigma, selected, config.window, weighed.weights)
        ),
        "weighted sum, remove 17 directions, normalise": microseconds(
            lambda: weighed.compose(components, config, out)
        ),
    }
    print("| step | µs |\n|---|---|")
    for name, value in steps.items():
        print(f"| {name} | {value:.1f} |")


if __name__ == "__main__":
    main()
