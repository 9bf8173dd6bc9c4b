"""A transformer of scikit-learn that turns texts into GEM vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from gem_index import CombinedEncoder, GemConfig, GemEncoder, open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.gem import Components
from gem_index.progress import ProgressOption
from gem_index.sparse import SparseEncoder, WordFeatures

__all__ = ["GemVectorizer"]

_NESTED = "config__"
"""Prefix of the names of the configuration's parameters."""


class GemVectorizer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc] # untyped
    """Turns texts into vectors of unit length; ``fit`` adapts the principal directions to the texts and ignores labels.

    It can transform before it is fitted, with the background components of its vectors, unless ``words`` is set. A named
    model or collection is already fitted: ``fit`` opens it and does not change it, and only learns which words there are. A
    pickle holds the fitted components, the fingerprint and the fitted words, not the word vectors: unpickling opens them by
    name, and refuses other ones.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint
        As for :func:`gem_index.open_provider`; the fingerprint is that before ``fit``. The fields of the configuration are
        nested parameters: ``config__window``, ``config__n_removed`` and so on.
    words : bool
        Put a column for each term of the fitted texts beside the vectors, in one sparse matrix: a classifier then learns
        from meaning and words together. The values are those of the sparse vectors of a vector database
        (:class:`gem_index.sparse.SparseEncoder`) times the inverse document frequency. The statistics and the language are
        those of the fitted texts; those of the collection, if one is named.
    progress : bool or callable, optional
        True for a bar on standard error while it fits and transforms; a function is called with stage, done and total, and
        must be picklable if the vectorizer is pickled.

    Attributes
    ----------
    encoder_ : GemEncoder or CombinedEncoder
        After ``fit``.
    words_ : WordFeatures, optional
        After ``fit``: the encoder of the columns of words, None without ``words``.

    Examples
    --------
    >>> texts = ["how do I renew a visa?", "where is the bank?"]
    >>> GemVectorizer().fit_transform(texts).shape
    (2, 256)
    """

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | Mapping[str, Any] | str | None = None,
        home: str | Path | None = None,
        fingerprint: str | None = None,
        words: bool = False,
        progress: ProgressOption = None,
    ) -> None:
        self.vectors = vectors
        self.model = model
        self.collection = collection
        self.config = config
        self.home = home
        self.fingerprint = fingerprint
        self.words = words
        self.progress = progress

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters, and those of the configuration if one is given."""
        params: dict[str, Any] = super().get_params(deep=False)
        if not deep or self.config is None:
            return params
        try:
            config = GemConfig.of(self.config)
        except ConfigError:  # an invalid one has no fields; fit reports the problem
            return params
        # with a mapping, the other fields depend on the word vectors, which are not opened here
        given = isinstance(self.config, Mapping)
        names = GemConfig.named_fields(self.config) if given else asdict(config)
        return params | {f"{_NESTED}{name}": getattr(config, name) for name in names}

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``config__window`` and the like replace a field of the configuration.

        Without a configuration, these fields replace those of the word vectors' default configuration, as in ``fit``.

        Raises
        ------
        ValueError
            If there is no parameter, or no field of the configuration, with that name.
        ConfigError
            If a field cannot have that value.
        """
        changes = {
            key.removeprefix(_NESTED): params.pop(key)
            for key in list(params)
            if key.startswith(_NESTED)
        }
        known = [field.name for field in fields(GemConfig)]
        unknown = sorted(set(changes) - set(known))
        if unknown:
            raise ValueError(
                f"the configuration has no parameter {', '.join(unknown)}; expected some of {', '.join(known)}"
            )
        super().set_params(**params)
        if changes:
            self.config = replace(self._present_config(), **changes)
        return self

    def _present_config(self) -> GemConfig:
        if isinstance(self.config, GemConfig | str):
            return GemConfig.of(self.config)
        encoders = open_provider(self.vectors, config=self.config, home=self.home).encoder.encoders
        if len(encoders) > 1:
            raise ValueError(
                f"the configuration has {len(encoders)} encoders; expected one whose parameters are set: set config itself"
            )
        return encoders[0].config

    def fit(self, X: Iterable[str], y: object = None) -> Self:
        """Fit the principal directions on n texts.

        Raises
        ------
        ValueError
            If X is not texts in one dimension, or none of them has a word.
        """
        texts = _texts(X)
        provider = open_provider(**self._provider_arguments)
        if self._fits:
            try:
                provider.encoder.fit(texts, progress=self.progress)
            except InputError as error:
                raise ValueError(str(error)) from error
        self.encoder_ = provider.encoder
        words: WordFeatures | None = None
        if self.words:
            named = self.collection is not None
            words = WordFeatures(
                provider.sparse_encoder if named else SparseEncoder.fit(texts), texts
            )
        self.words_ = words
        self._fitted_with = self._provider_arguments
        return self

    def fit_transform(
        self, X: Iterable[str], y: object = None
    ) -> npt.NDArray[np.float32] | csr_matrix:
        """Fit on n texts and return what :meth:`transform` returns for them; X is read once."""
        texts = _texts(X)
        return self.fit(texts)._transformed(texts)

    def transform(self, X: Iterable[str]) -> npt.NDArray[np.float32] | csr_matrix:
        """Return the vectors of n texts, float32 (n, dimension); zeros for a text without words.

        With ``words`` it is a matrix in CSR form, float32 (n, dimension + terms): the vectors, of length 1, and the words
        beside them, of length 3.

        Raises
        ------
        NotFittedError
            With ``words``, before ``fit``.
        """
        return self._transformed(_texts(X))

    def _transformed(self, texts: list[str]) -> npt.NDArray[np.float32] | csr_matrix:
        words = self._word_features
        vectors = self._encoder.encode(texts, progress=self.progress)
        return vectors if words is None else words.beside(vectors, texts)

    @property
    def _word_features(self) -> WordFeatures | None:
        """The encoder of the columns of words, None without ``words``."""
        if self.words and not hasattr(self, "encoder_"):
            raise NotFittedError(
                "this GemVectorizer has words=True and is not fitted; expected a call of fit, which learns the words"
            )
        return getattr(self, "words_", None)

    @property
    def _provider_arguments(self) -> dict[str, Any]:
        """The parameters that name an encoder, the arguments of :func:`gem_index.open_provider`."""
        params = self.get_params(deep=False)
        return {name: params[name] for name in params if name not in ("words", "progress")}

    @property
    def _fits(self) -> bool:
        return self.model is None and self.collection is None

    @property
    def _encoder(self) -> GemEncoder | CombinedEncoder:
        """The fitted encoder; before a fit, the encoder that the parameters name, cached until they change."""
        if hasattr(self, "encoder_"):
            fitted: GemEncoder | CombinedEncoder = self.encoder_
            return fitted
        named = self._provider_arguments
        if getattr(self, "_unfitted", ({}, None))[0] != named:
            self._unfitted = named, self._open()
        return self._unfitted[1]

    @property
    def _n_features_out(self) -> int:
        words = self._word_features
        return self._encoder.dimension + (0 if words is None else words.count)

    def _open(self, named: dict[str, Any] | None = None) -> GemEncoder | CombinedEncoder:
        """Open a new encoder from the given parameters, by default the current ones: a fit changes the encoder."""
        return open_provider(**named or self._provider_arguments).encoder

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.requires_fit = bool(self.words)
        tags.transformer_tags.preserves_dtype = []
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """Replace the encoder by its components and its fingerprint."""
        encoder = self._encoder
        state = dict(super().__getstate__())
        state.pop("_unfitted", None)
        fitted = state.pop("encoder_", None) is not None
        saved = fitted and self._fits
        components = [part.components for part in encoder.encoders] if saved else None
        return {**state, "_saved": (fitted, components, encoder.fingerprint)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Open the word vectors by name.

        Raises
        ------
        FingerprintMismatchError
            If they, or the configuration of a model, differ from those that were saved.
        """
        saved: tuple[bool, list[Components] | None, str] = state.pop("_saved")
        super().__setstate__(state)
        fitted, components, fingerprint = saved
        encoder = self._open(state.get("_fitted_with"))
        if components is not None:
            encoder = encoder.with_components(components)
        if encoder.fingerprint != fingerprint:
            name = self.collection or self.model or self.vectors or "the bundled vectors"
            raise FingerprintMismatchError(
                f"the GemVectorizer saved with {name}",
                fingerprint,
                encoder.fingerprint,
                "load it with the word vectors and the configuration it was saved with, or fit it again",
                kind="encoder",
            )
        if fitted:
            self.encoder_ = encoder


def _texts(X: Iterable[str]) -> list[str]:
    """Return texts as a list.

    Raises
    ------
    ValueError
        If they are not texts in one dimension.
    """
    if isinstance(X, str | bytes) or not isinstance(X, Iterable):
        raise ValueError(f"found a {type(X).__name__}; expected texts: a list of them, a column")
    dimensions = len(getattr(X, "shape", (0,)))
    if dimensions != 1:
        raise ValueError(
            f"found {dimensions} dimensions; expected texts in one: name a column 'text', not ['text']"
        )
    texts = list(X)
    for i, text in enumerate(texts):
        if not isinstance(text, str):
            raise ValueError(
                f"row {i} is {str(text)[:40]} ({type(text).__name__}); expected a text: fill or drop such rows"
            )
    return texts
