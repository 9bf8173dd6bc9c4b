"""Files that commands write."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gem_index.errors import InputError
from gem_index_cli.output import print_json, say
from gem_index_cli.parameters import names_of

if TYPE_CHECKING:
    from gem_index import Collection
    from gem_index.files.tables import Tabular

__all__ = ["check_table", "check_target", "tell_rows", "write_result"]


def check_target(path: Path, example: str, *endings: str) -> None:
    """Check that an output can be written, so that a command fails before hours of work and not after them."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}; expected the name of a file in an existing folder")
    if endings and path.suffix not in endings:
        raise InputError(f"{path} ends in {path.suffix!r}; expected a name such as {example}")


def check_table(path: Path | None, show: str | None) -> None:
    """Check the name of a table of rows, and that fields are chosen for a table only."""
    from gem_index.files.tables import ENDINGS

    if path is not None:
        check_target(path, "rows.csv", *ENDINGS)
    elif show is not None:
        raise InputError("found --show without --output; expected both, or neither")


def write_result(
    collection: Collection, result: Tabular, path: Path, show: str | None, as_json: bool
) -> None:
    """Write the rows of a result to a file, with fields of the metadata, and tell how many."""
    count = collection.write_rows(path, result, fields=names_of(show))
    tell_rows(collection.name, count, path, as_json)


def tell_rows(name: str, count: int, path: Path, as_json: bool) -> None:
    """Tell how many rows were written."""
    if as_json:
        print_json({"collection": name, "rows": count, "output": str(path)})
    else:
        say(f"{count} rows in {path}.")
