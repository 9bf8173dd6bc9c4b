"""The cosine from which two documents say nearly the same."""

from __future__ import annotations

from gem_index.checks import check_number
from gem_index.errors import InputError

__all__ = ["NEAR", "ROUNDING", "check_threshold"]

NEAR = 0.95
"""The default.

In archives of questions (Quora, SemEval) and pairs of captions and headlines (STS Benchmark), pairs from 0.95 differ by
spelling, articles, word order or a number; from 0.95 down to 0.85 more and more of them ask for different things.
"""

ROUNDING = 1e-6
"""Of unit vectors in float32: equal directions reach a threshold of 1."""


def check_threshold(threshold: object, what: str) -> float:
    """Return a cosine from which documents are near; ``what`` is its name in messages.

    Raises
    ------
    InputError
        If it is not a number above 0 and at most 1.
    """
    bounds = f"a cosine above 0 and at most 1, such as {NEAR:g}"
    return check_number(threshold, what, 0, 1, above=True, expected=bounds, error=InputError)
