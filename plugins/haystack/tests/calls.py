"""Calls that a child process can import."""

from haystack import Document


def embed_texts(embedder, texts):
    return [embedder.run(text)["embedding"] for text in texts]


def embed_text(embedder, text):
    return embedder.run(text)["embedding"]


def embed_documents(embedder, texts):
    documents = embedder.run([Document(content=text) for text in texts])["documents"]
    return [document.embedding for document in documents]


def embed_one_document(embedder, text):
    return embed_documents(embedder, [text])[0]


def rank(ranker, query, texts):
    documents = [Document(content=text, meta={"place": i}) for i, text in enumerate(texts)]
    ranked = ranker.run(query, documents)["documents"]
    return [(document.meta["place"], document.score) for document in ranked]


def search(store, query):
    return [(document.id, document.score) for document in store.search(query)]
