"""How long short requests wait beside a long one, the memory that the server then takes, and the time of its end.

``python -m benchmarks.long_requests [--size 1.0] [NAME ...]`` starts ``gem-index serve`` and sends it requests that are
within its limits but take long, one after the other (``--size 0.1`` makes them ten times smaller). Meanwhile one caller
sends single embeddings and plain searches in turn, and waits for each answer. The table shows the longest of these waits,
how many answers came, and the largest memory of the process meanwhile. At the end, a signal stops the server while a long
request is in flight.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SERVE = "from gem_index_cli.start import main; main()"
MIB = 1 << 20


@dataclass(frozen=True)
class LongRequest:
    """A request that takes long."""

    method: str
    path: str
    body: bytes
    kind: str = "application/json"
    collection: str = "faq"  # which the plain searches beside it search


@dataclass
class Waits:
    """What one caller of single embeddings and plain searches saw; seconds."""

    embeddings: list[float] = field(default_factory=list)
    searches: list[float] = field(default_factory=list)


class Words:
    """Made-up words, which word vectors do not know."""

    def __init__(self) -> None:
        self._random = random.Random(0)

    def text(self, count: int) -> str:
        """Return a text of different words of eight letters."""
        return " ".join("".join(self._random.choices(LETTERS, k=8)) for _ in range(count))

    def signs(self, count: int) -> str:
        """Return a text of Chinese signs, separated by blanks."""
        return " ".join(chr(0x4E00 + self._random.randrange(20_000)) for _ in range(count))


def long_requests(size: float) -> dict[str, Callable[[], LongRequest]]:
    """Return functions that make the requests, by name; the limits allow all of them with a size of 1."""
    words = Words()

    def many(count: int) -> int:
        return max(1, int(count * size))

    def post(path: str, **body: object) -> LongRequest:
        return LongRequest("POST", path, json.dumps(body, ensure_ascii=False).encode())

    def search(**body: object) -> LongRequest:
        return post("/collections/faq/search", **body)

    def file(name: str, lines: Iterator[str]) -> LongRequest:
        content = "\n".join(lines).encode()
        collection = name.partition(".")[0]
        path = f"/collections/{quote(collection)}/files?file={name}"
        return LongRequest("POST", path, content, "application/octet-stream", collection)

    def documents(count: int, length: int) -> list[dict[str, str]]:
        return [{"id": f"long {i}", "text": words.text(length)} for i in range(count)]

    columns = many(100_000)
    return {
        "2,048 texts of 850 words": lambda: post(
            "/v1/embeddings", input=[words.text(850) for _ in range(many(2048))]
        ),
        "a text of 110,000 words": lambda: post("/v1/embeddings", input=words.text(many(110_000))),
        "a text of 500,000 Chinese words": lambda: post(
            "/v1/embeddings", input=words.signs(many(500_000))
        ),
        "a re-ranking of 2,000 texts of 850 words": lambda: post(
            "/v2/rerank",
            query="a visa",
            documents=[words.text(850) for _ in range(many(2000))],
        ),
        "2,000 queries": lambda: search(
            queries=[f"{words.text(3)} visa" for _ in range(many(2000))], k=5
        ),
        "a query of 10,000 characters": lambda: search(query=words.text(many(1100))),
        "100 explained results": lambda: search(query="how do I renew a visa?", k=100, why=True),
        "a table of 100,000 columns": lambda: file(
            "columns.csv",
            iter(
                (
                    "id,text," + ",".join(f"c{i}" for i in range(columns)),
                    "1,a visa," + ",".join("1" for _ in range(columns)),
                )
            ),
        ),
        "a file of 20,000 texts of 50 words": lambda: file(
            "texts.jsonl",
            (json.dumps({"id": str(i), "text": words.text(50)}) for i in range(many(20_000))),
        ),
        "a PUT of 16 MB": lambda: LongRequest(
            "PUT",
            "/collections/faq/documents",
            json.dumps({"documents": documents(many(2000), 870)}).encode(),
        ),
        "a stream of 16 MB": lambda: LongRequest(
            "POST",
            "/collections/faq/documents/stream",
            "\n".join(json.dumps(each) for each in documents(many(2000), 870)).encode(),
            "application/x-ndjson",
        ),
        "a refit": lambda: post("/collections/faq/refit"),
        "near-duplicates": lambda: post("/collections/faq/duplicates"),
    }


class Caller:
    """A client with one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=600)

    def send(self, request: LongRequest) -> int:
        """Send a request, read the whole answer, and return its status."""
        head = {"Content-Type": request.kind}
        self._connection.request(request.method, request.path, request.body, head)
        answer = self._connection.getresponse()
        answer.read()
        return answer.status

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def waits_beside(url: str, request: LongRequest) -> tuple[Waits, int, float]:
    """Send a long request, and short ones in turn until after its answer; return their waits, its status and its seconds."""
    ended: list[int] = []
    long, short = Caller(url), Caller(url)
    sending = threading.Thread(target=lambda: ended.append(long.send(request)))
    embedding = LongRequest("POST", "/v1/embeddings", b'{"input": "how do I renew my visa?"}')
    path = f"/collections/{request.collection}/search"
    search = LongRequest("POST", path, b'{"query": "renew a visa"}')
    waits = Waits()
    begun = time.perf_counter()
    took = 0.0
    sending.start()
    while not took:
        if not sending.is_alive():
            took = time.perf_counter() - begun  # one more of each: they see what was stored
        for each, seconds in ((embedding, waits.embeddings), (search, waits.searches)):
            before = time.perf_counter()
            status = short.send(each)
            if status != 200:
                raise RuntimeError(f"{each.path} was answered with {status}")
            seconds.append(time.perf_counter() - before)
    sending.join()
    long.close()
    short.close()
    return waits, ended[0] if ended else 0, took


