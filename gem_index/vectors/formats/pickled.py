"""The plain data inside a pickle, read without unpickling: nothing is imported, called or constructed.

Python's ``pickle`` runs whatever a file tells it to. Here the instructions are only walked through (``pickletools``
decodes them): containers, strings and numbers become themselves, and everything else becomes an inert record of what the
pickle would have made.
"""

from __future__ import annotations

import pickletools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError

__all__ = ["Record", "array_of", "read_plain_data"]

_MARK = object()


@dataclass
class Record:
    """What a pickle would have made: the name of a class or function, its arguments and its state."""

    name: str
    arguments: Any = ()
    state: dict[str, Any] = field(default_factory=dict)
    raw_state: Any = None


class _Walk:
    """The stack of a pickle's instructions."""

    def __init__(self) -> None:
        self.stack: list[Any] = []
        self.memo: dict[int, Any] = {}

    def since_mark(self) -> list[Any]:
        """Take everything above the last mark."""
        for position in range(len(self.stack) - 1, -1, -1):
            if self.stack[position] is _MARK:
                taken = self.stack[position + 1 :]
                del self.stack[position:]
                return taken
        raise IndexError("no mark")

    def extend(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], list):
            self.stack[-1].extend(items)

    def update(self, items: list[Any]) -> None:
        if isinstance(self.stack[-1], dict):
            keys, values = items[::2], items[1::2]
            for key, value in zip(keys, values, strict=True):
                if isinstance(key, str | int | float | bytes | bool | None):
                    self.stack[-1][key] = value

    def make(self, arguments: Any) -> None:
        """Replace the callable on top by a record of its call."""
        made = self.stack.pop()
        self.stack.append(Record(made.name if isinstance(made, Record) else "?", arguments))

    def build(self, state: Any) -> None:
        target = self.stack[-1]
        if isinstance(target, Record):
            target.raw_state = state
            if isinstance(state, dict):
                target.state.update(state)


def _reduce(walk: _Walk, _: Any) -> None:
    arguments = walk.stack.pop()
    walk.make(arguments)


def _newobj_ex(walk: _Walk, _: Any) -> None:
    walk.stack.pop()
    _reduce(walk, None)


def _stack_global(walk: _Walk, _: Any) -> None:
    name, module = walk.stack.pop(), walk.stack.pop()
    walk.stack.append(Record(f"{module}.{name}"))


def _tuple(count: int) -> Callable[[_Walk, Any], None]:
    def make(walk: _Walk, _: Any) -> None:
        items = walk.stack[-count:]
        if len(items) != count:
            raise IndexError("too few items")
        del walk.stack[-count:]
        walk.stack.append(tuple(items))

    return make


def _dict(walk: _Walk, _: Any) -> None:
    items = walk.since_mark()
    walk.stack.append({})
    walk.update(items)


def _push(walk: _Walk, argument: Any) -> None:
    walk.stack.append(argument)


def _put(walk: _Walk, argument: Any) -> None:
    walk.memo[argument] = walk.stack[-1]


_INSTRUCTIONS: dict[str, Callable[[_Walk, Any], Any]] = {
    "PROTO": lambda *_: None,
    "FRAME": lambda *_: None,
    "NONE": lambda walk, _: walk.stack.append(None),
    "NEWTRUE": lambda walk, _: walk.stack.append(True),
    "NEWFALSE": lambda walk, _: walk.stack.append(False),
    "MARK": lambda walk, _: walk.stack.append(_MARK),
    "EMPTY_LIST": lambda walk, _: walk.stack.append([]),
    "EMPTY_TUPLE": lambda walk, _: walk.stack.append(()),
    "EMPTY_DICT": lambda walk, _: walk.stack.append({}),
    "EMPTY_SET": lambda walk, _: walk.stack.append([]),
    "LIST": lambda walk, _: walk.stack.append(walk.since_mark()),
    "TUPLE": lambda walk, _: walk.stack.append(tuple(walk.since_mark())),
    "FROZENSET": lambda walk, _: walk.stack.append(walk.since_mark()),
    "TUPLE1": _tuple(1),
    "TUPLE2": _tuple(2),
    "TUPLE3": _tuple(3),
    "DICT": _dict,
    "APPEND": lambda walk, _: walk.extend([walk.stack.pop()]),
    "APPENDS": lambda walk, _: walk.extend(walk.since_mark()),
    "ADDITEMS": lambda walk, _: walk.extend(walk.since_mark()),
    "SETITEM": lambda walk, _: walk.update([*reversed([walk.stack.pop(), walk.stack.pop()])]),
    "SETITEMS": lambda walk, _: walk.update(walk.since_mark()),
    "POP": lambda walk, _: walk.stack.pop(),
    "POP_MARK": lambda walk, _: walk.since_mark(),
    "DUP": lambda walk, _: walk.stack.append(walk.stack[-1]),
    "MEMOIZE": lambda walk, _: _put(walk, len(walk.memo)),
    "GLOBAL": lambda walk, name: walk.stack.append(Record(name.replace(" ", "."))),
    "STACK_GLOBAL": _stack_global,
    "REDUCE": _reduce,
    "NEWOBJ": _reduce,
    "NEWOBJ_EX": _newobj_ex,
    "BUILD": lambda walk, _: walk.build(walk.stack.pop()),
    "BINGET": lambda walk, key: walk.stack.append(walk.memo[key]),
    "LONG_BINGET": lambda walk, key: walk.stack.append(walk.memo[key]),
    "GET": lambda walk, key: walk.stack.append(walk.memo[int(key)]),
    "BINPUT": _put,
    "LONG_BINPUT": _put,
    "PUT": lambda walk, key: _put(walk, int(key)),
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


def read_plain_data(file: IO[bytes], path: str) -> Any:
    """Return what a pickle describes, as plain data and inert records.

    Raises
    ------
    VectorFormatError
        If it is no whole pickle, or uses what data files do not.
    """
    walk = _Walk()
    position: int | None = 0
    try:
        for instruction, argument, position in pickletools.genops(file):  # noqa: B007 - for the message below
            if instruction.name == "STOP":
                return walk.stack.pop()
            _INSTRUCTIONS[instruction.name](walk, argument)
    except (ValueError, LookupError, TypeError, AttributeError, UnicodeError) as error:
        raise VectorFormatError(
            f"{path} byte {position}: not a pickle of plain data ({error!r}); expected a file that gensim saved"
        ) from error
    raise VectorFormatError(f"{path} ends early; expected a whole file that gensim saved")


def array_of(value: Any) -> npt.NDArray[Any] | None:
    """Return the numeric array that a record of a NumPy array describes; None where it is something else."""
    if not isinstance(value, Record):
        return None
    try:
        if value.name.endswith("._reconstruct"):
            _version, shape, kind, by_columns, data = value.raw_state
        elif value.name.endswith("._frombuffer"):
            data, kind, shape, order = value.arguments
            by_columns = order == "F"
        else:
            return None
        if isinstance(data, Record) and data.name == "_codecs.encode":
            data = str(data.arguments[0]).encode("latin-1")  # bytes, before pickles had them
        dtype = np.dtype(f"{kind.raw_state[1]}{kind.arguments[0]}")
        if dtype.kind not in "fi" or not isinstance(data, bytes | bytearray):
            return None
        flat: npt.NDArray[Any] = np.frombuffer(data, dtype)
        return flat.reshape(shape[::-1]).T if by_columns else flat.reshape(shape)
    except (ValueError, TypeError, LookupError, AttributeError):
        return None
