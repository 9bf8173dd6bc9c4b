"""Sparse vectors of words: with the dense ones they rank as the default search does."""

from __future__ import annotations

import hashlib
import json
import random

import numpy as np
import pytest

from gem_index.errors import ConfigError, InputError
from gem_index.index.fusion import MATCH_WEIGHT
from gem_index.sparse import SparseEncoder, SparseVector, WordFeatures
from gem_index.text.analyzer import ENGLISH, Analyzer

TEXTS = [
    "How do I renew a passport before a long journey?",
    "Opening hours of the library, the library at the river",
    "Where can I open a bank account with a foreign passport?",
    "Error 4711 when a printer is renewed",
    "护照过期了怎么办 需要带身份证和照片去办理",
    "Die Müllabfuhr kommt in München jeden Dienstag",
]
QUERIES = [
    "renew my passports",
    "error 4711 of the printer",
    "护照",
    "Muellabfuhr",
    "zebra library",
    "is the a",
]


def documents(texts=TEXTS):
    return [{"id": str(i), "text": text} for i, text in enumerate(texts)]


def scores_of(collection, query, texts):
    """Return the scores of texts from their dense and sparse vectors, as a database computes them."""
    sparse = collection.sparse_encoder()
    [dense] = collection.encoder.encode([query])
    cosines = collection.encoder.encode(texts) @ dense
    asked = sparse.embed_query(query)
    words = [asked.dot(vector) for vector in sparse.embed_documents(texts)]
    return (cosines + np.array(words)) / (1 + MATCH_WEIGHT)


class TestOneInnerProduct:
    @pytest.mark.parametrize("language", ["en", "de", "mul", "none"])
    @pytest.mark.parametrize("query", QUERIES)
    def test_the_score_is_that_of_the_default_search(self, home, language, query):
        home.build("faq", documents(), language=language)
        collection = home.collection("faq")
        expected = {hit.id: hit.score for hit in collection.search(query, 10, correct=False)}
        found = scores_of(collection, query, TEXTS)
        for place, score in enumerate(found):
            assert score == pytest.approx(
                expected[str(place)], abs=5e-3
            )  # an index rounds lengths above 40 terms

    def test_on_texts_drawn_at_random(self, home):
        draw = random.Random(5)
        words = [
            "passport",
            "bank",
            "river",
            "library",
            "4711",
            "open",
            "renew",
            "the",
            "a",
            "of",
            "visa",
            "account",
        ]
        texts = [" ".join(draw.choices(words, k=draw.randrange(1, 30))) for _ in range(60)]
        home.build("faq", documents(texts))
        collection = home.collection("faq")
        for _ in range(10):
            query = " ".join(draw.choices(words, k=4))
            expected = {hit.id: hit.score for hit in collection.search(query, 60, correct=False)}
            found = scores_of(collection, query, texts)
            assert np.allclose(found, [expected[str(i)] for i in range(60)], atol=5e-3)

    def test_pieces_have_vectors_of_their_own(self, home):
        text = "\n\n".join(["Opening hours of the library. " * 30, "Renew a passport today. " * 35])
        home.build("faq", [*documents(), {"id": "long", "text": text}])
        encoder = home.collection("faq").sparse_encoder()
        assert encoder.texts == len(TEXTS) + 2


class TestBackground:
    """Texts that are in no collection."""

    def test_frequent_words_count_less_and_numbers_more(self):
        query = SparseEncoder.background().embed_query("the passport 4711")
        weights = {
            word: query.dot(SparseEncoder.background().embed_documents([word])[0])
            for word in ("the", "passport", "4711")
        }
        assert 0 < weights["the"] < weights["passport"] < weights["4711"]

    @pytest.mark.parametrize("text", [*TEXTS, "C++ and .NET 3.11.2", "جواز السفر منتهي الصلاحية"])
    @pytest.mark.parametrize("language", ["en", "de", "ar", "zh", "mul", "none"])
    def test_all_terms_of_a_query_count(self, language, text):
        encoder = SparseEncoder.background(language)
        query = encoder.embed_query(text)
        assert query.values.sum() == pytest.approx(MATCH_WEIGHT)
        assert set(query.indices) == set(encoder.embed_documents([text])[0].indices)

    def test_a_longer_text_has_smaller_values(self):
        encoder = SparseEncoder.background()
        short, long = encoder.embed_documents(["renew a visa", "renew a visa " + "today " * 60])
        assert encoder.embed_query("visa").dot(short) > encoder.embed_query("visa").dot(long) > 0

    def test_comes_back(self, tmp_path):
        encoder = SparseEncoder.background("de")
        encoder.save(tmp_path / "words.json")
        again = SparseEncoder.load(tmp_path / "words.json")
        assert again.fingerprint == encoder.fingerprint
        assert (
            again.embed_query("Müll").values.tolist() == encoder.embed_query("Müll").values.tolist()
        )

    def test_an_unknown_language(self):
        with pytest.raises(ConfigError, match="xx"):
            SparseEncoder.background("xx")


