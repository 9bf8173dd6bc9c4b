"""Configuration files: which vectors and settings make an encoder, or several, as ``gem-index eval tune`` writes them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gem_index.config import GemConfig
from gem_index.errors import ConfigError, InputError
from gem_index.files import user_path
from gem_index.json_input import read_json_file
from gem_index.quoting import quoted, quoted_error, quoted_path

__all__ = ["EncoderSpec", "read_specification"]

_FORM = (
    'expected {"vectors": "...", "config": {...}} as eval tune writes it, or '
    '{"encoders": [{"vectors": "...", "config": {...}, "weight": 1.0}, ...]}'
)


@dataclass(frozen=True)
class EncoderSpec:
    """Vectors as ``--vectors`` takes them, a configuration, and a weight among other encoders."""

    vectors: str
    config: GemConfig
    weight: float = 1.0


def read_specification(path: str | Path) -> list[EncoderSpec]:
    """Read a configuration file; several encoders are for :class:`~gem_index.gem.combined.CombinedEncoder`.

    Raises
    ------
    InputError
        If the file cannot be read; ConfigError where its content is no configuration.
    """
    path = user_path(path)
    try:
        content = read_json_file(path, error=ConfigError)
    except OSError as error:
        raise InputError(
            f"cannot read {quoted_path(path)}: {quoted_error(error)}; expected a readable file"
        ) from error
    entries = content.get("encoders", [content]) if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{path} holds no configuration; {_FORM}")
    return [_spec(path, entry) for entry in entries]


def _spec(path: Path, entry: Any) -> EncoderSpec:
    known = {"vectors", "config", "weight"}
    if (
        not isinstance(entry, dict)
        or not set(entry) <= known
        or not isinstance(entry.get("vectors"), str)
        or not isinstance(entry.get("config", {}), dict)
        or isinstance(entry.get("weight"), bool)
        or not isinstance(entry.get("weight", 1.0), int | float)
        or not 1e-9 <= entry.get("weight", 1.0) <= 1e9
    ):
        raise ConfigError(f"{path} holds {quoted(entry, 80)}; {_FORM}")
    config = GemConfig.from_json(json.dumps(entry.get("config", {})))
    return EncoderSpec(entry["vectors"], config, float(entry.get("weight", 1.0)))
