"""The parts of an index one by one: kinds, hits, fields of metadata, checkpoints, rows, words, and damaged snapshots."""

import json
import logging
import os
from contextlib import nullcontext
from pathlib import Path

import faiss
import numpy as np
import pytest

from gem_index.errors import ConfigError, CorruptionError
from gem_index.index import checkpoint, dense, fields
from gem_index.index.checkpoint import Checkpoint
from gem_index.index.dense import DenseIndex
from gem_index.index.fields import Codes, FieldsWriter, Numbers, SnapshotFields
from gem_index.index.hits import among, best_first, best_of, members
from gem_index.index.kinds import IndexKind, check_kind, resolve_kind
from gem_index.index.neighbors import nearest_neighbors
from gem_index.index.rows import RowsWriter, VectorRows, continued, linked, rows_digest
from gem_index.index.snapshot import Snapshot
from gem_index.index.vocabulary import StoredVocabulary, Vocabulary, WordsToStore, words_to_keep

FLAT, SQ8 = IndexKind("flat", "Flat"), IndexKind("sq8", "SQ8")


class TestKinds:
    @pytest.mark.parametrize(
        ("kind", "accepted"),
        [
            ("auto", True),
            ("rabitq", True),
            ("PCA4,Flat", True),
            ("PCA9,Flat", False),
            ("PCA4_2,Flat", False),
            ("OPQ4_8,PQ4", True),
            ("OPQ3_8,PQ4", False),
            ("OPQ4_6,Flat", False),
            ("IVF65536,Flat", True),
            ("IVF65537,Flat", False),
            ("IVF0,Flat", False),
            ("HNSW2,Flat", True),
            ("HNSW128", True),
            ("HNSW1,Flat", False),
            ("HNSW129,Flat", False),
            ("HNSW8,", False),
            ("HNSW8,RaBitQ", False),
            ("PQ4", True),
            ("PQ3", False),
            ("PQ4x10", True),
            ("PQ4x11", False),
            ("PQ4x0", False),
            ("PQ4x4fs", True),
            ("PQ4x8fs", False),
            ("PQ4fs", False),
            ("SQ8,Refine(Flat)", True),
            ("SQ8,RFlat", True),
            ("", False),
            (",", False),
            (3, False),
        ],
    )
    def test_those_of_eight_dimensions(self, kind, accepted):
        if accepted:
            check_kind(kind, 8)
            return
        with pytest.raises(ConfigError) as caught:
            check_kind(kind, 8)
        assert str(caught.value) == (
            f"the index is {kind!r}; expected auto, flat, pq, rabitq, sq8, ivf, hnsw, or a FAISS factory string for 8 "
            "dimensions: [PCAn,|OPQm,|RRn,][IVFn,|HNSWm,] and Flat, SQ8, SQfp16, PQm, PQmx4fs or RaBitQ, "
            "optionally with ,Refine(Flat); parts m divide the dimension, lists are 65536 at most"
        )

    def test_what_is_chosen_and_how_much_it_proposes(self):
        assert [resolve_kind("auto", n, 256).factory for n in (19_999, 20_000)] == [
            "Flat",
            "PQ64x4fs",
        ]
        factories = [resolve_kind("pq", 9, n).factory for n in (1, 64, 100, 1025)]
        assert factories == ["PQ1x4fs", "PQ64x4fs", "PQ50x4fs", "Pad1028,PQ257x4fs"]
        lists = [resolve_kind("ivf", n, 8).factory for n in (1, 39, 78, 10**4, 10**8)]
        assert lists == ["IVF1,SQ8", "IVF1,SQ8", "IVF2,SQ8", "IVF256,SQ8", "IVF4096,SQ8"]
        for name, few, many in (("flat", 10, 900), ("pq", 1000, 18_000), ("sq8", 200, 3600)):
            kind = resolve_kind(name, 9, 8)
            assert (kind.candidates(10), kind.candidates(900)) == (few, many)

    def test_parameters_that_searches_need(self):
        index = faiss.index_factory(8, "IVF8,Flat", faiss.METRIC_INNER_PRODUCT)
        assert DenseIndex(index)._inner.nprobe == 2
        graph = DenseIndex.empty(8, IndexKind("hnsw", "HNSW8,Flat"), lambda: None)
        assert (graph._inner.hnsw.efSearch, graph._inner.hnsw.efConstruction) == (512, 200)
        with pytest.raises(ConfigError) as caught:
            DenseIndex.empty(8, IndexKind("x", "IVF50,Flat"), lambda: np.zeros((3, 8), np.float32))
        assert str(caught.value).startswith(
            "FAISS cannot make the index 'IVF50,Flat' of these documents ("
        )
        assert str(caught.value).endswith("); expected another kind of index, or auto")
        assert "failed: " not in str(caught.value)

    def test_threads_are_as_before(self):
        before = faiss.omp_get_max_threads()
        with dense.faiss_threads(1):
            assert faiss.omp_get_max_threads() == 1
        assert faiss.omp_get_max_threads() == before


