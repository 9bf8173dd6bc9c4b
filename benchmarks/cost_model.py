"""What a document costs on the way into a vector database, and from that what a hundred million cost.

``python -m benchmarks.cost_model [--documents 10000] [--engine parquet] [--total 100000000] [FILE]`` takes sentences of this
machine's Python documentation, or the lines of a file, distinct ones. It measures with half of them and with all:

- the processor time of each step for a document: counting words, encoding, sparse vectors, and the rest of ``embed``
  (reading and writing rows);
- bytes of a document in the table, and of the word statistics, which hold each distinct term once;
- milliseconds of a search.

The last lines multiply what was measured with all by ``--total``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from gem_index import Home, open_provider
from gem_index.collection.push.embedded_words import CountedInputs
from gem_index.collection.push.embedding import TableWords, embed_into
from gem_index.collection.push.sending import PushOptions
from gem_index.readers import DocumentReader
from gem_index.sparse import SparseEncoder
from gem_index.testing import documentation_sentences
from gem_index.text.analyzer import ENGLISH
from gem_index.vectors.registry import DEFAULT_VECTORS

_URLS = {
    "parquet": "parquet://{}/table",
    "duckdb": "duckdb://{}/table.duckdb?table=faq",
    "sqlite-vec": "sqlite-vec://{}/table.sqlite?table=faq",
}
_QUERIES = 50


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of some work."""
    begin = time.process_time()
    work()
    return time.process_time() - begin


def size(folder: Path) -> int:
    """Return the bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measured(texts: list[str], engine: str) -> dict[str, float]:
    """Return the costs of a document, and of the statistics of all, and print them."""
    encoder = open_provider().encoder
    words = SparseEncoder.fit(texts, ENGLISH)
    found = {
        "count words": seconds(lambda: SparseEncoder.fit(texts, ENGLISH)),
        "encode": seconds(lambda: encoder.encode(texts)),
        "sparse vectors": seconds(lambda: words.embed_documents(texts)),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        file = folder / "texts.txt"
        file.write_text("".join(f"{text}\n" for text in texts))
        reader = DocumentReader([str(file)])
        table = folder / "out"
        table.mkdir()
        url = _URLS[engine].format(table)
        counted = TableWords(DEFAULT_VECTORS, CountedInputs(reader, "en"))
        whole = seconds(lambda: embed_into(url, encoder, reader, PushOptions(), words=counted))
        found["read and write"] = whole - sum(found.values())
        of_step = {step: 1e6 * spent / len(texts) for step, spent in found.items()}
        queries = texts[:: max(1, len(texts) // _QUERIES)]
        with Home(folder / "home").target(url) as target:
            target.search(queries[0], 10)
            begin = time.perf_counter()
            for query in queries:
                target.search(query, 10)
            search = (time.perf_counter() - begin) / len(queries)
        statistics = len(words.to_json().encode())
        costs = {
            **of_step,
            "all steps": sum(of_step.values()),
            "bytes in the table": size(table) / len(texts),
            "distinct terms": len(words.frequencies or {}),
            "bytes of the statistics": statistics,
            "ms of a search": 1000 * search,
        }
    print(f"{len(texts):,} texts of {sum(map(len, texts)) / len(texts):.0f} characters, {engine}")
    for name, value in costs.items():
        unit = " µs of a processor" if name in (*of_step, "all steps") else ""
        print(f"  {name:24} {value:12,.1f}{unit}")
    return costs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--documents", type=int, default=10_000)
    parser.add_argument("--engine", choices=_URLS, default="parquet")
    parser.add_argument("--total", type=int, default=100_000_000)
    given = parser.parse_args()
    if given.file is None:
        texts = documentation_sentences(given.documents)
    else:
        lines = given.file.read_text("utf-8").splitlines()
        texts = [line for line in dict.fromkeys(lines) if line.strip()][: given.documents]
    measured(texts[: len(texts) // 2], given.engine)
    costs = measured(texts, given.engine)
    hours = costs["all steps"] * given.total / 1e6 / 3600
    print(f"{given.total:,} documents")
    print(f"  hours of one processor   {hours:12,.1f}")
    print(f"  GB in the table          {costs['bytes in the table'] * given.total / 1e9:12,.1f}")


if __name__ == "__main__":
    main()
