"""Commands on encoders: fit, encode, explain, similarity, rerank; and the list of models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import asdict
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gem_index.errors import ConfigError, InputError, RecordError
from gem_index_cli.cluster import ClusterOptions
from gem_index_cli.context import home_of
from gem_index_cli.encoder_options import ConfigOptions, EncoderOptions, Vectors
from gem_index_cli.input_options import InputOptions
from gem_index_cli.option_groups import takes
from gem_index_cli.output import print_json, print_json_lines, print_table, say
from gem_index_cli.parameters import AsJson, AsJsonLines, Inputs
from gem_index_cli.progress import progress_bar
from gem_index_cli.result_output import print_explanation, print_match, print_results
from gem_index_cli.unknown_words import SampledTexts, tell_unknown_words

if TYPE_CHECKING:
    from distributed import Client
    from gem_index.gem.combined import Encoder
    from gem_index.readers import DocumentReader

__all__ = ["register"]

app = typer.Typer(help="The fitted models.", no_args_is_help=True)


@takes(options=InputOptions, config=ConfigOptions, cluster=ClusterOptions)
def fit(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the model to make.")],
    inputs: Inputs,
    options: InputOptions,
    config: ConfigOptions,
    cluster: ClusterOptions,
    vectors: Vectors = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace a model of that name.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Fit a model on the texts of files and store it under a name."""
    settings: dict[str, Any] = {
        "vectors": vectors or config.vectors,
        "config": config.config(),
        "overwrite": overwrite,
    }
    if cluster.scheduler is None:
        sample = SampledTexts(options.texts(inputs))
        encoder = home_of(context).models.fit(name, sample, **settings)
        _tell_unknown(encoder, sample)
    else:
        reader = options.text_reader(inputs)
        home = home_of(context)
        checkpoint = home.root / "fits" / name
        with cluster.connected() as client:
            encoder = home.models.make(
                name, lambda model: _fit_on(client, model, reader, options, checkpoint), **settings
            )
    components = [part.components for part in encoder.encoders]
    result = {
        "model": name,
        "fingerprint": encoder.fingerprint,
        "sentences": components[0].sentences,
        "dimension": encoder.dimension,
        "components": sum(len(part.singular_values) for part in components),
    }
    if as_json:
        print_json(result)
    else:
        say(
            f"Model {name}: {result['components']} directions of {result['sentences']} texts, "
            f"{result['dimension']} dimensions, fingerprint {encoder.fingerprint[:12]}."
        )


def _tell_unknown(encoder: Encoder, sample: SampledTexts[Any]) -> None:
    from gem_index.vectors.coverage import known_share

    tell_unknown_words(known_share([part.vectors for part in encoder.encoders], sample.first))


def _fit_on(
    client: Client,
    encoder: Encoder,
    reader: DocumentReader,
    options: InputOptions,
    checkpoint: Path,
) -> None:
    """Fit an encoder on a cluster; the same work continues from the saved sums of this checkpoint."""
    from gem_index.distributed import fit as fit_on

    with progress_bar("fit") as progress:
        found = fit_on(
            client,
            encoder,
            reader,
            options=ClusterOptions.partitions(options),
            checkpoint=checkpoint,
            progress=progress,
        )
    ClusterOptions.tell(options, found.skipped_records, found.skipped)