class TestHits:
    def test_scores_that_differ_by_rounding_are_equal(self):
        found = [(5, 1.0), (3, 1.0 + 5e-7), (9, 0.5), (1, 1.0 - 2e-6), (2, 0.5)]
        assert best_of(found, 9) == [
            (3, 1.0 + 5e-7),
            (5, 1.0 + 5e-7),
            (1, 1.0 - 2e-6),
            (2, 0.5),
            (9, 0.5),
        ]
        assert best_of(found, 1) == [(3, 1.0 + 5e-7)]
        assert best_of([(2, 100.0), (1, 99.99995)], 2) == [(1, 100.0), (2, 100.0)]

    def test_the_best_with_equal_scores_in_order(self):
        places, scores = np.array([4, 2, 9, 7]), np.array([1, 2, 1, 2], np.float32)
        for k, expected in ((1, [2]), (3, [2, 7, 4]), (4, [2, 7, 4, 9]), (9, [2, 7, 4, 9])):
            assert best_first(places, scores, k)[0].tolist() == expected

    @pytest.mark.parametrize("ids", [[3, 4, 5], [3, 5, 9], [4], []])
    @pytest.mark.parametrize("wanted", [[], [1], [3], [5], [9], [3, 5], [2, 4, 6], [5, 9, 10]])
    def test_members(self, ids, wanted):
        expected = [each in wanted for each in ids]
        given = np.array(ids, np.int64), np.array(wanted, np.int64)
        assert members(*given).tolist() == among(*given).tolist() == expected

    def test_nearest_neighbors_of_equal_vectors_are_others(self):
        vectors = np.array([[1, 0]] * 4 + [[0, 1]], np.float32)
        places, cosines = nearest_neighbors(vectors, 2)
        assert all(place not in row for place, row in enumerate(places.tolist()))
        assert cosines.tolist() == [[1, 1]] * 4 + [[0, 0]]

    def test_equal_products_ascend_under_a_mask(self):
        index = DenseIndex.empty(2, FLAT, lambda: None)
        index.add(np.array([[0, 1], [1, 0], [1, 0], [1, 0], [1, 0]], np.float32))
        query, mask = np.array([1, 0], np.float32), np.array([1, 0, 1, 1, 1], bool)
        for k in range(1, 5):
            assert index.nearest(query, k)[0].tolist() == [1, 2, 3, 4][:k]
            assert index.nearest(query, k, mask)[0].tolist() == [2, 3, 4, 0][:k]
        assert index.nearest(query, 9)[0].tolist() == [1, 2, 3, 4, 0]
        assert index.keep(np.ones(5, bool))
        assert index.keep(mask)
        assert (len(index), index.take(np.array([0, 1])).tolist()) == (4, [[0, 1], [1, 0]])


