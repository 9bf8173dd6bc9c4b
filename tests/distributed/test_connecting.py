"""A cluster on this machine, and what answers at an address; without workers."""

from __future__ import annotations

import logging
import re
import sys
from types import SimpleNamespace
from typing import ClassVar

import dask.config
import pytest

import distributed
from gem_index.distributed import connecting
from gem_index.distributed.connecting import connected
from gem_index.errors import MissingExtraError, SchedulerUnavailableError
from gem_index.errors.installing import install_line

TIMEOUT = "distributed.deploy.lost-worker-timeout"


class Local:
    """A cluster that has begun."""

    begun: ClassVar[list[dict]] = []
    scheduler_address = "tcp://127.0.0.1:1"

    def __init__(self, **options):
        self.begun.append({**options, "timeout": dask.config.get(TIMEOUT, None)})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.begun.append({})


@pytest.fixture
def begun(monkeypatch):
    monkeypatch.setattr(distributed, "LocalCluster", Local)
    monkeypatch.setattr(Local, "begun", [])
    monkeypatch.setenv("GEM_INDEX_THREADS", "3")
    return Local.begun


async def _shaken(_address, _seconds):
    return None


def test_a_local_cluster_has_a_process_for_each_thread_and_ends_with_the_block(begun, monkeypatch):
    told = []

    class Client(SimpleNamespace):
        def __init__(self, address, **options):
            super().__init__(register_plugin=lambda plugin: told.append(type(plugin).__name__))
            told.append((address, options))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            told.append("closed")

    monkeypatch.setattr(distributed, "Client", Client)
    monkeypatch.setattr(connecting, "_shake_hands", _shaken)
    before = dask.config.get(TIMEOUT, None)
    with connected("local", timeout=7):
        assert begun == [
            {
                "n_workers": 3,
                "threads_per_worker": 1,
                "dashboard_address": ":0",
                "silence_logs": logging.CRITICAL,
                "timeout": "1 day",
            }
        ]
    options = {"timeout": 7, "set_as_default": False}
    assert told == [(Local.scheduler_address, options), "Uninterrupted", "closed"]
    assert begun[1:] == [{}]
    assert dask.config.get(TIMEOUT, None) == before
    told.clear()
    with connected("tcp://10.0.0.1:8786"):
        pass
    assert told == [("tcp://10.0.0.1:8786", {"timeout": 10, "set_as_default": False}), "closed"]
    assert len(begun) == 2  # its workers are others'


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (OSError(28, "No space left on device"), "no space left on device"),
        (ValueError("unknown protocol"), "unknown protocol"),
        (TypeError("no port"), "no port"),
        (MemoryError(), "the server at this address is not a Dask scheduler"),
    ],
)
def test_what_does_not_answer_is_told_with_its_address(monkeypatch, error, reason):
    async def connect(_address, **_options):
        raise error

    monkeypatch.setattr("distributed.comm.connect", connect)
    with pytest.raises(SchedulerUnavailableError) as refused, connected("tcp://10.0.0.1:8786"):
        pass
    assert str(refused.value) == (
        f"the Dask scheduler tcp://10.0.0.1:8786 cannot be used: {reason}; expected a running scheduler with workers: "
        "start it, and run it again"
    )


def test_dask_is_an_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    told = f"^a Dask cluster needs .*{re.escape(install_line('gem-index[dask]'))}"
    with pytest.raises(MissingExtraError, match=told), connected("local"):
        pass
