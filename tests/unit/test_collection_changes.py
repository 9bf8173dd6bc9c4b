"""Changes while a collection is in use: threads between states, other kinds of index, disk errors, foreign folders."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping

import numpy as np
import pytest

from gem_index import Document, Home
from gem_index.collection.state import view_cache
from gem_index.collection.write import writing as module
from gem_index.collection.write.building import use_index
from gem_index.errors import FilterError, GemIndexError
from gem_index.index import snapshot_writing
from gem_index.index.lexical import LexicalIndex
from gem_index.store.documents import DocumentRepository

WORDS = ["visa", "bank", "river", "school", "tea", "cup", "phone", "money", "two", "ducks"]


def documents(count, begin=0):
    rng = np.random.default_rng(begin + 1)
    for i in range(begin, begin + count):
        yield Document(id=f"d{i}", text=" ".join(rng.choice(WORDS, 6)), metadata={"n": i % 7})


@pytest.fixture
def made(home, vectors_folder):
    def make(kind="flat"):
        return home.create_collection("c", vectors=str(vectors_folder), index=kind)

    return make


def test_a_search_answers_from_one_state_while_another_thread_sees_a_newer_one(
    home, made, monkeypatch
):
    collection = made()
    collection.upsert(documents(20))
    collection.search("visa")
    inside, go_on = threading.Event(), threading.Event()
    at = view_cache.ViewCache.at

    def slow(self, connection, record):
        if threading.current_thread().name == "slow" and not go_on.is_set():
            inside.set()
            go_on.wait(90)
        return at(self, connection, record)

    monkeypatch.setattr(view_cache.ViewCache, "at", slow)
    found = []
    thread = threading.Thread(
        name="slow", target=lambda: found.extend(collection.search("ducks phone", k=1))
    )
    thread.start()
    assert inside.wait(90)
    Home(home.root).collection("c").upsert([Document(id="new", text="ducks phone")])
    assert collection.search("ducks phone", k=1)[0].id == "new"
    go_on.set()
    thread.join()
    assert [hit.id for hit in found] == ["new"]
    collection.delete(["new"])
    assert collection.search("ducks phone", k=1)[0].id != "new"
    assert collection.search("ducks phone", k=1)[0].id != "new"


def test_lists_whose_length_changes_are_built_again(made, monkeypatch, caplog):
    monkeypatch.setattr(module, "_TAIL_LIMIT", 50)
    collection = made("ivf")
    collection.upsert(documents(1000))
    assert collection.status().index.kind == "ivf"
    collection.upsert(documents(300, begin=1000))
    assert collection.status().index.kind == "ivf"
    assert "flat one serves" not in caplog.text


def test_a_kind_learns_from_the_new_documents_too(made, monkeypatch, caplog):
    monkeypatch.setattr(module, "_TAIL_LIMIT", 50)
    collection = made("PQ4x4")
    collection.upsert(documents(2))
    collection.compact()
    assert collection.status().index.kind == "flat"
    collection.upsert(documents(500, begin=2))
    assert collection.status().index.kind == "PQ4x4"
    assert collection.verify() == []


def test_a_disk_that_refuses_the_index_of_words_costs_no_document(made, monkeypatch, caplog):
    def full(*_):
        raise ValueError("An IO error occurred: 'No space left on device'")

    collection = made()
    monkeypatch.setattr(module, "_TAIL_LIMIT", 5)
    monkeypatch.setattr(LexicalIndex, "_write", staticmethod(full))
    assert collection.upsert(documents(20)).documents == 20
    assert "not brought up to date" in caplog.text
    with pytest.raises(GemIndexError, match="cannot write the index of words: .* make room"):
        collection.refit()
    assert len(collection.search("visa", k=50)) == 20


def test_a_disk_that_refuses_the_kept_model_costs_no_refit(made, monkeypatch, caplog):
    import safetensors.numpy

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    collection = made()
    collection.upsert(documents(20))
    monkeypatch.setattr(safetensors.numpy, "save_file", full)
    with caplog.at_level("INFO"):
        collection.refit()
    assert "no checkpoint of the fitted model was saved" in caplog.text
    assert collection.encoder.fitted


def test_another_kind_is_made_by_the_next_build_though_the_first_was_cut(home, made):
    collection = made()
    collection.upsert(documents(20))
    collection.refit()
    use_index(collection.access, "sq8")  # and then the process dies
    home.build("c", documents(20), index="sq8")
    assert home.collection("c").status().index.kind == "sq8"


def test_filters_that_only_their_owner_could_tell_apart(made):
    class Where(Mapping):
        def __init__(self, n):
            self.n = n

        def __getitem__(self, key):
            return {"n": self.n}[key]

        def __iter__(self):
            return iter(["n"])

        def __len__(self):
            return 1

        def __repr__(self):
            return "Where"

    collection = made()
    with pytest.raises(FilterError):
        collection.search("visa", where={"$near": 1})  # refused though nothing could match
    collection.upsert(documents(70))
    for n in range(7):
        hits = collection.search("visa", k=100, where=Where(n))
        assert {hit.metadata["n"] for hit in hits} == {n}
        assert len(hits) == 10


def test_a_stray_file_is_left_alone(home, made):
    collection = made()
    collection.upsert(documents(20))
    folder = home.root / "collections" / "1"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "note.txt").write_text("x")
    collection.refit()
    assert (folder / "note.txt").exists()
    assert collection.verify() == []


def test_a_duplicate_id_from_a_pipe_is_told_without_reading_again(tmp_path):
    pipe = tmp_path / "pipe.jsonl"
    os.mkfifo(pipe)
    lines = "".join(json.dumps({"id": i, "text": "visa"}) + "\n" for i in ("a", "b", "a"))
    command = "from gem_index_cli.main import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", command, "--home", str(tmp_path / "h"), "build", "c", str(pipe)],
        stderr=subprocess.PIPE,
        text=True,
    )
    with pipe.open("w") as file:
        file.write(lines)
    _, error = process.communicate(timeout=120)
    assert process.returncode == 2
    assert "the id 'a' occurs twice" in error


def test_a_filter_reads_the_fields_beside_a_snapshot(made, monkeypatch, caplog):
    monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", 1)
    monkeypatch.setattr(module, "_TAIL_LIMIT", 50)
    collection = made()
    collection.upsert(documents(100))
    collection.delete(["d3", "d4"])
    collection.upsert(documents(60, begin=100))
    collection.delete(["d5"])
    collection.upsert(documents(10, begin=160))
    read = []
    matching = DocumentRepository.matching

    def counted(self, where, after=0):
        read.append(after)
        return matching(self, where, after)

    monkeypatch.setattr(DocumentRepository, "matching", counted)
    numbers = {each.id: each.metadata["n"] for each in collection.documents()}
    for where, accepted in (
        ({"n": 3}, {3}),
        ({"n": {"$gte": 2, "$lt": 5}}, {2, 3, 4}),
        ({"$not": {"n": {"$in": [0, 1]}}}, set(numbers.values()) - {0, 1}),
    ):
        expected = {name for name, number in numbers.items() if number in accepted}
        read.clear()
        found = collection.search("visa tea", k=200, where=where)
        assert {hit.id for hit in found} == expected
        assert read
        assert min(read) >= 150  # only documents after the snapshot
        assert {each.id for each in collection.documents(where)} == expected
    assert not caplog.text  # that the files cannot be used


def test_damaged_fields_are_noticed_and_rebuilt(home, made, monkeypatch, caplog):
    monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", 1)
    collection = made()
    collection.upsert(documents(100))
    collection.refit()
    [header] = home.root.rglob("fields.json")
    header.write_bytes(b"x" * header.stat().st_size)
    expected = {each.id for each in collection.documents() if each.metadata["n"] == 3}
    found = collection.search("visa tea", k=200, where={"n": 3})
    assert {hit.id for hit in found} == expected
    assert "filtering by the stored documents" in caplog.text
    assert {each.id for each in collection.documents({"n": 3})} == expected
    assert "reading the stored documents instead" in caplog.text
    with pytest.raises(FilterError, match="no document has the field 'm' of the filter"):
        collection.search("visa", where={"m": 3})
    assert not collection.search("visa", where={"n": 30})
    assert [problem.kind for problem in collection.verify()] == ["index"]
    collection.verify(fix=True)
    assert collection.verify() == []
    assert {hit.id for hit in collection.search("visa", k=200, where={"n": 3})} == expected


@pytest.mark.parametrize(
    "damage",
    [
        lambda path: path.unlink(),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b"x" * 900),
        lambda path: path.write_bytes(path.read_bytes()[:-8]),
    ],
    ids=["missing", "empty", "something else", "cut"],
)
def test_damaged_ids_are_noticed_and_the_stored_documents_read(
    home, made, monkeypatch, caplog, damage
):
    monkeypatch.setattr(snapshot_writing, "_LEAST_DOCUMENTS", 1)
    collection = made()
    collection.upsert(documents(100))
    collection.refit()
    expected = [(each.id, each.metadata) for each in collection.documents({"n": 3})]
    [path] = (header.parent.parent / "ids.npy" for header in home.root.rglob("fields.json"))
    damage(path)
    again = Home(home.root).collection("c")
    found = [(each.id, each.metadata) for each in again.documents({"n": 3})]
    assert found == expected
    assert "reading the stored documents instead" in caplog.text
