"""The inputs of a cluster: files, or a Dask DataFrame or Bag."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gem_index.common.checks import check_choice
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.partitions import FilePartition, PartReport, Reading
from gem_index.distributed.places import StorageOptions
from gem_index.distributed.planning import PARTITION_BYTES, plan
from gem_index.documents import Document
from gem_index.errors import InputError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers import DocumentReader, documents_from
from gem_index.readers.fields import LINE

__all__ = ["ObjectPartition", "Partition", "PartitionOptions", "partitions_of"]


@dataclass(frozen=True, kw_only=True)
class PartitionOptions:
    """How inputs become partitions.

    Parameters
    ----------
    errors : {"raise", "skip"}
        What to do with a bad record: stop, or skip and list it.
    partition_bytes : int
        Size of the parts of a large file; a worker takes seconds for 16 MiB.
    storage_options : mapping, optional
        Arguments of the fsspec file system of URLs.
    id_field : str, optional
        Field or column of the id, as for a :class:`~gem_index.readers.DocumentReader`, which says it itself.
    text_fields : sequence of str
        Fields or columns of the text.

    Raises
    ------
    ConfigError
        If ``errors`` is neither.
    """

    errors: str = "raise"
    partition_bytes: int = PARTITION_BYTES
    storage_options: StorageOptions = field(default_factory=dict, repr=False)
    id_field: str | None = None
    text_fields: Sequence[str] = (LINE,)

    def __post_init__(self) -> None:
        check_choice(self.errors, "errors", ("raise", "skip"))


@dataclass(frozen=True)
class ObjectPartition:
    """A partition of a Dask DataFrame or Bag. A task gets its rows from Dask.

    Attributes
    ----------
    number : int
    name : str
        That Dask gives it.
    reading : Reading
    """

    number: int
    name: str
    reading: Reading

    def __str__(self) -> str:
        return f"partition {self.number} of {self.name}"

    @property
    def identity(self) -> list[Any]:
        """JSON that identifies the partition among all partitions."""
        return [self.name, self.number]

    def rows(self, data: Any, report: PartReport) -> Iterator[tuple[str, str]]:
        """Iterate over ids and texts."""
        return ((document.id, document.text) for document in self.documents(data, report))

    def texts(self, data: Any, report: PartReport) -> Iterator[str]:
        """Iterate over the texts."""
        return (document.text for document in self.documents(data, report))

    def documents(self, data: Any, report: PartReport) -> Iterator[Document]:
        """Iterate over the documents."""
        arguments = self.reading.arguments
        for place, item in enumerate(_items(data), 1):
            try:
                yield next(
                    documents_from(
                        [item], id=arguments.get("id_field"), text=arguments.get("text_fields")
                    )
                )
            except RecordError as error:
                problem = error.moved(str(self), place)
                if not self.reading.skip:
                    raise problem from error
                report.skip(problem)


Partition = FilePartition | ObjectPartition


def _items(data: Any) -> Iterator[Any]:
    """Iterate over the rows of a frame, or the items of a bag; an item that is a text is a record with only this text."""
    if hasattr(data, "itertuples"):
        columns = [str(name) for name in data.columns]
        for row in data.itertuples(index=False, name=None):
            yield dict(zip(columns, row, strict=True))
        return
    yield from data


def partitions_of(
    inputs: Any, options: PartitionOptions, cluster: Cluster
) -> tuple[Sequence[Partition], Sequence[Any]]:
    """Return the partitions of inputs, and for each the Dask object that is its data (None: a worker reads it).

    Parameters
    ----------
    inputs : str, Path, sequence of these, DocumentReader, Dask DataFrame or Bag
    options : PartitionOptions
    cluster : Cluster

    Raises
    ------
    InputError
        If an input is missing or empty.
    """
    skip = options.errors == "skip"
    if hasattr(inputs, "to_delayed") and hasattr(inputs, "npartitions"):
        parts = inputs.to_delayed()
        name = str(getattr(inputs, "name", None) or getattr(inputs, "_name", "data"))
        reading = Reading(
            {"id_field": options.id_field, "text_fields": tuple(options.text_fields)}, skip
        )
        return [ObjectPartition(i, name, reading) for i in range(len(parts))], parts
    if isinstance(inputs, str | Path):
        inputs = [inputs]
    if not isinstance(inputs, DocumentReader):
        if (
            isinstance(inputs, Mapping)
            or not isinstance(inputs, Sequence)
            or not all(isinstance(each, str | Path) for each in inputs)
        ):
            raise InputError(
                f"the inputs are {quoted(inputs)}; expected paths, patterns or URLs of files, a reader of them, or a Dask "
                "DataFrame or Bag"
            )
        inputs = DocumentReader(
            [str(each) for each in inputs],
            id_field=options.id_field,
            text_fields=options.text_fields,
        )
    found = plan(
        inputs,
        skip=skip,
        partition_bytes=options.partition_bytes,
        storage_options=options.storage_options,
        run=cluster.map,
    )
    return found, [None] * len(found)
