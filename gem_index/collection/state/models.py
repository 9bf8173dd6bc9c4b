"""Open a home's word vectors, and convert between stored models and encoders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sqlalchemy import Connection

from gem_index.errors import CorruptionError, FingerprintMismatchError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import CombinedEncoder, Encoder
from gem_index.gem.components import Components
from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.store.names import WordVectorRepository
from gem_index.store.records import ModelRecord
from gem_index.store.workspace import Workspace
from gem_index.vectors.base import VectorSource
from gem_index.vectors.registry import open_source
from gem_index.vectors.specification import VectorSpec

__all__ = ["open_encoder", "open_unfitted", "open_vectors", "record_of"]


def open_vectors(
    workspace: Workspace, spec: str | VectorSpec, connection: Connection | None = None
) -> VectorSource:
    """Open word vectors by registered name, bundled name or path; ``+`` joins several of these."""
    if connection is None:
        with workspace.database.reading() as connection:
            return open_vectors(workspace, spec, connection)
    folders = {
        record.name: workspace.vectors_folder / record.location
        for record in WordVectorRepository(connection).all()
    }
    return open_source(spec, folders)


def open_encoder(
    workspace: Workspace, model: ModelRecord, connection: Connection | None = None
) -> Encoder:
    """Make the encoder that a stored model describes.

    Raises
    ------
    FingerprintMismatchError
        If the name of the model's word vectors now belongs to other word vectors.
    CorruptionError
        If the stored components are not the components that were fitted.
    """
    encoders = [_encoder(workspace, part, connection) for part in model.encoders]
    found = _joined(model, encoders)
    if found.fitted and found.fingerprint != model.fingerprint:
        raise _not_as_fitted(model)
    return found


def open_unfitted(workspace: Workspace, model: ModelRecord, connection: Connection) -> Encoder:
    """Return an unfitted encoder with a model's configuration; its word vectors are looked up by the stored names."""
    encoders = [
        GemEncoder(
            open_vectors(workspace, part.vectors, connection),
            GemConfig.from_json(part.config),
            threads=workspace.settings.threads,
        )
        for part in model.encoders
    ]
    return _joined(model, encoders)


def _joined(model: ModelRecord, encoders: Sequence[GemEncoder]) -> Encoder:
    if not model.parts:
        return encoders[0]
    return CombinedEncoder(encoders, [part.weight or 0.0 for part in model.parts])


def _encoder(workspace: Workspace, model: ModelRecord, connection: Connection | None) -> GemEncoder:
    vectors = open_vectors(workspace, model.vectors, connection)
    if vectors.fingerprint != model.vectors_fingerprint:
        raise FingerprintMismatchError(
            f"the model on the vectors {quoted(model.vectors)}",
            model.vectors_fingerprint,
            vectors.fingerprint,
            "add the vectors it was fitted with under that name again",
        )
    components = None
    if model.directions is not None and model.singular_values is not None:
        directions = np.frombuffer(model.directions, dtype="<f8")
        components = Components(
            directions.reshape(-1, model.dimension).astype(np.float64),
            np.frombuffer(model.singular_values, dtype="<f8").astype(np.float64),
            model.sentences,
        )
    encoder = GemEncoder(
        vectors,
        GemConfig.from_json(model.config),
        components=components,
        threads=workspace.settings.threads,
    )
    if components is not None and encoder.fingerprint != model.fingerprint:
        raise _not_as_fitted(model)
    return encoder


def _not_as_fitted(model: ModelRecord) -> CorruptionError:
    return CorruptionError(
        f"the stored components {model.fingerprint[:12]} are not those that were fitted; fit again"
    )


def record_of(encoder: Encoder, vectors: Sequence[str], name: str | None = None) -> ModelRecord:
    """Return the stored form of an encoder; ``vectors`` has, for each part of the encoder, the name of its word vectors."""
    if isinstance(encoder, GemEncoder):
        return _record(encoder, vectors[0], name)
    parts = tuple(
        _record(part, spec, weight=weight)
        for part, spec, weight in zip(encoder.encoders, vectors, encoder.weights, strict=True)
    )
    return ModelRecord(
        name=name,
        fingerprint=encoder.fingerprint,
        vectors=", ".join(vectors),
        vectors_fingerprint="",
        config="",
        recipe="",
        dimension=encoder.dimension,
        sentences=parts[0].sentences,
        directions=None,
        singular_values=None,
        parts=parts,
    )


def _record(
    encoder: GemEncoder, vectors: str, name: str | None = None, weight: float | None = None
) -> ModelRecord:
    components = encoder.components if encoder.fitted else None
    return ModelRecord(
        name=name,
        fingerprint=encoder.fingerprint,
        vectors=vectors,
        vectors_fingerprint=encoder.vectors.fingerprint,
        config=encoder.config.to_json(),
        recipe=encoder.recipe,
        dimension=encoder.dimension,
        sentences=components.sentences if components else 0,
        directions=components.directions.astype("<f8").tobytes() if components else None,
        singular_values=components.singular_values.astype("<f8").tobytes() if components else None,
        weight=weight,
    )
