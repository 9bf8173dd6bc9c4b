"""Quote values of unknown origin in messages: printable, on one line, in bounded time and length."""

from __future__ import annotations

import errno
import os
import reprlib
from pathlib import PurePath

__all__ = ["quoted", "quoted_error", "quoted_path"]

_REASONS = tuple(
    os.strerror(code)
    for code in (
        errno.ENOSPC, errno.EIO, errno.EROFS, errno.EACCES, errno.EDQUOT, errno.EFBIG, errno.ENOENT, errno.EISDIR,
        errno.ENAMETOOLONG, errno.EPERM, errno.EMFILE, errno.ENOTDIR,
    )
)  # fmt: skip
"""Reasons that the operating system gives, to be found inside the longer messages of libraries."""

_SHORT = (bool, float, complex, type(None), type, PurePath)


class _Quotation(reprlib.Repr):
    """``reprlib`` for values of any size, including integers that Python refuses to print, and foreign objects."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 3
        self.maxstring = self.maxother = 400

    def repr_int(self, value: int, _level: int) -> str:
        return repr(value) if value.bit_length() <= 200 else f"{value.bit_length()}-bit integer"

    def repr_bytes(self, value: bytes, _level: int) -> str:
        return repr(value[: self.maxstring])

    def repr_instance(self, value: object, _level: int) -> str:
        return repr(value) if isinstance(value, _SHORT) else f"<{type(value).__name__}>"


_QUOTATION = _Quotation()


def quoted(value: object, limit: int = 60) -> str:
    """Return a value as text for a message.

    Parameters
    ----------
    value : object
        Any value from a file, a server or a caller. Strings and containers are shortened; other objects are represented by
        their type, because their own ``repr`` may be long, slow or wrong.
    limit : int
        Maximum length of the result in characters.

    Examples
    --------
    >>> quoted("x" * 100, 12)
    "'xxxxxxx...'"
    """
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in _QUOTATION.repr(value))
    return shown if len(shown) <= limit else f"{shown[: limit - 4]}...{shown[-1]}"


def quoted_path(path: object, limit: int = 200) -> str:
    """Return a file's name as text for a message: unchanged if it is printable and short, else quoted."""
    text = str(path)
    return text if text.isprintable() and len(text) <= limit else quoted(text, limit)


def quoted_error(error: BaseException, limit: int = 160) -> str:
    """Return the reason of an error: the system's reason in lower case if there is one, else the first line, printable."""
    text = getattr(error, "strerror", None) or str(error).strip()
    named = next((reason for reason in _REASONS if reason in text), None)
    text = text if named is None else named.lower()
    line = (text.splitlines() or [type(error).__name__])[0]
    return line if line.isprintable() and len(line) <= limit else quoted(line, limit)[1:-1]
