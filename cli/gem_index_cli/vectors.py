"""Commands on word vectors: add, list, show, remove, reduce, export, and checks that they are plausible."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index_cli.context import home_of
from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_json, print_json_lines, print_table, say
from gem_index_cli.parameters import AsJson, AsJsonLines, Inputs
from gem_index_cli.progress import progress_bar
from gem_index_cli.vector_options import SourceOptionFlags

if TYPE_CHECKING:
    from gem_index.results import VectorInfo
    from gem_index.vectors.stored import ImportReport

__all__ = ["register"]

app = typer.Typer(help="Word vectors: the input of every encoder.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="Name of the vectors.")]


@app.command()
@takes(flags=SourceOptionFlags)
def add(
    context: typer.Context,
    name: Name,
    flags: SourceOptionFlags,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[SOURCE]",
            help="A file or folder, a URL, the name of registered or well-known vectors, a spaCy pipeline, or owner/name on "
            "the "
            "Hugging Face hub. Default: the well-known vectors NAME (see: vectors catalogue).",
            show_default=False,
        ),
    ] = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FILE|URL",
            help="Read the well-known vectors from this file or URL instead of downloading them.",
        ),
    ] = None,
    format: Annotated[
        str | None, typer.Option(help="The format of the file. Default: detected.")
    ] = None,
    origin: Annotated[
        str | None, typer.Option(help="Where the vectors come from; only recorded.")
    ] = None,
    licence: Annotated[
        str | None, typer.Option(help="Licence of the vectors; only recorded.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Copy word vectors into the home under a name. Well-known ones are downloaded."""
    home = home_of(context)
    with progress_bar("words") as progress:
        info = home.vectors.add(
            name,
            source,
            options=flags.options(),
            format=format,
            mirror=from_,
            origin=origin,
            licence=licence,
            progress=progress,
        )
    _print_added(info, as_json)
    if flags.oov is None and info.options.get("oov") == "subword" and not as_json:
        say(
            "Unknown words are composed of their n-grams (--oov subword, as the file has them; or --oov hash)."
        )


def _print_added(info: VectorInfo, as_json: bool) -> None:
    if as_json:
        print_json(info)
        return
    size = "composed of pieces" if info.words is None else f"{info.words} words"
    say(f"{info.name}: {size}, {info.dimension} dimensions ({info.format}).")
    assert info.findings is not None  # a file was read
    for line in _remarks(info.findings):
        say(line)


def _remarks(findings: ImportReport) -> list[str]:
    """Return import warnings as text."""
    counted = (
        (findings.duplicates, "words are repeated; the first of each is used"),
        (findings.empty, "rows have an empty word and are never found"),
        (findings.spaced, "words hold a space"),
        (findings.latin1, "words were not UTF-8 and were read as Latin-1"),
    )
    lines = [f"{count} {what}." for count, what in counted if count]
    if findings.loss is not None:
        lines.append(
            f"Storing in fewer bits moved a row by {findings.loss['mean']:.2%} of its length "
            f"(mean; largest {findings.loss['largest']:.2%})."
        )
    return lines


@app.command()
def catalogue(as_json: AsJson = False) -> None:
    """Show the well-known word vectors that add can download by name."""
    from gem_index.vectors.catalogue import ANY_LANGUAGE, CATALOGUE, any_language

    known = {**CATALOGUE, ANY_LANGUAGE: any_language("LANG")}

    if as_json:
        print_json(
            [
                {
                    "name": name,
                    "bytes": entry.size,
                    "sha256": [file.sha256 for file in entry.files],
                    "addresses": [file.address for file in entry.files],
                    "licence": entry.licence,
                    "note": entry.note,
                }
                for name, entry in known.items()
            ]
        )
        return
    print_table(
        ("name", ">download", "licence", "what"),
        (
            (
                name,
                "package"
                if entry.packaged
                else f"{entry.size / 1e9:.2f} GB"
                if entry.size
                else "?",
                entry.licence,
                entry.note,
            )
            for name, entry in known.items()
        ),
    )