def prepare(url: str, documents: int) -> None:
    """Make the collections of the requests."""
    caller, words = Caller(url), Words()
    for name in ("faq", "columns", "texts"):
        made = caller.send(LongRequest("POST", "/collections", json.dumps({"name": name}).encode()))
        if made != 201:
            raise RuntimeError(f"the collection {name} was not made: status {made}")
    for begin in range(0, documents, 1000):
        rows = [
            {"id": str(i), "text": f"how do I renew a visa of {words.text(8)}?"}
            for i in range(begin, min(begin + 1000, documents))
        ]
        body = json.dumps({"documents": rows}).encode()
        caller.send(LongRequest("PUT", "/collections/faq/documents", body))
    caller.send(LongRequest("POST", "/collections/faq/refit", b"{}"))
    caller.send(LongRequest("POST", "/collections/faq/search", b'{"query": "renew a visa"}'))
    caller.close()


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run a server of an empty home until the block ends."""
    command = [sys.executable, "-c", SERVE, "--home", str(folder / "home"), "serve", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        url = ""
        for line in process.stderr:
            if line.startswith("Serving at "):
                url = line.split()[2]
                break
        reading = threading.Thread(target=process.stderr.read, daemon=True)
        reading.start()
        try:
            yield url, process
        finally:
            process.terminate()
            process.wait()
            reading.join()


def peak(process: subprocess.Popen[str]) -> float:
    """Return the largest memory of a process since its start or :func:`forget_peak`, in MiB."""
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def forget_peak(process: subprocess.Popen[str]) -> None:
    """Measure the largest memory of a process from now on."""
    Path(f"/proc/{process.pid}/clear_refs").write_text("5")


def seconds_to_end(url: str, process: subprocess.Popen[str], request: LongRequest) -> float:
    """Return how long a server takes to end after a signal, while a long request is in flight."""
    caller = Caller(url)

    def send() -> None:
        with suppress(OSError, http.client.HTTPException):  # the server ends
            caller.send(request)

    sending = threading.Thread(target=send)
    sending.start()
    time.sleep(1)
    before = time.perf_counter()
    process.terminate()
    process.wait()
    took = time.perf_counter() - before
    sending.join()
    caller.close()
    return took


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--size", type=float, default=1.0)
    parser.add_argument("--documents", type=int, default=20_000)
    asked = parser.parse_args()
    requests = long_requests(asked.size)
    names = asked.names or list(requests)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as (url, process):
        prepare(url, asked.documents)
        print(
            "| request | status | seconds | short answers meanwhile | longest embedding ms | longest search ms | peak MiB |"
        )
        print("|---|---|---|---|---|---|---|")
        for name in names:
            request = requests[name]()
            forget_peak(process)
            waits, status, took = waits_beside(url, request)
            print(
                f"| {name} | {status} | {took:.1f} | {len(waits.embeddings) + len(waits.searches)} "
                f"| {1e3 * max(waits.embeddings):.0f} | {1e3 * max(waits.searches):.0f} | {peak(process):.0f} |",
                flush=True,
            )
        took = seconds_to_end(url, process, requests["2,048 texts of 850 words"]())
        print(
            f"\nafter a signal, with the first request in flight, the server ended in {took:.1f} s"
        )


if __name__ == "__main__":
    main()
