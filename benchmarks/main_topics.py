"""Compare ways to join topics to main topics, by labels that are coarser than the topics.

``python -m benchmarks.main_topics [--topics 12 24 48] CORPUS ...`` reads corpora as :mod:`benchmarks.classes` does; of
folders joined by ``+``, each in BEIR's layout, it draws 1,000 documents (``corpus.jsonl``) each, whose label is the folder.
There are as many main topics as labels. For each number of topics the command prints the agreement of the main topics with
the labels (adjusted mutual information) and, after it, the share of the largest main topic: of k-means without topics
(``direct``), and of topics joined by k-means of their centers, by Ward's method, by average and by complete linkage.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_mutual_info_score

from benchmarks.classes import read_labeled
from gem_index import Document, Home
from gem_index.collection.corpus.main_topics import main_groups
from gem_index.collection.corpus.topics import assigned_to, centres_of

_DRAWN = 1000  # documents of a folder


def read_sources(name: str) -> list[tuple[str, str]]:
    """Return texts with their labels."""
    if "+" not in name:
        return read_labeled(name)
    rng, found = np.random.default_rng(0), []
    for folder in name.split("+"):
        lines = (Path(folder) / "corpus.jsonl").read_text(encoding="utf-8").splitlines()
        for i in rng.choice(len(lines), min(_DRAWN, len(lines)), replace=False).tolist():
            row = json.loads(lines[i])
            found.append((f"{row.get('title', '')} {row['text']}", folder))
    return found


def joined(centres: np.ndarray, sizes: np.ndarray, count: int) -> dict[str, np.ndarray]:
    """Return the main topic of each topic, by each method."""
    distances = np.maximum(0, 1 - centres @ centres.T)
    found = {
        "k-means": KMeans(count, n_init=10, random_state=0).fit(centres, sample_weight=sizes),
        **{
            linkage: AgglomerativeClustering(count, metric="precomputed", linkage=linkage).fit(
                distances
            )
            for linkage in ("average", "complete")
        },
    }
    labels = {name: each.labels_ for name, each in found.items()}
    return labels | {"Ward": np.array(main_groups(centres, count))}


def measure(name: str, topics: int) -> dict[str, object]:
    """Return the figures of a corpus."""
    pairs = read_sources(name)
    texts, truth = [text for text, _ in pairs], [label for _, label in pairs]
    count = len(set(truth))
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build("c", [Document(id=str(i), text=text) for i, text in enumerate(texts)])
        _, vectors = home.collection("c").vectors()
    centres = centres_of(vectors, topics)
    assigned, _ = assigned_to(vectors, centres)
    sizes = np.bincount(assigned, minlength=topics)
    found = {"direct": assigned_to(vectors, centres_of(vectors, count))[0]}
    found |= {way: groups[assigned] for way, groups in joined(centres, sizes, count).items()}
    return {
        "corpus": [Path(part).name for part in name.split("+")],
        "texts": len(texts),
        "topics": topics,
        "main": count,
        **{
            way: [
                round(adjusted_mutual_info_score(truth, groups), 2),
                round(float(np.bincount(groups).max()) / len(texts), 2),
            ]
            for way, groups in found.items()
        },
    }


def main() -> None:
    """Print a line for each corpus and number of topics."""
    parser = argparse.ArgumentParser()
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--topics", type=int, nargs="+", default=[12, 24, 48])
    options = parser.parse_args()
    for name in options.corpora:
        for topics in options.topics:
            print(json.dumps(measure(name, topics)), flush=True)


if __name__ == "__main__":
    main()
