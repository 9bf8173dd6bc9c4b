"""Behaviour of the store beyond LangChain's standard tests."""

import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time
from pathlib import Path

import numpy as np
import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_gem import GemEmbeddings, GemReranker, GemRetriever, GemVectorStore

import calls
from gem_index import Collection, Home, open_provider
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    FilterError,
    FingerprintMismatchError,
    InputError,
    UnknownNameError,
)
from gem_index.testing import (
    call_in_child,
    cosine_ranking,
    fit_model,
    run_page,
    run_python,
    write_word_vectors,
)

TEXTS = [
    "how do I renew a visa?",
    "how do I renew my visa?",
    "where can I open a bank account?",
    "is the school open today?",
    "how long does tea keep in the cup?",
]
IDS = ["visa", "visa2", "bank", "school", "tea"]
FILLER = "The office is in the town hall, next to the library. "
LONG = f"# Guide\n\n{FILLER * 20}\n\n## Passports\n\nA child needs a passport of its own.\n\n{FILLER * 20}"
DOCUMENTS = [Document(page_content=text) for text in TEXTS]
METADATA = [{"n": i, "lang": "en" if i < 3 else "de"} for i in range(5)]


@pytest.fixture
def store():
    store = GemVectorStore("faq")
    store.add_texts(TEXTS, METADATA, ids=IDS)
    return store


def test_dates_in_metadata_and_filters():
    store = GemVectorStore("dates")
    written = datetime(2025, 3, 1, 12, 30, tzinfo=UTC)
    metadata = [
        {"day": date(2025, 1, month), "log": [{"at": written, "time": time(8)}]}
        for month in (1, 2, 3)
    ]
    store.add_texts(["a visa"] * 3, metadata, ids=["a", "b", "c"])
    [document] = store.get_by_ids(["b"])
    stored = {"at": "2025-03-01T12:30:00+00:00", "time": "08:00:00"}
    assert document.metadata == {"day": "2025-01-02", "log": [stored]}
    assert metadata[1]["day"] == date(2025, 1, 2)
    late = {"day": {"$gte": date(2025, 1, 2)}}
    assert {d.id for d in store.similarity_search("visa", filter=late)} == {"b", "c"}
    among = {"$or": [{"day": {"$in": [date(2025, 1, 1)]}}, {"day": date(2025, 1, 3)}]}
    retriever = store.as_retriever(search_kwargs={"filter": among})
    assert [{d.id for d in found} for found in retriever.batch(["visa", "a visa"])] == [
        {"a", "c"}
    ] * 2
    store.delete(filter=late)
    assert {d.id for d in store.similarity_search("visa")} == {"a"}


def ids(documents):
    return [document.id for document in documents]


