"""Folders as targets: Parquet files and FAISS, who may write to them, and what a damaged one says."""

import json
import re
import sys

import faiss
import numpy as np
import pyarrow.parquet
import pytest
from filelock import FileLock

from gem_index import Document
from gem_index.common.arrays import SparseVector
from gem_index.errors import ConfigError, DiskError, MissingExtraError, UnreadableFileError
from gem_index.errors.installing import install_line
from gem_index.targets import TargetDocument, TargetSchema, folder, open_target
from gem_index.targets import faiss as faiss_target


def build_faq(home, vectors_folder):
    documents = [Document(id=f"d{i}", text=f"a visa number {i}") for i in range(20)]
    home.build("faq", documents, vectors=str(vectors_folder), prior=0)


@pytest.fixture
def home(copied_home, small_vectors_folder):
    return copied_home(build_faq, small_vectors_folder)


@pytest.fixture
def url(tmp_path):
    return f"parquet://{tmp_path}/table"


@pytest.mark.parametrize("scheme", ["parquet", "faiss"])
@pytest.mark.parametrize("step", ["create", "stage"])
def test_without_pyarrow_no_folder_is_made(tmp_path, monkeypatch, scheme, step):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    target = open_target(f"{scheme}://{tmp_path}/table")
    with pytest.raises(MissingExtraError, match=re.escape(install_line("gem-index[parquet]"))):
        getattr(target, step)(TargetSchema(fingerprint="f", dimension=2, token="t"))
    assert not [*tmp_path.rglob("*.json")]


def test_a_folder_of_others_is_left_alone(faq, tmp_path):
    (tmp_path / "table").mkdir()
    (tmp_path / "table/mine.txt").write_text("mine")
    with pytest.raises(
        ConfigError, match="holds other files, which .*; expected a new or empty folder"
    ):
        faq.push(f"parquet://{tmp_path}/table")
    assert [path.name for path in (tmp_path / "table").iterdir()] == ["mine.txt"]


def test_a_file_is_not_a_folder(faq, tmp_path):
    (tmp_path / "file").write_text("mine")
    for dry_run in (True, False):
        with pytest.raises(ConfigError, match="file is a file; expected a new or empty folder"):
            faq.push(f"parquet://{tmp_path}/file", dry_run=dry_run)
    assert (tmp_path / "file").read_text() == "mine"


@pytest.mark.parametrize("scheme", ["parquet", "faiss"])
def test_a_host_is_refused(scheme):
    with pytest.raises(ConfigError, match=f"names a host; expected {scheme}:///FOLDER"):
        open_target(f"{scheme}://server/table")


@pytest.mark.parametrize("state", ["live", "staged", "old"])
@pytest.mark.parametrize("work", ["create", "stage", "switch", "drop"])
def test_a_folder_of_others_stays_whatever_its_folders_are_called(tmp_path, state, work):
    mine = tmp_path / "table" / state / "mine.txt"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine")
    target = open_target(f"parquet://{tmp_path}/table")
    schema = TargetSchema(fingerprint="f", dimension=2, token="t")
    with pytest.raises(ConfigError, match="holds other files, which gem-index did not create"):
        getattr(target, work)(*[schema] * (work in ("create", "stage")))
    assert [path for path in (tmp_path / "table").rglob("*") if path.is_file()] == [mine]


def test_a_link_of_others_stays(tmp_path):
    link = tmp_path / "table/staged/link"
    link.parent.mkdir(parents=True)
    link.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="holds other files, which gem-index did not create"):
        open_target(f"parquet://{tmp_path}/table").drop()
    assert link.is_symlink()


@pytest.mark.parametrize("left", [["live"], ["staged/vectors"], ["_lock", "live/part"]])
def test_what_a_killed_first_push_leaves_is_taken_over(faq, url, tmp_path, left):
    for name in left:
        path = tmp_path / "table" / name
        if name in ("_lock", "live/part"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"")
        else:
            path.mkdir(parents=True)
    assert faq.push(url).added == len(faq)


def test_other_files_beside_a_table_do_no_harm(faq, url, tmp_path):
    faq.push(url)
    (tmp_path / "table/mine.txt").write_text("mine")
    faq.upsert([Document(id="new", text="the river")])
    assert faq.push(url).added == 1
    open_target(url).drop()
    assert (tmp_path / "table/mine.txt").read_text() == "mine"


