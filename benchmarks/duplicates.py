"""Find the near-duplicates of a large collection.

``python -m benchmarks.duplicates SENTENCES.txt [N [THRESHOLD [VIEW]]]`` builds a collection of N documents (100,000): the
lines of the file, and variations of them to make up the number, of which every twentieth leaves out one word and the others
join the halves of two lines. It prints the seconds of ``Collection.duplicates`` in one view (``meaning``), and the peak
memory of the process before and after.
"""

from __future__ import annotations

import json
import random
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from gem_index import Document, Home


def documents(lines: list[str], count: int) -> Iterator[Document]:
    rng = random.Random(0)
    for i in range(count):
        text = lines[i] if i < len(lines) else variation(lines, rng)
        yield Document(id=str(i), text=text)


def variation(lines: list[str], rng: random.Random) -> str:
    words = rng.choice(lines).split()
    if rng.random() < 0.05 and len(words) > 3:
        del words[rng.randrange(len(words))]
        return " ".join(words)
    other = rng.choice(lines).split()
    return " ".join(words[: max(2, len(words) // 2)] + other[len(other) // 2 :])


def peak() -> int:
    """Return the peak memory of this process in MiB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def main() -> None:
    lines = [line for line in Path(sys.argv[1]).read_text().splitlines() if line.strip()]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000
    threshold = float(sys.argv[3]) if len(sys.argv) > 3 else 0.95
    view = sys.argv[4] if len(sys.argv) > 4 else "meaning"
    stages: dict[str, float] = {}

    def note(stage: str, _done: int, _total: int) -> None:
        stages.setdefault(stage, time.perf_counter())

    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build("many", documents(lines, count))
        before = peak()
        started = time.perf_counter()
        groups = home.collection("many").duplicates(threshold, views=view, progress=note)
        seconds = time.perf_counter() - started
    print(
        json.dumps(
            {
                "documents": count,
                "threshold": threshold,
                "view": view,
                "seconds": round(seconds, 1),
                "seconds until the first pairs were compared": round(
                    stages["compare"] - started, 1
                ),
                "groups": len(groups),
                "documents in groups": sum(len(group.ids) for group in groups),
                "MiB before, after": [before, peak()],
            }
        )
    )


if __name__ == "__main__":
    main()
