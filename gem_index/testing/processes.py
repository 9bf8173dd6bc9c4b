"""Other processes: forked children, spawned children, and new Python interpreters."""

from __future__ import annotations

import faulthandler
import os
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Literal, TypeVar

__all__ = ["call_in_child", "in_forked_child", "pool_of_children", "run_python"]

_Result = TypeVar("_Result")


def call_in_child(
    start: Literal["fork", "spawn"], function: Callable[..., _Result], *arguments: object
) -> _Result:
    """Call a function in a child process of ``multiprocessing``.

    Parameters
    ----------
    start : {"fork", "spawn"}
        How the child is started; a forked child shares the modules and objects of this process, a spawned one does not.
    function : callable
        Pickled by name, so its module must be importable in the child.
    *arguments
        Sent pickled, for both ways to start.

    Returns
    -------
    object
        The result of the function, sent pickled.

    Raises
    ------
    TimeoutError
        If it takes more than two minutes.
    """
    with pool_of_children(start) as pool:
        return pool.submit(function, *arguments).result(timeout=120)


@contextmanager
def pool_of_children(
    start: Literal["fork", "spawn"], workers: int = 1
) -> Iterator[ProcessPoolExecutor]:
    """Return a pool of child processes.

    They are killed if the block raises an error: the pool itself would wait for a child that hangs.
    """
    others = set(active_children())
    with ProcessPoolExecutor(workers, mp_context=get_context(start)) as pool:
        try:
            yield pool
        except BaseException:
            for child in set(active_children()) - others:
                child.kill()
            raise


def in_forked_child(work: Callable[[], object], seconds: float = 60) -> None:
    """Call a function in a forked child process.

    Raises
    ------
    AssertionError
        If it fails there, or does not end in time.
    """
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # forking while threads run is what is tested
        child = os.fork()
    if child == 0:
        status = 1
        try:
            faulthandler.enable()
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - the child must end here, and say why
            traceback.print_exc()
        finally:
            os._exit(status)
    ended = _status(child, seconds)
    if ended is not None:
        assert ended == 0, f"the forked child failed with status {ended}"
        return
    os.kill(child, signal.SIGABRT)  # faulthandler shows where it hangs
    if _status(child, 1) is None:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
    raise AssertionError(f"the forked child did not end within {seconds:g} s")


def _status(child: int, seconds: float) -> int | None:
    """Return the status of a child; None if it does not end in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    return None


def run_python(
    *arguments: str, status: int = 0, import_from: str | Path | None = None, timeout: float = 300
) -> subprocess.CompletedProcess[str]:
    """Run a new Python interpreter in the current directory and return its output.

    Parameters
    ----------
    *arguments : str
        As for the command ``python``: ``"-c"`` and a script, or ``"-m"`` and a module, and their arguments.
    status : int
        The expected exit status; 1 if an exception ends the script.
    import_from : str or Path, optional
        An additional folder to import modules from, such as that of the test.
    timeout : float
        Seconds.

    Returns
    -------
    subprocess.CompletedProcess
        With ``stdout`` and ``stderr`` as text.

    Raises
    ------
    AssertionError
        If it ends with another status; the message holds its standard error.
    subprocess.TimeoutExpired
        If it does not end in time.
    """
    environment = dict(os.environ)
    if import_from is not None:
        folders = [str(import_from), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment["PYTHONPATH"] = os.pathsep.join(folders)
    done = subprocess.run(  # noqa: S603 - a test's own script
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=environment,
    )
    assert done.returncode == status, f"found exit status {done.returncode}\n{done.stderr}"
    return done