def test_files_are_readable_by_anybody(faq, url, tmp_path):
    faq.push(url, batch=7)
    faq.upsert([Document(id="d3", text="the river", metadata={"lang": "en"})])
    faq.push(url)
    rows = pyarrow.parquet.read_table(tmp_path / "table/live").to_pylist()
    assert sorted(row["id"] for row in rows) == sorted(f"d{i}" for i in range(20))
    (changed,) = [row for row in rows if row["id"] == "d3"]
    assert (changed["text"], json.loads(changed["metadata"])) == ("the river", {"lang": "en"})


def test_a_table_without_all_its_files_has_no_manifest(tmp_path):
    path, schema = tmp_path / "live", TargetSchema(fingerprint="f", dimension=2, token="t")
    with pytest.raises(DiskError):
        folder.create_manifest(path, schema, {"files": []}, {"a": b"1", "a/b": b"2"})
    assert (path / "a").read_bytes() == b"1"
    folder.create_manifest(path, schema, {"files": []}, {"a": b"3"})
    assert (path / "a").read_bytes() == b"3"


def test_files_beside_the_manifest_are_written_with_it(tmp_path):
    path, schema = (
        tmp_path / "table" / "live",
        TargetSchema(fingerprint="f", dimension=2, token="t"),
    )
    folder.create_manifest(path, schema, {"files": []}, {"index.json": b"one", "kept": b"kept"})
    with pytest.raises(ConfigError, match="another program has created"):
        folder.create_manifest(path, schema, {"files": []}, {"index.json": b"another"})
    assert (path / "index.json").read_bytes() == b"one"
    table = folder.FolderTable(path)
    table.commit({"files": ["x"]}, {"index.json": b"two"}, replaced=lambda name: name == "kept")
    assert (path / "index.json").read_bytes() == b"two"
    assert not (path / "kept").exists()
    assert folder.read_manifest(path)[1]["files"] == ["x"]


@pytest.mark.parametrize(
    ("content", "kind", "message"),
    [
        (
            '{"format": "other"}',
            ConfigError,
            "{live} is not a table of gem-index; expected a new or empty folder",
        ),
        ("[]", ConfigError, "{live} is not a table of gem-index; expected a new or empty folder"),
        (
            '{"format": "gem-index vectors", "schema": {}, "files": {}}',
            ConfigError,
            "{live}/_table.json is damaged; expected what a push wrote; push in full again, or remove the folder",
        ),
        (None, UnreadableFileError, "{live}/_table.json was not read: is a directory"),
    ],
)
def test_what_is_said_about_a_manifest(tmp_path, content, kind, message):
    live = tmp_path / "table/live"
    live.mkdir(parents=True)
    if content is None:
        (live / "_table.json").mkdir()
    else:
        (live / "_table.json").write_text(content)
    with pytest.raises(kind) as caught:
        open_target(f"parquet://{tmp_path}/table").live()
    assert str(caught.value).startswith(message.format(live=live))


def test_the_folder_of_the_second_table_is_inside_the_first(tmp_path):
    for ending in ("", "/"):
        target = open_target(f"parquet://{tmp_path}/table{ending}")
        assert str(target.query_table) == f"parquet://{tmp_path}/table/query"


def test_rows_come_and_go(tmp_path):
    """A file without rows does not stay, and a renewed file is found again."""
    schema = TargetSchema(fingerprint="f", dimension=2, token="t")
    table = open_target(f"parquet://{tmp_path}/table").create(schema)
    vector = np.array([1, 0], np.float32)
    for names in ("ab", "c", "a"):
        table.upsert([TargetDocument(name, vector, name, {"n": name}) for name in names])
        for name in names:
            assert (list(table.fetch([name])), table.metadata_of([name])) == (
                [name],
                {name: {"n": name}},
            )
    assert (table.count(), table.metadata_of(["a", "b", "x"])) == (
        3,
        {"a": {"n": "a"}, "b": {"n": "b"}},
    )
    assert list(table.fetch(["b", "x"])) == ["b"]
    table.delete(["b", "c", "x"])
    assert [
        document.id for document in open_target(f"parquet://{tmp_path}/table").live().documents()
    ] == ["a"]
    assert len(list((tmp_path / "table/live").glob("*.parquet"))) == 1
    table.delete(["a"])
    assert (table.count(), list((tmp_path / "table/live").glob("*.parquet"))) == (0, [])


