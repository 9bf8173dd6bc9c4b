"""LanceDB as a target: the contract, what a user of LanceDB sees, and what is refused."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from gem_index_lancedb import LanceDbTarget, table

from gem_index import Document
from gem_index.errors import ConfigError
from gem_index.targets import TargetDocument, TargetSchema, TargetUrl, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

EAST = np.array([1, 0], np.float32)


DOCUMENTS = [directed(name) for name in DIRECTIONS]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a folder"


@pytest.fixture
def url(path: Path) -> str:
    return f"lancedb://{path}?table=faq"


@pytest.fixture
def target(url: str):
    target = open_target(url)
    yield target
    target.close()


@pytest.fixture
def filled(target):
    table = target.create(PLANE)
    table.upsert(DOCUMENTS)
    return target


def opened(path: Path, name: str = "faq"):
    return lancedb.connect(path).open_table(name)


def tables(path: Path) -> set[str]:
    return {each.name for each in path.iterdir()}


def ids(table) -> list[str]:
    return sorted(table.to_arrow()["id"].to_pylist())


class TestLanceDb(TargetContract):
    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        return f"lancedb://{tmp_path}/lance?table=faq"

    foreign_staged_tables = ("faq__staged",)

    def occupy(self, url: str, what: str) -> None:
        lancedb.connect(TargetUrl.parse(url).path).create_table(what, data=[{"a": 1}])

    def fill(self, url: str, records) -> None:
        rows = pa.Table.from_pylist(records)
        vector = pa.array([each["vector"] for each in records], pa.list_(pa.float32(), 2))
        rows = rows.set_column(rows.schema.get_field_index("vector"), "vector", vector)
        lancedb.connect(TargetUrl.parse(url).path).create_table("faq", data=rows)

    def stored(self, url: str) -> dict[str, list]:
        path = Path(TargetUrl.parse(url).path)
        return {name: opened(path, Path(name).stem).to_arrow().to_pylist() for name in tables(path)}

    @pytest.mark.parametrize("method", ["create_table", "drop_table"])
    def test_each_step_of_a_switch_may_be_killed(self, faq, url: str, method: str) -> None:
        """Before the table is overwritten, or before the staged one is dropped: the next push finishes it."""
        faq.push(url)
        old = faq.encoder.fingerprint
        faq.upsert([Document(id="new", text="a river")])
        faq.refit()
        name = {"create_table": "faq", "drop_table": "faq__staged"}[method]
        self.push_until_killed(
            faq,
            url,
            "from lancedb.db import LanceDBConnection\n"
            f"call = LanceDBConnection.{method}\n"
            "def cut(connection, name, *args, **kwargs):\n"
            f"    return kill() if name == {name!r} else call(connection, name, *args, **kwargs)\n"
            f"LanceDBConnection.{method} = cut\n",
        )
        target = self.open(url)
        assert (target.live().schema.fingerprint == old) == (method == "create_table")
        assert faq.push(url).documents == 61
        assert target.live().schema.fingerprint == faq.encoder.fingerprint != old
        self.assert_in_step(faq, url)
        faq.push(url, full=True)
        assert target.staged() is None


class TestDocuments:
    def test_the_zero_vector_comes_before_negative_scores(self, filled) -> None:
        hits = filled.live().query(np.array([-0.8, -0.6], np.float32), 2)
        assert [(hit.id, round(hit.score, 6)) for hit in hits] == [("west", 0.8), ("none", 0)]

    def test_nothing_but_zero_vectors(self, target) -> None:
        """LanceDB would embed the texts of a batch without any vector itself."""
        table = target.create(PLANE)
        table.upsert([directed("none")])
        target.stage(PLANE).upsert([directed("none"), TargetDocument("b", np.zeros(2, np.float32))])
        target.switch()
        found = {each.id: each.vector.tolist() for each in target.live().documents()}
        assert found == {"none": [0, 0], "b": [0, 0]}

    def test_ids_that_look_like_sql(self, target) -> None:
        names = [
            "'",
            "''",
            "\\",
            "\\'",
            "') OR (1=1",
            '"',
            "`a`",
            "a\nb",
            "数",
            "😀",
            "x" * 512,
            "%",
            "a\x00b",
        ]
        table = target.create(PLANE)
        table.upsert([TargetDocument(name, EAST) for name in [*names, "kept"]])
        for name in names:
            before = table.count()
            table.delete([name])
            assert table.count() == before - 1, name
        assert [each.id for each in table.documents()] == ["kept"]

    def test_metadata_keep_value_and_type(self, filled) -> None:
        metadata = {
            "string": "a\x00'\"\n数", "big": 2**63 - 1, "small": -(2**63), "odd": 2**53 + 1, "float": 1.0, "fine": 0.1,
            "huge": 1e300, "tiny": 1e-320, "true": True, "null": None, "deep": {"a": [1, 2.0, "x", None, {"b": []}]},
            "": 1, "a.b": 2, "ключ'\"\x00": 3, "id": "my own", "vector": [1], "empty": {},
        }  # fmt: skip
        assert filled.unsupported(metadata) == []
        filled.live().upsert([directed("east", **metadata)])
        found = next(each for each in filled.live().documents() if each.id == "east").metadata
        assert found == metadata
        assert {key: type(value) for key, value in found.items()} == {
            key: type(value) for key, value in metadata.items()
        }
        assert [type(each) for each in found["deep"]["a"][:2]] == [int, float]

    @pytest.mark.parametrize("value", [2**63, -(2**63) - 1, [2**70 + 1], {"a": [{"b": 2**64}]}])
    def test_whole_numbers_that_lancedb_would_round(self, filled, value) -> None:
        assert filled.unsupported({"good": 1, "bad": value}) == ["bad"]
        assert not filled.stores_json([json.dumps({"good": 1, "bad": value})])

    def test_documents_are_of_one_version(self, target, monkeypatch) -> None:
        monkeypatch.setattr(table, "_PAGE", 2)
        table_ = target.create(PLANE)
        table_.upsert(DOCUMENTS)
        documents = table_.documents()
        first = next(documents)
        table_.delete(["west"])
        assert len([first, *documents]) == 5
        table_.delete(["east", "north", "northeast", "none"])
        assert table_.count() == 0

    def test_the_disk_does_not_fill_with_old_versions(
        self, url: str, path: Path, monkeypatch
    ) -> None:
        """Versions older than a day are deleted; here, all but the last."""
        monkeypatch.setattr(table, "_KEPT", timedelta(milliseconds=1))
        monkeypatch.setattr(table, "_WRITES", 10)
        target = open_target(url)
        table_ = target.create(PLANE)
        for _ in range(35):
            table_.upsert(DOCUMENTS)
        table_.finish()
        target.close()
        assert len(opened(path).list_versions()) <= 2
        assert len(list((path / "faq.lance" / "data").iterdir())) <= 2
        assert opened(path).count_rows() == 5


class TestInLanceDb:
    def test_the_nearest_document(self, path: Path, filled) -> None:
        """By each distance, also LanceDB's default one; a text without words is not found."""
        for distance in (None, "l2", "cosine", "dot"):
            search = opened(path).search([-0.8, -0.6])
            rows = (search.distance_type(distance) if distance else search).limit(9).to_list()
            assert [row["id"] for row in rows] == ["west", "north", "east", "northeast"]
            assert rows[0]["text"] == "to the west"

    def test_a_filter(self, path: Path, filled) -> None:
        filled.live().upsert([directed("west", lang="d'e", year=2024, tags=["a", "b"], new=True)])
        table = opened(path)
        for where in (
            "json_get_string(metadata, 'lang') = 'd''e'",
            "json_get_int(metadata, 'year') > 2020",
            "json_array_contains(metadata, '$.tags', 'b')",
            "json_get_bool(metadata, 'new')",
        ):
            assert [row["id"] for row in table.search([1, 0]).where(where).to_list()] == ["west"]

    def test_the_schema_is_written_down(self, path: Path, filled) -> None:
        metadata = {
            key.decode(): value.decode() for key, value in opened(path).schema.metadata.items()
        }
        assert PLANE.to_strings().items() <= metadata.items()
        assert PLANE.fingerprint in metadata["embedding_functions"]

    def test_a_reader_sees_the_old_vectors_until_the_switch(self, path: Path, filled) -> None:
        reader = opened(path)
        staged = TargetSchema(fingerprint="e" * 64, dimension=3, token="new")
        filled.stage(staged).upsert([TargetDocument("new", np.eye(3, dtype=np.float32)[0])])
        assert ids(opened(path)) == ids(reader) == sorted(DIRECTIONS)
        filled.switch()
        assert ids(opened(path)) == ["new"]
        assert filled.live().schema == staged
        assert tables(path) == {"faq.lance"}
        assert ids(reader) == sorted(DIRECTIONS)
        reader.checkout_latest()
        assert ids(reader) == ["new"]

    def test_a_switch_that_fails_changes_nothing(self, filled, monkeypatch) -> None:
        filled.stage(PLANE).upsert([directed("west")])

        def fail(table):
            yield next(batches(table))
            raise OSError("No space left on device")

        batches = table.LanceDbTable.batches
        monkeypatch.setattr(table.LanceDbTable, "batches", fail)
        with pytest.raises(ConfigError, match="; free some space"):
            filled.switch()
        monkeypatch.undo()
        assert filled.live().count() == 5
        assert filled.staged().count() == 1

    def test_an_index_of_the_user_is_kept_up_to_date(self, path: Path, url: str) -> None:
        target = open_target(url)
        target.create(PLANE).upsert(DOCUMENTS)
        opened(path).create_index("text", config=lancedb.index.FTS())
        target.live().upsert([TargetDocument("new", EAST, "to the moon")])
        target.live().finish()
        target.close()
        table = opened(path)
        assert table.index_stats("text_idx").num_unindexed_rows == 0
        assert [row["id"] for row in table.search("moon", query_type="fts").to_list()] == ["new"]

    def test_drop_leaves_other_tables(self, path: Path, filled) -> None:
        lancedb.connect(path).create_table("mine", data=[{"a": 1}])
        filled.stage(PLANE)
        filled.drop()
        assert tables(path) == {"mine.lance"}
        assert filled.live() is filled.staged() is None
        filled.drop()

    def test_a_user_drops_the_table(self, path: Path, filled) -> None:
        table = filled.live()
        lancedb.connect(path).drop_table("faq")
        with pytest.raises(ConfigError, match="; run it again") as caught:
            table.count()
        assert ".rs:" not in str(caught.value)
        assert filled.live() is None
        assert filled.create(PLANE).count() == 0

    def test_a_table_that_was_not_created_to_the_end(self, path: Path, target) -> None:
        (path / "faq.lance").mkdir(parents=True)
        assert target.live() is None
        assert target.create(PLANE).count() == 0


