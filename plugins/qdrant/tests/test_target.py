"""Qdrant's local mode as a target: the contract, the folder as a user opens it, and what is refused."""

from __future__ import annotations

import gc
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from foreign import ForeignCollections
from gem_index_qdrant import QdrantTarget, point_id
from gem_index_qdrant.database import Database
from qdrant_client import QdrantClient, models

from gem_index import Document, Home
from gem_index.errors import ConfigError
from gem_index.targets import TargetUrl, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

DOCUMENTS = [directed(name, length=len(name)) for name in DIRECTIONS]


@contextmanager
def client_of(path: Path) -> Iterator[QdrantClient]:
    """Yield a user's own client; no target may be open."""
    client = QdrantClient(path=str(path))
    try:
        yield client
    finally:
        client.close()


def names(path: Path) -> set[str]:
    with client_of(path) as client:
        return {each.name for each in client.get_collections().collections}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder"


@pytest.fixture
def url(path: Path) -> str:
    return f"qdrant://{path}?collection=faq"


@pytest.fixture
def target(url: str) -> Iterator[QdrantTarget]:
    target = open_target(url)
    yield target
    target.close()


@pytest.fixture
def filled(target):
    table = target.create(PLANE)
    table.upsert(DOCUMENTS)
    return target


class TestLocalMode(ForeignCollections, TargetContract):
    @pytest.fixture
    def url(self, tmp_path):
        return f"qdrant://{tmp_path}/db?collection=faq"

    def client(self, url: str):
        return client_of(Path(TargetUrl.parse(url).path))


class TestQuery:
    def test_integers_beyond_64_bits_are_unsupported(self, filled) -> None:
        odd = {"a": 2**64, "b": [-(2**63) - 1], "c": {"d": 2**70}, "e": 2**64 - 1, "f": 1e300}
        assert filled.unsupported(odd) == ["a", "b", "c"]
        assert not filled.stores_json([json.dumps(odd)])
        assert filled.stores_json(['{"a":999999999999999999}'])


