"""Collections: documents in the database, vectors in snapshots, and the operations on both.

``__init__.pyi`` lists the names, which are imported when first used.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
