"""Functions that other engines call on their batches: Dask, Spark, Ray."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.home.choice import EncoderChoice, NamedProvider

__all__ = ["TableEncoder"]


class TableEncoder:
    """Adds a column of vectors to frames and batches.

    It pickles as the choice of its encoder, with the fingerprint: another process opens the same files, once, and other
    vectors or another fit there are refused.

    Parameters
    ----------
    provider : NamedProvider
        From :func:`gem_index.open_provider`.
    text : str
        The column of the texts.
    vector : str
        The column to add.

    Examples
    --------
    >>> encoder = TableEncoder(open_provider(model="faq"))  # doctest: +SKIP
    >>> frame.map_partitions(encoder.frame, meta=encoder.frame(frame._meta))  # doctest: +SKIP
    """

    def __init__(
        self, provider: NamedProvider, *, text: str = "text", vector: str = "vector"
    ) -> None:
        self._settings = json.dumps(provider.settings, sort_keys=True)
        self.text = text
        self.vector = vector

    @property
    def provider(self) -> NamedProvider:
        """The provider, opened once in a process."""
        return _opened(self._settings)

    def frame(self, frame: Any) -> Any:
        """Return a frame of pandas with the column of vectors, each a float32 array (d,); for Dask's ``map_partitions``.

        Raises
        ------
        InputError
            If there is no column of texts, or a value of it is not a text.
        """
        vectors = self._encoded(frame)
        column = np.empty(len(vectors), dtype=object)
        column[:] = list(vectors)
        return frame.assign(**{self.vector: column})

    def frames(self, frames: Iterable[Any]) -> Iterator[Any]:
        """Iterate over frames of pandas with the column of vectors; for Spark's ``mapInPandas``."""
        return (self.frame(frame) for frame in frames)

    def batch(self, batch: Mapping[str, Any]) -> dict[str, Any]:
        """Return a batch with a column of the vectors, float32 (n, d), added; for Ray's ``map_batches``.

        Raises
        ------
        InputError
            As of :meth:`frame`, and if the batch is not a mapping, as one of pyarrow.
        """
        if not hasattr(batch, "keys"):
            raise InputError(
                f"found a batch of the type {type(batch).__name__}; expected a mapping from names to columns: "
                'ask for it by batch_format="numpy"'
            )
        return {**batch, self.vector: self._encoded(batch)}

    def _encoded(self, table: Any) -> Any:
        if self.text not in table:
            found = ", ".join(quoted(name) for name in list(table)[:8]) or "none"
            raise InputError(
                f"no column {quoted(self.text)}, found {found}; expected it, or name the column of the texts"
            )
        return self.provider.embed_documents(list(table[self.text]))


@lru_cache(maxsize=4)
def _opened(settings: str) -> NamedProvider:
    return EncoderChoice.from_dict(json.loads(settings)).open()
