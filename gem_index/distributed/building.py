"""Build a collection on a cluster: workers read, fit, encode and index; this machine stores their results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock, Timeout

from gem_index.collection import Collection
from gem_index.collection.results import UpsertReport
from gem_index.collection.write.adopting import ingest_shards
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.document_parts import DocumentPart, write_documents
from gem_index.distributed.fitting import fit_partitions
from gem_index.distributed.inputs import PartitionOptions, partitions_of
from gem_index.distributed.manifest import Manifest
from gem_index.distributed.partitions import PartReport, ReportOfRecords
from gem_index.distributed.parts import (
    clear_parts,
    make_parts,
    part_request,
)
from gem_index.distributed.places import OutputFolder, StorageOptions
from gem_index.distributed.sharding import Sharding
from gem_index.errors import Action, Advice, HomeBusyError, InputError, RecordError
from gem_index.files.inputs import make_directory
from gem_index.gem.combined import Encoder
from gem_index.gem.specification import ConfigLike
from gem_index.home import Home
from gem_index.progress import ProgressOption, reporting
from gem_index.readers import DocumentReader
from gem_index.targets.parquet import require_pyarrow
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking
from gem_index.text.languages import detect_language

if TYPE_CHECKING:
    from distributed import Client

__all__ = ["BuildReport", "build_shards"]


@dataclass(frozen=True)
class BuildReport(ReportOfRecords):
    """The report of building a collection on a cluster.

    Attributes
    ----------
    report : UpsertReport
        The counts of the collection.
    skipped : int
        Bad records left out.
    skipped_records : list of RecordError
        The first 100 of each partition; ``problems`` has file, line and problem of each.
    """

    report: UpsertReport
    skipped: int
    skipped_records: list[RecordError] = field(repr=False)


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
    chunking: Chunking | None = None,
    language: str | None = None,
    options: PartitionOptions | None = None,
    parts_options: StorageOptions | None = None,
    progress: ProgressOption = None,
) -> BuildReport:
    """Build a new collection from documents that the workers of a cluster read.

    The workers fit the collection's model, write the documents of each partition with the vectors of their pieces, and make
    shards of the index from them: codes, values and words of 50,000 documents and more. Then this machine stores the
    documents in one transaction and opens the shards as one index, without encoding or indexing anything again: the result
    is a collection like any other, and :meth:`gem_index.Collection.compact` merges the shards. If an earlier call was
    interrupted, the same call continues it.

    Parameters
    ----------
    client : distributed.Client
    home : Home
        On this machine; workers do not see it.
    name : str
        The name of a new or empty collection.
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
        Paths, patterns and URLs of files that every worker reads.
    parts : str or Path, optional
        A folder, or the URL of one, that the workers write to and this machine reads; it is emptied at the end. By default a
        folder in the home, for workers that can see its file system. The checkpoint of the fit is in the home.
    vectors, config, prior, index, chunking, language
        As for :meth:`gem_index.Home.create_collection`.
    options : PartitionOptions, optional
    parts_options : mapping, optional
        Arguments of the fsspec file system of ``parts``.
    progress : bool or callable, optional
        Called with stage, done and total.

    Raises
    ------
    InputError
        If an input is wrong, or the collection is not empty; RecordError names file and line of a bad record.
    HomeBusyError
        If another process builds this collection.
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
    collection = home.get_or_create_collection(
        name,
        vectors=vectors,
        config=config,
        prior=prior,
        index=index,
        chunking=chunking,
        language=language,
    )
    own = not parts
    own_folder = home.root / "parts" / name
    here = OutputFolder.of(own_folder, {})
    folder = here if own else OutputFolder.of(str(parts), parts_options or {})
    # names of collections have no tilde, so these parts belong to no other collection
    sums = OutputFolder.of(own_folder.with_name(f"{name}~fit"), {})
    chosen = options or PartitionOptions()
    with _alone(name, own_folder.with_name(f"{name}~lock")):
        _check_empty(collection, here, sums)
        try:
            cluster = Cluster(client)
            found = _made(cluster, collection, inputs, folder, sums, own, chosen, progress)
            analyzer = _analyzer(collection, found.parts)
            sharding = Sharding(
                cluster, found.encoder, folder, found.parts, collection.chunking, analyzer
            )
            reading = inputs.choices if isinstance(inputs, DocumentReader) else {}
            documents = chain.from_iterable(part.documents() for part in found.parts)
            with reporting(progress, "store") as show:
                report = ingest_shards(
                    collection.access, found.encoder, documents, sharding.make, reading, show
                )
        except BaseException as error:
            _discard(home, name, existed, error)
            raise
        for each in (folder, here, sums):  # an earlier run may have left its parts here
            clear_parts(each)
    total = PartReport()
    for part in found.reports:
        total.add(part)
    return BuildReport(report, total.skipped, total.skipped_records())


