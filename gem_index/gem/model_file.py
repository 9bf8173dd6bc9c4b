"""Fitted encoders as safetensors files: configurations and components, without the word vectors."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.errors import CorruptionError, FingerprintMismatchError, InputError
from gem_index.gem.components import Components
from gem_index.gem.config import GemConfig

__all__ = ["MAGIC", "StoredEncoder", "read_model", "write_model"]

MAGIC = "gem-index model"
"""The beginning of a model file's metadata, and of the bytes whose hash is the fingerprint."""

_ONE, _SEVERAL = "1", "2"  # versions: one encoder, and several with weights


@dataclass(frozen=True)
class StoredEncoder:
    """One encoder of a model file: its configuration, components, and the fingerprints of its vectors and of itself."""

    config: GemConfig
    components: Components
    vectors: str
    fingerprint: str
    weight: float | None = None

    def check_vectors(self, path: str | Path, fingerprint: str) -> None:
        """Raise FingerprintMismatchError if the encoder was fitted with other vectors."""
        if self.vectors != fingerprint:
            raise FingerprintMismatchError(
                f"the model {path}",
                self.vectors,
                fingerprint,
                "open the vectors it was fitted with",
            )

    def check_fingerprint(self, path: str | Path, fingerprint: str) -> None:
        """Raise CorruptionError if the encoder that was made of this entry is not the one that was saved."""
        if self.fingerprint != fingerprint:
            raise CorruptionError(f"{path} no longer has the components that were saved; fit again")


def write_model(path: str | Path, encoders: Sequence[StoredEncoder]) -> None:
    """Write encoders to a file: one without a weight, or several with weights.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    tensors: dict[str, Any] = {}
    entries = []
    alone = encoders[0].weight is None
    for place, encoder in enumerate(encoders):
        prefix = "" if alone else f"{place}."
        tensors[f"{prefix}directions"] = np.ascontiguousarray(encoder.components.directions)
        tensors[f"{prefix}singular_values"] = encoder.components.singular_values
        entries.append(
            {
                "config": encoder.config.to_json(),
                "vectors": encoder.vectors,
                "sentences": str(encoder.components.sentences),
                "recipe": encoder.components.recipe,
                "fingerprint": encoder.fingerprint,
            }
        )
    metadata = {"magic": MAGIC, "version": _ONE, **entries[0]}
    if not alone:
        weighted = [
            {**entry, "weight": encoder.weight}
            for entry, encoder in zip(entries, encoders, strict=True)
        ]
        metadata = {"magic": MAGIC, "version": _SEVERAL, "encoders": json.dumps(weighted)}
    try:
        save_file(tensors, path, metadata=metadata)
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"cannot write {path}: {error}; expected a writable place with room"
        ) from error


def read_model(path: str | Path) -> list[StoredEncoder]:
    """Read a file of :func:`write_model`.

    Raises
    ------
    InputError
        If the file does not exist.
    CorruptionError
        If it is not a model.
    """
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as file:
            meta = file.metadata() or {}
            if meta.get("magic") != MAGIC or meta.get("version") not in (_ONE, _SEVERAL):
                raise CorruptionError(
                    f"{path} is {meta.get('magic')!r} version {meta.get('version')!r}; "
                    f"expected {MAGIC!r} version {_ONE!r} or {_SEVERAL!r}"
                )
            alone = meta["version"] == _ONE
            entries = [meta] if alone else json.loads(meta["encoders"])
            return [
                StoredEncoder(
                    GemConfig.from_json(entry["config"]),
                    Components(
                        file.get_tensor("directions" if alone else f"{place}.directions"),
                        file.get_tensor("singular_values" if alone else f"{place}.singular_values"),
                        int(entry["sentences"]),
                        entry["recipe"],
                    ),
                    entry["vectors"],
                    entry["fingerprint"],
                    None if alone else float(entry["weight"]),
                )
                for place, entry in enumerate(entries)
            ]
    except FileNotFoundError as error:
        raise InputError(f"cannot read {path}: no such file") from error
    except (SafetensorError, OSError, LookupError, ValueError, TypeError) as error:
        raise CorruptionError(f"{path} is not a gem-index model: {error}") from error
