"""Writers, readers, pushes, backups and a server at work on one home for an hour, with kills and full disks at random.

    python tests/faults/endurance.py [--minutes 60] [--seed 1]

A model knows what must be stored: after each kill the home must hold it, `verify` must find nothing wrong, and a search must
find its documents. A push that ends must leave what was stored before or after it; a backup that ends must be a sound home.
The server must answer every search. A line a minute shows its memory, threads and open files, which must stay as they are,
and the size of the home. The command ends with 1 at the first thing that is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path

import httpx

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import test_kill  # noqa: E402 - of this folder
import worker  # noqa: E402

from gem_index import Home  # noqa: E402
from gem_index.targets import open_target  # noqa: E402
from server_process import ServerProcess  # noqa: E402

COMMAND = [sys.executable, "-c", "from gem_index_cli.start import main; main()"]


class Endurance:
    """One run in a folder."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.root = folder, folder / "home"
        self.rng = random.Random(seed)
        self.library = folder / "inject.so"
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-o", self.library, HERE / "inject.c", "-ldl"],
            check=True,
        )
        self.counts: Counter[str] = Counter()
        self.state: dict[str, str] = {}
        self.problems: list[str] = []
        self.ended = threading.Event()
        self.seed = seed * 1_000_000

    def write(self, *, full: bool) -> None:
        """Let a process write for some steps, kill it, and compare the home with the model."""
        self.seed += 1
        command = [sys.executable, str(HERE / "worker.py"), str(self.root), str(self.seed)]
        environment = dict(os.environ)
        if full:
            command.append(str(self.library))
            environment["LD_PRELOAD"] = str(self.library)
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
        )
        timer = threading.Timer(self.rng.uniform(3, 20), process.kill)
        timer.start()
        assert process.stdout is not None
        states = [self.state]
        for line in process.stdout:
            if not line.endswith("\n"):
                break  # killed while it wrote this line
            said = json.loads(line)
            if "begin" in said:
                states = [states[0], worker.apply(states[0], said["begin"])]
            else:
                self.counts["steps" if "done" in said else "steps on a full disk"] += 1
                states = [states[1] if "done" in said else states[0]]
        timer.cancel()
        assert process.wait() == -signal.SIGKILL, f"a writer ended with {process.returncode}"
        self.counts["kills of writers"] += 1
        self.state = test_kill.check(self.root, states)

    def push(self) -> None:
        """Push into a table, perhaps with a kill."""
        url = f"parquet://{self.folder}/table"
        full = ["--full"] if self.rng.random() < 0.3 else []
        if self._run("push", ["push", "c", url, *full]):
            table = open_target(url).live()
            assert table is not None
            found = {row.id: row.text for row in table.documents()}
            assert found == self.state, "a push left other documents than the collection's"

    def back_up(self) -> None:
        """Make a backup, perhaps with a kill; what is made is a sound home."""
        copy = self.folder / "backup"
        if self._run("backup", ["backup", str(copy)]) or copy.exists():
            assert Home(copy).verify() == []
            assert worker.stored(Home(copy)) == self.state
            shutil.rmtree(copy)
        left = [path.name for path in self.folder.glob(".backup.partial-*")]
        assert len(left) <= 1, f"left of killed backups: {left}"

    def _run(self, name: str, arguments: list[str]) -> bool:
        process = subprocess.Popen(
            [*COMMAND, "--home", str(self.root), *arguments],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        timer = threading.Timer(self.rng.uniform(0.3, 3), process.kill)
        if self.rng.random() < 0.5:
            timer.start()
        _, said = process.communicate()
        timer.cancel()
        if process.returncode == -signal.SIGKILL:
            self.counts[f"kills of {name}"] += 1
            return False
        assert process.returncode == 0, f"{name} ended with {process.returncode}: {said}"
        self.counts[name] += 1
        return True

    def ask(self, url: str) -> None:
        """Search on the server until the run ends."""
        rng = random.Random(0)
        while not self.ended.is_set():
            query = " ".join(rng.choices(worker.WORDS, k=3))
            try:
                answer = httpx.post(
                    f"{url}/collections/c/search", json={"query": query}, timeout=60
                )
                if answer.status_code == 200:
                    self.counts["searches"] += 1
                else:
                    self.problems.append(f"{answer.status_code} {answer.text[:300]}")
                httpx.post(
                    f"{url}/v1/embeddings", json={"input": query}, timeout=60
                ).raise_for_status()
            except httpx.HTTPError as error:
                self.problems.append(repr(error))
            time.sleep(0.02)

    def run(self, minutes: float) -> None:
        """Work until the time is over, or something is wrong."""
        self.write(full=False)  # makes the collection
        works = [
            lambda: self.write(full=False),
            lambda: self.write(full=True),
            self.push,
            self.back_up,
        ]
        until, told = time.monotonic() + 60 * minutes, 0.0
        with ServerProcess(self.root) as server:
            asking = threading.Thread(target=self.ask, args=(server.url,))
            asking.start()
            try:
                while time.monotonic() < until and not self.problems:
                    self.rng.choice(works)()
                    if time.monotonic() > told + 60:
                        told = time.monotonic()
                        self.tell(server.process.pid)
            finally:
                self.ended.set()
                asking.join()
            self.tell(server.process.pid)
        assert not self.problems, self.problems[0]

    def tell(self, server: int) -> None:
        """Print the counts, and what the server and the home use."""
        status = Path(f"/proc/{server}/status").read_text()
        memory = int(status.split("VmRSS:")[1].split()[0]) >> 10
        threads = int(status.split("Threads:")[1].split()[0])
        files = len(list(Path(f"/proc/{server}/fd").iterdir()))
        size = sum(path.stat().st_size for path in self.root.rglob("*") if path.is_file()) >> 20
        done = ", ".join(f"{number} {name}" for name, number in sorted(self.counts.items()))
        print(
            f"{time.strftime('%H:%M:%S')} server {memory} MB, {threads} threads, {files} files; "
            f"home {size} MB, {len(self.state)} documents; {done}",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gem-index-endurance-") as folder:
        Endurance(Path(folder), asked.seed).run(asked.minutes)


if __name__ == "__main__":
    main()
