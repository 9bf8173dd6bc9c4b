"""Homes that can be read and not written."""

import os
import shutil
import subprocess

import pytest

from brute_force import TEXTS, documents
from gem_index import Home
from gem_index.errors import (
    HomeBusyError,
    HomeNotWritableError,
)
from gem_index.store.engine import read_only_address


@pytest.fixture
def closed(tmp_path):
    """Open a folder where nobody can write it: mounted so for the superuser, whom no mode stops."""
    undo = []

    def close(root):
        where = tmp_path / "read-only"
        if os.geteuid() == 0:
            where.mkdir()
            mounted = subprocess.run(["mount", "--bind", root, where], check=False)
            if mounted.returncode:
                pytest.skip("the superuser may not mount here")
            undo.append(lambda: subprocess.run(["umount", "-l", where], check=True))
            subprocess.run(["mount", "-o", "remount,ro,bind", where], check=True)
            return where
        where.symlink_to(root)
        paths = [root, *root.rglob("*")]
        for path in paths:
            path.chmod(path.stat().st_mode & ~0o222)
        undo.append(lambda: [path.chmod(path.stat().st_mode | 0o200) for path in paths])
        return where

    yield close
    while undo:
        undo.pop()()


@pytest.fixture
def read_only(home, faq, closed):
    faq.upsert(documents(30))
    faq.refit()
    faq.upsert(list(documents(31))[30:])
    home.workspace.database.close()
    return closed(home.root)


def test_a_home_that_can_only_be_read(read_only, tmp_path):
    home = Home(read_only)
    faq = home.collection("faq")
    assert faq.search(TEXTS[3], k=40)
    assert len(faq.search("bank", k=40)) == 31
    assert faq.search("bank", mode="lexical", k=3)
    assert faq.search("bank", mode="hybrid", k=3)
    assert home.verify() == []
    assert faq.export(tmp_path / "faq.jsonl") == 31
    assert Home(tmp_path / "elsewhere").vectors.list()
    for write in (
        lambda: faq.upsert(documents(2)),
        lambda: faq.refit(),
        lambda: home.drop("faq"),
        lambda: home.create_collection("new"),
    ):
        with pytest.raises(HomeNotWritableError, match="cannot write to the home"):
            write()


def test_a_state_that_is_overwritten_while_it_is_read_is_not_answered_from(read_only, request):
    """Where nobody has the database open there are no locks to take: what was read is held against the file instead."""
    if os.geteuid() != 0:
        pytest.skip("only a mount can be read-only here and writable elsewhere")
    home = Home(read_only)

    def read(transaction):
        with transaction():
            writer = Home(read_only.parent / "home")
            writer.collection("faq").delete([writer.collection("faq").search("bank")[0].id])
            writer.workspace.database.close()

    database = home.workspace.database
    for transaction in (database.reading, database.reading_in_steps):
        with pytest.raises(HomeBusyError, match="was written while it was read; try again"):
            read(transaction)
    assert home.collection("faq").count() == 29


def test_a_log_that_cannot_be_taken_in_is_told(home, faq, tmp_path, closed):
    """A copy of a home in use, without the file that its readers share: what its log holds is not in the database."""
    faq.upsert(documents(30))
    shutil.copytree(home.root, tmp_path / "copy", ignore=shutil.ignore_patterns("*-shm"))
    assert (tmp_path / "copy/gem-index.sqlite3-wal").stat().st_size
    with pytest.raises(HomeNotWritableError, match="-wal has changes that are not in the database"):
        Home(closed(tmp_path / "copy"))
    assert Home(tmp_path / "copy").collection("faq").count() == 30


def test_a_home_that_can_only_be_read_here_and_is_written_elsewhere(read_only, tmp_path, request):
    """What others acknowledge is found at once, and never half of it: also where there was nobody at first."""
    if os.geteuid() != 0:
        pytest.skip("only a mount can be read-only here and writable elsewhere")
    home = Home(read_only)
    faq = home.collection("faq")
    assert len(faq.search("bank", k=99)) == 31
    writer = Home(read_only.parent / "home")
    for number in range(5):
        added = list(documents(40 + 10 * number))[30 + 10 * number :]
        writer.collection("faq").upsert(added)
        assert faq.count() == 31 + 9 + 10 * number
        assert len(faq.search("bank", k=199)) == faq.count()
        if number % 2:
            writer.collection("faq").refit()
            writer.workspace.database.close()  # its log goes into the database, and away
            assert len(faq.search("bank", k=199)) == faq.count() == 40 + 10 * number
    assert home.verify() == []


@pytest.mark.parametrize(
    ("beside", "opened"),
    [
        ((), "immutable=1"),
        (("-shm",), "immutable=1"),
        (("-wal",), "immutable=1"),
        (("-shm", "-wal"), "mode=ro"),
    ],
)
def test_shared_memory_is_used_where_there_is_some_and_a_log(tmp_path, beside, opened):
    """What one of the two alone tells is that its owner died: the database is opened as it lies there."""
    path = tmp_path / "x.sqlite3"
    for suffix in ("", *beside):
        path.with_name(path.name + suffix).touch()
    assert opened in read_only_address(path)
