"""Embed on a cluster: the workers write to a vector database themselves."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any

from gem_index.collection.push.embedded_words import count_words
from gem_index.collection.push.embedding import TableWords, fill_table, finish_table, open_table
from gem_index.collection.push.sending import PushOptions
from gem_index.collection.results import PushReport
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.inputs import Partition, PartitionOptions, partitions_of
from gem_index.distributed.partitions import PartReport, ReportOfRecords
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.distributed.tasks import Task
from gem_index.errors import ConfigError, RecordError
from gem_index.gem.combined import Encoder
from gem_index.index.word_statistics import WordStatistics
from gem_index.progress import Progress, ProgressOption, reporting
from gem_index.sparse import SparseEncoder
from gem_index.targets.registry import check_many_writers, open_target
from gem_index.targets.url import TargetUrl
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.languages import AUTO, SAMPLED, detect_language

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["EmbedReport", "embed"]


@dataclass(frozen=True)
class EmbedReport(ReportOfRecords):
    """The report of embedding on a cluster.

    Attributes
    ----------
    push : PushReport
        The counts of the table.
    skipped : int
        Bad records left out.
    skipped_records : list of RecordError
        The first 100 of each partition; ``problems`` has file, line and problem of each.
    """

    push: PushReport
    skipped: int
    skipped_records: list[RecordError] = field(repr=False)


@dataclass(frozen=True)
class _Job:
    fingerprint: str
    url: TargetUrl
    options: PushOptions
    chunking: Chunking


def embed(
    client: Client,
    encoder: Encoder,
    inputs: Any,
    url: str,
    *,
    chunking: Chunking | None = None,
    vectors: str | None = None,
    language: str = AUTO,
    push: PushOptions | None = None,
    options: PartitionOptions | None = None,
    progress: ProgressOption = None,
) -> EmbedReport:
    """Encode documents on the workers of a cluster, and let them upsert the documents into a vector database.

    If a partition runs twice, or the same call is made again, the second run changes nothing. For a new table with words,
    the workers read the documents once more at first, and count the words; this process sums the counts.

    Parameters
    ----------
    client : distributed.Client
    encoder : GemEncoder or CombinedEncoder
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
        Paths, patterns and URLs of files that every worker reads.
    url : str
        The table of a database that several processes write to at once; its package is installed on every worker.
    chunking : Chunking, optional
        The chunking; by default the one of the table, or the one of a new collection.
    vectors : str, optional
        The name of the encoder's word vectors, of several encoders joined by a comma and a space. If it is given, a new
        table has words if the database can store them, and can be searched like a pushed table
        (:meth:`gem_index.Home.target`).
    language : str
        The language of the words of a new table, a code such as ``de``; ``auto`` to detect it.
    push : PushOptions, optional
        The size of a batch, and what is stored.
    options : PartitionOptions, optional
    progress : bool or callable, optional
        Called with ``count words`` or ``embed``, the number of partitions done, and of all.

    Raises
    ------
    ConfigError
        If the database accepts only one writer, or the table has other content.
    FingerprintMismatchError
        If the table has vectors of another encoder.
    InputError
        If an input is wrong; RecordError names file and line of a bad record.
    WorkerMismatchError
        If a worker has another version or other vectors.
    PartitionError, SchedulerUnavailableError, TargetUnavailableError
        If the cluster or the database fails.
    """
    started = time.monotonic()
    chosen = push or PushOptions()
    parsed = TargetUrl.parse(url)
    check_many_writers(parsed)
    cluster = Cluster(client)
    partitions, data = partitions_of(inputs, options or PartitionOptions(), cluster)
    total, counts = PartReport(), [0, 0]
    target = open_target(parsed)
    try:
        with reporting(progress, "count words") as report:
            counting = _ClusterCounting(cluster, partitions, data, language, report)
            words = None if vectors is None else TableWords(vectors, counting)
            opened = open_table(target, encoder, chosen, chunking, words)
        with cluster.having(encoder) as shipped, reporting(progress, "embed") as report:
            job = _Job(shipped.fingerprint, parsed, chosen, opened.chunking)
            tasks = [
                Task(str(partition), _embed, (job, partition, part))
                for partition, part in zip(partitions, data, strict=True)
            ]
            for done, (_, future) in enumerate(cluster.run_all(tasks), 1):
                found, written, added = cluster.result(future)
                total.add(found)
                counts[0] += written
                counts[1] += added
                if report is not None:
                    report("embed", done, len(partitions))
        pushed = finish_table(opened, encoder, counts[0], counts[1], started)
    finally:
        target.close()
    return EmbedReport(pushed, total.skipped, total.skipped_records())


@dataclass(frozen=True)
class _ClusterCounting:
    """Counts the words of partitions on the workers; a WordCounting."""

    cluster: Cluster
    partitions: Sequence[Partition]
    data: Sequence[Any]
    language: str
    report: Progress | None

    def __call__(self, chunking: Chunking, analyzer: Analyzer | None) -> SparseEncoder:
        analyzer = analyzer or Analyzer(self.language)
        if analyzer.detects:
            analyzer = Analyzer(detect_language(self._sample()).language)
        found = WordStatistics()
        tasks = [
            Task(str(partition), _count, (partition, part, chunking, analyzer))
            for partition, part in zip(self.partitions, self.data, strict=True)
        ]
        for done, (_, future) in enumerate(self.cluster.run_all(tasks), 1):
            found.add(self.cluster.result(future))
            if self.report is not None:
                self.report("count words", done, len(self.partitions))
        return SparseEncoder(analyzer, found.texts, found.mean_terms, found.frequencies)

    def _sample(self) -> Iterator[str]:
        """Iterate over the first texts; a partition is read only after all texts of the partitions before it."""
        for partition, part in zip(self.partitions, self.data, strict=True):
            task = Task(str(partition), _first_texts, (partition, part))
            for _, future in self.cluster.run_all([task]):
                yield from self.cluster.result(future)


def _first_texts(partition: Partition, data: Any) -> list[str]:
    return list(islice(partition.texts(data, PartReport()), SAMPLED))


def _count(
    partition: Partition, data: Any, chunking: Chunking, analyzer: Analyzer
) -> WordStatistics:
    return count_words(partition.texts(data, PartReport()), chunking, analyzer)


def _embed(job: _Job, partition: Partition, data: Any) -> tuple[PartReport, int, int]:
    """Write the documents of a partition; return their number, and the number of new documents with pieces."""
    encoder = wait_for_encoder(job.fingerprint)
    report = PartReport()
    target = open_target(job.url)
    try:
        if target.live() is None:
            raise ConfigError(
                f"the table of {job.url} is gone; expected that nobody drops it meanwhile"
            )
        opened = open_table(target, encoder, job.options, job.chunking)
        written, added = fill_table(opened, encoder, partition.documents(data, report), job.options)
    finally:
        target.close()
    report.rows = written
    return report, written, added
