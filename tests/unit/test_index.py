"""The index against exact search, and its files against damage."""

import numpy as np
import pytest

from gem_index.errors import CorruptionError
from gem_index.index.dense import DenseIndex
from gem_index.index.snapshot import Snapshot


@pytest.fixture(scope="module")
def vectors():
    rows = np.random.default_rng(5).normal(size=(300, 16)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def best(scores, accepted, k):
    order = [int(i) for i in np.argsort(-scores, kind="stable") if accepted[i]]
    return order[:k]


@pytest.mark.parametrize("k", [1, 7, 300, 1000])
def test_equals_brute_force(vectors, k):
    index = DenseIndex.build(16, [vectors[:100], vectors[100:]])
    positions, scores = index.search(vectors[3], k)
    products = vectors @ vectors[3]
    assert positions.tolist() == best(products, np.ones(300, bool), k)
    np.testing.assert_allclose(scores, products[positions], atol=1e-6)


@pytest.mark.parametrize("share", [0.003, 0.1, 0.9])
def test_a_mask_gives_k_results_whenever_k_are_accepted(vectors, share):
    accepted = np.random.default_rng(1).random(300) < share
    accepted[17] = True
    positions, _ = DenseIndex.build(16, [vectors]).search(vectors[3], 10, accepted)
    assert positions.tolist() == best(vectors @ vectors[3], accepted, 10)


def test_an_empty_index_finds_nothing():
    positions, scores = DenseIndex.build(4, []).search(np.zeros(4, np.float32), 5)
    assert len(positions) == len(scores) == 0


@pytest.fixture
def written(tmp_path, vectors):
    ids = np.arange(1, 601, 2)
    blocks = [(ids[:200], vectors[:200]), (ids[200:], vectors[200:])]
    files = Snapshot.write(tmp_path / "c" / "gen", blocks, 16, "f" * 64)
    return tmp_path / "c" / "gen", files, ids


def test_opens_what_it_wrote(written, vectors):
    directory, files, ids = written
    snapshot = Snapshot.open(directory, files)
    np.testing.assert_array_equal(snapshot.ids, ids)
    positions, scores = snapshot.index.search(vectors[42], 1)
    assert snapshot.ids[positions[0]] == ids[42]
    assert scores[0] == pytest.approx(1, abs=1e-5)
    assert Snapshot.damage(directory, files) == []
    assert [p.name for p in directory.parent.iterdir()] == ["gen"]


def test_a_changed_byte_is_found(written):
    directory, files, _ = written
    for name in files:
        path = directory / name
        good = path.read_bytes()
        content = bytearray(good)
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        assert Snapshot.damage(directory, files) == [f"{name} is not what was written"]
        path.write_bytes(good)


def test_missing_and_cut_files_are_refused_at_open(written):
    directory, files, _ = written
    path = directory / "vectors.faiss"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(CorruptionError, match=r"vectors\.faiss has \d+ bytes; expected"):
        Snapshot.open(directory, files)
    path.unlink()
    with pytest.raises(CorruptionError, match="has None bytes"):
        Snapshot.open(directory, files)
    assert Snapshot.damage(directory, files) == ["vectors.faiss is missing"]


def test_a_failing_writer_leaves_nothing(tmp_path):
    def blocks():
        yield np.array([1]), np.ones((1, 4), np.float32)
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        Snapshot.write(tmp_path / "c" / "gen", blocks(), 4, "f")
    assert not list((tmp_path / "c").iterdir())
