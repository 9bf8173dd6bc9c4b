"""Contract tests that every embedding provider, and every adapter of one to another library, has to pass.

In a package of your own, with pytest::

    from gem_index.testing import EmbeddingProviderContract

    class TestMyAdapter(EmbeddingProviderContract):
        embed = staticmethod(my_adapter_calls.embed)    # in a module that a child process can import

        def make(self, **choice):                       # the arguments of gem_index.open_provider
            return MyAdapter(**choice)

        def save(self, adapter):
            return adapter.to_dict()

        def load(self, saved):
            return MyAdapter.from_dict(saved)
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import re
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gem_index.errors import FingerprintMismatchError
from gem_index.gem.encoder import GemEncoder
from gem_index.home import Home
from gem_index.opening import open_provider

__all__ = ["EmbeddingProviderContract", "embed_documents", "embed_query", "in_forked_child"]

_TEXTS = (
    "how do I renew a visa?",
    "where can I open a bank account?",
    "The quick brown fox jumps over the lazy dog, and nobody minds.",
    "is the school open today",
    "a man plays guitar",
)
_WORDLESS = ("", " \n\t", "?!... --")
_ODD = (
    "\u6771\u4eac\u306f\u65e5\u672c\u306e\u9996\u90fd\u3067\u3059",
    "\u0645\u0631\u062d\u0628\u0627 \u0628\u0627\u0644\u0639\u0627\u0644\u0645",
    "caf\u00e9 cafe\u0301 na\u00efve \u00df",
    "\U0001f600 smile \U0001f468\u200d\U0001f469\u200d\U0001f467",
    "nul \x00 inside",
)


def embed_documents(provider: Any, texts: list[str]) -> Any:
    """Call the method that most adapters have."""
    return provider.embed_documents(texts)


def embed_query(provider: Any, text: str) -> Any:
    """Call the method that most adapters have."""
    return provider.embed_query(text)


class EmbeddingProviderContract:
    """Test methods over one provider or adapter; inherit, and say how to make, call, save and load it.

    Attributes
    ----------
    embed : callable
        Takes the adapter and n texts, returns (n, dimension) numbers. A function of a module that a child process can
        import, or one of :func:`embed_documents`'s kind.
    embed_query : callable
        Takes the adapter and one text, returns (dimension,) numbers.
    many : int
        How many texts are embedded at once.
    """

    embed: ClassVar[Callable[[Any, list[str]], Any]] = staticmethod(embed_documents)
    embed_query: ClassVar[Callable[[Any, str], Any]] = staticmethod(embed_query)
    many = 10_000

    def make(self, **choice: Any) -> Any:
        """Return the adapter; ``choice`` are the arguments of :func:`gem_index.open_provider`."""
        raise NotImplementedError("return the adapter to test")

    def save(self, adapter: Any) -> Any:
        """Return the adapter's saved configuration; by default it is pickled."""
        return pickle.dumps(adapter)

    def load(self, saved: Any) -> Any:
        """Return the adapter of a saved configuration."""
        return pickle.loads(saved)  # noqa: S301 - of our own making

    def rows(self, adapter: Any, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return what the adapter embeds, as an array."""
        return np.asarray(type(self).embed(adapter, list(texts)), dtype=np.float32)

    # ------------------------------------------------------------------ values

    def test_works_unfitted(self) -> None:
        """Without anything named it gives the bundled vectors' embeddings, of unit length."""
        rows = self.rows(self.make(), _TEXTS)
        np.testing.assert_allclose(rows, open_provider().embed_documents(_TEXTS), atol=1e-6)
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_works_fitted(self, tmp_path: Path) -> None:
        """A model file gives the fitted encoder's embeddings, which are not the background's."""
        encoder = fitted_model(tmp_path / "model.safetensors", _TEXTS)
        rows = self.rows(self.make(model=str(tmp_path / "model.safetensors")), _TEXTS)
        np.testing.assert_allclose(rows, encoder.encode(_TEXTS), atol=1e-6)
        assert np.abs(rows - self.rows(self.make(), _TEXTS)).max() > 1e-3

    def test_works_with_a_collections_model(self, tmp_path: Path) -> None:
        """A collection's name gives its model's embeddings."""
        from gem_index.documents import Document

        home = Home(tmp_path)
        documents = [Document(id=str(i), text=text) for i, text in enumerate(_TEXTS)]
        home.build("faq", documents)
        rows = self.rows(self.make(collection="faq", home=str(tmp_path)), _TEXTS)
        np.testing.assert_allclose(rows, home.collection("faq").encoder.encode(_TEXTS), atol=1e-6)

    def test_a_batch_equals_its_texts_one_by_one(self) -> None:
        """What a text is embedded with does not change it."""
        adapter = self.make()
        together = self.rows(adapter, [*_TEXTS, *_WORDLESS])
        alone = np.concatenate([self.rows(adapter, [text]) for text in [*_TEXTS, *_WORDLESS]])
        np.testing.assert_allclose(together, alone, atol=1e-6)

    def test_a_query_is_embedded_as_a_document(self) -> None:
        """A text finds itself: its cosine with itself is 1."""
        adapter = self.make()
        query = np.asarray(type(self).embed_query(adapter, _TEXTS[0]), dtype=np.float32)
        np.testing.assert_allclose(query, self.rows(adapter, _TEXTS[:1])[0], atol=1e-6)

    def test_texts_without_words_give_zeros(self) -> None:
        """No NaN, no error, among others and alone."""
        adapter = self.make()
        rows = self.rows(adapter, [*_WORDLESS, _TEXTS[0]])
        assert not rows[:-1].any()
        np.testing.assert_allclose(np.linalg.norm(rows[-1]), 1, atol=1e-5)
        assert not np.asarray(type(self).embed_query(adapter, "")).any()

    def test_any_script_is_a_text(self) -> None:
        """Unicode of every kind gives finite numbers."""
        assert np.isfinite(self.rows(self.make(), _ODD)).all()

    def test_a_very_long_text(self) -> None:
        """A text of 200,000 words is embedded whole."""
        long = " ".join(_TEXTS) * 8000
        rows = self.rows(self.make(), [long, _TEXTS[0]])
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_many_texts_at_once(self) -> None:
        """Thousands of texts come back in order."""
        texts = [f"{_TEXTS[i % len(_TEXTS)]} number {i}" for i in range(self.many)]
        adapter = self.make()
        rows = self.rows(adapter, texts)
        assert len(rows) == self.many
        assert np.isfinite(rows).all()
        some = [0, 1, self.many // 2, self.many - 1]
        np.testing.assert_allclose(
            rows[some], self.rows(adapter, [texts[i] for i in some]), atol=1e-6
        )

    # ------------------------------------------------- threads and processes

    def test_threads_share_it(self) -> None:
        """Eight threads get what one gets."""
        adapter = self.make()
        expected = self.rows(self.make(), _TEXTS)
        with ThreadPoolExecutor(8) as pool:
            for rows in pool.map(lambda _: self.rows(adapter, _TEXTS), range(32)):
                np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_pickles(self, tmp_path: Path) -> None:
        """A copy embeds alike, fitted or not."""
        fitted_model(tmp_path / "model.safetensors", _TEXTS)
        for adapter in (self.make(), self.make(model=str(tmp_path / "model.safetensors"))):
            copy = pickle.loads(pickle.dumps(adapter))  # noqa: S301 - of our own making
            np.testing.assert_allclose(
                self.rows(copy, _TEXTS), self.rows(adapter, _TEXTS), atol=1e-6
            )

    def test_works_in_spawned_processes(self) -> None:
        """A child process that receives it pickled embeds alike."""
        adapter = self.make()
        expected = self.rows(adapter, _TEXTS * 500)
        with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
            future = pool.submit(type(self).embed, adapter, list(_TEXTS * 500))
            rows = np.asarray(future.result(timeout=120), dtype=np.float32)
        np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_survives_a_fork(self, tmp_path: Path) -> None:
        """A forked child uses the very object of its parent, also while other threads of the parent are using it."""
        adapter = self.make()
        expected = self.rows(adapter, _TEXTS * 500)
        busy = threading.Event()
        threads = [
            threading.Thread(target=self._keep_embedding, args=(adapter, busy)) for _ in range(2)
        ]
        for thread in threads:
            thread.start()
        try:
            for i in range(4):
                path = tmp_path / f"{i}.npy"
                in_forked_child(lambda path=path: np.save(path, self.rows(adapter, _TEXTS * 500)))  # type: ignore[misc]
                np.testing.assert_allclose(np.load(path), expected, atol=1e-6)
        finally:
            busy.set()
            for thread in threads:
                thread.join()

    def _keep_embedding(self, adapter: Any, stop: threading.Event) -> None:
        while not stop.wait(0.001):
            self.rows(adapter, _TEXTS)

    # ------------------------------------------------- saved configurations

    def test_a_saved_configuration_loads(self, tmp_path: Path) -> None:
        """Saved and loaded it embeds alike, fitted or not."""
        fitted_model(tmp_path / "model.safetensors", _TEXTS)
        for adapter in (self.make(), self.make(model=str(tmp_path / "model.safetensors"))):
            again = self.load(self.save(adapter))
            np.testing.assert_allclose(
                self.rows(again, _TEXTS), self.rows(adapter, _TEXTS), atol=1e-6
            )

    def test_a_saved_configuration_refuses_other_vectors(self, tmp_path: Path) -> None:
        """Under the same name there are other vectors now: loading, or at the latest embedding, says so by name."""
        home = Home(tmp_path / "home")
        home.add_vectors("mine", _word_vectors(tmp_path / "first.txt", 1))
        saved = self.save(self.make(vectors="mine", home=str(home.root)))
        self.rows(self.load(saved), _TEXTS)
        home.remove_vectors("mine")
        home.add_vectors("mine", _word_vectors(tmp_path / "second.txt", 2))
        self._assert_refused(saved, "mine")

    def test_a_saved_configuration_refuses_another_fit(self, tmp_path: Path) -> None:
        """The model's file holds another fit now: loading, or at the latest embedding, says so by name."""
        path = tmp_path / "model.safetensors"
        fitted_model(path, _TEXTS)
        saved = self.save(self.make(model=str(path)))
        fitted_model(path, _TEXTS[:3])
        self._assert_refused(saved, "model.safetensors")

    def _assert_refused(self, saved: Any, name: str) -> None:
        import pytest  # imported here: only those who run the tests have it

        with pytest.raises(Exception, match=re.escape(name)) as caught:
            self.rows(self.load(saved), _TEXTS)
        found: BaseException | None = caught.value  # perhaps in an error of the framework's own
        while found is not None and not isinstance(found, FingerprintMismatchError):
            found = found.__cause__ or found.__context__
        assert found is not None, repr(caught.value)


def in_forked_child(work: Callable[[], object], seconds: float = 60) -> None:
    """Run something in a forked child.

    Raises
    ------
    AssertionError
        If it fails there, or does not end in time.
    """
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # that there are threads is what is tested
        child = os.fork()
    if child == 0:
        status = 1
        try:
            faulthandler.dump_traceback_later(0.8 * seconds, exit=True)  # where it hangs
            work()
            status = 0
        except BaseException:  # noqa: BLE001 - the child must end here, and say why
            traceback.print_exc()
        finally:
            os._exit(status)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert status == 0, f"the forked child failed with status {status}"
            return
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    raise AssertionError(f"the forked child did not end within {seconds:g} s")


def fitted_model(path: Path, corpus: Sequence[str]) -> GemEncoder:
    """Fit the bundled vectors on a few texts, and save the model."""
    encoder = open_provider(config={"removed": 1, "components": 3}).encoder.fit(corpus)
    encoder.save(path)
    return encoder


def _word_vectors(path: Path, seed: int) -> Path:
    words = sorted({word for text in _TEXTS for word in text.lower().split()})
    rows = np.random.default_rng(seed).standard_normal((len(words), 8))
    lines = [
        f"{word} {' '.join(f'{x:.4f}' for x in row)}" for word, row in zip(words, rows, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
