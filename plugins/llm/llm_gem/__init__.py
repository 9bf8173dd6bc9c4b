"""GEM sentence embeddings for the command-line tool ``llm``: ``llm embed-multi -m gem``."""

from llm_gem.models import GemEmbeddingModel, register_embedding_models

__all__ = ["GemEmbeddingModel", "register_embedding_models"]
