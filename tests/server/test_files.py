"""Files that requests bring."""

from __future__ import annotations

import json
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from gem_index.server.app import create_app
from gem_index.server.settings import Limits

TYPE = {"Content-Type": "application/octet-stream"}
CSV = "key,body,year,open\n1,renew a passport,2020,true\n2,a bank account,2021,false\n"


@pytest.fixture(autouse=True)
def folders(tmp_path, monkeypatch):
    """No temporary folder is left behind."""
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    yield
    assert not any(place.iterdir())


def until(condition):
    """Wait until something holds."""
    for _ in range(600):
        if condition():
            return
        time.sleep(0.05)
    raise AssertionError(condition)


@pytest.fixture
def faq(client):
    client.post("/collections", json={"name": "faq"})
    return "/collections/faq/files"


class TestUpload:
    def test_an_empty_collection_is_built_as_by_the_command(self, client, home, faq):
        fields = {"file": "a.csv", "id_field": "key", "text_field": "body"}
        report = client.post(faq, params=fields, content=CSV)
        assert report.status_code == 200, report.text
        assert (report.json()["added"], report.json()["documents"]) == (2, 2)
        made = home.collection("faq")
        assert made.status().fitted == 2
        assert made.reading["id_field"] == "key"
        assert [d.metadata for d in made.get(["1", "2"])] == [
            {"year": 2020, "open": True},
            {"year": 2021, "open": False},
        ]
        # what comes later is read in the same way, and the model stays
        model = made.status().fingerprint
        again = client.post(faq, params={"file": "b.csv"}, content="key,body,year\n3,ducks,2022\n")
        assert again.json()["added"] == 1
        assert made.get(["3"])[0].metadata == {"year": 2022}
        assert home.collection("faq").status().fingerprint == model

    def test_a_second_file_of_the_same_name_replaces_nothing(self, client, home, faq):
        first = "text,year\nrenew a passport,2020\na bank account,2021\n"
        second = "text,year\na library card,2022\n"
        for content, added in ((first, 2), (first, 0), (second, 1), (first + second[10:], 0)):
            report = client.post(faq, params={"file": "faq.csv"}, content=content).json()
            assert (report["added"], report["updated"]) == (added, 0)
        assert sorted(each.metadata["year"] for each in home.collection("faq").documents()) == [
            2020,
            2021,
            2022,
        ]

    def test_progress_comes_as_events(self, client, faq):
        lines = "".join(f'{{"id": "{i}", "text": "text {i}"}}\n' for i in range(2000))
        accept = {"accept": "text/event-stream"}
        answer = client.post(faq, params={"file": "a.jsonl"}, content=lines, headers=accept)
        events = [block.split("\n") for block in answer.text.split("\n\n") if block]
        assert events[0][0] == "event: progress"
        assert events[-1][0] == "event: done"
        assert json.loads(events[-1][1].removeprefix("data: "))["added"] == 2000

    def test_a_json_file(self, client, home, faq):
        content = '{"version": 1, "faqs": [{"id": "a", "text": "one"}, {"id": "b", "text": "two"}]}'
        answer = client.post(faq, params={"file": "a.json"}, content=content)
        assert answer.json()["added"] == 2
        assert [d.id for d in home.collection("faq").documents()] == ["a", "b"]
        several = '{"old": [{"text": "x"}], "new": [{"text": "y"}]}'
        answer = client.post(faq, params={"file": "a.json"}, content=several)
        assert "expected one: upload a file with one list" in answer.text

    def test_documents(self, client, home, faq):
        for name, content in (("a b.md", "# One\n\ntext"), ("c.html", "<h1>Two</h1><p>words</p>")):
            assert client.post(faq, params={"file": name}, content=content).status_code == 200
        assert [d.id for d in home.collection("faq").documents()] == ["a b.md", "c.html"]
        assert home.collection("faq").sources == {}

    @pytest.mark.parametrize(
        ("fields", "content", "status", "told"),
        [
            ({"file": "../a.csv"}, CSV, 400, "'../a.csv'"),
            ({"file": ".a.csv"}, CSV, 400, "letter or a digit"),
            ({"file": "a\n.csv"}, CSV, 400, "letters"),
            ({"file": "a.zip:b.csv"}, CSV, 400, "letters"),
            ({"file": "ä" * 120 + ".csv"}, CSV, 400, "at most 200 bytes"),
            ({"file": "a.csv.gz"}, CSV, 400, "ends with .jsonl"),
            ({"file": "a.mbox"}, CSV, 400, "ends with .jsonl"),
            ({"file": "a.csv"}, CSV, 400, "a.csv line 2"),
            ({"file": "a.csv", "text_field": "body"}, "", 400, "a.csv"),
            ({"file": "a.jsonl"}, '{"id": "1", "text": "x"}\n{"id": "1", "text": "y"}\n', 400, "line 2"),
            ({"file": "a.jsonl"}, "no JSON\n", 400, "a.jsonl line 1"),
            ({"file": "a.md"}, "", 400, "has no text"),
            ({"file": "a.md", "id_field": "key"}, "# x", 400, "id_field"),
            ({"file": "a.docx"}, "no document", 400, "a.docx"),
            ({}, CSV, 422, "file"),
        ],
    )  # fmt: skip
    def test_what_is_wrong_is_told_and_nothing_stored(
        self, client, home, faq, tmp_path, fields, content, status, told
    ):
        answer = client.post(faq, params=fields, content=content)
        message = answer.json()["error"]["message"]
        assert (answer.status_code, told in message) == (status, True), answer.text
        assert str(tmp_path) not in message
        assert home.collection("faq").count() == 0

    def test_another_encoding(self, client, home, faq):
        for name, content in (("a.csv", "id,text\n1,Straße\n"), ("b.md", "Straße")):
            asked = {"file": name, "encoding": "cp1252"}
            answer = client.post(faq, params=asked, content=content.encode("cp1252"))
            assert answer.status_code == 200, answer.text
        assert [d.text for d in home.collection("faq").documents()] == ["Straße", "Straße"]
        answer = client.post(faq, params={"file": "a.csv", "encoding": "nope"}, content=CSV)
        assert (answer.status_code, "'nope'" in answer.json()["error"]["message"]) == (400, True)

    def test_an_unknown_collection(self, client):
        answer = client.post("/collections/none/files", params={"file": "a.csv"}, content=CSV)
        assert answer.status_code == 404

    def test_a_file_for_an_unknown_collection_is_not_received(self, home):
        with TestClient(create_app(home, limits=Limits(file=100))) as client:
            answer = client.post(
                "/collections/none/files?file=a.txt", content=b"x" * 101, headers=TYPE
            )
            assert answer.status_code == 404

    def test_a_record_that_is_too_large(self, client, home, faq, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_MAX_RECORD_BYTES", "1024")
        content = f'{{"id": "1", "text": "{"x" * 1024}"}}\n'
        for address in ("/inspect", faq):
            answer = client.post(address, params={"file": "a.jsonl"}, content=content)
            assert answer.status_code == 400
            assert "a.jsonl line 1" in answer.json()["error"]["message"]
            assert "expected at most 1024" in answer.json()["error"]["message"]

    def test_a_file_that_is_too_large(self, home):
        with TestClient(create_app(home, limits=Limits(file=100_000, body=1000))) as client:
            client.post("/collections", json={"name": "faq"})
            address = "/collections/faq/files?file=a.txt"
            assert (
                client.post(address, content="a line\n" * 10_000, headers=TYPE).status_code == 200
            )
            answer = client.post(address, content="a line\n" * 20_000, headers=TYPE)
            assert answer.status_code == 413
            assert "more than 100000 bytes" in answer.json()["error"]["message"]

    def test_few_are_on_the_disk_at_once(self, client, faq):
        """Also those that have arrived and wait to be stored; each gives its place back, whatever becomes of it."""
        places = client.app.state.context.upload_places
        for name, content in (("a.txt", "a line\n"), ("a.jsonl", "no JSON\n"), ("a.md", "")):
            client.post(faq, params={"file": name}, content=content)
        for _ in range(4):
            assert places.acquire(blocking=False)
        answer = client.post(faq, params={"file": "a.csv"}, content=CSV)
        assert (answer.status_code, answer.headers["retry-after"]) == (429, "1")
        for _ in range(4):
            places.release()
        assert client.post(faq, params={"file": "b.txt"}, content="b\n").status_code == 200

    def test_a_file_that_waits_to_be_stored_keeps_its_place(self, home):
        begun, go_on = threading.Event(), threading.Event()

        def hold():
            begun.set()
            go_on.wait(60)

        with TestClient(create_app(home)) as client, ThreadPoolExecutor(6) as pool:
            client.post("/collections", json={"name": "faq"})
            context = client.app.state.context
            context._writer.submit(hold)  # as a long write does
            assert begun.wait(60)
            address = "/collections/faq/files"
            waiting = [
                pool.submit(
                    client.post,
                    address,
                    params={"file": f"{i}.txt"},
                    content=f"text {i}\n",
                    headers=TYPE,
                )
                for i in range(4)
            ]
            until(lambda: context.upload_places._value == 0)
            until(lambda: len(list(Path(tempfile.gettempdir()).glob("*/*.txt"))) == 4)
            answer = client.post(address, params={"file": "5.txt"}, content="text\n", headers=TYPE)
            assert answer.status_code == 429
            go_on.set()
            assert [each.result(60).status_code for each in waiting] == [200] * 4
            assert context.upload_places._value == 4

    def test_no_space_for_it(self, client, faq, monkeypatch):
        monkeypatch.setattr(tempfile, "tempdir", "/nowhere")
        answer = client.post(faq, params={"file": "a.csv"}, content=CSV)
        assert answer.status_code == 507
        assert "nowhere" not in answer.text


def test_the_page_is_sent_from_its_own_files(client):
    first = client.get("/")
    assert first.headers["content-type"] == "text/html; charset=utf-8"
    assert "script-src 'self'" in first.headers["content-security-policy"]
    again = client.get("/", headers={"If-None-Match": f"W/{first.headers['etag']}"})
    assert (again.status_code, again.content) == (304, b"")
    assert client.get("/page/app.js").headers["content-type"].startswith("text/javascript")
    for name in ("index.html", "__init__.py", "..%2fapp.py"):
        assert client.get(f"/page/{name}").status_code == 404


def test_a_browser_asks_for_the_page_each_time_and_gets_what_has_changed(client):
    """Also where the browser or a proxy sends several tags, and the answer without a body has the same headers."""
    for path, kind in (
        ("/", "text/html; charset=utf-8"),
        ("/page/style.css", "text/css; charset=utf-8"),
    ):
        first = client.get(path)
        named = ("etag", "cache-control", "content-security-policy")
        headers = {name: first.headers[name] for name in named}
        assert first.headers["content-type"] == kind
        assert headers == {
            "etag": headers["etag"],
            "cache-control": "no-cache",
            "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
            "img-src 'self' data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        }
        known = client.get(path, headers={"If-None-Match": f'"another", {headers["etag"]}'})
        assert (known.status_code, known.content) == (304, b"")
        assert {name: known.headers[name] for name in named} == headers
        assert client.get(path, headers={"If-None-Match": '"another"'}).content == first.content
        head = client.head(path)
        assert (head.status_code, head.content, head.headers["etag"]) == (200, b"", headers["etag"])


class TestWholeAnswers:
    """What an upload or an inspection answers and refuses, whole."""

    RECORDS = ".jsonl, .ndjson, .json, .csv, .tsv, .txt"

    def test_an_inspection(self, client, home):
        asked = {"file": "a.csv", "encoding": "cp1252"}
        content = "key,body\n1,Die Straße ist heute gesperrt\n2,Der Platz ist offen\n".encode(
            "cp1252"
        )
        found = client.post("/inspect", params=asked, content=content).json()
        samples = {each["name"]: each["samples"] for each in found.pop("fields")}
        assert samples == {
            "key": ["1", "2"],
            "body": ["'Die Straße ist heute gesperrt'", "'Der Platz ist offen'"],
        }
        assert found == {
            "records": 2,
            "complete": True,
            "bad": 0,
            "id_field": "key",
            "text_fields": ["body"],
            "metadata": [],
        }
        assert home.collections() == []

    def test_an_inspection_of_no_records(self, client):
        answer = client.post("/inspect", params={"file": "a.pdf"}, content=CSV)
        assert answer.status_code == 400
        assert answer.json()["error"]["message"] == (
            f"found 'a.pdf'; expected a file of records: {self.RECORDS}"
        )

    def test_a_name_of_200_bytes_in_capital_letters_is_taken(self, client, faq):
        for name, status in (("a" * 196 + ".TXT", 200), ("a" * 197 + ".TXT", 400)):
            answer = client.post(faq, params={"file": name}, content="a\n")
            assert answer.status_code == status
        assert answer.json()["error"]["message"].endswith(
            "expected at most 200 bytes of letters, digits, spaces, dots and dashes that begin with a letter or a digit"
        )

    def test_a_name_of_another_ending_is_told_all_endings(self, client, faq):
        message = client.post(faq, params={"file": "a.exe"}, content="a").json()["error"]["message"]
        told = f"the file is named 'a.exe'; expected a name that ends with {self.RECORDS}, "
        assert message.startswith(told)
        assert {".md", ".html", ".pdf", ".docx"} <= set(message.removeprefix(told).split(", "))

    def test_a_file_as_large_as_the_limit_is_stored(self, home):
        with TestClient(create_app(home, limits=Limits(file=10))) as client:
            client.post("/collections", json={"name": "faq"})
            path = "/collections/faq/files?file=a.txt"
            assert client.post(path, content="a text ok\n", headers=TYPE).status_code == 200
            answer = client.post(path, content="a text ok.\n", headers=TYPE)
            assert answer.json()["error"]["message"] == (
                "the file has more than 10 bytes; expected fewer"
            )

    def test_given_fields_count_before_those_of_the_build(self, client, home, faq):
        content = "key,body,other\n1,renew a passport,one\n2,a bank,two\n"
        fields = {"file": "a.csv", "id_field": "key", "text_field": "body"}
        client.post(faq, params=fields, content=content)
        client.post(faq, params={"file": "b.csv", "text_field": "other"}, content=content)
        found = home.collection("faq").get(["1", "2"])
        assert [each.text for each in found] == ["one", "two"]
        assert [each.metadata for each in found] == [
            {"body": "renew a passport"},
            {"body": "a bank"},
        ]

    def test_a_title_counts_twice_as_in_the_command(self, client, home, faq):
        content = '{"id": "1", "title": "Visas", "body": "a text"}\n'
        fields = {"file": "a.jsonl", "text_field": ["title", "body"]}
        assert client.post(faq, params=fields, content=content).status_code == 200
        assert home.collection("faq").reading["text_fields"] == ["title*2", "body"]

    def test_messages_name_the_file_alone(self, client, faq):
        line = '{"id": "1", "text": "x"}\n'
        for path in ("/inspect", faq):
            answer = client.post(path, params={"file": "a.jsonl"}, content="no JSON\n")
            assert answer.json()["error"]["message"].startswith("a.jsonl line 1: ")
        answer = client.post(faq, params={"file": "a.jsonl"}, content=line + line)
        assert answer.json()["error"]["message"] == (
            "a.jsonl line 2: the id '1' came before in a.jsonl line 1; expected each id once"
        )
        fields = {"file": "a.md", "id_field": "key"}
        assert client.post(faq, params=fields, content="# x").json()["error"]["message"] == (
            "found id_field or text_field and 'a.md'; expected them with a file of records"
        )
        assert client.post(faq, params={"file": "a.md"}, content="").json()["error"]["message"] == (
            "'a.md' has no text; expected a document with text"
        )

    def test_too_many_at_once_is_told(self, client, faq):
        places = client.app.state.context.upload_places
        for _ in range(4):
            assert places.acquire(blocking=False)
        answer = client.post(faq, params={"file": "a.csv"}, content=CSV)
        told = "4 files wait already; try again in a second"
        assert (answer.status_code, answer.json()["error"]["message"]) == (429, told)
        for _ in range(4):
            places.release()

    def test_a_disk_that_fails_gives_the_place_back(self, client, faq, monkeypatch):
        places = client.app.state.context.upload_places
        for step in ("_Upload", "_write"):

            def fail(*_):
                raise OSError(28, "No space left on device")

            with monkeypatch.context() as patch:
                patch.setattr(f"gem_index.server.files.{step}", fail)
                assert client.post(faq, params={"file": "a.csv"}, content=CSV).status_code == 507
            assert places._value == 4