class TestSums:
    def test_values_of_the_same_index_are_added(self):
        found = SparseVector.summed([7, 2, 7, 9, 7], [1, 2, 4, 8, 0.5])
        assert (found.indices.tolist(), found.values.tolist()) == ([2, 7, 9], [2, 5.5, 8])
        assert (found.indices.dtype, found.values.dtype) == (np.int64, np.float32)
        assert SparseVector.summed([], []).indices.tolist() == []

    def test_of_fewer_dimensions(self):
        found = SparseVector.summed([1, 5, 9, 14], [1, 2, 4, 8]).folded(4)
        assert (found.indices.tolist(), found.values.tolist()) == ([1, 2], [7, 8])
        assert found.dot(found) == 49 + 64


class TestVectors:
    def test_indices_are_of_the_hash_of_terms(self):
        [vector] = SparseEncoder.fit(TEXTS, ENGLISH).embed_documents(["passports"])
        digest = hashlib.sha256(b"passport").digest()
        assert vector.indices.tolist() == [int.from_bytes(digest[:4], "big") % 2**31]
        assert (vector.indices.dtype, vector.values.dtype) == (np.int64, np.float32)

    def test_indices_ascend_and_values_are_positive(self):
        for vector in SparseEncoder.fit(TEXTS, Analyzer("mul")).embed_documents(TEXTS):
            assert (np.diff(vector.indices) > 0).all()
            assert (vector.values > 0).all()
            assert (vector.values < 1).all()

    def test_terms_of_one_index_are_added(self, monkeypatch):
        from gem_index.sparse import encoder

        monkeypatch.setattr(encoder, "_index", lambda _term: 7)
        encoder = SparseEncoder.fit(TEXTS, ENGLISH)
        [vector] = encoder.embed_documents(["passport bank"])
        assert vector.indices.tolist() == [7]
        assert vector.values[0] > 0.9

    def test_a_query_without_known_words_is_empty(self):
        encoder = SparseEncoder.fit(TEXTS, ENGLISH)
        query = encoder.embed_query("zebra")
        assert not len(query.indices)
        assert query.dot(encoder.embed_documents(["zebra"])[0]) == 0
        [empty] = encoder.embed_documents([""])
        assert not len(empty.indices)

    def test_the_product_with_oneself(self):
        vector = SparseVector(np.array([1, 5]), np.array([2, 3], np.float32))
        assert vector.dot(vector) == 13
        assert vector.dot(SparseVector(np.array([5, 9]), np.array([1, 1], np.float32))) == 3


