"""Compacting, exporting and restoring, backups, drift, modes of files and of writing."""

import base64
import hashlib
import io
import json
import os
import stat

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index import Document, GemConfig, Home
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    FingerprintMismatchError,
    GemIndexError,
    InputError,
    NameTakenError,
)
from gem_index.index.snapshot import Snapshot
from stored import execute

TEXTS = [f"how do I renew visa number {i} at the bank of the river" for i in range(50)]
NOT_FINITE = base64.b64encode(np.full(3, np.nan).tobytes()).decode()  # 24 bytes: no padding
SECRET = "xylophonequartz"


def build(home, vectors_folder):
    documents = [
        Document(
            id=f"\u00e9{i}", text=text, metadata={"n": i, "deep": {"list": [1, None, "\u6771"]}}
        )
        for i, text in enumerate(TEXTS)
    ]
    home.build("c", documents, vectors=str(vectors_folder), config=GemConfig.cqa(window=3))


@pytest.fixture
def built(copied_home, small_vectors_folder):
    return copied_home(build, small_vectors_folder)


def everything(root):
    return {path: path.read_bytes() for path in root.rglob("*") if path.is_file()}


def holds(root, text):
    found = {text.encode(), text.upper().encode(), text.encode("utf-16-le")}
    return [path for path, content in everything(root).items() if any(f in content for f in found)]


class TestCompact:
    @pytest.mark.parametrize("one", [True, False])
    def test_no_byte_of_a_deleted_text_stays(self, built, one):
        collection = built.collection("c")
        collection.upsert(
            [Document(id="secret", text=f"the {SECRET} of the bank", metadata={"k": SECRET * 2})]
        )
        collection.refit()
        collection.upsert([Document(id="replaced", text=f"another {SECRET}")])
        collection.upsert([Document(id="replaced", text="harmless")])
        assert holds(built.root, SECRET)
        collection.delete(["secret"])
        built.compact("c" if one else None)
        assert holds(built.root, SECRET) == []
        assert collection.search("harmless bank", k=100, mode="dense")[0].id
        assert built.verify() == []

    def test_keeps_every_answer(self, built):
        collection = built.collection("c")
        collection.delete([f"\u00e9{i}" for i in range(0, 50, 3)])
        before = collection.search("renew a visa", k=50, mode="dense")
        by_both = [hit.id for hit in collection.search("renew a visa", k=3)]
        built.compact("c")
        assert collection.search("renew a visa", k=50, mode="dense") == before
        assert [hit.id for hit in collection.search("renew a visa", k=3)] == by_both
        assert collection.status().index.tail == 0


