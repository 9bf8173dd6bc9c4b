"""Fit an encoder on a cluster: statistics of each partition, summed by a tree in a fixed order."""

from __future__ import annotations

import io
import json
import logging
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.inputs import Partition, PartitionOptions, partitions_of
from gem_index.distributed.manifest import Manifest
from gem_index.distributed.partitions import PartReport, ReportOfRecords
from gem_index.distributed.parts import clear_parts, part_request
from gem_index.distributed.places import OutputFolder, StorageOptions
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.distributed.tasks import Task
from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted_error
from gem_index.files.npy import read_arrays
from gem_index.gem.combined import Encoder
from gem_index.gem.components import CorpusStatistics
from gem_index.gem.encoder import blocks_for_fit
from gem_index.progress import ProgressOption, reporting
from gem_index.text.chunking import Chunking

if TYPE_CHECKING:
    from distributed import Client, Future

__all__ = ["FitReport", "fit"]

_LOG = logging.getLogger("gem_index.distributed")

_FAN_IN = 8
_SUM = re.compile(r"part-(\d{5,})\.npz")


@dataclass(frozen=True)
class FitReport(ReportOfRecords):
    """The report of a fit on a cluster.

    Attributes
    ----------
    encoder : GemEncoder or CombinedEncoder
        That was fitted.
    texts : int
    skipped : int
        Bad records left out.
    skipped_records : list of RecordError
        The first 100 of each partition; ``problems`` has file, line and problem of each.
    partitions : int
    """

    encoder: Encoder
    texts: int
    skipped: int
    skipped_records: list[RecordError] = field(repr=False)
    partitions: int = 0


@dataclass(frozen=True)
class _Sums:
    """Statistics of some partitions for each encoder, and the counts of their records."""

    statistics: list[CorpusStatistics]
    report: PartReport


def fit(
    client: Client,
    encoder: Encoder,
    inputs: Any,
    *,
    options: PartitionOptions | None = None,
    checkpoint: str | Path | None = None,
    checkpoint_options: StorageOptions | None = None,
    progress: ProgressOption = None,
) -> FitReport:
    """Fit an encoder on texts that the workers of a cluster read.

    The statistics of partitions are summed eight at a time, by their order: the same partitions give the same bytes, however
    often workers die, and other partitions directions that agree within 1e-9.

    Parameters
    ----------
    client : distributed.Client
    encoder : GemEncoder or CombinedEncoder
        It is fitted, as its ``fit`` does.
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
        Paths, patterns and URLs of files that every worker reads.
    options : PartitionOptions, optional
    checkpoint : str or Path, optional
        A folder of this machine, or a URL, for the sum of each eight partitions: if an earlier call was interrupted, the
        same call continues it. The sums of another fit are deleted. The folder is emptied at the end.
    checkpoint_options : mapping, optional
        Arguments of its fsspec file system.
    progress : bool or callable, optional
        Called with ``fit``, the number of partitions done, and of all.

    Raises
    ------
    InputError
        If an input is wrong, or no text has a word and the prior is 0; RecordError names file and line of a bad record.
    WorkerMismatchError
        If a worker has another version or other vectors.
    PartitionError, SchedulerUnavailableError
        If the cluster fails.
    """
    cluster = Cluster(client)
    partitions, data = partitions_of(inputs, options or PartitionOptions(), cluster)
    folder = None if checkpoint is None else OutputFolder.of(checkpoint, checkpoint_options or {})
    found = fit_partitions(cluster, encoder, partitions, data, progress, folder=folder)
    if folder is not None:
        clear_parts(folder)
    return FitReport(encoder, found.rows, found.skipped, found.skipped_records(), len(partitions))


def fit_partitions(
    cluster: Cluster,
    encoder: Encoder,
    partitions: Sequence[Partition],
    data: Sequence[Any],
    progress: ProgressOption,
    chunking: Chunking | None = None,
    folder: OutputFolder | None = None,
) -> PartReport:
    """Fit an encoder on the texts of partitions, or on the pieces of their documents if a chunking is given.

    Raises
    ------
    InputError
        If there is no text.
    """
    with cluster.having(encoder.unfitted()) as shipped, reporting(progress, "fit") as report:
        kept = None
        if folder is not None:
            request = part_request(
                encoder.unfitted(), partitions, fit=True, chunking=chunking and chunking.fields
            )
            kept = _KeptSums(folder, request)
        sums_before = {} if kept is None else kept.read()
        tree = _Tree(len(partitions), sums_before)
        leaves = [
            Task(
                str(partition), _summarise, (shipped.fingerprint, partition, part, chunking), (0, i)
            )
            for i, (partition, part) in enumerate(zip(partitions, data, strict=True))
            if i // _FAN_IN not in sums_before
        ]
        done = 0
        for task, future in cluster.run(tree.source(leaves)):
            tree.keep(task.tag, future)
            level, node = task.tag
            if kept is not None and level == 1 and node not in sums_before:
                kept.write(node, cluster.result(future))
            if level == 0:
                done += 1
                if report is not None:
                    report("fit", done, len(leaves))
        sums: _Sums = cluster.result(tree.root)
    if not sums.report.rows:
        raise InputError(f"found no text in {len(partitions)} partitions; expected at least one")
    for part, statistics in zip(encoder.encoders, sums.statistics, strict=True):
        part.fit_statistics(statistics)
    return sums.report


