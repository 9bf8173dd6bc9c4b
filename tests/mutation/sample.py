"""Keep a sample of a session's mutants: the same number in each package, chosen by a seed; the others are skipped.

    cosmic-ray init tests/mutation/cosmic-ray.toml session.sqlite
    python tests/mutation/sample.py session.sqlite --seed 15 --each 16

Places are drawn before operators, so that an addition, which twelve operators replace, is no likelier than a `not`. Left out
are annotations and aliases of types, which nothing evaluates or which fail at import, and decorators, most of which cache.
"""

from __future__ import annotations

import argparse
import ast
import random
from collections import defaultdict
from functools import cache
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, WorkerOutcome, WorkResult
from packages import package_of


@cache
def left_out(path: Path) -> frozenset[int]:
    """Return the lines of annotations, type aliases, imports, decorators and exported names."""
    lines: set[int] = set()

    def add(*nodes: ast.AST | None) -> None:
        for node in nodes:
            if isinstance(node, ast.expr | ast.stmt):
                lines.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))

    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            add(*node.decorator_list)
        if isinstance(node, ast.FunctionDef):
            arguments = (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)
            shown = [argument.annotation for argument in arguments]
            for annotation in (*shown, node.returns):
                # a default on the same line stays: only annotations that hold an operator are met by one
                if any(isinstance(part, ast.BinOp) for part in ast.walk(annotation or ast.Pass())):
                    add(annotation)
        elif isinstance(node, ast.AnnAssign):
            add(node.annotation)
            if "TypeAlias" in ast.unparse(node.annotation):
                add(node)
        elif isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        ):
            add(node)
    return frozenset(lines)


def choose(database: WorkDB, seed: int, each: int) -> set[str]:
    """Return the jobs of the sample."""
    places: dict[str, dict[tuple[str, int, int], list[tuple[str, str]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for item in database.work_items:
        mutation: MutationSpec = item.mutations[0]
        line, column = mutation.start_pos
        if line not in left_out(mutation.module_path):
            place = (mutation.module_path.as_posix(), line, column)
            name = f"{mutation.operator_name} {mutation.operator_args} {mutation.occurrence}"
            places[package_of(mutation.module_path)][place].append((name, item.job_id))
    random_ = random.Random(seed)
    chosen = set()
    for _, found in sorted(places.items()):
        drawn = random_.sample(sorted(found), min(each, len(found)))
        chosen |= {random_.choice(sorted(found[place]))[1] for place in drawn}
    return chosen


def main() -> None:
    """Skip what is not in the sample."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("session")
    parser.add_argument("--seed", type=int, default=15)
    parser.add_argument("--each", type=int, default=16, help="mutants of each package")
    arguments = parser.parse_args()
    with use_db(arguments.session, WorkDB.Mode.open) as database:
        chosen = choose(database, arguments.seed, arguments.each)
        others = [item.job_id for item in database.work_items if item.job_id not in chosen]
        database.set_multiple_results(others, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    print(f"{len(chosen)} mutants are in the sample, {len(others)} are skipped")


if __name__ == "__main__":
    main()
