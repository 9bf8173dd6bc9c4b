"""The beginning and end of a process: the encoding of its arguments, and an interrupt while modules are imported."""

from __future__ import annotations

import atexit
import gc
import locale
import os
import sys

from gem_index_cli.exit_status import INTERRUPTED

__all__ = ["main"]


def main() -> None:
    """Import the commands and run one."""
    _read_arguments_as_utf8()
    # without this, the process looks for garbage in all modules at its end: a sixth of the time of a search
    atexit.register(gc.freeze)
    try:
        from gem_index_cli.main import main as run_command

        run_command()
    except KeyboardInterrupt:
        if sys.stderr is not None:
            print("Error: interrupted", file=sys.stderr)  # noqa: T201 - the one line of every error
        sys.exit(INTERRUPTED)


def _read_arguments_as_utf8() -> None:
    """Start this process again in Python's UTF-8 mode if its arguments are UTF-8 and the locale has another encoding.

    A new process is necessary because Python uses one encoding for arguments and file names, chosen at its start. Standard
    input and output keep the encoding of the locale. Arguments that are not UTF-8 stay as the locale decoded them.
    """
    if sys.getfilesystemencoding() == "utf-8" or "utf8" in sys._xoptions:
        return
    arguments = b"".join(map(os.fsencode, sys.argv[1:]))
    try:
        arguments.decode("utf-8")
    except UnicodeDecodeError:
        return
    if arguments.isascii():
        return
    os.environ.setdefault("PYTHONIOENCODING", f"{locale.getencoding()}:surrogateescape")
    os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])  # noqa: S606 - this program again
