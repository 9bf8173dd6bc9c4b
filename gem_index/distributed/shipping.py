"""Send an encoder to workers: its word vectors once to each machine, which maps them; the rest with a plugin."""

from __future__ import annotations

import io
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import platformdirs

from gem_index.common.forking import ForkSafeLock
from gem_index.errors import ConfigError, FingerprintMismatchError, GemIndexError, InputError
from gem_index.errors.quoting import quoted_error
from gem_index.files.inputs import make_directory
from gem_index.gem.combined import Encoder
from gem_index.vectors.base import VectorSource
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.registry import BUNDLED, open_source
from gem_index.vectors.stored import (
    damaged_files,
    import_vectors,
    is_stored,
    open_stored,
)
from gem_index.vectors.subword import SubwordVectors

__all__ = [
    "ShippedEncoder",
    "SourceReference",
    "check_encoder",
    "file_chunks",
    "install",
    "missing_sources",
    "open_encoder",
    "pack",
    "receive",
    "wait_for_encoder",
]

_CHUNK = 32 << 20
_PATIENCE = 600  # seconds for word vectors to arrive
_POLL = 0.2
_KEPT = 2  # number of encoders that a worker keeps open


@dataclass(frozen=True)
class SourceReference:
    """Word vectors that a worker opens on its own machine.

    Attributes
    ----------
    fingerprint : str
    name : str
        The name of bundled vectors, else empty.
    folder : str
        The folder on the machine of the client; a worker may see it too.
    """

    fingerprint: str
    name: str = ""
    folder: str = ""


@dataclass(frozen=True)
class ShippedEncoder:
    """An encoder with references instead of its word vectors.

    Attributes
    ----------
    version : str
        Of gem-index.
    fingerprint : str
    state : bytes
        The pickled encoder.
    sources : tuple of SourceReference
    """

    version: str
    fingerprint: str
    state: bytes
    sources: tuple[SourceReference, ...]


# ------------------------------------------------------------------ on the machine of the client


def pack(encoder: Encoder, stack: ExitStack) -> ShippedEncoder:
    """Return an encoder to send; ``stack`` holds temporary folders of word vectors that are stored nowhere.

    The directions of an encoder that was never fitted are sent too: the linear algebra of two machines differs in the last
    bits.

    Raises
    ------
    ConfigError
        If its word vectors cannot be stored in a folder.
    """
    sent = encoder.with_components([part.components for part in encoder.encoders])
    references: dict[int, SourceReference] = {}
    for part in sent.encoders:
        part.threads = 1  # a worker runs as many tasks at once as it has threads
        for source in _leaves(part.vectors):
            if id(source) not in references:
                references[id(source)] = _reference(source, stack)
    file = io.BytesIO()
    _Pickler(file, references).dump(sent)
    sources = {reference.fingerprint: reference for reference in references.values()}
    return ShippedEncoder(
        version("gem-index"), encoder.fingerprint, file.getvalue(), tuple(sources.values())
    )


def file_chunks(reference: SourceReference) -> Iterator[tuple[str, bytes]]:
    """Iterate over the files of stored word vectors in chunks: name and bytes."""
    for path in sorted(Path(reference.folder).iterdir()):
        if not path.is_file():
            continue
        with path.open("rb") as file:
            chunk = file.read(_CHUNK)
            yield path.name, chunk
            while chunk := file.read(_CHUNK):
                yield path.name, chunk


class _Pickler(pickle.Pickler):
    def __init__(self, file: io.BytesIO, references: dict[int, SourceReference]) -> None:
        super().__init__(file, protocol=5)
        self._references = references

    def persistent_id(self, obj: Any) -> str | None:
        """Name a source by its fingerprint."""
        found = self._references.get(id(obj))
        return None if found is None else found.fingerprint


def _leaves(source: VectorSource) -> Iterator[VectorSource]:
    if isinstance(source, CombinedVectors):
        for part in source.sources:
            yield from _leaves(part)
    else:
        yield source


def _reference(source: VectorSource, stack: ExitStack) -> SourceReference:
    fingerprint = source.fingerprint
    if isinstance(source, SubwordVectors):
        for name in BUNDLED:
            if open_source(name, {}).fingerprint == fingerprint:
                return SourceReference(fingerprint, name=name)
    if isinstance(source, MappedVectors | SubwordVectors):
        mapped = getattr(source.rows.matrix, "filename", None)
        if mapped is not None and _holds(Path(mapped).parent, fingerprint):
            return SourceReference(fingerprint, folder=str(Path(mapped).parent))
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="gem-index-")), "stored"
        )
        try:
            found = import_vectors(source.as_file(repr(source), "folder"), folder).fingerprint
        except GemIndexError as error:
            raise _not_sendable(source, quoted_error(error)) from error
        if found == fingerprint:
            return SourceReference(fingerprint, folder=str(folder))
    raise _not_sendable(source, "they are stored in no folder")


