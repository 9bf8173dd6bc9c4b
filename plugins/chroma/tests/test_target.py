"""Chroma as a target: the contract, embedded and on a server, what a user of Chroma sees, and what is refused."""

from __future__ import annotations

import os
import stat
import sys
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import chromadb
import numpy as np
import pytest
from chromadb.api import ClientAPI
from gem_index_chroma import ChromaTarget, table
from servers import chroma_server, free_port, gate

from gem_index import Document, Home
from gem_index.errors import ConfigError, TargetUnavailableError
from gem_index.targets import TargetDocument, TargetUrl, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

EAST = np.array([1, 0], np.float32)


DOCUMENTS = [directed(name) for name in DIRECTIONS]


@pytest.fixture(scope="session")
def server(tmp_path_factory) -> Iterator[str]:
    with chroma_server(tmp_path_factory.mktemp("server")) as address:
        yield address


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "a folder"


@pytest.fixture(params=["embedded", "server"])
def url(request, folder: Path) -> str:
    """Both engines."""
    if request.param == "embedded":
        return f"chroma://{folder}?collection=faq"
    return f"chroma+http://{request.getfixturevalue('server')}/?collection=faq-{uuid.uuid4().hex}"


@contextmanager
def client_of(url: str) -> Iterator[ClientAPI]:
    """Yield Chroma's own client of the same place."""
    parsed = TargetUrl.parse(url)
    if parsed.host:
        host, _, port = parsed.host.partition(":")
        client = chromadb.HttpClient(host, int(port))
    else:
        client = chromadb.PersistentClient(parsed.path)
    try:
        yield client
    finally:
        client.close()


def name_of(url: str) -> str:
    return TargetUrl.parse(url).option("collection")


@pytest.fixture
def client(url: str) -> Iterator[ClientAPI]:
    with client_of(url) as client:
        yield client


@pytest.fixture
def name(url: str) -> str:
    return name_of(url)


@pytest.fixture
def target(url: str):
    target = open_target(url)
    yield target
    target.close()


@pytest.fixture
def filled(target):
    table = target.create(PLANE)
    table.upsert(DOCUMENTS)
    return target


def names(client, name: str) -> set[str]:
    return {each.name for each in client.list_collections() if each.name.startswith(name)}


class ChromaContract(TargetContract):
    overlap = 0.95
    foreign_tables = ("",)
    foreign_staged_tables = ("__staged", "__old")
    id_field, text_field = "id", "text"

    def fill(self, url: str, records) -> None:
        with client_of(url) as client:
            theirs = client.create_collection(name_of(url), embedding_function=None)
            for begin in range(0, len(records), 1000):
                part = records[begin : begin + 1000]
                theirs.add(
                    [each["key"] for each in part],
                    [each["vector"] for each in part],
                    [{"year": each["year"]} for each in part],
                    [each["body"] for each in part],
                )

    def occupy(self, url: str, what: str) -> None:
        with client_of(url) as client:
            foreign = client.create_collection(
                name_of(url) + what, metadata={"a": 1}, embedding_function=None
            )
            foreign.add(["a"], [[1, 2, 3]])

    def stored(self, url: str) -> dict[str, tuple]:
        with client_of(url) as client:
            ours = names(client, name_of(url))
            found = {each: client.get_collection(each, embedding_function=None) for each in ours}
            return {each: (found[each].metadata, found[each].get()["ids"]) for each in found}

    @pytest.mark.parametrize("calls", [1, 2])
    def test_each_step_of_a_switch_may_be_killed(self, faq, url: str, calls: int) -> None:
        """After each of the two requests that rename: the next push finishes it."""
        faq.push(url)
        old = faq.encoder.fingerprint
        faq.upsert([Document(id="new", text="a river")])
        faq.refit()
        self.push_until_killed(
            faq,
            url,
            "from gem_index_chroma.table import ChromaTable\n"
            "rename, calls = ChromaTable.rename, []\n"
            "def cut(table, name):\n"
            "    rename(table, name)\n"
            "    calls.append(name)\n"
            f"    if len(calls) == {calls}:\n"
            "        kill()\n"
            "ChromaTable.rename = cut\n",
        )
        target = self.open(url)
        assert (target.live() is None) == (calls == 1)
        report = faq.push(url)
        assert (report.documents, report.added, report.updated) == (61, 0, 0)
        assert target.live().schema.fingerprint == faq.encoder.fingerprint != old
        self.assert_in_step(faq, url)
        faq.push(url, full=True)
        assert set(self.stored(url)) - {f"{name_of(url)}__query"} == {name_of(url)}


