"""The metadata of a snapshot by field: the different values, and the value of each document.

With these files, a condition of a filter is evaluated once per value, not once per document.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gem_index.common.forking import cached_property
from gem_index.errors import CorruptionError
from gem_index.files.npy import map_array

__all__ = ["Codes", "Column", "FieldsWriter", "Numbers", "SnapshotFields"]

_HEADER = "fields.json"
# different values of a field, because a code has 16 bits and the code 0 means no value
_MOST_VALUES = 65_535
_MOST_FIELDS = 64  # fields; each takes two bytes per document, or eight if it has numbers
_MOST_CHARACTERS = 8_000_000  # characters of all different values of a field, as JSON
_EXACT = 2**53  # up to this number, float64 represents every whole number
_ZERO = r"\u0000"  # the JSON form of a zero byte

_Places: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Codes:
    """A field with few values.

    Attributes
    ----------
    values : sequence of str
        The values as JSON.
    codes : uint16 array (n,)
        For each document, 1 plus the position of its value in ``values``; 0 if the document lacks the field.
    """

    values: Sequence[str]
    codes: npt.NDArray[np.uint16]


@dataclass(frozen=True)
class Numbers:
    """A field with many different values, if all values are numbers that float64 represents exactly.

    Attributes
    ----------
    numbers : float64 array (n,)
        The number of each document; NaN if the document lacks the field.
    """

    numbers: npt.NDArray[np.float64]


Column: TypeAlias = Codes | Numbers


class SnapshotFields:
    """The fields of a snapshot's metadata. The file of a field is read when a filter first names the field.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @cached_property
    def _header(self) -> dict[str, Any]:
        text = self._read(self._folder / _HEADER)
        try:
            header: dict[str, Any] = json.loads(text)
        except ValueError as error:
            raise CorruptionError(f"{self._folder / _HEADER} cannot be read: {error}") from error
        return header

    @property
    def documents(self) -> int:
        """The number of documents."""
        return int(self._header["documents"])

    @property
    def unsearched(self) -> _Places:
        """The positions of the documents whose metadata have a zero byte; no filter accepts these documents."""
        return np.array(self._header["unsearched"], dtype=np.int64)

    @property
    def names(self) -> list[str]:
        """The names of the fields whose values are in the files."""
        return list(self._header["fields"])

    @property
    def left_out(self) -> tuple[list[str], bool]:
        """Names of fields whose values are not in the files, and whether there are more such fields."""
        return self._header["left_out"], self._header["more"]

    def knows(self, name: str) -> bool:
        """Tell whether the files decide the field's value for each document; also true if no document has the field."""
        header = self._header
        return name in header["fields"] or not (name in header["left_out"] or header["more"])

    def column(self, name: str) -> Column | None:
        """Return the values of a known field; None if no document has the field.

        Raises
        ------
        CorruptionError
            If the field's file cannot be read.
        """
        found = self._header["fields"].get(name)
        if found is None:
            return None
        path = self._folder / f"{found['file']}.npy"
        try:
            array = map_array(path)
        except (OSError, ValueError) as error:
            raise CorruptionError(f"{path} cannot be read: {error}") from error
        if array.shape != (self.documents,):
            raise CorruptionError(f"{path} is of shape {array.shape}, not ({self.documents},)")
        if found["numbers"]:
            return Numbers(array)
        values = self._read(self._folder / f"{found['file']}.jsonl").split("\n")[:-1]
        if len(array) and array.max() > len(values):
            raise CorruptionError(f"{path} holds the code {array.max()} of {len(values)} values")
        return Codes(values, array)

    @staticmethod
    def _read(path: Path) -> str:
        try:
            return path.read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            raise CorruptionError(f"{path} cannot be read: {error}") from error


