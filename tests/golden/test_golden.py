"""The reference numbers of an independent float64 implementation (docs/algorithm.md, section 6)."""

import json

import numpy as np
import pytest

from gem_index import Document, GemConfig, GemEncoder, open_vectors
from gem_index.gem import Components

pytestmark = pytest.mark.shared_data

SETS = {
    "googlenews-300d": "googlenews-300d",
    "googlenews-300d+numberbatch-300d": "googlenews-300d_plus_numberbatch-300d",
}

COLUMNS = {
    "mean": {"alphas": "", "removal": "none"},
    "weights only": {"removal": "none"},
    "weights + SIR(17)": {"removal": "sir"},
    "GEM (weights + SDR)": {},
}


def open_shared(shared, spec):
    return open_vectors("+".join(str(shared / "vectors" / part) for part in spec.split("+")))


def sts_benchmark(shared, split):
    """Gold scores, first and second sentences of a split."""
    lines = (
        (shared / "data/stsbenchmark" / f"sts-{split}.csv").read_text(encoding="utf-8").split("\n")
    )
    rows = [line.split("\t") for line in lines if line]
    return (
        np.array([float(row[4]) for row in rows]),
        [row[5] for row in rows],
        [row[6] for row in rows],
    )


@pytest.fixture(scope="module", params=SETS)
def golden(request, shared_module):
    stem = shared_module / "golden" / SETS[request.param]
    sentences = json.loads(stem.with_suffix(".json").read_text())["sentences"]
    return open_shared(shared_module, request.param), sentences, np.load(f"{stem}.npz")


@pytest.fixture(scope="module")
def shared_module():
    from conftest import SHARED

    return SHARED


def given(arrays):
    return Components(arrays["directions"], arrays["singular_values"], 3000)


@pytest.mark.parametrize("preset", ["sts", "cqa", "transfer"])
def test_unit_vectors(golden, preset):
    vectors, sentences, arrays = golden
    encoder = GemEncoder(vectors, GemConfig.preset(preset), components=given(arrays))
    found = encoder.encode([sentence["text"] for sentence in sentences])
    filled = np.array([bool(sentence["tokens"]) for sentence in sentences])
    cosine = np.sum(found * arrays[f"unit_{preset}"], axis=1)
    assert cosine[filled].min() >= 0.99999
    assert not found[~filled].any()


def test_tokens_and_weights(golden):
    vectors, sentences, arrays = golden
    encoder = GemEncoder(vectors, components=given(arrays))
    for sentence in sentences:
        words = encoder.explain(sentence["text"]).words
        assert [word.token for word in words] == sentence["tokens"]
        for name in ("alpha_n", "alpha_s", "alpha_u"):
            np.testing.assert_allclose(
                [getattr(word, name) for word in words], sentence[name], atol=1e-5
            )


def test_rows_and_unknown_words(golden):
    vectors, sentences, _ = golden
    sources = getattr(vectors, "sources", [vectors])
    for sentence in sentences:
        for source, rows, unknown in zip(sources, sentence["rows"], sentence["oov"], strict=True):
            found, mask = source.lookup(sentence["tokens"])
            np.testing.assert_array_equal(found, source.rows.matrix[rows].astype(np.float32))
            assert [t for t, m in zip(sentence["tokens"], mask, strict=True) if m] == unknown


def test_directions_span_the_same_space(golden, shared):
    vectors, _, arrays = golden
    _, first, second = sts_benchmark(shared, "dev")
    found = GemEncoder(vectors).fit(first + second).components
    assert found.sentences == 3000
    assert np.linalg.svd(found.directions @ arrays["directions"].T)[1].min() >= 0.9999
    np.testing.assert_allclose(found.singular_values, arrays["singular_values"], rtol=1e-6)


@pytest.mark.parametrize("split", ["dev", "test"])
@pytest.mark.parametrize(
    "spec",
    [
        "googlenews-300d",
        "numberbatch-300d",
        "glove-6b-100d-top100k",
        "googlenews-300d+numberbatch-300d",
    ],
)
def test_sts_benchmark_pearson(shared, spec, split):
    expected = json.loads((shared / "golden/stsb_pearson.json").read_text())[f"{spec} {split}"]
    vectors = open_shared(shared, spec)
    scores, first, second = sts_benchmark(shared, split)
    fitted = GemEncoder(vectors).fit(first + second)
    assert set(expected) == set(COLUMNS)
    for column, changes in COLUMNS.items():
        encoder = GemEncoder(vectors, GemConfig.sts(**changes), components=fitted.components)
        a, b = encoder.encode(first), encoder.encode(second)
        pearson = 100 * np.corrcoef(np.sum(a * b, axis=1), scores)[0, 1]
        # closer than the 0.05 that is promised: only so does it tell whose directions alpha_u takes under SIR
        assert pearson == pytest.approx(expected[column], abs=0.002), column


def test_robustness_to_stop_words(shared):
    """The paper's section Robustness: a sentence against itself without its stop words."""
    vectors = open_shared(shared, "googlenews-300d")
    _, first, second = sts_benchmark(shared, "dev")
    encoder = GemEncoder(vectors).fit(first + second)
    whole = "the first tropical system to slam the US this year is expected to make landfall as a hurricane"
    cut = "first tropical system slam US this year expected make landfall hurricane"
    assert encoder.similarity(whole, cut) > 0.9


def test_weights_of_the_papers_example(shared):
    """ducks > river > swimming > two > are > there > in > the (paper, section Effectiveness)."""
    vectors = open_shared(shared, "googlenews-300d+numberbatch-300d")
    _, first, second = sts_benchmark(shared, "dev")
    encoder = GemEncoder(vectors).fit(first + second)
    words = encoder.explain("There are two ducks swimming in the river.").words
    ranked = [w.token for w in sorted(words, key=lambda w: -w.alpha)]
    assert set(ranked[:3]) == {"ducks", "river", "swimming"}
    assert ranked[-1] == "the"


@pytest.mark.shared_data
def test_hybrid_beats_both_its_parts_on_the_cqa_dev_set(shared, home):
    """The dev set's 500 questions as a collection, its 50 original questions as queries: mean average precision."""
    lines = (shared / "data/semeval-cqa/SemEval2016-subtaskB-dev.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    queries, relevant = {}, {}
    for row in rows:
        queries[row["orgq_id"]] = f"{row['orgq_subject']}\n\n{row['orgq_body']}"
        if str(row["relevant"]) == "1":
            relevant.setdefault(row["orgq_id"], set()).add(row["relq_id"])
    documents = {row["relq_id"]: f"{row['relq_subject']}\n\n{row['relq_body']}" for row in rows}
    home.build("cqa", [Document(id=i, text=t) for i, t in documents.items()])
    collection = home.collection("cqa")

    def mean_average_precision(**options):
        values = []
        for name, wanted in relevant.items():
            found = [hit.id in wanted for hit in collection.search(queries[name], k=100, **options)]
            precisions = [sum(found[: i + 1]) / (i + 1) for i, good in enumerate(found) if good]
            values.append(sum(precisions) / len(wanted))
        return 100 * np.mean(values)

    scores = {mode: mean_average_precision(mode=mode) for mode in ("dense", "lexical", "hybrid")}
    assert scores["dense"] > 52  # 47.6 with plain wordllama and the paper's settings
    assert scores["hybrid"] > max(scores["dense"], scores["lexical"]) + 0.1
