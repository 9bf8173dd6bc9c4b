"""A part of an input: consecutive lines of a file, or row groups of Parquet."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["WHOLE", "Part"]


@dataclass(frozen=True)
class Part:
    """Consecutive records of a file; by default all of it.

    Attributes
    ----------
    begin, end : int
        Positions in an uncompressed file of lines, in bytes, at which lines begin; row groups of Parquet. Without an end,
        the part ends with the file.
    before : int
        Lines or rows before it, so that the records have the numbers that they have in the file.
    """

    begin: int = 0
    end: int | None = None
    before: int = 0

    @property
    def whole(self) -> bool:
        """Whether it is all of the file."""
        return self.begin == 0 and self.end is None


WHOLE = Part()
"""All records of a file."""
