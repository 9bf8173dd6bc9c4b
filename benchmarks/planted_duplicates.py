"""Find copies that are planted in real texts.

``python -m benchmarks.planted_duplicates [--contrasts] [--overlap 0.6 0.7] [--show N] TEXTS.jsonl ...`` takes 2,000
distinct texts (``--most``) of each file (objects with ``text``), and adds a changed copy of every fifth text. The kinds
alternate:

- typing: two neighboring characters change places,
- word: one word is replaced by a word of another text,
- cut: the last fifth of the characters is cut off,
- forwarded: "FWD: Re: " comes before the text, "Thanks, Anna" after it,
- form: upper case, without punctuation.

``--contrasts`` also compares texts in contrast, for example if a number was cut off.

For each view it prints the share of the copies of each kind that are in one group with their text, the number of groups with
two originals, the documents of the largest group, and the seconds. ``--show`` prints some groups with two originals.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gem_index import Document, Home
from gem_index.results import DuplicateGroup

KINDS = ("typing", "word", "cut", "forwarded", "form")
VIEWS = {"wording": ("wording",), "meaning": ("meaning",), "both": ("wording", "meaning")}


def read_texts(path: Path, most: int) -> list[str]:
    rows = (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())
    texts = dict.fromkeys(" ".join(row["text"].split()) for row in rows)
    return [text for text in texts if len(text) >= 5][:most]


def changed(kind: str, text: str, other: str, rng: random.Random) -> str:
    """Return a copy of a text, changed by a kind of change; ``other`` gives the new word."""
    words = text.split()
    place = rng.randrange(len(words))
    if kind == "typing":
        at = rng.choice([i for i in range(len(text) - 1) if text[i] != text[i + 1]])
        return text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    if kind == "word":
        return " ".join([*words[:place], rng.choice(other.split()), *words[place + 1 :]])
    if kind == "cut":
        return text[: len(text) * 4 // 5]
    if kind == "forwarded":
        return f"FWD: Re: {text} Thanks, Anna"
    return re.sub(r"[^\w\s]", "", text.upper())


def measure(path: Path, most: int, overlaps: Sequence[float], show: int, contrasts: bool) -> None:
    rng = random.Random(0)
    texts = read_texts(path, most)
    documents = [Document(id=str(i), text=text) for i, text in enumerate(texts)]
    for count, i in enumerate(range(0, len(texts), 5)):
        kind = KINDS[count % len(KINDS)]
        copy = changed(kind, texts[i], rng.choice(texts), rng)
        documents.append(Document(id=f"{i} {kind}", text=copy))
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build("planted", documents)
        collection = home.collection("planted")
        for overlap in overlaps:
            for name, views in VIEWS.items():
                if name == "meaning" and overlap != overlaps[0]:
                    continue
                started = time.perf_counter()
                groups = collection.duplicates(views=views, overlap=overlap, contrasts=contrasts)
                seconds = time.perf_counter() - started
                report(path, documents, name, overlap, groups, seconds)
        for group in groups[:show]:
            real = [each for each in group.ids if " " not in each]
            if len(real) > 1:
                print(group.views, [texts[int(each)][:100] for each in real[:3]])


def report(
    path: Path,
    documents: Sequence[Document],
    view: str,
    overlap: float,
    groups: Sequence[DuplicateGroup],
    seconds: float,
) -> None:
    found = dict.fromkeys(KINDS, 0)
    planted = Counter(each.id.partition(" ")[2] for each in documents)
    for group in groups:
        ids = set(group.ids)
        for each in group.ids:
            source, _, kind = each.partition(" ")
            if kind and source in ids:
                found[kind] += 1
    shares = {kind: round(found[kind] / planted[kind], 2) for kind in KINDS}
    real = sum(sum(" " not in each for each in group.ids) > 1 for group in groups)
    row = {
        "file": f"{path.parent.name}/{path.name}",
        "documents": len(documents),
        "view": view,
        "overlap": overlap,
        **shares,
        "groups with two originals": real,
        "largest group": max((len(group.ids) for group in groups), default=0),
        "seconds": round(seconds, 2),
    }
    print(json.dumps(row), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--overlap", nargs="+", type=float, default=[0.7])
    parser.add_argument("--contrasts", action="store_true")
    parser.add_argument("--most", type=int, default=2000)
    parser.add_argument("--show", type=int, default=0)
    asked = parser.parse_args()
    for path in asked.files:
        measure(path, asked.most, asked.overlap, asked.show, asked.contrasts)


if __name__ == "__main__":
    main()
