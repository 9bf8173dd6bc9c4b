"""Exit statuses that more than one module of the command line uses."""

__all__ = ["INTERRUPTED"]

INTERRUPTED = 130
"""Of an interrupted command: 128 and the number of SIGINT, as shells count."""
