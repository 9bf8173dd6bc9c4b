"""Where a process of the command line begins: an interrupt while modules are imported ends as any other does."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from typing import Any

__all__ = ["INTERRUPTED", "import_kernels", "main"]

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


def import_kernels() -> None:
    """Import numba for a command that encodes a text or two, and would spend most of its time on imports.

    numba imports ``scipy.linalg``, as much again as all of numba, to learn whether convolutions can use its BLAS; no kernel
    has any. A later import of SciPy finds it.
    """
    if "scipy.linalg" in sys.modules:
        return
    hidden: dict[str, Any] = {"scipy.linalg": None}  # None: the import fails
    sys.modules.update(hidden)
    try:
        import_module("numba.np.arraymath")
    finally:
        del sys.modules["scipy.linalg"]
