"""What the network of a cluster costs: workers in network namespaces of one machine, behind links of limited bandwidth.

``python -m benchmarks.hosts SENTENCES.txt [--count 200000] [--rates 1000 100 25] [--runs 3] [--json FILE]`` (as root, on
Linux, with ``ip`` and ``tc`` of iproute2; ``pip install ".[dask,parquet]" "moto[server]" s3fs``) starts an S3 server, a
scheduler and two workers of one thread, each worker in a network namespace with folders of its own, where it does not see
the client's home. It measures sending word vectors (once), fit, and encode from S3 to S3 without texts (the median of the
runs), first without a limit and then with each rate (Mbit/s, in both directions of each worker's link; the side of the
server has none). A small round with other word vectors, which need not be sent, comes before. All of it runs in namespaces
that end with the command. The sentences come from ``python -m benchmarks.sentences``.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

from gem_index import GemConfig, GemEncoder, Home, open_vectors
from gem_index.distributed import PartitionOptions, connected, encode, fit
from gem_index.distributed.cluster import Cluster

HUB, SCHEDULER, STORAGE, PROBE = "10.99.0.1", 8786, 5555, 5556
WORKERS = 2
PARTS = 4
WARM = 2_000
PATIENCE = 60  # seconds for a process to answer
_INSIDE = "GEM_INDEX_HOSTS_FOLDER"
_UNSHARE = ("unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc")
_OUTPUT = "s3://hosts/out"
_OPTIONS = {
    "key": "testing",
    "secret": "testing",
    "client_kwargs": {"endpoint_url": f"http://{HUB}:{STORAGE}"},
}
_RECEIVER = """
import socket, sys
with socket.create_connection((sys.argv[1], int(sys.argv[2]))) as link:
    while link.recv(1 << 16):
        pass
"""


@dataclass(frozen=True)
class Traffic:
    """Bytes that went into and out of a worker, as its link counts them."""

    into: int
    out: int


@dataclass(frozen=True)
class Row:
    """One kind of work at one rate; a rate of None is a link without a limit.

    ``link`` is what a plain connection reached in Mbit/s before; ``expected`` what the workers have to be sent and to send
    in all if each byte crosses the network once.
    """

    work: str
    rate: int | None
    link: float
    seconds: float
    traffic: tuple[Traffic, ...]
    expected: Traffic


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("sentences", type=Path)
    parser.add_argument("--count", type=int, default=200_000)
    parser.add_argument("--rates", type=int, nargs="+", default=[1000, 100, 25], metavar="MBIT")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    if not asked.sentences.is_file():
        parser.error(f"found no file {asked.sentences}; expected one sentence a line")
    if asked.count < WARM or min(asked.runs, *asked.rates) < 1:
        parser.error(
            f"found a count of {asked.count}, {asked.runs} runs and the rates {asked.rates}; "
            f"expected a count from {WARM}, and runs and rates from 1"
        )
    if (
        _INSIDE not in os.environ or os.getpid() != 1
    ):  # only ever changes the network of its own namespace
        sys.exit(run_inside())
    rows = measure(asked.sentences, asked.count, asked.rates, asked.runs, network())
    if asked.json is not None:
        asked.json.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    print(table(rows))


# ------------------------------------------------------------------ namespaces


def run_inside() -> int:
    """Run this command again in namespaces of its own, which end with it and with all it started."""
    if problem := missing():
        sys.exit(problem)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(
        prefix="gem-index-hosts-", ignore_cleanup_errors=True
    ) as folder:
        command = [*_UNSHARE, sys.executable, "-m", "benchmarks.hosts", *sys.argv[1:]]
        try:
            return subprocess.run(command, env={**os.environ, _INSIDE: folder}).returncode
        except KeyboardInterrupt:
            return 130


def missing() -> str:
    """Return in a line what this machine lacks, empty if nothing."""
    if os.geteuid() != 0:
        return f"found the user {os.geteuid()}; expected root, who may make network namespaces: run it with sudo"
    for tool in ("unshare", "ip", "tc"):
        if shutil.which(tool) is None:
            return f"found no {tool}; expected it on the path: install util-linux and iproute2"
    for package in ("distributed", "moto", "flask", "s3fs"):
        if find_spec(package) is None:
            return f"found no package {package}; expected it: pip install '.[dask,parquet]' 'moto[server]' s3fs"
    steps = (
        "mount -t tmpfs none /run && mkdir /run/netns && ip netns add gem-index "
        "&& ip link add gem-index0 type veth peer name gem-index1 "
        "&& ip link add gem-index2 type bridge && tc qdisc add dev gem-index0 root tbf rate 1mbit burst 4kb latency 1ms"
    )
    tried = subprocess.run([*_UNSHARE, "sh", "-c", steps], capture_output=True, text=True)
    if tried.returncode:
        said = (tried.stderr.strip().splitlines() or ["no reason given"])[-1]
        return f"cannot make network namespaces ({said}); expected a kernel that allows namespaces, veth, bridge and tbf"
    return ""


@dataclass(frozen=True)
class Link:
    """A worker's namespace and the end of its link on the bridge."""

    name: str
    device: str
    address: str

    def run(self, *command: str) -> None:
        """Run a command in the namespace."""
        run("ip", "netns", "exec", self.name, *command)

    def limit(self, rate: int | None) -> None:
        """Limit both directions, in Mbit/s."""
        if rate is None:
            return  # it begins without
        # as many bytes at once as pass in 4 ms: a smaller burst is not refilled in time at high rates
        shape = f"tbf rate {rate}mbit burst {max(32, 4 * rate)}kbit latency 400ms".split()
        run("tc", "qdisc", "replace", "dev", self.device, "root", *shape)
        self.run("tc", "qdisc", "replace", "dev", "eth0", "root", *shape)

    def traffic(self) -> Traffic:
        """Return the bytes so far; what the bridge's end sends goes into the worker."""
        counters = Path("/sys/class/net", self.device, "statistics")
        into, out = (int((counters / f"{way}_bytes").read_text()) for way in ("tx", "rx"))
        return Traffic(into, out)


