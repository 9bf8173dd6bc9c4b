"""A reader's view of a collection: the snapshot in use, the tail after it, and what has been deleted since."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import compress

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection

from gem_index.arrays import I64, Mask
from gem_index.collection.state.models import open_encoder
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.errors import CorruptionError
from gem_index.forking import ForkSafeLock, cached_property
from gem_index.gem.combined import Encoder
from gem_index.index.hits import Hits, Ids, among, best_first, best_of, members
from gem_index.index.lexical import LexicalTail, counts_in_match, match_weights
from gem_index.index.snapshot import Snapshot
from gem_index.store.documents import DocumentRepository
from gem_index.store.names import CollectionRepository, ModelRepository
from gem_index.store.records import CollectionRecord, SnapshotRecord
from gem_index.store.workspace import Workspace

__all__ = ["StaleStateError", "View", "ViewCache"]

_LOG = logging.getLogger(__name__)

_ENCODED_AT_ONCE = 2000  # accepted documents that are scored from their texts rather than searched
_SCORED_AT_ONCE = 20_000  # and from their vectors, where they are kept
_FORGOTTEN = 1000  # documents that are gone, from which on the words of the tail are read again
_MARGIN = 20  # results whose order may be another by their texts than by kept vectors


class StaleStateError(Exception):
    """A newer state is there to be read, and what the one at hand needs is gone."""


@dataclass(frozen=True)
class View:
    """One state of a collection, never changed: refreshing makes a new one.

    Attributes
    ----------
    model_id : int
        Row of the model behind ``encoder``.
    pieces : PieceEncoder
    directory : str or None
        The snapshot's directory; None while there is none in use.
    snapshot : Snapshot or None
    alive : bool array
        False at the snapshot's positions whose document was deleted or replaced.
    tail_ids, tail_vectors, tail_counts : int64 array (t,), float32 array (p, d), int64 array (t,)
        The documents after the snapshot, by ascending ``seq``, the vectors of their pieces, and how many each has.
    tail_texts : tuple of str
        Their texts.
    tail_words : TailWords
        Their words, and those of documents that other views hold; shared with them.
    last_seq : int
        The last document that was looked at.
    last_change : int
        The last tombstone that was looked at.
    from_texts : bool
        Compute cosines from the texts where an index is approximate, rather than from the vectors beside it.
    """

    model_id: int
    pieces: PieceEncoder
    directory: str | None
    snapshot: Snapshot | None
    alive: Mask
    tail_ids: Ids
    tail_vectors: npt.NDArray[np.float32]
    tail_counts: I64
    tail_texts: tuple[str, ...]
    tail_words: TailWords
    last_seq: int
    last_change: int
    from_texts: bool = False

    @property
    def encoder(self) -> Encoder:
        """What makes the vectors."""
        return self.pieces.encoder

    @cached_property
    def _tail(self) -> TailVectors:
        return TailVectors(self.tail_vectors, self.tail_counts)

    def nearest(
        self,
        query: npt.NDArray[np.float32],
        k: int,
        allowed: Ids | None,
        texts_of: Callable[[Ids], list[str]],
        depth: int | None = None,
    ) -> Hits:
        """Return the best (seq, cosine), best first, equal cosines by seq.

        Parameters
        ----------
        query : float32 array (d,)
        k : int
            Number of results that an approximate index proposes candidates for.
        allowed : int64 array, optional
            Ascending seqs; no other is returned.
        texts_of : callable
            Returns the texts of some seqs: what an approximate index proposes is scored again from them if it keeps no
            vectors.
        depth : int, optional
            Number of results returned; k by default.
        """
        depth = depth or k
        found = self._in_snapshot(query, k, depth, allowed, texts_of)
        if len(self.tail_ids):
            scores = self._tail.best(query)
            tail = zip(self.tail_ids.tolist(), scores.tolist(), strict=True)
            if allowed is None:
                found += tail
            else:
                accepted = members(self.tail_ids, allowed)
                found += [pair for pair, ok in zip(tail, accepted, strict=True) if ok]
        return best_of(found, depth)

    def _in_snapshot(
        self,
        query: npt.NDArray[np.float32],
        k: int,
        depth: int,
        allowed: Ids | None,
        texts_of: Callable[[Ids], list[str]],
    ) -> Hits:
        if self.snapshot is None or not len(self.snapshot.ids):
            return []
        ids, kind, index = self.snapshot.ids, self.snapshot.kind, self.snapshot.index
        mask = self.alive if allowed is None else self.alive & members(ids, allowed)
        accepted = int(np.count_nonzero(mask))
        if not accepted:
            return []
        few = _SCORED_AT_ONCE if index.has_vectors else _ENCODED_AT_ONCE
        wanted = depth if kind.exact else depth + _MARGIN
        if not kind.exact and allowed is not None and index.vectors_of(mask) <= few:
            # so few that their own vectors cost less than a search
            positions = np.flatnonzero(mask)
            if index.has_vectors:
                positions, scores = best_first(positions, index.best(positions, query), wanted)
        else:
            proposed = max(depth, kind.candidates(k))
            positions, scores = index.nearest(
                query,
                wanted if index.has_vectors else proposed,
                None if accepted == len(mask) else mask,
                proposed,
            )
        chosen = np.asarray(ids[positions])
        if not kind.exact and (self.from_texts or not index.has_vectors):
            scores = self.pieces.best(texts_of(chosen), query)
        return list(zip(chosen.tolist(), scores.tolist(), strict=True))

    @property
    def exact(self) -> bool:
        """Whether a search by meaning misses nothing."""
        return self.snapshot is None or self.snapshot.kind.exact

    def cosines(
        self,
        query: npt.NDArray[np.float32],
        seqs: Ids,
        texts_of: Callable[[Ids], list[str]],
    ) -> npt.NDArray[np.float32]:
        """Return the cosines (n,) of living documents' best pieces, by ascending seq; parameters as for :meth:`nearest`."""
        found = np.empty(len(seqs), dtype=np.float32)
        missing = ~among(seqs, self.tail_ids)
        found[~missing] = self._tail.best(query)[np.searchsorted(self.tail_ids, seqs[~missing])]
        if self.snapshot is not None and self._scores(self.snapshot) and missing.any():
            held = missing & among(seqs, self.snapshot.ids)
            places = np.searchsorted(self.snapshot.ids, seqs[held])
            found[held] = self.snapshot.index.best(places, query)
            missing &= ~held
        if missing.any():
            found[missing] = self.pieces.best(texts_of(seqs[missing]), query)
        return found

    def _scores(self, snapshot: Snapshot) -> bool:
        """Whether cosines come from the vectors of a snapshot rather than from texts."""
        return snapshot.kind.exact or (snapshot.index.has_vectors and not self.from_texts)

    def vectors(self, seqs: Ids, texts_of: Callable[[Ids], list[str]]) -> npt.NDArray[np.float32]:
        """Return the vectors (n, d) of whole documents, by ascending seq: those at hand, others from their texts."""
        snapshot = self.snapshot
        if snapshot is not None and snapshot.kind.exact and among(seqs, snapshot.ids).all():
            places = np.searchsorted(snapshot.ids, seqs)
            if snapshot.index.whole(places).all():
                return snapshot.index.take(places)  # not copied into a larger array
        there = among(seqs, self.tail_ids)
        found = np.empty((len(seqs), self.encoder.dimension), dtype=np.float32)
        places = np.searchsorted(self.tail_ids, seqs[there])
        there[there] = self.tail_counts[places] == 1
        found[there] = self._tail.take(np.searchsorted(self.tail_ids, seqs[there]))
        missing = ~there
        if self.snapshot is not None and self.snapshot.kind.exact and missing.any():
            held = missing & among(seqs, self.snapshot.ids)
            places = np.searchsorted(self.snapshot.ids, seqs[held])
            whole = self.snapshot.index.whole(places)
            held[held] = whole
            found[held] = self.snapshot.index.take(places[whole])
            missing &= ~held
        if missing.any():
            found[missing] = self.encoder.encode(texts_of(seqs[missing]))
        return found

    def match_weights(self, terms: Sequence[str]) -> dict[str, float]:
        """Return the weights that make a BM25 score a match, by the statistics of the files where there are files."""
        words = None
        if self.snapshot is not None and len(self.snapshot.ids):
            words = self.snapshot.words
        in_tail = self.tail_words.up_to_date().frequencies(terms, self.tail_ids)
        in_files = words.frequencies(terms) if words is not None else in_tail
        held = {
            term: count
            for term, count in in_files.items()
            if counts_in_match(term, count + in_tail[term])
        }
        return match_weights(held, words.documents if words is not None else len(self.tail_ids))

    def match(self, terms: Mapping[str, float], k: int, allowed: Ids | None) -> Hits:
        """Return the k best (seq, score), best first, equal scores as the files have them, then the tail by seq.

        Parameters
        ----------
        terms : mapping of str to float
            What the BM25 score of each term counts.
        k, allowed
            As for :meth:`nearest`.
        """
        found: Hits = []
        words, mean_terms = None, 1.0
        if self.snapshot is not None and len(self.snapshot.ids):
            words, mean_terms = self.snapshot.words, self.snapshot.mean_terms
            found += words.match(terms, k, self._living(self.snapshot.ids, allowed))
        if len(self.tail_ids):
            tail = self.tail_words.up_to_date()
            found += tail.match(terms, k, self.tail_ids, allowed, words, mean_terms)
        return sorted(found, key=lambda hit: -hit[1])[:k]  # stable

    def _living(self, ids: Ids, allowed: Ids | None) -> Ids:
        """Return which of the snapshot's documents a search may return, ascending."""
        if allowed is None:
            return np.asarray(ids if self.alive.all() else ids[self.alive])
        places = np.searchsorted(ids, allowed)
        inside = places < len(ids)
        places, allowed = places[inside], allowed[inside]
        return np.asarray(allowed[(ids[places] == allowed) & self.alive[places]])

    def word_scores(
        self, texts: Sequence[str], asked: Sequence[str]
    ) -> Callable[[Mapping[str, float]], list[float]]:
        """Return what computes BM25 scores by the statistics of the collection.

        Parameters
        ----------
        texts : sequence of str
        asked : sequence of str
            The terms whose weights it can be given, as :meth:`match` is.
        """
        words, mean_terms = None, 1.0
        if self.snapshot is not None and len(self.snapshot.ids):
            words, mean_terms = self.snapshot.words, self.snapshot.mean_terms
        tail, places = LexicalTail(set(asked)), np.arange(len(texts))
        tail.add(places, texts)

        def scores(terms: Mapping[str, float]) -> list[float]:
            found = dict(tail.match(terms, max(len(texts), 1), places, None, words, mean_terms))
            return [found.get(place, 0.0) for place in range(len(texts))]

        return scores

    def piece_vectors(
        self, seqs: Sequence[int], parts: Sequence[Sequence[str]]
    ) -> npt.NDArray[np.float32]:
        """Return the vectors of all pieces of some documents (p, d): those at hand, the others encoded.

        Parameters
        ----------
        seqs : sequence of int
        parts : sequence of sequences of str
            What is embedded of each document's pieces.
        """
        held = [self._held_pieces(seq, len(texts)) for seq, texts in zip(seqs, parts, strict=True)]
        missing = [
            part
            for vectors, texts in zip(held, parts, strict=True)
            if vectors is None
            for part in texts
        ]
        encoded, begin = self.encoder.encode(missing), 0
        rows = [np.zeros((0, self.encoder.dimension), np.float32)]
        for vectors, texts in zip(held, parts, strict=True):
            if vectors is None:
                vectors = encoded[begin : begin + len(texts)]
                begin += len(texts)
            rows.append(vectors)
        return np.concatenate(rows)

    def _held_pieces(self, seq: int, count: int) -> npt.NDArray[np.float32] | None:
        """Return the vectors of a document's pieces if they are kept exactly and are as many."""
        vectors = None
        place = int(np.searchsorted(self.tail_ids, seq))
        if place < len(self.tail_ids) and self.tail_ids[place] == seq:
            vectors = self._tail.pieces(place)
        elif self.snapshot is not None and self._scores(self.snapshot):
            place = int(np.searchsorted(self.snapshot.ids, seq))
            if place < len(self.snapshot.ids) and self.snapshot.ids[place] == seq:
                vectors = self.snapshot.index.pieces(place)
        return vectors if vectors is not None and len(vectors) == count else None