class TestSearch:
    def test_a_search_is_the_collections_own_by_meaning_and_words(self, store):
        found = store.similarity_search_with_score("my visa", k=5)
        hits = store.collection.search("my visa", k=5, mode="hybrid")
        assert [(d.id, s) for d, s in found] == [(hit.id, hit.score) for hit in hits]

    def test_scores_by_meaning_are_cosines(self, store):
        vectors = store.collection.encoder.encode(["my visa", *TEXTS])
        cosines = vectors[1:] @ vectors[0]
        found = store.similarity_search_with_score("my visa", k=5, mode="dense")
        assert ids(document for document, _ in found) == [IDS[i] for i in np.argsort(-cosines)]
        np.testing.assert_allclose([s for _, s in found], -np.sort(-cosines), atol=1e-6)

    def test_relevance_is_between_0_and_1(self, store):
        found = store.similarity_search_with_relevance_scores("how do I renew a visa?", k=5)
        scores = [score for _, score in found]
        assert 0 <= min(scores) <= max(scores) <= 1
        retriever = store.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.4}
        )
        expected = [d.id for d, s in found if s >= 0.4]
        assert ids(retriever.invoke("how do I renew a visa?")) == expected
        assert 1 <= len(expected) < 5

    def test_filters(self, store):
        assert set(ids(store.similarity_search("visa", k=9, filter={"lang": "de"}))) == {
            "school",
            "tea",
        }
        assert ids(store.similarity_search("visa", k=9, filter={"n": {"$gte": 4}})) == ["tea"]
        with pytest.raises(FilterError):
            store.similarity_search("visa", filter={"n": {"$near": 1}})

    def test_modes_and_least_scores_pass_through(self, store):
        assert ids(store.similarity_search("tea", mode="lexical")) == ["tea"]
        assert ids(store.similarity_search("tea cup", k=1, mode="hybrid")) == ["tea"]
        assert store.similarity_search("visa", k=5, min_score=0.999) == []
        with pytest.raises(TypeError, match="limit"):
            store.similarity_search("visa", limit=3)

    def test_a_query_without_words_finds_nothing(self, store):
        for query in ("", " ", "?!"):
            assert store.similarity_search(query) == []
            assert store.similarity_search_with_score(query) == []
            assert store.max_marginal_relevance_search(query) == []
        assert GemRetriever(collection="faq").invoke("...") == []

    def test_by_vector(self, store):
        vector = store.embeddings.embed_query("my visa")
        by_text = store.similarity_search("my visa", k=3)
        own = store.embeddings.fingerprint
        assert store.similarity_search_by_vector(vector, k=3, fingerprint=own) == by_text
        with pytest.raises(InputError, match=r"shape \(256,\)"):
            store.similarity_search_by_vector([0.0] * 256, fingerprint=own)
        with pytest.raises(InputError, match="found a query vector and the fingerprint None"):
            store.similarity_search_by_vector(vector)
        other = GemEmbeddings(vectors="wordllama")
        with pytest.raises(FingerprintMismatchError):
            store.similarity_search_by_vector(
                other.embed_query("my visa"), fingerprint=other.fingerprint
            )

    def test_marginal_relevance_prefers_what_is_unlike(self, store):
        alike = store.similarity_search("renew a visa", k=2)
        assert set(ids(alike)) == {"visa", "visa2"}
        for diverse in (
            store.max_marginal_relevance_search("renew a visa", k=2, fetch_k=5, lambda_mult=0.3),
            store.max_marginal_relevance_search_by_vector(
                store.embeddings.embed_query("renew a visa"),
                k=2,
                fetch_k=5,
                lambda_mult=0.3,
                fingerprint=store.embeddings.fingerprint,
            ),
            store.as_retriever(
                search_type="mmr", search_kwargs={"k": 2, "fetch_k": 5, "lambda_mult": 0.3}
            ).invoke("renew a visa"),
        ):
            assert diverse[0] == alike[0]
            assert diverse[1].id not in ("visa", "visa2")
        same = store.max_marginal_relevance_search("renew a visa", k=2, lambda_mult=1.0)
        assert same == alike

    def test_texts_without_words_come_last_in_diverse_results(self, store):
        """They may be the only texts, or rank first: a cosine with zeros is not a number."""
        store.delete()
        store.add_texts(["...", "?!", *TEXTS[:2]], ids=["dots", "marks", "visa", "visa2"])
        found = store.max_marginal_relevance_search("quantum physics", k=4)
        assert set(ids(found[:2])) == {"visa", "visa2"}
        assert set(ids(found[2:])) == {"dots", "marks"}
        store.delete(["visa", "visa2"])
        assert len(store.max_marginal_relevance_search("quantum physics", k=1)) == 1

    def test_texts_without_words_harm_nobody(self, store):
        store.add_texts(["", "?!"], ids=["empty", "marks"])
        found = store.similarity_search_with_score("renew a visa", k=7)
        assert {document.id: score for document, score in found}["empty"] == 0.0
        assert len(store.max_marginal_relevance_search("renew a visa", k=7, fetch_k=7)) == 7

    async def test_asynchronously(self, store):
        assert await store.asimilarity_search("my visa", k=2) == store.similarity_search(
            "my visa", k=2
        )
        assert await store.amax_marginal_relevance_search("my visa", k=2) == (
            store.max_marginal_relevance_search("my visa", k=2)
        )
        await store.adelete(["tea"])
        assert await store.aget_by_ids(["tea"]) == []
        other = await GemVectorStore.afrom_texts(TEXTS, None, ids=IDS, collection_name="other")
        assert ids(await other.as_retriever().ainvoke("a cup of tea"))[0] == "tea"


