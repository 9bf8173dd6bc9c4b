"""Folders that are watched: changes arrive, bursts come together, trouble does not end it."""

import threading

import pytest

from gem_index.collection.watching import watch
from gem_index.readers import FolderReader

PATIENCE = 60.0


class Watched:
    """A watch in a thread, with what it reported."""

    def __init__(self, collection, *folders, ignore=()):
        self.reports, self.errors = [], []
        self._new = threading.Condition()
        self._stop = threading.Event()
        self._thread = threading.Thread(
            target=watch,
            args=(collection, folders),
            kwargs={
                "on_report": self._take(self.reports),
                "on_error": self._take(self.errors),
                "stop": self._stop,
                "ignore": ignore,
            },
        )

    def _take(self, into):
        def take(item):
            with self._new:
                into.append(item)
                self._new.notify_all()

        return take

    def until(self, condition):
        with self._new:
            assert self._new.wait_for(condition, PATIENCE)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    (root / "a.txt").write_text("the bank")
    return root


def test_changes_arrive(faq, folder):
    with Watched(faq, FolderReader(folder)) as watched:
        watched.until(lambda: watched.reports)
        assert (watched.reports[0].added, len(faq)) == (1, 1)
        (folder / "sub").mkdir()
        (folder / "sub" / "b.txt").write_text("the river")
        watched.until(lambda: len(faq) == 2)
        (folder / "a.txt").write_text("the bank again")
        watched.until(lambda: watched.reports[-1].updated)
        (folder / "sub" / "b.txt").unlink()
        watched.until(lambda: watched.reports[-1].deleted)
        assert [document.id for document in faq.documents()] == ["a.txt"]


def test_a_burst_is_few_transactions(faq, folder):
    with Watched(faq, FolderReader(folder)) as watched:
        watched.until(lambda: watched.reports)
        for i in range(1000):
            (folder / f"{i}.txt").write_text(f"text {i}")
        watched.until(lambda: len(faq) == 1001)
        assert len(watched.reports) < 30  # the files were perhaps written slowly


def test_what_changed_before_is_found_at_the_start(faq, folder):
    faq.upsert(FolderReader(folder))
    (folder / "b.txt").write_text("new")
    (folder / "a.txt").unlink()
    with Watched(faq, FolderReader(folder)) as watched:
        watched.until(lambda: watched.reports)
        assert (watched.reports[0].added, watched.reports[0].deleted) == (1, 1)


def test_a_failure_is_said_and_it_goes_on(faq, folder, monkeypatch):
    monkeypatch.setattr("gem_index.collection.watching._RETRY", 0.1)
    with Watched(faq, FolderReader(folder)) as watched:
        watched.until(lambda: watched.reports)
        (folder / "bad.pdf").write_bytes(b"not a PDF")
        watched.until(lambda: watched.errors)
        assert "bad.pdf was not read" in str(watched.errors[0])
        (folder / "bad.pdf").unlink()
        (folder / "good.txt").write_text("good")
        watched.until(lambda: len(faq) == 2)


def test_hidden_files_and_the_home_do_not_wake_it(faq, folder, monkeypatch):
    looked = []
    files = FolderReader.files
    monkeypatch.setattr(FolderReader, "files", lambda self: looked.append(1) or files(self))
    home = folder / "home"
    home.mkdir()
    with Watched(faq, FolderReader(folder), ignore=[home]) as watched:
        watched.until(lambda: watched.reports)
        (folder / ".git").mkdir()
        for i in range(5):
            (folder / ".git" / f"{i}.txt").write_text("x")
            (home / f"{i}.txt").write_text("x")
        (folder / "b.txt").write_text("seen")
        watched.until(lambda: len(faq) == 7)
    assert len(looked) <= 3


def test_a_folder_that_was_replaced_is_watched_again(faq, folder, tmp_path):
    with Watched(faq, FolderReader(folder)) as watched:
        watched.until(lambda: watched.reports)
        folder.rename(tmp_path / "old")
        watched.until(lambda: watched.errors)
        folder.mkdir()
        (folder / "b.txt").write_text("the first of the new folder")
        watched.until(lambda: watched.reports[-1].added)
        (folder / "c.txt").write_text("the second of the new folder")
        watched.until(lambda: len(faq) == 2)
