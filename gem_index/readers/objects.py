"""Documents from Python objects: dicts, pairs, strings, data frames, Arrow tables, data sets, async iterables."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from gem_index.documents import Document, text_id
from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.readers.cleaning import cleaning_of
from gem_index.readers.fields import LINE, FieldNames
from gem_index.readers.missing_fields import missing_field
from gem_index.readers.values import json_value
from gem_index.text.tokens import check_texts

__all__ = ["documents_from", "rows_of"]

_END = object()


def documents_from(
    source: Any,
    *,
    id: str | None = None,
    text: str | Sequence[str] | None = None,
    metadata: Sequence[str] | None = None,
    clean: Sequence[str] = (),
) -> Iterator[Document]:
    """Iterate over documents from Python objects, read once.

    Parameters
    ----------
    source : iterable, async iterable or table
        Of :class:`~gem_index.Document`, of mappings, of ``(id, text)`` or ``(id, text, metadata)``, or of texts; or a
        frame of pandas or polars, a table or reader of pyarrow, a data set of Hugging Face, also a streaming one. An async
        iterable is read by an event loop of its own.
    id : str, optional
        The field or column of the id. By default ``id``; without one, a hash of text and metadata, so that the same content
        is the same document. If a text occurs again in an iterable of texts, it counts once.
    text : str or sequence of str, optional
        The field or column of the text, by default ``text``; several are joined by a blank line, and ``NAME*2`` counts
        twice.
    metadata : sequence of str, optional
        The fields or columns of the metadata, by default all others. Dates become ISO texts, missing values null.
    clean : sequence of str
        What to remove from the texts before they are joined: ``html``, ``auto``, ``quotes``, ``signatures``; see
        :class:`~gem_index.readers.DocumentReader`. A :class:`~gem_index.Document` is not cleaned.

    Raises
    ------
    InputError
        If the source is one string or one mapping, or an object is none of these; RecordError if a field is missing or
        not of its type.
    """
    if isinstance(source, Document):
        raise InputError("found one document; expected a list or another iterable of documents")
    names = FieldNames(
        id, (LINE,) if text is None else (text,) if isinstance(text, str) else tuple(text), metadata
    )
    return _documents(rows_of(source), names, cleaning_of(clean))


def rows_of(source: Any) -> Iterator[Any]:
    """Iterate over Python objects, and over the rows of batches and frames among them."""
    return _flat(_items(source))


def _items(source: Any) -> Iterator[Any]:
    """Iterate over the objects or rows of a source."""
    if (rows := _rows(source)) is not None:
        return rows
    if hasattr(source, "to_batches"):  # pyarrow
        return iter(source.to_batches())
    if isinstance(source, AsyncIterable):
        return _driven(source)
    if isinstance(source, Mapping) and source and all(map(_is_data_set, source.values())):
        parts = list(source)
        raise InputError(
            f"found a {type(source).__name__} of {', '.join(map(quoted, parts[:8]))}; expected one data set of it: "
            f"choose it by its name, such as [{quoted(parts[0])}]"
        )
    check_texts(source, "documents")
    return iter(source)


def _is_data_set(value: object) -> bool:
    return hasattr(value, "features") and hasattr(value, "with_format")  # of Hugging Face


def _rows(source: Any) -> Iterator[Any] | None:
    """Return the rows of a frame, None for anything else."""
    if hasattr(source, "itertuples"):  # pandas
        columns = [str(name) for name in source.columns]
        return (
            dict(zip(columns, row, strict=True))
            for row in source.itertuples(index=False, name=None)
        )
    if hasattr(source, "iter_rows"):  # polars
        rows: Iterator[Any] = source.iter_rows(named=True)
        return rows
    return None


def _documents(
    rest: Iterator[Any], names: FieldNames, clean: Callable[[str], str]
) -> Iterator[Document]:
    seen: set[str] = set()
    checked = False
    for place, item in enumerate(rest, 1):
        if isinstance(item, Document):
            yield item
        elif isinstance(item, str):
            text = clean(item)
            document = Document.without_id(text_id(text), text, {})
            if document.id not in seen:
                seen.add(document.id)
                yield document
        elif isinstance(item, Mapping):
            fields = _plain_fields(item, place)
            if not checked and fields.keys().isdisjoint(name for name, _ in names.weighted):
                more = ((0, _plain_fields(each, 0)) for each in rest if isinstance(each, Mapping))
                wanted = names.weighted[0][0]
                raise missing_field(
                    "documents",
                    place,
                    wanted,
                    fields,
                    more,
                    id=names.id,
                    text=names.text,
                    is_table=False,
                )
            checked = True
            for name, _ in names.weighted:
                if isinstance(fields.get(name), str):
                    fields[name] = clean(fields[name])
            text = names.text_of("documents", place, fields)
            yield names.document("documents", place, fields, text_id(text))
        elif isinstance(item, tuple) and len(item) in (2, 3):
            try:
                text = clean(item[1]) if isinstance(item[1], str) else item[1]
                yield Document(id=item[0], text=text, metadata=item[2] if item[2:] else {})
            except InputError as error:
                raise RecordError("documents", place, str(error)) from error
        else:
            raise RecordError(
                "documents",
                place,
                f"found {quoted(item, 60)}; expected a Document, a mapping, a text, or (id, text)",
            )


def _flat(items: Iterable[Any]) -> Iterator[Any]:
    """Iterate over objects, and over the rows of batches and frames among them."""
    for item in items:
        if hasattr(item, "to_pylist"):
            yield from item.to_pylist()
        elif (rows := _rows(item)) is not None:  # as data sets with the format of frames yield them
            yield from rows
        else:
            yield item


def _plain_fields(item: Mapping[Any, Any], place: int) -> dict[str, Any]:
    fields = {}
    for key, value in item.items():
        try:
            fields[str(key)] = json_value(value)
        except (ValueError, OverflowError, TypeError) as error:
            raise RecordError(
                "documents",
                place,
                f"the field {quoted(key)} has an unsupported value ({quoted_error(error)}); "
                "expected text, a number, a date or a list of these",
            ) from error
    return fields


def _driven(source: AsyncIterable[Any]) -> Iterator[Any]:
    """Iterate over an async iterable by an event loop of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        pass
    else:
        raise InputError(
            "found an async iterable in a running event loop; expected a thread without one: "
            "await asyncio.to_thread(collection.upsert, documents)"
        )
    iterator = aiter(source)

    async def following() -> Any:
        return await anext(iterator, _END)

    with asyncio.Runner() as runner:
        while (item := runner.run(following())) is not _END:
            yield item
