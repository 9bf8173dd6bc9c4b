"""The groups of a map by a field, the names of topics, and the places of few texts."""

import json
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.collection.corpus.document_map import colors_of
from gem_index.collection.corpus.map_places import place_texts
from gem_index.collection.corpus.topic_words import topic_names


def groups_of(*values, missing=0):
    """The groups of documents with these values of a field, and of some documents without it."""
    metadata = [json.dumps({"f": value}) for value in values] + ["{}"] * missing
    seqs = np.arange(1, len(metadata) + 1)

    def columns(asked):
        return asked, [], [], [metadata[seq - 1] for seq in asked]

    @contextmanager
    def reading():
        yield SimpleNamespace(documents=SimpleNamespace(columns=columns))

    found = colors_of(SimpleNamespace(reading=reading), SimpleNamespace(seqs=seqs), "f")
    return found.codes.tolist(), found.names, found.counts, found.ordered


def test_the_most_frequent_values_come_first():
    assert groups_of("b", "a", "a", None, [1], missing=1) == (
        [1, 0, 0, 3, 2, 3],
        ("a", "b", "[1]", "none"),
        (2, 1, 1, 2),
        False,
    )
    assert groups_of(True, False, True) == ([0, 1, 0], ("true", "false"), (2, 1), False)
    assert groups_of(missing=2) == ([0, 0], ("none",), (2,), False)


@pytest.mark.parametrize(("distinct", "shown", "other"), [(10, 10, 0), (11, 9, 2), (14, 9, 5)])
def test_from_eleven_values_on_the_others_share_a_group(distinct, shown, other):
    values = [f"v{n:02}" for n in range(distinct)]
    codes, names, counts, ordered = groups_of(*values, missing=1)
    assert codes == [*range(shown), *[shown] * other, shown + (other > 0)]
    assert names == (*values[:shown], *(["other"] if other else []), "none")
    assert counts == (*[1] * shown, *([other] if other else []), 1)
    assert not ordered


def test_many_numbers_are_ranges_of_similar_size():
    codes, names, counts, ordered = groups_of(*range(16), missing=3)
    assert ordered
    assert names == (
        "0 to 1", "2 to 3", "4 to 5", "6 to 7", "8 to 9", "10 to 11", "12 to 13", "14 to 15", "none",
    )  # fmt: skip
    assert counts == (*[2] * 8, 3)
    assert codes == [*[n // 2 for n in range(16)], 8, 8, 8]
    _, names, counts, _ = groups_of(*range(16))
    assert (len(names), sum(counts)) == (8, 16)


@pytest.mark.parametrize("missing", [0, 2])
def test_a_lowest_number_that_many_documents_have_leaves_no_empty_range(missing):
    codes, names, counts, _ = groups_of(*[0] * 20, *range(1, 16), missing=missing)
    assert "none" not in names[: len(names) - bool(missing)]
    assert 0 not in counts
    assert codes[0] == 0
    assert names[0].startswith("0")
    assert [codes.count(code) for code in range(len(names))] == list(counts)
    assert sum(counts) == 35 + missing


def test_few_numbers_and_too_large_ones_are_values():
    assert groups_of(*range(10))[1] == tuple(map(str, range(10)))
    assert groups_of(*range(11))[3]
    assert not groups_of(*range(11), 10**301)[3]
    assert groups_of(*range(11), 1e300)[3]
    assert not groups_of(*range(11), "x")[3]
    assert not groups_of(*range(11), True)[3]


def test_the_names_of_ranges_have_four_digits_or_all():
    _, names, _, _ = groups_of(*(n + 0.123456 for n in range(16)))
    assert names[0] == "0.1235 to 1.123"
    _, names, _, _ = groups_of(*(1000 + n / 1e6 for n in range(16)))
    assert names[0] == "1000.0 to 1000.000001"


def test_the_names_of_topics_are_different():
    words = [("a", "b", "c", "d"), ("a", "b", "c", "e"), ("a",), (), ("a", "b", "c"), ()]
    assert topic_names(words) == [
        "a, b, c",
        "a, b, c (2)",
        "a",
        "no words",
        "a, b, c (3)",
        "no words (2)",
    ]


@pytest.mark.parametrize(
    ("count", "first"), [(1, [0.2]), (2, [0.2, 0.8]), (7, [0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])]
)
def test_fewer_than_eight_texts_are_on_a_line(count, first):
    found = place_texts(np.eye(count, 8, dtype=np.float32), None)
    np.testing.assert_allclose(found[:, 0], first)
    assert found[:, 1].tolist() == [0.5] * count