def run(*command: str) -> None:
    subprocess.run(command, check=True)


def network() -> list[Link]:
    """Join namespaces for workers by a bridge, in the namespaces that :func:`run_inside` has made."""
    run("mount", "-t", "tmpfs", "none", "/run")
    Path("/run/netns").mkdir()
    # the counters of this namespace, not of the one that /sys was mounted in
    run("mount", "-t", "sysfs", "none", "/sys")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "hub", "type", "bridge")
    run("ip", "address", "add", f"{HUB}/24", "dev", "hub")
    run("ip", "link", "set", "hub", "up")
    links = [Link(f"host{i}", f"link{i}", f"10.99.0.{10 + i}") for i in range(WORKERS)]
    for link in links:
        run("ip", "netns", "add", link.name)
        run(
            *("ip", "link", "add", link.device, "type", "veth"),
            *("peer", "name", "eth0", "netns", link.name),
        )
        run("ip", "link", "set", link.device, "master", "hub", "up")
        link.run("ip", "address", "add", f"{link.address}/24", "dev", "eth0")
        link.run("ip", "link", "set", "lo", "up")
        link.run("ip", "link", "set", "eth0", "up")
    return links


@contextmanager
def process(*command: str, log: Path, **environment: str) -> Iterator[None]:
    with log.open("ab") as file:
        started = subprocess.Popen(
            command, stdout=file, stderr=file, env={**os.environ, **environment}
        )
        try:
            yield
        finally:
            started.terminate()
            try:
                started.wait(10)
            except subprocess.TimeoutExpired:
                started.kill()
                started.wait()


