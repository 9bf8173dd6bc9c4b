"""Configuration files: the word vectors and settings of one encoder or of several."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from gem_index.common.json_input import read_json_file
from gem_index.errors import ConfigError, InputError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.files.inputs import user_path
from gem_index.files.publishing import publish_file
from gem_index.gem.combined import MOST_ENCODERS, CombinedEncoder, Encoder
from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.gem.recommended import config_for
from gem_index.vectors.base import VectorSource
from gem_index.vectors.specification import VectorSpec

__all__ = [
    "ConfigLike",
    "EncoderSpec",
    "encoder_specs",
    "make_encoder",
    "read_specification",
    "write_specification",
]

ConfigLike: TypeAlias = GemConfig | Mapping[str, Any] | str
"""A :class:`GemConfig`, some of its fields, the name of a preset, or ``{"encoders": [...]}`` for several encoders."""

_FORM = (
    'expected {"vectors": "...", "config": {...}} as eval tune writes it, or '
    '{"encoders": [{"vectors": "...", "config": {...}, "weight": 1.0}, ...]}'
)


@dataclass(frozen=True)
class EncoderSpec:
    """Word vectors, a configuration (None: the recommended one), and the weight beside other encoders."""

    vectors: VectorSpec
    config: ConfigLike | None = None
    weight: float = 1.0

    @classmethod
    def of(
        cls, vectors: str | VectorSpec, config: ConfigLike | None = None, weight: float = 1.0
    ) -> EncoderSpec:
        """Return the specification for vectors written as text, such as ``a*0.7+b``."""
        return cls(VectorSpec.parse(vectors), config, weight)

    def given(self) -> GemConfig:
        """Return the configuration; in a file it is always given."""
        return GemConfig.of(self.config or {})


def encoder_specs(
    vectors: str | None, config: ConfigLike | None, default: str
) -> tuple[EncoderSpec, ...]:
    """Return the specifications of the encoders that a caller chooses: one, or those that the configuration lists.

    Parameters
    ----------
    vectors : str, optional
        The vectors of the single encoder; ``default`` if none are named.
    config : GemConfig, mapping or str, optional
        See :data:`ConfigLike`.
    default : str

    Raises
    ------
    ConfigError
        If vectors are named together with several encoders, or the list does not have the documented form.
    """
    if not isinstance(config, Mapping) or "encoders" not in config:
        return (EncoderSpec.of(vectors or default, config),)
    if vectors is not None:
        raise ConfigError(
            f"found the vectors {quoted(vectors)} beside encoders that name their own; expected one of them"
        )
    specs = _specs("the configuration", dict(config))
    if len(specs) == 1:
        return (EncoderSpec(specs[0].vectors, specs[0].config),)  # a single encoder needs no weight
    return tuple(specs)


def make_encoder(
    specs: Sequence[EncoderSpec],
    open_vectors: Callable[[VectorSpec], VectorSource],
    settled: Callable[[GemConfig], GemConfig] = lambda config: config,
    threads: int | None = None,
) -> Encoder:
    """Return an unfitted encoder; ``settled`` fills in the fields that a configuration leaves open."""
    encoders = []
    for spec in specs:
        source = open_vectors(spec.vectors)
        encoders.append(
            GemEncoder(source, settled(config_for(source, spec.config)), threads=threads)
        )
    if len(encoders) == 1:
        return encoders[0]
    return CombinedEncoder(encoders, [spec.weight for spec in specs])


def read_specification(path: str | Path) -> list[EncoderSpec]:
    """Read a configuration file; several encoders are for :class:`~gem_index.gem.combined.CombinedEncoder`.

    Raises
    ------
    InputError
        If the file cannot be read; ConfigError if its content is not a configuration.
    """
    path = user_path(path)
    try:
        content = read_json_file(path, error=ConfigError)
    except OSError as error:
        raise InputError(
            f"cannot read {quoted_path(path)}: {quoted_error(error)}; expected a readable file"
        ) from error
    return _specs(str(path), content)


def write_specification(path: Path, vectors: str, config: GemConfig) -> dict[str, Any]:
    """Write a configuration file of one encoder and return its content. Atomic: complete on return, absent on error.

    Raises
    ------
    InputError
        If the file cannot be written.
    """
    content = {"vectors": vectors, "config": json.loads(config.to_json())}
    try:
        with publish_file(path) as file:
            file.write((json.dumps(content, indent=1) + "\n").encode())
    except OSError as error:
        raise InputError(
            f"cannot write {quoted_path(path)}: {quoted_error(error)}; expected a writable file"
        ) from error
    return content


def _specs(place: str, content: Any) -> list[EncoderSpec]:
    entries = content.get("encoders", [content]) if isinstance(content, dict) else None
    if not isinstance(entries, list) or not entries:
        raise ConfigError(f"{place} has no configuration; {_FORM}")
    if "encoders" in content and len(content) > 1:
        others = ", ".join(quoted(key, 40) for key in content if key != "encoders")
        raise ConfigError(f"{place} has {others} beside encoders; expected only encoders")
    if len(entries) > MOST_ENCODERS:
        raise ConfigError(f"{place} has {len(entries)} encoders; expected at most {MOST_ENCODERS}")
    return [_spec(place, entry) for entry in entries]


def _spec(place: str, entry: Any) -> EncoderSpec:
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
        raise ConfigError(f"{place} holds {quoted(entry, 80)}; {_FORM}")
    config = GemConfig.of(entry.get("config", {}))
    return EncoderSpec.of(entry["vectors"], config, float(entry.get("weight", 1.0)))
