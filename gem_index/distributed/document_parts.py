"""Files of the documents of a collection with the vectors of their pieces, one for each partition."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.common.arrays import F32, I64
from gem_index.distributed.inputs import Partition
from gem_index.distributed.manifest import part_name
from gem_index.distributed.partitions import PartReport
from gem_index.distributed.parts import PartJob, write_part
from gem_index.distributed.places import OutputFolder
from gem_index.distributed.shipping import wait_for_encoder
from gem_index.documents import Document
from gem_index.errors import CorruptionError
from gem_index.errors.quoting import quoted_error
from gem_index.targets.parquet import require_pyarrow
from gem_index.text.tokens import WeightedText

__all__ = ["DocumentPart", "write_documents"]

_NUMBER = np.dtype("<f4")
_BLOCK = 4096
_BLOCK_CHARACTERS = 8_000_000
_DOCUMENT = ["id", "text", "weights", "metadata"]
_PIECES, _VECTORS = "pieces", "vectors"


@dataclass(frozen=True)
class DocumentPart:
    """The file of one partition.

    Attributes
    ----------
    folder : OutputFolder
    number : int
        Its place among all partitions, from 0.
    count : int
        How many documents it holds.
    """

    folder: OutputFolder
    number: int
    count: int

    def __str__(self) -> str:
        return part_name(self.number)

    def documents(self) -> Iterator[Document]:
        """Iterate over the documents."""
        for batch in self._blocks(_DOCUMENT):
            columns = [batch[name].to_pylist() for name in _DOCUMENT]
            for identifier, text, weights, metadata in zip(*columns, strict=True):
                yield Document(
                    id=identifier, text=_text(text, weights), metadata=json.loads(metadata)
                )

    def texts(self) -> Iterator[list[str]]:
        """Iterate over blocks of the texts."""
        for batch in self._blocks(["text", "weights"]):
            pairs = zip(batch["text"].to_pylist(), batch["weights"].to_pylist(), strict=True)
            yield [_text(text, weights) for text, weights in pairs]

    def vectors(self, dimension: int) -> Iterator[tuple[F32, I64]]:
        """Iterate over the vectors of the pieces (p, dimension) of the same blocks, and how many each text has."""
        for batch in self._blocks([_PIECES, _VECTORS]):
            yield _rows(batch[_VECTORS], dimension), batch[_PIECES].to_numpy()

    def vectors_at(self, places: I64, dimension: int) -> F32:
        """Return the vectors (p, dimension) of the pieces of some documents, by ascending place."""
        pa, _ = require_pyarrow()
        found, begin = [np.zeros((0, dimension), np.float32)], 0
        for batch in self._blocks([_VECTORS]):
            here = places[(places >= begin) & (places < begin + len(batch))] - begin
            if len(here):
                found.append(_rows(batch[_VECTORS].take(pa.array(here)), dimension))
            begin += len(batch)
        return np.concatenate(found)

    def count_pieces(self) -> int:
        """Return the number of vectors in the file."""
        return sum(int(batch[_PIECES].to_numpy().sum()) for batch in self._blocks([_PIECES]))

    def _blocks(self, columns: list[str]) -> Iterator[Any]:
        """Iterate over some columns of the blocks that were written."""
        pa, pq = require_pyarrow()
        try:
            with self.folder.opened(str(self)) as file:
                parquet = pq.ParquetFile(file, page_checksum_verification=True)
                for group in range(parquet.num_row_groups):
                    yield from parquet.read_row_group(group, columns).combine_chunks().to_batches()
        except FileNotFoundError as error:
            raise CorruptionError(
                f"{self!s} cannot be read (it was removed, perhaps by a worker that found it damaged); run it again"
            ) from error
        except (OSError, pa.ArrowException) as error:
            if isinstance(error, OSError) and "CRC" not in str(error):
                raise  # an error of the storage, which may work at the next attempt
            self.folder.remove(str(self))
            raise CorruptionError(
                f"{self!s} cannot be read ({quoted_error(error)}); run it again"
            ) from error


def _text(text: str, weights: str | None) -> str:
    return text if weights is None else WeightedText(text, json.loads(weights))


def _rows(column: Any, dimension: int) -> F32:
    """Return the vectors (p, dimension) of a column, see :func:`_column`."""
    _, offsets, content = column.buffers()
    ends = np.frombuffer(offsets, np.int64)[column.offset :][: len(column) + 1]
    begin, end = ends[[0, -1]] // _NUMBER.itemsize
    found: F32 = np.frombuffer(content, _NUMBER)[begin:end]
    return found.reshape(-1, dimension)


def _column(vectors: F32, counts: I64) -> Any:
    """Return a column of the vectors of the pieces (p, d) of documents, as bytes: lists of numbers take twice the time."""
    pa, _ = require_pyarrow()
    ends = np.concatenate([[0], np.cumsum(counts)]) * vectors.shape[1] * _NUMBER.itemsize
    content = np.ascontiguousarray(vectors, _NUMBER)
    buffers = [None, pa.py_buffer(ends.astype(np.int64)), pa.py_buffer(content)]
    return pa.Array.from_buffers(pa.large_binary(), len(counts), buffers)


# ------------------------------------------------------------------ in the process of a worker


def write_documents(job: PartJob, partition: Partition, data: Any) -> PartReport:
    """Write the documents of a partition with the vectors of their pieces; the options of the job are the chunking."""
    pa, _ = require_pyarrow()
    pieces = PieceEncoder(wait_for_encoder(job.fingerprint), job.options)
    fields = [(name, pa.string()) for name in _DOCUMENT]
    fields += [(_PIECES, pa.int64()), (_VECTORS, pa.large_binary())]

    def columns(report: PartReport) -> Iterator[list[Any]]:
        for block in _blocks(partition.documents(data, report)):
            vectors, counts = pieces.rows([each.text for each in block])
            report.rows += len(block)
            yield [
                pa.array([each.id for each in block], pa.string()),
                pa.array([str(each.text) for each in block], pa.string()),
                pa.array([each.weights_json for each in block], pa.string()),
                pa.array([each.metadata_json for each in block], pa.string()),
                pa.array(counts),
                _column(vectors, counts),
            ]

    return write_part(job, partition, fields, columns)


def _blocks(documents: Iterator[Document]) -> Iterator[list[Document]]:
    """Divide documents into lists with bounds on their number and characters."""
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
