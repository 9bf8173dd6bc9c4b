"""Workers that are threads of this process, as ``Client(processes=False)`` has them."""

from __future__ import annotations

import logging
import threading

import numpy as np
import pyarrow.parquet as pq
import pytest

from cluster_processes import wait_for
from distributed import Client, LocalCluster
from gem_index.distributed import (
    PartitionOptions,
    build_shards,
    cluster,
    document_parts,
    encode,
    encoding,
    fit,
    sharding,
)
from gem_index.errors import (
    GemIndexError,
    InputError,
    PartitionError,
    RecordError,
    WorkerMismatchError,
)
from gem_index.readers import DocumentReader

SMALL = PartitionOptions(partition_bytes=1024)


def test_results_are_those_of_one_machine(threads, inputs, encoder, tmp_path, home):
    texts = list(DocumentReader(inputs).texts())
    report = encode(threads, encoder, inputs, tmp_path / "out", options=SMALL)
    tables = [pq.read_table(path) for path in sorted((tmp_path / "out").glob("part-*"))]
    rows = np.array([row for table in tables for row in table["vector"].to_pylist()], np.float32)
    np.testing.assert_array_equal(rows, encoder.encode(texts))
    assert report.rows == len(texts)
    again = encoder.unfitted()
    fit(threads, again, inputs, options=SMALL)
    local = encoder.unfitted().fit(texts)
    np.testing.assert_allclose(
        again.components.singular_values, local.components.singular_values, rtol=1e-9
    )
    built = build_shards(threads, home, "faq", inputs, options=SMALL)
    documents = len(list(DocumentReader(inputs)))
    assert built.report.documents == home.collection("faq").count() == documents


@pytest.mark.parametrize(
    ("most", "characters", "blocks"),
    [(1, 99, [1] * 7), (3, 99, [3, 3, 1]), (99, 12, [2, 2, 1, 2])],
)
def test_parts_are_written_block_by_block(
    threads, encoder, tmp_path, home, monkeypatch, most, characters, blocks
):
    for module in (encoding, document_parts):
        monkeypatch.setattr(module, "_BLOCK", most)
        monkeypatch.setattr(module, "_BLOCK_CHARACTERS", characters)
    texts = ["visa", "...", "river bank", "?", "a cup of tea", "!", "bank"]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(f'{{"id": "{n}", "text": "{t}"}}\n' for n, t in enumerate(texts)))
    report = encode(threads, encoder, str(path), tmp_path / "out", texts=True)
    assert (report.rows, report.empty, report.skipped, report.parts) == (7, 3, 0, 1)
    (part,) = (tmp_path / "out").glob("part-*")
    groups = pq.read_metadata(part)
    assert [groups.row_group(i).num_rows for i in range(groups.num_row_groups)] == blocks
    table = pq.read_table(part)
    assert [(row["id"], row["text"]) for row in table.to_pylist()] == [
        (str(n), text) for n, text in enumerate(texts)
    ]
    np.testing.assert_array_equal(np.stack(table["vector"].to_numpy()), encoder.encode(texts))
    told = []
    built = build_shards(threads, home, "faq", str(path), progress=lambda *each: told.append(each))
    assert told == [("fit", 1, 1), ("encode", 1, 1), ("index words", 7, 7), ("store", 7, 7)]
    assert built.report.documents == 7
    found = home.collection("faq").documents()
    assert [(each.id, each.text) for each in found] == [(str(n), t) for n, t in enumerate(texts)]


def test_the_options_name_the_fields_of_files(threads, encoder, tmp_path):
    path = tmp_path / "named.jsonl"
    path.write_text('{"key": 1, "title": "a bank", "body": "open on Monday", "text": "no"}\n')
    options = PartitionOptions(id_field="key", text_fields=("title", "body"))
    encode(threads, encoder, str(path), tmp_path / "out", options=options, texts=True)
    (part,) = (tmp_path / "out").glob("part-*")
    [row] = pq.read_table(part).to_pylist()
    assert (row["id"], row["text"]) == ("1", "a bank\n\nopen on Monday")


def test_a_bad_record_is_named_in_the_log_of_its_worker(threads, encoder, tmp_path, caplog):
    path = tmp_path / "bad.jsonl"
    path.write_text('{"id": "1", "text": "a bank"}\n{"id": "2"}\n')
    with caplog.at_level(logging.WARNING), pytest.raises(RecordError, match="bad.jsonl line 2"):
        encode(threads, encoder, [str(path)], tmp_path / "out")
    assert "bad.jsonl line 2" in caplog.text