@contextmanager
def workers(links: Sequence[Link], folder: Path, hidden: Path) -> Iterator[str]:
    """Run a scheduler and a worker in each namespace, with folders of its own; yield the scheduler's address."""
    address = f"tcp://{HUB}:{SCHEDULER}"
    dask = (sys.executable, "-m", "dask")
    with ExitStack() as stack:
        stack.enter_context(
            process(
                *(*dask, "scheduler", "--host", HUB, "--port", str(SCHEDULER), "--no-dashboard"),
                log=folder / "scheduler.log",
            )
        )
        answering(SCHEDULER)
        for link in links:
            own = folder / link.name
            shutil.rmtree(own, ignore_errors=True)
            for name in ("cache", "temporary", "home"):
                (own / name).mkdir(parents=True)
            # ip netns exec mounts in a namespace of its own, so only this worker loses sight of the client's home
            hiding = 'mount -t tmpfs none "$0" && exec "$@"'
            stack.enter_context(
                process(
                    *("ip", "netns", "exec", link.name, "sh", "-c", hiding, str(hidden), *dask),
                    *("worker", address, "--name", link.name, "--nthreads", "1", "--no-nanny"),
                    *("--no-dashboard", "--local-directory", str(own / "temporary")),
                    log=folder / f"{link.name}.log",
                    XDG_CACHE_HOME=str(own / "cache"),
                    TMPDIR=str(own / "temporary"),
                    GEM_INDEX_HOME=str(own / "home"),
                )
            )
        yield address


def answering(port: int) -> None:
    """Wait until a server of this side answers."""
    end = time.monotonic() + PATIENCE
    while True:
        with suppress(OSError), socket.create_connection((HUB, port), timeout=1):
            return
        if time.monotonic() > end:
            sys.exit(f"nothing answers on port {port} after {PATIENCE} seconds; expected a server")
        time.sleep(0.1)


def speed(link: Link, rate: int | None) -> float:
    """Return the Mbit/s of a plain connection into a worker's namespace."""
    size = 200 << 20 if rate is None else rate * 250_000  # 2 seconds
    with socket.create_server((HUB, PROBE)) as server:
        with ExitStack() as stack:
            command = ("ip", "netns", "exec", link.name, sys.executable, "-c", _RECEIVER)
            receiver = subprocess.Popen([*command, HUB, str(PROBE)])
            stack.callback(receiver.wait)
            connection, _ = server.accept()
            started = time.perf_counter()
            with connection:
                connection.sendall(bytes(size))
                connection.shutdown(socket.SHUT_WR)
                connection.recv(1)  # the other side has read all
        return size * 8e-6 / (time.perf_counter() - started)


# ------------------------------------------------------------------ measurements


def measure(
    sentences: Path, count: int, rates: Sequence[int], runs: int, links: Sequence[Link]
) -> list[Row]:
    import fsspec

    folder = Path(os.environ[_INSIDE])
    server = (sys.executable, "-m", "moto.server", "-H", HUB, "-p", str(STORAGE))
    rows: list[Row] = []
    with process(*server, log=folder / "storage.log"):
        answering(STORAGE)
        storage = fsspec.filesystem("s3", **_OPTIONS)
        storage.mkdir("hosts")
        sizes = {}
        for name, lines in (("sentences", count), ("warm", WARM)):
            sample = folder / f"{name}.txt"
            with sentences.open() as source, sample.open("w") as file:
                file.writelines(islice(source, lines))
            sizes[name] = sample.stat().st_size
            storage.put_file(str(sample), f"hosts/{name}.txt")
        home = Home(folder / "home")
        with (folder / "sentences.txt").open() as lines_of_it:
            home.vectors.fit_vocabulary("hosts", lines_of_it)
        vectors = home.vectors.open("hosts")
        sent = sum(path.stat().st_size for path in stored_files(home))
        for rate in (None, *rates):
            with workers(links, folder, home.root) as address, connected(address, 30) as client:
                client.wait_for_workers(len(links), timeout=PATIENCE)
                for link in links:
                    link.limit(rate)
                reached = min(speed(link, rate) for link in links)
                bundled = GemEncoder(open_vectors("wordllama-gem"), GemConfig.preset("trained"))
                run_on(client, bundled, "warm", sizes["warm"], links, storage)
                encoder = GemEncoder(vectors, GemConfig.preset("trained"))
                found = run_on(
                    client, encoder, "sentences", sizes["sentences"], links, storage, runs
                )
                written = sum(each["size"] for each in storage.ls(_OUTPUT, detail=True))
                sums = 8 * encoder.dimension**2
                expected = {
                    "send": Traffic(sent * len(links), 0),
                    # the worker that adds is sent the sums of the others, and sends the client theirs
                    "fit": Traffic(
                        sizes["sentences"] + sums * PARTS * (WORKERS - 1) // WORKERS,
                        sums * PARTS * (WORKERS - 1) // WORKERS + sums,
                    ),
                    "encode": Traffic(sizes["sentences"], written),
                }
                for work, (seconds, traffic) in found.items():
                    row = Row(work, rate, reached, seconds, traffic, expected[work])
                    print(row, flush=True)
                    rows.append(row)
    return rows


