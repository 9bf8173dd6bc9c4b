"""Embed documents directly into a vector database, without a collection."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any

from gem_index.collection.piece_rows import piece_of, piece_rows
from gem_index.collection.push.embedded_words import WordCounting
from gem_index.collection.push.held_rows import earlier_rows
from gem_index.collection.push.query_record import OUTGROWN, QueryRecord, QueryRecords
from gem_index.collection.push.sending import PushOptions, batch_of, send, storable
from gem_index.collection.results import PushReport
from gem_index.collection.state.models import record_of
from gem_index.collection.write.choice import NEW_CHUNKING
from gem_index.documents import Document
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress
from gem_index.sparse import SparseEncoder
from gem_index.targets.protocol import Target, TargetSchema, TargetTable, word_dimensions
from gem_index.targets.registry import open_target
from gem_index.targets.retries import with_retries
from gem_index.targets.url import TargetUrl
from gem_index.text.chunking import Chunking
from gem_index.text.tokens import check_texts

__all__ = [
    "EMBEDDED",
    "OpenTable",
    "TableWords",
    "embed_into",
    "fill_table",
    "finish_table",
    "open_table",
]

# rows; only a table of pieces that is at most this large is read to count its documents
_COUNTED = 10_000

EMBEDDED = "embedded"
"""The first word of the token of a table that was filled without a collection; the chunking follows this word."""


def embed_into(
    url: str | TargetUrl,
    encoder: Encoder,
    documents: Iterable[Document],
    options: PushOptions,
    progress: Progress | None = None,
    *,
    chunking: Chunking | None = None,
    words: TableWords | None = None,
) -> PushReport:
    """Encode documents and upsert them by id; delete only pieces that earlier contents of these documents left.

    If ``words`` is given and ``options.words`` is set, a new table can be searched like the table of a push
    (:meth:`gem_index.Home.target`). Later runs do not change the table's word statistics.

    After an interruption, run it again: a second run with the same documents changes nothing. Long texts become rows
    ``id#1``, ``id#2``, ..., as in a push. In an existing table with pieces, only the rows of the given documents are
    read. So, if the table has more than 10,000 rows, the report does not have the number of documents in the table.

    Parameters
    ----------
    url : str
        As for :meth:`gem_index.Collection.push`.
    encoder : GemEncoder or CombinedEncoder
    documents : iterable of Document
        The documents; they are read once, in batches.
    options : PushOptions
        The options; ``full`` and ``dry_run`` are ignored here.
    progress : callable, optional
    chunking : Chunking, optional
        The rules that divide long texts into pieces. Default: the rules of the table; for a new table, the rules of a
        new collection.
    words : TableWords, optional
        The word statistics of a new table.

    Raises
    ------
    FingerprintMismatchError
        If the table has vectors of another encoder.
    ConfigError
        If a collection was pushed into the table, if the table has another chunking, if the id of a document is also
        the id of another document's piece, or if metadata cannot be stored.
    """
    check_texts(documents, "documents")
    started = time.monotonic()
    parsed = TargetUrl.parse(url) if isinstance(url, str) else url
    rows = iter(documents)
    # the first batch is read before a table is created, because an input may be missing
    first = list(islice(rows, options.batch))
    target = open_target(parsed)
    try:
        ids, _, metadata = _columns(first)
        storable(target, ids, metadata, options.drop_unsupported)
        opened = open_table(target, encoder, options, chunking, words)
        total, added = fill_table(opened, encoder, chain(first, rows), options, progress)
        return finish_table(opened, encoder, total, added, started)
    finally:
        target.close()


@dataclass(frozen=True)
class TableWords:
    """The data that make a new table searchable.

    Attributes
    ----------
    vectors : str
        The names by which a search opens the encoder's word vectors, joined by a comma and a space.
    counting : WordCounting
    """

    vectors: str
    counting: WordCounting

    def count(self, chunking: Chunking, rule: str) -> SparseEncoder:
        """Return the sparse encoder with counted words; ``rule`` is the table's rule for sparse vectors, or empty.

        Only the sparse vectors of queries depend on the counts; the sparse vectors of documents do not.
        """
        if not rule:
            return self.counting(chunking, None)
        known = SparseEncoder.of_rule(rule)
        found = self.counting(chunking, known.analyzer)
        return SparseEncoder(known.analyzer, found.texts, known.mean_terms, found.frequencies)


@dataclass(frozen=True)
class OpenTable:
    """A table for embedded documents.

    Attributes
    ----------
    target : Target
    table : TargetTable
    chunking : Chunking
        The rules that divide the table's texts into pieces.
    before : int
        The number of rows of the table when it was opened.
    filled : bool
        Whether the table existed before.
    words : SparseEncoder, optional
        The encoder of the rows' sparse vectors, if the table has sparse vectors.
    texts : int
        The number of texts in the table's word statistics; 0 if it is not known.
    """

    target: Target
    table: TargetTable
    chunking: Chunking
    before: int
    filled: bool
    words: SparseEncoder | None
    texts: int


def open_table(
    target: Target,
    encoder: Encoder,
    options: PushOptions,
    chunking: Chunking | None,
    words: TableWords | None = None,
) -> OpenTable:
    """Open or create the table of a target; arguments and errors are as for :func:`embed_into`.

    If words are counted, the query record is written before the first row.
    """
    name = str(target.url)
    table = target.live()
    cut = _chunking(name, None if table is None else table.schema.token, chunking)
    schema = TargetSchema(
        fingerprint=encoder.fingerprint,
        dimension=encoder.dimension,
        token=f"{EMBEDDED} {json.dumps(cut.fields, sort_keys=True)}" if cut.fields else EMBEDDED,
        texts=options.texts,
    )
    filled = table is not None
    if table is not None:
        _check(name, table.schema, schema)
    before = 0 if table is None else table.count()
    counted = None
    if words is not None and options.words and not before:
        counted = words.count(cut, "" if table is None else table.schema.words)
    if table is None:
        # connect again, because the connection may have been closed while words were counted
        with_retries(target.live)
        held = counted is not None and word_dimensions(target)
        table = target.create(replace(schema, words=counted.rule if counted and held else ""))
    texts = 0 if counted is None else counted.texts
    if words is not None:
        with closing(QueryRecords(target)) as records:
            if counted is None:
                texts = records.texts_of(schema.token) or 0
            else:
                model = record_of(encoder, words.vectors.split(", "))
                records.write(schema.token, QueryRecord(model, cut, counted))
    rule = table.schema.words
    rows_words = SparseEncoder.of_rule(rule) if rule else None
    return OpenTable(target, table, cut, before, filled, rows_words, texts)


def fill_table(
    opened: OpenTable,
    encoder: Encoder,
    documents: Iterable[Document],
    options: PushOptions,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Encode documents and upsert them in batches.

    Returns
    -------
    total : int
        The number of documents.
    added : int
        The number of documents that the table did not have before; only valid if texts are divided into pieces.
    """
    table, cut = opened.table, opened.chunking
    rows = iter(documents)
    total = added = 0
    while batch := list(islice(rows, options.batch)):
        ids, texts, metadata = _columns(batch)
        pieces = piece_rows(cut, ids, texts, metadata)
        earlier = {} if cut.chunk is None else earlier_rows(table, ids, pieces)
        vectors = encoder.encode(pieces.embedded)
        words = None if opened.words is None else opened.words.embed_documents(pieces.embedded)
        made = batch_of(opened.target, pieces, vectors, options, words)
        send(table, made, list(chain(*earlier.values())))
        total += len(ids)
        added += len(ids) - len(earlier)
        if progress is not None:
            progress("embed", total, 0)
    return total, added


