"""Rows that are written to CSV, JSON lines and Parquet files, and returned as frames."""

import csv
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index import Document
from gem_index.errors import FilterError, InputError
from gem_index.files.tables import write_table
from memory import forget_peak_memory, peak_memory

DOCUMENTS = [
    Document(id="1", text='a visa,\n"quoted"', metadata={"year": 2020, "tags": ["a", "b"]}),
    Document(id="2", text="签证", metadata={"year": 2021, "id": "inner", "open": True}),
    Document(id="3", text="تأشيرة", metadata={"mixed": 1, "author": {"name": "Ada"}}),
    Document(id="4", text='a visa,\n"quoted"', metadata={"mixed": "one", "year": 2020.5}),
]


def read(path):
    """Return the rows of a file as texts or values by column, without empty ones."""
    if path.suffix == ".csv":
        with path.open(newline="", encoding="utf-8") as file:
            return [{k: v for k, v in row.items() if v} for row in csv.DictReader(file)]
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    rows = pq.read_table(path).to_pylist()
    return [{k: v for k, v in row.items() if v is not None} for row in rows]


@pytest.fixture
def faq(home):
    faq = home.create_collection("documents")
    faq.upsert(DOCUMENTS)
    return faq


def test_documents_with_metadata_as_columns(faq, tmp_path):
    for name in ("d.jsonl", "d.csv", "d.parquet"):
        assert faq.write_documents(tmp_path / name) == 4
    first, second, third, _ = read(tmp_path / "d.jsonl")
    assert first == {"id": "1", "text": DOCUMENTS[0].text, "tags": ["a", "b"], "year": 2020}
    assert second == {"id": "2", "text": "签证", "metadata.id": "inner", "open": True, "year": 2021}
    assert third["author"] == {"name": "Ada"}
    rows = read(tmp_path / "d.csv")
    assert rows[0] == {"id": "1", "text": DOCUMENTS[0].text, "tags": '["a", "b"]', "year": "2020"}
    assert rows[1]["open"] == "true"
    assert [row["text"] for row in rows] == [each.text for each in DOCUMENTS]
    table = pq.read_table(tmp_path / "d.parquet")
    assert table.column_names == (
        ["id", "text", "author", "metadata.id", "mixed", "open", "tags", "year"]
    )
    assert table["mixed"].to_pylist() == [None, None, "1", '"one"']
    assert table["year"].to_pylist() == [2020, 2021, None, 2020.5]


def test_documents_with_vectors(faq, tmp_path):
    """The numbers of each format are the float32 numbers of the vectors; a field called vector keeps its column."""
    faq.upsert(
        [Document(id="5", text="a visa", metadata={"vector": "mine"}), Document(id="6", text="?!")]
    )
    ids, vectors = faq.vectors()
    for name in ("v.jsonl", "v.csv", "v.parquet"):
        assert faq.write_documents(tmp_path / name, vectors=True) == 6
    table = pq.read_table(tmp_path / "v.parquet")
    assert table.schema.field("vector").type == pa.list_(pa.float32(), vectors.shape[1])
    written = {
        "v.jsonl": [(row["id"], row["vector"]) for row in read(tmp_path / "v.jsonl")],
        "v.csv": [(row["id"], json.loads(row["vector"])) for row in read(tmp_path / "v.csv")],
        "v.parquet": list(zip(table["id"].to_pylist(), table["vector"].to_pylist(), strict=True)),
    }
    for rows in written.values():
        assert [name for name, _ in rows] == ids
        np.testing.assert_array_equal(np.array([v for _, v in rows], np.float32), vectors)
    assert not np.any(vectors[-1])
    assert read(tmp_path / "v.jsonl")[4]["metadata.vector"] == "mine"
    assert faq.write_documents(tmp_path / "one.parquet", {"year": 2020}, vectors=True) == 1
    for name in ("none.parquet", "none.csv"):
        assert faq.write_documents(tmp_path / name, {"year": 1900}, vectors=True) == 0
    assert read(tmp_path / "none.csv") == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        (
            "t.csv",
            'id,n,vector,tags\n1,,"[0.100000001, 2.0]",\n"a ""visa"", ü",0,,"[""é""]"\n,2.5,,true\n',
        ),
        (
            "t.JSONL",
            '{"id": "1", "vector": [0.100000001, 2.0]}\n{"id": "a \\"visa\\", ü", "n": 0, "tags": ["é"]}\n'
            '{"id": null, "n": 2.5, "tags": true}\n',
        ),
    ],
)
def test_the_bytes_of_a_file(tmp_path, name, content):
    rows = [
        {"id": "1", "vector": np.array([0.1, 2], np.float32)},
        {"id": 'a "visa", ü', "n": 0, "tags": ["é"], "more": "is left out"},
        {"id": None, "n": 2.5, "tags": True},
    ]
    assert write_table(tmp_path / name, ["id", "n", "vector", "tags"], iter(rows)) == 3
    assert (tmp_path / name).read_bytes() == content.encode()


