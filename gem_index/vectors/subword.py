"""Sources that compose a word from pieces; the bundled default is wordllama's table (docs/algorithm.md, section 2)."""

from __future__ import annotations

import importlib.util
from array import array
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.common.forking import cached_property
from gem_index.errors import Action, Advice, ConfigError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.base import BoolArray, FloatArray
from gem_index.vectors.formats.arrays import read_tensors
from gem_index.vectors.formats.base import Pieces, VectorFile, matrix_chunks
from gem_index.vectors.formats.inputs import foreign_reader
from gem_index.vectors.formats.pieces import of_pieces
from gem_index.vectors.mapped import fingerprint_of
from gem_index.vectors.options import SourceOptions, row_of_unknown
from gem_index.vectors.rows import Rows

__all__ = ["SubwordVectors", "open_wordllama", "open_wordllama_gem", "wordllama_file"]


_CACHED_WORDS = 200_000
_MOST_ROWS_READ = 2000  # for fewer pieces, only their rows are read; for more, the whole table is converted to float32 once


class SubwordVectors:
    """A word's vector is the sum or mean of the vectors of its pieces; with byte pieces no word is unknown.

    Parameters
    ----------
    rows : Rows
        Row i is the vector of piece i.
    pieces : Pieces
        The tokenizer and the rule.
    options : SourceOptions, optional
    fingerprint : str, optional
        The fingerprint computed earlier from the same parts.

    Raises
    ------
    ConfigError
        If an option does not apply to pieces.
    """

    def __init__(
        self,
        rows: Rows,
        pieces: Pieces,
        options: SourceOptions | None = None,
        *,
        fingerprint: str | None = None,
    ) -> None:
        self.rows = rows
        self.pieces = pieces
        self.options = (options or SourceOptions()).decided(has_ngrams=False)
        options = self.options
        if options.case == "fallback" or options.limit is not None or options.runs == "split":
            raise ConfigError(
                "found case=fallback, runs=split or a limit with vectors that compose every word from pieces; "
                "expected case=keep or lower, runs=word, and no limit"
            )
        self._fingerprint = fingerprint
        # arrays of int64 as bytes: each collection of garbage, when no thread runs, would visit 200,000 tuples
        self._piece_cache: dict[str, bytes] = {}

    def __repr__(self) -> str:
        return f"SubwordVectors(any word, {self.dimension} dimensions)"

    @property
    def dimension(self) -> int:
        """Length of a word's vector."""
        return self.rows.dimension

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the table, the tokenizer, the rule and the options."""
        return self._fingerprint or fingerprint_of(self._contents(), self.options)

    @cached_property
    def _tokenizer(self) -> Any:
        path = self.pieces.tokenizer
        with foreign_reader(f"{path} is not a tokenizer in JSON", "the file that was added"):
            found = path.stat()
            return _open_tokenizer(path, found.st_ino, found.st_size, found.st_mtime_ns)

    @cached_property
    def _table(self) -> FloatArray:
        return self.rows.take(np.arange(len(self.rows)))

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the sums or means of the words' pieces; see :class:`~gem_index.vectors.base.VectorSource`."""
        from gem_index.kernels.rows import sum_rows

        words = self.options.spelled(tokens)
        pieces = [self._pieces_of(word) for word in words]
        counts = np.fromiter(map(len, pieces), np.int64, len(pieces)) // np.int64().itemsize
        vectors = np.zeros((len(words), self.dimension), dtype=np.float32)
        flat = np.frombuffer(b"".join(pieces), np.int64)
        if len(flat) < _MOST_ROWS_READ:
            sum_rows(self.rows.take(flat), np.arange(len(flat)), counts, vectors)
        else:
            sum_rows(self._table, flat, counts, vectors)
        with np.errstate(over="ignore", invalid="ignore"):
            finite = np.isfinite(vectors.sum())
        if not finite:  # the sum of numbers near the largest float32 may be infinite or NaN
            np.nan_to_num(vectors, copy=False)
        if self.pieces.rule == "mean":
            vectors /= np.maximum(counts, 1)[:, None].astype(np.float32)
        unknown = counts == 0
        if self.options.oov == "hash" and unknown.any():
            missing = np.flatnonzero(unknown)
            rows = [row_of_unknown(words[i], len(self.rows)) for i in missing.tolist()]
            vectors[missing] = self.rows.take(np.array(rows, dtype=np.int64))
        return self.options.adjust(vectors), unknown

    def load(self) -> None:
        """Read the tokenizer's file now instead of at the first word."""
        _ = self._tokenizer

    def _pieces_of(self, word: str) -> bytes:
        """Return a word's pieces, int64, from a cache: words repeat, and splitting one costs as much as ten look-ups."""
        known = self._piece_cache.get(word)
        if known is None:
            # One word at a time: encode_batch would start threads that stay alive and cause a warning at the next fork.
            try:
                found = self._tokenizer.encode(word, add_special_tokens=False).ids
            except BaseException:
                # the message is made only here, because quoting a word takes as long as splitting it
                with foreign_reader(
                    f"the tokenizer of these vectors cannot split the word {quoted(word)}",
                    "one that splits any word",
                ):
                    raise
            if (left_out := self.pieces.left_out) is not None:
                found = [piece for piece in found if piece != left_out]
            known = array("q", found).tobytes()
            if len(self._piece_cache) >= _CACHED_WORDS:
                self._piece_cache.clear()
            self._piece_cache[word] = known
        return known

    def frequent_words(self) -> Sequence[str] | None:
        """Return None: pieces have no order of word frequency."""
        return None

    def as_file(self, origin: str, format: str) -> VectorFile:
        """Return the pieces with the options applied, as a file to write or to import.

        Raises
        ------
        ConfigError
            If the options ``unit`` or ``contractions`` change words: pieces cannot carry these options.
        """
        if self.options.unit or self.options.contractions != "word":
            raise ConfigError(
                f"{origin} has the options unit or contractions, which its pieces cannot carry; "
                "expected the original source, or words",
                Advice(Action.CUT_TO_WORDS),
            )
        half = self.rows.matrix.dtype == np.float16 and self.options.scale == 1
        dtype: np.dtype[np.floating] = np.dtype(np.float16 if half else np.float32)
        table = self.options.adjust(self.rows.take(np.arange(len(self.rows))))
        return VectorFile(
            origin,
            format,
            self.dimension,
            dtype,
            lambda: matrix_chunks(table, (), f"{origin} row", dtype),
            words=len(table),
            composition=self.pieces,
        )

    def _contents(self) -> Iterator[bytes]:
        matrix = self.rows.matrix
        yield f"subword {self.pieces.rule} {matrix.dtype} {matrix.shape}\n".encode()
        yield from self.rows.contents()
        yield self.pieces.tokenizer.read_bytes()
        if self.pieces.left_out is not None:
            yield f"\nwithout {self.pieces.left_out}".encode()


