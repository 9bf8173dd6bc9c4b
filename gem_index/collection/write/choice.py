"""The settings that a caller chooses, and the check that an existing collection has the same settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.models import open_vectors
from gem_index.errors import Action, Advice, ConfigError, FingerprintMismatchError
from gem_index.gem.combined import CombinedEncoder
from gem_index.gem.recommended import config_for
from gem_index.gem.specification import ConfigLike, EncoderSpec, encoder_specs
from gem_index.index.kinds import AUTOMATIC, check_kind
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.languages import AUTO, check_language
from gem_index.vectors.registry import DEFAULT_VECTORS

__all__ = [
    "NEW_CHUNKING",
    "CollectionChoice",
    "check_agreement",
    "check_chunking",
    "check_language_of",
]

NEW_CHUNKING = Chunking("auto")
"""The default chunking of a new collection."""


@dataclass(frozen=True, kw_only=True)
class CollectionChoice:
    """The settings that a caller chooses; None is the default. See :meth:`gem_index.Home.create_collection`."""

    vectors: str | None = None
    config: ConfigLike | None = None
    prior: float | None = None
    index: str | None = None
    chunking: Chunking | None = None
    language: str | None = None

    def __post_init__(self) -> None:
        if self.language is not None:
            check_language(self.language)

    @property
    def analyzer(self) -> Analyzer:
        """The analyzer of a new collection, which turns texts into terms."""
        return Analyzer(self.language or AUTO)

    @property
    def to_repeat(self) -> Action:
        """What completes a build that has stored the documents, but not their index and with it the choice."""
        kept = self.chunking is None and self.language is None
        return Action.REFIT if kept else Action.BUILD_AGAIN

    @property
    def specs(self) -> tuple[EncoderSpec, ...]:
        """The encoders of a new collection."""
        return encoder_specs(self.vectors, self.config, DEFAULT_VECTORS)

    @property
    def names_encoders(self) -> bool:
        """Whether the configuration is a list of encoders, each with its word vectors."""
        return isinstance(self.config, Mapping) and "encoders" in self.config


def check_agreement(access: CollectionAccess, choice: CollectionChoice) -> None:
    """Check that a caller's settings agree with an existing collection.

    Raises
    ------
    FingerprintMismatchError
        If the choice has other word vectors.
    ConfigError
        If the choice has another configuration, other weights, or an index that cannot be made.
    """
    owner = f"the collection {access.name}"
    own = access.encoder()
    specs = choice.specs
    if choice.vectors is not None or choice.names_encoders:
        for encoder, spec in zip(own.encoders, specs, strict=False):
            found = open_vectors(access.workspace, spec.vectors).fingerprint
            if found != encoder.vectors.fingerprint:
                raise FingerprintMismatchError(
                    owner,
                    encoder.vectors.fingerprint,
                    found,
                    Advice(Action.LEAVE_OUT_VECTORS),
                )
        weights = own.weights if isinstance(own, CombinedEncoder) else (1.0,)
        if weights != tuple(spec.weight for spec in specs):
            raise ConfigError(
                f"{owner} has {len(weights)} encoders with the weights {list(weights)}, found {len(specs)} with the weights "
                f"{[spec.weight for spec in specs]}; expected the same: leave them out, or build a new collection"
            )
    listed = [spec.config for spec in specs]
    given = listed if choice.names_encoders else [choice.config] * len(own.encoders)
    for encoder, asked in zip(own.encoders, given, strict=True):
        wanted = encoder.config if asked is None else config_for(encoder.vectors, asked)
        if choice.prior is not None or not wanted.prior_chosen:
            prior = encoder.config.prior if choice.prior is None else choice.prior
            wanted = replace(wanted, prior=prior)
        if wanted != encoder.config:
            raise ConfigError(
                f"{owner} has the configuration {encoder.config.to_json()}, found {wanted.to_json()}; "
                "expected the same: leave it out, or build a new collection"
            )
    check_kind(choice.index or AUTOMATIC, own.dimension)


def check_chunking(name: str, own: Chunking, asked: Chunking | None) -> None:
    """Check that an existing collection has the chosen chunking.

    Raises
    ------
    ConfigError
        If the collection has another chunking.
    """
    if asked is not None and asked.choices != own.choices:
        raise ConfigError(
            f"the collection {name} has the chunking {own.choices or 'none'}, found {asked.choices or 'none'}; "
            "expected the same: leave it out, or build the collection again with it"
        )


def check_language_of(access: CollectionAccess, asked: str | None) -> None:
    """Check that an existing collection has the chosen language.

    Raises
    ------
    ConfigError
        If the collection has another language.
    """
    with access.reading() as rows:
        own = rows.record.analyzer.language
    if asked not in (None, AUTO, own):
        raise ConfigError(
            f"the collection {access.name} has the language {own}, found {asked}; expected the same: leave it out, or build "
            "the collection again with it"
        )
