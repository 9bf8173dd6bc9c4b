"""Long work by requests: its whole answers and events, its end with the server, and maps, which are made once."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
from fastapi.testclient import TestClient

from gem_index import Home
from gem_index.collection import Collection
from gem_index.collection.corpus.results import DocumentMap, MapColors
from gem_index.errors import DiskError, InputError
from gem_index.server import events
from gem_index.server.app import create_app
from gem_index.server.backup_folder import BackupFolder

EVENTS = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
def client(home, tmp_path):
    home.create_collection("faq").upsert([("1", "a bank"), ("2", "a visa"), ("3", "?")])
    backups = BackupFolder(home, tmp_path / "backups")
    targets = {"lake": f"parquet://{tmp_path}/lake"}
    with TestClient(create_app(home, backup_folder=backups, targets=targets)) as started:
        yield started


class TestTheEnd:
    """Work that reports its progress stops when the server ends, and says so."""

    ROUTES = (
        ("/collections/faq/refit", None, Collection, "refit"),
        ("/collections/faq/calibrate", {}, Collection, "calibrate"),
        ("/collections/faq/push", {"target": "lake"}, Collection, "push"),
        ("/collections/faq/map", None, Collection, "make_map"),
        ("/backup", None, Home, "backup"),
        ("/collections/new/files?file=a.txt", "a\n", Home, "build"),
        ("/collections/faq/files?file=a.txt", "a\n", Collection, "upsert"),
        ("/collections/new/files?file=a.md", "# a\n\nb", Home, "build"),
        ("/collections/faq/files?file=a.md", "# a\n\nb", Collection, "upsert"),
    )

    @pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
    @pytest.mark.parametrize(("path", "body", "owner", "method"), ROUTES)
    def test_each_kind_of_work_stops(
        self, client, home, monkeypatch, path, body, owner, method, accept
    ):
        client.post("/collections", json={"name": "new"})

        def work(*arguments, progress=None, **_):
            (progress or arguments[-1])("work", 1, 2)
            raise AssertionError("it has not stopped")

        monkeypatch.setattr(owner, method, work)
        client.app.state.context._ending.set()
        sent = {"content": body} if isinstance(body, str) else {"json": body}
        headers = {"Accept": accept}
        if isinstance(body, str):
            headers["Content-Type"] = "application/octet-stream"
        answer = client.post(path, headers=headers, **sent)
        told = (
            "the server is shutting down before this is finished; nothing of it is stored, or the next call continues it: "
            "send it again"
        )
        if accept == "application/json":
            assert (answer.status_code, answer.json()["error"]["message"]) == (503, told)
        else:
            event = json.dumps({"message": told, "status": 503}, separators=(",", ":"))
            assert answer.text == f"event: error\ndata: {event}\n\n"


class TestEvents:
    def test_progress_and_the_result(self, client, monkeypatch):
        heard = threading.Event()

        def refit(_, progress):
            progress("encode", 1, 3)
            heard.wait(0.2)  # the event goes out

        monkeypatch.setattr(Collection, "refit", refit)
        answer = client.post("/collections/faq/refit", headers=EVENTS)
        assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
        progress, done, rest = answer.text.split("\n\n")
        assert progress == 'event: progress\ndata: {"stage":"encode","done":1,"total":3}'
        kind, data = done.split("\n")
        assert kind == "event: done"
        assert json.loads(data.removeprefix("data: ")) == client.get("/collections/faq").json()
        assert rest == ""

    def test_a_comment_keeps_a_silent_connection(self, client, monkeypatch):
        monkeypatch.setattr(events, "_EVERY", 0.01)
        monkeypatch.setattr(Collection, "refit", lambda *_, **__: time.sleep(0.2))
        answer = client.post("/collections/faq/refit", headers=EVENTS)
        assert answer.text.startswith(": working\n\n")

    @pytest.mark.parametrize(
        ("error", "told", "status", "logged_as"),
        [
            (InputError("wrong"), "wrong", 400, None),
            (
                DiskError("/secret"),
                "the disk failed or is full; the server's log says more",
                507,
                "DiskError",
            ),
            (ValueError("a text"), "the server failed; its log says where", 500, "ValueError"),
        ],
    )
    def test_an_error(self, client, monkeypatch, logged, error, told, status, logged_as):
        def fail(*_, **__):
            raise error

        monkeypatch.setattr(Collection, "refit", fail)
        answer = client.post("/collections/faq/refit", headers=EVENTS)
        event = json.dumps({"message": told, "status": status}, separators=(",", ":"))
        assert answer.text == f"event: error\ndata: {event}\n\n"
        lines = [json.loads(line) for line in logged]
        errors = [line for line in lines if line["level"] == "error"]
        assert [line["error"] for line in errors] == ([logged_as] if logged_as else [])
        assert all(line["request"] == answer.headers["x-request-id"] for line in errors)

    def test_an_error_that_no_client_reads_is_not_logged_with_its_texts(self):
        told = []

        async def leave():
            asyncio.get_running_loop().set_exception_handler(lambda _, found: told.append(found))
            left = asyncio.Event()

            async def fail(_progress):
                await left.wait()
                raise InputError("a secret text")

            context = SimpleNamespace(check_not_ending=lambda: None)
            sent = events._events(context, fail, "id")
            waiting = asyncio.ensure_future(anext(sent))
            await asyncio.sleep(0.01)
            waiting.cancel()
            await asyncio.wait([waiting])
            left.set()
            await asyncio.sleep(0.01)

        asyncio.run(leave())
        gc.collect()
        assert told == []

    @pytest.mark.parametrize("path", ["refit", "map", "push", "calibrate"])
    def test_an_unknown_collection_is_an_answer_with_a_status(self, client, path):
        body = {"target": "lake"} if path == "push" else {}
        answer = client.post(f"/collections/none/{path}", json=body, headers=EVENTS)
        assert answer.status_code == 404
        told = "no collection is named 'none': existing names: faq; make one with POST /collections"
        assert answer.json()["error"]["message"] == told


MADE = DocumentMap(
    ids=("1", "2"),
    places=np.array([[0.0, 0.25], [1.0, 0.5]], np.float32),
    topics=np.array([0, -1], np.int32),
    words=(("bank",),),
    fields=("lang",),
    documents=3,
    seqs=np.array([1, 2]),
)
COLORS = MapColors(np.array([1, 0], np.int32), ("de", "en"), (1, 1), ordered=False)


class TestMaps:
    def test_the_whole_map(self, client, monkeypatch):
        monkeypatch.setattr(Collection, "document_map", lambda _: MADE)
        found = client.get("/collections/faq/map").json()
        places = np.frombuffer(base64.b64decode(found.pop("places")), "<f4").reshape(-1, 2)
        assert places.tolist() == MADE.places.tolist()
        assert list(base64.b64decode(found.pop("topics"))) == [0, 255]
        assert found == {"documents": 3, "ids": ["1", "2"], "words": [["bank"]], "fields": ["lang"]}

    def test_its_groups(self, client, monkeypatch):
        asked = []
        monkeypatch.setattr(Collection, "document_map", lambda _: MADE)
        monkeypatch.setattr(
            Collection, "map_colors", lambda _, made, name: asked.append((made, name)) or COLORS
        )
        found = client.get("/collections/faq/map/colours?field=lang").json()
        assert list(base64.b64decode(found.pop("codes"))) == [1, 0]
        assert found == {"names": ["de", "en"], "counts": [1, 1], "ordered": False}
        assert asked == [(MADE, "lang")]

    def test_one_is_made_while_others_write(self, client, monkeypatch):
        monkeypatch.setattr(Collection, "make_map", lambda *_: MADE)
        hold = threading.Event()
        writing = client.app.state.context._writer.submit(hold.wait, 30)
        try:
            assert client.post("/collections/faq/map").json() == {"shown": 2, "documents": 3}
            assert not writing.done()
        finally:
            hold.set()

    def test_without_one_it_says_how(self, client):
        for path in ("/collections/faq/map", "/collections/faq/map/colours?field=lang"):
            answer = client.get(path)
            assert answer.status_code == 404
            assert answer.json()["error"]["message"] == (
                "the collection faq has no map since its last refit; expected POST /collections/faq/map first"
            )


class TestPushes:
    def test_each_option_reaches_the_push(self, client, home, monkeypatch):
        asked = []
        push = Collection.push

        def noting(self, url, **options):
            asked.append({name: each for name, each in options.items() if name != "progress"})
            return push(self, url, **options)

        monkeypatch.setattr(Collection, "push", noting)
        options = {"full": True, "dry_run": True, "texts": False, "drop_unsupported": True}
        answer = client.post("/collections/faq/push", json={"target": "lake", **options}).json()
        assert asked == [options]
        assert answer.pop("seconds") > 0
        assert answer == {
            "collection": "faq",
            "target": "lake",  # not its URL
            "added": 3,
            "updated": 0,
            "deleted": 0,
            "unchanged": 0,
            "documents": 3,
            "fingerprint": home.collection("faq").status().fingerprint,
            "words": True,
            "words_due": False,
        }

    def test_an_unknown_target(self, client):
        answer = client.post("/collections/faq/push", json={"target": "none"})
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == (
            "no target is named 'none': existing names: lake; start the server with that target"
        )
