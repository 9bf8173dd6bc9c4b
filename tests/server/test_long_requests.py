"""Short requests are answered while a long one is in flight; the long form is ``python -m benchmarks.long_requests``."""

from __future__ import annotations

import runpy
import signal
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from gem_index import GemEncoder, Home
from gem_index.collection import Collection
from gem_index.server.mcp.searching import SearchArguments
from gem_index.server.mcp.searching import search as assistant_search
from gem_index.server.mcp.shared import SharedCollections
from pages import ROOT
from server_process import ServerProcess

# by its path: the folder of benchmarks is not installed with the package
_LONG = runpy.run_path(str(ROOT / "benchmarks" / "long_requests.py"))
Caller, long_requests, peak = _LONG["Caller"], _LONG["long_requests"], _LONG["peak"]
prepare, waits_beside = _LONG["prepare"], _LONG["waits_beside"]

MEMORY = 256 + 600  # MiB
NAMES = (
    "2,048 texts of 850 words",
    "a text of 500,000 Chinese words",
    "a re-ranking of 2,000 texts of 850 words",
    "2,000 queries",
    "a query of 10,000 characters",
    "a table of 100,000 columns",
    "a PUT of 16 MB",
    "a stream of 16 MB",
    "a refit",
)
LONG_WORK = ("gem-index-encode-long", "gem-index-read-long", "gem-index-write")


@pytest.mark.parametrize("name", NAMES)
def test_short_requests_are_answered_before_a_long_one_ends(client, monkeypatch, name):
    """The long one stops in the middle of its work until the short ones are answered."""
    prepare_in_process(client)
    working, go_on = threading.Event(), threading.Event()
    encode = GemEncoder.encode

    def waiting(self, *texts, **options):
        if threading.current_thread().name.startswith(LONG_WORK):
            working.set()
            assert go_on.wait(60), "a short request waited for the long one"
        return encode(self, *texts, **options)

    monkeypatch.setattr(GemEncoder, "encode", waiting)
    size = 1.0 if name == "a query of 10,000 characters" else 0.1
    request = long_requests(size)[name]()
    head = {"Content-Type": request.kind}
    with ThreadPoolExecutor(1) as pool:
        long = pool.submit(
            client.request, request.method, request.path, content=request.body, headers=head
        )
        try:
            assert working.wait(60)
            for path, body in (
                ("/v1/embeddings", {"input": "how do I renew my visa?"}),
                (f"/collections/{request.collection}/search", {"query": "renew a visa"}),
            ):
                for _ in range(3):
                    assert client.post(path, json=body).status_code == 200
            assert not long.done()
        finally:
            go_on.set()
        assert long.result().status_code == 200


def prepare_in_process(client):
    for name in ("faq", "columns", "texts"):
        assert client.post("/collections", json={"name": name}).status_code == 201
    documents = [{"id": str(i), "text": f"how do I renew visa {i}?"} for i in range(50)]
    client.put("/collections/faq/documents", json={"documents": documents})
    client.post("/collections/faq/search", json={"query": "renew a visa"})  # encodes them


@pytest.fixture(scope="module")
def busy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    with ServerProcess(tmp_path_factory.mktemp("busy") / "home") as started:
        prepare(started.url, 1000)
        yield started


@pytest.mark.parametrize("name", NAMES)
def test_long_requests_take_bounded_memory(busy, name):
    waits, status, _ = waits_beside(busy.url, long_requests(0.1)[name]())
    assert status == 200
    assert waits.embeddings
    assert waits.searches
    assert peak(busy.process) < MEMORY


def test_a_long_query_is_refused(client):
    client.post("/collections", json={"name": "faq"})
    body = {"query": "visa " * 2001}
    answer = client.post("/collections/faq/search", json=body)
    assert answer.status_code == 413
    told = "the query has 10005 characters; expected at most 10000: a longer text is a document"
    assert answer.json()["error"]["message"] == told


BATCHED, ALONE, LONG = "gem-index-search", "gem-index-search-alone", "gem-index-read-long"
SEARCHES = [
    ({"query": "visa"}, BATCHED),
    ({"query": "visa", "where": {}}, BATCHED),
    ({"query": "visa", "where": {"lang": "en"}}, ALONE),
    ({"query": "visa", "offset": 1}, ALONE),
    ({"query": "visa", "why": True}, LONG),
    ({"query": "visa " * 1000}, LONG),
    ({"query": "visa " * 1000, "where": {"lang": "en"}}, LONG),
]


