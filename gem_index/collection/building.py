"""Create a collection and bring an existing one up to date: the steps of :meth:`gem_index.Home.build`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from gem_index.advice import Action, Advice
from gem_index.collection.access import CollectionAccess
from gem_index.collection.models import open_vectors, record_of
from gem_index.collection.pieces import expected_pieces
from gem_index.collection.texts import CollectionTexts
from gem_index.collection.writing import refit
from gem_index.cutting import Cutting
from gem_index.errors import ConfigError, FingerprintMismatchError, GemIndexError, NotIndexedError
from gem_index.gem.combined import CombinedEncoder
from gem_index.gem.recommended import config_for
from gem_index.gem.specification import ConfigLike, EncoderSpec, encoder_specs, make_encoder
from gem_index.index.kinds import AUTOMATIC, check_kind, resolve_kind
from gem_index.progress import Progress
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.workspace import Workspace, check_name
from gem_index.vectors.registry import DEFAULT_VECTORS

__all__ = [
    "NEW_CUTTING",
    "CollectionChoice",
    "as_not_indexed",
    "bring_up_to_date",
    "check_agreement",
    "check_cutting",
    "create",
    "keep_reading",
    "use_index",
]


NEW_CUTTING = Cutting("auto")
"""How the texts of a new collection are cut unless something else is asked for."""


@dataclass(frozen=True, kw_only=True)
class CollectionChoice:
    """The settings that a caller asks for; None if left open. See :meth:`gem_index.Home.create_collection`."""

    vectors: str | None = None
    config: ConfigLike | None = None
    prior: float | None = None
    index: str | None = None
    cutting: Cutting | None = None

    @property
    def specs(self) -> tuple[EncoderSpec, ...]:
        """The encoders of a new collection."""
        return encoder_specs(self.vectors, self.config, DEFAULT_VECTORS)

    @property
    def names_encoders(self) -> bool:
        """Whether the configuration lists encoders with their vectors."""
        return isinstance(self.config, Mapping) and "encoders" in self.config


def create(
    workspace: Workspace, name: str, specs: Sequence[EncoderSpec], choice: CollectionChoice
) -> CollectionAccess:
    """Create an empty collection; ``specs`` are those of the choice, with vectors of the home."""
    check_name("collection", name)
    with workspace.database.writing() as connection:
        encoder = make_encoder(
            specs,
            lambda spec: open_vectors(workspace, spec, connection),
            lambda config: config.for_collection(choice.prior),
        )
        check_kind(choice.index or AUTOMATIC, encoder.dimension)
        model = record_of(encoder, [str(spec.vectors) for spec in specs])
        model_id = ModelRepository(connection).add(model)
        record = CollectionRepository(connection).add(
            name,
            model_id,
            choice.index or AUTOMATIC,
            cutting=json.dumps((choice.cutting or NEW_CUTTING).fields, sort_keys=True),
        )
    return CollectionAccess(workspace, record)


def check_agreement(access: CollectionAccess, choice: CollectionChoice) -> None:
    """Check that the settings agree with an existing collection.

    Raises
    ------
    FingerprintMismatchError
        If other vectors are asked for.
    ConfigError
        If another configuration, other weights, or an index that cannot be made are asked for.
    """
    owner = f"the collection {access.name}"
    own = access.encoder()
    specs = choice.specs
    if choice.vectors is not None or choice.names_encoders:
        for encoder, spec in zip(own.encoders, specs, strict=False):
            found = open_vectors(access.workspace, spec.vectors).fingerprint
            if found != encoder.vectors.fingerprint:
                raise FingerprintMismatchError(
                    owner,
                    encoder.vectors.fingerprint,
                    found,
                    Advice(Action.LEAVE_OUT_VECTORS),
                )
        weights = own.weights if isinstance(own, CombinedEncoder) else (1.0,)
        if weights != tuple(spec.weight for spec in specs):
            raise ConfigError(
                f"{owner} has {len(weights)} encoders of the weights {list(weights)}, found {len(specs)} of the weights "
                f"{[spec.weight for spec in specs]}; expected the same: leave them out, or build a new collection"
            )
    listed = [spec.config for spec in specs]
    given = listed if choice.names_encoders else [choice.config] * len(own.encoders)
    for encoder, asked in zip(own.encoders, given, strict=True):
        wanted = encoder.config if asked is None else config_for(encoder.vectors, asked)
        if choice.prior is not None or not wanted.prior_chosen:
            prior = encoder.config.prior if choice.prior is None else choice.prior
            wanted = replace(wanted, prior=prior)
        if wanted != encoder.config:
            raise ConfigError(
                f"{owner} has the configuration {encoder.config.to_json()}, found {wanted.to_json()}; "
                "expected the same: leave it out, or build a new collection"
            )
    check_kind(choice.index or AUTOMATIC, own.dimension)


def check_cutting(name: str, own: Cutting, asked: Cutting | None) -> None:
    """Check that an existing collection is cut as asked.

    Raises
    ------
    ConfigError
        If it is cut in another way.
    """
    if asked is not None and asked.choices != own.choices:
        raise ConfigError(
            f"the collection {name} is cut with {own.choices or 'none'}, found {asked.choices or 'none'}; "
            "expected the same: leave it out, or build the collection again with it"
        )


def use_index(access: CollectionAccess, kind: str) -> bool:
    """Set the kind of index for later snapshots; tell whether it differs from the present snapshot's.

    Raises
    ------
    ConfigError
        If FAISS cannot make such an index.
    """
    check_kind(kind, access.encoder().dimension)
    with access.writing() as rows:
        rows.names.use_index(access.id, kind)
        snapshot = rows.names.snapshot(access.id)
        vectors = expected_pieces(CollectionTexts(rows.documents), rows.record.cuts)
        wanted = resolve_kind(kind, vectors, access.encoder(rows).dimension).name
    return snapshot is None or snapshot.kind != wanted


def use_cutting(access: CollectionAccess, cutting: Cutting) -> bool:
    """Set how texts are cut; tell whether it differs from before, so that all have to be encoded again."""
    with access.writing() as rows:
        if rows.record.cuts == cutting:
            return False
        rows.names.use_cutting(access.id, json.dumps(cutting.fields, sort_keys=True))
    return True


def keep_reading(access: CollectionAccess, reading: Mapping[str, Any]) -> None:
    """Store how the collection's files are read; see :attr:`gem_index.Collection.reading`."""
    text = json.dumps(reading, sort_keys=True)
    with access.writing() as rows:
        if rows.record.reading != text:
            rows.names.use_reading(access.id, text)


def bring_up_to_date(
    access: CollectionAccess, choice: CollectionChoice, progress: Progress | None
) -> None:
    """Refit the collection if its documents, its kind of index or its pieces have changed."""
    changed = choice.index is not None and use_index(access, choice.index)
    changed |= choice.cutting is not None and use_cutting(access, choice.cutting)
    with access.reading() as rows:
        stale = rows.changed_since_fit()
    if changed or stale:
        refit(access, progress)


@contextmanager
def as_not_indexed(name: str, documents: int, action: Action) -> Iterator[None]:
    """Turn errors of the body into NotIndexedError: the documents are stored; ``action`` completes the index.

    An interrupt stays one, with the error as its argument.

    Raises
    ------
    NotIndexedError
        From the error that the body raised.
    """
    try:
        yield
    except (GemIndexError, OSError, MemoryError) as error:
        raise NotIndexedError(name, documents, error, action) from error
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(NotIndexedError(name, documents, error, action)) from error
    except BaseException as error:
        error.add_note(str(NotIndexedError(name, documents, error, action)))
        raise
