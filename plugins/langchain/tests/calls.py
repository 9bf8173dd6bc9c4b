"""Calls that a child process can import."""

from langchain_core.documents import Document


def rank(reranker, query, texts):
    documents = [Document(id=str(i), page_content=text) for i, text in enumerate(texts)]
    ranked = reranker.compress_documents(documents, query)
    return [(int(document.id), document.metadata["relevance_score"]) for document in ranked]


def search(store, query):
    return [(document.id, score) for document, score in store.similarity_search_with_score(query)]
