"""The compiled kernels: every level computes the same bytes, and arguments are checked."""

import importlib.util
import math
import os
import platform
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.errors import GemIndexError
from gem_index.kernels import fits, library, sentences
from gem_index.kernels.lines import parse_lines
from gem_index.kernels.rows import score_rows
from gem_index.kernels.sentences import Sentences, weigh_sentences
from pages import ROOT

LEVELS = {"baseline": 0, "x86-64-v3": 3, "x86-64-v4": 4}


def run(level: str | None, *command: str, **options: str) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, **options}
    environment.pop("GEM_INDEX_KERNELS", None)
    if level is not None:
        environment["GEM_INDEX_KERNELS"] = level
    return subprocess.run(
        [sys.executable, *command], env=environment, capture_output=True, text=True, check=False
    )


def built() -> list[str]:
    """The levels that are built, and that this processor runs."""
    baseline = library.ffi.dlopen(str(library.path_of("baseline")))
    return [
        level
        for level, number in LEVELS.items()
        if library.path_of(level).exists() and number <= baseline.best_level()
    ]


def test_every_level_computes_the_same_bytes():
    found = {}
    for level in built():
        done = run(level, str(ROOT / "tests" / "kernel_digest.py"))
        assert done.returncode == 0, done.stderr
        name, found[level] = done.stdout.split()
        assert name == level
    assert len(found) >= 1
    assert len(set(found.values())) == 1, found


def test_the_best_level_is_taken():
    done = run(None, "-c", "from gem_index.kernels.library import level; print(level)")
    assert done.stdout.strip() == built()[-1]


@pytest.mark.parametrize(
    ("reached", "taken"), [(4, "x86-64-v4"), (3, "x86-64-v3"), (1, "baseline"), (0, "baseline")]
)
def test_no_level_is_taken_that_a_processor_does_not_reach(monkeypatch, tmp_path, reached, taken):
    opened = SimpleNamespace(best_level=lambda: reached)
    monkeypatch.setattr(library, "ffi", SimpleNamespace(dlopen=lambda _: opened))
    monkeypatch.setattr(library, "path_of", lambda _: tmp_path)
    monkeypatch.delenv("GEM_INDEX_KERNELS", raising=False)
    assert library.open_kernels()[0] == taken


def test_the_level_is_what_the_processor_says():
    words = Path("/proc/cpuinfo").read_text().split()
    least = 1 if platform.machine() == "x86_64" else 0
    levels = {4: {"avx512f", "avx512vl", "avx512bw"}, 3: {"avx2", "fma", "bmi2"}, least: set()}
    expected = next(level for level, needed in levels.items() if needed <= set(words))
    baseline = library.ffi.dlopen(str(library.path_of("baseline")))
    assert baseline.best_level() == expected


@pytest.mark.parametrize(
    ("level", "message"),
    [
        ("x86-64-v2", "GEM_INDEX_KERNELS is 'x86-64-v2'; expected baseline, x86-64-v3, x86-64-v4 or debug"),
        ("debug", "GEM_INDEX_KERNELS is debug; expected one that is built here and that this processor runs: "),
    ],
)  # fmt: skip
def test_a_level_that_is_not_there(level, message, monkeypatch, tmp_path):
    monkeypatch.setenv("GEM_INDEX_KERNELS", level)
    there = library.path_of
    monkeypatch.setattr(
        library, "path_of", lambda name: tmp_path / "no" if name == "debug" else there(name)
    )
    with pytest.raises(library.ConfigError) as caught:
        library.open_kernels()
    assert str(caught.value).startswith(message)


def test_a_level_that_the_processor_does_not_run(monkeypatch):
    monkeypatch.setenv("GEM_INDEX_KERNELS", "x86-64-v3")
    monkeypatch.setitem(library._LEVELS, "x86-64-v3", 9)
    with pytest.raises(library.ConfigError, match="that this processor runs: .*baseline"):
        library.open_kernels()


def test_an_array_of_another_type_is_refused():
    with pytest.raises(TypeError):
        score_rows(
            np.zeros((2, 3), np.int32), np.arange(2), np.zeros(3, np.float32), np.zeros(2, np.float32)
        )  # fmt: skip


