"""What a collection should find: exact search over the texts themselves."""

import numpy as np

from gem_index import Document

TEXTS = [
    "how do I renew my residence visa",
    "where can I open a bank account",
    "which bank gives the best loan",
    "my phone battery is empty after half a day",
    "how long does tea keep in the cup",
    "two ducks are swimming in the river",
    "the school is closed today",
    "can you send money by phone",
]


def documents(count, begin=0):
    rng = np.random.default_rng(begin)
    words = " ".join(TEXTS).split()
    for i in range(begin, begin + count):
        text = " ".join(rng.choice(words, size=rng.integers(3, 15)))
        yield Document(id=f"d{i}", text=text, metadata={"n": i, "even": i % 2 == 0})


def exact(collection, truth, query, k, accept=lambda d: True):
    """The k best (id, score) by brute force over the documents that should be there."""
    kept = [document for document in truth.values() if accept(document)]
    vectors = collection.encoder.encode([query, *(document.text for document in kept)])
    scores = vectors[1:] @ vectors[0]
    order = np.argsort(-scores, kind="stable")[:k]
    return [kept[i].id for i in order], scores[order]


def assert_exact(
    collection, truth, query="open a bank account by phone", k=10, where=None, accept=lambda d: True
):
    found = collection.search(query, k=k, where=where)
    _, scores = exact(collection, truth, query, k, accept)
    np.testing.assert_allclose([r.score for r in found], scores, atol=1e-5)
    assert len({r.id for r in found}) == len(found) == min(k, sum(map(accept, truth.values())))
    for result in found:
        assert result.text == truth[result.id].text
        assert dict(result.metadata) == dict(truth[result.id].metadata)
        assert accept(truth[result.id])
