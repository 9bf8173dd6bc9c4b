"""Encode on a cluster: each partition becomes a Parquet file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_index.distributed.cluster import Cluster, Task
from gem_index.distributed.inputs import Partition, PartitionOptions, partitions_of
from gem_index.distributed.manifest import Manifest, part_name
from gem_index.distributed.partitions import PartReport
from gem_index.distributed.places import OutputFolder, StorageOptions
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.errors import InputError, MissingExtraError
from gem_index.gem.combined import Encoder
from gem_index.progress import ProgressOption, reporting

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["EncodeReport", "encode"]

_BLOCK = 32_768
_BLOCK_CHARACTERS = 8_000_000
_FINGERPRINT, _PART = b"gem_fingerprint", b"gem_part"


@dataclass(frozen=True)
class EncodeReport:
    """What an encoding on a cluster wrote.

    Attributes
    ----------
    rows : int
    empty : int
        Rows of zeros, whose text has no words.
    skipped : int
        Bad records left out.
    problems : list of (str, int, str)
        File, line and problem of the first 100 of each partition.
    parts : int
        Files.
    dimension : int
    fingerprint : str
        Of the encoder.
    """

    rows: int
    empty: int
    skipped: int
    problems: list[tuple[str, int, str]] = field(repr=False)
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
    options: PartitionOptions | None = None,
    output_options: StorageOptions | None = None,
    progress: ProgressOption = None,
) -> EncodeReport:
    """Encode texts that the workers of a cluster read, and write a Parquet file for each partition.

    The files hold ``id``, ``vector`` (a list of fixed size, float32, the same bytes as those of ``encoder.encode``) and
    perhaps ``text``, and the encoder's fingerprint in their metadata. A file is visible when it is whole. The same call goes
    on where an earlier one stopped.

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
    options : PartitionOptions, optional
    output_options : mapping, optional
        Arguments of the fsspec file system of the output.
    progress : bool or callable, optional
        Called with ``encode``, the number of partitions done, and of all.

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
    before = Manifest.read(folder)
    cluster = Cluster(client)
    partitions, data = partitions_of(inputs, chosen, cluster)
    request = _request(encoder, partitions, texts)
    if before is not None:
        before.check(folder, request)
        if before.reports is not None:
            return _report(encoder, before.reports)
    folder.make()
    if before is None:
        Manifest(request).write(folder)
    with cluster.having(encoder) as shipped, reporting(progress, "encode") as report:
        job = _Job(shipped.fingerprint, folder, texts)
        tasks = iter(
            [
                Task(str(partition), _encode, (job, partition, part), i)
                for i, (partition, part) in enumerate(zip(partitions, data, strict=True))
            ]
        )
        reports: dict[int, PartReport] = {}
        for task, future in cluster.run(lambda: next(tasks, None)):
            reports[task.tag] = cluster.result(future)
            if report is not None:
                report("encode", len(reports), len(partitions))
    found = [reports[i] for i in range(len(partitions))]
    if not any(each.rows for each in found):
        raise InputError(f"found no text in {len(found)} partitions; expected at least one")
    Manifest(request, found).write(folder)
    folder.remove_leftovers()
    return _report(encoder, found)


def require_pyarrow() -> tuple[Any, Any]:
    """Return the modules ``pyarrow`` and ``pyarrow.parquet``."""
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError as error:
        raise MissingExtraError("writing Parquet", "parquet") from error
    return pa, pq


def _request(encoder: Encoder, partitions: Any, texts: bool) -> dict[str, Any]:
    """Return what the output depends on, as JSON values."""
    reading = partitions[0].reading
    request = {
        "fingerprint": encoder.fingerprint,
        "texts": texts,
        "reading": {**reading.arguments, "errors": "skip" if reading.skip else "raise"},
        "inputs": [partition.identity for partition in partitions],
    }
    found: dict[str, Any] = json.loads(json.dumps(request, default=dict))
    return found


def _report(encoder: Encoder, reports: Any) -> EncodeReport:
    total = PartReport()
    for each in reports:
        total.add(each)
    return EncodeReport(
        **asdict(total),
        parts=len(reports),
        dimension=encoder.dimension,
        fingerprint=encoder.fingerprint,
    )


# ------------------------------------------------------------------ in the process of a worker


@dataclass(frozen=True)
class _Job:
    fingerprint: str
    folder: OutputFolder
    texts: bool


def _encode(job: _Job, partition: Partition, data: Any) -> PartReport:
    """Write the file of a partition, unless it is there."""
    name = part_name(partition.number)
    done = _finished(job, partition, name)
    if done is not None:
        return done
    report = PartReport()
    pa, pq = require_pyarrow()
    encoder = wait_for_encoder(job.fingerprint)
    dimension = encoder.dimension
    fields = [("id", pa.string()), ("vector", pa.list_(pa.float32(), dimension))]
    fields += [("text", pa.string())] if job.texts else []
    schema = pa.schema(fields, metadata={_FINGERPRINT: job.fingerprint.encode()})
    with job.folder.writing(name) as path, pq.ParquetWriter(path, schema) as writer:
        for ids, texts in _blocks(partition.rows(data, report)):
            vectors = encoder.encode(texts)
            report.rows += len(ids)
            report.empty += int(np.count_nonzero(~vectors.any(axis=1)))
            column = pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), dimension)
            columns = [pa.array(ids, pa.string()), column]
            columns += [pa.array(texts, pa.string())] if job.texts else []
            writer.write_table(pa.table(columns, schema=schema))
        state = {"partition": partition.identity, **asdict(report)}
        writer.add_key_value_metadata({_PART: json.dumps(state).encode()})
    return report


def _blocks(rows: Iterator[tuple[str, str]]) -> Iterator[tuple[list[str], list[str]]]:
    """Cut rows into lists of ids and of texts with bounds on their number and characters."""
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


def _finished(job: _Job, partition: Partition, name: str) -> PartReport | None:
    """Return the report of a file that an earlier run wrote, None if there is none."""
    pa, pq = require_pyarrow()
    try:
        with job.folder.opened(name) as file:
            found: Mapping[bytes, bytes] = pq.read_metadata(file).metadata or {}
        state = json.loads(found[_PART])
        same = state.pop("partition") == json.loads(json.dumps(partition.identity))
        if same and found[_FINGERPRINT] == job.fingerprint.encode():
            state["problems"] = [tuple(each) for each in state["problems"]]
            return PartReport(**state)
    except (FileNotFoundError, pa.ArrowException, ValueError, LookupError, TypeError):
        pass  # it is written again
    return None
