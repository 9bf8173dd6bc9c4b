"""GemModule in a SentenceTransformer: values, saving and reloading, and the framework's own tools over it."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer, util
from sentence_transformers.base.modules import Dense
from sentence_transformers.sentence_transformer.evaluation import EmbeddingSimilarityEvaluator
from sentence_transformers_gem import GemModule

import calls
from gem_index import Document, Home, open_provider
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.testing import (
    EmbeddingProviderContract,
    fit_model,
    run_page,
    run_python,
    write_word_vectors,
)

TEXTS = [
    "How do I renew a visa?",
    "where can I open a bank account?",
    "a man plays guitar",
    "a man is playing a guitar on stage",
    "",
    "?!...",
]


def sentence_transformer(**choice: Any) -> SentenceTransformer:
    return SentenceTransformer(modules=[GemModule(**choice)], device="cpu")


def reload(path: Path, **kwargs: Any) -> SentenceTransformer:
    return SentenceTransformer(str(path), device="cpu", trust_remote_code=True, **kwargs)


@pytest.fixture
def model() -> SentenceTransformer:
    return sentence_transformer()


class TestSentenceTransformer(EmbeddingProviderContract):
    embed = staticmethod(calls.embed)
    embed_query = staticmethod(calls.embed_query)

    def make(self, **choice: Any) -> SentenceTransformer:
        return sentence_transformer(**choice)

    def save(self, adapter: SentenceTransformer) -> Path:
        path = Path(mkdtemp(dir=Path.cwd()))
        adapter.save(str(path))
        return path

    def load(self, saved: Path) -> SentenceTransformer:
        return reload(saved)

    def test_a_saved_configuration_refuses_another_fit(self, tmp_path: Path) -> None:
        """A saved folder holds the fit itself: the model's own file may change; another fit in the folder is refused."""
        encoder = fit_model(tmp_path / "model.safetensors", TEXTS)
        saved = self.save(self.make(model=str(tmp_path / "model.safetensors")))
        fit_model(tmp_path / "model.safetensors", TEXTS[:3])
        np.testing.assert_allclose(
            self.rows(self.load(saved), TEXTS), encoder.encode(TEXTS), atol=1e-6
        )
        fit_model(saved / "gem.safetensors", TEXTS[:3])
        self._assert_refused(saved, "gem.safetensors")


# ---------------------------------------------------------------------- encode


def test_encode_gives_the_providers_vectors(model: SentenceTransformer) -> None:
    expected = open_provider().embed_documents(TEXTS)
    rows = model.encode(TEXTS)
    assert rows.dtype == np.float32
    np.testing.assert_array_equal(rows, expected)
    single = model.encode(TEXTS[0])
    assert single.shape == (256,)
    np.testing.assert_array_equal(single, expected[0])
    tensor = model.encode(TEXTS, convert_to_tensor=True)
    assert tensor.dtype == torch.float32
    np.testing.assert_array_equal(tensor.numpy(), expected)
    listed = model.encode(TEXTS, convert_to_numpy=False)
    np.testing.assert_array_equal(torch.stack(listed).numpy(), expected)
    assert model.encode([]).shape == (0,)


@pytest.mark.parametrize("batch_size", [1, 4, 64])
def test_the_batch_size_changes_nothing(model: SentenceTransformer, batch_size: int) -> None:
    texts = [f"{text} {i}" for i, text in enumerate(TEXTS * 20)]
    np.testing.assert_allclose(
        model.encode(texts, batch_size=batch_size),
        open_provider().embed_documents(texts),
        atol=1e-6,
    )


def test_normalizing_keeps_unit_vectors_and_zeros(model: SentenceTransformer) -> None:
    rows = model.encode(TEXTS, normalize_embeddings=True)
    np.testing.assert_allclose(rows, model.encode(TEXTS), atol=1e-6)
    assert not rows[4:].any()


def test_queries_are_embedded_as_documents(model: SentenceTransformer) -> None:
    np.testing.assert_array_equal(model.encode_query(TEXTS), model.encode(TEXTS))
    np.testing.assert_array_equal(model.encode_document(TEXTS), model.encode(TEXTS))


def test_a_prompt_is_text_before_the_text(model: SentenceTransformer) -> None:
    expected = model.encode("question: how are you")
    np.testing.assert_array_equal(model.encode("how are you", prompt="question: "), expected)
    prompted = SentenceTransformer(modules=[GemModule()], prompts={"query": "question: "})
    np.testing.assert_array_equal(prompted.encode_query("how are you"), expected)
    assert np.abs(model.encode("how are you") - expected).max() > 0.01


