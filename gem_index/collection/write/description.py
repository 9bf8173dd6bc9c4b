"""Store the description of a collection, and the synonyms for its queries."""

from __future__ import annotations

from gem_index.collection.state.access import CollectionAccess
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.text.synonyms import Synonyms

__all__ = ["set_description", "set_synonyms"]

_LONGEST = 1000  # characters, because assistants read the descriptions of all collections


def set_description(access: CollectionAccess, description: object) -> None:
    """Store a description; see :meth:`gem_index.Collection.set_description`."""
    if not isinstance(description, str):
        raise InputError(f"the description is {quoted(description)}; expected a string")
    description = description.strip()
    if not description.isprintable():
        raise InputError(
            f"the description is {quoted(description)}; expected one line without control characters"
        )
    if len(description) > _LONGEST:
        raise InputError(
            f"the description has {len(description)} characters; expected at most {_LONGEST}"
        )
    with access.writing() as rows:
        rows.names.use_description(access.id, description)


def set_synonyms(access: CollectionAccess, synonyms: Synonyms) -> None:
    """Store synonyms; see :meth:`gem_index.Collection.set_synonyms`."""
    with access.writing() as rows:
        rows.names.use_synonyms(access.id, synonyms.stored)
