"""Options for how files of records are read."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from gem_index.errors import ConfigError
from gem_index_cli.record_options import RecordOptions

if TYPE_CHECKING:
    from gem_index.readers import DocumentReader

__all__ = ["InputOptions"]

Item = TypeVar("Item")


_OPTIONS = {
    "column_names": "columns",
    "text_fields": "text-field",
}  # fields whose option has another name


@dataclass(frozen=True)
class InputOptions(RecordOptions):
    """How input files are read."""

    input_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help="jsonl, json, csv, tsv, txt, parquet, xlsx, or posts (Posts.xml of Stack Exchange). Default: by the file's "
            "name.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of text files, such as cp1252 or utf-16; auto detects it. Default: UTF-8.",
            show_default=False,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first row of a table has the names of its columns. Default: yes.",
            show_default=False,
        ),
    ] = None
    columns: Annotated[
        str | None,
        typer.Option(
            help="Names for the columns of a table, joined by commas, instead of the names in the first row. Default "
            "without a header: column1, column2 ...",
            show_default=False,
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            help="The character between the fields of CSV and TSV, or tab. Default: detected from the first row.",
            show_default=False,
        ),
    ] = None
    quote: Annotated[
        str | None,
        typer.Option(
            help='The character around the fields of CSV and TSV, or none. Default: " for CSV, none for TSV.',
            show_default=False,
        ),
    ] = None
    table: Annotated[
        str | None,
        typer.Option(
            help="The sheet of an .xlsx file, or the key of the list in a .json file, such as data.items. Default: the "
            "first sheet, or the only list.",
            show_default=False,
        ),
    ] = None
    types: Annotated[
        str | None,
        typer.Option(
            help="Types of the columns of CSV and TSV: auto (numbers, booleans, ISO dates), text, or a JSON object "
            '(or a file) with a type for each column: \'{"year": "number", "tags": "list:;", "*": "auto"}\'. '
            "Default: auto for a new collection, else the types of the collection.",
            show_default=False,
        ),
    ] = None

    def reader(
        self, names: list[str], kept: Mapping[str, Any] | None = None, types: str = "text"
    ) -> DocumentReader:
        """Return the reader of some files.

        Parameters
        ----------
        names : list of str
        kept : mapping, optional
            The reading options of the collection, for options that are not given.
        types : str
            The types of columns if neither of them gives types.

        Raises
        ------
        ConfigError
            If an option is none of its values.
        """
        from gem_index.common.settings import load_settings
        from gem_index.readers import DocumentReader

        self.check_report(names)
        if self.encoding is not None and all(_has_own_encoding(name) for name in names):
            raise ConfigError(
                f"--encoding is {self.encoding!r:.80}, and all inputs define their own; expected text files"
            )
        choices = self._choices(kept or {})
        return DocumentReader(
            names,
            format=self.input_format,
            on_problem=self.skip,
            max_record_bytes=load_settings().max_record_bytes,
            all_columns=self.types is not None,
            duplicates=self.duplicates or "stop",
            on_end=self.log.note,
            **{"types": types, **choices},
        )

    def given_form(self) -> list[str]:
        """Return the options about the form of the files that were given, as they are typed."""
        values = {
            "--format": self.input_format,
            "--encoding": self.encoding,
            "--columns": self.columns,
            "--delimiter": self.delimiter,
            "--quote": self.quote,
            "--table": self.table,
            "--types": self.types,
            "--clean": self.clean,
        }
        found = [
            part for name, value in values.items() if value is not None for part in (name, value)
        ]
        return (
            found if self.header is None else [*found, "--header" if self.header else "--no-header"]
        )

    def texts(self, names: list[str]) -> Iterator[str]:
        """Return the texts of some files, for a command that needs only the texts.

        Raises
        ------
        ConfigError
            If an option is none of its values, or is about ids or metadata.
        """
        return self._logged(self.text_reader(names).texts())

    def rows(self, names: list[str]) -> Iterator[tuple[str, str]]:
        """Return the ids and texts of some files; errors as for :meth:`texts`."""
        return self._logged(self.text_reader(names).rows())

    def text_reader(self, names: list[str]) -> DocumentReader:
        """Return the reader of some files for such a command; errors as for :meth:`texts`."""
        self._refuse("this command takes texts alone", types=self.types, duplicates=self.duplicates)
        return self.reader(names)

    def check_report(self, names: list[str]) -> None:
        """Check that the report does not overwrite an input.

        Raises
        ------
        ConfigError
            If it is one of the inputs, or a file that is read of a folder among them.
        """
        if self.report is not None and any(_is_read_of(self.report, name) for name in names):
            raise ConfigError(
                f"the report {self.report} is one of the inputs; expected another file"
            )

    def check_no_records(self) -> None:
        """Check that no option for files of records is given without such a file.

        Raises
        ------
        ConfigError
            If an option is about them.
        """
        self._refuse(
            "no input is a file of records",
            format=self.input_format,
            columns=self.columns,
            delimiter=self.delimiter,
            quote=self.quote,
            table=self.table,
            types=self.types,
            clean=self.clean,
            duplicates=self.duplicates,
        )
        if self.header is not None:
            found = "--header" if self.header else "--no-header"
            raise ConfigError(
                f"found {found}, and no input is a file of records; expected the command without it"
            )

    @staticmethod
    def _refuse(reason: str, **options: str | None) -> None:
        for name, value in options.items():
            if value is not None:
                raise ConfigError(
                    f"--{name} is {value!r:.80}, and {reason}; expected the command without it"
                )

    def _logged(self, items: Iterator[Item]) -> Iterator[Item]:
        yield from items
        self.log.end()

    def _choices(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the reading options: the given ones, else those of the collection; print a note where they differ."""
        given = {
            "encoding": self.encoding,
            "header": self.header,
            "column_names": None if self.columns is None else self.columns.split(","),
            "delimiter": self.delimiter,
            "quote": self.quote,
            "table": self.table,
            "types": _types(self.types),
        }
        choices = self.field_choices(kept)
        choices |= {name: value for name, value in given.items() if value is not None}
        for name, before in kept.items():
            if name in choices and choices[name] != before:
                option = f"--{_OPTIONS.get(name, name)}"
                print(  # noqa: T201
                    f"Note: the collection was built with another {option.replace('_', '-')}: {_listed(before)}.",
                    file=sys.stderr,
                )
        choices = {**kept, **choices}
        if self.types is None and "types" in choices:
            texts = {choices.get("id_field", "id"), *choices.get("text_fields", ["text"])}
            untyped = {name.rpartition("*")[0] or name for name in texts}
            choices["types"] = {
                column: kind for column, kind in choices["types"].items() if column not in untyped
            }
        return choices

    def silent(self) -> InputOptions:
        """Return the same options for one more reading, which shows no bad record and no note."""
        found = replace(self, report=None)
        found.log.end()
        return found


