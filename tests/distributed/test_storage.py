"""Inputs and outputs on S3, against moto's server on this machine."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest
import s3fs
from moto.server import ThreadedMotoServer

from gem_index.distributed import PartitionOptions, build_shards, encode, fit, sharding
from gem_index.distributed.partitions import PartReport
from gem_index.distributed.places import OutputFolder
from gem_index.distributed.planning import plan
from gem_index.errors import InputError
from gem_index.readers import DocumentReader


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


@pytest.mark.parametrize("work", ["fit", "encode"])
def test_the_sums_of_a_fit_lie_in_s3_until_it_is_done(
    client, inputs, encoder, storage, tmp_path, work
):
    system = fsspec.filesystem("s3", **storage)
    system.mkdir(f"sums-{work}")
    named = {"checkpoint": f"s3://sums-{work}/of", "checkpoint_options": storage}
    named["options"] = PartitionOptions(partition_bytes=2048)
    kept = []

    def look(stage, done, total):
        system.invalidate_cache()
        kept.append(len(system.find(f"sums-{work}/of")))

    if work == "fit":
        fit(client, encoder.unfitted(), inputs, progress=look, **named)
    else:
        found, out = encoder.unfitted(), tmp_path / "out"
        encode(client, found, inputs, out, fit=True, progress=look, **named)
    assert max(kept) > 0
    look("end", 0, 0)
    assert kept[-1] == 0


def test_a_collection_whose_parts_and_shards_lie_in_s3(client, inputs, home, storage, monkeypatch):
    monkeypatch.setattr(sharding, "_LEAST", 100)
    system = fsspec.filesystem("s3", **storage)
    system.mkdir("building")
    seen = []
    monkeypatch.setattr(
        sharding, "_fetch", lambda *a, fetch=sharding._fetch: (seen.append(str(a[1])), fetch(*a))
    )
    build_shards(
        client, home, "faq", inputs, parts="s3://building/parts", parts_options=storage,
        options=PartitionOptions(partition_bytes=2048),
    )  # fmt: skip
    home.build("local", DocumentReader(inputs))
    found, local = home.collection("faq"), home.collection("local")
    assert len(found) == len(local)
    for query in ("renew a visa", "two ducks swimming"):
        assert [hit.id for hit in found.search(query, k=5)] == [
            hit.id for hit in local.search(query, k=5)
        ]
    assert len(seen) > 3
    assert found.verify() == []
    system.invalidate_cache()
    assert not system.exists("building/parts") or not system.ls("building/parts")


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


@pytest.mark.parametrize("options", [{}, {"default_block_size": 1 << 20}])
def test_a_partition_does_not_bring_those_behind_it(storage, monkeypatch, options):
    line = b"where is the bank of the river? " * 31 + b"and of the two ducks swimming?\n"
    system = fsspec.filesystem("s3", **storage)
    system.makedirs("large", exist_ok=True)
    system.pipe_file("large/a.txt", line * (24 * 1024))
    size, fetched = 24 * 1024 * len(line), []
    fetch = s3fs.core.S3File._fetch_range

    def counted(file, start, end):
        fetched.append(end - start)
        return fetch(file, start, end)

    monkeypatch.setattr(s3fs.core.S3File, "_fetch_range", counted)
    reader = DocumentReader(["s3://large/a.txt"])
    parts = plan(reader, partition_bytes=4 << 20, storage_options={**storage, **options})
    assert len(parts) == 6
    read = sum(len(text) + 1 for part in parts for text in part.texts(None, PartReport()))
    assert read == size
    # lines are counted, then read; what is beyond a part and what tells a compressed file come to less than this
    assert 2 * size < sum(fetched) < (3 if options else 4) * size


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


def test_a_file_that_another_machine_has_replaced_is_read_whole(storage):
    folder = OutputFolder.of("s3://shared/out", storage)
    system = fsspec.filesystem("s3", **storage)
    system.mkdir("shared")
    system.pipe_file("shared/out/part", b"short")
    assert folder.names() == ["part"]
    elsewhere = s3fs.S3FileSystem(**storage, skip_instance_cache=True)
    elsewhere.pipe_file("shared/out/part", b"a longer content")
    with folder.opened("part") as file:
        assert file.read() == b"a longer content"
    elsewhere.pipe_file("shared/out/part", b"the longest of all contents")
    assert folder.read("part") == b"the longest of all contents"
    elsewhere.pipe_file("shared/out/second", b"")
    assert folder.names() == ["part", "second"]
