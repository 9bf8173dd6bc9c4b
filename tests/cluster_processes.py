"""Processes of a Dask cluster, and what is done to them."""

from __future__ import annotations

import os
import random
import resource
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import forkserver, get_context
from pathlib import Path

import platformdirs


@contextmanager
def forked_workers():
    """Fork the workers of a LocalCluster from a process that has imported Dask and gem-index.

    Two of them then start in 0.3 s; two new Pythons need 2.7 s. The forking process, which stays until this one ends, keeps
    the environment of its start: what a test sets in ``os.environ`` does not reach these workers. Not for workers that are
    killed: in one of five runs, Dask waited a minute for the second forked one.
    """
    from dask import config

    import distributed  # noqa: F401 - it reads its defaults, which are else lost with what is set here

    get_context("forkserver").set_forkserver_preload(["distributed", "gem_index.distributed"])
    forkserver.ensure_running()
    with config.set({"distributed.worker.multiprocessing-method": "forkserver"}):
        yield


def die(*_):
    """End this worker process at once."""
    os.kill(os.getpid(), signal.SIGKILL)


def hog(*_):
    """Take memory until the process is ended for it."""
    held = []
    while True:
        held.append(bytearray(os.urandom(1 << 20)) * 50)
        time.sleep(0.05)


def limit_files(size):
    """Refuse to write files larger than this, as a full disk would."""
    sys.dont_write_bytecode = True  # Python would cut a larger .pyc to the limit
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def cache_of(*_):
    """Return the cache folder of a worker."""
    return str(platformdirs.user_cache_path("gem-index"))


def refuse(*_):
    """Fail as a full disk does."""
    raise OSError(28, "No space left on device")


@contextmanager
def killing(client, every=0.4, times=4, seed=0):
    """Kill a random worker process again and again while the block runs.

    A LocalCluster drops a worker for good that is not back 15 seconds after it was lost, and one without workers waits for
    ever: on a busy machine, workers that were killed start slowly.
    """
    from dask import config

    choose, ended, killed = random.Random(seed), threading.Event(), []

    def work():
        while len(killed) < times and not ended.wait(every):
            pids = sorted(worker["pid"] for worker in process_ids(client))
            if pids:
                victim = choose.choice(pids)
                with suppress(
                    ProcessLookupError
                ):  # it has ended, which its nanny does not know yet
                    os.kill(victim, signal.SIGKILL)
                    killed.append(victim)

    with config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}):
        thread = threading.Thread(target=work)
        thread.start()
        try:
            yield killed
        finally:
            ended.set()
            thread.join()


def process_ids(client):
    """The process of each worker, by what nannies know: workers that work do not answer."""
    found = client.cluster.workers.values()
    return [{"pid": nanny.pid} for nanny in found if nanny.pid is not None]


@contextmanager
def dask(*arguments, environment=None):
    """Run `dask ARGUMENTS` as a process."""
    process = subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **(environment or {})},
        start_new_session=True,
    )
    try:
        yield process
    finally:
        stop(process)


def stop(process):
    """End a process and its children."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def free_port():
    import socket

    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@contextmanager
def scheduler_and_workers(folder: Path, port: int, workers=1, environments=()):
    """A scheduler and workers, each a process; yield the address and the processes, the scheduler first."""
    address = f"tcp://127.0.0.1:{port}"
    with ExitStack() as stack:
        started = [
            stack.enter_context(
                dask("scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
            )
        ]
        for number in range(workers):
            environment = environments[number] if number < len(environments) else {}
            started.append(stack.enter_context(worker(address, folder, f"w{number}", environment)))
        yield address, started


def worker(address, folder, name, environment=None):
    return dask(
        "worker", address, "--name", name, "--nthreads", 1, "--no-dashboard", "--no-nanny",
        "--local-directory", folder, "--death-timeout", 60, environment=environment,
    )  # fmt: skip


def other_version(folder: Path) -> dict[str, str]:
    """The environment of a process that has another version of gem-index."""
    info = folder / "gem_index-9.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: gem-index\nVersion: 9.9\n")
    return {"PYTHONPATH": str(folder)}


def wait_for(condition, seconds=120):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)