def test_dimension_and_length(model: SentenceTransformer) -> None:
    assert model.get_embedding_dimension() == 256
    with pytest.warns(FutureWarning, match="get_embedding_dimension"):  # the framework's older name
        assert model.get_sentence_embedding_dimension() == 256
    long = "guitar " * 50_000 + "and a bank"
    assert np.abs(model.encode(long) - model.encode("guitar " * 50_000)).max() > 1e-6


def test_a_length_may_be_set() -> None:
    """As programs do with every model: then the first words of a text are embedded."""
    model = SentenceTransformer(modules=[GemModule()])
    assert model.max_seq_length == 2**31 - 1
    model.max_seq_length = 2
    rows = model.encode(["river  bank\nand a visa", "river bank", "river"])
    np.testing.assert_array_equal(rows[0], rows[1])
    assert not np.array_equal(rows[0], rows[2])
    for wrong in (0, True, 1.5, None):
        with pytest.raises(ConfigError, match="expected a number of words, 1 or more"):
            model.max_seq_length = wrong


def test_truncated_dimensions_are_the_first(model: SentenceTransformer) -> None:
    np.testing.assert_array_equal(model.encode(TEXTS, truncate_dim=64), model.encode(TEXTS)[:, :64])


def test_similarity_is_the_cosine(model: SentenceTransformer) -> None:
    rows = model.encode(TEXTS)
    similarities = model.similarity(rows, rows).numpy()
    np.testing.assert_allclose(similarities, rows @ rows.T, atol=1e-6)
    expected = open_provider().encoder.similarity(TEXTS[2], TEXTS[3])
    assert similarities[2, 3] == pytest.approx(expected, abs=1e-6)
    np.testing.assert_allclose(
        model.similarity_pairwise(rows[:2], rows[2:4]).numpy(),
        (rows[:2] * rows[2:4]).sum(1),
        atol=1e-6,
    )


def test_a_pool_of_processes(model: SentenceTransformer) -> None:
    texts = TEXTS * 3
    pool = model.start_multi_process_pool(["cpu", "cpu"])
    try:
        rows = model.encode(texts, pool=pool, chunk_size=5)
    finally:
        model.stop_multi_process_pool(pool)
    np.testing.assert_allclose(rows, model.encode(texts), atol=1e-6)


# ------------------------------------------------------- the framework's tools


def test_semantic_search(model: SentenceTransformer) -> None:
    corpus = model.encode(TEXTS, convert_to_tensor=True)
    query = model.encode(["playing the guitar"], convert_to_tensor=True)
    hits = util.semantic_search(query, corpus, top_k=2)[0]
    assert {hit["corpus_id"] for hit in hits} == {2, 3}


def test_paraphrase_mining(model: SentenceTransformer) -> None:
    score, first, second = util.paraphrase_mining(model, TEXTS)[0]
    assert (first, second) == (2, 3)
    assert score == pytest.approx(open_provider().encoder.similarity(TEXTS[2], TEXTS[3]), abs=1e-5)


def test_an_evaluator(model: SentenceTransformer) -> None:
    evaluator = EmbeddingSimilarityEvaluator(
        ["a man plays guitar", "a dog runs", "the bank is closed"],
        ["someone plays a guitar", "a dog is sleeping", "a man eats"],
        scores=[1.0, 0.5, 0.0],
        write_csv=False,
    )
    assert evaluator(model)["spearman_cosine"] == pytest.approx(1.0)


def test_a_module_after_it_can_be_trained() -> None:
    torch.manual_seed(0)
    model = SentenceTransformer(modules=[GemModule(), Dense(256, 8)], device="cpu")
    assert model.get_embedding_dimension() == 8
    before = model.encode(TEXTS[:4])
    assert before.shape == (4, 8)
    features = model.preprocess(TEXTS[:4])
    model(features)["sentence_embedding"].pow(2).sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())


# ---------------------------------------------------------- saving and loading


def in_a_second_process(folder: Path) -> np.ndarray:
    code = (
        "import sys, json, numpy as np\n"
        "from sentence_transformers import SentenceTransformer\n"
        "model = SentenceTransformer(sys.argv[1], device='cpu', trust_remote_code=True)\n"
        "np.save('rows.npy', model.encode(json.loads(sys.argv[2])))\n"
    )
    run_python("-c", code, str(folder), json.dumps(TEXTS))
    return np.load("rows.npy")


def test_a_folder_loads_in_a_second_process(model: SentenceTransformer, tmp_path: Path) -> None:
    model.save(str(tmp_path / "saved"))
    rows = in_a_second_process(tmp_path / "saved")
    np.testing.assert_allclose(rows, model.encode(TEXTS), atol=1e-6)


