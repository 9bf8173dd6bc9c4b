"""Workers write to a vector database themselves."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import shared_target
from cluster_processes import killing
from distributed import Client, LocalCluster
from gem_index import Chunking, Document
from gem_index.collection.push.embedding import embed_into
from gem_index.collection.push.sending import PushOptions
from gem_index.distributed import PartitionOptions, embed
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.readers import DocumentReader
from gem_index.targets import open_target

SMALL = PartitionOptions(partition_bytes=1024)


@pytest.fixture(scope="module")
def own(tmp_path_factory):
    """Workers that know the engine of the tests."""
    folder = tmp_path_factory.mktemp("site")
    shared_target.install(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(folder)
        with (
            LocalCluster(
                n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50
            ) as cluster,
            Client(cluster, set_as_default=False) as client,
        ):
            yield client


def held(path):
    found = open_target(f"shared://{path}")
    try:
        rows = {
            row.id: (row.vector.tobytes(), row.text, row.metadata)
            for row in found.live().documents()
        }
    finally:
        found.close()
    return rows


@pytest.mark.parametrize("chunking", [Chunking(None), Chunking(10)])
def test_a_database_holds_what_one_machine_writes(own, inputs, encoder, tmp_path, chunking):
    local, cluster = tmp_path / "local.db", tmp_path / "cluster.db"
    options = PushOptions(batch=50)
    expected = embed_into(
        f"shared://{local}", encoder, DocumentReader(inputs), options, chunking=chunking
    )
    seen = []
    report = embed(
        own, encoder, inputs, f"shared://{cluster}", chunking=chunking, push=options, options=SMALL,
        progress=lambda *told: seen.append(told),
    )  # fmt: skip
    assert held(cluster) == held(local)
    assert (report.push.added, report.push.documents) == (expected.added, expected.documents)
    rows = report.push.added + report.push.updated  # equal records of different batches are one row
    assert rows >= len({name.partition("#")[0] for name in held(cluster)})
    assert seen[-1][0] == "embed"
    assert seen[-1][1] == seen[-1][2] > 20
    with killing(own, every=0.2, times=2):
        again = embed(own, encoder, inputs, f"shared://{cluster}", push=options, options=SMALL)
    assert held(cluster) == held(local)
    assert (again.push.added, again.push.updated) == (0, rows)
    with sqlite3.connect(cluster) as connection:
        (finished,) = connection.execute("SELECT count(*) FROM finished").fetchone()
    connection.close()
    assert finished == 2  # once a call, not once a worker


def test_bad_rows(own, inputs, encoder, tmp_path):
    with Path(inputs[1]).open("a") as file:
        file.write('{"text": []}\n')
    url = f"shared://{tmp_path / 'x.db'}"
    with pytest.raises(InputError, match=r"b\.jsonl line 307: the field 'text' is"):
        embed(own, encoder, inputs, url)
    report = embed(own, encoder, inputs, url, options=PartitionOptions(errors="skip"))
    assert report.skipped == 1
    assert report.problems[0][1] == 307


def test_what_a_table_or_engine_does_not_take(own, inputs, encoder, tmp_path):
    url = f"shared://{tmp_path / 'x.db'}"
    embed(own, encoder, inputs, url)
    with pytest.raises(FingerprintMismatchError, match="was made with the encoder"):
        embed(own, encoder.unfitted(), inputs, url)
    for refused in (f"single://{tmp_path / 'y.db'}", f"parquet://{tmp_path / 'y'}"):
        with pytest.raises(
            ConfigError, match="takes one writer; expected .*: chroma.http, .*postgresql"
        ):
            embed(own, encoder, inputs, refused)
    path = tmp_path / "z.jsonl"
    path.write_text('{"text": "tea", "unsupported": 1}\n')
    with pytest.raises(ConfigError, match="the target cannot store the field 'unsupported'"):
        embed(own, encoder, [str(path)], url)
    embed(own, encoder, [str(path)], url, push=PushOptions(drop_unsupported=True))
    name = Document.without_id("z.jsonl:1", "tea", {"unsupported": 1}).id
    assert held(tmp_path / "x.db")[name][2] == {}
    assert np.frombuffer(held(tmp_path / "x.db")[name][0], np.float32).shape == (24,)
