"""Inputs of every format for tests on a cluster."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index.distributed.fitting import _KeptSums

_TEXT = (
    "bank account open money loan school visa renew phone plan battery river two ducks swimming water tea cup the of and "
    "to a in is it you that was for on with nothingknown"
)
WORDS = _TEXT.split()


def sentences(count, seed=3):
    choose = random.Random(seed)
    return [" ".join(choose.choices(WORDS, k=choose.randint(0, 9))) for _ in range(count)]


def write_inputs(folder: Path) -> list[str]:
    """Files of each format; the rows of some have no ids."""
    folder.mkdir(parents=True, exist_ok=True)
    texts = sentences(900)
    (folder / "a.txt").write_text("\n".join(texts[:400]) + "\n\n\nünïcode bank")
    with (folder / "b.jsonl").open("w") as file:
        for number, text in enumerate(texts[400:700]):
            named = {"id": f"b{number}"} if number % 3 else {}
            file.write(json.dumps({**named, "text": text, "n": number}) + "\n")
            if number % 50 == 0:
                file.write("\n")
    with gzip.open(folder / "c.jsonl.gz", "wt") as packed:
        packed.writelines(json.dumps({"text": text}) + "\n" for text in texts[700:800])
    quoted = "\n".join(f'{i},"{text}\nsecond line of {i}"' for i, text in enumerate(texts[800:850]))
    (folder / "d.csv").write_text(f"id,text\n{quoted}\n")
    rows = pa.table({"text": texts[850:], "year": list(range(50))})
    pq.write_table(rows, folder / "e.parquet", row_group_size=7)
    return [str(folder / name) for name in ("a.txt", "b.jsonl", "c.jsonl.gz", "d.csv", "e.parquet")]


@contextmanager
def stopped_fit(sums: int) -> Iterator[None]:
    """Stop the fit of this block as soon as it has kept some sums, wherever its other tasks stand."""
    keep, kept = _KeptSums.write, []

    def keep_or_stop(self, number, found):
        keep(self, number, found)
        kept.append(number)
        if len(kept) == sums:
            raise ZeroDivisionError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_KeptSums, "write", keep_or_stop)
        with pytest.raises(ZeroDivisionError):
            yield
