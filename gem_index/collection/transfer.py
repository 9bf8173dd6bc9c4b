"""A collection as a file: JSON lines or Parquet, with its model, its texts, metadata and vectors.

The first JSON line, or the Parquet schema's metadata, tells what the file is and carries the model; then each document has
``id``, ``text``, ``metadata`` and ``vector``. Reading it back restores the collection bit for bit: documents in their order,
and the model as it was stored. The vectors are for other systems; here they are computed again from the texts.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.documents import Document
from gem_index.errors import InputError, MissingExtraError
from gem_index.files import UNPACKING_ERRORS, open_input, publish_file
from gem_index.gem.encoder import GemEncoder
from gem_index.index.kinds import check_kind
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, ModelRecord, StoredDocument
from gem_index.workspace import Workspace

__all__ = ["Export", "read_export", "restore_documents", "write_export"]

Progress = Callable[[str, int, int], None]
Block = tuple[Sequence[StoredDocument], npt.NDArray[np.float32]]

_MAGIC = "gem-index collection"
_VERSION = 1
_ROWS = 1000
_BINARY = ("directions", "singular_values")


@dataclass(frozen=True)
class Export:
    """What an export holds: the collection's name and kind of index, its model, and how to read its documents."""

    name: str
    index_kind: str
    model: ModelRecord
    documents: Callable[[], Iterator[Document]]


def write_export(
    path: Path,
    record: CollectionRecord,
    model: ModelRecord,
    documents: DocumentRepository,
    encoder: GemEncoder,
    progress: Progress | None = None,
) -> int:
    """Write a collection to a ``.jsonl`` or ``.parquet`` file; whole, or not at all.

    Raises
    ------
    InputError
        If the name ends otherwise, or cannot be written.
    """
    if path.suffix not in (".jsonl", ".parquet"):
        raise InputError(f"the output is {path}; expected a name ending in .jsonl or .parquet")
    fields = asdict(model) | {"id": None, "name": None}
    for name in _BINARY:
        if fields[name] is not None:
            fields[name] = base64.b64encode(fields[name]).decode()
    head = {
        "format": _MAGIC,
        "version": _VERSION,
        "collection": record.name,
        "index": record.index_kind,
        "fingerprint": encoder.fingerprint,
        "model": fields,
    }
    seqs = documents.seqs()

    def blocks() -> Iterator[Block]:
        for begin in range(0, len(seqs), _ROWS):
            found = documents.by_seq(seqs[begin : begin + _ROWS].tolist())
            stored = [found[seq] for seq in sorted(found)]
            yield stored, encoder.encode([document.text for document in stored])
            if progress is not None:
                progress("export", min(begin + _ROWS, len(seqs)), len(seqs))

    write = _write_lines if path.suffix == ".jsonl" else _write_parquet
    try:
        with publish_file(path) as file:
            write(file, head, blocks(), encoder.dimension)
    except OSError as error:
        raise InputError(
            f"cannot write {path}: {(error.strerror or str(error)).lower()}; expected a writable folder with room"
        ) from error
    return len(seqs)


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
            line = json.dumps(fields, ensure_ascii=False)
            file.write(f'{line[:-1]}, "vector": [{numbers}]}}\n'.encode())


def _write_parquet(
    file: Any, head: dict[str, Any], blocks: Iterator[Block], dimension: int
) -> None:
    pyarrow, parquet = _pyarrow("writing")
    kind = pyarrow.list_(pyarrow.float32(), dimension)
    text = pyarrow.string()
    schema = pyarrow.schema(
        [("id", text), ("text", text), ("metadata", text), ("vector", kind)],
        metadata={"gem_index": json.dumps(head)},
    )
    with parquet.ParquetWriter(file, schema) as writer:
        for stored, vectors in blocks:
            columns = [
                pyarrow.array([document.document_id for document in stored], text),
                pyarrow.array([document.text for document in stored], text),
                pyarrow.array([document.metadata for document in stored], text),
                pyarrow.FixedSizeListArray.from_arrays(
                    pyarrow.array(vectors.reshape(-1)), type=kind
                ),
            ]
            writer.write_batch(pyarrow.record_batch(columns, schema=schema))


