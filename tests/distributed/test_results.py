"""Fit and encode on two worker processes: the results of one machine."""

from __future__ import annotations

import json
from pathlib import Path

import dask.bag
import dask.dataframe
import numpy as np
import pandas as pd
import pyarrow.dataset as dataset
import pyarrow.parquet as pq
import pytest

from cluster_inputs import sentences, stopped_fit
from gem_index import CombinedEncoder, GemConfig, GemEncoder, open_vectors
from gem_index.distributed import PartitionOptions, encode, fit, manifest
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    InputError,
    RecordError,
    WorkerMismatchError,
)
from gem_index.readers import DocumentReader
from gem_index.vectors import SourceOptions
from gem_index.vectors.combined import CombinedVectors

SMALL = PartitionOptions(partition_bytes=1024)


def vectors_of(folder):
    table = dataset.dataset(folder, format="parquet").to_table()
    width = table.schema.field("vector").type.list_size
    vectors = table["vector"].combine_chunks().values.to_numpy().reshape(-1, width)
    return table["id"].to_pylist(), vectors, table


def agreement(one, other):
    """The largest difference of two sets of directions and of their singular values."""
    return max(
        float(np.abs(one.components.directions - other.components.directions).max()),
        float(np.abs(one.components.singular_values / other.components.singular_values - 1).max()),
    )


def test_a_fit_equals_the_local_one(client, inputs, encoder):
    local = encoder.unfitted().fit(DocumentReader(inputs).texts())
    prints = set()
    for size in (1024, 1024, 1 << 24):
        found = encoder.unfitted()
        report = fit(client, found, inputs, options=PartitionOptions(partition_bytes=size))
        assert report.encoder is found
        assert report.texts == len(list(DocumentReader(inputs).texts()))
        assert found.components.sentences == local.components.sentences
        prints.add(found.fingerprint)
        assert (report.partitions > 20) == (size == 1024)
    assert prints == {local.fingerprint}


def test_vectors_are_those_of_one_machine(client, inputs, encoder, tmp_path):
    seen = []
    report = encode(
        client,
        encoder,
        inputs,
        tmp_path / "out",
        texts=True,
        options=SMALL,
        progress=lambda *told: seen.append(told),
    )
    ids, vectors, table = vectors_of(tmp_path / "out")
    rows = list(DocumentReader(inputs).rows())
    assert ids == [name for name, _ in rows]
    assert table["text"].to_pylist() == [text for _, text in rows]
    expected = encoder.encode([text for _, text in rows])
    assert vectors.tobytes() == expected.tobytes()
    assert report.rows == len(rows)
    assert report.empty == int((~expected.any(axis=1)).sum()) > 0
    assert (report.dimension, report.fingerprint) == (24, encoder.fingerprint)
    assert seen[-1] == ("encode", report.parts, report.parts)
    part = pq.read_metadata(tmp_path / "out" / "part-00000.parquet")
    assert part.metadata[b"gem_fingerprint"].decode() == encoder.fingerprint
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"_gem-index.json", *(f"part-{i:05}.parquet" for i in range(report.parts))}


def test_encoders_of_every_kind_reach_workers(client, inputs, small_vectors, tmp_path, home):
    folder = tmp_path / "words"
    folder.mkdir()
    words = small_vectors.vocabulary
    (folder / "words.txt").write_text("\n".join(words))
    np.save(folder / "matrix.npy", np.random.default_rng(2).normal(size=(len(words), 8)))
    home.vectors.add("mine", str(folder), options=SourceOptions(dtype="int8"))
    mine = open_vectors("mine", home)
    bundled = open_vectors("wordllama-gem")
    for place, found in enumerate(
        [
            GemEncoder(bundled),  # background components
            GemEncoder(CombinedVectors([mine, small_vectors], [1.0, 0.5]), GemConfig.cqa()),
            CombinedEncoder([GemEncoder(mine), GemEncoder(bundled)], [1.0, 0.3]),
        ]
    ):
        encode(client, found, inputs[:2], tmp_path / f"out{place}")
        texts = list(DocumentReader(inputs[:2]).texts())
        _, vectors, _ = vectors_of(tmp_path / f"out{place}")
        assert vectors.tobytes() == found.encode(texts).tobytes()
    several = CombinedEncoder([GemEncoder(mine), GemEncoder(small_vectors)])
    fit(client, several, inputs, options=SMALL)
    local = several.unfitted().fit(DocumentReader(inputs).texts())
    for one, other in zip(several.encoders, local.encoders, strict=True):
        assert agreement(one, other) < 1e-9


