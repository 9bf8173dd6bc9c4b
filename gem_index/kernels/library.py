"""The compiled kernels at the level of this processor, and arrays as their arguments."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.common.settings import load_settings
from gem_index.errors import ConfigError, GemIndexError

__all__ = [
    "ffi",
    "kernels",
    "level",
    "open_kernels",
    "path_of",
    "reading",
    "succeed",
    "writing",
]

try:
    from gem_index.kernels._declarations import ffi
except ModuleNotFoundError as error:
    raise GemIndexError(
        f"{Path(__file__).parent} holds no compiled kernels; expected those that an installation builds: "
        "run 'pip install -e .' in the checkout"
    ) from error

_LEVELS = {"x86-64-v4": 4, "x86-64-v3": 3, "baseline": 0, "debug": 0}
"""The levels, the best first, each with the least value of the kernels' ``best_level`` on processors that can run it."""

_TYPES: dict[np.dtype[Any], Any] = {
    np.dtype(dtype): ffi.typeof(f"{name}[]")
    for name, dtype in {
        "double": "f8",
        "float": "f4",
        "int16_t": "i2",
        "int32_t": "i4",
        "int64_t": "i8",
        "uint8_t": "u1",
        "uint64_t": "u8",
        "bool": "?",
    }.items()
}
_from_buffer = ffi.from_buffer


def path_of(name: str) -> Path:
    """Return the file of the kernels of a level."""
    return Path(__file__).with_name(f"kernels-{name}.so")


def open_kernels() -> tuple[str, Any]:
    """Return the level of the kernels that this process runs, and the library that holds them."""
    baseline = ffi.dlopen(
        str(path_of("baseline"))
    )  # a variable keeps the library open; its functions alone would not
    reached = baseline.best_level()
    usable = [
        name for name, least in _LEVELS.items() if least <= reached and path_of(name).exists()
    ]
    named = load_settings().kernels or usable[0]
    if named not in usable:
        raise ConfigError(
            f"GEM_INDEX_KERNELS is {named}; expected one that is built here and that this processor runs: "
            f"{', '.join(usable)}"
        )
    return named, ffi.dlopen(str(path_of(named)))


level, kernels = open_kernels()


def reading(array: npt.NDArray[Any]) -> Any:
    """Return an array, or a contiguous copy, as an argument that a kernel reads; cffi refuses one of another type."""
    try:
        return _from_buffer(_TYPES[array.dtype], array)
    except ValueError:  # its rows are not contiguous
        return _from_buffer(_TYPES[array.dtype], np.ascontiguousarray(array))


def writing(array: npt.NDArray[Any]) -> Any:
    """Return a contiguous array as an argument that a kernel fills."""
    return _from_buffer(_TYPES[array.dtype], array, True)


def succeed(status: int) -> None:
    """Raise a MemoryError if a kernel says that no memory was left for its scratch arrays."""
    if status < 0:
        raise MemoryError("no memory is left for the scratch arrays of a kernel")
