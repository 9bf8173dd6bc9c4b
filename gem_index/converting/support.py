"""Helpers of converters: decoding, libraries that may be missing, entries of archives that may be damaged."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeAlias

from gem_index.converting.pages import Page
from gem_index.errors import Action, Advice, InputError, MissingExtraError
from gem_index.errors.quoting import quoted_error

__all__ = ["LARGEST_ENTRY", "Pages", "decoded", "entry_page", "needs"]

Pages: TypeAlias = Iterable[Page]
"""The pages of a file."""

LARGEST_ENTRY = 64 << 20
"""Bytes of a file inside a book or an archive."""


def decoded(content: bytes, encoding: str | None) -> str:
    """Return the text of a file.

    Raises
    ------
    InputError
        If it is of another encoding.
    """
    for mark, name in (
        (b"\xef\xbb\xbf", "utf-8"),
        (b"\xff\xfe", "utf-16"),
        (b"\xfe\xff", "utf-16"),
    ):
        if content.startswith(mark) and encoding in (None, "auto"):
            return content.decode(name + ("-sig" if name == "utf-8" else ""))
    try:
        return content.decode("utf-8" if encoding in (None, "auto") else str(encoding))
    except UnicodeDecodeError as error:
        if encoding != "auto":
            raise InputError(
                f"byte {error.start + 1} is not {encoding or 'UTF-8'}; expected {encoding or 'UTF-8'} text",
                Advice(Action.NAME_ENCODING, {"encoding": "auto"}),
            ) from error
    from charset_normalizer import from_bytes

    best = from_bytes(content).best()
    if best is None:
        raise InputError(
            "its encoding was not recognised; expected text",
            Advice(Action.NAME_ENCODING, {"encoding": "cp1252"}),
        )
    return str(best)


def entry_page(key: str, read: Callable[[], Page]) -> Page:
    """Return an entry of an archive, or the problem with it."""
    try:
        page = read()
    except (MissingExtraError, MemoryError):
        raise
    except Exception as error:  # noqa: BLE001 - a parser may raise anything on a hostile entry, and it is named
        return Page("", "", key, problem=f"it cannot be read: {quoted_error(error)}")
    return replace(page, key=page.key or key)


class needs:  # noqa: N801 - reads like a statement
    """Turn a missing library into the error that names its extra."""

    def __init__(self, what: str, extra: str = "documents") -> None:
        self._what, self._extra = what, extra

    def __enter__(self) -> None: ...

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: object) -> None:
        if isinstance(error, ImportError):
            raise MissingExtraError(f"reading {self._what}", self._extra) from error
