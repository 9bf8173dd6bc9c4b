"""The public names: those in the ``__all__`` of these packages, and no others (docs/stability.md)."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module

__all__ = ["PACKAGES", "public_names"]

PACKAGES = (
    "gem_index",
    "gem_index.collection",
    "gem_index.results",
    "gem_index.errors",
    "gem_index.readers",
    "gem_index.home",
    "gem_index.gem",
    "gem_index.vectors",
    "gem_index.targets",
    "gem_index.sparse",
    "gem_index.evaluation",
    "gem_index.progress",
    "gem_index.distributed",
    "gem_index.testing",
)
"""In the order of the page; a name of two of them is documented in the first."""


def public_names(packages: Sequence[str] = PACKAGES) -> dict[str, object]:
    """Return each public name once, such as ``gem_index.results.SearchResult``, with its object."""
    found: dict[str, object] = {}
    for package in packages:
        for name in import_module(package).__all__:
            if not any(address.endswith(f".{name}") for address in found):
                found[f"{package}.{name}"] = getattr(import_module(package), name)
    return found
