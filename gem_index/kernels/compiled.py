"""Compilation of kernels; the only module that imports numba.

Kernels release the GIL and keep no state; callers run them over disjoint ranges in threads. Their machine code is cached on
disk, so that kernels are compiled only once after an installation: beside the package or in the user's cache folder, and in
the home where neither can be written, as for a service without a home directory.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar, cast

import numba
from numba.core import caching
from numba.core.runtime import nrt

from gem_index.settings import load_settings

__all__ = ["compiled", "compiled_exactly", "compiled_part"]

_caching: Any = caching  # numba has no annotations
_runtime: Any = nrt

_Function = TypeVar("_Function", bound=Callable[..., Any])


_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract"},
}


def compiled(function: _Function) -> _Function:
    """Compile a function on its first call.

    Sums may be reordered for SIMD and products fused, in one fixed way per machine; NaN and infinity keep their meaning.
    A division by zero gives infinity, as in NumPy: a kernel tests for zero where it can occur.
    """
    return cast("_Function", _compile(function, _OPTIONS))


def compiled_exactly(function: _Function) -> _Function:
    """Compile a function whose sums and products are rounded one by one as they are written."""
    return cast("_Function", _compile(function, _OPTIONS | {"fastmath": False}))


def compiled_part(function: _Function) -> _Function:
    """Compile a function that only other kernels call: without a Python entry point, in half the time."""
    without = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return cast("_Function", _compile(function, _OPTIONS | without))


def _compile(function: _Function, options: dict[str, Any]) -> Any:
    kernel = numba.njit(**options)(function)
    kernel._cache = _cache_of(function)
    return kernel


class _LoadedCode(_caching.CompileResultCacheImpl):  # type: ignore[misc] # of a base without annotations
    """Kernels as they lie on disk: machine code to run, and bitcode that only a kernel compiled later is linked with."""

    def rebuild(self, target: Any, payload: Any) -> Any:
        """Return a kernel whose bitcode is parsed when it is asked for; numba parses it to learn what the code defines."""
        (name, kind, (machine_code, bitcode)), description, *rest = payload
        entry = description.llvm_cpython_wrapper_name
        if entry.encode() in machine_code:  # a part has none
            target.codegen()._engine._defined_symbols.add(entry)
        library = name, kind, (machine_code, _no_bitcode())
        kernel = super().rebuild(target, (library, description, *rest))
        kernel.library._get_module_for_linking = cache(partial(_runtime.ll.parse_bitcode, bitcode))
        return kernel


@cache
def _no_bitcode() -> Any:
    return _runtime.ll.parse_assembly("").as_bitcode()


class _KernelCache(_caching.FunctionCache):  # type: ignore[misc] # of a base without annotations
    """Machine code on disk, loaded without the declarations of numba that only a compilation needs.

    numba's own cache imports and registers them first (lists, random numbers, polynomials, …) and compiles its own runtime:
    a tenth of a search as a process. Loaded code needs of it just the addresses of the functions in C.
    """

    _impl_class = _LoadedCode

    def load_overload(self, signature: Any, target: Any) -> Any:
        _declare_runtime()
        with self._guard_against_spurious_io_errors():
            found = self._load_overload(signature, target)
            if found is not None:
                return found
        return super().load_overload(signature, target)


@cache
def _declare_runtime() -> None:
    """Tell LLVM where the functions of numba's runtime are, as that does when it is initialised to compile."""
    for name, address in _runtime._nrt.c_helpers.items():
        _runtime.ll.add_symbol(name if name.startswith("_") else f"NRT_{name}", address)


def _cache_of(function: Callable[..., Any]) -> Any:
    """Return where the machine code of a function is kept, as ``cache=True`` would."""
    try:
        return _KernelCache(function)
    except RuntimeError as error:
        if "no locator available" not in str(error):
            raise
    folder = _folder_in_home()
    if folder is None:
        return _caching.NullCache()
    settings: Any = numba.config
    found, settings.CACHE_DIR = settings.CACHE_DIR, str(folder)  # read once, here
    try:
        return _KernelCache(function)
    finally:
        settings.CACHE_DIR = found


def _folder_in_home() -> Path | None:
    """Return a folder for machine code, or None where there is none that can be written."""
    folder = load_settings().home / "compiled"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if os.access(folder, os.W_OK) else None
