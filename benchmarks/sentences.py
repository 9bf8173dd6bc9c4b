"""Distinct real English sentences for large runs, from the documentation in Debian packages.

``python -m benchmarks.sentences FOLDER OUTPUT.txt [LIMIT]`` reads every text, HTML and WordNet file below a folder
(unpacked packages) and writes one sentence per line, each once.

``python -m benchmarks.sentences recombine SENTENCES.txt OUTPUT.txt COUNT`` makes more sentences: the first half of one
sentence's words and the second half of another's.
"""

from __future__ import annotations

import gzip
import html
import random
import re
import sys
from collections.abc import Iterator
from pathlib import Path

_TAGS = re.compile(r"<(script|style|pre)\b.*?</\1>|<[^>]+>", re.S | re.I)
_BLOCKS = re.compile(r"</?(p|li|td|th|dd|dt|div|h\d|br|tr)\b[^>]*>", re.I)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|\n\s*\n|\n\s*[*+-]\s")
_WORD = re.compile(r"[A-Za-z]{2,}")


def sentences(text: str) -> Iterator[str]:
    """Iterate over parts of a text that look like sentences: 5 to 40 words of Latin letters, and little else."""
    for part in _SENTENCE.split(text):
        line = " ".join(part.split())
        words = _WORD.findall(line)
        letters = sum(map(len, words))
        mostly_letters = letters > 0.7 * len(line.replace(" ", ""))
        if 5 <= len(words) <= 40 and mostly_letters and line.isprintable():
            yield line


def texts(folder: Path) -> Iterator[str]:
    """Iterate over the readable texts below a folder."""
    for path in sorted(folder.rglob("*")):
        if not path.is_file() or path.is_symlink() or path.stat().st_size > 30_000_000:
            continue
        name = path.name.removesuffix(".gz")
        if path.suffix in (
            ".png",
            ".svg",
            ".js",
            ".css",
            ".zip",
            ".jar",
            ".woff2",
            ".woff",
            ".gif",
        ):
            continue
        data = path.read_bytes()
        if path.suffix == ".gz":
            data = gzip.decompress(data)
        try:
            text = data.decode()
        except UnicodeDecodeError:
            continue
        if name.endswith((".html", ".htm", ".xhtml")):
            text = html.unescape(_TAGS.sub(" ", _BLOCKS.sub("\n\n", text)))
        elif name.startswith("data."):
            text = "\n\n".join(line.partition("|")[2] for line in text.splitlines())
        yield text


def recombine(lines: list[str], count: int) -> Iterator[str]:
    """Iterate over sentences made of the halves of two real sentences."""
    rng = random.Random(0)
    halves = []
    for line in lines:
        words = line.split()
        middle = len(words) // 2
        halves.append((" ".join(words[:middle]), " ".join(words[middle:])))
    for _ in range(count):
        yield f"{rng.choice(halves)[0]} {rng.choice(halves)[1]}"


def main() -> None:
    if sys.argv[1] == "recombine":
        lines = Path(sys.argv[2]).read_text().splitlines()
        with Path(sys.argv[3]).open("w") as file:
            file.writelines(f"{line}\n" for line in recombine(lines, int(sys.argv[4])))
        return
    folder, output = Path(sys.argv[1]), Path(sys.argv[2])
    limit = int(sys.argv[3]) if len(sys.argv) > 3 else None
    seen = dict.fromkeys(line for text in texts(folder) for line in sentences(text))
    lines = list(seen)
    random.Random(0).shuffle(lines)
    lines = lines[:limit]
    output.write_text("".join(f"{line}\n" for line in lines))
    print(f"{len(lines)} sentences in {output}")


if __name__ == "__main__":
    main()
