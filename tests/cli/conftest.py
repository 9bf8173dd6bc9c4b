from __future__ import annotations

import hashlib
import io
import json
import sqlite3
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path

import pytest

from gem_index_cli.main import run
from homes import leave_empty


@dataclass
class Answer:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)

    @property
    def lines(self):
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def gem(copied_home, tmp_path, capfd):
    """Run a command in this process: gem('search', 'faq', 'visa') with the home tmp_path/home, which is empty at first."""

    def command(*arguments: object) -> Answer:
        if not (tmp_path / "home").exists():
            copied_home(leave_empty)
        capfd.readouterr()
        status = run(["--home", str(tmp_path / "home"), *map(str, arguments)])
        out, err = capfd.readouterr()
        return Answer(status, out, err)

    return command


@pytest.fixture
def state(tmp_path):
    """A digest of everything a home holds, to show that a refused command changed nothing."""

    def digest() -> str:
        root: Path = tmp_path / "home"
        hashes = hashlib.sha256()
        for path in sorted(root.rglob("*")):
            if path.name == "gem-index.sqlite3":
                with sqlite3.connect(path) as connection:
                    # a number given out and taken back is the one thing that may move on
                    lines = (
                        line for line in connection.iterdump() if "sqlite_sequence" not in line
                    )
                    hashes.update("\n".join(lines).encode())
            elif path.is_file() and path.suffix not in (".sqlite3-wal", ".sqlite3-shm", ".lock"):
                hashes.update(f"{path.relative_to(root)} ".encode() + path.read_bytes())
        return hashes.hexdigest()

    return digest


QUESTIONS = [
    {"id": "v1", "text": "How do I renew my residence visa?", "topic": "visa", "year": 2019},
    {"id": "v2", "text": "What papers do I need to extend a visa?", "topic": "visa", "year": 2021},
    {"id": "b1", "text": "Where can I open a bank account?", "topic": "bank", "year": 2020},
    {"id": "b2", "text": "Which bank gives the cheapest loan?", "topic": "bank", "year": 2022},
    {
        "id": "p1",
        "text": "My phone battery is empty after half a day.",
        "topic": "phone",
        "year": 2020,
    },
]


@pytest.fixture
def faq_file(tmp_path):
    return write_questions(tmp_path)


def write_questions(folder):
    path = folder / "faq.jsonl"
    path.write_text("".join(json.dumps(question) + "\n" for question in QUESTIONS))
    return path


def run_quietly(home, *arguments):
    with redirect_stdout(io.StringIO()):
        assert run(["--home", str(home.root), *map(str, arguments)]) == 0


def build_faq(home):
    run_quietly(home, "build", "faq", write_questions(home.root.parent), "--json")


def build_faq_and_model(home):
    build_faq(home)
    run_quietly(home, "fit", "model", home.root.parent / "faq.jsonl")


@pytest.fixture
def faq_and_model(copied_home, faq_file):
    """As ``faq``, and a model that is fitted on the same file."""
    copied_home(build_faq_and_model)
    return faq_file


@pytest.fixture
def faq(copied_home, faq_file):
    """A home with the collection faq; return the file that it was built from."""
    copied_home(build_faq)
    return faq_file
