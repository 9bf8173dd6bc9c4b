"""The fields that name an encoder in a LangChain configuration, for the embeddings and the re-ranker."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from langchain_core.load.serializable import Serializable
from pydantic import ConfigDict, PrivateAttr, model_validator

from gem_index import Home, open_provider
from gem_index.home import NamedProvider

__all__ = ["EncoderFields"]


class EncoderFields(Serializable):
    """Fields that name an encoder, the arguments of :func:`gem_index.open_provider`; it is opened on creation.

    The fields are then replaced by the settings of the opened encoder, with its fingerprint: loading dumped fields opens the
    same encoder, or raises :class:`gem_index.errors.FingerprintMismatchError`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    vectors: str | Path | None = None
    """Word vectors with their background components; by default the bundled ones."""
    model: str | Path | None = None
    """A fitted model of the home, or a ``.safetensors`` file that ``GemEncoder.save`` wrote."""
    collection: str | None = None
    """A collection of the home, whose model is used."""
    config: Any = None
    """Configuration for ``vectors``: a ``GemConfig``, its fields, or the name of a preset."""
    home: Home | str | Path | None = None
    """The home in which names are looked up; by default the default home."""
    fingerprint: str | None = None
    """The expected fingerprint of the encoder."""
    words: str | Path | None = None
    """The word statistics of sparse vectors: a ``.json`` file or a language; by default those of the collection."""

    _provider: NamedProvider = PrivateAttr()

    @model_validator(mode="after")
    def _open(self) -> Self:
        self._provider = open_provider(
            self.vectors,
            model=self.model,
            collection=self.collection,
            config=self.config,
            home=self.home,
            fingerprint=self.fingerprint,
            words=self.words,
        )
        vars(self).update(self._provider.settings)  # the fields are frozen
        self.model_fields_set.update(self._provider.settings)
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; with ``update`` it opens the encoder of the new fields, which has its own fingerprint."""
        if not update:
            return super().model_copy(deep=deep)
        fields = self.model_dump() | {"fingerprint": None} | dict(update)
        return type(self)(**fields)

    @property
    def provider(self) -> NamedProvider:
        """The provider of the opened encoder."""
        return self._provider

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            if name == "fingerprint":
                yield name, str(value)[:12]
            elif name != "config":  # the fingerprint covers it
                yield name, value

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True, so that ``langchain_core.load`` can dump and load it."""
        return True
