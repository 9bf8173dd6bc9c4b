"""The base of components that use a named encoder: opened on first use, saved with its fingerprint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gem_index import GemConfig
from gem_index.home import EncoderChoice, NamedProvider

__all__ = ["EncoderFields"]


class EncoderFields:
    """Base of the components that embed.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint, words
        As for :func:`gem_index.open_provider`; by default the bundled vectors.
    """

    def __init__(
        self,
        vectors: str | None = None,
        *,
        model: str | Path | None = None,
        collection: str | None = None,
        config: GemConfig | dict[str, Any] | str | None = None,
        home: str | Path | None = None,
        fingerprint: str | None = None,
        words: str | Path | None = None,
    ) -> None:
        self._choice = EncoderChoice(
            vectors=vectors,
            model=model,
            collection=collection,
            config=config,
            home=home,
            fingerprint=fingerprint,
            words=words,
        )
        self._provider: NamedProvider | None = None

    def warm_up(self) -> None:
        """Open the encoder.

        Raises
        ------
        FingerprintMismatchError
            If the word vectors, configuration or fit differ from those that were saved.
        """
        if self._provider is None:
            self._provider = self._choice.open()

    @property
    def provider(self) -> NamedProvider:
        """The encoder's provider, opened on first use."""
        self.warm_up()
        assert self._provider is not None
        return self._provider

    @property
    def settings(self) -> dict[str, Any]:
        """The encoder's settings for a saved pipeline: JSON values, including the fingerprint."""
        return self.provider.settings
