"""An alias on a server as a target.

Readers search the alias ``faq``, which stands for an index such as ``faq-gem-3f2a``. A push that replaces all vectors fills
the index behind ``faq-staged``; one request then moves the alias and deletes the old index.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from typing import Any

from gem_index.errors import ConfigError
from gem_index.targets import TargetSchema, TargetUrl
from gem_index_elasticsearch.documents import index_body, schema_of, unsupported
from gem_index_elasticsearch.engines import ENGINES
from gem_index_elasticsearch.table import IndexTable

__all__ = ["IndexTarget", "index_name"]


def index_name(url: TargetUrl) -> str:
    """Return the option ``index``.

    Raises
    ------
    ConfigError
        If it is missing, or not a name that the servers take.
    """
    name = url.option("index")
    if not re.fullmatch(r"[a-z0-9][a-z0-9_.-]{0,199}", name):
        raise ConfigError(
            f"found the index name {name!r:.80}; expected small letters, digits, dots, dashes and underscores; "
            "choose another name"
        )
    return name


class IndexTarget:
    """A live index and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``elasticsearch+https://host:9200/?index=faq``, or ``opensearch+https://``; further options: ``ca_certs``, the file
        of the certificates that the server's is checked with.

    Raises
    ------
    ConfigError
        If the index's name is missing or unsuitable.
    """

    def __init__(self, url: TargetUrl) -> None:
        url.check_options("index", "ca_certs", secrets=("key", "user", "password"))
        self.url = url
        if not url.host:
            raise ConfigError(
                f"found no host in the target {url}; expected {url.scheme}://HOST:9200/?index=NAME"
            )
        name = index_name(url)
        self._aliases = {"live": name, "staged": f"{name}-staged"}
        self._engine = ENGINES[url.scheme.partition("+")[0]](url)

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields whose names an index does not take, and integers of more than 64 bits."""
        return unsupported(metadata)

    def live(self) -> IndexTable | None:
        """Return the index that readers see."""
        return self._find("live")

    def staged(self) -> IndexTable | None:
        """Return the staged index."""
        return self._find("staged")

    def create(self, schema: TargetSchema) -> IndexTable:
        """Create an empty live index."""
        if self._find("live") is not None:
            raise ConfigError(
                f"found the index {self._aliases['live']} on {self.url}; expected none; drop it before it is created"
            )
        return self._create("live", schema)

    def stage(self, schema: TargetSchema) -> IndexTable:
        """Create an empty staged index."""
        self._remove("staged")
        return self._create("staged", schema)

    def switch(self) -> None:
        """Move the alias and delete the old index, by one request."""
        live, staged = self._find("live"), self._find("staged")
        if staged is None:
            raise ConfigError(
                f"found no index {self._aliases['staged']} on {self.url}; expected one; push in full again"
            )
        actions: list[dict[str, Any]] = [
            {"add": {"index": staged.index, "alias": self._aliases["live"]}},
            {"remove": {"index": staged.index, "alias": self._aliases["staged"]}},
        ]
        if live is not None:
            actions.append({"remove_index": {"index": live.index}})
        self._engine.request("POST", "/_aliases", {"actions": actions})

    def drop(self) -> None:
        """Delete both indices."""
        for state in self._aliases:
            self._find(state)
        for state in self._aliases:
            self._remove(state)

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def _find(self, state: str) -> IndexTable | None:
        """Return the index behind an alias; raise ConfigError if the name is in use for something else."""
        alias = self._aliases[state]
        found = self._engine.request("GET", f"/{alias}")
        if not found:
            return None
        index, description = next(iter(found.items()))
        schema = schema_of(description)
        if len(found) > 1 or index == alias or schema is None:
            raise ConfigError(
                f"found {alias} on {self.url}, which gem-index did not create; expected an unused name; "
                "choose another name in ?index="
            )
        return IndexTable(self._engine, str(self.url), index, alias, schema)

    def _create(self, state: str, schema: TargetSchema) -> IndexTable:
        self._engine.check_product()
        alias = self._aliases[state]
        index = f"{self._aliases['live']}-gem-{secrets.token_hex(4)}"
        body = index_body(type(self._engine), schema) | {"aliases": {alias: {}}}
        self._engine.request("PUT", f"/{index}", body)
        return IndexTable(self._engine, str(self.url), index, alias, schema)

    def _remove(self, state: str) -> None:
        found = self._find(state)
        if found is not None:
            self._engine.request("DELETE", f"/{found.index}")
