"""Shared parts of the commands: the home, groups of options, and input files."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from gem_index.errors import ConfigError, InputError

if TYPE_CHECKING:
    from gem_index import EncoderChoice, GemConfig, GemEncoder, Home
    from gem_index.gem.combined import Encoder
    from gem_index.gem.specification import EncoderSpec
    from gem_index.progress import Progress
    from gem_index.reading import DocumentReader
    from gem_index_cli.problems import ReadingLog

__all__ = [
    "AsJson",
    "AsJsonLines",
    "CollectionName",
    "ConfigOptions",
    "EncoderOptions",
    "InputOptions",
    "Inputs",
    "State",
    "check_target",
    "home_of",
    "takes",
]


@dataclass(frozen=True)
class State:
    """The values of the options before the command."""

    home: str | None


def home_of(context: typer.Context, *, upgrade: bool = True) -> Home:
    """Open the home that the user named, or the default one."""
    from gem_index import Home

    return Home(context.obj.home, upgrade=upgrade)


def takes(**groups: type) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a command a group of options: each field of a dataclass becomes an option.

    ``@takes(config=ConfigOptions)`` calls the command with ``config=ConfigOptions(...)``.
    """

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        signature = inspect.signature(command)
        hints = get_type_hints(command, include_extras=True)
        parameters = [
            p.replace(annotation=hints[p.name])
            for p in signature.parameters.values()
            if p.name not in groups
        ]
        for group in groups.values():
            types = get_type_hints(group, include_extras=True)
            parameters += [
                inspect.Parameter(
                    f.name,
                    inspect.Parameter.KEYWORD_ONLY,
                    default=f.default,
                    annotation=types[f.name],
                )
                for f in fields(group)
            ]

        @wraps(command)
        def call(**values: Any) -> Any:
            for name, group in groups.items():
                values[name] = group(**{f.name: values.pop(f.name) for f in fields(group)})
            return command(**values)

        call.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
        call.__annotations__ = {p.name: p.annotation for p in parameters}
        return call

    return decorate


CollectionName = Annotated[
    str, typer.Argument(metavar="COLLECTION", help="Name of the collection.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON for programs.")]
AsJsonLines = Annotated[
    bool, typer.Option("--jsonl", help="Print JSON for programs, an object a line.")
]
Inputs = Annotated[
    list[str],
    typer.Argument(
        metavar="INPUT...",
        help=".jsonl, .csv, .tsv, .txt (a line a text) or .parquet, each also .gz; - is standard input.",
    ),
]