class _KeptSums:
    """The sums of the first level, stored on this machine, from which an interrupted fit continues.

    Parameters
    ----------
    folder : OutputFolder
        Emptied if it holds the sums of another fit.
    request : mapping
        What they depend on, as JSON values.

    Raises
    ------
    InputError
        If the folder cannot be written or holds something else.
    """

    def __init__(self, folder: OutputFolder, request: Mapping[str, Any]) -> None:
        self._folder = folder
        before = Manifest.read(folder)
        if before is not None and before.request != request:
            if not before.request.get("fit"):
                before.check(folder, request)
            clear_parts(folder)
            before = None
        folder.make()
        if before is None:
            Manifest(request).write(folder)

    def read(self) -> dict[int, _Sums]:
        """Return the sums that an earlier run has kept, by number; damaged ones are left out."""
        found = {}
        for name in self._folder.names():
            if match := _SUM.fullmatch(name):
                try:
                    found[int(match[1])] = _unpacked(self._folder.read(name))
                except (OSError, ValueError, LookupError, TypeError, BadZipFile) as error:
                    _LOG.warning("%s cannot be read (%s); summing again", name, error)
        return found

    def write(self, number: int, sums: _Sums) -> None:
        """Keep a sum; a full disk is logged and does not stop the fit."""
        arrays: dict[str, Any] = {
            f"{name}{i}": array
            for i, each in enumerate(sums.statistics)
            for name, array in each.to_arrays().items()
        }
        arrays["encoders"] = np.array(len(sums.statistics))
        arrays["report"] = np.array(json.dumps(asdict(sums.report)))
        try:
            with self._folder.writing(f"part-{number:05}.npz") as path, path.open("wb") as file:
                np.savez(file, **arrays)
        except OSError as error:
            _LOG.warning("a sum was not kept for a fit that is stopped: %s", quoted_error(error))


def _unpacked(content: bytes) -> _Sums:
    found = read_arrays(io.BytesIO(content))
    statistics = [
        CorpusStatistics.from_arrays({name: found[f"{name}{i}"] for name in ("counts", "sums")})
        for i in range(int(found["encoders"]))
    ]
    report = json.loads(str(found["report"]))
    report["problems"] = [tuple(each) for each in report["problems"]]
    return _Sums(statistics, PartReport(**report))


class _Tree:
    """A reduction in a fixed order: node i of a level is the sum of nodes 8i to 8i + 7 of the level below.

    Parameters
    ----------
    leaves : int
    kept : mapping of int to _Sums
        Sums of the first level, whose leaves are not needed.
    """

    def __init__(self, leaves: int, kept: Mapping[int, _Sums]) -> None:
        self._widths = [leaves]
        while self._widths[-1] > 1:
            self._widths.append(-(-self._widths[-1] // _FAN_IN))
        self._futures: dict[tuple[int, int], Future] = {}
        self._ready = deque(
            Task(f"kept sum {group}", _given, (sums,), (1, group)) for group, sums in kept.items()
        )

    @property
    def root(self) -> Future:
        """The sum of all leaves."""
        return self._futures[len(self._widths) - 1, 0]

    def source(self, leaves: Sequence[Task]) -> Callable[[], Task | None]:
        """Return a task: for a sum whose parts are complete, else for the next leaf, else None."""
        rest = iter(leaves)
        return lambda: self._ready.popleft() if self._ready else next(rest, None)

    def keep(self, place: tuple[int, int], future: Future) -> None:
        """Keep a sum. If it is the last part of its parent, the parent is ready."""
        self._futures[place] = future
        level, node = place
        if level + 1 == len(self._widths):
            return
        parent = node // _FAN_IN
        parts = [
            (level, i)
            for i in range(parent * _FAN_IN, min((parent + 1) * _FAN_IN, self._widths[level]))
        ]
        if all(part in self._futures for part in parts):
            sums = [self._futures.pop(part) for part in parts]
            self._ready.append(
                Task(
                    f"sum {parent} of level {level + 1}",
                    _add,
                    (sums,),
                    (level + 1, parent),
                )
            )


def _summarise(
    fingerprint: str, partition: Partition, data: Any, chunking: Chunking | None
) -> _Sums:
    """Return the statistics of a partition."""
    encoder = wait_for_encoder(fingerprint)
    sums = _Sums([CorpusStatistics(part.dimension) for part in encoder.encoders], PartReport())
    texts = partition.texts(data, sums.report)
    if chunking is not None:
        documents = partition.documents(data, sums.report)
        texts = iter(PieceEncoder(encoder, chunking).of_all(each.text for each in documents))
    for block in blocks_for_fit(texts):
        sums.report.rows += len(block)
        for part, statistics in zip(encoder.encoders, sums.statistics, strict=True):
            part.add_to(statistics, block)
    return sums


def _add(parts: list[_Sums]) -> _Sums:
    """Return the sum of the statistics of some partitions, in their order."""
    first = parts[0].statistics
    total = _Sums([CorpusStatistics(each.dimension) for each in first], PartReport())
    for part in parts:
        total.report.add(part.report)
        for sums, statistics in zip(total.statistics, part.statistics, strict=True):
            sums.merge(statistics)
    return total


def _given(sums: _Sums) -> _Sums:
    """Return a sum that an earlier run stored."""
    return sums
