"""Fill a table of a target: send changed documents, delete old ones, and record each acknowledgement."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from gem_index.collection.piece_rows import left_rows, row_ids
from gem_index.collection.push.notes import Difference, PushNotes, SentDocuments
from gem_index.collection.push.rows import PushedRows
from gem_index.collection.push.sending import send
from gem_index.errors import TargetChangedError
from gem_index.progress import Progress
from gem_index.store.targets import TargetRecord
from gem_index.targets.batch import TargetBatch
from gem_index.targets.protocol import TargetTable
from gem_index.targets.retries import with_retries

__all__ = ["Counts", "TableFilling"]


@dataclass(frozen=True)
class Counts:
    """The numbers of documents that a push adds, updates and deletes."""

    added: int
    updated: int
    deleted: int


@dataclass(frozen=True)
class TableFilling:
    """Updates one table from the collection.

    Attributes
    ----------
    table : TargetTable
    record : TargetRecord
        The record of the table in the home.
    notes : PushNotes
    rows : PushedRows
    progress : callable, optional
    """

    table: TargetTable
    record: TargetRecord
    notes: PushNotes
    rows: PushedRows
    progress: Progress | None

    def run(self) -> Counts:
        """Send changed documents, delete rows of documents that are no longer in the collection, and return the counts.

        Raises
        ------
        TargetChangedError
            If the table has a wrong number of rows after the push.
        """
        difference = self.notes.difference(self.record)
        if self.record.complete and difference:
            self.notes.mark(self.record, complete=False)
        added, updated = self._send(difference)
        self._delete(difference)
        if not self.record.complete or difference:
            with_retries(self.table.finish)
        expected, found = self.notes.rows(self.record), with_retries(self.table.count)
        if found != expected:
            raise TargetChangedError(
                str(self.rows.target.url),
                f"the table has {found} rows after a push of {expected}",
            )
        self.notes.mark(self.record, complete=True)
        return Counts(added, updated, len(difference.stale))

    def _send(self, difference: Difference) -> tuple[int, int]:
        """Send changed documents; return the numbers of added and of updated documents."""
        earlier = set(difference.changed[difference.held > 0].tolist())
        there = difference.pieces > 0
        pieces_of = dict(
            zip(difference.changed[there].tolist(), difference.pieces[there].tolist(), strict=True)
        )
        added = updated = done = 0
        with ThreadPoolExecutor(1) as assistant:
            for asked, documents, batch in self._batches(assistant, difference):
                before = [pieces_of.get(seq, 0) for seq in documents.seqs]
                send(self.table, batch, left_rows(documents.ids, documents.pieces, before))
                replaced = sum(seq in earlier for seq in documents.seqs) if earlier else 0
                updated += replaced
                added += len(documents.seqs) - replaced
                done += asked
                if self.progress is not None:
                    self.progress("push", done, len(difference.changed))
        return added, updated

    def _batches(
        self, assistant: ThreadPoolExecutor, difference: Difference
    ) -> Iterator[tuple[int, SentDocuments, TargetBatch]]:
        """Yield, for each batch, the number of requested documents, the documents that still exist, and the rows of these.

        While the caller sends one batch, a second thread records the previous batch as acknowledged and prepares the
        next batch.
        """
        size, changed = self.rows.options.batch, difference.changed
        parts = [changed[begin : begin + size].tolist() for begin in range(0, len(changed), size)]
        acknowledged: list[SentDocuments] = []

        def prepare(part: list[int]) -> tuple[SentDocuments, TargetBatch]:
            documents, batch = self.rows.batch(part, new=difference.new)
            self._note(acknowledged, documents)
            return documents, batch

        ahead: Future[tuple[SentDocuments, TargetBatch]] | None = None
        for number, part in enumerate(parts):
            documents, batch = (ahead or assistant.submit(prepare, part)).result()
            following = parts[number + 1 : number + 2]
            ahead = assistant.submit(prepare, following[0]) if following else None
            yield len(part), documents, batch
            acknowledged.append(documents)
        self._note(acknowledged, None)

    def _note(self, acknowledged: list[SentDocuments], following: SentDocuments | None) -> None:
        """Record the batches in ``acknowledged``, and empty this list; also record the documents that are sent next."""
        done = acknowledged.copy()
        self.notes.announce(self.record, following, done)
        del acknowledged[: len(done)]

    def _delete(self, difference: Difference) -> None:
        """Delete the rows of documents that the collection no longer has."""
        size = self.rows.options.batch
        for begin in range(0, len(difference.stale), size):
            part = difference.stale[begin : begin + size]
            with_retries(self.table.delete, [row for each in part for row in row_ids(*each)])
            self.notes.forget(self.record, [name for name, _ in part])
