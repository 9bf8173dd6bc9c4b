"""A server in processes of its own: how it begins, what it survives, how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from urllib.parse import urlsplit

import httpx
import pytest
from fastapi.testclient import TestClient

from gem_index import Home
from gem_index.errors import Action, Advice, ConfigError
from gem_index.server import running
from gem_index.server.running import ServeOptions, application_of, open_listener, serve
from server_process import ServerProcess


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A server that gives up on slow clients after a second."""
    home = tmp_path_factory.mktemp("running") / "home"
    with ServerProcess(
        home, GEM_INDEX_SERVER_SECONDS="1", GEM_INDEX_SERVER_BODY="100000"
    ) as started:
        yield started


def connected(server):
    address = urlsplit(server.url)
    return socket.create_connection((address.hostname, address.port), timeout=90)


def answer_of(connection):
    parts = []
    while part := connection.recv(65536):
        parts.append(part)
    return b"".join(parts)


def well(server):
    answer = httpx.post(
        f"{server.url}/v1/embeddings", json={"input": "renew a passport"}, timeout=90
    )
    return answer.status_code == 200


class TestClients:
    @pytest.mark.parametrize(
        "head",
        [
            b"",
            b"POST /embed HT",
            b"POST /embed HTTP/1.1\r\nHost: localhost\r\n",
            b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{",
            b"POST /collections/faq/documents/stream HTTP/1.1\r\nHost: localhost\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
        ],
    )
    def test_a_client_that_stops_in_the_middle_is_let_go(self, served, head):
        with connected(served) as connection:
            connection.sendall(head)
            found = answer_of(connection)  # ends because the server closes
        assert found == b"" or found.startswith((b"HTTP/1.1 408", b"HTTP/1.1 404"))
        assert well(served)

    def test_a_client_that_stops_after_an_answer(self, served):
        with connected(served) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
            found = b""
            while not found.endswith(b"}"):
                found += connection.recv(65536)
            assert found.startswith(b"HTTP/1.1 200")
            connection.sendall(b"GET /hea")
            assert answer_of(connection) == b""
        assert well(served)

    def test_a_connection_that_stays_open_takes_long_heads_one_after_the_other(self, served):
        """Each may have 64 KiB, however many there were before."""
        begin = b"GET /health HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 40_000
        with connected(served) as connection:
            for _ in range(4):
                connection.sendall(begin)
                time.sleep(0.02)  # as a rule, the server reads the head in two parts
                connection.sendall(b"\r\n\r\n")
                found = b""
                while not found.endswith(b"}"):
                    part = connection.recv(65536)
                    assert part, "the server closed the connection"
                    found += part
                assert found.startswith(b"HTTP/1.1 200")

    @pytest.mark.parametrize(
        "sent",
        [
            b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: ten\r\n\r\n",
            b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
            b"POST /embed HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
            b"GET /" + b"a" * 2_000_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
            b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"a" * 2_000_000 + b"\r\n\r\n",
        ],
        ids=["tls", "version", "length", "negative", "chunk", "path", "header"],
    )
    def test_bytes_that_are_not_http(self, served, sent):
        with connected(served) as connection:
            try:
                connection.sendall(sent)
                found = answer_of(connection)
            except OSError:  # the server closed while there was more to send
                found = b""
        assert not found.startswith(b"HTTP/1.1 5")
        assert well(served)

    def test_uploads_that_are_broken_off(self, served):
        for _ in range(30):
            with connected(served) as connection:
                connection.sendall(
                    b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 50000\r\n\r\n"
                    + b"x" * 9000
                )
        assert well(served)

    def test_a_body_that_is_too_large_is_not_read(self, served):
        with connected(served) as connection:
            connection.sendall(
                b"POST /embed HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n"
            )
            assert connection.recv(65536).startswith(b"HTTP/1.1 413")
        assert well(served)

    def test_many_at_once_get_what_they_asked_for(self, served):
        texts = [f"question number {i}" for i in range(400)]
        alone = httpx.post(f"{served.url}/embed", json={"inputs": texts}, timeout=90).json()
        with (
            httpx.Client(base_url=served.url, timeout=90) as client,
            ThreadPoolExecutor(16) as pool,
        ):
            found = list(
                pool.map(lambda t: client.post("/embed", json={"inputs": t}).json()[0], texts)
            )
        assert found == alone


class TestEnd:
    def test_a_signal_ends_it_after_what_was_accepted(self, tmp_path):
        documents = [{"id": str(i), "text": f"text number {i}"} for i in range(2000)]
        with ServerProcess(tmp_path / "home") as server:
            httpx.post(f"{server.url}/collections", json={"name": "faq"}, timeout=90)
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(
                    httpx.put,
                    f"{server.url}/collections/faq/documents",
                    json={"documents": documents},
                    timeout=60,
                )
                time.sleep(0.05)
                status = server.stop(signal.SIGTERM)
                try:
                    accepted = asked.result().status_code == 200
                except httpx.TransportError:  # the signal came first
                    accepted = False
        assert status in (0, -signal.SIGTERM)
        assert len(Home(tmp_path / "home").collection("faq")) == (2000 if accepted else 0)

    def test_a_killed_one_has_kept_what_it_acknowledged(self, tmp_path):
        acknowledged = []
        with ServerProcess(tmp_path / "home") as server:
            httpx.post(f"{server.url}/collections", json={"name": "faq"}, timeout=90)

            def upsert():
                with httpx.Client(base_url=server.url, timeout=90) as client:
                    for i in range(100_000):
                        body = {"documents": [{"id": str(i), "text": f"text {i}"}]}
                        try:
                            if (
                                client.put("/collections/faq/documents", json=body).status_code
                                == 200
                            ):
                                acknowledged.append(str(i))
                        except httpx.TransportError:
                            return

            thread = threading.Thread(target=upsert)
            thread.start()
            while len(acknowledged) < 50:
                time.sleep(0.01)
            server.stop(signal.SIGKILL)
            thread.join(20)
        faq = Home(tmp_path / "home").collection("faq")
        assert {document.id for document in faq.get(acknowledged)} == set(acknowledged)
        assert faq.search("text 7", 1)[0].id == "7"

    def test_its_log_is_json(self, tmp_path):
        with ServerProcess(tmp_path / "home") as server:
            httpx.get(f"{server.url}/health", timeout=90)
        lines = [json.loads(line) for line in server.log if line.startswith("{")]
        assert [line["route"] for line in lines if line["message"] == "request"] == [
            "/health/ready",
            "/health",
        ]
        assert [line for line in server.log if not line.startswith(("{", "Serving at"))] == []


class TestWorkers:
    def test_what_waits_is_told_by_every_process_until_it_ends(self, home, tmp_path):
        script = """
import asyncio, os, time
from gem_index import Home
from gem_index.server.app import create_app, _note_waiting
from gem_index.server.metrics import Metrics

reading, writing = os.pipe()
child = os.fork()
if not child:
    app = create_app(Home(os.environ["HOME_FOLDER"]))
    app.state.context._waiting = 3
    async def main():
        noting = asyncio.create_task(_note_waiting(app.state.context, Metrics()))
        await asyncio.sleep(0.1)
        os.write(writing, b"x")
        await noting
    asyncio.run(main())
os.close(writing)
os.read(reading, 1)
metrics = Metrics()
print(metrics.text().decode())
os.kill(child, 9)
os.waitpid(child, 0)
print("killed", metrics.text().decode())
"""
        environment = {"PROMETHEUS_MULTIPROC_DIR": str(tmp_path), "HOME_FOLDER": str(home.root)}
        told = subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, **environment},
            check=True,
            capture_output=True,
            text=True,
            timeout=60,
        ).stdout
        before, after = told.split("killed")
        assert "gem_index_requests_waiting 3.0" in before
        assert "gem_index_requests_waiting 3.0" not in after

    def test_several_processes_serve_one_home(self, tmp_path):
        with ServerProcess(tmp_path / "home", "--workers", "2") as server:
            with httpx.Client(base_url=server.url, timeout=90) as client:
                assert client.post("/collections", json={"name": "faq"}).status_code == 201

            def upsert(i):
                """Each request has a connection of its own, which any of the processes accepts."""
                path = f"{server.url}/collections/faq/documents"
                body = {"documents": [{"id": str(i), "text": f"document {i}"}]}
                answer = httpx.put(path, json=body, timeout=90, verify=False)
                found = httpx.get(f"{path}/{i}", timeout=90, verify=False)
                return answer.status_code, found.status_code

            with ThreadPoolExecutor(8) as pool:
                assert set(pool.map(upsert, range(100))) == {(200, 200)}
            metrics = httpx.get(f"{server.url}/metrics", timeout=90).text
            label = 'route="/collections/{name}/documents",status="200"'
            [counted] = [
                line for line in metrics.splitlines() if label in line and "_total" in line
            ]
            assert float(counted.split()[-1]) == 100.0  # of both processes
        faq = Home(tmp_path / "home").collection("faq")
        assert len(faq) == 100
        assert faq.verify() == []


