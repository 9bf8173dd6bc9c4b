"""Push a collection into a vector database; later pushes send its changes.

For each document, the home stores the content that the database has acknowledged (``target_documents``). A push sends the
difference between the collection and these records. So, if a push is killed, the next push sends the rest. No document is
stored twice, because databases upsert by id. After a refit, a push fills a staged table, which then replaces the live table.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from filelock import FileLock, Timeout

from gem_index.collection.push.filling import Counts, TableFilling
from gem_index.collection.push.notes import PushNotes
from gem_index.collection.push.plan import PushPlan, plan_push
from gem_index.collection.push.query_record import OUTGROWN, QueryRecord, QueryRecords
from gem_index.collection.push.rows import PushedRows
from gem_index.collection.push.sending import PushOptions
from gem_index.collection.results import PushReport
from gem_index.collection.state.access import CollectionAccess
from gem_index.collection.state.word_statistics import fit_sparse_encoder
from gem_index.common.forking import cached_property
from gem_index.errors import HomeBusyError
from gem_index.files.publishing import disk_errors
from gem_index.progress import Progress
from gem_index.sparse import SparseEncoder
from gem_index.store.targets import TargetRecord
from gem_index.store.workspace import Workspace
from gem_index.targets.protocol import Target, TargetSchema, TargetTable, word_dimensions
from gem_index.targets.registry import open_target
from gem_index.targets.retries import with_retries

__all__ = ["push"]


def push(
    access: CollectionAccess,
    to: str | Target,
    options: PushOptions,
    progress: Progress | None = None,
) -> PushReport:
    """Update a target from a collection; see :meth:`gem_index.Collection.push`."""
    with _one_at_a_time(access.workspace):
        # opened only now, under the lock: the database may be a file, and another push may have it open
        target = open_target(to) if isinstance(to, str) else to
        try:
            return _Push(access, target, options, progress).run()
        finally:
            if isinstance(to, str):
                target.close()


@contextmanager
def _one_at_a_time(workspace: Workspace) -> Iterator[None]:
    """Hold the lock that allows only one push of a home at a time."""
    lock = FileLock(workspace.root / "push.lock", timeout=workspace.settings.lock_timeout)
    try:
        with disk_errors(f"{workspace.root / 'push.lock'}"):
            lock.acquire()
    except Timeout as error:
        raise HomeBusyError(
            f"another process pushes from the home {workspace.root}; try again when it is done"
        ) from error
    try:
        yield
    finally:
        lock.release()


class _Push:
    """One push: first finishes an interrupted switch to a staged table, then makes a plan and carries out the plan."""

    def __init__(
        self,
        access: CollectionAccess,
        target: Target,
        options: PushOptions,
        progress: Progress | None,
    ) -> None:
        self._access = access
        self._target = target
        self._options = options
        self._progress = progress
        with access.reading() as rows:
            self._encoder, self._model = access.encoder(rows), rows.model()
            self._chunking = rows.record.chunking
            self._synonyms = rows.record.synonyms_of_words
        self._notes = PushNotes(access, str(target.url))
        self._rows = PushedRows(access, self._encoder, target, options)

    def run(self) -> PushReport:
        """Push, or count what a push would do."""
        started = time.monotonic()
        self._finish_switch()
        plan = plan_push(self._target, self._notes, self._encoder.fingerprint, self._options)
        if self._options.dry_run:
            counts = self._estimate(plan)
        elif plan.step == "replace":
            counts = self._replace()
        else:
            table, record = self._live_table(plan)
            self._write_query_record(table)
            counts = self._fill(table, record)
        with self._access.reading() as rows:
            documents = rows.counts().documents
        return PushReport(
            collection=self._access.name,
            target=str(self._target.url),
            added=counts.added,
            updated=counts.updated,
            deleted=counts.deleted,
            unchanged=max(0, documents - counts.added - counts.updated),
            documents=documents,
            fingerprint=self._encoder.fingerprint,
            seconds=time.monotonic() - started,
            words=self._with_words() if word_dimensions(self._target) else None,
            words_due=self._words_due(),
        )

    def _finish_switch(self) -> None:
        """If an earlier push was killed during the switch to a staged table, finish the switch."""
        staged = self._notes.staged
        if staged is None:
            return
        live = self._target.live()
        if live is None and staged.complete:
            table = self._target.staged()
            if table is not None and table.schema.token == staged.token:
                self._target.switch()
                live = self._target.live()
        if live is not None and live.schema.token == staged.token:
            self._notes.promote()

    def _estimate(self, plan: PushPlan) -> Counts:
        if plan.step == "update" and plan.record is not None:
            difference = self._notes.difference(plan.record)
            changed, updated = difference.changed.tolist(), int(difference.held.sum())
            deleted = len(difference.stale)
        else:
            changed = self._rows.seqs()
            held = 0 if plan.live is None or plan.record is None else self._notes.count(plan.record)
            updated = min(held, len(changed))
            deleted = held - updated
        for begin in range(0, len(changed), self._options.batch):
            self._rows.check_storable(changed[begin : begin + self._options.batch])
        return Counts(len(changed) - updated, updated, deleted)

    def _live_table(self, plan: PushPlan) -> tuple[TargetTable, TargetRecord]:
        """Return the live table; if there is none, create it.

        The record of the table is stored in SQLite first. So, if this push is killed, the next push recognises the
        table.
        """
        record = plan.record
        if plan.live is not None and record is not None:
            return plan.live, record
        self._rows.check_storable(
            self._rows.seqs(self._options.batch)
        )  # before the table is created
        if record is None or record.complete or not self._fits_this_push(record):
            record = self._begin(staged=False)
        return self._target.create(self._connected(self._schema(record))), record

    def _replace(self) -> Counts:
        """Write all documents to a staged table, then switch to it."""
        record, table = self._notes.staged, self._target.staged()
        if (
            record is None
            or table is None
            or table.schema.token != record.token
            or not self._fits_this_push(record)
        ):
            record = self._begin(staged=True)
            table = self._target.stage(self._connected(self._schema(record)))
        before = self._notes.live
        held = 0 if before is None else self._notes.count(before)
        self._write_query_record(table)
        self._fill(table, record)
        self._target.switch()
        self._notes.promote()
        with closing(QueryRecords(self._target)) as records:
            records.keep(record.token)
        documents = self._notes.count(record)
        updated = min(held, documents)
        return Counts(documents - updated, updated, max(0, held - documents))

    def _fill(self, table: TargetTable, record: TargetRecord) -> Counts:
        rule = table.schema.words
        rows = replace(self._rows, words=SparseEncoder.of_rule(rule) if rule else None)
        return TableFilling(table, record, self._notes, rows, self._progress).run()

    def _write_query_record(self, table: TargetTable) -> None:
        """Store the query record of a table if the record is missing; delete the query records of dropped tables.

        If the record exists and the collection's synonyms have changed, the record gets the present synonyms.
        """
        token = table.schema.token
        with closing(QueryRecords(self._target)) as records:
            if records.texts_of(token) is not None:
                if records.synonyms_of(token) != self._synonyms.fingerprint:
                    record = records.read(token)
                    words = record.words.with_synonyms(self._synonyms)
                    records.write(token, replace(record, words=words))
                return
            records.write(token, QueryRecord(self._model, self._chunking, self._words))
            records.keep(*(each.token for each in (self._notes.live, self._notes.staged) if each))

    @cached_property
    def _words(self) -> SparseEncoder:
        """The word statistics of the present texts."""
        return fit_sparse_encoder(self._access, self._progress)

    def _begin(self, *, staged: bool) -> TargetRecord:
        return self._notes.begin(
            self._encoder.fingerprint, texts=self._options.texts, staged=staged
        )

    def _fits_this_push(self, record: TargetRecord) -> bool:
        """Tell whether a table has vectors of this push's encoder, and the same setting for storing texts."""
        return (record.fingerprint, record.texts) == (
            self._encoder.fingerprint,
            self._options.texts,
        )

    def _schema(self, record: TargetRecord) -> TargetSchema:
        return TargetSchema(
            fingerprint=record.fingerprint,
            dimension=self._encoder.dimension,
            token=record.token,
            texts=record.texts,
            words=self._words.rule if self._options.words and word_dimensions(self._target) else "",
        )

    def _connected(self, schema: TargetSchema) -> TargetSchema:
        """Connect again, and return the schema.

        Making the schema can take so long that the server closes the connection.
        """
        with_retries(self._target.live)
        return schema

    def _words_due(self) -> bool:
        """Tell whether the word statistics of the live table are too old, because the number of rows has doubled."""
        record = self._notes.live
        if record is None:
            return False
        with closing(QueryRecords(self._target)) as records:
            texts = records.texts_of(record.token)
        return texts is not None and self._notes.rows(record) >= OUTGROWN * max(1, texts)

    def _with_words(self) -> bool:
        """Tell whether the live table has sparse vectors; without a table, whether this push will send sparse vectors."""
        live = with_retries(self._target.live)
        return self._options.words if live is None else bool(live.schema.words)
