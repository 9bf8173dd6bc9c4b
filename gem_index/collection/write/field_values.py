"""Write one metadata field of a collection's documents, such as their topics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.collection.write.writing import shorten_tail, warn_of_index
from gem_index.errors import Action, Advice, InputError
from gem_index.errors.quoting import quoted
from gem_index.progress import Progress
from gem_index.store.field_writing import write_field

__all__ = ["check_field", "check_field_is_free", "set_field"]

_NOT_IN_NAMES = '."[]$'  # characters with a meaning in filters


def check_field(field: object) -> str:
    """Return the name of a field; raise InputError if filters cannot use this name."""
    if not isinstance(field, str) or not field.strip() or set(field) & set(_NOT_IN_NAMES):
        raise InputError(
            f"the field is {quoted(field)}; expected a name without {' '.join(_NOT_IN_NAMES)}, such as topic"
        )
    return field


def check_field_is_free(
    access: CollectionAccess, field: str, where: Mapping[str, Any] | None, replace: bool
) -> None:
    """Check, before minutes of work, that a field can be written.

    Without ``replace``, no document that the filter accepts may have the field.

    Raises
    ------
    InputError
        If a document has the field, or the name cannot be used in filters.
    """
    check_field(field)
    with access.reading() as rows:
        _check_free(rows, field, where, replace)


def _check_free(
    rows: CollectionRows, field: str, where: Mapping[str, Any] | None, replace: bool
) -> None:
    conditions = [{field: {"$exists": True}}, *([where] if where else [])]
    count = 0 if replace else len(rows.documents.matching({"$and": conditions}))
    if count:
        raise InputError(
            f"{count} documents of {rows.record.name} have the field {quoted(field)}; expected a name that no document has. "
            "If you do not need its values",
            Advice(Action.REPLACE_FIELD),
        )


def set_field(
    access: CollectionAccess,
    field: str,
    values: Mapping[str, Any],
    where: Mapping[str, Any] | None,
    replace: bool,
    show: Progress | None,
) -> int:
    """Write a field in one transaction; see :meth:`gem_index.Collection.set_field`."""
    check_field(field)
    with access.writing() as rows:
        _check_free(rows, field, where, replace)
        documents = rows.documents
        accepted = documents.matching(where) if where else documents.seqs()
        by_seq: dict[int, Any] = dict.fromkeys(accepted.tolist())
        seqs = documents.seqs_of(list(values))
        by_seq |= {seq: values[name] for name, seq in seqs.items()}
        record = rows.record
        changed, fitted_seq = write_field(
            rows.connection, record.id, field, by_seq, record.fitted_seq, show
        )
        rows.names.use_model(record.id, record.model_id, fitted_seq, record.fitted_documents)
        failed = shorten_tail(access, rows.connection, show)
    warn_of_index(access, failed)
    return changed
