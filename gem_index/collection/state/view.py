"""A reader's view of a collection: the snapshot, the tail, and the deletions since the snapshot."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.state.tail import Tail
from gem_index.common.arrays import F32, Mask
from gem_index.gem.combined import Encoder
from gem_index.index.counted_texts import CountedTexts
from gem_index.index.hits import Hits, Ids, among, best_first, best_of, members
from gem_index.index.lexical import LexicalIndex
from gem_index.index.lexical_tail import LexicalTail
from gem_index.index.snapshot import Snapshot
from gem_index.index.terms import QueryTerms, counts_in_match, match_weights
from gem_index.index.vocabulary import may_be_mistyped
from gem_index.text.synonyms import NO_SYNONYMS, Synonyms
from gem_index.text.tokens import tokenize

__all__ = ["HeldTexts", "TextsById", "View"]

# If a filter accepts few vectors, an approximate index is not used: all accepted vectors are scored. The limits are:
_ENCODED_AT_ONCE = 2000  # vectors that must be computed from the texts
_SCORED_AT_ONCE = 20_000  # stored vectors
# words of a query; the limit exists because each correction searches the whole vocabulary
_MOST_CORRECTED = 32
# additional hits of the index, because cosines computed from texts may order the hits differently
_MARGIN = 20


class TextsById(Protocol):
    """Gives the texts of documents, for documents without a stored vector."""

    def texts(self, seqs: Ids) -> Sequence[str]:
        """Return the texts of some documents, in their order."""
        ...


class HeldTexts(dict[int, str]):
    """Texts in memory, by document."""

    def texts(self, seqs: Ids) -> list[str]:
        """Return the texts of some documents, in their order."""
        return [self[seq] for seq in seqs.tolist()]


@dataclass(frozen=True)
class View:
    """One state of a collection. A view never changes; a newer state gets a new view.

    Attributes
    ----------
    model_id : int
        The id of the row that has the encoder's model in the database.
    pieces : PieceEncoder
    directory : str or None
        The snapshot's directory; None if there is no snapshot.
    snapshot : Snapshot or None
    alive : bool array
        For each position in the snapshot, whether its document is present.
    tail : Tail
        The documents after the snapshot.
    last_seq : int
        The seq of the newest document that the view has seen.
    last_change : int
        The change number of the last tombstone that the view has seen.
    from_texts : bool
        With an approximate index, compute cosines from the texts, not from the stored vectors.
    synonyms : Synonyms
        The synonyms of words of queries.
    """

    model_id: int
    pieces: PieceEncoder
    directory: str | None
    snapshot: Snapshot | None
    alive: Mask
    tail: Tail
    last_seq: int
    last_change: int
    from_texts: bool = False
    synonyms: Synonyms = NO_SYNONYMS

    @property
    def encoder(self) -> Encoder:
        """The encoder of the documents."""
        return self.pieces.encoder

    @property
    def exact(self) -> bool:
        """Whether a search by meaning finds all the nearest documents; an approximate index may miss some."""
        return self.snapshot is None or self.snapshot.kind.exact

    def nearest(
        self,
        query: F32,
        k: int,
        allowed: Ids | None,
        documents: TextsById,
        depth: int | None = None,
    ) -> Hits:
        """Return the best (seq, cosine), best first; equal cosines are in the order of their seqs.

        Parameters
        ----------
        query : float32 array (d,)
        k : int
            The number of results of the whole search. This number determines how many candidates an approximate index
            proposes.
        allowed : int64 array, optional
            The seqs that may be returned, ascending. By default, all may be returned.
        documents : TextsById
            The texts from which candidates of an approximate index are scored, if cosines do not come from stored vectors.
        depth : int, optional
            The number of results of this call; k by default.
        """
        depth = depth or k
        found = self._in_snapshot(query, k, depth, allowed, documents)
        if len(self.tail):
            tail = zip(self.tail.ids.tolist(), self.tail.best(query).tolist(), strict=True)
            if allowed is None:
                found += tail
            else:
                accepted = members(self.tail.ids, allowed)
                found += [pair for pair, ok in zip(tail, accepted, strict=True) if ok]
        return best_of(found, depth)

    def _in_snapshot(
        self, query: F32, k: int, depth: int, allowed: Ids | None, documents: TextsById
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
            # for so few vectors, computing all cosines is faster than the index
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
            scores = self.pieces.best(documents.texts(chosen), query)
        return list(zip(chosen.tolist(), scores.tolist(), strict=True))

    def cosines(self, query: F32, seqs: Ids, documents: TextsById) -> F32:
        """Return the cosines (n,) of the documents' best pieces; ``seqs`` ascend; ``documents`` as for :meth:`nearest`."""
        found = np.empty(len(seqs), dtype=np.float32)
        missing = ~self.tail.holds(seqs)
        found[~missing] = self.tail.best(query)[self.tail.places(seqs[~missing])]
        if self.snapshot is not None and self._has_usable_vectors(self.snapshot) and missing.any():
            held = missing & among(seqs, self.snapshot.ids)
            places = np.searchsorted(self.snapshot.ids, seqs[held])
            found[held] = self.snapshot.index.best(places, query)
            missing &= ~held
        if missing.any():
            found[missing] = self.pieces.best(documents.texts(seqs[missing]), query)
        return found

    def _has_usable_vectors(self, snapshot: Snapshot) -> bool:
        """Tell whether cosines are computed from the vectors of a snapshot; otherwise they are computed from texts."""
        return snapshot.kind.exact or (snapshot.index.has_vectors and not self.from_texts)

    def vectors(self, seqs: Ids, documents: TextsById) -> F32:
        """Return a vector for each document as a whole (n, d), stored or encoded from the text; ``seqs`` ascend."""
        snapshot = self.snapshot
        if snapshot is not None and snapshot.kind.exact and among(seqs, snapshot.ids).all():
            places = np.searchsorted(snapshot.ids, seqs)
            if snapshot.index.whole(places).all():
                return snapshot.index.take(places)  # directly, without a copy into `found`
        in_tail = self.tail.holds(seqs)
        found = np.empty((len(seqs), self.encoder.dimension), dtype=np.float32)
        # only documents of one piece
        in_tail[in_tail] = self.tail.counts[self.tail.places(seqs[in_tail])] == 1
        found[in_tail] = self.tail.take(self.tail.places(seqs[in_tail]))
        missing = ~in_tail
        if snapshot is not None and snapshot.kind.exact and missing.any():
            in_snapshot = missing & among(seqs, snapshot.ids)
            places = np.searchsorted(snapshot.ids, seqs[in_snapshot])
            whole = snapshot.index.whole(places)
            in_snapshot[in_snapshot] = whole
            found[in_snapshot] = snapshot.index.take(places[whole])
            missing &= ~in_snapshot
        if missing.any():
            found[missing] = self.encoder.encode(documents.texts(seqs[missing]))
        return found

    def synonyms_of(self, query: object) -> dict[str, tuple[str, ...]]:
        """Return the forms (words or phrases) of a query that have synonyms, each with its synonyms."""
        if not isinstance(query, str):
            return {}
        return self.synonyms.found_in(query, self.pieces.analyzer)

    def rewritten(self, query: str) -> str:
        """Return the query; a form (a word or phrase) that no document contains is replaced by a synonym."""
        return self.synonyms.rewritten(query, self.pieces.analyzer, self._documents_with_forms)

    def _documents_with_forms(self, forms: Sequence[str]) -> list[int]:
        """Return, for each form, the number of documents that contain the form's rarest term."""
        terms = [self.pieces.analyzer.words(form) for form in forms]
        counts = self._frequencies({term for of_one in terms for term in of_one})
        return [min((counts[term] for term in of_one), default=0) for of_one in terms]

    def terms(self, query: str) -> QueryTerms:
        """Return the terms of a query and of its synonyms."""
        return QueryTerms.of(query, self.pieces.analyzer, self.synonyms_of(query))

    @property
    def _words(self) -> LexicalIndex | None:
        """The word index of the snapshot; None if the snapshot has no documents."""
        if self.snapshot is None or not len(self.snapshot.ids):
            return None
        return self.snapshot.words

    def corrections(self, query: str) -> dict[str, str]:
        """Return a probable correction of each query word that no document contains.

        The correction is the nearest word of the collection. If several words are equally near, the word in the most
        documents is chosen. These words are not corrected: words without a near word, words with synonyms, and unknown
        words after the first 32.
        """
        analyzer = self.pieces.analyzer
        known = {token for form in self.synonyms_of(query) for token in tokenize(form)}
        asked = [
            token
            for token in dict.fromkeys(tokenize(query))
            if may_be_mistyped(token, analyzer) and token not in known
        ]
        held = self._documents_with_words(asked)
        missing = [token for token in asked if not held[token]][:_MOST_CORRECTED]
        found = {token: self._nearest(token) for token in missing}
        return {token: word for token, word in found.items() if word is not None}

    def _nearest(self, word: str) -> str | None:
        near = self.tail.words.up_to_date().vocabulary.near(word)
        if self._words is not None:
            near |= self._words.near(word)
        held = self._documents_with_words(near)
        return min(near, key=lambda other: (near[other], -held[other], other), default=None)

    def _documents_with_words(self, words: Collection[str]) -> dict[str, int]:
        """Return, for each word, the number of documents that contain the word in some inflected form."""
        terms = {word: self.pieces.analyzer.words(word) for word in words}
        counts = self._frequencies({term for of_one in terms.values() for term in of_one})
        return {word: max((counts[t] for t in terms[word]), default=0) for word in words}

    def _frequencies(self, terms: Collection[str]) -> dict[str, int]:
        """Return the number of documents that contain each term."""
        counts = self.tail.words.up_to_date().frequencies(terms, self.tail.ids)
        if self._words is not None:
            for term, count in self._words.frequencies(terms).items():
                counts[term] += count
        return counts

    def match_weights(self, terms: QueryTerms) -> dict[str, float]:
        """Return, for each term, the factor that turns the term's BM25 score into its share of a match."""
        words, every = self._words, terms.every
        in_tail = self.tail.words.up_to_date().frequencies(every, self.tail.ids)
        in_files = words.frequencies(every) if words is not None else in_tail
        held = {
            term: count
            for term, count in in_files.items()
            if counts_in_match(term, count + in_tail[term])
        }
        documents = words.documents if words is not None else len(self.tail)
        return match_weights(terms, held, documents, self.pieces.analyzer)

    def match(self, terms: Mapping[str, float], k: int, allowed: Ids | None) -> Hits:
        """Return the k best (seq, score) by BM25, best first; among equal scores, the snapshot's documents come first.

        Parameters
        ----------
        terms : mapping of str to float
            The terms of the query, each with the weight of its BM25 score.
        k, allowed
            As for :meth:`nearest`.
        """
        found: Hits = []
        words, mean_terms = None, 1.0
        if self.snapshot is not None and len(self.snapshot.ids):
            words, mean_terms = self.snapshot.words, self.snapshot.mean_terms
            found += words.match(terms, k, self._present(self.snapshot.ids, allowed))
        if len(self.tail):
            tail = self.tail.words.up_to_date()
            found += tail.match(terms, k, self.tail.ids, allowed, words, mean_terms)
        return sorted(found, key=lambda hit: -hit[1])[:k]  # stable: equal scores keep their order

    def _present(self, ids: Ids, allowed: Ids | None) -> Ids:
        """Return the documents of the snapshot that are present and accepted, ascending."""
        if allowed is None:
            return np.asarray(ids if self.alive.all() else ids[self.alive])
        places = np.searchsorted(ids, allowed)
        inside = places < len(ids)
        places, allowed = places[inside], allowed[inside]
        return np.asarray(allowed[(ids[places] == allowed) & self.alive[places]])

    def word_scores(
        self, parts: Sequence[CountedTexts], asked: Sequence[str]
    ) -> Callable[[Mapping[str, float]], list[float]]:
        """Return a function that computes the BM25 scores of some texts with the word statistics of the collection.

        Parameters
        ----------
        parts : sequence of CountedTexts
            Groups of texts. The function returns one score for each text, group by group.
        asked : sequence of str
            All terms that the caller may pass to the function.
        """
        words, mean_terms = None, 1.0
        if self.snapshot is not None and len(self.snapshot.ids):
            words, mean_terms = self.snapshot.words, self.snapshot.mean_terms
        tail = LexicalTail.of(self.pieces.analyzer, parts, asked)
        places = np.arange(len(tail))

        def scores(terms: Mapping[str, float]) -> list[float]:
            found = dict(tail.match(terms, max(len(tail), 1), places, None, words, mean_terms))
            return [found.get(place, 0.0) for place in range(len(tail))]

        return scores

    def piece_vectors(self, seqs: Sequence[int], parts: Sequence[Sequence[str]]) -> F32:
        """Return the vectors (p, d) of all pieces of some documents, stored or encoded from the texts.

        Parameters
        ----------
        seqs : sequence of int
        parts : sequence of sequences of str
            The text to embed for each piece of each document.
        """
        held = [
            self._stored_pieces(seq, len(texts)) for seq, texts in zip(seqs, parts, strict=True)
        ]
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

    def _stored_pieces(self, seq: int, count: int) -> F32 | None:
        """Return the stored vectors of a document's pieces, float16 or float32; None if their number is not ``count``."""
        vectors = None
        place = int(self.tail.places(np.array([seq]))[0])
        if place < len(self.tail) and self.tail.ids[place] == seq:
            vectors = self.tail.rows(place)
        elif self.snapshot is not None and self._has_usable_vectors(self.snapshot):
            place = int(np.searchsorted(self.snapshot.ids, seq))
            if place < len(self.snapshot.ids) and self.snapshot.ids[place] == seq:
                vectors = self.snapshot.index.pieces(place)
        return vectors if vectors is not None and len(vectors) == count else None
