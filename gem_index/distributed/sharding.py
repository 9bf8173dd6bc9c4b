"""Shards of an index: snapshots of consecutive documents, which workers make from the files of partitions."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain
from pathlib import Path
from zipfile import BadZipFile, ZipFile

import numpy as np

from gem_index.collection.state.piece_encoder import embedded_pieces, index_fingerprint
from gem_index.collection.write.adopting import ShardPlan
from gem_index.common.arrays import F32, I64
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.document_parts import DocumentPart
from gem_index.distributed.places import OutputFolder
from gem_index.distributed.tasks import Task
from gem_index.errors import ConfigError, CorruptionError
from gem_index.errors.quoting import quoted_error
from gem_index.gem.combined import Encoder
from gem_index.index.dense import TRAINING_VECTORS, DenseIndex, spread
from gem_index.index.hits import Ids
from gem_index.index.kinds import IndexKind, resolve_kind
from gem_index.index.snapshot_writing import Blocks, NewSnapshot, fill_snapshot
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking

__all__ = ["Sharding"]

_LEAST = 50_000  # documents of a shard, at least: each search reads every shard, so small files share one
_BLANK = "shard-index.faiss"


@dataclass(frozen=True)
class _Shard:
    """The documents of some consecutive files.

    Attributes
    ----------
    number : int
    parts : sequence of DocumentPart
    first : int
        The ``seq`` of its first document; the others follow.
    """

    number: int
    parts: Sequence[DocumentPart]
    first: int

    def __str__(self) -> str:
        return f"shard-{self.number:05}.zip"

    @property
    def count(self) -> int:
        return sum(part.count for part in self.parts)


@dataclass(frozen=True)
class _ShardJob:
    """The common arguments of all shards.

    Attributes
    ----------
    folder : OutputFolder
    kind : IndexKind
    dimension : int
    fingerprint : str
        Of the index; see :func:`index_fingerprint`.
    chunking : Chunking
    analyzer : Analyzer
    blank : str
        SHA-256 of the trained index that every shard begins with.
    """

    folder: OutputFolder
    kind: IndexKind
    dimension: int
    fingerprint: str
    chunking: Chunking
    analyzer: Analyzer
    blank: str

    def mark(self, shard: _Shard) -> bytes:
        """Return a hash of everything that determines the file of a shard."""
        counts = [(part.number, part.count) for part in shard.parts]
        made_of = [shard.first, counts, self.kind.factory, self.fingerprint, self.blank]
        return sha256(json.dumps(made_of).encode()).hexdigest().encode()


@dataclass(frozen=True)
class Sharding:
    """Makes the shards of a collection's index on a cluster.

    Attributes
    ----------
    cluster : Cluster
    encoder : Encoder
        That made the vectors.
    folder : OutputFolder
        Of the parts and of the shards.
    parts : sequence of DocumentPart
    chunking : Chunking
    analyzer : Analyzer
    """

    cluster: Cluster
    encoder: Encoder
    folder: OutputFolder
    parts: Sequence[DocumentPart]
    chunking: Chunking
    analyzer: Analyzer

    def make(self, plan: ShardPlan) -> Sequence[Path]:
        """Return the folders of the shards of all documents, in their order.

        Raises
        ------
        PartitionError, SchedulerUnavailableError
            If the cluster fails.
        CorruptionError
            If the file of a shard cannot be read.
        """
        job = self._job(plan.index)
        shards = list(_shards_of(self.parts, plan.first))
        total, done = sum(each.count for each in shards), 0
        tasks = [Task(str(each), _make_shard, (job, each), each) for each in shards]
        for task, future in self.cluster.run_all(tasks):
            self.cluster.result(future)
            if plan.stop.is_set():
                break
            _fetch(job, task.tag, plan.folder)
            done += task.tag.count
            if plan.report is not None:
                plan.report("index words", done, total)
        return [plan.folder / str(each) for each in shards]

    def _job(self, name: str) -> _ShardJob:
        """Train an index on vectors at even intervals, as on one machine, and write it to the folder of the workers."""
        dimension = self.encoder.dimension
        pieces = sum(part.count for part in self.parts)
        if self.chunking.chunk is not None:
            calls = [(part,) for part in self.parts]
            pieces = sum(self.cluster.map(DocumentPart.count_pieces, calls))
        kind, index = self._blank(resolve_kind(name, pieces, dimension))
        with self.folder.writing(_BLANK) as path:
            index.write(path)
            blank = sha256(path.read_bytes()).hexdigest()
        fingerprint = index_fingerprint(self.encoder.fingerprint, self.chunking, self.analyzer)
        return _ShardJob(
            self.folder, kind, dimension, fingerprint, self.chunking, self.analyzer, blank
        )

    def _blank(self, kind: IndexKind) -> tuple[IndexKind, DenseIndex]:
        """Return an empty index of a kind that can be joined: the given kind, or exact vectors if it cannot be joined."""
        dimension = self.encoder.dimension
        try:
            index = DenseIndex.empty(dimension, kind, self._sample)
            if index.joinable:
                return kind, index
        except ConfigError:
            pass  # too few documents to train it: publishing reports this
        flat = resolve_kind("flat", 0, dimension)
        return flat, DenseIndex.empty(dimension, flat, self._sample)

    def _sample(self) -> F32:
        """Return the vectors with which an index on one machine would be trained."""
        starts = np.cumsum([0, *(part.count for part in self.parts)])
        wanted = spread(np.arange(starts[-1]), TRAINING_VECTORS)
        calls = []
        for part, begin in zip(self.parts, starts[:-1], strict=True):
            here = wanted[(wanted >= begin) & (wanted < begin + part.count)] - begin
            if len(here):
                calls.append((part, here, self.encoder.dimension))
        vectors = np.concatenate(self.cluster.map(DocumentPart.vectors_at, calls))
        sample: F32 = vectors[:: -(-len(vectors) // TRAINING_VECTORS)]
        return sample


def _shards_of(parts: Sequence[DocumentPart], first: int) -> Iterator[_Shard]:
    """Group consecutive parts until a group has enough documents."""
    number, begin, taken = 0, 0, 0
    for end, part in enumerate(parts, 1):
        taken += part.count
        if taken >= _LEAST or (taken and end == len(parts)):
            yield _Shard(number, parts[begin:end], first)
            number, begin, first, taken = number + 1, end, first + taken, 0


def _fetch(job: _ShardJob, shard: _Shard, folder: Path) -> None:
    """Extract the file of a shard on this machine."""
    try:
        with job.folder.opened(str(shard)) as file, ZipFile(file) as packed:
            packed.extractall(folder / str(shard))
    except BadZipFile as error:
        job.folder.remove(str(shard))
        raise CorruptionError(
            f"{shard!s} cannot be read ({quoted_error(error)}); run it again"
        ) from error


# ------------------------------------------------------------------ in the process of a worker


class _ShardTexts:
    """The files of a shard, read once: the :class:`SnapshotSource` of its snapshot."""

    def __init__(self, job: _ShardJob, shard: _Shard, blank: Path) -> None:
        self._job = job
        self._shard = shard
        self._blank = blank
        self._vectors = chain.from_iterable(part.vectors(job.dimension) for part in shard.parts)

    def texts(self, _after: int) -> Iterator[tuple[Ids, Sequence[str]]]:
        begin = self._shard.first
        for part in self._shard.parts:
            for block in part.texts():
                yield np.arange(begin, begin + len(block)), block
                begin += len(block)

    def metadata(self, _after: int) -> Blocks | None:
        return None

    def parts(self, texts: Sequence[str]) -> tuple[Sequence[str], I64]:
        return embedded_pieces(texts, self._job.chunking)

    def rows(self, _texts: Sequence[str]) -> tuple[F32, I64]:
        return next(self._vectors)

    def empty(self, _kind: IndexKind) -> DenseIndex:
        return DenseIndex.read(self._blank)

    def report(self, _stage: str, _last: int) -> None:
        return


def _make_shard(job: _ShardJob, shard: _Shard) -> None:
    """Write the file of a shard, unless an earlier run has written it."""
    try:
        with job.folder.opened(str(shard)) as file, ZipFile(file) as packed:
            if packed.comment == job.mark(shard):
                return
    except (FileNotFoundError, BadZipFile):
        pass  # the file is missing or damaged: write it

    with tempfile.TemporaryDirectory(prefix="gem-index-") as temporary:
        blank, snapshot = Path(temporary, "blank"), Path(temporary, "snapshot")
        snapshot.mkdir()
        blank.write_bytes(job.folder.read(_BLANK))
        source = _ShardTexts(job, shard, blank)
        new = NewSnapshot(job.kind, job.dimension, job.fingerprint, job.analyzer, source)
        fill_snapshot(snapshot, new)
        with job.folder.writing(str(shard)) as path, ZipFile(path, "w") as packed:
            for each in sorted(snapshot.rglob("*")):
                if each.is_file() and each.suffix != ".lock":
                    packed.write(each, each.relative_to(snapshot))
            packed.comment = job.mark(shard)
