"""A Milvus server as a target: the contract over gRPC, and a server that refuses, fails or does not answer."""

from __future__ import annotations

import base64
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import grpc
import numpy as np
import pytest
from foreign import ForeignCollections
from gem_index_milvus import MilvusTarget
from milvus_stub import ROOT, Stub, serving
from pymilvus import MilvusClient
from pymilvus.grpc_gen import common_pb2, milvus_pb2

from gem_index.errors import ConfigError, RejectedDocumentsError, TargetUnavailableError
from gem_index.targets import TargetDocument, TargetUrl, open_target
from gem_index.testing import TargetContract
from gem_index.testing.targets import PLANE


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Stub]:
    with serving(tmp_path / "server") as stub:
        yield stub


@pytest.fixture
def target(stub: Stub) -> Iterator[MilvusTarget]:
    target = open_target(stub.url + "&timeout=1")
    yield target
    target.close()


def document(name: str, text: str | None = None, **metadata) -> TargetDocument:
    return TargetDocument(name, np.array([0.6, 0.8], np.float32), text, metadata)


class TestOverGrpc(ForeignCollections, TargetContract):
    sentences = 1000

    def client(self, url: str):
        host = TargetUrl.parse(url).host
        return closing(MilvusClient(f"http://{host}", dedicated=True))

    @pytest.fixture
    def url(self, stub: Stub) -> str:
        return stub.url


