"""Search the words of a snapshot: BM25 over terms, with tantivy. `lexical_tail` searches the newer documents."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.common.forking import cached_property
from gem_index.errors import Action, Advice, CorruptionError, DiskError
from gem_index.errors.quoting import quoted_error
from gem_index.index.hits import Hits, Ids, among
from gem_index.index.vocabulary import VOCABULARY, StoredVocabulary, WordsToStore
from gem_index.text.analyzer import FIRST, Analyzer

__all__ = ["LexicalIndex"]

_ANALYZER = "gem_index"
_TEXT, _ID = "text", "id"
_META, _FILES = (
    "meta.json",
    ".managed.json",
)  # tantivy's list of segments, and its list of all files
_WRITER_BYTES = 64_000_000
_FEW_IDS = 300  # up to this number of ids, one query per id is faster than a set query
_NAMED_IDS = 20_000  # accepted ids; if there are more, hits are filtered after the search


@cache
def _schema() -> Any:
    import tantivy

    builder = tantivy.SchemaBuilder()
    builder.add_text_field(_TEXT, stored=False, tokenizer_name=_ANALYZER, index_option="freq")
    builder.add_unsigned_field(_ID, stored=False, indexed=True, fast=True)
    return builder.build()


def _id_query(ids: list[int]) -> Any:
    """Return a query for the documents with these ids."""
    import tantivy

    if len(ids) > _FEW_IDS:
        return tantivy.Query.term_set_query(_schema(), _ID, ids)
    each = [(tantivy.Occur.Should, tantivy.Query.term_query(_schema(), _ID, one)) for one in ids]
    return tantivy.Query.boolean_query(each)


@contextmanager
def _report_damage(folder: Path) -> Iterator[None]:
    """Convert tantivy's errors for damaged files, including Rust panics, to CorruptionError."""
    try:
        yield
    except BaseException as error:
        damaged = isinstance(error, ValueError | LookupError | TypeError | OSError)
        if not damaged and type(error).__name__ != "PanicException":
            raise
        raise CorruptionError(
            f"{folder} cannot be read: {quoted_error(error)}", Advice(Action.REBUILD_INDEX)
        ) from error


