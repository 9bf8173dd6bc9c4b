"""Sparse vectors of words, with which a vector database ranks like the default search of a collection.

A collection scores a text by (cosine + 2.25 match) / 3.25. A match is an inner product of the text's term frequencies and
the query's term weights. So a database that adds the inner products of the dense and of the sparse vectors ranks texts in
the same order. Divided by 3.25, the sum is the same score.

Code in another language can compute the vectors by these rules. The collection's :class:`~gem_index.text.analyzer.Analyzer`
finds the terms of a text. The index of a term is the first 4 bytes of the SHA-256 of its UTF-8 form, read as a big-endian
number, without the highest bit. A term that occurs c times in a text of L terms has the value c / (c + 1.2 (0.25 + 0.75 L /
M)); M is the mean number of terms of a text. A term of a query has the value 2.25 w / (sum of all w);
:func:`gem_index.index.terms.match_weights` describes w. If terms have the same index, their values are added.
"""

from gem_index.sparse.encoder import Analyzer, SparseEncoder, SparseVector
from gem_index.sparse.word_features import WordFeatures

__all__ = ["Analyzer", "SparseEncoder", "SparseVector", "WordFeatures"]
