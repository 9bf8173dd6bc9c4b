"""GemEmbeddings and GemReranker in LanceDB: values, what a table records, another process, other encoders."""

from __future__ import annotations

import json
from pathlib import Path

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from gem_index_lancedb import GemEmbeddings, GemReranker
from lancedb.embeddings import get_registry
from lancedb.index import FTS
from lancedb.pydantic import LanceModel, Vector

from calls import embed, embed_query, ranking
from gem_index import Document, Home, open_provider
from gem_index.errors import ConfigError, InputError
from gem_index.testing import (
    EmbeddingProviderContract,
    RerankerContract,
    cosine_ranking,
    fit_model,
    run_python,
)

TEXTS = {
    "visa": "how do I renew a visa?",
    "bank": "where can I open a bank account?",
    "school": "is the school open today?",
    "none": "?!",
}
QUERY = "renewing my visa"
SECOND = """
import json, sys
import lancedb
folder, imports, query, home = sys.argv[1:]
if imports == "import":
    import gem_index_lancedb
    if home:
        lancedb.embeddings.get_registry().set_var("gem_home", home)
rows = lancedb.connect(folder).open_table("faq").search(query).distance_type("dot").limit(9).to_list()
print(json.dumps([[row["id"], 1 - row["_distance"]] for row in rows]))
"""


@pytest.fixture
def folder(tmp_path: Path) -> str:
    return str(tmp_path / "lance")


@pytest.fixture
def faq():
    """A fitted collection in the default home."""
    home = Home()
    home.build("faq", [Document(id=name, text=text) for name, text in TEXTS.items()])
    return home.collection("faq")


def second(folder: str, query: str = QUERY, status: int = 0, imports: str = "import", home=""):
    return run_python("-c", SECOND, folder, imports, query, str(home), status=status)


def last_line(run) -> str:
    return run.stderr.strip().splitlines()[-1]


class TestGemEmbeddings(EmbeddingProviderContract):
    """The contract; saved as LanceDB saves it."""

    embed = staticmethod(embed)
    embed_query = staticmethod(embed_query)

    def make(self, **choice):
        return get_registry().get("gem").create(**choice)

    def save(self, adapter):
        return json.dumps(adapter.safe_model_dump())

    def load(self, saved):
        return get_registry().get("gem").create(**json.loads(saved))


class TestGemReranker(RerankerContract):
    """The contract; saved as settings."""

    rank = staticmethod(ranking)

    def make(self, **choice):
        return GemReranker(**choice)

    def save(self, adapter):
        return json.dumps(adapter.settings)

    def load(self, saved):
        return GemReranker(**json.loads(saved))


def make_table(folder: str, function: GemEmbeddings):
    class Question(LanceModel):
        id: str
        text: str = function.SourceField()
        vector: Vector(function.ndims()) | None = function.VectorField(default=None)

    table = lancedb.connect(folder).create_table("faq", schema=Question)
    table.add([{"id": name, "text": text} for name, text in TEXTS.items()], on_bad_vectors="null")
    return table


class TestInLanceDb:
    def test_a_table_of_its_own(self, folder: str) -> None:
        table = make_table(folder, get_registry().get("gem").create())
        found = {row["id"]: row["vector"] for row in table.to_arrow().to_pylist()}
        vectors = open_provider().embed_documents(list(TEXTS.values()))
        np.testing.assert_allclose(
            [found[name] for name in list(TEXTS)[:3]], vectors[:3], atol=1e-6
        )
        assert found["none"] is None
        expected = [
            [list(TEXTS)[place], score]
            for place, score in cosine_ranking(QUERY, list(TEXTS.values())[:3])
        ]
        assert json.loads(second(folder).stdout) == expected

    def test_what_a_table_records(self, folder: str, tmp_path: Path) -> None:
        path = tmp_path / "model.safetensors"
        encoder = fit_model(path, list(TEXTS.values()))
        table = make_table(folder, get_registry().get("gem").create(model=str(path)))
        [recorded] = json.loads(table.schema.metadata[b"embedding_functions"])
        assert recorded["name"] == "gem"
        assert recorded["model"] == open_provider(model=path).settings
        assert json.loads(second(folder).stdout)[0][0] == "visa"
        old = encoder.fingerprint
        new = fit_model(path, list(TEXTS.values())[:2]).fingerprint
        refused = last_line(second(folder, status=1))
        assert "FingerprintMismatchError" in refused
        assert old[:12] in refused
        assert new[:12] in refused

    def test_without_the_import(self, folder: str) -> None:
        make_table(folder, get_registry().get("gem").create())
        assert last_line(second(folder, status=1, imports="nothing")) == "KeyError: 'gem'"

    def test_equal_functions_are_equal(self) -> None:
        one, other = (get_registry().get("gem").create() for _ in range(2))
        assert one == other
        assert hash(one) == hash(other)


