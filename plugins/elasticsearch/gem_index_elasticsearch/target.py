"""An alias on a server as a target.

Readers search the alias ``faq``, which stands for an index such as ``faq-gem-3f2a``. A push that replaces all vectors fills
the index behind ``faq-staged``; one request then moves the alias and deletes the old index.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from gem_index.errors import ConfigError
from gem_index.targets import WORD_DIMENSIONS, TableTarget, TargetSchema, TargetUrl, row_of
from gem_index_elasticsearch.documents import index_body, schema_of, unsupported, vector_fields
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


class IndexTarget(TableTarget[IndexTable]):
    """A live index and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``elasticsearch+https://host:9200/?index=faq``, or ``opensearch+https://``; further options: ``ca_certs``, a file of
        certificates with which the server's certificate is checked.

    Raises
    ------
    ConfigError
        If the index's name is missing or unsuitable.
    """

    noun = "index"
    word_dimensions = WORD_DIMENSIONS

    def __init__(self, url: TargetUrl) -> None:
        url.check_options("index", "ca_certs", secrets=("key", "user", "password"))
        if not url.host:
            raise ConfigError(
                f"found no host in the target {url}; expected {url.scheme}://HOST:9200/?index=NAME"
            )
        name = index_name(url)
        super().__init__(url, {"live": name, "staged": f"{name}-staged"})
        self._engine = ENGINES[url.scheme.partition("+")[0]](url)

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields whose names an index does not take, and integers of more than 64 bits."""
        return unsupported(metadata)

    def switch(self) -> None:
        """Move the alias and delete the old index, by one request."""
        live, staged = self.both()
        actions: list[dict[str, Any]] = [
            {"add": {"index": staged.index, "alias": self.names["live"]}},
            {"remove": {"index": staged.index, "alias": self.names["staged"]}},
        ]
        if live is not None:
            actions.append({"remove_index": {"index": live.index}})
        self._engine.request("POST", "/_aliases", {"actions": actions})

    def close(self) -> None:
        """Close the connections."""
        self._engine.close()

    def find(self, state: str) -> IndexTable | None:
        """Return the index behind an alias; raise ConfigError if the name is in use for something else."""
        alias = self.names[state]
        found = self._engine.request("GET", f"/{alias}")
        if not found:
            return None
        index, description = next(iter(found.items()))
        schema = schema_of(description)
        if len(found) > 1 or index == alias or schema is None:
            raise self.foreign(alias)
        return IndexTable(self._engine, str(self.url), index, alias, schema)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the documents of an index or alias of another program: their ids, and the fields of their sources."""
        name = self.names["live"]
        found = self._engine.request("GET", f"/{name}") or {}
        vectors = {each for index in found.values() for each in vector_fields(index["mappings"])}
        source = {"excludes": sorted(vectors)} if vectors else True
        for hit in self._engine.scan(name, {"query": {"match_all": {}}, "_source": source}):
            yield row_of(hit["_source"], id=hit["_id"])

    def add(self, state: str, schema: TargetSchema) -> IndexTable:
        """Create an empty index behind an alias."""
        self._engine.check_product()
        alias = self.names[state]
        index = f"{self.names['live']}-gem-{secrets.token_hex(4)}"
        body = index_body(type(self._engine), schema) | {"aliases": {alias: {}}}
        self._engine.request("PUT", f"/{index}", body)
        return IndexTable(self._engine, str(self.url), index, alias, schema)

    def remove(self, state: str) -> None:
        """Delete the index behind an alias, if there is one."""
        found = self.find(state)
        if found is not None:
            self._engine.request("DELETE", f"/{found.index}")
