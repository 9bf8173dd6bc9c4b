"""A collection of Chroma as a target.

Readers open the collection ``faq``. A push that replaces all vectors fills ``faq__staged``; then ``faq`` becomes
``faq__old``, ``faq__staged`` becomes ``faq``, and ``faq__old`` is deleted. Chroma renames one collection at a time, so
between the two requests there is no ``faq``; a push that was killed there is finished by the next one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from chromadb.errors import NotFoundError

from gem_index.errors import ConfigError
from gem_index.targets import TableTarget, TargetSchema, TargetUrl, row_of
from gem_index_chroma.connection import Connection
from gem_index_chroma.embedding import GemEmbeddingFunction
from gem_index_chroma.metadata import is_supported
from gem_index_chroma.table import CONFIGURATION, ChromaTable, pages_of

__all__ = ["ChromaTarget"]

_NAME = re.compile(r"(?!.*\.\.)[A-Za-z0-9][A-Za-z0-9._-]{1,498}[A-Za-z0-9]")


class ChromaTarget(TableTarget[ChromaTable]):
    """A live collection and perhaps a staged one.

    Parameters
    ----------
    url : TargetUrl
        ``chroma:///folder?collection=faq``, ``chroma+http://host:8000/?collection=faq`` or
        ``chroma+https://host/?collection=faq``, also with ``tenant`` and ``database``; for a server the secrets ``key``, or
        ``user`` and ``password``.

    Raises
    ------
    ConfigError
        If the collection's name is missing or unsuitable, or the folder's parent does not exist.
    """

    noun = "collection"

    def __init__(self, url: TargetUrl) -> None:
        secrets = ("key", "user", "password") if url.scheme != "chroma" else ()
        url.check_options("collection", "tenant", "database", secrets=secrets)
        name = url.option("collection")
        if not _NAME.fullmatch(name):
            raise ConfigError(
                f"found the collection name {name!r:.80}; expected 3 to 500 letters, digits, dots, hyphens and underscores "
                "that begin and end with a letter or digit; choose another name"
            )
        if (url.scheme == "chroma") == bool(url.host or url.user):
            raise ConfigError(
                f"found the target {url}; expected chroma:///FOLDER?collection=NAME with the folder's full path, or "
                "chroma+http://HOST:PORT/?collection=NAME for a server"
            )
        super().__init__(url, {"live": name, "staged": f"{name}__staged", "old": f"{name}__old"})
        self._connection = Connection(url)

    def unsupported(self, metadata: Mapping[str, Any]) -> list[str]:
        """Return the fields that Chroma would change, drop or refuse."""
        return [name for name, value in metadata.items() if not is_supported(name, value)]

    def switch(self) -> None:
        """Rename the live and the staged collection, and delete the former."""
        live, staged = self.both()
        if live is not None:
            self.remove("old")
            live.rename(self.names["old"])
        staged.rename(self.names["live"])
        self.remove("old")

    def close(self) -> None:
        """Close the client."""
        self._connection.close()

    def find(self, state: str) -> ChromaTable | None:
        """Return a collection; raise ConfigError if its name is in use for something else."""
        if not self._connection.exists:
            return None
        name = self.names[state]
        with self._connection.errors():
            client = self._connection.client()
            try:
                collection = client.get_collection(name, embedding_function=None)
            except NotFoundError:
                return None
        metadata: dict[str, Any] = collection.metadata or {}
        schema = TargetSchema.from_strings(metadata)
        if schema is None:
            raise self.foreign(name)
        return ChromaTable(self._connection, collection, schema)

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows of a collection that another program made; the document of a row is its text."""
        with self._connection.errors():
            collection = self._connection.client().get_collection(
                self.names["live"], embedding_function=None
            )
        for page in pages_of(self._connection, collection, ["metadatas", "documents"]):
            for identifier, text, metadata in zip(
                page["ids"], page["documents"] or (), page["metadatas"] or (), strict=True
            ):
                own = {"id": identifier} if text is None else {"id": identifier, "text": text}
                yield row_of(metadata or {}, **own)

    def add(self, state: str, schema: TargetSchema) -> ChromaTable:
        """Create an empty collection."""
        with self._connection.errors():
            collection = self._connection.client().create_collection(
                self.names[state],
                configuration={"hnsw": {**CONFIGURATION}},
                metadata=schema.to_strings(),
                embedding_function=GemEmbeddingFunction(fingerprint=schema.fingerprint),  # type: ignore[arg-type]  # it embeds no images
            )
        return ChromaTable(self._connection, collection, schema)

    def remove(self, state: str) -> None:
        """Delete a collection of gem-index, if it exists."""
        if self.find(state) is not None:
            with self._connection.errors():
                self._connection.client().delete_collection(self.names[state])