class TestFields:
    def written(self, folder, writer):
        writer.write(folder)
        return SnapshotFields(folder)

    def shown(self, found, name):
        column = found.column(name)
        if isinstance(column, Numbers):
            return column.numbers.tolist()
        return (
            None
            if column is None
            else [None if c == 0 else column.values[c - 1] for c in column.codes]
        )

    def test_values_of_all_kinds_and_documents_that_go(self, tmp_path):
        values = [1, 1.0, True, "1", None, [1], {"a": 1}, "ü"]
        writer = FieldsWriter()
        writer.append([json.dumps({"f": each, "n": i}) for i, each in enumerate(values)])
        writer.append(["{}", '{"g": "\\u0000"}', '{"g": "\\\\u0000"}'])
        writer.append(['{"late": 1}'])
        found = self.written(tmp_path / "one", writer)
        texts = [json.dumps(each, ensure_ascii=False) for each in values]
        assert self.shown(found, "f") == [*texts, None, None, None, None]
        assert self.shown(found, "g") == [None] * 10 + ['"\\\\u0000"', None]
        assert self.shown(found, "late") == [None] * 11 + ["1"]
        assert (found.documents, found.unsearched.tolist()) == (12, [9])
        assert (found.names, found.left_out) == (["f", "n", "g", "late"], ([], False))
        assert (found.knows("x"), found.column("x")) == (True, None)
        kept = np.array([False, *[True] * 11])
        again = FieldsWriter(found, kept)
        again.append(['{"f": 1}', '{"f": "new"}'])
        later = self.written(tmp_path / "two", again)
        assert self.shown(later, "f") == [*texts[1:], None, None, None, None, "1", '"new"']
        assert (later.documents, later.unsearched.tolist()) == (13, [8])

    def test_limits(self, tmp_path, monkeypatch):
        monkeypatch.setattr(fields, "_MOST_VALUES", 3)
        monkeypatch.setattr(fields, "_MOST_FIELDS", 4)
        monkeypatch.setattr(fields, "_MOST_CHARACTERS", 20)
        writer = FieldsWriter()
        writer.append(
            [
                json.dumps({"few": i % 3, "many": i, "texts": f"t{i}", "long": "x" * 19 * (i % 2)})
                for i in range(4)
            ]
        )
        found = self.written(tmp_path / "one", writer)
        assert (found.names, found.left_out) == (["few", "many"], (["long", "texts"], False))
        assert isinstance(found.column("few"), Codes)
        assert self.shown(found, "many") == [0, 1, 2, 3]
        assert [found.knows(name) for name in ("few", "long", "other")] == [True, False, True]
        again = FieldsWriter(found, np.ones(4, bool))
        again.append([json.dumps({"few": 3, "many": 2**53, "texts": "t", "a": 1, "b": 1, "c": 1})])
        later = self.written(tmp_path / "two", again)
        assert (later.names, later.left_out) == (
            ["few", "many", "a", "b"],
            (["long", "texts"], True),
        )
        assert self.shown(later, "few") == [0, 1, 2, 0, 3]
        assert self.shown(later, "many")[-1] == 2**53
        assert np.isnan(later.column("many").numbers).sum() == 0
        last = FieldsWriter(later, np.ones(5, bool))
        last.append([json.dumps({"many": 2**53 + 1, "few": True, "d": 1})])
        assert self.written(tmp_path / "three", last).left_out == (
            ["few", "long", "many", "texts"],
            True,
        )

    def test_a_document_without_a_number_has_none(self, tmp_path, monkeypatch):
        monkeypatch.setattr(fields, "_MOST_VALUES", 2)
        monkeypatch.setattr(fields, "_MOST_FIELDS", 1)
        writer = FieldsWriter()
        writer.append(['{"n": 1}', "{}"])
        writer.append(['{"n": 2}', '{"n": 3, "more": 1}'])
        found = self.written(tmp_path / "one", writer)
        assert np.array_equal(found.column("n").numbers, [1, np.nan, 2, 3], equal_nan=True)
        assert [found.knows(name) for name in ("n", "more", "other")] == [True, False, False]

    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("fields.json", b"{", "/fields.json cannot be read: "),
            ("0000.npy", b"x", "/0000.npy cannot be read: "),
            ("0000.npy", np.zeros(3, np.uint16), "/0000.npy is of shape (3,), not (2,)"),
            ("0000.npy", np.array([0, 3], np.uint16), "/0000.npy holds the code 3 of 2 values"),
            ("0000.jsonl", b"\xff", "/0000.jsonl cannot be read: "),
        ],
    )
    def test_damage(self, tmp_path, name, content, message):
        writer = FieldsWriter()
        writer.append(['{"f": 1}', '{"f": 2}'])
        found = self.written(tmp_path / "one", writer)
        assert self.shown(found, "f") == ["1", "2"]
        path = tmp_path / "one" / name
        np.save(path, content) if isinstance(content, np.ndarray) else path.write_bytes(content)
        with pytest.raises(CorruptionError) as caught:
            SnapshotFields(tmp_path / "one").column("f")
        assert str(caught.value).startswith(f"{tmp_path}/one{message}")


