"""Each kind of file is read in each format, whole and damaged: documents come, or one line that says why not.

``GEM_TEST_FAULTS=N pytest tests/faults/test_formats.py`` draws other damage for each N.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import random
import zipfile

import pyarrow
import pyarrow.parquet
import pytest

from gem_index.errors import GemIndexError
from gem_index.readers import DocumentReader
from gem_index.readers.formats import FORMATS

SEED = os.environ.get("GEM_TEST_FAULTS", "1")
ROWS = [{"id": str(i), "text": f"Wie verlängere ich das Visum {i}? 签证"} for i in range(60)]
CONTENT = {
    "jsonl": "\n".join(json.dumps(row) for row in ROWS).encode(),
    "json": json.dumps(ROWS).encode(),
    "csv": b"id,text\n" + "\n".join(f'{r["id"]},"{r["text"]}"' for r in ROWS).encode(),
    "tsv": b"id\ttext\n" + "\n".join(f"{r['id']}\t{r['text']}" for r in ROWS).encode(),
    "txt": "\n".join(row["text"] for row in ROWS).encode(),
    "xml": b'<?xml version="1.0"?><posts>'
    + b"".join(
        f'<row Id="{r["id"]}" PostTypeId="1" Title="{r["text"]}" Body="x" Tags="&lt;a&gt;" />'.encode()
        for r in ROWS
    )
    + b"</posts>",
    "empty": b"",
    "zeros": bytes(5000),
}


def _parquet() -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(ROWS), file)
    return file.getvalue()


def _sheet() -> bytes:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in [("id", "text"), *((r["id"], r["text"]) for r in ROWS)]:
        book.active.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def _zipped(data: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("rows.csv", data)
    return file.getvalue()


PACKED = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".xz": lzma.compress,
    ".zip": _zipped,
}


def _damaged(data: bytes, rng: random.Random) -> list[bytes]:
    """Return the data cut off, with changed bytes, and with bytes left out."""
    if len(data) < 20:
        return []
    changed = bytearray(data)
    for _ in range(20):
        changed[rng.randrange(len(changed))] = rng.randrange(256)
    head = bytearray(data)
    head[rng.randrange(min(20, len(head)))] ^= 0xFF
    place = rng.randrange(len(data) - 10)
    return [data[: len(data) // 2], bytes(changed), bytes(head), data[:place] + data[place + 9 :]]


@pytest.mark.parametrize("packed", PACKED, ids=lambda ending: ending or "plain")
@pytest.mark.parametrize("form", [None, *FORMATS])
def test_a_file_is_read_or_refused_in_one_line(tmp_path, packed, form):
    rng = random.Random(f"{packed} {form} {SEED}")
    read = 0
    refused: list[str] = []
    for kind, data in {**CONTENT, "parquet": _parquet(), "xlsx": _sheet()}.items():
        whole = PACKED[packed](data)
        for content in (whole, *_damaged(whole, rng)):
            path = tmp_path / f"rows.{kind}{packed}"
            path.write_bytes(content)
            try:
                read += len(list(DocumentReader([str(path)], format=form)))
            except GemIndexError as error:
                refused.append(str(error))
    assert read
    assert refused
    assert not [line for line in refused if "\n" in line or f"{tmp_path}/rows." not in line]
