"""Turn the errors of a database's client into errors of gem-index: one line, with advice, without secrets."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gem_index.errors import ConfigError

__all__ = ["FILE_ADVICE", "FOLDER_ADVICE", "Advices", "ClientErrors"]

Advices = Sequence[tuple[str, str]]
"""Pairs of a part of an error's text and the advice for such errors; the first pair that fits is used."""

_LONGEST = 240  # characters of a client's error in a message


def _disk_advice(writable: str) -> Advices:
    """Return the advice for errors of the operating system, as it and SQLite word them."""
    return (
        ("ermission denied", writable),
        ("ead-only", writable),
        ("readonly", writable),
        ("unable to open", writable),
        ("No space left", "free some space"),
        ("is full", "free some space"),
        ("Not a directory", "name a folder"),
        ("File exists", "name a folder"),
    )


FILE_ADVICE = _disk_advice("make the file and its folder writable")
"""For an engine whose database is a file."""
FOLDER_ADVICE = _disk_advice("make the folder and its files writable")
"""For an engine whose database is a folder."""


class ClientErrors:
    """The words for the errors of one database's client.

    Parameters
    ----------
    place : str
        What messages call the database, such as ``the folder /data/faq``; without secrets.
    expected : str
        What it has to be.
    advice : sequence of (str, str)
        Pairs of a part of an error's text and the advice for such errors; the first pair that fits is used.
    otherwise : str
        What to do about all other errors.
    secrets : sequence of str
        Shown as ``***``.
    """

    def __init__(
        self,
        place: str,
        expected: str,
        advice: Advices = (),
        *,
        otherwise: str,
        secrets: Sequence[str] = (),
    ) -> None:
        self._place = place
        self._expected = expected
        self._advice = advice
        self._otherwise = otherwise
        self._secrets = [secret for secret in secrets if secret]

    def text(self, error: BaseException) -> str:
        """Return the text of a client's error; override this if its errors have no text."""
        return str(error)

    def reason(self, error: BaseException) -> str:
        """Return the text of a client's error in one line of at most 240 characters, without secrets."""
        return self._line(error)[:_LONGEST]

    def refusal(self, error: BaseException, advice: str | None = None) -> ConfigError:
        """Return the error of a database that cannot be used.

        Parameters
        ----------
        error : BaseException
            That of the client.
        advice : str, optional
            What to do; by default chosen by the client's message.
        """
        if advice is None:
            line = self._line(
                error
            )  # the whole text, because the part that decides the advice may be cut off in the message
            advice = next((do for part, do in self._advice if part in line), self._otherwise)
        return ConfigError(
            f"found {self._place}: {self.reason(error)}; expected {self._expected}; {advice}"
        )

    @contextmanager
    def caught(self, *kinds: type[Exception]) -> Iterator[None]:
        """Raise errors of these types as ConfigError."""
        try:
            yield
        except kinds as error:
            raise self.refusal(error) from error

    def _line(self, error: BaseException) -> str:
        line = " ".join(self.text(error).split()) or type(error).__name__
        for secret in self._secrets:
            line = line.replace(secret, "***")
        return line
