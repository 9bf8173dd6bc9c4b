"""A gem-index provider as txtai vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from txtai.vectors import Vectors

from txtai_gem.provider import OpensProvider

__all__ = ["GemVectors"]

FloatArray = npt.NDArray[np.float32]


class GemVectors(OpensProvider, Vectors):
    """GEM embeddings of texts and queries: unit vectors, or zeros for a text without words.

    txtai creates it for a configuration with ``method="txtai_gem.GemVectors"``. It reads from the configuration ``vectors``,
    a mapping of the arguments of :func:`gem_index.open_provider`, and ``path``, which names word vectors. After the provider
    is opened, ``vectors`` holds its settings with the fingerprint: a saved index opens the same provider or raises an error.

    Parameters
    ----------
    config : dict
        txtai's configuration of an index.
    scoring, models : optional
        Passed by txtai; not used.

    Examples
    --------
    >>> from txtai import Embeddings
    >>> embeddings = Embeddings(method="txtai_gem.GemVectors")
    >>> embeddings.similarity("renewing my visa", ["a bank account", "how to renew a visa"])[0][0]
    1
    """

    def __init__(self, config: dict[str, Any], scoring: Any = None, models: Any = None) -> None:
        super().__init__(config, scoring, models)

    def encode(self, data: Sequence[str], category: str | None = None) -> FloatArray:
        """Return unit vectors, float32 (n, dimension); GEM embeds queries and texts alike."""
        return self.provider.embed_documents(data)

    def normalize(self, embeddings: FloatArray) -> FloatArray:
        """Scale rows to unit length; zeros stay zeros, for which the base class returns NaN."""
        lengths = np.linalg.norm(embeddings, axis=-1, keepdims=True)
        return (embeddings / np.where(lengths == 0, 1, lengths)).astype(np.float32)

    def vectorsid(self) -> str:
        """Return the name of these vectors in a checkpoint, which must differ for different fits of the same name."""
        self.config["vectors"] = self.provider.settings
        identifier: str = super().vectorsid()
        return identifier
