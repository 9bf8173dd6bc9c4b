"""Contract tests for all adapters of a provider, whether they return embeddings or a ranking."""

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
    """Test methods for one adapter; inherit a subclass, which defines a row: an embedding or a score.

    Attributes
    ----------
    many : int
        Number of texts in the largest batch.
    lazy : bool
        Whether the adapter opens its encoder on first use; a pickle made before that holds no fingerprint.
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
        """Return the adapter restored from a saved configuration."""
        return pickle.loads(saved)  # noqa: S301 - of our own making

    def default_encoder(self) -> Encoder:
        """Return the encoder that the adapter must use when ``make`` gets no arguments."""
        return open_provider().encoder

    def call(self) -> Callable[[Any, list[str]], Any]:
        """Return the function that computes one row per text; child processes receive it pickled."""
        raise NotImplementedError("inherit EmbeddingProviderContract or RerankerContract")

    def expected(self, encoder: Encoder, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the rows that an adapter of this encoder must return."""
        raise NotImplementedError("inherit EmbeddingProviderContract or RerankerContract")

    def rows(self, adapter: Any, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the adapter's output as an array with one row per text."""
        return np.asarray(self.call()(adapter, list(texts)), dtype=np.float32)

    # ------------------------------------------------------------------ values

    def test_works_unfitted(self) -> None:
        """Without arguments it uses the bundled vectors."""
        rows = self.rows(self.make(), TEXTS)
        np.testing.assert_allclose(rows, self.expected(open_provider().encoder, TEXTS), atol=1e-6)

    def test_works_fitted(self, tmp_path: Path) -> None:
        """A model file gives the fitted encoder's rows, which differ from the background's."""
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
        """The vectors of several encoders, side by side, are one embedding."""
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
        """The other texts of a batch do not change a text's row."""
        adapter = self.make()
        together = self.rows(adapter, [*TEXTS, *WORDLESS])
        alone = np.concatenate([self.rows(adapter, [text]) for text in [*TEXTS, *WORDLESS]])
        np.testing.assert_allclose(together, alone, atol=1e-6)

    def test_any_script_is_a_text(self) -> None:
        """Any Unicode text gives the encoder's row, which is finite."""
        rows = self.rows(self.make(), _ODD)
        assert np.isfinite(rows).all()
        np.testing.assert_allclose(rows, self.expected(self.default_encoder(), _ODD), atol=1e-6)

    def test_a_very_long_text(self) -> None:
        """All words of a text of 200,000 words count."""
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
        """Eight threads get the same rows as one."""
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
        """A forked child can use its parent's object, also while other threads of the parent use it."""
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
        """For a missing model or collection, creating or at the latest using the adapter raises an error with its name."""
        home = str(Home(tmp_path / "home").root)
        for kind in ("model", "collection"):
            choice = {kind: "nobody", "home": home}
            self._assert_refuses(
                lambda choice=choice: self.make(**choice),  # type: ignore[misc]
                UnknownNameError,
                f"no {kind} is named 'nobody'",
            )

    def test_a_saved_configuration_loads(self, tmp_path: Path) -> None:
        """After saving and loading it gives the same rows, fitted or not."""
        fit_model(tmp_path / "model.safetensors", TEXTS)
        for adapter in (self.make(), self.make(model=str(tmp_path / "model.safetensors"))):
            again = self.load(self.save(adapter))
            np.testing.assert_allclose(
                self.rows(again, TEXTS), self.rows(adapter, TEXTS), atol=1e-6
            )

    def test_a_saved_configuration_refuses_other_vectors(self, tmp_path: Path) -> None:
        """If other vectors now have the name, loading or at the latest using the adapter raises an error with the name."""
        home = Home(tmp_path / "home")
        home.vectors.add("mine", write_word_vectors(tmp_path / "first.txt", TEXTS, seed=1))
        adapter = self.make(vectors="mine", home=str(home.root))
        saved, rows = self.save(adapter), self.rows(adapter, TEXTS)
        np.testing.assert_allclose(self.rows(self.load(saved), TEXTS), rows, atol=1e-6)
        home.vectors.remove("mine")
        home.vectors.add("mine", write_word_vectors(tmp_path / "second.txt", TEXTS, seed=2))
        self._assert_refused(saved, "mine")

    def test_a_saved_configuration_refuses_another_fit(self, tmp_path: Path) -> None:
        """If the model file now holds another fit, loading or at the latest using the adapter raises an error with it."""
        path = tmp_path / "model.safetensors"
        fit_model(path, TEXTS)
        saved = self.save(self.make(model=str(path)))
        fit_model(path, TEXTS[:3])
        self._assert_refused(saved, "model.safetensors")

    def test_a_pickle_refuses_another_fit(self, tmp_path: Path) -> None:
        """A pickle refuses another fit like a saved configuration; a lazy adapter must have been used before."""
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
        found: BaseException | None = caught.value  # the framework may wrap it in its own error
        while found is not None and not isinstance(found, error):
            found = found.__cause__ or found.__context__
        assert found is not None, repr(caught.value)
