"""The algorithm of the paper: no database, no command line, and no files except its own model format."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
