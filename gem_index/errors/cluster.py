"""Errors of a Dask cluster: its scheduler, its workers and their parts of the inputs."""

from __future__ import annotations

from gem_index.errors.base import GemIndexError, InputError
from gem_index.errors.quoting import quoted_path

__all__ = ["PartitionError", "SchedulerUnavailableError", "WorkerMismatchError"]


class WorkerMismatchError(InputError):
    """A Dask worker has another version of gem-index, or other word vectors; no work was given to it.

    Parameters
    ----------
    worker : str
        Its name and address.
    problem : str
        What was found there.
    advice : str
        What to do.
    """

    def __init__(self, worker: str, problem: str, advice: str) -> None:
        self.worker = worker
        super().__init__(f"the worker {worker} {problem}; {advice}")


class PartitionError(GemIndexError):
    """A part of the inputs failed on several Dask workers.

    Parameters
    ----------
    partition : str
        The input, and where the part begins.
    reason : str
        What happened last.
    """

    def __init__(self, partition: str, reason: str) -> None:
        self.partition = partition
        self.reason = reason
        super().__init__(
            f"{quoted_path(partition)} failed on several workers: {reason}; expected a worker that can process it: mend "
            "the workers, and run it again, which continues the work"
        )


class SchedulerUnavailableError(GemIndexError):
    """A Dask scheduler cannot be reached, or was lost.

    Parameters
    ----------
    scheduler : str
        Its address.
    reason : str
        What happened.
    """

    def __init__(self, scheduler: str, reason: str) -> None:
        self.scheduler = scheduler
        self.reason = reason
        super().__init__(
            f"the Dask scheduler {quoted_path(scheduler)} cannot be used: {reason}; expected a running scheduler with "
            "workers: start it, and run it again"
        )
