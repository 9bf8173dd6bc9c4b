"""Verify a collection: check the hashes of files and documents, and compare the documents of index and database."""

from __future__ import annotations

import json

import numpy as np

from gem_index.collection.results import Problem
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.piece_encoder import index_fingerprint
from gem_index.collection.write.writing import compact, index_errors
from gem_index.errors import CorruptionError
from gem_index.errors.quoting import quoted
from gem_index.index.snapshot import Snapshot
from gem_index.progress import Progress

__all__ = ["problems_of"]


def problems_of(access: CollectionAccess, fix: bool, show: Progress | None = None) -> list[Problem]:
    """Return the problems of a collection's files and documents; see :meth:`gem_index.Collection.verify`."""
    with access.reading():
        pass  # raises if the collection was dropped
    details = _index_problems(access)
    if details and fix:
        with index_errors(access):
            compact(access, show)
    problems = [Problem("index", f"{access.name}: {detail}", fix) for detail in details]
    with access.reading() as rows:
        total = rows.documents.count()

        def compared(done: int) -> None:
            if show is not None:
                show("verify", done, total)

        damaged = list(rows.documents.damaged(compared))
    return problems + [
        Problem(
            "documents",
            f"the document {quoted(identifier)} of {access.name} is not what was stored; add it again or restore a backup",
            False,
        )
        for identifier in damaged
    ]


def _index_problems(access: CollectionAccess) -> list[str]:
    """Return one line for each problem of a collection's snapshot.

    The files are read after the transaction that names them has ended. If a writer replaces the snapshot in the
    meantime, the new snapshot is checked instead.
    """
    while True:
        directory, problems = _problems_of_snapshot(access)
        if not problems or not access.views.replaced(directory):
            return problems


def _problems_of_snapshot(access: CollectionAccess) -> tuple[str | None, list[str]]:
    with access.reading() as rows:
        row = rows.names.snapshot(access.id)
        if row is None:
            return None, []
        model, record = rows.model(), rows.record
        seqs = rows.documents.seqs()
        expected = seqs[seqs <= row.last_seq]
        dead, _ = rows.documents.tombstones_after(0)
    folder = access.folder / row.directory
    files = json.loads(row.files)
    problems = Snapshot.damage(folder, files)
    encoder, _, pieces = row.model_fingerprint.partition(" ")
    if encoder != model.fingerprint:
        problems.append(
            f"the index is of the encoder {encoder[:12]}, the model is {model.fingerprint[:12]}"
        )
    elif row.model_fingerprint != index_fingerprint(
        model.fingerprint, record.chunking, record.analyzer
    ):
        problems.append(
            f"the chunking and analysis of the index are {pieces or 'none'}, those of the collection "
            f"{record.chunking.fields or 'none'} {record.analyzer.stored}"
        )
    if problems:
        return row.directory, problems
    try:
        held = np.setdiff1d(Snapshot.open(folder, files).ids, dead)
    except CorruptionError as error:
        return row.directory, [str(error)]
    if not np.array_equal(held, expected):
        problems = [f"the index has {len(held)} documents, the database {len(expected)}"]
    return row.directory, problems
