"""A map of a collection: the documents on a plane, with similar documents near each other."""

from __future__ import annotations

import json
import logging
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from gem_index.collection.corpus.corpus import read_corpus
from gem_index.collection.corpus.map_files import MapDrawing, MapGroup, map_path, write_map
from gem_index.collection.corpus.map_places import load_tsne, place_texts
from gem_index.collection.corpus.results import DocumentMap, MapColors
from gem_index.collection.corpus.topics import rows_with_words, topics_in
from gem_index.collection.state.access import CollectionAccess, CollectionRows
from gem_index.errors import DiskError, InputError
from gem_index.errors.quoting import quoted, quoted_error
from gem_index.files.npy import read_arrays
from gem_index.files.publishing import publish_directory
from gem_index.files.tables import ENDINGS
from gem_index.index.dense import spread
from gem_index.index.hits import Ids
from gem_index.progress import Progress
from gem_index.store.records import CollectionRecord

__all__ = ["colors_of", "draw_map", "kept_map", "make_map"]

_LOG = logging.getLogger(__name__)

_MOST = 200_000  # texts of a map, at most
_NAMES_READ = 2_000  # documents in which the names of fields are found
_COLORS = 10  # values of a field; each of them has a separate colour, all others share one
_BLOCK = 4096
# seconds; the time to wait for a writer is long, because a map takes minutes to compute
_PATIENCE = 3600.0
_LARGEST = 1e300  # numbers; a field with a larger number is grouped by values, not by ranges


def kept_map(access: CollectionAccess) -> DocumentMap | None:
    """Return the stored map of the present fit, without deleted documents; None if there is no map."""
    with access.reading() as rows:
        try:
            arrays = read_arrays(access.map_folder(rows.record) / "map.npz")
            seqs, places, topics = arrays["seqs"], arrays["places"], arrays["topics"]
            words = json.loads((access.map_folder(rows.record) / "topics.json").read_text("utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, BadZipFile) as error:
            _LOG.warning("the map of %s cannot be read; make it again: %s", access.name, error)
            return None
        here = np.isin(seqs, rows.documents.seqs())
        return DocumentMap(
            ids=tuple(rows.documents.ids_of(seqs[here])),
            places=places[here],
            topics=topics[here],
            words=tuple(tuple(each) for each in words),
            fields=_fields(rows, seqs[here]),
            documents=rows.documents.count(),
            seqs=seqs[here],
        )


def make_map(access: CollectionAccess, show: Progress | None) -> DocumentMap:
    """Make and store a map; see :meth:`gem_index.Collection.make_map`."""
    load_tsne()  # fails now if it is missing, not after minutes of encoding
    with access.reading() as rows:
        before = rows.record
    corpus = read_corpus(access, None, show)
    topics = topics_in(access, corpus, None, show)
    known = spread(rows_with_words(corpus.vectors), _MOST)
    if not len(known):
        raise InputError(
            f"the collection {access.name} has no text with a word; expected texts for a map: add some first"
        )
    numbers = np.full(len(corpus.vectors), -1, np.int32)
    numbers[known] = np.arange(len(known))
    shown = numbers[corpus.texts] >= 0
    places = place_texts(np.ascontiguousarray(corpus.vectors[known], np.float32), show)
    with access.workspace.write_lock(timeout=_PATIENCE), access.reading() as rows:
        present = np.isin(corpus.seqs, rows.documents.seqs())
        _check_unchanged(before, rows.record, some_deleted=not present.all())
        here = shown & present
        seqs = corpus.seqs[here]
        ids = rows.documents.ids_of(seqs)
        of = np.array([-1 if (t := topics.assigned.get(name)) is None else t for name in ids])

        def fill(directory: Path) -> None:
            np.savez(
                directory / "map.npz",
                seqs=seqs,
                places=places[numbers[corpus.texts[here]]].astype(np.float32),
                topics=of.astype(np.int32),
            )
            words = json.dumps([topic.words for topic in topics], ensure_ascii=False)
            (directory / "topics.json").write_text(words, "utf-8")

        folder = access.map_folder(rows.record)
        try:
            if folder.exists():
                shutil.rmtree(folder)
            publish_directory(folder, fill)
        except OSError as error:
            raise DiskError(
                f"cannot write the map of {access.name}: {quoted_error(error)}; make room on the disk and try again"
            ) from error
    made = kept_map(access)
    assert made is not None
    return made


def _check_unchanged(
    before: CollectionRecord, now: CollectionRecord, *, some_deleted: bool
) -> None:
    """Check that the model is unchanged, and that the map has no words of a document that was erased meanwhile.

    Raises
    ------
    InputError
        If the model has changed, or a document was erased.
    """
    if now.map_directory != before.map_directory:
        raise InputError(
            f"the collection {now.name} was refitted meanwhile; expected one model: make the map again"
        )
    if some_deleted and now.directory != before.directory:
        raise InputError(
            f"documents of the collection {now.name} were deleted and its index rebuilt meanwhile; expected the same "
            "documents: make the map again"
        )


def colors_of(access: CollectionAccess, made: DocumentMap, name: str) -> MapColors:
    """Group the documents by a metadata field: by its most frequent values, or by ranges of numbers.

    Parameters
    ----------
    access : CollectionAccess
    made : DocumentMap
    name : str
        The name of a field. If no document has the field, there is one group.
    """
    values: list[Any] = [None] * len(made.seqs)
    with access.reading() as rows:
        for begin in range(0, len(values), _BLOCK):
            block = made.seqs[begin : begin + _BLOCK]
            seqs, _, _, metadata = rows.documents.columns(block.tolist())
            for place, text in zip(np.searchsorted(block, seqs), metadata, strict=True):
                values[begin + int(place)] = json.loads(text).get(name)
    present = [value for value in values if value is not None]
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) for v in present)
    small = numbers and all(abs(value) <= _LARGEST for value in present)
    if small and len(set(present)) > _COLORS:
        return _ranges(values)
    return _frequent(values)