class TestExport:
    @pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
    def test_restores_bit_for_bit(self, built, tmp_path, ending):
        collection = built.collection("c")
        collection.upsert([Document(id="late", text="a bank", metadata={})])
        collection.delete(["\u00e97"])
        path = tmp_path / f"c{ending}"
        built.compact("c")
        assert collection.export(path) == 50
        again = built.import_collection(path, "again")
        old, new = collection.status(), again.status()
        assert (new.fingerprint, new.documents, new.fitted) == (old.fingerprint, 50, old.fitted)
        assert again.search("renew a visa", k=60) == collection.search("renew a visa", k=60)
        again.export(tmp_path / f"again{ending}")
        if ending == ".jsonl":
            first, second = (
                (tmp_path / f"{name}.jsonl").read_text().splitlines() for name in ("c", "again")
            )
            assert first[1:] == second[1:]
            head = json.loads(first[0])
            assert head == json.loads(second[0]) | {"collection": "c"}
            assert head["fingerprint"] == old.fingerprint
            vectors = np.array([json.loads(line)["vector"] for line in first[1:]], np.float32)
        else:
            table = pq.read_table(path)
            assert table.equals(pq.read_table(tmp_path / "again.parquet"))
            vectors = np.array(table["vector"].to_pylist(), np.float32)
        texts = [hit for hit in TEXTS if " 7 " not in hit] + ["a bank"]
        np.testing.assert_array_equal(vectors, collection.encoder.encode(texts))

    def test_into_another_home(self, built, tmp_path, vectors_folder):
        built.collection("c").export(tmp_path / "c.jsonl")
        other = Home(tmp_path / "other")
        with pytest.raises(InputError, match="no vectors are named 'tiny-24d'"):
            other.import_collection(tmp_path / "c.jsonl")
        other.vectors.add("tiny-24d", vectors_folder)
        assert other.import_collection(tmp_path / "c.jsonl").name == "c"
        wrong = Home(tmp_path / "wrong")
        np.save(vectors_folder / "matrix.npy", np.load(vectors_folder / "matrix.npy") + 1)
        wrong.vectors.add("tiny-24d", vectors_folder)
        with pytest.raises(FingerprintMismatchError):
            wrong.import_collection(tmp_path / "c.jsonl")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is not an exported collection"),
            (b'{"id": 1}\n', "is not an exported collection"),
            (b"\x1f\x8b\x08nothing", "is not an exported collection|cannot be read to its end"),
        ],
    )
    def test_other_files_are_refused(self, home, tmp_path, content, message):
        (tmp_path / "x.jsonl").write_bytes(content)
        with pytest.raises(InputError, match=message):
            home.import_collection(tmp_path / "x.jsonl")
        (tmp_path / "x.parquet").write_bytes(content)
        with pytest.raises(InputError, match=message):
            home.import_collection(tmp_path / "x.parquet")

    @pytest.mark.parametrize(
        "change",
        [
            {"directions": "MTIzNDU2Nw=="}, {"directions": "?"}, {"dimension": 0}, {"dimension": 7},
            {"sentences": "x"}, {"sentences": True}, {"config": "nonsense"}, {"singular_values": ""},
            {"more": 1},
            {"singular_values": NOT_FINITE, "directions": NOT_FINITE * 24},
        ],
    )  # fmt: skip
    def test_a_damaged_model_leaves_nothing(self, built, tmp_path, change):
        path = tmp_path / "c.jsonl"
        built.collection("c").export(path)
        head, *lines = path.read_text().splitlines()
        fields = json.loads(head)
        fields["model"] |= change
        path.write_text("\n".join([json.dumps(fields), *lines]))
        with pytest.raises(GemIndexError):
            built.import_collection(path, "again")
        assert [status.name for status in built.collections()] == ["c"]

    @pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
    def test_whatever_is_stored_is_taken_back(self, home, tmp_path, ending):
        deep = json.loads('{"a":' * 90 + "1" + "}" * 90)
        metadata = [
            deep,
            {"n": 10**4000},
            {"s": "\0\x1b\u2028\U0001f600"},
            {"f": 1e308, "i": 2**70},
        ]
        collection = home.create_collection("c")
        collection.upsert(
            Document(id=f"\n{i}", text="a\0b \u2028" * i, metadata=m)
            for i, m in enumerate(metadata)
        )
        collection.export(tmp_path / f"c{ending}")
        again = home.import_collection(tmp_path / f"c{ending}", "again")
        assert list(again.documents()) == list(collection.documents())

    def test_empty_collections_are_kept_house_for_too(self, home, tmp_path):
        collection = home.create_collection("empty")
        home.compact()
        assert collection.search("a bank", mode="hybrid") == []
        assert collection.export(tmp_path / "e.jsonl") == 0
        assert home.import_collection(tmp_path / "e.jsonl", "again").status().documents == 0
        assert home.verify() == []

    @pytest.mark.parametrize(
        ("row", "message"),
        [
            ({"id": ""}, "of a document the id has 0 characters"),
            ({"text": None}, "of a document the text of '\u00e93' is null"),
            ({"metadata": "nonsense"}, "metadata of (a document|'\u00e93') is not"),
        ],
    )
    @pytest.mark.parametrize("ending", [".jsonl", ".parquet"])
    def test_a_damaged_document_is_told_and_leaves_nothing(
        self, built, tmp_path, ending, row, message
    ):
        path = tmp_path / f"c{ending}"
        built.collection("c").export(path)
        if ending == ".jsonl":
            lines = path.read_text().splitlines()
            lines[4] = json.dumps(json.loads(lines[4]) | row)
            path.write_text("\n".join(lines))
        else:
            table = pq.read_table(path)
            rows = table.to_pylist()
            rows[3] |= row
            pq.write_table(pa.Table.from_pylist(rows, table.schema), path)
        with pytest.raises(InputError, match=f"{path.name} is damaged: .*({message})"):
            built.import_collection(path, "again")
        assert [status.name for status in built.collections()] == ["c"]

    @pytest.mark.parametrize("damage", ["bytes", "column"])
    def test_damaged_columns_are_told_and_leave_nothing(self, built, tmp_path, damage):
        path = tmp_path / "c.parquet"
        built.collection("c").export(path)
        if damage == "column":
            pq.write_table(pq.read_table(path).drop_columns(["metadata"]), path)
        else:
            content = path.read_bytes()
            path.write_bytes(content[:200] + bytes(200) + content[400:])
        with pytest.raises(
            InputError, match=r"c\.parquet is damaged: .*; expected a complete export"
        ):
            built.import_collection(path, "again")
        assert [status.name for status in built.collections()] == ["c"]

    def test_a_damaged_export_leaves_nothing(self, built, tmp_path):
        path = tmp_path / "c.jsonl"
        built.collection("c").export(path)
        lines = path.read_text().splitlines()
        path.write_text("\n".join([*lines[:20], lines[20][:30]]))
        with pytest.raises(InputError, match="is damaged"):
            built.import_collection(path, "again")
        with pytest.raises(NameTakenError):
            built.import_collection(path)
        with pytest.raises(ConfigError, match="name is"):
            built.import_collection(path, "../evil")
        assert [status.name for status in built.collections()] == ["c"]
        for name in ("c.txt", "absent/c.jsonl"):
            with pytest.raises(InputError):
                built.collection("c").export(tmp_path / name)


