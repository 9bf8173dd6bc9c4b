"""Encode on a cluster: each partition becomes a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_index.distributed.cluster import Cluster
from gem_index.distributed.fitting import fit_partitions
from gem_index.distributed.inputs import Partition, PartitionOptions, partitions_of
from gem_index.distributed.manifest import Manifest
from gem_index.distributed.partitions import PartReport, ReportOfRecords
from gem_index.distributed.parts import (
    PartJob,
    clear_parts,
    make_parts,
    part_request,
    write_part,
)
from gem_index.distributed.places import OutputFolder, StorageOptions
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.errors import RecordError
from gem_index.gem.combined import Encoder
from gem_index.progress import ProgressOption
from gem_index.targets.parquet import require_pyarrow

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["EncodeReport", "encode"]

_BLOCK = 32_768
_BLOCK_CHARACTERS = 8_000_000


@dataclass(frozen=True)
class EncodeReport(ReportOfRecords):
    """The report of encoding on a cluster.

    Attributes
    ----------
    rows : int
    empty : int
        Rows of zeros, whose text has no words.
    skipped : int
        Bad records left out.
    skipped_records : list of RecordError
        The first 100 of each partition; ``problems`` has file, line and problem of each.
    parts : int
        Files.
    dimension : int
    fingerprint : str
        Of the encoder.
    """

    rows: int
    empty: int
    skipped: int
    skipped_records: list[RecordError] = field(repr=False)
    parts: int
    dimension: int
    fingerprint: str


def encode(
    client: Client,
    encoder: Encoder,
    inputs: Any,
    output: str | Path,
    *,
    texts: bool = False,
    fit: bool = False,
    checkpoint: str | Path | None = None,
    options: PartitionOptions | None = None,
    output_options: StorageOptions | None = None,
    checkpoint_options: StorageOptions | None = None,
    progress: ProgressOption = None,
) -> EncodeReport:
    """Encode texts that the workers of a cluster read, and write a Parquet file for each partition.

    The files have the columns ``id``, ``vector`` (a list of fixed size, float32, the same bytes as from ``encoder.encode``)
    and optionally ``text``, and the encoder's fingerprint in their metadata. A file becomes visible when it is complete. The
    same call continues where an earlier one stopped.

    Parameters
    ----------
    client : distributed.Client
    encoder : GemEncoder or CombinedEncoder
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
        Paths, patterns and URLs of files that every worker reads.
    output : str or Path
        A folder that every worker can write to, or the URL of one.
    texts : bool
        Write the texts too.
    fit : bool
        Fit the encoder on the same texts first.
    checkpoint : str or Path, optional
        With ``fit``: the folder for its sums until everything is written, as for :func:`fit`.
    options : PartitionOptions, optional
    output_options, checkpoint_options : mapping, optional
        Arguments of the fsspec file systems of the output and of the checkpoint.
    progress : bool or callable, optional
        Called with ``encode`` (and ``fit`` before), the number of partitions done, and of all.

    Raises
    ------
    InputError
        If an input is wrong, the output cannot be written, or holds anything but an earlier part of the same work;
        RecordError names file and line of a bad record.
    WorkerMismatchError
        If a worker has another version or other vectors.
    PartitionError, SchedulerUnavailableError
        If the cluster fails.
    """
    require_pyarrow()
    chosen = options or PartitionOptions()
    folder = OutputFolder.of(output, output_options or {})
    Manifest.read(folder)  # raises errors about the output before the inputs are read
    cluster = Cluster(client)
    partitions, data = partitions_of(inputs, chosen, cluster)
    sums = None if checkpoint is None else OutputFolder.of(checkpoint, checkpoint_options or {})
    if fit:
        fit_partitions(cluster, encoder, partitions, data, progress, folder=sums)
    request = part_request(encoder, partitions, texts=texts)
    reports = make_parts(
        cluster, encoder, partitions, data, folder, request, _encode, texts, progress
    )
    if fit and sums is not None:
        clear_parts(sums)
    return _report(encoder, reports)


def _report(encoder: Encoder, reports: Any) -> EncodeReport:
    total = PartReport()
    for each in reports:
        total.add(each)
    return EncodeReport(
        rows=total.rows,
        empty=total.empty,
        skipped=total.skipped,
        skipped_records=total.skipped_records(),
        parts=len(reports),
        dimension=encoder.dimension,
        fingerprint=encoder.fingerprint,
    )


# ------------------------------------------------------------------ in the process of a worker


def _encode(job: PartJob, partition: Partition, data: Any) -> PartReport:
    """Write ids and vectors of a partition, and its texts if the job says so."""
    pa, _ = require_pyarrow()
    encoder = wait_for_encoder(job.fingerprint)
    dimension, texts_too = encoder.dimension, job.options
    fields = [("id", pa.string()), ("vector", pa.list_(pa.float32(), dimension))]
    fields += [("text", pa.string())] if texts_too else []

    def columns(report: PartReport) -> Iterator[list[Any]]:
        for ids, texts in _blocks(partition.rows(data, report)):
            vectors = encoder.encode(texts)
            report.rows += len(ids)
            report.empty += int(np.count_nonzero(~vectors.any(axis=1)))
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension)
            kept = [pa.array(texts, pa.string())] if texts_too else []
            yield [pa.array(ids, pa.string()), column, *kept]

    return write_part(job, partition, fields, columns)


def _blocks(rows: Iterator[tuple[str, str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Divide rows into lists of ids and of texts with bounds on their number and characters."""
    ids: list[str] = []
    texts: list[str] = []
    characters = 0
    for identifier, text in rows:
        if ids and (len(ids) == _BLOCK or characters + len(text) > _BLOCK_CHARACTERS):
            yield ids, texts
            ids, texts, characters = [], [], 0
        ids.append(identifier)
        texts.append(text)
        characters += len(text)
    if ids:
        yield ids, texts
