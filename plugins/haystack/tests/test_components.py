"""Components on their own, in pipelines, saved and loaded by another process."""

import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from haystack import Document, Pipeline
from haystack.components.retrievers.in_memory import InMemoryEmbeddingRetriever
from haystack.core.errors import PipelineConnectError
from haystack.dataclasses import ByteStream, SparseEmbedding
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from haystack_integrations.components.embedders.gem import GemDocumentEmbedder, GemTextEmbedder
from haystack_integrations.components.rankers.gem import GemRanker
from haystack_integrations.components.retrievers.gem import GemRetriever
from haystack_integrations.document_stores.gem import GemDocumentStore

import calls
from gem_index import GemConfig, open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError, InputError
from gem_index.testing import call_in_child, run_page, run_python

DOCUMENTS = [
    Document(id="visa", content="how do I renew a visa?", meta={"lang": "en", "n": 1}),
    Document(id="bank", content="where can I open a bank account?", meta={"lang": "en", "n": 2}),
    Document(id="tea", content="how long does tea keep in the cup?", meta={"lang": "de", "n": 3}),
]

FILLER = "The office is in the town hall, next to the library. "
LONG = f"# Guide\n\n{FILLER * 20}\n\n## Passports\n\nA child needs a passport of its own.\n\n{FILLER * 20}"


@pytest.fixture
def store():
    store = GemDocumentStore("faq")
    store.write_documents(DOCUMENTS)
    return store


def ids(documents):
    return [document.id for document in documents]


class TestEmbedders:
    def test_documents_come_back_as_copies(self):
        embedded = GemDocumentEmbedder().run(DOCUMENTS)["documents"]
        expected = open_provider().embed_documents([d.content for d in DOCUMENTS])
        np.testing.assert_array_equal([d.embedding for d in embedded], expected)
        assert ids(embedded) == ids(DOCUMENTS)
        assert all(document.embedding is None for document in DOCUMENTS)

    def test_metadata_are_embedded_where_asked_for(self):
        document = Document(content="a stamp", meta={"title": "visa", "year": 2026, "none": None})
        embedder = GemDocumentEmbedder(meta_fields_to_embed=["title", "year", "none", "missing"])
        (embedded,) = embedder.run([document])["documents"]
        assert embedded.embedding == open_provider().embed_query("visa\n2026\na stamp").tolist()
        again = GemDocumentEmbedder.from_dict(embedder.to_dict())
        assert again.run([document])["documents"] == [embedded]

    def test_documents_without_text_give_zeros(self):
        blob = Document(blob=ByteStream(b"\x00"))
        (embedded,) = GemDocumentEmbedder().run([blob])["documents"]
        assert embedded.embedding == [0.0] * 256
        assert GemDocumentEmbedder().run([]) == {"documents": []}

    @pytest.mark.parametrize("wrong", ["a text", ["a text"], None])
    def test_the_wrong_kind_names_the_right_component(self, wrong):
        with pytest.raises(TypeError, match="for a string use GemTextEmbedder"):
            GemDocumentEmbedder().run(wrong)
        with pytest.raises(TypeError, match="use GemDocumentEmbedder"):
            GemTextEmbedder().run([Document(content="a")])

    def test_progress_ends_with_the_whole_count(self, capsys):
        reports = []
        embedder = GemDocumentEmbedder(progress_bar=lambda *report: reports.append(report))
        assert embedder.run(DOCUMENTS) == GemDocumentEmbedder().run(DOCUMENTS)
        assert reports[-1] == ("encode", 3, 3)
        assert capsys.readouterr().err == ""

    def test_a_saved_embedder_shows_a_bar_or_none(self):
        for given, expected in ((True, True), (False, False), (print, False)):
            saved = GemDocumentEmbedder(progress_bar=given).to_dict()
            assert saved["init_parameters"]["progress_bar"] is expected
            assert GemDocumentEmbedder.from_dict(saved).progress_bar is expected

    async def test_asynchronously(self):
        text = await GemTextEmbedder().run_async("a visa")
        assert text == GemTextEmbedder().run("a visa")
        documents = await GemDocumentEmbedder().run_async(DOCUMENTS)
        assert documents == GemDocumentEmbedder().run(DOCUMENTS)
        ranked = await GemRanker().run_async("a visa", DOCUMENTS)
        assert ranked == GemRanker().run("a visa", DOCUMENTS)

    def test_in_haystacks_own_store(self):
        store = InMemoryDocumentStore(embedding_similarity_function="cosine")
        store.write_documents(GemDocumentEmbedder().run(DOCUMENTS)["documents"])
        pipeline = Pipeline()
        pipeline.add_component("embed", GemTextEmbedder())
        pipeline.add_component("retrieve", InMemoryEmbeddingRetriever(store, top_k=1))
        pipeline.connect("embed.embedding", "retrieve.query_embedding")
        found = pipeline.run({"embed": {"text": "a cup of tea"}})["retrieve"]["documents"]
        assert ids(found) == ["tea"]