def stored_files(home: Home) -> list[Path]:
    return [path for path in (home.root / "vectors").rglob("*") if path.is_file()]


def run_on(
    client: Any,
    encoder: GemEncoder,
    name: str,
    size: int,
    links: Sequence[Link],
    storage: Any,
    runs: int = 1,
) -> dict[str, tuple[float, tuple[Traffic, ...]]]:
    """Send once, then fit and encode several times; return the seconds and the bytes of the median run of each."""
    options = PartitionOptions(partition_bytes=-(-size // PARTS), storage_options=_OPTIONS)
    inputs = f"s3://hosts/{name}.txt"

    def send() -> None:
        with Cluster(client).having(encoder.unfitted()):
            pass

    def clear() -> None:  # what is there would not be encoded again
        if storage.exists(_OUTPUT):
            storage.rm(_OUTPUT, recursive=True)

    def encode_there() -> None:
        encode(client, encoder, inputs, _OUTPUT, options=options, output_options=_OPTIONS)

    found = {"send": [timed(send, links)], "fit": [], "encode": []}
    for _ in range(runs):
        found["fit"].append(timed(lambda: fit(client, encoder, inputs, options=options), links))
        storage.invalidate_cache()
        clear()
        found["encode"].append(timed(encode_there, links))
    storage.invalidate_cache()
    return {work: sorted(each)[(len(each) - 1) // 2] for work, each in found.items()}


def timed(work: Callable[[], Any], links: Sequence[Link]) -> tuple[float, tuple[Traffic, ...]]:
    """Return the seconds of a call, and the bytes that went over each link meanwhile."""
    before = [link.traffic() for link in links]
    started = time.perf_counter()
    work()
    seconds = time.perf_counter() - started
    pairs = zip(before, [link.traffic() for link in links], strict=True)
    return seconds, tuple(Traffic(b.into - a.into, b.out - a.out) for a, b in pairs)


def busiest(row: Row) -> Traffic:
    """Return the traffic of the worker that moved most."""
    return max(row.traffic, key=lambda each: each.into + each.out)


def modelled(row: Row, base: Row) -> tuple[float, float]:
    """Return the seconds that a row would take if computing and network took turns, and if they overlapped.

    What the base took without a limit counts as computing. Of word vectors, which one machine is sent after the other, the
    bytes of all count; else those of the busiest worker.
    """
    if row.rate is None:
        return base.seconds, base.seconds
    traffic = row.traffic if row.work == "send" else (busiest(row),)
    network = sum(each.into + each.out for each in traffic) * 8e-6 / row.rate
    return base.seconds + network, max(base.seconds, network)


def table(rows: Sequence[Row]) -> str:
    """Return the rows as Markdown, the bytes of all workers in MB."""
    lines = [
        "| link, Mbit/s | work | s | in turns s | overlapping s "
        "| into workers MB | expected | out of workers MB | expected |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    bases = {row.work: row for row in rows if row.rate is None}
    for row in rows:
        turns, overlap = modelled(row, bases[row.work])
        into, out = (
            sum(getattr(each, way) for each in row.traffic) / 1e6 for way in ("into", "out")
        )
        name = "no limit" if row.rate is None else f"{row.rate:,}"
        models = ("", "") if row.rate is None else (f"{turns:.1f}", f"{overlap:.1f}")
        cells = [name, row.work, f"{row.seconds:.1f}", *models]
        cells += [f"{into:.1f}", f"{row.expected.into / 1e6:.1f}"]
        cells += [f"{out:.1f}", f"{row.expected.out / 1e6:.1f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
