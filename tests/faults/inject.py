"""A process in which the n-th change of a home's files fails: runs one step of a home per case, each in a forked child.

``LD_PRELOAD=inject.so python inject.py LIBRARY TEMPLATE WORK``: reads cases as JSON lines, {"step", "call", "mode"}, and
answers each with {"status", "error", "kind", "calls"}. ``status`` is ``done``, ``raised``, ``outside`` (an error that is
not of gem-index) or ``killed``. A case with "again" goes on with the files of the one before.
"""

import ctypes
import json
import os
import shutil
import sys
import traceback
from pathlib import Path

from gem_index import Document, Home
from gem_index.errors import GemIndexError

library = ctypes.CDLL(sys.argv[1])
TEMPLATE, WORK = Path(sys.argv[2]), Path(sys.argv[3])


def documents(begin, end):
    return [
        Document(id=f"d{i}", text=f"how do I renew visa number {i} at the bank of the river")
        for i in range(begin, end)
    ]


def push_in_full(collection, url):
    collection.push(url)
    collection.push(url, full=True)


STEPS = {
    "ingest": lambda home: home.collection("c").upsert(documents(20, 60)),
    "ingest past the tail": lambda home: home.collection("c").upsert(documents(20, 120)),
    "delete": lambda home: home.collection("c").delete([f"d{i}" for i in range(10)]),
    "build": lambda home: home.build("c", documents(20, 60)),
    "build a new one": lambda home: home.build("new", documents(0, 30), vectors="tiny-24d"),
    "refit": lambda home: home.collection("c").refit(),
    "compact": lambda home: home.compact(),
    "drop": lambda home: home.drop("c"),
    "import": lambda home: home.import_collection(TEMPLATE / "c.jsonl", "new"),
    "vectors add": lambda home: home.vectors.add("more", TEMPLATE / "tiny-24d"),
    "vectors remove": lambda home: home.vectors.remove("spare"),
    "export": lambda home: home.collection("c").export(WORK / "out" / "c.jsonl"),
    "export parquet": lambda home: home.collection("c").export(WORK / "out" / "c.parquet"),
    "backup": lambda home: home.backup(WORK / "out" / "backup"),
    "push parquet": lambda home: home.collection("c").push(f"parquet://{WORK}/out/parquet"),
    "push faiss": lambda home: home.collection("c").push(f"faiss://{WORK}/out/faiss"),
    "push in full": lambda home: push_in_full(home.collection("c"), f"parquet://{WORK}/out/full"),
    "fit": lambda home: home.models.fit("m", ["a bank", "a river"], vectors="tiny-24d"),
}


def run(case):
    """Run one step in this process, which must not be used afterwards."""
    from gem_index.collection.write import writing

    assert writing._TAIL_LIMIT
    writing._TAIL_LIMIT = 50
    home = Home(WORK / "home")
    answer = {"status": "done", "error": "", "kind": ""}
    library.inject_arm(os.fsencode(WORK), ctypes.c_long(case["call"]), case["mode"])
    try:
        STEPS[case["step"]](home)
    except Exception as error:  # noqa: BLE001 - any of another kind is what a test looks for
        answer = {
            "status": "raised" if isinstance(error, GemIndexError) else "outside",
            "error": str(error),
            "kind": type(error).__name__,
            "trace": traceback.format_exc(),
        }
    answer["calls"] = library.inject_disarm()
    return answer


def main():
    for line in sys.stdin:
        case = json.loads(line)
        if not case.get("again"):
            for folder in WORK.iterdir():
                shutil.rmtree(folder)
            shutil.copytree(TEMPLATE / "home", WORK / "home")
            (WORK / "out").mkdir()
        reader, writer = os.pipe()
        child = os.fork()
        if child == 0:
            os.close(reader)
            answer = run(case)
            with os.fdopen(writer, "w") as out:
                json.dump(answer, out)
            os._exit(0)
        os.close(writer)
        with os.fdopen(reader) as file:
            said = file.read()
        _, status = os.waitpid(child, 0)
        killed = {"status": "killed", "error": "", "kind": "", "calls": case["call"]}
        print(said if status == 0 else json.dumps(killed | {"code": status}), flush=True)


if __name__ == "__main__":
    main()
