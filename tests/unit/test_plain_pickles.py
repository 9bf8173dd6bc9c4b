"""Pickles that are read without unpickling: opcodes, plain values and arrays, compared with Python's and NumPy's own."""

import io
import pickle
import pickletools
import re

import numpy as np
import pytest

from gem_index.errors import VectorFormatError
from gem_index.vectors.formats.opcodes import OPCODES, OpcodeReader
from gem_index.vectors.formats.pickled import array_of, read_plain_data

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
LARGEST = 2 ** (8 * 255 - 1) - 1  # an integer of 255 bytes
VALUES = [
    *(sign * (2**bits + more) for sign in (1, -1) for bits in (0, 7, 8, 15, 31, 40, 63) for more in (-1, 0)),
    *(LARGEST, -LARGEST - 1, True, False, None, 0.1, -1e300, "", "straße 'x'\n", "中" * 300, b"\0\xff" * 200),
    (1, (2, [3, {"a": [4.5]}])),
]  # fmt: skip


def read(content):
    found, size = read_plain_data(io.BytesIO(content), "x.model")
    assert size == len(content)
    return found


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_opcodes_and_their_arguments_are_those_of_pickletools(protocol):
    content = pickle.dumps([*VALUES, np.arange(6.0).reshape(2, 3)], protocol)
    reader = OpcodeReader(io.BytesIO(content))
    for opcode, argument, position in pickletools.genops(content):
        assert reader.position == position
        name, take = OPCODES[reader.take(1)]
        found = None if take is None else take(reader)
        if opcode.name == "GLOBAL":
            argument = argument.replace(" ", ".")
        assert (name, found) == (opcode.name, argument)
        assert isinstance(argument, bytearray) or type(found) is type(argument)
    assert reader.position == len(content)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_plain_values_are_read_as_they_were_pickled(protocol):
    texts = [value for value in VALUES if protocol > 2 or not isinstance(value, bytes)]
    assert read(pickle.dumps(texts, protocol)) == texts


@pytest.mark.parametrize(
    ("value", "protocol", "told"),
    [
        (LARGEST + 1, 2, "an integer of 256 bytes"),
        (-LARGEST - 2, 4, "an integer of 256 bytes"),
        (10**620, 0, "a number of 621 digits"),
    ],
    ids=["positive", "negative", "decimal"],
)
def test_a_longer_integer_is_refused(value, protocol, told):
    with pytest.raises(VectorFormatError) as refused:
        read(pickle.dumps(value, protocol))
    assert re.fullmatch(
        rf"x\.model byte \d+: not a pickle of plain data \('{told}'\); expected a file that gensim saved",
        str(refused.value),
    )
    assert read(pickle.dumps(10**619, 0)) == 10**619


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("kind", ["<f4", ">f4", "<f8", "<f2", "<i8"])
@pytest.mark.parametrize("by_columns", [False, True])
def test_arrays_are_those_of_numpy(protocol, kind, by_columns):
    whole = np.arange(24).reshape(4, 6).astype(kind)
    arrays = [whole, whole[1:, ::2], whole[0], whole[:1], whole[:, :1]]
    if protocol > 2:  # older protocols have no empty bytes
        arrays += [whole[:0], whole[:, :0], whole[0, :0]]
    for array in map(np.asfortranarray if by_columns else np.ascontiguousarray, arrays):
        found = array_of(read(pickle.dumps(array, protocol)))
        np.testing.assert_array_equal(found, array, strict=True)


@pytest.mark.parametrize("value", [None, 3, "x", [1.0]])
def test_what_is_no_array(value):
    assert array_of(read(pickle.dumps(value))) is None
    assert array_of(read(pickle.dumps(np.array([value], dtype=object)))) is None


@pytest.mark.parametrize("state", [b")", b"K\x03\x85", b"K\x03N\x86", b"N", b"]"])
def test_an_array_whose_type_has_no_order_of_bytes_is_none(state):
    content = pickle.dumps(np.zeros(1), 2)
    changed = re.sub(rb"(?s)\(K\x03X\x01\0\0\0<.*?tq.b", lambda _: state + b"b", content, count=1)
    assert changed != content
    assert array_of(read(changed)) is None


@pytest.mark.parametrize(
    "arguments",
    [b")", b"N\x85", b"K\x01\x85", b"X\x02\0\0\0\xc4\x80\x85", b"]"],
    ids=["none", "null", "a number", "a letter that is no byte", "a list"],
)
def test_an_array_whose_bytes_are_made_of_something_else_is_none(arguments):
    content = pickle.dumps(np.zeros(1), 2)  # this protocol has no bytes, so it makes them of a text
    assert array_of(read(content)) is not None
    text = rb"(?s)X\x08\0\0\0\0{8}q.h.\x86q.R"  # with the name of the encoding
    changed = re.sub(text, lambda _: arguments + b"R", content)
    assert changed != content
    assert array_of(read(changed)) is None


@pytest.mark.parametrize("array", [np.zeros((2, 3, 4)), np.array(1.0), np.array(["x"])])
def test_what_is_no_matrix_of_numbers(array):
    assert array_of(read(pickle.dumps(array))) is None
