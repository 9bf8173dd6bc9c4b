"""The models that a server offers, by name or fingerprint."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import Lock

from gem_index.errors import ConfigError, UnknownNameError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.home import Home
from gem_index.home.opening import open_provider

__all__ = ["COLLECTION", "DEFAULT", "EMBEDDINGS", "ModelCard", "ServedModels"]

DEFAULT = "gem-index"
"""The name of the default model: the default word vectors with background components."""

EMBEDDINGS = "gem-index-embeddings"
"""Another name of the default model, unless a model has this name: n8n shows only names that contain "embed"."""

COLLECTION = "collection:"
"""The prefix of the names of collections' models."""

_FRESH = 1.0  # seconds until a name is looked up again


@dataclass(frozen=True)
class ModelCard:
    """A description of a model."""

    name: str
    fingerprint: str
    dimension: int


class ServedModels:
    """Opens encoders once: the default one, fitted models by name, the models of collections as ``collection:NAME``.

    Parameters
    ----------
    home : Home
    of_collection : callable
        Returns the encoder of a collection.
    aliases : mapping of str to str
        Other names of models, for clients with fixed model names.
    """

    def __init__(
        self, home: Home, of_collection: Callable[[str], Encoder], aliases: Mapping[str, str]
    ) -> None:
        self._home = home
        self._of_collection = of_collection
        self._aliases = dict(aliases)
        self._opened: dict[str, Encoder] = {}  # fitted models by fingerprint
        self._named: dict[str, tuple[float, Encoder]] = {}
        self._default: Encoder | None = None
        self._lock = Lock()

    def check_aliases(self) -> None:
        """Refuse an alias of a missing model.

        Raises
        ------
        ConfigError
            If there is one.
        """
        for alias, name in self._aliases.items():
            try:
                self.get(name)
            except UnknownNameError as error:
                wrong = ConfigError(f"the alias {quoted(alias)}: {error}")
                wrong.advice = error.advice
                raise wrong from error

    def list(self) -> list[ModelCard]:
        """Return the models."""
        default = self.default()
        cards = [ModelCard(DEFAULT, default.fingerprint, default.dimension)]
        cards += (
            ModelCard(each.name, each.fingerprint, each.dimension)
            for each in self._home.models.list()
        )
        for status in self._home.collections():
            name = COLLECTION + status.name
            cards.append(ModelCard(name, status.fingerprint, status.dimension))
        known = {card.name: card for card in cards}
        default_alias = {} if EMBEDDINGS in known else {EMBEDDINGS: DEFAULT}
        for alias, name in (default_alias | self._aliases).items():
            if name in known:
                cards.append(ModelCard(alias, known[name].fingerprint, known[name].dimension))
        return cards

    def default(self) -> Encoder:
        """Return the encoder of the default word vectors."""
        with self._lock:
            if self._default is None:
                self._default = open_provider(home=self._home).encoder
            return self._default

    def collection_of(self, name: str) -> str | None:
        """Return the collection whose model has a name, alias or fingerprint; None for another model."""
        named = self._aliases.get(name, name)
        if named == DEFAULT:
            return None
        if not named.startswith(COLLECTION):
            cards = (card for card in self.list() if named in (card.name, card.fingerprint))
            named = next((card.name for card in cards), named)
        return named.removeprefix(COLLECTION) if named.startswith(COLLECTION) else None

    def known(self, name: str) -> Encoder | None:
        """Return the encoder of a name that was looked up within the last second, without looking it up again."""
        found = self._named.get(name)
        if found is None or time.monotonic() - found[0] > _FRESH:
            return None
        return found[1]

    def get(self, name: str) -> Encoder:
        """Return the encoder of a name or fingerprint.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        encoder = self._find(self._aliases.get(name, name))
        if len(self._named) > 1000:
            self._named.clear()
        self._named[name] = (time.monotonic(), encoder)
        return encoder

    def _find(self, name: str) -> Encoder:
        if name == DEFAULT:
            return self.default()
        if name.startswith(COLLECTION):
            return self._of_collection(name.removeprefix(COLLECTION))
        for model in self._home.models.list():
            if name in (model.name, model.fingerprint):
                return self._open(model.name, model.fingerprint)
        if name == EMBEDDINGS:
            return self.default()
        cards = self.list()
        for card in cards:
            if card.fingerprint == name:
                return self._find(card.name)
        names = [card.name for card in cards]
        raise UnknownNameError("model", name, names, "GET /v1/models lists them")

    def _open(self, name: str, fingerprint: str) -> Encoder:
        with self._lock:
            if fingerprint not in self._opened:
                self._opened[fingerprint] = self._home.models.open(name)
            return self._opened[fingerprint]
