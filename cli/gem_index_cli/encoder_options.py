"""Options that choose an encoder and its configuration."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from gem_index.errors import ConfigError
from gem_index_cli.context import home_of

if TYPE_CHECKING:
    from gem_index import GemConfig, GemEncoder
    from gem_index.gem.combined import Encoder
    from gem_index.gem.specification import EncoderSpec
    from gem_index.home import EncoderChoice

__all__ = ["ConfigOptions", "EncoderOptions", "Vectors"]

Vectors = Annotated[
    str | None,
    typer.Option(
        help="Word vectors: a name, a file, a folder, or several joined by +. Default: wordllama-gem.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class ConfigOptions:
    """The configuration of GEM; the preset gives the other fields."""

    PANEL: ClassVar = "Configuration of the model"

    preset: Annotated[
        str | None,
        typer.Option(
            help="Settings of GEM: sts, cqa, transfer or trained. Default: depends on the word vectors.",
            show_default=False,
        ),
    ] = None
    config_file: Annotated[
        Path | None,
        typer.Option(
            "--config",
            help="A file with settings and word vectors, for one encoder or several. eval tune writes such a file.",
            show_default=False,
        ),
    ] = None
    window: Annotated[
        int | None,
        typer.Option(help="m: the window of a word has this many words before it and after it."),
    ] = None
    components: Annotated[
        int | None,
        typer.Option(help="K: number of principal directions of the corpus that a fit computes."),
    ] = None
    removed: Annotated[
        int | None,
        typer.Option(help="h: number of principal directions that are selected for a sentence."),
    ] = None
    power: Annotated[float | None, typer.Option(help="t: power of the singular values.")] = None
    ranking: Annotated[
        str | None,
        typer.Option(
            help="How the directions are ranked for a sentence: with their singular values (singular) or without (plain)."
        ),
    ] = None
    removal: Annotated[
        str | None,
        typer.Option(
            help="The directions to remove: sdr (selected for each sentence), sir (the same for all sentences) or none."
        ),
    ] = None
    share: Annotated[
        float | None,
        typer.Option(
            help="How much of the vector's part along the selected directions is removed, 0 to 1."
        ),
    ] = None
    alphas: Annotated[
        str | None,
        typer.Option(
            help="The measures whose sum is the weight of a word: n (novelty), s (significance), u (uniqueness). Example: "
            "nu. With -, every word has the weight 1."
        ),
    ] = None
    prior: Annotated[
        float | None,
        typer.Option(
            help="How many generated sentences of general English (the background) a fit adds to the texts."
        ),
    ] = None
    tokenizer: Annotated[
        str | None,
        typer.Option(help="Tokenizer of NLTK: wordpunct (the default), treebank, tweet or toktok."),
    ] = None

    @property
    def changed(self) -> bool:
        """Whether any of the single settings was given."""
        named = ("preset", "config_file")
        return any(getattr(self, f.name) is not None for f in fields(self) if f.name not in named)

    @property
    def unnamed(self) -> bool:
        """Whether the user gave neither a preset nor a file."""
        return self.preset is None and self.config_file is None

    def specifications(self) -> list[EncoderSpec]:
        """Return the content of the configuration file, an empty list without one.

        Raises
        ------
        ConfigError
            If a preset is given together with it.
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
        """Return the configuration: None for the recommended one, its changed settings, or a configuration from a file.

        Raises
        ------
        ConfigError
            If single settings are given together with a file of several encoders.
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
    """The choice of an encoder: a fitted model, the model of a collection, or word vectors with background components."""

    model: Annotated[str | None, typer.Option(help="A model made by fit.")] = None
    collection: Annotated[str | None, typer.Option(help="The model of a collection.")] = None
    vectors: Vectors = None

    def choice(self, context: typer.Context, config: ConfigOptions) -> EncoderChoice:
        """Return the choice of an encoder.

        Raises
        ------
        ConfigError
            If the options name more than one encoder, or a fitted model and a configuration.
        """
        from gem_index.home import EncoderChoice

        return EncoderChoice(
            vectors=self.vectors or config.vectors,
            model=self.model,
            collection=self.collection,
            config=config.config(),
            home=home_of(context) if context.obj.home is not None else None,
        )

    def encoder(self, context: typer.Context, config: ConfigOptions) -> Encoder:
        """Return the chosen encoder; errors as for :meth:`choice`."""
        return self.choice(context, config).open().encoder

    def single(self, context: typer.Context, config: ConfigOptions) -> GemEncoder:
        """Return the encoder, for a command that does not support several encoders.

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
