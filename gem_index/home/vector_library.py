"""Add, list, export and remove the word vectors of a home."""

from __future__ import annotations

import builtins
import json
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gem_index.collection.results import Problem
from gem_index.collection.state.models import open_vectors
from gem_index.errors import Action, Advice, ConfigError, NameTakenError, UnknownNameError
from gem_index.files.inputs import user_path
from gem_index.home.vector_rows import find_users, registered_sources
from gem_index.progress import Progress, ProgressOption, reporting
from gem_index.store.names import WordVectorRepository
from gem_index.store.records import SourceRecord
from gem_index.store.workspace import Workspace, check_name
from gem_index.text.tokens import check_text, check_texts
from gem_index.vectors.base import VectorSource
from gem_index.vectors.formats.gensim import KeyedVectorsLike
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.registry import BUNDLED, DEFAULT_VECTORS, plugins
from gem_index.vectors.specification import VectorSpec
from gem_index.vectors.stored import (
    ImportReport,
    damaged_files,
    findings_of,
    import_vectors,
    open_stored,
)
from gem_index.vectors.subword import wordllama_file

if TYPE_CHECKING:
    from gem_index.vectors.sources import FoundSource, StoredSource

__all__ = ["VectorInfo", "VectorLibrary"]


@dataclass(frozen=True)
class VectorInfo:
    """The description of word vectors.

    ``words`` is the number of words; None if the source has a vector for every possible word. ``findings`` has a line
    for each unusual content of the file, and for the precision that is lost if numbers are stored with fewer bits.
    """

    name: str
    words: int | None
    dimension: int
    fingerprint: str
    format: str
    origin: str
    licence: str
    options: dict[str, Any] = field(default_factory=dict)
    findings: ImportReport | None = None


