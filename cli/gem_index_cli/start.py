"""Where a process of the command line begins and ends: an interrupt while modules are imported ends as any other does."""

from __future__ import annotations

import atexit
import gc
import os
import sys

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
"""Exit status of an interrupted command: 128 and the number of SIGINT, as shells count."""


_ALLOCATIONS = 50_000
"""Objects between two collections of garbage: with Python's 700, they take a fifth of the time of importing many modules."""


def main() -> None:
    """Import the commands and run one."""
    gc.set_threshold(_ALLOCATIONS)
    statuses: list[int] = []
    atexit.register(_end, statuses)  # before all others, so that it is called after them
    try:
        from gem_index_cli.main import main as run_command

        run_command()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("Error: interrupted", file=sys.stderr)  # noqa: T201 - the one line of every error
        sys.exit(INTERRUPTED)
    except SystemExit as end:
        if isinstance(end.code, int):
            statuses.append(end.code)
        raise


def _end(statuses: list[int]) -> None:
    """End the process with its exit status: to take its modules apart would take a tenth of a search.

    Threads have ended, and what modules registered for the end is done: databases are closed, temporary files removed.
    """
    if not statuses:
        return
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except (OSError, ValueError):  # the interpreter says so
        return
    os._exit(statuses[0])
