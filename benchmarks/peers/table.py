"""The results as a Markdown table."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.peers.measuring import ENOUGH, THREADS

Record = Mapping[str, Any]

_HEAD = [
    "system", "setting", "recall@10", "p50 ms", "p99 ms",
    *(f"queries/s, {n} thread{'s' if n > 1 else ''}" for n in THREADS),
    "in one call", "bytes per vector on disk", "build s", "first answer s", "peak MiB, build and search",
]  # fmt: skip


def read_records(path: Path) -> dict[tuple[str, int], Record]:
    """Return the last record of each system and number of documents."""
    if not path.exists():
        return {}
    records = map(json.loads, path.read_text().splitlines())
    return {(record["system"], record["documents"]): record for record in records}


def table(records: Iterable[Record]) -> str:
    """Return the table of some records of one number of documents, and a line for each failure."""
    lines = ["| " + " | ".join(_HEAD) + " |", "|---" * len(_HEAD) + "|"]
    failures = []
    for record in records:
        lines += ["| " + " | ".join(row) + " |" for row in rows(record)]
        if "failed" in record:
            failures.append(f"- {record['system']} {record['failed']}")
    return "\n".join(lines + ([""] + failures if failures else [])) + "\n"


def rows(record: Record) -> Iterator[list[str]]:
    """Yield the row of each way to search."""
    system = " ".join(filter(None, [record["system"], record.get("version")]))
    for name, way in record.get("ways", {}).items():
        setting = ", ".join(f"{key} {value}" for key, value in way["setting"].items())
        rates = way.get("queries_per_s", {})
        recall = f"{way['recall']:.3f}"
        yield [
            f"{system}, {name}",
            setting,
            recall if way["recall"] >= ENOUGH else f"{recall} (its best)",
            figure(way["p50_ms"]),
            figure(way["p99_ms"]),
            *(figure(rates.get(str(threads))) for threads in THREADS),
            figure(way.get("batch_per_s")),
            f"{record['bytes'] / record['documents']:,.0f}" if record.get("bytes") else "in memory",
            figure(record.get("build_s")),
            figure(record["import_s"] + record["first_answer_s"]),
            f"{record.get('build_peak_mib', '')}, {record['search_peak_mib']}".removeprefix(", "),
        ]


def figure(value: float | str | None) -> str:
    """Return a number with about three digits."""
    if value is None:
        return ""
    if isinstance(value, str):
        return "fails"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