class TestRanker:
    def test_copies_are_scored(self):
        ranked = GemRanker().run("a cup of tea", DOCUMENTS)["documents"]
        assert ids(ranked)[0] == "tea"
        assert ranked == [
            replace(DOCUMENTS[ids(DOCUMENTS).index(d.id)], score=d.score) for d in ranked
        ]
        assert DOCUMENTS[0].score is None

    def test_how_many(self):
        assert len(GemRanker(top_k=2).run("tea", DOCUMENTS)["documents"]) == 2
        assert len(GemRanker(top_k=2).run("tea", DOCUMENTS, top_k=1)["documents"]) == 1
        assert len(GemRanker(top_k=None).run("tea", DOCUMENTS)["documents"]) == 3
        assert GemRanker().run("tea", []) == {"documents": []}
        for wrong in (0, -1):
            with pytest.raises(ValueError, match="expected at least 1"):
                GemRanker(top_k=wrong)
            with pytest.raises(ValueError, match="expected at least 1"):
                GemRanker().run("tea", DOCUMENTS, top_k=wrong)

    def test_without_words(self):
        ranked = GemRanker().run("?!", [*DOCUMENTS, Document(id="none", blob=ByteStream(b""))])
        assert ids(ranked["documents"]) == [*ids(DOCUMENTS), "none"]
        assert {document.score for document in ranked["documents"]} == {0.0}

    def test_is_saved_with_its_fingerprint(self):
        ranker = GemRanker("wordllama", config="cqa", top_k=4)
        saved = ranker.to_dict()
        assert saved["init_parameters"]["fingerprint"] == ranker.provider.fingerprint
        again = GemRanker.from_dict(saved)
        assert again.top_k == 4
        assert again.run("tea", DOCUMENTS) == ranker.run("tea", DOCUMENTS)
        saved["init_parameters"]["vectors"] = "wordllama-gem"
        with pytest.raises(FingerprintMismatchError, match="the vectors wordllama-gem"):
            GemRanker.from_dict(saved).warm_up()