def _types(given: str | None) -> Any:
    """Return the value of ``--types``: a word, or the value of JSON, which may be in a file."""
    if given is None or given in ("auto", "text"):
        return given
    from gem_index.common.json_input import read_json, read_json_file

    if given.lstrip().startswith("{"):
        return read_json(given, "--types", unique=True, error=ConfigError)
    try:
        return read_json_file(Path(given), unique=True, error=ConfigError)
    except OSError as error:
        raise ConfigError(
            f"--types is {given!r:.80}; expected auto, text, or a type for each column as JSON or in a file"
        ) from error


def _is_read_of(report: Path, name: str) -> bool:
    """Tell whether a report is an input, by whatever name, or a document in it."""
    from gem_index.converting import kind_of
    from gem_index.files.inputs import split_member, user_path

    if name == "-":
        return False
    database = name.removeprefix("sql:sqlite:///")
    path = user_path(database) if database != name else split_member(name)[0]
    try:
        if path.is_dir():
            inside = report.resolve().is_relative_to(path.resolve())
            return inside and kind_of(report.name) is not None
        return path.samefile(report)
    except (OSError, RuntimeError):  # one of the files does not exist
        return False


def _has_own_encoding(name: str) -> bool:
    from gem_index.readers.formats import BINARY, format_of_name

    return format_of_name(name) in BINARY


def _listed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        value = [f"{name} {kind}" for name, kind in value.items()]
    return value if isinstance(value, str) else ", ".join(value)