class TestVerify:
    """What hashes do not show: files that are what was written, and not what the database needs."""

    @staticmethod
    def snapshot(home):
        return next(home.root.rglob("ids.npy")).parent

    def forge(self, home, name, content):
        """Replace a file of the snapshot and its recorded hash."""
        path = self.snapshot(home) / name
        path.write_bytes(content)
        entry = {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        execute(
            home, "UPDATE snapshots SET files = json_set(files, ?, json(?))",
            f'$."{name}"', json.dumps(entry),
        )  # fmt: skip

    def assert_found_and_fixed(self, home, detail):
        (problem,) = home.verify()
        assert (problem.kind, problem.detail, problem.fixed) == ("index", f"c: {detail}", False)
        (problem,) = home.verify(fix=True)
        assert (problem.detail, problem.fixed) == (f"c: {detail}", True)
        assert home.verify() == []
        found = home.collection("c").search(TEXTS[7], k=100, mode="dense")
        assert len(found) == 50
        assert found[0].score == pytest.approx(1, abs=1e-5)

    def test_an_index_of_another_model(self, built):
        ours = built.collection("c").encoder.fingerprint[:12]
        execute(built, "UPDATE snapshots SET model_fingerprint = ?", "ab" * 32)
        self.assert_found_and_fixed(
            built, f"the index is of the encoder abababababab, the model is {ours}"
        )

    def test_an_index_without_some_documents(self, built):
        ids = np.load(self.snapshot(built) / "ids.npy")
        held = io.BytesIO()
        np.save(held, np.append(ids[:-2], [10**6, 10**6 + 1]))
        self.forge(built, "ids.npy", held.getvalue())
        self.assert_found_and_fixed(built, "the index has 50 documents, the database 50")

    def test_an_index_with_documents_that_are_gone(self, built):
        execute(built, "DELETE FROM documents WHERE text = ?", TEXTS[0])
        (problem,) = built.verify()
        assert problem.detail == "c: the index has 50 documents, the database 49"
        built.verify(fix=True)
        assert built.verify() == []

    def test_an_index_that_faiss_cannot_read(self, built):
        path = self.snapshot(built) / "vectors.faiss"
        self.forge(built, path.name, b"not of FAISS")
        self.assert_found_and_fixed(built, f"{path} is not a readable index")

    def test_an_index_that_cannot_be_opened(self, built):
        folder = self.snapshot(built)
        self.forge(built, "snapshot.json", b"{}")
        (problem,) = built.verify()
        assert problem.detail.startswith(f"c: {folder} is not a ")
        self.assert_found_and_fixed(built, problem.detail.removeprefix("c: "))

    def test_an_index_that_is_replaced_meanwhile_is_not_a_problem(self, built, monkeypatch):
        damage = Snapshot.damage
        seen = []

        def replace_first(folder, files):
            seen.append(folder)
            if len(seen) == 1:
                Home(built.root).compact("c")
            return damage(folder, files)

        monkeypatch.setattr(Snapshot, "damage", staticmethod(replace_first))
        assert built.verify() == []
        assert len(set(seen)) == 2
        assert not seen[0].exists()

    def test_words_that_cannot_be_read_are_named_and_the_vectors_still_serve(self, built, caplog):
        path = self.snapshot(built) / "words" / "meta.json"
        path.write_bytes(b" " * path.stat().st_size)
        with pytest.raises(CorruptionError, match="words cannot be read.*home.verify"):
            built.collection("c").search("visa", mode="lexical")
        found = built.collection("c").search("visa", k=3)
        assert "words cannot be read" in caplog.text
        assert "searching by meaning alone" in caplog.text
        assert [hit.bm25 for hit in found] == [None] * 3
        assert [hit.id for hit in found] == [
            hit.id for hit in built.collection("c").search("visa", k=3, mode="dense")
        ]
        assert all(problem.fixed for problem in built.verify(fix=True))
        assert len(built.collection("c").search("visa", k=3, mode="lexical")) == 3


def test_backup_refuses_an_existing_folder(built, tmp_path):
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="exists already"):
        built.backup(tmp_path / "there")
    built.backup(tmp_path / "b")
    assert Home(tmp_path / "b").collection("c").search("visa", k=3) == built.collection("c").search(
        "visa", k=3
    )


