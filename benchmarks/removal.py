"""Look for a statistic of a corpus that tells whether removing its directions helps.

``python -m benchmarks.removal FOLDER`` reads STS Benchmark (``stsbenchmark/sts-train.csv``) and SICK
(``senteval/SICK/SICK_train.txt``) below the folder. Each source of STS Benchmark is a corpus, and so are the pairs
of frequent words. For each corpus, the benchmark prints the number of texts and of distinct words, the perplexity of the
words, the energy of the first direction and of the first three, Pearson's r of the mean of word vectors, and the gain over
the mean of each share that is removed, and of a fit with a larger prior.
"""

from __future__ import annotations

import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

from gem_index import GemEncoder, open_vectors
from gem_index.evaluate.metrics import pearson
from gem_index.gem.config import NEW_COLLECTION_PRIOR, GemConfig

SHARES = (0.0, 0.1, 0.2, 0.4)
PRIOR = 300_000.0
_FEWEST = 120  # pairs
_FREQUENT = (600, 1000, 2000, 4000)
_CONFIG = replace(GemConfig.trained(), prior=NEW_COLLECTION_PRIOR)

Pair = tuple[float, str, str]


def corpora(folder: Path) -> Iterator[tuple[str, list[Pair]]]:
    """Yield names and pairs with their scores."""
    sources: dict[str, list[Pair]] = defaultdict(list)
    path = folder / "stsbenchmark" / "sts-train.csv"
    for line in path.read_text(encoding="utf-8").splitlines():
        fields = line.split("\t")
        sources[fields[1]].append((float(fields[4]), fields[5], fields[6]))
    yield from sources.items()
    pairs = [pair for some in sources.values() for pair in some]
    yield "all of STS Benchmark", pairs
    frequency = Counter(word for pair in pairs for word in words(pair))
    for number in _FREQUENT:
        known = {word for word, _ in frequency.most_common(number)}
        yield (
            f"its {number:,} most frequent words",
            [pair for pair in pairs if known.issuperset(words(pair))],
        )
    path = folder / "senteval" / "SICK" / "SICK_train.txt"
    rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    yield "SICK", [(float(row[3]), row[1], row[2]) for row in rows]


def words(pair: Pair) -> list[str]:
    return re.findall(r"\w+", f"{pair[1]} {pair[2]}".lower())


def main() -> None:
    vectors = open_vectors("wordllama-gem")
    mean = GemEncoder(vectors, replace(_CONFIG, removal="none", alphas=""))
    print(
        "corpus | texts | words | perplexity | energy of 1 and 3 directions, % | mean | "
        + " | ".join(f"share {share}" for share in SHARES)
        + f" | prior of {PRIOR:,.0f}"
    )
    for name, pairs in corpora(Path(sys.argv[1])):
        if len(pairs) < _FEWEST:
            continue
        gold = np.array([score for score, *_ in pairs])
        texts = list(dict.fromkeys(text for pair in pairs for text in pair[1:]))
        statistics = GemEncoder(vectors, _CONFIG).corpus_statistics(texts)

        def score(encoder: GemEncoder, pairs: list[Pair] = pairs, gold: np.ndarray = gold) -> float:
            first = encoder.encode([pair[1] for pair in pairs])
            second = encoder.encode([pair[2] for pair in pairs])
            return pearson(gold, np.einsum("nd,nd->n", first, second).astype(np.float64))

        without = score(mean)
        configs = [replace(_CONFIG, share=share) for share in SHARES]
        gains = [
            score(GemEncoder(vectors, config).fit_statistics(statistics)) - without
            for config in [*configs, replace(_CONFIG, prior=PRIOR)]
        ]
        count = np.array(list(Counter(word for pair in pairs for word in words(pair)).values()))
        frequency = count / count.sum()
        energy = np.linalg.eigvalsh(statistics.moment)[::-1]
        energy = 100 * energy.cumsum() / energy.sum()
        print(
            f"{name} | {len(texts):,} | {len(count):,} | {np.exp(-frequency @ np.log(frequency)):.0f} | "
            f"{energy[0]:.1f}, {energy[2]:.1f} | {without:.2f} | "
            + " | ".join(f"{gain:+.2f}" for gain in gains)
        )


if __name__ == "__main__":
    main()
