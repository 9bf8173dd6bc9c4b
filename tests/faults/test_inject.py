"""Every change of a file may fail or be the last: each step of a home is done, undone, or says what is stored.

The long forms: ``GEM_TEST_FAULTS=30 pytest tests/faults/test_inject.py`` tries so many calls of each step and mode,
``GEM_TEST_FAULTS=all`` every one; with ``-s`` they say how many.
"""

import errno
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gem_index import Document, Home
from gem_index.store.leftovers import find_leftovers

HERE = Path(__file__).parent
ASKED = os.environ.get("GEM_TEST_FAULTS", "1")
SAMPLE = sys.maxsize if ASKED == "all" else int(ASKED)  # calls of a step and mode
MODES = {"full": errno.ENOSPC, "full from then on": -errno.ENOSPC, "broken": errno.EIO, "kill": 1}

# after these an error says that the documents are stored
STORES_FIRST = {"build", "build a new one", "import"}


@pytest.fixture(scope="module")
def library(tmp_path_factory, need_program):
    if sys.platform != "linux":
        pytest.skip("faults are injected by a library for Linux")
    need_program("gcc")
    path = tmp_path_factory.mktemp("library") / "inject.so"
    command = ["gcc", "-shared", "-fPIC", "-O1", "-o", path, HERE / "inject.c", "-ldl"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A home with a collection, word vectors, and an export of it."""
    import numpy as np

    from conftest import WORDS

    folder = tmp_path_factory.mktemp("template")
    vectors = folder / "tiny-24d"
    vectors.mkdir()
    (vectors / "words.txt").write_text("\n".join(WORDS) + "\n")
    matrix = np.random.default_rng(8).normal(size=(len(WORDS), 24))
    np.save(vectors / "matrix.npy", matrix.astype(np.float16))
    home = Home(folder / "home")
    documents = [
        Document(id=f"d{i}", text=f"how do I renew visa number {i} at the bank of the river")
        for i in range(40)
    ]
    home.build("c", documents, vectors=str(vectors))
    home.vectors.add("spare", vectors)
    home.collection("c").upsert([Document(id="late", text="two ducks")])
    home.collection("c").export(folder / "c.jsonl")
    home.workspace.database.close()
    return folder


@pytest.fixture
def process(library, template, tmp_path):
    with subprocess.Popen(
        [sys.executable, str(HERE / "inject.py"), str(library), str(template), str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=os.environ | {"LD_PRELOAD": str(library)},
    ) as worker:  # fmt: skip

        def take(step, call, mode):
            worker.stdin.write(json.dumps({"step": step, "call": call, "mode": mode}) + "\n")
            worker.stdin.flush()
            return json.loads(worker.stdout.readline())

        yield take
        worker.stdin.close()


def state(root):
    """Everything that a home stores, as its users see it."""
    with sqlite3.connect(root / "gem-index.sqlite3") as connection:
        rows = connection.execute(
            "SELECT c.name, d.document_id, d.text FROM collections c LEFT JOIN documents d ON c.id = d.collection_id"
        )
        names = connection.execute("SELECT name FROM vector_sources UNION SELECT name FROM models")
        return set(rows), {name for (name,) in names if name}


def check(root, step, answer, before, after):
    """Check that the home agrees with the reported outcome of the step."""
    found = state(root)
    said = f"{step}: {answer}"
    assert found in (before, after), said
    if answer["status"] == "done":
        assert found == after, said
    elif answer["status"] == "raised":
        assert "\n" not in answer["error"], said
        if answer["kind"] == "NotIndexedError":
            assert step in STORES_FIRST, said
            assert found == after, said
            assert "stored and searchable" in answer["error"], said
        elif answer["kind"] != "CommitError" and before != after:
            assert found == before, said
    home = Home(root)
    assert all(problem.fixed for problem in home.verify(fix=True)), said
    assert home.verify() == [], said
    with home.workspace.database.reading() as connection:
        assert find_leftovers(connection, root) == [], said
    folders = {path.name for path in (root / "collections").glob("*/*") if path.is_dir()}
    assert len(folders - {"unfinished"}) <= len(home.collections()), said
    for status in home.collections():
        collection = home.collection(status.name)
        assert len(collection.search("renew a visa", k=500)) == status.documents, said


@pytest.mark.parametrize(
    "step",
    ["ingest", "ingest past the tail", "delete", "build", "build a new one", "refit", "compact", "drop",
     "import", "vectors add", "vectors remove", "fit"],
)  # fmt: skip
def test_a_step_is_done_undone_or_reports_stored_documents(step, process, template, tmp_path):
    before = state(template / "home")
    counted = process(step, 0, 0)
    assert counted["status"] == "done"
    assert counted["calls"] > 5
    after = state(tmp_path / "home")
    rng = random.Random(step)
    cases = raised = killed = 0
    for mode in MODES.values():
        calls = range(1, counted["calls"] + 1)
        for call in sorted({3, 6, *rng.sample(calls, min(SAMPLE, len(calls)))}):
            answer = process(step, call, mode)
            cases += 1
            raised += answer["status"] == "raised"
            if answer["status"] == "killed":
                assert answer["code"] == signal.SIGKILL
                killed += 1
            check(tmp_path / "home", step, answer | {"call": call, "mode": mode}, before, after)
    # an ingest whose index fails raises nothing: its documents are stored
    assert raised or step == "ingest past the tail"
    assert killed
    print(f"{step}: {counted['calls']} calls, {cases} cases, {raised} raised, {killed} killed")