def test_an_export_as_csv_names_the_table(faq, tmp_path):
    with pytest.raises(
        InputError, match=r"write a table with .*write_documents\(path, vectors=True"
    ):
        faq.export(tmp_path / "x.csv")


def test_chosen_fields_and_a_filter(faq, tmp_path):
    path = tmp_path / "d.jsonl"
    where = {"mixed": {"$exists": True}}
    assert faq.write_documents(path, where, fields=["author.name", "year"], limit=5) == 2
    assert read(path) == [
        {"id": "3", "text": DOCUMENTS[2].text, "author.name": "Ada"},
        {"id": "4", "text": DOCUMENTS[3].text, "year": 2020.5},
    ]
    with pytest.raises(InputError, match="no document has the field 'yaer'.*did you mean 'year'"):
        faq.write_documents(path, fields=["yaer"])
    with pytest.raises(FilterError):
        faq.write_documents(path, {"yaer": 1})
    assert len(read(path)) == 2


def test_a_file_that_cannot_be_written_leaves_the_old_one(faq, tmp_path):
    path = tmp_path / "d.csv"
    path.write_text("before")

    def rows():
        yield {"id": 1}
        raise ValueError("stop")

    with pytest.raises(ValueError, match="stop"):
        write_table(path, ["id"], rows())
    assert path.read_text() == "before"
    assert list(tmp_path.glob(".d.csv*")) == []
    with pytest.raises(
        InputError, match=r"the output is .*d.txt'?; expected a name ending in .csv, "
    ):
        faq.write_documents(tmp_path / "d.txt")
    with pytest.raises(InputError, match="cannot write .*; expected a writable folder"):
        faq.write_documents(tmp_path / "gone" / "d.csv")


@pytest.mark.parametrize("name", ["r.csv", "r.jsonl", "r.parquet"])
def test_no_rows_give_a_file_with_the_columns(tmp_path, name):
    assert write_table(tmp_path / name, ["id", "text"], []) == 0
    assert read(tmp_path / name) == []


def test_near_duplicates_with_fields(faq, tmp_path):
    groups = faq.duplicates()
    expected = [
        {"group": "1", "id": "1", "score": 1.0, "overlap": 1.0, "views": "wording, meaning", "year": 2020},
        {"group": "1", "id": "4", "score": 1.0, "overlap": 1.0, "views": "wording, meaning", "year": 2020.5},
    ]  # fmt: skip
    for name in ("g.jsonl", "g.parquet"):
        assert faq.write_rows(tmp_path / name, groups, fields=["year"]) == 2
        found = [{k: v for k, v in row.items() if v is not None} for row in read(tmp_path / name)]
        assert found == expected
    assert groups.to_arrow().select(["id", "contrast"]).to_pylist() == [
        {"id": "1", "contrast": None},
        {"id": "4", "contrast": None},
    ]


def test_near_duplicates_as_a_frame(faq):
    pytest.importorskip("pandas", reason='pip install ".[test-formats]"')
    assert faq.duplicates().to_pandas()["id"].tolist() == ["1", "4"]