class TestBatches:
    QUERIES = ("my visa", "a cup of tea", "my visa")

    @pytest.fixture
    def alone(self, store, monkeypatch):
        """The answers to the queries, each searched alone; after which single searches fail."""
        retriever = GemRetriever(collection="faq")
        found = [retriever.invoke(query, k=3) for query in self.QUERIES]
        monkeypatch.setattr(Collection, "search", lambda *_, **__: pytest.fail("a single search"))
        return found

    def test_queries_are_searched_together(self, alone):
        retriever = GemRetriever(collection="faq", k=3)
        found = retriever.batch(list(self.QUERIES))
        assert found == alone
        assert found[0][0] is not found[2][0]  # each may be changed
        assert GemRetriever(collection="faq").batch(list(self.QUERIES), k=3) == alone
        assert retriever.batch([]) == []

    async def test_asynchronously_and_in_a_chain(self, alone):
        retriever = GemRetriever(collection="faq", k=3)
        assert await retriever.abatch(list(self.QUERIES)) == alone
        chain = retriever | (lambda documents: documents[0].id)
        assert chain.batch(list(self.QUERIES)) == [documents[0].id for documents in alone]

    def test_each_query_has_its_own_error_or_none(self, store):
        retriever = GemRetriever(collection="faq", k=1)
        found = retriever.batch(["a cup of tea", "..."])
        assert [ids(each) for each in found] == [["tea"], []]
        with pytest.raises(TypeError, match="limit"):
            retriever.batch(["my visa"], limit=3)
        errors = retriever.batch(["my visa"], return_exceptions=True, filter={"n": {"$near": 1}})
        assert isinstance(errors[0], FilterError)
        assert ids(retriever.invoke("a cup of tea")) == ["tea"]


class TestPieces:
    @pytest.fixture
    def store(self, store):
        store.add_texts([LONG], [{"lang": "en"}], ids=["guide"])
        return store

    def check(self, found):
        [best, *others] = found
        place = best.metadata
        assert set(place) == {"lang", "parent", "piece", "start", "end", "heading"}
        assert (place["parent"], place["heading"]) == ("guide", "Guide > Passports")
        assert best.page_content == LONG[place["start"] : place["end"]]
        assert best.page_content.startswith("## Passports")
        assert best.id == f"guide#{place['piece']}"
        assert len(others) == 9
        [short] = [document for document in found if document.id == "bank"]
        assert (short.page_content, short.metadata) == (TEXTS[2], METADATA[2])

    def test_pieces_are_found_where_asked_for(self, store):
        [document] = store.similarity_search("passport for a child", k=1)
        assert (document.id, document.page_content) == ("guide", LONG)
        assert document.metadata == {"lang": "en"}
        self.check(store.similarity_search("passport for a child", k=10, pieces=True))
        scores = store.similarity_search_with_score("passport for a child", k=10, pieces=True)
        self.check([document for document, _ in scores])
        vector = store.embeddings.embed_query("passport for a child")
        told = {"fingerprint": store.embeddings.fingerprint, "pieces": True}
        self.check(store.similarity_search_by_vector(vector, k=10, **told))

    async def test_retrievers_return_pieces(self, store):
        settings = {"k": 10, "pieces": True}
        for retriever in (
            store.as_retriever(search_kwargs=settings),
            GemRetriever(collection="faq", **settings),
        ):
            self.check(retriever.invoke("passport for a child"))
            self.check(await retriever.ainvoke("passport for a child"))
        assert GemRetriever(collection="faq").invoke("passport for a child")[0].id == "guide"
        found = GemRetriever(collection="faq").invoke("passport for a child", pieces=True)
        assert found[0].metadata["parent"] == "guide"

    def test_diverse_pieces(self, store):
        found = store.max_marginal_relevance_search("passport for a child", k=3, pieces=True)
        assert found[0].metadata["heading"] == "Guide > Passports"
        assert all(document.page_content != LONG for document in found)


