"""The configurations of a suite as encoders: what ``gem-index build`` would make of the same settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gem_index.config import NEW_COLLECTION_PRIOR, GemConfig
from gem_index.errors import ConfigError
from gem_index.evaluate.suite import Candidate
from gem_index.gem.combined import CombinedEncoder
from gem_index.gem.encoder import GemEncoder
from gem_index.gem.recommended import config_for
from gem_index.gem.specification import read_specification
from gem_index.home import Home
from gem_index.opening import open_vectors
from gem_index.quoting import quoted
from gem_index.vectors.base import VectorSource
from gem_index.vectors.registry import DEFAULT_VECTORS

__all__ = ["candidate_of"]


def candidate_of(entry: Mapping[str, Any], folder: Path, home: Home | None) -> Candidate:
    """Return a suite's configuration as a candidate.

    Parameters
    ----------
    entry : mapping
        ``name``, and ``vectors`` with ``preset`` or ``config`` (some fields change what suits the vectors), or ``file``: a
        file as ``eval tune`` writes it, relative to the folder.
    folder : Path
        Where the suite's file lies.
    home : Home, optional
        Where names of vectors are looked up; the default one unless given.

    Raises
    ------
    ConfigError
        If a value is wrong, or too many are given.
    """
    name = entry["name"]
    if "file" in entry:
        if set(entry) != {"name", "file"}:
            raise ConfigError(
                f"the configuration {quoted(name)} holds {sorted(entry)}; expected nothing beside file"
            )
        specs = read_specification(folder / str(entry["file"]))
        parts = [(open_vectors(spec.vectors, home), spec.config, spec.weight) for spec in specs]
        described: dict[str, Any] = {"vectors": [spec.vectors for spec in specs]}
    else:
        if "preset" in entry and "config" in entry:
            raise ConfigError(
                f"the configuration {quoted(name)} holds preset and config; expected one of them"
            )
        named = entry.get("vectors", DEFAULT_VECTORS)
        vectors = open_vectors(named, home)
        config = config_for(vectors, entry.get("preset", entry.get("config")))
        parts = [(vectors, config, 1.0)]
        described = {"vectors": named}
    whole = [(source, _of_a_new_collection(config), weight) for source, config, weight in parts]
    described["config"] = [json.loads(config.to_json()) for _, config, _ in whole]
    return Candidate(name, lambda: _encoder(whole), whole[0][0], described)


def _of_a_new_collection(config: GemConfig) -> GemConfig:
    return config if config.prior_chosen else replace(config, prior=NEW_COLLECTION_PRIOR)


def _encoder(parts: list[tuple[VectorSource, GemConfig, float]]) -> GemEncoder | CombinedEncoder:
    encoders = [GemEncoder(vectors, config) for vectors, config, _ in parts]
    if len(encoders) == 1:
        return encoders[0]
    return CombinedEncoder(encoders, [weight for _, _, weight in parts])
