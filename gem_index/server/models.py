"""The models that a server offers, by name or fingerprint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from threading import Lock

from gem_index.errors import UnknownNameError
from gem_index.gem.combined import Encoder
from gem_index.home import Home
from gem_index.home.opening import open_provider

__all__ = ["DEFAULT", "ModelCard", "ServedModels"]

DEFAULT = "gem-index"
"""The name of the default word vectors with background components."""

_COLLECTION = "collection:"


@dataclass(frozen=True)
class ModelCard:
    """A model at a glance."""

    name: str
    fingerprint: str
    dimension: int


class ServedModels:
    """Opens encoders once: the default one, fitted models by name, those of collections as ``collection:NAME``.

    Parameters
    ----------
    home : Home
    """

    def __init__(self, home: Home) -> None:
        self._home = home
        self._default: Encoder | None = None
        self._opened: dict[str, Encoder] = {}
        self._lock = Lock()

    def list(self) -> Iterator[ModelCard]:
        """Iterate over the models."""
        default = self.default()
        yield ModelCard(DEFAULT, default.fingerprint, default.dimension)
        for model in self._home.models.list():
            yield ModelCard(model.name, model.fingerprint, model.dimension)
        for status in self._home.collections():
            encoder = self._home.collection(status.name).encoder
            yield ModelCard(_COLLECTION + status.name, encoder.fingerprint, encoder.dimension)

    def default(self) -> Encoder:
        """Return the encoder of the default word vectors."""
        with self._lock:
            if self._default is None:
                self._default = open_provider(home=self._home).encoder
            return self._default

    def get(self, name: str) -> Encoder:
        """Return the encoder of a name or fingerprint.

        Raises
        ------
        UnknownNameError
            If there is none.
        """
        if name == DEFAULT:
            return self.default()
        if name.startswith(_COLLECTION):
            return self._home.collection(name.removeprefix(_COLLECTION)).encoder
        models = {model.name: model for model in self._home.models.list()}
        if name in models:
            fingerprint = models[name].fingerprint
            with self._lock:
                if fingerprint not in self._opened:
                    self._opened[fingerprint] = self._home.models.open(name)
                return self._opened[fingerprint]
        cards = list(self.list())
        for card in cards:
            if card.fingerprint == name:
                return self.get(card.name)
        raise UnknownNameError(
            "model", name, [card.name for card in cards], "GET /v1/models lists them"
        )
