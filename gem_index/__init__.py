"""gem-index: sentence embeddings for vector-database ingestion, without parameters, GPU or model server.

``__init__.pyi`` lists the names; docs/stability.md lists the packages whose names are public. They are imported when first
used, so that ``import gem_index`` costs nothing.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
