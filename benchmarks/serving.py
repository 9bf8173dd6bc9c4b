"""The HTTP server under load, beside another server of a static model through the same interface.

``python -m benchmarks.serving SENTENCES.txt [--seconds 10] [--json FILE]`` measures ``/v1/embeddings`` with 1, 8, 64 and 256
connections, for single texts and for 256 at a time, of ``gem-index serve`` and of txtai's API with a model2vec model over
the same word vectors (``pip install ".[bench,server]" "txtai[api]"``; left out where it is missing). The load comes from
``wrk`` (Debian's package). ``--soak 30`` instead sends a mixture of requests for 30 minutes and watches the server's memory.
The sentences come from ``python -m benchmarks.sentences``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collections import read

CONNECTIONS = (1, 8, 64, 256)
BATCH = 256
_WRK = """
wrk.method = "POST"
wrk.headers["Content-Type"] = "application/json"
local requests, place = {}, 0
for line in io.lines("%s") do
  local path, body = line:match("^(%%S+) (.*)$")
  requests[#requests + 1] = {path, body}
end
request = function() place = place %% #requests + 1; return wrk.format(nil, requests[place][1], nil, requests[place][2]) end
done = function(summary, latency)
  local wrong = summary.errors
  io.stderr:write(string.format(
    '{"requests": %%d, "seconds": %%f, "p50": %%f, "p99": %%f, "errors": %%d}',
    summary.requests, summary.duration / 1e6, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3,
    wrong.status + wrong.connect + wrong.read + wrong.write + wrong.timeout))
end
"""
_TXTAI = """
openai: true
embeddings:
  path: {model}
  method: model2vec
  vectors: {{use_multiprocessing: false}}
"""


@dataclass(frozen=True)
class Load:
    """What a server did under one load; times in milliseconds."""

    system: str
    texts: int
    connections: int
    rate: float
    p50: float
    p99: float
    errors: int


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sentences")
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--soak", type=float, metavar="MINUTES")
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if shutil.which("wrk") is None:
        sys.exit("wrk is missing; on Debian: apt install wrk")
    texts = read(asked.sentences, 40 * BATCH)
    with tempfile.TemporaryDirectory() as folder:
        if asked.soak is not None:
            soak(texts, Path(folder), asked.soak)
            return
        found = list(measured(texts, Path(folder), asked.seconds))
    rate = library_rate(texts)
    print(f"\nthe library, {BATCH} texts at a time: {rate:,.0f} texts/s")
    print(
        "\n| server | texts a request | connections | requests/s | texts/s | p50 ms | p99 ms | errors |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for load in found:
        print(
            f"| {load.system} | {load.texts} | {load.connections} | {load.rate:,.0f} | {load.rate * load.texts:,.0f} "
            f"| {load.p50:.1f} | {load.p99:.1f} | {load.errors} |"
        )
    if asked.json is not None:
        rows = {"library": rate, "servers": [asdict(load) for load in found]}
        asked.json.write_text(json.dumps(rows, indent=1))


def measured(texts: list[str], folder: Path, seconds: int) -> Iterator[Load]:
    servers = {
        "gem-index": ours(folder),
        "gem-index, 2 processes": ours(folder, "--workers", "2"),
    }
    if peer_is_installed():
        servers["txtai, model2vec"] = txtai(folder, texts)
    else:
        print("txtai is not installed: it is left out", file=sys.stderr)
    for system, server in servers.items():
        with server as url:
            for count in (1, BATCH):
                script = scripted(folder, [embedding(part) for part in parts(texts, count)])
                for connections in CONNECTIONS:
                    if count > 1 and connections > 8:
                        continue
                    sent(url, script, connections, 2)
                    told = sent(url, script, connections, seconds)
                    rate = told["requests"] / told["seconds"]
                    load = Load(
                        system, count, connections, rate, told["p50"], told["p99"], told["errors"]
                    )
                    print(load, file=sys.stderr)
                    yield load


def parts(texts: list[str], count: int) -> list[list[str]]:
    return [texts[i : i + count] for i in range(0, min(len(texts), 2000 * count), count)]


def embedding(texts: list[str]) -> tuple[str, dict[str, Any]]:
    """Return a request as the official client sends it: vectors in Base64."""
    found = texts[0] if len(texts) == 1 else texts
    return "/v1/embeddings", {"input": found, "model": "gem-index", "encoding_format": "base64"}


def scripted(folder: Path, requests: list[tuple[str, dict[str, Any]]]) -> Path:
    """Write requests and the script with which wrk sends them in turn."""
    lines = folder / "requests.txt"
    lines.write_text("".join(f"{path} {json.dumps(body)}\n" for path, body in requests))
    script = folder / "load.lua"
    script.write_text(_WRK % lines)
    return script


def sent(url: str, script: Path, connections: int, seconds: float) -> dict[str, Any]:
    """Send requests for some seconds and return what wrk counted."""
    command = [
        "wrk",
        "-t1",
        f"-c{connections}",
        f"-d{round(seconds)}s",
        "--timeout",
        "30s",
        "-s",
        str(script),
        url,
    ]
    answer = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(answer.stderr[answer.stderr.index("{") :])
    return found


@contextmanager
def ours(folder: Path, *options: str) -> Iterator[str]:
    command = [
        sys.executable,
        "-c",
        "from gem_index_cli.start import main; main()",
        "--home",
        str(folder / "home"),
    ]
    with process([*command, "serve", "--port", "9917", *options], 9917, {}) as started:
        yield started


@contextmanager
def txtai(folder: Path, texts: list[str]) -> Iterator[str]:
    from benchmarks.__main__ import model2vec_of
    from gem_index import open_vectors
    from gem_index.text.tokens import tokenize

    model = folder / "model2vec"
    words = sorted({word for text in texts for word in tokenize(text)})
    model2vec_of(words, open_vectors("wordllama").lookup(words)[0]).save_pretrained(str(model))
    (folder / "txtai.yml").write_text(_TXTAI.format(model=model))
    command = [
        sys.executable,
        "-m",
        "uvicorn",
        "txtai.api:app",
        "--port",
        "9918",
        "--no-access-log",
    ]
    with process(command, 9918, {"CONFIG": str(folder / "txtai.yml")}) as started:
        yield started


def peer_is_installed() -> bool:
    from importlib.util import find_spec

    return all(
        find_spec(name) is not None for name in ("txtai", "model2vec", "uvicorn", "multipart")
    )


@contextmanager
def process(command: list[str], port: int, environment: dict[str, str]) -> Iterator[str]:
    """Run a server until the block ends."""
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryFile() as log:
        running = subprocess.Popen(command, stderr=log, stdout=log, env=os.environ | environment)
        try:
            for _ in range(600):
                if running.poll() is not None:
                    log.seek(0)
                    sys.exit(log.read().decode()[-2000:])
                try:
                    post(url, *embedding(["a text"]))
                    break
                except urllib.error.URLError as error:
                    if not isinstance(error.reason, ConnectionError):
                        raise
                    time.sleep(0.1)
            yield url
        finally:
            running.terminate()
            running.wait(60)


def post(url: str, path: str, body: dict[str, Any], method: str = "POST") -> Any:
    headers = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url + path, json.dumps(body).encode(), headers, method=method)
    with urllib.request.urlopen(asked) as answer:
        return json.load(answer)


def library_rate(texts: list[str]) -> float:
    """Return texts a second of the library itself, as many at a time as a request holds; the best of five."""
    from gem_index import open_provider

    encoder = open_provider().encoder
    batches = parts(texts, BATCH)
    encoder.encode(batches[0])
    rates = []
    for _ in range(5):
        begun = time.perf_counter()
        for batch in batches:
            encoder.encode(batch)
        rates.append(len(batches) * BATCH / (time.perf_counter() - begun))
    return max(rates)


def soak(texts: list[str], folder: Path, minutes: float) -> None:
    """Send a mixture of requests, and print the server's memory and what failed each half minute."""
    with ours(folder) as url:
        post(url, "/collections", {"name": "soak"})
        documents = [{"id": str(i), "text": text} for i, text in enumerate(texts)]
        for begin in range(0, len(documents), 2000):
            body = {"documents": documents[begin : begin + 2000]}
            post(url, "/collections/soak/documents", body, "PUT")
        rng = np.random.default_rng(0)
        requests: list[tuple[str, dict[str, Any]]] = []
        for i in range(6000):
            some = [texts[j] for j in rng.integers(len(texts), size=32)]
            place = i // 12  # a document goes, and comes back
            requests.append(
                (
                    ("/v1/embeddings", {"input": some[0]}),
                    ("/v1/embeddings", {"input": some, "encoding_format": "base64"}),
                    ("/v2/rerank", {"query": some[0], "documents": some[1:]}),
                    ("/collections/soak/search", {"query": some[0], "k": 5, "why": i % 2 == 0}),
                    ("/collections/soak/search", {"query": some[1], "mode": "lexical"}),
                    ("/collections/soak/documents/stream", {"id": str(place), "text": texts[place]})
                    if i % 12 > 6
                    else ("/collections/soak/documents/delete", {"ids": [str(place)]}),
                )[i % 6]
            )
        script = scripted(folder, requests)
        pid = server_pid(url)
        total, errors = 0, 0
        print("minutes | requests | errors | p99 ms | memory MB", flush=True)
        stop = time.monotonic() + 60 * minutes
        while time.monotonic() < stop:
            told = sent(url, script, 64, min(30, max(1, stop - time.monotonic())))
            total, errors = total + told["requests"], errors + told["errors"]
            passed = minutes - (stop - time.monotonic()) / 60
            print(
                f"{passed:7.1f} | {total:,} | {errors} | {told['p99']:.0f} | {memory(pid):.0f}",
                flush=True,
            )


def server_pid(url: str) -> int:
    """Return the process that has the port."""
    port = url.rpartition(":")[2]
    found = subprocess.run(
        ["pgrep", "-f", f"serve --port {port}"], capture_output=True, text=True, check=True
    )
    return int(found.stdout.split()[0])


def memory(pid: int) -> float:
    """Return the memory of a process that no file backs, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(status.split("RssAnon:")[1].split()[0]) / 1024


if __name__ == "__main__":
    main()
