"""Compare gem-index with similar libraries in one run.

    pip install ".[bench]"
    python -m benchmarks --vectors FOLDER_OF_300D --stsbenchmark FOLDER -o docs/performance

Prints a table and writes results.json (machine, versions, seed, every run) and plots. Ratios compare medians of the same
run, because machines differ, and one machine's speed changes from hour to hour.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from benchmarks.background_prior import read_split
from gem_index import Document, GemEncoder, Home, open_vectors
from gem_index.common.arrays import F32
from gem_index.gem.batches import TokenBatch
from gem_index.vectors.mapped import MappedVectors

SEED = 0
RUNS = 9
SENTENCES = 200_000
Rows = list[tuple[str, float, str]]


def timed(work: Callable[[], Any], runs: int = RUNS) -> list[float]:
    """Return the seconds of each run, after one run that is not counted."""
    [seconds] = timed_in_turn({"": work}, runs).values()
    return seconds


def timed_in_turn(works: Mapping[str, Callable[[], Any]], runs: int) -> dict[str, list[float]]:
    """Return the seconds of each run of each work, after a run of each that is not counted.

    They run in turn, so that what slows the machine for some seconds slows all of them.
    """
    for work in works.values():
        work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(runs):
        for name, work in works.items():
            started = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - started)
    return seconds


def model2vec_of(words: Iterable[str], rows: F32) -> Any:
    """Return a model2vec model over words and their vectors, with model2vec's other defaults."""
    from model2vec import StaticModel
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

    vocabulary = {"[UNK]": 0} | {word: i + 1 for i, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    matrix = np.concatenate([np.zeros((1, rows.shape[1])), rows]).astype(np.float32)
    return StaticModel(vectors=matrix, tokenizer=tokenizer)


def naive_encode(encoder: GemEncoder, texts: list[str]) -> None:
    """Encode with the plain implementation of the paper (tests/naive.py)."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
    import naive

    components, config = encoder.components, encoder.config
    for text in texts:
        rows, _ = encoder.vectors.lookup(naive.tokenize(text))
        naive.encode(
            rows.T.astype(np.float64),
            components.directions,
            components.singular_values,
            window=config.window,
            n_removed=config.n_removed,
            ranking=config.ranking,
            removal=config.removal,
            alphas=config.alphas,
        )


def encoding(vectors: MappedVectors, texts: list[str]) -> tuple[Rows, dict[str, Any]]:
    """Time encoding and fitting: one thread, long texts, wide vectors, model2vec, and the simple implementation."""
    one, two = (GemEncoder(vectors, threads=threads) for threads in (1, 2))
    two.fit(texts[:20_000])
    one._components = two.components  # the same components for both
    peer = model2vec_of(vectors.vocabulary, vectors.rows.matrix)
    out = np.empty((len(texts), vectors.dimension), np.float32)
    halves = [TokenBatch.of_texts(texts[::2]), TokenBatch.of_texts(texts[1::2])]

    def from_ids() -> None:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda i: two.encode_tokens(halves[i], out[: len(texts[i::2])]), (0, 1)))

    few, simple = texts[:1000], "simple implementation of the paper"
    seconds = timed_in_turn(
        {
            "gem-index encode, 2 threads": lambda: two.encode(texts),
            "model2vec StaticModel.encode": lambda: peer.encode(texts),
            "gem-index encode, 1 thread": lambda: one.encode(texts),
            "gem-index from word ids, 2 threads": from_ids,
            "gem-index fit, 2 threads": lambda: two.corpus_statistics(texts),
            simple: lambda: naive_encode(two, few),
        },
        RUNS,
    )
    rate = {
        name: len(few if name == simple else texts) / median(runs) for name, runs in seconds.items()
    }
    rows: Rows = [(name, value, "sentences/s") for name, value in rate.items()]
    gem = rate["gem-index encode, 2 threads"]
    rows += [
        ("encode / model2vec", gem / rate["model2vec StaticModel.encode"], "x (target 1.5)"),
        (
            "encode / simple implementation of the paper",
            gem / rate[simple],
            "x (target 250)",
        ),
        ("2 threads / 1 thread", gem / rate["gem-index encode, 1 thread"], "x (target 1.7)"),
    ]
    sizes = [10_000, 31_600, 100_000, 316_000, 1_000_000]
    many = (texts * (1 + sizes[-1] // len(texts)))[: sizes[-1]]
    by_size = [median(timed(lambda n=n: two.encode(many[:n]), 3)) for n in sizes]
    words = " ".join(texts[:3000]).split()
    lengths = [10, 30, 100, 300, 1000, 5000]
    by_length = []
    for length in lengths:
        long = [" ".join(words[i : i + length]) for i in range(0, 25_000 - length, length)] * 4
        by_length.append(median(timed(lambda t=long: one.encode(t), 3)) / (len(long) * length))
    wide = MappedVectors.from_words(
        list(vectors.vocabulary), np.tile(vectors.rows.matrix, (1, 3)) + np.float16(0.001)
    )
    broad = GemEncoder(wide, threads=2).fit(texts[:20_000])
    wide_seconds = median(timed(lambda: broad.encode(texts[:50_000]), 3))
    narrow_seconds = median(timed(lambda: two.encode(texts[:50_000]), 3))
    slope = np.polyfit(np.log(sizes), np.log(by_size), 1)[0]
    rows += [
        (
            "100 merged partial fits / one fit, largest difference of a direction",
            merged_difference(vectors, texts[:50_000]),
            "(target 1e-9)",
        ),
        ("log-log slope of time over sentences", float(slope), "(target 1.00 ± 0.05)"),
        ("900-d / 300-d", wide_seconds / narrow_seconds, "x time (target 2.5)"),
        ("per word in texts of 5,000 / of 10 words", by_length[-1] / by_length[0], "x time"),
    ]
    return rows, {
        "seconds": seconds,
        "by_size": [sizes, by_size],
        "by_length": [lengths, by_length],
    }


def merged_difference(vectors: MappedVectors, texts: list[str]) -> float:
    """Return the largest difference between the directions of 100 merged partial fits and those of one fit."""
    whole = GemEncoder(vectors).fit(texts)
    parts = GemEncoder(vectors)
    size = len(texts) // 100
    statistics = [parts.corpus_statistics(texts[i : i + size]) for i in range(0, len(texts), size)]
    merged = statistics[0]
    for part in statistics[1:]:
        merged.merge(part)
    parts.fit_statistics(merged)
    return float(np.abs(parts.components.directions - whole.components.directions).max())


def importing() -> tuple[Rows, dict[str, Any]]:
    """Time importing a GloVe text file, opening it and looking up words; gensim reads the same file."""
    from gensim.models import KeyedVectors

    from gem_index.vectors.formats.registry import read_vectors
    from gem_index.vectors.stored import import_vectors, open_stored

    words, generator = 100_000, np.random.default_rng(SEED)
    with tempfile.TemporaryDirectory() as name:
        folder, path = Path(name), Path(name) / "glove.txt"
        with path.open("w") as file:
            for begin in range(0, words, 1000):
                for i, row in enumerate(generator.normal(size=(1000, 300)) * 0.3):
                    file.write(f"w{begin + i} " + " ".join(f"{x:.5g}" for x in row) + "\n")
        ours = []
        for run in range(4):
            started = time.perf_counter()
            import_vectors(read_vectors(path), folder / f"v{run}")
            ours.append(time.perf_counter() - started)
        started = time.perf_counter()
        KeyedVectors.load_word2vec_format(path, no_header=True)
        theirs = time.perf_counter() - started
        opened = timed(lambda: open_stored(folder / "v0"))
        mapped = open_stored(folder / "v0")
        tokens = [f"w{i}" for i in generator.integers(0, 2 * words, size=200_000)]
        half_known = timed(lambda: mapped.lookup(tokens[:20_000]))
        known = [f"w{i}" for i in generator.integers(0, words, size=20_000)]
        all_known = timed(lambda: mapped.lookup(known))
        source, large = folder / "source", folder / "large"
        source.mkdir()
        np.save(source / "matrix.npy", np.ones((2_000_000, 50), np.float16))
        (source / "words.txt").write_text("".join(f"word{i}\n" for i in range(2_000_000)))
        import_vectors(read_vectors(source), large)
        code = (
            "import re, sys, time\n"
            "from pathlib import Path\n"
            "from gem_index.vectors.stored import open_stored\n"
            "started = time.perf_counter()\n"
            "open_stored(Path(sys.argv[1]))\n"
            "print(time.perf_counter() - started)\n"
            "print(re.search(r'VmRSS:\\s+(\\d+)', open('/proc/self/status').read())[1])"
        )
        done = subprocess.run(
            [sys.executable, "-c", code, large], check=True, capture_output=True, text=True
        )
        seconds_large, resident = map(float, done.stdout.split())
    rows: Rows = [
        ("import of 100,000 x 300 GloVe text", median(ours[1:]), "s"),
        ("gensim load_word2vec_format / import", theirs / median(ours[1:]), "x (target 5)"),
        ("opening the imported set", 1000 * median(opened), "ms (target 200)"),
        (
            "opening a set of 2,000,000 words in a new process",
            1000 * seconds_large,
            "ms (target 200)",
        ),
        ("resident memory of that process", resident / 1024, "MiB (target 60)"),
        ("word look-ups in batches", 20_000 / median(all_known), "words/s (target 1,000,000)"),
        (
            "word look-ups in batches, half of them unknown",
            20_000 / median(half_known),
            "words/s",
        ),
    ]
    return rows, {
        "import": ours,
        "gensim": theirs,
        "open": opened,
        "lookups": all_known,
        "lookups, half unknown": half_known,
    }


def querying(vectors_folder: str, texts: list[str]) -> tuple[Rows, dict[str, Any]]:
    """Time searches of 100,000 documents and of FAISS alone, re-ranking, and whole processes of the command line."""
    import faiss

    with tempfile.TemporaryDirectory() as name:
        home = Home(Path(name) / "home")
        documents = (Document(id=i, text=text) for i, text in enumerate(texts[:100_000]))
        home.build("bench", documents, vectors=vectors_folder)
        collection = home.collection("bench")
        encoder = collection.encoder
        index = faiss.IndexFlatIP(encoder.dimension)
        index.add(encoder.encode(texts[:100_000]))
        queries = texts[::977][:200]
        vectors = encoder.encode(queries)
        collection.search(queries[0], k=10)
        threads = faiss.omp_get_max_threads()
        ours: list[float] = []
        theirs: list[float] = []
        alone: list[float] = []
        for query, vector in zip(queries, vectors, strict=True):
            started = time.perf_counter()
            collection.search(query, k=10)
            middle = time.perf_counter()
            index.search(vector[np.newaxis], 10)
            ours.append(middle - started)
            after = time.perf_counter()
            faiss.omp_set_num_threads(1)
            index.search(vector[np.newaxis], 10)
            faiss.omp_set_num_threads(threads)
            theirs.append(after - middle)
            alone.append(time.perf_counter() - after)
        reranked = timed(lambda: collection.rerank(queries[0], texts[:1000]), 20)
        processes = {}
        for label, arguments in (
            ("gem-index --help", ["--help"]),
            ("gem-index status", ["status"]),
            ("gem-index search, 100,000 documents", ["search", "bench", "a man plays guitar"]),
        ):
            command = [str(Path(sys.executable).parent / "gem-index"), "--home", str(home.root)]
            command += arguments
            processes[label] = timed(
                lambda c=command: subprocess.run(c, check=True, capture_output=True)
            )
    rows: Rows = [
        ("search of 100,000 x 300, p50", 1000 * float(np.percentile(ours, 50)), "ms"),
        ("search of 100,000 x 300, p99", 1000 * float(np.percentile(ours, 99)), "ms"),
        (
            "search / FAISS with its default threads, medians",
            median(ours) / median(theirs),
            "x time (target 1.15)",
        ),
        (
            "search / FAISS with one thread, medians",
            median(ours) / median(alone),
            "x time",
        ),
        ("re-ranking 1,000 candidates", 1000 * median(reranked), "ms (target 15)"),
        *((label, median(runs), "s as a process") for label, runs in processes.items()),
    ]
    return rows, {
        "search": ours,
        "faiss": theirs,
        "faiss, one thread": alone,
        "rerank": reranked,
        "processes": processes,
    }


def memory(vectors_folder: str, texts: list[str]) -> tuple[Rows, dict[str, Any]]:
    """Measure the peak resident memory of encoding and fitting 2,000,000 lines from a file, minus that of 1,000 lines."""
    # VmHWM and not ru_maxrss, which includes the memory of the parent process
    code = (
        "import re, sys\n"
        "from gem_index_cli.main import run\n"
        "assert run(sys.argv[1:]) == 0\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read())[1])"
    )
    peaks: dict[str, list[float]] = {"encode": [], "fit": []}
    with tempfile.TemporaryDirectory() as name:
        for lines in (1000, 2_000_000):
            path = Path(name) / "lines.txt"
            with path.open("w") as file:
                file.writelines(texts[i % len(texts)] + "\n" for i in range(lines))
            for task, arguments in (
                ("encode", [path, "-o", f"{name}/out.npy"]),
                ("fit", [f"m{lines}", path]),
            ):
                command = [sys.executable, "-c", code, "--home", f"{name}/home", task]
                command += [*arguments, "--vectors", vectors_folder]
                done = subprocess.run(command, check=True, capture_output=True, text=True)
                peaks[task].append(int(done.stdout.split()[-1]) / 1024)
    rows: Rows = [
        (f"memory: {task} 2,000,000 lines, minus {task} 1,000", most - least, "MiB (target 300)")
        for task, (least, most) in peaks.items()
    ]
    return rows, {"peaks": peaks}


def plot(results: dict[str, Any], folder: Path) -> None:
    """Plot cost against size."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    sizes, seconds = results["encoding"]["by_size"]
    left.loglog(sizes, seconds, "o-")
    left.set(xlabel="sentences", ylabel="seconds", title="encode, 2 threads, 300-d")
    lengths, per_word = results["encoding"]["by_length"]
    right.semilogx(lengths, 1e9 * np.array(per_word), "o-")
    right.set(
        xlabel="words in a text",
        ylabel="ns per word",
        title="encode, 1 thread, 300-d",
        ylim=(0, None),
    )
    for axes in (left, right):
        axes.grid(alpha=0.3, which="both")
    figure.savefig(folder / "cost.png", dpi=120)


def main() -> None:
    """Run all benchmarks."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--vectors", required=True)
    parser.add_argument("--stsbenchmark", type=Path, required=True)
    parser.add_argument("-o", "--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    _, first, second = read_split(options.stsbenchmark, "train")
    texts = (first + second) * (SENTENCES // len(first + second) + 1)
    texts = texts[:SENTENCES]
    vectors = open_vectors(options.vectors)
    if not isinstance(vectors, MappedVectors):
        sys.exit("expected a folder with words.txt and matrix.npy")
    results: dict[str, Any] = {
        "seed": SEED,
        "python": platform.python_version(),
        "processor": platform.processor() or platform.machine(),
        "processors": len(os.sched_getaffinity(0)),
        "versions": {
            name: version(name)
            for name in (
                "gem-index",
                "numpy",
                "faiss-cpu",
                "model2vec",
                "gensim",
                "sqlalchemy",
            )
        },
    }
    lines = ["| measurement | result | unit and target |", "|---|---|---|"]
    print("\n".join(lines))
    for name, part in (
        ("encoding", lambda: encoding(vectors, texts)),
        ("importing", importing),
        ("querying", lambda: querying(options.vectors, texts)),
        ("memory", lambda: memory(options.vectors, texts)),
    ):
        rows, results[name] = part()
        for label, value, unit in rows:
            shown = f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
            lines.append(f"| {label} | {shown} | {unit} |")
            print(lines[-1], flush=True)
    (options.output / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    (options.output / "table.md").write_text("\n".join(lines) + "\n")
    plot(results, options.output)


if __name__ == "__main__":
    main()
