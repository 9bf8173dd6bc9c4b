import numpy as np
import pytest

from gem_index import Document, GemConfig, GemEncoder, rerank
from gem_index.errors import InputError
from gem_index.gem.reranking import cosines


@pytest.fixture(scope="module")
def encoder(small_vectors):
    return GemEncoder(small_vectors, GemConfig(n_removed=3, n_components=6))


QUERY = "open a bank account"


def test_orders_by_cosine_and_keeps_input_places(encoder):
    texts = ["the river water", "open an account at the bank", "a cup of tea"]
    found = rerank(QUERY, texts, encoder)
    scores = encoder.encode(texts).astype(float) @ encoder.encode([QUERY])[0].astype(float)
    assert [r.index for r in found] == np.argsort(-scores).tolist()
    assert [r.text for r in found] == [texts[r.index] for r in found]
    np.testing.assert_allclose([r.score for r in found], np.sort(scores)[::-1], atol=1e-7)
    assert found[0].text == texts[1]
    assert rerank(QUERY, texts, encoder, top_n=2) == found[:2]


def test_takes_texts_pairs_mappings_and_documents(encoder):
    candidates = [
        "the river",
        ["p", "the bank"],
        {"id": 7, "text": "an account"},
        {"text": "tea"},
        Document(id="d", text="a loan"),
    ]
    found = {r.index: (r.id, r.text) for r in rerank(QUERY, candidates, encoder)}
    assert found == {
        0: (None, "the river"),
        1: ("p", "the bank"),
        2: ("7", "an account"),
        3: (None, "tea"),
        4: ("d", "a loan"),
    }


def test_equal_candidates_keep_the_order_of_the_input_wherever_they_stand(encoder):
    candidates = ["the bank", "tea"] * 40 + ["the bank"] * 7
    found = rerank(QUERY, candidates, encoder)
    banks = [r for r in found if r.text == "the bank"]
    assert len({r.score for r in banks}) == 1
    assert [r.index for r in banks] == sorted(r.index for r in banks)


def test_candidates_and_queries_without_words(encoder):
    found = {r.text: r.score for r in rerank(QUERY, ["", "...", QUERY], encoder)}
    assert found[""] == found["..."] == 0.0
    assert found[QUERY] == pytest.approx(1.0)
    assert [(r.index, r.score) for r in rerank("?", ["a", "b"], encoder)] == [(0, 0.0), (1, 0.0)]
    assert rerank(QUERY, [], encoder) == []


@pytest.mark.parametrize(
    "candidate", [5, None, {"id": "x"}, ("a", "b", "c"), {"id": [], "text": "x"}]
)
def test_refuses_other_forms(encoder, candidate):
    with pytest.raises(InputError, match="candidate 1 is .*; expected a text, or an id and a text"):
        rerank(QUERY, ["fine", candidate], encoder)


def test_refuses_top_n_below_one(encoder):
    with pytest.raises(InputError, match="top_n is 0; expected at least 1"):
        rerank(QUERY, ["a"], encoder, top_n=0)


def test_cosines_stay_in_range():
    row = np.full((1, 3), 0.57735030, dtype=np.float32)
    assert cosines(row[0] * np.float32(1.0001), row)[0] == 1.0
