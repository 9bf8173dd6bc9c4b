"""Search a pushed table: the database finds candidates, and this process scores them as in a collection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import fields, replace
from itertools import islice
from typing import Any, Unpack

import numpy as np

from gem_index.collection.piece_rows import PLACE, piece_id, piece_of
from gem_index.collection.push.embedding import EMBEDDED
from gem_index.collection.push.found_rows import (
    DEEPEST,
    WIDER,
    FoundRows,
    OpenedTable,
    folded,
    parts_of,
)
from gem_index.collection.push.query_record import QueryRecords
from gem_index.collection.request import SearchOptions, SearchRequest
from gem_index.collection.results import SearchResult, SearchResults
from gem_index.collection.search.why import explain_hit
from gem_index.collection.state.metadata_fields import (
    MetadataField,
    fields_of_sample,
)
from gem_index.collection.state.models import open_encoder
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.common.arrays import WORD_DIMENSIONS
from gem_index.documents import Document
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.errors.quoting import quoted
from gem_index.gem.combined import Encoder
from gem_index.sparse import SparseEncoder
from gem_index.store.documents import DocumentRepository
from gem_index.store.workspace import Workspace
from gem_index.targets.protocol import Target, TargetDocument, word_dimensions
from gem_index.targets.registry import exact_search, open_target
from gem_index.targets.retries import with_retries
from gem_index.targets.url import TargetUrl

__all__ = ["SearchedTarget"]

_MANY_CANDIDATES = 1000  # rows of the first request, if all results above a score are requested
_SAMPLED = 200  # documents, at most, in which the metadata fields are found
_SAMPLED_ROWS = 5000  # rows, at most, that are read to find these documents
_PIECES = 100  # pieces of a document that are read at once
_OWN = ("query", "k", "where", "mode", "min_score", "why", "pieces", "offset", "correct")


class SearchedTarget:
    """A table of a vector database that ``push`` or ``embed`` filled; :meth:`gem_index.Home.target` opens it.

    A search needs the word vectors of the model, but not the home from which the table was pushed. Call :meth:`close`
    at the end, or use a ``with`` statement.

    Parameters
    ----------
    workspace : Workspace
        The home whose word vectors are used.
    url : str or TargetUrl
        As for :meth:`gem_index.Collection.push`.

    Raises
    ------
    ConfigError
        If there is no table, gem-index did not fill it, or its query record is missing or damaged.
    """

    def __init__(self, workspace: Workspace, url: str | TargetUrl) -> None:
        self._workspace = workspace
        self._target: Target = open_target(url)
        self._opened: OpenedTable | None = None
        try:
            self._current()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> SearchedTarget:
        """Return the target itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the target."""
        self.close()

    def __repr__(self) -> str:
        return f"SearchedTarget({self.name!r})"

    @property
    def name(self) -> str:
        """The URL without its secrets."""
        return str(self._target.url)

    @property
    def encoder(self) -> Encoder:
        """The encoder of the table's vectors."""
        return self._current().encoder

    @property
    def sparse_encoder(self) -> SparseEncoder:
        """The sparse encoder of the table, which makes vectors of queries for the database's own client."""
        return self._current().record.words

    def close(self) -> None:
        """Release the connection."""
        self._target.close()

    def search(
        self,
        query: str,
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> SearchResults:
        """Return the k best documents for a query; the scores are those of :meth:`gem_index.Collection.search`.

        In a table with sparse vectors, the database finds candidates by meaning and by words. In any other table, the
        database finds the 300 nearest rows (more for a larger k), and this process compares their texts with the
        query's words. Each piece has its own score; a document has the score of its best piece. Words are not corrected.

        A filter has the same meaning as in a collection: the database applies the conditions that it can compare, then
        this process applies the whole filter. If the filter accepts too few of the 10,000 best rows, all rows are read.

        Parameters
        ----------
        query : str
        k : int, optional
            The number of results. If ``k`` is None and ``min_score`` is given, all documents with at least this score
            are returned.
        where : mapping, optional
            A filter as for a collection.
        **options : SearchOptions
            ``mode`` (``hybrid`` or ``dense``), ``min_score``, ``why``, ``offset`` and ``pieces``. Without ``pieces``, a
            document is one result, with the text of its best piece.

        Raises
        ------
        EmptyTextError
            If the query has no word.
        InputError
            If an option is not valid, or only collections have the option.
        ConfigError
            If the mode is hybrid, and the table has neither sparse vectors nor texts.
        TargetUnavailableError
            If the database does not answer.
        """
        asked = self._checked(SearchRequest(query, k, where, **options))
        opened = self._current()
        of_words = opened.record.words
        rewritten = of_words.rewritten(query)
        [vector] = opened.encoder.encode([rewritten])
        words = None
        if asked.mode == "hybrid":
            words = of_words.embed_query(query).folded(opened.dimensions)
        with self._workspace.database.reading() as connection:
            documents = DocumentRepository(connection, 0)
            if asked.where is not None:
                documents.accepted_mask(asked.where, [])  # checks the filter

            def accept(metadata: Sequence[str]) -> Sequence[bool]:
                return list(documents.accepted_mask(asked.where or {}, metadata))

            rows = FoundRows(opened, vector, words, accept if asked.filtered else None, self._exact)
            if asked.where is not None:
                rows.narrow(asked.where)
            found = self._results(rows, asked.from_first)[asked.offset :]
        if asked.why:
            pieces = PieceEncoder(opened.encoder, opened.record.chunking, of_words.analyzer)
            found = [replace(hit, why=explain_hit(pieces, rewritten, hit.text)) for hit in found]
        return SearchResults(found, synonyms=of_words.synonyms.found_in(query, of_words.analyzer))

    def search_many(
        self,
        queries: Iterable[str],
        k: int | None = 10,
        where: Mapping[str, Any] | None = None,
        **options: Unpack[SearchOptions],
    ) -> list[SearchResults]:
        """Return the k best documents for each of several queries; parameters and errors are as for :meth:`search`."""
        if isinstance(queries, str):
            raise InputError(f"found the text {quoted(queries)}; expected a list of queries")
        return [self.search(query, k, where, **options) for query in queries]

    def get(self, ids: Iterable[str]) -> list[Document]:
        """Return the documents with these ids, in the order of the ids; ids that the table does not have are ignored.

        If a document is stored in pieces, its text is joined from the pieces, with line breaks between them.

        Raises
        ------
        ConfigError
            If the table stores no texts.
        TargetUnavailableError
            If the database does not answer.
        """
        table = self._current().table
        if not table.schema.texts:
            raise ConfigError(
                f"the table at {self._target.url} holds no texts; expected a table of a push with texts"
            )
        names = list(dict.fromkeys(ids))
        rows: dict[str, TargetDocument] = {}
        for part in parts_of(names):
            rows |= with_retries(table.fetch, part)
        found = [
            _document([rows[name]]) if name in rows else self._of_pieces(name) for name in names
        ]
        return [each for each in found if each is not None]

    def count(self) -> int:
        """Return the number of rows; a row is a document or one of its pieces."""
        return with_retries(self._current().table.count)

    def metadata_fields(self) -> list[MetadataField]:
        """Return the metadata fields of up to 200 documents; see :meth:`gem_index.Collection.metadata_fields`."""
        rows = islice(self._current().table.documents(), _SAMPLED_ROWS)
        firsts = (row for row in rows if (piece_of(row.id, row.metadata) or (row.id, 1))[1] == 1)
        sample = [_document([row]).metadata_json for row in islice(firsts, _SAMPLED)]
        with self._workspace.database.reading() as connection:
            return fields_of_sample(DocumentRepository(connection, 0), sample)

    def _checked(self, asked: SearchRequest) -> SearchRequest:
        """Return the request; raise InputError if it has an option that exists only for collections."""
        name = self._target.url
        if not isinstance(asked.query, str):
            raise InputError(f"found a vector to search {name}; expected a text")
        if asked.mode == "lexical":
            raise InputError(
                f"found the mode lexical for the target {name}; expected hybrid or dense"
            )
        if asked.min_score == "auto":
            raise InputError(
                f"found the min_score auto for the target {name}, which has no calibration; expected a number"
            )
        for field in fields(SearchRequest):
            if field.name not in _OWN and getattr(asked, field.name) != field.default:
                raise InputError(
                    f"found {field.name} for the target {name}; expected it in a search of a collection only"
                )
        return asked

    def _of_pieces(self, name: str) -> Document | None:
        """Return a document whose rows are pieces."""
        table = self._current().table
        rows: list[TargetDocument] = []
        while True:
            numbers = range(len(rows) + 1, len(rows) + 1 + _PIECES)
            wanted = [piece_id(name, number) for number in numbers]
            found = with_retries(table.fetch, wanted)
            pieces = [
                found[each]
                for each in wanted
                if each in found and piece_of(each, found[each].metadata)
            ]
            rows += pieces
            if len(pieces) < _PIECES:
                return _document(rows) if rows else None

    @property
    def _exact(self) -> bool:
        return exact_search(self._target.url)

    def _current(self) -> OpenedTable:
        """Return the live table; if ``push(full=True)`` has replaced the table, open the new one."""
        table = with_retries(self._target.live)
        name = str(self._target.url)
        if table is None:
            raise ConfigError(f"found no table at {name}; expected one that push or embed filled")
        if self._opened is not None and self._opened.table.schema == table.schema:
            return self._opened
        with closing(QueryRecords(self._target)) as records:
            token = table.schema.token
            if token.startswith(EMBEDDED) and records.texts_of(token) is None:
                raise ConfigError(
                    f"found a table at {name} that was filled without a collection and has no word statistics; expected a "
                    "table of push, or one that was embedded with words; search it with the database's own client"
                )
            record = records.read(table.schema.token)
        encoder = open_encoder(self._workspace, record.model)
        if encoder.fingerprint != table.schema.fingerprint:
            raise FingerprintMismatchError(
                f"the target {name}",
                table.schema.fingerprint,
                encoder.fingerprint,
                "push in full again",
                kind="encoder",
            )
        dimensions = word_dimensions(self._target) if table.schema.words else WORD_DIMENSIONS
        self._opened = OpenedTable(table, record, encoder, dimensions)
        return self._opened

    def _results(self, rows: FoundRows, asked: SearchRequest) -> list[SearchResult]:
        """Return the results; request more rows until there are enough documents."""
        least = -np.inf if asked.least_score is None else asked.least_score
        wanted = DEEPEST if asked.k is None else asked.k
        number = min(DEEPEST, asked.k or _MANY_CANDIDATES)
        while True:
            best = rows.best(number)
            kept = [row for row in best if row.score >= least]
            results = folded(kept, asked.pieces)
            last = len(best) < number or number == DEEPEST or len(kept) < len(best)
            if last or len(results) >= wanted:
                break
            number = min(DEEPEST, WIDER * number)
        if rows.filter_left_too_few and len(results) < wanted:
            kept = [row for row in rows.all_accepted() if row.score >= least]
            results = folded(kept, asked.pieces)
        return results[: asked.k]


def _document(rows: Sequence[TargetDocument]) -> Document:
    """Return the document of a row, or of the rows of its pieces."""
    first = rows[0]
    piece = piece_of(first.id, first.metadata)
    if piece is None:
        return Document(id=first.id, text=first.text or "", metadata=first.metadata)
    text = ""
    for row in rows:
        start = int(row.metadata["start"])
        text = text[:start] + "\n" * (start - len(text)) + (row.text or "")
    kept = {name: value for name, value in first.metadata.items() if name not in PLACE}
    return Document(id=piece[0], text=text, metadata=kept)
