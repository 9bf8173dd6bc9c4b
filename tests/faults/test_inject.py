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

import pyarrow.parquet
import pytest

from gem_index import Document, Home
from gem_index.store.leftovers import find_leftovers
from gem_index.targets import open_target

HERE = Path(__file__).parent
ASKED = os.environ.get("GEM_TEST_FAULTS", "1")
SAMPLE = sys.maxsize if ASKED == "all" else int(ASKED)  # calls of a step and mode
MODES = {
    "full": errno.ENOSPC,
    "full from then on": -errno.ENOSPC,
    "broken": errno.EIO,
    "forbidden": errno.EACCES,
    "too many files": errno.EMFILE,
    "kill": 1,
}
# what is written outside of the home: the step again, which must end, and the file or table
OUTSIDE = {
    "export": "c.jsonl",
    "export parquet": "c.parquet",
    "backup": "backup",
    "push parquet": "parquet",
    "push faiss": "faiss",
    "push in full": "full",
}

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

        def take(step, call, mode, **more):
            case = {"step": step, "call": call, "mode": mode, **more}
            worker.stdin.write(json.dumps(case) + "\n")
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
    assert answer["status"] != "outside", answer["trace"]  # an error that is none of ours
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


def check_outside(work, step, process):
    """Check that the step ends if it is run again, and leaves what it should and nothing else."""
    path = work / "out" / OUTSIDE[step]
    if step == "backup" and path.exists():
        assert Home(path).verify() == []
    else:
        again = process(step, 0, 0, again=True)
        assert again["status"] == "done", again
    ids = {row.id for row in Home(work / "home").collection("c").documents()}
    if step == "export":
        lines = path.read_text().splitlines()[1:]
        assert {json.loads(line)["id"] for line in lines} == ids
    elif step == "export parquet":
        assert set(pyarrow.parquet.read_table(path)["id"].to_pylist()) == ids
    elif step == "backup":
        assert {row.id for row in Home(path).collection("c").documents()} == ids
    else:
        scheme = "faiss" if step == "push faiss" else "parquet"
        target = open_target(f"{scheme}://{path}")
        assert target.staged() is None
        assert {row.id for row in target.live().documents()} == ids
    assert [left.name for left in path.parent.iterdir()] == [path.name]
    assert not list(path.rglob("*.partial-*"))


@pytest.mark.parametrize(
    "step",
    ["ingest", "ingest past the tail", "delete", "build", "build a new one", "refit", "compact", "drop",
     "import", "vectors add", "vectors remove", "fit", *OUTSIDE],
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
        first = () if step in OUTSIDE else (3, 6)
        for call in sorted({*first, *rng.sample(calls, min(SAMPLE, len(calls)))}):
            answer = process(step, call, mode)
            cases += 1
            raised += answer["status"] == "raised"
            if answer["status"] == "killed":
                assert answer["code"] == signal.SIGKILL
                killed += 1
            check(tmp_path / "home", step, answer | {"call": call, "mode": mode}, before, after)
            if step in OUTSIDE:
                check_outside(tmp_path, step, process)
    # an ingest whose index fails raises nothing: its documents are stored; few calls of the others may be of such files
    assert raised or step == "ingest past the tail" or step in OUTSIDE
    assert killed
    print(f"{step}: {counted['calls']} calls, {cases} cases, {raised} raised, {killed} killed")
