"""What names an encoder in a LangChain configuration; the embeddings and the re-ranker share it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self

from langchain_core.load.serializable import Serializable
from pydantic import PrivateAttr, model_validator

from gem_index import NamedProvider, open_provider

__all__ = ["OpensProvider"]


class OpensProvider(Serializable):
    """Fields that name an encoder, as :func:`gem_index.open_provider` takes them; it is opened at once.

    Afterwards the fields say what was opened, with its fingerprint: dumped and loaded again they give the same encoder, or
    are refused with :class:`gem_index.errors.FingerprintMismatchError`.
    """

    vectors: str | None = None
    """Word vectors with their background components; the bundled ones where nothing is named."""
    model: str | Path | None = None
    """A model that ``gem-index fit`` keeps in the home, or a ``.safetensors`` file that ``GemEncoder.save`` wrote."""
    collection: str | None = None
    """The model of a collection in the home."""
    config: Any = None
    """Configuration for ``vectors``: a ``GemConfig``, its fields, or the name of a preset."""
    home: str | Path | None = None
    """Where names are looked up; the default home unless given."""
    fingerprint: str | None = None
    """What the encoder's fingerprint has to be."""

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
        )
        for name, value in self._provider.settings.items():
            setattr(self, name, value)
        return self

    @property
    def provider(self) -> NamedProvider:
        """The provider that was opened."""
        return self._provider

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True: ``langchain_core.load`` dumps and loads it."""
        return True
