"""Whether the index files in use are what was written, and hold the documents that the database holds."""

from __future__ import annotations

import json

import numpy as np

from gem_index.collection.view import ViewCache
from gem_index.errors import CorruptionError
from gem_index.index.snapshot import Snapshot
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.workspace import Workspace

__all__ = ["index_problems"]


def index_problems(workspace: Workspace, views: ViewCache, collection_id: int) -> list[str]:
    """Return a line for each thing that is wrong with a collection's snapshot.

    The files are read outside of the transaction that named them: a snapshot that a writer replaced meanwhile is not
    looked at, the next one is.
    """
    while True:
        directory, problems = _problems_of_snapshot(workspace, collection_id)
        if not problems or not views.replaced(directory):
            return problems


def _problems_of_snapshot(workspace: Workspace, collection_id: int) -> tuple[str | None, list[str]]:
    with workspace.database.reading() as connection:
        names = CollectionRepository(connection)
        row = names.snapshot(collection_id)
        if row is None:
            return None, []
        record = next(record for record in names.all() if record.id == collection_id)
        model = ModelRepository(connection).get(record.model_id)
        documents = DocumentRepository(connection, collection_id)
        seqs = documents.seqs()
        expected = seqs[seqs <= row.last_seq]
        dead, _ = documents.tombstones_after(0)
    folder = workspace.collection_folder(collection_id) / row.directory
    files = json.loads(row.files)
    problems = Snapshot.damage(folder, files)
    if row.model_fingerprint != model.fingerprint:
        problems.append(
            f"the index was made by {row.model_fingerprint[:12]}, the model is {model.fingerprint[:12]}"
        )
    if problems:
        return row.directory, problems
    try:
        held = np.setdiff1d(Snapshot.open(folder, files).ids, dead)
    except CorruptionError as error:
        return row.directory, [str(error)]
    if not np.array_equal(held, expected):
        problems = [f"the index holds {len(held)} documents, the database {len(expected)}"]
    return row.directory, problems
