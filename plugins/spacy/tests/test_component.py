"""The component in spaCy: docs, spans, pipes, saved pipelines and stored docs."""

from __future__ import annotations

import pickle
import warnings
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy_gem import GemComponent

import calls
from gem_index import Document, GemIndexError, Home, open_provider
from gem_index.errors import FingerprintMismatchError, UnknownNameError
from gem_index.testing import EmbeddingProviderContract, run_page, run_python

TEXTS = [
    "A man plays guitar. The bank is closed.",
    "Someone plays a guitar.",
    "",
    "?!... --",
    "one",
]


def pipeline(**choice: Any) -> Language:
    nlp = spacy.blank("en")
    nlp.max_length = 10_000_000  # spaCy's limit, not ours: the contract embeds a longer text
    nlp.add_pipe("sentencizer")
    nlp.add_pipe("gem", config=choice)
    return nlp


@pytest.fixture(scope="module")
def nlp() -> Language:
    return pipeline()


@pytest.fixture(scope="module")
def other() -> Language:
    return pipeline(config={"removed": 1})


class TestPipeline(EmbeddingProviderContract):
    embed = staticmethod(calls.embed)
    embed_query = staticmethod(calls.embed_query)

    def make(self, **choice: Any) -> Language:
        return pipeline(**choice)

    def save(self, adapter: Language) -> Path:
        path = Path(mkdtemp(dir=Path.cwd()))
        adapter.to_disk(path)
        return path

    def load(self, saved: Path) -> Language:
        return spacy.load(saved)


class TestPipelineAsBytes(TestPipeline):
    def save(self, adapter: Language) -> bytes:
        return adapter.to_bytes()

    def load(self, saved: bytes) -> Language:
        return pipeline().from_bytes(saved)


# ------------------------------------------------------------- docs and spans


def test_a_doc_has_the_providers_vector(nlp: Language) -> None:
    expected = open_provider().embed_documents(TEXTS)
    for text, vector in zip(TEXTS, expected, strict=True):
        doc = nlp(text)
        np.testing.assert_allclose(doc.vector, vector, atol=1e-6)
        np.testing.assert_array_equal(doc._.gem_vector, doc.vector)
        assert doc._.gem_fingerprint == open_provider().fingerprint
        assert doc.has_vector == bool(vector.any())
        assert doc.vector_norm == pytest.approx(float(np.linalg.norm(vector)), abs=1e-6)


def test_similarity_is_the_cosine(nlp: Language) -> None:
    first, second, empty, marks, _ = docs = [nlp(text) for text in TEXTS]
    encoder = open_provider().encoder
    assert first.similarity(second) == pytest.approx(encoder.similarity(*TEXTS[:2]), abs=1e-6)
    assert second.similarity(first) == pytest.approx(first.similarity(second))
    assert [doc.similarity(doc) for doc in (first, second)] == pytest.approx([1, 1])
    for doc in docs:
        assert doc.similarity(empty) == empty.similarity(doc) == marks.similarity(doc) == 0


def test_spans_are_embedded_as_texts_of_their_own(nlp: Language) -> None:
    doc, other = nlp(TEXTS[0]), nlp(TEXTS[1])
    sentences = list(doc.sents)
    expected = open_provider().embed_documents([sentence.text for sentence in sentences])
    for sentence, vector in zip(sentences, expected, strict=True):
        np.testing.assert_allclose(sentence.vector, vector, atol=1e-6)
        assert sentence.has_vector
        assert sentence.vector_norm == pytest.approx(1, abs=1e-6)
        assert sentence.similarity(other) == pytest.approx(float(vector @ other.vector), abs=1e-6)
        assert other.similarity(sentence) == pytest.approx(sentence.similarity(other))
        assert sentence.as_doc().similarity(sentence) == pytest.approx(1)
        assert sentence.as_doc(copy_user_data=True).similarity(sentence) == pytest.approx(1)
    assert sentences[0].similarity(other) > 0.5 > abs(sentences[1].similarity(other))
    assert doc[4:5].text == "."
    assert not doc[4:5].has_vector
    assert doc[4:5].similarity(other) == 0


