"""Time what people bring: a file of support tickets and a folder of notes, made of real texts.

    python -m benchmarks.tickets ENGLISH[,ENGLISH...] OTHER[,OTHER...] [--tickets 20000] [--notes 600]

ENGLISH and OTHER are sets in BEIR's layout; a third of the tickets is of the others. The bodies of tickets are lognormal in
length, with a median of 29 words; a quarter is HTML. Notes are Markdown of 300 to 3,000 words with headings. Each command is
a process of its own; a figure is the lesser of two runs.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import numpy as np

from gem_index import Home
from gem_index.evaluate.retrieval import read_beir

_RUNS = 2


def words_of(folders: str) -> list[str]:
    """Return the words of the documents of some sets, shuffled by document."""
    texts = [text for name in folders.split(",") for text in read_beir(name).documents.values()]
    order = np.random.default_rng(1).permutation(len(texts))
    return " ".join(texts[i] for i in order).split()


class Writer:
    """Texts of a wanted number of words from a stream of real ones, which begins again at its end."""

    def __init__(self, words: list[str]) -> None:
        self._words = words
        self._next = 0

    def take(self, count: int) -> str:
        """Return the next words."""
        found: list[str] = []
        while len(found) < count:
            more = self._words[self._next : self._next + count - len(found)]
            found += more
            self._next = (self._next + len(more)) % len(self._words)
        return " ".join(found)


def tickets(english: Writer, other: Writer, count: int) -> Iterator[tuple[str, str, str, str]]:
    """Iterate over (id, subject, body, date)."""
    rng = np.random.default_rng(7)
    for number in range(count):
        writer = other if rng.random() < 1 / 3 else english
        length = int(np.clip(rng.lognormal(np.log(29), 0.9), 3, 600))
        body = writer.take(length)
        if rng.random() < 1 / 4:
            body = f'<html><body><p style="margin:0">{body.replace(". ", ".</p><p>")}</p><br></body></html>'
        day = np.datetime64("2024-01-01") + int(rng.integers(0, 600))
        yield str(number), writer.take(int(rng.integers(3, 9))), body, str(day)


def note(english: Writer, rng: np.random.Generator) -> str:
    """Return a note in Markdown."""
    lines = [f"# {english.take(4)}", ""]
    left = int(rng.integers(300, 3000))
    while left > 0:
        length = int(rng.integers(20, 120))
        if rng.random() < 0.3:
            lines += [f"## {english.take(3)}", ""]
        lines += [english.take(length), ""]
        left -= length
    return "\n".join(lines)


def seconds(*command: str) -> float:
    """Return the time of a command of ``gem-index``."""
    program = str(Path(sys.executable).parent / "gem-index")
    start = time.perf_counter()
    subprocess.run([program, *command], check=True, capture_output=True)
    return time.perf_counter() - start


def main() -> None:
    """Make the inputs, and time the commands."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("english")
    parser.add_argument("other")
    parser.add_argument("--tickets", type=int, default=20_000)
    parser.add_argument("--notes", type=int, default=600)
    options = parser.parse_args()
    english, other = Writer(words_of(options.english)), Writer(words_of(options.other))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        rows = list(tickets(english, other, options.tickets))
        with (folder / "tickets.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(["id", "subject", "body", "created_at"])
            writer.writerows(rows)
        notes = folder / "notes"
        notes.mkdir()
        rng = np.random.default_rng(3)
        for number in range(options.notes):
            (notes / f"{number}.md").write_text(note(english, rng), encoding="utf-8")
        times: dict[str, list[float]] = {}
        for run in range(_RUNS):
            home = ["--home", str(folder / f"home{run}")]
            fields = ["--text-field", "subject", "--text-field", "body", "--clean", "auto"]
            for label, command in {
                "build": ["build", "tickets", str(folder / "tickets.csv"), *fields],
                "add the same file again": ["add", "tickets", str(folder / "tickets.csv"), *fields],
                "drift": ["drift", "tickets"],
                "search": ["search", "tickets", "the wing of an aircraft"],
                "search --rerank": ["search", "tickets", "the wing of an aircraft", "--rerank"],
                "build of the notes": ["build", "notes", str(notes)],
                "drift of the notes": ["drift", "notes"],
            }.items():
                times.setdefault(label, []).append(seconds(*home, *command))
        fitted = Home(folder / "home0").collection("notes").status().fitted
    lengths = [len(f"{subject} {body}".split()) for _, subject, body, _ in rows]
    print(f"{len(rows):,} tickets of {median(lengths):.0f} words (median)")
    print(f"{options.notes} notes of {fitted:,} pieces")
    print("| what | s |\n|---|--:|")
    for label, found in times.items():
        print(f"| {label} | {min(found):.1f} |")


if __name__ == "__main__":
    main()
