"""Safe input of untrusted files: decompression within bounds, and guarded calls of other packages' readers."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import cast

from gem_index.errors import GemIndexError, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import is_compressed, open_input, split_member

__all__ = ["foreign_reader", "open_source_file", "plain_source_file"]

MOST_UNPACKED = 30  # times the compressed size; published vectors decompress to two to ten times
ALWAYS_UNPACKED = 1 << 24  # bytes


@contextmanager
def foreign_reader(problem: str, expected: str) -> Iterator[None]:
    """Convert any exception that another package's reader raises on a damaged file to VectorFormatError.

    Such readers raise exceptions of any type, also undocumented ones; those of PyO3 (a panic in Rust) are not derived from
    ``Exception``.

    Parameters
    ----------
    problem : str
        The file and its problem: ``v.npy is not a NumPy array file``.
    expected : str
        What was expected and what to do.
    """
    try:
        yield
    except GemIndexError:
        raise
    except Exception as error:
        raise _error(problem, expected, error) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        raise _error(problem, expected, error) from error


def _error(problem: str, expected: str, error: BaseException) -> VectorFormatError:
    reason = quoted(str(error), 120) if str(error) else type(error).__name__
    return VectorFormatError(f"{problem} ({reason}); expected {expected}")


class _BoundedStream(io.RawIOBase):
    """A decompressed stream of at most ``limit`` bytes."""

    def __init__(self, file: io.BufferedReader, path: str, limit: int) -> None:
        self._file = file
        self._path = path
        self._left = limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]  # typeshed's buffer type is private
        count = self._file.readinto(buffer)
        self._left -= count
        if self._left < 0:
            raise VectorFormatError(
                f"{self._path} unpacks to more than {MOST_UNPACKED} times its size; expected word vectors: "
                "unpack it yourself if you trust it"
            )
        return count


@contextmanager
def open_source_file(path: str) -> Iterator[io.BufferedReader]:
    """Open a file of word vectors like ``open_input``; decompressed data are limited to 16 MiB or 30 times the file size.

    Raises
    ------
    InputError
        If it cannot be opened.
    VectorFormatError
        If it is damaged or decompresses to more; also while reading.
    """
    with ExitStack() as stack:
        with foreign_reader(f"{path} cannot be read", "a complete, undamaged file"):
            file = stack.enter_context(open_input(path))
        packed, member = split_member(path)
        if member is None and not is_compressed(packed):
            yield file
            return
        limit = max(ALWAYS_UNPACKED, MOST_UNPACKED * packed.stat().st_size)
        bounded = cast("io.RawIOBase", _BoundedStream(file, path, limit))
        yield stack.enter_context(io.BufferedReader(bounded, 1 << 18))


@contextmanager
def plain_source_file(path: str) -> Iterator[Path]:
    """Yield the path of a file that can be mapped: a compressed file is first decompressed into a temporary file.

    The temporary file is removed after the block; mappings of it stay valid.
    """
    plain, member = split_member(path)
    if member is None and plain.is_file() and not is_compressed(plain):
        yield plain
        return
    # imported here: few formats need it
    import shutil
    import tempfile

    with (
        open_source_file(path) as packed,
        tempfile.NamedTemporaryFile(prefix="gem-index-") as unpacked,
    ):
        shutil.copyfileobj(packed, unpacked, 1 << 20)
        unpacked.flush()
        yield Path(unpacked.name)
