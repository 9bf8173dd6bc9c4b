"""A collection at a glance: counts, model and index, without opening any of them."""

from __future__ import annotations

import json

from gem_index.collection.results import CollectionStatus, IndexStatus
from gem_index.collection.state.access import CollectionAccess
from gem_index.gem.config import GemConfig

__all__ = ["status_of"]


def status_of(access: CollectionAccess) -> CollectionStatus:
    """Return the status of a collection, read in one transaction."""
    with access.reading() as rows:
        model, counts = rows.model(), rows.counts()
        snapshot = rows.names.snapshot(access.id)
        since_fit = rows.documents.count(rows.record.fitted_seq)
    configs = [GemConfig.from_json(part.config) for part in model.encoders]
    files = json.loads(snapshot.files) if snapshot else {}
    return CollectionStatus(
        name=access.name,
        documents=counts.documents,
        fingerprint=model.fingerprint,
        vectors=model.vectors,
        preset=", ".join(config.preset_name for config in configs),
        prior=max(config.prior for config in configs),
        fitted=model.sentences,
        since_fit=since_fit,
        index=IndexStatus(
            snapshot.kind if snapshot else rows.record.index_kind,
            snapshot.directory if snapshot else None,
            snapshot.last_seq if snapshot else 0,
            counts.tail,
        ),
        bytes=sum(entry["bytes"] for entry in files.values()),
    )
