"""Write a collection to a JSON lines or Parquet file, with its model, texts, metadata and vectors.

The first JSON line, or the metadata of the Parquet schema, describes the file and has the model. Each document has
``id``, ``text``, ``metadata`` and ``vector``, and also ``weights`` if the fields of its text have different weights.
An import restores the documents in their order and the stored model, bit for bit. The vectors in the file are for other
systems: an import computes the vectors again from the texts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.collection.state.access import CollectionRows
from gem_index.documents import EXPORT_FORMAT, Document
from gem_index.errors import Action, Advice, InputError
from gem_index.files.arrow import load_pyarrow
from gem_index.files.publishing import publish_file
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress
from gem_index.store.records import ModelRecord, StoredDocument
from gem_index.text.tokens import WeightedText

__all__ = ["Export", "model_fields", "write_export"]

Block = tuple[Sequence[StoredDocument], npt.NDArray[np.float32]]

VERSIONS = (1, 2)  # version 2 has several encoders or weighted texts
ROWS = 1000
COLUMNS = ("id", "text", "metadata", "weights")
BINARY = ("directions", "singular_values")
TEXTS = ("fingerprint", "vectors", "vectors_fingerprint", "config", "recipe", "created_at")


@dataclass(frozen=True)
class Export:
    """The file of an export, the collection's name, index kind and model, and a function that reads the documents."""

    path: Path
    name: str
    index_kind: str
    model: ModelRecord
    documents: Callable[[], Iterator[Document]]
    reading: str = "{}"
    chunking: str = "{}"
    analysis: str = "{}"
    description: str = ""
    calibration: str = ""
    synonyms: str = ""


def write_export(
    path: Path, rows: CollectionRows, encoder: Encoder, progress: Progress | None = None
) -> int:
    """Write a collection to a ``.jsonl`` or ``.parquet`` file; after an error, no incomplete file is left.

    Raises
    ------
    InputError
        If the file name has another ending, or the file cannot be written.
    """
    if path.suffix not in (".jsonl", ".parquet"):
        raise InputError(
            f"the output is {path}; expected a name ending in .jsonl or .parquet",
            Advice(Action.WRITE_TABLE, {"collection": rows.record.name})
            if path.suffix == ".csv"
            else None,
        )
    record, model, documents = rows.record, rows.model(), rows.documents
    weighted = documents.weighted()
    head = {
        "format": EXPORT_FORMAT,
        "version": 2 if weighted or model.parts else 1,
        "collection": record.name,
        "index": record.index_kind,
        "reading": json.loads(record.reading),
        "cutting": json.loads(record.cutting),
        "analysis": json.loads(record.analysis),
        "description": record.description,
        "calibration": record.calibration,
        "synonyms": record.synonyms_of_words.groups,
        "fingerprint": encoder.fingerprint,
        "model": model_fields(model),
    }
    seqs = documents.seqs()

    def blocks() -> Iterator[Block]:
        for begin in range(0, len(seqs), ROWS):
            found = documents.by_seq(seqs[begin : begin + ROWS].tolist())
            stored = [found[seq] for seq in sorted(found)]
            yield stored, encoder.encode([document.text for document in stored])
            if progress is not None:
                progress("export", min(begin + ROWS, len(seqs)), len(seqs))

    write = _write_lines if path.suffix == ".jsonl" else _write_parquet
    try:
        with publish_file(path) as file:
            write(file, head, blocks(), encoder.dimension)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; expected a writable folder with room"
        ) from error
    return len(seqs)


def model_fields(model: ModelRecord) -> dict[str, Any]:
    """Return a model as JSON values, without its name in this home."""
    fields = _fields(model)
    if model.parts:
        fields["parts"] = [_fields(part) | {"weight": part.weight} for part in model.parts]
    return fields


def _fields(model: ModelRecord) -> dict[str, Any]:
    fields = {
        "id": None,
        "name": None,
        **{name: getattr(model, name) for name in (*TEXTS, *BINARY, "dimension", "sentences")},
    }
    for name in BINARY:
        if fields[name] is not None:
            fields[name] = base64.b64encode(fields[name]).decode()
    return fields


def _write_lines(file: Any, head: dict[str, Any], blocks: Iterator[Block], _: int) -> None:
    file.write(json.dumps(head).encode() + b"\n")
    for stored, vectors in blocks:
        for document, vector in zip(stored, vectors, strict=True):
            numbers = ", ".join(f"{number:.9g}" for number in vector.tolist())
            fields = {
                "id": document.document_id,
                "text": document.text,
                "metadata": json.loads(document.metadata),
            }
            if isinstance(document.text, WeightedText):
                fields["weights"] = document.text.weights
            line = json.dumps(fields, ensure_ascii=False)
            file.write(f'{line[:-1]}, "vector": [{numbers}]}}\n'.encode())


def _write_parquet(
    file: Any, head: dict[str, Any], blocks: Iterator[Block], dimension: int
) -> None:
    pyarrow, parquet = load_pyarrow("writing Parquet")
    kind = pyarrow.list_(pyarrow.float32(), dimension)
    text = pyarrow.string()
    schema = pyarrow.schema(
        [("id", text), ("text", text), ("metadata", text), ("vector", kind), ("weights", text)],
        metadata={"gem_index": json.dumps(head)},
    )
    # no dictionaries of the other columns: their values hardly repeat, so dictionaries would take time and save nothing
    with parquet.ParquetWriter(file, schema, use_dictionary=["metadata"]) as writer:
        for stored, vectors in blocks:
            columns = [
                pyarrow.array([document.document_id for document in stored], text),
                pyarrow.array([document.text for document in stored], text),
                pyarrow.array([document.metadata for document in stored], text),
                pyarrow.FixedSizeListArray.from_arrays(
                    pyarrow.array(vectors.reshape(-1)), type=kind
                ),
                pyarrow.array(
                    [
                        json.dumps(document.text.weights)
                        if isinstance(document.text, WeightedText)
                        else None
                        for document in stored
                    ],
                    text,
                ),
            ]
            writer.write_batch(pyarrow.record_batch(columns, schema=schema))
