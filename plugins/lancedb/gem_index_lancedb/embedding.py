"""GEM embeddings inside LanceDB: an embedding function that a table records and restores."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy.typing as npt
from lancedb.embeddings import TextEmbeddingFunction, get_registry
from pydantic import PrivateAttr

from gem_index import open_provider
from gem_index.home import NamedProvider, find_provider

__all__ = ["GemEmbeddings", "recorded_function"]

_NAME = "gem"
_HOME = "$var:gem_home:"  # the variable gem_home of LanceDB's registry, by default empty


@get_registry().register(_NAME)
class GemEmbeddings(TextEmbeddingFunction):
    """Sentence embeddings of unit length, computed on the CPU; queries and documents are embedded alike.

    ``get_registry().get("gem").create(collection="faq")`` makes one; the arguments are those of
    :func:`gem_index.open_provider`, by default the bundled word vectors. A table records them with the encoder's
    fingerprint: another process that has imported this package opens the same encoder, or gets an error.

    With a fingerprint the encoder is opened on first use. With a fingerprint alone, as a push records it, it is searched for
    among the collections and models of the home.
    """

    vectors: str | Path | None = None
    """Word vectors with their background components."""
    model: str | Path | None = None
    """A fitted model of the home, or a ``.safetensors`` file that ``GemEncoder.save`` wrote."""
    collection: str | None = None
    """A collection of the home, whose model is used."""
    config: Any = None
    """Configuration for ``vectors``: its fields, or the name of a preset."""
    home: str | Path | None = None
    """The folder of the home in which names are looked up; by default the default home."""
    fingerprint: str | None = None
    """The expected fingerprint of the encoder."""
    max_retries: int = 0
    """None: LanceDB does not repeat calls after an error."""

    _provider: NamedProvider | None = PrivateAttr(default=None)

    def model_post_init(self, context: Any, /) -> None:
        """Open the encoder, unless it is one that was saved."""
        super().model_post_init(context)
        if self.fingerprint is None:
            self.fingerprint = self.provider.fingerprint

    @property
    def provider(self) -> NamedProvider:
        """The provider of embeddings.

        Raises
        ------
        GemIndexError
            If a name is unknown, or the fingerprint differs from the expected one.
        """
        if self._provider is None:
            given = {
                "vectors": self.vectors,
                "model": self.model,
                "collection": self.collection,
                "config": self.config,
            }
            home = self.home or None
            if self.fingerprint is not None and all(value is None for value in given.values()):
                self._provider = find_provider(self.fingerprint, home)
            else:
                self._provider = open_provider(**given, home=home, fingerprint=self.fingerprint)
        return self._provider

    def ndims(self) -> int:
        """Return the length of a vector."""
        return self.provider.dimension

    def generate_embeddings(
        self,
        texts: Sequence[str] | npt.NDArray[Any],
        *args: Any,
        **kwargs: Any,
    ) -> list[Any]:
        """Return a vector for each text, zeros for a text without words."""
        return list(self.provider.embed_documents([text or "" for text in texts]))

    def compute_source_embeddings(self, texts: Any, *args: Any, **kwargs: Any) -> list[Any]:
        """Return a vector for each text, None for a text without words.

        LanceDB's search leaves those out; ``table.add(..., on_bad_vectors="null")`` accepts them.
        """
        vectors = self.generate_embeddings(self.sanitize_input(texts))
        return [vector if vector.any() else None for vector in vectors]

    def compute_query_embeddings(self, query: str, *args: Any, **kwargs: Any) -> list[Any]:
        """Return the vector of a query."""
        return self.generate_embeddings([query])

    def safe_model_dump(self) -> dict[str, Any]:
        """Return the arguments that open the same embeddings again, with the fingerprint."""
        return self.provider.settings

    def __hash__(self) -> int:
        return hash(self.fingerprint)


def recorded_function(fingerprint: str) -> bytes:
    """Return a table's record of its embedding function: the encoder's fingerprint, and where to look for the encoder."""
    function = {
        "name": _NAME,
        "model": {"fingerprint": fingerprint, "home": _HOME},
        "source_column": "text",
        "vector_column": "vector",
    }
    return json.dumps([function]).encode()
