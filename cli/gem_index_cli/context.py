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
    "report_skipped",
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
            help="How text files are encoded, such as cp1252 or utf-16. Default: UTF-8.",
            show_default=False,
        ),
    ] = None
    on_error: Annotated[
        str,
        typer.Option(
            help="On a bad record: stop (nothing is stored in a home) or skip it and go on."
        ),
    ] = "stop"

    @property
    def skips(self) -> bool:
        """Whether bad records and files are left out.

        Raises
        ------
        ConfigError
            If the option is neither stop nor skip.
        """
        if self.on_error not in ("stop", "skip"):
            raise ConfigError(f"--on-error is {self.on_error!r}; expected stop or skip")
        return self.on_error == "skip"

    def reader(self, names: list[str], kept: Mapping[str, Any] | None = None) -> DocumentReader:
        """Return the reader of some files.

        Parameters
        ----------
        names : list of str
        kept : mapping, optional
            How a collection's files are read where the options do not say it.
        """
        from gem_index.reading import DocumentReader
        from gem_index.settings import load_settings

        kept = kept or {}
        given = {"id_field": self.id_field, "text_fields": self.text_field}
        for name, before in kept.items():
            if given[name] is not None and given[name] != before:
                option = f"--{name.removesuffix('s').replace('_', '-')}"
                print(  # noqa: T201
                    f"Note: the collection was built with another {option}: {_listed(before)}.",
                    file=sys.stderr,
                )
        return DocumentReader(
            names,
            format=self.input_format,
            id_field=self.id_field or kept.get("id_field"),
            text_fields=tuple(self.text_field or kept.get("text_fields", ("text",))),
            on_problem=report_skipped if self.skips else None,
            max_record_bytes=load_settings().max_record_bytes,
            encoding=self.encoding,
        )


def _listed(value: str | list[str]) -> str:
    return value if isinstance(value, str) else ", ".join(value)


def report_skipped(problem: InputError) -> None:
    """Print a record or a file that is left out."""
    print(f"Skipped: {problem}", file=sys.stderr)  # noqa: T201 - results go to standard output, this does not


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