class TestStored:
    def test_comes_back(self, tmp_path):
        encoder = SparseEncoder.fit(TEXTS, Analyzer("de"))
        encoder.save(tmp_path / "words.json")
        again = SparseEncoder.load(tmp_path / "words.json")
        assert again.fingerprint == encoder.fingerprint
        for text in TEXTS:
            one, other = encoder.embed_query(text), again.embed_query(text)
            assert one.indices.tolist() == other.indices.tolist()
            assert one.values.tolist() == other.values.tolist()

    def test_other_statistics_have_another_fingerprint(self):
        found = {
            SparseEncoder.fit(TEXTS, ENGLISH).fingerprint,
            SparseEncoder.fit(TEXTS, Analyzer("de")).fingerprint,
            SparseEncoder.fit(TEXTS[1:], ENGLISH).fingerprint,
            SparseEncoder.fit([*TEXTS[1:], "How"], ENGLISH).fingerprint,
        }
        assert len(found) == 4

    @pytest.mark.parametrize(
        ("change", "error", "told"),
        [
            ({"format": "x"}, InputError, "is not a sparse encoder"),
            ({"version": 2}, ConfigError, "has version 2; expected 1: upgrade"),
            ({"frequencies": [1]}, InputError, "is damaged"),
            ({"texts": -1}, ConfigError, "number of texts"),
            ({"analyzer": '{"version": 9}'}, ConfigError, "version 9"),
        ],
    )
    def test_a_wrong_file(self, tmp_path, change, error, told):
        path = tmp_path / "words.json"
        SparseEncoder.fit(TEXTS, ENGLISH).save(path)
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
        with pytest.raises(error, match=told):
            SparseEncoder.load(path)

    def test_a_rule_makes_the_same_vectors_of_documents(self):
        encoder = SparseEncoder.fit(TEXTS, Analyzer("de"))
        again = SparseEncoder.of_rule(encoder.rule)
        assert again.rule == encoder.rule
        for one, other in zip(*(e.embed_documents(TEXTS) for e in (encoder, again)), strict=True):
            assert one.indices.tolist() == other.indices.tolist()
            assert one.values.tolist() == other.values.tolist()

    @pytest.mark.parametrize(
        ("rule", "told"),
        [
            ("", "expected an analyzer and mean_terms; push in full"),
            ("[]", "push in full"),
            ("{}", "push in full"),
            ({"mean_terms": None}, "push in full"),
            ({"version": 2}, "of version 2; expected 1; upgrade"),
        ],
    )
    def test_a_wrong_rule(self, rule, told):
        if isinstance(rule, dict):
            rule = json.dumps(json.loads(SparseEncoder.fit(TEXTS, ENGLISH).rule) | rule)
        with pytest.raises(ConfigError, match=told):
            SparseEncoder.of_rule(rule)

    @pytest.mark.parametrize("texts", ["one", 5, [3], {"a": 1}])
    def test_wrong_texts(self, texts):
        with pytest.raises(InputError):
            SparseEncoder.fit(texts, ENGLISH)
        with pytest.raises(InputError):
            SparseEncoder.fit(TEXTS, ENGLISH).embed_documents(texts)


def test_features_are_the_vectors_and_the_words_beside_them():
    words = WordFeatures(SparseEncoder.fit(TEXTS, ENGLISH), TEXTS)
    vectors = np.arange(6, dtype=np.float32).reshape(3, 2)
    found = words.beside(vectors, ["passport", "zebras", "zebras bank"])
    assert (found.shape, found.dtype) == ((3, 2 + words.count), np.float32)
    np.testing.assert_array_equal(found[:, :2].toarray(), vectors)
    of_words = found[:, 2:].toarray()
    assert np.count_nonzero(of_words, axis=1).tolist() == [1, 0, 1]
    np.testing.assert_array_equal(of_words, words.transform(["passports", "", "banks"]).toarray())


def test_a_row_of_words_has_the_length_three_and_weights_by_rarity():
    texts = ["bank visa", "bank bank tea", "bank", "bank"]
    encoder = SparseEncoder.fit(texts, ENGLISH)
    words = WordFeatures(encoder, texts)
    found = words.transform(["bank tea tea zebras", "", "tea"])
    assert (found.shape, found.dtype) == ((3, 3), np.float32)
    [vector] = encoder.embed_documents(["bank tea tea zebras"])
    (bank,), (tea,) = (each.indices for each in encoder.embed_documents(["bank", "tea"]))
    values = dict(zip(vector.indices.tolist(), vector.values.tolist(), strict=True))
    # the inverse document frequency of a term of 4, and of 1, of 4 texts
    rare = {bank: values[bank] * np.log(1 + 0.5 / 4.5), tea: values[tea] * np.log(1 + 3.5 / 1.5)}
    length = np.hypot(rare[bank], rare[tea])
    columns = sorted([bank, tea, *encoder.embed_documents(["visa"])[0].indices])
    expected = np.zeros((3, 3))
    for term, value in rare.items():
        expected[0, columns.index(term)] = 3 * value / length
    expected[2, columns.index(tea)] = 3
    np.testing.assert_allclose(found.toarray(), expected, rtol=1e-6)


def test_no_texts_have_no_rows_of_words():
    words = WordFeatures(SparseEncoder.fit(TEXTS, ENGLISH), TEXTS)
    assert words.transform([]).shape == (0, words.count)
    assert words.beside(np.zeros((0, 2), np.float32), []).shape == (0, 2 + words.count)
