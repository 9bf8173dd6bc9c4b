"""A Milvus server for tests: milvus-lite's own, behind a proxy that checks the token and fails when it is told to.

The requests and answers are Milvus' own messages, which milvus-lite executes; it has no authentication itself.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path

import grpc
from milvus_lite.adapter.grpc.server import start_server_in_thread

ROOT = "root:Milvus-secret"
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


class Stub(grpc.GenericRpcHandler):
    """Forwards each call; ``down`` is a status or "slow" for all calls, ``answers`` bytes for calls of a method."""

    def __init__(self, backend: grpc.Channel) -> None:
        self.backend = backend
        self.down: grpc.StatusCode | str | None = None
        self.answers: dict[str, bytes] = {}
        self.token = ""
        self.limit = 64_000_000
        self.calls: list[tuple[str, int]] = []
        self.port = 0

    @property
    def url(self) -> str:
        return f"milvus+http://127.0.0.1:{self.port}/?collection=faq"

    def service(self, details):
        method = details.method.rpartition("/")[2]
        sent = dict(details.invocation_metadata)

        def forward(request: bytes, context: grpc.ServicerContext) -> bytes:
            self.calls.append((method, len(request)))
            if self.down == "slow":
                time.sleep(2)
            elif self.down is not None:
                context.abort(self.down, f"told to fail; sent was {sent.get('authorization')}")
            expected = base64.b64encode(self.token.encode()).decode()
            if self.token and sent.get("authorization") != expected:
                context.abort(
                    grpc.StatusCode.UNAUTHENTICATED,
                    "auth check failure, please check api key is correct",
                )
            if len(request) > self.limit:
                context.abort(
                    grpc.StatusCode.RESOURCE_EXHAUSTED,
                    f"grpc: received message larger than max ({len(request)} vs. {self.limit})",
                )
            if method in self.answers:
                return self.answers[method]
            names = [(key, value) for key, value in sent.items() if key == "dbname"]
            try:
                return self.backend.unary_unary(details.method)(request, metadata=names)
            except grpc.RpcError as error:
                context.abort(error.code(), error.details())

        return grpc.unary_unary_rpc_method_handler(forward)


@contextmanager
def serving(folder: Path) -> Iterator[Stub]:
    """Yield a running stub."""
    lite, database, port = start_server_in_thread(str(folder))
    with grpc.insecure_channel(f"127.0.0.1:{port}", options=UNLIMITED) as channel:
        stub = Stub(channel)
        server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[stub], options=UNLIMITED)
        stub.port = server.add_insecure_port("127.0.0.1:0")
        server.start()
        try:
            yield stub
        finally:
            server.stop(0).wait()
            lite.stop(0).wait()
            database.close()
