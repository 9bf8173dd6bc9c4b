"""The page on Pinecone runs with the official client, against a server that checks its requests."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from gem_index.testing import run_page
from pages import ROOT


class Index(ThreadingHTTPServer):
    """An index of Pinecone with the metric ``dotproduct``, in memory."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.rows: dict[str, Any] = {}


class Handler(BaseHTTPRequestHandler):
    server: Index

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert self.headers["api-key"] == "secret"
        answer = {"/vectors/upsert": self.upsert, "/query": self.query}[self.path](body)
        data = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def upsert(self, body: Any) -> Any:
        for row in body["vectors"]:
            assert set(row) == {"id", "values", "sparseValues", "metadata"}
            assert len(row["values"]) == 256
            assert any(row["values"]), "Pinecone refuses vectors of zeros"
            check_sparse(row["sparseValues"])
            assert all(
                isinstance(value, str | bool | int | float | list)
                for value in row["metadata"].values()
            )
            self.server.rows[row["id"]] = row
        return {"upsertedCount": len(body["vectors"])}

    def query(self, body: Any) -> Any:
        check_sparse(body["sparseVector"])
        asked = dict(
            zip(body["sparseVector"]["indices"], body["sparseVector"]["values"], strict=True)
        )
        matches = []
        for row in self.server.rows.values():
            words = zip(row["sparseValues"]["indices"], row["sparseValues"]["values"], strict=True)
            dense = sum(a * b for a, b in zip(body["vector"], row["values"], strict=True))
            score = dense + sum(asked.get(term, 0) * value for term, value in words)
            matches.append({"id": row["id"], "score": score, "metadata": row["metadata"]})
        matches.sort(key=lambda match: -match["score"])
        return {"matches": matches[: body["topK"]], "namespace": "", "usage": {"readUnits": 1}}

    def log_message(self, *_: Any) -> None:
        """Be quiet."""


def check_sparse(vector: Any) -> None:
    """As Pinecone's reference says: as many indices as values, at least one, of 32 bits, each once."""
    assert set(vector) == {"indices", "values"}
    assert 0 < len(vector["indices"]) == len(vector["values"]) == len(set(vector["indices"]))
    assert all(0 <= index < 2**32 for index in vector["indices"])


@pytest.fixture
def index() -> Iterator[Index]:
    with Index() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_its_lines_run_and_rank_as_a_search(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINECONE_API_KEY", "secret")
    monkeypatch.setenv("PINECONE_HOST", f"http://127.0.0.1:{index.server_port}")
    names = run_page(ROOT / "docs" / "cookbook" / "pinecone.md")
    assert set(index.rows) == {"visa", "form", "bank"}
    [hit] = names["faq"].search(names["query"], 1, correct=False)
    [match] = names["found"].matches
    assert (match.id, match.score / 3.25) == (hit.id, pytest.approx(hit.score, abs=1e-4))
