"""Decide which of several records with the same id becomes a document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import split_member
from gem_index.text.written_forms import composed

__all__ = [
    "DUPLICATES",
    "EveryRecord",
    "FirstRecords",
    "KeptRecords",
    "LastRecords",
    "check_new_id",
    "check_readable_twice",
]

DUPLICATES = ("stop", "first", "last")
"""The ways to treat several records with the same id."""


class KeptRecords(Protocol):
    """Decides which records become documents; it is asked once for each record with an id, in order."""

    def keeps(self, number: int, identifier: str, /) -> bool:
        """Tell whether a record becomes a document."""
        ...

    @property
    def complete(self) -> bool:
        """Whether all expected records have been decided."""
        ...


class EveryRecord:
    """Keeps every record; repeated ids are found elsewhere, and are an error."""

    complete = True

    def keeps(self, _number: int, _identifier: str, /) -> bool:
        """Return True."""
        return True


class FirstRecords:
    """Keeps the first record of each id."""

    complete = True

    def __init__(self) -> None:
        self._seen: set[str] = set()

    def keeps(self, _number: int, identifier: str, /) -> bool:
        """Tell whether the id is new."""
        known = composed(identifier)
        if known in self._seen:
            return False
        self._seen.add(known)
        return True


class LastRecords:
    """Keeps the last record of each id.

    Parameters
    ----------
    numbers : mapping of str to int
        For each id, in the composed Unicode form, the number of its last record.
    """

    def __init__(self, numbers: Mapping[str, int]) -> None:
        self._left = dict(numbers)

    def keeps(self, number: int, identifier: str, /) -> bool:
        """Tell whether the record is the last record of its id."""
        known = composed(identifier)
        if self._left.get(known) != number:
            return False
        del self._left[known]
        return True

    @property
    def complete(self) -> bool:
        """Whether the last record of each id has been decided."""
        return not self._left


def check_new_id(identifier: str, places: dict[str, str], name: str, line: int) -> None:
    """Check that an id is new, and store its place in ``places``.

    Raises
    ------
    RecordError
        If the id has occurred before.
    """
    known = composed(identifier)
    if known in places:
        raise RecordError(
            name,
            line,
            f"the id {quoted(identifier)} came before in {places[known]}; expected each id once",
        )
    places[known] = f"{name} line {line}"


def check_readable_twice(names: Sequence[str]) -> None:
    """Check that all inputs except standard input are files, because only files can be read twice.

    Raises
    ------
    InputError
        If an input can be read only once.
    """
    for name in names:
        path = split_member(name)[0]
        if name != "-" and path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(
                f"{name} can be read only once; expected a file: to find the last record of an id, it is read twice"
            )