def test_modules_after_it_are_saved_with_it(tmp_path: Path) -> None:
    fit_model(tmp_path / "model.safetensors", TEXTS)
    model = SentenceTransformer(
        modules=[GemModule(model=tmp_path / "model.safetensors"), Dense(256, 8)], device="cpu"
    )
    model.save(str(tmp_path / "saved"))
    rows = in_a_second_process(tmp_path / "saved")
    np.testing.assert_allclose(rows, model.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize("kind", ["file", "model", "collection"])
def test_a_fitted_folder_is_independent_of_where_it_came_from(tmp_path: Path, kind: str) -> None:
    home = Home(tmp_path / "home")
    home.vectors.add("mine", write_word_vectors(tmp_path / "mine.txt", TEXTS, 1))
    if kind == "file":
        encoder = home.models.fit("faq", TEXTS, vectors="mine")
        encoder.save(tmp_path / "faq.safetensors")
        choice: dict[str, Any] = {"model": tmp_path / "faq.safetensors", "vectors": "mine"}
    elif kind == "model":
        encoder = home.models.fit("faq", TEXTS, vectors="mine")
        choice = {"model": "faq"}
    else:
        documents = [Document(id=str(i), text=text) for i, text in enumerate(TEXTS)]
        home.build("faq", documents, vectors="mine")
        encoder = home.collection("faq").encoder
        choice = {"collection": "faq"}
    sentence_transformer(**choice, home=home).save(str(tmp_path / "saved"))

    config = json.loads((tmp_path / "saved" / "config.json").read_text(encoding="utf-8"))
    assert config["model"] == "gem.safetensors"
    assert config["vectors"] == "mine"
    assert config["fingerprint"] == encoder.fingerprint
    assert "collection" not in config

    # Another machine: another home, where the same vectors have another name, and another place for the folder.
    elsewhere = Home(tmp_path / "elsewhere")
    elsewhere.vectors.add("same", write_word_vectors(tmp_path / "same.txt", TEXTS, 1))
    moved = (tmp_path / "saved").rename(tmp_path / "moved")
    (tmp_path / "home").rename(tmp_path / "gone")
    model = reload(moved, model_kwargs={"home": str(elsewhere.root), "vectors": "same"})
    np.testing.assert_allclose(model.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)

    elsewhere.vectors.add("other", write_word_vectors(tmp_path / "other.txt", TEXTS, 2))
    with pytest.raises(FingerprintMismatchError, match=r"gem\.safetensors"):
        reload(moved, model_kwargs={"home": str(elsewhere.root), "vectors": "other"})


def test_a_loaded_model_can_be_saved_again(tmp_path: Path) -> None:
    encoder = fit_model(tmp_path / "model.safetensors", TEXTS)
    sentence_transformer(model=tmp_path / "model.safetensors").save(str(tmp_path / "first"))
    reload(tmp_path / "first").save(str(tmp_path / "first"))  # over itself
    reload(tmp_path / "first").save(str(tmp_path / "second"))
    (tmp_path / "first" / "gem.safetensors").unlink()
    rows = reload(tmp_path / "second").encode(TEXTS)
    np.testing.assert_allclose(rows, encoder.encode(TEXTS), atol=1e-6)
    with pytest.raises(FileNotFoundError, match=r"gem\.safetensors in .*first; expected it"):
        reload(tmp_path / "first")


def test_a_relative_folder_outlives_a_change_of_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit_model(tmp_path / "model.safetensors", TEXTS)
    sentence_transformer(model="model.safetensors").save("saved")
    model = reload(Path("saved"))
    monkeypatch.chdir("/")
    np.testing.assert_array_equal(copy.deepcopy(model).encode(TEXTS), model.encode(TEXTS))


def test_a_folder_without_its_configuration_is_refused(
    model: SentenceTransformer, tmp_path: Path
) -> None:
    model.save(str(tmp_path))
    (tmp_path / "config.json").unlink()
    with pytest.raises(FileNotFoundError, match=r"config\.json"):
        reload(tmp_path)


def test_loading_asks_for_trust_unless_the_module_is_named(
    model: SentenceTransformer, tmp_path: Path
) -> None:
    model.save(str(tmp_path))
    with pytest.raises(ValueError, match="trust_remote_code=True"):
        SentenceTransformer(str(tmp_path))
    named = SentenceTransformer(modules=[GemModule.load(str(tmp_path))])
    np.testing.assert_array_equal(named.encode(TEXTS), model.encode(TEXTS))


# ----------------------------------------------------------------------- pages


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/sentence-transformers.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
