"""A folder of Parquet files as a target: each batch is a file, and the manifest names the files that count."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.common.arrays import F32, WORD_DIMENSIONS, SparseVector
from gem_index.errors import UnreadableFileError
from gem_index.errors.quoting import quoted_error
from gem_index.files.arrow import load_pyarrow
from gem_index.files.publishing import create_file
from gem_index.targets.batch import TargetBatch
from gem_index.targets.folder import FolderTable, FolderTarget, create_manifest, table_errors
from gem_index.targets.metadata import JsonObjects
from gem_index.targets.protocol import Neighbor, TargetDocument, TargetSchema
from gem_index.targets.sparse_columns import WORD_COLUMNS, word_columns, word_products, word_vectors
from gem_index.targets.url import TargetUrl

__all__ = ["ParquetTable", "ParquetTarget", "columns_of_rows", "require_pyarrow"]

_BYTES_OR_VECTORS = re.compile(
    r"(large_|fixed_size_)?(binary|list<\w+: (float|double|halffloat|bfloat16))"
)
"""How Arrow writes the types of bytes, and of lists of floating-point numbers."""


class ParquetTable(FolderTable):
    """One table: a manifest and the files that it names.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._files: dict[str, int] = self._manifest["files"]  # and how many rows each has
        self._file_of: dict[str, str] | None = None

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Write the documents to a new file; rewrite the files that already contain some of them, without these."""
        pyarrow, _ = require_pyarrow()
        batch = TargetBatch.of(documents, self.schema)
        columns = {
            "id": pyarrow.array(batch.ids, pyarrow.string()),
            "vector": pyarrow.FixedSizeListArray.from_arrays(
                pyarrow.array(np.asarray(batch.vectors, np.float32).reshape(-1)),
                self.schema.dimension,
            ),
            "metadata": pyarrow.array(batch.as_json, pyarrow.string()),
        }
        if self.schema.texts:
            columns["text"] = pyarrow.array(batch.texts, pyarrow.string())
        if self.schema.words:
            columns |= word_columns(batch.words)
        name = self._write(pyarrow.table(columns, metadata=self.schema.to_strings()))
        self._commit(self._without(batch.ids) | {name: len(batch)})
        self._located().update(dict.fromkeys(batch.ids, name))

    def delete(self, ids: Sequence[str]) -> None:
        """Rewrite the files that contain some of these documents, without these."""
        self._commit(self._without(ids))

    def count(self) -> int:
        """Return the number of documents."""
        return sum(self._files.values())

    def query(self, vector: F32, k: int) -> list[Neighbor]:
        """Return the k nearest documents, by a scan of all files."""
        found = [
            Neighbor(identifier, score)
            for ids, vectors in self.vectors()
            for identifier, score in zip(ids, (vectors @ vector).tolist(), strict=True)
        ]
        return sorted(found, key=lambda hit: -hit.score)[: max(0, k)]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, by a scan of all files."""
        found: list[Neighbor] = []
        for name in self._files:
            table = self._read(name, ["id", *WORD_COLUMNS])
            scores = word_products(words, table)
            matching = np.flatnonzero(scores > 0)
            ids = table["id"].take(matching).to_pylist()
            found += map(Neighbor, ids, scores[matching].tolist())
        return sorted(found, key=lambda hit: -hit.score)[: max(0, k)]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents, file by file."""
        for batch in self.batches():
            yield from batch

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents, from two columns of the files that hold them."""
        located = self._located()
        wanted = {identifier for identifier in ids if identifier in located}
        found: dict[str, Mapping[str, Any]] = {}
        for name in {located[identifier] for identifier in wanted}:
            table = self._read(name, ["id", "metadata"])
            for identifier, metadata in zip(
                table["id"].to_pylist(), table["metadata"].to_pylist(), strict=True
            ):
                if identifier in wanted:
                    found[identifier] = json.loads(metadata)
        return found

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents, from the files that hold them."""
        pyarrow, _ = require_pyarrow()
        located = self._located()
        wanted = [identifier for identifier in ids if identifier in located]
        found: dict[str, TargetDocument] = {}
        for name in {located[identifier] for identifier in wanted}:
            table = self._read(name)
            mask = pyarrow.compute.is_in(table["id"], value_set=pyarrow.array(wanted))
            found |= {each.id: each for each in self._batch_of(table.filter(mask))}
        return found

    def batches(self) -> Iterator[TargetBatch]:
        """Iterate over the files."""
        for name in self._files:
            yield self._batch_of(self._read(name))

    def _batch_of(self, table: Any) -> TargetBatch:
        return TargetBatch(
            table["id"].to_pylist(),
            self._vectors_of(table),
            table["text"].to_pylist() if self.schema.texts else None,
            JsonObjects(table["metadata"].to_pylist()),
            list(word_vectors(table)) if self.schema.words else None,
        )

    def vectors(self) -> Iterator[tuple[list[str], F32]]:
        """Iterate over the ids (n,) and vectors (n, d) of the files."""
        for name in self._files:
            table = self._read(name, ["id", "vector"])
            yield table["id"].to_pylist(), self._vectors_of(table)

    def _vectors_of(self, table: Any) -> F32:
        numbers: F32 = table["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
        return numbers.reshape(-1, self.schema.dimension)

    def _read(self, name: str, columns: list[str] | None = None) -> Any:
        """Return a file as a table.

        Raises
        ------
        ConfigError
            If another program has replaced it, or it is damaged.
        """
        pyarrow, parquet = require_pyarrow()
        try:
            return parquet.read_table(self._folder / name, columns=columns)
        except (OSError, pyarrow.ArrowException) as error:
            raise self.damage(name, quoted_error(error)) from error

    def finish(self) -> None:
        """Do nothing."""

    def notes(self) -> dict[str, Any]:
        """Return the other fields of the manifest."""
        return {}

    def _located(self) -> dict[str, str]:
        """Return the file of each document; the ids are read once."""
        if self._file_of is None:
            self._file_of = {}
            for name in self._files:
                ids = self._read(name, ["id"])["id"].to_pylist()
                self._file_of |= dict.fromkeys(ids, name)
        return self._file_of

    def _without(self, ids: Sequence[str]) -> dict[str, int]:
        """Write files again without some documents; return the files that then have all other documents."""
        pyarrow, _ = require_pyarrow()
        located, files = self._located(), dict(self._files)
        gone = [identifier for identifier in ids if identifier in located]
        for name in {located[identifier] for identifier in gone}:
            table = self._read(name)
            mask = pyarrow.compute.is_in(table["id"], value_set=pyarrow.array(gone))
            rest = table.filter(pyarrow.compute.invert(mask))
            del files[name]
            if rest.num_rows:
                renewed = self._write(rest)
                files[renewed] = rest.num_rows
                located.update(dict.fromkeys(rest["id"].to_pylist(), renewed))
        for identifier in gone:
            located.pop(identifier, None)
        return files

    def _write(self, table: Any) -> str:
        """Write a file, and return its name."""
        _, parquet = require_pyarrow()
        name = f"{uuid.uuid4().hex}.parquet"
        with table_errors(self._folder.parent), create_file(self._folder / name) as file:
            # a dictionary of vectors, ids and texts would save no space, and would take nine tenths of the time
            parquet.write_table(table, file, use_dictionary=["metadata"])
        return name

    def _commit(self, files: dict[str, int]) -> None:
        """Write the manifest, and remove the files that it no longer names, also files of a killed push."""
        self.commit(
            {"files": files, **self.notes()},
            replaced=lambda name: name.endswith(".parquet") and name not in files,
        )
        self._files = files


class ParquetTarget(FolderTarget[ParquetTable]):
    """Files with the columns id, vector, metadata (JSON) and text.

    Parameters
    ----------
    url : TargetUrl
        ``parquet:///folder``.
    """

    word_dimensions = WORD_DIMENSIONS

    def __init__(self, url: TargetUrl) -> None:
        super().__init__(url)

    def stores_json(self, texts: Sequence[str]) -> bool:  # noqa: ARG002 - of the protocol
        """Return True: metadata is stored as JSON."""
        return True

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of one file, or of all files of a folder, that gem-index did not write."""
        pyarrow, parquet = require_pyarrow()
        folder = self._folder
        for path in sorted(folder.rglob("*.parquet")) if folder.is_dir() else [folder]:
            try:
                with parquet.ParquetFile(path) as file:
                    for batch in file.iter_batches(columns=columns_of_rows(file.schema_arrow)):
                        yield from batch.to_pylist()
            except (OSError, pyarrow.ArrowException) as error:
                raise UnreadableFileError(str(path), quoted_error(error)) from error

    def open_table(self, folder: Path) -> ParquetTable:
        """Return the table in a folder."""
        return ParquetTable(folder)

    def create_table(self, folder: Path, schema: TargetSchema) -> ParquetTable:
        """Create an empty table."""
        require_pyarrow()
        create_manifest(folder, schema, {"files": {}})
        return ParquetTable(folder)


def columns_of_rows(schema: Any) -> list[str]:
    """Return the names of the columns of an Arrow schema that hold neither vectors nor bytes."""
    return [field.name for field in schema if not _BYTES_OR_VECTORS.match(str(field.type))]


def require_pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``.

    Raises
    ------
    MissingExtraError
        If it is not installed.
    """
    modules = load_pyarrow("writing Parquet")
    import pyarrow.compute  # noqa: F401 - pyarrow has this attribute after its import

    return modules
