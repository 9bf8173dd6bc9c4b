"""Several inputs of different kinds, read one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from gem_index.documents import Document

__all__ = ["Inputs"]


@dataclass(frozen=True)
class Inputs:
    """The documents of several readers.

    Parameters
    ----------
    readers : sequence
        Of :class:`~gem_index.readers.DocumentReader`, :class:`~gem_index.readers.FolderReader` and
        :class:`~gem_index.readers.QueryReader`.
    """

    readers: Sequence[Iterable[Document]]

    def __iter__(self) -> Iterator[Document]:
        return chain.from_iterable(self.readers)

    @staticmethod
    def of(documents: Any) -> Sequence[Any]:
        """Return the readers of several inputs, or the one thing that was given."""
        return documents.readers if isinstance(documents, Inputs) else [documents]