START = """
import sys
from gem_index.server import running
app = running.application()
print(app.openapi_schema is not None, "faiss" in sys.modules)
"""


class TestStart:
    def test_what_takes_long_to_make_is_made_before_the_first_request(self, home):
        """The description and FAISS take a quarter of a second each, in which no other request is answered."""
        options = json.dumps(asdict(ServeOptions(home=str(home.root), port=0)))
        done = subprocess.run(
            [sys.executable, "-c", START],
            env=os.environ | {running._OPTIONS: options},
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stdout.split() == ["True", "True"], done.stderr


class TestRefusals:
    def test_other_addresses_need_a_key(self, home):
        for host in ("0.0.0.0", "::", "192.168.0.1", "shop.example"):
            with pytest.raises(ConfigError, match="there is no key"):
                serve(ServeOptions(home=str(home.root), host=host, port=0), print)

    def test_a_name_for_others_needs_a_key(self, home):
        """A proxy passes their requests on, so that the address alone protects nothing."""
        options = ServeOptions(home=str(home.root), port=0, names=("search.example.org",))
        with pytest.raises(ConfigError, match="'search.example.org' can be .* there is no key"):
            serve(options, print)
        with TestClient(application_of(options, home)) as client:
            head = {"Host": "search.example.org"}
            assert client.get("/collections", headers=head).status_code == 401
            head["Authorization"] = f"Bearer {home.keys.add('shop', 'read')}"
            client.app.state.keys._read_at = -1.0  # as after a second
            assert client.get("/collections", headers=head).status_code == 200

    def test_a_port_that_is_taken(self, home):
        with (
            open_listener("127.0.0.1", 0) as taken,
            pytest.raises(ConfigError, match="cannot listen at '127.0.0.1', port"),
        ):
            open_listener("127.0.0.1", taken.getsockname()[1])
        with pytest.raises(ConfigError, match="cannot listen at 'no.such.host.invalid'"):
            open_listener("no.such.host.invalid", 0)

    def test_an_alias_of_nothing(self, home):
        options = ServeOptions(home=str(home.root), port=0, aliases={"gpt": "nope"})
        with pytest.raises(ConfigError, match="the alias 'gpt': no model is named 'nope'"):
            serve(options, print)
        options = ServeOptions(home=str(home.root), port=0, aliases={"gpt": "collection:nope"})
        with pytest.raises(ConfigError, match="no collection is named 'nope'") as caught:
            serve(options, print)
        assert caught.value.advice == Advice(Action.MAKE_COLLECTION)

    @pytest.mark.parametrize(
        ("options", "hosts"),
        [
            ({}, {"localhost", "127.0.0.1", "[::1]"}),
            ({"names": ("Shop.example",)}, {"localhost", "127.0.0.1", "[::1]", "shop.example"}),
            ({"host": "::1"}, {"localhost", "127.0.0.1", "[::1]"}),
            ({"host": "10.0.0.1"}, None),
            (
                {"host": "10.0.0.1", "names": ("a",)},
                {"localhost", "127.0.0.1", "[::1]", "10.0.0.1", "a"},
            ),
            ({"host": "0.0.0.0", "insecure": True}, None),
        ],
    )
    def test_names_that_are_answered_to(self, options, hosts):
        assert ServeOptions(home="x", **options).hosts == hosts
