"""Tuning on scores that are known: the steps that are told, and what is tried."""

from __future__ import annotations

import numpy as np
import pytest

from gem_index import GemConfig, GemEncoder
from gem_index.evaluate import tune as module
from gem_index.evaluate.tune import tune
from gem_index.evaluate.tuning_data import score_on_pairs
from gem_index.vectors.specification import VectorSpec


def test_no_value_is_tried_twice():
    for name, values in module.GRID.items():
        assert len(set(values)) == len(values), name
        ordered = [value for value in values if not isinstance(value, str)]
        assert ordered == sorted(ordered), name
    assert list(module.FACTORS) == sorted({*module.FACTORS} - {1})


@pytest.fixture
def small(monkeypatch):
    """A grid of a few values."""
    monkeypatch.setattr(module, "FACTORS", (0.5, 2.0))
    grid = {"window": (3, 9), "removed": (0, 2), "components": (2, 5), "alphas": ("", "n")}
    monkeypatch.setattr(module, "GRID", grid)


def ending(score):
    """Return a score that fails if it is asked for too often: a search that does not end fails too."""
    asked = []

    def counted(config, spec):
        asked.append(spec)
        assert len(asked) < 2000
        return score(config, spec)

    return counted


START = GemConfig(window=7, n_removed=3, n_components=4, alphas="s")


def test_the_steps_that_improved_are_told_and_the_progress_grows_by_rounds(small):
    def score(config, spec):
        (part,) = VectorSpec.parse(spec).parts
        at_nine = config.window == 9
        return (
            4.0 * at_nine
            + 2.0 * (not config.alphas)
            + (part.name == "b")
            + at_nine * part.weight / 10
        )

    told = []
    best, spec, found = tune(ending(score), ["a", "b"], START, lambda *each: told.append(each))
    assert (best.window, best.alphas, best.n_removed, best.n_components) == (9, "", 3, 4)
    steps = [
        ("start", "a", 0.0),
        ("vectors", "b", 1.0),
        ("window", "9", pytest.approx(5.1)),
        ("alphas", "-", pytest.approx(7.1)),
    ]
    weight, score_now = 1.0, 7.1
    while weight * 2 <= 1e9:
        weight *= 2
        score_now = 7 + weight / 10
        steps.append(("vectors", f"b*{weight!r}", pytest.approx(score_now)))
    assert spec == steps[-1][1]
    [table] = found.tables
    assert (table.title, table.headings) == ("Steps that improved", ("setting", "value", ">dev"))
    assert list(table.rows) == steps
    assert found.json == {
        "task": "tune",
        "vectors": spec,
        "config": best.to_json(),
        "score": pytest.approx(score_now),
        "steps": [list(step) for step in steps],
    }
    # a round tries the vectors, two weights (of the largest or the least only one), and eight values of the grid
    assert {stage for stage, *_ in told} == {"tune"}
    assert told[0] == ("tune", 5, 12)
    assert told[7] == ("tune", 12, 12)
    assert told[8] == ("tune", 17, 24)
    assert told[-1][1] == told[-1][2]


def test_a_setting_is_tried_again_after_a_later_one_has_changed(small):
    def score(config, _spec):
        return (config.alphas == "n") * (2.0 + (config.window == 3))

    best, _, found = tune(ending(score), ["a"], START)
    assert (best.window, best.alphas) == (3, "n")
    assert found.json["steps"] == [
        ["start", "a", 0.0],
        ["alphas", "n", 2.0],
        ["window", "3", 3.0],
    ]


def test_what_is_only_as_good_is_no_step(small):
    tried = []

    def score(config, spec):
        tried.append((config.window, config.n_removed, config.n_components, config.alphas, spec))
        return 5.0

    best, spec, found = tune(ending(score), ["a", "b"], START)
    assert (best, spec) == (START, "a")
    assert found.json["steps"] == [["start", "a", 5.0]]
    as_it_was = (7, 3, 4, "s")
    assert tried == [
        (*as_it_was, "a"),
        *((*as_it_was, other) for other in ("b", "a*0.5", "a*2.0")),
        (3, 3, 4, "s", "a"),
        (9, 3, 4, "s", "a"),
        (7, 0, 4, "s", "a"),
        (7, 2, 4, "s", "a"),
        (7, 3, 5, "s", "a"),  # not 2, which is fewer than are removed
        (7, 3, 4, "", "a"),
        (7, 3, 4, "n", "a"),
    ]


@pytest.mark.parametrize(
    ("removed", "components", "tried"),
    [
        (2, 4, {(0, 4), (2, 2), (2, 4), (2, 5)}),
        (1, 2, {(1, 2), (0, 2), (2, 2), (1, 5)}),
        (1, 1, {(1, 1), (0, 1), (1, 2), (1, 5)}),
    ],
)
def test_no_more_is_removed_than_there_are_components(small, removed, components, tried):
    seen = set()
    start = GemConfig(n_removed=removed, n_components=components)
    score = ending(lambda config, _: seen.add((config.n_removed, config.n_components)) or 0.0)
    tune(score, ["a"], start)
    assert seen == tried


def test_the_weights_of_each_source_are_changed_within_their_bounds():
    least, most = module.SMALLEST_FACTOR, module.LARGEST_FACTOR
    assert module._reweighted(f"a*{most / 2!r}+b*{least!r}") == [
        *(f"a*{most / 2 * factor!r}+b*{least!r}" for factor in (0.1, 0.3, 0.5, 0.7, 1.5, 2.0)),
        *(f"a*{most / 2!r}+b*{least * factor!r}" for factor in (1.5, 2.0, 3.0)),
    ]


def test_files_of_pairs_count_alike(tmp_path, small_vectors):
    texts = [
        ("open a bank", "a bank account"),
        ("two ducks", "a river"),
        ("tea", "a cup of tea"),
        ("visa", "loan"),
    ]
    scores = [(1, 2, 3, 4), (4, 1, 2, 2)]
    names = []
    for place, numbers in enumerate(scores):
        path = tmp_path / f"{place}.txt"
        lines = (f"{n}\t{a}\t{b}\n" for n, (a, b) in zip(numbers, texts, strict=True))
        path.write_text("".join(lines))
        names.append(str(path))
    opened = []
    score = score_on_pairs(names, lambda spec: opened.append(spec) or small_vectors)
    config = GemConfig(window=3)
    encoder = GemEncoder(small_vectors, config).fit([a for a, _ in texts] + [b for _, b in texts])
    cosines = [encoder.similarity(a, b) for a, b in texts]
    expected = np.mean([100 * np.corrcoef(numbers, cosines)[0, 1] for numbers in scores])
    assert score(config, "x") == score(config, "x") == pytest.approx(expected, abs=1e-3)
    assert opened == ["x"]
