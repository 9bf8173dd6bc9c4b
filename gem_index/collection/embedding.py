"""Embed documents straight into a vector database, without a collection."""

from __future__ import annotations

import time
from collections.abc import Iterable
from itertools import islice

from gem_index.collection.results import PushReport
from gem_index.collection.sending import PushOptions, send, storable
from gem_index.documents import Document
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress
from gem_index.targets.batch import TargetBatch
from gem_index.targets.protocol import Target, TargetSchema
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
    rows = iter(documents)
    first = list(islice(rows, options.batch))  # before anything is created: an input may be missing
    target = open_target(parsed)
    try:
        storable(
            target,
            [document.id for document in first],
            [document.metadata for document in first],
            options.drop_unsupported,
        )
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
        batch = first
        while batch:
            unique = {document.id: document for document in batch}  # the last of an id
            send(table, _encoded(list(unique.values()), encoder, target, options))
            total += len(unique)
            if progress is not None:
                progress("embed", total, 0)
            batch = list(islice(rows, options.batch))
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
    documents: list[Document], encoder: Encoder, target: Target, options: PushOptions
) -> TargetBatch:
    ids = [document.id for document in documents]
    metadata = [document.metadata for document in documents]
    texts = [document.text for document in documents]
    return TargetBatch(
        ids,
        encoder.encode(texts),
        [str(text) for text in texts] if options.texts else None,
        storable(target, ids, metadata, options.drop_unsupported),
    )
