"""The files that workers write and read, in this process without a cluster."""

from __future__ import annotations

import gzip
import os
import re
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index.distributed.manifest import MANIFEST, Manifest
from gem_index.distributed.partitions import PartReport
from gem_index.distributed.parts import PartJob, write_part
from gem_index.distributed.places import OutputFolder, filesystem, find_files
from gem_index.distributed.planning import plan
from gem_index.errors import CorruptionError, InputError, MissingExtraError, RecordError
from gem_index.errors.installing import install_line
from gem_index.readers import DocumentReader
from gem_index.readers.parts import Part


def write_half(folder):
    with folder.writing("x") as path:
        path.write_bytes(b"half")
        raise ZeroDivisionError


class TestFolders:
    def test_a_file_is_on_the_disk_before_it_has_its_name(self, folder, monkeypatch):
        synced, fsync = [], os.fsync

        def watched(descriptor):
            content = Path(f"/proc/self/fd/{descriptor}").read_bytes()
            synced.append((content, "x" in folder.names()))
            fsync(descriptor)

        monkeypatch.setattr(os, "fsync", watched)
        with folder.writing("x") as path:
            path.write_bytes(b"whole")
        assert synced == [(b"whole", False)]
        assert (folder.names(), folder.read("x")) == (["x"], b"whole")
        with pytest.raises(ZeroDivisionError):
            write_half(folder)
        assert (folder.names(), folder.read("x")) == (["x"], b"whole")
        with folder.writing("x") as path:
            path.write_bytes(b"another")
        assert (folder.names(), folder.read("x")) == (["x"], b"another")

    def test_leftovers_are_hidden_and_partial(self, folder):
        for name in (".a.partial", ".hidden", "b.partial", "part-1"):
            Path(folder.place, name).touch()
        folder.remove_leftovers()
        assert folder.names() == [".hidden", "b.partial", "part-1"]

    def test_a_folder_of_storage(self, monkeypatch):
        folder = OutputFolder.of("memory://written/here/", {})
        assert folder.place == "memory://written/here"
        folder.make()
        assert folder.names() == []
        with folder.writing("x") as path:
            path.write_bytes(b"whole")
        with pytest.raises(ZeroDivisionError):
            write_half(folder)
        assert (folder.names(), folder.read("x")) == (["x"], b"whole")
        with pytest.raises(InputError) as refused:
            find_files(["memory://written/here"], {})
        assert str(refused.value) == (
            "memory://written/here is a folder; expected files of records, such as memory://written/here/*.jsonl"
        )
        folder.remove("x")

    @pytest.mark.parametrize(("url", "renamed"), [("file://{}/out", True), ("memory://put", False)])
    def test_storage_that_shows_half_files_is_given_another_name_first(
        self, tmp_path, monkeypatch, url, renamed
    ):
        folder = OutputFolder.of(url.format(tmp_path), {})
        folder.make()
        system, put = type(filesystem(folder.place, {})[0]), []
        upload = system.put_file

        def watched(own, local, name, *rest, **options):
            put.append(name.rpartition("/")[2])
            upload(own, local, name, *rest, **options)

        monkeypatch.setattr(system, "put_file", watched)
        with folder.writing("x") as path:
            path.write_bytes(b"whole")
        assert [(name == "x", name.endswith(".partial")) for name in put] == [
            (not renamed, renamed)
        ]
        assert (folder.names(), folder.read("x")) == (["x"], b"whole")
        folder.remove("x")

    def test_a_folder_of_storage_may_list_itself(self, monkeypatch):
        listed = ["bucket/x", "bucket/x/part-1", "bucket/x/deep/", "bucket/x/.y.partial"]
        system = SimpleNamespace(invalidate_cache=lambda _: None, ls=lambda *_, detail: listed)
        monkeypatch.setattr(
            "gem_index.distributed.places.filesystem", lambda *_: (system, "bucket/x")
        )
        assert OutputFolder.of("s3://bucket/x", {}).names() == [".y.partial", "deep", "part-1"]

    def test_storage_that_cannot_be_read(self, monkeypatch):
        def refuse(*_, **_options):
            raise PermissionError(13, "Permission denied")

        system = SimpleNamespace(
            invalidate_cache=lambda _: None, ls=refuse, info=refuse, glob=refuse
        )
        monkeypatch.setattr(
            "gem_index.distributed.places.filesystem", lambda *_: (system, "bucket/x")
        )
        for read, told in (
            (
                OutputFolder.of("s3://bucket/x", {}).names,
                "s3://bucket/x cannot be read: permission denied; expected a readable folder",
            ),
            (
                lambda: find_files(["s3://bucket/x"], {}),
                "cannot read s3://bucket/x: permission denied; expected a readable file",
            ),
            (
                lambda: find_files(["s3://bucket/*"], {}),
                "cannot read s3://bucket/*: permission denied; expected a readable file",
            ),
        ):
            with pytest.raises(InputError) as refused:
                read()
            assert str(refused.value) == told

    def test_storage_whose_package_is_missing(self, monkeypatch):
        def missing(_url, **_options):
            raise ImportError("install s3fs")

        monkeypatch.setattr("fsspec.core.url_to_fs", missing)
        with pytest.raises(InputError) as refused:
            find_files(["s3://bucket/x"], {})
        assert str(refused.value) == (
            "s3://bucket/x needs a package: install s3fs; expected it to be installed"
        )
        monkeypatch.setitem(sys.modules, "fsspec", None)
        with pytest.raises(
            MissingExtraError,
            match=f"^reading URLs needs .*{re.escape(install_line('gem-index[dask]'))}",
        ):
            find_files(["s3://bucket/x"], {})


