"""Options for the pieces into which long texts are divided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from gem_index.errors import ConfigError

if TYPE_CHECKING:
    from gem_index import Chunking, Collection

__all__ = ["PieceOptions"]


@dataclass(frozen=True)
class PieceOptions:
    """How long texts are divided into pieces."""

    PANEL: ClassVar = "Long texts"
    EVERYDAY: ClassVar = ("chunk",)

    chunk: Annotated[
        str | None,
        typer.Option(
            help="Divide long texts into pieces: auto (pieces of 150 words, for texts of more than 250), none, or a number "
            "of words.",
            show_default=False,
        ),
    ] = None
    overlap: Annotated[
        int | None,
        typer.Option(
            help="Number of words that a piece shares with the piece before.", show_default=False
        ),
    ] = None
    headings: Annotated[
        bool,
        typer.Option("--headings", help="Embed a piece together with the headings above it."),
    ] = False

    def chunking(self) -> Chunking | None:
        """Return the chosen chunking, None without a choice.

        Raises
        ------
        ConfigError
            If a value is out of range.
        """
        from gem_index import Chunking

        if self.chunk is None and self.overlap is None and not self.headings:
            return None
        if self.chunk is None:
            raise ConfigError("found --overlap or --headings without --chunk; expected all of them")
        chunk: int | str | None = None if self.chunk == "none" else self.chunk
        if self.chunk.isdecimal():
            chunk = int(self.chunk)
        return Chunking(chunk, self.overlap or 0, self.headings)

    def check(self, collection: Collection) -> None:
        """Check that an existing collection has the chosen chunking.

        Raises
        ------
        ConfigError
            If it is cut in another way.
        """
        from gem_index.collection.write.choice import check_chunking

        check_chunking(collection.name, collection.chunking, self.chunking())
