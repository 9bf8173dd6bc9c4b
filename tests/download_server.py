"""A server on localhost that cuts, lies, redirects and forgets, for tests of downloads."""

import hashlib
import http.server
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

from gem_index.vectors.catalogue import RemoteFile

CONTENT = bytes(np.random.default_rng(0).integers(0, 256, 600_000, dtype=np.uint8))
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@dataclass
class Server:
    """The server's behaviour for the next requests; every request is recorded."""

    address: str = ""
    content: dict[str, bytes] = field(default_factory=lambda: {"/v.bin": CONTENT})
    tag: str = '"one"'
    cuts: list[int] = field(default_factory=list)  # bytes after which the next answers end
    length: int | None = None  # sent instead of the true length
    statuses: list[int] = field(default_factory=list)
    ranges: bool = True
    redirects: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[str, str | None]] = field(default_factory=list)
    agents: list[str | None] = field(default_factory=list)  # one for each request
    shift: int = 0  # of the first answer with a part
    unasked: bool = False
    most: int | None = None  # bytes of an answer with a part
    empty: bool = False
    says_length: bool = True  # of an answer, and of a file whose end was asked for


@contextmanager
def running_server():
    """Run a server of one file until the block ends."""
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def log_message(self, *_):
            pass

        def do_GET(self):
            asked = self.headers.get("Range")
            state.requests.append((self.path, asked))
            state.agents.append(self.headers.get("User-Agent"))
            if state.statuses and (status := state.statuses.pop(0)) != 200:
                self.send_error(status)
                return
            if self.path in state.redirects:
                self.send_response(302)
                self.send_header("Location", state.redirects[self.path])
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            if self.path not in state.content:
                self.send_error(404)
                return
            if state.empty:
                self.send_response(204)
                self.end_headers()
                return
            content = state.content[self.path]
            if state.unasked:
                asked = "bytes=0-"
            begin = 0
            if asked and state.ranges and self.headers.get("If-Range") in (state.tag, None):
                begin = int(asked.removeprefix("bytes=").removesuffix("-"))
                if begin >= len(content):
                    self.send_response(416)
                    if state.says_length:
                        self.send_header("Content-Range", f"bytes */{len(content)}")
                    self.send_header("Content-Length", "0")
                    self.end_headers()
                    return
                begin += state.shift
                state.shift = state.shift if state.unasked else 0
                end = len(content) if state.most is None else min(len(content), begin + state.most)
                self.send_response(206)
                self.send_header("Content-Range", f"bytes {begin}-{end - 1}/{len(content)}")
                content = content[:end]
            else:
                self.send_response(200)
            if state.tag:
                self.send_header("ETag", state.tag)
            told = len(content) - begin if state.length is None else state.length
            if state.says_length:
                self.send_header("Content-Length", str(told))
            self.end_headers()
            end = begin + state.cuts.pop(0) if state.cuts else len(content)
            self.wfile.write(content[begin:end])
            self.close_connection = True

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as running:
        state.address = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield state
        running.shutdown()
        thread.join()


def remote(server, **known):
    """Return the server's file, with the size and hash that are known."""
    return RemoteFile(f"{server.address}/v.bin", "v.bin", **known)
