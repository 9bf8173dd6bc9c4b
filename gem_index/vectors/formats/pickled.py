"""The plain data inside a pickle, read without unpickling: nothing is imported, called or constructed.

Python's ``pickle`` executes what a file says. Here the opcodes are only interpreted: containers, strings and numbers become
themselves, and everything else becomes an inert record of the object that the pickle describes.

A pickle may refer to one object a million times, so that its content is far larger than the file. The cost here is
proportional to the file size, because nothing copies, compares, hashes or prints objects that may be shared; callers must
not do so either.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import IO, Any, Never

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.formats.opcodes import OPCODES, OpcodeReader

__all__ = ["Record", "array_of", "read_plain_data"]

_MARK = object()
_DEEPEST_STACK = 100_000  # pickle itself stacks at most 1,000 items at a time
_MOST_CONTAINERS = 1_000_000
_MOST_COPIES = 10_000  # of the stack's top, by DUP, which gensim's files do not use
_LONGEST_NAME = 1_000  # characters of a class or function
_KEY_BITS = 60  # integers up to here are their own hash
_DTYPE = re.compile(r"[fi]\d{1,2}")


@dataclass(slots=True, eq=False)
class Record:
    """An object described by a pickle: the name of a class or function, its arguments and its state."""

    name: str
    arguments: Any = ()
    raw_state: Any = None

    @property
    def state(self) -> dict[Any, Any]:
        """The state if it is a dictionary, else an empty dictionary."""
        return self.raw_state if isinstance(self.raw_state, dict) else {}


class _Walk:
    """The stack of a pickle's opcodes."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}
        self._containers = self._copies = 0

    def push_new(self, container: Any) -> None:
        """Push a new container or record."""
        self._containers += 1
        if self._containers > _MOST_CONTAINERS:
            raise ValueError(f"more than {_MOST_CONTAINERS:,} containers")
        self.stack.append(container)

    def duplicate(self) -> None:
        self._copies += 1
        if self._copies > _MOST_COPIES:
            raise ValueError(f"more than {_MOST_COPIES:,} copies of the stack's top")
        self.stack.append(self.stack[-1])

    def take(self, count: int) -> tuple[Any, ...]:
        """Take ``count`` items from the top."""
        items = tuple(self.stack[-count:])
        if len(items) != count:
            raise IndexError("the stack holds too few items")
        del self.stack[-count:]
        return items

    def since_mark(self) -> list[Any]:
        """Take everything above the last mark."""
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is _MARK:
                taken = self.stack[position + 1 :]
                del self.stack[position:]
                return taken
        raise IndexError("the stack holds no mark")

    def extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def update(self, items: list[Any]) -> None:
        target = self.stack[-1]
        if isinstance(target, dict):
            for key, value in zip(items[::2], items[1::2], strict=True):
                if _is_key(key):
                    target[key] = value

    def make(self, arguments: Any) -> None:
        """Replace the callable on top by a record of its call."""
        made = self.stack.pop()
        self.push_new(Record(made.name if isinstance(made, Record) else "?", arguments))

    def build(self, state: Any) -> None:
        target = self.stack[-1]
        if isinstance(target, Record):
            if target.raw_state is not None:
                raise ValueError("an object with two states")
            target.raw_state = state

    def name(self, *parts: Any) -> None:
        """Push the record of a class or function."""
        if not all(isinstance(part, str) and len(part) <= _LONGEST_NAME for part in parts):
            raise ValueError("a name that is not a short string")
        self.push_new(Record(".".join(parts)))


def _is_key(key: Any) -> bool:
    """Tell whether a value is a key with a cheap hash without collisions; entries with other keys are omitted."""
    if isinstance(key, int):
        return key.bit_length() <= _KEY_BITS
    return key is None or isinstance(key, str | bytes | float)


def _reduce(walk: _Walk, _: Any) -> None:
    arguments = walk.stack.pop()
    walk.make(arguments)


def _newobj_ex(walk: _Walk, _: Any) -> None:
    walk.stack.pop()
    _reduce(walk, None)


def _tuple(count: int) -> Callable[[_Walk, Any], None]:
    return lambda walk, _: walk.push_new(walk.take(count))


def _dict(walk: _Walk, _: Any) -> None:
    items = walk.since_mark()
    walk.push_new({})
    walk.update(items)


def _push(walk: _Walk, argument: Any) -> None:
    walk.stack.append(argument)


def _get(walk: _Walk, argument: Any) -> None:
    walk.stack.append(walk.memo[argument])


def _put(walk: _Walk, argument: Any) -> None:
    walk.memo[argument] = walk.stack[-1]