def test_at_most_k_rows_match_words_and_none_below_one(tmp_path):
    words = SparseVector(np.array([3]), np.ones(1, np.float32))
    other = SparseVector(np.array([4]), np.ones(1, np.float32))
    schema = TargetSchema(fingerprint="f", dimension=2, token="t", words="bm25")
    table = open_target(f"parquet://{tmp_path}/table").create(schema)
    assert table.match(words, 3) == []
    vector = np.array([1, 0], np.float32)
    for name, own in (("a", words), ("b", words), ("c", other)):
        table.upsert([TargetDocument(name, vector, name, {}, own)])
    found = {k: [hit.id for hit in table.match(words, k)] for k in (-1, 0, 1, 5)}
    assert found == {-1: [], 0: [], 1: ["a"], 5: ["a", "b"]}
    assert table.match(SparseVector(np.zeros(0, np.int64), np.zeros(0, np.float32)), 5) == []
    assert [hit.id for hit in table.match(other, 5)] == ["c"]
    assert table.match(SparseVector(np.array([9]), np.ones(1, np.float32)), 5) == []


def test_rows_of_others_come_from_all_folders_in_order_without_vectors(tmp_path):
    floats = [pyarrow.float16(), pyarrow.float32(), pyarrow.float64()]
    kinds = [make(each) for each in floats for make in (pyarrow.list_, pyarrow.large_list)]
    kinds += [pyarrow.list_(pyarrow.float32(), 1), pyarrow.binary(), pyarrow.large_binary()]
    kinds += [pyarrow.binary(1)]
    for name in ("b/one", "a", "b/c/two"):
        path = tmp_path / f"table/{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        columns = {"id": [name], "tags": [[1, 2]], "score": [0.5]}
        left_out = {f"v{i}": pyarrow.array([None], kind) for i, kind in enumerate(kinds)}
        pyarrow.parquet.write_table(pyarrow.table(columns | left_out), path)
    expected = [{"id": name, "tags": [1, 2], "score": 0.5} for name in ("a", "b/c/two", "b/one")]
    target = open_target(f"parquet://{tmp_path}/table")
    assert list(target.rows()) == expected
    assert list(open_target(f"parquet://{tmp_path}/table/a.parquet").rows()) == expected[:1]
    (tmp_path / "table/z.parquet").write_text("junk")
    with pytest.raises(UnreadableFileError, match=r"/table/z.parquet was not read: "):
        list(target.rows())


@pytest.mark.parametrize("live", [True, False])
def test_the_staged_table_takes_the_place_of_the_live_one(tmp_path, live):
    schema = TargetSchema(fingerprint="f", dimension=2, token="t")
    target, vector = open_target(f"parquet://{tmp_path}/table"), np.array([1, 0], np.float32)
    if live:
        target.create(schema)
    left = tmp_path / "table/old"  # by a killed switch
    left.mkdir(parents=True)
    target.stage(schema).upsert([TargetDocument("a", vector, "a", {})])
    (left / "_table.json").write_text("{}")
    assert target.stage(schema).count() == 0  # the earlier one is gone
    target.staged().upsert([TargetDocument("b", vector, "b", {})])
    target.switch()
    assert [document.id for document in target.live().documents()] == ["b"]
    assert sorted(path.name for path in (tmp_path / "table").iterdir()) == ["_lock", "live"]
    with pytest.raises(ConfigError) as caught:
        target.switch()
    assert str(caught.value) == (
        f"found no staged table of live in parquet://{tmp_path}/table; expected one; push in full again"
    )