class TestWriting:
    def test_upsert_and_order_of_get(self, store):
        assert store.add_texts(["a new text"], ids=["visa"]) == ["visa"]
        assert store.get_by_ids(["tea", "nobody", "visa"]) == [
            Document(id="tea", page_content=TEXTS[4], metadata=METADATA[4]),
            Document(id="visa", page_content="a new text", metadata={}),
        ]

    def test_ids_are_made_up_where_there_are_none(self, store):
        made = store.add_texts(["one", "two", "three"], ids=[None, "second", None])
        assert made[1] == "second"
        assert len(set(made)) == 3
        assert [d.page_content for d in store.get_by_ids(made)] == ["one", "two", "three"]

    async def test_progress_ends_with_the_whole_count(self, store):
        reports = []

        def progress(*report):
            reports.append(report)

        store.add_texts(TEXTS, progress=progress)
        assert reports[-1] == ("store", 5, 5)
        store.add_documents(DOCUMENTS, progress=progress)
        assert reports[-1] == ("store", 5, 5)
        await store.aadd_documents(DOCUMENTS[:2], progress=progress)
        assert reports[-1] == ("store", 2, 2)

    def test_progress_of_from_texts_counts_storing_and_fitting(self):
        reports = []
        GemVectorStore.from_texts(
            TEXTS, collection_name="other", progress=lambda *report: reports.append(report)
        )
        assert ("store", 5, 5) in reports
        assert ("fit", 5, 5) in reports

    def test_delete_without_ids_deletes_all(self, store):
        assert store.delete() is True
        assert store.similarity_search("visa") == []
        assert store.collection.count() == 0
        store.add_texts(["one"])
        assert store.collection.count() == 1

    def test_delete_by_filter(self, store):
        store.delete(filter={"lang": "de"})
        assert {document.id for document in store.collection.documents()} == {
            "visa",
            "visa2",
            "bank",
        }

    def test_what_other_stores_take_is_not_ignored(self, store):
        for wrong in ({"where": {"n": 1}}, {"expr": "n == 1"}):
            with pytest.raises(TypeError, match="which this store does not take"):
                store.delete(**wrong)
            with pytest.raises(TypeError, match="which this store does not take"):
                store.add_texts(["a"], **wrong)
        with pytest.raises(TypeError, match="ids and a filter"):
            store.delete(["tea"], filter={"n": 1})
        with pytest.raises(InputError, match="found one string 'tea'"):
            store.delete("tea")
        with pytest.raises(TypeError, match="found one string 'a text'"):
            store.add_texts("a text")
        with pytest.raises(InputError, match="the id has 0 characters"):
            store.add_texts(["a"], ids=[""])
        assert store.collection.count() == 5

    @pytest.mark.parametrize(
        ("metadatas", "names", "error", "message"),
        [
            ([{}], None, ValueError, "2 texts, 1 metadatas and 2 ids"),
            (None, ["1"], ValueError, "2 texts, 2 metadatas and 1 ids"),
            (None, ["1", "1"], DuplicateIdError, "'1' occurs twice"),
            (
                [{}, {"at": {1, 2}}],
                None,
                InputError,
                "the metadata 'at' of .* is not JSON",
            ),
        ],
    )
    def test_bad_input_is_refused_and_nothing_stored(self, store, metadatas, names, error, message):
        with pytest.raises(error, match=message):
            store.add_texts(["one", "two"], metadatas, ids=names)
        assert store.collection.count() == 5

    def test_langchains_indexing_keeps_a_store_in_step_with_its_source(self, store):
        records = InMemoryRecordManager("faq")
        records.create_schema()
        first = [
            Document(page_content=text, metadata={"source": name})
            for name, text in [("a", "about visas"), ("b", "about banks"), ("c", "about tea")]
        ]
        store.delete()
        result = index(first, records, store, cleanup="full", key_encoder="sha256")
        assert (result["num_added"], result["num_deleted"]) == (3, 0)
        second = [*first[:2], Document(page_content="about schools", metadata={"source": "c"})]
        result = index(second, records, store, cleanup="full", key_encoder="sha256")
        assert (result["num_added"], result["num_skipped"], result["num_deleted"]) == (1, 2, 1)
        assert {d.text for d in store.collection.documents()} == {
            document.page_content for document in second
        }


