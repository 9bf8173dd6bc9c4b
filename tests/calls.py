"""Our own provider in the form that the contracts test, and calls that a child process can import."""

import json

from gem_index import open_provider, rerank


class SavedAsSettings:
    """The provider itself, saved as the JSON of its settings."""

    def make(self, **choice):
        return open_provider(**choice)

    def save(self, provider):
        return json.dumps(provider.settings)

    def load(self, saved):
        return open_provider(**json.loads(saved))


def rank(provider, query, texts):
    return [(result.index, result.score) for result in rerank(query, texts, provider.encoder)]
