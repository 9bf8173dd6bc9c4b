"""The order of writes to disk: contents before names, names before their use; complete or absent."""

import errno
import os
import stat
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from gem_index.errors import DiskError, InputError
from gem_index.files import publishing
from gem_index.files.inputs import make_directory, open_input
from gem_index.files.publishing import (
    create_file,
    disk_errors,
    publish_directory,
    publish_file,
    sync_tree,
)


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """Each sync and rename as it happens: ("sync", path, bytes that are in the file), ("rename", from, to)."""
    seen = []
    fsync, rename, replace = os.fsync, os.rename, os.replace

    def name(path):
        return str(Path(path).relative_to(tmp_path)).replace(f"partial-{os.getpid()}", "partial")

    def watched_fsync(descriptor):
        path = Path(f"/proc/self/fd/{descriptor}").readlink()
        seen.append(("sync", name(path), path.read_bytes() if path.is_file() else None))
        fsync(descriptor)

    def watched(kind, function):
        def call(old, new, *rest, **options):
            seen.append((kind, name(old), name(new)))
            function(old, new, *rest, **options)

        return call

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(os, "rename", watched("rename", rename))
    monkeypatch.setattr(os, "replace", watched("rename", replace))
    return seen


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


class TestCreateFile:
    def test_it_is_synced_before_its_name(self, tmp_path, steps):
        with create_file(tmp_path / "a") as file:
            file.write(b"new")
        assert steps == [("sync", "a", b"new"), ("sync", ".", None)]

    @pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
    def test_an_error_leaves_nothing(self, tmp_path, error):
        def write():
            with create_file(tmp_path / "a") as file:
                file.write(b"new")
                raise error

        with pytest.raises(type(error)):
            write()
        assert names(tmp_path) == []

    def test_another_file_stays(self, tmp_path):
        (tmp_path / "a").write_bytes(b"old")
        with pytest.raises(FileExistsError), create_file(tmp_path / "a"):
            pass
        assert (tmp_path / "a").read_bytes() == b"old"


class TestLeftovers:
    """Files of a killed process have its number in their names."""

    @pytest.fixture
    def left(self, tmp_path):
        """Return the number of a process that has ended, and what it and others have left."""
        with subprocess.Popen([sys.executable, "-c", ""]) as ended:
            pass
        (tmp_path / f".a.partial-{ended.pid}").write_text("half")
        (tmp_path / f".a.partial-{os.getppid()}").write_text("of a process that runs")
        (tmp_path / ".a.partial-notes").write_text("of somebody else")
        (tmp_path / f".b.partial-{ended.pid}").write_text("of another name")
        folder = tmp_path / f".c.partial-{ended.pid}"
        folder.mkdir()
        (folder / "rows").write_text("half")
        (tmp_path / f".link.partial-{ended.pid}").symlink_to(folder)
        return ended.pid

    def test_the_next_file_of_the_name_removes_them(self, tmp_path, left):
        with publish_file(tmp_path / "a") as file:
            file.write(b"new")
        kept = {f".a.partial-{os.getppid()}", ".a.partial-notes", f".b.partial-{left}"}
        assert {"a", *kept} <= set(names(tmp_path))
        assert f".a.partial-{left}" not in names(tmp_path)

    def test_the_next_folder_of_the_name_removes_them(self, tmp_path, left):
        publish_directory(tmp_path / "c", lambda folder: (folder / "rows").write_text("new"))
        assert f".c.partial-{left}" not in names(tmp_path)
        assert (tmp_path / "c" / "rows").read_text() == "new"

    def test_a_link_is_removed_and_not_what_it_names(self, tmp_path, left):
        with publish_file(tmp_path / "link") as file:
            file.write(b"new")
        assert f".link.partial-{left}" not in names(tmp_path)
        assert (tmp_path / f".c.partial-{left}" / "rows").exists()


