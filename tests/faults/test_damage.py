"""Full disks, flipped bits, truncated files, homes that are copied while written, clocks that jump."""

import os
import re
import shutil
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from gem_index import Document, Home
from gem_index.errors import GemIndexError

TEXTS = [f"how do I renew visa number {i} at the bank of the river" for i in range(300)]


def gem(root, *arguments, limit=None, **environment):
    """Run a command in a separate process, optionally with a maximum file size in bytes."""

    def restrict():
        import resource

        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    code = "from gem_index_cli.main import main; main()"
    inherited = dict(os.environ)
    if limit:
        inherited.pop("COVERAGE_PROCESS_CONFIG", None)  # the coverage data would not fit either
        inherited["PYTHONDONTWRITEBYTECODE"] = "1"  # Python would cut a larger .pyc to the limit
    return subprocess.run(
        [sys.executable, "-c", code, "--home", str(root), *map(str, arguments)],
        capture_output=True, text=True, check=False, env={**inherited, **environment},
        preexec_fn=restrict if limit else None,
    )  # fmt: skip


@pytest.fixture
def built(tmp_path, vectors_folder):
    home = Home(tmp_path / "home")
    documents = [Document(id=str(i), text=text) for i, text in enumerate(TEXTS)]
    home.build("c", documents, vectors=str(vectors_folder))
    return home


def files_of(home, folder):
    return sorted(
        path
        for path in (home.root / folder).rglob("*")
        if path.is_file() and path.suffix != ".lock"
    )


