"""Embed documents straight into a vector database, without a collection."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from gem_index.collection.building import NEW_CUTTING
from gem_index.collection.piece_rows import left_rows, piece_of, piece_rows, row_ids, taken_id
from gem_index.collection.results import PushReport
from gem_index.collection.sending import PushOptions, batch_of, send, storable
from gem_index.documents import Document
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress
from gem_index.quoting import quoted
from gem_index.reading import Cutting
from gem_index.targets.protocol import TargetSchema, TargetTable
from gem_index.targets.registry import open_target
from gem_index.targets.retries import with_retries
from gem_index.targets.url import TargetUrl
from gem_index.text import check_texts

__all__ = ["embed_into"]

_TOKEN = "embedded"  # noqa: S105 - what stands in the table instead of the token of a push, and how texts are cut
_NUMBERED = re.compile(r"(.+)#([1-9][0-9]{0,8})", re.DOTALL)


def embed_into(
    url: str | TargetUrl,
    encoder: Encoder,
    documents: Iterable[Document],
    options: PushOptions,
    progress: Progress | None = None,
    *,
    cutting: Cutting | None = None,
) -> PushReport:
    """Encode documents and upsert them by id; nothing is deleted but pieces of earlier contents.

    Running it again with the same documents changes nothing, so an interrupted run is repeated. Long texts are rows
    ``id#1``, ``id#2``, ..., as a push sends them. A table of texts in pieces is read once before documents are added to it:
    it alone knows how many rows each has.

    Parameters
    ----------
    url : str
        As for :meth:`gem_index.Collection.push`.
    encoder : GemEncoder or CombinedEncoder
    documents : iterable of Document
        Read once, in batches.
    options : PushOptions
        ``full`` and ``dry_run`` have no meaning here.
    progress : callable, optional
    cutting : Cutting, optional
        How long texts are cut; by default as those of the table, or as a new collection cuts them.

    Raises
    ------
    FingerprintMismatchError
        If the table holds vectors of another encoder.
    ConfigError
        If a collection is pushed into the table, its texts are cut in another way, a document has the id of a piece of
        another, or metadata cannot be stored.
    """
    check_texts(documents, "documents")
    started = time.monotonic()
    parsed = TargetUrl.parse(url) if isinstance(url, str) else url
    rows = iter(documents)
    first = list(islice(rows, options.batch))  # before anything is created: an input may be missing
    target = open_target(parsed)
    try:
        ids, _, metadata = _columns(first)
        storable(target, ids, metadata, options.drop_unsupported)
        table = target.live()
        cut = _cutting(str(parsed), None if table is None else table.schema.token, cutting)
        schema = TargetSchema(
            fingerprint=encoder.fingerprint,
            dimension=encoder.dimension,
            token=f"{_TOKEN} {json.dumps(cut.fields, sort_keys=True)}" if cut.fields else _TOKEN,
            texts=options.texts,
        )
        if table is None:
            table, held = target.create(schema), _Held()
        else:
            _check(str(parsed), table.schema, schema)
            held = _Held() if cut.chunk is None else with_retries(_Held.of, table)
        before, total = table.count() - held.surplus, 0
        batch = first
        while batch:
            ids, texts, metadata = _columns(batch)
            pieces = piece_rows(cut, ids, texts, metadata)
            left = held.replace(ids, pieces.counts)
            vectors = encoder.encode(pieces.embedded)
            send(table, batch_of(target, pieces, vectors, options), left)
            total += len(ids)
            if progress is not None:
                progress("embed", total, 0)
            batch = list(islice(rows, options.batch))
        after = with_retries(table.count) - held.surplus
        table.finish()
    finally:
        target.close()
    return PushReport(
        collection=None,
        target=str(parsed),
        added=after - before,
        updated=max(0, total - (after - before)),
        deleted=0,
        unchanged=max(0, after - total),
        documents=after,
        fingerprint=encoder.fingerprint,
        seconds=time.monotonic() - started,
    )


def _columns(batch: list[Document]) -> tuple[list[str], list[str], list[Mapping[str, Any]]]:
    """Return ids, texts and metadata; of documents with the same id those of the last."""
    unique = {document.id: document for document in batch}
    texts = [document.text for document in unique.values()]
    return list(unique), texts, [document.metadata for document in unique.values()]


class _Held:
    """How many rows the documents of a table have that are in pieces, and which ids are like those of pieces."""

    def __init__(self) -> None:
        self._pieces: dict[str, int] = {}
        self._numbered: set[str] = set()

    @classmethod
    def of(cls, table: TargetTable) -> _Held:
        """Read a table."""
        held = cls()
        for row in table.documents():
            piece = piece_of(row.id, row.metadata)
            if piece is None:
                held._note(row.id, 1)
            else:
                held._note(piece[0], max(piece[1], held._pieces.get(piece[0], 0)))
        return held

    @property
    def surplus(self) -> int:
        """How many more rows than documents there are."""
        return sum(self._pieces.values()) - len(self._pieces)

    def replace(self, ids: Sequence[str], counts: Sequence[int]) -> list[str]:
        """Note documents with their numbers of rows; return rows of earlier contents that are to be deleted.

        Raises
        ------
        ConfigError
            If a document has the id of a piece of another.
        """
        before = [self._pieces.pop(name, 1) for name in ids]  # 1: it may be whole
        for name, count in zip(ids, counts, strict=True):
            self._note(name, count)
        for name, count in zip(ids, counts, strict=True):
            taken = self._taken(name, count)
            if taken is not None:
                raise taken_id(taken, "embed the texts whole")
        return left_rows(ids, counts, before)

    def _note(self, name: str, count: int) -> None:
        if count > 1:
            self._pieces[name] = count
            self._numbered.discard(name)
        elif _NUMBERED.fullmatch(name):
            self._numbered.add(name)

    def _taken(self, name: str, count: int) -> str | None:
        """Return the first of a document's rows that is of another document; None if there is none."""
        if count > 1:
            return next((row for row in row_ids(name, count) if row in self._numbered), None)
        found = _NUMBERED.fullmatch(name)
        return name if found and int(found[2]) <= self._pieces.get(found[1], 0) else None


def _cutting(name: str, token: str | None, asked: Cutting | None) -> Cutting:
    """Return how texts are cut for a table with this token, or for a new one."""
    if token is None:
        return asked or NEW_CUTTING
    marker, _, fields = token.partition(" ")
    if marker != _TOKEN:
        raise ConfigError(
            f"a collection is pushed into {name}; expected another table, or push the collection"
        )
    try:
        found = Cutting.of(json.loads(fields or "{}"))
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"the texts of the target {name} are cut with {quoted(fields)}; expected chunk, overlap and headings: "
            "name another table, or take the version of gem-index that filled it"
        ) from error
    if asked is not None and asked != found:
        raise ConfigError(
            f"the texts of the target {name} are cut with {found.fields or 'none'}, found {asked.fields or 'none'}; "
            "expected the same: leave it out, or name another table"
        )
    return found


def _check(name: str, found: TargetSchema, wanted: TargetSchema) -> None:
    if found.fingerprint != wanted.fingerprint:
        raise FingerprintMismatchError(
            f"the target {name}",
            found.fingerprint,
            wanted.fingerprint,
            "use the encoder it was filled with, or another table",
            kind="encoder",
        )
    if found.texts != wanted.texts:
        raise ConfigError(
            f"the target {name} was made {'with' if found.texts else 'without'} texts; expected the same again"
        )
