"""A home: the collections, models and word vectors of one folder, and what opens them by name."""

from gem_index.home.home import Home

__all__ = ["Home"]
