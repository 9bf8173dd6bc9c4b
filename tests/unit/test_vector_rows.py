"""Vectors in 16 bits beside an approximate index."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from gem_index import Document
from gem_index.errors import CorruptionError
from gem_index.index.rows import RowsWriter, VectorRows, continued, numbered, rows_digest
from stored import execute
from tests.brute_force import assert_exact


def unit(count, dimension=24, seed=0):
    rows = np.random.default_rng(seed).normal(size=(count, dimension)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def write(folder, *blocks, keep=0):
    with RowsWriter(numbered(folder, 0), blocks[0].shape[1], keep) as writer:
        for block in blocks:
            writer.append(block)


class TestRows:
    def test_inner_products_are_near(self, tmp_path):
        vectors = unit(500)
        write(tmp_path, vectors[:300], vectors[300:])
        rows = VectorRows.open(tmp_path, 24)
        assert len(rows) == 500
        places = np.array([499, 0, 300, 7, 7])
        found = rows.take(places)
        assert (found.dtype, found.shape) == (np.float32, (5, 24))
        products = rows.take(np.arange(500)) @ vectors.T
        assert np.abs(products - vectors @ vectors.T).max() < 1e-4

    @pytest.mark.parametrize("files", [1, 3])
    def test_scores_are_those_of_the_rows_whatever_is_scored_with_them(self, tmp_path, files):
        vectors = unit(300)
        for number, part in enumerate(np.split(vectors, files)):
            with RowsWriter(numbered(tmp_path, number), 24) as writer:
                writer.append(part)
        rows = VectorRows.open(tmp_path, 24)
        places = np.random.default_rng(1).permutation(300)
        scores = rows.inner_products(places, vectors[7])
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores, rows.take(places) @ vectors[7], atol=1e-6)
        alone = [rows.inner_products(places[i : i + 1], vectors[7])[0] for i in range(300)]
        assert scores.tolist() == alone
        assert len(rows.inner_products(places[:0], vectors[7])) == 0

    def test_a_position_that_no_row_has(self, tmp_path):
        write(tmp_path, unit(30))
        rows = VectorRows.open(tmp_path, 24)
        with pytest.raises(CorruptionError, match="proposes vector 30 of 30"):
            rows.inner_products(np.array([3, 30]), unit(1)[0])

    def test_a_vector_at_the_end_of_the_range(self, tmp_path):
        axes = np.concatenate([np.eye(24), -np.eye(24), np.zeros((1, 24))]).astype(np.float32)
        write(tmp_path, axes)
        assert np.array_equal(VectorRows.open(tmp_path, 24).take(np.arange(49)), axes)

    def test_a_writer_goes_on_after_the_rows_it_keeps(self, tmp_path):
        vectors = unit(30)
        write(tmp_path, vectors[:20])
        path = numbered(tmp_path, 0)
        path.write_bytes(path.read_bytes()[:-5])  # a kill while the last row was being written
        before = rows_digest(path, 10, 24)
        with RowsWriter(path, 24, keep=10) as writer:
            assert writer.sync() == before
            writer.append(vectors[10:])
            assert writer.sync() == rows_digest(path, 30, 24)
        again = VectorRows.open(tmp_path, 24).take(np.arange(30))
        assert np.abs(again - vectors).max() < 1e-4

    def test_a_file_that_a_snapshot_has_linked_is_left_alone(self, tmp_path):
        vectors = unit(30)
        write(tmp_path / "a", vectors)
        path, linked = numbered(tmp_path / "a", 0), tmp_path / "linked"
        linked.hardlink_to(path)
        before = linked.read_bytes()
        for keep in (10, 0):
            write(tmp_path / "a", vectors[:3], keep=keep)
            assert linked.read_bytes() == before
            assert path.stat().st_size == (keep + 3) * 48
            path.unlink()
            path.hardlink_to(linked)

    def test_later_rows_come_in_few_files(self, tmp_path):
        vectors = unit(3000)
        write(tmp_path / "0", vectors[:1000])
        most = 0
        for number in range(1, 21):
            begin = 1000 + 100 * (number - 1)
            old, new = tmp_path / str(number - 1), tmp_path / str(number)
            with continued(old, new, 24) as writer:
                writer.append(vectors[begin : begin + 100])
            most = max(most, len(list(new.iterdir())))
        assert most <= 6
        assert numbered(tmp_path / "0", 0).samefile(numbered(tmp_path / "10", 0))
        rows = VectorRows.open(tmp_path / "20", 24)
        places = np.random.default_rng(1).permutation(3000)
        assert np.abs(rows.take(places) - vectors[places]).max() < 1e-4

    def test_half_a_row(self, tmp_path):
        write(tmp_path, unit(3))
        path = numbered(tmp_path, 0)
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(CorruptionError, match="has 143 bytes; expected rows of 48"):
            VectorRows.open(tmp_path, 24)

    def test_no_rows(self, tmp_path):
        assert len(VectorRows.open(tmp_path, 24)) == 0
        assert VectorRows.open(tmp_path, 24).take(np.zeros(0, np.int64)).shape[0] == 0


WORDS = "the my how you keep phone bank account open visa renew school day gives after by"


def documents(count, begin=0):
    words = WORDS.split()
    rng = np.random.default_rng(begin)
    for i in range(begin, begin + count):
        yield Document(id=f"d{i}", text=" ".join(rng.choice(words, 9)), metadata={"n": i})


def rows_of(home):
    return sorted(home.root.glob("collections/*/*/rows/*"))


def build(home, vectors_folder):
    home.build("c", documents(800), vectors=str(vectors_folder), index="pq", prior=1000)


class TestSnapshots:
    @pytest.fixture
    def home(self, copied_home, small_vectors_folder):
        return copied_home(build, small_vectors_folder)

    @pytest.fixture
    def made(self, home):
        return home.collection("c")

    @pytest.fixture(autouse=True)
    def _short_tails(self, monkeypatch):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 5)
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_SHARE", 0)

    def test_added_documents_leave_the_old_rows_where_they_are(self, home, made):
        [first] = rows_of(home)
        inode = first.stat().st_ino
        made.upsert(documents(300, begin=800))
        found = rows_of(home)
        assert [path.name for path in found] == ["0000.i16", "0001.i16"]
        assert found[0].stat().st_ino == inode
        truth = {document.id: document for document in made.documents()}
        assert len(truth) == 1100
        assert_exact(made, truth)

    def test_deleted_documents_have_no_rows(self, home, made):
        made.delete([f"d{i}" for i in range(0, 800, 3)])
        [path] = rows_of(home)
        truth = {document.id: document for document in made.documents()}
        assert path.stat().st_size == len(truth) * 24 * 2
        assert_exact(made, truth)
        assert not made.verify()

    @pytest.mark.parametrize("kind", ["flat", "sq8", "hnsw", "rabitq"])
    def test_another_kind(self, home, made, kind):
        home.build("c", [], index=kind)
        assert bool(rows_of(home)) == (kind != "flat")
        truth = {document.id: document for document in made.documents()}
        assert_exact(home.collection("c"), truth)
        home.build("c", [], index="pq")
        assert len(rows_of(home)) == 1
        assert_exact(home.collection("c"), truth)

    def test_a_snapshot_of_an_earlier_version_is_read_and_replaced(self, home, made):
        [path] = rows_of(home)
        path.unlink()
        path.parent.rmdir()
        [(stored,)] = execute(home, "SELECT files FROM snapshots")
        files = json.loads(stored)
        kept = {name: entry for name, entry in files.items() if not name.startswith("rows/")}
        assert len(kept) == len(files) - 1
        execute(home, "UPDATE snapshots SET files = ?", json.dumps(kept))
        again = type(home)(home.root).collection("c")
        truth = {document.id: document for document in again.documents()}
        assert_exact(again, truth)
        again.upsert(documents(10, begin=900))
        assert len(rows_of(home)) == 1
        truth |= {document.id: document for document in documents(10, begin=900)}
        assert_exact(again, truth)

    def test_damaged_rows_are_found_and_mended(self, home, made):
        [path] = rows_of(home)
        path.write_bytes(path.read_bytes()[:-48])
        again = type(home)(home.root).collection("c")
        truth = {document.id: document for document in again.documents()}
        assert_exact(again, truth)  # from the texts
        assert any("0000.i16" in problem.detail for problem in again.verify())
        assert all(problem.fixed for problem in again.verify(fix=True))
        assert not again.verify()
        assert_exact(again, truth)

    def test_processors_without_wide_registers_find_the_same(self, home, made):
        code = (
            "import sys, json; from gem_index import Home; "
            "hits = Home(sys.argv[1]).collection('c').search('open a bank account', mode='dense'); "
            "print(json.dumps([[hit.id, hit.score] for hit in hits]))"
        )
        found = []
        # the names of the switch in FAISS before and since 1.14
        for level in ({}, {"FAISS_OPT_LEVEL": "generic", "FAISS_SIMD_LEVEL": "NONE"}):
            run = subprocess.run(
                [sys.executable, "-c", code, str(home.root)],
                env={**os.environ, **level}, capture_output=True, text=True, check=True,
            )  # fmt: skip
            found.append(json.loads(run.stdout))
        assert found[0] == found[1]
        assert len(found[0]) == 10