class TestTwoProgramsInOneFolder:
    """One of them is refused, and the table stays whole."""

    @pytest.mark.parametrize("scheme", ["parquet", "faiss"])
    def test_a_table_that_was_written_meanwhile(self, tmp_path, scheme):
        url = f"{scheme}://{tmp_path}/table"
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        open_target(url).create(schema)
        one, other = open_target(url).live(), open_target(url).live()
        vector = np.array([1, 0], np.float32)
        one.upsert([TargetDocument("a", vector, "a", {})])
        for work in (
            lambda: other.upsert([TargetDocument("b", vector, "b", {})]),
            lambda: other.delete(["a"]),
        ):
            with pytest.raises(ConfigError, match="another program has written to .*run it again"):
                work()
        one.upsert([TargetDocument("c", vector, "c", {})])
        one.finish()
        assert {document.id for document in open_target(url).live().documents()} == {"a", "c"}

    def test_a_table_that_was_created_meanwhile(self, tmp_path):
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        one, other = (open_target(f"parquet://{tmp_path}/table") for _ in range(2))
        one.create(schema)
        with pytest.raises(ConfigError) as caught:
            other.create(schema)
        assert str(caught.value) == (
            f"another program has created {tmp_path}/table/live; expected one at a time; "
            "run it again when it is done"
        )

    def test_a_table_that_was_replaced_meanwhile(self, tmp_path):
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        target = open_target(f"parquet://{tmp_path}/table")
        target.create(schema)
        held = target.live()
        target.drop()
        with pytest.raises(ConfigError, match="another program has written to"):
            held.delete(["a"])

    @pytest.mark.parametrize("method", ["documents", "delete"])
    def test_a_file_that_another_program_replaced(self, tmp_path, method):
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        target, vector = open_target(f"parquet://{tmp_path}/table"), np.array([1, 0], np.float32)
        one = target.create(schema)
        one.upsert([TargetDocument("a", vector, "a", {}), TargetDocument("b", vector, "b", {})])
        reader = target.live()
        one.delete(["b"])
        with pytest.raises(ConfigError, match="another program has written to .*run it again"):
            list(reader.documents()) if method == "documents" else reader.delete(["a"])
        assert [document.id for document in target.live().documents()] == ["a"]

    @pytest.mark.parametrize("damage", ["junk", "missing", "schema", "files"])
    def test_a_damaged_folder(self, tmp_path, damage):
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        target, vector = open_target(f"parquet://{tmp_path}/table"), np.array([1, 0], np.float32)
        target.create(schema).upsert([TargetDocument("a", vector, "a", {})])
        live = tmp_path / "table/live"
        [file], manifest = list(live.glob("*.parquet")), live / "_table.json"
        content = json.loads(manifest.read_text())
        if damage == "junk":
            file.write_bytes(b"junk")
        elif damage == "missing":
            file.unlink()
        else:
            del content[damage]
            manifest.write_text(json.dumps(content))
        with pytest.raises(
            ConfigError, match="is damaged.*; expected what a push wrote; push in full"
        ) as caught:
            list(target.live().documents())
        if damage in ("junk", "missing"):
            assert str(caught.value).startswith(
                f"the file {file.name} of {live} is damaged or missing: "
            )

    def test_the_lock_is_waited_for(self, tmp_path, monkeypatch):
        monkeypatch.setattr(folder, "_WAIT", 0.1)
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        target = open_target(f"parquet://{tmp_path}/table")
        table = target.create(schema)
        with (
            FileLock(tmp_path / "table/_lock"),
            pytest.raises(ConfigError) as caught,
        ):
            table.delete(["a"])
        assert str(caught.value) == (
            f"another program writes to {tmp_path}/table; expected one at a time; "
            "run it again when it is done"
        )
        table.delete(["a"])


