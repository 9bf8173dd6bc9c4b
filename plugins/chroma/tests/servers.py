"""Chroma's own server as a process, and a gate before it that asks for credentials."""

from __future__ import annotations

import http.client
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx


def free_port() -> int:
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextmanager
def chroma_server(folder: Path, port: int | None = None) -> Iterator[str]:
    """Start `chroma run`, on a free port by default, yield host and port, kill it."""
    port = port or free_port()
    command = shutil.which("chroma", path=str(Path(sys.executable).parent))
    assert command, "chromadb installs its server beside Python"
    log = folder / "server.log"
    with (
        log.open("wb") as output,
        subprocess.Popen(
            [
                command,
                "run",
                "--path",
                str(folder / "data"),
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
            ],
            stdout=output,
            stderr=output,
        ) as process,
    ):
        try:
            for _ in range(600):
                assert process.poll() is None, log.read_text()
                try:
                    if httpx.get(f"http://127.0.0.1:{port}/api/v2/heartbeat").is_success:
                        break
                except httpx.TransportError:
                    time.sleep(0.1)
            yield f"127.0.0.1:{port}"
        finally:
            process.kill()  # what it has acknowledged is on the disk


@contextmanager
def gate(server: str, headers: dict[str, str], answers: list[int] | None = None) -> Iterator[str]:
    """Forward requests to a server if they carry the headers, else answer 401; first answer each of a list of statuses."""
    answers = answers if answers is not None else []

    class Gate(BaseHTTPRequestHandler):
        def forward(self) -> None:
            content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if answers:
                self.answer(answers.pop(0), b"overloaded: " + str(self.headers).encode())
            elif any(self.headers.get(name) != value for name, value in headers.items()):
                self.answer(401, b"who are you? " + str(self.headers).encode())
            else:
                connection = http.client.HTTPConnection(server)
                kept = {"Content-Type": "application/json"}
                connection.request(self.command, self.path, content, kept)
                answer = connection.getresponse()
                self.answer(answer.status, answer.read())
                connection.close()

        do_GET = do_POST = do_PUT = do_DELETE = forward  # noqa: N815 - as http.server calls them

        def answer(self, status: int, content: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Gate) as passing:
        thread = threading.Thread(target=passing.serve_forever)
        thread.start()
        try:
            yield f"127.0.0.1:{passing.server_port}"
        finally:
            passing.shutdown()
            thread.join()
