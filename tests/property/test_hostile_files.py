"""Damaged and hostile files of every format: opened with finite vectors, or refused in one line, at bounded cost.

The long form: ``GEM_TEST_FUZZ=10000 pytest tests/property/test_hostile_files.py`` (the number of cases over all formats).
"""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

import hostile_files

CASES = int(os.environ.get("GEM_TEST_FUZZ", "220"))
SHARDS = 2
PATIENCE = 60  # seconds without a word


def run(tmp_path, first, last):
    """Open the cases in child processes; one that dies is a finding, and the next process continues after it."""
    results = []
    while first < last:
        folder = tmp_path / str(first)
        folder.mkdir()
        with (tmp_path / "errors").open("wb") as errors:
            child = subprocess.Popen(
                [sys.executable, hostile_files.__file__, str(folder), str(first), str(last)],
                stdout=subprocess.PIPE, stderr=errors, text=True, env=os.environ | {"TMPDIR": str(folder)},
            )  # fmt: skip
            lines = read_lines(child)
        results += [said for said in lines if "outcome" in said]
        if child.returncode == 0:
            break
        printed = (tmp_path / "errors").read_text(errors="replace")[-2000:]
        assert lines, f"no case was begun: {printed}"
        if "outcome" not in lines[-1]:
            results.append(
                lines[-1] | {"outcome": "died", "detail": f"{child.returncode} {printed}"}
            )
        first = lines[-1]["case"] + 1
    return results


def read_lines(child):
    from threading import Timer

    lines = []
    while True:
        timer = Timer(PATIENCE, child.kill)
        timer.start()
        line = child.stdout.readline()
        timer.cancel()
        timer.join()
        if not line.endswith("\n"):
            break
        lines.append(json.loads(line))
    child.stdout.close()
    child.wait()
    return lines


@pytest.mark.parametrize("shard", range(SHARDS))
def test_opens_or_is_refused(shard, tmp_path):
    results = run(tmp_path, CASES * shard // SHARDS, CASES * (shard + 1) // SHARDS)
    counts = Counter((said["format"], said["outcome"]) for said in results)
    report = "\n".join(f"{name} {outcome}: {n}" for (name, outcome), n in sorted(counts.items()))
    if folder := os.environ.get("GEM_TEST_FUZZ_REPORT"):
        Path(folder, f"{shard}.jsonl").write_text("\n".join(map(json.dumps, results)))
    found = [said for said in results if said["outcome"] not in ("opened", "refused")]
    assert not found, (
        f"{len(found)} of {len(results)}:\n" + "\n".join(map(str, found[:20])) + "\n" + report
    )
    assert len(results) == CASES * (shard + 1) // SHARDS - CASES * shard // SHARDS


@pytest.mark.parametrize("number", [35_120, 51_466, 60_618])
def test_inputs_that_once_ended_the_process(number, tmp_path):
    """Parquet's C++ library throws through Python where a column's metadata is damaged."""
    assert [said["outcome"] for said in run(tmp_path, number, number + 1)] == ["refused"]


def test_the_files_themselves_open(tmp_path):
    for name, (kind, target, make) in hostile_files.FORMATS.items():
        for named in (kind, None):
            folder = tmp_path / f"{name}-{named}"
            outcome = hostile_files.open_case(folder, target, named, make())
            assert outcome == ("opened", ""), (name, named)
