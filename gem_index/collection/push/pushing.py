"""Push a collection into a vector database, and keep the database in step with it.

SQLite holds what the database has acknowledged (``target_documents``): a push sends the difference, so a push that was
killed goes on when it is run again, and documents come once because a database upserts by id. A new model is pushed into a
staged table, which then replaces the live one.
"""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import compress

import numpy as np
import numpy.typing as npt
from filelock import FileLock, Timeout

from gem_index.arrays import F32
from gem_index.collection.piece_rows import PieceRows, left_rows, piece_rows, row_ids, taken_id
from gem_index.collection.push.sending import PushOptions, batch_of, send, storable
from gem_index.collection.results import PushReport
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.view import HeldTexts, View
from gem_index.errors import (
    FingerprintMismatchError,
    HomeBusyError,
    TargetChangedError,
)
from gem_index.gem.combined import Encoder
from gem_index.progress import Progress
from gem_index.store.targets import TargetRecord, TargetRepository
from gem_index.targets.batch import TargetBatch
from gem_index.targets.metadata import JsonObjects
from gem_index.targets.protocol import Target, TargetSchema, TargetTable
from gem_index.targets.registry import open_target
from gem_index.targets.retries import with_retries

__all__ = ["push"]


def push(
    access: CollectionAccess,
    to: str | Target,
    options: PushOptions,
    progress: Progress | None = None,
) -> PushReport:
    """Bring a target into step with a collection; see :meth:`gem_index.Collection.push`."""
    lock = FileLock(
        access.workspace.root / "push.lock", timeout=access.workspace.settings.lock_timeout
    )
    try:
        with lock:
            # Opened here: a database may be a file that the other process has open.
            target = open_target(to) if isinstance(to, str) else to
            try:
                return _Push(access, target, options, progress).run()
            finally:
                if isinstance(to, str):
                    target.close()
    except Timeout as error:
        raise HomeBusyError(
            f"another process pushes from the home {access.workspace.root}; try again when it is done"
        ) from error


@dataclass(frozen=True)
class _Counts:
    added: int
    updated: int
    deleted: int


@dataclass(frozen=True)
class _Batch:
    """What is sent at once, and which contents of which documents it is, in how many pieces each."""

    ids: Sequence[str]
    seqs: Sequence[int]
    pieces: Sequence[int]
    documents: TargetBatch


