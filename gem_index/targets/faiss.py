"""A FAISS index with its ids as a target, beside the Parquet files that it is built from at the end of each push."""

from __future__ import annotations

import json
import uuid
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.arrays import F32
from gem_index.errors import ConfigError
from gem_index.files import publish_file
from gem_index.quoting import quoted
from gem_index.targets.folder import FolderTarget, read_manifest, write_manifest
from gem_index.targets.parquet import ParquetTable, require_pyarrow
from gem_index.targets.protocol import Neighbour, TargetSchema
from gem_index.targets.url import TargetUrl

__all__ = ["FaissTable", "FaissTarget"]


class FaissTable(ParquetTable):
    """Parquet files, an index of all their rows, and a JSON list of ids in the order of the index.

    Readers take the names of both from the manifest; they are those of the last finished push.

    Parameters
    ----------
    folder : Path
    factory : str
        Of the index that is built, as for ``faiss.index_factory``.
    """

    def __init__(self, folder: Path, factory: str) -> None:
        super().__init__(folder)
        self._factory = factory
        _, content = read_manifest(folder)
        self._index: dict[str, Any] = content.get("index", {})
        self._loaded: tuple[Any, list[str]] | None = None

    def notes(self) -> dict[str, Any]:
        """Return the names of the index and of its ids."""
        return {"index": self._index}

    def query(self, vector: F32, k: int) -> list[Neighbour]:
        """Return the k nearest documents: from the index, or by a scan in the midst of a push."""
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
            Neighbour(ids[row], float(score))
            for row, score in zip(rows[0], scores[0], strict=True)
            if row >= 0
        ]

    def finish(self) -> None:
        """Build the index and replace the last one."""
        if self._index.get("of") == sorted(self._files):
            return
        faiss = _faiss()
        vectors = np.zeros((self.count(), self.schema.dimension), np.float32)
        ids = []
        for row, document in enumerate(self.documents()):
            vectors[row] = document.vector
            ids.append(document.id)
        index = make_index(self.schema.dimension, self._factory)
        if len(vectors):
            index.train(vectors)
            index.add(vectors)
        name = uuid.uuid4().hex
        files = {"file": f"index-{name}.faiss", "ids": f"ids-{name}.json"}
        with publish_file(self._folder / files["file"]) as file:
            faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))
        with publish_file(self._folder / files["ids"]) as file:
            file.write(json.dumps(ids, ensure_ascii=False).encode())
        self._index = files | {"of": sorted(self._files)}
        self._loaded = None
        write_manifest(self._folder, self.schema, {"files": self._files, **self.notes()})
        for path in self._folder.glob("i*-*"):
            if path.name not in files.values():
                path.unlink()


class FaissTarget(FolderTarget[FaissTable]):
    """A FAISS index by inner product, which is the cosine similarity of our vectors.

    Parameters
    ----------
    url : TargetUrl
        ``faiss:///folder``; the option ``factory`` names another index than the exact ``Flat``.

    Raises
    ------
    ConfigError
        If FAISS does not know the factory.
    """

    def __init__(self, url: TargetUrl) -> None:
        super().__init__(url, "factory")
        self._factory = url.options.get("factory", "Flat")
        make_index(64, self._factory)

    def open_table(self, folder: Path) -> FaissTable:
        """Return the table in a folder."""
        return FaissTable(folder, self._factory)

    def create_table(self, folder: Path, schema: TargetSchema) -> FaissTable:
        """Create an empty table."""
        require_pyarrow()
        make_index(schema.dimension, self._factory)
        write_manifest(folder, schema, {"files": {}})
        return FaissTable(folder, self._factory)


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
