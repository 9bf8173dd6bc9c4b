"""Run the README's command lines in their order, in one home."""

import gzip
import io
import json
import random
import re
import shlex
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import WORDS as COMMON
from gem_index_cli.main import run

README = (Path(__file__).resolve().parents[2] / "README.md").read_text()
WORDS = [*COMMON, "man", "king", "woman", "queen"]

NOT_HERE = {
    "gem-index vectors add glove.840B.300d": "downloads 2 GB",
    "gem-index vectors add glove.840B.300d --from glove.840B.300d.zip": "needs what was downloaded",
    "gem-index eval transfer SentEval/data/downstream": "needs the eight data sets of SentEval",
}
"""What is left out, and why; tests of its own hold these commands (test_download.py, test_transfer.py)."""


def lines():
    for block in re.findall(r"```sh\n(.*?)```", README, re.S):
        for line in block.splitlines():
            if line.startswith("gem-index "):
                yield line


def write(path, *rows):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text("".join(f"{row}\n" for row in rows))


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Small versions of the files that the README names."""
    monkeypatch.chdir(tmp_path)
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=6)) for _ in range(30)]
    rows = [{"id": i, "text": text, "lang": "en", "year": 2010 + i} for i, text in enumerate(texts)]
    write("questions.jsonl", *map(json.dumps, [*rows, {"id": 42, "text": "visa form 27b"}]))
    write("more-questions.csv", "id,text,lang", "a,where is the visa form 27b,en")
    candidates = [texts[0], {"id": "x", "text": texts[1]}]
    write("candidates.jsonl", json.dumps({"query": "renew a visa", "candidates": candidates}))
    write("texts.txt", *texts)
    write("more.txt", *texts[:3])
    vectors = "".join(f"{w} {' '.join(str(rng.gauss(0, 1)) for _ in range(16))}\n" for w in WORDS)
    with gzip.open("my-vectors.vec.gz", "wt") as file:
        file.write(vectors)
    pairs = [
        f"main\tx\ty\t{i}\t{rng.randint(0, 5)}.0\t{a}\t{b}"
        for i, (a, b) in enumerate(pairwise(texts))
    ]
    write("sts-dev.csv", *pairs)
    write("sts-test.csv", *pairs)
    write("dev-sets.toml", 'set = [{ task = "sts", path = "sts-dev.csv" }]')
    related = "".join(
        f'<Thread THREAD_SEQUENCE="{q}{i}"><RelQuestion RELQ_ID="{q}_{i}" RELQ_RELEVANCE2ORGQ="{good}">'
        f"<RelQSubject>s</RelQSubject><RelQBody>{texts[i]}</RelQBody></RelQuestion></Thread>"
        for q in ("Q1",)
        for i, good in enumerate(["PerfectMatch", "Irrelevant", "Relevant"])
    )
    write(
        "SemEval2016-Task3-CQA-QL-dev.xml",
        '<xml><OrgQuestion ORGQ_ID="Q1"><OrgQSubject>visa</OrgQSubject><OrgQBody>renew</OrgQBody>',
        f"{related}</OrgQuestion></xml>",
    )
    write(
        "scifact/corpus.jsonl",
        *(json.dumps({"_id": f"d{i}", "title": "", "text": t}) for i, t in enumerate(texts)),
    )
    write(
        "scifact/queries.jsonl", *(json.dumps({"_id": f"q{i}", "text": texts[i]}) for i in range(3))
    )
    write(
        "scifact/qrels/test.tsv",
        "query-id\tcorpus-id\tscore",
        *(f"q{i}\td{i}\t1" for i in range(3)),
    )


def test_the_command_lines_run_in_the_order_written(files, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "home"))
    assert set(NOT_HERE) <= set(lines())
    ran = 0
    for line in lines():
        if line in NOT_HERE:
            continue
        piped = ""
        for command in line.split(" | "):
            stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(piped.encode())))
            monkeypatch.setattr(sys, "stdin", stdin)
            capfd.readouterr()
            status = run(shlex.split(command)[1:])
            piped, said = capfd.readouterr()
            assert status == 0, f"{command}\n{said}"
            ran += 1
        if line.startswith('gem-index search faq "visa form 27b"'):
            assert "visa form 27b" in piped
    assert ran > 45
    assert sorted(path.name for path in tmp_path.glob("*.np*")) == ["more.npy", "vectors.npy"]