class TestFaiss:
    """What a reader opens by the manifest."""

    def test_the_index_and_its_ids(self, faq, tmp_path):
        faq.push(f"faiss://{tmp_path}/index")
        faq.upsert([Document(id="d3", text="the river")])
        faq.delete(["d7"])
        faq.push(f"faiss://{tmp_path}/index")
        live = tmp_path / "index/live"
        names = json.loads((live / "_table.json").read_text())["index"]
        index, ids = (
            faiss.read_index(str(live / names["file"])),
            json.loads((live / names["ids"]).read_text()),
        )
        assert sorted(ids) == sorted(f"d{i}" for i in range(20) if i != 7)
        assert index.metric_type == faiss.METRIC_INNER_PRODUCT
        scores, rows = index.search(faq.encoder.encode(["the river"]), 1)
        assert ids[rows[0, 0]] == "d3"
        assert scores[0, 0] == pytest.approx(1, abs=1e-5)
        assert {path.suffix for path in live.iterdir()} == {".faiss", ".json", ".parquet"}
        assert len(list(live.glob("index-*"))) == len(list(live.glob("ids-*"))) == 1

    def test_a_factory_for_more_documents(self, faq, tmp_path):
        with pytest.raises(
            ConfigError, match="cannot train the index 'IVF50,Flat' with 20 vectors"
        ):
            faq.push(f"faiss://{tmp_path}/index?factory=IVF50,Flat")
        assert faq.push(f"faiss://{tmp_path}/index").documents == 20

    def test_another_factory_builds_another_index(self, faq, tmp_path):
        url = f"faiss://{tmp_path}/index"

        def kind():
            live = tmp_path / "index/live"
            names = json.loads((live / "_table.json").read_text())["index"]
            return type(faiss.read_index(str(live / names["file"])))

        faq.push(url)
        assert kind() is faiss.IndexFlatIP
        assert faq.push(f"{url}?factory=HNSW32").unchanged == 20
        faq.upsert([Document(id="new", text="the river")])
        faq.push(f"{url}?factory=HNSW32")
        assert kind() is faiss.IndexHNSWFlat
        faq.upsert([Document(id="newer", text="a bank")])
        faq.push(url)  # the factory of the last push
        assert kind() is faiss.IndexHNSWFlat

    @pytest.mark.parametrize("factory", ["Nonsense", "", "PQ7"])
    def test_a_factory_that_faiss_does_not_know(self, faq, tmp_path, factory):
        with pytest.raises(ConfigError, match="FAISS makes no index"):
            faq.push(f"faiss://{tmp_path}/index?factory={factory}")
        assert not (tmp_path / "index").exists()
        faq.push(f"faiss://{tmp_path}/index")
        [before] = (tmp_path / "index/live").glob("*.parquet")
        faq.upsert([Document(id="new", text="the river")])
        with pytest.raises(ConfigError, match="FAISS makes no index"):
            faq.push(f"faiss://{tmp_path}/index?factory={factory}")
        assert list((tmp_path / "index/live").glob("*.parquet")) == [before]

    @pytest.mark.parametrize("factory", ["Nonsense", "Flat\udcff"])
    def test_a_factory_of_any_characters_is_named(self, factory):
        with pytest.raises(ConfigError) as caught:
            faiss_target.make_index(24, factory)
        assert str(caught.value) == (
            f"FAISS makes no index {factory!r} of 24 dimensions; expected a factory such as Flat, HNSW32 or IVF100,Flat"
        )

    def test_a_long_factory_is_cut(self):
        with pytest.raises(
            ConfigError, match=f"FAISS makes no index '{'x' * 55}\\.\\.\\.' of 24 dim"
        ):
            faiss_target.make_index(24, "x" * 100)

    @pytest.mark.parametrize("factory", ["Nonsense", "", "PQ"])
    def test_an_unknown_factory_is_refused_before_there_is_a_table(self, faq, tmp_path, factory):
        with pytest.raises(ConfigError, match="FAISS makes no index"):
            faq.push(f"faiss://{tmp_path}/index?factory={factory}", dry_run=True)

    def test_a_factory_for_the_dimension_of_the_table(self, faq, tmp_path):
        """24 numbers have twelve equal parts; 64 numbers have not."""
        assert faq.push(f"faiss://{tmp_path}/index?factory=PQ12x2").added == 20
        assert open_target(f"faiss://{tmp_path}/index?factory=PQ12x2").live().count() == 20

    @pytest.mark.parametrize("finished", [False, True])
    def test_a_table_finds_each_of_its_documents_once(self, tmp_path, finished):
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        table = open_target(f"faiss://{tmp_path}/index").create(schema)
        assert table.query(np.array([1, 0], np.float32), 3) == []
        for name, vector in (("a", [1, 0]), ("b", [0.6, 0.8]), ("c", [0, 1])):
            table.upsert([TargetDocument(name, np.array(vector, np.float32), "t", {})])
            if finished:
                table.finish()
            found = table.query(np.array([0, 1], np.float32), 5)  # of the index of this moment
        assert [hit.id for hit in found] == ["c", "b", "a"]
        assert [hit.score for hit in found] == pytest.approx([1, 0.8, 0])
        assert [table.query(np.array([0, 1], np.float32), k) for k in (0, -1)] == [[], []]

    def test_other_programs_search_widely_enough(self):
        graph = faiss_target.make_index(8, "HNSW32")
        assert (graph.hnsw.efConstruction, graph.hnsw.efSearch) == (200, 128)
        lists = [faiss_target.make_index(8, f"IVF{count},Flat").nprobe for count in (5, 100)]
        assert lists == [1, 10]

    def test_what_is_said_about_a_factory(self, tmp_path):
        schema = TargetSchema(fingerprint="f", dimension=2, token="t")
        with pytest.raises(ConfigError) as caught:
            open_target(f"faiss://{tmp_path}/index?factory=Nonsense")
        assert str(caught.value) == (
            "FAISS makes no index 'Nonsense' of 64 dimensions; "
            "expected a factory such as Flat, HNSW32 or IVF100,Flat"
        )
        table = open_target(f"faiss://{tmp_path}/index?factory=IVF50,Flat").create(schema)
        table.upsert([TargetDocument("a", np.array([1, 0], np.float32), "t", {})])
        with pytest.raises(ConfigError) as caught:
            table.finish()
        assert str(caught.value).startswith(
            "FAISS cannot train the index 'IVF50,Flat' with 1 vectors: "
        )
        assert str(caught.value).endswith("; expected a factory for fewer, such as Flat or HNSW32")
