"""Sources that compose a word from pieces; the bundled default is wordllama's table (spec section 2)."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.errors import VectorFormatError
from gem_index.vectors.base import BoolArray, FloatArray

__all__ = ["SubwordVectors", "open_wordllama"]


class SubwordVectors:
    """A word's vector is the sum of the vectors of its pieces; with byte pieces no word is unknown.

    Parameters
    ----------
    weights : Path
        A safetensors file with the table ``embedding.weight`` (pieces, d).
    tokenizer : Path
        A ``tokenizers`` JSON file that splits a word into pieces of that table.
    """

    def __init__(self, weights: Path, tokenizer: Path) -> None:
        from safetensors import SafetensorError
        from safetensors.numpy import load_file

        try:
            self._table = load_file(weights)["embedding.weight"]
        except (OSError, KeyError, SafetensorError) as error:
            raise VectorFormatError(
                f"{weights} holds no table 'embedding.weight': {error}"
            ) from error
        self._tokenizer_file = tokenizer
        self.dimension = int(self._table.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the table and the tokenizer."""
        state = hashlib.sha256(f"subword sum {self._table.dtype} {self._table.shape}\n".encode())
        state.update(np.ascontiguousarray(self._table).data)
        state.update(self._tokenizer_file.read_bytes())
        return state.hexdigest()

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(self._tokenizer_file))

    def lookup(self, tokens: Sequence[str]) -> tuple[FloatArray, BoolArray]:
        """Return the sums of the words' pieces; see :class:`~gem_index.vectors.base.VectorSource`."""
        # One word at a time: encode_batch would start threads that survive, and warn at the next fork.
        pieces = [self._tokenizer.encode(token, add_special_tokens=False).ids for token in tokens]
        counts = np.array([len(ids) for ids in pieces], dtype=np.int64)
        rows = np.zeros((len(tokens), self.dimension), dtype=np.float32)
        filled = np.flatnonzero(counts)
        if len(filled):
            flat = np.fromiter((i for ids in pieces for i in ids), dtype=np.int64)
            begins = (np.cumsum(counts) - counts)[filled]
            rows[filled] = np.add.reduceat(self._table[flat].astype(np.float32), begins, axis=0)
        return rows, counts == 0

    def frequent_words(self) -> Sequence[str] | None:
        """Return None: pieces have no order of word frequency."""
        return None


def open_wordllama() -> SubwordVectors:
    """Open the vectors inside the installed ``wordllama`` package, 256 dimensions, MIT licence, without network.

    The package itself is not imported: its loader fetches a tokenizer that the wheel already carries.
    """
    found = importlib.util.find_spec("wordllama")
    if found is None or found.origin is None:
        raise VectorFormatError("the package wordllama is not installed: pip install wordllama")
    root = Path(found.origin).parent
    return SubwordVectors(
        root / "weights" / "l2_supercat_256.safetensors",
        root / "tokenizers" / "l2_supercat_tokenizer_config.json",
    )
