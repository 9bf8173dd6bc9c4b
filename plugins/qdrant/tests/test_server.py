"""A Qdrant server as a target: the contract over HTTP, and a server that refuses, fails or does not answer."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import numpy as np
import pytest
from foreign import ForeignCollections
from gem_index_qdrant import QdrantTarget, point_id
from qdrant_client import QdrantClient
from qdrant_stub import KEY, Stub, serving

from gem_index import Document, Home
from gem_index.errors import ConfigError, RejectedDocumentsError, TargetUnavailableError
from gem_index.targets import TargetDocument, TargetUrl, open_target
from gem_index.testing import TargetContract
from gem_index.testing.targets import PLANE


@pytest.fixture
def stub() -> Iterator[Stub]:
    with serving() as stub:
        yield stub


@pytest.fixture
def target(stub: Stub) -> Iterator[QdrantTarget]:
    target = open_target(stub.url)
    yield target
    target.close()


def document(name: str, text: str | None = None, **metadata) -> TargetDocument:
    return TargetDocument(name, np.array([0.6, 0.8], np.float32), text, metadata)


class TestOverHttp(ForeignCollections, TargetContract):
    sentences = 1000

    def client(self, url: str):
        host = TargetUrl.parse(url).host
        return closing(QdrantClient(url=f"http://{host}", check_compatibility=False))

    @pytest.fixture
    def url(self, stub: Stub) -> str:
        return stub.url


class TestRequests:
    def test_a_users_own_client_reads_the_alias(self, stub: Stub, target) -> None:
        target.create(PLANE).upsert([document("a", "a river", year=2024, deep={"x": [1, None]})])
        address = stub.url.removeprefix("qdrant+").partition("/?")[0]
        client = QdrantClient(url=address, check_compatibility=False)
        (hit,) = client.query_points("faq", query=[3.0, 4.0], limit=1).points
        client.close()
        assert hit.id == point_id("a")
        assert hit.payload == {
            "id": "a", "text": "a river", "metadata": {"year": 2024, "deep": {"x": [1, None]}},
        }  # fmt: skip
        assert hit.score == pytest.approx(1)

    def test_a_switch_is_one_request(self, stub: Stub, target) -> None:
        target.create(PLANE)
        target.stage(PLANE).upsert([document("a")])
        stub.requests.clear()
        target.switch()
        changes = [path for method, path, _ in stub.requests if method != "GET"]
        assert changes == ["/collections/aliases", "/collections/faq__gem_1"]
        assert target.live().count() == 1

    def test_large_batches_are_split(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        stub.requests.clear()
        table.upsert([document(str(i), "é" * 500_000) for i in range(12)])
        sizes = [size for _, path, size in stub.requests if "/points" in path]
        assert len(sizes) > 1
        assert max(sizes) < 32_000_000
        assert table.count() == 12

    def test_a_server_with_a_smaller_limit(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        stub.limit = 10_000
        table.upsert([document(str(i), "x" * 1000) for i in range(30)])
        assert table.count() == 30
        with pytest.raises(RejectedDocumentsError, match="refused 1 documents, 'large'") as caught:
            table.upsert([document("small"), document("large", "x" * 20_000)])
        assert list(caught.value.reasons) == ["large"]

    def test_the_path_of_the_url_is_a_prefix(self, stub: Stub) -> None:
        target = open_target(stub.url.replace("/?", "/behind/a/proxy/?"))
        with pytest.raises(ConfigError, match="404"):
            target.live()
        target.close()
        assert stub.requests[-1][1] == "/behind/a/proxy/collections"


class TestCredentials:
    @pytest.mark.parametrize("way", ["option", "file", "environment"])
    def test_the_key(self, stub: Stub, way: str, tmp_path, monkeypatch) -> None:
        stub.key, url = KEY, stub.url
        if way == "environment":
            monkeypatch.setenv("GEM_INDEX_TARGET_KEY", KEY)
        else:
            (tmp_path / "key").write_text(KEY + "\n")
            url += f"&key={KEY}" if way == "option" else f"&key_file={tmp_path}/key"
        target = open_target(url)
        assert target.create(PLANE).count() == 0
        assert KEY not in str(target.url)
        target.close()

    @pytest.mark.parametrize("key", ["", "&key=wrong"])
    def test_a_wrong_key(self, stub: Stub, key: str) -> None:
        stub.key = KEY
        target = open_target(stub.url + key)
        for call in (target.live, target.drop, lambda: target.create(PLANE)):
            with pytest.raises(
                ConfigError, match="no permission .*401.*; expected a key"
            ) as caught:
                call()
            assert "wrong" not in str(caught.value)
        target.close()
        assert stub.client.get_collections().collections == []

    def test_a_read_only_key(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        stub.faults = [403]
        with pytest.raises(ConfigError, match="no permission"):
            table.upsert([document("a")])
        assert table.count() == 0

    def test_a_key_that_an_answer_repeats_is_masked(self, stub: Stub) -> None:
        target = open_target(f"{stub.url}&key={KEY}")
        for status in (400, 403, 404, 409, 500):
            stub.faults = [status]
            with pytest.raises((ConfigError, TargetUnavailableError)) as caught:
                target.live()
            assert "the key was ***" in str(caught.value)
            assert KEY not in str(caught.value)
            assert "\n" not in str(caught.value)
        target.close()

    def test_a_key_that_cannot_be_sent(self, stub: Stub) -> None:
        with pytest.raises(ConfigError, match="printable ASCII") as caught:
            open_target(f"{stub.url}&key=schlüssel")
        assert "schl" not in str(caught.value)


class TestFaults:
    @pytest.mark.parametrize("fault", [408, 429, 500, 502, 503, 504, "drop"])
    def test_a_server_that_is_away(self, stub: Stub, target, fault) -> None:
        table = target.create(PLANE)
        table.upsert([document("a")])
        for call in (
            target.live,
            table.count,
            lambda: table.upsert([document("b")]),
            lambda: table.delete(["a"]),
            lambda: table.query(np.ones(2, np.float32), 1),
            lambda: list(table.documents()),
        ):
            stub.faults = [fault]
            with pytest.raises(TargetUnavailableError) as caught:
                call()
            assert "\n" not in str(caught.value)
        assert [each.id for each in table.documents()] == ["a"]

    def test_a_slow_server(self, stub: Stub) -> None:
        target = open_target(f"{stub.url}&timeout=1")
        stub.faults = ["slow"]
        with pytest.raises(TargetUnavailableError, match="timed out"):
            target.live()
        target.close()

    def test_a_refused_connection(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            target = open_target(f"qdrant+http://127.0.0.1:{unused.getsockname()[1]}/?collection=a")
            with pytest.raises(TargetUnavailableError, match="refused"):
                target.live()
            target.close()

    def test_no_tls(self, stub: Stub) -> None:
        target = open_target(stub.url.replace("+http:", "+https:"))
        with pytest.raises(ConfigError, match="no secure connection"):
            target.live()
        target.close()

    def test_another_server(self, stub: Stub, target) -> None:
        stub.faults = ["html"]
        with pytest.raises(ConfigError, match="not Qdrant's"):
            target.live()

    def test_a_server_without_metadata_of_collections(self, stub: Stub, target) -> None:
        stub.keeps_metadata = False
        with pytest.raises(ConfigError, match="expected version 1.16 or newer"):
            target.create(PLANE)
        assert stub.client.get_collections().collections == []

    def test_a_push_repeats_what_a_busy_server_refused(self, stub: Stub, tmp_path) -> None:
        home = Home(tmp_path / "home")
        collection = home.create_collection("faq")
        collection.upsert(Document(id=str(i), text=f"a river {i}") for i in range(10))
        collection.push(stub.url)
        collection.upsert([Document(id="0", text="tea")])
        stub.requests.clear()
        stub.busy = {"PUT"}
        assert collection.push(stub.url).updated == 1
        assert [method for method, _, _ in stub.requests].count("PUT") == 2
        (point,) = stub.client.retrieve("faq", [point_id("0")])
        assert point.payload["text"] == "tea"

    def test_a_collection_that_another_push_replaced(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        target.stage(PLANE)
        target.switch()
        with pytest.raises(ConfigError, match="another push has replaced the collection"):
            table.upsert([document("a")])


class TestUrl:
    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("qdrant+http://h/", "has no collection"),
            ("qdrant+http://h/?collection=a&colour=b", "has no option 'colour'"),
            ("qdrant+http:///folder?collection=a", "no host"),
            ("qdrant+http://me@h/?collection=a", "a user"),
            ("qdrant+http://h/?collection=a/b", "found the collection name"),
            ("qdrant+http://h/?collection=a&timeout=0", "found the timeout"),
            ("qdrant+http://h/?collection=a&timeout=1s", "found the timeout"),
        ],
    )
    def test_a_bad_url(self, url: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            QdrantTarget(TargetUrl.parse(url))
