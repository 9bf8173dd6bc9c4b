"""The beginning and end of a process: an interrupt while modules are imported ends like any other."""

from __future__ import annotations

import atexit
import gc
import sys

from gem_index_cli.exit_status import INTERRUPTED

__all__ = ["main"]


def main() -> None:
    """Import the commands and run one."""
    # else the end looks for garbage among all modules: a sixth of a search
    atexit.register(gc.freeze)
    try:
        from gem_index_cli.main import main as run_command

        run_command()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("Error: interrupted", file=sys.stderr)  # noqa: T201 - the one line of every error
        sys.exit(INTERRUPTED)
