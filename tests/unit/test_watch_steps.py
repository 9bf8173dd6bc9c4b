"""What a watch of folders reports, step by step, with given changes and a clock of its own."""

from types import SimpleNamespace

import pytest
import watchfiles

from gem_index.collection import watching
from gem_index.collection.watching import watch
from gem_index.errors import InputError
from gem_index.readers import FolderReader


class Clock:
    """A clock that goes on by one second with each look at the folders."""

    now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(watching, "time", clock)
    return clock


@pytest.fixture
def folder(tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    return root


def report(added=0, updated=0, deleted=0):
    return SimpleNamespace(added=added, updated=updated, deleted=deleted)


def watched(monkeypatch, clock, folder, looks, outcomes, **options):
    """Watch a folder; each look is whether something has changed, each outcome is that of an upsert."""
    upserts, reports, errors, filters = [], [], [], []

    def changes_of(*roots, **given):
        filters.append(given["watch_filter"])
        for changed in looks:
            yield {(1, "a")} if changed else set()
            clock.now += 1

    def upsert(_, prune):
        upserts.append((clock.now, prune))
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    monkeypatch.setattr(watchfiles, "watch", changes_of)
    reader = options.pop("reader", None) or FolderReader(folder)
    watch(
        SimpleNamespace(upsert=upsert),
        [reader],
        on_report=reports.append,
        on_error=errors.append,
        **options,
    )
    assert not outcomes
    return upserts, reports, errors, filters[0]


def test_the_first_report_and_those_of_changes(monkeypatch, clock, folder):
    outcomes = [report(), report(), report(added=1), report(updated=1), report(deleted=1)]
    told = [outcomes[0], *outcomes[2:]]
    looks = [False, False, True, True, False, True, True]
    upserts, reports, errors, _ = watched(monkeypatch, clock, folder, looks, outcomes)
    assert upserts == [(100.0 + place, True) for place in (0, 2, 3, 5, 6)]
    assert (reports, errors) == (told, [])


def test_an_error_is_told_and_the_update_runs_again_five_seconds_later(monkeypatch, clock, folder):
    error = InputError("a file")
    outcomes = [error, report()]
    told = outcomes[1:]
    upserts, reports, errors, _ = watched(monkeypatch, clock, folder, [False] * 9, outcomes)
    assert [at for at, _ in upserts] == [100.0, 105.0]
    assert (reports, errors) == (told, [error])


def test_a_change_comes_before_the_five_seconds_are_over(monkeypatch, clock, folder):
    outcomes = [InputError("a file"), report(), report()]
    told = outcomes[1:2]
    upserts, reports, _, _ = watched(
        monkeypatch, clock, folder, [False, False, True, False, False, False, False, True], outcomes
    )
    assert [at for at, _ in upserts] == [100.0, 102.0, 107.0]
    assert reports == told


def test_which_changes_count(monkeypatch, clock, folder, tmp_path):
    home = folder / "home"
    _, _, _, counts = watched(monkeypatch, clock, folder, [False], [report()], ignore=[home])
    shown = {
        path: counts(None, str(folder / path))
        for path in ("a.txt", "law/b.txt", ".git/c", "law/.d", "home/e", "homes/f")
    }
    assert shown == {
        "a.txt": True, "law/b.txt": True, ".git/c": False, "law/.d": False, "home/e": False, "homes/f": True,
    }  # fmt: skip
    assert not counts(None, str(tmp_path / "elsewhere"))
    _, _, _, counts = watched(
        monkeypatch, clock, folder, [False], [report()],
        reader=FolderReader(folder, glob=["*.md"]),
    )  # fmt: skip
    assert counts(None, str(folder / ".git" / "c"))  # a pattern may name hidden files
