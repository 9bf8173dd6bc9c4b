"""Files that workers write, one for each partition, in a folder with a manifest. Finished files are not written again."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gem_index.distributed.cluster import Cluster
from gem_index.distributed.inputs import Partition
from gem_index.distributed.manifest import MANIFEST, Manifest, part_name
from gem_index.distributed.partitions import PartReport
from gem_index.distributed.places import OutputFolder, is_url
from gem_index.distributed.tasks import Task
from gem_index.errors import InputError, WorkerMismatchError
from gem_index.errors.quoting import quoted_path
from gem_index.gem.combined import Encoder
from gem_index.progress import ProgressOption, reporting
from gem_index.targets.parquet import require_pyarrow

__all__ = [
    "PartJob",
    "clear_parts",
    "make_parts",
    "part_request",
    "write_part",
]

_FINGERPRINT, _PART = b"gem_fingerprint", b"gem_part"


@dataclass(frozen=True)
class PartJob:
    """The common arguments of all partitions.

    Attributes
    ----------
    fingerprint : str
        Of the encoder.
    folder : OutputFolder
    options : object
        Further arguments of the function.
    """

    fingerprint: str
    folder: OutputFolder
    options: Any = None


def part_request(
    encoder: Encoder, partitions: Sequence[Partition], **others: Any
) -> dict[str, Any]:
    """Return the values on which the files depend, as JSON."""
    reading = partitions[0].reading
    request = {
        "fingerprint": encoder.fingerprint,
        **others,
        "reading": {**reading.arguments, "errors": "skip" if reading.skip else "raise"},
        "inputs": [partition.identity for partition in partitions],
    }
    found: dict[str, Any] = json.loads(json.dumps(request, default=dict))
    return found


def make_parts(
    cluster: Cluster,
    encoder: Encoder,
    partitions: Sequence[Partition],
    data: Sequence[Any],
    folder: OutputFolder,
    request: Mapping[str, Any],
    work: Callable[[PartJob, Partition, Any], PartReport],
    options: Any,
    progress: ProgressOption,
) -> list[PartReport]:
    """Write the missing files of partitions with a function on the workers; return the report of each file.

    Raises
    ------
    InputError
        If the folder cannot be written or holds something else, or no partition holds a text.
    WorkerMismatchError
        If a worker does not see the folder.
    """
    before = _begin(cluster, folder, request)
    if before is not None:
        return before
    with cluster.having(encoder) as shipped, reporting(progress, "encode") as report:
        job = PartJob(shipped.fingerprint, folder, options)
        tasks = [
            Task(str(partition), work, (job, partition, part), i)
            for i, (partition, part) in enumerate(zip(partitions, data, strict=True))
        ]
        reports: dict[int, PartReport] = {}
        for task, future in cluster.run_all(tasks):
            reports[task.tag] = cluster.result(future)
            if report is not None:
                report("encode", len(reports), len(partitions))
    found = [reports[i] for i in range(len(partitions))]
    if not any(each.rows for each in found):
        raise InputError(f"found no text in {len(found)} partitions; expected at least one")
    Manifest(request, found).write(folder)
    folder.remove_leftovers()
    return found


def clear_parts(folder: OutputFolder) -> None:
    """Remove the files of partitions and shards and their manifest; remove the folder if it is local and then empty."""
    names = folder.names()
    for name in names:
        if name == MANIFEST or name.startswith(("part-", "shard-")):
            folder.remove(name)
    folder.remove_leftovers()
    if not is_url(folder.place) and names and not folder.names():
        Path(folder.place).rmdir()


def _begin(
    cluster: Cluster, folder: OutputFolder, request: Mapping[str, Any]
) -> list[PartReport] | None:
    """Write the manifest of a folder, or check that the existing manifest has the same request.

    Returns
    -------
    list of PartReport, optional
        The reports of all partitions, if all files exist.
    """
    before = Manifest.read(folder)
    if before is not None:
        before.check(folder, request)
        names = set(folder.names())
        if before.reports is not None and all(
            part_name(i) in names for i in range(len(before.reports))
        ):
            return list(before.reports)
    folder.make()
    if before is None:
        Manifest(request).write(folder)
    if not is_url(folder.place):
        for worker, seen in cluster.on_all(_sees, folder).items():
            if seen is not True:
                raise WorkerMismatchError(
                    worker,
                    f"does not see the folder {quoted_path(folder.place)}",
                    "expected one that all workers share, or a URL",
                )
    return None


# ------------------------------------------------------------------ in the process of a worker


def _sees(folder: OutputFolder) -> bool:
    """Tell whether this worker sees the manifest."""
    return MANIFEST in folder.names()


def write_part(
    job: PartJob,
    partition: Partition,
    fields: Sequence[tuple[str, Any]],
    columns: Callable[[PartReport], Iterable[Sequence[Any]]],
) -> PartReport:
    """Write the file of a partition, unless an earlier run has written it.

    Parameters
    ----------
    job : PartJob
    partition : Partition
    fields : sequence
        Name and Arrow type of the columns.
    columns : callable
        Iterates over blocks of columns, and counts rows in the report that it is given.
    """
    pa, pq = require_pyarrow()
    name = part_name(partition.number)
    done = _finished(job, partition, name)
    if done is not None:
        return done
    if not is_url(job.folder.place) and not _sees(job.folder):
        raise FileNotFoundError(
            errno.ENOENT, f"this worker does not see the folder {quoted_path(job.folder.place)}"
        )
    report = PartReport()
    schema = pa.schema(fields, metadata={_FINGERPRINT: job.fingerprint.encode()})
    with (
        job.folder.writing(name) as path,
        pq.ParquetWriter(
            path,
            schema,
            use_dictionary=False,
            compression="none",  # numbers of vectors rarely repeat, so a dictionary does not help
            write_page_checksum=True,
        ) as writer,
    ):
        for block in columns(report):
            writer.write_table(pa.table(list(block), schema=schema))
        state = {"partition": partition.identity, **asdict(report)}
        writer.add_key_value_metadata({_PART: json.dumps(state).encode()})
    return report


def _finished(job: PartJob, partition: Partition, name: str) -> PartReport | None:
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
        pass  # the file is damaged: write it again
    return None
