"""Build a collection on a cluster: workers read, fit and encode, and this machine takes in what they made."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gem_index.arrays import F32
from gem_index.collection import Collection
from gem_index.collection.pieces import PieceEncoder
from gem_index.collection.results import IngestReport
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.fitting import fit_partitions, fit_request
from gem_index.distributed.inputs import Partition, PartitionOptions, partitions_of
from gem_index.distributed.manifest import Manifest, part_name
from gem_index.distributed.partitions import PartReport
from gem_index.distributed.parts import (
    PartJob,
    clear_parts,
    make_parts,
    part_request,
    require_pyarrow,
    write_part,
)
from gem_index.distributed.places import OutputFolder, StorageOptions
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.documents import Document
from gem_index.errors import InputError
from gem_index.gem.specification import ConfigLike
from gem_index.home import Home
from gem_index.progress import ProgressOption
from gem_index.reading import Cutting, DocumentReader
from gem_index.text import WeightedText

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["BuildReport", "build_shards"]

_BLOCK = 4096
_BLOCK_CHARACTERS = 8_000_000
_DOCUMENT = ["id", "text", "weights", "metadata"]
_VECTORS = ["text", "weights", "vectors"]


@dataclass(frozen=True)
class BuildReport:
    """What a collection was built of on a cluster.

    Attributes
    ----------
    ingest : IngestReport
        The counts of the collection.
    skipped : int
        Bad records left out.
    problems : list of (str, int, str)
        File, line and problem of the first 100 of each partition.
    """

    ingest: IngestReport
    skipped: int
    problems: list[tuple[str, int, str]] = field(repr=False)


def build_shards(
    client: Client,
    home: Home,
    name: str,
    inputs: Any,
    *,
    parts: str | Path | None = None,
    vectors: str | None = None,
    config: ConfigLike | None = None,
    prior: float | None = None,
    index: str | None = None,
    cutting: Cutting | None = None,
    options: PartitionOptions | None = None,
    parts_options: StorageOptions | None = None,
    progress: ProgressOption = None,
) -> BuildReport:
    """Build a new collection from documents that the workers of a cluster read.

    The workers fit the collection's model and make a shard of each partition, a file of its documents with the vectors of
    their pieces; then this machine stores them in one transaction and writes one index, without encoding anything again:
    the result is a collection like any other. The same call goes on where an earlier one stopped.

    Parameters
    ----------
    client : distributed.Client
    home : Home
        On this machine; workers do not see it.
    name : str
        Of a new collection, or of one that holds no documents.
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
        Paths, patterns and URLs of files that every worker reads.
    parts : str or Path, optional
        A folder, or the URL of one, that the workers write to and this machine reads; it is emptied at the end. By default
        one in the home, for workers that see its file system. What the fit keeps meanwhile lies beside it.
    vectors, config, prior, index, cutting
        As for :meth:`gem_index.Home.create_collection`.
    options : PartitionOptions, optional
    parts_options : mapping, optional
        Arguments of the fsspec file system of ``parts``.
    progress : bool or callable, optional
        Called with the name of a stage, what is done, and of how much.

    Raises
    ------
    InputError
        If an input is wrong, or the collection holds documents; RecordError names file and line of a bad record.
    DuplicateIdError
        If two documents have the same id.
    WorkerMismatchError
        If a worker has another version, other vectors, or does not see the folder of parts.
    PartitionError, SchedulerUnavailableError
        If the cluster fails.
    NotIndexedError
        If the documents are stored, but indexing them failed.
    """
    require_pyarrow()
    existed = name in home
    collection = home.create_collection(
        name,
        vectors=vectors,
        config=config,
        prior=prior,
        index=index,
        cutting=cutting,
        exist_ok=True,
    )
    if len(collection):
        raise InputError(
            f"the collection {name} holds documents; expected a new one: add to it on this machine"
        )
    own = parts is None
    folder = OutputFolder.of(parts or home.root / "parts" / name, parts_options or {})
    chosen = options or PartitionOptions()
    try:
        found = _made(Cluster(client), collection, inputs, folder, own, chosen, progress)
        report = collection.adopt(
            found.encoder, found.documents(), _Vectors(found), found.reading, progress
        )
    except BaseException as error:
        _discard(home, name, existed, error)
        raise
    for each in (folder, _sums_of(folder)):
        clear_parts(each)
    total = PartReport()
    for part in found.reports:
        total.add(part)
    return BuildReport(report, total.skipped, total.problems)


def _discard(home: Home, name: str, existed: bool, error: BaseException) -> None:
    """Remove a collection that was made for the work and holds nothing."""
    if not existed and not len(home.collection(name)):
        try:
            home.drop(name)
        except OSError as second:
            error.add_note(f"the collection {name} was not removed: {second}")


@dataclass(frozen=True)
class _Made:
    """What the workers made.

    Attributes
    ----------
    encoder : Encoder
    folder : OutputFolder
    reports : list of PartReport
    reading : dict
        How files are read that are added later.
    """

    encoder: Any
    folder: OutputFolder
    reports: list[PartReport]
    reading: dict[str, Any]

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents, in the order of the input."""
        for batch in self.batches(_DOCUMENT):
            columns = [batch[name].to_pylist() for name in _DOCUMENT]
            for identifier, text, weights, metadata in zip(*columns, strict=True):
                yield Document(
                    id=identifier, text=_text(text, weights), metadata=json.loads(metadata)
                )

    def batches(self, columns: list[str]) -> Iterator[Any]:
        """Iterate over batches of some columns of all files."""
        _, pq = require_pyarrow()
        for number in range(len(self.reports)):
            with self.folder.opened(part_name(number)) as file:
                yield from pq.ParquetFile(file).iter_batches(_BLOCK, columns=columns)


