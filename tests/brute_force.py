"""The expected hits of a collection: exact search over the texts themselves."""

import math
import re
from collections import Counter
from functools import cache

import numpy as np

from gem_index import Document
from gem_index.text.analyzer import ENGLISH
from gem_index.text.tokens import frequent_english

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
    _, scores = exact(collection, truth, query, k, accept)
    for from_texts, near in ((False, 1e-4), (True, 1e-5)):
        found = collection.search(query, k=k, where=where, mode="dense", exact=from_texts)
        np.testing.assert_allclose([r.score for r in found], scores, atol=near)
    assert len({r.id for r in found}) == len(found) == min(k, sum(map(accept, truth.values())))
    for result in found:
        assert result.text == truth[result.id].text
        assert dict(result.metadata) == dict(truth[result.id].metadata)
        assert accept(truth[result.id])


@cache
def _background():
    """How many of 500 English texts of 30 words hold a term, by Zipf's law."""
    shares = Counter()
    for rank, word in enumerate(frequent_english(), 1):
        for term in ENGLISH.terms(word):
            shares[term] += 0.1 / (rank + 2.7)
    return {term: 500 * (1 - (1 - share) ** 30) for term, share in shares.items()}


def words_scores(texts, query, known=None):
    """BM25 and match of each text, by the statistics of ``known`` texts (default: the texts themselves)."""
    known = [ENGLISH.terms(text) for text in (texts if known is None else known)]
    mean = sum(map(len, known)) / len(known)
    held = {term: sum(term in words for words in known) for term in set(ENGLISH.terms(query))}
    everywhere = {term for text in texts for term in ENGLISH.terms(text)}
    held = {t: count for t, count in held.items() if t in everywhere or re.fullmatch(r"\w+", t)}
    idf = {
        term: math.log(1 + (len(known) - count + 0.5) / (count + 0.5))
        for term, count in held.items()
    }
    weight = {}
    for term, count in held.items():
        count += _background().get(term, 0)
        rarity = math.log(1 + (len(known) + 500 - count + 0.5) / (count + 0.5))
        weight[term] = rarity**2 * (3 if re.search(r"\d", term) and term[1:] else 1)
    total = sum(weight.values())
    found = []
    for text in texts:
        words = ENGLISH.terms(text)
        counts, norm = Counter(words), 1.2 * (0.25 + 0.75 * len(words) / mean)
        share = {term: counts[term] / (counts[term] + norm) for term in idf}
        bm25 = sum(idf[term] * 2.2 * share[term] for term in idf)
        match = sum(weight[term] * share[term] for term in idf) / total if total else 0.0
        found.append((bm25, match))
    return np.array(found).reshape(-1, 2).T
