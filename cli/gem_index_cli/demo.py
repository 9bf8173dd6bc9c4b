"""The demo: a collection of packaged questions, searched, re-ranked and explained."""

from __future__ import annotations

import time
from dataclasses import asdict
from importlib.resources import as_file, files

import typer

from gem_index_cli.context import home_of
from gem_index_cli.output import print_json, say
from gem_index_cli.parameters import AsJson
from gem_index_cli.progress import progress_bar
from gem_index_cli.result_output import print_explanation, print_results

__all__ = ["register"]

_COLLECTION = "demo"
_QUERIES = (
    "I forgot the password of my online bank account",
    "my package never arrived but it is marked as delivered",
)
_QUESTION = "how do I get my money back for something that arrived broken"
_CANDIDATES = (
    "Where can I change foreign coins into notes?",
    "The vase was broken when it came. Do you refund it?",
    "My phone is broken, is a repair worth it?",
    "How do I get back a file that I deleted?",
)
_NEXT = (
    ("ask your own", 'gem-index search demo "how do I send something back?"'),
    (
        "your own texts: .jsonl, .json, .csv, .tsv, .xlsx, .txt, .parquet",
        "gem-index build faq my-questions.jsonl",
    ),
    ("compare two texts", 'gem-index similarity "a cheap flight" "a low-cost plane ticket"'),
    ("bring your own word vectors", "gem-index vectors add glove glove.6B.300d.txt"),
    ("remove this sample", "gem-index drop demo"),
)


def demo(context: typer.Context, as_json: AsJson = False) -> None:
    """Build a collection of packaged questions, search it, re-rank, and explain: no network, under a minute."""
    from gem_index.readers import DocumentReader

    started = time.monotonic()
    home = home_of(context)
    sample = files("gem_index_cli") / "data" / "demo_questions.jsonl"
    with as_file(sample) as path, progress_bar("store") as progress:
        report = home.build(_COLLECTION, DocumentReader([str(path)]), progress=progress)
    collection = home.collection(_COLLECTION)
    found = {query: collection.search(query, k=3) for query in _QUERIES}
    ranked = collection.rerank(_QUESTION, _CANDIDATES)
    explanation = collection.encoder.explain(_QUESTION)
    seconds = time.monotonic() - started
    if as_json:
        print_json(
            {
                "home": str(home.root),
                "collection": _COLLECTION,
                "documents": report.documents,
                "seconds": round(seconds, 3),
                "search": [
                    {"query": query, "results": [asdict(result) for result in results]}
                    for query, results in found.items()
                ],
                "rerank": {"query": _QUESTION, "results": [asdict(result) for result in ranked]},
                "explain": asdict(explanation),
            }
        )
        return
    status = collection.status()
    say(
        f"1. Build: {report.documents} questions, embedded with {status.vectors} in the collection 'demo'."
    )
    for query, results in found.items():
        print_results(results, title=f"2. Search: {query}")
    print_results(ranked, title=f"3. Re-rank: {_QUESTION}")
    say("4. Explain: what its words add to its vector")
    print_explanation(explanation)
    say(f"That took {seconds:.1f} s. Everything is stored in {home.root}")
    say("What next?")
    for what, command in _NEXT:
        say(f"  {what}:\n    {command}")


def register(app: typer.Typer) -> None:
    """Add the command to the tree."""
    app.command()(demo)