@dataclass(frozen=True)
class _Vectors:
    """The texts with the vectors of their pieces, each time they are iterated over."""

    made: _Made

    def __iter__(self) -> Iterator[tuple[str, F32]]:
        dimension = self.made.encoder.dimension
        for batch in self.made.batches(_VECTORS):
            column = batch["vectors"]
            offsets = column.offsets.to_numpy()
            numbers = column.values.to_numpy()
            texts = zip(batch["text"].to_pylist(), batch["weights"].to_pylist(), strict=True)
            for place, (text, weights) in enumerate(texts):
                rows = numbers[offsets[place] : offsets[place + 1]]
                yield _text(text, weights), rows.reshape(-1, dimension)


def _text(text: str, weights: str | None) -> str:
    return text if weights is None else WeightedText(text, json.loads(weights))


def _made(
    cluster: Cluster,
    collection: Collection,
    inputs: Any,
    folder: OutputFolder,
    own: bool,
    options: PartitionOptions,
    progress: ProgressOption,
) -> _Made:
    """Fit and encode on the workers; a folder of our own is emptied of what other inputs have left."""
    Manifest.read(folder)  # what is wrong with it is told before any work
    partitions, data = partitions_of(inputs, options, cluster)
    cutting = collection.cutting
    encoder = collection.encoder.unfitted()
    sums = _sums_of(folder)
    if own:
        _forget_others(sums, fit_request(encoder, partitions, cutting))
    fit_partitions(cluster, encoder, partitions, data, progress, cutting, sums)
    request = part_request(encoder, partitions, cutting=cutting.fields, collection=collection.name)
    if own:
        _forget_others(folder, request)
    reports = make_parts(
        cluster, encoder, partitions, data, folder, request, _write, cutting, progress
    )
    reading = inputs.choices if isinstance(inputs, DocumentReader) else {}
    return _Made(encoder, folder, reports, reading)


def _sums_of(folder: OutputFolder) -> OutputFolder:
    """Return the folder beside that of the parts where a fit keeps its sums."""
    return OutputFolder(f"{folder.place}-fit", folder.options)


def _forget_others(folder: OutputFolder, request: Mapping[str, Any]) -> None:
    """Empty a folder of what another request has left."""
    before = Manifest.read(folder)
    if before is not None and before.request != request:
        clear_parts(folder)


# ------------------------------------------------------------------ in the process of a worker


def _write(job: PartJob, partition: Partition, data: Any) -> PartReport:
    """Write the documents of a partition with the vectors of their pieces."""
    pa, _ = require_pyarrow()
    pieces = PieceEncoder(wait_for_encoder(job.fingerprint), job.options)
    fields = [(name, pa.string()) for name in _DOCUMENT]
    fields.append(("vectors", pa.list_(pa.float32())))

    def columns(report: PartReport) -> Iterator[list[Any]]:
        for block in _blocks(partition.documents(data, report)):
            vectors, counts = pieces.rows([each.text for each in block])
            report.rows += len(block)
            offsets = np.concatenate([[0], np.cumsum(counts)]) * vectors.shape[1]
            yield [
                pa.array([each.id for each in block], pa.string()),
                pa.array([str(each.text) for each in block], pa.string()),
                pa.array([each.weights_json for each in block], pa.string()),
                pa.array([each.metadata_json for each in block], pa.string()),
                pa.ListArray.from_arrays(
                    pa.array(offsets.astype(np.int32)), pa.array(vectors.ravel())
                ),
            ]

    return write_part(job, partition, fields, columns)


def _blocks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Cut documents into lists with bounds on their number and characters."""
    block: list[Document] = []
    characters = 0
    for document in documents:
        if block and (len(block) == _BLOCK or characters + len(document.text) > _BLOCK_CHARACTERS):
            yield block
            block, characters = [], 0
        block.append(document)
        characters += len(document.text)
    if block:
        yield block
