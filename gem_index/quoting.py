"""How messages quote values of unknown origin: printable, on one line, in bounded time and length."""

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
"""What the system says, which libraries wrap in their own words."""

_SHORT = (bool, float, complex, type(None), type, PurePath)


class _Quotation(reprlib.Repr):
    """``reprlib`` for values of any size: also integers that Python refuses to write out, and foreign objects."""

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
    """Return a value as a message shows it.

    Parameters
    ----------
    value : object
        Anything that a file, a server or a caller gave. Strings and containers are shortened, of an object only its type
        is named: its own ``repr`` may be long, slow or wrong.
    limit : int
        The most characters that are returned.

    Examples
    --------
    >>> quoted("x" * 100, 12)
    "'xxxxxxx...'"
    """
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in _QUOTATION.repr(value))
    return shown if len(shown) <= limit else f"{shown[: limit - 4]}...{shown[-1]}"


def quoted_path(path: object, limit: int = 200) -> str:
    """Return the name of a file as a message shows it: as it is where it can be printed and is not long."""
    text = str(path)
    return text if text.isprintable() and len(text) <= limit else quoted(text, limit)


def quoted_error(error: BaseException, limit: int = 160) -> str:
    """Return why something failed: the system's reason in lower case where there is one, else the first line, printable."""
    text = getattr(error, "strerror", None) or str(error).strip()
    named = next((reason for reason in _REASONS if reason in text), None)
    text = text if named is None else named.lower()
    line = (text.splitlines() or [type(error).__name__])[0]
    return line if line.isprintable() and len(line) <= limit else quoted(line, limit)[1:-1]
