"""Measure word search and the default search by language, with typing errors, and with titles that count more.

``python -m benchmarks.languages FOLDER...`` reads retrieval sets in BEIR's layout and builds each as a collection in a
temporary home: with the language that is detected, as English, as several languages and as none. It prints nDCG@10 x 100 of
the modes ``lexical`` and ``hybrid``, then of queries in which one word has a typing error, with and without correction, then
of texts whose first paragraph is a title that counts once, twice and four times.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Mapping, Sequence

import numpy as np

from gem_index import Collection, Home
from gem_index.evaluate.retrieval import RetrievalTask, measures, read_beir
from gem_index.text.tokens import token_spans

_LEAST = 5  # letters of a word that gets an error
_TITLE_WORDS = 30  # at most, of a first paragraph that is a title


def build(home: Home, documents: Mapping[str, str], language: str) -> Collection:
    name = f"c{len(home.collections())}"
    rows = [{"id": name, "text": text} for name, text in documents.items()]
    home.build(name, rows, language=language)
    return home.collection(name)


def ndcg(
    found: Collection, task: RetrievalTask, queries: Sequence[str], mode: str, correct: bool = True
) -> float:
    hits = found.search_many(queries, 10, mode=mode, correct=correct)
    rankings = [[hit.id for hit in of_one] for of_one in hits]
    return float(np.mean(measures(rankings, list(task.relevance.values()))["ndcg@10"]))


def mistyped(query: str, draw: random.Random) -> str:
    """Return a query with one error inside a word: a letter left out, doubled, changed, or two that changed places."""
    places = [
        (begin, end)
        for begin, end in token_spans(query)
        if end - begin >= _LEAST and query[begin:end].isalpha()
    ]
    if not places:
        return query
    begin, end = draw.choice(places)
    word = query[begin:end]
    at = draw.randrange(1, len(word) - 1)
    other = draw.choice(word)
    changed = (
        word[:at] + word[at + 1 :],
        word[:at] + other + word[at:],
        word[:at] + other + word[at + 1 :],
        word[:at] + word[at + 1] + word[at] + word[at + 2 :],
    )
    return query[:begin] + draw.choice(changed) + query[end:]


def as_record(name: str, text: str) -> dict[str, str]:
    """Return a record whose title is the first paragraph, if that is short and another follows."""
    title, _, body = text.partition("\n\n")
    short = bool(body.strip()) and len(title.split()) <= _TITLE_WORDS
    return {"id": name, "title": title, "body": body} if short else {"id": name, "body": text}


def main() -> None:
    tasks = [read_beir(folder) for folder in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as root:
        home = Home(root)
        own: dict[str, Collection] = {}
        print("set | language, dense | lexical, default: own language | en | mul | none")
        for task in tasks:
            queries = list(task.queries.values())
            cells = []
            for language in ("auto", "en", "mul", "none"):
                found = build(home, task.documents, language)
                own.setdefault(task.name, found)
                cells.append(
                    f"{ndcg(found, task, queries, 'lexical'):5.2f} {ndcg(found, task, queries, 'hybrid'):5.2f}"
                )
            first = own[task.name]
            dense = ndcg(first, task, queries, "dense")
            print(
                f"{task.name:15} | {first.language:3} {dense:5.2f} | {' | '.join(cells)}",
                flush=True,
            )
        print("\nset | default: clean queries, without correction | one error, without correction")
        draw = random.Random(1)
        for task in tasks:
            clean = list(task.queries.values())
            wrong = [mistyped(query, draw) for query in clean]
            cells = [
                f"{ndcg(own[task.name], task, queries, 'hybrid', correct):5.2f}"
                for queries in (clean, wrong)
                for correct in (True, False)
            ]
            print(f"{task.name:15} | {cells[0]}, {cells[1]} | {cells[2]}, {cells[3]}", flush=True)
        print("\nset | default, dense: title counted 1, 2, 4 times")
        for task in tasks:
            rows = [as_record(*pair) for pair in task.documents.items()]
            if np.mean(["title" in row for row in rows]) < 0.5:
                continue
            queries = list(task.queries.values())
            cells = []
            for weight in (1, 2, 4):
                name = f"{task.name}-{weight}"
                home.build(name, rows, text=[f"title*{weight}", "body"])
                found = home.collection(name)
                cells.append(
                    f"{ndcg(found, task, queries, 'hybrid'):5.2f} {ndcg(found, task, queries, 'dense'):5.2f}"
                )
            print(f"{task.name:15} | {' | '.join(cells)}", flush=True)


if __name__ == "__main__":
    main()
