"""Compilation of kernels; the only module that imports numba.

Kernels release the GIL and keep no state; callers run them over disjoint ranges in threads. Their machine code is cached on
disk, so that kernels are compiled only once after an installation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

__all__ = ["compiled", "compiled_part"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


_OPTIONS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}


def compiled(function: _Function) -> _Function:
    """Compile a function on its first call.

    Sums may be reordered for SIMD and products fused, in one fixed way per machine; NaN and infinity keep their meaning.
    A division by zero gives infinity, as in NumPy: a kernel tests for zero where it can occur.
    """
    return cast("_Function", numba.njit(**_OPTIONS)(function))


def compiled_part(function: _Function) -> _Function:
    """Compile a function that only other kernels call: without a Python entry point, in half the time."""
    without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("_Function", numba.njit(**(_OPTIONS | without))(function))
