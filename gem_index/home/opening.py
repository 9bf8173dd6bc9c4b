"""Open embedding providers by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypedDict

from gem_index.common.settings import load_settings
from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import user_path
from gem_index.gem.specification import ConfigLike
from gem_index.home.choice import EncoderChoice, NamedProvider
from gem_index.home.home import Home
from gem_index.store.workspace import has_database

__all__ = ["ProviderOptions", "find_provider", "open_provider"]


class ProviderOptions(TypedDict, total=False):
    """The keyword arguments of :func:`open_provider`. Adapters declare ``**options: Unpack[ProviderOptions]``."""

    model: str | Path | None
    collection: str | None
    config: ConfigLike | None
    home: Home | str | Path | None
    fingerprint: str | None
    words: str | Path | None


def open_provider(
    vectors: str | Path | None = None,
    *,
    model: str | Path | None = None,
    collection: str | None = None,
    config: ConfigLike | None = None,
    home: Home | str | Path | None = None,
    fingerprint: str | None = None,
    words: str | Path | None = None,
) -> NamedProvider:
    """Open an embedding provider by name; every adapter wraps such a provider.

    Parameters
    ----------
    vectors : str or Path, optional
        Word vectors, as for :func:`open_vectors`; the encoder uses their background components. Default: the bundled
        vectors. If a model or a collection is named, its encoder must use these vectors.
    model : str or Path, optional
        The name of a model in the home (``gem-index fit``), or a file that :meth:`GemEncoder.save` wrote, whose name ends
        in ``.safetensors``. Such a file does not have the word vectors: give their name in ``vectors``, except for the
        bundled vectors. For a file with several encoders, give the names for all encoders, in order, joined by a comma
        and a space.
    collection : str, optional
        The name of a collection in the home; its model is opened.
    config : GemConfig, mapping of its fields, or name of a preset, optional
        The configuration; only if neither a model nor a collection is named. Default: the recommended configuration
        (:func:`~gem_index.gem.recommended.recommended_config`). For several encoders
        (:class:`~gem_index.CombinedEncoder`), give ``{"encoders": [...]}`` instead of ``vectors``.
    home : Home, str or Path, optional
        The home in which names are looked up. Default: the default home. If a model or a collection is
        named, the default home is created if it does not exist. Bundled vectors and files need no home.
    fingerprint : str, optional
        The fingerprint that the provider must have.
    words : str or Path, optional
        The word statistics of sparse vectors: a file that :meth:`gem_index.sparse.SparseEncoder.save` wrote, whose name
        ends in ``.json``; or the language of the texts, such as ``de``, for general statistics. Default: the word
        statistics of the collection; without a collection, ``en``.

    Raises
    ------
    FingerprintMismatchError
        If the provider's fingerprint or its model's vectors differ from the arguments.
    ConfigError
        If both a model and a collection are named, or if a model or a collection is combined with a configuration.
    UnknownNameError
        If a name does not exist.
    InputError
        If an argument has another type, or the named folder is not a home.

    Examples
    --------
    >>> provider = open_provider("wordllama")
    >>> provider.embed_query("a man plays guitar").shape
    (256,)
    """
    return EncoderChoice(
        vectors=vectors,
        model=model,
        collection=collection,
        config=config,
        home=home,
        fingerprint=fingerprint,
        words=words,
    ).open()


def find_provider(fingerprint: str, home: Home | str | Path | None = None) -> NamedProvider:
    """Open the encoder that has a fingerprint, for example the fingerprint in a vector database.

    The fingerprints of all collections and models of the home are compared first, then that of the default encoder.

    Parameters
    ----------
    fingerprint : str
        The complete fingerprint of the encoder.
    home : Home, str or Path, optional
        The home that is searched. Default: the default home, if it exists.

    Raises
    ------
    ConfigError
        If no encoder has this fingerprint; the message names up to five encoders of the home.
    """
    choices: list[tuple[str, dict[str, Any]]] = []
    where = "(no home was searched)"
    if home is not None or has_database(user_path(load_settings().home)):
        place = home if isinstance(home, Home) else Home(home, create=False)
        where = f"in the home {place.root}"
        choices = [(each.fingerprint, {"collection": each.name}) for each in place.collections()]
        choices += [(each.fingerprint, {"model": each.name}) for each in place.models.list()]
    for found, choice in choices:
        if found == fingerprint:
            return open_provider(**choice, home=home, fingerprint=fingerprint)
    bundled = open_provider()
    if bundled.fingerprint == fingerprint:
        return bundled
    names = [f"{next(iter(choice.values()))} {found[:12]}" for found, choice in choices][:5]
    raise ConfigError(
        f"found no encoder {quoted(fingerprint[:12])[1:-1]} {where}; there are {', '.join(names) or 'no encoders'}; "
        "expected the one that the vectors were made with: name its home, or push the collection again"
    )
