"""Processes that convert files, each with limits of memory and time."""

from __future__ import annotations

import contextlib
import json
import math
import os
import queue
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from gem_index.converting.pages import Page
from gem_index.errors import Action, Advice, InputError, MissingExtraError

__all__ = ["ConversionError", "ConverterPool", "ConverterProcess"]


_PIECE = 1 << 16  # bytes read at once
_GRACE = 30  # seconds after which a process ends itself if this process has died


class ConversionError(InputError):
    """A file cannot be read; the message names the problem, not the file."""


class ConverterProcess:
    """A process that converts one file after the other; it is started when needed, and again after a crash.

    Parameters
    ----------
    memory : int
        Bytes that it may take.
    seconds : float
        How long it may take for a page.
    longest : int
        Bytes that the text of a page may have.
    """

    def __init__(self, memory: int, seconds: float, longest: int) -> None:
        own_end = math.ceil(seconds) + _GRACE
        self._arguments = [str(memory), str(longest), str(own_end)]
        self._seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._received = bytearray()

    def pages(self, path: Path, kind: str, encoding: str | None) -> Iterator[Page | str]:
        """Iterate over the pages of a file, and then its SHA-256 as hexadecimal digits.

        Raises
        ------
        ConversionError
            If the file cannot be read, has changed meanwhile, or took too much time or memory; MissingExtraError if a
            library is missing.
        """
        process = self._running()
        assert process.stdin is not None
        assert process.stdout is not None
        request = {"path": str(path), "kind": kind, "encoding": encoding}
        finished = False
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            while not finished:
                answer = json.loads(self._line(process, process.stdout))
                if "text" in answer:
                    yield Page(**answer)
                    continue
                finished = True
                yield _end(answer)
        except BrokenPipeError as error:
            raise ConversionError(_death(process)) from error
        finally:
            if not finished:
                self.close()

    def _running(self) -> subprocess.Popen[bytes]:
        if self._process is None or self._process.poll() is not None:
            self.close()
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                # -P: modules in the folder of the files are never imported
                [sys.executable, "-P", "-m", "gem_index.converting.worker", *self._arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is handled by this process, which then closes the other
            )
        return self._process

    def _line(self, process: subprocess.Popen[bytes], stdout: IO[bytes]) -> bytes:
        """Return the next line; kill the process if it takes too long."""
        ready = select.poll()  # a waiting thread would take more time than most files
        ready.register(stdout, select.POLLIN)
        deadline = time.monotonic() + self._seconds
        end = self._received.find(b"\n")
        while end < 0:
            if not ready.poll(max(0.0, deadline - time.monotonic()) * 1000):
                process.kill()
                raise ConversionError(
                    f"reading it took more than {self._seconds:g} seconds; expected less, or raise GEM_INDEX_FILE_SECONDS"
                )
            piece = os.read(stdout.fileno(), _PIECE)
            if not piece:
                raise ConversionError(_death(process))
            before = len(self._received)
            self._received += piece
            end = self._received.find(b"\n", before)
        line = bytes(self._received[: end + 1])
        del self._received[: end + 1]
        return line

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        self._received.clear()
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):  # a request that it did not read
                    stream.close()


def _end(answer: dict[str, Any]) -> str:
    if "sha256" in answer:
        return str(answer["sha256"])
    if "extra" in answer:
        raise MissingExtraError(answer["feature"], answer["extra"])
    if "changed" in answer:
        raise ConversionError("it changed while it was read; expected a complete file: try again")
    error = ConversionError(answer["problem"])
    if "action" in answer:
        error.advice = Advice(Action[answer["action"]], answer["values"])
    raise error


def _death(process: subprocess.Popen[bytes]) -> str:
    status = process.wait()
    name = signal.Signals(-status).name if status < 0 else f"exit status {status}"
    return f"reading it ended the process that did ({name}); expected an undamaged file"


class ConverterPool:
    """Some processes, each used by one thread at a time; a context manager.

    Parameters
    ----------
    size : int
    memory, seconds, longest
        As for :class:`ConverterProcess`.
    """

    def __init__(self, size: int, memory: int, seconds: float, longest: int) -> None:
        self._all = [ConverterProcess(memory, seconds, longest) for _ in range(size)]
        self._closed = False
        self._free: queue.SimpleQueue[ConverterProcess] = queue.SimpleQueue()
        for process in self._all:
            self._free.put(process)

    def pages(self, path: Path, kind: str, encoding: str | None) -> Iterator[Page | str]:
        """As :meth:`ConverterProcess.pages`, of a process that is free."""
        process = self._free.get()
        if self._closed:
            return
        try:
            yield from process.pages(path, kind, encoding)
        finally:
            self._free.put(process)

    def __enter__(self) -> ConverterPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        for process in self._all:
            process.close()
