"""GEM sentence embeddings in LangChain: embeddings, vector store, retriever and re-ranker."""

from langchain_gem.embeddings import GemEmbeddings
from langchain_gem.rerankers import GemReranker
from langchain_gem.retrievers import GemRetriever
from langchain_gem.vectorstores import GemVectorStore

__all__ = ["GemEmbeddings", "GemReranker", "GemRetriever", "GemVectorStore"]