class VectorLibrary:
    """The word vectors of a home; see :attr:`gem_index.Home.vectors`.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def list(self) -> builtins.list[VectorInfo]:
        """Return the bundled and the registered word vectors."""
        bundled = [
            _info_of_source(name, open_bundled(), "subword", "PyPI wordllama", "MIT")
            for name, open_bundled in BUNDLED.items()
        ]
        return bundled + [_info(record) for record in registered_sources(self._workspace).values()]

    def open(self, spec: str) -> VectorSource:
        """Open word vectors: a registered name, a bundled name or a path; ``+`` joins several of these.

        Raises
        ------
        UnknownNameError
            If a part is neither a name nor a path; the message suggests similar names.
        """
        return open_vectors(self._workspace, spec)

    def describe(self, name: str) -> VectorInfo:
        """Return the description of bundled, registered or installed word vectors.

        Raises
        ------
        UnknownNameError
            If no word vectors have this name; the message suggests similar names.
        """
        known = {info.name: info for info in self.list()}
        if name in known:
            return known[name]
        installed = plugins()
        if name in installed:
            package = installed[name].dist
            origin = installed[name].value if package is None else package.name
            source = open_vectors(self._workspace, name)
            return _info_of_source(name, source, "plugin", f"PyPI {origin}", "unknown")
        raise UnknownNameError("vectors", name, {*known, *installed}, Advice(Action.LIST_VECTORS))

    def add(
        self,
        name: str,
        source: str | Path | KeyedVectorsLike | None = None,
        *,
        options: SourceOptions | None = None,
        format: str | None = None,
        mirror: str | None = None,
        origin: str | None = None,
        licence: str | None = None,
        progress: ProgressOption = None,
    ) -> VectorInfo:
        """Copy word vectors into the home under a name.

        Parameters
        ----------
        name : str
        source : str, Path or gensim KeyedVectors, optional
            A file or folder of a known format, a URL, the name of registered, bundled or well-known vectors, the name
            of an installed spaCy pipeline, or ``owner/name`` of a model on the Hugging Face hub. Default: the
            well-known vectors called ``name``.
        options : SourceOptions, optional
            The options for storing and using the vectors.
        format : str, optional
            The format of the file. By default, it is detected.
        mirror : str, optional
            A file, folder or URL from which well-known vectors are read, instead of the original address.
        origin, licence : str, optional
            The origin and licence of the vectors, which are only displayed. Default: those that the source states.
        progress : bool or callable, optional
            True shows a bar on standard error. A function is called with stage, done and total; a total of 0 means that
            the total is not known.

        Raises
        ------
        NameTakenError
            If the name is in use.
        VectorFormatError
            If the source has no known format or is damaged; nothing is stored.
        DownloadError
            If a download fails; the next call continues the download.
        """
        from gem_index.vectors.sources import find_source

        self._check_free(name)
        with (
            reporting(progress, "words") as show,
            find_source(
                name if source is None else source,
                registered=self._stored(),
                downloads=self._workspace.root / "downloads",
                format=format,
                mirror=mirror,
                progress=show,
            ) as found,
        ):
            found = replace(found, origin=origin or found.origin, licence=licence or found.licence)
            return self._store(name, found, options or SourceOptions(), show)

    def fit_vocabulary(
        self,
        name: str,
        texts: Iterable[str],
        *,
        vectors: str = DEFAULT_VECTORS,
        frequent: int = 0,
        options: SourceOptions | None = None,
        progress: ProgressOption = None,
    ) -> VectorInfo:
        """Register, under a new name, only the vectors of a corpus's words and of the most frequent other words.

        Parameters
        ----------
        name : str
        texts : iterable of str
            The corpus, which is read once.
        vectors : str
            The word vectors to reduce, as for :meth:`open`.
        frequent : int
            The number of the most frequent words to keep in addition to the words of the corpus.
        options, progress
            As for :meth:`add`.
        """
        from gem_index.vectors.cut_to_words import cut_to_words
        from gem_index.vectors.sources import FoundSource

        self._check_free(name)
        check_texts(texts)
        texts = (check_text(text, "text") for text in texts)
        spec = VectorSpec.parse(vectors)
        source = open_vectors(self._workspace, spec)
        file = cut_to_words(source, vectors, texts, frequent)
        licences = {info.licence for info in self.list() if info.name in spec.names}
        options = options or SourceOptions()
        if isinstance(source, MappedVectors) and options.case == "keep":
            options = replace(options, case=source.options.case)
        origin = f"{vectors} cut to {file.words} words"
        found = FoundSource(file, origin, " and ".join(sorted(licences)) or "unknown")
        with reporting(progress, "words") as show:
            return self._store(name, found, options, show)

    def export(self, name: str, path: str | Path, format: str | None = None) -> int:
        """Write registered or bundled vectors to a file or folder, and return the number of written words or subwords.

        Raises
        ------
        UnknownNameError
            If no word vectors have this name.
        VectorFormatError
            If the vectors cannot be written in this format.
        """
        from gem_index.vectors.formats.registry import write_vectors

        registered = self._stored()
        if name in registered:
            stored = registered[name]
            file = open_stored(stored.folder).as_file(name, stored.format)
        elif name in BUNDLED:
            file = wordllama_file()
        else:
            if name in plugins():
                raise ConfigError(
                    f"{name} is provided by an installed package; expected registered vectors",
                    Advice(Action.CUT_TO_WORDS),
                )
            raise UnknownNameError(
                "vectors", name, {*registered, *BUNDLED}, Advice(Action.LIST_VECTORS)
            )
        write_vectors(file, user_path(path), format)
        return file.words or 0

    def _check_free(self, name: str) -> None:
        check_name("vectors", name)
        if name in BUNDLED or name in registered_sources(self._workspace):
            raise NameTakenError(
                f"the vectors {name} exist already; expected a new name, or remove them first"
            )

    def _store(
        self, name: str, found: FoundSource, options: SourceOptions, progress: Progress | None
    ) -> VectorInfo:
        total = found.file.words or 0
        with self._workspace.write_lock():
            self._check_free(name)
            location = f"{name}-{uuid.uuid4().hex[:8]}"
            folder = self._workspace.vectors_folder / location
            vectors = import_vectors(
                found.file,
                folder,
                None if progress is None else lambda done: progress("words", done, total),
                options,
            )
            record = SourceRecord(
                name=name,
                fingerprint=vectors.fingerprint,
                words=len(vectors.vocabulary) if isinstance(vectors, MappedVectors) else None,
                dimension=vectors.dimension,
                format=found.file.format,
                origin=found.origin,
                licence=found.licence,
                options=vectors.options.to_json(),
                findings=json.dumps(asdict(findings_of(folder))),
                location=location,
            )
            with self._workspace.database.writing() as connection:
                WordVectorRepository(connection).add(record)
        return _info(record)

    def remove(self, name: str) -> None:
        """Remove registered word vectors that no model uses.

        Raises
        ------
        UnknownNameError
            If no word vectors have this name.
        NameTakenError
            If a model or collection uses the word vectors.
        """
        with self._workspace.write_lock():
            records = registered_sources(self._workspace)
            if name not in records:
                raise UnknownNameError(
                    "registered vectors", name, records, Advice(Action.LIST_VECTORS)
                )
            users = find_users(self._workspace, name)
            if users:
                raise NameTakenError(
                    f"the vectors {name} are used by {', '.join(users)}; expected unused vectors: drop these users first"
                )
            with self._workspace.database.writing() as connection:
                WordVectorRepository(connection).remove(name)

    def verify(self) -> builtins.list[Problem]:
        """Compare every stored file with its recorded hash; return a problem for each changed file."""
        problems = []
        for source in registered_sources(self._workspace).values():
            damaged = damaged_files(self._folder(source))
            if damaged and source != registered_sources(self._workspace).get(source.name):
                continue  # removed in the meantime
            problems += [
                Problem(
                    "vectors",
                    f"{source.name}: {file} is not what was written; add it again from {source.origin}",
                    False,
                )
                for file in damaged
            ]
        return problems

    def _folder(self, record: SourceRecord) -> Path:
        return self._workspace.vectors_folder / record.location

    def _stored(self) -> dict[str, StoredSource]:
        from gem_index.vectors.sources import StoredSource

        return {
            name: StoredSource(self._folder(record), record.format, record.origin, record.licence)
            for name, record in registered_sources(self._workspace).items()
        }


def _info(record: SourceRecord) -> VectorInfo:
    return VectorInfo(
        record.name,
        record.words,
        record.dimension,
        record.fingerprint,
        record.format,
        record.origin,
        record.licence,
        SourceOptions.from_json(record.options).given(),
        ImportReport(**json.loads(record.findings)),
    )


def _info_of_source(
    name: str, source: VectorSource, format: str, origin: str, licence: str
) -> VectorInfo:
    words = len(source.vocabulary) if isinstance(source, MappedVectors) else None
    return VectorInfo(name, words, source.dimension, source.fingerprint, format, origin, licence)
