"""Sparse vectors of providers, and re-ranking by meaning and words."""

import pickle

import numpy as np
import pytest

from gem_index import Document, open_provider, rerank
from gem_index.errors import ConfigError, InputError
from gem_index.sparse import SparseEncoder

TEXTS = [
    "How do I renew a passport before a long journey?",
    "Opening hours of the library at the river",
    "Error 4711 when a printer is renewed",
    "护照过期了怎么办 需要带身份证和照片去办理",
    "Die Müllabfuhr kommt in München jeden Dienstag",
    "كيف أجدد جواز السفر قبل السفر الطويل",
]


@pytest.fixture
def faq(home):
    home.build("faq", [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)])
    return home.collection("faq")


def same(one, other):
    return (
        one.indices.tolist() == other.indices.tolist()
        and one.values.tolist() == other.values.tolist()
    )


class TestSparseVectors:
    def test_a_collection_has_its_own_statistics(self, home, faq):
        provider = open_provider(collection="faq", home=home)
        own = faq.sparse_encoder()
        assert provider.sparse_encoder.fingerprint == own.fingerprint
        assert same(provider.embed_sparse_query(TEXTS[2]), own.embed_query(TEXTS[2]))
        for one, other in zip(
            provider.embed_sparse_documents(TEXTS), own.embed_documents(TEXTS), strict=True
        ):
            assert same(one, other)

    def test_without_a_collection_they_are_of_the_background(self):
        provider = open_provider()
        assert provider.sparse_encoder.fingerprint == SparseEncoder.background().fingerprint
        assert "words" not in provider.settings

    def test_a_language(self):
        provider = open_provider(words="de")
        assert provider.sparse_encoder.fingerprint == SparseEncoder.background("de").fingerprint
        assert provider.fingerprint == open_provider().fingerprint
        again = open_provider(**provider.settings)
        assert again.sparse_encoder.fingerprint == provider.sparse_encoder.fingerprint

    def test_a_file_keeps_the_statistics_of_a_collection(self, home, faq, tmp_path, monkeypatch):
        faq.sparse_encoder().save(tmp_path / "words.json")
        before = faq.sparse_encoder().fingerprint
        monkeypatch.chdir(tmp_path)
        provider = open_provider(collection="faq", home=home, words="words.json")
        faq.upsert([Document(id="new", text="a zebra at the river")])
        monkeypatch.chdir("/")
        assert provider.sparse_encoder.fingerprint == before
        assert pickle.loads(pickle.dumps(provider)).sparse_encoder.fingerprint == before
        assert open_provider(collection="faq", home=home).sparse_encoder.fingerprint != before

    def test_texts_are_read_once_while_a_collection_is_unchanged(self, home, faq, monkeypatch):
        first = open_provider(collection="faq", home=home).sparse_encoder
        fit = SparseEncoder.fit
        fits = []
        monkeypatch.setattr(SparseEncoder, "fit", lambda *texts: fits.append(1) or fit(*texts))
        assert open_provider(collection="faq", home=home.root).sparse_encoder is first
        assert not fits
        for change in (
            lambda: faq.delete(["1"]),  # the first deletion of the home
            lambda: faq.upsert([Document(id="0", text="a zebra")]),
            lambda: faq.delete(["0"]),
            faq.refit,
            lambda: home.drop("faq") or home.build("faq", [{"id": "0", "text": "a zebra"}]),
        ):
            change()
            found = open_provider(collection="faq", home=home).sparse_encoder
            assert found.fingerprint == home.collection("faq").sparse_encoder().fingerprint
        assert len(fits) == 10

    @pytest.mark.parametrize(
        ("words", "error", "told"),
        [
            ("klingon", ConfigError, "klingon"),
            ("", InputError, "words is empty"),
            (5, InputError, "words is 5"),
        ],
    )
    def test_wrong_statistics(self, words, error, told):
        with pytest.raises(error, match=told):
            open_provider(words=words)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(InputError, match=r"words\.json"):
            open_provider(words=tmp_path / "words.json").embed_sparse_query("a")


class TestReranking:
    @pytest.mark.parametrize(
        "query", ["error 4711", "renew my passports", "护照", "Müllabfuhr", "جواز", "zebra"]
    )
    def test_hybrid_scores_are_those_of_the_default_search(self, home, faq, query):
        expected = {hit.id: hit.score for hit in faq.search(query, 10, correct=False)}
        candidates = [(str(i), text) for i, text in enumerate(TEXTS)]
        found = open_provider(collection="faq", home=home).rerank(query, candidates, mode="hybrid")
        assert [each.id for each in found] == sorted(expected, key=lambda name: -expected[name])
        for each in found:
            assert each.score == pytest.approx(expected[each.id], abs=5e-3)

    def test_dense_by_default(self):
        provider = open_provider()
        assert provider.rerank("renew", TEXTS, 3) == rerank("renew", TEXTS, provider.encoder, 3)

    def test_words_find_a_number(self):
        texts = ["Error 4712 of the printer", "4711 is another one", "Error 4711 of the printer"]
        found = open_provider().rerank("the printer shows error 4711", texts, mode="hybrid")
        assert found[0].index == 2

    def test_equal_scores_keep_the_order(self):
        found = open_provider().rerank("visa", ["a bank", "visa", "visa", "visa"], mode="hybrid")
        assert [each.index for each in found] == [1, 2, 3, 0]
        assert [each.score for each in open_provider().rerank("?", TEXTS, mode="hybrid")] == [
            0.0
        ] * len(TEXTS)

    def test_the_number_of_results(self):
        provider = open_provider()
        assert len(provider.rerank("visa", TEXTS, 2, mode="hybrid")) == 2
        assert provider.rerank("visa", [], mode="hybrid") == []
        with pytest.raises(InputError, match="top_n is 0"):
            provider.rerank("visa", TEXTS, 0, mode="hybrid")
        with pytest.raises(
            InputError, match="found the mode \"?'?lexical.*expected dense or hybrid"
        ):
            provider.rerank("visa", TEXTS, mode="lexical")

    def test_a_text_is_scored_by_itself(self):
        provider = open_provider()
        long = " ".join(TEXTS) * 500
        alone = {
            text: provider.rerank("passport", [text], mode="hybrid")[0].score
            for text in [*TEXTS, long]
        }
        together = provider.rerank("passport", [*TEXTS, long, *TEXTS], mode="hybrid")
        assert np.allclose(
            [each.score for each in together], [alone[each.text] for each in together], atol=1e-7
        )
