"""Compare meaning, words, and both together as the features of a classifier.

``python -m benchmarks.classes [--texts 4000] CORPUS ...`` reads labeled corpora:

- files joined by commas, the texts of one label in each, one per line (``custrev.pos,custrev.neg``);
- a file whose lines are a label, a blank and a text (TREC's ``train_5500.label``);
- a folder with SemEval's CQA files (.xml): the related questions, each with its category; categories of fewer than ten
  questions are left out;
- a folder in BEIR's layout: the texts are its queries, five consecutive documents are one label (the paragraphs of an
  article of XQuAD).

At most ``--texts`` texts of each, drawn at random, are divided into five parts. Each part is classified by what the other
four teach: logistic regression, whose regularization is chosen on them from two values. The features are the vectors of
``GemVectorizer()``; its words alone; both, ``GemVectorizer(words=True)``; scikit-learn's ``TfidfVectorizer``. The command
prints the share of right labels, and the difference of both from the better of meaning and words.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn_gem import GemVectorizer

from benchmarks.novelty import read_corpus

_PARTS = 5
_LEAST = 10  # questions of a category


def read_labeled(name: str) -> list[tuple[str, str]]:
    """Return the texts of a corpus with their labels."""
    path = Path(name.split(",")[0])
    if "," in name:
        files = map(Path, name.split(","))
        return [(text, file.name) for file in files for text in _lines(file)]
    if path.is_file():
        pairs = (line.split(" ", 1) for line in _lines(path))
        return [(text, label.split(":")[0]) for label, text in pairs]
    if any(path.glob("*.xml")):
        questions = dict(_questions(path))
        sizes = Counter(questions.values())
        return [pair for pair in questions.items() if sizes[pair[1]] >= _LEAST]
    return list(read_corpus(f"{name}:5").items())


def _lines(path: Path) -> Iterator[str]:
    yield from filter(str.strip, path.read_text("latin-1").splitlines())


def _questions(folder: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(folder.glob("*.xml")):
        for question in ElementTree.parse(path).iter("RelQuestion"):
            text = f"{question.findtext('RelQSubject')}\n{question.findtext('RelQBody')}"
            yield text, question.get("RELQ_CATEGORY", "")


def right(features: csr_matrix, labels: np.ndarray, unseen: csr_matrix, truth: np.ndarray) -> float:
    """Return the share of unseen texts that get their label."""
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": [1, 10]}, cv=3, n_jobs=-1)
    return float(search.fit(features, labels).score(unseen, truth))


def measure(name: str, most: int) -> dict[str, float | int | str]:
    pairs = read_labeled(name)
    order = np.random.default_rng(0).permutation(len(pairs))[:most]
    texts = np.array([pairs[i][0] for i in order], dtype=object)
    labels = np.array([pairs[i][1] for i in order])
    found: dict[str, list[float]] = {"meaning": [], "words": [], "both": [], "tf-idf": []}
    parts = StratifiedKFold(_PARTS, shuffle=True, random_state=0)
    for taught, left in parts.split(texts, labels):
        vectorizer = GemVectorizer(words=True).fit(texts[taught])
        both = csr_matrix(vectorizer.transform(texts[taught]))
        unseen = csr_matrix(vectorizer.transform(texts[left]))
        dense = slice(0, vectorizer.encoder_.dimension)
        sparse = slice(dense.stop, None)
        plain = TfidfVectorizer(sublinear_tf=True).fit(texts[taught])
        for kind, seen, new in (
            ("meaning", both[:, dense].toarray(), unseen[:, dense].toarray()),
            ("words", both[:, sparse], unseen[:, sparse]),
            ("both", both, unseen),
            ("tf-idf", plain.transform(texts[taught]), plain.transform(texts[left])),
        ):
            found[kind].append(right(seen, labels[taught], new, labels[left]))
    shares = {kind: round(float(np.mean(each)), 3) for kind, each in found.items()}
    gain = shares["both"] - max(shares["meaning"], shares["words"])
    row = {"corpus": name, "texts": len(texts), "labels": len(set(labels.tolist()))}
    return {**row, **shares, "gain": round(gain, 3)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--texts", type=int, default=4000)
    options = parser.parse_args()
    for name in options.corpora:
        print(json.dumps(measure(name, options.texts)), flush=True)


if __name__ == "__main__":
    main()
