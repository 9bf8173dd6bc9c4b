"""Commands on word vectors: add, list, show, remove, neighbours."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from gem_index_cli.context import AsJson, home_of, progress_bar
from gem_index_cli.output import print_json, print_table, say

__all__ = ["app"]

app = typer.Typer(help="Word vectors: what every model is made of.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the vectors.")]


@app.command()
def add(
    context: typer.Context,
    name: Name,
    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A file of GloVe or word2vec text, or a folder with words.txt and matrix.npy.",
        ),
    ],
    origin: Annotated[
        str | None, typer.Option(help="Where they come from, for the record.")
    ] = None,
    licence: Annotated[str, typer.Option(help="Their licence, for the record.")] = "unknown",
    as_json: AsJson = False,
) -> None:
    """Copy word vectors into the home, under a name."""
    with progress_bar("words") as progress:
        info = home_of(context).add_vectors(
            name,
            source,
            origin=origin,
            licence=licence,
            progress=lambda done: progress("words", done, 0),
        )
    if as_json:
        print_json(info)
    else:
        say(f"{info.name}: {info.words} words of {info.dimension} dimensions ({info.format}).")


@app.command("list")
def list_vectors(context: typer.Context, as_json: AsJson = False) -> None:
    """Show the bundled and the added word vectors."""
    found = home_of(context).vectors()
    if as_json:
        print_json(found)
        return
    print_table(
        ("name", ">words", ">dimension", "format", "licence", "fingerprint"),
        (
            (
                info.name,
                "any" if info.words is None else info.words,
                info.dimension,
                info.format,
                info.licence,
                info.fingerprint[:12],
            )
            for info in found
        ),
    )


@app.command()
def show(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Show one source: where it comes from, its size, and words it holds."""
    details = home_of(context).describe_vectors(name)
    if as_json:
        print_json(details)
        return
    print_table(("", ""), [(key, value) for key, value in asdict(details).items()])


@app.command()
def remove(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Remove word vectors that no model or collection uses."""
    home_of(context).remove_vectors(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(f"The vectors {name} are gone.")


@app.command()
def neighbours(
    context: typer.Context,
    word: Annotated[str, typer.Argument(help="A word.")],
    vectors: Annotated[str, typer.Option(help="Word vectors, as for build.")] = "wordllama",
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the words whose vectors are nearest to a word's: a quick look that vectors are sane."""
    from gem_index import open_vectors
    from gem_index.vectors.neighbours import nearest_words

    source = open_vectors(vectors, home_of(context) if context.obj.home else None)
    found = nearest_words(source, word, k)
    if as_json:
        print_json([{"word": other, "score": score} for other, score in found])
    else:
        print_table(("word", ">cosine"), [(other, f"{score:.3f}") for other, score in found])
