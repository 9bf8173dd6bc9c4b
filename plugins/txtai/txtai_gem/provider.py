"""The provider that a configuration of txtai names."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

from gem_index import open_provider
from gem_index.home import NamedProvider

__all__ = ["OpensProvider"]


class OpensProvider:
    """Base of vectors that opens a provider by the fields ``vectors`` and ``path`` of the configuration."""

    config: dict[str, Any]

    def loadmodel(self, path: str | None) -> None:
        """Load nothing yet: txtai would replace our error by one that names only this class."""

    @cached_property
    def provider(self) -> NamedProvider:
        """The provider of embeddings, opened on first use.

        Raises
        ------
        GemIndexError
            If a name is unknown, or the fingerprint differs from the expected one.
        """
        given = self.config.get("vectors") or {}
        if not isinstance(given, Mapping):
            raise TypeError(
                f"the configuration's vectors are {given!r}; expected the arguments of gem_index.open_provider, such as "
                '{"vectors": "wordllama"}, or a path that names word vectors'
            )
        settings = dict(given)
        if self.config.get("path"):
            settings["vectors"] = self.config["path"]
        provider = open_provider(**settings)
        self.config["vectors"] = provider.settings
        return provider