class TestStore:
    def test_everything_a_document_holds_comes_back(self):
        documents = [
            Document(id="blob", blob=ByteStream(b"\x00\xff", mime_type="image/png"), meta={"a": 1}),
            Document(id="nothing"),
            Document(id="empty", content=""),
            Document(
                id="rich", content="x y", embedding=[0.1, 1 / 3], meta={"b": {"c": [1, None]}}
            ),
            Document(
                id="sparse", content="s", sparse_embedding=SparseEmbedding([1, 5], [0.5, 2.0])
            ),
        ]
        store = GemDocumentStore("kept")
        assert store.write_documents(documents) == 5
        assert store.filter_documents() == documents
        again = GemDocumentStore("kept")
        assert again.filter_documents() == documents
        assert ids(again.search("x y")) == ids(
            sorted(again.search("x y"), key=lambda document: -document.score)
        )

    def test_of_two_documents_with_one_id(self):
        twice = [Document(id="1", content="the first"), Document(id="1", content="the last")]
        store = GemDocumentStore("twice")
        with pytest.raises(
            DuplicateDocumentError, match="found 1 documents with the id of another"
        ):
            store.write_documents(twice)
        assert store.count_documents() == 0
        assert store.write_documents(twice, policy=DuplicatePolicy.SKIP) == 1
        assert store.filter_documents()[0].content == "the first"
        assert store.write_documents(twice, policy=DuplicatePolicy.OVERWRITE) == 1
        assert store.filter_documents()[0].content == "the last"

    @pytest.mark.parametrize("policy", list(DuplicatePolicy))
    def test_progress_ends_with_the_whole_count(self, policy):
        reports = []
        written = GemDocumentStore("other").write_documents(
            DOCUMENTS, policy, progress=lambda *report: reports.append(report)
        )
        assert written == 3
        assert reports[-1] == ("store", 3, 3)

    async def test_progress_asynchronously(self, store):
        reports = []
        await store.write_documents_async(
            DOCUMENTS, DuplicatePolicy.SKIP, progress=lambda *report: reports.append(report)
        )
        assert reports[-1] == ("store", 3, 3)

    def test_bad_documents_are_refused_and_nothing_is_stored(self, store):
        for wrong, error, message in (
            (Document(id="a", content="a", meta={"_haystack": 1}), ValueError, "_haystack"),
            (Document(id="a", content="a", meta={"at": {1, 2}}), InputError, "not JSON"),
        ):
            with pytest.raises(error, match=message):
                store.write_documents([Document(id="fine", content="fine"), wrong])
        assert store.count_documents() == 3

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            ({"field": "meta.lang", "operator": "==", "value": "en"}, ["visa", "bank"]),
            ({"field": "lang", "operator": "!=", "value": "en"}, ["tea"]),
            ({"field": "meta.n", "operator": "not in", "value": [1, 3]}, ["bank"]),
            (
                {
                    "operator": "OR",
                    "conditions": [
                        {"field": "meta.n", "operator": "<", "value": 2},
                        {
                            "operator": "NOT",
                            "conditions": [{"field": "meta.lang", "operator": "==", "value": "en"}],
                        },
                    ],
                },
                ["visa", "tea"],
            ),
        ],
    )
    def test_filters_search_count_and_delete_alike(self, store, filters, expected):
        assert ids(store.filter_documents(filters)) == expected
        assert store.count_documents_by_filter(filters) == len(expected)
        assert sorted(ids(store.search("a visa", filters=filters))) == sorted(expected)
        assert store.delete_by_filter(filters) == len(expected)
        assert sorted([*ids(store.filter_documents()), *expected]) == sorted(ids(DOCUMENTS))

    @pytest.mark.parametrize(
        ("filters", "message"),
        [
            ({"field": "id", "operator": "==", "value": "visa"}, "a field of the metadata"),
            ({"field": "meta.n", "operator": "~", "value": 1}, "the operator is '~'"),
            ({"field": "meta.n", "operator": ">", "value": True}, "a number or an ISO date"),
            ({"field": "meta.n", "operator": "==", "value": [1]}, "is compared with"),
            ({"operator": "XOR", "conditions": []}, "AND, OR or NOT"),
            ({"operator": "AND", "conditions": []}, "AND, OR or NOT"),
            ({"operator": "AND", "conditions": [{}]}, "AND, OR or NOT"),
            ({"operator": "OR", "conditions": [None]}, "the filter is None"),
            ("meta.n", "the filter is 'meta.n'"),
            ({"field": "meta.a.b", "operator": "==", "value": 1}, "a field inside another"),
        ],
    )
    def test_other_filters_are_refused_everywhere(self, store, filters, message):
        for use in (
            store.filter_documents,
            store.delete_by_filter,
            store.count_documents_by_filter,
            lambda wrong: store.search("visa", filters=wrong),
        ):
            with pytest.raises(FilterError, match=message):
                use(filters)
        assert store.count_documents() == 3

    def test_many_values_and_a_reserved_name(self, store):
        among = {"field": "meta.n", "operator": "in", "value": list(range(3, 5000))}
        assert ids(store.search("a visa", filters=among)) == ["tea"]
        for meta in ({"_haystack": 5}, {"_haystack": {}}):
            with pytest.raises(ValueError, match="'_haystack'; expected another name"):
                store.update_by_filter({}, meta)
        assert store.update_by_filter(among, {"lang": "fr"}) == 1
        assert store.filter_documents(among)[0].meta == {"lang": "fr", "n": 3}

    def test_a_short_repr_opens_nothing(self, tmp_path):
        assert repr(GemDocumentStore("faq")) == "GemDocumentStore('faq')"
        named = GemDocumentStore("faq", vectors="nowhere", home=tmp_path / "home")
        assert repr(named) == f"GemDocumentStore('faq', home={str(tmp_path / 'home')!r})"
        assert not (tmp_path / "home").exists()

    def test_a_store_of_other_vectors_is_refused(self, store):
        with pytest.raises(FingerprintMismatchError, match="the collection faq"):
            GemDocumentStore("faq", vectors="wordllama").count_documents()
        with pytest.raises(ConfigError, match="the collection faq"):
            GemDocumentStore("faq", config="cqa").count_documents()
        assert GemDocumentStore("faq", vectors="wordllama-gem").count_documents() == 3

    @pytest.mark.parametrize("config", ["cqa", GemConfig.trained(window=3), {"window": 3}])
    def test_a_configuration_without_a_prior_opens_it_again(self, config):
        store = GemDocumentStore("other", config=config)
        assert store.collection.encoder.config.prior == 10_000
        pipeline = Pipeline()
        pipeline.add_component("retrieve", GemRetriever(store))
        again = Pipeline.loads(pipeline.dumps()).get_component("retrieve").document_store
        assert again.collection.encoder.config == store.collection.encoder.config

    def test_some_fields_change_what_suits_the_word_vectors(self):
        config = GemDocumentStore("other", config={"window": 3}).collection.encoder.config
        assert config == replace(open_provider().encoder.config, window=3, prior=10_000)

    def test_nothing_is_touched_before_it_is_needed(self, tmp_path):
        store = GemDocumentStore("later", home=tmp_path / "later")
        GemDocumentStore.from_dict(store.to_dict())
        assert not (tmp_path / "later").exists()

    def test_pickles_and_child_processes(self, store):
        expected = calls.search(store, "my visa")
        assert calls.search(pickle.loads(pickle.dumps(store)), "my visa") == expected
        for start in ("fork", "spawn"):
            assert call_in_child(start, calls.search, store, "my visa") == expected


