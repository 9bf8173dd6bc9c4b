"""What every adapter of a provider has to do, whether it gives embeddings or a ranking."""

from __future__ import annotations

import pickle
import re
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.documents import Document
from gem_index.errors import FingerprintMismatchError, GemIndexError, UnknownNameError
from gem_index.gem.combined import Encoder
from gem_index.home import Home
from gem_index.home.opening import open_provider
from gem_index.testing.processes import call_in_child, in_forked_child
from gem_index.testing.samples import fit_model, write_word_vectors

__all__ = ["TEXTS", "WORDLESS", "AdapterContract"]

TEXTS = (
    "how do I renew a visa?",
    "where can I open a bank account?",
    "The quick brown fox jumps over the lazy dog, and nobody minds.",
    "is the school open today",
    "a man plays guitar",
)
WORDLESS = ("", " \n\t", "?!... --")
_ODD = (
    "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "caf\u00e9 cafe\u0301 na\u00efve \u00df",
    "\U0001f600 smile \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "nul \x00 inside",
)


class AdapterContract:
    """Test methods over one adapter; inherit one of its kinds, which say what a row is: an embedding, or a score.

    Attributes
    ----------
    many : int
        How many texts are given at once.
    lazy : bool
        Whether the adapter opens its encoder when it is first used: a pickle from before then holds no fingerprint.
    """

    many = 10_000
    lazy = False

    def make(self, **choice: Any) -> Any:
        """Return the adapter; ``choice`` are the arguments of :func:`gem_index.open_provider`."""
        raise NotImplementedError("return the adapter to test")

    def save(self, adapter: Any) -> Any:
        """Return the adapter's saved configuration; by default it is pickled."""
        return pickle.dumps(adapter)

    def load(self, saved: Any) -> Any:
        """Return the adapter of a saved configuration."""
        return pickle.loads(saved)  # noqa: S301 - of our own making

    def default_encoder(self) -> Encoder:
        """Return the encoder that the adapter has to use where ``make`` is given nothing."""
        return open_provider().encoder

    def call(self) -> Callable[[Any, list[str]], Any]:
        """Return the function that a row for each text comes from; a child process receives it pickled."""
        raise NotImplementedError("inherit EmbeddingProviderContract or RerankerContract")

    def expected(self, encoder: Encoder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the rows that the adapter of an encoder has to give."""
        raise NotImplementedError("inherit EmbeddingProviderContract or RerankerContract")

    def rows(self, adapter: Any, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return what the adapter gives, as an array with a row for each text."""
        return np.asarray(self.call()(adapter, list(texts)), dtype=np.float32)

    # ------------------------------------------------------------------ values

    def test_works_unfitted(self) -> None:
        """Without anything named it uses the bundled vectors."""
        rows = self.rows(self.make(), TEXTS)
        np.testing.assert_allclose(rows, self.expected(open_provider().encoder, TEXTS), atol=1e-6)

    def test_works_fitted(self, tmp_path: Path) -> None:
        """A model file gives the fitted encoder's rows, which are not the background's."""
        encoder = fit_model(tmp_path / "model.safetensors", TEXTS)
        rows = self.rows(self.make(model=str(tmp_path / "model.safetensors")), TEXTS)
        np.testing.assert_allclose(rows, self.expected(encoder, TEXTS), atol=1e-6)
        assert np.abs(rows - self.rows(self.make(), TEXTS)).max() > 1e-3

    def test_works_with_a_collections_model(self, tmp_path: Path) -> None:
        """A collection's name gives its model's rows."""
        home = Home(tmp_path)
        home.build("faq", [Document(id=str(i), text=text) for i, text in enumerate(TEXTS)])
        rows = self.rows(self.make(collection="faq", home=str(tmp_path)), TEXTS)
        encoder = home.collection("faq").encoder
        np.testing.assert_allclose(rows, self.expected(encoder, TEXTS), atol=1e-6)

    def test_works_with_a_collection_of_several_encoders(self, tmp_path: Path) -> None:
        """Their vectors side by side are one embedding."""
        home = Home(tmp_path)
        documents = [Document(id=str(i), text=text) for i, text in enumerate(TEXTS)]
        encoders = [
            {"vectors": "wordllama", "config": {"removed": 1}},
            {"vectors": "wordllama-gem", "config": {"removal": "none"}, "weight": 0.5},
        ]
        home.build("faq", documents, config={"encoders": encoders})
        adapter = self.make(collection="faq", home=str(tmp_path))
        expected = self.expected(home.collection("faq").encoder, TEXTS)
        np.testing.assert_allclose(self.rows(adapter, TEXTS), expected, atol=1e-6)
        np.testing.assert_allclose(
            self.rows(self.load(self.save(adapter)), TEXTS), expected, atol=1e-6
        )

    def test_a_batch_equals_its_texts_one_by_one(self) -> None:
        """What else is given beside a text does not change its row."""
        adapter = self.make()
        together = self.rows(adapter, [*TEXTS, *WORDLESS])
        alone = np.concatenate([self.rows(adapter, [text]) for text in [*TEXTS, *WORDLESS]])
        np.testing.assert_allclose(together, alone, atol=1e-6)

    def test_any_script_is_a_text(self) -> None:
        """Unicode of every kind gives the encoder's finite numbers."""
        rows = self.rows(self.make(), _ODD)
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows, self.expected(self.default_encoder(), _ODD), atol=1e-6)

    def test_a_very_long_text(self) -> None:
        """A text of 200,000 words is taken whole."""
        texts = [" ".join(TEXTS) * 8000, TEXTS[0]]
        rows = self.rows(self.make(), texts)
        np.testing.assert_allclose(rows, self.expected(self.default_encoder(), texts), atol=1e-6)

    def test_many_texts_at_once(self) -> None:
        """Thousands of texts have their own rows, in order."""
        texts = [f"{TEXTS[i % len(TEXTS)]} number {i}" for i in range(self.many)]
        adapter = self.make()
        rows = self.rows(adapter, texts)
        assert len(rows) == self.many
        np.testing.assert_allclose(rows, self.expected(self.default_encoder(), texts), atol=1e-6)
        some = [0, 1, self.many // 2, self.many - 1]
        np.testing.assert_allclose(
            rows[some], self.rows(adapter, [texts[i] for i in some]), atol=1e-6
        )

    # ------------------------------------------------- threads and processes

    def test_threads_share_it(self) -> None:
        """Eight threads get what one gets."""
        adapter = self.make()
        expected = self.rows(self.make(), TEXTS)
        with ThreadPoolExecutor(8) as pool:
            for rows in pool.map(lambda _: self.rows(adapter, TEXTS), range(32)):
                np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_pickles(self, tmp_path: Path) -> None:
        """A copy gives the same rows, fitted or not."""
        fit_model(tmp_path / "model.safetensors", TEXTS)
        for adapter in (self.make(), self.make(model=str(tmp_path / "model.safetensors"))):
            copy = pickle.loads(pickle.dumps(adapter))  # noqa: S301 - of our own making
            np.testing.assert_allclose(self.rows(copy, TEXTS), self.rows(adapter, TEXTS), atol=1e-6)

    def test_works_in_spawned_processes(self) -> None:
        """A child process that receives it pickled gives the same rows."""
        adapter = self.make()
        expected = self.rows(adapter, TEXTS * 500)
        rows = call_in_child("spawn", self.call(), adapter, list(TEXTS * 500))
        np.testing.assert_allclose(np.asarray(rows, dtype=np.float32), expected, atol=1e-6)

    def test_survives_a_fork(self, tmp_path: Path) -> None:
        """A forked child uses the very object of its parent, also while other threads of the parent are using it."""
        adapter = self.make()
        expected = self.rows(adapter, TEXTS * 500)
        busy = threading.Event()
        threads = [
            threading.Thread(target=self._keep_calling, args=(adapter, busy)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        try:
            for i in range(4):
                path = tmp_path / f"{i}.npy"
                in_forked_child(lambda path=path: np.save(path, self.rows(adapter, TEXTS * 500)))  # type: ignore[misc]
                np.testing.assert_allclose(np.load(path), expected, atol=1e-6)
        finally:
            busy.set()
            for thread in threads:
                thread.join()

    def _keep_calling(self, adapter: Any, stop: threading.Event) -> None:
        while not stop.wait(0.001):
            self.rows(adapter, TEXTS)

    # ------------------------------------------------- names and saved configurations

    def test_refuses_unknown_names(self, tmp_path: Path) -> None:
        """A model or collection that the home does not hold: making it, or at the latest using it, says so by name."""
        home = str(Home(tmp_path / "home").root)
        for kind in ("model", "collection"):
            choice = {kind: "nobody", "home": home}
            self._assert_refuses(
                lambda choice=choice: self.make(**choice),  # type: ignore[misc]
                UnknownNameError,
                f"no {kind} is named 'nobody'",
            )

    def test_a_saved_configuration_loads(self, tmp_path: Path) -> None:
        """Saved and loaded it gives the same rows, fitted or not."""
        fit_model(tmp_path / "model.safetensors", TEXTS)
        for adapter in (self.make(), self.make(model=str(tmp_path / "model.safetensors"))):
            again = self.load(self.save(adapter))
            np.testing.assert_allclose(
                self.rows(again, TEXTS), self.rows(adapter, TEXTS), atol=1e-6
            )

    def test_a_saved_configuration_refuses_other_vectors(self, tmp_path: Path) -> None:
        """Under the same name there are other vectors now: loading, or at the latest using it, says so by name."""
        home = Home(tmp_path / "home")
        home.vectors.add("mine", write_word_vectors(tmp_path / "first.txt", TEXTS, seed=1))
        adapter = self.make(vectors="mine", home=str(home.root))
        saved, rows = self.save(adapter), self.rows(adapter, TEXTS)
        np.testing.assert_allclose(self.rows(self.load(saved), TEXTS), rows, atol=1e-6)
        home.vectors.remove("mine")
        home.vectors.add("mine", write_word_vectors(tmp_path / "second.txt", TEXTS, seed=2))
        self._assert_refused(saved, "mine")

    def test_a_saved_configuration_refuses_another_fit(self, tmp_path: Path) -> None:
        """The model's file holds another fit now: loading, or at the latest using it, says so by name."""
        path = tmp_path / "model.safetensors"
        fit_model(path, TEXTS)
        saved = self.save(self.make(model=str(path)))
        fit_model(path, TEXTS[:3])
        self._assert_refused(saved, "model.safetensors")

    def test_a_pickle_refuses_another_fit(self, tmp_path: Path) -> None:
        """As a saved configuration does; of a lazy adapter, once it was used."""
        path = tmp_path / "model.safetensors"
        fit_model(path, TEXTS)
        adapter = self.make(model=str(path))
        if self.lazy:
            self.rows(adapter, TEXTS)
        pickled = pickle.dumps(adapter)
        fit_model(path, TEXTS[:3])
        self._assert_refuses(
            lambda: pickle.loads(pickled),  # noqa: S301 - of our own making
            FingerprintMismatchError,
            "model.safetensors",
        )

    def _assert_refused(self, saved: Any, name: str) -> None:
        self._assert_refuses(lambda: self.load(saved), FingerprintMismatchError, name)

    def _assert_refuses(
        self, make: Callable[[], Any], error: type[GemIndexError], message: str
    ) -> None:
        import pytest  # imported here: only those who run the tests have it

        with pytest.raises(Exception, match=re.escape(message)) as caught:
            self.rows(make(), TEXTS)
        found: BaseException | None = caught.value  # perhaps in an error of the framework's own
        while found is not None and not isinstance(found, error):
            found = found.__cause__ or found.__context__
        assert found is not None, repr(caught.value)
