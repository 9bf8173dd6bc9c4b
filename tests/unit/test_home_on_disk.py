"""A home on disk: its path, removal of leftovers, its lock, backups and its database."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest
from sqlalchemy import Engine, Pool, event

from brute_force import documents
from gem_index import Home
from gem_index.collection.state.filter_cache import FilterCache
from gem_index.errors import (
    CommitError,
    CorruptionError,
    DatabaseVersionError,
    DiskError,
    HomeBusyError,
    HomeNotWritableError,
    InputError,
    UnknownNameError,
)
from gem_index.home import vector_library as home_module
from gem_index.store.documents import DocumentRepository
from stored import execute, other_writer


@pytest.mark.parametrize("name", ["x?1", "x?mode=ro", "a%20b", "h#1", "file:z", ":memory:", "é ü"])
def test_a_path_is_not_a_url(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for root in (name, tmp_path / f"{name}2"):
        Home(root).create_collection("c")
        assert (tmp_path / root / "gem-index.sqlite3").is_file()
    Home("a b").create_collection("other")
    assert [status.name for status in Home(name).collections()] == ["c"]
    Home(name).drop("c")
    assert [status.name for status in Home("a b").collections()] == ["other"]
    assert {path.name for path in tmp_path.iterdir()} == {name, f"{name}2", "a b"}


class TestLeftovers:
    @pytest.fixture
    def left(self, home, faq, vectors_folder):
        """Leftovers of killed processes, by the step that was killed."""
        faq.upsert(documents(30))
        faq.refit()
        folders = [
            "collections/7/0123456789ab/words",  # drop
            "collections/7/unfinished/12-0-0123456789abcdef0123456789abcdef/model",
            "collections/1/.0123456789ab.partial-99",  # the writing of a snapshot
            "collections/1/0123456789ab/words",  # a snapshot that was not yet named
            "collections/1/unfinished/12-0-0123456789abcdef0123456789abcdef/model",  # other documents
            "vectors/gone-01234567",  # vectors remove
            "vectors/.new-01234567.partial-99",  # vectors add
        ]
        for folder in folders:
            (home.root / folder).mkdir(parents=True)
            (home.root / folder / "file").write_bytes(b"content")
        return {home.root / folder for folder in folders}

    def assert_swept(self, home, left):
        assert not any(path.exists() for path in left)
        assert [path.name for path in (home.root / "collections").iterdir()] == ["1"]
        assert len(list((home.root / "collections/1").iterdir())) == 1
        assert home.verify() == []
        assert len(home.collection("faq").search("bank", k=99)) == 30

    def test_verify_removes_and_names_them(self, home, faq, left):
        problems = home.verify()
        assert {problem.kind for problem in problems} == {"leftover"}
        assert all(problem.fixed for problem in problems)
        assert {problem.detail.partition(" ")[2] for problem in problems} == {
            "is named by no row of the database"
        }
        named = {problem.detail.split()[0] for problem in problems}
        assert "collections/7" in named
        assert "vectors/gone-01234567" in named
        self.assert_swept(home, left)

    @pytest.mark.parametrize(
        "write",
        [
            lambda home: home.collection("faq").delete(["d0"]),
            lambda home: home.collection("faq").upsert([]),
            lambda home: home.compact("faq"),
            lambda home: home.create_collection("other"),
        ],
    )
    def test_the_next_write_removes_them(self, home, faq, left, write):
        home.collection("faq").upsert(
            list(documents(31))[30:]
        )  # sweeps already, and makes one to delete
        for path in left:
            path.mkdir(parents=True, exist_ok=True)
        write(home)
        assert not any(path.exists() for path in left)
        assert home.verify() == []

    @pytest.mark.parametrize(("error", "stay"), [(CommitError, True), (DiskError, False)])
    def test_after_a_commit_of_unknown_outcome_they_stay(self, home, left, error, stay):
        """The rows that name them may be stored, or not."""
        with pytest.raises(error), home.workspace.write_lock():
            raise error("the disk failed")
        assert {path.exists() for path in left} == {stay}

    def test_foreign_folders_stay(self, home, faq, vectors_folder, tmp_path):
        faq.upsert(documents(30))
        (tmp_path / "elsewhere").mkdir()
        (tmp_path / "elsewhere" / "kept").write_text("precious")
        (home.root / "vectors" / "notes.txt").write_text("mine")
        (home.root / "vectors" / "my folder").mkdir()
        (home.root / "vectors" / "link-01234567").symlink_to(tmp_path / "elsewhere")
        faq.refit()
        (home.root / "collections/1/0123456789ab").symlink_to(tmp_path / "elsewhere")
        (home.root / "collections/1/notes").mkdir()
        home.vectors.add("more", vectors_folder)
        faq.refit()
        home.compact()
        home.vectors.remove("more")
        assert home.verify() == []
        home.backup(tmp_path / "backup")
        assert not (tmp_path / "backup/vectors/notes.txt").exists()
        assert (tmp_path / "elsewhere/kept").read_text() == "precious"
        assert (home.root / "vectors/notes.txt").read_text() == "mine"
        for name in ("vectors/my folder", "collections/1/notes", "vectors/link-01234567"):
            assert (home.root / name).exists()

    def test_foreign_files_in_a_collections_folder_stay(self, home, faq):
        faq.upsert(documents(10))
        faq.refit()
        for number in (1, 555):
            (home.root / f"collections/{number}/mine").mkdir(parents=True)
            (home.root / f"collections/{number}/note.txt").write_text("mine")
        (home.root / "collections/555/0123456789ab").mkdir()
        home.drop("faq")
        home.verify()
        assert home.verify() == []
        for number in (1, 555):
            left = sorted(path.name for path in (home.root / f"collections/{number}").iterdir())
            assert left == ["mine", "note.txt"]

    def test_a_refit_that_was_cut_is_kept_until_its_documents_change(self, home, faq):
        faq.upsert(documents(30))
        faq.refit()
        with home.workspace.database.reading() as connection:
            record = faq.access.rows(connection).record
        name = f"{record.last_seq}-{record.last_change}-{'0' * 32}"
        unfinished = home.root / "collections/1/unfinished" / name
        unfinished.mkdir(parents=True)
        assert home.verify() == []
        assert unfinished.exists()
        faq.delete(["d3"])
        assert not unfinished.parent.exists()


@pytest.fixture(name="other_writer")
def _other_writer(home):
    with other_writer(home) as other:
        yield other


class TestLock:
    def test_files_of_other_programs_are_not_leftovers(self, home, faq, other_writer):
        written = home.root / "collections/7"
        written.mkdir(parents=True)
        assert home.verify() == []
        assert written.is_dir()
        other_writer.communicate("")
        assert not written.exists()  # the writer's own sweep

    @pytest.mark.parametrize("note", [None, "[]", "{", "{}"])
    def test_who_writes_without_a_note_is_another_process(
        self, home, faq, other_writer, monkeypatch, note
    ):
        path = home.root / "write.lock.json"
        path.unlink() if note is None else path.write_text(note)
        monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")
        with pytest.raises(
            HomeBusyError, match=r"another process has been writing to .* for 0\.1 s"
        ):
            Home(home.root).create_collection("new")

    def test_files_being_written_stay_until_the_outermost_lock_is_released(self, home, faq):
        folder, note = home.root / "collections/7", home.root / "write.lock.json"
        with home.workspace.write_lock():
            folder.mkdir(parents=True)
            with home.workspace.write_lock():
                pass
            assert folder.is_dir()
            assert note.is_file()
        assert not folder.exists()
        assert not note.exists()

    def test_its_note_is_private_and_follows_no_link(self, home, tmp_path):
        target = tmp_path / "target"
        target.write_text("precious")
        note = home.root / "write.lock.json"
        note.symlink_to(target)
        with home.workspace.write_lock():
            assert json.loads(note.read_text())["process"] == os.getpid()
            assert not note.is_symlink()
            assert note.stat().st_mode & 0o777 == 0o600
        assert target.read_text() == "precious"
        assert not note.exists()


class TestBackup:
    def test_into_the_home_itself_is_refused(self, home, faq, tmp_path, monkeypatch):
        (tmp_path / "link").symlink_to(home.root)
        monkeypatch.chdir(home.root)
        for target in (home.root / "b", home.root / "vectors" / "b", tmp_path / "link" / "b", "b"):
            with pytest.raises(InputError, match=r"lies in the home .* itself; expected a folder"):
                home.backup(target)
        assert not (home.root / "b").exists()

    def test_where_there_can_be_no_folder_is_told(self, home, faq, tmp_path):
        (tmp_path / "file").write_text("mine")
        with pytest.raises(InputError, match="cannot write .*: not a directory; expected a folder"):
            home.backup(tmp_path / "file" / "b")
        assert (tmp_path / "file").read_text() == "mine"

    def test_links_and_locks_beside_the_files_are_not_copied(self, home, faq, tmp_path):
        faq.upsert(documents(30))
        faq.refit()
        [folder] = (home.root / "collections/1").iterdir()
        files = {path.name for path in folder.iterdir()}
        (tmp_path / "secret").write_text("a file of somebody else")
        (folder / "link").symlink_to(tmp_path / "secret")
        (folder / "other.lock").touch()
        home.backup(tmp_path / "b")
        copied = tmp_path / "b" / folder.relative_to(home.root)
        assert {path.name for path in copied.iterdir()} == files

    def test_others_write_meanwhile(self, home, faq, tmp_path):
        """The copy has the state of its beginning; folders that writers replace meanwhile are removed after it."""
        faq.upsert(documents(300))
        faq.refit()
        before = sorted(path.name for path in home.root.glob("collections/*/*"))
        steps = []

        def write_once(*step):
            if not steps:
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(lambda: (faq.upsert([("new", "a new text")]), faq.refit())).result()
                assert set(before) < {path.name for path in home.root.glob("collections/*/*")}
            steps.append(step)

        home.backup(tmp_path / "b", write_once)
        assert steps
        assert faq.get(["new"])
        copy = Home(tmp_path / "b")
        assert copy.verify() == []
        assert copy.collection("faq").count() == 300
        faq.upsert([("newer", "a newer text")])
        assert not set(before) & {path.name for path in home.root.glob("collections/*/*")}

    def test_a_compaction_and_another_backup_wait(self, tmp_path, monkeypatch):
        """Otherwise compact would promise that no file has a deleted text while the backup keeps the old ones."""
        monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.05")
        home, refused = Home(tmp_path / "own"), []
        home.build("faq", documents(30))

        def try_once(*_):
            def run(work):
                with pytest.raises(
                    HomeBusyError, match="a backup or a compaction of .* for 0.05 s"
                ):
                    work()
                refused.append(work)

            if not refused:
                with ThreadPoolExecutor(1) as pool:
                    other = Home(home.root)
                    for work in (
                        other.compact,
                        other.collection("faq").compact,
                        lambda: other.backup(tmp_path / "c"),
                    ):
                        pool.submit(run, work).result()

        home.backup(tmp_path / "b", try_once)
        assert len(refused) == 3
        assert not (tmp_path / "c").exists()
        home.compact()

    def test_that_does_not_fit_is_one_line(self, home, faq, tmp_path):
        faq.upsert(documents(3000))
        code = (
            "import resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, 40_000))\n"
            "from gem_index_cli.main import main; main()"
        )
        answer = subprocess.run(
            # -B: Python would cut a larger .pyc to the limit, and every later process would fail to import it
            [sys.executable, "-B", "-c", code, "--home", home.root, "backup", tmp_path / "b"],
            capture_output=True, text=True, check=False,
            # what a measurement of coverage writes would not fit either
            env={name: value for name, value in os.environ.items() if name != "COVERAGE_PROCESS_CONFIG"},
        )  # fmt: skip
        assert answer.returncode == 2
        assert answer.stderr.count("\n") == 1
        assert f"cannot write {tmp_path / 'b'}" in answer.stderr
        assert not (tmp_path / "b").exists()
        assert not list(tmp_path.glob(".b*"))


class TestDroppedMeanwhile:
    def test_status_and_verify_leave_it_out(self, home, faq, monkeypatch):
        home.create_collection("second", vectors="tiny")
        other = Home(home.root)
        record = DocumentRepository.count
        dropped = []

        def count(self, after=0):
            if not dropped:
                dropped.append(other.drop("second"))
            return record(self, after)

        monkeypatch.setattr(DocumentRepository, "count", count)
        assert [status.name for status in home.collections()] == ["faq"]
        home.create_collection("second", vectors="tiny")
        dropped.clear()
        damaged = DocumentRepository.damaged

        def damaged_after_a_drop(self, *options):
            if not dropped:
                dropped.append(other.drop("second"))
            return damaged(self, *options)

        monkeypatch.setattr(DocumentRepository, "damaged", damaged_after_a_drop)
        assert home.verify() == []
        assert dropped

    def test_verify_leaves_out_word_vectors_that_are_removed_meanwhile(
        self, home, vectors_folder, monkeypatch
    ):
        home.vectors.add("short-lived", vectors_folder)
        damaged = home_module.damaged_files

        def removed_first(folder):
            Home(home.root).vectors.remove("short-lived")
            return damaged(folder)

        monkeypatch.setattr(home_module, "damaged_files", removed_first)
        assert home.verify() == []
        assert "short-lived" not in {vectors.name for vectors in home.vectors.list()}

    def test_missing_word_vectors_do_not_look_like_a_dropped_collection(self, home, faq):
        faq.upsert(documents(10))
        faq.refit()
        next(home.root.rglob("ids.npy")).unlink()
        execute(home, "DELETE FROM vector_sources")
        with pytest.raises(UnknownNameError, match="tiny"):
            Home(home.root).verify(fix=True)

    def test_one_that_is_asked_for_is_missed(self, home, faq):
        Home(home.root).drop("faq")
        with pytest.raises(UnknownNameError):
            faq.verify()


def test_stored_documents_are_acknowledged_without_the_word_vectors(home, faq, monkeypatch, caplog):
    """The index is brought up to date after the commit: what fails there must not make a document look refused."""
    monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 5)
    for folder in (home.root / "vectors").iterdir():
        shutil.rmtree(folder)
    other = Home(home.root).collection("faq")
    assert other.upsert(documents(30)).added == 30
    assert other.delete(["d3", "d4"]).deleted == 2
    assert other.count() == 28
    assert "the index of faq was not brought up to date" in caplog.text


class TestFilterCache:
    def test_filters_that_match_nothing_are_bounded_too(self, home, faq):
        faq.upsert(documents(5))
        with home.workspace.database.reading() as connection:
            repository = DocumentRepository(connection, faq.access.id)
            cache = FilterCache()
            for i in range(1100):
                assert len(cache.matching(repository, {"nothing": i}, None, 5)) == 0
            assert len(cache._entries) == 1000
            assert cache._ids == 0
            for _ in range(2):
                assert len(cache.matching(repository, {}, None, 5)) == 5
            assert cache._ids == 5

    def test_ids_are_bounded(self, home, faq, monkeypatch):
        monkeypatch.setattr("gem_index.collection.state.filter_cache._MOST_IDS", 12)
        faq.upsert(documents(5))
        with home.workspace.database.reading() as connection:
            repository = DocumentRepository(connection, faq.access.id)
            cache = FilterCache()
            for i in range(9):
                where = {"$not": {"nothing": i}}
                assert len(cache.matching(repository, where, None, 5)) == 5
                assert cache._ids == sum(len(ids) for ids, _ in cache._entries.values()) <= 12


class TestDatabase:
    """Effects of other users of the database on ours."""

    @pytest.fixture
    def beside(self, home, faq):
        """A connection of another program."""
        faq.upsert(documents(30))
        with closing(sqlite3.connect(home.root / "gem-index.sqlite3", isolation_level=None)) as it:
            yield it

    def test_a_writer_without_our_lock_is_waited_for_and_told(self, home, beside, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")
        waiting = Home(home.root).collection("faq")
        beside.execute("BEGIN IMMEDIATE")
        with pytest.raises(HomeBusyError, match="is being written by another process; try again"):
            waiting.delete(["d3"])
        assert waiting.count() == 30
        beside.execute("ROLLBACK")
        assert waiting.delete(["d3"]).deleted == 1

    def test_deleted_content_is_overwritten(self, home, faq, beside):
        def stored():
            beside.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            return b"unmistakable" in (home.root / "gem-index.sqlite3").read_bytes()

        faq.upsert([("1", "an unmistakable word")])
        assert stored()
        faq.delete(["1"])
        assert not stored()

    def test_compact_reports_a_reader_that_keeps_deleted_content(self, home, beside, monkeypatch):
        monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.1")
        compacting = Home(home.root)
        beside.execute("BEGIN")
        assert beside.execute("SELECT count(*) FROM documents").fetchone() == (30,)
        with pytest.raises(
            HomeBusyError, match="deleted content is still in its log; compact the home again"
        ):
            compacting.compact()
        beside.execute("ROLLBACK")
        compacting.compact()
        assert not (home.root / "gem-index.sqlite3-wal").stat().st_size

    def test_a_table_that_is_gone_is_told(self, home, beside):
        beside.execute("DROP TABLE tombstones")
        with pytest.raises(
            DatabaseVersionError, match=r"other tables than its schema says \(no such table: tombst"
        ):
            home.collection("faq").search("bank")

    def test_a_damaged_page_is_reported_by_every_reader(self, home, beside):
        collection = home.collection("faq")
        collection.upsert(documents(2500, 30))
        home.compact()
        home.workspace.database.close()
        beside.close()
        path = home.root / "gem-index.sqlite3"
        content = path.read_bytes()
        page = content.index(b'{"even":true,"n":2416}') // 4096 * 4096
        path.write_bytes(content[:page] + b"\xff" * 4096 + content[page + 4096 :])
        found = Home(home.root).collection("faq").documents()
        assert next(found).id == "d0"
        with pytest.raises(CorruptionError, match="is not a sound SQLite database"):
            list(found)


def test_an_interrupt_that_leaves_a_transaction_open_does_not_wait_for_itself(
    tmp_path, vectors_folder, monkeypatch
):
    """The interrupt may come between the last line of a transaction and its end."""
    monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "1")
    home, left = Home(tmp_path / "home"), []

    def interrupted(access, *_, **__):
        left.append(access.workspace.database.writing())
        left[0].__enter__()
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.write.building.upsert", interrupted)
        with pytest.raises(KeyboardInterrupt) as caught:
            home.build("new", documents(3), vectors=str(vectors_folder))
    assert not getattr(caught.value, "__notes__", [])
    assert "new" not in home
    assert [info.name for info in home.vectors.list()] == ["wordllama-gem", "wordllama"]
    home.build("new", documents(3), vectors=str(vectors_folder))


class TestWhileItIsOpen:
    def test_nothing_is_written_to_a_home_that_is_gone(self, home, faq):
        faq.upsert(documents(3))
        home.root.rename(home.root.with_name("elsewhere"))
        with pytest.raises(HomeNotWritableError, match="removed or replaced while it was open"):
            faq.upsert([("new", "a text")])

    def test_after_a_commit_of_unknown_outcome_every_connection_is_opened_again(self, home, faq):
        """SQLite may recover the transaction from its log; connections from before would not see it."""
        faq.upsert(documents(3))
        opened = []

        def fail(connection):
            error = sqlite3.OperationalError("disk I/O error")
            error.sqlite_errorcode = sqlite3.SQLITE_IOERR
            raise error

        def note(*_):
            opened.append(1)

        event.listen(Engine, "commit", fail)
        try:
            with pytest.raises(CommitError, match="open the home again"):
                faq.upsert([("new", "a text")])
        finally:
            event.remove(Engine, "commit", fail)
        event.listen(Pool, "connect", note)
        try:
            assert [document.id for document in faq.get(["d0"])] == ["d0"]
        finally:
            event.remove(Pool, "connect", note)
        assert opened == [1]

    def test_a_disk_that_fails_before_the_commit_is_no_commit_of_unknown_outcome(self, home, faq):
        faq.upsert(documents(3))

        def fail(connection, cursor, statement, *_):
            if "INSERT INTO documents" in statement:
                error = sqlite3.OperationalError("disk I/O error")
                error.sqlite_errorcode = sqlite3.SQLITE_IOERR
                raise error

        event.listen(Engine, "before_cursor_execute", fail)
        try:
            with pytest.raises(DiskError, match="nothing of this step was kept") as caught:
                faq.upsert([("new", "a text")])
        finally:
            event.remove(Engine, "before_cursor_execute", fail)
        assert not isinstance(caught.value, CommitError)
        assert faq.upsert([("new", "a text")]).added == 1

    def test_nothing_is_written_beside_a_restored_backup(self, home, faq, tmp_path):
        faq.upsert(documents(3))
        home.backup(tmp_path / "backup")
        home.root.rename(home.root.with_name("elsewhere"))
        (tmp_path / "backup").rename(home.root)
        with pytest.raises(HomeNotWritableError, match="start them again"):
            faq.upsert([("new", "a text")])
        assert Home(home.root).collection("faq").upsert([("new", "a text")]).added == 1

    def test_a_full_disk_is_an_error_of_the_disk(self, home, faq):
        """Not of a commit: SQLite rolls back."""
        faq.upsert(documents(3))
        database = home.workspace.database

        def fill(connection, _record):
            connection.execute("PRAGMA max_page_count = 1")  # that is, as many as there are

        database.close()
        event.listen(database._engine, "connect", fill)
        with pytest.raises(DiskError, match="is full.*make room") as caught:
            faq.upsert([("new", "a text " * 10_000)])
        assert not isinstance(caught.value, CommitError)
        event.remove(database._engine, "connect", fill)
        database.close()
        assert faq.upsert([("new", "a text")]).added == 1
