"""Long texts that are found again and again are not cut again."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index import Chunking, Document, Home
from gem_index.collection.search.cut_texts import CutTexts
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.text.analyzer import ENGLISH, Analyzer
from gem_index.text.units import blank_words, units, units_up_to

LONG = "Die Bank öffnet um neun Uhr. The bank opens at nine, 银行九点开门。 " * 400


@pytest.fixture
def encoder():
    def of(chunking=Chunking(20), analyzer=ENGLISH):  # noqa: B008 - frozen
        return PieceEncoder(None, chunking, analyzer)

    return of


def test_a_long_text_is_cut_once_in_each_way(encoder):
    texts = CutTexts()
    found = texts.of(LONG, encoder())
    assert found.pieces == Chunking(20).pieces(LONG)
    assert texts.of(LONG[:] + "", encoder()) is found
    others = [
        texts.of(LONG + "x", encoder()),
        texts.of(LONG, encoder(Chunking(30))),
        texts.of(LONG, encoder(analyzer=Analyzer("de"))),
    ]
    assert len({id(each) for each in [found, *others]}) == 4
    assert others[0].pieces[-1].end == len(LONG) + 1
    assert texts.of("short", encoder()) is not texts.of("short", encoder())


def test_the_words_of_the_pieces(encoder):
    pieces = encoder()
    cut = CutTexts().of(LONG, pieces)
    parts = pieces.parts_of(LONG, cut.pieces)
    counted = cut.counted(parts, ENGLISH)
    assert cut.counted(parts, ENGLISH) is counted
    plainly = [Counter(ENGLISH.terms(part)) for part in parts]
    assert counted.lengths.tolist() == [each.total() for each in plainly]
    for term in {term for each in plainly for term in each} | {"zebra"}:
        places, times = counted.of(term)
        expected = {place: each[term] for place, each in enumerate(plainly) if term in each}
        assert dict(zip(places.tolist(), times.tolist(), strict=True)) == expected


def test_what_was_not_found_for_long_is_dropped(encoder):
    pieces = encoder()
    size = CutTexts().of(LONG, pieces).nbytes
    texts = CutTexts(most=2 * size + size // 2)
    first, second = texts.of(f"1 {LONG}", pieces), texts.of(f"2 {LONG}", pieces)
    assert texts.of(f"1 {LONG}", pieces) is first
    third = texts.of(f"3 {LONG}", pieces)
    assert texts.of(f"1 {LONG}", pieces) is first
    assert texts.of(f"3 {LONG}", pieces) is third
    assert texts.of(f"2 {LONG}", pieces) is not second
    words = first.counted(pieces.parts_of(f"1 {LONG}", first.pieces), ENGLISH)
    assert first.nbytes >= 4 * words.lengths.sum()


def test_a_text_that_is_larger_than_the_memory_for_all(encoder):
    texts = CutTexts(most=10)
    assert texts.of(LONG, encoder()).pieces == Chunking(20).pieces(LONG)


def test_a_search_finds_the_same_piece_again(tmp_path):
    home = Home(tmp_path)
    long = LONG + "\n\nHow do I renew a passport? " + LONG
    home.build("one", [Document(id="long", text=long), Document(id="a", text="open an account")])
    collection = home.collection("one")
    for options in ({}, {"mode": "dense"}, {"mode": "lexical"}, {"pieces": True}):
        first, second = (collection.search("renew a passport", 3, **options) for _ in range(2))
        assert first == second
        best = next(hit for hit in first if hit.id == "long")
        assert "passport" in best.piece.text
    collection.upsert([Document(id="long", text=LONG + "\n\nWhere does the ferry leave? " + LONG)])
    assert "ferry" in collection.search("the ferry", 1)[0].piece.text


@given(most=st.integers(1, 40), text=st.text(alphabet="ab 好ก\n") | st.text(max_size=1000))
def test_words_up_to_a_number(most, text):
    for count in (units, blank_words):
        for longer in (text, text * 40):
            assert units_up_to(most, longer, count) == min(count(longer), most + 1)


def piece_scores(collection, mode):
    """Return the score, cosine and BM25 score of each piece."""
    found = collection.search("the bank opens in a week", 50, mode=mode, pieces=True)
    return {hit.text: (hit.score, hit.cosine, hit.bm25) for hit in found}


def test_each_piece_has_the_cosine_and_the_words_of_its_own_text(home):
    words = ("opens", "closes", "bank", "week", "opens bank", "is shut")
    long = " ".join(f"The office {word} at {n}. " * 5 for n, word in enumerate(words))
    home.build("cut", [{"id": "a", "text": long}, "a week"], chunking=Chunking(30))
    cut = home.collection("cut")
    dense, lexical, hybrid = (piece_scores(cut, mode) for mode in ("dense", "lexical", "hybrid"))
    assert set(dense) == set(hybrid)
    assert len(dense) > 5
    query, *rows = cut.encoder.encode(["the bank opens in a week", *dense])
    cosines = dict(zip(dense, (np.array(rows) @ query).tolist(), strict=True))
    for text, cosine in cosines.items():
        assert dense[text] == pytest.approx((cosine, cosine, None), abs=1e-6)
        assert hybrid[text][1] == pytest.approx(cosine, abs=1e-6)
        bm25 = hybrid[text][2]
        assert lexical.get(text, (0.0, None, 0.0)) == pytest.approx((bm25, None, bm25), abs=1e-6)
    assert len({score for score, _, _ in lexical.values()}) > 3
