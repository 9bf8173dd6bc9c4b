"""kill -9 at random moments: acknowledged steps are kept, others are complete or absent.

The long form: ``GEM_TEST_KILLS=1000 pytest tests/faults/test_kill.py``.
"""

import importlib.util
import json
import os
import random
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

from gem_index import Home

WORKER = Path(__file__).parent / "worker.py"
KILLS = int(os.environ.get("GEM_TEST_KILLS", "20"))
SHARDS = 4

spec = importlib.util.spec_from_file_location("fault_worker", WORKER)
worker = importlib.util.module_from_spec(spec)
spec.loader.exec_module(worker)


def run_and_kill(root, seed, rng):
    """Let a worker write, kill it somewhere inside a step, and return what it said."""
    lines = []
    process = subprocess.Popen(
        [sys.executable, str(WORKER), str(root), str(seed)], stdout=subprocess.PIPE, text=True
    )
    steps = rng.randint(1, 12)
    for line in process.stdout:
        lines.append(json.loads(line))
        if sum("begin" in said for said in lines) == steps and "begin" in lines[-1]:
            break
    timer = threading.Timer(rng.choice([0, 0.001, 0.005, 0.02, 0.1]) * rng.random(), process.kill)
    timer.start()
    lines += [json.loads(line) for line in process.stdout if line.endswith("\n")]
    timer.join()
    assert process.wait() == -signal.SIGKILL
    process.stdout.close()
    return lines


def check(root, states):
    """Check that the home is undamaged, holds one of the states, and finds every document of it."""
    home = Home(root)
    assert all(problem.kind == "leftover" and problem.fixed for problem in home.verify())
    assert home.verify() == []
    state = worker.stored(home)
    assert state in states
    collection = home.collection("c")
    texts = list(state.values())[:: max(1, len(state) // 8)]
    for query in texts:
        vectors = collection.encoder.encode([query, *state.values()])
        expected = np.sort(vectors[1:] @ vectors[0])[::-1][:10]
        for exact, near in ((True, 1e-5), (False, 1e-4)):
            found = collection.search(query, k=10, mode="dense", exact=exact)
            np.testing.assert_allclose([hit.score for hit in found], expected, atol=near)
        assert all(state[hit.id] == hit.text for hit in found)
        assert collection.search(query, k=1, mode="lexical")[0].score > 0
        named = collection.search(query, where={"of": found[-1].id}, min_score=-1, k=None)
        assert [hit.id for hit in named] == [found[-1].id]
    return state


@pytest.mark.parametrize("shard", range(SHARDS))
def test_every_acknowledged_document_survives(shard, tmp_path):
    rng = random.Random(shard)
    state = {}
    for kill in range(KILLS // SHARDS):
        lines = run_and_kill(tmp_path / "home", shard * 10_000 + kill, rng)
        states = [state]
        for said in lines:
            if "begin" in said:
                states = [state, worker.apply(state, said["begin"])]
            else:
                state = states[1]
                states = [state]
        state = check(tmp_path / "home", states)


def test_a_migration_that_is_killed(tmp_path):
    """The old home is migrated completely or not at all, at whatever moment the process dies."""
    import tarfile

    from gem_index.store.schema import HEAD_REVISION

    assets = Path(__file__).parents[1] / "migrations" / "assets"
    rng = random.Random(7)
    code = (
        "import sys; from gem_index import Home; print('go', flush=True)\n"
        "Home(sys.argv[1]); print('done', flush=True)"
    )
    seen = set()
    for attempt in range(6):
        with tarfile.open(assets / "home-0001.tar.gz") as archive:
            archive.extractall(tmp_path / str(attempt), filter="data")
        root = tmp_path / str(attempt) / "oldhome"
        process = subprocess.Popen(
            [sys.executable, "-c", code, str(root)], stdout=subprocess.PIPE, text=True
        )
        process.stdout.readline()
        timer = threading.Timer(rng.uniform(0, 0.25), process.kill)
        timer.start()
        process.wait()
        timer.join()
        process.stdout.close()
        revision = Home(root, upgrade=False).database_revision
        seen.add(revision)
        assert revision in ("0001", HEAD_REVISION)
        home = Home(root)
        assert home.database_revision == HEAD_REVISION
        assert len(home.collection("faq").search("a bank account", k=9)) == 5
        assert all(problem.fixed for problem in home.verify(fix=True))
        assert home.verify() == []
