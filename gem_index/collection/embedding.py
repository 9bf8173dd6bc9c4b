"""Embed documents straight into a vector database, without a collection."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice

from gem_index.collection.pushing import PushOptions, storable
from gem_index.collection.results import PushReport
from gem_index.documents import Document
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress
from gem_index.targets.protocol import TargetDocument, TargetSchema, TargetTable
from gem_index.targets.registry import open_target
from gem_index.targets.retries import with_retries
from gem_index.targets.url import TargetUrl
from gem_index.text import check_texts

__all__ = ["embed_into"]

_TOKEN = "embedded"  # noqa: S105 - what stands in the table instead of the token of a push


def embed_into(
    url: str | TargetUrl,
    encoder: Encoder,
    documents: Iterable[Document],
    options: PushOptions,
    progress: Progress | None = None,
) -> PushReport:
    """Encode documents and upsert them by id; nothing is deleted.

    Running it again with the same documents changes nothing, so an interrupted run is repeated.

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

    Raises
    ------
    FingerprintMismatchError
        If the table holds vectors of another encoder.
    ConfigError
        If a collection is pushed into the table, or metadata cannot be stored.
    """
    check_texts(documents, "documents")
    started = time.monotonic()
    parsed = TargetUrl.parse(url) if isinstance(url, str) else url
    target = open_target(parsed)
    try:
        table = target.live()
        schema = TargetSchema(
            fingerprint=encoder.fingerprint,
            dimension=encoder.dimension,
            token=_TOKEN,
            texts=options.texts,
        )
        if table is None:
            table = target.create(schema)
        _check(str(parsed), table.schema, schema)
        before, total = table.count(), 0
        rows = iter(documents)
        while batch := list(islice(rows, options.batch)):
            unique = {document.id: document for document in batch}  # the last of an id
            with_retries(table.upsert, _encoded(list(unique.values()), encoder, table, options))
            total += len(unique)
            if progress is not None:
                progress("embed", total, 0)
        after = with_retries(table.count)
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


def _check(name: str, found: TargetSchema, wanted: TargetSchema) -> None:
    if found.token != wanted.token:
        raise ConfigError(
            f"a collection is pushed into {name}; expected another table, or push the collection"
        )
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


def _encoded(
    documents: list[Document], encoder: Encoder, table: TargetTable, options: PushOptions
) -> list[TargetDocument]:
    vectors = encoder.encode([document.text for document in documents])
    return [
        TargetDocument(
            document.id,
            vector,
            str(document.text) if options.texts else None,
            storable(table, document.id, document.metadata, options.drop_unsupported),
        )
        for document, vector in zip(documents, vectors, strict=True)
    ]
