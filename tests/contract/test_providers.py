"""Our own provider passes the contract that adapters pass."""

import json

from gem_index import open_provider
from gem_index.testing import EmbeddingProviderContract


class TestNamedProvider(EmbeddingProviderContract):
    def make(self, **choice):
        return open_provider(**choice)

    def save(self, provider):
        return json.dumps(provider.settings)

    def load(self, saved):
        return open_provider(**json.loads(saved))


class TestPickledProvider(EmbeddingProviderContract):
    """The default way of saving: pickles are refused like any other configuration."""

    def make(self, **choice):
        return open_provider(**choice)