class TestRetriever:
    def test_finds_by_meaning_words_or_both(self, store):
        found = GemRetriever(store, top_k=3).run("renew a visa")["documents"]
        hits = store.collection.search("renew a visa", k=3, mode="hybrid")
        assert [(d.id, d.score) for d in found] == [(hit.id, hit.score) for hit in hits]
        dense = GemRetriever(store, top_k=3, mode="dense").run("renew a visa")["documents"]
        vectors = store.collection.encoder.encode(["renew a visa", *(d.content for d in DOCUMENTS)])
        assert dense[0].id == "visa"
        np.testing.assert_allclose(
            [d.score for d in dense], np.sort(vectors[1:] @ vectors[0])[::-1], atol=1e-6
        )
        assert ids(GemRetriever(store, mode="lexical").run("tea")["documents"]) == ["tea"]
        assert GemRetriever(store, mode="hybrid").run("tea cup")["documents"][0].id == "tea"
        assert len(GemRetriever(store).run("visa", top_k=2)["documents"]) == 2
        assert GemRetriever(store, min_score=0.999).run("visa")["documents"] == []
        assert GemRetriever(store).run("?!")["documents"] == []

    def test_filters_of_a_run_replace_or_merge(self, store):
        english = {"field": "meta.lang", "operator": "==", "value": "en"}
        late = {"field": "meta.n", "operator": ">", "value": 1}
        replacing = GemRetriever(store, filters=english)
        merging = GemRetriever(store, filters=english, filter_policy="merge")
        assert set(ids(replacing.run("a visa", filters=late)["documents"])) == {"bank", "tea"}
        assert set(ids(merging.run("a visa", filters=late)["documents"])) == {"bank"}
        assert set(ids(merging.run("a visa")["documents"])) == {"visa", "bank"}

    def test_bad_settings_are_refused_at_once(self, store):
        with pytest.raises(ValueError, match="top_k is 0"):
            GemRetriever(store, top_k=0)
        with pytest.raises(ValueError, match="the mode is 'desne'"):
            GemRetriever(store, mode="desne")

    def test_a_vector_is_no_query(self, store):
        """The collection embeds queries itself, so no vector of another model reaches it."""
        pipeline = Pipeline()
        pipeline.add_component("embed", GemTextEmbedder())
        pipeline.add_component("retrieve", GemRetriever(store))
        with pytest.raises(PipelineConnectError):
            pipeline.connect("embed.embedding", "retrieve.query")
        vector = GemTextEmbedder().run("a visa")["embedding"]
        with pytest.raises(InputError, match="found a vector for a hybrid search; expected a text"):
            GemRetriever(store).run(vector)

    def test_another_store_is_refused_by_name(self):
        with pytest.raises(TypeError, match="InMemoryDocumentStore; expected a GemDocumentStore"):
            GemRetriever(InMemoryDocumentStore())

    async def test_in_an_asynchronous_pipeline(self, store):
        pipeline = Pipeline()
        pipeline.add_component("retrieve", GemRetriever(store, top_k=1))
        found = await pipeline.run_async({"retrieve": {"query": "a cup of tea"}})
        assert ids(found["retrieve"]["documents"]) == ["tea"]


