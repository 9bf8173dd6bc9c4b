"""The gain of a small corpus from the background prior (docs/algorithm.md, section 7): STS Benchmark test, Pearson x 100.

    python -m benchmarks.background_prior --vectors FOLDER --stsbenchmark FOLDER [--samples 10]

Fits on random samples of n sentences of the train split, with prior 0 and 1000, and scores the test split.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from gem_index import GemConfig, GemEncoder, open_vectors

SIZES = (20, 50, 100, 1000, 10_000)
PRIORS = (0.0, 1000.0)


def read_split(folder: Path, split: str) -> tuple[np.ndarray, list[str], list[str]]:
    """Return gold scores, first and second sentences of a split of the original files."""
    lines = (folder / f"sts-{split}.csv").read_text(encoding="utf-8").split("\n")
    rows = [line.split("\t") for line in lines if line]
    return (
        np.array([float(row[4]) for row in rows]),
        [row[5] for row in rows],
        [row[6] for row in rows],
    )


def main() -> None:
    """Run the benchmark and print a Markdown table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--stsbenchmark", type=Path, required=True)
    parser.add_argument("--samples", type=int, default=10)
    options = parser.parse_args()

    vectors = open_vectors(options.vectors)
    scores, first, second = read_split(options.stsbenchmark, "test")
    _, train_first, train_second = read_split(options.stsbenchmark, "train")
    train = np.array(train_first + train_second, dtype=object)

    def pearson(encoder: GemEncoder) -> float:
        a, b = encoder.encode(first), encoder.encode(second)
        return float(100 * np.corrcoef(np.sum(a * b, axis=1), scores)[0, 1])

    print("| sentences | prior 0 | prior 1000 |\n|---|---|---|")
    for size in SIZES:
        found: dict[float, list[float]] = {prior: [] for prior in PRIORS}
        for seed in range(options.samples):
            sample = np.random.default_rng(seed).choice(train, size=size, replace=False)
            statistics = GemEncoder(vectors).corpus_statistics(sample)
            for prior in PRIORS:
                encoder = GemEncoder(vectors, GemConfig.sts(prior=prior)).fit_statistics(statistics)
                found[prior].append(pearson(encoder))
        cells = [f"{np.mean(v):.1f} ({min(v):.1f} to {max(v):.1f})" for v in found.values()]
        print(f"| {size:,} | {' | '.join(cells)} |", flush=True)
    print(f"| background alone | {pearson(GemEncoder(vectors)):.1f} | |")


if __name__ == "__main__":
    main()
