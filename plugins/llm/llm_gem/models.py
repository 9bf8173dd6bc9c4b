"""Encoders as embedding models of ``llm``.

A collection of ``llm`` stores only the id of its model, so the id includes the encoder's fingerprint: after a refit
the old id is unknown, and ``llm`` refuses to compare vectors of two encoders.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

import llm
from llm.models import EmbeddingModel

from gem_index import Home, open_provider
from gem_index.errors import InputError
from gem_index.home import EncoderChoice

__all__ = ["GemEmbeddingModel", "register_embedding_models"]

_BATCH = 1000


class GemEmbeddingModel(EmbeddingModel):
    """One encoder.

    Parameters
    ----------
    fingerprint : str
        Of the encoder; the first twelve digits are part of the model's id.
    choice : EncoderChoice
        The choice that opens the encoder.
    """

    supports_text = True
    supports_binary = False
    batch_size = _BATCH

    def __init__(self, fingerprint: str, choice: EncoderChoice) -> None:
        self.model_id = f"gem-{fingerprint[:12]}"
        self._fingerprint = fingerprint
        self._choice = choice
        self._provider: Any = None

    def embed_batch(
        self,
        items: Iterable[str | bytes],
        *,
        key: str | None = None,
    ) -> Iterator[list[float]]:
        """Yield the vector of each text, of unit length; zeros for a text without words.

        Raises
        ------
        llm.ModelError
            If the encoder has changed since the model was registered.
        """
        if self._provider is None:
            provider = self._choice.open()
            if provider.fingerprint != self._fingerprint:
                raise llm.ModelError(
                    f"found the encoder {provider.fingerprint[:12]}; expected {self._fingerprint[:12]}, of {self.model_id}"
                )
            self._provider = provider
        texts = iter(items)
        while batch := [str(text) for text in islice(texts, _BATCH)]:
            yield from self._provider.embed_documents(batch).tolist()


@llm.hookimpl
def register_embedding_models(register: Callable[..., None]) -> None:
    """Offer the bundled word vectors as ``gem``, and the models of the default home as ``gem/NAME``."""
    found: dict[str, tuple[EncoderChoice, list[str]]] = {}

    def offer(fingerprint: str, choice: EncoderChoice, *aliases: str) -> None:
        taken = {alias for _, others in found.values() for alias in others}
        _, held = found.setdefault(fingerprint, (choice, []))
        held.extend(alias for alias in aliases if alias not in taken)

    offer(open_provider().fingerprint, EncoderChoice(), "gem")
    for kind, name, fingerprint in _of_home():
        choice = EncoderChoice(**{kind: name})
        offer(fingerprint, choice, f"gem/{name}", f"gem/{kind}/{name}")
    for fingerprint, (choice, aliases) in found.items():
        register(GemEmbeddingModel(fingerprint, choice), aliases=tuple(aliases))


def _of_home() -> Iterator[tuple[str, str, str]]:
    """Yield kind, name and fingerprint of the models and collections in the default home, if there is one."""
    try:
        home = Home(create=False)
    except InputError:
        return
    for collection in home.collections():
        yield "collection", collection.name, collection.fingerprint
    for model in home.models.list():
        yield "model", model.name, model.fingerprint
