"""Connect to a scheduler, or start a cluster on this machine."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from gem_index.errors import (
    ConfigError,
    MissingExtraError,
    SchedulerUnavailableError,
)
from gem_index.errors.quoting import quoted, quoted_error

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["WORKERS_TIMEOUT", "connected"]

WORKERS_TIMEOUT = 60  # seconds for the first worker


@contextmanager
def connected(scheduler: str, timeout: float = 10) -> Iterator[Client]:
    """Yield a client of a scheduler, or of a cluster on this machine that ends with the block.

    Parameters
    ----------
    scheduler : str
        ``local``, or an address such as ``tcp://host:8786``.
    timeout : float
        Seconds to wait for the scheduler.

    Raises
    ------
    ConfigError
        If it is neither.
    SchedulerUnavailableError
        If no scheduler answers.
    """
    if scheduler != "local" and "://" not in scheduler:
        raise ConfigError(
            f"the scheduler is {quoted(scheduler)}; expected local, or the address of a scheduler such as tcp://host:8786"
        )
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise MissingExtraError("a Dask cluster", "dask") from error
    with ExitStack() as stack:
        local = scheduler == "local"
        if local:
            from dask import config

            from gem_index.common.settings import load_settings

            # without this, a worker that is not back 15 s after it died is never started again, and all work waits
            stack.enter_context(config.set({"distributed.deploy.lost-worker-timeout": "1 day"}))
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=load_settings().threads,
                    threads_per_worker=1,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,  # no tracebacks: the command prints an error of one line
                )
            )
            scheduler = cluster.scheduler_address
        try:
            with ThreadPoolExecutor(1) as pool:  # the caller may be in an event loop
                pool.submit(asyncio.run, _shake_hands(scheduler, timeout)).result()
            client = stack.enter_context(Client(scheduler, timeout=timeout, set_as_default=False))
        except (OSError, ValueError, TypeError) as error:
            raise SchedulerUnavailableError(
                scheduler, quoted_error(error) or "no answer"
            ) from error
        if local:
            client.register_plugin(_uninterrupted())
        yield client


def _uninterrupted() -> Any:
    """Return the plugin of workers that a Ctrl-C in their terminal reaches too: the command ends them."""
    from distributed import WorkerPlugin

    class Uninterrupted(WorkerPlugin):  # type: ignore[misc]  # Any to mypy
        def setup(self, worker: Any) -> None:  # noqa: ARG002 - of the base
            signal.signal(signal.SIGINT, signal.SIG_IGN)

    return Uninterrupted()


async def _shake_hands(address: str, seconds: float) -> None:
    """Connect with a time limit: a client would wait forever for a server that is not a scheduler.

    Raises
    ------
    OSError
        If it does not answer in time.
    """
    from distributed.comm import connect

    from distributed import Security

    arguments = Security().get_connection_args("client")
    connecting = connect(address, timeout=seconds, **arguments)
    try:
        # longer than the limit of the client itself, whose error says more
        comm = await asyncio.wait_for(connecting, seconds + 1)
    except MemoryError as error:  # the client reads the first bytes as a length
        raise OSError("the server at this address is not a Dask scheduler") from error
    await comm.close()
