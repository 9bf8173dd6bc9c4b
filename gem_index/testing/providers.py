"""Contract tests for embedding providers and for their adapters to other libraries.

In your own package, with pytest::

    from gem_index.testing import EmbeddingProviderContract

    class TestMyAdapter(EmbeddingProviderContract):
        embed = staticmethod(my_adapter_calls.embed)    # in a module that a child process can import

        def make(self, **choice):                       # the arguments of gem_index.open_provider
            return MyAdapter(**choice)

        def save(self, adapter):
            return adapter.to_dict()

        def load(self, saved):
            return MyAdapter.from_dict(saved)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gem_index.gem.combined import Encoder
from gem_index.testing.adapters import TEXTS, WORDLESS, AdapterContract

__all__ = ["EmbeddingProviderContract", "embed_documents", "embed_query"]


def embed_documents(provider: Any, texts: list[str]) -> Any:
    """Call the provider's ``embed_documents``, as most adapters name it."""
    return provider.embed_documents(texts)


def embed_query(provider: Any, text: str) -> Any:
    """Call the provider's ``embed_query``, as most adapters name it."""
    return provider.embed_query(text)


class EmbeddingProviderContract(AdapterContract):
    """Test methods for one provider or adapter; inherit, and define how to make, call, save and load it.

    Attributes
    ----------
    embed : callable
        Takes the adapter and n texts, returns (n, dimension) numbers. Child processes import it by name from its module,
        as :func:`embed_documents`.
    embed_query : callable
        Takes the adapter and one text, returns (dimension,) numbers.
    many : int
        Number of texts in the largest batch.
    lazy : bool
        Whether the adapter opens its encoder on first use.
    """

    embed: ClassVar[Callable[[Any, list[str]], Any]] = staticmethod(embed_documents)
    embed_query: ClassVar[Callable[[Any, str], Any]] = staticmethod(embed_query)

    def call(self) -> Callable[[Any, list[str]], Any]:
        """Return ``embed``."""
        return type(self).embed

    def expected(self, encoder: Encoder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return an encoder's embeddings, (n, dimension)."""
        return encoder.encode(list(texts))

    def test_embeddings_have_unit_length(self) -> None:
        """Texts with words have embeddings of length 1, also a very long text."""
        rows = self.rows(self.make(), [*TEXTS, " ".join(TEXTS) * 8000])
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_a_query_is_embedded_as_a_document(self) -> None:
        """A query and a document with the same text have the same embedding."""
        adapter = self.make()
        query = np.asarray(type(self).embed_query(adapter, TEXTS[0]), dtype=np.float32)
        np.testing.assert_allclose(query, self.rows(adapter, TEXTS[:1])[0], atol=1e-6)

    def test_texts_without_words_give_zeros(self) -> None:
        """They give zeros, not NaN or an error, alone and in a batch."""
        adapter = self.make()
        rows = self.rows(adapter, [*WORDLESS, TEXTS[0]])
        assert not rows[:-1].any()
        np.testing.assert_allclose(np.linalg.norm(rows[-1]), 1, atol=1e-5)
        assert not np.asarray(type(self).embed_query(adapter, "")).any()
