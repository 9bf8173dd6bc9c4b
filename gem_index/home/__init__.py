"""A home (the collections, models and word vectors of one folder), and functions that open its content by name."""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