class _Push:
    """One push: finds out where the target stands, and writes the difference."""

    def __init__(
        self,
        access: CollectionAccess,
        target: Target,
        options: PushOptions,
        progress: Progress | None,
    ) -> None:
        self._access = access
        self._name = str(target.url)
        self._target = target
        self._options = options
        self._progress = progress
        self._encoder: Encoder = access.encoder()
        self._view: View | None = None

    def run(self) -> PushReport:
        """Push, or count what a push would do."""
        started = time.monotonic()
        live, record = self._target.live(), self._find(staged=False)
        staged = self._find(staged=True)
        if staged is not None and self._finish_switch(live, staged):
            live, record = self._target.live(), self._find(staged=False)
        replaces = self._check(live, record)
        if self._options.dry_run:
            counts = self._estimate(None if replaces or live is None else record)
        elif live is None or record is None:
            self._check_first()
            counts = self._write(*self._create(record))
        elif replaces:
            counts = self._replace()
        else:
            counts = self._write(live, record)
        with self._access.reading() as rows:
            documents = rows.counts().documents
        return PushReport(
            collection=self._access.name,
            target=self._name,
            added=counts.added,
            updated=counts.updated,
            deleted=counts.deleted,
            unchanged=max(0, documents - counts.added - counts.updated),
            documents=documents,
            fingerprint=self._encoder.fingerprint,
            seconds=time.monotonic() - started,
        )

    def _finish_switch(self, live: TargetTable | None, staged: TargetRecord) -> bool:
        """Finish the switch of a push that was killed during it; tell whether there was one."""
        if live is None and staged.complete:
            table = self._target.staged()
            if table is not None and table.schema.token == staged.token:
                self._target.switch()
                live = self._target.live()
        if live is None or live.schema.token != staged.token:
            return False
        with self._repository() as targets:
            targets.promote(self._name)
        return True

    def _check(self, live: TargetTable | None, record: TargetRecord | None) -> bool:
        """Tell whether all vectors have to be replaced; raise if the target is not as the last push left it."""
        full = self._options.full
        if live is None:
            if record is not None and record.complete and not full:
                raise TargetChangedError(
                    self._name, "there is no table, and a push filled it before"
                )
            return False
        if record is None or live.schema.token != record.token:
            if not full:
                raise TargetChangedError(
                    self._name, "the table was filled by another collection, home or push"
                )
            return True
        expected = self._rows(record)
        found = live.count()
        if record.complete and found != expected and not full:
            raise TargetChangedError(
                self._name, f"the table holds {found} documents, the last push left {expected}"
            )
        if live.schema.fingerprint != record.fingerprint and not full:
            raise FingerprintMismatchError(
                f"the target {self._name}",
                record.fingerprint,
                live.schema.fingerprint,
                "push in full to replace its vectors",
                kind="encoder",
            )
        return (
            full
            or record.fingerprint != self._encoder.fingerprint
            or record.texts != self._options.texts
        )

    def _create(self, record: TargetRecord | None) -> tuple[TargetTable, TargetRecord]:
        """Create the live table; its row comes first, so that a push that is killed in between knows the table again."""
        if self._target.live() is not None:
            # only with --full: a table of gem-index that is not this push's
            self._target.drop()
        current = self._encoder.fingerprint
        texts = self._options.texts
        if (
            record is None
            or record.complete
            or (record.fingerprint, record.texts) != (current, texts)
        ):
            with self._repository() as targets:
                record = targets.add(
                    self._name,
                    secrets.token_hex(16),
                    current,
                    texts=texts,
                    staged=False,
                )
        return self._target.create(self._schema(record)), record

    def _replace(self) -> _Counts:
        """Write all documents to a staged table, then switch to it."""
        record, table = self._find(staged=True), self._target.staged()
        resumes = (
            record is not None
            and table is not None
            and table.schema.token == record.token
            and record.fingerprint == self._encoder.fingerprint
            and record.texts == self._options.texts
        )
        if not resumes or record is None or table is None:
            with self._repository() as targets:
                record = targets.add(
                    self._name,
                    secrets.token_hex(16),
                    self._encoder.fingerprint,
                    texts=self._options.texts,
                    staged=True,
                )
            table = self._target.stage(self._schema(record))
        before = self._find(staged=False)
        held = 0 if before is None else self._count(before)
        self._write(table, record)
        self._target.switch()
        with self._repository() as targets:
            targets.promote(self._name)
        documents = self._count(record)
        updated = min(held, documents)
        return _Counts(documents - updated, updated, max(0, held - documents))

    def _write(self, table: TargetTable, record: TargetRecord) -> _Counts:
        """Send what the table does not hold, and delete what the collection does not."""
        with self._repository() as targets:
            new = not targets.noted(record.id)
            changed, held, pieces = targets.changed(record.id)
            stale = [] if new else targets.stale(record.id)
            if record.complete and (len(changed) or stale):
                targets.mark(record.id, complete=False)
        added = updated = done = 0
        earlier = set(changed[held > 0].tolist())
        pieces_before = dict(
            zip(changed[pieces > 0].tolist(), pieces[pieces > 0].tolist(), strict=True)
        )
        with ThreadPoolExecutor(1) as assistant:
            for asked, batch in self._batches(assistant, record, changed, new=new):
                before = [pieces_before.get(seq, 0) for seq in batch.seqs]
                send(table, batch.documents, left_rows(batch.ids, batch.pieces, before))
                replaced = sum(seq in earlier for seq in batch.seqs) if earlier else 0
                updated += replaced
                added += len(batch.seqs) - replaced
                done += asked
                if self._progress is not None:
                    self._progress("push", done, len(changed))
        for begin in range(0, len(stale), self._options.batch):
            part = stale[begin : begin + self._options.batch]
            with_retries(table.delete, [row for each in part for row in row_ids(*each)])
            with self._repository() as targets:
                targets.forget(record.id, [name for name, _ in part])
        if not record.complete or len(changed) or stale:
            with_retries(table.finish)
        expected, found_now = self._rows(record), with_retries(table.count)
        if found_now != expected:
            raise TargetChangedError(
                self._name, f"the table holds {found_now} documents after {expected} were pushed"
            )
        with self._repository() as targets:
            targets.mark(record.id, complete=True)
        return _Counts(added, updated, len(stale))

    def _batches(
        self,
        assistant: ThreadPoolExecutor,
        record: TargetRecord,
        changed: npt.NDArray[np.int64],
        *,
        new: bool,
    ) -> Iterator[tuple[int, _Batch]]:
        """Iterate over how many documents were asked for, and those that were found.

        While one batch is written, the assistant notes that the one before was acknowledged, and prepares the next.
        """
        size = self._options.batch
        parts = [changed[begin : begin + size].tolist() for begin in range(0, len(changed), size)]
        sent: list[_Batch] = []

        def prepare(part: list[int]) -> _Batch:
            batch = self._prepare(part, new)
            self._note(record, sent, batch)
            return batch

        ahead = deque(assistant.submit(prepare, part) for part in parts[:1])
        for number, part in enumerate(parts):
            batch = ahead.popleft().result()
            if number + 1 < len(parts):
                ahead.append(assistant.submit(prepare, parts[number + 1]))
            yield len(part), batch
            sent.append(batch)
        self._note(record, sent, None)

    def _note(self, record: TargetRecord, sent: list[_Batch], following: _Batch | None) -> None:
        """Note batches as acknowledged, which leave the list, and documents that are about to be sent."""
        with self._repository() as targets:
            for batch in (done := sent.copy()):
                targets.record(record.id, batch.ids, batch.seqs, batch.pieces)
            if following is not None:
                targets.announce(record.id, following.ids, following.pieces)
        del sent[: len(done)]

    def _prepare(self, seqs: list[int], new: bool) -> _Batch:
        """Read and encode documents; those that were deleted meanwhile are left out."""
        with self._access.reading() as rows:
            found, ids, texts, as_json = rows.documents.columns(seqs)
            cutting = rows.record.cuts
        cut = piece_rows(cutting, ids, texts, JsonObjects(as_json))
        if len(cut.ids) > len(ids):
            self._check_piece_ids(cut)
        vectors = self._row_vectors(found, cut)
        batch = batch_of(self._target, cut, vectors, self._options, new=new)
        return _Batch(ids, found, cut.counts, batch)

    def _check_piece_ids(self, cut: PieceRows) -> None:
        """Raise ConfigError if a document has the id of a piece."""
        with self._access.reading() as rows:
            taken = rows.documents.seqs_of(cut.of_pieces)
        if taken:
            raise taken_id(next(iter(taken)), "build the collection without pieces")

    def _row_vectors(self, seqs: list[int], cut: PieceRows) -> F32:
        """Return the vectors of rows: of whole documents those that the collection has, of pieces encoded ones."""
        if len(cut.ids) == len(seqs):
            return self._vectors(seqs, cut.embedded)
        whole = np.array(cut.counts) == 1
        of_whole = np.repeat(whole, cut.counts)
        vectors = np.empty((len(cut.ids), self._encoder.dimension), np.float32)
        vectors[of_whole] = self._vectors(
            list(compress(seqs, whole)), list(compress(cut.embedded, of_whole))
        )
        vectors[~of_whole] = self._encoder.encode(list(compress(cut.embedded, ~of_whole)))
        return vectors

    def _vectors(self, seqs: Sequence[int], texts: Sequence[str]) -> F32:
        """Return the vectors of documents: those that the collection keeps as they are, the others encoded."""
        if self._view is None:
            self._view = self._access.view()
        if (
            self._view.encoder.fingerprint != self._encoder.fingerprint
        ):  # the model was fitted again meanwhile
            return self._encoder.encode(texts)
        held = HeldTexts(zip(seqs, texts, strict=True))
        return self._view.vectors(np.array(seqs, np.int64), held)

    def _estimate(self, record: TargetRecord | None) -> _Counts:
        with self._access.reading() as rows:
            targets = TargetRepository(rows.connection, self._access.id)
            if record is None:
                changed, updated, stale = rows.documents.seqs(), 0, 0
            else:
                changed, held, _ = targets.changed(record.id)
                updated, stale = int(held.sum()), len(targets.stale(record.id))
        for begin in range(0, len(changed), self._options.batch):
            self._check_metadata(changed[begin : begin + self._options.batch].tolist())
        return _Counts(len(changed) - updated, updated, stale)

    def _check_first(self) -> None:
        """Raise ConfigError if metadata of the first batch cannot be stored, before there is a table."""
        with self._access.reading() as rows:
            first = rows.documents.seqs(self._options.batch).tolist()
        self._check_metadata(first)

    def _check_metadata(self, seqs: list[int]) -> None:
        with self._access.reading() as rows:
            _, ids, _, as_json = rows.documents.columns(seqs)
        storable(self._target, ids, JsonObjects(as_json), self._options.drop_unsupported)

    def _schema(self, record: TargetRecord) -> TargetSchema:
        return TargetSchema(
            fingerprint=record.fingerprint,
            dimension=self._encoder.dimension,
            token=record.token,
            texts=record.texts,
        )

    def _find(self, *, staged: bool) -> TargetRecord | None:
        with self._access.reading() as rows:
            targets = TargetRepository(rows.connection, self._access.id)
            return targets.find(self._name, staged=staged)

    def _rows(self, record: TargetRecord) -> int:
        with self._access.reading() as rows:
            return TargetRepository(rows.connection, self._access.id).rows(record.id)

    def _count(self, record: TargetRecord) -> int:
        with self._access.reading() as rows:
            return TargetRepository(rows.connection, self._access.id).count(record.id)

    @contextmanager
    def _repository(self) -> Iterator[TargetRepository]:
        """Yield the notes of the target, in a transaction of its own."""
        with self._access.noting() as rows:
            yield TargetRepository(rows.connection, self._access.id)
