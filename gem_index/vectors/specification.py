"""Specifications of word vectors: names and paths joined by ``+``, each with an optional weight."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import COMPRESSED, split_member

__all__ = ["SpecPart", "VectorSpec", "is_path"]


@dataclass(frozen=True)
class SpecPart:
    """One part of a specification: a name or path, and its weight in the concatenation."""

    name: str
    weight: float = 1.0

    def __str__(self) -> str:
        return self.name if self.weight == 1 else f"{self.name}*{self.weight!r}"


@dataclass(frozen=True)
class VectorSpec:
    """The word vectors to concatenate, with their weights; ``str`` gives the text that parses to it."""

    parts: tuple[SpecPart, ...]

    def __str__(self) -> str:
        return "+".join(map(str, self.parts))

    @property
    def names(self) -> frozenset[str]:
        """The names and paths of the parts."""
        return frozenset(part.name for part in self.parts)

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each part."""
        return tuple(part.weight for part in self.parts)

    def scaled(self, place: int, factor: float) -> VectorSpec:
        """Return the specification with one part's weight multiplied."""
        part = self.parts[place]
        heavier = replace(part, weight=part.weight * factor)
        return VectorSpec((*self.parts[:place], heavier, *self.parts[place + 1 :]))

    @classmethod
    def parse(cls, text: str | Self) -> Self:
        """Parse ``a*0.7+b``.

        An existing path with a slash, or with the ending of a file of word vectors, may contain a ``+`` or ``*``. Any other
        text with one of these consists of names, even if a file has that name.

        Raises
        ------
        ConfigError
            If a part is empty or its weight is not a number above 0.
        """
        if isinstance(text, cls):
            return text
        whole = str(text)
        if _is_written_as_path(whole):
            return cls((SpecPart(whole),))
        return cls(tuple(_part(part.strip(), whole) for part in whole.split("+")))


def _part(text: str, spec: str) -> SpecPart:
    if _is_written_as_path(text):
        return SpecPart(text)
    name, star, factor = text.rpartition("*")
    if not star:
        name, factor = text, "1"
    try:
        weight = float(factor)
    except ValueError:
        weight = 0.0
    if not name or not 1e-9 <= weight <= 1e9:
        raise ConfigError(
            f"the vectors are {quoted(spec, 200)}; expected names or paths joined by '+', each with an optional "
            "weight from 1e-9 to 1e9: lexvec*1.0+fasttext*0.7+psl"
        )
    return SpecPart(name.strip(), weight)


_ENDINGS = (
    *COMPRESSED,
    ".txt",
    ".vec",
    ".bin",
    ".npy",
    ".safetensors",
    ".parquet",
    ".kv",
    ".model",
)


def _is_written_as_path(text: str) -> bool:
    return ("/" in text or text.lower().endswith(_ENDINGS)) and is_path(text)


def is_path(part: str) -> bool:
    """Tell whether a part of a specification names an existing file or folder, or a file inside a zip file."""
    if not part:
        return False
    path, _ = split_member(part)
    try:
        return path.exists()
    except OSError:
        return False  # a name too long for a file
