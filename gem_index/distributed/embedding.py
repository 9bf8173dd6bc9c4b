"""Embed on a cluster: the workers write to a vector database themselves."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from gem_index.collection.push.embedding import fill_table, finish_table, open_table
from gem_index.collection.push.sending import PushOptions
from gem_index.collection.results import PushReport
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.inputs import Partition, PartitionOptions, partitions_of
from gem_index.distributed.partitions import PartReport, ReportOfRecords
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.distributed.tasks import Task
from gem_index.errors import ConfigError, RecordError
from gem_index.gem.combined import Encoder
from gem_index.progress import ProgressOption, reporting
from gem_index.targets.registry import check_many_writers, open_target
from gem_index.targets.url import TargetUrl
from gem_index.text.chunking import Chunking

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
    push: PushOptions | None = None,
    options: PartitionOptions | None = None,
    progress: ProgressOption = None,
) -> EmbedReport:
    """Encode documents on the workers of a cluster, which upsert them into a vector database by their ids.

    A partition that runs again, and the same call again, change nothing that is there.

    Parameters
    ----------
    client : distributed.Client
    encoder : GemEncoder or CombinedEncoder
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
        Paths, patterns and URLs of files that every worker reads.
    url : str
        The table of a database that several processes write to at once; its package is installed on every worker.
    chunking : Chunking, optional
        How long texts are cut; by default as those of the table, or as a new collection cuts them.
    push : PushOptions, optional
        The size of a batch, and what is stored.
    options : PartitionOptions, optional
    progress : bool or callable, optional
        Called with ``embed``, the number of partitions done, and of all.

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
        opened = open_table(target, encoder, chosen, chunking)
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


def _embed(job: _Job, partition: Partition, data: Any) -> tuple[PartReport, int, int]:
    """Write the documents of a partition; return how many, and how many of texts in pieces are new."""
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
