"""What the inputs of a command are: files of records, folders, files that are one document, and databases."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError
from gem_index_cli.context import InputOptions, report_skipped
from gem_index_cli.output import say, visible

if TYPE_CHECKING:
    from gem_index import Collection
    from gem_index.reading import Inputs

__all__ = ["SourceOptions", "Sources", "naming_duplicates", "print_unread", "skipped_in"]

Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help="Files of records (.jsonl, .csv, .tsv, .txt with a line a text, .parquet, each also .gz; - is standard input), "
        "folders, documents (.md .html .pdf .docx ...), or sql:URL of a database.",
    ),
]


@dataclass(frozen=True)
class SourceOptions:
    """How folders and databases are read."""

    glob: Annotated[
        list[str] | None,
        typer.Option(help="In a folder, only files like this, such as '*.md'; may be repeated."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(help="In a folder, no files or folders like this; may be repeated."),
    ] = None
    gitignore: Annotated[
        bool, typer.Option("--gitignore", help="In a folder, nothing that .gitignore names.")
    ] = False
    checksum: Annotated[
        bool,
        typer.Option(
            "--checksum",
            help="Look for changed files by their content. Default: by size and time.",
        ),
    ] = False
    whole: Annotated[
        bool | None,
        typer.Option(
            "--whole/--lines",
            help="A named .txt file is one document, or a text a line (the default).",
            show_default=False,
        ),
    ] = None
    query: Annotated[
        str | None, typer.Option(help="What to read from a database: a SELECT statement.")
    ] = None
    since: Annotated[
        str | None,
        typer.Option(help="A column that grows with each change: only new rows are read."),
    ] = None

    def inputs(
        self, names: list[str], options: InputOptions, collection: Collection | None = None
    ) -> Inputs:
        """Return the readers of the inputs.

        Parameters
        ----------
        names : list of str
        options : InputOptions
        collection : Collection, optional
            It remembers how its inputs were read.

        Raises
        ------
        ConfigError
            If an option is given and nothing among the inputs takes it.
        """
        from gem_index.reading import FolderReader, Inputs, QueryReader

        before = {} if collection is None else collection.sources
        records: list[str] = []
        readers: list[Any] = []
        for name in names:
            if name.startswith("sql:"):
                readers.append(self._query_reader(name, options))
            elif self._is_folder(name):
                reader = FolderReader(
                    name,
                    glob=tuple(self.glob or ()),
                    exclude=tuple(self.exclude or ()),
                    gitignore=self.gitignore,
                    checksum=self.checksum,
                    encoding=options.encoding,
                    on_problem=report_skipped if options.skips else None,
                )
                _say_changes(reader.choices, before.get(reader.location, {}))
                readers.append(reader)
            else:
                records.append(name)
        kinds = {type(reader) for reader in readers}
        self._check(FolderReader in kinds, QueryReader in kinds)
        if records:
            kept = None if collection is None else collection.reading
            readers.insert(0, options.reader(records, kept))
        return Inputs(readers)

    def _is_folder(self, name: str) -> bool:
        """Tell whether an input is a folder, or one file that is read as those of a folder are."""
        from gem_index.converting import kind_of
        from gem_index.files import user_path

        if name != "-" and os.path.isdir(user_path(name)):  # noqa: PTH112 - False for a name that no file can have
            return True
        kind = kind_of(name)
        return kind is not None and (kind != "text" or bool(self.whole))

    def _query_reader(self, name: str, options: InputOptions) -> Any:
        from gem_index.reading import QueryReader

        return QueryReader(
            name,
            self.query,
            id_field=options.id_field or "id",
            text_fields=tuple(options.text_field or ("text",)),
            since=self.since,
            on_problem=report_skipped if options.skips else None,
        )

    def _check(self, folders: bool, databases: bool) -> None:
        for option, given, there, wanted in (
            ("--glob", self.glob, folders, "a folder"),
            ("--exclude", self.exclude, folders, "a folder"),
            ("--gitignore", self.gitignore, folders, "a folder"),
            ("--checksum", self.checksum, folders, "a folder"),
            ("--query", self.query, databases, "sql:URL"),
            ("--since", self.since, databases, "sql:URL"),
        ):
            if given and not there:
                raise ConfigError(f"found {option} and no input that takes it; expected {wanted}")


def _say_changes(given: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    for name, value in before.items():
        if given.get(name) not in (None, value):
            shown = ", ".join(value) if isinstance(value, list) else value
            print(  # noqa: T201
                f"Note: the folder was read with another --{name}: {visible(str(shown))}.",
                file=sys.stderr,
            )


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


def print_unread(inputs: Inputs) -> None:
    """Say which files hold no text."""
    empty = [path for reader in inputs.readers for path in getattr(reader, "empty", ())]
    if empty:
        more = f" and {len(empty) - 3} more" if len(empty) > 3 else ""
        say(f"Without text, and not stored: {visible(', '.join(empty[:3]))}{more}.")