def pool_of_a_search(client, monkeypatch, ask) -> str:
    """Ask, and return the name of the threads in which the collection was searched."""
    client.post("/collections", json={"name": "faq"})
    document = {"id": "1", "text": "renew a visa", "metadata": {"lang": "en", "votes": 3}}
    client.put("/collections/faq/documents", json={"documents": [document]})
    threads = []
    search = Collection.search

    def noting(self, *rest, **options):
        threads.append(threading.current_thread().name)
        return search(self, *rest, **options)

    monkeypatch.setattr(Collection, "search", noting)
    ask()
    [thread] = threads
    return thread.rpartition("_")[0]


@pytest.mark.parametrize(("asked", "pool"), [*SEARCHES, ({"query": "visa", "k": 101}, LONG)])
def test_a_search_has_the_threads_of_its_kind(client, monkeypatch, asked, pool):
    def ask():
        answer = client.post("/collections/faq/search", json=asked)
        assert answer.status_code == 200, answer.text

    assert pool_of_a_search(client, monkeypatch, ask) == pool


@pytest.mark.parametrize(
    ("asked", "pool"), [*SEARCHES, ({"query": "visa", "boost": "votes:10"}, ALONE)]
)
def test_a_search_of_an_assistant_has_the_threads_of_its_kind(client, monkeypatch, asked, pool):
    shared = SharedCollections(client.app.state.context)
    arguments = SearchArguments(collection="faq", **asked)

    def ask():
        client.portal.call(assistant_search, shared, arguments)

    assert pool_of_a_search(client, monkeypatch, ask) == pool


def test_many_queries_are_answered_in_their_order_and_numbered(client):
    home: Home = client.app.state.context.home
    home.create_collection("faq").upsert([(str(i), f"text number {i}") for i in range(300)])
    queries = [f"number {i}" for i in range(300)]
    asked = {"queries": queries, "k": 10}
    answer = client.post("/collections/faq/search", json=asked).json()
    assert [each["query"] for each in answer["searches"]] == queries
    assert all(each["results"][0]["id"] == each["query"][7:] for each in answer["searches"])
    queries[250] = "?"
    answer = client.post("/collections/faq/search", json=asked)
    assert answer.json()["error"]["message"].startswith("query 251: ")


def test_a_client_that_does_not_read_is_cut_off(tmp_path):
    with ServerProcess(tmp_path / "home", GEM_INDEX_SERVER_SECONDS="1") as server:
        host, port = server.url.removeprefix("http://").split(":")
        body = b'{"inputs": [%s]}' % b", ".join([b'"a bank"'] * 2048)
        head = b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        with socket.socket() as idle:
            idle.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            idle.connect((host, int(port)))
            idle.sendall(head + b"Content-Length: %d\r\n\r\n" % len(body) + body)
            stop = time.monotonic() + 60
            while _connections(server) and time.monotonic() < stop:
                time.sleep(0.1)
            assert not _connections(server)
        assert httpx.get(f"{server.url}/health").status_code == 200


def _connections(server: ServerProcess) -> int:
    """Return how many established connections the port of a server has."""
    port = int(server.url.rpartition(":")[2])
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return sum(row[1].endswith(f":{port:04X}") and row[3] == "01" for row in rows)


def test_a_signal_ends_a_server_with_long_work(tmp_path):
    with ServerProcess(tmp_path / "home", GEM_INDEX_SERVER_SHUTDOWN="1") as server:
        prepare(server.url, 10)
        request = long_requests(1.0)["2,048 texts of 850 words"]()
        caller = Caller(server.url)
        answered: list[object] = []

        def send() -> None:
            try:
                answered.append(caller.send(request))
            except OSError as error:
                answered.append(error)

        sending = threading.Thread(target=send)
        sending.start()
        time.sleep(0.5)
        assert server.stop() in (0, -signal.SIGTERM)
        sending.join()
        caller.close()
    assert answered != [200]
