"""The pieces of texts and their vectors, with an encoder that counts letters, and the texts of a fit."""

import numpy as np
import pytest

from gem_index.collection.state.piece_encoder import (
    PieceEncoder,
    embedded_pieces,
    expected_pieces,
    index_fingerprint,
)
from gem_index.collection.state.texts import CollectionTexts
from gem_index.store.records import StoredDocument
from gem_index.text.analyzer import ENGLISH, FIRST, Analyzer
from gem_index.text.chunking import Chunking

WHOLE, CUT = Chunking(None), Chunking(20, headings=True)
LONG = "# Law\n\n" + "a visa for a week. " * 20


class Letters:
    fingerprint = "f"
    dimension = 2

    def encode(self, texts):
        return np.array([[len(text), text.count("b")] for text in texts], np.float32).reshape(-1, 2)


@pytest.mark.parametrize(
    ("chunking", "analyzer", "expected"),
    [
        (WHOLE, FIRST, "f"),
        (CUT, FIRST, 'f {"chunk": 20, "headings": true, "version": 3}'),
        (WHOLE, ENGLISH, f"f {ENGLISH.stored}"),
        (
            CUT,
            Analyzer("de"),
            f'f {{"chunk": 20, "headings": true, "version": 3}} {Analyzer("de").stored}',
        ),
    ],
)
def test_the_index_fingerprint_names_what_is_not_the_default(chunking, analyzer, expected):
    assert index_fingerprint("f", chunking, analyzer) == expected
    assert PieceEncoder(Letters(), chunking, analyzer).fingerprint == expected


def test_the_pieces_of_texts():
    texts = ["a b", LONG, ""]
    same, counts = embedded_pieces(texts, WHOLE)
    assert same is texts
    assert counts.tolist() == [1, 1, 1]
    pieces = CUT.pieces(LONG)
    assert len(pieces) > 2
    found, counts = embedded_pieces(texts, CUT)
    assert counts.tolist() == [1, len(pieces), 1]
    assert found == ["a b", *(CUT.embedded(LONG, piece) for piece in pieces), ""]
    encoder = PieceEncoder(Letters(), CUT)
    assert list(encoder.of_all(texts)) == found
    assert encoder.embedded("a b") == ["a b"]
    vectors, again = encoder.rows(texts)
    assert vectors.tolist() == Letters().encode(found).tolist()
    assert again.tolist() == counts.tolist()
    assert PieceEncoder(Letters(), WHOLE).of_all(texts) is texts


def test_the_best_piece_of_each_text():
    encoder = PieceEncoder(Letters(), CUT)
    query = np.array([-1, 0], np.float32)  # the shortest piece is the best
    shortest = min(len(part) for part in encoder.embedded(LONG))
    assert encoder.best(["a b", LONG, "abc d"], query).tolist() == [-3, -shortest, -5]
    assert encoder.best([LONG], query).tolist() == [-shortest]
    assert encoder.best([], query).tolist() == []


class Documents:
    """Stored documents with the seqs 1, 3, 5, …"""

    def __init__(self, texts):
        self.texts = {2 * n + 1: text for n, text in enumerate(texts)}

    def seqs(self):
        return np.array(sorted(self.texts), np.int64)

    def texts_after(self, seq):
        return ((each, text) for each, text in self.texts.items() if each > seq)

    def by_seq(self, seqs):
        return {
            seq: StoredDocument(seq=seq, document_id=str(seq), text=self.texts[seq], metadata="{}")
            for seq in reversed(seqs)
        }


def test_the_texts_of_a_collection(monkeypatch):
    texts = CollectionTexts(Documents([f"text {n}" for n in range(5)]))
    assert (len(texts), texts.last_seq) == (5, 9)
    assert [texts.position(seq) for seq in (0, 1, 2, 8, 9, 10)] == [0, 1, 1, 4, 5, 5]
    assert list(texts.all()) == [f"text {n}" for n in range(5)]
    monkeypatch.setattr("gem_index.progress._EVERY", 2)
    reports = []
    list(texts.all(lambda *each: reports.append(each)))
    assert reports == [("fit", 2, 5), ("fit", 4, 5), ("fit", 5, 5)]
    monkeypatch.setattr("gem_index.collection.state.texts._BLOCK", 2)
    blocks = [(seqs.tolist(), found) for seqs, found in texts.blocks(3)]
    assert blocks == [([5, 7], ["text 2", "text 3"]), ([9], ["text 4"])]
    assert texts.sample(5) == texts.sample(9) == [f"text {n}" for n in range(5)]
    assert texts.sample(2)[0] == "text 0"
    assert len(texts.sample(2)) == 2
    assert CollectionTexts(Documents([])).last_seq == 0


def test_the_expected_number_of_pieces():
    texts = CollectionTexts(Documents(["a", LONG, "b"]))
    assert expected_pieces(texts, WHOLE) == 3
    assert expected_pieces(texts, CUT) == 2 + len(CUT.pieces(LONG))
    assert expected_pieces(CollectionTexts(Documents([])), CUT) == 0
