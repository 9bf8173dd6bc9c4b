"""Compare topics with the labels of public corpora, beside NMF of word counts.

``python -m benchmarks.topics CORPUS ...`` reads corpora as :mod:`benchmarks.classes` does. It asks for as many topics as
there are labels, and prints the agreement of the topics with the labels: the adjusted mutual information, 1 for the same
groups, 0 for groups by chance. Beside it stands the agreement of scikit-learn's NMF of TF-IDF (without English stop words),
whose strongest part is the topic of a text.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time

from sklearn.decomposition import NMF
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import adjusted_mutual_info_score

from benchmarks.classes import read_labeled
from gem_index import Document, Home


def measure(name: str) -> dict[str, float | int | str]:
    labels = dict(read_labeled(name))
    texts = list(labels)
    count = len(set(labels.values()))
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build("c", [Document(id=i, text=text) for i, text in enumerate(texts)])
        started = time.perf_counter()
        topics = home.collection("c").topics(count)
        seconds = time.perf_counter() - started
    found = [-1 if topic is None else topic for topic in topics.assigned.values()]
    counts = TfidfVectorizer(stop_words="english", min_df=2).fit_transform(texts)
    parts = NMF(count, init="nndsvda", random_state=0, max_iter=300).fit_transform(counts)
    truth = list(labels.values())
    return {
        "corpus": name,
        "texts": len(texts),
        "topics": count,
        "agreement": round(adjusted_mutual_info_score(truth, found), 2),
        "NMF": round(adjusted_mutual_info_score(truth, parts.argmax(axis=1)), 2),
        "seconds": round(seconds, 1),
    }


def main() -> None:
    for name in sys.argv[1:]:
        print(json.dumps(measure(name)), flush=True)


if __name__ == "__main__":
    main()
