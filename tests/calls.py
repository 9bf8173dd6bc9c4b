"""Calls that a child process can import."""

from gem_index import rerank


def rank(provider, query, texts):
    return [(result.index, result.score) for result in rerank(query, texts, provider.encoder)]
