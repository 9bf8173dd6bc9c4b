"""Print how many mutants of a session died, by package, how many of them by the core's tests, and those that survived.

    python tests/mutation/report.py session.sqlite

``matching_tests.py`` runs tests of the core first, so a mutant for which a test of another part fails survived all of those
of the core that had time to run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

from cosmic_ray.work_db import WorkDB, use_db
from cosmic_ray.work_item import MutationSpec, TestOutcome, WorkerOutcome, WorkResult
from packages import package_of

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from parts import CORE, part_of


def died_in_core(result: WorkResult) -> bool:
    """Return whether a mutant died in the core: one of its tests failed, or no module could be imported."""
    failed = re.search(r"^(?:FAILED|ERROR) tests/(\S+)", result.output or "", re.MULTILINE)
    return failed is None or part_of(failed[1]) == CORE


def main() -> None:
    """Print the table and the survivors."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("session")
    counts: dict[str, Counter[str]] = {}
    survivors = []
    with use_db(parser.parse_args().session, WorkDB.Mode.open) as database:
        results = dict(database.results)
        for item in database.work_items:
            result = results.get(item.job_id)
            if result is None or result.worker_outcome == WorkerOutcome.SKIPPED:
                continue
            mutation: MutationSpec = item.mutations[0]
            count = counts.setdefault(package_of(mutation.module_path), Counter())
            count["tried"] += 1
            if result.test_outcome == TestOutcome.SURVIVED:
                survivors.append((mutation.module_path, mutation.start_pos[0], result.diff))
            elif result.test_outcome == TestOutcome.KILLED:
                count["died"] += 1
                count["in the core"] += died_in_core(result)
            else:
                count["had no verdict"] += 1
    columns = ("tried", "died", "in the core", "had no verdict")
    total = sum(counts.values(), Counter())
    print(f"| package | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for package, count in [*sorted(counts.items()), ("all", total)]:
        print(f"| {package} | {' | '.join(str(count[column]) for column in columns)} |")
    for path, line, diff in sorted(survivors):
        print(f"\nsurvived: {path}, line {line}\n{diff}")


if __name__ == "__main__":
    main()