@app.command("list")
def list_vectors(
    context: typer.Context, as_json: AsJson = False, as_json_lines: AsJsonLines = False
) -> None:
    """Show the bundled and the added word vectors."""
    found = home_of(context).vectors.list()
    if as_json_lines:
        print_json_lines(found)
        return
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
def show(
    context: typer.Context,
    name: Name,
    coverage: Annotated[
        list[str] | None,
        typer.Option(
            metavar="INPUT",
            help="Show the share of the words of these texts that the vectors know.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show the origin, size and options of word vectors, and the share of the words of your texts that they know."""
    home = home_of(context)
    details = asdict(home.vectors.describe(name))
    if coverage:
        from gem_index.vectors.coverage import measure_coverage

        texts = InputOptions().texts(coverage)
        details["coverage"] = asdict(measure_coverage(home.vectors.open(name), texts))
    if as_json:
        print_json(details)
        return
    measured = details.pop("coverage", None)
    findings = details.pop("findings")
    details["options"] = ", ".join(f"{k}={v}" for k, v in details["options"].items()) or "default"
    print_table(("", ""), [(key, value) for key, value in details.items()])
    if findings is not None:
        from gem_index.vectors.stored import ImportReport

        for line in _remarks(ImportReport(**findings)):
            say(line)
    if measured is not None:
        _print_coverage(measured)


def _print_coverage(measured: dict[str, Any]) -> None:
    print_table(
        ("", ">of the corpus", ">known"),
        (
            ("words (tokens)", measured["tokens"], f"{measured['known_tokens']:.2%}"),
            ("different words (types)", measured["types"], f"{measured['known_types']:.2%}"),
        ),
    )
    if measured["unknown_words"]:
        print_table(("unknown word", ">times"), measured["unknown_words"])
    largest = max(count for _, count in measured["norms"]) or 1
    print_table(
        (">length of vector up to", ">words", ""),
        (
            (f"{edge:.3g}", count, "\u2588" * round(20 * count / largest))
            for edge, count in measured["norms"]
        ),
    )


@app.command("fit-vocabulary")
@takes(flags=SourceOptionFlags)
def fit_vocabulary(
    context: typer.Context,
    name: Name,
    inputs: Inputs,
    flags: SourceOptionFlags,
    vectors: Annotated[str, typer.Option(help="The vectors to reduce, as for build.")],
    frequent: Annotated[
        int, typer.Option(help="Number of the most frequent words to keep in addition.")
    ] = 20_000,
    as_json: AsJson = False,
) -> None:
    """Make a smaller set of word vectors: the words of a corpus, and the most frequent other words."""
    with progress_bar("words") as progress:
        info = home_of(context).vectors.fit_vocabulary(
            name,
            InputOptions().texts(inputs),
            vectors=vectors,
            frequent=frequent,
            options=flags.options(),
            progress=progress,
        )
    _print_added(info, as_json)


@app.command()
def export(
    context: typer.Context,
    name: Name,
    output: Annotated[
        Path,
        typer.Option(
            "-o",
            "--output",
            help=".txt (GloVe), .vec (word2vec text), .bin (word2vec binary), .parquet, or a new folder; "
            "text and .bin also .gz.",
        ),
    ],
    format: Annotated[
        str | None,
        typer.Option(
            help="glove, word2vec-text, word2vec-binary, parquet, folder or model2vec. Default: by the name."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write word vectors to a file or folder for other programs."""
    rows = home_of(context).vectors.export(name, output, format)
    if as_json:
        print_json({"rows": rows, "output": str(output)})
    else:
        say(f"{rows} rows in {output}.")


@app.command()
def remove(context: typer.Context, name: Name, as_json: AsJson = False) -> None:
    """Remove word vectors that no model or collection uses."""
    home_of(context).vectors.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(f"The vectors {name} are gone.")


@app.command()
@app.command("neighbours", hidden=True)  # its former spelling
def neighbors(
    context: typer.Context,
    word: Annotated[str, typer.Argument(help="A word.")],
    vectors: Annotated[str, typer.Option(help="Word vectors, as for build.")] = "wordllama",
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the words with the nearest vectors: a quick check of word vectors."""
    from gem_index import open_vectors
    from gem_index.vectors.neighbors import nearest_words

    source = open_vectors(vectors, home_of(context) if context.obj.home else None)
    _print_words(nearest_words(source, word, k), as_json)


@app.command()
def analogy(
    context: typer.Context,
    a: Annotated[str, typer.Argument(metavar="A", help="A word, such as man.")],
    b: Annotated[str, typer.Argument(metavar="B", help="A word, such as king.")],
    c: Annotated[str, typer.Argument(metavar="C", help="A word, such as woman.")],
    vectors: Annotated[str, typer.Option(help="Word vectors, as for build.")] = "wordllama",
    k: Annotated[int, typer.Option("-k", help="How many.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Show the words that relate to C as B relates to A."""
    from gem_index import open_vectors
    from gem_index.vectors.neighbors import solve_analogy

    source = open_vectors(vectors, home_of(context) if context.obj.home else None)
    _print_words(solve_analogy(source, a, b, c, k), as_json)


def _print_words(found: list[tuple[str, float]], as_json: bool) -> None:
    if as_json:
        print_json([{"word": word, "score": score} for word, score in found])
    else:
        print_table(("word", ">cosine"), [(word, f"{score:.3f}") for word, score in found])


def register(root: typer.Typer) -> None:
    """Add the commands to the tree."""
    root.add_typer(app, name="vectors")
