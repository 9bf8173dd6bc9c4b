"""A Dask cluster: connect, check every worker before any work, and run tasks on partitions until all are done."""

from __future__ import annotations

import asyncio
import concurrent.futures
import importlib.metadata
import logging
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

from gem_index.distributed import shipping
from gem_index.distributed.shipping import ShippedEncoder, SourceReference
from gem_index.errors import (
    ConfigError,
    GemIndexError,
    PartitionError,
    SchedulerUnavailableError,
    WorkerMismatchError,
)
from gem_index.errors.quoting import quoted_error
from gem_index.gem.combined import Encoder

if TYPE_CHECKING:
    from distributed import Client, Future

from gem_index.distributed.connecting import WORKERS_TIMEOUT
from gem_index.distributed.tasks import Task, WorkerFault, attempt, other_version

__all__ = ["Cluster"]

_LOG = logging.getLogger("gem_index.distributed")

_CANCELLED = (asyncio.CancelledError, concurrent.futures.CancelledError)

_POLL = 1.0  # seconds between two checks of the workers
_ATTEMPTS = 4
_PER_THREAD = 2  # tasks that wait or run, for each thread of the workers


class Cluster:
    """A client, and the workers that were checked.

    Parameters
    ----------
    client : Client
        Not asynchronous.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._shipped: ShippedEncoder | None = None
        self._checked: set[str] = set()
        if getattr(self.client, "asynchronous", False):
            raise ConfigError(
                "the client is asynchronous; expected a Client without asynchronous=True"
            )
        self._address: str = (
            self.client.scheduler.address if self.client.scheduler else "of the client"
        )
        self._version = importlib.metadata.version("gem-index")
        try:
            self.client.wait_for_workers(1, timeout=WORKERS_TIMEOUT)
        except TimeoutError as error:
            raise SchedulerUnavailableError(
                self._address, f"it has had no worker for {WORKERS_TIMEOUT} seconds"
            ) from error
        self._check_workers()

    @contextmanager
    def having(self, encoder: Encoder) -> Iterator[ShippedEncoder]:
        """Bring an encoder to every worker, also to those that join in the block.

        Raises
        ------
        WorkerMismatchError
            If a worker has other vectors.
        """
        with ExitStack() as stack:
            shipped = shipping.pack(encoder, stack)
            name = f"gem-index {shipped.fingerprint[:16]} {uuid.uuid4().hex[:8]}"
            self._guarded(self.client.register_plugin, _plugin(shipped), name=name)
            try:
                self._shipped = shipped
                self._checked.clear()
                self._check_workers()
                yield shipped
            finally:
                self._shipped = None
                if self.client.status == "running":
                    self._guarded(self.client.unregister_worker_plugin, name)

    # ------------------------------------------------------------------ workers

    def _workers(self) -> dict[str, Any]:
        """Ask the scheduler for its workers.

        Not ``client.scheduler_info``: it returns the answer that the client has stored, and a timer of the client may
        replace this by an answer without workers before it is read.
        """
        scheduler = self.client.scheduler
        if scheduler is None:  # an error of a client that has lost its scheduler
            raise self._lost("the connection is closed")
        found: dict[str, Any] = self._guarded(self.client.sync, scheduler.identity, n_workers=-1)
        workers: dict[str, Any] = found["workers"]
        return workers

    def _check_workers(self) -> None:
        """Check the version and the vectors of workers that have not been checked."""
        workers = self._workers()
        fresh = [address for address in workers if address not in self._checked]
        if not fresh:
            return
        names = {address: f"{workers[address].get('name')} ({address})" for address in fresh}
        for address, found in self._on(fresh, importlib.metadata.version, "gem-index").items():
            if isinstance(found, BaseException):
                raise WorkerMismatchError(
                    names[address], f"has no gem-index ({quoted_error(found)})", "install it there"
                )
            if found != self._version:
                raise other_version(names[address], found, self._version)
        if self._shipped is not None:
            self._send_sources(fresh, workers, self._shipped.sources)
            for address, problem in self._on(fresh, shipping.check_encoder, self._shipped).items():
                if problem:
                    problem = problem if isinstance(problem, str) else quoted_error(problem)
                    raise WorkerMismatchError(
                        names[address], f"cannot open the encoder: {problem}", "mend it or stop it"
                    )
        self._checked.update(fresh)

    def _send_sources(
        self, fresh: list[str], workers: dict[str, Any], sources: Sequence[SourceReference]
    ) -> None:
        """Send word vectors to a worker of each machine that lacks them, then to workers that do not see its files."""
        while True:
            missing = {
                address: found
                for address, found in self._on(fresh, shipping.missing_sources, sources).items()
                if found and not isinstance(found, BaseException)
            }
            first = {
                workers[address].get("host", address): address for address in reversed(missing)
            }
            if not first:
                return
            for address in first.values():
                for reference in missing[address]:
                    self._send(address, reference)

    def _send(self, address: str, reference: SourceReference) -> None:
        transfer = uuid.uuid4().hex
        for name, chunk in (*shipping.file_chunks(reference), ("", b"")):
            found = self._on([address], shipping.receive, reference, name, chunk, transfer).get(
                address
            )
            if isinstance(found, BaseException):
                raise WorkerMismatchError(
                    address,
                    f"cannot keep the word vectors: {quoted_error(found)}",
                    "make room there",
                )

    def on_all(self, function: Callable[..., Any], *arguments: Any) -> dict[str, Any]:
        """Return what a function returns or raises in each worker process, by name and address."""
        workers = self._workers()
        found = self._on(list(workers), function, *arguments)
        return {f"{workers[each].get('name')} ({each})": result for each, result in found.items()}

    def _on(
        self, workers: list[str], function: Callable[..., Any], *arguments: Any
    ) -> dict[str, Any]:
        """Return what a function returns or raises in each of some worker processes; those that are gone are left out."""
        found: dict[str, Any] = self._guarded(
            self.client.run, _in_thread, function, *arguments, workers=workers, on_error="return"
        )
        failed = {each for each, result in found.items() if isinstance(result, BaseException)}
        # a worker that has left meanwhile does not answer, which is not an error
        gone = failed.difference(self._workers()) if failed else failed
        gone |= {each for each in failed if type(found[each]).__module__.startswith("distributed")}
        return {address: result for address, result in found.items() if address not in gone}

    def _guarded(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        """Call a method of the client, again if the scheduler disconnects because a worker died during the call."""
        for left in reversed(range(_ATTEMPTS)):
            try:
                return function(*arguments, **options)
            except (OSError, RuntimeError) as error:
                if not left or self.client.status != "running":
                    raise self._lost(quoted_error(error) or "no answer") from error
                time.sleep(_POLL)
        raise AssertionError

    # ------------------------------------------------------------------ tasks

    def map(self, function: Callable[..., Any], calls: Sequence[tuple[Any, ...]]) -> list[Any]:
        """Return the results of a function for several tuples of arguments, in their order."""
        results: list[Any] = [None] * len(calls)
        tasks = [Task(str(call[0]), function, call, i) for i, call in enumerate(calls)]
        for task, future in self.run_all(tasks):
            results[task.tag] = self.result(future)
        return results

    def result(self, future: Future) -> Any:
        """Return the result of a finished task; it is computed again if the worker that held it has died.

        Raises
        ------
        SchedulerUnavailableError
            If the scheduler is lost.
        """
        try:
            return future.result()
        except (OSError, *_CANCELLED) as error:
            raise self._lost(quoted_error(error)) from error

    def submit(self, task: Task, workers: list[str] | None = None) -> Future:
        """Start a task."""
        from dask import is_dask_collection

        arguments = [
            self.client.compute(each) if is_dask_collection(each) else each
            for each in task.arguments
        ]
        future: Future = self.client.submit(
            attempt,
            self._version,
            task.place,
            task.function,
            *arguments,
            key=f"gem-index-{task.function.__name__}-{uuid.uuid4().hex}",
            pure=False,
            workers=workers,
        )
        return future

    def run_all(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Future]]:
        """Run tasks that do not depend on one another; see :meth:`run`."""
        rest = iter(tasks)
        return self.run(lambda: next(rest, None))

    def run(self, next_task: Callable[[], Task | None]) -> Iterator[tuple[Task, Future]]:
        """Run tasks, a bounded number at a time, and yield each with its finished future, in the order in which they finish.

        A task whose worker dies runs again, and one that a machine refuses (no room on its disk, no memory) on another one.

        Parameters
        ----------
        next_task : callable
            Returns the next task, None if there is none now: the last has finished when none is running then.

        Raises
        ------
        PartitionError
            If a task fails on several workers.
        SchedulerUnavailableError
            If the scheduler is lost.
        GemIndexError
            That a task raised.
        """
        running: dict[Future, Task] = {}
        failures: Counter[int] = Counter()
        avoided: dict[int, set[str]] = {}
        try:
            while True:
                self._check_workers()
                room = max(
                    8, _PER_THREAD * sum(each["nthreads"] for each in self._workers().values())
                )
                while len(running) < room and (task := next_task()) is not None:
                    running[self.submit(task)] = task
                if not running:
                    return
                for future in self._finished(list(running)):
                    task = running.pop(future)
                    if future.status == "error":
                        running[self._retried(task, future, failures, avoided)] = task
                    else:  # the result may be lost by now: then the caller waits until it is computed again
                        failures.pop(id(task), None)  # another task may get the same memory address
                        avoided.pop(id(task), None)
                        yield task, future
        finally:
            if running and self.client.status == "running":
                self.client.cancel(list(running), force=True)

    def _finished(self, futures: list[Future]) -> list[Future]:
        from distributed import wait

        try:
            with self.client.as_current():
                wait(futures, timeout=_POLL, return_when="FIRST_COMPLETED")
        except TimeoutError:
            pass
        except (OSError, RuntimeError) as error:
            raise self._lost(quoted_error(error)) from error
        except _CANCELLED as error:
            raise self._lost("its tasks are gone") from error
        if self.client.status != "running":
            raise self._lost("the connection is closed")
        if any(future.status == "cancelled" for future in futures):
            raise self._lost("its tasks are gone")
        # a task whose result was on a dead worker is "lost" until the scheduler has computed it again
        return [future for future in futures if future.status in ("finished", "error")]

    def _lost(self, reason: str) -> SchedulerUnavailableError:
        return SchedulerUnavailableError(self._address, reason)

    def _retried(
        self, task: Task, future: Future, failures: Counter[int], avoided: dict[int, set[str]]
    ) -> Future:
        """Start a failed task again, away from machines that refused it."""
        error = future.exception()
        failures[id(task)] += 1
        if isinstance(error, GemIndexError):
            raise error
        if isinstance(error, WorkerFault):
            address, name, reason = error.args
            avoided.setdefault(id(task), set()).add(address)
            others = [each for each in self._workers() if each not in avoided[id(task)]]
            reason = f"worker {name}: {reason}"
        elif type(error).__name__ == "KilledWorker":
            others = []
            failures[id(task)] += 1  # Dask has tried it several times itself
            reason = "its workers died, perhaps for lack of memory"
        else:
            raise PartitionError(
                task.place, f"{type(error).__name__} {quoted_error(error)}"
            ) from error
        if failures[id(task)] >= _ATTEMPTS or (avoided.get(id(task)) and not others):
            raise PartitionError(task.place, reason) from error
        _LOG.warning("%s runs again: %s", task.place, reason)
        return self.submit(task, others or None)


async def _in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a thread, so that the worker still answers: opening word vectors may take long."""
    return await asyncio.to_thread(function, *arguments)


def _plugin(shipped: ShippedEncoder) -> Any:
    """Return the plugin that installs an encoder in every worker, also in those that join later."""
    from distributed import WorkerPlugin

    class EncoderPlugin(WorkerPlugin):  # type: ignore[misc]  # Any to mypy
        def setup(self, worker: Any) -> None:  # noqa: ARG002 - of the base
            shipping.install(shipped)

    return EncoderPlugin()
