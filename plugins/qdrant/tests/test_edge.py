"""Qdrant Edge, which is the server's own engine in a process, answers on pushed points as the local mode does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import qdrant_edge as edge
from qdrant_client import QdrantClient

from gem_index import Collection, Document, Home
from gem_index.targets import open_target
from gem_index.testing import documentation_sentences

ODD = {
    "id": "not the id", "text": 1, "": [], "a.b": {"c[0]": 0.1 + 0.2}, "nothing": None, "large": 1e300, "one": 1.0,
    "big": 2**63, "small": -(2**63), "list": [True, 1, "1", None, {}], "when": "2024-01-01T00:00:00Z",
}  # fmt: skip


@pytest.fixture
def faq(tmp_path: Path) -> Collection:
    collection = Home(tmp_path / "home").create_collection("faq")
    sentences = documentation_sentences(500)
    collection.upsert(
        [
            *(Document(id=f"s{i}", text=t, metadata={"n": i}) for i, t in enumerate(sentences)),
            Document(id="ünï 'quoted\" 数", text="a river 数", metadata=ODD),
            Document(id="none", text="?!"),
        ]
    )
    collection.push(f"qdrant://{tmp_path}/db?collection=faq")
    return collection


@pytest.fixture
def shard(faq: Collection, tmp_path: Path) -> Iterator[edge.EdgeShard]:
    """Yield a shard with the points that the push stored."""
    client = QdrantClient(path=str(tmp_path / "db"))
    points, _ = client.scroll("faq", limit=1000, with_vectors=True)
    size = client.get_collection("faq").config.params.vectors.size
    client.close()
    config = edge.EdgeConfig(
        vectors=edge.EdgeVectorParams(size=size, distance=edge.Distance.Cosine),
        sparse_vectors={"words": edge.EdgeSparseVectorParams()},
    )
    shard = edge.EdgeShard.create(str(tmp_path / "shard"), config)

    def vectors(point):
        words = point.vector["words"]
        sparse = edge.SparseVector(words.indices, words.values)
        return {"": point.vector[""], "words": sparse}

    stored = [edge.Point(point.id, vectors(point), point.payload) for point in points]
    shard.update(edge.UpdateOperation.upsert_points(stored))
    yield shard
    shard.close()


def search(shard: edge.EdgeShard, vector: np.ndarray, limit: int) -> list[tuple[str, float]]:
    query = edge.Query.Nearest(vector.tolist())
    found = shard.query(edge.QueryRequest(limit=limit, query=query, with_payload=True))
    return [(hit.payload["id"], hit.score) for hit in found]


def test_payloads_and_vectors_are_equal(faq: Collection, shard: edge.EdgeShard) -> None:
    assert shard.count(edge.CountRequest()) == 502
    records, _ = shard.scroll(edge.ScrollRequest(limit=1000, with_payload=True, with_vector=True))
    found = {record.payload["id"]: record for record in records}
    for document in faq.documents():
        record = found[document.id]
        assert record.payload["text"] == document.text
        assert record.payload["metadata"] == document.metadata
        own = faq.encoder.encode([document.text])[0]
        np.testing.assert_allclose(record.vector[""], own, atol=1e-6)


def test_the_nearest_documents_are_equal(
    faq: Collection, shard: edge.EdgeShard, tmp_path: Path
) -> None:
    target = open_target(f"qdrant://{tmp_path}/db?collection=faq")
    table = target.live()
    for text in ("Return the name of a file.", "a river", "?!"):
        vector = faq.encoder.encode([text])[0]
        local, scores = table.query(vector, 10), dict(search(shard, vector, 502))
        assert len(scores) == 502
        assert scores["none"] == 0
        best = sorted(scores.values(), reverse=True)[:10]
        np.testing.assert_allclose([hit.score for hit in local], best, atol=1e-5)
        np.testing.assert_allclose([scores[hit.id] for hit in local], best, atol=1e-5)
    target.close()


def test_the_best_documents_by_words_are_equal(
    faq: Collection, shard: edge.EdgeShard, tmp_path: Path
) -> None:
    """The sum of the engine's two scores is that of a search."""
    target = open_target(f"qdrant://{tmp_path}/db?collection=faq")
    table, encoder = target.live(), faq.sparse_encoder()
    for text in ("Return the name of a file.", "a river"):
        words = encoder.embed_query(text)
        local = {hit.id: hit.score for hit in table.match(words, 502)}
        query = edge.Query.Nearest(
            edge.SparseVector(words.indices.tolist(), words.values.tolist()), "words"
        )
        found = shard.query(edge.QueryRequest(limit=502, query=query, with_payload=True))
        scores = {hit.payload["id"]: hit.score for hit in found}
        assert scores == pytest.approx(local, abs=1e-5)
        dense = dict(search(shard, faq.encoder.encode([text])[0], 502))
        for hit in faq.search(text, 10, correct=False):
            assert (dense[hit.id] + scores.get(hit.id, 0.0)) / 3.25 == pytest.approx(
                hit.score, abs=1e-4
            )
    target.close()


def test_a_filter_on_metadata(faq: Collection, shard: edge.EdgeShard) -> None:
    few = edge.Filter(must=[edge.FieldCondition("metadata.n", range=edge.RangeFloat(lt=3))])
    assert shard.count(edge.CountRequest(filter=few)) == 3


def test_the_engine_rounds_the_integers_that_a_push_refuses(
    faq: Collection, shard: edge.EdgeShard, tmp_path: Path
) -> None:
    target = open_target(f"qdrant://{tmp_path}/db?collection=faq")
    assert target.unsupported({"exact": 2**64 - 1, "rounded": 2**64 + 1}) == ["rounded"]
    target.close()
    name = "00000000-0000-0000-0000-000000000001"
    point = edge.Point(name, [1.0] * faq.encoder.dimension, {"a": 2**64 - 1, "b": 2**64 + 1})
    shard.update(edge.UpdateOperation.upsert_points([point]))
    (record,) = shard.retrieve([name], with_payload=True, with_vector=False)
    assert record.payload["a"] == 2**64 - 1
    assert record.payload["b"] != 2**64 + 1
