"""Documents, the items of a collection."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_index.common.forking import cached_property
from gem_index.common.json_input import nesting
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.text.tokens import WeightedText, check_text, check_texts

__all__ = [
    "EXPORT_FORMAT",
    "Document",
    "check_ids",
    "check_unicode",
    "content_hash",
    "document_id",
    "text_id",
]

_LONGEST_ID = 512
_HASH = 32  # hexadecimal digits of a hash that are an id
_DEEPEST = 90  # levels of metadata; below the limit for reading JSON, so that exported documents can be read again


EXPORT_FORMAT = "gem-index collection"
"""The value of ``format`` in the first line of an exported collection."""


@dataclass(frozen=True, kw_only=True)
class Document:
    """A text with an id and metadata, validated on creation.

    Parameters
    ----------
    id : str or int
        Unique in its collection, 1 to 512 characters; an integer becomes its decimal text.
    text : str
        The text to embed and search; a :class:`~gem_index.WeightedText` if its parts have different weights.
    metadata : mapping, optional
        JSON values with string keys, for filters and for the display of search results.

    Raises
    ------
    InputError
        If the id is neither a string nor an integer, or a value cannot be stored without change.
    """

    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    former_id: str | None = field(default=None, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "id", document_id(self.id))
        text: object = self.text
        if not isinstance(text, str):
            raise InputError(
                f"the text of {quoted(self.id)} is {_json_kind(text)}; expected a string"
            )
        check_unicode(self.id, self.text + self.metadata_json)

    @classmethod
    def without_id(cls, place: str, text: str, metadata: Mapping[str, Any]) -> Document:
        """Return the document of a record without an id: its id is a hash of its content.

        Parameters
        ----------
        place : str
            The id that earlier versions gave the record (``former_id``): their collections still use it, and errors name it.
        text, metadata
            As for a document.

        Raises
        ------
        InputError
            As for a document.
        """
        made = cls(id=place, text=text, metadata=metadata)
        object.__setattr__(made, "former_id", made.id)
        object.__setattr__(made, "id", made.content_id)
        return made

    @property
    def content_id(self) -> str:
        """The id of a document without one: 32 hexadecimal digits of a SHA-256 of its text, metadata and weights."""
        if not self.metadata and self.weights_json is None:
            return text_id(self.text)
        return self.content_hash.hex()[:_HASH]

    @cached_property
    def metadata_json(self) -> str:
        """The metadata as canonical JSON.

        Raises
        ------
        InputError
            If it is not a mapping of JSON values.
        """
        if not isinstance(self.metadata, Mapping) or not all(
            isinstance(key, str) for key in self.metadata
        ):
            raise InputError(
                f"the metadata of {quoted(self.id)} is not an object with string keys; expected JSON metadata"
            )
        if not self.metadata:
            return "{}"
        try:
            text = _canonical_json(dict(self.metadata))
        except (TypeError, ValueError, RecursionError) as error:
            key, reason = next(_invalid_entries(self.metadata), ("?", error))
            raise InputError(
                f"the metadata {quoted(key)} of {quoted(self.id)} is not JSON: {quoted_error(reason)}; "
                "expected strings, numbers, booleans, null, and lists and objects of these"
            ) from error
        if nesting(text) > _DEEPEST:
            raise InputError(
                f"the metadata of {quoted(self.id)} is nested deeper than {_DEEPEST} levels; expected fewer"
            )
        return text

    @property
    def content_hash(self) -> bytes:
        """SHA-256 over text, weights and metadata; an upsert skips documents with an equal hash."""
        return content_hash(self.text, self.metadata_json, self.weights_json)

    @property
    def weights_json(self) -> str | None:
        """The lengths and weights of the text's parts as JSON, None for a plain text."""
        if not isinstance(self.text, WeightedText):
            return None
        return _canonical_json(self.text.weights)


def document_id(identifier: object) -> str:
    """Return an id of 1 to 512 characters; an integer becomes its decimal text.

    Raises
    ------
    InputError
        If it is neither a string nor an integer, or has another length.
    """
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    elif not isinstance(identifier, str):
        raise InputError(f"the id is {quoted(identifier)}; expected a string or an integer")
    if not 1 <= len(identifier) <= _LONGEST_ID:
        raise InputError(f"the id has {len(identifier)} characters; expected 1 to {_LONGEST_ID}")
    return identifier


def text_id(text: str) -> str:
    """Return the id of a document that has only a text."""
    return hashlib.sha256(text.encode(errors="surrogatepass")).hexdigest()[:_HASH]


def check_unicode(identifier: str, content: str) -> None:
    """Raise InputError if the id or the content of a document cannot be stored as UTF-8."""
    if identifier.isascii() and content.isascii():
        return
    try:
        (identifier + content).encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"the document {quoted(identifier)} holds half of a surrogate pair, which is not a character; "
            "expected valid Unicode"
        ) from error


def content_hash(text: str, metadata_json: str, weights_json: str | None = None) -> bytes:
    """Return the SHA-256 over a document's text, metadata and weights as they are stored."""
    state = hashlib.sha256(text.encode())
    state.update(b"\0" + metadata_json.encode())
    if weights_json is not None:
        state.update(b"\0" + weights_json.encode())
    return state.digest()


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    kinds = {
        bool: "a boolean",
        int: "a number",
        float: "a number",
        list: "a list",
        dict: "an object",
    }
    return kinds.get(type(value), f"a {type(value).__name__}")


_canonical_json = json.JSONEncoder(
    sort_keys=True, ensure_ascii=False, allow_nan=False, separators=(",", ":")
).encode


def _invalid_entries(metadata: Mapping[str, Any]) -> Iterator[tuple[str, Exception]]:
    """Iterate over the keys whose value is not JSON, each with the reason."""
    for key, value in metadata.items():
        try:
            _canonical_json(value)
        except (TypeError, ValueError, RecursionError) as error:
            yield key, error


def check_ids(ids: Iterable[str | int]) -> list[str]:
    """Return each id once, integers as their decimal text, as documents take them.

    Raises
    ------
    InputError
        If they are one string, or one of them is neither a string nor an integer.
    """
    check_texts(ids, "ids")
    names: dict[str, None] = {}
    for identifier in ids:
        if isinstance(identifier, bool) or not isinstance(identifier, str | int):
            raise InputError(f"the id is {quoted(identifier)}; expected a string or an integer")
        names[check_text(str(identifier), "id")] = None
    return list(names)
