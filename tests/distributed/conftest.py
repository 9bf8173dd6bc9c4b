"""Clusters; imported too where Dask is not installed and the tests of this folder say so."""

from __future__ import annotations

import pytest

from cluster_inputs import sentences, write_inputs
from cluster_processes import forked_workers
from gem_index import GemConfig, GemEncoder


@pytest.fixture
def inputs(tmp_path):
    return write_inputs(tmp_path / "inputs")


@pytest.fixture
def encoder(small_vectors):
    config = GemConfig(n_components=6, n_removed=3, window=3)
    return GemEncoder(small_vectors, config, threads=1).fit(sentences(300, seed=8))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """Two worker processes on this machine, with a cache of their own; while idle, they take a tenth of a processor."""
    from distributed import LocalCluster

    with (
        forked_workers(),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=":0",
            silence_logs=50,
            env={"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))},
        ) as found,
    ):
        yield found


@pytest.fixture
def client(cluster):
    from distributed import Client

    with Client(cluster, set_as_default=False) as found:
        yield found


@pytest.fixture
def own_cluster():
    """A cluster that a test may harm."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture(scope="module")
def threads():
    """Workers that are threads of this process."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=":0",
            silence_logs=50,
        ) as cluster,
        Client(cluster, set_as_default=False) as found,
    ):
        yield found


@pytest.fixture
def folder(tmp_path):
    """An output folder of workers, made and empty."""
    from gem_index.distributed.places import OutputFolder

    found = OutputFolder.of(tmp_path / "out", {})
    found.make()
    return found
