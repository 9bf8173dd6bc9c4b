"""GEM sentence embeddings as a scikit-learn transformer."""

from sklearn_gem.vectorizer import GemVectorizer

__all__ = ["GemVectorizer"]
