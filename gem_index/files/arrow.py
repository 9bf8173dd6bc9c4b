"""pyarrow, which is imported where it is needed: it is not installed with gem-index alone."""

from __future__ import annotations

from typing import Any

from gem_index.errors import MissingExtraError

__all__ = ["load_pyarrow"]


def load_pyarrow(purpose: str) -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``.

    Parameters
    ----------
    purpose : str
        What needs them, for the error; such as "reading Parquet".

    Raises
    ------
    MissingExtraError
        If pyarrow is not installed.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(purpose, "parquet") from error
    return pyarrow, pyarrow.parquet
