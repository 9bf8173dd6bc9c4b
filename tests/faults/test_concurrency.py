"""One writer and eight readers in separate processes: every answer is from one state, and states only move forward."""

import json
import subprocess
import sys
import time

import pytest

from gem_index import Document, Home
from gem_index.errors import HomeBusyError

READER = """
import sys, json
from gem_index import Home
collection = Home(sys.argv[1]).collection("c")
last = answers = 0
modes = ("dense", "lexical", "hybrid")
print("ready", flush=True)
while True:
    mode = modes[answers % 3]
    hits = collection.search("bank account of the river", k=100, mode=mode)
    rounds = {hit.metadata["round"] for hit in hits}
    texts = {hit.text.rpartition(" ")[2] for hit in hits}
    ids = {hit.id for hit in hits}
    assert len(rounds) == 1, rounds
    assert texts == {str(number) for number in rounds}, (texts, rounds)
    assert len(hits) == len(ids) == 30, (mode, len(hits), len(ids))
    (now,) = rounds
    assert now >= last, (now, last)
    last = now
    answers += 1
    if now >= int(sys.argv[2]):
        break
print(json.dumps({"answers": answers, "last": last}), flush=True)
"""
ROUNDS = 10


def batch(number):
    """Thirty documents, all replaced in every round."""
    return [
        Document(
            id=f"d{i}",
            text=f"a bank account of the river number {i} round {number}",
            metadata={"round": number},
        )
        for i in range(30)
    ]


def test_readers_never_see_a_mix_nor_an_older_state(tmp_path, monkeypatch):
    monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 50)
    home = Home(tmp_path / "home")
    collection = home.create_collection("c")
    collection.upsert(batch(0))
    readers = [
        subprocess.Popen(
            [sys.executable, "-c", READER, str(home.root), str(ROUNDS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        for _ in range(8)
    ]  # fmt: skip
    for reader in readers:
        assert reader.stdout.readline() == "ready\n"
    for number in range(1, ROUNDS + 1):
        collection.upsert(batch(number))
        if number % 8 == 0:
            collection.refit()
        time.sleep(0.02)
    for reader in readers:
        out, err = reader.communicate(timeout=120)
        assert reader.returncode == 0, err
        assert "locked" not in err
        said = json.loads(out.splitlines()[-1])
        assert said["last"] == ROUNDS
        assert said["answers"] >= 1
    assert home.verify() == []


def test_a_second_writer_is_told_who_writes(tmp_path, monkeypatch):
    home = Home(tmp_path / "home")
    home.create_collection("c").upsert(batch(0))
    code = (
        "import sys, time; from gem_index import Home, Document; home = Home(sys.argv[1])\n"
        "def slowly():\n"
        "    print('writing', flush=True); time.sleep(60); yield Document(id='x', text='y')\n"
        "home.collection('c').upsert(slowly())"
    )
    writer = subprocess.Popen(
        [sys.executable, "-c", code, str(home.root)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert writer.stdout.readline() == "writing\n"
        monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.2")
        with pytest.raises(HomeBusyError, match=rf"process {writer.pid} \(.*\) has been writing"):
            Home(home.root).collection("c").upsert(batch(1))
        assert len(Home(home.root).collection("c").search("bank", k=50)) == 30
    finally:
        writer.kill()
        writer.wait()
        writer.stdout.close()
    Home(home.root).collection("c").upsert(batch(1))
    assert not (home.root / "write.lock.json").exists()
