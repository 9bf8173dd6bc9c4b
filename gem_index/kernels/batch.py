"""What the kernels of a sentence are given: its words and what is known of them."""

from __future__ import annotations

from typing import NamedTuple

from gem_index.arrays import F32, F64, I32, I64

__all__ = ["Sentences"]


class Sentences(NamedTuple):
    """A batch of sentences and what is known of its words: sentence s is ``ids[offsets[s]:offsets[s + 1]]``."""

    ids: I32  # (tokens,)
    offsets: I64  # (sentences + 1,)
    rows: F32  # (u, d) the distinct words' vectors
    projections: F64  # (u, K) their inner products with the corpus' directions