class FieldsWriter:
    """Collects the fields of documents and writes them to a folder.

    Parameters
    ----------
    old : SnapshotFields, optional
        The fields of earlier documents, to which new documents are added.
    kept : bool array, optional
        For each earlier document, whether it is still present.
    """

    def __init__(
        self, old: SnapshotFields | None = None, kept: npt.NDArray[np.bool_] | None = None
    ) -> None:
        self._fields: dict[str, _Field] = {}
        self._left_out: set[str] = set()
        self._more = False
        self._unsearched: list[int] = []
        self._count = 0
        if old is None or kept is None:
            return
        self._count = int(kept.sum())
        places = np.cumsum(kept) - 1
        self._unsearched = [int(places[i]) for i in old.unsearched if kept[i]]
        left_out, self._more = old.left_out
        self._left_out = set(left_out)
        for name in old.names:
            column = old.column(name)
            assert column is not None
            self._fields[name] = _Field.of(column, kept)

    def append(self, texts: Sequence[str]) -> None:
        """Add documents; ``texts`` are their metadata, JSON objects."""
        begin, size = self._count, len(texts)
        found: dict[str, list[tuple[int, Any]]] = {}
        for place, text in enumerate(texts):
            if _ZERO in text and _ZERO in text.replace(r"\\", ""):
                self._unsearched.append(begin + place)
                continue
            for name, value in json.loads(text).items():
                if name in found:
                    found[name].append((place, value))
                elif name not in self._left_out:
                    found[name] = [(place, value)]
        self._count += size
        for name, entries in found.items():
            if name not in self._fields:
                if len(self._fields) == _MOST_FIELDS:
                    self._more = True
                    continue
                self._fields[name] = _Field(begin)
            if not self._fields[name].append(entries, size):
                del self._fields[name]
                self._left_out.add(name)
        for name in self._fields.keys() - found.keys():
            self._fields[name].append([], size)

    def write(self, folder: Path) -> None:
        """Write the fields of all documents to a new folder."""
        folder.mkdir(mode=0o700)
        fields: dict[str, Mapping[str, Any]] = {}
        for name, field in self._fields.items():
            file = f"{len(fields):04d}"
            array = field.array()
            fields[name] = {"file": file, "numbers": field.numbers}
            np.save(folder / f"{file}.npy", array)
            if not field.numbers:
                lines = "".join(f"{line}\n" for line in field.values)
                (folder / f"{file}.jsonl").write_text(lines, encoding="utf-8", newline="\n")
        header = {
            "documents": self._count,
            "fields": fields,
            "left_out": sorted(self._left_out),
            "more": self._more,
            "unsearched": self._unsearched,
        }
        (folder / _HEADER).write_text(json.dumps(header) + "\n", encoding="utf-8")


class _Field:
    """The values of one field in all added documents: as codes, or as numbers if there are too many different values."""

    def __init__(self, before: int) -> None:
        self.numbers = False
        self._codes: dict[Any, int] = {}
        self._characters = 0
        self._parts: list[npt.NDArray[Any]] = [np.zeros(before, np.uint16)]

    @classmethod
    def of(cls, column: Column, kept: npt.NDArray[np.bool_]) -> _Field:
        """Return a field that begins with the kept documents of an older column."""
        field = cls(0)
        if isinstance(column, Numbers):
            field.numbers, field._parts = True, [column.numbers[kept]]
        else:
            values = map(json.loads, column.values)
            field._codes = {_key(value): code for code, value in enumerate(values, 1)}
            field._characters = sum(map(len, column.values))
            field._parts = [column.codes[kept]]
        return field

    @property
    def values(self) -> list[str]:
        """The values as JSON, in the order of their codes."""
        return [_json(key) for key in self._codes]

    def append(self, entries: Sequence[tuple[int, Any]], size: int) -> bool:
        """Add ``size`` documents; ``entries`` has, for each of them with the field, its position and its value.

        Returns
        -------
        bool
            False if the values cannot be stored.
        """
        if not self.numbers and self._coded(entries, size):
            return True
        if not self.numbers and not self._use_numbers():
            return False
        part = np.full(size, np.nan)
        for place, value in entries:
            if not _is_number(value):
                return False
            part[place] = value
        self._parts.append(part)
        return True

    def _coded(self, entries: Sequence[tuple[int, Any]], size: int) -> bool:
        codes = self._codes
        part = np.zeros(size, np.uint16)
        for place, value in entries:
            key = _key(value)
            code = codes.get(key)
            if code is None:
                self._characters += len(_json(key))
                if len(codes) >= _MOST_VALUES or self._characters > _MOST_CHARACTERS:
                    return False
                code = codes[key] = len(codes) + 1
            part[place] = code
        self._parts.append(part)
        return True

    def _use_numbers(self) -> bool:
        """Replace codes by numbers; return False, without a change, if a value is not a number."""
        values = [value for _, value in self._codes]
        if not all(map(_is_number, values)):
            return False
        table = np.array([np.nan, *values], dtype=np.float64)
        self._parts = [table[part] for part in self._parts]
        self._codes, self.numbers = {}, True
        return True

    def array(self) -> npt.NDArray[Any]:
        return np.concatenate(self._parts)


def _key(value: Any) -> tuple[type, Any]:
    """Return the key of a value, so that 1, 1.0 and True, which are equal in Python, have different keys."""
    if isinstance(value, list | dict):
        return dict, json.dumps(value, ensure_ascii=False)
    return type(value), value


def _json(key: tuple[type, Any]) -> str:
    return str(key[1]) if key[0] is dict else json.dumps(key[1], ensure_ascii=False)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool):
        return False
    return isinstance(value, float) or (isinstance(value, int) and -_EXACT <= value <= _EXACT)
