"""A folder of Parquet files as a target: each batch is a file, and a manifest names the files that count.

The manifest is replaced atomically: who reads by it sees the state after some batch, never half of one. A table is
the folder ``<folder>/live`` with ``_table.json``; the staged one is ``<folder>/staged``.
"""

from __future__ import annotations

import json
import shutil
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.arrays import F32
from gem_index.errors import ConfigError, MissingExtraError
from gem_index.files import publish_file, user_path
from gem_index.json_input import read_json_file
from gem_index.quoting import quoted_path
from gem_index.targets.protocol import (
    Neighbour,
    TargetDocument,
    TargetSchema,
)
from gem_index.targets.url import TargetUrl

__all__ = ["ParquetTarget"]

_MANIFEST = "_table.json"  # readers of folders pass over names that begin with an underscore
_MAGIC = "gem-index vectors"


class ParquetTarget:
    """Files with the columns id, vector, metadata (JSON) and text.

    Parameters
    ----------
    url : TargetUrl
        ``parquet:///folder``.
    """

    def __init__(self, url: TargetUrl) -> None:
        url.check_options()
        if url.host:
            raise ConfigError(f"the target {url} names a host; expected parquet:///FOLDER")
        self.url = url
        self._folder = user_path(url.path)

    def live(self) -> ParquetTable | None:
        """Return the present table."""
        return self._table("live")

    def staged(self) -> ParquetTable | None:
        """Return the staged table."""
        return self._table("staged")

    def create(self, schema: TargetSchema) -> ParquetTable:
        """Create an empty live table."""
        if self._folder.exists() and any(
            path.name not in ("live", "staged", "old") for path in self._folder.iterdir()
        ):
            raise ConfigError(
                f"the folder {quoted_path(self._folder)} holds other files; expected a new or empty folder"
            )
        return ParquetTable.create(self._folder / "live", schema)

    def stage(self, schema: TargetSchema) -> ParquetTable:
        """Create an empty staged table."""
        shutil.rmtree(self._folder / "staged", ignore_errors=True)
        return ParquetTable.create(self._folder / "staged", schema)

    def switch(self) -> None:
        """Put the staged folder in the place of the live one."""
        live, staged, old = (self._folder / name for name in ("live", "staged", "old"))
        shutil.rmtree(old, ignore_errors=True)
        if live.exists():
            live.rename(old)
        staged.rename(live)
        shutil.rmtree(old, ignore_errors=True)

    def drop(self) -> None:
        """Remove both tables."""
        for name in ("live", "staged", "old"):
            shutil.rmtree(self._folder / name, ignore_errors=True)

    def close(self) -> None:
        """Do nothing: no file stays open."""

    def _table(self, name: str) -> ParquetTable | None:
        folder = self._folder / name
        return ParquetTable(folder) if (folder / _MANIFEST).exists() else None


