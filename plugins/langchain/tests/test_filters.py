"""LangChain's filter operators, at every place that takes a filter."""

import pytest
from langchain_gem import GemRetriever, GemVectorStore

from gem_index.errors import FilterError

DOCUMENTS = {
    "en1": {"lang": "en", "year": 2020},
    "en2": {"lang": "en", "year": 2024},
    "de": {"lang": "de", "year": 2024, "draft": True},
    "null": {"lang": None, "year": 2022},
    "none": {},
}

CASES = [
    ({"lang": {"$eq": "en"}}, {"en1", "en2"}),
    ({"lang": {"$eq": None}}, {"null", "none"}),
    ({"draft": {"$eq": True}}, {"de"}),
    ({"year": {"$eq": 2024}}, {"en2", "de"}),
    ({"lang": {"$ne": "en"}}, {"de", "null", "none"}),
    ({"lang": {"$ne": None}}, {"en1", "en2", "de"}),
    ({"draft": {"$ne": True}}, {"en1", "en2", "null", "none"}),
    ({"lang": {"$nin": ["en", "de"]}}, {"null", "none"}),
    ({"lang": {"$nin": ("en", None)}}, {"de"}),
    ({"lang": {"$nin": []}}, set(DOCUMENTS)),
    ({"lang": {"$in": ["de"]}}, {"de"}),
    ({"lang": {"$exists": False}}, {"none"}),
    ({"lang": {"$like": "E_"}}, {"en1", "en2"}),
    ({"lang": {"$ne": "en"}, "year": {"$gte": 2022}}, {"de", "null"}),
    ({"year": {"$gte": 2020, "$ne": 2024}}, {"en1", "null"}),
    ({"lang": {"$ne": "en", "$nin": ["de"]}}, {"null", "none"}),
    ({"$and": [{"lang": {"$ne": "en"}}, {"year": {"$ne": 2022}}]}, {"de", "none"}),
    ({"$or": [{"lang": {"$eq": "de"}}, {"year": {"$nin": [2020, 2024]}}]}, {"de", "null", "none"}),
    ({"$not": {"lang": {"$ne": "en"}}}, {"en1", "en2"}),
    ({"$not": {"$or": [{"lang": {"$ne": "en"}}, {"year": {"$eq": 2020}}]}}, {"en2"}),
    ({"$and": [{"lang": "en"}], "year": {"$ne": 2020}}, {"en2"}),
]


def filled(home):
    store = GemVectorStore("filters", home=home)
    texts = [f"a text about {name}" for name in DOCUMENTS]
    store.add_texts(texts, list(DOCUMENTS.values()), ids=list(DOCUMENTS))
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def retriever(store):
    return GemRetriever(collection="filters", home=store.embeddings.home, k=9)


def ids(documents):
    return {document.id for document in documents}


@pytest.mark.parametrize(("filter", "expected"), CASES, ids=[str(case[0]) for case in CASES])
def test_every_search_takes_it(store, retriever, filter, expected):
    vector = store.embeddings.embed_query("a text")
    options = {"k": 9, "filter": filter}
    own = {"fingerprint": store.embeddings.fingerprint}
    assert ids(store.similarity_search("a text", **options)) == expected
    assert ids(d for d, _ in store.similarity_search_with_score("a text", **options)) == expected
    assert ids(store.similarity_search("a text", mode="lexical", **options)) == expected
    assert ids(store.similarity_search_by_vector(vector, **options, **own)) == expected
    assert ids(store.max_marginal_relevance_search("a text", **options)) == expected
    found = store.max_marginal_relevance_search_by_vector(vector, **options, **own)
    assert ids(found) == expected
    assert ids(store.as_retriever(search_kwargs=options).invoke("a text")) == expected
    assert ids(retriever.invoke("a text", filter=filter)) == expected


def test_a_retriever_and_a_deletion_take_it(tmp_path):
    store = filled(tmp_path)
    wanted = {"lang": {"$nin": ["en", "de"]}, "year": {"$ne": 2022}}
    retriever = GemRetriever(collection="filters", home=tmp_path, k=9, filter=wanted)
    assert ids(retriever.invoke("a text")) == {"none"}
    store.delete(filter=wanted)
    assert ids(store.collection.documents()) == set(DOCUMENTS) - {"none"}


@pytest.mark.parametrize(
    ("filter", "message"),
    [
        ({"lang": {"$eq": {"$gt": 1}}}, "'lang' is compared with .*; expected a string"),
        ({"lang": {"$ne": {}}}, "'lang' is compared with {}; expected a string"),
        ({"lang": {"$ne": ["en"]}}, "expected a string, a number, a boolean or null"),
        ({"lang": {"$nin": "en"}}, r"\$nin on 'lang' holds 'en'; expected a list"),
        ({"lang": {"$near": 1, "$ne": 2}}, r"the operator on 'lang' is '\$near'"),
        ({"lang": {}}, "the condition on 'lang' is empty"),
        ({"$and": {"lang": {"$ne": 1}}}, r"\$and"),
        ({"$ne": "en"}, r"the filter names '\$ne'"),
        ({"$not": [{"lang": "en"}]}, "expected an object"),
        (["lang"], "expected an object"),
    ],
)
def test_malformed_filters_are_refused(store, filter, message):
    with pytest.raises(FilterError, match=message):
        store.similarity_search("a text", filter=filter)
    with pytest.raises(FilterError, match=message):
        store.delete(filter=filter)
    assert store.collection.count() == 5


def test_a_filter_of_any_depth_is_answered_or_refused(store):
    deep = {"lang": {"$ne": "en"}}
    for _ in range(10):
        deep = {"$not": {"$not": deep}}
    assert ids(store.similarity_search("a text", k=9, filter=deep)) == {"de", "null", "none"}
    for _ in range(100_000):
        deep = {"$not": deep}
    with pytest.raises(FilterError, match="nested deeper than 50"):
        store.similarity_search("a text", filter=deep)
