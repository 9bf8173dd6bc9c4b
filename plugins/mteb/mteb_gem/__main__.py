"""``python -m mteb_gem``: measure GEM on tasks of MTEB."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import mteb

from gem_index import GemIndexError
from mteb_gem.model import GemModel


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure tasks and print one score per line; return 0 for success, 1 for missing data, 2 for wrong arguments."""
    options = _parser().parse_args(arguments)
    try:
        model = GemModel(
            options.vectors,
            model=options.model,
            collection=options.collection,
            config=options.config,
            home=options.home,
        )
        tasks = (
            list(mteb.get_benchmark(options.benchmark).tasks)
            if options.benchmark
            else list(mteb.get_tasks(tasks=options.tasks or []))
        )
    except GemIndexError as error:
        return _report_failure(str(error), error.exit_status)
    except KeyError as error:  # raised by MTEB, with similar names
        return _report_failure(
            f"{error.args[0]} See: mteb available-tasks, mteb available-benchmarks", 2
        )
    if options.mock:
        results = mteb.mock_run(model)
        sys.stdout.write(results.to_markdown() + "\n")
        return 0 if results.all_passed else 1
    status = 0
    for task in tasks:
        name = task.metadata.name
        try:
            found = mteb.evaluate(model, task, cache=mteb.ResultCache(options.output))
        except (
            OSError
        ) as error:  # raised by MTEB, datasets and the hub's client if data are missing
            status = _report_failure(f"{name} was not measured: {' '.join(str(error).split())}", 1)
        else:
            for result in found.task_results:
                sys.stdout.write(f"{result.get_score():.4f}  {name}\n")
    if status:
        sys.stderr.write(
            "MTEB downloads the data of its tasks: expected a connection to huggingface.co, or the data in its cache\n"
        )
    return status


def _report_failure(problem: str, status: int) -> int:
    sys.stderr.write(f"Error: {problem}\n")
    return status


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m mteb_gem",
        description="Measure GEM on tasks of MTEB, whose data are downloaded from the Hugging Face hub.",
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--tasks", nargs="+", metavar="TASK", help="names such as STS12 SciFact")
    what.add_argument("--benchmark", metavar="NAME", help="such as 'MTEB(eng, v2)'")
    what.add_argument("--mock", action="store_true", help="MTEB's mock tasks, without network")
    parser.add_argument("--vectors", metavar="V", help="word vectors; by default the bundled ones")
    parser.add_argument("--model", metavar="M", help="a fitted model: its name, or its file")
    parser.add_argument("--collection", metavar="C", help="a collection, whose model is used")
    parser.add_argument("--config", metavar="PRESET", help="with --vectors: such as trained or sts")
    parser.add_argument("--home", metavar="DIR", help="the home of these names")
    parser.add_argument(
        "-o", "--output", default="results", metavar="DIR", help="folder for the results"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
