"""The inputs of a command: files of records, folders, files that are one document, and databases."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from gem_index.errors import ConfigError, InputError
from gem_index_cli.input_options import InputOptions
from gem_index_cli.output import say, visible

if TYPE_CHECKING:
    from gem_index import Collection
    from gem_index.readers import DocumentReader, FolderReader, QueryReader
    from gem_index.readers.inputs import Inputs

__all__ = [
    "FolderOptions",
    "QueryOptions",
    "Sources",
    "Whole",
    "naming_duplicates",
    "print_unread",
    "readers_of",
    "records_on_cluster",
    "skipped_in",
]

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Files of records (.jsonl, .json, .csv, .tsv, .xlsx, .parquet, .txt with one text per line, "
        "Posts.xml), also compressed (.gz); - (standard input); documents (.md .html .pdf .docx ...); folders; or a "
        "database as sql:URL.",
    ),
]

Whole = Annotated[
    bool | None,
    typer.Option(
        "--whole/--lines",
        help="How to read a .txt file: as one document (--whole), or as one text per line (--lines, the default).",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class FolderOptions:
    """How folders are read."""

    PANEL: ClassVar = "Folders"

    glob: Annotated[
        list[str] | None,
        typer.Option(
            help="In a folder, read only files that match, such as '*.md'; may be repeated."
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="In a folder, skip files and folders that match; may be repeated."),
    ] = None
    gitignore: Annotated[
        bool | None,
        typer.Option(
            "--gitignore/--no-gitignore",
            help="Skip the files that .gitignore files exclude. Default: as the last time this folder was read; for a new "
            "folder, skip none.",
            show_default=False,
        ),
    ] = None
    checksum: Annotated[
        bool,
        typer.Option(
            "--checksum",
            help="Detect changed files by their content. Default: by their size and time.",
        ),
    ] = False

    def reader(
        self,
        name: str,
        encoding: str | None,
        on_problem: Callable[[InputError], None] | None,
        collection: Collection | None,
    ) -> FolderReader:
        """Return the reader of a folder; print a note if the collection was filled from it with other options."""
        from gem_index.readers import FolderReader

        reader = FolderReader(
            name,
            glob=tuple(self.glob or ()),
            exclude=tuple(self.exclude or ()),
            gitignore=self.gitignore,
            checksum=self.checksum,
            encoding=encoding,
            on_problem=on_problem,
        )
        before = {} if collection is None else collection.sources.get(reader.location, {})
        for option, value in before.items():
            if reader.choices.get(option) not in (None, value):
                if isinstance(value, bool):
                    told = f"with {_flag(option, value)}"
                else:
                    shown = ", ".join(value) if isinstance(value, list) else value
                    told = f"with another --{option}: {visible(str(shown))}"
                print(f"Note: the folder was read {told}.", file=sys.stderr)  # noqa: T201
        return reader


@dataclass(frozen=True)
class QueryOptions:
    """How databases are read."""

    PANEL: ClassVar = "Databases"

    query: Annotated[
        str | None, typer.Option(help="The SELECT statement that reads a database.")
    ] = None
    since: Annotated[
        str | None,
        typer.Option(
            help="A column whose value grows with each change of a row. A row is read only if its value is at least "
            "the highest value read before."
        ),
    ] = None

    def reader(self, name: str, options: InputOptions) -> QueryReader:
        """Return the reader of a database."""
        from gem_index.readers import QueryReader

        return QueryReader(
            name,
            self.query,
            id_field=options.id_field or "id",
            text_fields=tuple(options.text_fields(None) or ("text",)),
            since=self.since,
            on_problem=options.skip,
        )


def readers_of(
    names: list[str],
    options: InputOptions,
    folders: FolderOptions,
    queries: QueryOptions,
    *,
    whole: bool | None = None,
    collection: Collection | None = None,
    types: str = "text",
) -> Inputs:
    """Return the readers of some inputs.

    Parameters
    ----------
    names : list of str
    options : InputOptions
    folders : FolderOptions
    queries : QueryOptions
    whole : bool, optional
        Whether a named ``.txt`` file is one document.
    collection : Collection, optional
        It remembers how its inputs were read.
    types : str
        The types of columns if neither the options nor the collection give types.

    Raises
    ------
    ConfigError
        If an option is given and nothing among the inputs takes it.
    InputError
        If an input has no name.
    """
    from gem_index.readers.inputs import Inputs

    if "" in names:
        raise InputError("found an input without a name; expected a file, a folder or sql:URL")
    options.check_report(names)
    records: list[str] = []
    readers: list[Any] = []
    found: set[type] = set()
    for name in names:
        if name.startswith("sql:"):
            readers.append(queries.reader(name, options))
            found.add(QueryOptions)
        elif _is_read_as_folder(name, whole, collection):
            readers.append(folders.reader(name, options.encoding, options.skip, collection))
            found.add(FolderOptions)
        else:
            records.append(name)
    _check_taken(folders, queries, found)
    if records:
        kept = None if collection is None else collection.reading
        readers.insert(0, options.reader(records, kept, types))
    else:
        options.check_no_records()
    return Inputs(readers)


def _check_taken(folders: FolderOptions, queries: QueryOptions, found: set[type]) -> None:
    """Refuse options of folders or databases without such an input."""
    for group, wanted in ((folders, "a folder"), (queries, "sql:URL")):
        for option in fields(group):
            value = getattr(group, option.name)
            if value not in (option.default, []) and type(group) not in found:
                raise ConfigError(
                    f"found {_flag(option.name, value)} and no input that takes it; expected {wanted}"
                )


def records_on_cluster(
    names: list[str],
    options: InputOptions,
    folders: FolderOptions,
    queries: QueryOptions,
    whole: bool | None,
) -> DocumentReader:
    """Return the reader of files of records, the only inputs of a cluster.

    Raises
    ------
    ConfigError
        If an option of other inputs is given.
    """
    _check_taken(folders, queries, set())
    if whole:
        raise ConfigError(
            "found --whole with --scheduler; expected files of records: a cluster reads no others"
        )
    return options.reader(names)


def _flag(option: str, value: object) -> str:
    """Return an option as it is typed."""
    return f"--no-{option}" if value is False else f"--{option}"


def _is_read_as_folder(name: str, whole: bool | None, collection: Collection | None) -> bool:
    """Tell whether an input is a folder, or one file that is read like the files of a folder."""
    from gem_index.converting import kind_of
    from gem_index.files.inputs import user_path

    path = user_path(name)
    if name != "-" and os.path.isdir(path):  # noqa: PTH112 - False for a name that no file can have
        return True
    kind = kind_of(name)
    if kind == "text" and whole is None:
        return collection is not None and os.path.realpath(path) in collection.sources
    return kind is not None and (kind != "text" or bool(whole))


@contextmanager
def naming_duplicates(inputs: Inputs) -> Iterator[None]:
    """Name the lines of repeated ids in files of records."""
    with ExitStack() as stack:
        for reader in inputs.readers:
            if hasattr(reader, "naming_duplicates"):
                stack.enter_context(reader.naming_duplicates())
        yield


def skipped_in(inputs: Inputs) -> int:
    """Return how many records and files were skipped."""
    return sum(getattr(reader, "skipped", 0) for reader in inputs.readers)


def print_unread(inputs: Inputs, as_json: bool) -> None:
    """Print the names of files that were not stored: without text, and files of records in folders."""
    from gem_index.readers import FolderReader

    records = [
        os.path.join(reader.folder, path)  # noqa: PTH118 - as the user typed it
        for reader in inputs.readers
        if isinstance(reader, FolderReader)
        for path in reader.records
    ]
    if records:
        more = f" and {len(records) - 3:,} more" if len(records) > 3 else ""
        print(  # noqa: T201
            f"Note: not read, because they are files of records: {visible(' '.join(records[:3]))}{more}. To store them too, "
            "name them as inputs.",
            file=sys.stderr,
        )
    if as_json:
        return
    empty = [path for reader in inputs.readers for path in getattr(reader, "empty", ())]
    if empty:
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        say(f"Without text, and not stored: {visible(', '.join(empty[:3]))}{more}.")
