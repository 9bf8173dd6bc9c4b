"""Time encoding and fitting by the length of texts: ``python -m benchmarks.lengths FOLDER...``.

FOLDER is a set in BEIR's layout with English texts. Its words are cut into texts of 10 to 500 words. Each figure is the
least of three runs in microseconds a text, the ratio that of a fit to an encoding in the same run. With ``--busy`` another
process keeps a core busy.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from time import perf_counter

from gem_index import GemEncoder, open_vectors
from gem_index.evaluate.retrieval import read_beir
from gem_index.gem.config import NEW_COLLECTION_PRIOR, GemConfig

LENGTHS = (10, 30, 60, 100, 150, 250, 500)
_WORDS, _MOST, _RUNS = 600_000, 20_000, 3


def texts_of(folders: list[str]) -> list[str]:
    return [text for folder in folders for text in read_beir(folder).documents.values()]


def cut(words: list[str], length: int) -> list[str]:
    begins = range(0, len(words) - length + 1, length)
    return [" ".join(words[begin : begin + length]) for begin in begins[:_MOST]]


def least(work: Callable[[list[str]], object], texts: list[str]) -> float:
    times = []
    for _ in range(_RUNS):
        start = perf_counter()
        work(texts)
        times.append(perf_counter() - start)
    return min(times)


def main() -> None:
    folders = [argument for argument in sys.argv[1:] if argument != "--busy"]
    words = " ".join(texts_of(folders)).split()
    words = (words * (1 + _WORDS // len(words)))[:_WORDS]
    config = GemConfig.trained(prior=NEW_COLLECTION_PRIOR)
    encoder = GemEncoder(open_vectors("wordllama-gem"), config)
    encoder.fit(cut(words, 30)[:100])  # loads the kernels and the background
    busy = []
    if "--busy" in sys.argv:
        busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"])]
    try:
        print("| words | encode, us a text | fit, us a text | ratio |\n|--:|--:|--:|--:|")
        for length in LENGTHS:
            texts = cut(words, length)
            encode = 1e6 * least(encoder.encode, texts) / len(texts)
            fit = 1e6 * least(encoder.fit, texts) / len(texts)
            print(f"| {length} | {encode:.0f} | {fit:.0f} | {fit / encode:.1f} |")
    finally:
        for process in busy:
            process.kill()


if __name__ == "__main__":
    main()