_INSTRUCTIONS: dict[str, Callable[[_Walk, Any], Any]] = {
    "PROTO": lambda *_: None,
    "FRAME": lambda *_: None,
    "NONE": lambda walk, _: walk.stack.append(None),
    "NEWTRUE": lambda walk, _: walk.stack.append(True),
    "NEWFALSE": lambda walk, _: walk.stack.append(False),
    "MARK": lambda walk, _: walk.stack.append(_MARK),
    "EMPTY_LIST": lambda walk, _: walk.push_new([]),
    "EMPTY_TUPLE": lambda walk, _: walk.stack.append(()),
    "EMPTY_DICT": lambda walk, _: walk.push_new({}),
    "EMPTY_SET": lambda walk, _: walk.push_new([]),
    "LIST": lambda walk, _: walk.push_new(walk.since_mark()),
    "TUPLE": lambda walk, _: walk.push_new(tuple(walk.since_mark())),
    "FROZENSET": lambda walk, _: walk.push_new(walk.since_mark()),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "DICT": _dict,
    "APPEND": lambda walk, _: walk.extend([walk.stack.pop()]),
    "APPENDS": lambda walk, _: walk.extend(walk.since_mark()),
    "ADDITEMS": lambda walk, _: walk.extend(walk.since_mark()),
    "SETITEM": lambda walk, _: walk.update([*walk.take(2)]),
    "SETITEMS": lambda walk, _: walk.update(walk.since_mark()),
    "POP": lambda walk, _: walk.stack.pop(),
    "POP_MARK": lambda walk, _: walk.since_mark(),
    "DUP": lambda walk, _: walk.duplicate(),
    "MEMOIZE": lambda walk, _: _put(walk, len(walk.memo)),
    "GLOBAL": lambda walk, name: walk.name(name),
    "STACK_GLOBAL": lambda walk, _: walk.name(*walk.take(2)),
    "REDUCE": _reduce,
    "NEWOBJ": _reduce,
    "NEWOBJ_EX": _newobj_ex,
    "BUILD": lambda walk, _: walk.build(walk.stack.pop()),
    "BINGET": _get,
    "LONG_BINGET": _get,
    "GET": _get,
    "BINPUT": _put,
    "LONG_BINPUT": _put,
    "PUT": _put,
}
_VALUES = [
    "INT",
    "BININT",
    "BININT1",
    "BININT2",
    "LONG",
    "LONG1",
    "LONG4",
    "FLOAT",
    "BINFLOAT",
    "STRING",
    "BINSTRING",
    "SHORT_BINSTRING",
    "BINBYTES",
    "SHORT_BINBYTES",
    "BINBYTES8",
    "BYTEARRAY8",
    "UNICODE",
    "BINUNICODE",
    "SHORT_BINUNICODE",
    "BINUNICODE8",
]
_INSTRUCTIONS.update(dict.fromkeys(_VALUES, _push))


def _refuse(_walk: _Walk, _argument: Any) -> Never:
    raise ValueError("an opcode that data files do not have")


def _refuse_deep_stack() -> Never:
    raise ValueError(f"a stack of more than {_DEEPEST_STACK:,} items")


# the action of each opcode, None for the last one, and the reader of its argument
_STEPS = {
    code: (None if name == "STOP" else _INSTRUCTIONS.get(name, _refuse), read)
    for code, (name, read) in OPCODES.items()
}


def read_plain_data(file: IO[bytes], path: str) -> tuple[Any, int]:
    """Return the content of a pickle, as plain data and inert records, and the number of its bytes.

    One object may occur in many places of the content, so its expanded size has no bound.

    Raises
    ------
    VectorFormatError
        If it is not a complete pickle, uses opcodes that data files do not use, or costs more than its size allows.
    """
    walk = _Walk()
    stack = walk.stack
    reader = OpcodeReader(file)
    take = reader.take
    try:
        while True:
            act, read = _STEPS[take(1)]
            if act is None:
                return stack.pop(), reader.position
            act(walk, None if read is None else read(reader))
            if len(stack) > _DEEPEST_STACK:
                _refuse_deep_stack()
    except EOFError:
        pass
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise VectorFormatError(
            f"{path} byte {reader.position}: not a pickle of plain data ({quoted(str(error))}); "
            "expected a file that gensim saved"
        ) from error
    raise VectorFormatError(f"{path} ends early; expected a complete file that gensim saved")


def array_of(value: Any) -> npt.NDArray[Any] | None:
    """Return the numeric array that a record of a NumPy array describes; None for anything else."""
    if not isinstance(value, Record):
        return None
    if value.name.endswith("._reconstruct"):
        _version, shape, kind, by_columns, data = _items(value.raw_state, 5)
    elif value.name.endswith("._frombuffer"):
        data, kind, shape, order = _items(value.arguments, 4)
        by_columns = order == "F" if isinstance(order, str) else False
    else:
        return None
    if isinstance(data, Record) and data.name == "_codecs.encode":
        data = _bytes_of_text(data.arguments)  # bytes in old pickle protocols
    dtype = _dtype(kind)
    if dtype is None or not isinstance(data, bytes) or not _is_shape(shape):
        return None
    if math.prod(shape) * dtype.itemsize != len(data):
        return None
    flat: npt.NDArray[Any] = np.frombuffer(data, dtype)
    return flat.reshape(shape[::-1]).T if by_columns is True else flat.reshape(shape)


def _items(value: Any, count: int) -> tuple[Any, ...]:
    """Return a tuple if it has ``count`` items, else ``count`` times None."""
    return value if isinstance(value, tuple) and len(value) == count else (None,) * count


def _is_shape(value: Any) -> bool:
    return (
        isinstance(value, tuple)
        and 1 <= len(value) <= 2
        and all(isinstance(size, int) and size >= 0 for size in value)
    )


def _dtype(kind: Any) -> np.dtype[Any] | None:
    """Return the numeric type that a record of a ``numpy.dtype`` names."""
    if not isinstance(kind, Record) or not isinstance(kind.arguments, tuple):
        return None
    state = kind.raw_state
    name = kind.arguments[0] if kind.arguments else None
    order = state[1] if isinstance(state, tuple) and len(state) > 1 else None
    if not isinstance(name, str) or not _DTYPE.fullmatch(name) or order not in ("<", ">", "|", "="):
        return None
    try:
        return np.dtype(f"{order}{name}")
    except TypeError:
        return None


def _bytes_of_text(arguments: Any) -> bytes | None:
    text = arguments[0] if isinstance(arguments, tuple) and arguments else None
    try:
        return text.encode("latin-1") if isinstance(text, str) else None
    except UnicodeEncodeError:
        return None
