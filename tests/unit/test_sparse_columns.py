"""Sparse vectors as two columns of Arrow."""

import numpy as np
import pyarrow as pa
import pytest

from gem_index.common.arrays import SparseVector
from gem_index.targets import WORD_COLUMNS, word_columns, word_products, word_vectors


def sparse(**values):
    numbers = [int(name[1:]) for name in values]
    return SparseVector(np.array(numbers, np.int64), np.array([*values.values()], np.float32))


NOTHING = sparse()
SOME = [sparse(n1=0.5, n7=2.0), NOTHING, sparse(n0=1.0), sparse(n7=3.0, n2147483647=0.25)]


def plain(vectors):
    return [(each.indices.tolist(), each.values.tolist()) for each in vectors]


@pytest.mark.parametrize(
    "vectors", [[], [NOTHING], [NOTHING, NOTHING], SOME, SOME[:1], [NOTHING, *SOME]]
)
def test_the_columns_of_any_vectors_are_read_again(vectors):
    columns = word_columns(vectors)
    assert tuple(columns) == WORD_COLUMNS
    assert [column.type for column in columns.values()] == [
        pa.list_(pa.int32()),
        pa.list_(pa.float32()),
    ]
    table = pa.table(columns)
    assert plain(word_vectors(table)) == plain(vectors)
    found = [vector for batch in table.to_batches(2) for vector in word_vectors(batch)]
    assert plain(found) == plain(vectors)
    assert plain(word_vectors(table.slice(1))) == plain(vectors[1:])


@pytest.mark.parametrize(
    ("query", "products"),
    [
        (NOTHING, [0, 0, 0, 0]),
        (sparse(n0=3.0), [0, 0, 3, 0]),
        (sparse(n1=1.0, n2=5.0, n7=10.0), [20.5, 0, 0, 30]),
        (sparse(n8=1.0), [0, 0, 0, 0]),
        (sparse(n2147483647=4.0), [0, 0, 0, 1]),
    ],
)
def test_the_products_with_the_vectors_of_columns(query, products):
    table = pa.table(word_columns(SOME))
    assert word_products(query, table).tolist() == products
    assert word_products(query, table.slice(2)).tolist() == products[2:]
    assert word_products(query, table.slice(4)).tolist() == []
