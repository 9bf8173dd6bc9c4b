"""The README's, the tutorial's and the guides' commands and Python, run in the order in which they stand there."""

import gzip
import json
import random
from itertools import pairwise
from pathlib import Path

import pytest

from conftest import WORDS as COMMON
from pages import GUIDES, NOT_RUN, TUTORIAL, PageRun, commands, shell_lines, write_files

WORDS = [*COMMON, "man", "king", "woman", "queen"]
EXPECTED = {
    "README.md": ["vectors.npy"],
    "vectors-for-another-system.md": ["more.npy", "vectors.npy"],
    "own-texts.md": [
        "groups.csv",
        "questions.parquet",
        "topics.html",
        "topics.jsonl",
        "topics.svg",
    ],
    "tune-and-measure.md": ["best.json"],
}
"""Files that a page's commands leave behind."""


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


@pytest.mark.parametrize("path", GUIDES, ids=lambda path: path.name)
def test_a_page_says_what_happens(path, files, tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("COLUMNS", "90")
    if path != TUTORIAL:
        write_files(TUTORIAL)  # what the other pages build their collections of
    page = PageRun(path, monkeypatch, capfd)
    page.run()
    said = [command for line in shell_lines(page.page) for command in commands(line)]
    assert page.ran == [command for command in said if command not in NOT_RUN]
    for name in EXPECTED.get(path.name, []):
        assert Path(name).stat().st_size > 0
