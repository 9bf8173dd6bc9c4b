"""The option that gives the work of a command to a Dask cluster."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from gem_index.errors import RecordError
from gem_index_cli.input_options import InputOptions

if TYPE_CHECKING:
    from distributed import Client
    from gem_index.distributed import PartitionOptions

__all__ = ["ClusterOptions"]


@dataclass(frozen=True)
class ClusterOptions:
    """The choice of a cluster."""

    PANEL: ClassVar[str] = "Cluster"

    scheduler: Annotated[
        str | None,
        typer.Option(
            help="Run on a Dask cluster: local, or the address of its scheduler, such as tcp://host:8786. INPUT may be "
            "patterns such as 'logs/*.jsonl' and URLs such as s3://bucket/x.parquet; every worker must be able to read "
            "them.",
            show_default=False,
        ),
    ] = None

    @contextmanager
    def connected(self) -> Iterator[Client]:
        """Yield a client of the cluster, and print the address of its dashboard."""
        from gem_index.distributed import connected

        assert self.scheduler is not None
        with connected(self.scheduler) as client:
            for name in list(logging.root.manager.loggerDict):
                if name.startswith("distributed"):  # the command prints an error of one line itself
                    logging.getLogger(name).setLevel(logging.CRITICAL)
            if client.dashboard_link:
                print(f"Dashboard: {client.dashboard_link}", file=sys.stderr)  # noqa: T201 - not a result
            yield client

    @staticmethod
    def partitions(options: InputOptions) -> PartitionOptions:
        """Return how to treat bad records."""
        from gem_index.distributed import PartitionOptions

        return PartitionOptions(errors="raise" if options.skip is None else "skip")

    @staticmethod
    def tell(options: InputOptions, skipped_records: Sequence[RecordError], skipped: int) -> None:
        """Show the bad records that workers left out."""
        for error in skipped_records:
            options.log.skip(error)
        options.log.end()
        if skipped > len(skipped_records):
            print(  # noqa: T201 - not a result
                f"Skipped: {skipped:,} bad records, of which those of each part beyond 100 are not listed.",
                file=sys.stderr,
            )
