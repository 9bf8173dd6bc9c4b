"""Documents in columns."""

import json

import numpy as np
import pytest

from gem_index.common.arrays import SparseVector
from gem_index.errors import ConfigError
from gem_index.targets import (
    JsonObjects,
    TargetBatch,
    TargetDocument,
    TargetSchema,
    integers_are_short,
    integers_within,
)

SCHEMA = TargetSchema(fingerprint="f", dimension=2, token="t")


def document(name, x, text="t", **metadata):
    return TargetDocument(name, np.array([x, 0], np.float32), text, metadata)


def batch(count=5, metadata=None, **options):
    ids = [f"d{i}" for i in range(count)]
    vectors = np.arange(2 * count, dtype=np.float32).reshape(count, 2)
    return TargetBatch(ids, vectors, ids, metadata or [{"n": i} for i in range(count)], **options)


def test_the_last_of_two_documents_with_the_same_id_counts():
    found = TargetBatch.of([document("a", 1), document("b", 2), document("a", 3, n=1)], SCHEMA)
    assert (found.ids, found.vectors[:, 0].tolist(), found.as_json) == (
        ["a", "b"],
        [3, 2],
        ['{"n": 1}', "{}"],
    )
    assert not found.new


def test_a_batch_is_taken_as_it_is():
    given = batch(new=True)
    assert TargetBatch.of(given, SCHEMA) is given
    assert not TargetBatch.of([], SCHEMA)


def test_a_batch_needs_a_vector_for_each_document():
    given = TargetBatch(["a", "b"], np.zeros((1, 2), np.float32), None, [{}, {}])
    with pytest.raises(ConfigError) as caught:
        TargetBatch.of(given, SCHEMA)
    assert str(caught.value) == (
        "found vectors of the shape (1, 2); expected 2 of 2 numbers, the table's dimension"
    )


@pytest.mark.parametrize("documents", [[TargetDocument("a", np.zeros(3, np.float32))], batch()])
def test_another_dimension_is_refused(documents):
    wrong = TargetSchema(fingerprint="f", dimension=4, token="t")
    with pytest.raises(ConfigError, match="expected .*4 numbers, the table's dimension"):
        TargetBatch.of(documents, wrong)


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3,), (1, 2), (2, 2)])
def test_a_vector_of_another_shape_is_refused(shape):
    vector = np.zeros(shape, np.float32)
    documents = [document("a", 1), TargetDocument("b", vector)]
    for check in (lambda: SCHEMA.check_vector(vector), lambda: TargetBatch.of(documents, SCHEMA)):
        with pytest.raises(ConfigError) as refused:
            check()
        assert str(refused.value) == (
            f"found a vector of the shape {shape}; expected 2 numbers, the table's dimension"
        )


def test_documents_are_made_when_they_are_asked_for():
    found = list(batch(2))
    assert [(d.id, d.vector.tolist(), d.text, d.metadata) for d in found] == [
        ("d0", [0, 1], "d0", {"n": 0}),
        ("d1", [2, 3], "d1", {"n": 1}),
    ]
    assert batch()[-1].id == "d4"


def test_parts_keep_what_is_known():
    part = batch(metadata=JsonObjects([f'{{"n":{i}}}' for i in range(5)]), new=True)[1:3]
    assert (part.ids, part.as_json, part.new) == (["d1", "d2"], ['{"n":1}', '{"n":2}'], True)
    assert not part.sent().new
    assert part.sent().as_json == part.as_json
    assert [document.metadata for document in part] == [{"n": 1}, {"n": 2}]


def test_words_stay_with_their_documents():
    words = [SparseVector(np.array([i]), np.array([0.5], np.float32)) for i in range(5)]
    given = batch(words=words)
    for part in (given[1:3], given[1:3].sent()):
        assert [document.words.indices.tolist() for document in part] == [[1], [2]]
    assert given[4].words is words[4]


def test_the_size_of_a_request_counts_vectors_and_words():
    """100 bytes for names, 4 per number, 6 per character of ids, texts and metadata, 8 per word."""
    words = [SparseVector(np.arange(3), np.ones(3, np.float32)) for _ in range(4)]
    given = batch(4, words=words)
    one = 100 + 2 * 4 + 6 * (len("d0") + len("d0") + len('{"n": 0}')) + 3 * 8
    for largest, sizes in ((2 * one, [2, 2]), (2 * one - 1, [1] * 4), (3 * one, [3, 1])):
        assert [len(part) for part in given.parts(largest, bytes_of_a_number=4)] == sizes


def test_characters_stay_readable_in_metadata_as_json():
    assert batch(1, metadata=[{"größe": "五"}]).as_json == ['{"größe": "五"}']


def test_metadata_at_hand_as_json_are_parsed_when_they_are_asked_for():
    found = JsonObjects(["{", '{"a": 1}'])
    given = batch(2, metadata=found)
    assert (given.as_json, len(found)) == (["{", '{"a": 1}'], 2)
    with pytest.raises(json.JSONDecodeError):
        given[1]
    assert found[1:][0] == {"a": 1}


@pytest.mark.parametrize(
    ("texts", "short"),
    [
        ([], True),
        (['{"a":999999999999999999}', '{"b":-999999999999999999}'], True),
        (["{}", '{"a":{"b":[9223372036854775808]}}'], False),
        (['{"a":"1234567890123456789"}'], False),  # may be one: only parsing tells
    ],
)
def test_integers_that_are_short_for_certain(texts, short):
    assert integers_are_short(texts) is short


def test_without_texts():
    found = TargetBatch(["a"], np.zeros((1, 2), np.float32), None, [{}])
    assert [each.text for each in found] == [None]
    one = 100 + 2 * 4 + 6 * (len("a") + len("{}"))
    two = TargetBatch(["a", "b"], np.zeros((2, 2), np.float32), None, [{}, {}])
    for largest, sizes in ((2 * one, [2]), (2 * one - 1, [1, 1])):
        assert [len(part) for part in two.parts(largest, bytes_of_a_number=4)] == sizes


def test_requests_are_bounded_by_bytes_and_by_number():
    assert [part.ids for part in batch().parts(10**6, bytes_of_a_number=4, most=2)] == [
        ["d0", "d1"],
        ["d2", "d3"],
        ["d4"],
    ]
    small = list(batch().parts(1, bytes_of_a_number=4))
    assert [len(part) for part in small] == [1] * 5
    everything = list(batch().parts(10**6, bytes_of_a_number=4))
    assert [len(part) for part in everything] == [5]
    largest = 1000
    for part in batch(50).parts(largest, bytes_of_a_number=6):
        sent = [
            {"id": d.id, "vector": [0.123] * 2, "text": d.text, "metadata": d.metadata}
            for d in part
        ]
        assert len(json.dumps(sent)) <= largest


@pytest.mark.parametrize(
    ("value", "fits"),
    [
        (1, True),
        (10, False),
        (True, True),
        (1e300, True),
        ({"a": [1, {"b": 10}]}, False),
        ({"a": (1, 10)}, False),
        ("10", True),
    ],
)
def test_integers_within(value, fits):
    assert integers_within(value, range(10)) is fits
