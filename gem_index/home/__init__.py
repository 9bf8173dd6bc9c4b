"""A home (the collections, models and word vectors of one folder), and functions that open its content by name."""

from gem_index.home.home import Home

__all__ = ["Home"]
