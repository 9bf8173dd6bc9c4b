"""Inputs and outputs on S3, against moto's server on this machine."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest
from moto.server import ThreadedMotoServer

from gem_index.distributed import PartitionOptions, encode, fit
from gem_index.distributed.places import OutputFolder
from gem_index.errors import InputError
from gem_index.reading import DocumentReader


@pytest.fixture(scope="module")
def storage():
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield {
        "key": "testing",
        "secret": "testing",
        "client_kwargs": {"endpoint_url": f"http://{host}:{port}"},
    }
    server.stop()


def test_from_s3_to_s3(client, inputs, encoder, storage):
    system = fsspec.filesystem("s3", **storage)
    system.mkdir("corpus")
    for path in inputs:
        system.put_file(path, f"corpus/in/{Path(path).name}")
    options = PartitionOptions(partition_bytes=2048, storage_options=storage)
    local = encoder.unfitted().fit(DocumentReader(inputs).texts())
    found = encoder.unfitted()
    fit(client, found, "s3://corpus/in/*", options=options)
    assert found.components.sentences == local.components.sentences
    report = encode(
        client, encoder, "s3://corpus/in/*", "s3://corpus/out", options=options,
        output_options=storage,
    )  # fmt: skip
    rows = list(DocumentReader(inputs).rows())
    expected = encoder.encode([text for _, text in rows])
    names = sorted(system.glob("corpus/out/*.parquet"))
    assert len(names) == report.parts > 10
    tables = [pq.read_table(system.open(name)) for name in names]
    assert [name for table in tables for name in table["id"].to_pylist()] == [
        row[0] for row in rows
    ]
    vectors = b"".join(
        table["vector"].combine_chunks().values.to_numpy().tobytes() for table in tables
    )
    assert vectors == expected.tobytes()
    changed = {name: system.info(name)["LastModified"] for name in names}
    again = encode(
        client, encoder, "s3://corpus/in/*", "s3://corpus/out/", options=options,
        output_options=storage,
    )  # fmt: skip
    assert again == report
    system.invalidate_cache()
    assert {name: system.info(name)["LastModified"] for name in names} == changed
    system.pipe_file("corpus/in/a.txt", b"another text")
    with pytest.raises(InputError, match="which differs in inputs"):
        encode(
            client, encoder, "s3://corpus/in/*", "s3://corpus/out", options=options,
            output_options=storage,
        )  # fmt: skip


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (
            "s3://nobucket/x.jsonl",
            "cannot read s3://nobucket/x.jsonl: .*; expected a readable file",
        ),
        ("s3://nobucket/*.jsonl", r"found no file like s3://nobucket/\*\.jsonl; expected"),
    ],
)
def test_what_is_not_there(client, encoder, storage, names, message):
    options = PartitionOptions(storage_options=storage)
    with pytest.raises(InputError, match=message) as caught:
        fit(client, encoder.unfitted(), names, options=options)
    assert "\n" not in str(caught.value)
    assert "testing" not in str(caught.value)


def test_a_bucket_that_cannot_be_written(client, inputs, encoder, storage):
    with pytest.raises(
        InputError, match="cannot write to s3://nobucket/out: .*expected a writable"
    ):
        encode(client, encoder, inputs, "s3://nobucket/out", output_options=storage)


def test_storage_without_atomic_uploads_is_renamed(tmp_path):
    folder = OutputFolder.of(f"file://{tmp_path}/out", {})
    folder.make()
    with pytest.raises(NotADirectoryError), folder.writing("x") as path:
        (path / "y").write_bytes(b"half" if path.write_bytes(b"half") else b"")
    assert folder.names() == []
    with folder.writing("x") as path:
        path.write_bytes(b"whole")
    assert folder.names() == ["x"]
    assert folder.read("x") == b"whole"
    with folder.opened("x") as file:
        assert file.read() == b"whole"
    folder.remove("x")
    folder.remove("x")
    assert folder.names() == []