class LexicalIndex:
    """A BM25 index over the words of documents or of their pieces; its files never change.

    Parameters
    ----------
    index : tantivy.Index
    folder : Path
        The folder of the index files.

    Attributes
    ----------
    documents : int
        The number of texts in the index's statistics: one for each document, or for each piece. The statistics also
        count deleted documents and their terms.
    """

    def __init__(self, index: Any, folder: Path) -> None:
        self._folder = folder
        meta = json.loads((folder / _META).read_text())
        self.documents = sum(segment["max_doc"] for segment in meta["segments"])
        # tantivy requires an analyzer; it is not used, because queries are made of terms
        index.register_tokenizer(_ANALYZER, FIRST.tantivy)
        index.config_reader(reload_policy="manual")
        self._searcher = index.searcher()

    def __len__(self) -> int:
        return int(self._searcher.num_docs)

    @staticmethod
    def write(
        folder: Path,
        blocks: Iterable[tuple[Ids, Sequence[str]]],
        analyzer: Analyzer,
        old: Path | None = None,
        dead: Ids | None = None,
    ) -> tuple[int, int]:
        """Index blocks of ids and texts in a new folder.

        Parameters
        ----------
        folder : Path
        blocks : iterable of (ids, texts)
            The documents. An id occurs once for each piece of its document.
        analyzer : Analyzer
        old : Path, optional
            The folder of an existing index by the same analyzer, whose documents the new index also gets. The files of the
            old index never change, so they are hard-linked.
        dead : int64 array, optional
            Documents of the old index that the new index does not get.

        Returns
        -------
        tuple of int
            The number of added texts, and the number of their terms.

        Raises
        ------
        DiskError
            If the files cannot be written.
        """
        try:
            return LexicalIndex._write(folder, blocks, analyzer, old, dead)
        except ValueError as error:
            raise DiskError(
                f"cannot write the index of words: {quoted_error(error)}; make room on the disk and try again"
            ) from error

    @staticmethod
    def _write(
        folder: Path,
        blocks: Iterable[tuple[Ids, Sequence[str]]],
        analyzer: Analyzer,
        old: Path | None,
        dead: Ids | None,
    ) -> tuple[int, int]:
        import tantivy

        folder.mkdir(mode=0o700)
        if old is not None:
            for path in old.iterdir():
                if path.name.endswith(".json"):  # copy, because tantivy changes its lists of files
                    shutil.copyfile(path, folder / path.name)
                elif path.suffix != ".lock" and path.name != VOCABULARY:
                    (folder / path.name).hardlink_to(path)
            index = tantivy.Index.open(str(folder))
        else:
            index = tantivy.Index(_schema(), path=str(folder))
        index.register_tokenizer(_ANALYZER, analyzer.tantivy)
        writer = index.writer(_WRITER_BYTES, 1)
        if dead is not None and len(dead):
            writer.delete_documents_by_query(
                tantivy.Query.term_set_query(_schema(), _ID, dead.tolist())
            )
        words = WordsToStore()
        documents = terms = 0
        for ids, texts in blocks:
            for identifier, text in zip(ids.tolist(), texts, strict=True):
                tokens = analyzer.tokens(text)
                terms += len(tokens)
                words.add(tokens)
                document = tantivy.Document()
                document.add_text(_TEXT, " ".join(tokens))
                document.add_unsigned(_ID, identifier)
                writer.add_document(document)
            documents += len(ids)
        writer.commit()
        writer.wait_merging_threads()
        words.write(folder, [] if old is None else [old])
        return documents, terms

    @staticmethod
    def join(folder: Path, parts: Sequence[Path]) -> None:
        """Join several indexes that :meth:`write` wrote, in a new folder.

        tantivy's segments are files that never change and have unique names. So the files are linked, and only the lists
        of segments are concatenated.
        """
        folder.mkdir(mode=0o700)
        metas = [json.loads((part / _META).read_text()) for part in parts]
        files = [name for part in parts for name in json.loads((part / _FILES).read_text())]
        for part in parts:
            for path in part.iterdir():
                if path.suffix not in (".json", ".lock") and path.name != VOCABULARY:
                    (folder / path.name).hardlink_to(path)
        whole = metas[0] | {
            "segments": [segment for meta in metas for segment in meta["segments"]],
            "opstamp": max(meta["opstamp"] for meta in metas),
        }
        (folder / _META).write_text(json.dumps(whole))
        (folder / _FILES).write_text(json.dumps(sorted(set(files))))
        WordsToStore().write(folder, parts)

    @classmethod
    def open(cls, folder: Path) -> LexicalIndex:
        """Open the files that :meth:`write` wrote.

        Raises
        ------
        CorruptionError
            If the files cannot be read.
        """
        import tantivy

        with _report_damage(folder):
            if os.access(folder, os.W_OK):
                return cls(tantivy.Index.open(str(folder)), folder)
            # a folder of links, because tantivy creates a lock file in the folder that it opens
            with tempfile.TemporaryDirectory(prefix="gem-index-") as links:
                for path in folder.iterdir():
                    if path.suffix == ".lock":
                        continue
                    (Path(links) / path.name).symlink_to(path.absolute())
                return cls(tantivy.Index.open(links), folder)

    def near(self, word: str) -> dict[str, int]:
        """Return the words of the documents, including deleted documents, that differ from a word by few errors.

        See :meth:`Vocabulary.near`.

        Raises
        ------
        CorruptionError
            If the file of words cannot be read.
        """
        with _report_damage(self._folder):
            found: dict[str, int] = self._vocabulary.near(word)
        return found

    @cached_property
    def _vocabulary(self) -> StoredVocabulary:
        return StoredVocabulary(self._folder)

    def frequencies(self, terms: Iterable[str]) -> dict[str, int]:
        """Return, for each term, the number of documents that contain it."""
        with _report_damage(self._folder):
            return {term: int(self._searcher.doc_freq(_TEXT, term)) for term in terms}

    def match(self, terms: Mapping[str, float], k: int, wanted: Ids) -> Hits:
        """Return the k best (id, score), best first; an id with several texts has the score of its best text.

        Hits with equal scores are in the order of the files. This is the order of the ids, except in segments that
        tantivy has merged. The result for a smaller k is the beginning of the result for a larger k.

        Parameters
        ----------
        terms : mapping of str to float
            The terms of the query, from the index's analyzer, each with the factor of its BM25 score.
        k : int
        wanted : int64 array
            The accepted ids, ascending; all of them must be in the files.
        """
        import tantivy

        query_of, should, schema = tantivy.Query, tantivy.Occur.Should, _schema()
        each = []
        for term, weight in terms.items():
            one = query_of.term_query(schema, _TEXT, term, "freq")
            each.append((should, one if weight == 1 else query_of.boost_query(one, weight)))
        query = query_of.boolean_query(each)
        if len(wanted) <= min(_NAMED_IDS, len(self) // 2):
            named = _id_query(wanted.tolist())
            must = tantivy.Occur.Must
            query = query_of.boolean_query(
                [(must, query), (must, query_of.const_score_query(named, 0.0))]
            )
        asked = k
        while True:
            with _report_damage(self._folder):
                most = min(asked, max(len(self), 1))
                hits = self._searcher.search(query, most, count=False).hits
                ids = self._searcher.fast_field_values(_ID, [address for _, address in hits])
            alive = among(np.array(ids, dtype=np.int64), wanted)
            found: dict[int, float] = {}
            for identifier, (score, _), ok in zip(ids, hits, alive, strict=True):
                if ok:
                    found.setdefault(int(identifier), float(score))
            if len(found) >= k or len(hits) < asked:
                return list(found.items())[:k]
            asked *= 4