def test_tokens_keep_their_own_vectors() -> None:
    nlp = pipeline()
    nlp.vocab.set_vector("guitar", np.array([1.0, 2.0], dtype=np.float32))
    doc = nlp("a guitar")
    np.testing.assert_array_equal(doc[1].vector, [1, 2])
    assert doc.vector.shape == (256,)
    with pytest.raises(GemIndexError, match="found a Token without a GEM vector; expected a Doc"):
        doc.similarity(doc[1])


def test_vectors_of_two_encoders_are_not_compared(nlp: Language, other: Language) -> None:
    with pytest.raises(GemIndexError, match="expected one encoder"):
        nlp("a man").similarity(other("a man"))
    with pytest.raises(GemIndexError, match="expected one encoder"):
        nlp("a man")[:1].similarity(other("a man"))
    with pytest.raises(GemIndexError, match="found a Doc without a GEM vector"):
        nlp("a man").similarity(spacy.blank("en")("a man"))


def test_a_wrong_setting_is_named() -> None:
    with pytest.raises(ValueError, match="gem -> vectorz"):
        pipeline(vectorz="wordllama")
    with pytest.raises(UnknownNameError, match="no vectors are named 'nope'"):
        pipeline(vectors="nope")


def test_the_pipe_analysis_knows_what_it_sets(nlp: Language) -> None:
    analysis = nlp.analyze_pipes(keys=["assigns"])
    assert analysis["summary"]["gem"]["assigns"] == ["doc.vector", "doc._.gem_vector"]


# ---------------------------------------------------------------------- pipes


@pytest.mark.parametrize("batch_size", [1, 3, 1000])
def test_pipes_give_what_single_calls_give(nlp: Language, batch_size: int) -> None:
    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 4)]
    for text, doc in zip(texts, nlp.pipe(texts, batch_size=batch_size), strict=True):
        np.testing.assert_allclose(doc.vector, nlp(text).vector, atol=1e-6)
        assert doc.vector.base is None  # no doc keeps its batch


def test_a_stream_without_end_is_read_in_batches(nlp: Language) -> None:
    def endless() -> Any:
        while True:
            yield "a man plays guitar"

    docs = nlp.pipe(endless(), batch_size=8)
    assert [next(docs).has_vector for _ in range(20)] == [True] * 20


@pytest.mark.filterwarnings("ignore:.W109. Unable to save user hooks:UserWarning")
def test_several_processes_keep_vectors_and_attach_gives_similarity(nlp: Language) -> None:
    texts = TEXTS * 5
    expected = open_provider().embed_documents(texts)
    attach = nlp.get_pipe("gem").attach
    reference = nlp(TEXTS[1])
    docs = list(nlp.pipe(texts, n_process=2, batch_size=4))
    for doc, vector in zip(docs, expected, strict=True):
        np.testing.assert_allclose(doc._.gem_vector, vector, atol=1e-6)
        with pytest.raises(GemIndexError, match="n_process: attach them first"):
            reference.similarity(doc)
        np.testing.assert_allclose(attach(doc).vector, vector, atol=1e-6)
        assert doc.similarity(reference) == pytest.approx(float(vector @ expected[1]), abs=1e-5)
    assert next(docs[0].sents).similarity(reference) > 0.5


def test_contexts_stay_with_their_docs(nlp: Language) -> None:
    pairs = [(text, i) for i, text in enumerate(TEXTS)]
    for doc, i in nlp.pipe(pairs, as_tuples=True):
        np.testing.assert_allclose(doc.vector, nlp(TEXTS[i]).vector, atol=1e-6)


# ---------------------------------------------------------------- stored docs


@pytest.mark.filterwarnings("ignore:.W109. Unable to save user hooks:UserWarning")
def test_stored_docs_are_attached_or_refused(nlp: Language, other: Language) -> None:
    docs = [nlp(text) for text in TEXTS]
    stored = DocBin(docs=docs, store_user_data=True).to_bytes()
    for doc, read in zip(docs, DocBin().from_bytes(stored).get_docs(nlp.vocab), strict=True):
        nlp.get_pipe("gem").attach(read)
        np.testing.assert_array_equal(read.vector, doc.vector)
        assert read.similarity(docs[0]) == pytest.approx(doc.similarity(docs[0]))
        single = nlp.get_pipe("gem").attach(Doc(nlp.vocab).from_bytes(doc.to_bytes()))
        np.testing.assert_array_equal(single.vector, doc.vector)
        with pytest.raises(GemIndexError, match="expected one encoder"):
            other.get_pipe("gem").attach(read)


