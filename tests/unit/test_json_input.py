"""JSON of unknown origin: accepted and refused texts, and their cost."""

import json
import sys
import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.common.json_input import JsonError, parse_json, read_json, read_json_file
from gem_index.errors import InputError, VectorFormatError

SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
)
VALUES = st.recursive(
    SCALARS | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=200,
)


@given(VALUES, st.booleans())
def test_json_output_is_read_back_unchanged(value, ascii_only):
    text = json.dumps(value, ensure_ascii=ascii_only)
    assert parse_json(text) == value
    if ascii_only:
        assert parse_json(b"\xef\xbb\xbf" + text.encode()) == value


@given(st.text(alphabet='[]{}",:\\a1 ', max_size=40))
def test_any_text_is_accepted_as_json_accepts_it(text):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsonError):
            parse_json(text)
    else:
        assert parse_json(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b'{"a": "\xff"}', "is not UTF-8 at byte 8"),
        ("{nothing", r"is not JSON at column 2 \(Expecting property name"),
        ("", "is not JSON at column 1"),
        ("\ufeff{}", "is not JSON"),
        ("[" * 100_000, "nested deeper than 100 levels"),
        ('{"a":' * 101 + "1" + "}" * 101, "nested deeper than 100 levels"),
        ("[" + "9" * 4_301 + "]", r"an integer of 4301 digits; expected at most 4,300"),
        ("[-" + "9" * 1_000_000 + "]", "an integer of 1000000 digits"),
        ("[NaN]", "holds NaN"),
        ("[-Infinity]", "holds -Infinity"),
        ("[1e999]", "holds the number '1e999'"),
        ("[1." + "0" * 5000 + "e999]", r"holds the number '1\.000"),
    ],
)
def test_what_is_refused(text, message):
    started = time.process_time()
    with pytest.raises(InputError, match=message) as caught:
        read_json(text, "the file")
    assert str(caught.value).startswith("the file ")
    assert len(str(caught.value)) < 200
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[" * 100 + "]" * 100, None),
        (json.dumps({"a": "[" * 1000, "b": '\\"[{' * 1000, "c": "\\"}), None),
        (json.dumps([[i] for i in range(1000)]), None),
        ('{"a": 1, "a": 2}', {"a": 2}),
        (r'"\ud800"', "\ud800"),
        ("[-" + "9" * 4_300 + "]", None),
        ("1." + "5" * 5000, 1.5555555555555556),
    ],
)
def test_what_is_accepted(text, value):
    assert read_json(text, "x") == (json.loads(text) if value is None else value)


def test_constants_where_they_are_wanted():
    assert read_json("[Infinity, -Infinity, 1e999]", "x", finite=False) == [
        float("inf"), float("-inf"), float("inf"),
    ]  # fmt: skip


def test_keys_that_come_again():
    with pytest.raises(InputError, match="x holds the key 'b' twice in one object"):
        read_json('{"a": {"b": 1, "c": 2, "b": 3}}', "x", unique=True)
    assert read_json('{"a": {"a": 1}}', "x", unique=True) == {"a": {"a": 1}}


def test_an_interpreter_that_takes_fewer_digits():
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(JsonError, match="an integer of 700 digits"):
            parse_json("9" * 700)
    finally:
        sys.set_int_max_str_digits(before)


def test_files(tmp_path, monkeypatch):
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1]}')
    assert read_json_file(path) == {"a": [1]}
    path.write_text("{")
    with pytest.raises(VectorFormatError, match=r"a\.json is not JSON"):
        read_json_file(path, error=VectorFormatError)
    with pytest.raises(OSError, match="absent"):
        read_json_file(tmp_path / "absent")
    with path.open("wb") as file:
        file.truncate(1 << 34)
    monkeypatch.setattr("gem_index.common.json_input.MAX_BYTES", 1 << 20)
    with pytest.raises(InputError, match="more than 1,048,576 bytes"):
        read_json_file(path)


def test_memory_stays_proportional():
    text = "[" + '"\\\\",' * 200_000 + "0]"
    tracemalloc.start()
    assert len(read_json(text, "x")) == 200_001
    assert tracemalloc.get_traced_memory()[1] < 40 * len(text)
    tracemalloc.stop()