class TestDamagedFiles:
    @pytest.mark.parametrize("damage", ["flip", "cut", "remove"])
    def test_every_damaged_index_file_is_named_and_rebuilt(self, built, damage, caplog):
        count = len(files_of(built, "collections"))
        assert count > 5
        for place in range(count):
            path = files_of(built, "collections")[place]
            content = bytearray(path.read_bytes())
            path.unlink()  # replace the file: this process's mapping of the old one stays intact
            if damage == "cut" and content:
                path.write_bytes(content[: len(content) // 2])
            elif damage == "flip" and content:
                content[len(content) // 2] ^= 4
                path.write_bytes(content)
            problems = Home(built.root).verify()
            assert any(path.name in problem.detail for problem in problems), path
            found = Home(built.root).collection("c").search(TEXTS[7], k=3)
            assert len(found) == 3
            assert all(problem.fixed for problem in Home(built.root).verify(fix=True))
            assert Home(built.root).verify() == []
            assert Home(built.root).collection("c").search(TEXTS[7], k=1)[0].id == "7"

    def test_every_file_of_word_vectors_is_named(self, built):
        for path in files_of(built, "vectors"):
            good = path.read_bytes()
            content = bytearray(good)
            content[len(content) // 2] ^= 4
            path.write_bytes(content)
            assert any("tiny-24d" in p.detail for p in Home(built.root).verify()), path
            path.write_bytes(good)
        assert Home(built.root).verify() == []

    def test_a_text_that_changed_on_the_disk_is_named(self, built):
        path = built.root / "gem-index.sqlite3"
        built.compact()
        content = path.read_bytes()
        place = content.index(b"visa number 123 at")
        path.write_bytes(content[:place] + b"VISA" + content[place + 4 :])
        problems = Home(built.root).verify()
        assert any("the document '123' of c is not what was stored" in p.detail for p in problems)

    def test_a_database_that_is_none(self, built):
        path = built.root / "gem-index.sqlite3"
        path.write_bytes(b"nothing of the kind " * 500)
        for suffix in ("-wal", "-shm"):
            Path(f"{path}{suffix}").unlink(missing_ok=True)
        answer = gem(built.root, "status")
        assert answer.returncode == 1
        assert "is not a sound SQLite database" in answer.stderr
        assert answer.stderr.count("\n") == 1


class TestFullDisks:
    @pytest.mark.parametrize("limit", [20_000, 100_000, 400_000])
    def test_nothing_acknowledged_is_lost_and_nothing_half_is_kept(self, built, tmp_path, limit):
        before = [hit.id for hit in built.collection("c").search(TEXTS[3], k=300)]
        (tmp_path / "more.txt").write_text(
            "".join(f"{text} again {i}\n" for i, text in enumerate(TEXTS * 20))
        )
        answer = gem(built.root, "add", "c", tmp_path / "more.txt", limit=limit)
        assert answer.returncode == 1
        assert answer.stderr.count("\n") == 1
        assert answer.stderr.startswith("Error: ")
        home = Home(built.root)
        assert home.verify() == []
        assert [hit.id for hit in home.collection("c").search(TEXTS[3], k=300)] == before
        assert gem(built.root, "add", "c", tmp_path / "more.txt").returncode == 0
        assert Home(built.root).collection("c").status().documents == 300 + 6000

    def test_an_index_that_does_not_fit(self, built):
        answer = gem(built.root, "refit", "c", limit=1_000)
        assert answer.returncode == 1
        assert answer.stderr.count("\n") == 1
        assert Home(built.root).verify() == []
        assert Home(built.root).collection("c").search(TEXTS[7], k=1)[0].id == "7"


class TestOrder:
    def test_files_are_on_the_disk_before_their_names_and_their_row(
        self, built, tmp_path, need_program
    ):
        need_program("strace")
        log = tmp_path / "log"
        code = "from gem_index_cli.main import main; main()"
        subprocess.run(
            ["strace", "-f", "-y", "-qq", "-o", log, "-e", "trace=fsync,fdatasync,rename,unlink,unlinkat,rmdir",
             sys.executable, "-c", code, "--home", built.root, "refit", "c"],
            check=True, capture_output=True,
        )  # fmt: skip
        lines = log.read_text().splitlines()

        def first(pattern):
            return next(i for i, line in enumerate(lines) if re.search(pattern, line))

        renamed = first(r"rename\((?!.*unfinished).*partial.*collections/")
        for name in ("vectors.faiss", "ids.npy", "snapshot.json", "words/meta.json"):
            assert first(rf"fsync\(.*partial.*{re.escape(name)}") < renamed
        assert first(r"fsync\((?!.*unfinished).*partial-\d+>") < renamed
        folder_synced = first(r"fsync\(\d+<[^>]*/collections/\d+>\)")
        committed = next(
            i
            for i, line in enumerate(lines)
            if "sqlite3-wal" in line and "sync" in line and i > renamed
        )
        assert renamed < folder_synced < committed
        removed = [
            i
            for i, line in enumerate(lines)
            if re.search(r"\b(unlink|unlinkat|rmdir)\(.*/collections/\d+[/>]", line)
            and not re.search(r"unfinished|\.lock|= -1", line)
        ]
        assert len(removed) >= 5  # the snapshot before, file by file
        assert min(removed) > committed


class TestCopies:
    def writer(self, home, stop, written):
        number = 0
        while not stop.is_set():
            batch = [
                Document(id=f"n{number}-{i}", text=f"{TEXTS[i]} batch {number}") for i in range(20)
            ]
            home.collection("c").upsert(batch)
            written.append(number)
            number += 1

    @pytest.fixture
    def writing(self, built):
        stop, written = threading.Event(), []
        thread = threading.Thread(target=self.writer, args=(Home(built.root), stop, written))
        thread.start()
        yield built, written
        stop.set()
        thread.join()

    def check(self, root, batches):
        home = Home(root)
        problems = home.verify(fix=True)
        assert all(problem.fixed for problem in problems)
        collection = home.collection("c")
        for number in batches[-3:]:
            assert (
                collection.search(f"{TEXTS[5]} batch {number}", k=1, mode="dense")[0].score > 0.99
            )
        assert collection.status().documents >= 300 + 20 * len(batches)
        assert (collection.status().documents - 300) % 20 == 0

    def test_a_backup_of_a_home_in_use_is_sound(self, writing, tmp_path):
        home, written = writing
        for attempt in range(3):
            batches = list(written)
            home.backup(tmp_path / f"backup{attempt}")
            self.check(tmp_path / f"backup{attempt}", batches)
            assert Home(tmp_path / f"backup{attempt}").verify() == []

    def test_a_plain_copy_is_sound_or_says_that_it_is_not(self, writing, tmp_path):
        home, written = writing
        for attempt in range(3):
            batches = list(written)
            target = tmp_path / f"copy{attempt}"
            with suppress(shutil.Error):  # a file was removed while it was copied
                shutil.copytree(home.root, target)
            refusal = ""
            try:
                problems = Home(target).verify()
            except GemIndexError as error:
                refusal = str(error)
            if refusal:
                assert "sound" in refusal or "refused" in refusal
            elif all(problem.kind == "index" for problem in problems):
                self.check(target, batches)


def test_the_clock_may_jump(built, monkeypatch):
    for time in (
        "1970-01-01T00:00:00+00:00",
        "2106-02-07T06:28:16+00:00",
        "2001-01-01T00:00:00+00:00",
    ):
        monkeypatch.setattr("gem_index.store.records.now", lambda time=time: time)
        monkeypatch.setattr("gem_index.store.names.now", lambda time=time: time)
        monkeypatch.setattr("time.time", lambda: -1.0)
        built.collection("c").upsert([Document(id=time, text=f"{TEXTS[0]} {time}")])
        built.collection("c").refit()
        assert built.collection("c").search(f"{TEXTS[0]} {time}", k=1, mode="dense")[
            0
        ].score == pytest.approx(1, abs=1e-5)
    assert built.verify() == []
    np.testing.assert_array_equal(built.collection("c").status().documents, 303)