@lru_cache(maxsize=4)
def _open_tokenizer(path: Path, *_state: int) -> Any:
    """Open a tokenizer; a process parses it again only if its file changes, because parsing takes 40 ms."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(path))
    # a word is composed of all its pieces, also if the model's own settings truncate or pad sentences
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def open_wordllama() -> SubwordVectors:
    """Open the vectors inside the installed ``wordllama`` package, 256 dimensions, MIT licence, without network.

    The package itself is not imported: its loader downloads a tokenizer that the wheel already contains.
    """
    return _open_bundled(SourceOptions())


def open_wordllama_gem() -> SubwordVectors:
    """Open the same table with the best options for GEM: contraction endings with apostrophe, vector lengths near 1.

    The options were chosen only on dev sets, see docs/evaluation.md. At the table's original lengths, about 15,
    alpha_u = exp(-sum of squares) is zero for every word.
    """
    return _open_bundled(SourceOptions(contractions="apostrophe", scale=0.1))


def _open_bundled(options: SourceOptions) -> SubwordVectors:
    files = _bundled_files()
    state = [(found.st_ino, found.st_size, found.st_mtime_ns) for found in map(Path.stat, files)]
    return _open_once(options, *files, *state)


@lru_cache(maxsize=2)
def _open_once(
    options: SourceOptions, weights: Path, tokenizer: Path, *_state: object
) -> SubwordVectors:
    """Open the bundled vectors once per process, because reading the table and its fingerprint takes 30 ms."""
    return SubwordVectors(Rows(_read_table(weights)), Pieces(tokenizer, "sum"), options)


def wordllama_file() -> VectorFile:
    """Return the same vectors as a file, to import with other options."""
    weights, tokenizer = _bundled_files()
    return of_pieces("PyPI wordllama", "subword", _read_table(weights), tokenizer, "sum")


def _bundled_files() -> tuple[Path, Path]:
    """Return the files of the table and of the tokenizer."""
    found = importlib.util.find_spec("wordllama")
    if found is None or found.origin is None:
        raise VectorFormatError("the package wordllama is not installed: pip install wordllama")
    root = Path(found.origin).parent
    weights = root / "weights" / "l2_supercat_256.safetensors"
    return weights, root / "tokenizers" / "l2_supercat_tokenizer_config.json"


def _read_table(weights: Path) -> Any:
    table = read_tensors(weights, "embedding.weight").get("embedding.weight")
    if table is None:
        raise VectorFormatError(f"{weights} holds no table 'embedding.weight'; reinstall wordllama")
    return table