class TailWords:
    """The words of the documents after the snapshot, of all views since it: read once each, when asked for.

    Parameters
    ----------
    pieces : PieceEncoder
    """

    def __init__(self, pieces: PieceEncoder) -> None:
        self._pieces = pieces
        self._tail = LexicalTail()
        self._waiting: list[tuple[Ids, Sequence[str]]] = []
        self._noted = 0
        self._lock = ForkSafeLock()

    def __len__(self) -> int:
        """Return the number of documents, also of those that are gone."""
        return self._noted

    def note(self, seqs: Ids, texts: Sequence[str]) -> None:
        """Add documents, by ascending seq, after those before."""
        with self._lock:
            self._waiting.append((seqs, texts))
            self._noted += len(seqs)

    def up_to_date(self) -> LexicalTail:
        """Return the words of all documents that were noted."""
        with self._lock:
            while self._waiting:
                seqs, texts = self._waiting[0]
                parts, counts = self._pieces.parts(texts)
                self._tail.add(np.repeat(seqs, counts), parts)
                del self._waiting[0]
            return self._tail


class TailVectors:
    """The vectors of the documents after the snapshot.

    Parameters
    ----------
    vectors : float32 array (p, d)
    counts : int64 array (t,)
    """

    def __init__(self, vectors: npt.NDArray[np.float32], counts: I64) -> None:
        self._vectors = vectors
        self._counts = counts
        self._starts = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)

    def best(self, query: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return the cosine of a query with the best piece of each document, float32 (t,)."""
        if not len(self._vectors):
            return np.zeros(0, np.float32)
        return np.maximum.reduceat(self._vectors @ query, self._starts)

    def pieces(self, place: int) -> npt.NDArray[np.float32]:
        """Return the vectors of one document (p, d)."""
        begin = int(self._starts[place])
        return self._vectors[begin : begin + int(self._counts[place])]

    def take(self, places: Ids) -> npt.NDArray[np.float32]:
        """Return the vectors of documents of one piece."""
        return self._vectors[self._starts[places]]


class ViewCache:
    """Brings a view up to date with what a transaction sees; safe under threads.

    Parameters
    ----------
    workspace : Workspace
    collection_id : int
    """

    def __init__(self, workspace: Workspace, collection_id: int) -> None:
        self._workspace = workspace
        self._collection_id = collection_id
        self._view: View | None = None
        self._lock = ForkSafeLock()
        self._seen: tuple[str | None, tuple[int, int]] | None = None
        self._encoder: tuple[int, Encoder] | None = None
        self._encoder_lock = ForkSafeLock()

    def at(self, connection: Connection, record: CollectionRecord) -> View:
        """Return the view of the state that a transaction sees.

        Raises
        ------
        StaleStateError
            If another thread's transaction, a newer one, has moved on already: search in a new transaction.
        """
        seen = record.directory, (record.last_change, record.last_seq)
        with self._lock:
            if self._seen is not None and self._seen[0] == seen[0] and self._seen[1] > seen[1]:
                raise StaleStateError
            self._view = self._advance(connection, record, self._view)
            self._seen = seen
            return self._view

    def encoder(self, connection: Connection, record: CollectionRecord) -> Encoder:
        """Return the collection's encoder without touching its index; it is opened once, and remembers words."""
        with self._encoder_lock:
            if self._encoder is None or self._encoder[0] != record.model_id:
                model = ModelRepository(connection).get(record.model_id)
                self._encoder = record.model_id, open_encoder(self._workspace, model, connection)
            return self._encoder[1]

    def replaced(self, directory: str | None) -> bool:
        """Tell whether a newer snapshot is in use than the one a transaction saw, whose files are then removed."""
        with self._workspace.database.reading() as connection:
            row = CollectionRepository(connection).snapshot(self._collection_id)
        return row is None or row.directory != directory

    def _advance(self, connection: Connection, record: CollectionRecord, view: View | None) -> View:
        if (
            view is None
            or view.model_id != record.model_id
            or view.directory != record.directory
            or view.pieces.cutting != record.cuts
        ):
            row = CollectionRepository(connection).snapshot(self._collection_id)
            view = self._open(connection, record, row)
        if record.last_seq <= view.last_seq and record.last_change <= view.last_change:
            return view
        documents = DocumentRepository(connection, self._collection_id)
        dead, last_change = documents.tombstones_after(view.last_change)
        fresh = list(documents.texts_after(view.last_seq))
        alive, tail_ids, tail_vectors = view.alive, view.tail_ids, view.tail_vectors
        tail_counts, tail_texts = view.tail_counts, view.tail_texts
        tail_words = view.tail_words
        if dead:
            gone = np.unique(np.array(dead, dtype=np.int64))
            if view.snapshot is not None:
                alive = alive & ~members(view.snapshot.ids, gone)
            kept = ~members(tail_ids, gone)
            tail_vectors = tail_vectors[np.repeat(kept, tail_counts)]
            tail_ids, tail_counts = tail_ids[kept], tail_counts[kept]
            tail_texts = tuple(compress(tail_texts, kept))
        last_seq = view.last_seq
        if fresh:
            last_seq = fresh[-1][0]
            seqs = np.array([seq for seq, _ in fresh], dtype=np.int64)
            tail_ids = np.append(tail_ids, seqs)
            texts = [text for _, text in fresh]
            vectors, counts = view.pieces.rows(texts)
            tail_vectors = np.concatenate([tail_vectors, vectors])
            tail_counts = np.concatenate([tail_counts, counts])
            tail_texts += tuple(texts)
            tail_words.note(seqs, texts)
        if len(tail_words) > 2 * len(tail_ids) + _FORGOTTEN:
            tail_words = TailWords(view.pieces)
            tail_words.note(tail_ids, tail_texts)
        return replace(
            view,
            tail_words=tail_words,
            alive=alive,
            tail_ids=tail_ids,
            tail_vectors=tail_vectors,
            tail_counts=tail_counts,
            tail_texts=tail_texts,
            last_seq=last_seq,
            last_change=last_change,
        )

    def _open(
        self,
        connection: Connection,
        record: CollectionRecord,
        row: SnapshotRecord | None,
    ) -> View:
        encoder = self.encoder(connection, record)
        pieces = PieceEncoder(encoder, record.cuts)
        snapshot = None
        if row is not None and row.model_fingerprint == pieces.fingerprint:
            folder = self._workspace.collection_folder(self._collection_id) / row.directory
            try:
                snapshot = Snapshot.open(folder, json.loads(row.files))
            except CorruptionError as error:
                if self.replaced(row.directory):
                    raise StaleStateError from error
                # The texts are the source of truth: search uses them, Collection.verify(fix=True) rebuilds the files.
                _LOG.warning("%s; searching from the stored texts instead", error)
        return View(
            model_id=record.model_id,
            pieces=pieces,
            directory=row.directory if row is not None else None,
            snapshot=snapshot,
            alive=np.ones(len(snapshot.ids) if snapshot else 0, dtype=np.bool_),
            tail_ids=np.zeros(0, np.int64),
            tail_vectors=np.zeros((0, encoder.dimension), np.float32),
            tail_counts=np.zeros(0, np.int64),
            tail_texts=(),
            tail_words=TailWords(pieces),
            last_seq=row.last_seq if snapshot is not None and row is not None else 0,
            last_change=0,
        )