class TestEmbedded(ChromaContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"chroma://{tmp_path}/chroma?collection=faq"


class TestServer(ChromaContract):
    sentences = 1000

    @pytest.fixture
    def url(self, server: str) -> str:
        return f"chroma+http://{server}/?collection=faq-{uuid.uuid4().hex}"


class TestDocuments:
    def test_a_replaced_document_keeps_nothing_of_the_old_one(self, filled) -> None:
        """Chroma's own upsert keeps fields and texts that it is not sent."""
        table = filled.live()
        table.upsert([directed("east", a=1, b=["x", "y"], c=True), directed("west", a=1)])
        table.upsert([directed("east", c=2.5), directed("west")])
        found = {each.id: each for each in table.documents()}
        assert (found["east"].metadata, found["west"].metadata) == ({"c": 2.5}, {})
        table.upsert([TargetDocument("east", EAST, None, {"d": 1}), TargetDocument("new", EAST)])
        found = {each.id: each for each in table.documents()}
        assert (found["east"].text, found["east"].metadata) == (None, {"d": 1})
        assert (found["west"].text, found["new"].text) == ("to the west", None)
        table.delete(["none", "unknown", "none"])
        assert table.count() == 5

    @pytest.mark.parametrize(
        "value",
        [
            "", "a\x00'\"\n数", "x" * 50_000, 0, -(2**63), 2**63 - 1, 2**53 + 1, 0.1, -1.0, 1e300, 1e-320, True, False,
            [1, 2**60], [1.0, 2.0], ["b", "a", "a", ""], [True, False], list(range(300)),
        ],
    )  # fmt: skip
    def test_metadata_keeps_value_and_type(self, filled, value) -> None:
        metadata = {"a field": value, "id": "my own", "ключ'\".\x00": 1, "text": "t"}
        assert filled.unsupported(metadata) == []
        filled.live().upsert([directed("east", **metadata)])
        found = next(each for each in filled.live().documents() if each.id == "east").metadata
        assert found == metadata
        assert type(found["a field"]) is type(value)
        if isinstance(value, list):
            assert [type(each) for each in found["a field"]] == [type(each) for each in value]

    @pytest.mark.parametrize(
        "value", [None, {}, {"a": 1}, [], [1, "a"], [1, 2.0], [True, 1], [[1]], [None], 2**63, -(2**63) - 1, [2**63]]
    )  # fmt: skip
    def test_metadata_that_chroma_would_change(self, filled, value) -> None:
        assert filled.unsupported({"good": 1, "bad": value}) == ["bad"]

    def test_names_of_fields_that_chroma_keeps_for_itself(self, filled) -> None:
        odd = ["", "$and", "#document", "chroma:document", "chroma:mine"]
        assert filled.unsupported(dict.fromkeys([*odd, "mine"], 1)) == odd

    def test_more_than_chroma_takes_at_once(self, target, client) -> None:
        count = client.get_max_batch_size() + 10
        angles = np.linspace(0, 3, count)
        vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
        ids = [f"d{i}" for i in range(count)]
        table = target.create(PLANE)
        table.upsert([TargetDocument(*row) for row in zip(ids, vectors, strict=True)])
        assert table.count() == count
        assert {each.id for each in table.documents()} == set(ids)
        table.delete(ids[:-1])
        assert [each.id for each in table.documents()] == ids[-1:]

    def test_long_texts_are_sent_in_several_requests(self, target, monkeypatch) -> None:
        monkeypatch.setattr(table, "_LONGEST_REQUEST", 5000)
        texts = ["x" * 100_000, "", "数" * 1000, "y"]
        table_ = target.create(PLANE)
        table_.upsert([TargetDocument(str(i), EAST, text) for i, text in enumerate(texts)])
        assert {each.id: each.text for each in table_.documents()} == {
            str(i): text for i, text in enumerate(texts)
        }


class TestInChroma:
    def test_the_nearest_document(self, filled, client, name: str) -> None:
        found = client.get_collection(name).query(query_embeddings=[[0.1, 0.9]], n_results=1)
        assert (found["ids"], found["documents"]) == ([["north"]], [["to the north"]])

    def test_a_filter(self, filled, client, name: str) -> None:
        filled.live().upsert(
            [directed("west", year=2024, tags=["a", "b"]), directed("east", year=2020)]
        )
        collection = client.get_collection(name)
        for where in ({"year": {"$gt": 2021}}, {"tags": {"$contains": "b"}}):
            assert collection.get(where=where)["ids"] == ["west"]

    def test_the_schema_is_written_down(self, filled, client, name: str) -> None:
        collection = client.get_collection(name)
        assert collection.metadata == PLANE.to_strings()
        config = collection.configuration_json["embedding_function"]
        assert config["name"] == "gem-index"
        assert config["config"] == {"fingerprint": PLANE.fingerprint}

    def test_a_reader_sees_the_old_vectors_until_the_switch(
        self, filled, client, name: str
    ) -> None:
        reader = client.get_collection(name)
        filled.stage(PLANE).upsert([directed("west")])
        assert client.get_collection(name).count() == reader.count() == 5
        filled.switch()
        assert client.get_collection(name).get()["ids"] == ["west"]
        assert names(client, name) == {name}
        with pytest.raises(chromadb.errors.NotFoundError):
            reader.count()

    def test_drop_leaves_other_collections(self, filled, client, name: str) -> None:
        client.create_collection(f"{name}-mine", embedding_function=None)
        filled.stage(PLANE)
        filled.drop()
        assert names(client, name) == {f"{name}-mine"}
        assert filled.live() is filled.staged() is None
        filled.drop()

    def test_a_user_deletes_the_collection(self, filled, client, name: str) -> None:
        table = filled.live()
        client.delete_collection(name)
        with pytest.raises(ConfigError, match="does not exist.*; run it again"):
            table.count()
        assert filled.live() is None
        assert filled.create(PLANE).count() == 0

    def test_a_tenant_and_a_database(self, filled, url: str) -> None:
        for option in ("tenant", "database"):
            target = open_target(f"{url}&{option}=missing")
            with pytest.raises(ConfigError, match="missing.*not.*; create it with Chroma's"):
                target.live()
        admin = chromadb.AdminClient(filled._connection.client()._system.settings)
        mine = f"mine{uuid.uuid4().hex}"
        admin.create_tenant(mine)
        admin.create_database("notes", mine)
        target = open_target(f"{url}&tenant={mine}&database=notes")
        target.create(PLANE).upsert([directed("west")])
        assert (target.live().count(), filled.live().count()) == (1, 5)
        target.close()

    def test_no_telemetry(self) -> None:
        """Chroma once had a client of PostHog; its successor sends nothing."""
        assert "posthog" not in sys.modules


class TestServerOnly:
    def test_a_server_that_was_killed(self, tmp_path: Path) -> None:
        port = free_port()
        target = open_target(f"chroma+http://127.0.0.1:{port}/?collection=faq")
        with pytest.raises(TargetUnavailableError, match="refused"):
            target.live()
        with chroma_server(tmp_path, port):
            table = target.create(PLANE)
            table.upsert(DOCUMENTS)
        with pytest.raises(TargetUnavailableError, match=f"127.0.0.1:{port}.*cannot be reached"):
            table.count()
        with chroma_server(tmp_path, port):
            assert table.count() == 5
            assert [hit.id for hit in table.query(EAST, 1)] == ["east"]
        target.close()

    @pytest.mark.parametrize("status", [429, 500, 503])
    def test_an_overloaded_server(self, server: str, status: int, tmp_path: Path) -> None:
        home, answers = Home(tmp_path / "home"), []
        home.build("faq", [Document(id="1", text="a river")])
        with gate(server, {}, answers) as address:
            url = f"chroma+http://{address}/?collection=faq-{uuid.uuid4().hex}"
            assert home.collection("faq").push(url).documents == 1
            target = open_target(url)
            table = target.live()
            answers.append(status)
            with pytest.raises(TargetUnavailableError, match="overloaded"):
                table.count()
            assert table.count() == 1
            answers.append(status)
            with pytest.raises(TargetUnavailableError):
                open_target(url).live()
            target.close()

    @pytest.mark.parametrize(
        ("header", "value", "secrets"),
        [
            ("x-chroma-token", "s3cr3t", {"key": "s3cr3t"}),
            ("Authorization", "Basic bWU6czNjcjN0", {"user": "me", "password": "s3cr3t"}),
        ],
    )
    def test_credentials(self, server: str, header: str, value: str, secrets, monkeypatch) -> None:
        with gate(server, {header: value}) as address:
            url = f"chroma+http://{address}/?collection=faq-{uuid.uuid4().hex}"
            with pytest.raises(ConfigError, match="refused the credentials .status 401."):
                open_target(url).live()
            for name, secret in secrets.items():
                monkeypatch.setenv(f"GEM_INDEX_TARGET_{name.upper()}", secret)
            target = open_target(url)
            target.create(PLANE).upsert(DOCUMENTS)
            assert target.live().count() == 5
            target.close()
            name = list(secrets)[-1]
            monkeypatch.setenv(f"GEM_INDEX_TARGET_{name.upper()}", "wr0ng")
            with pytest.raises(ConfigError, match="refused the credentials") as caught:
                open_target(url).live()
            assert "wr0ng" not in str(caught.value)

    def test_a_server_that_repeats_the_key(self, server: str) -> None:
        with gate(server, {}, [503, 400]) as address:
            for error in (TargetUnavailableError, ConfigError):
                target = open_target(f"chroma+http://{address}/?collection=faq&key=s3cr3t")
                with pytest.raises(error) as caught:
                    target.live()
                assert "s3cr3t" not in str(caught.value)

    def test_a_key_that_no_header_can_hold(self) -> None:
        with pytest.raises(ConfigError, match="a key that no header can hold") as caught:
            open_target("chroma+http://127.0.0.1/?collection=faq&key=schlüssel")
        assert "schl" not in str(caught.value)

    def test_another_server(self) -> None:
        class Other(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.end_headers()
                self.wfile.write(b"<html>hello</html>")

            def log_message(self, *_: object) -> None:
                """Print nothing."""

        with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
            thread = Thread(target=other.serve_forever)
            thread.start()
            target = open_target(f"chroma+http://127.0.0.1:{other.server_port}/?collection=faq")
            try:
                with pytest.raises(ConfigError, match="answers, but not as Chroma does"):
                    target.live()
            finally:
                other.shutdown()
                thread.join()

    def test_the_ports(self) -> None:
        for url, expected in (
            ("chroma+http://db/?collection=faq", "http://db:8000"),
            ("chroma+http://[::1]/?collection=faq", "http://[::1]:8000"),
            ("chroma+http://[::1]:9/?collection=faq", "http://[::1]:9"),
            ("chroma+https://db/a/b/?collection=faq", "https://db/a/b"),
            ("chroma+https://db:9/?collection=faq", "https://db:9"),
        ):
            assert open_target(url)._connection._server == expected

    def test_a_path_before_the_server(self, server: str) -> None:
        with gate(server, {}) as address:
            target = open_target(f"chroma+http://{address}/a/path/?collection=faq")
            with pytest.raises(ConfigError):
                target.live()


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """Yield a folder that this process cannot write to; root becomes somebody else for that."""
    with tempfile.TemporaryDirectory() as parent:
        path = Path(parent) / "chroma"
        target = open_target(f"chroma://{path}?collection=faq")
        target.create(PLANE).upsert(DOCUMENTS)
        target.close()
        for each in path.rglob("*"):
            each.chmod(0o555 if each.is_dir() else stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        path.chmod(0o555)
        Path(parent).chmod(0o555)
        user = os.geteuid()
        if user == 0:
            os.seteuid(65534)
        try:
            yield path
        finally:
            os.seteuid(user)
            for each in [Path(parent), path, *path.rglob("*")]:
                each.chmod(0o700)


class TestRefused:
    @pytest.mark.parametrize(
        "name", ["fa", "faq;drop", "a b c", "été", "../a", "_ab", "a..b", "x" * 501]
    )
    def test_a_bad_name(self, tmp_path: Path, name: str) -> None:
        with pytest.raises(ConfigError, match="found the collection name .*; expected 3 to 500"):
            open_target(f"chroma://{tmp_path}/db?collection={name}".replace(";", "%3B"))
        assert not (tmp_path / "db").exists()

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("chroma://{}/db", "has no collection; expected \\?collection=NAME"),
            ("chroma://{}/db?collection=", "has no collection"),
            ("chroma://{}/db?collection=faq&colour=red", "has no option 'colour'"),
            ("chroma://{}/db?collection=faq&key=1", "has no option 'key'"),
            ("chroma://{}/no/such/db?collection=faq", "found no folder .*no/such"),
            ("chroma://{}/%00?collection=faq", "zero byte"),
            ("chroma://localhost:8000/?collection=faq", "expected chroma:///FOLDER"),
            ("chroma+http:///{}?collection=faq", "expected chroma:///FOLDER"),
        ],
    )
    def test_a_bad_url(self, tmp_path: Path, url: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            open_target(url.format(tmp_path))
        assert "\n" not in str(caught.value)

    def test_a_name_that_is_an_address(self, target, url: str) -> None:
        target = open_target(url.partition("?")[0] + "?collection=1.2.3.4")
        with pytest.raises(ConfigError, match="not a valid ip address"):
            target.create(PLANE)

    def test_the_name_of_the_former_collection_in_use(self, filled, client, name: str) -> None:
        filled.stage(PLANE)
        client.create_collection(f"{name}__old", embedding_function=None)
        with pytest.raises(ConfigError, match=f"found {name}__old"):
            filled.switch()
        assert filled.live().count() == 5

    def test_a_folder_that_is_not_a_database(self, folder: Path) -> None:
        folder.mkdir()
        content = b"not a database, but long enough to be read as one" * 1000
        (folder / "chroma.sqlite3").write_bytes(content)
        with pytest.raises(
            ConfigError, match="not a database; expected .*; name another"
        ) as caught:
            open_target(f"chroma://{folder}?collection=faq").live()
        assert "\n" not in str(caught.value)
        assert (folder / "chroma.sqlite3").read_bytes() == content

    def test_a_file_in_place_of_the_folder(self, folder: Path) -> None:
        folder.write_text("mine")
        target = open_target(f"chroma://{folder}?collection=faq")
        assert target.live() is None
        with pytest.raises(ConfigError, match="name a folder"):
            target.create(PLANE)
        assert folder.read_text() == "mine"

    def test_a_read_only_folder(self, others_folder: Path) -> None:
        files = [path for path in others_folder.rglob("*") if path.is_file()]
        before = [path.read_bytes() for path in files]
        target = ChromaTarget(TargetUrl.parse(f"chroma://{others_folder}?collection=faq"))
        with pytest.raises(ConfigError, match="; make the folder and its files writable") as caught:
            target.live().upsert(DOCUMENTS[:1])
        assert "\n" not in str(caught.value)
        target.close()
        missing = ChromaTarget(TargetUrl.parse(f"chroma://{others_folder}2?collection=faq"))
        with pytest.raises(ConfigError, match="; make the folder and its files writable"):
            missing.create(PLANE)
        assert [path.read_bytes() for path in files] == before

    def test_a_dry_run_creates_nothing(self, target, client, name: str, folder: Path) -> None:
        assert target.live() is target.staged() is None
        target.drop()
        assert names(client, name) == set()

    def test_a_dry_run_does_not_create_the_folder(self, folder: Path) -> None:
        target = open_target(f"chroma://{folder}?collection=faq")
        assert target.live() is target.staged() is None
        target.drop()
        target.close()
        assert not folder.exists()


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/chroma.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