def test_rows_that_do_not_lie_one_after_the_other_are_copied_to_be_read_and_never_filled():
    rng = np.random.default_rng(1)
    rows = rng.integers(-9, 9, (40, 10)).astype(np.int16)[::2, ::2]
    query, out = rng.normal(size=5).astype(np.float32), np.empty(20, np.float32)
    score_rows(rows, np.arange(20), query, out)
    np.testing.assert_allclose(out, rows @ query, rtol=1e-5, atol=1e-5)
    with pytest.raises(ValueError, match="contiguous"):
        score_rows(rows, np.arange(20), query, np.empty(40, np.float32)[::2])
    out.flags.writeable = False
    with pytest.raises((ValueError, BufferError), match="read-only|writable"):
        score_rows(rows, np.arange(20), query, out)


def test_more_lines_than_have_room_are_not_parsed():
    text = np.frombuffer(b"a 1 2\nb 3 4\n", np.uint8)
    spans, rows = np.empty((1, 2), np.int64), np.empty((1, 2), np.float32)
    assert parse_lines(text, spans, rows) == -1


def test_exponentials_are_those_of_mathematics():
    """alpha_n of two words at an angle is exp(sin), to the last bits."""
    angles = np.linspace(1e-3, np.pi / 2, 4001)
    rows = np.ones((2 * len(angles), 2))
    rows[::2] = [1.0, 0.0]
    rows[1::2] = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rows = rows.astype(np.float32)
    ids, offsets = np.arange(len(rows), dtype=np.int32), np.arange(0, len(rows) + 1, 2)
    weights = np.empty((len(rows), 3))
    batch = Sentences(ids, offsets, rows, np.zeros((len(rows), 1)))
    weigh_sentences(batch, np.ones(1), np.zeros((len(angles), 1), np.int64), 1, weights)
    wide = rows[1::2].astype(np.float64)
    sines = np.abs(wide[:, 1]) / np.hypot(*wide.T)
    exact = np.array([math.exp(sine) for sine in sines])
    clear = sines > 1e-2  # below, the inner products have fewer digits
    np.testing.assert_allclose(weights[1::2, 0][clear], exact[clear], rtol=1e-11)


NO_ROOM = """
import resource
import numpy as np
from gem_index.kernels.fits import symmetric_eigen

n = 2500
matrix = np.eye(n)
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
limit = used + matrix.nbytes + matrix.nbytes // 2  # room for the result, not for the scratch arrays
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
try:
    symmetric_eigen(matrix)
except MemoryError as error:
    print(error)
"""


def test_scratch_arrays_that_memory_has_no_room_for():
    done = run(None, "-c", NO_ROOM)
    assert done.stdout == "no memory is left for the scratch arrays of a kernel\n", done.stderr


class NoMemory:
    """Kernels that have no memory for their scratch arrays."""

    def __getattr__(self, name):
        return lambda *_: -1


def calls_with_scratch_arrays():
    ids, offsets = np.array([0, 1], np.int32), np.array([0, 2])
    rows, wide = np.eye(2, dtype=np.float32), np.eye(2)
    batch = Sentences(ids, offsets, rows, wide)
    sigma, chosen = np.ones(2), np.zeros((1, 1), np.int64)
    return {
        "coarse_vectors": lambda: fits.coarse_vectors(ids, offsets, rows, 1.0, np.empty((1, 2))),
        "add_products": lambda: fits.add_products(wide, np.zeros((2, 2))),
        "symmetric_eigen": lambda: fits.symmetric_eigen(wide),
        "project": lambda: sentences.project(rows, wide),
        "select_directions": lambda: sentences.select_directions(batch, sigma, False, chosen),
        "weigh_sentences": lambda: weigh_sentences(batch, sigma, chosen, 1, np.empty((2, 3))),
        "compose_sentences": lambda: sentences.compose_sentences(
            batch, np.ones(2), rows, chosen, 1.0, np.empty((1, 2), np.float32)
        ),
    }


@pytest.mark.parametrize("name", calls_with_scratch_arrays())
def test_each_kernel_without_memory_for_scratch_arrays_raises_an_error(monkeypatch, name):
    for module in (fits, sentences):
        monkeypatch.setattr(module, "kernels", NoMemory())
    with pytest.raises(MemoryError, match="^no memory is left for the scratch arrays of a kernel$"):
        calls_with_scratch_arrays()[name]()


def test_a_checkout_without_kernels_says_what_makes_them(monkeypatch):
    monkeypatch.setitem(sys.modules, "gem_index.kernels._declarations", None)
    spec = importlib.util.spec_from_file_location("without_kernels", library.__file__)
    with pytest.raises(GemIndexError) as caught:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    assert str(caught.value) == (
        f"{Path(library.__file__).parent} holds no compiled kernels; expected those that an installation builds: run "
        "'pip install -e .' in the checkout"
    )