class TestClient:
    def test_the_nearest_document_by_a_users_client(self, path: Path, filled) -> None:
        filled.close()
        length = models.FieldCondition(key="metadata.length", match=models.MatchValue(value=4))
        short = models.Filter(must=[length])
        with client_of(path) as client:
            (hit,) = client.query_points("faq", query=[0.5, 0.9], limit=1).points
            assert hit.payload == {
                "id": "northeast", "text": "to the northeast", "metadata": {"length": 9},
            }  # fmt: skip
            found = client.query_points("faq", query=[0.5, 0.9], query_filter=short, limit=9).points
            assert {each.payload["id"] for each in found} == {"east", "west", "none"}
            (point,) = client.retrieve("faq", [point_id("north")])
            assert point.payload["text"] == "to the north"

    def test_the_schema_is_metadata_of_the_collection(self, path: Path, filled) -> None:
        filled.close()
        with client_of(path) as client:
            config = client.get_collection("faq").config
        assert config.metadata == PLANE.to_strings()
        assert config.params.vectors.distance == models.Distance.COSINE

    def test_a_reader_sees_the_old_collection_until_the_switch(self, path: Path, filled) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        filled.close()
        with client_of(path) as client:
            assert client.count("faq").count == 5
        filled.switch()
        filled.close()
        with client_of(path) as client:
            assert client.count("faq").count == 1
        assert names(path) == {"faq__gem_2"}

    def test_a_push_that_ends_before_any_request_goes_on(
        self, path: Path, url: str, tmp_path: Path, monkeypatch
    ) -> None:
        home = Home(tmp_path / "home")
        collection = home.create_collection("faq")
        collection.upsert(Document(id=str(i), text=f"a river {i}") for i in range(3))
        collection.push(url)
        original, ends, completed = Database.call, 0, False

        while not completed:
            collection.upsert([Document(id=f"more {ends}", text=f"more tea {ends}")])
            collection.refit()
            calls = []

            def cut(database, function, calls=calls, last=ends):
                calls.append(1)
                if len(calls) > last:
                    raise KeyboardInterrupt
                return original(database, function)

            with monkeypatch.context() as patch:
                patch.setattr(Database, "call", cut)
                try:
                    collection.push(url)
                    completed = True
                except KeyboardInterrupt:
                    ends += 1
            with client_of(path) as client:
                assert client.count("faq").count >= 3
            collection.push(url)
            target = open_target(url)
            assert target.live().schema.fingerprint == collection.encoder.fingerprint
            assert target.live().count() == 4 + ends - (0 if completed else 1)
            target.close()
        assert ends > 20
        assert len([name for name in names(path) if "__query" not in name]) == 1

    @pytest.mark.parametrize("step", ["create", "switch"])
    def test_a_killed_process(self, path: Path, url: str, step: str) -> None:
        program = (
            "import os, signal, numpy as np\n"
            "from gem_index.targets import *\n"
            f"target = open_target({url!r})\n"
            "schema = TargetSchema(fingerprint='f', dimension=2, token='t')\n"
            "def fill(table, *ids):\n"
            "    table.upsert([TargetDocument(i, np.array([1, 0], np.float32)) for i in ids])\n"
            "def kill(*_):\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
            "if 'create' == " + repr(step) + ":\n"
            "    type(target).point_alias = kill\n"
            "fill(target.create(schema), 'a', 'b')\n"
            "fill(target.stage(schema), 'c', 'd', 'e')\n"
            "type(target)._remove_unseen = kill\n"
            "target.switch()\n"
        )
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert run.returncode == -signal.SIGKILL, run.stderr
        target = open_target(url)
        live = target.live()
        if step == "create":
            assert live is None
            assert target.create(PLANE).count() == 0
        else:
            assert sorted(each.id for each in live.documents()) == ["c", "d", "e"]
            assert target.staged() is None
            target.stage(PLANE)
        target.close()
        assert len(names(path)) == (1 if step == "create" else 2)

    def test_drop_leaves_other_collections(self, path: Path, filled) -> None:
        filled.close()
        vectors = models.VectorParams(size=2, distance=models.Distance.DOT)
        with client_of(path) as client:
            client.create_collection("mine", vectors)
            client.create_collection("faq__gem_7", vectors)
        filled.stage(PLANE)
        filled.drop()
        assert filled.live() is filled.staged() is None
        filled.close()
        assert names(path) == {"mine", "faq__gem_7"}

    def test_two_collections_in_a_folder(self, path: Path, filled) -> None:
        filled.close()
        other = open_target(f"qdrant://{path}?collection=faq__gem")
        other.create(PLANE).upsert([directed("west")])
        other.close()
        assert filled.live().count() == 5
        filled.drop()
        filled.close()
        assert other.live().count() == 1
        other.close()

    def test_two_targets_share_a_folder_in_a_process(self, path: Path, url: str, filled) -> None:
        other = open_target(url)
        other.live().upsert([directed("east", new=True)])
        other.close()
        assert {each.id: each.metadata for each in filled.live().documents()}["east"] == {
            "new": True
        }
        filled.close()
        assert names(path) == {"faq__gem_1"}

    def test_a_target_that_was_not_closed(self, path: Path, url: str) -> None:
        open_target(url).create(PLANE)
        gc.collect()
        assert names(path) == {"faq__gem_1"}

    def test_a_user_drops_the_collection(self, path: Path, filled) -> None:
        filled.close()
        with client_of(path) as client:
            client.delete_collection("faq__gem_1")
        assert filled.live() is None
        assert filled.create(PLANE).count() == 0


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """Yield a folder that this process cannot write to; root becomes somebody else for that."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "db"
        target = open_target(f"qdrant://{path}?collection=faq")
        target.create(PLANE).upsert(DOCUMENTS)
        target.close()
        found = [path, *path.rglob("*")]
        for each in found:
            each.chmod(0o555 if each.is_dir() else stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        Path(folder).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield path
        finally:
            os.seteuid(user)
            Path(folder).chmod(0o700)
            for each in found:
                each.chmod(0o700)


class TestRefused:
    @pytest.mark.parametrize("name", ["faq;drop", 'a"b', "a b", "é", "../a", "x" * 201])
    def test_a_bad_collection_name(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigError, match="found the collection name .*; expected letters"):
            open_target(f"qdrant://{tmp_path}/db?collection={name}".replace(";", "%3B"))
        assert not (tmp_path / "db").exists()

    @pytest.mark.parametrize(
        ("end", "message"),
        [
            ("/db", "has no collection; expected \\?collection=NAME"),
            ("/db?collection=", "has no collection"),
            ("/db?collection=a&colour=red", "has no option 'colour'"),
            ("/db?collection=a&key=k", "has no option 'key'"),
            ("/no/such/folder/db?collection=a", "found no folder .*no/such/folder"),
            ("/%00?collection=a", "zero byte"),
        ],
    )
    def test_a_bad_url(self, tmp_path: Path, end: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            open_target(f"qdrant://{tmp_path}{end}")
        assert "\n" not in str(caught.value)

    def test_a_host(self) -> None:
        with pytest.raises(ConfigError, match="found a host"):
            open_target("qdrant://folder?collection=faq")

    def test_a_file(self, path: Path, target) -> None:
        path.write_text("not a folder")
        for call in (target.live, lambda: target.create(PLANE)):
            with pytest.raises(ConfigError, match="found the file .*; expected a folder"):
                call()
        assert path.read_text() == "not a folder"

    def test_a_folder_with_other_files(self, path: Path, target) -> None:
        path.mkdir()
        (path / "letter.txt").write_text("mine")
        for call in (target.live, lambda: target.create(PLANE)):
            with pytest.raises(ConfigError, match="with other files; expected an empty"):
                call()
        assert [each.name for each in path.iterdir()] == ["letter.txt"]

    @pytest.mark.parametrize("content", ["", "{", "[]", '{"collections": {"a": 1}}'])
    def test_a_broken_folder(self, path: Path, target, content: str) -> None:
        path.mkdir()
        (path / "meta.json").write_text(content)
        with pytest.raises(ConfigError, match="found the folder .*local mode") as caught:
            target.live()
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize("value", [b"not a pickle", b""])
    def test_broken_points(self, path: Path, filled, value: bytes) -> None:
        filled.close()
        connection = sqlite3.connect(path / "collection" / "faq__gem_1" / "storage.sqlite")
        with connection:
            connection.execute("UPDATE points SET point = ?", (value,))
        connection.close()
        with pytest.raises(ConfigError, match="found the folder .*local mode"):
            filled.live()

    def test_a_read_only_folder(self, others_folder: Path) -> None:
        before = {each: each.read_bytes() for each in others_folder.rglob("*") if each.is_file()}
        for end in ("", "2"):
            target = QdrantTarget(TargetUrl.parse(f"qdrant://{others_folder}{end}?collection=faq"))
            with pytest.raises(ConfigError, match="make the folder and its files writable"):
                target.create(PLANE)
            target.close()
        assert before == {each: each.read_bytes() for each in before}

    def test_a_folder_that_another_process_has_open(self, path: Path, url: str, filled) -> None:
        program = f"from gem_index.targets import *\nopen_target({url!r}).live()"
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        last = run.stderr.strip().splitlines()[-1]
        assert "ConfigError: found the folder" in last
        assert "; close the program that has it open" in last
        filled.close()
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr

    def test_a_dry_run_does_not_create_the_folder(self, path: Path, target) -> None:
        assert target.live() is target.staged() is None
        target.drop()
        assert not path.exists()


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/qdrant.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