def test_a_doc_without_a_stored_vector_is_embedded_when_asked(nlp: Language) -> None:
    doc = nlp.get_pipe("gem").attach(nlp.make_doc(TEXTS[0]))
    assert doc._.gem_vector is None
    np.testing.assert_allclose(doc.vector, nlp(TEXTS[0]).vector, atol=1e-6)


def test_a_doc_pickles_and_copies(nlp: Language) -> None:
    doc = nlp(TEXTS[0])
    for again in (pickle.loads(pickle.dumps(doc)), doc.copy()):
        np.testing.assert_array_equal(again.vector, doc.vector)
        assert again.similarity(doc) == pytest.approx(1)
        assert next(again.sents).similarity(next(doc.sents)) == pytest.approx(1)


# ------------------------------------------------------------ saved pipelines


def in_a_second_process(folder: Path) -> np.ndarray:
    code = (
        "import sys, numpy as np, spacy\n"
        "nlp = spacy.load(sys.argv[1])\n"
        "np.save('rows.npy', [doc.vector for doc in nlp.pipe(sys.argv[2:])])\n"
    )
    run_python("-c", code, str(folder), *TEXTS)
    return np.load("rows.npy")


def test_a_pipeline_loads_in_a_second_process(other: Language, tmp_path: Path) -> None:
    other.to_disk(tmp_path / "saved")
    rows = in_a_second_process(tmp_path / "saved")
    np.testing.assert_allclose(rows, calls.embed(other, TEXTS), atol=1e-6)


@pytest.mark.parametrize("kind", ["model", "collection"])
def test_a_fitted_pipeline_is_saved_by_name(tmp_path: Path, kind: str) -> None:
    home = Home(tmp_path / "home")
    documents = [Document(id=str(i), text=text) for i, text in enumerate(TEXTS)]
    if kind == "model":
        encoder = home.models.fit("faq", TEXTS)
    else:
        home.build("faq", documents)
        encoder = home.collection("faq").encoder
    nlp = pipeline(**{kind: "faq"}, home=str(home.root))
    nlp.to_disk(tmp_path / "saved")
    rows = in_a_second_process(tmp_path / "saved")
    np.testing.assert_allclose(rows, encoder.encode(TEXTS), atol=1e-6)

    moved = (tmp_path / "home").rename(tmp_path / "moved")  # as on another machine
    again = spacy.load(tmp_path / "saved", config={"components.gem.home": str(moved)})
    np.testing.assert_allclose(calls.embed(again, TEXTS), rows, atol=1e-6)

    if kind == "model":
        Home(moved).models.fit("faq", TEXTS[:1], overwrite=True)
        with pytest.raises(FingerprintMismatchError, match="the model faq"):
            spacy.load(tmp_path / "saved", config={"components.gem.home": str(moved)})


def test_the_configuration_carries_the_settings(other: Language, tmp_path: Path) -> None:
    other.to_disk(tmp_path / "saved")
    again = spacy.load(tmp_path / "saved")
    component = again.get_pipe("gem")
    assert isinstance(component, GemComponent)
    assert again.config["components"]["gem"]["config"] == {"removed": 1}
    assert component.provider.settings == other.get_pipe("gem").provider.settings
    assert component.provider.encoder.config.n_removed == 1


def test_a_saved_fingerprint_is_checked_against_other_settings(
    other: Language, tmp_path: Path
) -> None:
    other.to_disk(tmp_path / "saved")
    fingerprint = other.get_pipe("gem").fingerprint
    assert pipeline(config={"removed": 1}, fingerprint=fingerprint).has_pipe("gem")
    with pytest.raises(FingerprintMismatchError, match="the vectors wordllama-gem"):
        pipeline(fingerprint=fingerprint)


def test_it_stands_after_word_vectors_without_warnings() -> None:
    nlp = pipeline()
    nlp.vocab.set_vector("man", np.ones(4, dtype=np.float32))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert nlp("a man").similarity(nlp("")) == 0
        assert nlp("a man").similarity(nlp("a man")) == pytest.approx(1)


# ----------------------------------------------------------------------- pages


@pytest.mark.filterwarnings("ignore:.W109. Unable to save user hooks:UserWarning")
@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/spacy.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
