"""A pipeline component that sets GEM vectors of docs and spans."""

# No postponed annotations: older spaCy versions read those of the factory without evaluating them.

import json
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from spacy.language import Language
from spacy.tokens import Doc, Span

from gem_index import GemIndexError, open_provider

__all__ = ["GemComponent", "make_gem"]

_SETTINGS_FILE = "settings.json"
_NONE = dict.fromkeys(("vectors", "model", "collection", "config", "home", "fingerprint"))

for _name in ("gem_vector", "gem_fingerprint"):
    if not Doc.has_extension(_name):
        Doc.set_extension(_name, default=None)


class GemComponent:
    """Sets ``doc.vector`` and ``doc.similarity``, also of spans and sentences.

    A doc's vector is in ``doc._.gem_vector`` and the fingerprint of its encoder in ``doc._.gem_fingerprint``: spaCy stores
    both with a doc's data. Hooks make ``doc.vector`` and ``doc.similarity`` use them. spaCy drops the hooks of docs that it
    writes to bytes, as for ``n_process``; :meth:`attach` restores them. A span is embedded when its vector is accessed.

    Parameters
    ----------
    **settings
        The arguments of :func:`gem_index.open_provider`.
    """

    def __init__(self, **settings: Any) -> None:
        self._home = settings.get("home")
        self._open(settings)

    def _open(self, settings: dict[str, Any]) -> None:
        self.provider = open_provider(**settings)
        self.fingerprint = self.provider.fingerprint

    def __call__(self, doc: Doc) -> Doc:
        """Embed one doc."""
        return self._set_vector(doc, self.provider.embed_query(doc.text))

    def pipe(self, stream: Iterable[Doc], *, batch_size: int = 1000) -> Iterator[Doc]:
        """Embed docs, ``batch_size`` at a time."""
        docs = iter(stream)
        while batch := list(islice(docs, batch_size)):
            vectors = self.provider.embed_documents([doc.text for doc in batch])
            for doc, vector in zip(batch, vectors, strict=True):
                # a copy: a doc that stays in memory must not keep its whole batch in memory
                yield self._set_vector(doc, vector.copy())

    def _set_vector(self, doc: Doc, vector: npt.NDArray[np.float32]) -> Doc:
        doc._.gem_vector = vector
        doc._.gem_fingerprint = self.fingerprint
        return self.attach(doc)

    def attach(self, doc: Doc) -> Doc:
        """Set the hooks of ``doc.vector`` and ``doc.similarity``, for a doc read from bytes or made with ``n_process``.

        Raises
        ------
        GemIndexError
            If its vector is from another encoder.
        """
        if doc._.gem_fingerprint is not None:
            self._check(doc._.gem_fingerprint)
        hooks: dict[str, Callable[..., Any]] = {
            "vector": self._vector,
            "has_vector": self._has_vector,
            "similarity": self._similarity,
        }
        doc.user_hooks.update(hooks)
        doc.user_span_hooks.update(hooks)
        return doc

    def _vector(self, part: Doc | Span) -> npt.NDArray[np.float32]:
        vector: npt.NDArray[np.float32] | None = None
        if isinstance(part, Doc):
            vector = part._.gem_vector
        return self.provider.embed_query(part.text) if vector is None else vector

    def _has_vector(self, part: Doc | Span) -> bool:
        return bool(self._vector(part).any())

    def _similarity(self, part: Doc | Span, other: Any) -> float:
        hook = other.doc.user_hooks.get("vector") if isinstance(other, Doc | Span) else None
        component = getattr(hook, "__self__", None)
        if not isinstance(component, GemComponent):
            raise GemIndexError(
                f"found a {type(other).__name__} without a GEM vector; expected a Doc or a Span of a pipeline with the "
                "component 'gem' (docs read from bytes or made with n_process: attach them first)"
            )
        self._check(component.fingerprint)
        return float(self._vector(part) @ self._vector(other))

    def _check(self, fingerprint: str) -> None:
        if fingerprint != self.fingerprint:
            raise GemIndexError(
                f"found a doc with vectors {fingerprint[:12]} in a pipeline with vectors {self.fingerprint[:12]}; "
                "expected one encoder: embed both with the same pipeline"
            )

    # ----------------------------------------------------------- serialisation

    def to_bytes(self, *, exclude: Iterable[str] = ()) -> bytes:
        """Return the settings, including the fingerprint."""
        return json.dumps(self.provider.settings, indent=2).encode()

    def from_bytes(self, data: bytes, *, exclude: Iterable[str] = ()) -> Self:
        """Load the settings that :meth:`to_bytes` returned.

        Raises
        ------
        FingerprintMismatchError
            If they now open other embeddings.
        """
        settings = json.loads(data)
        if settings["fingerprint"] != self.fingerprint:
            # prefer the home in this pipeline's configuration: on another machine the path differs
            self._open(settings | ({"home": self._home} if self._home else {}))
        return self

    def to_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> None:
        """Write the settings into a folder."""
        Path(path).mkdir(exist_ok=True)
        Path(path, _SETTINGS_FILE).write_bytes(self.to_bytes())

    def from_disk(self, path: str | Path, *, exclude: Iterable[str] = ()) -> Self:
        """Load the settings that :meth:`to_disk` wrote, like :meth:`from_bytes`."""
        return self.from_bytes(Path(path, _SETTINGS_FILE).read_bytes())


@Language.factory("gem", assigns=["doc.vector", "doc._.gem_vector"], default_config=_NONE)
def make_gem(
    nlp: Language,  # noqa: ARG001 - spaCy passes this argument and the next by name
    name: str,  # noqa: ARG001
    vectors: str | None,
    model: str | None,
    collection: str | None,
    config: str | dict[str, Any] | None,
    home: str | None,
    fingerprint: str | None,
) -> GemComponent:
    """Make the component for ``nlp.add_pipe("gem", config={...})``.

    Parameters
    ----------
    nlp : Language
    name : str
        The component's name in the pipeline.
    vectors, model, collection, config, home, fingerprint
        As for :func:`gem_index.open_provider`: names and paths as texts, the configuration as its fields or as the name of a
        preset.

    Raises
    ------
    FingerprintMismatchError
        If the fingerprint differs from the expected one.
    """
    return GemComponent(
        vectors=vectors,
        model=model,
        collection=collection,
        config=config,
        home=home,
        fingerprint=fingerprint,
    )