class TestPushed:
    def test_in_a_second_process(self, faq, folder: str) -> None:
        faq.push(f"lancedb://{folder}?table=faq")
        hits = {hit.id: hit.score for hit in faq.search(QUERY, 3, mode="dense")}
        found = json.loads(second(folder).stdout)
        assert found[0][0] == "visa"
        assert dict(found) == pytest.approx(hits, abs=1e-5)

    def test_without_the_import(self, faq, folder: str) -> None:
        faq.push(f"lancedb://{folder}?table=faq")
        assert last_line(second(folder, status=1, imports="nothing")) == "KeyError: 'gem'"
        program = (
            "import sys, lancedb\n"
            "table = lancedb.connect(sys.argv[1]).open_table('faq')\n"
            "[row] = table.search().where(\"id = 'visa'\").to_list()\n"
            "print([row['id'] for row in table.search(row['vector']).limit(1).to_list()])\n"
        )
        assert run_python("-c", program, folder).stdout == "['visa']\n"

    def test_a_refit_that_was_not_pushed(self, faq, folder: str) -> None:
        old = faq.encoder.fingerprint
        faq.push(f"lancedb://{folder}?table=faq")
        faq.upsert([Document(id="tea", text="where is the tea?")])
        faq.refit()
        refused = last_line(second(folder, status=1))
        assert f"found no encoder {old[:12]} in the home" in refused
        assert f"faq {faq.encoder.fingerprint[:12]}; expected" in refused
        faq.push(f"lancedb://{folder}?table=faq")
        found = json.loads(second(folder, "where is the tea?").stdout)
        assert found[0] == ["tea", pytest.approx(1, abs=1e-5)]

    def test_an_encoder_in_another_home(self, folder: str, tmp_path: Path) -> None:
        home = Home(tmp_path / "elsewhere")
        home.build("faq", [Document(id=name, text=text) for name, text in TEXTS.items()])
        home.collection("faq").push(f"lancedb://{folder}?table=faq")
        assert "found no encoder" in last_line(second(folder, status=1))
        assert json.loads(second(folder, home=home.root).stdout)[0][0] == "visa"

    def test_rows_that_a_user_adds(self, faq, folder: str) -> None:
        """They are embedded by the same encoder; the next push notices them."""
        url = f"lancedb://{folder}?table=faq"
        faq.push(url)
        table = lancedb.connect(folder).open_table("faq")
        table.add(pa.table({"id": ["tea"], "text": ["renew a visa"], "metadata": ["{}"]}))
        [row] = table.search().where("id = 'tea'").to_list()
        np.testing.assert_allclose(
            row["vector"], faq.encoder.encode(["renew a visa"])[0], atol=1e-6
        )

    def test_a_named_model_and_the_bundled_vectors(self) -> None:
        Home().models.fit("mine", list(TEXTS.values()))
        for expected in (open_provider(model="mine"), open_provider()):
            function = GemEmbeddings(fingerprint=expected.fingerprint)
            np.testing.assert_array_equal(embed_query(function, QUERY), expected.embed_query(QUERY))

    def test_an_encoder_that_is_nowhere(self, tmp_path: Path) -> None:
        with pytest.raises(
            ConfigError, match="found no encoder ffffffffffff .*; there are no encoders"
        ):
            embed(GemEmbeddings(fingerprint="f" * 64), [QUERY])
        with pytest.raises(InputError, match="there is no home in"):
            embed(GemEmbeddings(fingerprint="f" * 64, home=str(tmp_path / "missing")), [QUERY])
        assert not (tmp_path / "missing").exists()


class TestReranking:
    @pytest.fixture
    def table(self, faq, folder: str):
        faq.push(f"lancedb://{folder}?table=faq")
        table = lancedb.connect(folder).open_table("faq")
        table.create_index("text", config=FTS())
        return table

    def test_a_full_text_search(self, table) -> None:
        rows = table.search("a visa or a bank account", query_type="fts").limit(3)
        found = rows.rerank(GemReranker()).to_list()
        texts = [row["text"] for row in found]
        assert sorted(texts) == sorted([TEXTS["visa"], TEXTS["bank"]])
        expected = dict(cosine_ranking("a visa or a bank account", texts))
        assert [row["_relevance_score"] for row in found] == [expected[0], expected[1]]
        assert "_score" not in found[0]

    def test_a_vector_search(self, table, faq) -> None:
        vector = faq.encoder.encode(["the school"])[0]
        reranker = GemReranker(collection="faq", return_score="all")
        rows = table.search(vector).distance_type("dot").limit(3).rerank(reranker, QUERY).to_list()
        assert rows[0]["id"] == "visa"
        hits = {hit.id: hit.score for hit in faq.search(QUERY, 3, mode="dense")}
        scores = {row["id"]: row["_relevance_score"] for row in rows}
        assert scores == pytest.approx(hits, abs=1e-5)
        assert list(scores.values()) == sorted(scores.values(), reverse=True)
        assert "_distance" in rows[0]

    @pytest.mark.parametrize("score", ["relevance", "all"])
    def test_a_hybrid_search(self, table, score: str) -> None:
        search = table.search(QUERY, query_type="hybrid").limit(3)
        rows = search.rerank(GemReranker(return_score=score)).to_list()
        assert rows[0]["id"] == "visa"
        assert len({row["id"] for row in rows}) == len(rows) == 3
        scores = [row["_relevance_score"] for row in rows]
        assert scores == sorted(scores, reverse=True)

    def test_no_rows(self, table) -> None:
        rows = table.search("zebra", query_type="fts").limit(3).rerank(GemReranker())
        assert rows.to_list() == []

    def test_missing_texts_and_another_column(self) -> None:
        rows = pa.table({"title": [None, "a visa"], "_distance": [0.1, 0.2]})
        ranked = GemReranker(column="title").rerank_vector(QUERY, rows)
        assert ranked["title"].to_pylist() == ["a visa", None]
        assert ranked["_relevance_score"].to_pylist()[1] == 0
        with pytest.raises(ValueError, match="found the columns title, _distance; expected text"):
            GemReranker().rerank_vector(QUERY, rows)
