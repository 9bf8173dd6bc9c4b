"""A process that writes to a home until it is killed, and prints each step before it begins and after it is acknowledged.

``python worker.py HOME SEED [LIBRARY]``: a JSON line before each step ({"begin": step}) and after it ({"done": number}).
With the preloaded library of inject.c, the disk is full during some steps: {"undone": number} if nothing of one was kept.
"""

import ctypes
import errno
import json
import os
import random
import sys
from types import ModuleType

from gem_index import Collection, Document, Home
from gem_index.collection.state import texts as collection_texts
from gem_index.collection.write import writing
from gem_index.errors import GemIndexError
from gem_index.index import checkpoint, snapshot_writing

WORDS = [
    "how",
    "where",
    "renew",
    "visa",
    "bank",
    "account",
    "open",
    "money",
    "school",
    "river",
    "two",
    "ducks",
    "tea",
    "cup",
    "phone",
    "plan",
]


def step_of(rng: random.Random, number: int, known: list[str]) -> dict:
    kind = rng.choices(["ingest", "delete", "refit", "compact"], [6, 2, 1, 1])[0]
    if kind == "delete" and known:
        return {"kind": kind, "ids": rng.sample(known, min(len(known), rng.randint(1, 15)))}
    if kind in ("refit", "compact") and known:
        return {"kind": kind}
    texts = {}
    for i in range(rng.randint(1, 40)):
        name = rng.choice(known) if known and rng.random() < 0.2 else f"d{number}-{i}"
        texts[name] = f"{' '.join(rng.choices(WORDS, k=rng.randint(3, 9)))} {number} {i}"
    return {"kind": "ingest", "texts": texts}


def apply(state: dict[str, str], step: dict) -> dict[str, str]:
    """Return the state after a step."""
    if step["kind"] == "ingest":
        return state | step["texts"]
    return {name: text for name, text in state.items() if name not in step.get("ids", ())}


def _replace(module: ModuleType, **values: int) -> None:
    """Set constants of a module, which must be there."""
    for name, value in values.items():
        getattr(module, name)
        setattr(module, name, value)


def main() -> None:
    home, seed = Home(sys.argv[1]), int(sys.argv[2])
    library = ctypes.CDLL(sys.argv[3]) if len(sys.argv) > 3 else None
    _replace(writing, _TAIL_LIMIT=40)  # so that snapshots come often
    _replace(collection_texts, _BLOCK=30)
    _replace(snapshot_writing, _LEAST_DOCUMENTS=1)  # files of fields
    _replace(checkpoint, _EVERY=0, _SHARE=0)  # a checkpoint after each block
    rng = random.Random(seed)
    names = [status.name for status in home.collections()]
    made = home.collection("c") if "c" in names else home.create_collection("c", index="pq")
    state = stored(home)
    for number in range(seed * 1000, seed * 1000 + 1000):
        step = step_of(rng, number, list(state))
        print(json.dumps({"begin": step}), flush=True)
        if library is not None and rng.random() < 0.5:
            library.inject_arm(
                os.fsencode(home.root), ctypes.c_long(rng.randint(1, 80)), -errno.ENOSPC
            )
        try:
            take(home, made, step)
        except GemIndexError:
            assert library is not None
            library.inject_disarm()
            before, state = state, stored(home)
            assert state in (before, apply(before, step))
            print(json.dumps({"undone" if state == before else "done": number}), flush=True)
            continue
        if library is not None:
            library.inject_disarm()
        state = apply(state, step)
        print(json.dumps({"done": number}), flush=True)


def take(home: Home, made: Collection, step: dict) -> None:
    """Take one step."""
    if step["kind"] == "ingest":
        made.upsert(
            Document(id=i, text=text, metadata={"of": i}) for i, text in step["texts"].items()
        )
    elif step["kind"] == "delete":
        made.delete(step["ids"])
    elif step["kind"] == "refit":
        made.refit()
    else:
        home.compact("c")


def stored(home: Home) -> dict[str, str]:
    """Return what a home's collection holds, by id."""
    import sqlite3

    with sqlite3.connect(home.root / "gem-index.sqlite3") as connection:
        return dict(connection.execute("SELECT document_id, text FROM documents ORDER BY seq"))


if __name__ == "__main__":
    main()