class TestCheckpoints:
    VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8]], np.float32)

    def kept(self, folder, kind, monkeypatch, counts=(2, 3)):
        monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
        monkeypatch.setattr(checkpoint, "_SHARE", 0.0)
        saved = Checkpoint(folder, kind)
        built = saved.begin(DenseIndex.empty(2, kind, lambda: self.VECTORS), 2)
        ids = []
        with built.rows or nullcontext():
            for count in counts:
                built.add(self.VECTORS[len(built.index) : count])
                ids.append(np.arange(sum(map(len, ids)), count))
                saved.keep(built, ids, [np.ones(len(each), np.int64) for each in ids])
        return saved

    @pytest.mark.parametrize("kind", [FLAT, SQ8])
    def test_the_newest_is_continued(self, tmp_path, monkeypatch, caplog, kind):
        folder = tmp_path / "unfinished"
        self.kept(tmp_path / "older", kind, monkeypatch, counts=(2,))
        saved = self.kept(folder, kind, monkeypatch)
        assert caplog.text == ""
        assert [path.name for path in folder.iterdir() if path.is_dir()] == ["000000000003"]
        (tmp_path / "older/000000000002").rename(folder / "000000000002")
        (folder / "000000000009").mkdir()  # of a killed process
        found = saved.load(2)
        with found.rows or nullcontext():
            pass
        assert (found.ids.tolist(), found.counts.tolist(), len(found.index)) == (
            [0, 1, 2],
            [1, 1, 1],
            3,
        )
        assert (found.rows is None) is kind.exact
        assert Checkpoint(folder, IndexKind("x", "SQ4")).load(2) is None

    @pytest.mark.parametrize(
        "file", ["ids.npy", "pieces.npy", "vectors.faiss", "checkpoint.json", "vectors.i16"]
    )
    def test_a_damaged_one_is_not(self, tmp_path, monkeypatch, caplog, file):
        saved = self.kept(tmp_path, SQ8, monkeypatch)
        path = tmp_path / file if file == "vectors.i16" else tmp_path / "000000000003" / file
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with caplog.at_level(logging.WARNING):
            assert saved.load(2) is None
        assert "encoding" in caplog.text

    def test_its_rows_are_on_the_disk_before_it_names_them(self, tmp_path, monkeypatch):
        steps = []
        fsync, publish = os.fsync, checkpoint.publish_directory

        def watched(descriptor):
            path = Path(f"/proc/self/fd/{descriptor}").readlink()
            if path.suffix == ".i16":
                steps.append((path.name, path.stat().st_size))
            fsync(descriptor)

        def published(path, fill):
            publish(path, fill)
            steps.append(path.name)

        monkeypatch.setattr(os, "fsync", watched)
        monkeypatch.setattr(checkpoint, "publish_directory", published)
        self.kept(tmp_path, SQ8, monkeypatch)
        assert steps == [
            ("vectors.i16", 8),
            "000000000002",
            ("vectors.i16", 12),
            "000000000003",
        ]

    def test_it_waits_between_two(self, tmp_path, monkeypatch):
        now = [0.0]
        monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
        saved = Checkpoint(tmp_path / "c", FLAT)
        built = saved.begin(DenseIndex.empty(2, FLAT, lambda: None), 2)
        built.add(self.VECTORS)
        ids = [np.arange(3)]
        written = []

        def publish(path, fill):
            written.append(now[0])
            path.parent.mkdir(exist_ok=True)
            now[0] += 10  # it takes ten seconds: the next one waits for 200

        monkeypatch.setattr(checkpoint, "publish_directory", publish)
        for moment in (59.9, 60.0, 269.9, 270.0):
            now[0] = moment
            saved.keep(built, ids, ids)
        assert written == [60.0, 270.0]


