"""Commands with --scheduler."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import numpy as np
import pyarrow.dataset as dataset
import pytest

from cluster_inputs import sentences, stopped_fit
from cluster_processes import forked_workers, wait_for
from gem_index import open_provider
from gem_index.distributed import connected, fit
from gem_index.documents import text_id
from gem_index.readers import DocumentReader


@pytest.fixture
def forked():
    """Workers that start quickly; those of the other tests, and of docs/howto/dask.md in its test, start as people's do."""
    with forked_workers():
        yield


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEM_INDEX_THREADS", "2")
    rows = [{"id": i, "text": text} for i, text in enumerate(sentences(300))]
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "b.txt").write_text("\n".join(sentences(50, seed=6)))
    return tmp_path


@pytest.mark.usefixtures("forked")
def test_fit_and_encode(gem, corpus):
    fitted = gem("fit", "here", "a.jsonl", "b.txt", "--json").json
    found = gem("fit", "there", "a.jsonl", "b.*", "--scheduler", "local", "--json")
    assert found.status == 0
    assert "Dashboard: http://127.0.0.1:" in found.err
    assert found.json["sentences"] == fitted["sentences"]
    assert found.json["components"] == fitted["components"]
    line = ("encode", "a.jsonl", "b.txt", "-o", "out", "--model", "here", "--scheduler", "local")
    made = gem(*line, "--json").json
    local = gem("encode", "a.jsonl", "b.txt", "-o", "x.parquet", "--model", "here", "--json").json
    assert made == {**local, "skipped": 0, "parts": 2}
    table = dataset.dataset(corpus / "out").to_table()
    expected = dataset.dataset(corpus / "x.parquet").to_table()
    assert table["vector"].to_pylist() == expected["vector"].to_pylist()
    assert table["id"].to_pylist()[-1] == text_id(sentences(50, seed=6)[-1])
    again = gem(*line)
    assert again.out == "out: 350 rows of 256 dimensions in 2 files, {} without words.\n".format(
        local["empty"]
    )
    refused = gem(*line, "--texts")
    assert refused.status == 2
    assert "out holds vectors of another request, which differs in texts; expected" in refused.err


@pytest.mark.usefixtures("forked")
def test_a_fit_goes_on_from_what_was_summed(gem, corpus):
    for i in range(20):
        (corpus / f"part{i:02}.txt").write_text("\n".join(sentences(20, seed=i)))
    expected = gem("fit", "calm", "part*.txt", "--scheduler", "local", "--json").json
    kept = corpus / "home" / "fits" / "model"

    encoder = open_provider(model="calm", home=corpus / "home").encoder.unfitted()
    reader = DocumentReader(["part*.txt"])
    with connected("local") as client, stopped_fit(sums=1):
        fit(client, encoder, reader, checkpoint=kept)
    path = next(kept.glob("part-*.npz"))
    with np.load(path) as file:
        arrays = dict(file)
    arrays["counts0"][0] += 1000  # to tell that it is used
    np.savez(path, **arrays)
    found = gem("fit", "model", "part*.txt", "--scheduler", "local", "--json").json
    assert found["sentences"] == expected["sentences"] + 1000
    assert not list((corpus / "home" / "fits").iterdir())


@pytest.mark.usefixtures("forked")
def test_build(gem, corpus):
    local = gem("build", "here", "a.jsonl", "b.txt", "--types", "text", "--json").json
    (corpus / "parts").mkdir()
    line = ("build", "there", "a.jsonl", "b.*", "--scheduler", "local", "--parts", "parts")
    found = gem(*line, "--json").json
    different = ("collection", "fingerprint", "seconds")
    assert {key: value for key, value in found.items() if key not in different} == {
        key: value for key, value in local.items() if key not in different
    }
    hits = gem("search", "there", "renew a visa", "--json").json
    assert [hit["id"] for hit in hits] == [
        hit["id"] for hit in gem("search", "here", "renew a visa", "--json").json
    ]
    assert not (corpus / "parts").exists()
    again = gem(*line)
    assert again.status == 2
    assert "the collection there holds documents; expected a new one" in again.err
    (corpus / "groups").write_text("visa, entry permit\n")
    options = ("--synonyms", "groups", "--language", "de", "--index", "flat", "--chunk", "40")
    said = gem("build", "third", "b.txt", "--scheduler", "local", *options).out
    assert "third: 45 added, 0 updated, 0 unchanged, 0 skipped; 45 documents now." in said
    assert gem("synonyms", "third").out == "visa, entry permit\n"
    assert gem("build", "third-here", "b.txt", "--types", "text", *options).status == 0
    stored = {each["name"]: each for each in gem("status", "--json").json["collections"]}
    there, here = (
        {key: value for key, value in stored[name].items() if key not in ("name", "bytes", "index")}
        for name in ("third", "third-here")
    )
    assert there == here
    assert (there["language"], there["documents"]) == ("de", 45)
    assert stored["third"]["index"]["kind"] == "flat"
    (corpus / "c.jsonl").write_text('{"id": 1, "text": "tea"}\n{"id": 1, "text": "cup"}\n')
    twice = gem("build", "fourth", "c.jsonl", "--scheduler", "local")
    assert "c.jsonl line 2: the id '1' came before in c.jsonl line 1; expected" in twice.err


