"""One step of one system, in a process of its own: ``python -m benchmarks.peers.worker STEP NAME FOLDER RESULT``.

RESULT is written again after each measurement, so that what was measured before a crash is kept.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

from benchmarks.duplicates import peak
from benchmarks.peers.data import Data, prepare
from benchmarks.peers.engine import Engine, StoredEngine
from benchmarks.peers.measuring import measure
from benchmarks.peers.registry import ENGINES

Write = Callable[[dict[str, Any]], None]


def build(engine: StoredEngine, data: Data, folder: Path, write: Write) -> None:
    """Time storing and indexing."""
    for module in engine.modules:
        importlib.import_module(module)
    started = time.perf_counter()
    engine.build(data, folder)
    seconds = time.perf_counter() - started
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    write({"build_s": round(seconds, 2), "build_peak_mib": peak(), "bytes": size})


def search(engine: Engine, data: Data, folder: Path, write: Write) -> None:
    """Time the first answer, and measure each way to search."""
    _ = data.queries, data.tenth, data.asked  # reading them is not a part of the first answer
    started = time.perf_counter()
    for module in engine.modules:
        importlib.import_module(module)
    imported = time.perf_counter()
    ways = engine.open(data, folder)
    first = next(iter(ways.values()))
    first.use(first.ladders[0][0])
    first.search(0)
    answered = time.perf_counter()
    record: dict[str, Any] = {
        "version": version(engine.package),
        "import_s": round(imported - started, 2),
        "first_answer_s": round(answered - imported, 2),
        "ways": {},
    }
    if not isinstance(engine, StoredEngine):
        record["build_s"] = record["first_answer_s"]
    for name, way in ways.items():
        for measured in measure(way, data):
            record["ways"][name] = measured
            write(record | {"search_peak_mib": peak()})


def main() -> None:
    """Run a step."""
    step, name, root, result = sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4])
    data = Data(root)
    folder = root / name

    def write(record: dict[str, Any]) -> None:
        partial = result.with_suffix(".partial")
        partial.write_text(json.dumps(record))
        partial.rename(result)

    engine = ENGINES[name]
    if step == "prepare":
        write(prepare(data, folder))
    elif step == "search":
        search(engine, data, folder, write)
    elif isinstance(engine, StoredEngine):
        build(engine, data, folder, write)
    else:
        raise SystemExit(
            f"{name} is filled when it is opened; expected a system that is built before"
        )


if __name__ == "__main__":
    main()
