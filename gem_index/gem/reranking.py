"""Re-ranking of given candidates, as in community question answering (paper, section 4.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from gem_index.common.notebook import html_table, shorten
from gem_index.documents import Document
from gem_index.errors import InputError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.text.tokens import WeightedText, check_text, check_texts
from gem_index.vectors.base import FloatArray

__all__ = ["Candidate", "RerankResult", "RerankResults", "check_top_n", "cosines", "rerank"]

Candidate: TypeAlias = str | tuple[str, str] | Mapping[str, Any] | Document
"""A text, an (id, text) pair, a mapping with ``text`` and optional ``id`` and ``weights``, or a document."""


@dataclass(frozen=True, repr=False)
class RerankResult:
    """A re-ranked candidate: ``index`` is its position in the input, ``score`` is its cosine with the query.

    In the mode ``hybrid`` of :meth:`gem_index.home.NamedProvider.rerank`, the score is (cosine + 2.25 match) / 3.25.
    """

    index: int
    id: str | None
    score: float
    text: str

    def __repr__(self) -> str:
        named = "" if self.id is None else f"{self.id!r}, "
        return f"RerankResult({self.index}, {named}{self.score:.3f}, {shorten(self.text, 60)!r})"


class RerankResults(list[RerankResult]):
    """Re-ranked candidates, best first; a notebook shows them as a table."""

    def _repr_html_(self) -> str:
        return html_table(
            ("", "score", "was", "id", "text"),
            (
                (place, f"{hit.score:.3f}", hit.index + 1, hit.id or "", shorten(hit.text, 200))
                for place, hit in enumerate(self, 1)
            ),
        )


def rerank(
    query: str, candidates: Sequence[Candidate], encoder: Encoder, top_n: int | None = None
) -> RerankResults:
    """Order candidates by their cosine with a query, best first.

    Parameters
    ----------
    query : str
    candidates : sequence of Candidate
        Candidates with equal scores keep the order of the input. A candidate without words has the score 0. If the
        query has no words, all candidates have the score 0.
    encoder : Encoder
    top_n : int, optional
        The number of results to return, at least 1. By default, all candidates are returned.

    Raises
    ------
    InputError
        If a candidate has none of the documented forms, or ``top_n`` is below 1.
    """
    check_top_n(top_n)
    check_text(query, "query")
    check_texts(candidates, "candidates")
    pairs = [_id_and_text(i, candidate) for i, candidate in enumerate(candidates)]
    vectors = encoder.encode([query, *(text for _, text in pairs)])
    scores = cosines(vectors[0], vectors[1:])
    order = np.argsort(-scores, kind="stable")[:top_n]
    return RerankResults(
        RerankResult(int(i), pairs[i][0], float(scores[i]), pairs[i][1]) for i in order
    )


def check_top_n(top_n: int | None) -> None:
    """Raise InputError if the number of results is below 1."""
    if top_n is not None and top_n < 1:
        raise InputError(f"top_n is {quoted(top_n)}; expected at least 1")


def cosines(query: FloatArray, vectors: FloatArray) -> Any:
    """Return the inner products of unit vectors (n, d) with one vector (d,): float64 (n,), within [-1, 1].

    The products of each row are summed in the same order, so equal rows get equal scores at all positions. A matrix
    product does not guarantee equal scores.
    """
    products = vectors.astype(np.float64) * query.astype(np.float64)
    return np.clip(products.sum(axis=1), -1.0, 1.0)


def _id_and_text(index: int, candidate: Candidate) -> tuple[str | None, str]:
    identifier: object = None
    text: object = candidate
    if isinstance(candidate, Document):
        identifier, text = candidate.id, candidate.text
    elif isinstance(candidate, Mapping):
        identifier, text = candidate.get("id"), candidate.get("text")
        if isinstance(text, str) and candidate.get("weights") is not None:
            text = WeightedText(text, candidate["weights"])
    elif isinstance(candidate, tuple | list) and len(candidate) == 2:
        identifier, text = candidate
    if isinstance(identifier, int) and not isinstance(identifier, bool):
        identifier = str(identifier)
    if not isinstance(text, str) or not isinstance(identifier, str | None):
        raise InputError(
            f"candidate {index} is {quoted(candidate)}; expected a text, or an id and a text"
        )
    if identifier is not None:
        check_text(identifier, f"id of candidate {index}")
    return identifier, check_text(text, f"candidate {index}")