@takes(options=InputOptions, config=ConfigOptions, encoder=EncoderOptions, cluster=ClusterOptions)
def encode(
    context: typer.Context,
    inputs: Inputs,
    options: InputOptions,
    config: ConfigOptions,
    encoder: EncoderOptions,
    cluster: ClusterOptions,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="A .npy or .parquet file; with --scheduler a folder or its URL."
        ),
    ],
    texts: Annotated[
        bool, typer.Option("--texts", help="With --scheduler, write the texts too.")
    ] = False,
    fit: Annotated[
        bool, typer.Option("--fit", help="First fit the encoder on the input, with --vectors.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Write the vectors of the texts of files: one row per text, in the same order.

    A .parquet file has the columns id, text and vector.
    """
    from gem_index.gem.vector_output import write_vectors
    from gem_index.readers.rereading import readable_twice

    if fit and (encoder.model or encoder.collection):
        raise ConfigError("found --fit beside a fitted model; expected --vectors with --fit")
    if cluster.scheduler is not None:
        _encode_on(
            cluster,
            encoder.encoder(context, config),
            options.text_reader(inputs),
            options,
            output,
            home_of(context).root / "fits" if fit else None,
            texts=texts,
            as_json=as_json,
        )
        return
    if texts:
        raise ConfigError(
            "found --texts without --scheduler; expected both: a .parquet file always holds the texts"
        )
    with readable_twice(inputs) if fit else nullcontext(inputs) as names:
        found = encoder.encoder(context, config)
        if fit:
            found.fit(options.texts(names))
        sample = SampledTexts(_rows(options, names, output))
        with progress_bar("encode") as progress:
            rows, empty = write_vectors(
                Path(output),
                found,
                sample,
                lambda done: progress("encode", done, 0),
            )
    _tell_unknown(found, sample)
    result = {
        "rows": rows,
        "dimension": found.dimension,
        "empty": empty,
        "fingerprint": found.fingerprint,
    }
    if as_json:
        print_json(result)
    else:
        say(f"{output}: {rows} rows of {found.dimension} dimensions, {empty} without words.")


def _rows(options: InputOptions, names: list[str], output: str) -> Iterator[tuple[str, str]]:
    """Return the ids and texts of some files; empty ids for an output that has none."""
    if output.endswith(".npy"):
        return (("", text) for text in options.texts(names))
    return options.rows(names)


def _encode_on(
    cluster: ClusterOptions,
    encoder: Encoder,
    reader: DocumentReader,
    options: InputOptions,
    output: str,
    fits: Path | None,
    *,
    texts: bool,
    as_json: bool,
) -> None:
    """Encode on a cluster, and print a report; fit the encoder first if there is a folder for fits."""
    from gem_index.distributed import encode as encode_on

    if output.lower().endswith((".npy", ".parquet")):
        raise ConfigError(
            f"--output is {output!r:.200} with --scheduler; expected a folder or the URL of one, for a file of each part"
        )
    with cluster.connected() as client, progress_bar("encode") as progress:
        found = encode_on(
            client,
            encoder,
            reader,
            output,
            texts=texts,
            fit=fits is not None,
            checkpoint=fits and fits / f"encode~{_digest(output)}",
            options=cluster.partitions(options),
            progress=progress,
        )
    cluster.tell(options, found.skipped_records, found.skipped)
    if as_json:
        print_json({key: value for key, value in asdict(found).items() if key != "skipped_records"})
    else:
        say(
            f"{output}: {found.rows} rows of {found.dimension} dimensions in {found.parts} files, "
            f"{found.empty} without words."
        )


def _digest(output: str) -> str:
    """Return a short name for an output: its folder, wherever the command is run, or URL."""
    place = output if "://" in output else str(Path(output).absolute())
    return sha256(place.encode()).hexdigest()[:16]


@takes(config=ConfigOptions, encoder=EncoderOptions)
def explain(
    context: typer.Context,
    text: Annotated[str, typer.Argument(help="A sentence.")],
    config: ConfigOptions,
    encoder: EncoderOptions,
    other: Annotated[
        str | None,
        typer.Option(
            "--with", help="Another text: show why the two match instead.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show how much each word of a text adds to its vector, or why two texts match."""
    model = encoder.encoder(context, config)
    if other is not None:
        match = model.explain_match(text, other)
        print_json(match) if as_json else print_match(match)
        return
    explanation = model.explain(text)
    if as_json:
        print_json(explanation)
    else:
        print_explanation(explanation)


@takes(config=ConfigOptions, encoder=EncoderOptions)
def similarity(
    context: typer.Context,
    a: Annotated[str, typer.Argument(help="A text.")],
    b: Annotated[str, typer.Argument(help="Another text.")],
    config: ConfigOptions,
    encoder: EncoderOptions,
    as_json: AsJson = False,
) -> None:
    """Print the cosine of two texts, -1 to 1."""
    score = encoder.encoder(context, config).similarity(a, b)
    if as_json:
        print_json({"score": score})
    else:
        say(f"{score:.4f}")


@takes(config=ConfigOptions, encoder=EncoderOptions)
def rerank(
    context: typer.Context,
    config: ConfigOptions,
    encoder: EncoderOptions,
    source: Annotated[
        str,
        typer.Argument(
            metavar="[INPUT.jsonl]", help="A file with one query per line; - is standard input."
        ),
    ] = "-",
    query: Annotated[
        str | None,
        typer.Option(help="The query, if the input has none.", show_default=False),
    ] = None,
    top_n: Annotated[int | None, typer.Option(help="How many to keep. Default: all.")] = None,
    as_json: AsJson = False,
) -> None:
    """Order candidates by their similarity to a query.

    Each line of the input is {"query": "…", "candidates": ["…" or {"id": "…", "text": "…"}, …], "id": "…"}. The output of
    search with --json or --jsonl is a valid input too.
    """
    from gem_index import rerank as reranked
    from gem_index.readers.rerank_requests import read_rerank_requests

    found = encoder.encoder(context, config)
    empty = True
    for request in read_rerank_requests(source, query):
        empty = False
        try:
            results = reranked(request.query, request.candidates, found, top_n)
        except InputError as error:
            raise RecordError(source, request.line, str(error)) from error
        if as_json:
            rows = [vars(result) for result in results]
            print_json({**request.id, "query": request.query, "results": rows})
        else:
            print_results(results, title=request.query)
    if empty and source == "-":
        # the output of a search without results
        if not as_json:
            say("Nothing was found.")
    elif empty:
        raise InputError(f"{source} holds no queries; expected one JSON object a line")


@app.command("list")
def list_models(
    context: typer.Context, as_json: AsJson = False, as_json_lines: AsJsonLines = False
) -> None:
    """Show the models made by fit."""
    rows = [asdict(model) for model in home_of(context).models.list()]
    if as_json_lines:
        print_json_lines(rows)
        return
    if as_json:
        print_json(rows)
        return
    headings = ("model", "vectors", ">texts", ">dimension", "fingerprint")
    cells = (
        (r["name"], r["vectors"], r["sentences"], r["dimension"], r["fingerprint"][:12])
        for r in rows
    )
    print_table(headings, cells)


@app.command("remove")
def remove_model(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="Name of the model.")],
    as_json: AsJson = False,
) -> None:
    """Remove a model."""
    home_of(context).models.remove(name)
    if as_json:
        print_json({"removed": name})
    else:
        say(f"The model {name} is gone.")


def register(root: typer.Typer) -> None:
    """Add the commands to the tree."""
    for command in (fit, encode, explain, similarity, rerank):
        root.command()(command)
    root.add_typer(app, name="models")
