"""What happens when workers, schedulers and disks fail, with real processes: at the end each row is there once."""

from __future__ import annotations

import os
import signal
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import dask.config
import pyarrow.dataset as dataset
import pytest

from cluster_inputs import sentences
from cluster_processes import (
    die,
    free_port,
    hog,
    killing,
    limit_files,
    other_version,
    scheduler_and_workers,
    stop,
    wait_for,
    worker,
)
from distributed import Client, LocalCluster
from gem_index.distributed import PartitionOptions, connected, encode, fit
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.tasks import Task
from gem_index.errors import PartitionError, SchedulerUnavailableError, WorkerMismatchError
from gem_index.readers import DocumentReader

SMALL = PartitionOptions(partition_bytes=4096)


@pytest.fixture
def corpus(tmp_path):
    path = tmp_path / "corpus.txt"
    path.write_text("\n".join(sentences(12_000, seed=5)))
    return [str(path)]


def check_rows(folder, corpus, encoder):
    """Each row once, in order, with the vectors of one machine."""
    table = dataset.dataset(folder, format="parquet").to_table()
    rows = list(DocumentReader(corpus).rows())
    assert table["id"].to_pylist() == [name for name, _ in rows]
    expected = encoder.encode([text for _, text in rows])
    assert table["vector"].combine_chunks().values.to_numpy().tobytes() == expected.tobytes()
    assert not [path for path in folder.iterdir() if path.name.endswith(".partial")]


def test_workers_killed_at_random(own_cluster, corpus, encoder, tmp_path):
    calm = encoder.unfitted()
    fit(own_cluster, calm, corpus, options=SMALL)
    shaken = encoder.unfitted()
    with killing(own_cluster, every=0.3, times=3) as killed:
        fit(own_cluster, shaken, corpus, options=SMALL)
        wait_for(lambda: len(killed) == 3)
    assert shaken.fingerprint == calm.fingerprint  # the same bytes
    with killing(own_cluster, every=0.3, times=4, seed=1) as killed:
        encode(own_cluster, encoder, corpus, tmp_path / "out", options=SMALL)
        wait_for(lambda: len(killed) == 4)
    check_rows(tmp_path / "out", corpus, encoder)


