"""The configurations of a suite as encoders, the same that ``Home.build`` makes from these settings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.evaluate.suite_file import Candidate
from gem_index.gem.specification import EncoderSpec, make_encoder, read_specification
from gem_index.home import Home
from gem_index.home.vector_opening import open_vectors
from gem_index.vectors.registry import DEFAULT_VECTORS

__all__ = ["candidate_of"]


def candidate_of(entry: Mapping[str, Any], folder: Path, home: Home | None) -> Candidate:
    """Return a suite's configuration as a candidate.

    Parameters
    ----------
    entry : mapping
        ``name``, and ``vectors`` with ``preset`` or ``config`` (its fields override the defaults for the vectors), or
        ``file``: the result of tuning, relative to the folder.
    folder : Path
        The folder of the suite's file.
    home : Home, optional
        The home in which names of vectors are looked up; by default the default home.

    Raises
    ------
    ConfigError
        If a value is wrong, or too many are given.
    """
    name = entry["name"]
    if "file" in entry:
        if set(entry) != {"name", "file"}:
            raise ConfigError(
                f"the configuration {quoted(name)} holds {sorted(entry)}; expected no other key with file"
            )
        specs = read_specification(folder / str(entry["file"]))
        described: dict[str, Any] = {"vectors": [str(spec.vectors) for spec in specs]}
    else:
        if "preset" in entry and "config" in entry:
            raise ConfigError(
                f"the configuration {quoted(name)} holds preset and config; expected one of them"
            )
        named = entry.get("vectors", DEFAULT_VECTORS)
        specs = [EncoderSpec.of(named, entry.get("preset", entry.get("config")))]
        described = {"vectors": named}
    whole = make_encoder(
        specs, lambda spec: open_vectors(str(spec), home), lambda config: config.for_collection()
    )
    described["config"] = [json.loads(encoder.config.to_json()) for encoder in whole.encoders]
    return Candidate(name, whole.unfitted, whole.encoders[0].vectors, described)