def read_export(path: Path) -> Export:
    """Open what :func:`write_export` wrote.

    Raises
    ------
    InputError
        If it is no such file; while the documents are read also if one of them is damaged.
    """
    if path.suffix == ".parquet":
        pyarrow, parquet = _pyarrow("reading")
        try:
            table = parquet.ParquetFile(path)
            head = json.loads((table.schema_arrow.metadata or {})[b"gem_index"])
        except (pyarrow.ArrowException, OSError, ValueError, LookupError) as error:
            raise _not_an_export(path) from error

        def rows() -> Iterator[dict[str, Any]]:
            for batch in table.iter_batches(_ROWS, columns=["id", "text", "metadata"]):
                for row in batch.to_pylist():
                    yield row | {"metadata": json.loads(row["metadata"])}

    else:
        try:
            with open_input(str(path)) as file:
                head = json.loads(file.readline())
        except (*UNPACKING_ERRORS, ValueError) as error:
            raise _not_an_export(path) from error

        def rows() -> Iterator[dict[str, Any]]:
            with open_input(str(path)) as file:
                file.readline()
                for line in file:
                    yield json.loads(line)

    return _export(path, head, rows)


def _export(path: Path, head: Any, rows: Callable[[], Iterator[dict[str, Any]]]) -> Export:
    if not isinstance(head, dict) or head.get("format") != _MAGIC:
        raise _not_an_export(path)
    for name in ("collection", "index"):
        if not isinstance(head.get(name), str):
            raise _not_an_export(path)
    if head.get("version") != _VERSION:
        raise InputError(
            f"{path} is of version {head.get('version')}; expected {_VERSION}: upgrade gem-index"
        )

    def documents() -> Iterator[Document]:
        try:
            for row in rows():
                yield Document(id=row["id"], text=row["text"], metadata=row["metadata"])
        except (*UNPACKING_ERRORS, ValueError, LookupError, TypeError) as error:
            raise InputError(f"{path} is damaged: {error}; expected a whole export") from error

    try:
        return Export(head["collection"], head["index"], _model(dict(head["model"])), documents)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{path} is damaged: its first line holds no model ({error}); expected a whole export"
        ) from error


def _model(fields: dict[str, Any]) -> ModelRecord:
    """Return the model that an export carries; ValueError where its parts do not agree."""
    for name in _BINARY:
        if fields[name] is not None:
            fields[name] = base64.b64decode(fields[name], validate=True)
    model = ModelRecord(**fields)
    if not (isinstance(model.dimension, int) and model.dimension > 0):
        raise ValueError(f"its dimension is {model.dimension!r}")
    if not (isinstance(model.sentences, int) and model.sentences >= 0):
        raise ValueError(f"its number of sentences is {model.sentences!r}")
    if model.directions is not None and model.singular_values is not None:
        expected = len(model.singular_values) * model.dimension
        if len(model.singular_values) % 8 or len(model.directions) != expected:
            raise ValueError("its directions are not as many as its singular values")
    return model


def restore_documents(workspace: Workspace, export: Export, name: str) -> int:
    """Make a collection of an export's model and documents, in one transaction; it has no index yet.

    Returns
    -------
    int
        How many documents it holds.

    Raises
    ------
    FingerprintMismatchError
        If the home's word vectors of the model's name are others.
    InputError
        If a document is damaged.
    """
    encoder = workspace.encoder(export.model)
    check_kind(export.index_kind, encoder.dimension)
    with workspace.database.writing() as connection:
        names = CollectionRepository(connection)
        model_id = ModelRepository(connection).add(export.model)
        record = names.add(name, model_id, export.index_kind)
        documents = DocumentRepository(connection, record.id)
        added = documents.upsert(export.documents()).added
        if encoder.fitted:
            names.use_model(record.id, model_id, documents.last_seq(), added)
    return added


def _not_an_export(path: Path) -> InputError:
    return InputError(
        f"{path} is no exported collection; expected what gem-index export wrote (build takes other files)"
    )


def _pyarrow(doing: str) -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError(f"{doing} Parquet", "parquet") from error
    return pyarrow, pyarrow.parquet