def _analyzer(collection: Collection, parts: Sequence[DocumentPart]) -> Analyzer:
    """Return the analyzer; detect the language from the first documents if it is not given."""
    access = collection.access
    with access.reading() as rows:
        own = rows.record.analyzer
    if not own.detects:
        return own
    documents = chain.from_iterable(part.documents() for part in parts)
    found = Analyzer(detect_language(document.text for document in documents).language)
    with access.writing() as rows:
        rows.names.use_text_settings(access.id, {"analysis": found.stored})
    return found


@contextmanager
def _alone(name: str, lock: Path) -> Iterator[None]:
    """Hold a lock, so that no other process builds the same collection and writes to the same folder.

    Raises
    ------
    HomeBusyError
        If another process does.
    """
    make_directory(lock.parent)
    try:
        with FileLock(lock, timeout=0, mode=0o600):
            yield
    except Timeout as error:
        raise HomeBusyError(
            f"another process builds the collection {name}; wait until it is done"
        ) from error


def _check_empty(collection: Collection, *folders: OutputFolder) -> None:
    """Check that a collection is empty. Remove the leftovers of a build that was killed after it had stored everything.

    Raises
    ------
    InputError
        If it holds documents.
    """
    if not len(collection):
        return
    for folder in folders:
        clear_parts(folder)
    problem = f"the collection {collection.name} holds documents; expected a new one"
    if collection.status().fitted:
        raise InputError(f"{problem}: add to it on this machine")
    raise InputError(
        f"{problem}, or this one with its documents fitted and indexed",
        Advice(Action.REFIT, {"collection": collection.name}),
    )


def _discard(home: Home, name: str, existed: bool, error: BaseException) -> None:
    """Remove an empty collection that was created for this build."""
    if not existed and not len(home.collection(name)):
        try:
            home.drop(name)
        except OSError as second:
            error.add_note(f"the collection {name} was not removed: {second}")


@dataclass(frozen=True)
class _Made:
    """The results of the workers: the fitted encoder, and the documents with the vectors of their pieces."""

    encoder: Encoder
    parts: list[DocumentPart]
    reports: list[PartReport]


def _made(
    cluster: Cluster,
    collection: Collection,
    inputs: Any,
    folder: OutputFolder,
    sums: OutputFolder,
    own: bool,
    options: PartitionOptions,
    progress: ProgressOption,
) -> _Made:
    """Fit and encode on the workers. Files of other inputs are removed if the folder is in the home."""
    before = Manifest.read(folder)  # raises errors about the folder before any work
    partitions, data = partitions_of(inputs, options, cluster)
    chunking = collection.chunking
    encoder = collection.encoder.unfitted()

    def request() -> dict[str, Any]:
        return part_request(
            encoder, partitions, chunking=chunking.fields, collection=collection.name
        )

    if before is not None and not own:
        unfitted = request()
        del unfitted["fingerprint"]
        before.check(folder, unfitted)
    fit_partitions(cluster, encoder, partitions, data, progress, chunking, sums)
    if own and before is not None and before.request != request():
        clear_parts(folder)
    reports = make_parts(
        cluster, encoder, partitions, data, folder, request(), write_documents, chunking, progress
    )
    parts = [DocumentPart(folder, number, each.rows) for number, each in enumerate(reports)]
    return _Made(encoder, parts, reports)
