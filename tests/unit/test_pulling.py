"""Pull from a table that gem-index did not create; here folders of Parquet, in the plugins every engine."""

import datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index.errors import ConfigError, ForeignTableError, InputError, MissingFieldError
from gem_index.home.pulling import pull, table_rows
from gem_index.readers import inspect_records
from gem_index.readers.rows import RowReader
from gem_index.targets import columns_of_rows, open_target, row_of

ROWS = [
    {"ticket": 7, "body": "Wie verlängere ich den Ausweis?", "day": datetime.date(2024, 5, 1)},
    {"ticket": 8, "body": "كيف أجدد جواز السفر", "day": None},
]
FIELDS = {"id_field": "ticket", "text_fields": ["body"]}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "theirs").mkdir()
    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "theirs/a.parquet")
    return tmp_path / "theirs"


@pytest.fixture
def url(folder):
    return f"parquet://{folder}"


def found(home, name="theirs"):
    return [(each.id, each.text, each.metadata) for each in home.collection(name).documents()]


class TestPull:
    def test_columns_become_id_text_and_metadata(self, home, url):
        assert pull(home, url, "theirs", reading=FIELDS).added == 2
        assert found(home) == [
            ("7", ROWS[0]["body"], {"day": "2024-05-01"}),
            ("8", ROWS[1]["body"], {"day": None}),
        ]

    def test_a_table_that_grows(self, home, folder, url):
        pull(home, url, "theirs", reading=FIELDS)
        pq.write_table(
            pa.Table.from_pylist(
                [{"ticket": 8, "body": "changed"}, {"ticket": 9, "body": "如何续签护照"}]
            ),
            folder / "b.parquet",
        )
        last = {"duplicates": "last"}
        report = pull(home, url, "theirs", reading=last)
        assert (report.added, report.updated, report.unchanged) == (1, 1, 1)

    def test_one_file(self, home, url):
        report = pull(home, f"{url}/a.parquet", "theirs", reading=FIELDS)
        assert report.added == 2

    def test_a_bad_row_stops_or_is_skipped(self, home, folder, url):
        pq.write_table(
            pa.Table.from_pylist([{"ticket": 9, "body": None}], pa.schema({"ticket": pa.int64(), "body": pa.string()})),
            folder / "b.parquet",
        )  # fmt: skip
        with pytest.raises(InputError, match="theirs line 3: the field 'body' is null; expected"):
            pull(home, url, "theirs", reading=FIELDS)
        assert "theirs" not in home
        problems = []
        reading = FIELDS | {"on_problem": problems.append}
        assert pull(home, url, "theirs", reading=reading).added == 2
        assert [each.line for each in problems] == [3]

    def test_a_missing_field_is_explained_with_all_columns(self, home, url):
        with pytest.raises(MissingFieldError) as caught:
            pull(home, url, "theirs")
        assert "found 'ticket' (number 7), 'body' (text " in str(caught.value)
        assert "'day' (date '2024-05-01')" in str(caught.value)
        assert caught.value.text_fields == ("body",)

    def test_a_damaged_file(self, home, folder, url):
        (folder / "a.parquet").write_bytes(b"PAR1 no")
        with pytest.raises(InputError, match=r"a\.parquet"):
            pull(home, url, "theirs", reading=FIELDS)

    def test_an_engine_without_rows(self, home, folder):
        with pytest.raises(
            ConfigError,
            match="did not create the table faiss.*cannot read foreign tables of this engine",
        ):
            pull(home, f"faiss://{folder}", "theirs")

    def test_a_table_of_gem_index_has_its_own_fields(self, home, tmp_path, url):
        pull(home, url, "theirs", reading=FIELDS)
        own = f"parquet://{tmp_path}/own"
        home.collection("theirs").push(own)
        with pytest.raises(
            ConfigError, match="gem-index created the table.*expected no names of fields"
        ):
            pull(home, own, "again", reading=FIELDS)
        with pytest.raises(ConfigError, match="gem-index created the table"), table_rows(own):
            pass


def test_the_columns_of_a_table_are_inspected(url):
    with table_rows(url) as reader:
        inspection = inspect_records(reader)
    assert [(each.name, each.type) for each in inspection.fields] == [
        ("ticket", "number"), ("body", "text"), ("day", "date"),
    ]  # fmt: skip
    assert inspection.text_fields == ("body",)


def test_a_table_that_does_not_exist(tmp_path):
    with (
        pytest.raises(ConfigError, match="there is no table at parquet.*; expected an existing"),
        table_rows(f"parquet://{tmp_path}/none"),
    ):
        pass


def test_a_value_that_json_does_not_have():
    reader = RowReader("theirs", lambda: iter([{"id": 1, "text": "a river", "what": object()}]))
    with pytest.raises(InputError, match="theirs line 1: the column 'what' has an unsupported"):
        list(reader)


def test_vectors_and_bytes_are_not_among_the_columns():
    types = {
        "text": pa.string(), "tags": pa.list_(pa.string()), "numbers": pa.list_(pa.int64()),
        "a": pa.list_(pa.float32(), 4), "b": pa.list_(pa.float64()), "c": pa.large_list(pa.float16()), "d": pa.binary(),
        "e": pa.large_binary(), "score": pa.float64(),
    }  # fmt: skip
    assert columns_of_rows(pa.schema(types)) == ["text", "tags", "numbers", "score"]


def test_an_own_value_hides_no_field():
    assert row_of({"id": 1, "a": 2}, id="x", text="t") == {
        "id": "x", "text": "t", "_id": 1, "a": 2,
    }  # fmt: skip


def test_a_foreign_table_has_an_error_of_its_own(url):
    with pytest.raises(ForeignTableError, match="holds other files, which gem-index did not"):
        open_target(url).live()
