"""The opcodes of a pickle and their arguments, decoded without unpickling, in memory proportional to the file.

``pickletools.genops`` decodes them too, but allocates any length that a file announces. The table of opcodes is from there.
"""

from __future__ import annotations

import codecs
import pickletools
import struct
from collections.abc import Callable
from typing import IO, Any

__all__ = ["OPCODES", "OpcodeReader"]

_BLOCK = 1 << 20
_LONGEST_INTEGER = 255  # bytes; data files hold integers of 64 bits
_LONGEST_NUMBER = 620  # the same in decimal digits


class OpcodeReader:
    """Reader of a file's bytes in blocks: an announced length allocates no more than the file holds."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self._buffer = b""
        self._at = 0
        self._before = 0  # bytes of the file before the buffer

    @property
    def position(self) -> int:
        """Number of bytes taken so far."""
        return self._before + self._at

    def take(self, count: int) -> bytes:
        """Take ``count`` bytes; raises EOFError if the file has fewer."""
        end = self._at + count
        if end > len(self._buffer):
            self._fill(count)
            end = count
        taken = self._buffer[self._at : end]
        self._at = end
        return taken

    def line(self) -> bytes:
        """Take a line without its line feed."""
        length, searched = 0, 0
        while (length := self._buffer.find(b"\n", self._at + searched) - self._at) < 0:
            searched = len(self._buffer) - self._at
            self._fill(searched + 1, 2 * searched)
        return self.take(length + 1)[:-1]

    def _fill(self, count: int, wanted: int = 0) -> None:
        """Fill the buffer with at least ``count`` bytes from the current position."""
        blocks = [self._buffer[self._at :]]
        have = len(blocks[0])
        self._before += self._at
        self._at = 0
        while have < max(count, wanted):
            block = self._file.read(_BLOCK)
            if not block:
                break
            blocks.append(block)
            have += len(block)
        self._buffer = b"".join(blocks)
        if have < count:
            raise EOFError


def _unsigned(size: int) -> Callable[[OpcodeReader], int]:
    return lambda reader: int.from_bytes(reader.take(size), "little")


def _with_length(
    size: int, decode: Callable[[bytes], Any], *, signed: bool = False
) -> Callable[[OpcodeReader], Any]:
    """Return a reader of bytes that follow their length."""

    def read(reader: OpcodeReader) -> Any:
        count = int.from_bytes(reader.take(size), "little", signed=signed)
        if count < 0:
            raise ValueError(f"a length of {count}")
        return decode(reader.take(count))

    return read


def _integer(raw: bytes) -> int:
    if len(raw) > _LONGEST_INTEGER:
        raise ValueError(f"an integer of {len(raw)} bytes")
    return int.from_bytes(raw, "little", signed=True)


def _decimal(line: bytes) -> int:
    if len(line) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(line)} digits")
    return int(line)


def _long_decimal(reader: OpcodeReader) -> int:
    return _decimal(reader.line().removesuffix(b"L"))


def _short_decimal(reader: OpcodeReader) -> int:
    line = reader.line()
    return line == b"01" if line in (b"00", b"01") else _decimal(line)


def _float_of_line(reader: OpcodeReader) -> float:
    line = reader.line()
    if len(line) > _LONGEST_NUMBER:
        raise ValueError(f"a number of {len(line)} digits")
    return float(line)


def _utf8(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogatepass")


def _latin1(raw: bytes) -> str:
    return raw.decode("latin-1")


def _quoted_line(reader: OpcodeReader) -> str:
    line = reader.line()
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise ValueError("a string without quotes")
    return codecs.escape_decode(line[1:-1])[0].decode("ascii")


_READERS: dict[str, Callable[[OpcodeReader], Any]] = {
    "uint1": _unsigned(1),
    "uint2": _unsigned(2),
    "uint4": _unsigned(4),
    "uint8": _unsigned(8),
    "int4": lambda reader: int.from_bytes(reader.take(4), "little", signed=True),
    "float8": lambda reader: struct.unpack(">d", reader.take(8))[0],
    "floatnl": _float_of_line,
    "decimalnl_short": _short_decimal,
    "decimalnl_long": _long_decimal,
    "long1": _with_length(1, _integer),
    "long4": _with_length(4, _integer, signed=True),
    "stringnl": _quoted_line,
    "stringnl_noescape": lambda reader: reader.line().decode("ascii"),
    "stringnl_noescape_pair": lambda reader: (
        f"{reader.line().decode('ascii')}.{reader.line().decode('ascii')}"
    ),
    "string1": _with_length(1, _latin1),
    "string4": _with_length(4, _latin1, signed=True),
    "bytes1": _with_length(1, bytes),
    "bytes4": _with_length(4, bytes),
    "bytes8": _with_length(8, bytes),
    "bytearray8": _with_length(8, bytes),
    "unicodestringnl": lambda reader: reader.line().decode("raw-unicode-escape"),
    "unicodestring1": _with_length(1, _utf8),
    "unicodestring4": _with_length(4, _utf8),
    "unicodestring8": _with_length(8, _utf8),
}
OPCODES: dict[bytes, tuple[str, Callable[[OpcodeReader], Any] | None]] = {
    opcode.code.encode("latin-1"): (
        opcode.name,
        None if opcode.arg is None else _READERS[opcode.arg.name],
    )
    for opcode in pickletools.opcodes
}
"""Name of each opcode, and the reader of its argument if it has one, which raises ValueError for a wrong argument."""