@pytest.mark.usefixtures("forked")
def test_bad_records(gem, corpus):
    with (corpus / "a.jsonl").open("a") as file:
        file.write('{"text": 1}\nnothing\n{"body": "tea"}\n')
    line = ("encode", "a.jsonl", "-o", "out", "--fit", "--scheduler", "local")
    stopped = gem(*line)
    assert stopped.status == 2
    assert stopped.err.splitlines()[-1].startswith("Error: a.jsonl line 301: the field 'text' is 1")
    skipped = gem(*line, "--on-error", "skip", "--report", "bad.jsonl", "--json")
    assert (skipped.status, skipped.json["rows"], skipped.json["skipped"]) == (0, 300, 3)
    assert "Skipped: a.jsonl line 302: the line is not JSON" in skipped.err
    assert (
        "found 'body'; expected it: name the field that holds the text with --text-field"
        in skipped.err
    )
    rows = [json.loads(row) for row in (corpus / "bad.jsonl").read_text().splitlines()]
    assert [row["line"] for row in rows] == [301, 302, 303]
    assert rows[2]["problem"].endswith("with --text-field")
    assert not list((corpus / "home").glob("fits/*"))


def test_a_bad_record_is_told_in_a_line(gem, corpus):
    (corpus / "a.jsonl").write_text('{"text": "tea"}\nnothing\n')
    found = gem("build", "faq", "a.jsonl", "--scheduler", "local")
    assert found.status == 2
    _dashboard, *logs, error = found.err.splitlines()  # logs of the workers
    assert error.startswith("Error: a.jsonl line 2: the line is not JSON")
    told, _, advice = error.removeprefix("Error: ").partition(": skip such records with ")
    assert advice == "--on-error skip"
    assert {line.partition(": skip such records")[0] for line in logs} == {f"a.jsonl: {told}"}


def test_ctrl_c_in_a_terminal_reaches_the_workers_too(corpus):
    (corpus / "long.txt").write_text("\n".join(sentences(200_000)))
    line = ("--home", "home", "encode", "long.txt", "-o", "out", "--fit", "--scheduler", "local")
    program = "from gem_index_cli.start import main; main()"
    with subprocess.Popen(
        [sys.executable, "-c", program, *line],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a script in the background may have set it to be ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        wait_for(lambda: list(corpus.glob("home/fits/*")), 60)
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=60)
    assert process.returncode == 130
    dashboard, error = filter(None, told.splitlines())
    assert dashboard.startswith("Dashboard: ")
    assert error == "Error: interrupted"


LOCAL = ("--scheduler", "local")
BUILD = ("build", "x", "a.jsonl")


@pytest.mark.usefixtures("forked")
@pytest.mark.parametrize(
    ("line", "message"),
    [
        ((*BUILD, "--prune", *LOCAL), "found --prune with --scheduler; expected files of records"),
        ((*BUILD, "--parts", "y"), "found --parts without --scheduler; expected both"),
        ((*BUILD, "--duplicates", "last", *LOCAL), "duplicates is 'last'; expected 'stop'"),
        (("build", "x", "no*.txt", *LOCAL), "found no file like no*.txt; expected at least one"),
        (("fit", "m", "a.jsonl", "--scheduler", "here"), "the scheduler is 'here'; expected local"),
        (
            ("encode", "a.jsonl", "-o", "out", "--scheduler", "nosuch://x:1"),
            "the Dask scheduler nosuch://x:1 cannot be used: ",
        ),
        (("fit", "m", "no*.jsonl", *LOCAL), "found no file like no*.jsonl; expected at least one"),
        (("encode", "empty.txt", "-o", "out", *LOCAL), "empty.txt is empty; expected"),
        (("encode", "-", "-o", "out", *LOCAL), "the input is '-'; expected files that every"),
        (("encode", "a.jsonl", "-o", "x.npy", *LOCAL), "expected a folder or the URL of one"),
        (("encode", "a.jsonl", "-o", "/proc/no", *LOCAL), "cannot write to /proc/no: "),
        (("encode", "a.jsonl", "-o", "x.npy", "--texts"), "found --texts without --scheduler"),
        (
            ("embed", "a.jsonl", "--to", "parquet://./x", *LOCAL),
            "takes one writer; expected one that the workers of a cluster write to at once: chroma",
        ),
        (
            ("embed", "a.jsonl", "--to", "parquet://./x", "--glob", "*", *LOCAL),
            "found --glob and no",
        ),
        (
            ("embed", "a.txt", "--to", "parquet://./x", "--whole", *LOCAL),
            "found --whole with --sch",
        ),
        (
            ("embed", "a.csv", "--to", "nosuch://x", "--types", "auto", *LOCAL),
            "no vector database is named 'nosuch'",
        ),
    ],
)
def test_what_is_refused_before_any_work(gem, corpus, line, message):
    (corpus / "empty.txt").touch()
    answer = gem(*line)
    last = answer.err.splitlines()[-1]
    assert last.startswith("Error: ")
    assert message in last
    assert answer.status == (1 if "cannot be used" in message else 2)
    assert answer.out == ""
    assert not (corpus / "out").exists()
    assert not (corpus / "x.npy").exists()