def test_what_the_only_machine_refuses_ends_the_work(
    threads, inputs, encoder, tmp_path, monkeypatch
):
    def full(*_args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(encoding, "_encode", full)
    with pytest.raises(PartitionError, match="no space left|No space left"):
        encode(threads, encoder, inputs, tmp_path / "out")


def test_a_fault_that_is_not_foreseen_is_told_with_its_place(
    threads, inputs, encoder, tmp_path, monkeypatch
):
    def wrong(*_args):
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr(encoding, "_encode", wrong)
    with pytest.raises(PartitionError, match=r"a\.txt failed .*ZeroDivisionError by hand"):
        encode(threads, encoder, inputs[:1], tmp_path / "out")
    with pytest.raises(PartitionError, match=r"part-1 failed .*ZeroDivisionError by hand"):
        cluster.Cluster(threads).map(wrong, [("part-1",)])


def test_another_version(threads, inputs, encoder, tmp_path, monkeypatch):
    monkeypatch.setattr(cluster.Cluster, "_check_workers", lambda _: None)
    started = cluster.Cluster(threads)
    started._version = "0.0.1"
    task = cluster.Task("here", len, ([],))
    with pytest.raises(WorkerMismatchError, match="found 0.0.1 here"):
        list(started.run(iter([task, None, None]).__next__))


def test_an_input_without_a_text(threads, encoder, tmp_path):
    blank, good = tmp_path / "blank.jsonl", tmp_path / "good.jsonl"
    blank.write_text("\n" * 3000)
    good.write_text('{"text": "a bank"}\n')
    with pytest.raises(InputError) as refused:
        encode(threads, encoder, [str(blank)], tmp_path / "out", options=SMALL)
    assert str(refused.value) == "found no text in 3 partitions; expected at least one"
    report = encode(threads, encoder, [str(blank), str(good)], tmp_path / "both", options=SMALL)
    assert (report.rows, report.parts) == (1, 4)


def test_a_worker_that_is_gone_is_at_no_fault(threads, monkeypatch):
    started = cluster.Cluster(threads)
    [here] = started._workers()
    answers = {
        "tcp://127.0.0.1:9": OSError("Timed out trying to connect"),
        here: OSError(28, "No space left on device"),
    }
    monkeypatch.setattr(threads, "run", lambda *_args, **_options: answers)
    assert started._on(list(answers), len, []) == {here: answers[here]}


_STARTED: list[int] = []
_GO_ON = threading.Event()


def _fail_or_wait(number):
    if not number:
        raise ZeroDivisionError
    _STARTED.append(number)
    assert _GO_ON.wait(90)


def _ready(dask_worker):
    return len(dask_worker.state.ready)


def test_after_an_error_no_other_task_begins(threads):
    tasks = [cluster.Task(str(i), _fail_or_wait, (i,)) for i in range(8)]
    with pytest.raises(PartitionError) as caught:
        list(cluster.Cluster(threads).run_all(tasks))
    wait_for(lambda: not any(threads.run(_ready).values()))  # the worker has heard of it
    _GO_ON.set()
    wait_for(lambda: not any(threads.processing().values()))
    assert len(_STARTED) < 7, caught  # which holds the frames of the error


_TRIED: set[int] = set()


def _fail_once(number):
    if number not in _TRIED:
        _TRIED.add(number)
        raise OSError(28, "No space left on device")
    return number


def test_failures_of_a_task_that_ended_do_not_count_for_the_next():
    """Each of 40 tasks is refused by one worker; a new task may get the address of an old one in memory."""
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=False,
            dashboard_address=":0",
            silence_logs=50,
        ) as found,
        Client(found, set_as_default=False) as client,
    ):
        started = cluster.Cluster(client)
        tasks = (cluster.Task(str(i), _fail_once, (i,)) for i in range(40))
        results = [started.result(future) for _, future in started.run(lambda: next(tasks, None))]
    assert sorted(results) == list(range(40))


@pytest.mark.parametrize("index", ["IVF16,SQ8", "PQ8", "hnsw", "sq8"])
def test_an_index_of_a_few_documents_is_that_of_one_machine(
    threads, home, tmp_path, monkeypatch, index
):
    monkeypatch.setattr(sharding, "_LEAST", 1)  # two shards
    paths = [tmp_path / "a.txt", tmp_path / "b.txt"]
    paths[0].write_text("a bank account\ntwo ducks\na cup of tea\n")
    paths[1].write_text("renew a visa\nthe river\n")
    inputs, told = list(map(str, paths)), []
    for name, build in (
        ("local", lambda name: home.build(name, DocumentReader(inputs), index=index)),
        ("cluster", lambda name: build_shards(threads, home, name, inputs, index=index)),
    ):
        try:
            build(name)
            status = home.collection(name).status()
            told.append((status.documents, status.index.kind, status.fitted))
        except GemIndexError as error:
            told.append((type(error), str(error).replace(name, "NAME"), name in home))
    assert told[0] == told[1]
