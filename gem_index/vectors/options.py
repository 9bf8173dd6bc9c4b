"""How a source's vectors are used: length, factor, unknown words, letter case, how many, and how precisely stored."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

import numpy as np

from gem_index.errors import ConfigError
from gem_index.vectors.base import FloatArray

__all__ = ["SourceOptions", "row_of_unknown"]

CASES = ("keep", "lower", "fallback")
DTYPES = ("float32", "float16", "int8")
UNKNOWN_WORDS = ("hash", "zero", "subword")


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Options of one source of word vectors (spec section 2); part of its fingerprint.

    Parameters
    ----------
    unit : bool
        Bring every word's vector to length 1 (a zero vector stays).
    scale : float
        Factor on every vector, after ``unit``; above 0. GEM is not scale-invariant: alpha_s grows with the norm.
    oov : str
        What an unknown word gets: ``hash`` the row that its SHA-256 digest names (the paper), ``zero``, or ``subword`` a
        vector composed of its character n-grams, where the source has them.
    case : str
        ``keep`` looks a word up as it is; ``lower`` lower-cased; ``fallback`` as it is, then lower-cased, then capitalised.
    limit : int, optional
        Take only so many words from the beginning.
    dtype : str, optional
        How numbers are stored: ``float32``, ``float16`` or ``int8`` (each row with a factor of its own). By default as in
        the file: float16 where it holds no more, else float32.
    """

    unit: bool = False
    scale: float = 1.0
    oov: str = "hash"
    case: str = "keep"
    limit: int | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        if not (isinstance(self.scale, int | float) and 0 < self.scale < math.inf):
            raise ConfigError(f"scale is {self.scale!r}; expected a finite number above 0")
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit is {self.limit!r}; expected at least 1")
        for name, known in (("oov", UNKNOWN_WORDS), ("case", CASES), ("dtype", DTYPES)):
            value = getattr(self, name)
            if value not in known and not (name == "dtype" and value is None):
                raise ConfigError(f"{name} is {value!r}; expected {', '.join(known)}")

    def given(self) -> dict[str, Any]:
        """Return the options that differ from the default."""
        return {f.name: v for f in fields(self) if (v := getattr(self, f.name)) != f.default}

    def to_json(self) -> str:
        """Return all options as JSON with sorted keys."""
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return what :meth:`to_json` wrote."""
        return cls(**json.loads(text))

    def spelled(self, words: Sequence[str]) -> Sequence[str]:
        """Return words in the case in which they are looked up."""
        return [word.lower() for word in words] if self.case == "lower" else words

    def adjust(self, rows: FloatArray) -> FloatArray:
        """Return vectors (n, d) brought to unit length and scaled."""
        if self.unit:
            norms = np.linalg.norm(rows, axis=1, keepdims=True)
            rows = np.divide(rows, norms, out=np.zeros_like(rows), where=norms > 0)
        return rows * np.float32(self.scale) if self.scale != 1 else rows


def row_of_unknown(word: str, rows: int) -> int:
    """Return the row of a word that a source does not hold: its SHA-256 digest modulo the number of rows."""
    return int.from_bytes(hashlib.sha256(word.encode()).digest(), "big") % rows
