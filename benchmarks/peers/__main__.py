"""Search side by side: gem-index, bare FAISS, other libraries and databases, over the same vectors in one run.

    pip install ".[peers]"
    python -m benchmarks.peers sentences.txt --count 100000 --table table.md

The vectors are those of our encoder, fitted on the sentences; queries are sentences with a quarter of their words left
out. Each step of each system runs in a process of its own. A record is appended to the results after each system, and a
system that has one is not run again: repeat the command to continue. A system that fails gets a record that says how, and
is run again.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.collections import WORK
from benchmarks.peers.data import MEASURED, WARM
from benchmarks.peers.engine import StoredEngine
from benchmarks.peers.registry import ENCODED_BY, ENGINES
from benchmarks.peers.table import Record, read_records, tables

_ERROR = 300  # characters


class StepError(Exception):
    """A process of a system failed, or took too long."""


def run_step(step: str, name: str, root: Path, stop: float) -> dict[str, Any]:
    """Run a step in a process of its own, and return its record.

    Raises
    ------
    StepError
        If it fails or is not done in time. Its second argument is the record up to there.
    """
    result = root / f"{name}.{step}.json"
    result.unlink(missing_ok=True)
    environment = os.environ | (ENGINES[name].environment if step == "search" else {})
    command = [sys.executable, "-m", "benchmarks.peers.worker", step, name, str(root), str(result)]
    log = root / f"{name}.{step}.log"
    with log.open("w") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=file, env=environment, start_new_session=True
        )
        failure = ""
        try:
            if process.wait(max(1.0, stop - time.monotonic())):
                failure = (
                    f"ended with {process.returncode} while it was in {step}: {last_line(log)}"
                )
        except subprocess.TimeoutExpired:
            failure = f"was stopped in {step} by the time limit"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    record = json.loads(result.read_text()) if result.exists() else {}
    if failure:
        raise StepError(failure, record)
    return dict(record)


def last_line(log: Path) -> str:
    """Return the last line that a process printed."""
    lines = [line for line in log.read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1][:_ERROR] if lines else "it printed nothing"


def run(name: str, root: Path, count: int, limit: float) -> dict[str, Any]:
    """Build and search a system, and return its record, with ``failed`` if a step failed."""
    record: dict[str, Any] = {"system": name, "documents": count, "machine": machine()}
    engine, stop = ENGINES[name], time.monotonic() + limit
    folder = root / name
    started = time.monotonic()
    try:
        if isinstance(engine, StoredEngine):
            record |= built(name, root, stop)
        record |= run_step("search", name, root, stop)
    except StepError as error:
        record |= error.args[1]
        record["failed"] = error.args[0]
    record["system_s"] = round(time.monotonic() - started, 1)
    if name != ENCODED_BY:
        shutil.rmtree(folder, ignore_errors=True)
    return record


def built_ahead(name: str, root: Path, limit: float) -> None:
    """Build a system for a later run, and print how long it took, or why it failed."""
    if not isinstance(ENGINES[name], StoredEngine):
        return
    started = time.monotonic()
    try:
        built(name, root, started + limit)
    except StepError as error:
        print(f"{name}: {error.args[0]}", flush=True)
    else:
        print(f"{name}: built in {time.monotonic() - started:.0f} s", flush=True)


def built(name: str, root: Path, stop: float) -> dict[str, Any]:
    """Build a system in an empty folder, unless it was; return what was measured."""
    kept = root / f"{name}.built.json"
    folder = root / name
    if not (kept.exists() and folder.exists()):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        kept.write_text(json.dumps(run_step("build", name, root, stop)))
    return dict(json.loads(kept.read_text()))


def machine() -> dict[str, Any]:
    """Return what the figures depend on."""
    found = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    return {
        "processor": found[0] if found else platform.machine(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "openblas": os.environ.get("OPENBLAS_CORETYPE", "its choice"),
        "load_before": round(os.getloadavg()[0], 2),
        "at": time.strftime("%Y-%m-%d %H:%M"),
    }


def prepared(sentences: Path, root: Path, count: int, limit: float) -> None:
    """Build the collection whose encoder makes the vectors, and make them, unless that was done.

    Raises
    ------
    SystemExit
        If that fails, or the folder holds the vectors of other sentences.
    """
    about = root / "data.json"
    asked = {"sentences": str(sentences.resolve()), "documents": count}
    if about.exists():
        held = json.loads(about.read_text())
        if {key: held.get(key) for key in asked} != asked:
            raise SystemExit(
                f"{root} holds the vectors of {held['documents']} sentences of {held['sentences']}; expected the same "
                "sentences; remove it, or give another folder"
            )
    root.mkdir(parents=True, exist_ok=True)
    if not about.exists():
        about.write_text(json.dumps(asked))
    if (root / "tenth.npy").exists():
        return
    stop = time.monotonic() + limit
    try:
        built(ENCODED_BY, root, stop)
        run_step("prepare", ENCODED_BY, root, stop)
    except StepError as error:
        raise SystemExit(f"{ENCODED_BY} {error.args[0]}") from error


def main() -> None:
    """Measure what has no record yet, and write the table."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.peers",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("sentences", type=Path, help="from python -m benchmarks.sentences")
    parser.add_argument("--count", type=int, default=100_000, help="sentences to read")
    parser.add_argument("--only", help=f"names, joined by commas: {', '.join(ENGINES)}")
    parser.add_argument(
        "--folder", type=Path, default=WORK / "peers", help="for vectors and indexes"
    )
    parser.add_argument("--json", type=Path, help="results, a line a system (FOLDER/results.jsonl)")
    parser.add_argument("--limit", type=float, default=20, help="minutes for each system")
    parser.add_argument("--table", type=Path, help="write Markdown tables")
    parser.add_argument(
        "--build", action="store_true", help="only build; the next run without it searches"
    )
    options = parser.parse_args()
    names = options.only.split(",") if options.only else list(ENGINES)
    if unknown := [name for name in names if name not in ENGINES]:
        parser.error(f"found the system {unknown[0]}; expected {', '.join(ENGINES)}")
    if options.count < (least := 2 * (WARM + MEASURED)):
        parser.error(f"found --count {options.count}; expected at least {least}")
    root = options.folder / str(options.count)
    results = options.json or options.folder / "results.jsonl"
    prepared(options.sentences, root, options.count, 60 * options.limit)
    for name in names:
        largest = ENGINES[name].largest
        done = read_records(results).get((name, options.count), {"failed": "not run yet"})
        if "failed" not in done or (largest is not None and options.count > largest):
            continue
        if options.build:
            built_ahead(name, root, 60 * options.limit)
            continue
        record = run(name, root, options.count, 60 * options.limit)
        with results.open("a") as file:
            file.write(json.dumps(record) + "\n")
        print(f"{name}: {record['system_s']} s", record.get("failed", ""), flush=True)
    if options.table:
        options.table.write_text(tables(of_count(results, options.count)))


def of_count(results: Path, count: int) -> list[Record]:
    """Return the records of a number of documents, in the order of the systems."""
    found = read_records(results)
    return [found[name, count] for name in ENGINES if (name, count) in found]


if __name__ == "__main__":
    main()
