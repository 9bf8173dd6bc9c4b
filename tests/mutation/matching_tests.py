"""Run the tests that reach the lines by which this checkout differs from its last commit; with no difference, all of them.

The test command of mutation testing: exits with 0 where the tests pass, with another status where one fails. Which test
reaches which line is read from the coverage data that GEM_TEST_COVERAGE names, made by ``pytest --cov --cov-context=test``.
Tests of the core come first, and among equals those of which the file is the largest part: they are quick, and mean it.
Before them, for lines that only run at import, the pages of the reference are compared with what the code says of itself.
After a budget of seconds a mutant counts as one that survived. With GEM_TEST_PART=core only tests of the core run, with
another name those of a part (tests/parts.py).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from collections import Counter
from contextlib import suppress
from pathlib import Path

from coverage import CoverageData

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))
from parts import CORE, part_of  # noqa: E402 - a module of the tests

# seconds; the distributor gives a worker 900
BUDGET = int(os.environ.get("GEM_TEST_BUDGET", "150"))
PER_TEST = 100  # seconds: what hangs fails
DECLARATIONS = (  # compare what modules say of themselves, such as help and bounds, with the pages
    "tests/documentation/test_server_reference.py::test_the_pages_say_what_the_server_says",
    "tests/documentation/test_reference.py::test_the_reference_says_what_commands_and_docstrings_say",
)
KERNELS = (  # machine code, which coverage does not see
    "tests/property/test_kernels.py",
    "tests/unit/test_fits.py",
    "tests/property/test_tokenizer.py",
    "tests/unit/test_text.py",
    "tests/golden",
    "tests/unit/test_vectors.py",
    "tests/unit/test_encoder.py",
    "tests/unit/formats",
)


def changed_lines() -> dict[str, set[int]]:
    """Return the lines of the last commit that are not as they were, by file."""
    command = ["git", "diff", "--unified=0", "--no-ext-diff", "HEAD"]
    text = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    lines: dict[str, set[int]] = {}
    name = ""
    for line in text.splitlines():
        if line.startswith("--- a/"):
            name = line[len("--- a/") :]
        elif found := re.match(r"@@ -(\d+)(?:,(\d+))? ", line):
            first, count = int(found[1]), int(found[2] or 1)
            # what is only put in stands between a line and the next
            lines.setdefault(name, set()).update(range(first, first + (count or 2)))
    return lines


def reaching(data: CoverageData, name: str, lines: set[int]) -> set[str]:
    """Return the tests that reach some lines of a file; none if the lines only run at import."""
    if name not in data.measured_files():
        raise SystemExit(f"the coverage data knows no {name}: make it again, of this commit")
    contexts = data.contexts_by_lineno(name)
    return {test_of(context) for line in lines for context in contexts.get(line, ()) if context}


def tests_of(data: CoverageData, name: str, lines: set[int]) -> dict[str, int]:
    """Return the tests that reach some lines of a file, or any of the file where they only run at import.

    With each comes how many lines of the file it reaches.
    """
    contexts = data.contexts_by_lineno(name)
    tests = reaching(data, name, lines) or {
        test_of(context) for found in contexts.values() for context in found if context
    }
    counts = Counter(test_of(context) for found in contexts.values() for context in found)
    return {test: counts[test] for test in tests if (ROOT / test.partition("::")[0]).exists()}


def in_core(test: str) -> bool:
    """Return whether a test, file or folder of tests is in the core."""
    return part_of(test.removeprefix("tests/")) == CORE


def test_of(context: str) -> str:
    """Return the test of a context: it has one for its setup, one for its run and one for its teardown."""
    return context.rpartition("|")[0]


def lines_of_tests(data: CoverageData) -> Counter[str]:
    """Return how many lines each test reaches; counted once, and kept beside the data."""
    kept = Path(f"{data.data_filename()}.lines.json")
    if kept.exists():
        return Counter(json.loads(kept.read_text()))
    lines = Counter(
        test_of(context)
        for name in data.measured_files()
        for contexts in data.contexts_by_lineno(name).values()
        for context in contexts
    )
    part = Path(f"{kept}.{os.getpid()}")
    part.write_text(json.dumps(lines))
    part.replace(kept)
    return lines


def build_kernels() -> bool:
    """Compile the kernels of this checkout if they are not those of its C files; tell whether they compile."""
    kernels = ROOT / "gem_index" / "kernels"
    made = [path.stat().st_mtime_ns for path in kernels.glob("kernels-*.so")]
    if made and min(made) > max(path.stat().st_mtime_ns for path in (kernels / "c").iterdir()):
        return True
    command = [sys.executable, "hatch_build.py"]
    return subprocess.run(command, cwd=ROOT, check=False, capture_output=True).returncode == 0


def main() -> int:
    """Run the matching tests."""
    lines = {
        name: found
        for name, found in changed_lines().items()
        if name.endswith(".py") or name.startswith("gem_index/kernels/c/")
    }
    if not build_kernels():
        print("the kernels do not compile")
        return 1
    environment = dict(os.environ, OPENBLAS_NUM_THREADS="1")
    environment["PYTHONPATH"] = os.pathsep.join(
        str(ROOT / part) for part in (".", "cli", "migrations")
    )
    chosen: list[str] = ["tests"]
    if lines:
        data = CoverageData(os.environ.get("GEM_TEST_COVERAGE", ".coverage"))
        data.read()
        found: Counter[str] = Counter()
        declarations: tuple[str, ...] = ()
        for name, changed in lines.items():
            if name.endswith(".py"):
                found.update(tests_of(data, name, changed))
                if not reaching(data, name, changed):
                    declarations = DECLARATIONS
        every = lines_of_tests(data)
        # the core first, so that the first failure tells whether it notices (report.py)
        chosen = sorted(
            found, key=lambda test: (not in_core(test), every[test] / found[test], test)
        )
        if any(name.startswith("gem_index/kernels/c/") for name in lines):
            exist = [name for name in KERNELS if (ROOT / name).exists()]
            chosen = sorted(exist, key=lambda name: not in_core(name))
        # what runs at import alone belongs to no test
        chosen = [*declarations, *(chosen or ["tests/migrations", "tests/unit"])]
    part = os.environ.get("GEM_TEST_PART", "")
    if part:
        chosen = [test for test in chosen if part_of(test.removeprefix("tests/")) == part]
        if not chosen:
            print(f"no test of the part {part} reaches it")
            return 0
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.write("\n".join(chosen))
        names.flush()
        # the method ends the process of a test that hangs; otherwise it could wait for its threads
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-n", "0", "-m", part,
                   "-p", "no:randomly", "-p", "no:cacheprovider",
                   f"--timeout={PER_TEST}", "--timeout-method=thread", f"@{names.name}"]  # fmt: skip
        tests = subprocess.Popen(command, cwd=ROOT, env=environment, start_new_session=True)
        try:
            return tests.wait(BUDGET if lines else None)
        except subprocess.TimeoutExpired:
            print(f"{len(chosen)} tests took over {BUDGET} seconds, none had failed")
            return 0
        finally:
            with suppress(ProcessLookupError):
                os.killpg(tests.pid, signal.SIGKILL)  # and what it has started
            tests.wait()


if __name__ == "__main__":
    sys.exit(main())
