"""Read an export of a collection, check it, and store it in a home."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.collection.state.calibration import Calibration
from gem_index.collection.state.models import (
    open_encoder,
    open_unfitted,
    open_vectors,
    record_of,
)
from gem_index.collection.write.exports import (
    BINARY,
    COLUMNS,
    ROWS,
    TEXTS,
    VERSIONS,
    Export,
)
from gem_index.common.json_input import JsonError, parse_json
from gem_index.documents import EXPORT_FORMAT, Document
from gem_index.errors import Action, Advice, ConfigError, CorruptionError, InputError
from gem_index.errors.quoting import quoted, quoted_error, quoted_path
from gem_index.files.arrow import load_pyarrow
from gem_index.files.inputs import open_input
from gem_index.gem.combined import MOST_ENCODERS, Encoder
from gem_index.gem.config import GemConfig
from gem_index.index.kinds import check_kind
from gem_index.readers import DocumentReader
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import ModelRecord
from gem_index.store.workspace import Workspace, check_name
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.synonyms import Synonyms
from gem_index.text.tokens import WeightedText
from gem_index.vectors.specification import VectorSpec

__all__ = ["import_documents", "model_of", "read_export"]

_LONGEST = dict.fromkeys((*TEXTS, "collection", "index", "description"), 1000) | dict.fromkeys(
    BINARY, 1 << 27
)


_LONGEST_LINE = 1 << 28


_MOST_DIMENSIONS = 65_536


def read_export(path: Path) -> Export:
    """Open a file that :func:`write_export` wrote.

    Raises
    ------
    InputError
        If the file is not an export, or its head is malformed. For a damaged document, the error is raised later, while
        the documents are read.
    """
    if path.suffix == ".parquet":
        pyarrow, parquet = load_pyarrow("reading Parquet")
        try:
            table = parquet.ParquetFile(path)
            head_text = (table.schema_arrow.metadata or {})[b"gem_index"]
            columns = [name for name in COLUMNS if name in table.schema_arrow.names]
        except (pyarrow.ArrowException, OSError, ValueError, LookupError) as error:
            raise _not_an_export(path) from error

        def rows() -> Iterator[Any]:
            try:
                for batch in table.iter_batches(ROWS, columns=columns):
                    for row in batch.to_pylist():
                        weights = row.get("weights")
                        yield row | {
                            "metadata": parse_json(row["metadata"]),
                            "weights": None if weights is None else parse_json(weights),
                        }
            except JsonError as error:
                raise _damaged(path, f"the metadata of a document {error}") from error
            except (pyarrow.ArrowException, OSError, ValueError, LookupError, TypeError) as error:
                raise _damaged(path, quoted_error(error)) from error

    else:
        with open_input(str(path)) as file:
            head_text = file.readline(_LONGEST_LINE + 1)

        def rows() -> Iterator[Any]:
            with open_input(str(path)) as file:
                file.readline(_LONGEST_LINE + 1)
                while line := file.readline(_LONGEST_LINE + 1):
                    try:
                        yield parse_json(line)
                    except JsonError as error:
                        raise _damaged(path, f"a document {error}") from error

    try:
        head = parse_json(head_text)
    except JsonError as error:
        raise _not_an_export(path) from error
    return _export(path, head, rows)


def _export(path: Path, head: Any, rows: Callable[[], Iterator[Any]]) -> Export:
    if not isinstance(head, dict) or head.get("format") != EXPORT_FORMAT:
        raise _not_an_export(path)
    if head.get("version") not in VERSIONS:
        raise InputError(
            f"{quoted_path(path)} has version {quoted(head.get('version'))}; expected at most {VERSIONS[-1]}: "
            "upgrade gem-index"
        )
    try:
        name, kind = _field(head, "collection", str), _field(head, "index", str)
        _field(head, "fingerprint", str)
        model = model_of(_field(head, "model", dict))
        check_kind(kind, model.dimension)
        reading = _reading(head.get("reading", {}))
        chunking = _chunking(head.get("cutting", {}))
        analysis = _analysis(head.get("analysis", {}))
        description = _field({"description": "", **head}, "description", str)
        calibration = _calibration(head.get("calibration", ""))
        synonyms = Synonyms.of_groups(head.get("synonyms", [])).stored
    except (ValueError, ConfigError, InputError) as error:
        raise _damaged(path, f"in its head {error}") from error

    def documents() -> Iterator[Document]:
        for row in rows():
            try:
                text = row["text"]
                if isinstance(row, dict) and row.get("weights") is not None:
                    text = WeightedText(text, row["weights"])
                yield Document(id=row["id"], text=text, metadata=row["metadata"])
            except (InputError, LookupError, TypeError) as error:
                reason = error if isinstance(error, InputError) else f"found {quoted(row)}"
                raise _damaged(path, f"of a document {reason}") from error

    return Export(
        path,
        name,
        kind,
        model,
        documents,
        reading,
        chunking,
        analysis,
        description,
        calibration,
        synonyms,
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _are_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(part, str) for part in value)


_READING: dict[str, Callable[[object], bool]] = {
    "id_field": _is_text,
    "text_fields": _are_texts,
    "encoding": _is_text,
    "types": lambda value: isinstance(value, dict),
    "clean": _are_texts,
}


def _chunking(value: Any) -> str:
    """Return the chunking as stored JSON; ValueError or ConfigError if it is malformed."""
    if not isinstance(value, dict) or not set(value) <= {"chunk", "overlap", "headings", "version"}:
        raise ValueError(
            f"the chunking is {quoted(value, 40)}; expected chunk, overlap and headings"
        )
    return json.dumps(Chunking.of(value).fields, sort_keys=True)


def _analysis(value: Any) -> str:
    """Return the settings of the analyzer as stored JSON; ValueError or ConfigError if it is malformed."""
    if not isinstance(value, dict) or not set(value) <= {"language", "version"}:
        raise ValueError(f"analysis is {quoted(value, 40)}, not language and version")
    return Analyzer.of(json.dumps(value)).stored


def _calibration(value: Any) -> str:
    """Return a calibration as stored JSON, empty without one; ValueError if it is malformed."""
    if value == "":
        return ""
    try:
        return Calibration.from_json(value).to_json()
    except (TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"calibration is {quoted(value, 40)}, not a calibration") from error


def _reading(value: Any) -> str:
    """Return the reading options as stored JSON; ValueError if they are malformed."""
    if not isinstance(value, dict) or not all(
        name in _READING and _READING[name](part) for name, part in value.items()
    ):
        raise ValueError(f"reading is {quoted(value, 40)}, not {', '.join(_READING)}")
    DocumentReader([], **value)  # raises ConfigError if a weight, a type or a cleaning is wrong
    return json.dumps(value, sort_keys=True)


def _field(fields: dict[str, Any], name: str, kind: type) -> Any:
    """Return a field of the head; ValueError if the field is missing or has another type."""
    value = fields.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        problem = f"{name} is {quoted(value, 40)}, not a {kind.__name__}"
        raise ValueError(problem)  # noqa: TRY004 - a TypeError is for arguments, this value is from a file
    if isinstance(value, str) and not value.isprintable():
        raise ValueError(f"{name} is {quoted(value, 40)}, which cannot be printed")
    if isinstance(value, str) and len(value) > _LONGEST[name]:
        raise ValueError(f"{name} has {len(value)} characters, more than {_LONGEST[name]}")
    return value


def model_of(fields: dict[str, Any]) -> ModelRecord:
    """Return the nameless model that ``exports.model_fields`` described; ValueError if the fields are malformed."""
    if "parts" not in fields:
        return _encoder(fields)
    parts = fields["parts"]
    if not isinstance(parts, list) or not 2 <= len(parts) <= MOST_ENCODERS:
        raise ValueError(f"the model's parts are {quoted(parts, 40)}, not 2 to {MOST_ENCODERS}")
    encoders = []
    for part in parts:
        weight = part.get("weight") if isinstance(part, dict) else None
        if not isinstance(weight, float) or not 1e-9 <= weight <= 1e9:
            raise ValueError(f"a part of the model is {quoted(part, 40)}, without a weight above 0")
        encoders.append(_encoder({k: v for k, v in part.items() if k != "weight"}, weight))
    known = {*TEXTS, *BINARY, "dimension", "sentences", "id", "name", "parts"}
    if unknown := set(fields) - known:
        raise ValueError(f"the model has the unknown field {quoted(min(unknown))}")
    dimension = _field(fields, "dimension", int)
    if dimension != sum(part.dimension for part in encoders):
        raise ValueError(f"the model's dimension is {dimension}, not the sum of its parts'")
    return ModelRecord(
        name=None,
        fingerprint=_hash(fields, "fingerprint"),
        vectors=", ".join(part.vectors for part in encoders),
        vectors_fingerprint="",
        config="",
        recipe="",
        dimension=dimension,
        sentences=encoders[0].sentences,
        directions=None,
        singular_values=None,
        created_at=_field(fields, "created_at", str),
        parts=tuple(encoders),
    )


def _hash(fields: dict[str, Any], name: str) -> str:
    text: str = _field(fields, name, str)
    if not re.fullmatch("[0-9a-f]{64}", text):
        raise ValueError(f"{name} is {quoted(text, 40)}, not a SHA-256")
    return text


def _encoder(fields: dict[str, Any], weight: float | None = None) -> ModelRecord:
    if unknown := set(fields) - {*TEXTS, *BINARY, "dimension", "sentences", "id", "name"}:
        raise ValueError(f"the model has the unknown field {quoted(min(unknown))}")
    text = {name: _field(fields, name, str) for name in TEXTS}
    for name in ("fingerprint", "vectors_fingerprint"):
        _hash(text, name)
    for name in VectorSpec.parse(text["vectors"]).names:
        # names only, no paths, because the export of another machine must not make this machine read a file
        check_name("vectors", name)
    config = GemConfig.from_json(text["config"])
    dimension, sentences = (_field(fields, name, int) for name in ("dimension", "sentences"))
    if not 1 <= dimension <= _MOST_DIMENSIONS or not 0 <= sentences < 1 << 63:
        raise ValueError(f"dimension is {quoted(dimension)} and sentences {quoted(sentences)}")
    directions, values = (_numbers(fields, name) for name in BINARY)
    if (directions is None) != (values is None):
        raise ValueError(
            "there are directions without singular values, or singular values without directions"
        )
    if values is not None and directions is not None:
        if len(values) % 8 or len(directions) != len(values) * dimension:
            raise ValueError("the numbers of directions and of singular values differ")
        if not all(np.isfinite(np.frombuffer(data, "<f8")).all() for data in (directions, values)):
            raise ValueError("the directions or singular values are not finite")
    return ModelRecord(
        name=None,
        **(text | {"config": config.to_json()}),
        dimension=dimension,
        sentences=sentences,
        directions=directions,
        singular_values=values,
        weight=weight,
    )


def _numbers(fields: dict[str, Any], name: str) -> bytes | None:
    if fields.get(name) is None:
        return None
    return base64.b64decode(_field(fields, name, str), validate=True)


def import_documents(
    workspace: Workspace, export: Export, name: str, *, unfitted: bool = False
) -> int:
    """Create a collection with the model and the documents of an export, in one transaction; no index is built.

    Parameters
    ----------
    workspace : Workspace
    export : Export
    name : str
    unfitted : bool
        Take only the configuration of the model, with this home's word vectors of the same names. A calibration is not
        taken, because it belongs to the model.

    Returns
    -------
    int
        The number of documents in the file.

    Raises
    ------
    FingerprintMismatchError
        If the home has word vectors of the same name as the model's, but with other content.
    InputError
        If a document is damaged, or the model is not the one that was fitted.
    """
    if unfitted:
        with workspace.database.reading() as connection:
            encoder = open_unfitted(workspace, export.model, connection)
        model = record_of(encoder, [part.vectors for part in export.model.encoders])
    else:
        encoder, model = _fitted(workspace, export), export.model
    check_kind(export.index_kind, encoder.dimension)
    with workspace.database.writing() as connection:
        names = CollectionRepository(connection)
        model_id = ModelRepository(connection).add(model)
        record = names.add(
            name,
            model_id,
            export.index_kind,
            export.reading,
            export.chunking,
            export.analysis,
            export.description,
        )
        names.use_calibration(record.id, "" if unfitted else export.calibration)
        names.use_synonyms(record.id, export.synonyms)
        documents = DocumentRepository(connection, record.id)
        added = documents.upsert(export.documents()).added
        if encoder.fitted:
            names.use_model(record.id, model_id, documents.last_seq(), added)
    return added


def _fitted(workspace: Workspace, export: Export) -> Encoder:
    """Return the encoder of an export, which must be the one that was fitted."""
    # opened first, because damaged word vectors of the home raise the same error as a changed model in the file
    for part in export.model.encoders:
        open_vectors(workspace, part.vectors)
    try:
        return open_encoder(workspace, export.model)
    except CorruptionError as error:
        place = "its schema" if export.path.suffix == ".parquet" else "line 1"
        raise InputError(
            f"{quoted_path(export.path)} is damaged or was changed after its export: the model in {place} is not the one "
            "that was fitted; expected the file that export wrote",
            Advice(Action.IMPORT_TEXTS),
        ) from error


def _damaged(path: Path, problem: str) -> InputError:
    return InputError(f"{quoted_path(path)} is damaged: {problem}; expected a complete export")


def _not_an_export(path: Path) -> InputError:
    return InputError(
        f"{quoted_path(path)} is not an exported collection; expected a file of an export (build takes other files)"
    )
