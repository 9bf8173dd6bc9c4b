"""Options for how records are read, from whatever place."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from gem_index.common.checks import check_choice
from gem_index.errors import ConfigError, InputError

if TYPE_CHECKING:
    from gem_index_cli.problems import ReadingLog

__all__ = ["RecordOptions"]


@dataclass(frozen=True)
class RecordOptions:
    """Which fields of a record are used, and what is done with bad records."""

    PANEL: ClassVar = "Records and tables"
    EVERYDAY: ClassVar = ("id_field", "text_field", "clean", "on_error")

    id_field: Annotated[
        str | None,
        typer.Option(
            help="Field of the id. Default: id. A record without this field gets a hash of its content as id.",
            show_default=False,
        ),
    ] = None
    text_field: Annotated[
        list[str] | None,
        typer.Option(
            help="Field of the text. Several fields are joined by a blank line; NAME*2 counts twice. Default: text.",
            show_default=False,
        ),
    ] = None
    clean: Annotated[
        str | None,
        typer.Option(
            help="What to remove from texts: none, html, auto (HTML from texts that are clearly HTML), quotes, signatures "
            "(of "
            "mail); several joined by commas. Default: none.",
            show_default=False,
        ),
    ] = None
    duplicates: Annotated[
        str | None,
        typer.Option(
            help="What to do if two records have the same id: stop, or use the first or the last. Default: stop.",
            show_default=False,
        ),
    ] = None
    on_error: Annotated[
        str,
        typer.Option(
            help="What to do with a bad record: stop (a collection then does not change) or skip it."
        ),
    ] = "stop"
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write all skipped records to this file, as JSON lines.", show_default=False
        ),
    ] = None

    @property
    def skip(self) -> Callable[[InputError], None] | None:
        """The function that is called with each skipped record or file; None to stop at the first.

        Raises
        ------
        ConfigError
            If the option is neither stop nor skip, or there is a report and nothing is skipped.
        """
        check_choice(self.on_error, "--on-error", ("stop", "skip"))
        if self.on_error == "skip":
            return self.log.skip
        if self.report is not None:
            raise ConfigError("found --report without --on-error skip; expected both")
        return None

    def text_fields(self, kept: Sequence[str] | None) -> Sequence[str] | None:
        """Return the fields of the text; a title among several counts twice, with a note. None if no field is given."""
        from gem_index.readers.fields import with_title_weights

        if self.text_field is None:
            return None
        names = with_title_weights(self.text_field, kept)
        for name, given in zip(names, self.text_field, strict=True):
            if name != given:
                print(  # noqa: T201
                    f"Note: the field {given} counts twice; --text-field '{given}*1' counts it once.",
                    file=sys.stderr,
                )
        return names

    def field_choices(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the given fields and the cleaning.

        Parameters
        ----------
        kept : mapping
            The reading options of the collection.
        """
        given = {
            "id_field": self.id_field,
            "text_fields": self.text_fields(kept.get("text_fields")),
            "clean": _cleaning(self.clean),
        }
        return {name: value for name, value in given.items() if value is not None}

    def reading(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a reader of records that are not in a file; ``kept`` as for :meth:`field_choices`."""
        return {
            "on_problem": self.skip,
            "on_end": self.log.note,
            "duplicates": self.duplicates or "stop",
            **self.field_choices(kept),
        }

    @cached_property
    def log(self) -> ReadingLog:
        """The notes of all readers of a command."""
        from gem_index_cli.problems import ReadingLog

        return ReadingLog(self.report)


def _cleaning(given: str | None) -> list[str] | None:
    """Return the steps of ``--clean``."""
    if given is None:
        return None
    return [] if given == "none" else [part.strip() for part in given.split(",")]