def test_counts_are_rows_and_take_no_fields(faq, tmp_path):
    counts = faq.count_by("open")
    assert faq.write_rows(tmp_path / "c.csv", counts) == 1
    assert read(tmp_path / "c.csv") == [{"value": "true", "documents": "1"}]
    with pytest.raises(InputError, match="found the fields 'year' for rows that are not documents"):
        faq.write_rows(tmp_path / "c.csv", counts, fields=["year"])


def test_counts_by_month(home):
    faq = home.create_collection("dated")
    dates = ["2024-03-05", "2024-03-31T10:00:00Z", "2023-12-01", "2024-01-09", None]
    faq.upsert(
        Document(id=i, text=f"text {i}", metadata={} if date is None else {"created": date})
        for i, date in enumerate(dates)
    )
    found = faq.count_by("month(created)")
    assert [(each.value, each.documents) for each in found.values] == [
        ("2023-12", 1),
        ("2024-01", 1),
        ("2024-03", 2),
    ]
    assert (found.field, found.documents, found.missing, found.distinct) == (
        "month(created)",
        5,
        1,
        3,
    )
    assert [each.value for each in faq.count_by("year(created)", limit=1).values] == ["2024"]
    assert len(faq.count_by("day(created)").values) == 4
    faq.upsert([Document(id="x", text="text", metadata={"created": "May"})])
    with pytest.raises(InputError, match="'created' has the value 'May'; expected ISO dates"):
        faq.count_by("month(created)")


def test_twenty_thousand_rows(home, tmp_path):
    faq = home.create_collection("many")
    faq.upsert(
        Document(id=i, text=f"text {i}", metadata={"n": i, "m": i % 7}) for i in range(20_000)
    )
    assert faq.write_documents(tmp_path / "d.parquet", fields=["n"]) == 20_000
    table = pq.read_table(tmp_path / "d.parquet")
    assert table["n"].to_pylist() == list(range(20_000))


BLOCK = 10_000  # rows whose types are known together

PAIRS = [  # values in the first block, in the second, and as they are read: JSON where no type holds both
    (1, 2.5, (1.0, 2.5)),
    (2**60 + 1, 2.5, (str(2**60 + 1), "2.5")),
    (None, "one", (None, "one")),
    ([], ["a"], ([], ["a"])),
    ([1], ["a"], ("[1]", '["a"]')),
    (1, "one", ("1", '"one"')),
    (True, 1, ("true", "1")),
    ({"a": 1}, {"b": "x"}, ({"a": 1, "b": None}, {"a": None, "b": "x"})),
    ({}, {}, ("{}", "{}")),
    (2**70, 1, (str(2**70), "1")),
]


@pytest.mark.parametrize(("first", "last", "read_as"), PAIRS)
@pytest.mark.parametrize("turned", [False, True])
def test_a_type_that_is_known_after_many_rows(tmp_path, first, last, read_as, turned):
    if turned:
        first, last, read_as = last, first, read_as[::-1]
    rows = [{"a": i, "b": first} for i in range(BLOCK)] + [{"a": BLOCK, "b": last}]
    assert write_table(tmp_path / "t.parquet", ["a", "b"], rows) == BLOCK + 1
    found = pq.read_table(tmp_path / "t.parquet")
    assert found["a"].to_pylist() == list(range(BLOCK + 1))
    assert (found["b"][0].as_py(), found["b"][BLOCK].as_py()) == read_as
    assert [each.name for each in tmp_path.iterdir()] == ["t.parquet"]


def test_a_parquet_file_of_many_vectors_takes_little_memory(tmp_path):
    def write(count):
        rows = ({"id": str(i), "vector": vector + i} for i in range(count))
        before = forget_peak_memory()
        assert write_table(tmp_path / "t.parquet", ["id", "vector"], rows) == count
        return peak_memory() - before

    vector = np.arange(256, dtype=np.float32)
    write(20_000)  # Arrow keeps the memory that it has once taken
    assert write(100_000) < 80e6  # the vectors are 102 MB, and were kept twice
    assert pq.read_table(tmp_path / "t.parquet")["vector"][99_999].as_py()[:2] == [99_999, 100_000]