class TestDiskErrors:
    @pytest.mark.parametrize(
        ("number", "advice"),
        [
            (errno.ENOSPC, "make room on the disk"),
            (errno.EMFILE, r"raise the limit of open files \(ulimit -n\)"),
            (errno.EACCES, "make its folder writable"),
            (errno.EIO, "check the disk"),
        ],
    )
    def test_the_message_says_what_is_kept_and_what_to_do(self, number, advice):
        reason = os.strerror(number).lower()
        expected = rf"writing the index failed \({reason}\); nothing of this step was kept: {advice} and try again"
        with pytest.raises(DiskError, match=f"^{expected}$"), disk_errors("the index"):
            raise OSError(number, os.strerror(number))

    @pytest.mark.parametrize("error", [TimeoutError, BrokenPipeError])
    def test_locks_and_pipes_are_no_failure_of_the_disk(self, error):
        with pytest.raises(error), disk_errors("the index"):
            raise error


class TestPublishedFile:
    def test_contents_are_durable_before_the_name_and_the_name_before_it_returns(
        self, steps, tmp_path
    ):
        (tmp_path / "a").write_bytes(b"old")
        with publish_file(tmp_path / "a") as file:
            file.write(b"new")
            assert (tmp_path / "a").read_bytes() == b"old"
        assert steps == [
            ("sync", ".a.partial", b"new"),
            ("rename", ".a.partial", "a"),
            ("sync", ".", None),
        ]
        assert (tmp_path / "a").read_bytes() == b"new"
        assert names(tmp_path) == ["a"]

    @pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
    def test_an_error_leaves_the_old_one(self, tmp_path, error):
        (tmp_path / "a").write_bytes(b"old")

        def write():
            with publish_file(tmp_path / "a") as file:
                file.write(b"new")
                raise error

        with pytest.raises(type(error)):
            write()
        assert (tmp_path / "a").read_bytes() == b"old"
        assert names(tmp_path) == ["a"]

    def test_a_disk_that_does_not_keep_it_keeps_the_old_one(self, tmp_path, monkeypatch):
        def refuse(_):
            raise OSError(5, "Input/output error")

        (tmp_path / "a").write_bytes(b"old")
        monkeypatch.setattr(publishing.os, "fsync", refuse)
        with pytest.raises(OSError, match="Input/output"), publish_file(tmp_path / "a") as file:
            file.write(b"new")
        assert (tmp_path / "a").read_bytes() == b"old"
        assert names(tmp_path) == ["a"]


class TestPublishedDirectory:
    @staticmethod
    def fill(folder):
        (folder / "x").write_bytes(b"1")
        (folder / "sub").mkdir()
        (folder / "sub" / "y").write_bytes(b"2")

    def test_every_file_and_folder_is_durable_before_the_name(self, steps, tmp_path):
        publish_directory(tmp_path / "a", self.fill)
        renamed = steps.index(("rename", ".a.partial", "a"))
        before = steps[:renamed]
        assert sorted(before) == sorted(
            [
                ("sync", ".a.partial/x", b"1"),
                ("sync", ".a.partial/sub/y", b"2"),
                ("sync", ".a.partial/sub", None),
                ("sync", ".a.partial", None),
            ],
        )
        assert before[-1] == ("sync", ".a.partial", None)
        assert before.index(("sync", ".a.partial/sub/y", b"2")) < before.index(
            ("sync", ".a.partial/sub", None)
        )
        assert steps[renamed + 1 :] == [("sync", ".", None)]

    def test_it_is_its_owners_alone(self, tmp_path):
        publish_directory(tmp_path / "deep" / "a", self.fill)
        folder = tmp_path / "deep" / "a"
        assert mode(tmp_path / "deep") == mode(folder) == mode(folder / "sub") == 0o700
        assert mode(folder / "x") == mode(folder / "sub" / "y") == 0o600

    def test_leftovers_of_an_earlier_attempt_are_not_reused(self, tmp_path):
        stale = tmp_path / f".a.partial-{os.getpid()}"
        stale.mkdir()
        (stale / "stale").write_bytes(b"")
        publish_directory(tmp_path / "a", self.fill)
        assert names(tmp_path / "a") == ["sub", "x"]

    @pytest.mark.parametrize("error", [OSError(28, "full"), KeyboardInterrupt()])
    def test_an_error_leaves_nothing(self, tmp_path, error):
        def broken(folder):
            self.fill(folder)
            raise error

        with pytest.raises(type(error)):
            publish_directory(tmp_path / "a", broken)
        assert names(tmp_path) == []

    def test_one_that_exists_is_not_replaced(self, tmp_path):
        (tmp_path / "a").mkdir()
        (tmp_path / "a" / "mine").write_bytes(b"")
        with pytest.raises(OSError, match="not empty"):
            publish_directory(tmp_path / "a", self.fill)
        assert names(tmp_path / "a") == ["mine"]
        assert names(tmp_path) == ["a"]


