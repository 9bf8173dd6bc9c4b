"""Re-rank results of LanceDB."""

from __future__ import annotations

from typing import Any, Unpack

import pyarrow as pa
from lancedb.rerankers import Reranker

from gem_index import open_provider, rerank
from gem_index.home import ProviderOptions

__all__ = ["GemReranker"]


class GemReranker(Reranker):
    """Orders rows by the cosine similarity of their texts to the query, best first.

    The similarity is in the column ``_relevance_score``. A text without words scores 0, and all score 0 if the query has no
    words. Equal scores keep the order of the input.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint
        As for :func:`gem_index.open_provider`; by default the bundled word vectors.
    column : str
        The column of the texts.
    return_score : {"relevance", "all"}
        Whether the result has the columns ``_distance`` and ``_score`` of the search.

    Raises
    ------
    GemIndexError
        If a name is unknown, or the fingerprint differs from the expected one.
    """

    def __init__(
        self,
        vectors: str | None = None,
        *,
        column: str = "text",
        return_score: str = "relevance",
        **options: Unpack[ProviderOptions],
    ) -> None:
        super().__init__(return_score)
        self.column = column
        self.provider = open_provider(vectors, **options)

    @property
    def settings(self) -> dict[str, Any]:
        """The settings to save, as JSON values: ``GemReranker(**settings)`` opens the same one or raises an error."""
        return {**self.provider.settings, "column": self.column, "return_score": self.score}

    def rerank_vector(self, query: str, vector_results: pa.Table) -> pa.Table:
        """Re-rank the results of a vector search."""
        return self._ranked(query, vector_results)

    def rerank_fts(self, query: str, fts_results: pa.Table) -> pa.Table:
        """Re-rank the results of a full-text search."""
        return self._ranked(query, fts_results)

    def rerank_hybrid(
        self, query: str, vector_results: pa.Table, fts_results: pa.Table
    ) -> pa.Table:
        """Re-rank the results of both searches, each row once."""
        if self.score == "all":
            merged = self._merge_and_keep_scores(vector_results, fts_results)
        else:
            merged = self.merge_results(vector_results, fts_results)
        return self._ranked(query, merged)

    def _ranked(self, query: str, rows: pa.Table) -> pa.Table:
        if self.column not in rows.column_names:
            raise ValueError(
                f"found the columns {', '.join(rows.column_names)}; expected {self.column}, which holds the texts: "
                "select it, or name another one by GemReranker(column=...)"
            )
        texts = [text or "" for text in rows[self.column].to_pylist()]
        results = rerank(query, texts, self.provider.encoder) if texts else []
        ranked = rows.take(pa.array([result.index for result in results], pa.int64()))
        scores = pa.array([result.score for result in results], pa.float32())
        return self._keep_relevance_score(ranked.append_column("_relevance_score", scores))
