"""Measure how well ``drift`` tells new subjects from more of the same, and choose its bound.

``python -m benchmarks.novelty [--draws 20] [--batch 400] [--unseen 0.2] CORPUS ...`` reads corpora whose texts have
subjects:

- a folder in BEIR's layout: the texts are its queries, the subject of a query is its first relevant document. With ``:5``
  behind the folder, five consecutive documents are one subject (the paragraphs of an article);
- files or folders joined by commas: each is a subject. The texts are the lines of a file, the ``text`` of a .jsonl file,
  or the documents of a folder in BEIR's layout.

Each draw shuffles a corpus, takes a batch from it, fits a collection on at most 2,000 of the others, adds the batch, and
measures the drift. A quiet draw takes the batch from all texts. For a loud draw, a fifth of the batch is of subjects that
no fitted text has. The command prints how many quiet draws found nothing and how many loud draws found new subjects, the
share of the listed documents that are of unseen subjects in loud draws, and the seconds of a measurement. The last lines
choose the bound (the number of standard errors) on all corpora but one, and show the draws that are right on the corpus
that was left out.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gem_index import Document, Home
from gem_index.collection.corpus.novelty import BOUND, Novelty
from gem_index.results import Share

BOUNDS = np.arange(1.5, 5.01, 0.25)
MOST = 2000


@dataclass(frozen=True)
class Draw:
    """A measurement: whether subjects were unseen, the standard errors above the expected share, what was listed."""

    loud: bool
    height: float
    listed: int
    right: int
    seconds: float


def lines_of(path: Path) -> Iterator[str]:
    """Iterate over the texts of a file, or of a folder in BEIR's layout."""
    if path.is_dir():
        path = path / "corpus.jsonl"
    for line in path.read_text("utf-8", errors="replace").splitlines():
        if path.suffix == ".jsonl":
            row = json.loads(line)
            yield f"{row.get('title', '')} {row['text']}".strip()
        else:
            yield line


def read_corpus(name: str) -> dict[str, str]:
    """Return the subject of each distinct text."""
    if "," in name:
        return {text: part for part in name.split(",") for text in lines_of(Path(part)) if text}
    folder, _, paragraphs = name.partition(":")
    rows = map(json.loads, (Path(folder) / "queries.jsonl").read_text("utf-8").splitlines())
    texts = {row["_id"]: row["text"] for row in rows}
    order: dict[str, int] = {}
    subjects: dict[str, str] = {}
    for line in (Path(folder) / "qrels" / "test.tsv").read_text("utf-8").splitlines()[1:]:
        query, document, _ = line.split("\t")
        number = order.setdefault(document, len(order))
        subjects.setdefault(texts[query], str(number // int(paragraphs or 1)))
    return subjects


def parts_of(
    subjects: Mapping[str, str], rng: np.random.Generator, batch: int, unseen: int
) -> tuple[list[str], list[str], set[str]]:
    """Return texts to fit on, the batch, and the subjects of which only the batch has texts."""
    texts = [list(subjects)[i] for i in rng.permutation(len(subjects))]
    hidden: set[str] = set()
    for subject in rng.permutation(sorted(set(subjects.values()))).tolist():
        if sum(subjects[text] in hidden for text in texts) >= unseen:
            break
        hidden.add(subject)
    novel = [text for text in texts if subjects[text] in hidden][:unseen]
    known = [text for text in texts if subjects[text] not in hidden]
    cut = batch - len(novel)
    return known[cut : cut + MOST], novel + known[:cut], hidden


def measure(fitted: Sequence[str], batch: Sequence[str]) -> tuple[Novelty, float]:
    with tempfile.TemporaryDirectory() as folder:
        home = Home(folder)
        home.build("c", [Document(id=f"f{i}", text=text) for i, text in enumerate(fitted)])
        collection = home.collection("c")
        collection.upsert([Document(id=f"b{i}", text=text) for i, text in enumerate(batch)])
        started = time.perf_counter()
        novelty = collection.drift().novelty
        assert novelty is not None
        return novelty, time.perf_counter() - started


def height_of(share: Share) -> float:
    """Return how many standard errors a share is above the expected one."""
    error = max(share.high - share.share, share.share - share.low) / BOUND
    return (share.share - share.expected) / max(error, 1e-9)


def draws_of(name: str, draws: int, batch: int, unseen: float) -> list[Draw]:
    subjects = read_corpus(name)
    found = []
    for number in range(draws):
        for loud in (False, True):
            rng = np.random.default_rng([number, loud])
            wanted = round(batch * unseen) if loud else 0
            fitted, texts, hidden = parts_of(subjects, rng, batch, wanted)
            novelty, seconds = measure(fitted, texts)
            height = max(height_of(novelty.far), height_of(novelty.together))
            right = sum(subjects[each.text] in hidden for each in novelty.documents)
            found.append(Draw(loud, height, len(novelty.documents), right, seconds))
    return found


def right_at(draws: Sequence[Draw], bound: float) -> tuple[int, int]:
    """Return the number of quiet draws below a bound, and of loud draws above it."""
    return (
        sum(not each.loud and each.height <= bound for each in draws),
        sum(each.loud and each.height > bound for each in draws),
    )


def chosen(corpora: Sequence[Sequence[Draw]]) -> float:
    """Return the bound whose worst corpus is best, then whose sum is best; of several such bounds the middle one."""

    def quality(bound: float) -> tuple[int, int]:
        right = [right_at(draws, bound) for draws in corpora]
        return min(map(min, right)), sum(map(sum, right))

    best = max(map(quality, BOUNDS))
    equal = [float(bound) for bound in BOUNDS if quality(bound) == best]
    return equal[len(equal) // 2]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--batch", type=int, default=400)
    parser.add_argument("--unseen", type=float, default=0.2)
    options = parser.parse_args()
    found: dict[str, list[Draw]] = {}
    for name in options.corpora:
        draws = draws_of(name, options.draws, options.batch, options.unseen)
        found[name] = draws
        quiet, loud = right_at(draws, BOUND)
        listed = sum(each.listed for each in draws if each.loud)
        right = sum(each.right for each in draws if each.loud)
        row = {
            "corpus": name,
            "quiet": f"{quiet} of {options.draws}",
            "loud": f"{loud} of {options.draws}",
            "listed are unseen": round(right / max(listed, 1), 2),
            "seconds": round(float(np.median([each.seconds for each in draws])), 2),
            "highest quiet": round(max(each.height for each in draws if not each.loud), 2),
            "lowest loud": round(min(each.height for each in draws if each.loud), 2),
        }
        print(json.dumps(row), flush=True)
    if len(found) > 1:
        for name, draws in found.items():
            bound = chosen([others for other, others in found.items() if other != name])
            quiet, loud = right_at(draws, bound)
            print(json.dumps({"left out": name, "bound": bound, "quiet": quiet, "loud": loud}))
        print(json.dumps({"bound on all": chosen(list(found.values()))}))


if __name__ == "__main__":
    main()