@dataclass(frozen=True)
class InputOptions:
    """How input files are read."""

    id_field: Annotated[
        str | None,
        typer.Option(
            help="Field that holds the id. Default: id, else FILE:LINE.", show_default=False
        ),
    ] = None
    text_field: Annotated[
        list[str] | None,
        typer.Option(
            help="Field that holds the text; several are joined by a blank line, NAME*2 counts twice. Default: text.",
            show_default=False,
        ),
    ] = None
    input_format: Annotated[
        str | None,
        typer.Option(
            "--format", help="jsonl, csv, tsv, txt or parquet. Default: by the file's name."
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            help="How text files are encoded, such as cp1252 or utf-16; auto detects it. Default: UTF-8.",
            show_default=False,
        ),
    ] = None
    types: Annotated[
        str | None,
        typer.Option(
            help="Types of the columns of CSV and TSV: auto (numbers, booleans, ISO dates), text, or a type for each, as "
            'JSON or a file of it: \'{"year": "number", "tags": "list:;", "*": "auto"}\'. Default: auto for a new '
            "collection, else what it was built with.",
            show_default=False,
        ),
    ] = None
    clean: Annotated[
        str | None,
        typer.Option(
            help="What is removed from texts: none, html, auto (html from texts that plainly are HTML), quotes and "
            "signatures of mail; several joined by commas. Default: none.",
            show_default=False,
        ),
    ] = None
    duplicates: Annotated[
        str | None,
        typer.Option(
            help="Records of one id: stop, or the first or the last of them counts. Default: stop.",
            show_default=False,
        ),
    ] = None
    on_error: Annotated[
        str,
        typer.Option(
            help="On a bad record: stop (nothing is stored in a home) or skip it and go on."
        ),
    ] = "stop"
    report: Annotated[
        Path | None,
        typer.Option(
            help="A file for all bad records that are skipped, as JSON lines.", show_default=False
        ),
    ] = None

    @property
    def skip(self) -> Callable[[InputError], None] | None:
        """What is called with a bad record or file that is left out; None to stop there.

        Raises
        ------
        ConfigError
            If the option is neither stop nor skip, or there is a report and nothing is skipped.
        """
        if self.on_error not in ("stop", "skip"):
            raise ConfigError(f"--on-error is {self.on_error!r}; expected stop or skip")
        if self.on_error == "skip":
            return self.log.skip
        if self.report is not None:
            raise ConfigError("found --report without --on-error skip; expected both")
        return None

    def reader(
        self, names: list[str], kept: Mapping[str, Any] | None = None, types: str = "text"
    ) -> DocumentReader:
        """Return the reader of some files.

        Parameters
        ----------
        names : list of str
        kept : mapping, optional
            How a collection's files are read where the options do not say it.
        types : str
            What types to give to columns if neither says it.

        Raises
        ------
        ConfigError
            If an option is none of its values.
        """
        from gem_index.reading import DocumentReader
        from gem_index.settings import load_settings

        self.check_report(names)
        if self.encoding is not None and all(_is_parquet(name) for name in names):
            raise ConfigError(
                f"--encoding is {self.encoding!r:.80}, and all inputs are Parquet, which has its own; expected text files"
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

    def texts(self, names: list[str]) -> Iterator[str]:
        """Return the texts of some files, for a command that takes nothing else of them.

        Raises
        ------
        ConfigError
            If an option is none of its values, or is about ids or metadata.
        """
        self._refuse("this command takes texts alone", types=self.types, duplicates=self.duplicates)
        return self._logged(self.reader(names).texts())

    def check_report(self, names: list[str]) -> None:
        """Check that the report does not overwrite what is read.

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
        """Check that nothing is asked of files of records, for inputs without any.

        Raises
        ------
        ConfigError
            If an option is about them.
        """
        self._refuse(
            "no input is a file of records",
            format=self.input_format,
            types=self.types,
            clean=self.clean,
            duplicates=self.duplicates,
        )

    @staticmethod
    def _refuse(reason: str, **options: str | None) -> None:
        for name, value in options.items():
            if value is not None:
                raise ConfigError(
                    f"--{name} is {value!r:.80}, and {reason}; expected the command without it"
                )

    def _logged(self, texts: Iterator[str]) -> Iterator[str]:
        yield from texts
        self.log.end()

    def _choices(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        """Return how records are read: what was given, else what is kept; say where they differ."""
        given = {
            "id_field": self.id_field,
            "text_fields": self.text_field,
            "encoding": self.encoding,
            "types": _types(self.types),
            "clean": _cleaning(self.clean),
        }
        choices = {name: value for name, value in given.items() if value is not None}
        for name, before in kept.items():
            if name in choices and choices[name] != before:
                option = f"--{name.removesuffix('s') if name == 'text_fields' else name}"
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

    @cached_property
    def log(self) -> ReadingLog:
        """What all readings of a command say."""
        from gem_index_cli.problems import ReadingLog

        return ReadingLog(self.report)


def _types(given: str | None) -> Any:
    """Return the value of ``--types``: a word, or the content of JSON or of a file of it."""
    if given is None or given in ("auto", "text"):
        return given
    from gem_index.json_input import read_json, read_json_file

    if given.lstrip().startswith("{"):
        return read_json(given, "--types", unique=True, error=ConfigError)
    try:
        return read_json_file(Path(given), unique=True, error=ConfigError)
    except OSError as error:
        raise ConfigError(
            f"--types is {given!r:.80}; expected auto, text, or a type for each column as JSON or in a file"
        ) from error


def _cleaning(given: str | None) -> list[str] | None:
    """Return the steps of ``--clean``."""
    if given is None:
        return None
    return [] if given == "none" else [part.strip() for part in given.split(",")]


def _is_read_of(report: Path, name: str) -> bool:
    """Tell whether a report is an input, by whatever name, or a document in it."""
    from gem_index.converting import kind_of
    from gem_index.files import split_member, user_path

    if name == "-":
        return False
    database = name.removeprefix("sql:sqlite:///")
    path = user_path(database) if database != name else split_member(name)[0]
    try:
        if path.is_dir():
            inside = report.resolve().is_relative_to(path.resolve())
            return inside and kind_of(report.name) is not None
        return path.samefile(report)
    except (OSError, RuntimeError):  # one of them does not exist
        return False


def _is_parquet(name: str) -> bool:
    return Path(name).suffix.lower() == ".parquet"


def _listed(value: Any) -> str:
    if isinstance(value, dict):
        value = [f"{name} {kind}" for name, kind in value.items()]
    return value if isinstance(value, str) else ", ".join(value)


@dataclass(frozen=True)
class ConfigOptions:
    """The configuration of GEM; the preset gives the other fields."""

    preset: Annotated[
        str | None,
        typer.Option(
            help="sts, cqa, transfer or trained. Default: what suits the vectors.",
            show_default=False,
        ),
    ] = None
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="A file of vectors and configuration, as eval tune writes it, or of several encoders.",
            show_default=False,
        ),
    ] = None
    window: Annotated[int | None, typer.Option(help="m: words before and after a word.")] = None
    components: Annotated[int | None, typer.Option(help="K: directions of the corpus.")] = None
    removed: Annotated[int | None, typer.Option(help="h: directions selected per sentence.")] = None
    power: Annotated[float | None, typer.Option(help="t: power of the singular values.")] = None
    ranking: Annotated[str | None, typer.Option(help="singular or plain.")] = None
    removal: Annotated[str | None, typer.Option(help="sdr, sir or none.")] = None
    share: Annotated[
        float | None,
        typer.Option(
            help="Share of the vector's part along those directions that is removed, 0 to 1."
        ),
    ] = None
    alphas: Annotated[
        str | None, typer.Option(help="Weights to sum, a subset of nsu; - for none.")
    ] = None
    prior: Annotated[
        float | None, typer.Option(help="Pseudo-sentences of background mixed into the fit.")
    ] = None
    tokenizer: Annotated[
        str | None, typer.Option(help="wordpunct (the default), treebank, tweet or toktok.")
    ] = None

    @property
    def changed(self) -> bool:
        """Whether any single setting was given."""
        named = ("preset", "config_file")
        return any(getattr(self, f.name) is not None for f in fields(self) if f.name not in named)

    @property
    def unnamed(self) -> bool:
        """Whether neither a preset nor a file was named."""
        return self.preset is None and self.config_file is None

    def specifications(self) -> list[EncoderSpec]:
        """Return the content of the configuration file, an empty list without one.

        Raises
        ------
        ConfigError
            If there is a preset beside it.
        """
        if self.config_file is None:
            return []
        if self.preset is not None:
            raise ConfigError("found --preset beside --config; expected one of them")
        return self._content

    @cached_property
    def _content(self) -> list[EncoderSpec]:
        from gem_index.gem.specification import read_specification

        assert self.config_file is not None
        return read_specification(self.config_file)  # once: it may be a pipe

    @property
    def vectors(self) -> str | None:
        """The vectors that the configuration file names for its one encoder."""
        specs = self.specifications()
        return str(specs[0].vectors) if len(specs) == 1 else None

    def config(self) -> GemConfig | dict[str, Any] | None:
        """Return the configuration: nothing for the recommended one, single settings to change that one, several encoders.

        Raises
        ------
        ConfigError
            If single settings stand beside a file that combines several encoders.
        """
        from gem_index import GemConfig

        changes = {
            f.name: getattr(self, f.name)
            for f in fields(self)
            if f.name not in ("preset", "config_file") and getattr(self, f.name) is not None
        }
        if changes.get("alphas") == "-":
            changes["alphas"] = ""
        changes = GemConfig.named_fields(changes)
        specs = self.specifications()
        if len(specs) > 1:
            if changes:
                raise ConfigError(
                    f"found other settings beside {self.config_file}, which combines {len(specs)} encoders; "
                    "expected it alone: change the file"
                )
            return {
                "encoders": [
                    {
                        "vectors": str(spec.vectors),
                        "config": spec.given().to_fields(),
                        "weight": spec.weight,
                    }
                    for spec in specs
                ]
            }
        if specs:
            return replace(specs[0].given(), **changes)
        if self.preset is not None:
            return GemConfig.preset(self.preset, **changes)
        return changes or None


@dataclass(frozen=True)
class EncoderOptions:
    """Which encoder: a fitted model, a collection's, or word vectors with background components."""

    model: Annotated[str | None, typer.Option(help="A model made by fit.")] = None
    collection: Annotated[str | None, typer.Option(help="The model of a collection.")] = None
    vectors: Annotated[
        str | None,
        typer.Option(
            help="Word vectors: a name, a file, a folder, or several joined by +. Default: wordllama-gem.",
            show_default=False,
        ),
    ] = None

    def choice(self, context: typer.Context, config: ConfigOptions) -> EncoderChoice:
        """Return the choice of an encoder.

        Raises
        ------
        ConfigError
            If more than one was named, or a fitted model is given another configuration.
        """
        from gem_index import EncoderChoice

        fitted = self.model or self.collection
        return EncoderChoice(
            vectors=self.vectors or (None if fitted else config.vectors),
            model=self.model,
            collection=self.collection,
            config=config.config(),
            home=home_of(context) if context.obj.home is not None else None,
        )

    def encoder(self, context: typer.Context, config: ConfigOptions) -> Encoder:
        """Return the encoder that is asked for; errors as for :meth:`choice`."""
        return self.choice(context, config).open().encoder

    def single(self, context: typer.Context, config: ConfigOptions) -> GemEncoder:
        """Return the encoder for a command that takes one alone.

        Raises
        ------
        ConfigError
            If there are several.
        """
        from gem_index import GemEncoder

        found = self.encoder(context, config)
        if not isinstance(found, GemEncoder):
            raise ConfigError(
                f"found {len(found.encoders)} encoders side by side; expected one for this command"
            )
        return found


@contextmanager
def progress_bar(description: str) -> Iterator[Progress]:
    """Show progress on standard error if it is a terminal; yield a function of stage, done and total."""
    from gem_index.progress import reporting

    with reporting(sys.stderr.isatty(), description) as report:
        yield report or (lambda stage, done, total: None)  # noqa: ARG005 - nobody watches


def check_target(path: Path, example: str, *endings: str) -> None:
    """Check that an output can be written before hours of work, not after them."""
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"cannot write {path}; expected the name of a file in an existing folder")
    if endings and path.suffix not in endings:
        raise InputError(f"{path} ends in {path.suffix!r}; expected a name such as {example}")
