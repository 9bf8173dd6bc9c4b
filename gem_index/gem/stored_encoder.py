"""The stored form of an encoder in a model file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gem_index.errors import CorruptionError
from gem_index.gem.model_file import StoredEncoder

if TYPE_CHECKING:
    from gem_index.gem.encoder import GemEncoder

__all__ = ["check_stored", "stored_encoder"]


def stored_encoder(encoder: GemEncoder, weight: float | None = None) -> StoredEncoder:
    """Return an encoder's entry in a model file, with its weight beside other encoders."""
    return StoredEncoder(
        encoder.config,
        encoder.components,
        encoder.vectors.fingerprint,
        encoder.fingerprint,
        weight,
    )


def check_stored(path: str | Path, stored: StoredEncoder, encoder: GemEncoder) -> None:
    """Check an encoder against its entry in a model file.

    Raises
    ------
    FingerprintMismatchError
        If its vectors are not those it was fitted with.
    CorruptionError
        If the file is damaged.
    """
    stored.check_vectors(path, encoder.vectors.fingerprint)
    if encoder.fingerprint != stored.fingerprint:
        raise CorruptionError(f"{path} no longer has the components that were saved; fit again")
