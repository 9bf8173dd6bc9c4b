"""Errors of a database's client as errors of gem-index: in one line, without secrets, with what to do."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from gem_index.errors import ConfigError

__all__ = ["FILE_ADVICE", "FOLDER_ADVICE", "Advices", "ClientErrors"]

Advices = Sequence[tuple[str, str]]
"""What to do, each behind a part of the texts of the errors that it is for; the first that fits counts."""

_LONGEST = 240  # characters of a client's error in a message


def _disk_advice(writable: str) -> Advices:
    """Return what to do about errors of the operating system, in its words and in those of SQLite."""
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
        What to do, each behind a part of the texts of the errors that it is for; the first that fits counts.
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
        """Return what a client says; override this where its errors do not say it as text."""
        return str(error)

    def reason(self, error: BaseException) -> str:
        """Return what a client says in one line of at most 240 characters, without secrets."""
        return self._line(error)[:_LONGEST]

    def refusal(self, error: BaseException, advice: str | None = None) -> ConfigError:
        """Return the error of a database that cannot be used.

        Parameters
        ----------
        error : BaseException
            That of the client.
        advice : str, optional
            What to do; by default chosen by what the client says.
        """
        if advice is None:
            line = self._line(error)  # what the advice depends on may stand behind what is shown
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