class ParquetTable:
    """One table: a manifest and the files that it names.

    Parameters
    ----------
    folder : Path
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        content = read_json_file(folder / _MANIFEST, error=ConfigError)
        if not isinstance(content, dict) or content.get("format") != _MAGIC:
            raise ConfigError(
                f"{quoted_path(folder)} is not a table of gem-index; expected a new or empty folder"
            )
        self.schema = TargetSchema(**content["schema"])
        self._files: dict[str, int] = content["files"]  # and how many rows each has
        self._file_of: dict[str, str] | None = None

    @classmethod
    def create(cls, folder: Path, schema: TargetSchema) -> ParquetTable:
        """Create an empty table."""
        _pyarrow()
        folder.mkdir(parents=True)
        _write_manifest(folder, schema, {})
        return cls(folder)

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:  # noqa: ARG002 - of the protocol
        """Return nothing: metadata is stored as JSON."""
        return []

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Write a file of the documents, and the files that held some of them again without these."""
        pyarrow, parquet = _pyarrow()
        for document in documents:
            self.schema.check_vector(document.vector)
        ids = [document.id for document in documents]
        vectors = np.array([document.vector for document in documents], dtype=np.float32)
        metadata = [json.dumps(dict(d.metadata), ensure_ascii=False) for d in documents]
        columns = {
            "id": pyarrow.array(ids, pyarrow.string()),
            "vector": pyarrow.FixedSizeListArray.from_arrays(
                pyarrow.array(vectors.reshape(-1)), self.schema.dimension
            ),
            "metadata": pyarrow.array(metadata, pyarrow.string()),
        }
        if self.schema.texts:
            columns["text"] = pyarrow.array([d.text for d in documents], pyarrow.string())
        name = f"{uuid.uuid4().hex}.parquet"
        with publish_file(self._folder / name) as file:
            parquet.write_table(pyarrow.table(columns, metadata=self.schema.to_strings()), file)
        self._commit(self._without(ids) | {name: len(documents)})
        self._located().update(dict.fromkeys(ids, name))

    def delete(self, ids: Sequence[str]) -> None:
        """Write the files that held some of the documents again without these."""
        self._commit(self._without(ids))

    def count(self) -> int:
        """Return the number of documents."""
        return sum(self._files.values())

    def query(self, vector: F32, k: int) -> list[Neighbour]:
        """Return the k nearest documents, by a scan of all files."""
        found = [
            Neighbour(document.id, float(document.vector @ vector)) for document in self.documents()
        ]
        return sorted(found, key=lambda hit: -hit.score)[:k]

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents, file by file."""
        _, parquet = _pyarrow()
        for name in self._files:
            table = parquet.read_table(self._folder / name)
            vectors = table["vector"].combine_chunks().values.to_numpy(zero_copy_only=False)
            texts = table["text"].to_pylist() if self.schema.texts else [None] * table.num_rows
            yield from (
                TargetDocument(identifier, vector, text, json.loads(metadata))
                for identifier, vector, text, metadata in zip(
                    table["id"].to_pylist(),
                    vectors.reshape(-1, self.schema.dimension),
                    texts,
                    table["metadata"].to_pylist(),
                    strict=True,
                )
            )

    def finish(self) -> None:
        """Do nothing."""

    def _located(self) -> dict[str, str]:
        """Return the file of each document; the ids are read once."""
        if self._file_of is None:
            _, parquet = _pyarrow()
            self._file_of = {}
            for name in self._files:
                ids = parquet.read_table(self._folder / name, columns=["id"])["id"].to_pylist()
                self._file_of |= dict.fromkeys(ids, name)
        return self._file_of

    def _without(self, ids: Sequence[str]) -> dict[str, int]:
        """Write files again without some documents; return the files that then hold all others."""
        pyarrow, parquet = _pyarrow()
        located, files = self._located(), dict(self._files)
        gone = [identifier for identifier in ids if identifier in located]
        for name in {located[identifier] for identifier in gone}:
            table = parquet.read_table(self._folder / name)
            mask = pyarrow.compute.is_in(table["id"], value_set=pyarrow.array(gone))
            rest = table.filter(pyarrow.compute.invert(mask))
            del files[name]
            if rest.num_rows:
                renewed = f"{uuid.uuid4().hex}.parquet"
                with publish_file(self._folder / renewed) as file:
                    parquet.write_table(rest, file)
                files[renewed] = rest.num_rows
                located.update(dict.fromkeys(rest["id"].to_pylist(), renewed))
        for identifier in gone:
            located.pop(identifier, None)
        return files

    def _commit(self, files: dict[str, int]) -> None:
        """Write the manifest, then remove the files that it no longer names, also those of a killed push."""
        _write_manifest(self._folder, self.schema, files)
        self._files = files
        for path in self._folder.glob("*.parquet"):
            if path.name not in files:
                path.unlink()


def _write_manifest(folder: Path, schema: TargetSchema, files: dict[str, int]) -> None:
    content = {"format": _MAGIC, "schema": asdict(schema), "files": files}
    with publish_file(folder / _MANIFEST) as file:
        file.write(json.dumps(content).encode())


def _pyarrow() -> tuple[Any, Any]:
    try:
        import pyarrow
        import pyarrow.compute
        import pyarrow.parquet
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "parquet") from error
    return pyarrow, pyarrow.parquet