def test_a_backup_has_what_rows_of_the_database_name_and_nothing_else(built, tmp_path):
    def files(root):
        beside = (".lock", ".sqlite3-wal", ".sqlite3-shm")
        return {
            str(path.relative_to(root)) for path in everything(root) if path.suffix not in beside
        }

    used = files(built.root)
    for name in (
        "collections/1/0123456789ab/words/part",  # a snapshot that no row names
        "collections/1/map-0-0/points",
        "collections/7/0123456789ab/ids",
        "vectors/gone-01234567/words",
        "mine",
    ):
        (built.root / name).parent.mkdir(parents=True, exist_ok=True)
        (built.root / name).write_bytes(b"content")
    told = []
    built.backup(tmp_path / "b", lambda *each: told.append(each))
    assert files(tmp_path / "b") == used
    copied = len(used) - 1  # the database is not counted
    assert told == [("backup", number, copied) for number in range(1, copied + 1)]


class TestDrift:
    def test_more_of_the_same_is_none_and_another_subject_is_some(self, home, vectors_folder):
        rng = np.random.default_rng(0)
        subjects = [
            ["bank", "account", "open", "money", "loan"],
            ["river", "two", "ducks", "swimming", "water", "tea", "cup"],
        ]

        def texts(subject, count, begin):
            return [
                Document(id=str(begin + i), text=" ".join(rng.choice(subjects[subject], 5)))
                for i in range(count)
            ]

        home.build("c", texts(0, 300, 0), vectors=str(vectors_folder), prior=0)
        collection = home.collection("c")
        same = collection.drift()
        assert (same.documents, same.since_fit, same.refit_recommended) == (300, 0, False)
        assert same.score_change == pytest.approx(0, abs=1e-5)
        collection.upsert(texts(1, 600, 1000))
        moved = collection.drift()
        assert (moved.since_fit, moved.refit_recommended) == (600, True)
        assert moved.angles == tuple(sorted(moved.angles))
        collection.refit()
        assert not collection.drift().refit_recommended

    def test_nothing_changed_means_no_however_many_there_are(self, home, vectors_folder):
        rng = np.random.default_rng(0)
        words = [
            "bank",
            "account",
            "open",
            "money",
            "loan",
            "school",
            "visa",
            "phone",
            "river",
            "tea",
        ]
        documents = [
            Document(id=str(i), text=" ".join(rng.choice(words, 6))) for i in range(12_000)
        ]
        home.build("c", documents, vectors=str(vectors_folder))
        collection = home.collection("c")
        found = collection.drift()
        assert (found.since_fit, found.score_change, found.refit_recommended) == (0, 0, False)
        assert max(found.angles) == pytest.approx(0, abs=1e-3)
        collection.upsert([Document(id="more", text="a cup of tea")])
        found = collection.drift()
        assert found.since_fit == 1
        assert 0 < found.score_change < 0.01  # the effect of a refit, not sampling noise
        assert not found.refit_recommended

    def test_deleting_a_subject_is_a_drift(self, home, vectors_folder):
        rng = np.random.default_rng(0)
        subjects = [
            ["bank", "account", "open", "money", "loan", "school"],
            ["river", "two", "ducks", "swimming", "water", "tea", "cup"],
        ]
        home.build(
            "c",
            (Document(id=str(i), text=" ".join(rng.choice(subjects[i % 2], 4))) for i in range(400)),
            vectors=str(vectors_folder), config=GemConfig.trained(prior=0),
        )  # fmt: skip
        collection = home.collection("c")
        collection.delete([str(i) for i in range(0, 400, 2)])
        assert collection.drift().since_fit == 0
        assert collection.drift().score_change > 0.02
        assert collection.drift().refit_recommended

    def test_of_nothing(self, home):
        with pytest.raises(InputError, match="has no documents"):
            home.create_collection("c").drift()


def test_files_are_their_owners_alone(built):
    built.backup(built.root.parent / "b")
    for root in (built.root, built.root.parent / "b"):
        for path in (root, *root.rglob("*")):
            mode = stat.S_IMODE(path.stat().st_mode)
            if path.suffix == ".lock" and "words" in path.parts:
                continue  # tantivy's own, empty
            assert mode & 0o077 == 0, (path, oct(mode))


def test_the_faster_mode_is_a_choice(tmp_path, monkeypatch):
    def mode(home):
        with home.workspace.database.reading() as connection:
            return connection.exec_driver_sql("PRAGMA synchronous").scalar()

    monkeypatch.delenv("GEM_INDEX_SYNCHRONOUS")  # of conftest.py
    assert mode(Home(tmp_path / "a")) == 2
    monkeypatch.setenv("GEM_INDEX_SYNCHRONOUS", "normal")
    assert mode(Home(tmp_path / "b")) == 1
    monkeypatch.setenv("GEM_INDEX_SYNCHRONOUS", "off")
    with pytest.raises(ConfigError, match="GEM_INDEX_SYNCHRONOUS"):
        Home(tmp_path / "c")
    assert os.environ["GEM_INDEX_SYNCHRONOUS"] == "off"