@pytest.fixture
def others_folder() -> Iterator[Path]:
    """Yield a folder that this process cannot write to; root becomes somebody else for that."""
    with tempfile.TemporaryDirectory() as parent:
        path = Path(parent) / "lance"
        target = open_target(f"lancedb://{path}?table=faq")
        target.create(PLANE).upsert(DOCUMENTS)
        target.close()
        for each in path.rglob("*"):
            each.chmod(0o555 if each.is_dir() else stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        path.chmod(0o555)
        Path(parent).chmod(0o555)
        yield path
        for each in [Path(parent), path, *path.rglob("*")]:
            each.chmod(0o700)


READ_ONLY = """
import os, sys
import numpy as np
from gem_index.errors import ConfigError
from gem_index.targets import TargetDocument, TargetSchema, open_target

schema = TargetSchema(fingerprint="f", dimension=2, token="t")
target = open_target(sys.argv[1])
target.live()
missing = open_target(sys.argv[1].replace("/lance?", "/lance2?"))
if os.geteuid() == 0:  # the threads of LanceDB must not be root either
    os.setuid(65534)
table = target.live()
calls = [
    lambda: table.upsert([TargetDocument("a", np.array([1, 0], np.float32))]),
    lambda: table.delete(["east"]),
    lambda: target.stage(schema),
    target.drop,
    lambda: missing.create(schema),
]
for call in calls:
    try:
        call()
    except ConfigError as error:
        print(error)
print(table.count())
"""


class TestRefused:
    @pytest.mark.parametrize("table", ["faq;drop", 'a"b', "a b", "é", "../a", "a.b", "x" * 201])
    def test_a_bad_table_name(self, tmp_path: Path, table: str) -> None:
        with pytest.raises(ConfigError, match="found the table name .*; expected up to 200"):
            open_target(f"lancedb://{tmp_path}/db?table={table}".replace(";", "%3B"))
        assert not (tmp_path / "db").exists()

    @pytest.mark.parametrize(
        ("url", "message"),
        [
            ("lancedb://{}/db", "has no table; expected \\?table=NAME"),
            ("lancedb://{}/db?table=", "has no table"),
            ("lancedb://{}/db?table=a&colour=red", "has no option 'colour'"),
            ("lancedb://{}/no/such/db?table=a", "found no folder .*no/such"),
            ("lancedb://{}/%00?table=a", "zero byte"),
            ("lancedb://localhost/db?table=a", "found a host"),
        ],
    )
    def test_a_bad_url(self, tmp_path: Path, url: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            open_target(url.format(tmp_path))
        assert "\n" not in str(caught.value)

    def test_a_table_with_other_columns(self, path: Path, filled) -> None:
        opened(path).add_columns({"mine": "1"})
        with pytest.raises(ConfigError, match="gem-index did not create"):
            filled.live()

    def test_a_damaged_table(self, path: Path, filled) -> None:
        filled.close()
        for file in (path / "faq.lance" / "_versions").iterdir():
            file.write_bytes(b"not a manifest")
        target = LanceDbTarget(TargetUrl.parse(f"lancedb://{path}?table=faq"))
        with pytest.raises(ConfigError, match="found the database") as caught:
            target.live()
        assert "\n" not in str(caught.value)

    def test_a_file_in_place_of_the_folder(self, path: Path, target) -> None:
        path.write_text("mine")
        assert target.live() is None
        with pytest.raises(ConfigError, match="; name a folder"):
            target.create(PLANE)
        assert path.read_text() == "mine"

    def test_a_read_only_folder(self, others_folder: Path) -> None:
        files = [path for path in others_folder.rglob("*") if path.is_file()]
        before = [path.read_bytes() for path in files]
        url = f"lancedb://{others_folder}?table=faq"
        run = subprocess.run(
            [sys.executable, "-c", READ_ONLY, url], capture_output=True, text=True, check=True
        )
        *errors, count = run.stdout.splitlines()
        assert len(errors) == 5
        assert all("; make the folder and its files writable" in error for error in errors)
        assert count == "5"
        assert [path.read_bytes() for path in files] == before

    def test_a_dry_run_creates_nothing(self, path: Path, target) -> None:
        assert target.live() is target.staged() is None
        target.drop()
        target.close()
        assert not path.exists()


def test_a_query_of_another_dimension_is_refused(filled) -> None:
    with pytest.raises(ConfigError):
        list(filled.live().query(np.ones(3, np.float32), 1))


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/lancedb.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
