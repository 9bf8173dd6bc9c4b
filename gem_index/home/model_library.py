"""Fit, open, list and remove the named models of a home."""

from __future__ import annotations

import builtins
import json
from collections.abc import Callable, Iterable
from typing import Any

from gem_index.collection.results import ModelInfo
from gem_index.collection.state.models import open_encoder, open_vectors, record_of
from gem_index.errors import Action, Advice, NameTakenError, UnknownNameError
from gem_index.gem.combined import Encoder
from gem_index.gem.specification import ConfigLike, encoder_specs, make_encoder
from gem_index.home.registration import register_paths
from gem_index.home.vector_library import VectorLibrary
from gem_index.store.names import ModelRepository
from gem_index.store.records import ModelRecord
from gem_index.store.workspace import Workspace, check_name
from gem_index.vectors.registry import DEFAULT_VECTORS

__all__ = ["ModelLibrary"]


class ModelLibrary:
    """The named models of a home; see :attr:`gem_index.Home.models`.

    Parameters
    ----------
    workspace : Workspace
    vectors : VectorLibrary
        The home's word vectors. If the word vectors of a model are given by a path, they are registered here.
    """

    def __init__(self, workspace: Workspace, vectors: VectorLibrary) -> None:
        self._workspace = workspace
        self._vectors = vectors

    def list(self) -> builtins.list[ModelInfo]:
        """Return the named models, ordered by name."""
        return [_info(name, model) for name, model in self._records().items()]

    def open(self, name: str) -> Encoder:
        """Return the encoder of the model with this name.

        Raises
        ------
        UnknownNameError
            If there is no model of this name; the message suggests similar names.
        """
        return open_encoder(self._workspace, self._record(name))

    def describe(self, name: str) -> ModelInfo:
        """Return the description of the model with this name.

        Raises
        ------
        UnknownNameError
            If there is no model of this name; the message suggests similar names.
        """
        return _info(name, self._record(name))

    def fit(
        self,
        name: str,
        corpus: Iterable[str],
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        overwrite: bool = False,
    ) -> Encoder:
        """Fit an encoder on a corpus and store it under a name.

        Parameters
        ----------
        name : str
            A name of 1 to 64 letters, digits, dots, dashes and underscores.
        corpus : iterable of str
            The texts, which are read once.
        vectors, config
            As for :meth:`gem_index.Home.create_collection`. The number of pseudo-sentences is the prior in
            ``config``; by default 0.
        overwrite : bool
            Replace a model of this name.

        Raises
        ------
        NameTakenError
            If a model of this name exists and ``overwrite`` is False.
        """
        return self.make(
            name,
            lambda encoder: encoder.fit(corpus),
            vectors=vectors,
            config=config,
            overwrite=overwrite,
        )

    def make(
        self,
        name: str,
        fit: Callable[[Encoder], object],
        *,
        vectors: str | None = None,
        config: ConfigLike | None = None,
        overwrite: bool = False,
    ) -> Encoder:
        """Fit an encoder with a function, for example on a cluster, and store it under a name.

        Parameters
        ----------
        name : str
        fit : callable
            Called with the unfitted encoder; fits this encoder.
        vectors, config, overwrite
            As for :meth:`fit`.

        Raises
        ------
        NameTakenError
            If a model of this name exists and ``overwrite`` is False.
        """
        check_name("model", name)
        with self._workspace.write_lock():
            old = self._records().get(name)
            if old is not None and not overwrite:
                raise NameTakenError(
                    f"the model {name} exists already; expected a new name",
                    Advice(Action.OVERWRITE_MODEL),
                )
            specs = encoder_specs(vectors, config, DEFAULT_VECTORS)
            with register_paths(self._workspace, self._vectors, specs) as named:
                encoder = make_encoder(named, lambda spec: open_vectors(self._workspace, spec))
                fit(encoder)
                record = record_of(encoder, [str(spec.vectors) for spec in named], name)
                with self._workspace.database.writing() as connection:
                    models = ModelRepository(connection)
                    if old is not None and old.id is not None:
                        models.remove(old.id)
                    models.add(record)
        return encoder

    def remove(self, name: str) -> None:
        """Remove a model.

        Raises
        ------
        UnknownNameError
            If there is no model of this name.
        """
        with self._workspace.write_lock():
            model_id = self._record(name).id
            assert model_id is not None
            with self._workspace.database.writing() as connection:
                ModelRepository(connection).remove(model_id)

    def _record(self, name: str) -> ModelRecord:
        models = self._records()
        if name not in models:
            raise UnknownNameError("model", name, models, Advice(Action.FIT_MODEL))
        return models[name]

    def _records(self) -> dict[str, ModelRecord]:
        with self._workspace.database.reading() as connection:
            return ModelRepository(connection).named()


def _info(name: str, model: ModelRecord) -> ModelInfo:
    return ModelInfo(
        name=name,
        fingerprint=model.fingerprint,
        vectors=model.vectors,
        sentences=model.sentences,
        dimension=model.dimension,
        config=_config_of(model),
    )


def _config_of(model: ModelRecord) -> dict[str, Any]:
    """Return a model's configuration; for several encoders, the configuration, vectors and weight of each encoder."""
    if not model.parts:
        config: dict[str, Any] = json.loads(model.config)
        return config
    return {
        "encoders": [
            {"vectors": part.vectors, "config": json.loads(part.config), "weight": part.weight}
            for part in model.parts
        ]
    }
