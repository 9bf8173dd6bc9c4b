"""Backups by requests, in the folder that the operator named."""

from __future__ import annotations

import json
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import httpx
import pytest
from fastapi.testclient import TestClient
from filelock import FileLock

from gem_index import Home
from gem_index.errors import ConfigError, DiskError, HomeBusyError
from gem_index.server import backup_folder as module
from gem_index.server.app import create_app
from gem_index.server.backup_folder import BackupFolder, BackupRunningError
from server_process import ServerProcess

NAME = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ(-\d+)?")


def unheard(*_):
    """Hear no progress."""


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "backups"


@pytest.fixture
def client(home, folder):
    home.create_collection("faq").upsert([("1", "a bank account"), ("2", "a passport")])
    with TestClient(create_app(home, backup_folder=BackupFolder(home, folder))) as started:
        yield started


class TestBackups:
    def test_one_is_made_and_listed(self, client, home, folder):
        assert client.get("/backups").json() == {"backups": []}
        made = client.post("/backup").json()
        assert set(made) == {"name", "bytes", "created_at"}
        assert NAME.fullmatch(made["name"])
        sizes = [
            path.stat().st_size for path in (folder / made["name"]).rglob("*") if path.is_file()
        ]
        assert made["bytes"] == sum(sizes) > 0
        assert client.get("/backups").json() == {"backups": [made]}
        copy = Home(folder / made["name"])
        assert copy.verify() == []
        assert copy.collection("faq").count() == 2
        assert client.get("/access").json()["backups"] is True

    def test_two_within_a_second_have_two_names(self, client):
        names = [client.post("/backup").json()["name"] for _ in range(3)]
        assert len(set(names)) == 3
        listed = [each["name"] for each in client.get("/backups").json()["backups"]]
        assert listed == names[::-1]  # the newest first

    def test_more_than_nine_within_a_second_keep_their_order(self, home, folder):
        backups = BackupFolder(home, folder)
        names = ["2026-01-01T00-00-00Z", *(f"2026-01-01T00-00-00Z-{n}" for n in range(2, 12))]
        for name in names:
            (folder / name).mkdir()
        assert [each.name for each in backups.list()] == names[::-1]

    def test_progress_is_streamed(self, client):
        with client.stream("POST", "/backup", headers={"Accept": "text/event-stream"}) as answer:
            text = "".join(answer.iter_text())
        assert text.rstrip().rpartition("event: ")[2].startswith("done\n")
        assert NAME.fullmatch(json.loads(text.rpartition("data: ")[2])["name"])

    def test_other_folders_are_not_backups(self, client, folder):
        for name in ("notes", "2026-01-01T00-00-00Z.old", ".2026-01-01T00-00-00Z.partial-1"):
            (folder / name).mkdir()
        (folder / "2026-01-01T00-00-01Z").write_text("a file")
        assert client.get("/backups").json() == {"backups": []}

    def test_what_a_killed_backup_left_is_removed_and_nothing_else(self, client, folder):
        for name in ("notes", ".2026-01-01T00-00-00Z.partial-1"):
            (folder / name).mkdir()
        made = client.post("/backup").json()["name"]
        assert {path.name for path in folder.iterdir()} == {"notes", ".backup.lock", made}
        # who may only read the folder cannot keep the lock
        assert (folder / ".backup.lock").stat().st_mode & 0o777 == 0o600

    def test_the_time_is_that_of_the_name(self, home, folder):
        backups = BackupFolder(home, folder)
        for name in ("2026-01-01T02-03-04Z", "2026-01-01T02-03-04Z-2"):
            (folder / name / "a" / "b").mkdir(parents=True)
            (folder / name / "file").write_bytes(b"123")
            (folder / name / "a" / "b" / "file").write_bytes(b"45")
            (folder / name / "link").symlink_to("nowhere")
        assert [(each.name, each.bytes, each.created_at) for each in backups.list()] == [
            ("2026-01-01T02-03-04Z-2", 5, "2026-01-01T02:03:04+00:00"),
            ("2026-01-01T02-03-04Z", 5, "2026-01-01T02:03:04+00:00"),
        ]

    @pytest.mark.usefixtures("another_time_zone")  # the names are in UTC
    def test_the_second_within_a_second_has_the_number_2(self, home, folder, monkeypatch):
        class Clock(datetime):
            @classmethod
            def now(cls, _zone):
                return datetime(2026, 1, 1, 2, 3, 4, tzinfo=UTC)

        monkeypatch.setattr(module, "datetime", Clock)
        backups = BackupFolder(home, folder)
        assert [backups.make(unheard).name for _ in range(3)] == [
            "2026-01-01T02-03-04Z",
            "2026-01-01T02-03-04Z-2",
            "2026-01-01T02-03-04Z-3",
        ]


