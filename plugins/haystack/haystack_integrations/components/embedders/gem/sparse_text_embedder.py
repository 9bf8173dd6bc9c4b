"""A component that makes the sparse vector of the words of a query."""

from __future__ import annotations

import asyncio
from typing import Any

from haystack import component, default_from_dict, default_to_dict
from haystack.dataclasses import SparseEmbedding
from haystack_integrations.common.gem import EncoderFields

__all__ = ["GemSparseTextEmbedder"]


@component
class GemSparseTextEmbedder(EncoderFields):
    """Returns the sparse embedding of the words of a query; it is empty for a query without words.

    Parameters are those of :func:`gem_index.open_provider`.

    Examples
    --------
    >>> len(GemSparseTextEmbedder().run(text="how do I renew a visa?")["sparse_embedding"].indices)
    6
    """

    @component.output_types(sparse_embedding=SparseEmbedding)
    def run(self, text: str) -> dict[str, SparseEmbedding]:
        """Embed a text.

        Raises
        ------
        TypeError
            If it is not a string: for documents use GemSparseDocumentEmbedder.
        """
        if not isinstance(text, str):
            raise TypeError(
                f"GemSparseTextEmbedder found a {type(text).__name__}; expected a string: "
                "for a list of Documents use GemSparseDocumentEmbedder"
            )
        vector = self.provider.embed_sparse_query(text)
        return {
            "sparse_embedding": SparseEmbedding(vector.indices.tolist(), vector.values.tolist())
        }

    @component.output_types(sparse_embedding=SparseEmbedding)
    async def run_async(self, text: str) -> dict[str, SparseEmbedding]:
        """Embed a text in another thread."""
        return await asyncio.to_thread(self.run, text)

    def to_dict(self) -> dict[str, Any]:
        """Return the component's data for a saved pipeline."""
        saved: dict[str, Any] = default_to_dict(self, **self.settings)
        return saved

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> GemSparseTextEmbedder:
        """Create a component from its saved data."""
        loaded: GemSparseTextEmbedder = default_from_dict(cls, data)
        return loaded
