"""The choice of an encoder by names, and the provider that the choice opens."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from gem_index.errors import Action, Advice, ConfigError, FingerprintMismatchError, InputError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import user_path
from gem_index.gem.combined import CombinedEncoder, Encoder
from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.gem.model_file import read_model
from gem_index.gem.provider import GemProvider
from gem_index.gem.reranking import Candidate, RerankResults, rerank
from gem_index.gem.specification import ConfigLike, EncoderSpec, encoder_specs, make_encoder
from gem_index.home.home import Home
from gem_index.home.vector_opening import open_home, open_named
from gem_index.home.words import (
    STATISTICS_FILE,
    check_rerank_mode,
    open_sparse_encoder,
    rerank_with_words,
)
from gem_index.sparse import SparseEncoder, SparseVector
from gem_index.text.languages import check_language
from gem_index.vectors.base import VectorSource
from gem_index.vectors.registry import DEFAULT_VECTORS
from gem_index.vectors.specification import VectorSpec, is_path

__all__ = ["EncoderChoice", "NamedProvider"]

MODEL_FILE = ".safetensors"
"""The ending of a model file that :meth:`GemEncoder.save` wrote. A text without this ending is the name of a model."""


@dataclass(frozen=True, kw_only=True)
class EncoderChoice:
    """The choice of an encoder: word vectors with a configuration, a fitted model, or the model of a collection.

    The fields are the arguments of :func:`open_provider`. The constructor raises an error for fields that contradict
    each other; :meth:`open` looks up the names.

    Raises
    ------
    ConfigError
        If both a model and a collection are named, if a model or a collection is combined with a configuration, or if the
        configuration or the vectors are malformed.
    InputError
        If a field has another type or is empty.
    """

    vectors: str | Path | None = None
    model: str | Path | None = None
    collection: str | None = None
    config: ConfigLike | None = None
    home: Home | str | Path | None = None
    fingerprint: str | None = None
    words: str | Path | None = None

    def __post_init__(self) -> None:
        _check_kinds(
            vectors=(self.vectors, str, Path),
            model=(self.model, str, Path),
            collection=(self.collection, str),
            home=(self.home, str, Path, Home),
            fingerprint=(self.fingerprint, str),
            words=(self.words, str, Path),
        )
        if self.model is not None and self.collection is not None:
            raise ConfigError("found a model and a collection; expected one of them")
        if self.config is not None and self.fitted:
            raise ConfigError(
                "found a configuration beside a fitted model; expected only one of them: a model keeps the configuration of "
                "its fit"
            )
        for name in ("vectors", "model", "collection", "fingerprint", "words"):
            if getattr(self, name) == "":
                raise InputError(f"{name} is empty; expected a name, or None")
        self._check_config()
        if isinstance(self.home, str | Path) and self.home:
            object.__setattr__(self, "home", user_path(self.home).absolute())
        if self.vectors is not None:
            object.__setattr__(self, "vectors", _with_absolute_paths(str(self.vectors)))
        if self.model is not None:
            named = str(self.model)
            file = named.endswith(MODEL_FILE)
            object.__setattr__(self, "model", str(user_path(named).absolute()) if file else named)
        if self.words is not None:
            object.__setattr__(self, "words", _words(str(self.words)))

    def _check_config(self) -> None:
        if self.config is None:
            return
        vectors = None if self.vectors is None else str(self.vectors)
        for spec in encoder_specs(vectors, self.config, DEFAULT_VECTORS):
            if isinstance(spec.config, Mapping):
                GemConfig(**GemConfig.named_fields(spec.config))
            elif spec.config is not None:
                GemConfig.of(spec.config)

    @property
    def fitted(self) -> bool:
        """Whether the choice names a fitted model or a collection."""
        return self.model is not None or self.collection is not None

    def open(self) -> NamedProvider:
        """Return the provider; the errors are as from :func:`open_provider`."""
        if self.fitted:
            encoder, chosen = self._fitted_encoder(), self
        else:
            vectors = None if self.vectors is None else str(self.vectors)
            specs = encoder_specs(vectors, self.config, DEFAULT_VECTORS)
            encoder = make_encoder(specs, lambda spec: open_named(spec, self.home))
            chosen = replace(self, **_settled(encoder, specs))
        if self.fingerprint is not None and self.fingerprint != encoder.fingerprint:
            raise FingerprintMismatchError(
                f"the data saved with {chosen}",
                self.fingerprint,
                encoder.fingerprint,
                "open it with the word vectors, configuration and fit it was saved with, or embed everything again",
                kind="encoder",
            )
        return NamedProvider(encoder, replace(chosen, fingerprint=encoder.fingerprint))

    def _fitted_encoder(self) -> Encoder:
        if self.collection is not None:
            encoder = open_home(self.home).collection(self.collection).encoder
        else:
            encoder = _open_model(str(self.model), self.vectors, self.home)
        if self.vectors is not None:
            named = [open_named(part, self.home) for part in str(self.vectors).split(", ")]
            _check_vectors(str(self), encoder, named)
        return encoder

    @property
    def vector_names(self) -> str:
        """The names of the encoder's word vectors, joined by a comma and a space.

        Raises
        ------
        UnknownNameError
            If the home has no model or collection of this name.
        """
        if self.collection is not None:
            return open_home(self.home).collection(self.collection).status().vectors
        if self.model is not None and not str(self.model).endswith(MODEL_FILE):
            return open_home(self.home).models.describe(str(self.model)).vectors
        vectors = None if self.vectors is None else str(self.vectors)
        if self.model is not None:
            return vectors or DEFAULT_VECTORS
        specs = encoder_specs(vectors, self.config, DEFAULT_VECTORS)
        return ", ".join(str(spec.vectors) for spec in specs)

    def to_dict(self) -> dict[str, Any]:
        """Return, as JSON values, the fields that are set; :meth:`from_dict` reads them."""
        home = self.home.root.absolute() if isinstance(self.home, Home) else self.home
        config = self.config.to_fields() if isinstance(self.config, GemConfig) else self.config
        fields = {
            "vectors": self.vectors,
            "model": self.model,
            "collection": self.collection,
            "config": dict(config) if isinstance(config, Mapping) else config,
            "home": str(home) if home else None,
            "fingerprint": self.fingerprint,
            "words": self.words,
        }
        return {key: value for key, value in fields.items() if value is not None}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> EncoderChoice:
        """Return the choice that :meth:`to_dict` wrote.

        Raises
        ------
        ConfigError
            If a field is unknown.
        """
        known = cls.__dataclass_fields__
        if not isinstance(fields, Mapping):
            raise ConfigError(
                f"the choice is {quoted(fields)}; expected a mapping of {', '.join(known)}"
            )
        if unknown := sorted(set(map(str, fields)) - set(known)):
            raise ConfigError(
                f"found the field {quoted(unknown[0])}; expected some of {', '.join(known)}"
            )
        return cls(**fields)

    def __str__(self) -> str:
        kinds = ("collection", "model", "vectors")
        named = (f"the {kind} {getattr(self, kind)}" for kind in kinds if getattr(self, kind))
        return next(named, "the configuration")


def _words(named: str) -> str:
    """Return the absolute path of a file of word statistics; a language is returned unchanged."""
    if named.endswith(STATISTICS_FILE):
        return str(user_path(named).absolute())
    check_language(named)
    return named


def _with_absolute_paths(named: str) -> str:
    """Return the names of vectors, with absolute paths instead of relative ones, for use in another working directory."""
    specs = [VectorSpec.parse(part) for part in named.split(", ")]
    return ", ".join(
        str(
            VectorSpec(
                tuple(
                    replace(part, name=str(user_path(part.name).absolute()))
                    if "/" in part.name and is_path(part.name)
                    else part
                    for part in spec.parts
                )
            )
        )
        for spec in specs
    )


def _settled(encoder: Encoder, specs: Sequence[EncoderSpec]) -> dict[str, Any]:
    """Return vectors and configuration without defaults, so the same unfitted encoder opens even if a default changes."""
    if isinstance(encoder, GemEncoder):
        return {"vectors": str(specs[0].vectors), "config": encoder.config}
    parts = [
        {"vectors": str(spec.vectors), "config": part.config.to_fields(), "weight": spec.weight}
        for spec, part in zip(specs, encoder.encoders, strict=True)
    ]
    return {"config": {"encoders": parts}}


class NamedProvider(GemProvider):
    """A provider that was opened by name. Its choice can open the same provider again.

    A pickle has only the choice. So a worker process does not receive the content of the files, but opens the files.

    Parameters
    ----------
    encoder : GemEncoder or CombinedEncoder
    choice : EncoderChoice
        The choice that opens the provider again. The choice has the fingerprint. So :meth:`EncoderChoice.open` raises
        an error if the names now belong to other vectors, another fit or another configuration.
    """

    def __init__(self, encoder: Encoder, choice: EncoderChoice) -> None:
        super().__init__(encoder)
        self._choice = choice

    @property
    def settings(self) -> dict[str, Any]:
        """The settings to save: ``open_provider(**settings)`` opens the same provider, or raises an error.

        Raises
        ------
        ConfigError
            If the encoder was fitted after it was opened, because this fit has no name.
        """
        if self._choice.fingerprint != self.fingerprint:
            raise ConfigError(
                "this provider's encoder was fitted after it was opened, and that fit has no name; expected a saved "
                "encoder: encoder.save('model.safetensors'), then open_provider(model='model.safetensors')"
            )
        return copy.deepcopy(self._choice.to_dict())

    @cached_property
    def sparse_encoder(self) -> SparseEncoder:
        """The encoder of sparse vectors of words.

        The argument ``words`` of :func:`open_provider` determines the word statistics. These are not part of the
        fingerprint. The statistics of a collection are computed from its texts on first use, and again after a change of
        the collection. The process caches the statistics of the last four collections, so another provider does not
        read the texts again.
        """
        choice = self._choice
        return open_sparse_encoder(choice.words, choice.collection, choice.home)

    def embed_sparse_documents(self, texts: Iterable[str]) -> list[SparseVector]:
        """Return the sparse vector of the words of each text; see :meth:`gem_index.sparse.SparseEncoder.embed_documents`."""
        return self.sparse_encoder.embed_documents(texts)

    def embed_sparse_query(self, text: str) -> SparseVector:
        """Return the sparse vector of a query.

        The score of the default search is (cosine + s) / 3.25, where s is the inner product of the sparse vectors of
        query and document.
        """
        return self.sparse_encoder.embed_query(text)

    def rerank(
        self,
        query: str,
        candidates: Sequence[Candidate],
        top_n: int | None = None,
        *,
        mode: str = "dense",
    ) -> RerankResults:
        """Order candidates, best first.

        Parameters
        ----------
        query, candidates, top_n
            As for :func:`gem_index.rerank`.
        mode : {"dense", "hybrid"}
            ``dense`` orders by the cosine with the query, ``hybrid`` by the score of the default search,
            (cosine + 2.25 match) / 3.25.

        Raises
        ------
        InputError
            If an argument is not valid.
        """
        if check_rerank_mode(mode) == "dense":
            return rerank(query, candidates, self.encoder, top_n)
        return rerank_with_words(query, candidates, self.encoder, self.sparse_encoder, top_n)

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.settings,)


def _reopen(settings: dict[str, Any]) -> NamedProvider:
    return EncoderChoice.from_dict(settings).open()


def _check_kinds(**arguments: tuple[object, *tuple[type, ...]]) -> None:
    for name, (value, *kinds) in arguments.items():
        if value is not None and not isinstance(value, tuple(kinds)):
            raise InputError(
                f"{name} is {str(value)[:60]} ({type(value).__name__}); expected a {' or '.join(k.__name__ for k in kinds)}"
            )


def _check_vectors(name: str, encoder: Encoder, named: Sequence[VectorSource]) -> None:
    """Check that the encoders use the named word vectors, in the same order."""
    own = [part.vectors.fingerprint for part in encoder.encoders]
    found = [source.fingerprint for source in named]
    if len(own) != len(found):
        raise ConfigError(
            f"{name} has {len(own)} encoders, found {len(found)} names of vectors; expected one for each encoder, or none"
        )
    for expected, other in zip(own, found, strict=True):
        if expected != other:
            raise FingerprintMismatchError(name, expected, other, Advice(Action.LEAVE_OUT_VECTORS))


def _open_model(model: str, vectors: str | Path | None, home: Home | str | Path | None) -> Encoder:
    if not model.endswith(MODEL_FILE):
        return open_home(home).models.open(model)
    path = user_path(model)
    if read_model(path)[0].weight is None:
        return GemEncoder.load(path, open_named(str(vectors or DEFAULT_VECTORS), home))
    named = str(vectors or DEFAULT_VECTORS).split(", ")
    return CombinedEncoder.load(path, [open_named(part, home) for part in named])