def _not_sendable(source: VectorSource, reason: str) -> ConfigError:
    return ConfigError(
        f"the word vectors {source!r} cannot be sent to workers: {reason}; expected vectors of a home: add them to one"
    )


def _holds(folder: Path, fingerprint: str) -> bool:
    """Tell whether a folder has the word vectors with this fingerprint."""
    try:
        return is_stored(folder) and open_stored(folder).fingerprint == fingerprint
    except (GemIndexError, OSError):
        return False


# ------------------------------------------------------------------ in the process of a worker

_INSTALLED: dict[str, ShippedEncoder] = {}
_OPEN: dict[str, Encoder] = {}
_OPENING = ForkSafeLock()


def install(shipped: ShippedEncoder) -> None:
    """Keep a sent encoder in this process, to be opened by its fingerprint."""
    _INSTALLED[shipped.fingerprint] = shipped


def open_encoder(fingerprint: str) -> Encoder:
    """Return an installed encoder; the last ones stay open.

    Raises
    ------
    InputError
        If its word vectors are not on this machine.
    FingerprintMismatchError
        If they are others.
    """
    with _OPENING:
        if fingerprint not in _OPEN:
            shipped = _INSTALLED[fingerprint]
            sources = {each.fingerprint: _open(each) for each in shipped.sources}
            encoder: Encoder = _Unpickler(io.BytesIO(shipped.state), sources).load()
            if encoder.fingerprint != fingerprint:
                raise FingerprintMismatchError(
                    "the work",
                    fingerprint,
                    encoder.fingerprint,
                    "install the same version",
                    kind="encoder",
                )
            for old in list(_OPEN)[: len(_OPEN) - _KEPT + 1]:
                del _OPEN[old]
            _OPEN[fingerprint] = encoder
        return _OPEN[fingerprint]


def wait_for_encoder(fingerprint: str, seconds: float = _PATIENCE) -> Encoder:
    """Return an installed encoder for a task; on a machine that joined late, wait until its word vectors have arrived."""
    if fingerprint in _OPEN:
        return open_encoder(fingerprint)
    end = time.monotonic() + seconds
    while missing_sources(_INSTALLED[fingerprint].sources) and time.monotonic() < end:
        time.sleep(_POLL)
    return open_encoder(fingerprint)


class _Unpickler(pickle.Unpickler):
    def __init__(self, file: io.BytesIO, sources: dict[str, VectorSource]) -> None:
        super().__init__(file)
        self._sources = sources

    def persistent_load(self, pid: Any) -> VectorSource:
        """Return the source with this fingerprint."""
        return self._sources[pid]


def check_encoder(shipped: ShippedEncoder) -> str:
    """Install and open a sent encoder; return the problem in one line, empty if there is none."""
    install(shipped)
    try:
        open_encoder(shipped.fingerprint)
    except (GemIndexError, OSError) as error:
        return quoted_error(error)
    return ""


def missing_sources(sources: Sequence[SourceReference]) -> list[SourceReference]:
    """Return the sources that are not on this machine."""
    return [each for each in sources if not each.name and _folder_of(each) is None]


def receive(reference: SourceReference, name: str, chunk: bytes, transfer: str) -> None:
    """Append a chunk to a file of word vectors that are being sent; without a name they are complete.

    Raises
    ------
    InputError
        If they have not arrived whole.
    OSError
        If the disk does not take them.
    """
    final = _cache(reference)
    partial = final.with_name(f".{final.name}.{transfer}.partial")
    if name:
        make_directory(partial)
        with (partial / name).open("ab") as file:
            file.write(chunk)
        return
    if damaged := damaged_files(partial):
        shutil.rmtree(partial, ignore_errors=True)
        raise InputError(
            f"the word vectors {reference.fingerprint[:12]} arrived damaged ({damaged[0]}); run it again"
        )
    if final.exists():  # another worker of this machine was faster
        shutil.rmtree(partial, ignore_errors=True)
        return
    try:
        partial.rename(final)
    except OSError:
        if not final.exists():
            raise
        shutil.rmtree(partial, ignore_errors=True)


def _open(reference: SourceReference) -> VectorSource:
    if reference.name:
        source = open_source(reference.name, {})
        if source.fingerprint != reference.fingerprint:
            raise FingerprintMismatchError(
                f"the encoder with the vectors {reference.name}",
                reference.fingerprint,
                source.fingerprint,
                "install the same version of their package",
            )
        return source
    folder = _folder_of(reference)
    if folder is None:
        raise InputError(
            f"the word vectors {reference.fingerprint[:12]} are not on this machine; expected them to be sent first"
        )
    return open_stored(folder)


def _folder_of(reference: SourceReference) -> Path | None:
    """Return the folder of the word vectors: the client's folder if this machine sees it, else a folder in the cache."""
    for folder in (Path(reference.folder), _cache(reference)):
        if _holds(folder, reference.fingerprint):
            return folder
    return None


def _cache(reference: SourceReference) -> Path:
    return platformdirs.user_cache_path("gem-index") / "vectors" / reference.fingerprint