class TestInputs:
    def test_the_least_change_of_the_time_of_a_file_is_told(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("a.txt").write_text("a line\n")
        [found] = find_files(["a.txt"], {})
        time = Path("a.txt").stat().st_mtime_ns
        assert found == replace(found, place=str(tmp_path / "a.txt"), size=7, version=str(time))
        os.utime("a.txt", ns=(time, time + 1))
        with pytest.raises(InputError, match=r"^a\.txt changed while it was read"), found.opened():
            raise AssertionError("it was opened")

    def test_a_change_in_storage_is_told_by_its_time(self, tmp_path):
        (tmp_path / "a.txt").write_text("a line\n")
        [found] = find_files([f"file://{tmp_path}/a.txt"], {})
        assert (found.name, found.size) == (f"file://{tmp_path}/a.txt", 7)
        with found.opened() as opened:
            assert opened.read() == b"a line\n"
        os.utime(tmp_path / "a.txt", (1, 1))
        with pytest.raises(InputError, match=r"a\.txt changed while it was read"), found.opened():
            raise AssertionError("it was opened")

    def test_a_part_is_known_by_its_file_and_its_place(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        Path("a.txt").write_text(("x" * 511 + "\n") * 5)
        version = str(Path("a.txt").stat().st_mtime_ns)
        parts = plan(DocumentReader(["a.txt"]), partition_bytes=1024)
        assert [each.identity for each in parts] == [
            ["a.txt", 2560, version, begin, begin + length]
            for begin, length in ((0, 1024), (1024, 1024), (2048, 512))
        ]

    def test_a_compressed_file_without_the_name_of_one_is_a_part(self, tmp_path):
        path = tmp_path / "a.jsonl"
        lines = b"".join(
            b'{"id": "%d", "text": "%s"}\n' % (i, os.urandom(40).hex().encode()) for i in range(99)
        )
        path.write_bytes(gzip.compress(lines))
        [part] = plan(DocumentReader([str(path)]), partition_bytes=1024)
        assert part.part.whole
        assert [name for name, _ in part.rows(None, PartReport())] == [str(i) for i in range(99)]

    def test_row_groups_are_joined_up_to_the_size_of_a_part(self, tmp_path):
        path = tmp_path / "a.parquet"
        texts = [f"{number:060}" for number in range(90)]
        texts[47] = None
        pq.write_table(
            pa.table({"text": texts}), path, row_group_size=20, use_dictionary=False, compression="none",
            write_statistics=False,
        )  # fmt: skip
        two = 2 * pq.read_metadata(path).row_group(0).column(0).total_compressed_size
        for size, expected in (
            (two, [Part(0, 2, 0), Part(2, 4, 40), Part(4, 5, 80)]),
            (two - 1, [Part(0, 1, 0), Part(1, 3, 20), Part(3, 5, 60)]),  # the third is smaller
            (1024, [Part(i, i + 1, 20 * i) for i in range(5)]),  # each larger than a part
        ):
            parts = plan(DocumentReader([str(path)]), partition_bytes=size, skip=True)
            assert [each.part for each in parts] == expected
            report = PartReport()
            read = [text for part in parts for text in part.texts(None, report)]
            assert read == [text for text in texts if text is not None]
            assert [problem[:2] for problem in report.problems] == [(str(path), 48)]

    def test_damaged_parquet(self, tmp_path):
        path = tmp_path / "a.parquet"
        path.write_bytes(b"PAR1" + b"x" * 2000 + b"PAR1")
        with pytest.raises(InputError) as refused:
            plan(DocumentReader([str(path)]), partition_bytes=1024)
        assert str(refused.value).startswith(f"{path} is not Parquet: ")
        assert str(refused.value).endswith("; expected an undamaged Parquet file")


class TestParts:
    FIELDS = (("n", pa.int64()),)

    def write(self, job, partition, made):
        def columns(report):
            made.append(partition.number)
            report.rows, report.empty = 3, 1
            report.skip(RecordError("a.txt", 4, "bad"))
            yield [pa.array([1, 2])]
            yield [pa.array([3])]

        return write_part(job, partition, self.FIELDS, columns)

    def test_a_part_is_written_once_for_each_content_and_encoder(self, folder):
        Manifest({}).write(folder)
        job = PartJob("one", folder)
        part = SimpleNamespace(number=3, identity=["a.txt", 9, "v", 0, None])
        expected, made = PartReport(3, 1, 1, [("a.txt", 4, "bad")]), []
        path = Path(folder.place, "part-00003.parquet")

        pq.write_table(pa.table({"n": [1]}), Path(folder.place, "other"))
        other = Path(folder.place, "other").read_bytes()
        for count, (with_job, with_part) in (
            (1, (job, part)),
            (1, (job, part)),
            (2, (job, SimpleNamespace(number=3, identity=["a.txt", 9, "w", 0, None]))),
            (3, (job, part)),
            (4, (replace(job, fingerprint="two"), part)),
            (5, (job, part)),
            (6, (job, part)),
        ):
            if count == 5:
                path.write_bytes(b"PAR1 damaged")
            if count == 6:
                path.write_bytes(other)
            assert self.write(with_job, with_part, made) == expected
            assert len(made) == count
            assert pq.read_table(path)["n"].to_pylist() == [1, 2, 3]
        metadata = pq.read_metadata(path).metadata
        assert metadata[b"gem_fingerprint"] == b"one"

    def test_a_worker_that_does_not_see_the_folder(self, tmp_path):
        job = PartJob("one", OutputFolder.of(tmp_path, {}))
        part = SimpleNamespace(number=3, identity=["a.txt"])
        with pytest.raises(FileNotFoundError) as refused:
            self.write(job, part, [])
        assert refused.value.strerror == f"this worker does not see the folder {tmp_path}"
        assert list(tmp_path.iterdir()) == []


class TestManifests:
    def test_reports_keep_the_advice_of_bad_records(self, folder):
        problem = ("b.txt", 2, "worse", "NAME_FIELD", {"field": "text"})
        reports = [PartReport(3, 1, 2, [("a", 1, "bad"), problem]), PartReport(4, 0, 0, [])]
        Manifest({"fit": True}, reports).write(folder)
        assert Manifest.read(folder) == Manifest({"fit": True}, reports)

    @pytest.mark.parametrize(
        ("content", "told"),
        [
            ("{}", "cannot be read ('magic'); remove the folder, or name another one"),
            (
                '{"magic": "x", "version": 1}',
                "is 'x' version 1; expected 'gem-index vectors' version 1",
            ),
            (
                '{"magic": "gem-index vectors", "version": 1, "request": {}, "parts": 5}',
                "cannot be read ('int' object is not iterable); remove the folder, or name another one",
            ),
            (
                '{"magic": "gem-index vectors", "version": 1, "request": {}, "parts": [{"problems": [["a", "x", "b"]]}]}',
                "cannot be read (invalid literal for int() with base 10: 'x'); remove the folder, or name another one",
            ),
        ],
    )
    def test_what_cannot_be_read(self, folder, content, told):
        Path(folder.place, MANIFEST).write_text(content)
        with pytest.raises(CorruptionError) as refused:
            Manifest.read(folder)
        assert str(refused.value) == f"{folder.place}/{MANIFEST} {told}"

    def test_a_folder_that_cannot_be_written(self, folder, monkeypatch):
        @contextmanager
        def full(_folder, _name):
            raise OSError(28, "No space left on device")
            yield

        monkeypatch.setattr(OutputFolder, "writing", full)
        told = (
            f"cannot write to {folder.place}: no space left on device; expected a writable folder"
        )
        for write in (Manifest({}).write, OutputFolder.make):
            with pytest.raises(InputError) as refused:
                write(folder)
            assert str(refused.value) == told

    def test_only_partial_files_are_overlooked(self, folder):
        Path(folder.place, ".x.partial").touch()
        assert Manifest.read(folder) is None
        Path(folder.place, ".hidden").touch()
        with pytest.raises(InputError, match=r"holds \.hidden and no vectors of gem-index"):
            Manifest.read(folder)
