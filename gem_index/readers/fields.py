"""Make a document from the fields of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from gem_index.documents import EXPORT_FORMAT, Document, check_unicode, document_id
from gem_index.errors import Action, Advice, ConfigError, InputError, Message, RecordError
from gem_index.errors.quoting import quoted
from gem_index.text.tokens import WeightedText, check_weight

__all__ = ["LINE", "FieldNames", "Fields", "with_title_weights"]

Fields: TypeAlias = dict[str, Any]

LINE = "text"
"""The field that holds a line of plain text."""

_TITLES = ("title", "subject", "question", "heading")
_TITLE_WEIGHT = 2  # docs/evaluation.md, "Titles"
_NONE = object()


@dataclass(frozen=True)
class FieldNames:
    """Which fields hold the id, the text and the metadata.

    Parameters
    ----------
    id : str, optional
        By default ``id`` if a record has it, else a hash of its content (:meth:`Document.without_id`).
    text : sequence of str
        Several are joined by a blank line; ``NAME*2`` counts twice.
    metadata : sequence of str, optional
        All other fields by default.

    Raises
    ------
    ConfigError
        If the weight of a text field is not a number from 0.01 to 100.
    """

    id: str | None = None
    text: Sequence[str] = (LINE,)
    metadata: Sequence[str] | None = None
    weighted: tuple[tuple[str, float], ...] = field(init=False, repr=False, compare=False)
    _used: frozenset[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "weighted", tuple(_text_field(named) for named in self.text))
        used = {self.id or "id", *(key for key, _ in self.weighted)}
        object.__setattr__(self, "_used", frozenset(used))

    def document(
        self, source: str, place: int, fields: Mapping[str, Any], former_id: str
    ) -> Document:
        """Return the document of a record.

        Parameters
        ----------
        source : str
        place : int
            Of the record in its source, for errors.
        fields : mapping
        former_id : str
            The id that earlier versions gave to a record without an id.

        Raises
        ------
        RecordError
            If a field is missing or not of its type.
        """
        text = self.text_of(source, place, fields)
        identifier = self._id_of(source, place, fields)
        names = self.metadata
        if names is None:
            names = [key for key in fields if key not in self._used]
        for key in names:
            if key not in fields:
                raise RecordError(source, place, _missing(key, fields, "metadata"))
        metadata = {key: fields[key] for key in names}
        try:
            if identifier is _NONE:
                return Document.without_id(former_id, text, metadata)
            return Document(id=identifier, text=text, metadata=metadata)
        except InputError as error:
            raise RecordError(source, place, str(error)) from error

    def row(
        self, source: str, place: int, fields: Mapping[str, Any], former_id: str
    ) -> tuple[str, str]:
        """Return the id and the text of a record; with the arguments and errors of :meth:`document`."""
        given = self._id_of(source, place, fields)
        if given is _NONE:
            document = self.document(source, place, fields, former_id)
            return document.id, document.text
        text = self.text_of(source, place, fields)
        try:
            identifier = document_id(given)
            check_unicode(identifier, text)
        except RecordError:
            raise
        except InputError as error:
            raise RecordError(source, place, str(error)) from error
        return identifier, text

    def _id_of(self, source: str, place: int, fields: Mapping[str, Any]) -> Any:
        """Return the value of the field of the id; ``_NONE`` if the record has no such field and does not need one."""
        name = self.id or "id"
        if name in fields:
            return fields[name]
        if self.id is None:
            return _NONE
        raise RecordError(source, place, _missing(name, fields, "id"))

    def text_of(self, source: str, place: int, fields: Mapping[str, Any]) -> str:
        """Return the text of a record; raises like :meth:`document`."""
        present = [
            (key, fields[key], weight)
            for key, weight in self.weighted
            if fields.get(key) is not None
        ]
        if not present:
            raise RecordError(source, place, _missing(self.weighted[0][0], fields, "text"))
        for key, value, _ in present:
            if not isinstance(value, str):
                raise RecordError(
                    source,
                    place,
                    f"the field {quoted(key)} is {quoted(value, 40)}; expected a string",
                )
        if len(present) == 1:
            return str(present[0][1])
        return WeightedText.joined([(value, weight) for _, value, weight in present])


def with_title_weights(names: Sequence[str], kept: Sequence[str] | None = None) -> Sequence[str]:
    """Return the names of text fields; a title among several fields counts twice: ``title`` becomes ``title*2``.

    Parameters
    ----------
    names : sequence of str
        As a user gave them; one string is one name. If one has a weight, all stay as they are: the user chose the weights.
    kept : sequence of str, optional
        The text fields that the collection remembers. If they equal ``names``, these stay as they are.
    """
    if (
        isinstance(names, str)
        or len(names) < 2
        or any("*" in name for name in names)
        or list(names) == list(kept or ())
    ):
        return names
    return [f"{name}*{_TITLE_WEIGHT}" if name.lower() in _TITLES else name for name in names]


def _text_field(named: str) -> tuple[str, float]:
    """Return the name and weight of ``NAME`` or ``NAME*WEIGHT``.

    Raises
    ------
    ConfigError
        If the weight is not a number from 0.01 to 100.
    """
    name, star, weight = named.rpartition("*")
    if not star:
        return named, 1.0
    try:
        number: object = float(weight)
    except ValueError:
        number = weight
    try:
        return name, check_weight(number, f"the weight of the text field {quoted(name)}")
    except InputError as error:
        raise ConfigError(f"{error} (write a field name with an asterisk as NAME*1)") from error


def _missing(wanted: str, fields: Mapping[str, Any], field: str) -> Message:
    if wanted in fields:
        return Message(f"the field {quoted(wanted)} is null; expected a string")
    if fields.get("format") == EXPORT_FORMAT:
        return Message(
            "an exported collection begins; expected records", Advice(Action.IMPORT_EXPORT)
        )
    found = ", ".join(map(quoted, list(fields)[:8])) or "nothing"
    return Message(
        f"no field {quoted(wanted)}, found {found}; expected it",
        Advice(Action.NAME_FIELD, {"field": field}),
    )