def finish_table(
    opened: OpenTable, encoder: Encoder, total: int, added: int, started: float
) -> PushReport:
    """Finish a table after all documents were sent; ``total`` and ``added`` are the results of :func:`fill_table`."""
    table = opened.table
    with_retries(table.finish)
    count = with_retries(table.count)
    held: int | None = count
    if opened.chunking.chunk is None:
        added = count - opened.before
    elif count <= _COUNTED:  # rows are pieces: count the documents
        held = with_retries(_documents_in, table)
    else:
        held = None if opened.filled else added
    if not opened.filled and held is not None:
        added = held  # not the sum of the workers, of which two may have counted the same document
    return PushReport(
        collection=None,
        target=str(opened.target.url),
        added=added,
        updated=max(0, total - added),
        deleted=0,
        unchanged=None if held is None else max(0, held - total),
        documents=held,
        fingerprint=encoder.fingerprint,
        seconds=time.monotonic() - started,
        words=opened.words is not None if word_dimensions(opened.target) else None,
        words_due=0 < OUTGROWN * opened.texts <= count,
    )


def _documents_in(table: TargetTable) -> int:
    """Return the number of documents in a table whose rows may be pieces."""
    pieces = ((row.id, piece_of(row.id, row.metadata)) for row in table.documents())
    return len({name if piece is None else piece[0] for name, piece in pieces})


def _columns(batch: list[Document]) -> tuple[list[str], list[str], list[Mapping[str, Any]]]:
    """Return ids, texts and metadata; if several documents have the same id, only the last document is used."""
    unique = {document.id: document for document in batch}
    texts = [document.text for document in unique.values()]
    return list(unique), texts, [document.metadata for document in unique.values()]


def _chunking(name: str, token: str | None, asked: Chunking | None) -> Chunking:
    """Return the chunking of the table with this token; if there is no token, return the chunking of a new table."""
    if token is None:
        return asked or NEW_CHUNKING
    marker, _, fields = token.partition(" ")
    if marker != EMBEDDED:
        raise ConfigError(
            f"{name} is the table of a collection; expected another table, or a push of the collection"
        )
    try:
        found = Chunking.of(json.loads(fields or "{}"))
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"the target {name} has the chunking {quoted(fields)}; expected chunk, overlap and headings: name another "
            "table, or "
            "use the version of gem-index that filled it"
        ) from error
    if asked is not None and asked.choices != found.choices:
        raise ConfigError(
            f"the target {name} has the chunking {found.choices or 'none'}, found {asked.choices or 'none'}; "
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