class TestRefusals:
    def test_without_a_folder_it_says_how(self, home):
        with TestClient(create_app(home)) as client:
            for method, path in (("POST", "/backup"), ("GET", "/backups")):
                answer = client.request(method, path)
                assert answer.status_code == 501
                assert answer.json()["error"]["message"] == (
                    "this server makes no backups: its operator starts it with a folder for backups"
                )

    def test_a_request_names_no_folder(self, client, folder):
        """A body or a query has no effect; there is nothing to name."""
        answer = client.post("/backup?folder=/tmp/x", json={"folder": "/tmp/x", "name": "../x"})
        assert answer.status_code == 200
        assert (folder / answer.json()["name"]).is_dir()

    def test_only_one_at_a_time(self, client, folder):
        with FileLock(folder / ".backup.lock"):  # as another process
            answer = client.post("/backup")
        assert answer.status_code == 409
        assert answer.json()["error"]["message"] == (
            "a backup is being made already; wait until GET /backups shows it"
        )
        assert client.post("/backup").status_code == 200

    def test_the_second_request_is_refused_while_the_first_runs(self, client, home, folder):
        begun, go_on = threading.Event(), threading.Event()
        backups = BackupFolder(home, folder)

        def wait(*_):
            begun.set()
            assert go_on.wait(90)

        home.collection("faq").refit()
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(backups.make, wait)
            assert begun.wait(90)
            try:
                with pytest.raises(BackupRunningError):
                    backups.make(unheard)
                assert client.post("/backup").status_code == 409
                # others read and write
                put = {"documents": [{"id": "3", "text": "tea"}]}
                assert client.put("/collections/faq/documents", json=put).status_code == 200
                assert client.get("/backups").json() == {"backups": []}
            finally:
                go_on.set()
            assert first.result().name

    def test_a_full_disk_is_told_before(self, client, folder, monkeypatch):
        usage = type("Usage", (), {"free": 3 << 20})
        monkeypatch.setattr(module.shutil, "disk_usage", lambda _: usage)
        monkeypatch.setattr(module, "_size_of", lambda _: 2 << 20)
        answer = client.post("/backup")
        assert answer.status_code == 507
        assert answer.json()["error"]["message"] == (
            "the disk of the backups has 3 MiB free; expected at least 4 MiB, twice the size of the home: the operator of "
            "the server removes old backups"
        )
        assert [path.name for path in folder.iterdir() if NAME.fullmatch(path.name)] == []

    def test_a_client_is_not_told_the_folder(self, client, folder, monkeypatch):
        (folder / "x").mkdir()
        monkeypatch.setattr(BackupFolder, "_free_name", lambda _: "x")  # exists
        answer = client.post("/backup")
        assert answer.status_code == 507
        assert str(folder) not in answer.text

    def test_where_no_backup_can_be(self, home, tmp_path):
        for folder in (home.root, home.root / "backups"):
            with pytest.raises(ConfigError, match="lies in the home"):
                BackupFolder(home, folder)
        (tmp_path / "link").symlink_to(home.root)
        with pytest.raises(ConfigError, match="lies in the home"):
            BackupFolder(home, tmp_path / "link" / "backups")
        (tmp_path / "file").write_text("mine")
        with pytest.raises(ConfigError, match="cannot make the folder of the backups"):
            BackupFolder(home, tmp_path / "file" / "b")
        with pytest.raises(ConfigError, match="cannot make the folder of the backups"):
            BackupFolder(home, tmp_path / "file")

    def test_a_folder_that_cannot_be_written(self, home, folder, monkeypatch):
        """Also as root, whom the rights of a folder do not stop."""
        monkeypatch.setattr(module.os, "access", lambda _path, mode: not mode & os.W_OK)
        with pytest.raises(ConfigError) as refused:
            BackupFolder(home, folder)
        assert str(refused.value) == (
            f"cannot write to the folder of the backups {folder}; expected a writable one"
        )

    def test_a_busy_home_is_a_running_backup(self, client, home, monkeypatch):
        def busy(*_):
            raise HomeBusyError("another process makes a backup")

        monkeypatch.setattr(Home, "backup", busy)
        assert client.post("/backup").status_code == 409

    def test_a_folder_that_went_away(self, home, folder):
        backups = BackupFolder(home, folder)
        folder.rmdir()
        with pytest.raises(DiskError, match="cannot be used"):
            backups.list()


class TestCrash:
    def test_a_killed_server_leaves_no_half_backup(self, home, folder, tmp_path):
        """What a kill leaves is not listed, and the next backup removes it, whatever process has its number now."""
        home.create_collection("faq").upsert([(str(i), f"text {i}") for i in range(20_000)])
        with ServerProcess(home.root, "--backups", str(folder)) as server:
            pool = ThreadPoolExecutor(1)
            asked = pool.submit(httpx.post, f"{server.url}/backup", timeout=60)
            for _ in range(3000):
                if list(folder.glob(".*.partial-*")):
                    break
                time.sleep(0.001)
            server.stop(signal.SIGKILL)
            with pytest.raises(httpx.HTTPError):
                asked.result()
            pool.shutdown()
        [left] = folder.glob(".*.partial-*")
        left.rename(
            left.with_name(left.name.rpartition("-")[0] + "-1")
        )  # the number of a process that runs
        with ServerProcess(home.root, "--backups", str(folder)) as server:
            assert httpx.get(f"{server.url}/backups").json() == {"backups": []}
            made = httpx.post(f"{server.url}/backup", timeout=60).json()
        assert {path.name for path in folder.iterdir()} == {".backup.lock", made["name"]}
        assert Home(folder / made["name"]).collection("faq").count() == 20_000