class TestModels:
    def test_from_texts_fits_on_the_texts(self):
        store = GemVectorStore.from_texts(TEXTS, GemEmbeddings(config="cqa"), METADATA, ids=IDS)
        assert store.collection.status().fitted == 5
        assert store.collection.status().preset == "cqa"
        assert store.embeddings.embed_query("a visa") == (
            store.collection.encoder.encode(["a visa"])[0].tolist()
        )
        before = store.embeddings.fingerprint
        store.add_texts(["another subject: rivers and ducks"])
        store.collection.refit()
        assert store.embeddings.fingerprint != before
        assert GemVectorStore.from_texts([], collection_name="none").collection.count() == 0

    @pytest.mark.parametrize("config", [None, "cqa", {"window": 3}])
    def test_embeddings_that_were_saved_open_their_collection_again(self, config):
        embeddings = GemEmbeddings(config=config)
        store = GemVectorStore("other", embeddings)
        saved = json.loads(json.dumps(embeddings.model_dump()))
        again = GemVectorStore("other", GemEmbeddings(**saved))
        assert again.collection.encoder.fingerprint == store.collection.encoder.fingerprint
        assert store.collection.encoder.config.prior == 10_000

    def test_embeddings_of_another_kind_are_refused_by_name(self):
        with pytest.raises(TypeError, match="DeterministicFakeEmbedding; expected GemEmbeddings"):
            GemVectorStore("x", DeterministicFakeEmbedding(size=6))
        assert Home().collections() == []

    def test_embeddings_of_a_fitted_model_are_refused(self, tmp_path):
        fit_model(tmp_path / "m.safetensors", TEXTS)
        with pytest.raises(TypeError, match="of a fitted model; expected GemEmbeddings of word"):
            GemVectorStore("x", GemEmbeddings(model=tmp_path / "m.safetensors"))
        GemVectorStore.from_texts(TEXTS, collection_name="fitted")
        with pytest.raises(TypeError, match="of a fitted model; expected GemEmbeddings of word"):
            GemVectorStore("x", GemEmbeddings(collection="fitted", vectors="wordllama-gem"))

    def test_a_collection_of_other_vectors_or_settings_is_refused(self, store):
        GemVectorStore("faq", GemEmbeddings())
        with pytest.raises(FingerprintMismatchError, match="the collection faq"):
            GemVectorStore("faq", GemEmbeddings(vectors="wordllama"))
        with pytest.raises(ConfigError, match="the collection faq has the configuration"):
            GemVectorStore("faq", GemEmbeddings(config="cqa"))
        assert GemVectorStore("faq").collection.count() == 5

    def test_embeddings_of_another_home_are_heeded(self, tmp_path):
        """Another home may have other vectors with the same name: use the home of the embeddings, or the two must agree."""
        for seed, name in enumerate("ab"):
            vectors = write_word_vectors(tmp_path / f"{name}.txt", TEXTS, seed)
            Home(tmp_path / name).vectors.add("mine", vectors)
        embeddings = GemEmbeddings(vectors="mine", home=tmp_path / "a")
        with pytest.raises(FingerprintMismatchError, match="the vectors mine"):
            GemVectorStore("faq", embeddings, home=tmp_path / "b")
        store = GemVectorStore("faq", embeddings)
        assert store.collection.encoder.vectors.fingerprint == (
            embeddings.provider.encoder.vectors.fingerprint
        )

    def test_misspelt_settings_are_refused(self, store):
        for make in (
            lambda: GemEmbeddings(vecters="wordllama"),
            lambda: GemReranker(topn=1),
            lambda: GemRetriever(collection="faq", top_k=1),
        ):
            with pytest.raises(ValueError, match="Extra inputs are not permitted"):
                make()

    def test_fields_stand_for_what_was_opened(self):
        embeddings = GemEmbeddings()
        with pytest.raises(ValueError, match="frozen"):
            embeddings.vectors = "wordllama"
        other = embeddings.model_copy(update={"vectors": "wordllama", "config": "cqa"})
        assert other.provider.fingerprint == open_provider("wordllama", config="cqa").fingerprint
        assert other.fingerprint == other.provider.fingerprint
        assert embeddings.model_copy().embed_query("a") == embeddings.embed_query("a")

    def test_a_retriever_makes_no_home(self, tmp_path):
        with pytest.raises(InputError, match="there is no home in"):
            GemRetriever(collection="faq", home=tmp_path / "nowhere")
        assert not (tmp_path / "nowhere").exists()

    def test_a_retriever_needs_a_collection_that_exists(self, store):
        with pytest.raises(UnknownNameError, match="did you mean faq"):
            GemRetriever(collection="faqs")
        retriever = GemRetriever(collection="faq", k=3, filter={"lang": "en"}, mode="hybrid")
        assert set(ids(retriever.invoke("my visa"))) == {"visa", "visa2", "bank"}
        assert ids(retriever.invoke("tea cup", k=1, filter=None)) == ["tea"]
        exact = GemRetriever(collection="faq", k=None, min_score=0.99, mode="dense")
        assert ids(exact.invoke(TEXTS[4])) == ["tea"]


