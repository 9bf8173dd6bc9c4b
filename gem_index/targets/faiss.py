"""A FAISS index with its ids as a target. At the end of each push it is built from Parquet files in the same folder."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.common.arrays import F32
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.files.publishing import create_file
from gem_index.targets.folder import FolderTarget, create_manifest, table_errors
from gem_index.targets.parquet import ParquetTable, require_pyarrow
from gem_index.targets.protocol import Neighbor, TargetSchema
from gem_index.targets.url import TargetUrl

__all__ = ["FaissTable", "FaissTarget"]

_FACTORY = "Flat"


class FaissTable(ParquetTable):
    """Parquet files, an index of all their rows, and a JSON list of ids in the order of the index.

    Readers take the names of both files from the manifest, which names the files of the last finished push.

    Parameters
    ----------
    folder : Path
    factory : str, optional
        The kind of index to build, as for ``faiss.index_factory``; by default the kind of the last push, and Flat at first.
    """

    def __init__(self, folder: Path, factory: str | None = None) -> None:
        super().__init__(folder)
        self._index: dict[str, Any] = self._manifest.get("index", {})
        self._factory: str = self._index.get("factory", _FACTORY) if factory is None else factory
        self._loaded: tuple[Any, list[str]] | None = None

    def notes(self) -> dict[str, Any]:
        """Return the names of the index and of its ids."""
        return {"index": self._index}

    def query(self, vector: F32, k: int) -> list[Neighbor]:
        """Return the k nearest documents: from the index or, during a push, by a scan."""
        if self._index.get("of") != sorted(self._files) or k < 1 or not self.count():
            return super().query(vector, k)
        faiss = _faiss()
        if self._loaded is None:
            index = faiss.read_index(str(self._folder / self._index["file"]))
            ids = json.loads((self._folder / self._index["ids"]).read_text("utf-8"))
            self._loaded = index, ids
        index, ids = self._loaded
        scores, rows = index.search(np.ascontiguousarray(vector[None], np.float32), k)
        return [
            Neighbor(ids[row], float(score))
            for row, score in zip(rows[0], scores[0], strict=True)
            if row >= 0
        ]

    def finish(self) -> None:
        """Build the index and replace the last one."""
        made_of = {"of": sorted(self._files), "factory": self._factory}
        if made_of.items() <= self._index.items():
            return
        faiss = _faiss()
        vectors = np.zeros((self.count(), self.schema.dimension), np.float32)
        ids: list[str] = []
        for names, part in self.vectors():
            vectors[len(ids) : len(ids) + len(names)] = part
            ids += names
        index = make_index(self.schema.dimension, self._factory)
        if len(vectors):
            try:
                index.train(vectors)
            except RuntimeError as error:
                raise ConfigError(
                    f"FAISS cannot train the index {quoted(self._factory, 60)} with {len(vectors)} vectors: "
                    f"{str(error).strip().splitlines()[-1][-160:]}; expected a factory for fewer, such as Flat or HNSW32"
                ) from error
            index.add(vectors)
        name = uuid.uuid4().hex
        files = {"file": f"index-{name}.faiss", "ids": f"ids-{name}.json"}
        with table_errors(self._folder.parent):
            with create_file(self._folder / files["file"]) as file:
                faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))
            with create_file(self._folder / files["ids"]) as file:
                file.write(json.dumps(ids, ensure_ascii=False).encode())
        self._index = files | made_of
        self._loaded = None
        self.commit(
            {"files": self._files, **self.notes()},
            replaced=lambda each: (
                each.startswith(("index-", "ids-")) and each not in files.values()
            ),
        )


class FaissTarget(FolderTarget[FaissTable]):
    """A FAISS index by inner product, which is the cosine similarity of our vectors.

    Parameters
    ----------
    url : TargetUrl
        ``faiss:///folder``; the option ``factory`` chooses another index than the exact ``Flat``. URLs with different
        factories name the same target: the next push of changes builds the index of its own URL. A table is neither
        created nor opened if the factory does not suit the table's dimension.

    Raises
    ------
    ConfigError
        If FAISS does not know the factory.
    """

    def __init__(self, url: TargetUrl) -> None:
        super().__init__(url, "factory")
        self._factory = url.options.get("factory")
        try:
            self._check_factory(64)
        except ConfigError as error:
            # any other reason is one of 64 dimensions; the dimension of the table is not known yet
            if "could not parse" in str(error.__cause__):
                raise
        self.url = replace(url, options={})

    def stores_json(self, texts: Sequence[str]) -> bool:  # noqa: ARG002 - of the protocol
        """Return True: metadata is stored as JSON."""
        return True

    def open_table(self, folder: Path) -> FaissTable:
        """Return the table in a folder."""
        table = FaissTable(folder, self._factory)
        self._check_factory(table.schema.dimension)
        return table

    def create_table(self, folder: Path, schema: TargetSchema) -> FaissTable:
        """Create an empty table."""
        require_pyarrow()
        self._check_factory(schema.dimension)
        create_manifest(folder, schema, {"files": {}})
        return FaissTable(folder, self._factory)

    def _check_factory(self, dimension: int) -> None:
        if self._factory is not None:
            make_index(dimension, self._factory)


def make_index(dimension: int, factory: str) -> Any:
    """Return an empty index by inner product.

    Raises
    ------
    ConfigError
        If FAISS does not know the factory, or it does not suit the dimension.
    """
    faiss = _faiss()
    try:
        index = faiss.index_factory(dimension, factory, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError) as error:
        raise ConfigError(
            f"FAISS makes no index {quoted(factory, 60)} of {dimension} dimensions; "
            "expected a factory such as Flat, HNSW32 or IVF100,Flat"
        ) from error
    # FAISS' own defaults, 40, 16 and 1, find too few of the nearest; the file keeps these.
    if hasattr(index, "hnsw"):
        index.hnsw.efConstruction, index.hnsw.efSearch = 200, 128
    elif hasattr(index, "nprobe"):
        index.nprobe = max(1, index.nlist // 10)
    return index


def _faiss() -> Any:
    """Return the module ``faiss``, whose functions have no types."""
    import faiss

    return faiss
