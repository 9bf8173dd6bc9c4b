"""The bases of all errors: an error carries its advice as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_index.errors.advice import Action, Advice, Message

__all__ = ["ConfigError", "GemIndexError", "InputError"]


class GemIndexError(Exception):
    """Base of every error that gem-index raises on purpose.

    Parameters
    ----------
    message : str
    advice : Advice, optional
        What to do; it ends the message.
    """

    exit_status = 1

    def __init__(self, message: str, advice: Advice | None = None) -> None:
        super().__init__(str(Message(message, advice)))
        self.advice = advice

    def told(self, words: Mapping[Action, str]) -> str:
        """Return the message with its advice in some words, as :meth:`gem_index.errors.Advice.said` chooses them."""
        return str(self) if self.advice is None else self.advice.retold(str(self), words)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle message and fields, not the constructor's arguments: errors come back from worker processes."""
        return _restore, (type(self), self.args, vars(self))


def _restore(kind: type[GemIndexError], args: tuple[Any, ...], fields: dict[str, Any]) -> Any:
    error = kind.__new__(kind)
    error.args = args
    vars(error).update(fields)
    return error


class InputError(GemIndexError):
    """The user's input is wrong; nothing was changed."""

    exit_status = 2


class ConfigError(InputError):
    """A configuration value is out of its range or of the wrong kind."""
