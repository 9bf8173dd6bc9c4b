"""Find the word vectors that a user names: paths, addresses, names, installed packages, hub models."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from gem_index.errors import (
    Action,
    Advice,
    ConfigError,
    DownloadError,
    UnknownNameError,
    VectorFormatError,
)
from gem_index.errors.quoting import quoted
from gem_index.files.inputs import COMPRESSED, sha256_of_file, user_path
from gem_index.progress import Progress
from gem_index.vectors.catalogue import (
    ANY_LANGUAGE,
    CATALOGUE,
    CatalogueEntry,
    RemoteFile,
    find_entry,
    hub_entry,
)
from gem_index.vectors.download import (
    checked_address,
    download,
    expected_size_and_hash,
    hub_folder,
    is_address,
)
from gem_index.vectors.formats.registry import KeyedVectorsLike, VectorFile, read_vectors
from gem_index.vectors.formats.spacy import find_pipeline
from gem_index.vectors.registry import BUNDLED, plugins
from gem_index.vectors.specification import is_path
from gem_index.vectors.stored import open_stored, vector_file
from gem_index.vectors.subword import wordllama_file

__all__ = ["FoundSource", "StoredSource", "find_source"]

_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")


@dataclass(frozen=True)
class FoundSource:
    """A file of word vectors with its origin and licence."""

    file: VectorFile
    origin: str
    licence: str = "unknown"


@dataclass(frozen=True)
class StoredSource:
    """Word vectors stored in a home: the folder, and the format, origin and licence of the source."""

    folder: Path
    format: str
    origin: str
    licence: str


@contextmanager
def find_source(
    source: str | Path | KeyedVectorsLike,
    *,
    registered: Mapping[str, StoredSource],
    downloads: Path,
    format: str | None = None,
    mirror: str | None = None,
    progress: Progress | None = None,
) -> Iterator[FoundSource]:
    """Yield the word vectors that a user names; downloaded files are removed after the block, unless it raises.

    Parameters
    ----------
    source : str, Path or gensim KeyedVectors
        The name of registered or bundled vectors, a file or folder, the name of well-known vectors or of an installed spaCy
        pipeline, a web address, or ``owner/name`` of a model on the hub; tried in this order.
    registered : mapping
        The home's vectors by name.
    downloads : Path
        The folder for downloaded files.
    format : str, optional
        As for ``read_vectors``.
    mirror : str, optional
        A file, folder or address from which to read well-known vectors, instead of their published address.
    progress : callable, optional
        Called with stage, done and total.

    Raises
    ------
    UnknownNameError
        If it is none of these; similar names are suggested.
    DownloadError
        If a download fails.
    """
    if not isinstance(source, str | Path):
        yield FoundSource(read_vectors(source), type(source).__name__)
        return
    name = str(source)
    if mirror is not None and not is_address(mirror):
        entry = _find_well_known(name)
        yield FoundSource(
            _open_local_copy(entry, mirror, format), _origin(entry, name), entry.licence
        )
        return
    if mirror is None:
        for resolve in (
            _find_registered,
            _find_bundled,
            _find_path,
            _find_packaged,
            _find_pipeline,
        ):
            found = resolve(name, registered, format)
            if found is not None:
                yield found
                return
        entry = _find_remote(name, registered)
    else:
        entry = _use_mirror(_find_well_known(name), mirror)
    with _download_entry(entry, downloads, progress) as folder:
        yield FoundSource(
            _open_downloaded(entry, folder, format), _origin(entry, name), entry.licence
        )


# Sources on this machine, in the order in which a name is looked up; each function returns None if it does not know a name.

Registered = Mapping[str, StoredSource]


def _find_registered(name: str, registered: Registered, _format: str | None) -> FoundSource | None:
    if name not in registered:
        return None
    stored = registered[name]
    file = open_stored(stored.folder).as_file(name, stored.format)
    return FoundSource(file, stored.origin, stored.licence)


def _find_bundled(name: str, _registered: Registered, _format: str | None) -> FoundSource | None:
    return FoundSource(wordllama_file(), "PyPI wordllama", "MIT") if name in BUNDLED else None


def _find_path(name: str, _registered: Registered, format: str | None) -> FoundSource | None:
    if not is_path(name):
        return None
    return FoundSource(vector_file(name, format), str(user_path(name).absolute()))


def _find_packaged(name: str, _registered: Registered, _format: str | None) -> FoundSource | None:
    entry = find_entry(name)
    if entry is None or entry.packaged is None:
        return None
    file = entry.packaged_file()
    return FoundSource(file, file.origin, entry.licence)


def _find_pipeline(name: str, _registered: Registered, _format: str | None) -> FoundSource | None:
    if find_entry(name) or is_address(name) or not find_pipeline(name):
        return None
    return FoundSource(read_vectors(name, "spacy"), f"spaCy pipeline {name}")


def _find_remote(name: str, registered: Registered) -> CatalogueEntry:
    """Return the files to download for a name: an address, well-known vectors, or a model on the hub.

    Raises
    ------
    ConfigError
        If an installed package offers vectors of that name.
    UnknownNameError
        If the name is not known.
    """
    if is_address(name):
        address = checked_address(name)
        return CatalogueEntry((RemoteFile(address, _file_name(name)),), "unknown", "")
    if name in plugins():
        raise ConfigError(
            f"{name} is provided by an installed package and used directly; expected a file or name to copy",
            Advice(Action.CUT_TO_WORDS),
        )
    entry = find_entry(name)
    if entry is not None:
        return entry
    if _HUB_ID.fullmatch(name) and not _looks_like_a_path(name):
        return hub_entry(name)
    raise UnknownNameError(
        "file, address or known vectors",
        name,
        {*registered, *BUNDLED, *CATALOGUE, *plugins()},
        "name an existing file or folder",
    )


def _find_well_known(name: str) -> CatalogueEntry:
    """Return the entry of vectors that a mirror may hold; ConfigError if they are neither well known nor on the hub."""
    entry = find_entry(name)
    if entry is not None:
        return entry
    if not _HUB_ID.fullmatch(name):
        raise ConfigError(
            f"found a mirror for {quoted(name)}, which is not a well-known name; expected one of "
            f"{', '.join((*CATALOGUE, ANY_LANGUAGE))}, or owner/name of a model on the hub"
        )
    return hub_entry(name)


def _looks_like_a_path(name: str) -> bool:
    """Tell whether ``owner/name`` is probably the path of a missing file."""
    endings = (*COMPRESSED, ".txt", ".vec", ".bin", ".npy", ".safetensors", ".parquet", ".kv")
    return name.lower().endswith(endings) or Path(name).parent.is_dir()


def _file_name(address: str) -> str:
    found = address.partition("?")[0].partition("#")[0].rstrip("/").rpartition("/")[2]
    return re.sub(r"[^A-Za-z0-9._-]+", "-", found).strip(".-") or "vectors"


def _origin(entry: CatalogueEntry, name: str) -> str:
    if entry.hub:
        return f"hub {entry.hub}"
    return entry.files[0].address if entry.files else name


def _open_downloaded(entry: CatalogueEntry, folder: Path, format: str | None) -> VectorFile:
    """Open downloaded vectors: a folder of several files, or one file, possibly a member of a zip file."""
    if entry.hub:
        return read_vectors(folder, format or "model2vec")
    path = folder / entry.files[0].name
    return vector_file(path / entry.member if entry.member else path, format)


def _open_local_copy(entry: CatalogueEntry, mirror: str, format: str | None) -> VectorFile:
    """Open a local copy of well-known vectors; a file with the published name must have the published hash."""
    path = user_path(mirror)
    for file in entry.files:
        if path.name == file.name and path.is_file() and file.sha256 is not None:
            found = sha256_of_file(path)
            if found != file.sha256:
                raise DownloadError(
                    f"{mirror} has the SHA-256 {found}, expected {file.sha256} of {file.address}; "
                    "the copy is damaged or another file"
                )
    inside = entry.member and path.suffix == ".zip"
    return vector_file(path / str(entry.member) if inside else path, format)


def _use_mirror(entry: CatalogueEntry, mirror: str) -> CatalogueEntry:
    mirror = checked_address(mirror)
    if entry.hub:
        base = mirror.rstrip("/")
        files = tuple(replace(file, address=f"{base}/{file.name}") for file in entry.files)
        return replace(entry, files=files)
    file = entry.files[0] if entry.files else RemoteFile(mirror, _file_name(mirror))
    return replace(entry, files=(replace(file, address=mirror),))


@contextmanager
def _download_entry(
    entry: CatalogueEntry, downloads: Path, progress: Progress | None
) -> Iterator[Path]:
    from filelock import FileLock

    key = hashlib.sha256(" ".join(file.address for file in entry.files).encode()).hexdigest()[:16]
    folder = downloads / key
    downloads.mkdir(mode=0o700, parents=True, exist_ok=True)
    # another process that downloads the same vectors waits, and then uses the files or resumes the download; all downloads
    # share sixteen locks that stay: removing a lock file while a process waits for it would create a second lock
    with FileLock(downloads / f"{key[0]}.lock", mode=0o600):
        try:
            for file in _expected_files(entry):

                def report(done: int, total: int, name: str = file.name) -> None:
                    if progress is not None:
                        progress(f"download {name}", done, total)

                download(file, folder, report)
            yield folder
        except VectorFormatError:
            if not all(file.sha256 for file in entry.files):
                shutil.rmtree(
                    folder, ignore_errors=True
                )  # without a hash, nothing shows that the download was correct
            raise
        except DownloadError:
            if folder.is_dir() and not any(folder.iterdir()):
                folder.rmdir()
            raise
        shutil.rmtree(folder, ignore_errors=True)


def _expected_files(entry: CatalogueEntry) -> Iterator[RemoteFile]:
    """Iterate over an entry's files; hub files get the folder, size and hash that the hub publishes."""
    if not entry.hub:
        yield from entry.files
        return
    base = entry.files[0].address.removesuffix(entry.files[0].name).rstrip("/")
    inner = hub_folder(base)
    for file in entry.files:
        address = f"{base}/{inner}{file.name}"
        promise = expected_size_and_hash(address) or (file.size, file.sha256)
        yield replace(file, address=address, size=promise[0], sha256=promise[1])