def test_a_source_that_cannot_be_sent(client, inputs):
    class Strange:
        dimension = 4
        fingerprint = "0" * 64

        def lookup(self, tokens):
            return np.ones((len(tokens), 4), np.float32), np.zeros(len(tokens), bool)

        def frequent_words(self):
            return ["tea"] * 20

    with pytest.raises(
        ConfigError, match="cannot be sent to workers: they are stored in no folder"
    ):
        fit(client, GemEncoder(Strange()), inputs)


def test_the_same_call_goes_on(client, inputs, encoder, tmp_path):
    out = tmp_path / "out"
    whole = encode(client, encoder, inputs, out, options=SMALL)
    times = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert encode(client, encoder, inputs, out, options=SMALL) == whole
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == times
    _, before, _ = vectors_of(out)
    # as a lost scheduler leaves it: some parts, a partial file, and no list of parts
    manifest = json.loads((out / "_gem-index.json").read_text())
    assert [part["rows"] for part in manifest.pop("parts")]
    (out / "_gem-index.json").write_text(json.dumps(manifest))
    (out / "part-00003.parquet").unlink()
    (out / "part-00005.parquet").write_bytes(b"PAR1 damaged")
    (out / ".part-00003.parquet.1234.partial").write_bytes(b"half")
    assert encode(client, encoder, inputs, out, options=SMALL) == whole
    after = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    changed = {name for name in times if times[name] != after[name]}
    assert changed == {"_gem-index.json", "part-00003.parquet", "part-00005.parquet"}
    assert set(after) == set(times)
    assert vectors_of(out)[1].tobytes() == before.tobytes()


def test_another_request_is_refused_by_name(client, inputs, encoder, tmp_path):
    out = tmp_path / "out"
    encode(client, encoder, inputs, out)
    with pytest.raises(InputError, match="of another request, which differs in texts; expected"):
        encode(client, encoder, inputs, out, texts=True)
    with pytest.raises(InputError, match="which differs in inputs;"):
        encode(client, encoder, inputs[1:], out)
    with pytest.raises(InputError, match="which differs in fingerprint;"):
        encode(client, encoder.unfitted(), inputs, out)
    with pytest.raises(InputError, match="which differs in reading;"):
        encode(client, encoder, inputs, out, options=PartitionOptions(errors="skip"))
    (out / "_gem-index.json").write_text("{}")
    with pytest.raises(CorruptionError, match="_gem-index.json cannot be read"):
        encode(client, encoder, inputs, out)
    (out / "_gem-index.json").unlink()
    with pytest.raises(InputError, match="holds part-00000.parquet and no vectors of gem-index"):
        encode(client, encoder, inputs, out)
    with pytest.raises(InputError, match="cannot be used: not a directory; expected a folder"):
        encode(client, encoder, inputs, inputs[0])
    with pytest.raises(InputError, match="cannot write to .*: .*expected a writable folder"):
        encode(client, encoder, inputs, "/proc/nowhere")


def test_a_poison_row_is_named_or_skipped(client, inputs, encoder, tmp_path):
    path = Path(inputs[1])
    lines = path.read_text().split("\n")
    lines[200] = '{"text": null}'
    path.write_text("\n".join(lines))
    for work in (
        lambda options: encode(client, encoder, inputs, tmp_path / options.errors, options=options),
        lambda options: fit(client, encoder.unfitted(), inputs, options=options),
    ):
        with pytest.raises(RecordError, match=r"b\.jsonl line 201: the field 'text' is null"):
            work(SMALL)
        report = work(PartitionOptions(errors="skip", partition_bytes=1024))
        assert report.skipped == 1
        assert report.problems[0][:2] == (str(path), 201)
    with pytest.raises(ConfigError, match="errors is 'ignore'; expected raise or skip"):
        PartitionOptions(errors="ignore")


def test_frames_and_bags(client, encoder, tmp_path):
    texts = sentences(200, seed=4)
    frame = pd.DataFrame({"key": range(200), "body": texts, "year": 2000})
    options = PartitionOptions(id_field="key", text_fields=("body",))
    parts = dask.dataframe.from_pandas(frame, npartitions=5)
    report = encode(client, encoder, parts, tmp_path / "frame", options=options)
    assert (report.rows, report.parts) == (200, 5)
    ids, vectors, _ = vectors_of(tmp_path / "frame")
    assert ids == [str(i) for i in range(200)]
    assert vectors.tobytes() == encoder.encode(texts).tobytes()
    encode(client, encoder, dask.bag.from_sequence(texts, npartitions=3), tmp_path / "bag")
    assert vectors_of(tmp_path / "bag")[1].tobytes() == vectors.tobytes()
    records = [{"text": text, "id": f"r{i}"} for i, text in enumerate(texts)]
    found = encoder.unfitted()
    fit(client, found, dask.bag.from_sequence(records, npartitions=9))
    assert agreement(found, encoder.unfitted().fit(texts)) < 1e-9
    records[150] = {"id": "r150"}
    bag = dask.bag.from_sequence(records, npartitions=4)
    with pytest.raises(RecordError, match="partition 3 of .* line 1: no field 'text'"):
        encode(client, encoder, bag, tmp_path / "bad")
    report = encode(
        client, encoder, bag, tmp_path / "skip", options=PartitionOptions(errors="skip")
    )
    assert (report.rows, report.skipped) == (199, 1)


