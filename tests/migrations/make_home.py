"""Write the home of an older version for the tests of upgrades: ``python tests/migrations/make_home.py PROGRAM REVISION``.

PROGRAM is the ``gem-index`` of an environment in which that version is installed: of the last commit before the migration
after REVISION was added. The home and what it answers are written to ``assets/home-REVISION.tar.gz`` and ``.json``. It holds
word vectors, a fitted collection with documents that came after the fit, and a saved model.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ASSETS = Path(__file__).parent / "assets"
SUBJECTS = ("account", "passport", "library card", "parking permit", "water bill", "garden")
QUESTIONS = ("open", "renew", "close", "pay for", "report the loss of")
TEXTS = [f"how do I {verb} my {subject}" for subject in SUBJECTS for verb in QUESTIONS]
LATER = ["where can I swim in the river", "when is the town hall open"]
QUERIES = ("open an account", "pay the bill", "swim in the river")


def vectors() -> str:
    """Return random vectors of all words, as text."""
    draw = random.Random(1)
    words = sorted({word for text in (*TEXTS, *LATER, *QUERIES) for word in text.lower().split()})
    rows = (" ".join(f"{draw.gauss(0, 1):.4f}" for _ in range(24)) for _ in words)
    return "".join(f"{word} {row}\n" for word, row in zip(words, rows, strict=True))


def main(program: str, revision: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)

        def run(*arguments: str) -> Any:
            line = [program, "--home", "oldhome", *arguments, "--json"]
            done = subprocess.run(line, cwd=root, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(f"{arguments}: {done.stderr}")
            return json.loads(done.stdout)

        (root / "tiny.txt").write_text(vectors())
        rows = [{"id": f"q{n}", "text": text, "n": n} for n, text in enumerate(TEXTS)]
        (root / "faq.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        later = [{"id": f"l{n}", "text": text, "n": n} for n, text in enumerate(LATER)]
        (root / "later.jsonl").write_text("".join(json.dumps(row) + "\n" for row in later))
        (root / "texts.txt").write_text("\n".join(TEXTS) + "\n")
        run("db", "upgrade")  # makes the home
        run("vectors", "add", "tiny", "tiny.txt")
        run("build", "faq", "faq.jsonl", "--vectors", "tiny")
        run("add", "faq", "later.jsonl")
        run("fit", "m", "texts.txt", "--vectors", "tiny")
        found = {
            "revision": run("db", "current")["revision"],
            "documents": {row["id"]: row["text"] for row in (*rows, *later)},
            "fingerprint": run("status", "faq")["collections"][0]["fingerprint"],
            "model": next(
                each["fingerprint"] for each in run("models", "list") if each["name"] == "m"
            ),
            "dense": {
                query: [
                    [hit["id"], hit["score"]]
                    for hit in run("search", "faq", query, "-k", "5", "--mode", "dense")
                ]
                for query in QUERIES
            },
        }
        assert found["revision"] == revision, found["revision"]
        with tarfile.open(ASSETS / f"home-{revision}.tar.gz", "w:gz") as archive:
            archive.add(root / "oldhome", "oldhome")
        (ASSETS / f"home-{revision}.json").write_text(json.dumps(found) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
