"""Return values of operations: results of a search, explanations, reports, status, topics and maps.

``results.pyi`` lists the names, which are imported when first used.
"""

from __future__ import annotations

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__package__, __file__)
