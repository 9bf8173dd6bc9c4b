"""The documents, shards and sums that workers write, in this process without a cluster."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gem_index import Chunking, Document
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.distributed import document_parts
from gem_index.distributed.document_parts import DocumentPart, write_documents
from gem_index.distributed.fitting import _KeptSums, _Sums
from gem_index.distributed.inputs import ObjectPartition
from gem_index.distributed.manifest import MANIFEST, Manifest
from gem_index.distributed.partitions import PartReport, Reading
from gem_index.distributed.parts import PartJob
from gem_index.distributed.places import OutputFolder
from gem_index.distributed.sharding import _Shard, _ShardJob, _shards_of
from gem_index.errors import CorruptionError, InputError
from gem_index.gem.components import CorpusStatistics
from gem_index.index.kinds import resolve_kind
from gem_index.text.analyzer import ENGLISH


class TestDocuments:
    TEXTS = (
        "open a bank account by phone today",
        "visa",
        "",
        "a cup of tea and two ducks",
        "river",
        "loan",
        "bank",
    )

    @pytest.fixture
    def written(self, folder, encoder, monkeypatch):
        """Write the documents of a partition in blocks; return its file, the documents, and their vectors one by one."""
        Manifest({}).write(folder)
        monkeypatch.setattr(document_parts, "wait_for_encoder", lambda _: encoder)
        monkeypatch.setattr(document_parts, "_BLOCK", 3)

        def write(chunking):
            rows = [{"id": f"d{i}", "text": text, "n": i} for i, text in enumerate(self.TEXTS)]
            partition = ObjectPartition(4, "bag", Reading())
            report = write_documents(PartJob("one", folder, chunking), partition, rows)
            pieces = PieceEncoder(encoder, chunking)
            vectors = [pieces.rows([text])[0] for text in self.TEXTS]
            documents = [
                Document(id=row["id"], text=row["text"], metadata={"n": row["n"]}) for row in rows
            ]
            return DocumentPart(folder, 4, report.rows), documents, vectors

        return write

    @pytest.mark.parametrize(("chunking", "times"), [(Chunking(None), 1), (Chunking(10, 2), 4)])
    def test_they_are_read_as_they_were_written(self, written, monkeypatch, chunking, times):
        monkeypatch.setattr(self, "TEXTS", [" ".join([text] * times) for text in self.TEXTS])
        part, documents, vectors = written(chunking)
        assert (max(map(len, vectors)) > 1) == (times > 1)
        assert (str(part), part.count) == ("part-00004.parquet", 7)
        assert list(part.documents()) == documents
        assert list(part.texts()) == [list(self.TEXTS[i : i + 3]) for i in (0, 3, 6)]
        assert part.count_pieces() == sum(map(len, vectors))
        blocks = list(part.vectors(24))
        assert [counts.tolist() for _, counts in blocks] == [
            [len(each) for each in vectors[i : i + 3]] for i in (0, 3, 6)
        ]
        np.testing.assert_array_equal(
            np.concatenate([block for block, _ in blocks]), np.concatenate(vectors)
        )
        for places in ([], [0], [2, 3], [0, 3, 6], [1, 2, 4, 5], range(7)):
            found = part.vectors_at(np.array(list(places), np.int64), 24)
            expected = [np.zeros((0, 24), np.float32), *(vectors[place] for place in places)]
            np.testing.assert_array_equal(found, np.concatenate(expected))

    @pytest.mark.parametrize(
        ("most", "characters", "blocks"),
        [
            (1, 99, [1] * 7),
            (7, 99, [7]),
            (99, 34, [1, 3, 3]),
            (99, 38, [3, 3, 1]),
            (99, 1, [1] * 7),
        ],
    )
    def test_a_block_has_bounds(self, written, monkeypatch, most, characters, blocks):
        monkeypatch.setattr(document_parts, "_BLOCK", most)
        monkeypatch.setattr(document_parts, "_BLOCK_CHARACTERS", characters)
        part, documents, _ = written(Chunking(None))
        assert [len(each) for each in part.texts()] == blocks
        assert list(part.documents()) == documents

    def test_a_part_that_cannot_be_read(self, written, monkeypatch):
        part, _, _ = written(Chunking(None))
        failing = []

        @contextmanager
        def opened(_folder, _name):
            raise failing[0]
            yield

        monkeypatch.setattr(OutputFolder, "opened", opened)
        for error, kept, told in (
            (OSError(5, "Input/output error"), True, None),  # of the storage, which may work later
            (
                FileNotFoundError(2, "No such file or directory"),
                True,
                "part-00004.parquet cannot be read (it was removed, perhaps by a worker that found it damaged); run it "
                "again",
            ),
            (
                OSError("CRC mismatch"),
                False,
                "part-00004.parquet cannot be read (CRC mismatch); run it again",
            ),
            (
                pa.ArrowInvalid("no footer"),
                False,
                "part-00004.parquet cannot be read (no footer); run it again",
            ),
        ):
            Path(part.folder.place, str(part)).touch()
            failing[:] = [error]
            with pytest.raises((OSError, CorruptionError)) as refused:
                list(part.documents())
            assert (str(part) in part.folder.names()) == kept
            if told is None:
                assert refused.value is error
            else:
                assert (type(refused.value), str(refused.value)) == (CorruptionError, told)


class TestShards:
    def test_small_parts_share_a_shard_and_none_is_empty(self, folder, monkeypatch):
        monkeypatch.setattr("gem_index.distributed.sharding._LEAST", 50)
        for counts, expected in (
            ([50], [(0, [50], 7)]),
            ([49, 1, 0], [(0, [49, 1], 7)]),
            ([10, 0], [(0, [10, 0], 7)]),
            ([60, 20, 40, 49], [(0, [60], 7), (1, [20, 40], 67), (2, [49], 127)]),
            ([0, 0], []),
        ):
            parts = [DocumentPart(folder, number, count) for number, count in enumerate(counts)]
            shards = list(_shards_of(parts, 7))
            assert [
                (each.number, [part.count for part in each.parts], each.first) for each in shards
            ] == expected
            assert [each.count for each in shards] == [sum(counts) for _, counts, _ in expected]
        assert str(_Shard(12, [], 0)) == "shard-00012.zip"

    def test_a_shard_is_known_by_all_that_it_is_made_of(self, folder):
        shard = _Shard(0, [DocumentPart(folder, 0, 5), DocumentPart(folder, 1, 6)], 1)
        flat = resolve_kind("flat", 0, 24)
        job = _ShardJob(folder, flat, 24, "print", Chunking(None), ENGLISH, "b" * 64)
        marks = [
            job.mark(shard),
            job.mark(replace(shard, first=2)),
            job.mark(replace(shard, parts=shard.parts[:1])),
            job.mark(replace(shard, parts=[shard.parts[0], DocumentPart(folder, 1, 7)])),
            job.mark(replace(shard, parts=[shard.parts[0], DocumentPart(folder, 2, 6)])),
            replace(job, kind=resolve_kind("sq8", 0, 24)).mark(shard),
            replace(job, fingerprint="other").mark(shard),
            replace(job, blank="c" * 64).mark(shard),
        ]
        assert len(set(marks)) == len(marks)
        assert job.mark(replace(shard, number=3)) == marks[0]


class TestKeptSums:
    SUMS = PartReport(
        5, 1, 2, [("a.txt", 1, "bad"), ("b.txt", 2, "worse", "NAME_FIELD", {"field": "text"})]
    )

    def sums(self):
        found = []
        for dimension in (3, 2):
            statistics = CorpusStatistics(dimension)
            statistics.add(np.arange(1.0, 2 * dimension + 1).reshape(2, dimension), 2)
            found.append(statistics)
        return _Sums(found, self.SUMS)

    def test_they_are_read_as_they_were_written(self, folder, caplog):
        kept = _KeptSums(folder, {"fit": True})
        assert kept.read() == {}
        for number in (0, 123_456):
            kept.write(number, self.sums())
        Path(folder.place, "part-00007.npz").write_bytes(b"damaged")
        Path(folder.place, "part-00008.npz.old").write_bytes(b"damaged")
        with caplog.at_level(logging.WARNING, "gem_index.distributed"):
            found = _KeptSums(folder, {"fit": True}).read()
        assert list(found) == [0, 123_456]
        for each in found.values():
            assert each.report == self.SUMS
            for one, other in zip(each.statistics, self.sums().statistics, strict=True):
                assert (one.dimension, one.sentences) == (other.dimension, 2)
                np.testing.assert_array_equal(one.moment, other.moment)
        [told] = caplog.messages
        assert told.startswith("part-00007.npz cannot be read (")
        assert told.endswith("); summing again")

    def test_a_full_disk_does_not_end_the_fit(self, folder, monkeypatch, caplog):
        kept = _KeptSums(folder, {"fit": True})

        @contextmanager
        def full(_folder, _name):
            raise OSError(28, "No space left on device")
            yield

        monkeypatch.setattr(OutputFolder, "writing", full)
        with caplog.at_level(logging.WARNING, "gem_index.distributed"):
            kept.write(1, self.sums())
        assert caplog.messages == [
            "a sum was not kept for a fit that is stopped: no space left on device"
        ]

    def test_those_of_another_fit_are_forgotten_and_other_work_is_kept(self, folder):
        _KeptSums(folder, {"fit": True, "chunking": None}).write(1, self.sums())
        assert list(_KeptSums(folder, {"fit": True, "chunking": None}).read()) == [1]
        assert _KeptSums(folder, {"fit": True, "chunking": {"chunk": 9}}).read() == {}
        assert folder.names() == [MANIFEST]
        Manifest({"texts": True}).write(folder)
        Path(folder.place, "part-00000.parquet").touch()
        with pytest.raises(InputError, match="of another request, which differs in fit; expected"):
            _KeptSums(folder, {"fit": True})
        assert folder.names() == [MANIFEST, "part-00000.parquet"]