def test_sync_tree_syncs_a_file_with_its_rights(tmp_path, monkeypatch):
    """A file that is readable by others before, and only by its owner in what reaches the disk."""
    (tmp_path / "inner").mkdir()
    for name in ("a", "inner/b"):
        (tmp_path / name).touch(0o644)
    synced = []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append(os.fstat(file).st_mode))
    sync_tree(tmp_path)
    modes = [stat.S_IMODE(mode) for mode in synced if stat.S_ISREG(mode)]
    assert modes == [0o600, 0o600]


def test_sync_tree_gives_the_owner_access(tmp_path):
    (tmp_path / "sub").mkdir(mode=0o755)
    (tmp_path / "sub" / "x").write_bytes(b"1")
    (tmp_path / "sub" / "x").chmod(0o644)
    sync_tree(tmp_path)
    assert mode(tmp_path / "sub") == 0o700
    assert mode(tmp_path / "sub" / "x") == 0o600


class TestMadeDirectory:
    def test_new_files_are_private_and_existing_ones_stay(self, tmp_path):
        tmp_path.chmod(0o755)
        make_directory(tmp_path / "a" / "b")
        assert mode(tmp_path) == 0o755
        assert mode(tmp_path / "a") == mode(tmp_path / "a" / "b") == 0o700
        (tmp_path / "a").chmod(0o750)
        make_directory(tmp_path / "a")
        make_directory(tmp_path / "a" / "c")
        assert mode(tmp_path / "a") == 0o750

    def test_a_file_of_that_name_is_told(self, tmp_path):
        (tmp_path / "a").write_bytes(b"")
        with pytest.raises(NotADirectoryError):
            make_directory(tmp_path / "a")


class TestInput:
    @pytest.mark.parametrize("member", ["a", "deep/a"])
    def test_a_plain_file_has_no_members(self, tmp_path, member):
        path = tmp_path / "x.txt"
        path.write_text("a bank")
        told = f"cannot read {path}/{member}: {path} is not a zip file"
        with pytest.raises(InputError, match=told), open_input(f"{path}/{member}"):
            pass

    def test_a_disk_that_fails_while_it_is_read_is_told(self):
        told = r"cannot read /proc/self/mem: input/output error; expected a readable file"
        with pytest.raises(InputError, match=told), open_input("/proc/self/mem"):
            pass

    def test_metadata_that_macos_adds_to_a_zip_file_are_ignored_unless_named(self, tmp_path):
        path = tmp_path / "x.txt.zip"
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("x.txt", "a bank")
            archive.writestr("__MACOSX/._x.txt", "a note")
        with open_input(str(path)) as file:
            assert file.read() == b"a bank"
        with open_input(f"{path}/__MACOSX/._x.txt") as file:
            assert file.read() == b"a note"
        with zipfile.ZipFile(path, "a") as archive:
            archive.writestr("y.txt", "a river")
        with pytest.raises(InputError, match="expected one of them"), open_input(str(path)):
            pass

    def test_a_zip_file_cannot_come_through_a_pipe(self, tmp_path, monkeypatch):
        with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
            archive.writestr("x.txt", "a bank")
        reading, writing = os.pipe()
        os.write(writing, (tmp_path / "x.zip").read_bytes())
        os.close(writing)
        with os.fdopen(reading) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            with pytest.raises(InputError, match="standard input is a zip file"), open_input("-"):
                pass
