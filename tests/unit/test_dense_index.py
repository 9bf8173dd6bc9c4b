"""Searches of an index of vectors that few results satisfy, and the errors of kinds that cannot be made."""

import faiss
import numpy as np
import pytest

from gem_index.errors import ConfigError
from gem_index.index.dense import DenseIndex
from gem_index.index.kinds import IndexKind, check_kind, resolve_kind

KINDS = (
    "flat",
    "pq",
    "rabitq",
    "sq8",
    "ivf",
    "hnsw",
    "RaBitQfs",
    "IVF4,RaBitQ",
    "PCA8,SQ8",
    "SQ8,Refine(Flat)",
)


@pytest.fixture(scope="module")
def vectors():
    rows = np.random.default_rng(5).normal(size=(400, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("kind", KINDS)
def test_accepted_positions_are_found_although_all_others_are_nearer(vectors, kind):
    index = DenseIndex.empty(16, resolve_kind(kind, len(vectors), 16), lambda: vectors)
    index.add(vectors)
    accepted = np.zeros(400, bool)
    accepted[np.argsort(vectors @ vectors[3])[:200]] = True
    positions, scores = index.nearest(vectors[3], 10, accepted)
    assert len(positions) == len(set(positions.tolist())) == 10
    assert accepted[positions].all()
    assert (np.diff(scores) <= 1e-6).all()


@pytest.mark.parametrize("kind", ["HNSW8,Flat", "PCA8,HNSW8,Flat"])
def test_a_graph_is_built_with_care_also_behind_a_transformation(vectors, kind, tmp_path):
    index = DenseIndex.empty(16, IndexKind(kind, kind), lambda: vectors)
    index.write(tmp_path / "i")
    stored = faiss.read_index(str(tmp_path / "i"))
    inner = faiss.downcast_index(stored)
    graph = faiss.downcast_index(inner.index) if kind.startswith("PCA") else inner
    assert graph.hnsw.efConstruction == 200


def test_what_faiss_says_is_its_reason_alone(vectors):
    with pytest.raises(ConfigError) as refused:
        DenseIndex.empty(16, IndexKind("x", "IVF500,Flat"), lambda: vectors)
    assert str(refused.value) == (
        "FAISS cannot make the index 'IVF500,Flat' of these documents (Number of training points (400) should be at least "
        "as large as number of clusters (500)); expected another kind of index, or auto"
    )


@pytest.mark.parametrize(
    "kind",
    [
        *("RR8,Flat", "PCAR8,Flat", "SQ4", "SQ6", "SQfp16", "SQbf16", "RaBitQfs", "IVF4,RaBitQfs", "OPQ4,PQ4"),
        *("HNSW8,SQ8", "HNSW8,PQ4", "PQ4x4", "PCA16,IVF4,SQ8"),
    ],
)  # fmt: skip
def test_factory_strings_that_are_accepted(kind):
    check_kind(kind, 16)


@pytest.mark.parametrize(
    "kind", ["RR0,Flat", "RR17,Flat", "PCA0,Flat", "PCAR17,Flat", "HNSW8,PQ4x4fs", "HNSW8,RaBitQfs", "OPQ0,PQ4"]
)  # fmt: skip
def test_factory_strings_that_are_refused(kind):
    with pytest.raises(ConfigError, match="expected auto, flat, pq"):
        check_kind(kind, 16)