class TestRows:
    def rows(self, folder, *counts):
        made = np.arange(2 * sum(counts), dtype=np.float32).reshape(-1, 2) / 100
        begin = 0
        for number, count in enumerate(counts):
            with RowsWriter(folder / f"{number:04d}.i16", 2) as writer:
                writer.append(made[begin : begin + count])
            begin += count
        return made

    def test_several_files_are_one_after_the_other(self, tmp_path):
        made = self.rows(tmp_path / "a", 3, 0, 2)
        found = VectorRows.open(tmp_path / "a", 2)
        places = np.array([4, 0, 3, 2])
        assert len(found) == 5
        assert found.take(places) == pytest.approx(made[places], abs=1e-4)
        products = found.inner_products(places, np.array([1, 2], np.float32))
        assert products == pytest.approx(made[places] @ [1, 2], abs=1e-3)
        with pytest.raises(CorruptionError) as caught:
            found.inner_products(np.array([5]), np.array([1, 2], np.float32))
        assert str(caught.value) == (
            "the index proposes vector 5 of 5; expected a vector that exists"
        )
        with (tmp_path / "a/0000.i16").open("ab") as file:
            file.write(b"x")
        with pytest.raises(CorruptionError) as caught:
            VectorRows.open(tmp_path / "a", 2)
        assert str(caught.value) == f"{tmp_path}/a/0000.i16 has 13 bytes; expected rows of 4"

    @pytest.mark.parametrize(
        ("counts", "files"), [((8, 3, 1), 4), ((8, 4, 2, 2), 1), ((2, 2), 1), ((3, 2), 3)]
    )
    def test_small_files_become_one(self, tmp_path, counts, files):
        made = self.rows(tmp_path / "a", *counts)
        with continued(tmp_path / "a", tmp_path / "b", 2) as writer:
            writer.append(made[:1])
        found = VectorRows.open(tmp_path / "b", 2)
        assert found.take(np.arange(len(found))) == pytest.approx(
            np.concatenate([made, made[:1]]), abs=1e-4
        )
        assert len(list((tmp_path / "b").iterdir())) == files
        linked(tmp_path / "c", [tmp_path / "b", tmp_path / "a"])
        both = VectorRows.open(tmp_path / "c", 2)
        assert len(both) == 2 * len(made) + 1
        assert both.take(np.array([len(made) + 1])) == pytest.approx(made[:1], abs=1e-4)

    def test_the_digest_of_the_first_rows(self, tmp_path):
        with RowsWriter(tmp_path / "0000.i16", 2) as writer:
            writer.append(np.ones((2, 2), np.float32))
            digest = writer.sync()
            writer.append(np.ones((1, 2), np.float32))
        assert rows_digest(tmp_path / "0000.i16", 2, 2) == digest
        assert rows_digest(tmp_path / "0000.i16", 3, 2) != digest
        with RowsWriter(tmp_path / "0000.i16", 2, 2) as writer:
            assert writer.sync() == digest
        assert (tmp_path / "0000.i16").stat().st_size == 8


class TestVocabulary:
    def test_words_near_a_word(self, tmp_path):
        vocabulary = Vocabulary(["river", "rivers", "riverbank", "bank", "über", "übers"])
        vocabulary.add(["river", "livers"])
        (tmp_path / "a").mkdir()
        first = WordsToStore()
        first.add(["river", "rivers", "riverbank", "bank", "über", "übers", "livers"])
        first.write(tmp_path / "a")
        stored = StoredVocabulary(tmp_path / "a")
        (tmp_path / "b").mkdir()
        second = WordsToStore()
        second.add(["rover", "zebra"])
        second.write(tmp_path / "b", [tmp_path / "a"])
        both = StoredVocabulary(tmp_path / "b")
        assert (tmp_path / "b/vocabulary.txt").read_text() == (
            "bank\nlivers\nriver\nriverbank\nrivers\nrover\nzebra\nüber\nübers\n"
        )
        for each in (vocabulary, stored):
            assert each.near("rivre") == {"river": 1}
            assert each.near("rivebrnak") == {"riverbank": 2}
            assert each.near("xiver") == {}
        assert both.near("rivers") == {"rivers": 0, "river": 1}
        assert both.near("überx") == {"über": 1, "übers": 1}
        (tmp_path / "c").mkdir()
        assert StoredVocabulary(tmp_path / "c").near("river") == {}

    def test_those_that_may_correct_others(self):
        words = ["abc", "abcd", "a" * 40, "a" * 41, "abcd1"]
        assert list(words_to_keep(words)) == ["abcd", "a" * 40]


def test_a_snapshot_that_is_incomplete(tmp_path):
    (tmp_path / "a").write_text("abc")
    files = {"a": {"bytes": 4, "sha256": "x"}, "b": {"bytes": 1, "sha256": "x"}}
    for names, message in (
        (("a",), "a has 3 bytes; expected 4"),
        (("b",), "b has None bytes; expected 1"),
    ):
        with pytest.raises(CorruptionError) as caught:
            Snapshot.open(tmp_path, {name: files[name] for name in names})
        assert str(caught.value).startswith(f"{tmp_path}/{message}")
    assert Snapshot.damage(tmp_path, files) == ["a is not what was written", "b is missing"]
