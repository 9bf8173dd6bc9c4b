"""A folder of files for ``_bulk`` as a target, for servers that are filled from elsewhere.

``live/index.json`` is the body that creates the index. Each batch is a file, ``live/000001.ndjson`` and so on. Send the
files to ``_bulk`` in this order to bring the index into the state of the folder; sending them twice changes nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from heapq import nlargest
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.targets import (
    WORD_DIMENSIONS,
    FolderTable,
    FolderTarget,
    Neighbor,
    SparseVector,
    TargetBatch,
    TargetDocument,
    TargetSchema,
    TargetUrl,
    create_manifest,
)
from gem_index_elasticsearch.documents import (
    from_hit,
    index_body,
    key_of,
    to_source,
    unsupported,
)
from gem_index_elasticsearch.engines import ENGINES, Engine
from gem_index_elasticsearch.target import index_name

__all__ = ["BulkFilesTable", "BulkFilesTarget"]


class BulkFilesTable(FolderTable):
    """Files of bulk actions, which the manifest names in their order.

    Parameters
    ----------
    folder : Path
    index : str
        The index's name, which each action holds.
    """

    def __init__(self, folder: Path, index: str) -> None:
        super().__init__(folder)
        self._index = index
        self._files: list[str] = self._manifest["files"]
        self._place: dict[str, tuple[str, int]] | None = None
        self._vectors: tuple[list[str], npt.NDArray[np.float32]] | None = None

    def upsert(self, documents: Sequence[TargetDocument]) -> None:
        """Write a file of ``index`` actions."""
        self._append(
            part
            for document in TargetBatch.of(documents, self.schema)
            for part in (self._action("index", document.id), to_source(document))
        )

    def delete(self, ids: Sequence[str]) -> None:
        """Write a file of ``delete`` actions."""
        self._append(self._action("delete", each) for each in dict.fromkeys(ids))

    def count(self) -> int:
        """Return the number of documents in the state that the files lead to."""
        return len(self._places())

    def query(self, vector: npt.NDArray[np.float32], k: int) -> list[Neighbor]:
        """Return the k nearest documents, by a scan of all files."""
        if self._vectors is None:
            found = list(self.documents())
            rows = [each.vector for each in found] or np.zeros((0, len(vector)), np.float32)
            self._vectors = [each.id for each in found], np.array(rows)
        ids, matrix = self._vectors
        scores = matrix @ vector
        return [Neighbor(ids[row], float(scores[row])) for row in np.argsort(-scores)[: max(0, k)]]

    def match(self, words: SparseVector, k: int) -> list[Neighbor]:
        """Return the k documents with the largest inner product of words, by a scan of all files."""
        found = (
            Neighbor(each.id, words.dot(each.words))
            for each in self.documents()
            if each.words is not None
        )
        return nlargest(
            max(0, k), (hit for hit in found if hit.score > 0), key=lambda hit: hit.score
        )

    def documents(self) -> Iterator[TargetDocument]:
        """Iterate over the documents of the state that the files lead to."""
        wanted = set(self._places().values())
        for name in self._files:
            for number, (_, source) in enumerate(self._actions(name)):
                if (name, number) in wanted and source is not None:
                    yield from_hit({"_source": source}, self.schema.dimension)

    def metadata_of(self, ids: Sequence[str]) -> dict[str, Mapping[str, Any]]:
        """Return the metadata of documents from their files."""
        return {source["id"]: source.get("metadata", {}) for source in self._sources(ids)}

    def fetch(self, ids: Sequence[str]) -> dict[str, TargetDocument]:
        """Return documents from their files."""
        found = (
            from_hit({"_source": source}, self.schema.dimension) for source in self._sources(ids)
        )
        return {document.id: document for document in found}

    def _sources(self, ids: Sequence[str]) -> Iterator[Any]:
        places = self._places()
        wanted = {places[key] for each in ids if (key := key_of(each)) in places}
        for name in {name for name, _ in wanted}:
            for number, (_, source) in enumerate(self._actions(name)):
                if (name, number) in wanted:
                    yield source

    def finish(self) -> None:
        """Do nothing."""

    def _action(self, operation: str, identifier: str) -> dict[str, Any]:
        return {operation: {"_index": self._index, "_id": key_of(identifier)}}

    def _append(self, lines: Iterator[Any]) -> None:
        text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
        if not text:
            return
        name = f"{len(self._files) + 1:06}.ndjson"
        self.commit({"files": [*self._files, name]}, {name: text.encode()})
        self._files = [*self._files, name]
        self._vectors = None
        if self._place is not None:
            self._locate(self._place, name)

    def _actions(self, name: str) -> Iterator[tuple[str, Any]]:
        """Iterate over the keys of a file's actions, with their sources; None for a deletion."""
        with (self._folder / name).open(encoding="utf-8") as lines:
            for line in lines:
                [(operation, target)] = json.loads(line).items()
                yield target["_id"], json.loads(next(lines)) if operation == "index" else None

    def _places(self) -> dict[str, tuple[str, int]]:
        """Return the file and the action of each document; the files are read once."""
        if self._place is None:
            self._place = {}
            for name in self._files:
                self._locate(self._place, name)
        return self._place

    def _locate(self, places: dict[str, tuple[str, int]], name: str) -> None:
        """Record which documents a file has, and which it deletes."""
        for number, (key, source) in enumerate(self._actions(name)):
            if source is None:
                places.pop(key, None)
            else:
                places[key] = (name, number)


class BulkFilesTarget(FolderTarget[BulkFilesTable]):
    """A live folder and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``elasticsearch:///folder?index=faq``, or ``opensearch:///folder?index=faq``.

    Raises
    ------
    ConfigError
        If the index's name is missing or unsuitable.
    """

    word_dimensions = WORD_DIMENSIONS

    def __init__(self, url: TargetUrl) -> None:
        super().__init__(url, "index")
        self._index = index_name(url)
        self._engine: type[Engine] = ENGINES[url.scheme]

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields whose names an index does not accept, and integers of more than 64 bits."""
        return unsupported(metadata)

    def open_table(self, folder: Path) -> BulkFilesTable:
        """Return the table in a folder."""
        return BulkFilesTable(folder, self._index)

    def create_table(self, folder: Path, schema: TargetSchema) -> BulkFilesTable:
        """Create an empty table, with the body that creates the index."""
        body = json.dumps(index_body(self._engine, schema), indent=2).encode()
        create_manifest(folder, schema, {"files": []}, {"index.json": body})
        return BulkFilesTable(folder, self._index)
