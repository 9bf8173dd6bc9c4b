"""From what a user names to what is opened: word vectors, and the provider that an adapter wraps."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.files import user_path
from gem_index.gem.combined import CombinedEncoder, Encoder
from gem_index.gem.encoder import GemEncoder
from gem_index.gem.model_file import read_model
from gem_index.gem.provider import GemProvider
from gem_index.gem.specification import ConfigLike, encoder_specs, make_encoder
from gem_index.home.home import Home
from gem_index.settings import load_settings
from gem_index.store.workspace import has_database
from gem_index.vectors.base import VectorSource
from gem_index.vectors.formats import KeyedVectorsLike, read_vectors
from gem_index.vectors.registry import BUNDLED, DEFAULT_VECTORS, is_path, open_source, split_spec
from gem_index.vectors.stored import open_unstored

__all__ = ["NamedProvider", "open_provider", "open_vectors"]

MODEL_FILE = ".safetensors"
"""How the name of a model file ends, as :meth:`GemEncoder.save` writes it; anything else is the name of a model."""


class NamedProvider(GemProvider):
    """A provider that was opened by name, and can be opened again from its settings.

    It pickles as its settings, so that a worker process opens the same files instead of receiving them.

    Parameters
    ----------
    encoder : GemEncoder or CombinedEncoder
    settings : mapping
        JSON values: the arguments of :func:`open_provider` that open it again. They carry the fingerprint, so that other
        vectors, another fit or another configuration under the same names are refused.
    """

    def __init__(self, encoder: Encoder, settings: Mapping[str, Any]) -> None:
        super().__init__(encoder)
        self._settings = json.dumps(settings)

    @property
    def settings(self) -> dict[str, Any]:
        """What a saved configuration holds; ``open_provider(**settings)`` opens the same provider, or refuses.

        Raises
        ------
        ConfigError
            If the encoder was fitted after it was opened: no name stands for that fit.
        """
        settings: dict[str, Any] = json.loads(self._settings)
        if settings["fingerprint"] != self.fingerprint:
            raise ConfigError(
                "this provider's encoder was fitted after it was opened, and no name stands for the fit; expected a saved "
                "one: encoder.save('model.safetensors'), then open_provider(model='model.safetensors')"
            )
        return settings

    def __reduce__(self) -> tuple[Any, ...]:
        return _reopen, (self.settings,)


def _reopen(settings: dict[str, Any]) -> NamedProvider:
    return open_provider(**settings)


def open_provider(
    vectors: str | Path | None = None,
    *,
    model: str | Path | None = None,
    collection: str | None = None,
    config: ConfigLike | None = None,
    home: Home | str | Path | None = None,
    fingerprint: str | None = None,
) -> NamedProvider:
    """Open an embedding provider by name: what every adapter wraps.

    Parameters
    ----------
    vectors : str or Path, optional
        Word vectors with their background components, as :func:`open_vectors` takes them; the bundled ones where nothing is
        named. Beside a model or a collection: what it has to have been fitted on.
    model : str or Path, optional
        A model that ``gem-index fit`` keeps in the home, or a file that :meth:`GemEncoder.save` wrote, whose name ends in
        ``.safetensors`` (it holds no word vectors: name them where they are not the bundled ones, those of several encoders
        in order with a comma and a space between).
    collection : str, optional
        The model of a collection in the home.
    config : GemConfig, mapping of its fields, or name of a preset, optional
        For ``vectors`` alone; by default what suits them (:func:`~gem_index.gem.recommended.recommended_config`).
        ``{"encoders": [...]}``, instead of ``vectors``, for several encoders (:class:`~gem_index.CombinedEncoder`).
    home : Home, str or Path, optional
        Where names are looked up; the default home unless given. Not touched for bundled vectors and files, and never made.
    fingerprint : str, optional
        What the provider's fingerprint has to be.

    Raises
    ------
    FingerprintMismatchError
        If the provider's fingerprint, or the vectors of its model, are others than those asked for.
    ConfigError
        If both a model and a collection are named, or a configuration beside one of them.
    UnknownNameError
        If there is nothing of that name.
    InputError
        If an argument is of another kind, or there is no home where one is named.

    Examples
    --------
    >>> provider = open_provider("wordllama")
    >>> provider.embed_query("a man plays guitar").shape
    (256,)
    """
    _check_kinds(
        vectors=(vectors, str, Path),
        model=(model, str, Path),
        collection=(collection, str),
        home=(home, str, Path, Home),
        fingerprint=(fingerprint, str),
    )
    vectors = None if vectors is None else str(vectors)
    if model is not None and collection is not None:
        raise ConfigError("found a model and a collection; expected one of them")
    if config is not None and (model is not None or collection is not None):
        raise ConfigError(
            "found a configuration beside a fitted model; expected one: a model keeps what it was fitted with"
        )
    home = user_path(home).absolute() if isinstance(home, str | Path) and home else home
    if model is not None and str(model).endswith(MODEL_FILE):
        model = user_path(model).absolute()
    settings: dict[str, Any] = {"vectors": vectors}
    if collection is not None:
        encoder = _home(home).collection(collection).encoder
        settings["collection"] = collection
    elif model is not None:
        encoder = _open_model(str(model), vectors, home)
        settings["model"] = str(model)
    else:
        specs = encoder_specs(vectors, config, DEFAULT_VECTORS)
        encoder = make_encoder(specs, lambda spec: _source(spec, home))
        if isinstance(encoder, GemEncoder):
            settings["vectors"] = vectors = specs[0].vectors
            settings["config"] = encoder.config.to_fields()
        else:
            settings["config"] = {
                "encoders": [
                    {
                        "vectors": spec.vectors,
                        "config": part.config.to_fields(),
                        "weight": spec.weight,
                    }
                    for spec, part in zip(specs, encoder.encoders, strict=True)
                ]
            }
    name = _described(settings)
    if vectors is not None and (model is not None or collection is not None):
        _check_vectors(name, encoder, [_source(part, home) for part in vectors.split(", ")])
    if fingerprint is not None and fingerprint != encoder.fingerprint:
        raise FingerprintMismatchError(
            f"what was saved with {name}",
            fingerprint,
            encoder.fingerprint,
            "open it with the word vectors, configuration and fit it was saved with, or embed everything again",
            kind="encoder",
        )
    settings["home"] = (
        str(home.root.absolute() if isinstance(home, Home) else home) if home else None
    )
    settings["fingerprint"] = encoder.fingerprint
    return NamedProvider(encoder, {key: value for key, value in settings.items() if value})


def _check_kinds(**arguments: tuple[object, *tuple[type, ...]]) -> None:
    for name, (value, *kinds) in arguments.items():
        if value is not None and not isinstance(value, tuple(kinds)):
            raise InputError(
                f"{name} is {str(value)[:60]} ({type(value).__name__}); expected a {' or '.join(k.__name__ for k in kinds)}"
            )


def _home(home: Home | str | Path | None) -> Home:
    if isinstance(home, Home):
        return home
    return Home(home, create=home is None)


def _source(vectors: str, home: Home | str | Path | None) -> VectorSource:
    """Open word vectors; a home is opened where it exists or is needed."""
    if isinstance(home, str | Path):
        needed = has_database(Path(home)) or not _without_home(vectors)
        return open_vectors(vectors, _home(home) if needed else None)
    return open_vectors(vectors, home)


def _without_home(spec: str) -> bool:
    """Tell whether no part of a specification is looked up in a home: bundled names and paths that exist."""
    return all(part.name in BUNDLED or is_path(part.name) for part in split_spec(spec))


def _says_so(spec: str) -> bool:
    """Tell whether it can be seen that no part of a specification is a registered name."""
    return all(part.name in BUNDLED or "/" in part.name for part in split_spec(spec))


def _check_vectors(name: str, encoder: Encoder, named: Sequence[VectorSource]) -> None:
    """Refuse vectors that are not those of each encoder."""
    own = [part.vectors.fingerprint for part in encoder.encoders]
    found = [source.fingerprint for source in named]
    if len(own) != len(found):
        raise ConfigError(
            f"{name} has {len(own)} encoders, found the vectors of {len(found)}; expected those of each, or none"
        )
    for expected, other in zip(own, found, strict=True):
        if expected != other:
            raise FingerprintMismatchError(
                name, expected, other, "leave out the vectors, or name those it was fitted with"
            )


def _open_model(model: str, vectors: str | None, home: Home | str | Path | None) -> Encoder:
    if not model.endswith(MODEL_FILE):
        return _home(home).model(model)
    path = user_path(model)
    if read_model(path)[0].weight is None:
        return GemEncoder.load(path, _source(vectors or DEFAULT_VECTORS, home))
    named = (vectors or DEFAULT_VECTORS).split(", ")
    return CombinedEncoder.load(path, [_source(part, home) for part in named])


def _described(settings: Mapping[str, Any]) -> str:
    kinds = ("collection", "model", "vectors")
    named = (f"the {kind} {settings[kind]}" for kind in kinds if settings.get(kind))
    return next(named, "the configuration")


def open_vectors(spec: str | KeyedVectorsLike, home: Home | None = None) -> VectorSource:
    """Open word vectors.

    Parameters
    ----------
    spec : str or gensim KeyedVectors
        A bundled name (``wordllama``), a name registered in the home, the path of a file or folder of any format that is
        read, or several of these joined by ``+``, each perhaps with a weight (``a*0.7+b``); or an object.
    home : Home, optional
        Where registered names are looked up; the default home unless given, which is not made. A registered name comes
        before a bundled one, and that before a path: a file in the working directory does not change what a name means.

    Raises
    ------
    UnknownNameError
        If a part is neither a name nor a path.
    """
    if not isinstance(spec, str):
        return open_unstored(read_vectors(spec))
    if home is None:
        if _says_so(spec) or not has_database(user_path(load_settings().home)):
            return open_source(spec, {})
        home = Home()
    return home.open_vectors(spec)
