"""The candidates of an evaluation: GEM with its vectors and configuration, and baselines, each a scorer of text pairs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, Self

from gem_index.common.arrays import F64
from gem_index.common.checks import check_number
from gem_index.errors import ConfigError
from gem_index.evaluate.baselines import BASELINES, Scorer, cosines
from gem_index.evaluate.lexical_baselines import TfIdf
from gem_index.gem.combined import Encoder as AnyEncoder
from gem_index.gem.encoder import GemEncoder
from gem_index.gem.specification import encoder_specs
from gem_index.home.choice import EncoderChoice
from gem_index.vectors.base import FloatArray, VectorSource
from gem_index.vectors.registry import DEFAULT_VECTORS

__all__ = [
    "GEM",
    "Candidates",
    "Encoder",
    "EncoderScorer",
    "candidates",
    "candidates_of",
    "describe_choice",
    "with_lexical",
]

Candidates = Mapping[str, Callable[[], Scorer]]

GEM = "GEM"
"""The name of the evaluated encoder among the baselines."""


class Encoder(Protocol):
    """An encoder that is fitted on a corpus and turns texts into unit vectors."""

    def fit(self, corpus: Iterable[str]) -> Any:
        """Learn from a corpus."""
        ...

    def encode(self, texts: Iterable[str]) -> FloatArray:
        """Return unit vectors, float32 (n, dimension)."""
        ...


class EncoderScorer:
    """An encoder as a scorer: the score of two texts is the cosine similarity of their vectors.

    Parameters
    ----------
    encoder : Encoder
    fitted : bool
        Whether the encoder is already fitted; ``fit`` then does nothing.
    """

    def __init__(self, encoder: Encoder, fitted: bool = False) -> None:
        self.encoder = encoder
        self._fitted = fitted

    def fit(self, corpus: Iterable[str]) -> Self:
        """Fit the encoder, unless it is already fitted."""
        if not self._fitted:
            self.encoder.fit(corpus)
        return self

    def score(self, first: Sequence[str], second: Sequence[str]) -> F64:
        """Return the cosines (n,)."""
        return cosines(self.encoder.encode, first, second)


class _Hybrid:
    """The sum of a scorer's score and the weighted TF-IDF cosine."""

    def __init__(self, scorer: Scorer, weight: float) -> None:
        self._scorer = scorer
        self._words = TfIdf()
        self._weight = weight

    def fit(self, corpus: Iterable[str]) -> Self:
        texts = list(corpus)
        self._scorer.fit(texts)
        self._words.fit(texts)
        return self

    def score(self, first: Sequence[str], second: Sequence[str]) -> F64:
        return self._scorer.score(first, second) + self._weight * self._words.score(first, second)


def with_lexical(found: Candidates, weight: float) -> Candidates:
    """Return the candidates with GEM as a hybrid: its cosine plus ``weight`` times the TF-IDF cosine.

    Raises
    ------
    ConfigError
        If the weight is not above 0.
    """
    check_number(weight, "the lexical weight", 0, above=True, expected="a number above 0")
    gem = found[GEM]
    return {**found, GEM: lambda: _Hybrid(gem(), weight)}


def candidates(
    make: Callable[[], Encoder],
    vectors: VectorSource | None,
    baselines: Iterable[str] = BASELINES,
    fitted: bool = False,
) -> Candidates:
    """Return GEM and the named baselines over the same vectors, in this order.

    Parameters
    ----------
    make : callable
        Returns the encoder that is evaluated.
    vectors : VectorSource or None
        The vectors of the baselines; None for no baselines.
    baselines : iterable of str
    fitted : bool
        Whether the encoder is already fitted, so that it is not fitted on the evaluated texts.

    Raises
    ------
    ConfigError
        If a baseline's name is unknown.
    """
    found: dict[str, Callable[[], Scorer]] = {GEM: lambda: EncoderScorer(make(), fitted)}
    if vectors is None:
        return found
    for name in baselines:
        if name not in BASELINES:
            raise ConfigError(f"the baseline is {name!r}; expected {', '.join(BASELINES)}")
        found[name] = lambda make=BASELINES[name]: make(vectors)  # type: ignore[misc]
    return found


def candidates_of(
    choice: EncoderChoice, baselines: Iterable[str] = BASELINES, *, background: bool = False
) -> tuple[Candidates, dict[str, Any]]:
    """Return a chosen encoder beside baselines over its vectors, and the head of the report.

    Parameters
    ----------
    choice : EncoderChoice
    baselines : iterable of str
        Of several encoders over the vectors of the first.
    background : bool
        Do not fit on the evaluated texts; a fitted model never is.
    """
    encoder = choice.open().encoder
    found = candidates(
        lambda: encoder if choice.fitted else encoder.unfitted(),
        encoder.encoders[0].vectors,
        baselines,
        choice.fitted or background,
    )
    return found, describe_choice(choice, encoder)


def describe_choice(choice: EncoderChoice, encoder: AnyEncoder) -> dict[str, Any]:
    """Return the description of a chosen encoder for a report: its name, and its configuration."""
    configs = [json.loads(part.config.to_json()) for part in encoder.encoders]
    if isinstance(encoder, GemEncoder):
        named = choice.vectors or choice.model or choice.collection or DEFAULT_VECTORS
        return {"vectors": str(named), "config": configs[0]}
    head: dict[str, Any] = {"config": configs, "weights": list(encoder.weights)}
    if choice.fitted:
        return {"model": choice.model, "collection": choice.collection, **head}
    specs = encoder_specs(None, choice.config, DEFAULT_VECTORS)
    return {"vectors": [str(spec.vectors) for spec in specs], **head}
