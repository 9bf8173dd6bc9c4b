"""GEM embeddings inside Chroma: an embedding function that a collection records and restores."""

from __future__ import annotations

from typing import Any, Unpack

from chromadb import Collection
from chromadb.api import ClientAPI
from chromadb.api.types import Documents, EmbeddingFunction, Embeddings, Space
from chromadb.utils.embedding_functions import register_embedding_function

from gem_index import open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.home import NamedProvider, ProviderOptions, find_provider

__all__ = ["GemEmbeddingFunction", "open_collection"]

_NAME = "gem-index"


@register_embedding_function
class GemEmbeddingFunction(EmbeddingFunction[Documents]):
    """Sentence embeddings of unit length, computed on the CPU; queries and documents are embedded alike.

    Chroma records :meth:`get_config` in a collection, with the encoder's fingerprint. Another process that has imported this
    package opens the same encoder from it, or gets an error.

    With a fingerprint the encoder is opened on first use. With a fingerprint alone, as a push records it, it is searched for
    among the collections and models of the home.

    Parameters
    ----------
    vectors, model, collection, config, home, fingerprint
        As for :func:`gem_index.open_provider`; by default the bundled word vectors.

    Raises
    ------
    GemIndexError
        If a name is unknown, or the fingerprint differs from the expected one.

    Examples
    --------
    >>> function = GemEmbeddingFunction()
    >>> len(function(["how do I renew a visa?"])[0])
    256
    """

    def __init__(
        self,
        vectors: str | None = None,
        **options: Unpack[ProviderOptions],
    ) -> None:
        given: dict[str, Any] = {"vectors": vectors, **options}
        self._settings = {name: value for name, value in given.items() if value is not None}
        self._provider: NamedProvider | None = None
        if "fingerprint" not in self._settings:
            self._settings = self.provider.settings

    @property
    def provider(self) -> NamedProvider:
        """The provider of embeddings.

        Raises
        ------
        GemIndexError
            If a name is unknown, or the fingerprint differs from the expected one.
        """
        if self._provider is None:
            if self._settings.keys() <= {"home", "fingerprint"} and "fingerprint" in self._settings:
                self._provider = find_provider(**self._settings)
            else:
                self._provider = open_provider(**self._settings)
        return self._provider

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the encoder."""
        return str(self._settings["fingerprint"])

    def __call__(self, input: Documents) -> Embeddings:
        """Return a vector for each text, zeros for a text without words."""
        return list(self.provider.embed_documents(list(input)))

    def embed_query(self, input: Documents) -> Embeddings:
        """Return a vector for each query."""
        return self(input)

    @staticmethod
    def name() -> str:
        """Return the name under which Chroma records it."""
        return _NAME

    def default_space(self) -> Space:
        """Return the cosine distance."""
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        """Return the distances in which a text without words is not nearer than an unrelated one."""
        return ["cosine", "ip"]

    def get_config(self) -> dict[str, Any]:
        """Return the settings that open the same embeddings again, with the fingerprint, as JSON values."""
        if self._settings.keys() <= {"fingerprint"}:
            return dict(self._settings)
        return self.provider.settings

    @staticmethod
    def build_from_config(config: dict[str, Any]) -> GemEmbeddingFunction:
        """Return the embedding function that :meth:`get_config` described; it opens the encoder on first use."""
        return GemEmbeddingFunction(**config)

    def validate_config_update(
        self, old_config: dict[str, Any], new_config: dict[str, Any]
    ) -> None:
        """Raise FingerprintMismatchError if a collection would get another encoder than the one that made its vectors."""
        old, new = old_config.get("fingerprint"), new_config.get("fingerprint")
        if old != new:
            raise _mismatch("the collection", str(old), str(new))


def open_collection(
    client: ClientAPI, name: str, embedding_function: GemEmbeddingFunction | None = None
) -> Collection:
    """Open a collection with the embedding function of its vectors.

    Parameters
    ----------
    client : chromadb.ClientAPI
    name : str
    embedding_function : GemEmbeddingFunction, optional
        Needed where the encoder is in another home than the default one.

    Returns
    -------
    chromadb.Collection

    Raises
    ------
    FingerprintMismatchError
        If the embedding function has another encoder than the one that made the collection's vectors. Chroma's own
        ``get_collection`` does not notice that.
    ConfigError
        If the collection's vectors are not of gem-index.
    chromadb.errors.NotFoundError
        If there is no collection of that name.
    """
    collection = client.get_collection(name, embedding_function=None)
    recorded = collection.configuration_json.get("embedding_function") or {}
    expected = (recorded.get("config") or {}).get("fingerprint")
    if recorded.get("name") != _NAME or not expected:
        raise ConfigError(
            f"found the collection {name!r:.80} without a fingerprint of gem-index; expected one that gem-index pushed, "
            "or that was created with GemEmbeddingFunction; open it with get_collection"
        )
    function = embedding_function or GemEmbeddingFunction.build_from_config(recorded["config"])
    if function.provider.fingerprint != expected:
        raise _mismatch(f"the collection {name}", expected, function.provider.fingerprint)
    return client.get_collection(name, embedding_function=function)  # type: ignore[arg-type]  # it embeds no images


def _mismatch(what: str, expected: str, found: str) -> FingerprintMismatchError:
    return FingerprintMismatchError(
        what,
        expected,
        found,
        "open it with the encoder that it was made with, or push it again",
        kind="encoder",
    )
