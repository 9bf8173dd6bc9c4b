"""Workers write to a vector database themselves."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

import shared_target
from cluster_inputs import sentences
from cluster_processes import killing
from distributed import Client, LocalCluster
from gem_index import Chunking, Document
from gem_index.collection.push.embedded_words import CountedInputs
from gem_index.collection.push.embedding import TableWords, embed_into
from gem_index.collection.push.query_record import QueryRecords
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
            row.id: (
                row.vector.tobytes(),
                row.text,
                row.metadata,
                row.words and (row.words.indices.tolist(), row.words.values.tolist()),
            )
            for row in found.live().documents()
        }
    finally:
        found.close()
    return rows


def words_of(path):
    """Return the word statistics of a table."""
    found = open_target(f"shared://{path}")
    records = QueryRecords(found)
    try:
        return records.read(found.live().schema.token).words
    finally:
        records.close()
        found.close()


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


@pytest.mark.parametrize("chunking", [Chunking(None), Chunking(10)])
def test_words_are_counted_by_all_workers(own, encoder, tmp_path, chunking):
    texts = [f"{text} {number}" for number, text in enumerate(sentences(900, seed=4))]
    inputs = []
    for name, part in (("a", texts[:500]), ("b", texts[500:])):
        path = tmp_path / f"{name}.txt"
        path.write_text("\n".join(part) + "\n")
        inputs.append(str(path))
    local, cluster = tmp_path / "local.db", tmp_path / "cluster.db"
    words = TableWords("tiny", CountedInputs(DocumentReader(inputs), "en"))
    embed_into(
        f"shared://{local}", encoder, DocumentReader(inputs), PushOptions(), chunking=chunking, words=words
    )  # fmt: skip
    seen = []
    with killing(own, every=0.3, times=2):
        report = embed(
            own, encoder, inputs, f"shared://{cluster}", chunking=chunking, vectors="tiny", options=SMALL,
            progress=lambda *told: seen.append(told),
        )  # fmt: skip
    assert held(cluster) == held(local)
    assert all(row[-1] is not None for row in held(local).values())
    assert words_of(cluster).texts >= 900
    assert words_of(cluster).fingerprint == words_of(local).fingerprint
    assert (report.push.words, report.push.words_due) == (True, False)
    assert {step for step, *_ in seen} == {"count words", "embed"}


def test_the_language_is_that_of_the_first_texts(own, encoder, tmp_path):
    path = tmp_path / "german.txt"
    path.write_text(
        "".join(f"Die Banken öffnen morgens um {i} Uhr in der Stadt.\n" for i in range(100))
    )
    embed(own, encoder, [str(path)], f"shared://{tmp_path / 'x.db'}", vectors="tiny", options=SMALL)
    assert words_of(tmp_path / "x.db").analyzer.language == "de"


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
