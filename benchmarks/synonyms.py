"""Measure synonyms: queries in which an abbreviation stands for their rarest word.

``python -m benchmarks.synonyms FOLDER...`` reads retrieval sets in BEIR's layout and builds each as a collection in a
temporary home. In each query the rarest word that documents contain is replaced by a made-up abbreviation, which no document
contains. It prints nDCG@10 x 100 of the default search for the queries as they are, with abbreviations, and with
abbreviations that a list of synonyms explains; then of the queries as they are with that list, which must change nothing.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Mapping

from benchmarks.languages import build, ndcg
from gem_index import Home
from gem_index.evaluate.retrieval import read_beir
from gem_index.text.tokens import tokenize

_LEAST = 4  # letters of a replaced word
_LETTERS = "bcdfghjkpz"  # no stemmer takes one of them from the end


def abbreviation(number: int) -> str:
    """Return a made-up word for a number."""
    return "xq" + "".join(_LETTERS[int(digit)] for digit in f"{number:06}")


def abbreviated(
    queries: Mapping[str, str], frequencies: Mapping[str, int]
) -> tuple[list[str], dict[str, str]]:
    """Return the queries with abbreviations, and the abbreviation of each replaced word."""
    known: dict[str, str] = {}
    found = []
    for query in queries.values():
        tokens = tokenize(query)
        held = [t for t in tokens if frequencies.get(t) and t.isalpha() and len(t) >= _LEAST]
        if held:
            word = min(held, key=lambda token: frequencies[token])
            known.setdefault(word, abbreviation(len(known)))
            tokens = [known[word] if token == word else token for token in tokens]
        found.append(" ".join(tokens))
    return found, known


def main() -> None:
    print("set | queries | abbreviated | with synonyms | queries with synonyms")
    with tempfile.TemporaryDirectory() as root:
        home = Home(root)
        for task in map(read_beir, sys.argv[1:]):
            collection = build(home, task.documents, "auto")
            frequencies = Counter(
                word for text in task.documents.values() for word in set(tokenize(text))
            )
            queries = list(task.queries.values())
            short, known = abbreviated(task.queries, frequencies)
            cells = [ndcg(collection, task, each, "hybrid") for each in (queries, short)]
            collection.set_synonyms([[name, word] for word, name in known.items()])
            cells += [ndcg(collection, task, each, "hybrid") for each in (short, queries)]
            print(task.name, *(f"{cell:.2f}" for cell in cells), sep=" | ", flush=True)


if __name__ == "__main__":
    main()