class TestPieces:
    QUERY = "passport for a child"

    @pytest.fixture
    def store(self, store):
        guide = Document(id="guide", content=LONG, meta={"lang": "en"}, embedding=[1.0, 2.0])
        store.write_documents([guide])
        return store

    def check(self, found):
        best = found[0]
        assert best.id == f"guide#{best.meta['piece']}"
        assert best.content == LONG[best.meta["start"] : best.meta["end"]]
        assert best.content.startswith("## Passports")
        assert set(best.meta) == {"lang", "parent", "piece", "start", "end", "heading"}
        assert (best.meta["parent"], best.meta["heading"]) == ("guide", "Guide > Passports")
        assert best.embedding is None  # that of the whole document
        [short] = [document for document in found if document.id == "bank"]
        assert (short.content, short.meta) == (DOCUMENTS[1].content, DOCUMENTS[1].meta)
        assert len({document.id for document in found}) == len(found) > 4

    async def test_pieces_are_found_where_asked_for(self, store):
        [whole] = GemRetriever(store, top_k=1).run(self.QUERY)["documents"]
        assert (whole.id, whole.content, whole.meta) == ("guide", LONG, {"lang": "en"})
        assert whole.embedding == [1.0, 2.0]
        retriever = GemRetriever(store, top_k=20, pieces=True)
        self.check(retriever.run(self.QUERY)["documents"])
        self.check((await retriever.run_async(self.QUERY))["documents"])
        self.check(store.search(self.QUERY, top_k=20, pieces=True))

    def test_a_saved_retriever_returns_pieces(self, store):
        pipeline = Pipeline()
        pipeline.add_component("retrieve", GemRetriever(store, top_k=20, pieces=True))
        loaded = Pipeline.loads(pipeline.dumps())
        self.check(loaded.run({"retrieve": {"query": self.QUERY}})["retrieve"]["documents"])


def test_a_saved_pipeline_loads_in_another_process_by_the_default_allow_list(store, tmp_path):
    pipeline = Pipeline()
    pipeline.add_component("retrieve", GemRetriever(store, top_k=2))
    pipeline.add_component("embed", GemDocumentEmbedder(meta_fields_to_embed=["lang"]))
    pipeline.add_component("rank", GemRanker("wordllama", top_k=1))
    pipeline.add_component("text", GemTextEmbedder(collection="faq"))
    pipeline.connect("retrieve.documents", "embed.documents")
    pipeline.connect("embed.documents", "rank.documents")
    inputs = {
        "retrieve": {"query": "a cup of tea"},
        "rank": {"query": "a cup of tea"},
        "text": {"text": "a cup of tea"},
    }
    answer = pipeline.run(inputs)
    (tmp_path / "pipeline.yaml").write_text(pipeline.dumps())
    script = (
        "from haystack import Pipeline\n"
        "pipeline = Pipeline.loads(open('pipeline.yaml').read())\n"
        f"answer = pipeline.run({inputs!r})\n"
        "best = answer['rank']['documents'][0]\n"
        "print(best.id, round(best.score, 5), sum(best.embedding), sum(answer['text']['embedding']))"
    )
    output = run_python("-c", script).stdout
    best = answer["rank"]["documents"][0]
    sums = sum(best.embedding), sum(answer["text"]["embedding"])
    assert output == f"{best.id} {round(best.score, 5)} {sums[0]} {sums[1]}\n"
    assert best.id == "tea"
    store.collection.refit()
    refused = run_python("-c", script, status=1)
    assert "the data saved with the collection faq" in refused.stderr


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/haystack.md"])
def test_the_pages_run(page):
    run_page(Path(__file__).parents[1] / page)