class TestRequests:
    def test_a_users_own_client_reads_the_alias(self, stub: Stub, target) -> None:
        target.create(PLANE).upsert([document("a", "a river", year=2024)])
        client = MilvusClient(f"http://127.0.0.1:{stub.port}", dedicated=True)
        [[hit]] = client.search("faq", data=[[0.6, 0.8]], limit=1, output_fields=["id", "metadata"])
        client.close()
        assert hit["entity"] == {"id": "a", "metadata": {"year": 2024}}
        assert hit["distance"] == pytest.approx(1)

    def test_a_switch_is_one_request(self, stub: Stub, target) -> None:
        target.create(PLANE)
        target.stage(PLANE).upsert([document("a")])
        stub.calls.clear()
        target.switch()
        methods = [method for method, _ in stub.calls]
        assert methods.count("AlterAlias") == 1
        assert not {"DropAlias", "CreateAlias"} & set(methods)
        assert methods.index("AlterAlias") < methods.index("DropCollection")
        assert target.live().count() == 1

    def test_large_batches_are_split(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        stub.calls.clear()
        table.upsert([document(str(i), "é" * 32_000) for i in range(300)])
        sizes = [size for method, size in stub.calls if method == "Upsert"]
        assert len(sizes) > 1
        assert max(sizes) < 64_000_000
        assert table.count() == 300

    def test_a_server_with_a_smaller_limit(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        stub.limit = 10_000
        table.upsert([document(str(i), "x" * 1000) for i in range(30)])
        assert table.count() == 30
        with pytest.raises(RejectedDocumentsError, match="refused 1 documents, 'large'") as caught:
            table.upsert([document("small"), document("large", "x" * 20_000)])
        assert list(caught.value.reasons) == ["large"]

    def test_a_database_of_the_server(self, stub: Stub, target) -> None:
        client = MilvusClient(f"http://127.0.0.1:{stub.port}", dedicated=True)
        client.create_database("other")
        client.close()
        other = open_target(stub.url + "&database=other")
        other.create(PLANE).upsert([document("a")])
        other.close()
        assert target.live() is None
        missing = open_target(stub.url + "&database=missing")
        with pytest.raises(ConfigError, match="missing"):
            missing.live()
        missing.close()


class TestCredentials:
    @pytest.mark.parametrize("way", ["user", "token", "key", "file", "environment"])
    def test_the_token(self, stub: Stub, way: str, tmp_path, monkeypatch) -> None:
        stub.token, url = ROOT, stub.url
        user, _, password = ROOT.partition(":")
        if way == "environment":
            monkeypatch.setenv("GEM_INDEX_TARGET_USER", user)
            monkeypatch.setenv("GEM_INDEX_TARGET_PASSWORD", password)
        elif way == "user":
            url = url.replace("//", f"//{user}:{password}@")
        else:
            (tmp_path / "key").write_text(ROOT + "\n")
            url += f"&token_file={tmp_path}/key" if way == "file" else f"&{way}={ROOT}"
        target = open_target(url)
        assert target.create(PLANE).count() == 0
        assert password not in str(target.url)
        target.close()

    @pytest.mark.parametrize("token", ["", "&token=wrong-token"])
    def test_a_wrong_token(self, stub: Stub, token: str) -> None:
        stub.token = ROOT
        target = open_target(stub.url + token)
        for call in (target.live, target.drop, lambda: target.create(PLANE)):
            with pytest.raises(
                ConfigError, match="found no permission .*; expected cred"
            ) as caught:
                call()
            assert "wrong-token" not in str(caught.value)
            assert "\n" not in str(caught.value)
        target.close()

    def test_a_user_who_may_only_read(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        stub.down = grpc.StatusCode.PERMISSION_DENIED
        with pytest.raises(ConfigError, match="no permission"):
            table.upsert([document("a")])
        stub.down = None
        assert table.count() == 0

    def test_a_token_that_an_answer_repeats_is_masked(self, stub: Stub) -> None:
        target = open_target(f"{stub.url}&token={ROOT}&timeout=1")
        target.live()
        secrets = [ROOT, ROOT.partition(":")[2], base64.b64encode(ROOT.encode()).decode()]
        for status in (
            grpc.StatusCode.UNAUTHENTICATED,
            grpc.StatusCode.UNAVAILABLE,
            grpc.StatusCode.UNIMPLEMENTED,
        ):
            stub.down = status
            with pytest.raises((ConfigError, TargetUnavailableError)) as caught:
                target.live()
            assert not any(secret in str(caught.value) for secret in secrets)
            assert "\n" not in str(caught.value)
        target.close()

    def test_a_user_without_a_password(self, stub: Stub) -> None:
        with pytest.raises(ConfigError, match="user without a password"):
            open_target(stub.url + "&user=root")


class TestFaults:
    @pytest.mark.parametrize(
        "status",
        [grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL, "slow"],
    )  # fmt: skip
    def test_a_server_that_is_away(self, stub: Stub, target, status, capfd) -> None:
        table = target.create(PLANE)
        table.upsert([document("a")])
        stub.down = status
        for call in (
            table.count,
            lambda: table.upsert([document("b")]),
            lambda: table.delete(["a"]),
            lambda: table.query(np.ones(2, np.float32), 1),
            lambda: list(table.documents()),
        ):
            with pytest.raises(TargetUnavailableError) as caught:
                call()
            assert "\n" not in str(caught.value)
        stub.down = None
        # a slow server has done what the client no longer waited for
        assert {each.id for each in table.documents()} <= {"a", "b"}
        assert "Traceback" not in capfd.readouterr().err

    def test_a_rate_limit(self, stub: Stub, target) -> None:
        table = target.create(PLANE)
        status = common_pb2.Status(code=8, reason="rate limit exceeded")
        stub.answers["Upsert"] = milvus_pb2.MutationResult(status=status).SerializeToString()
        with pytest.raises(TargetUnavailableError, match="rate limit exceeded"):
            table.upsert([document("a")])
        assert table.count() == 0

    def test_a_refused_connection(self) -> None:
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            target = open_target(f"milvus+http://127.0.0.1:{unused.getsockname()[1]}/?collection=a")
            with pytest.raises(TargetUnavailableError, match="Fail connecting"):
                target.live()
            target.close()

    def test_a_server_without_properties(self, stub: Stub, target) -> None:
        answer = milvus_pb2.DescribeCollectionResponse(status=common_pb2.Status())
        stub.answers["DescribeCollection"] = answer.SerializeToString()
        with pytest.raises(ConfigError, match="expected version 2.5 or newer"):
            target.create(PLANE)
        stub.answers.clear()
        assert target.live() is None
        assert target.staged() is None

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
            ("milvus+http://h/", "has no collection"),
            ("milvus+http://h/?collection=a&colour=b", "has no option 'colour'"),
            ("milvus+http:///folder.db?collection=a", "no host"),
            ("milvus+http://h/default?collection=a", "a path"),
            ("milvus+http://h/?collection=a-b", "found the collection name"),
            ("milvus+http://h/?collection=1a", "found the collection name"),
            ("milvus+http://h/?collection=a&timeout=0", "found the timeout"),
        ],
    )
    def test_a_bad_url(self, url: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            MilvusTarget(TargetUrl.parse(url))
