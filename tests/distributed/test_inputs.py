"""What becomes a partition: paths, readers, frames and bags."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import dask.bag
import dask.dataframe
import pandas as pd
import pytest

from gem_index import Document
from gem_index.distributed.inputs import ObjectPartition, PartitionOptions, partitions_of
from gem_index.distributed.partitions import PartReport, Reading
from gem_index.distributed.planning import PARTITION_BYTES, run_here
from gem_index.errors import InputError
from gem_index.readers import DocumentReader

HERE = SimpleNamespace(map=run_here)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text(("x" * 511 + "\n") * 5)
    Path("b.jsonl").write_text('{"key": "7", "title": "a bank"}\n{"key": "8"}\n')
    return tmp_path


@pytest.mark.parametrize(
    "inputs",
    ["a.txt", Path("a.txt"), ["a.txt"], (Path("a.txt"),), DocumentReader(["a.txt"])],
)
def test_one_path_or_several_or_a_reader(folder, inputs):
    found, data = partitions_of(inputs, PartitionOptions(), HERE)
    assert ([str(each) for each in found], list(data)) == (["a.txt"], [None])
    found, data = partitions_of(inputs, PartitionOptions(partition_bytes=1024), HERE)
    assert [str(each) for each in found] == [f"a.txt from line {line}" for line in (1, 3, 5)]
    assert list(data) == [None] * 3


def test_the_options_are_those_of_the_records(folder):
    options = PartitionOptions(errors="skip", id_field="key", text_fields=("title",))
    [part], _ = partitions_of("b.jsonl", options, HERE)
    report = PartReport()
    assert list(part.documents(None, report)) == [Document(id="7", text="a bank", metadata={})]
    assert [problem[:2] for problem in report.problems] == [("b.jsonl", 2)]
    assert PartitionOptions() == PartitionOptions(
        errors="raise", partition_bytes=PARTITION_BYTES, storage_options={}, id_field=None, text_fields=("text",)
    )  # fmt: skip


@pytest.mark.parametrize("inputs", [5, {"a.txt": 1}, {"a.txt"}, [3], ["a.txt", None], b"a.txt"])
def test_what_is_no_input(folder, inputs):
    with pytest.raises(InputError) as refused:
        partitions_of(inputs, PartitionOptions(), HERE)
    assert str(refused.value) == (
        f"the inputs are {inputs!r}; expected paths, patterns or URLs of files, a reader of them, or a Dask DataFrame or "
        "Bag"
    )


@pytest.mark.parametrize("errors", ["raise", "skip"])
def test_frames_and_bags_have_a_partition_for_each_of_theirs(errors):
    frame = dask.dataframe.from_pandas(pd.DataFrame({"key": range(6), 0: "tea"}), npartitions=2)
    bag = dask.bag.from_sequence(["tea", "visa", "bank"], npartitions=3)
    options = PartitionOptions(errors=errors, id_field="key", text_fields=["title", "body"])
    reading = Reading({"id_field": "key", "text_fields": ("title", "body")}, errors == "skip")
    for inputs, name in ((frame, frame._name), (bag, bag.name)):
        found, data = partitions_of(inputs, options, HERE)
        assert found == [ObjectPartition(i, name, reading) for i in range(inputs.npartitions)]
        assert len(data) == len(found)
        assert [each.identity for each in found] == [[name, i] for i in range(len(found))]
    assert str(found[2]) == f"partition 2 of {bag.name}"


def test_rows_and_items_are_records():
    part = ObjectPartition(0, "x", Reading({"id_field": "key", "text_fields": ("0", "body")}))
    frame = pd.DataFrame({"key": [7, 8], 0: ["tea", "visa"], "body": "x", "year": [1999, 2000]})
    documents = [
        Document(id="7", text="tea\n\nx", metadata={"year": 1999}),
        Document(id="8", text="visa\n\nx", metadata={"year": 2000}),
    ]
    for data in (frame, frame.rename(columns={0: "0"}).to_dict("records")):
        assert list(part.documents(data, PartReport())) == documents
        assert list(part.rows(data, PartReport())) == [(each.id, each.text) for each in documents]
        assert list(part.texts(data, PartReport())) == [each.text for each in documents]
    plain = ObjectPartition(0, "x", Reading({"id_field": None, "text_fields": ("text",)}))
    assert list(plain.texts(iter(["tea", "visa"]), PartReport())) == ["tea", "visa"]
