"""Options of a source of word vectors: length, factor, unknown words, letter case, number of words, precision."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, Self

import numpy as np

from gem_index.common.checks import check_number
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.vectors.base import BoolArray, FloatArray
from gem_index.vectors.runs import RUNS

__all__ = ["SourceOptions", "check_factor", "row_of_unknown"]

CONTRACTIONS = ("word", "apostrophe")
CASES = ("keep", "lower", "fallback")
DTYPES = ("float32", "float16", "int8")
UNKNOWN_WORDS = ("hash", "zero", "subword")
_DEFAULT_OOV = "hash"
_DEFAULT_RUNS = "word"

_STORED_NAMES = {"contractions": "tails"}
"""The stored names of renamed options: homes and fingerprints have the names of the first version."""

_CONTRACTION_ENDINGS = {ending: f"'{ending}" for ending in ("s", "t", "ve", "re", "ll", "d", "m")}


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """Options of a source of word vectors (docs/algorithm.md, section 2). The source's fingerprint depends on the options.

    Parameters
    ----------
    unit : bool
        Normalise every word's vector to length 1 (a zero vector stays zero).
    scale : float
        A factor for every vector, from 1e-9 to 1e9; it is applied after ``unit``. The factor changes GEM's results,
        because the significance of a word (alpha_s) grows with the length of its vector.
    oov : str, optional
        The vector of an unknown word. ``hash``: the row that the word's SHA-256 digest selects, as in the paper;
        ``zero``: zeros; ``subword``: a vector composed of the word's character n-grams. Default: ``subword`` if the
        source has n-grams, else ``hash``. A source in a home keeps the choice that was made when it was stored.
    case : str
        The form in which a word is looked up. ``keep``: unchanged; ``lower``: lower-cased; ``fallback``: first
        unchanged, then lower-cased, then capitalised.
    contractions : str
        How the endings of contractions are looked up. Tokenization separates the endings: "it's" becomes "it" and "s",
        "don't" becomes "don" and "t". ``word`` looks up s and t like any word, as in the paper. ``apostrophe``
        looks up 's and 't; an ending that the source does not have gets zeros.
    runs : str, optional
        How an unknown run of characters is looked up in scripts without blanks between words (Chinese, Japanese, Thai).
        ``word`` looks up the run like any word. ``split`` finds known words in the run, from left to right, the longest
        word at each place; their mean is the vector. Default: ``split`` if more than a fifth of the most frequent words
        are in such scripts, else ``word``. A source in a home keeps the choice that was made when it was stored.
    limit : int, optional
        Use only the first ``limit`` words.
    dtype : str, optional
        The type of the stored numbers: ``float32``, ``float16`` or ``int8`` (with a factor for each row). Default:
        ``float16`` if the file has float16, else ``float32``.
    """

    unit: bool = False
    scale: float = 1.0
    oov: str | None = None
    case: str = "keep"
    contractions: str = "word"
    runs: str | None = None
    limit: int | None = None
    dtype: str | None = None

    def __post_init__(self) -> None:
        check_factor("scale", self.scale)
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"limit is {quoted(self.limit)}; expected at least 1")
        choices = {
            "oov": UNKNOWN_WORDS,
            "case": CASES,
            "contractions": CONTRACTIONS,
            "runs": RUNS,
            "dtype": DTYPES,
        }
        for name, known in choices.items():
            value = getattr(self, name)
            if value not in known and not (name in ("dtype", "oov", "runs") and value is None):
                raise ConfigError(f"{name} is {quoted(value)}; expected {', '.join(known)}")

    def decided(self, *, has_ngrams: bool, has_runs: bool = False) -> Self:
        """Return the options, with the source's defaults for ``oov`` and ``runs`` if these were not given."""
        oov = self.oov or ("subword" if has_ngrams else _DEFAULT_OOV)
        return replace(self, oov=oov, runs=self.runs or ("split" if has_runs else _DEFAULT_RUNS))

    def given(self) -> dict[str, Any]:
        """Return the options that differ from the defaults; the fingerprint is computed from these options."""
        found = {
            _STORED_NAMES.get(f.name, f.name): v
            for f in fields(self)
            if (v := getattr(self, f.name)) != f.default
        }
        usual = {"oov": _DEFAULT_OOV, "runs": _DEFAULT_RUNS}
        return {name: value for name, value in found.items() if usual.get(name) != value}

    def to_json(self) -> str:
        """Return the options as JSON with sorted keys; as in older homes, ``runs`` is missing if its value is ``word``."""
        stored = {_STORED_NAMES.get(name, name): value for name, value in asdict(self).items()}
        if self.runs != "split":
            del stored["runs"]
        return json.dumps(stored, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the options from a text that :meth:`to_json` wrote."""
        return cls.of_stored(json.loads(text))

    @classmethod
    def of_stored(cls, values: Mapping[str, Any]) -> Self:
        """Return the options from their stored names."""
        own_names = {stored: name for name, stored in _STORED_NAMES.items()}
        return cls(**{own_names.get(name, name): value for name, value in values.items()})

    def spelled(self, words: Sequence[str]) -> Sequence[str]:
        """Return words in the form of the look-up: ``lower`` changes the case, ``apostrophe`` adds the apostrophe."""
        if self.case == "lower":
            words = [word.lower() for word in words]
        if self.contractions == "apostrophe":
            words = [_CONTRACTION_ENDINGS.get(word, word) for word in words]
        return words

    def silent(self, words: Sequence[str], unknown: BoolArray) -> list[int]:
        """Return the positions of unknown endings of contractions, which get zero vectors."""
        if self.contractions == "word":
            return []
        endings = _CONTRACTION_ENDINGS.values()
        return [place for place in np.flatnonzero(unknown).tolist() if words[place] in endings]

    def adjust(self, rows: FloatArray) -> FloatArray:
        """Return vectors (n, d) with ``unit`` and ``scale`` applied."""
        if self.unit:
            # because the square of a float32 may be too large for float32
            wide = rows.astype(np.float64)
            norms = np.linalg.norm(wide, axis=1, keepdims=True)
            rows = np.divide(wide, norms, out=wide, where=norms > 0).astype(np.float32)
        return rows * np.float32(self.scale) if self.scale != 1 else rows


SMALLEST_FACTOR, LARGEST_FACTOR = 1e-9, 1e9


def check_factor(name: str, value: float) -> None:
    """Check that a factor on vectors is in the accepted range.

    Raises
    ------
    ConfigError
        If the factor is not a number from 1e-9 to 1e9.
    """
    bounds = "a number from 1e-9 to 1e9"
    check_number(value, name, SMALLEST_FACTOR, LARGEST_FACTOR, expected=bounds)


def row_of_unknown(word: str, rows: int) -> int:
    """Return the row of an unknown word: its SHA-256 digest modulo the number of rows."""
    return (
        int.from_bytes(hashlib.sha256(word.encode(errors="surrogatepass")).digest(), "big") % rows
    )
