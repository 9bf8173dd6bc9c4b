"""The options that say how word vectors are used and stored."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from gem_index.vectors.options import SourceOptions

__all__ = ["SourceOptionFlags"]


@dataclass(frozen=True)
class SourceOptionFlags:
    """How the vectors of a source are used and stored."""

    unit: Annotated[bool, typer.Option("--unit", help="Bring every vector to length 1.")] = False
    scale: Annotated[float, typer.Option(help="Factor on every vector, after --unit.")] = 1.0
    oov: Annotated[
        str | None,
        typer.Option(
            help="Vector of an unknown word: hash (the row that its SHA-256 chooses), zero, or subword (the mean of its "
            "n-grams). Default: subword if the file has n-grams, else hash.",
            show_default=False,
        ),
    ] = None
    case: Annotated[
        str,
        typer.Option(
            help="How to look up a word: keep (as it is), lower (in lower case), or fallback (as it is, else lower case, "
            "else capitalised)."
        ),
    ] = "keep"
    contractions: Annotated[
        str,
        typer.Option(
            "--contractions",
            "--tails",
            help="How to look up the s and t of it's and don't: word (like any word) or apostrophe (as 's and 't; zero if "
            "missing).",
        ),
    ] = "word"
    runs: Annotated[
        str | None,
        typer.Option(
            help="How to look up an unknown run of Chinese, Japanese or Thai characters: split (the mean of the vectors of "
            "the known words in it) or word (like any word). Default: split if a fifth of the frequent words are in such "
            "scripts.",
            show_default=False,
        ),
    ] = None
    limit: Annotated[
        int | None, typer.Option(help="Read only this many words, the first ones.")
    ] = None
    dtype: Annotated[
        str | None,
        typer.Option(
            help="Store as float32, float16 or int8. Default: as in the file.", show_default=False
        ),
    ] = None

    def options(self) -> SourceOptions:
        """Return the options."""
        from gem_index.vectors.options import SourceOptions

        return SourceOptions(**asdict(self))