@pytest.mark.parametrize("end", [die, hog])
def test_a_part_that_kills_its_workers_is_named(end, corpus, encoder, tmp_path):
    with (
        dask.config.set(
            {
                "distributed.scheduler.allowed-failures": 0,
                "distributed.deploy.lost-worker-timeout": "1 hour",  # as killing() says
            }
        ),
        LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            memory_limit="900MB",
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        tasks = iter([Task("corpus.txt from line 70", end, ())])
        with pytest.raises(
            PartitionError, match=r"from line 70 failed .*: its workers died, perhaps"
        ):
            list(Cluster(client).run(lambda: next(tasks, None)))
        encode(client, encoder, corpus, tmp_path / "out", options=SMALL)  # others are not harmed
    check_rows(tmp_path / "out", corpus, encoder)


def test_a_full_disk_and_a_slow_worker(own_cluster, corpus, encoder, tmp_path):
    (first, _), (_, slow) = own_cluster.run(os.getpid).items()
    own_cluster.run(limit_files, 2000, workers=[first])
    os.kill(slow, signal.SIGSTOP)
    again = threading.Timer(1.0, os.kill, (slow, signal.SIGCONT))
    again.start()
    encode(own_cluster, encoder, corpus, tmp_path / "out", options=SMALL)
    again.join()
    check_rows(tmp_path / "out", corpus, encoder)
    own_cluster.run(limit_files, 2000)
    with pytest.raises(PartitionError, match=r"corpus\.txt.* failed .*: worker .*: file too large"):
        encode(own_cluster, encoder, corpus, tmp_path / "full", options=SMALL)
    assert not list((tmp_path / "full").glob("part-*"))


def test_the_workers_are_those_that_the_scheduler_has(cluster):
    """A client that often asks for the state of the scheduler stores an answer without workers each time."""
    with (
        dask.config.set({"distributed.client.scheduler-info-interval": "1ms"}),
        Client(cluster, set_as_default=False) as client,
    ):
        asking = Cluster(client)
        assert {len(asking.on_all(os.getpid)) for _ in range(100)} == {2}


def test_a_lost_scheduler(corpus, encoder, tmp_path):
    out, port = tmp_path / "out", free_port()

    def run(address):
        with Client(address, set_as_default=False, timeout=30) as client:
            return encode(client, encoder, corpus, out, options=SMALL)

    def parts():
        return sorted(out.glob("part-*")) if out.exists() else []

    with (
        dask.config.set({"distributed.comm.timeouts.connect": "4s"}),
        scheduler_and_workers(tmp_path, port) as (address, processes),
        ThreadPoolExecutor(1) as pool,
    ):
        running = pool.submit(run, address)
        wait_for(lambda: len(parts()) >= 3)
        stop(processes[0])
        with pytest.raises(SchedulerUnavailableError, match=f"{address} cannot be used: .*again"):
            running.result(60)
    kept = {path: path.stat().st_mtime_ns for path in parts()}
    assert 3 <= len(kept) < 70
    with scheduler_and_workers(tmp_path, port, workers=2) as (address, _):
        report = run(address)
    assert report.rows == 12_000
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # nothing encoded twice
    check_rows(out, corpus, encoder)


@pytest.mark.parametrize("answer", [b"", b"HTTP/1.1 400 Bad Request\r\n\r\n" + b" " * 99])
def test_what_listens_and_is_not_a_scheduler(answer):
    with socket.create_server(("127.0.0.1", 0)) as server:
        held = []

        def accept():
            with suppress(OSError):  # at the end
                while True:
                    held.append(server.accept()[0])
                    held[-1].sendall(answer)

        threading.Thread(target=accept, daemon=True).start()
        address = f"tcp://127.0.0.1:{server.getsockname()[1]}"
        with (
            pytest.raises(SchedulerUnavailableError, match=f"{address} cannot be used: "),
            connected(address, timeout=0.5),
        ):
            pass
        for each in held:
            each.close()


OTHER = r"\(tcp://\S+\) has gem-index 9\.9, found 0\.1\.0 here; install the same version there"


def test_workers_of_another_version(corpus, encoder, tmp_path):
    wrong = other_version(tmp_path / "site")
    with (
        scheduler_and_workers(tmp_path, free_port(), 2, [{}, wrong]) as (address, _),
        Client(address, set_as_default=False, timeout=30) as client,
    ):
        client.wait_for_workers(2, timeout=90)
        with pytest.raises(WorkerMismatchError, match=f"the worker w1 {OTHER}"):
            encode(client, encoder, corpus, tmp_path / "out", options=SMALL)
        assert not (tmp_path / "out").exists()  # before any work


def test_a_worker_of_another_version_that_joins_later(corpus, encoder, tmp_path):
    wrong = other_version(tmp_path / "site")
    with (
        scheduler_and_workers(tmp_path, free_port()) as (address, _),
        Client(address, set_as_default=False, timeout=30) as client,
    ):
        working = threading.Event()

        def look(stage, done, total):
            if done == 3:
                working.set()
                wait_for(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)

        with ThreadPoolExecutor(1) as pool:
            running = pool.submit(
                encode, client, encoder, corpus, tmp_path / "out", options=SMALL, progress=look
            )
            working.wait(90)
            with (
                worker(address, tmp_path, "late", wrong),
                pytest.raises(WorkerMismatchError, match=f"the worker late {OTHER}"),
            ):
                running.result(60)
        encode(client, encoder, corpus, tmp_path / "out", options=SMALL)
    check_rows(tmp_path / "out", corpus, encoder)