@pytest.mark.parametrize("wrong", [5, {"a": 1}, [3]])
def test_inputs_of_another_kind(client, encoder, wrong):
    with pytest.raises(InputError, match="the inputs are .*; expected paths, patterns or URLs"):
        fit(client, encoder.unfitted(), wrong)


def test_inputs_without_a_text(client, encoder, tmp_path):
    path = tmp_path / "blank.jsonl"
    path.write_text("\n" * 3000)
    with pytest.raises(InputError, match="found no text in 3 partitions; expected at least one"):
        fit(client, encoder.unfitted(), [str(path)], options=SMALL)


def test_a_folder_that_workers_do_not_share(client, inputs, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(manifest, "MANIFEST", "_renamed.json")  # here alone
    with pytest.raises(
        WorkerMismatchError,
        match=r"the worker \d \(tcp://\S+\) does not see the folder .*; expected one that all",
    ):
        encode(client, encoder, inputs, tmp_path / "out")


def test_a_fit_goes_on(client, inputs, encoder, tmp_path):
    folder, calm = tmp_path / "sums", encoder.unfitted()
    expected = fit(client, calm, inputs, options=SMALL)
    with stopped_fit(sums=2):
        fit(client, encoder.unfitted(), inputs, options=SMALL, checkpoint=folder)
    damaged, kept = sorted(folder.glob("part-*.npz"))
    damaged.write_bytes(damaged.read_bytes()[:-40])
    before = 8 * int(kept.stem.removeprefix("part-"))
    rest = expected.partitions - min(8, expected.partitions - before)
    again, told = encoder.unfitted(), []
    report = fit(
        client, again, inputs, options=SMALL, checkpoint=folder,
        progress=lambda stage, done, total: told.append((done, total)),
    )  # fmt: skip
    assert told[-1] == (rest, rest)  # what was missing is read
    assert again.fingerprint == calm.fingerprint  # the same bytes
    assert (report.texts, report.skipped) == (expected.texts, expected.skipped)
    assert not folder.exists()
    fit(client, again, inputs[:1], checkpoint=folder)  # of one partition nothing is kept
    assert not folder.exists()


def test_an_encoding_that_fits_goes_on(client, inputs, encoder, tmp_path):
    sums, calm = tmp_path / "sums", encoder.unfitted()
    fit(client, calm, inputs, options=SMALL)
    expected = encode(client, calm, inputs, tmp_path / "calm", options=SMALL)

    def stop(stage, done, total):
        if (stage, done) == ("encode", 1):
            raise ZeroDivisionError

    def run(progress):
        return encode(
            client, encoder.unfitted(), inputs, tmp_path / "out", fit=True, checkpoint=sums,
            options=SMALL, progress=progress,
        )  # fmt: skip

    with pytest.raises(ZeroDivisionError):
        run(stop)
    told = []
    assert run(lambda *each: told.append(each)) == expected
    assert {stage for stage, _, _ in told} == {"encode"}  # nothing is summed again
    assert not sums.exists()
    ids, vectors, _ = vectors_of(tmp_path / "out")
    assert ids == vectors_of(tmp_path / "calm")[0]
    assert vectors.tobytes() == vectors_of(tmp_path / "calm")[1].tobytes()


def test_the_sums_of_another_fit_are_forgotten(client, inputs, encoder, tmp_path):
    folder = tmp_path / "sums"
    with stopped_fit(sums=1):
        fit(client, encoder.unfitted(), inputs, options=SMALL, checkpoint=folder)
    told, found, calm = [], encoder.unfitted(), encoder.unfitted()
    fit(client, calm, inputs[:2], options=SMALL)
    fit(
        client, found, inputs[:2], options=SMALL, checkpoint=folder,
        progress=lambda stage, done, total: told.append(total),
    )  # fmt: skip
    assert told[0] == len(told)  # all of them
    assert found.fingerprint == calm.fingerprint
    encode(client, encoder, inputs[:1], folder)
    with pytest.raises(InputError, match="holds vectors of another request, which differs in"):
        fit(client, encoder.unfitted(), inputs, checkpoint=folder)
