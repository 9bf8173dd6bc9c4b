"""What names an encoder in a LangChain configuration; the embeddings and the re-ranker share it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Self

from langchain_core.load.serializable import Serializable
from pydantic import ConfigDict, PrivateAttr, model_validator

from gem_index import Home, NamedProvider, open_provider

__all__ = ["OpensProvider"]


class OpensProvider(Serializable):
    """Fields that name an encoder, as :func:`gem_index.open_provider` takes them; it is opened at once.

    Afterwards the fields say what was opened, with its fingerprint: dumped and loaded again they give the same encoder, or
    are refused with :class:`gem_index.errors.FingerprintMismatchError`.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    vectors: str | Path | None = None
    """Word vectors with their background components; the bundled ones where nothing is named."""
    model: str | Path | None = None
    """A model that ``gem-index fit`` keeps in the home, or a ``.safetensors`` file that ``GemEncoder.save`` wrote."""
    collection: str | None = None
    """The model of a collection in the home."""
    config: Any = None
    """Configuration for ``vectors``: a ``GemConfig``, its fields, or the name of a preset."""
    home: Home | str | Path | None = None
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
        vars(self).update(self._provider.settings)  # past the fields' being frozen
        self.model_fields_set.update(self._provider.settings)
        return self

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """Return a copy; one with other fields opens what they name, its fingerprint is then its own."""
        if not update:
            return super().model_copy(deep=deep)
        fields = self.model_dump() | {"fingerprint": None} | dict(update)
        return type(self)(**fields)

    @property
    def provider(self) -> NamedProvider:
        """The provider that was opened."""
        return self._provider

    def __repr_args__(self) -> Iterator[tuple[str | None, Any]]:
        for name, value in super().__repr_args__():
            if name == "fingerprint":
                yield name, str(value)[:12]
            elif name != "config":  # the fingerprint stands for it
                yield name, value

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Return True: ``langchain_core.load`` dumps and loads it."""
        return True
