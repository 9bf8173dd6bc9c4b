"""The command ``llm`` and its Python interface with our models, each command in a process of its own."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import llm
import numpy as np
import pytest

from gem_index import Document, Home, open_provider
from gem_index.testing import run_page

FAQ = {
    "visa": "How do I renew a visa?",
    "bank": "Where can I open a bank account?",
    "card": "My bank card was stolen in the train.",
}


@pytest.fixture(autouse=True)
def own_folder(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))


def command(*arguments: str, status: int = 0, text: str = "") -> str:
    """Run ``llm`` in a process of its own."""
    run = subprocess.run(
        [sys.executable, "-m", "llm", *arguments], input=text, capture_output=True, text=True
    )
    assert run.returncode == status, run.stderr
    return run.stdout if status == 0 else run.stderr


def fill(*arguments: str) -> None:
    rows = json.dumps([{"id": name, "text": text} for name, text in FAQ.items()])
    command("embed-multi", "faq", "-", "--store", *arguments, text=rows)


def stored() -> tuple[str, dict[str, np.ndarray]]:
    with sqlite3.connect(Path(os.environ["LLM_USER_PATH"]) / "embeddings.db") as database:
        [(model,)] = database.execute("SELECT model FROM collections")
        rows = database.execute("SELECT id, embedding FROM embeddings").fetchall()
    return model, {name: np.frombuffer(data, "<f4") for name, data in rows}


class TestCommand:
    def test_a_collection_and_its_nearest(self) -> None:
        fill("-m", "gem")
        model, vectors = stored()
        provider = open_provider()
        assert model == f"gem-{provider.fingerprint[:12]}"
        np.testing.assert_allclose(
            [vectors[name] for name in FAQ], provider.embed_documents(list(FAQ.values())), atol=1e-6
        )
        [hit] = map(json.loads, command("similar", "faq", "-c", "renewing my visa", "-n", "1").splitlines())  # fmt: skip
        score = provider.embed_documents([FAQ["visa"]])[0] @ provider.embed_query(
            "renewing my visa"
        )
        assert (hit["id"], hit["content"]) == ("visa", FAQ["visa"])
        assert hit["score"] == pytest.approx(float(score), abs=1e-5)

    def test_models_are_listed(self) -> None:
        home = Home()
        home.build("faq", [Document(id=name, text=text) for name, text in FAQ.items()])
        home.models.fit("fitted", list(FAQ.values()))
        listed = command("embed-models")
        assert "(aliases: gem)" in listed
        assert "(aliases: gem/faq, gem/collection/faq)" in listed
        assert "(aliases: gem/fitted, gem/model/fitted)" in listed

    def test_no_home_is_made(self, own_home: Path) -> None:
        command("embed-models")
        assert not own_home.exists()


class TestRefit:
    def test_vectors_of_another_encoder_are_refused(self) -> None:
        home = Home()
        home.build("faq", [Document(id=name, text=text) for name, text in FAQ.items()])
        fill("-m", "gem/faq")
        model, _ = stored()
        collection = home.collection("faq")
        assert model == f"gem-{collection.encoder.fingerprint[:12]}"
        assert '"id": "bank"' in command("similar", "faq", "-c", "open an account", "-n", "1")
        collection.upsert([Document(id="more", text="A river in the north.")])
        collection.refit()
        message = command("similar", "faq", "-c", "open an account", status=1)
        assert f"Unknown model: {model}" in message

    def test_a_model_that_changes_while_it_is_open(self) -> None:
        home = Home()
        home.models.fit("fitted", list(FAQ.values()))
        model = llm.get_embedding_model("gem/fitted")
        home.models.remove("fitted")
        home.models.fit("fitted", ["a river", *FAQ.values()])
        with pytest.raises(llm.ModelError, match="found the encoder .*; expected"):
            list(model.embed_batch(["a river"]))


class TestPython:
    def test_any_number_of_texts(self) -> None:
        model, provider = llm.get_embedding_model("gem"), open_provider()
        texts = [f"a river number {i}" for i in range(1200)]
        found = list(model.embed_multi(iter(texts)))
        np.testing.assert_array_equal(
            np.array(found, np.float32), provider.embed_documents(texts).astype(np.float32)
        )
        assert model.embed("?!") == [0.0] * provider.dimension
        assert list(model.embed_multi([])) == []

    def test_bytes_are_refused(self) -> None:
        with pytest.raises(ValueError, match="does not support binary"):
            llm.get_embedding_model("gem").embed(b"bytes")


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/llm.md"])
def test_the_pages_run(page: str) -> None:
    run_page(Path(__file__).parents[1] / page)
