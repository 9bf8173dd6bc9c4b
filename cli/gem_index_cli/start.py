"""Where a process of the command line begins: an interrupt while modules are imported ends as any other does."""

from __future__ import annotations

import gc
import sys

__all__ = ["INTERRUPTED", "main"]

INTERRUPTED = 130
"""Exit status of an interrupted command: 128 and the number of SIGINT, as shells count."""


_ALLOCATIONS = 50_000
"""Objects between two collections of garbage: with Python's 700, they take a fifth of the time of importing many modules."""


def main() -> None:
    """Import the commands and run one."""
    gc.set_threshold(_ALLOCATIONS)
    try:
        from gem_index_cli.main import main as run_command

        run_command()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("Error: interrupted", file=sys.stderr)  # noqa: T201 - the one line of every error
        sys.exit(INTERRUPTED)
    finally:
        gc.freeze()  # else the interpreter looks for cycles among all objects, several times, before it ends
