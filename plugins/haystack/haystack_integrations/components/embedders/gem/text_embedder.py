"""A component that embeds a query."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack_integrations.common.gem import EncoderFields

__all__ = ["GemTextEmbedder"]


@component
class GemTextEmbedder(EncoderFields):
    """Returns the embedding of a text, of unit length, or zeros for a text without words.

    Parameters are those of :func:`gem_index.open_provider`.

    Examples
    --------
    >>> len(GemTextEmbedder().run(text="how do I renew a visa?")["embedding"])
    256
    """

    @component.output_types(embedding=list[float])
    def run(self, text: str) -> dict[str, list[float]]:
        """Embed a text.

        Raises
        ------
        TypeError
            If it is not a string: for documents use GemDocumentEmbedder.
        """
        if not isinstance(text, str):
            raise TypeError(
                f"GemTextEmbedder found a {type(text).__name__}; expected a string: "
                "for a list of Documents use GemDocumentEmbedder"
            )
        return {"embedding": self.provider.embed_query(text).tolist()}

    @component.output_types(embedding=list[float])
    async def run_async(self, text: str) -> dict[str, list[float]]:
        """Embed a text in another thread."""
        return await asyncio.to_thread(self.run, text)

    def to_dict(self) -> dict[str, Any]:
        """Return the component's data for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(self, **self.settings)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemTextEmbedder:
        """Create a component from its saved data."""
        loaded: GemTextEmbedder = default_from_dict(cls, data)
        return loaded
