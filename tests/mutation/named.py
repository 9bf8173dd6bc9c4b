"""Try mutants that were written by hand: a lock not taken, a sync left out, an order reversed, which no operator makes.

    GEM_TEST_COVERAGE=.coverage python tests/mutation/named.py [--workers 2] [NAME ...]

Each stands in named.toml with a module, a piece of it, and what the piece becomes; first it is checked that each piece
stands there once. They are tried in clones of the last commit, by the test command that cosmic-ray has too; prints a line
for each, and exits with 1 where one survived.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue

ROOT = Path(__file__).resolve().parents[2]


def check(mutants: list[dict[str, str]]) -> None:
    """Exit if the code has moved on from what some mutants change."""
    stale = []
    for mutant in mutants:
        path = ROOT / mutant["module"]
        count = path.read_text(encoding="utf-8").count(mutant["old"]) if path.exists() else 0
        if count != 1:
            stale.append(
                f"{mutant['name']}: found {count} times in {mutant['module']}; expected once"
            )
        if mutant["old"] == mutant["new"]:
            stale.append(f"{mutant['name']}: changes nothing")
    if stale:
        raise SystemExit("\n".join(stale))


def attempt(mutant: dict[str, str], clones: Queue[Path]) -> bool:
    """Apply a mutant to a clone and run the tests that match; tell whether one of them failed."""
    clone = clones.get()
    path = clone / mutant["module"]
    original = path.read_text(encoding="utf-8")
    try:
        path.write_text(original.replace(mutant["old"], mutant["new"]), encoding="utf-8")
        command = [sys.executable, "tests/mutation/matching_tests.py"]
        tests = subprocess.run(
            command, cwd=clone, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )  # fmt: skip
        if tests.returncode not in (0, 1, 2):
            raise SystemExit(f"{mutant['name']}: {tests.stdout[-2000:]}{tests.stderr[-2000:]}")
        failed = next(
            (line for line in tests.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), ""
        )
        told = failed.partition(" - ")[0] or tests.stdout.strip().splitlines()[-1]
        print(
            f"{'survived' if tests.returncode == 0 else 'killed  '} {mutant['name']}: {told}",
            flush=True,
        )
        return tests.returncode != 0
    finally:
        path.write_text(original, encoding="utf-8")
        clones.put(clone)


def main() -> int:
    """Try the mutants."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    data = os.path.abspath(os.environ.get("GEM_TEST_COVERAGE", ".coverage"))  # noqa: PTH100
    os.environ["GEM_TEST_COVERAGE"] = data
    mutants = tomllib.loads((Path(__file__).parent / "named.toml").read_text(encoding="utf-8"))[
        "mutant"
    ]
    mutants = [one for one in mutants if not arguments.names or one["name"] in arguments.names]
    check(mutants)
    clones: Queue[Path] = Queue()
    with tempfile.TemporaryDirectory(prefix="gem-mutants-") as folder:
        for number in range(arguments.workers):
            clone = Path(folder, str(number))
            subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
            clones.put(clone)
        with ThreadPoolExecutor(arguments.workers) as pool:
            killed = sum(pool.map(lambda mutant: attempt(mutant, clones), mutants))
    print(f"{killed} of {len(mutants)} died")
    return int(killed < len(mutants))


if __name__ == "__main__":
    sys.exit(main())
