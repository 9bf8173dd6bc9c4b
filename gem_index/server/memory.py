"""A limit on the memory of all request bodies and answers together."""

from __future__ import annotations

from typing import Self

from gem_index.server.errors import MemoryFullError

__all__ = ["Memory", "Share"]


class Memory:
    """The bytes of all request bodies in memory, and of answers that are not sent yet.

    Parameters
    ----------
    most : int
        A request that would exceed the limit is refused.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0


class Share:
    """The bytes of one request; they are released at the end of the block.

    Parameters
    ----------
    memory : Memory
    """

    def __init__(self, memory: Memory) -> None:
        self.held = 0
        self._memory = memory

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release(self.held)

    def hold(self, size: int) -> None:
        """Count more bytes.

        Raises
        ------
        MemoryFullError
            If all requests together would exceed the limit.
        """
        if self._memory.held + size > self._memory.most:
            raise MemoryFullError
        self._memory.held += size
        self.held += size

    def release(self, size: int) -> None:
        """Release bytes, at most those of this request."""
        released = min(size, self.held)
        self._memory.held -= released
        self.held -= released
