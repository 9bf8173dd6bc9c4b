"""The version of gem-index that is installed."""

from __future__ import annotations

from importlib.metadata import version

__all__ = ["__version__"]

__version__ = version("gem-index")