def test_short_reprs(tmp_path):
    home = tmp_path / "home"
    assert repr(GemVectorStore("faq", home=home)) == f"GemVectorStore('faq', home={str(home)!r})"
    embeddings = GemEmbeddings()
    expected = f"vectors='wordllama-gem', fingerprint='{embeddings.fingerprint[:12]}'"
    assert repr(embeddings) == f"GemEmbeddings({expected})"
    assert repr(GemReranker(top_n=1)) == f"GemReranker({expected}, top_n=1)"


class TestReranker:
    DOCUMENTS = tuple(
        Document(id=name, page_content=text, metadata={"n": i})
        for i, (name, text) in enumerate(zip(IDS, TEXTS, strict=True))
    )

    def test_orders_and_scores_copies(self):
        reranker = GemReranker(top_n=2)
        best = reranker.compress_documents(self.DOCUMENTS, "a cup of tea")
        assert best[0].id == "tea"
        assert len(best) == 2
        expected = [score for _, score in cosine_ranking("a cup of tea", TEXTS)]
        assert [d.metadata["relevance_score"] for d in best] == expected[:2]
        assert best[0].metadata["n"] == 4
        assert "relevance_score" not in self.DOCUMENTS[4].metadata

    async def test_asynchronously_and_all_of_them(self):
        found = await GemReranker(top_n=None).acompress_documents(self.DOCUMENTS, "tea")
        assert len(found) == 5
        assert list(GemReranker().compress_documents([], "tea")) == []

    def test_a_saved_reranker_keeps_how_many(self):
        saved = GemReranker(top_n=1).model_dump_json()
        assert GemReranker.model_validate_json(saved).top_n == 1

    def test_top_n_below_1_is_refused(self):
        with pytest.raises(ValueError, match="greater than 0"):
            GemReranker(top_n=0)


class TestProcesses:
    def test_pickles_and_child_processes(self, store):
        expected = calls.search(store, "my visa")
        assert calls.search(pickle.loads(pickle.dumps(store)), "my visa") == expected
        for start in ("fork", "spawn"):
            assert call_in_child(start, calls.search, store, "my visa") == expected

    def test_threads_search_while_one_writes(self, store):
        def write(i):
            return store.add_texts([f"a text about ducks and rivers, number {i}"], ids=[f"d{i}"])

        with ThreadPoolExecutor(6) as pool:
            written = [pool.submit(write, i) for i in range(20)]
            found = [pool.submit(store.similarity_search, "visa", 2) for _ in range(60)]
            assert {frozenset(ids(future.result())) for future in found} == {
                frozenset({"visa", "visa2"})
            }
            assert sum(len(future.result()) for future in written) == 20
        assert store.collection.count() == 25

    def test_another_process_finds_what_was_stored(self, store):
        script = (
            "from langchain_gem import GemRetriever\n"
            "print(GemRetriever(collection='faq', k=1).invoke('a cup of tea')[0].id)"
        )
        assert run_python("-c", script).stdout == "tea\n"


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/langchain.md"])
def test_the_pages_run(page):
    run_page(Path(__file__).parents[1] / page)


@pytest.mark.parametrize(
    ("name", "advice"),
    [
        ("embedding_function", "; write embedding=GemEmbeddings"),
        ("persist_directory", "; write home=FOLDER"),
        ("nonsense", "does not take$"),
    ],
)
def test_arguments_of_other_stores_are_answered_with_ours(tmp_path, name, advice):
    with pytest.raises(TypeError, match=f"found the argument {name}, .*{advice}"):
        GemVectorStore("faq", home=tmp_path / "home", **{name: "x"})


def test_a_collection_is_deleted(tmp_path):
    store = GemVectorStore("faq", home=tmp_path / "home")
    store.add_texts(["a visa"])
    store.delete_collection()
    assert GemVectorStore("faq", home=tmp_path / "home").similarity_search("a visa") == []
