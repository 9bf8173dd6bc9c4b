"""GemVectors in txtai: values, saved indexes, searches, processes."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import mkdtemp

import numpy as np
import pytest
from txtai import Embeddings
from txtai.pipeline import Reranker
from txtai.vectors import VectorsFactory
from txtai_gem import GemSparseVectors, GemVectors

from calls import embed, embed_query
from gem_index import Document, GemIndexError, Home, open_provider
from gem_index.testing import (
    EmbeddingProviderContract,
    cosine_ranking,
    fit_model,
    run_page,
    run_python,
)

METHOD = "txtai_gem.GemVectors"
TEXTS = [
    "how do I renew a visa?",
    "where can I open a bank account?",
    "is the school open today?",
    "visa fees at the bank",
    "a man plays guitar",
]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "model.safetensors"
    fit_model(path, TEXTS)
    return path


def gem(**config: object) -> Embeddings:
    return Embeddings(method=METHOD, **config)


class TestGemVectors(EmbeddingProviderContract):
    """The contract for a complete Embeddings object, saved and loaded as an index."""

    embed = staticmethod(embed)
    embed_query = staticmethod(embed_query)
    lazy = True

    def make(self, **choice):
        return gem(vectors=choice)

    def save(self, adapter):
        adapter.index(TEXTS)
        path = mkdtemp(dir=Path.cwd())
        adapter.save(path)
        return path

    def load(self, saved):
        embeddings = Embeddings()
        embeddings.load(saved)
        return embeddings


class TestConfiguration:
    def test_txtai_makes_it_by_its_dotted_name(self) -> None:
        made = VectorsFactory.create({"method": METHOD})
        assert type(made) is GemVectors
        assert type(gem().model) is GemVectors

    def test_it_holds_the_settings_once_a_text_was_embedded(self, model: Path) -> None:
        embeddings = gem(vectors={"model": str(model)})
        assert embeddings.config["vectors"] == {"model": str(model)}
        embeddings.transform("visa")
        assert embeddings.config["vectors"] == open_provider(model=model).settings

    def test_path_names_word_vectors(self) -> None:
        embeddings = gem(path="wordllama", vectors={"config": "cqa"})
        expected = open_provider("wordllama", config="cqa")
        np.testing.assert_allclose(
            embeddings.transform(TEXTS[0]), expected.embed_query(TEXTS[0]), atol=1e-6
        )
        assert embeddings.config["vectors"] == expected.settings

    def test_path_goes_before(self) -> None:
        embeddings = gem(path="wordllama", vectors={"vectors": "wordllama-gem"})
        embeddings.transform("visa")
        assert embeddings.config["vectors"]["vectors"] == "wordllama"

    def test_rows_are_float32_and_stay_as_txtai_wants_them(self) -> None:
        rows = gem().batchtransform([TEXTS[0], ""])
        assert rows.dtype == np.float32
        assert rows.shape == (2, 256)
        cut = gem(dimensionality=64).batchtransform([TEXTS[0], ""])
        assert cut.shape == (2, 64)
        np.testing.assert_allclose(np.linalg.norm(cut, axis=1), [1, 0], atol=1e-6)
        assert gem(quantize=8).batchtransform([TEXTS[0], ""]).dtype == np.uint8


class TestIndex:
    def test_search_gives_the_cosines(self) -> None:
        embeddings = gem()
        embeddings.index(TEXTS)
        found = embeddings.search("renewing my visa", 5)
        assert found == [
            (i, s) for i, s in cosine_ranking("renewing my visa", TEXTS) if s.expected > 0
        ]
        assert found[0][0] == 0

    def test_similarity(self) -> None:
        assert gem().similarity("renewing my visa", TEXTS) == cosine_ranking(
            "renewing my visa", TEXTS
        )
        rows = gem().batchsimilarity(["visa", "?!"], TEXTS)
        assert rows[0] == cosine_ranking("visa", TEXTS)
        assert rows[1] == [(i, 0.0) for i in range(5)]

    def test_batchsearch(self) -> None:
        embeddings = gem()
        embeddings.index(TEXTS)
        queries = ["renewing my visa", "a bank account", "?!"]
        assert embeddings.batchsearch(queries, 2) == [embeddings.search(q, 2) for q in queries]
        assert embeddings.search("?!", 2) == []

    def test_upsert_and_delete(self) -> None:
        embeddings = gem()
        embeddings.index([(f"d{i}", text, None) for i, text in enumerate(TEXTS)])
        embeddings.upsert([("d4", "a woman plays the flute", None), ("d5", "", None)])
        assert embeddings.count() == 6
        ((best, score),) = embeddings.search("a woman plays the flute", 1)
        assert (best, score) == ("d4", pytest.approx(1, abs=1e-6))
        assert embeddings.delete(["d4"]) == ["d4"]
        assert "d4" not in dict(embeddings.search("a woman plays the flute", 5))

    def test_sql_over_the_content(self) -> None:
        embeddings = gem(content=True)
        embeddings.index(
            {"id": f"d{i}", "text": text, "length": len(text)} for i, text in enumerate(TEXTS)
        )
        rows = embeddings.search(
            "select id, text, score from txtai where similar(:q) and length < 25 limit 2",
            parameters={"q": "renewing my visa"},
        )
        expected = dict(cosine_ranking("renewing my visa", TEXTS))
        assert [(row["id"], row["text"], row["score"]) for row in rows] == [
            ("d0", TEXTS[0], expected[0]),
            ("d3", TEXTS[3], expected[3]),
        ]

    def test_hybrid_search(self) -> None:
        embeddings = gem(hybrid=True, content=True)
        embeddings.index(TEXTS)
        assert embeddings.search("visa fees", 1)[0]["text"] == TEXTS[3]
        dense = embeddings.search("renewing my visa", 1, weights=1.0)
        assert dense[0]["text"] == TEXTS[0]

    def test_subindexes(self, model: Path) -> None:
        embeddings = Embeddings(
            content=True,
            defaults=False,
            indexes={
                "plain": {"method": METHOD, "path": "wordllama-gem"},
                "fitted": {
                    "method": METHOD,
                    "path": "wordllama-gem",
                    "vectors": {"model": str(model)},
                },
            },
        )
        embeddings.index(TEXTS)
        for index, choice in (("plain", {}), ("fitted", {"model": model})):
            (row,) = embeddings.search("renewing my visa", 1, index=index)
            assert row["text"] == TEXTS[0]
            assert row["score"] == cosine_ranking("renewing my visa", TEXTS, **choice)[0][1]

    def test_reranking_what_a_word_search_found(self) -> None:
        words = Embeddings(keyword=True, content=True)
        words.index(TEXTS)
        query = "bank account for a visa"
        found = {int(row["id"]) for row in words.search(query, 20)}
        rows = Reranker(words, gem().similarity)(query, limit=2)
        expected = [(i, score) for i, score in cosine_ranking(query, TEXTS) if i in found]
        assert [(int(row["id"]), row["score"]) for row in rows] == expected[:2]

    def test_explain(self) -> None:
        (found,) = gem().explain("renewing my visa", [TEXTS[0]])
        ranked = sorted(found["tokens"], key=lambda token: -token[1])
        assert {token for token, _ in ranked[:2]} == {"renew", "visa?"}
        (alone,) = gem().explain("visa", ["visa"])  # without its only word, the text has none
        assert alone["tokens"] == [("visa", pytest.approx(1, abs=1e-6))]

    def test_reindex(self, model: Path) -> None:
        embeddings = gem(content=True)
        embeddings.index(TEXTS)
        embeddings.reindex(method=METHOD, vectors={"model": str(model)})
        assert (
            embeddings.search("renewing my visa", 1)[0]["score"]
            == (cosine_ranking("renewing my visa", TEXTS, model=model)[0][1])
        )

    def test_a_checkpoint_of_another_fit_is_not_used(self, tmp_path: Path, model: Path) -> None:
        for corpus in (TEXTS, TEXTS[:3]):  # two fits of one name
            fit_model(model, corpus)
            embeddings = gem(vectors={"model": str(model)})
            embeddings.index(TEXTS, checkpoint=str(tmp_path / "checkpoint"))
            ((_, score),) = embeddings.search("renewing my visa", 1)
            assert score == cosine_ranking("renewing my visa", TEXTS, model=model)[0][1]
        assert len(list((tmp_path / "checkpoint").iterdir())) == 2


class TestSavedIndex:
    @pytest.mark.parametrize("name", ["index", "index.tar.gz"])
    def test_in_a_second_process(self, name: str, tmp_path: Path, model: Path) -> None:
        embeddings = gem(vectors={"model": str(model)}, content=True)
        embeddings.index(TEXTS)
        embeddings.save(str(tmp_path / name))
        here = [[row["id"], row["score"]] for row in embeddings.search("renewing my visa", 2)]
        if (
            embeddings.archive.directory
        ):  # of a compressed index; txtai leaves it to the garbage collector
            embeddings.archive.directory.cleanup()

        found = run_python("-c", SECOND, str(tmp_path / name))
        assert json.loads(found.stdout) == [here, [["new", pytest.approx(1, abs=1e-6)]]]

        fit_model(model, TEXTS[:3])
        refused = run_python("-c", SECOND, str(tmp_path / name), status=1)
        assert "model.safetensors was made with the encoder" in refused.stderr.splitlines()[-1]
        assert "FingerprintMismatchError" in refused.stderr.splitlines()[-1]

    def test_the_configuration_is_json(self, tmp_path: Path) -> None:
        embeddings = gem()
        embeddings.index(TEXTS)
        embeddings.save(str(tmp_path / "index"))
        saved = json.loads((tmp_path / "index" / "config.json").read_text())
        assert saved["method"] == METHOD
        assert saved["vectors"] == open_provider().settings

    def test_other_vectors_named_when_loading_are_refused(self, tmp_path: Path) -> None:
        embeddings = gem()
        embeddings.index(TEXTS)
        embeddings.save(str(tmp_path / "index"))
        again = Embeddings()
        again.load(str(tmp_path / "index"), config={"path": "wordllama"})
        with pytest.raises(GemIndexError, match="the vectors wordllama was made with the encoder"):
            again.search("visa")


WORDS = {
    "method": "sparse",
    "vectormethod": "txtai_gem.GemSparseVectors",
    "normalize": 2.25,
    "ivfsparse": {"nlist": 1},
}


class TestWords:
    """Sparse vectors of words beside those of meaning: together the scores of gem-index's search."""

    QUERIES = ("a bank for my visa", "renew form B-17", "geöffnete Schule", "?!", "")

    def own(self, query: str, texts: list[str], **choice) -> dict[int, float]:
        provider = open_provider(**choice)
        cosines = provider.embed_documents(texts) @ provider.embed_query(query)
        asked = provider.embed_sparse_query(query).folded(2**16)
        return {
            place: (float(cosine) + asked.dot(words.folded(2**16))) / 3.25
            for place, (cosine, words) in enumerate(
                zip(cosines, provider.embed_sparse_documents(texts), strict=True)
            )
        }

    def test_hybrid_search_ranks_by_our_scores(self) -> None:
        texts = [*TEXTS, "form B-17 of the embassy", "ist die Schule geöffnet?", "?!", ""]
        embeddings = gem(scoring=WORDS)
        embeddings.index(texts)
        for query in self.QUERIES:
            expected = self.own(query, texts)
            found = embeddings.search(query, 3, weights=1 / 3.25)
            best = sorted((score for score in expected.values() if score > 0), reverse=True)[:3]
            assert [score for _, score in found] == pytest.approx(best, abs=1e-5)
            for place, score in found:
                assert score == pytest.approx(expected[place], abs=1e-5)

    def test_the_statistics_of_a_collection(self, tmp_path: Path) -> None:
        home = Home(tmp_path / "home")
        home.build("faq", [Document(id=str(i), text=text) for i, text in enumerate(TEXTS)])
        choice = {"collection": "faq", "home": str(home.root)}
        embeddings = gem(vectors=choice, scoring=WORDS | {"vectors": choice})
        embeddings.index(TEXTS)
        for hit in home.collection("faq").search("visa fees", 3, correct=False):
            found = dict(embeddings.search("visa fees", 5, weights=1 / 3.25))
            assert found[int(hit.id)] == pytest.approx(hit.score, abs=1e-3)

    def test_saved_changed_and_loaded(self, tmp_path: Path) -> None:
        embeddings = gem(scoring=WORDS, content=True)
        embeddings.index(TEXTS)
        embeddings.upsert(
            [("new", "a new text about the form C-3"), ("0", "renewing a visa twice")]
        )
        embeddings.delete(["3"])
        embeddings.save(str(tmp_path / "index"))
        again = Embeddings()
        again.load(str(tmp_path / "index"))
        for query in ("form C-3", "twice", "fees"):
            found = again.search(query, 2, weights=1 / 3.25)
            assert found == embeddings.search(query, 2, weights=1 / 3.25)
        assert again.search("form C-3", 1, weights=1 / 3.25)[0]["id"] == "new"

    def test_a_fingerprint_in_the_configuration_is_checked(self) -> None:
        settings = open_provider("wordllama").settings | {"vectors": "wordllama-gem"}
        model = GemSparseVectors({"vectors": settings}, None, None)
        with pytest.raises(GemIndexError, match="was made with the encoder"):
            model.encode(["visa"], "data")


SECOND = """
import json, sys
from txtai import Embeddings
embeddings = Embeddings()
embeddings.load(sys.argv[1])
found = [[[row["id"], row["score"]] for row in embeddings.search("renewing my visa", 2)]]
embeddings.upsert([("new", "the rubbish is collected on Monday")])
found.append([[row["id"], row["score"]] for row in embeddings.search("the rubbish is collected on Monday", 1)])
print(json.dumps(found))
"""


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/txtai.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
