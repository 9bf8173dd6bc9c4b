"""The results as Markdown tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.peers.measuring import ENOUGH, THREADS

Record: TypeAlias = Mapping[str, Any]

_CALLERS = ", ".join(map(str, THREADS))
_SEARCH = [
    "system", "setting", "recall@10", "p50 ms", "p99 ms", f"queries/s of {_CALLERS} callers", "queries/s in one call",
]  # fmt: skip
_KEPT = [
    "system", "index", "bytes per vector on disk", "build s", "first answer of a process s", "peak MiB, build", "search",
]  # fmt: skip


def read_records(path: Path) -> dict[tuple[str, int], Record]:
    """Return the last record of each system and number of documents."""
    if not path.exists():
        return {}
    records = map(json.loads, path.read_text().splitlines())
    return {(record["system"], record["documents"]): record for record in records}


def tables(records: Iterable[Record]) -> str:
    """Return a table of searches, one of what is kept, and a line for each failure, for one number of documents."""
    records = list(records)
    searches = [row for record in records for row in search_rows(record)]
    kept = [row for record in records for row in kept_rows(record)]
    failures = [f"- {each['system']} {each['failed']}" for each in records if "failed" in each]
    parts = [markdown(_SEARCH, searches), markdown(_KEPT, kept), "\n".join(failures)]
    return "\n\n".join(filter(None, parts)) + "\n"


def markdown(head: list[str], rows: Iterable[list[str]]) -> str:
    """Return a table."""
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *rows])


def search_rows(record: Record) -> Iterator[list[str]]:
    """Yield the row of each way to search."""
    for name, way in record.get("ways", {}).items():
        rates = way.get("queries_per_s", {})
        recall = f"{way['recall']:.3f}"
        yield [
            f"{record['system']}, {name}",
            ", ".join(f"{key} {value}" for key, value in way["setting"].items()),
            recall if way["recall"] >= ENOUGH else f"{recall} (its best)",
            figure(way["p50_ms"]),
            figure(way["p99_ms"]),
            " / ".join(figure(rates.get(str(threads))) for threads in THREADS),
            figure(way.get("batch_per_s")),
        ]


def kept_rows(record: Record) -> Iterator[list[str]]:
    """Yield the row of a system, if it answered."""
    ways = record.get("ways", {})
    if ways:
        size = record.get("bytes")
        yield [
            f"{record['system']} {record['version']}",
            next(iter(ways.values()))["note"],
            f"{size / record['documents']:,.0f}" if size else "in memory",
            figure(record.get("build_s")),
            figure(record["import_s"] + record["first_answer_s"]),
            figure(record.get("build_peak_mib")),
            figure(record["search_peak_mib"]),
        ]


def figure(value: float | str | None) -> str:
    """Return a number with three digits, or more before the point; a dash for what was not measured."""
    if value is None:
        return "-"
    if isinstance(value, str):
        return "fails"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
