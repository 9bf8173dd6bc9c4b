"""What commands print, whole: ``outputs.txt`` has each command, its output, and its errors.

Lines that begin with ``$`` are commands, those with ``!`` are printed to standard error, and ``[2]`` is an exit status. The
commands of a block run one after the other in a folder with the files below and a home with the collection faq. If messages
change, ``REWRITE_PAGES=1 pytest tests/cli/test_outputs.py`` writes the file again; read the difference.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
from pathlib import Path

import pytest

OUTPUTS = Path(__file__).with_name("outputs.txt")
MANUAL = (
    "# Phone\n\n"
    + "Charge the battery every day. " * 20
    + "\n\n## Screen\n\n"
    + ("Clean the screen with a dry cloth. " * 20)
)
VECTORS = {"visa": "1 0 0", "bank": "0 1 0", "loan": "0 1 1", "tea": "0 0 1"}


def blocks() -> list[str]:
    return OUTPUTS.read_text(encoding="utf-8").strip().split("\n\n$ ")


def write_files(folder: Path) -> None:
    """Write the files that the commands name."""

    def lines(name: str, *rows: object) -> None:
        texts = [row if isinstance(row, str) else json.dumps(row) for row in rows]
        (folder / name).write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    lines(
        "many.jsonl",
        *({"id": f"m{n}", "text": f"question {n}", "tag": f"t{n:02}"} for n in range(25)),
        {"id": "none", "text": "a question without a tag"},
    )
    lines(
        "odd.jsonl", {"id": "o\u0007dd", "text": "a\tb\u001b[31m\nlast é", "n": {"k": ["é\u0007"]}}
    )
    lines(
        "long-ids.jsonl",
        {"id": "x" * 28, "text": "renew a passport"},
        {"id": "y" * 29, "text": "renew a passport at the office", "text2": "z"},
    )
    lines(
        "near.jsonl",
        *(
            {"id": f"n{n}", "text": f"How do I renew my passport at the town hall{'!' * n}"}
            for n in range(8)
        ),
        {"id": "other", "text": "ducks on the river"},
    )
    lines(
        "bad.jsonl",
        {"id": "1", "text": "a good text"},
        *(f'{{"id": "{n}"}}' for n in range(2, 9)),
        "no JSON",
    )
    lines(
        "requests.jsonl",
        {"id": 7, "query": "visa", "candidates": ["a bank", {"id": "b", "text": "visas"}]},
    )
    lines("wrong-request.jsonl", {"query": "?", "candidates": [3]})
    lines("queries.jsonl", {"id": 1, "query": "vissa"}, {"id": 2, "query": "a loan"})
    lines("expected.csv", "query,expected", "extend a visa,v2", "cheap loan,b2")
    lines(
        "pairs.csv",
        "first,second,label",
        *(f"visa {n},visas {n},1\nvisa {n},tea {n},0" for n in range(5)),
    )
    lines("synonyms.txt", "visa, entry permit")
    lines(
        "html.jsonl",
        {"key": 1, "title": "Visas", "body": "<p>Renew a <b>visa</b></p>"},
        {"key": 1, "title": "T", "body": "<p>x y z</p>"},
    )
    lines("foreign.jsonl", *({"id": str(n), "text": "zxqv wvut qrst"} for n in range(3)))
    lines("vectors.txt", *(f"{word} {row}" for word, row in VECTORS.items()), "visa 1 1 1")
    lines(
        "german.jsonl",
        *(
            {"id": str(n), "text": f"Wo kann ich in der Stadt meinen Pass {n} verlängern?"}
            for n in range(3)
        ),
    )
    questions = (
        "Wie hoch ist die Miete für eine kleine Wohnung in der Stadt, und wann kann ich in die Wohnung einziehen?",
        "Where can I open an account at a bank, and how long do I have to wait until I can use my new account?",
        "Où puis-je renouveler mon passeport dans cette ville, et combien de temps faut-il pour le recevoir chez moi ?",
    )
    lines("mixed.jsonl", *({"id": f"{n}", "text": questions[n % 3]} for n in range(12)))
    lines(
        "scored.jsonl",
        {"id": "1", "text": "a visa", "score": 5},
        {"id": "2", "text": "two visas", "score": 7},
    )
    lines("empty.jsonl")
    folder.joinpath("docs").mkdir()
    (folder / "docs" / "manual.md").write_text(MANUAL)
    (folder / "docs" / "nothing.md").write_text("")
    for n in range(5):
        shutil.copy(folder / "near.jsonl", folder / "docs" / f"r{n}.jsonl")


@pytest.fixture
def folder(faq, tmp_path, monkeypatch):
    write_files(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    return tmp_path


def printed(gem, folder, block: str) -> str:
    """Return a block with what its commands print now."""
    found = []
    for line in f"$ {block.removeprefix('$ ')}".splitlines():
        if not line.startswith("$ "):
            continue
        words = [word.replace("FOLDER", str(folder)) for word in shlex.split(line)[1:]]
        answer = gem(*words)
        out, err = (text.replace(str(folder), "FOLDER") for text in (answer.out, answer.err))
        found += [line, *(each.rstrip() or "." for each in out.splitlines())]
        found += [f"! {each}" for each in err.splitlines()]
        found += [f"[{answer.status}]"] if answer.status else []
    return "\n".join(found)


@pytest.mark.parametrize(
    "block", blocks(), ids=lambda block: block.removeprefix("$ ").partition("\n")[0]
)
def test_commands_print_exactly_this(gem, folder, block):
    found = printed(gem, folder, block)
    if os.environ.get("REWRITE_PAGES"):
        whole = OUTPUTS.read_text(encoding="utf-8")
        OUTPUTS.write_text(whole.replace(block, found if block.startswith("$ ") else found[2:]))
    else:
        assert found == f"$ {block.removeprefix('$ ')}"
