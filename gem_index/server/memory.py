"""A bound on the bytes that all requests together hold."""

from __future__ import annotations

from typing import Self

from gem_index.server.errors import MemoryFullError

__all__ = ["Memory", "Share"]


class Memory:
    """Bytes of bodies that are held, of all requests.

    Parameters
    ----------
    most : int
        A request that would hold more is refused.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.held = 0


class Share:
    """The bytes that one request holds; they are released at the end of the block.

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
        """Hold further bytes.

        Raises
        ------
        MemoryFullError
            If all requests would hold more than they may.
        """
        if self._memory.held + size > self._memory.most:
            raise MemoryFullError
        self._memory.held += size
        self.held += size

    def release(self, size: int) -> None:
        """Hold fewer bytes, at least none."""
        released = min(size, self.held)
        self._memory.held -= released
        self.held -= released
