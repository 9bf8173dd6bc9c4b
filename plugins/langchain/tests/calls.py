"""Calls that a child process can import."""


def embed(adapter, texts):
    return adapter.embed_documents(texts)


def search(store, query):
    return [(document.id, score) for document, score in store.similarity_search_with_score(query)]
