"""Partitions: parts of the inputs. Each worker reads one alone, and gets the same ids and texts as a reader of all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from gem_index.distributed.places import InputFile
from gem_index.documents import Document
from gem_index.errors import Action, Advice, ConfigError, RecordError
from gem_index.errors.quoting import quoted
from gem_index.readers import DocumentReader
from gem_index.readers.parts import WHOLE, Part

__all__ = ["FilePartition", "PartReport", "Reading", "ReportOfRecords"]

_LISTED = 100
_FORM = ("header", "column_names", "delimiter", "quote", "table")


@dataclass(frozen=True)
class Reading:
    """The arguments of a :class:`~gem_index.readers.DocumentReader` that apply to each part.

    Attributes
    ----------
    arguments : mapping
        Those that can be sent to a worker.
    skip : bool
        Skip bad records and list them, instead of stopping.
    """

    arguments: Mapping[str, Any] = field(default_factory=dict)
    skip: bool = False

    @classmethod
    def of(cls, reader: DocumentReader, skip: bool) -> Reading:
        """Return the arguments of a reader.

        Raises
        ------
        ConfigError
            If it must compare records of different parts, to choose one of several with the same id or to decide types of
            columns.
        """
        if reader.duplicates != "stop":
            raise ConfigError(
                f"duplicates is {quoted(reader.duplicates)}; expected 'stop' on a cluster, whose workers do not know "
                "each other's ids"
            )
        kinds = reader.types.values() if isinstance(reader.types, Mapping) else [reader.types]
        if "auto" in kinds:
            raise ConfigError(
                "types of columns are 'auto'; expected text or a type for each column on a cluster, whose workers would "
                "decide differently"
            )
        names = (
            "format",
            "id_field",
            "text_fields",
            "max_record_bytes",
            "encoding",
            "types",
            "clean",
        )
        choices = reader.choices
        form = {name: choices[name] for name in _FORM if name in choices}
        return cls({**{name: getattr(reader, name) for name in names}, **form}, skip)


@dataclass
class PartReport:
    """The report of one partition.

    Attributes
    ----------
    rows : int
    empty : int
        Rows without a word.
    skipped : int
        Bad records left out.
    problems : list of tuple
        Source, line and problem of the first 100 bad records as JSON values; if the problem ends with an advice, also the
        action and values of the advice.
    """

    rows: int = 0
    empty: int = 0
    skipped: int = 0
    problems: list[tuple[Any, ...]] = field(default_factory=list)

    def skip(self, problem: RecordError) -> None:
        """Count a bad record."""
        self.skipped += 1
        if len(self.problems) < _LISTED:
            advice = problem.advice
            told = () if advice is None else (advice.action.name, dict(advice.values))
            self.problems.append((problem.source, problem.line, problem.problem, *told))

    def add(self, other: PartReport) -> None:
        """Add the report of another partition."""
        self.rows += other.rows
        self.empty += other.empty
        self.skipped += other.skipped
        self.problems += other.problems

    def skipped_records(self) -> list[RecordError]:
        """Return the errors of the bad records that are listed, each with its advice."""
        return [_record_error(*problem) for problem in self.problems]


def _record_error(
    source: str,
    line: int,
    problem: str,
    action: str | None = None,
    values: Mapping[str, str] | None = None,
) -> RecordError:
    error = RecordError(source, line, problem)
    if action is not None:
        error.advice = Advice(Action[action], values or {})
    return error


class ReportOfRecords:
    """The part of a cluster's reports that is about bad records."""

    skipped_records: list[RecordError]

    @property
    def problems(self) -> list[tuple[str, int, str]]:
        """File, line and problem of the first 100 of each partition."""
        return [(error.source, error.line, error.problem) for error in self.skipped_records]


@dataclass(frozen=True)
class FilePartition:
    """A part of a file, or all of it.

    Attributes
    ----------
    number : int
        Its place among all partitions, from 0.
    file : InputFile
    reading : Reading
    part : Part
    """

    number: int
    file: InputFile
    reading: Reading
    part: Part = WHOLE

    def __str__(self) -> str:
        if self.part.whole:
            return self.file.name
        return f"{self.file.name} from line {self.part.before + 1}"

    @property
    def identity(self) -> list[Any]:
        """What tells the partition from others, as JSON."""
        return [self.file.name, self.file.size, self.file.version, self.part.begin, self.part.end]

    def rows(self, _data: object, report: PartReport) -> Iterator[tuple[str, str]]:
        """Iterate over ids and texts, as :meth:`DocumentReader.texts` does."""
        return self._reader(report).rows()

    def texts(self, _data: object, report: PartReport) -> Iterator[str]:
        """Iterate over the texts."""
        return self._reader(report).texts()

    def documents(self, _data: object, report: PartReport) -> Iterator[Document]:
        """Iterate over the documents."""
        return iter(self._reader(report))

    def _reader(self, report: PartReport) -> DocumentReader:
        return DocumentReader(
            [self.file.name],
            **self.reading.arguments,
            on_problem=report.skip if self.reading.skip else None,
            part=self.part,
            open_file=lambda _: self.file.opened(),
        )
