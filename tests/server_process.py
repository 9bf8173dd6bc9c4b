"""A server in a process of its own, as a user starts it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType

import httpx

_ADDRESS = re.compile(r"Serving at (http://\S+)")


class ServerProcess:
    """Runs ``gem-index serve --port 0`` until the block ends.

    ``log`` holds what it wrote on standard error; ``status`` its exit status after :meth:`stop`.
    """

    def __init__(
        self, home: Path, *options: str, command: str = "serve", **environment: str
    ) -> None:
        self.log: list[str] = []
        self._command = command
        self.status: int | None = None
        self._begun = threading.Event()
        self.url = ""
        main = "from gem_index_cli.start import main; main()"
        arguments = ["--home", str(home), command, "--port", "0", *options]
        self.process = subprocess.Popen(
            [sys.executable, "-c", main, *arguments],
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> ServerProcess:
        """Wait until requests can come."""
        assert self._begun.wait(60)
        assert self.url, "".join(self.log)
        if self._command == "serve":
            assert httpx.get(f"{self.url}/health/ready", timeout=60).status_code == 200
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def stop(self, how: int = signal.SIGTERM) -> int:
        """End it by a signal and return its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(how)
        try:
            self.status = self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
        self._reader.join(10)
        assert not self._reader.is_alive(), (
            "a child of the server lives, and holds its standard error"
        )
        return self.status

    def _read(self) -> None:
        assert self.process.stderr is not None
        with self.process.stderr as lines:
            for line in lines:
                self.log.append(line)
                if found := _ADDRESS.search(line):
                    self.url = found[1]
                    self._begun.set()
        self._begun.set()