def _frequent(values: Sequence[Any]) -> MapColors:
    """Return groups for the most frequent values, for all other values together, and for documents without a value."""
    labels = [None if value is None else _label(value) for value in values]
    counts = Counter(label for label in labels if label is not None)
    most = counts.most_common(_COLORS if len(counts) <= _COLORS else _COLORS - 1)
    codes = {label: code for code, (label, _) in enumerate(most)}
    names, sizes = [label for label, _ in most], [size for _, size in most]
    for label, size in (
        ("other", len(labels) - sum(sizes) - labels.count(None)),
        ("none", labels.count(None)),
    ):
        if size:
            names.append(label)
            sizes.append(size)
    other = len(most)
    found = [len(names) - 1 if label is None else codes.get(label, other) for label in labels]
    return MapColors(np.array(found, np.int32), tuple(names), tuple(sizes), ordered=False)


def _ranges(values: Sequence[Any]) -> MapColors:
    """Return groups of similar size by ranges of numbers, and a group for documents without a number."""
    numbers = np.array([np.nan if value is None else float(value) for value in values])
    known = ~np.isnan(numbers)
    bounds = np.unique(np.quantile(numbers[known], np.linspace(0, 1, _COLORS - 1)[1:-1]))
    bounds = bounds[bounds > numbers[known].min()]  # no number is below the others
    codes = np.searchsorted(bounds, numbers, "right")
    codes[~known] = len(bounds) + 1
    names, sizes = [], []
    for code in range(len(bounds) + 2):
        mine = numbers[codes == code]
        if code <= len(bounds):
            names.append(_range([v for v, c in zip(values, codes, strict=True) if c == code]))
        elif len(mine):
            names.append("none")
        else:
            continue
        sizes.append(len(mine))
    return MapColors(codes.astype(np.int32), tuple(names), tuple(sizes), ordered=True)


def _range(values: Sequence[Any]) -> str:
    """Return a name for a range of numbers; integers are written with all digits."""
    first, last = min(values), max(values)
    named = [str(end) if isinstance(end, int) else f"{end:.4g}" for end in (first, last)]
    if named[0] == named[1] and first != last:
        named = [str(first), str(last)]
    return " to ".join(dict.fromkeys(named))


def _label(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _fields(rows: CollectionRows, seqs: Ids) -> tuple[str, ...]:
    counts = Counter[str]()
    sample = spread(seqs, _NAMES_READ).tolist() if len(seqs) else []
    for text in rows.documents.columns(sample)[3]:
        counts.update(json.loads(text).keys())
    return tuple(name for name, _ in counts.most_common())


def draw_map(
    access: CollectionAccess,
    path: str | Path,
    color: str | None,
    again: bool,
    show: Progress | None,
) -> DocumentMap:
    """Write the map of a collection to a file; see :meth:`gem_index.Collection.draw_map`."""
    target = map_path(path, *ENDINGS)
    made = None if again else kept_map(access)
    if made is None:
        made = make_map(access, show)
    if color is not None and color not in made.fields:
        raise InputError(
            f"no document of the collection {access.name} has a field {quoted(color)}; expected one of "
            f"{', '.join(map(quoted, made.fields)) or 'its fields, but it has none'}"
        )
    if color is None:
        names = [*made.words, ()]
        codes = np.where(made.topics < 0, len(made.words), made.topics).astype(np.int32)
        counts = np.bincount(codes, minlength=len(names)).tolist()
        groups = [MapGroup(words, count) for words, count in zip(names, counts, strict=True)]
        groups = groups if counts[-1] else groups[:-1]
    else:
        colors = colors_of(access, made, color)
        codes = colors.codes
        groups = [
            MapGroup((n,), count) for n, count in zip(colors.names, colors.counts, strict=True)
        ]
    places = made.places.astype(np.float64)
    write_map(MapDrawing(made.ids, _texts(access, made), places, codes, groups), target)
    return made


def _texts(access: CollectionAccess, made: DocumentMap) -> list[str]:
    """Return the text of each document of a map; the text is empty if the document was deleted meanwhile."""
    found: list[str] = []
    with access.reading() as rows:
        for begin in range(0, len(made.seqs), _BLOCK):
            block = made.seqs[begin : begin + _BLOCK].tolist()
            seqs, _, texts, _ = rows.documents.columns(block)
            known = dict(zip(seqs, texts, strict=True))
            found += [known.get(seq, "") for seq in block]
    return found
