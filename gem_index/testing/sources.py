"""Contract tests for sources of word vectors: built-in sources and those of other packages.

In your own package, with pytest::

    from gem_index.testing import VectorSourceContract

    class TestMySource(VectorSourceContract):
        known = ("river", "bank")      # words that it holds or composes
        unknown = ("zzyzzxq",)         # words that it does not; () if it composes any word

        def make_source(self):
            return MySource()
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from gem_index.gem.config import GemConfig
from gem_index.gem.encoder import GemEncoder
from gem_index.vectors.base import VectorSource

__all__ = ["VectorSourceContract"]


class VectorSourceContract:
    """Test methods for one source; inherit, name some words, and make the source.

    Attributes
    ----------
    known : sequence of str
        At least two words that the source holds or composes, as the tokenizer returns them.
    unknown : sequence of str
        Words that it neither holds nor composes; empty if it composes every word.
    """

    known: Sequence[str] = ()
    unknown: Sequence[str] = ()

    def make_source(self) -> VectorSource:
        """Return the source; every test calls this, some twice to compare two sources."""
        raise NotImplementedError("return the source of word vectors to test")

    def test_is_a_vector_source(self) -> None:
        """It has the methods of the interface, a dimension and a fingerprint."""
        source = self.make_source()
        assert isinstance(source, VectorSource)
        assert isinstance(source.dimension, int)
        assert source.dimension >= 1
        assert re.fullmatch("[0-9a-f]{64}", source.fingerprint)

    def test_lookup_gives_float32_rows_and_a_mask(self) -> None:
        """Looking up n words gives (n, dimension) finite float32 rows and n booleans."""
        source = self.make_source()
        words = [*self.known, *self.unknown]
        rows, unknown = source.lookup(words)
        assert len(self.known) >= 2, "name at least two known words"
        assert rows.dtype == np.float32
        assert rows.shape == (len(words), source.dimension)
        assert unknown.dtype == np.bool_
        assert unknown.shape == (len(words),)
        assert np.isfinite(rows).all()

    def test_tells_known_words_from_unknown_ones(self) -> None:
        """The mask is True only for unknown words, and known words have different vectors."""
        source = self.make_source()
        rows, unknown = source.lookup([*self.known, *self.unknown])
        assert unknown.tolist() == [False] * len(self.known) + [True] * len(self.unknown)
        assert not np.array_equal(rows[0], rows[1])
        assert np.linalg.norm(rows[: len(self.known)], axis=1).min() > 0

    def test_no_words_give_no_rows(self) -> None:
        """An empty look-up gives empty arrays of the right shape."""
        source = self.make_source()
        rows, unknown = source.lookup([])
        assert rows.shape == (0, source.dimension)
        assert unknown.shape == (0,)

    def test_a_word_does_not_depend_on_its_batch(self) -> None:
        """Alone, together, reversed and repeated: the same word has the same bytes."""
        source = self.make_source()
        words = [*self.known, *self.unknown]
        together, _ = source.lookup(words)
        alone = np.concatenate([source.lookup([word])[0] for word in words])
        backwards, _ = source.lookup(words[::-1])
        twice, _ = source.lookup([*words, *words])
        assert together.tobytes() == alone.tobytes()
        assert together.tobytes() == np.ascontiguousarray(backwards[::-1]).tobytes()
        assert twice.tobytes() == together.tobytes() * 2

    def test_is_the_same_every_time_it_is_opened(self) -> None:
        """Two instances have the same fingerprint and the same vectors, also for unknown words."""
        first, second = self.make_source(), self.make_source()
        words = [*self.known, *self.unknown]
        assert first.fingerprint == second.fingerprint
        assert first.lookup(words)[0].tobytes() == second.lookup(words)[0].tobytes()

    def test_does_not_hand_out_its_own_memory(self) -> None:
        """Changing the returned rows does not change the source."""
        source = self.make_source()
        rows, unknown = source.lookup(self.known)
        before = rows.copy()
        rows[:] = 7
        unknown[:] = True
        again, mask = source.lookup(self.known)
        assert again.tobytes() == before.tobytes()
        assert not mask.any()

    def test_takes_any_text_for_a_word(self) -> None:
        """Odd words (another script, an emoji, a very long one) give finite rows."""
        source = self.make_source()
        rows, _ = source.lookup(["\u6771\u4eac", "\U0001f600", "\u00e9t\u00e9", "x" * 10_000, "7"])
        assert np.isfinite(rows).all()

    def test_frequent_words_are_words_it_knows(self) -> None:
        """If it has a frequency order, the first words are known."""
        source = self.make_source()
        words = source.frequent_words()
        if words is not None:
            some = [word for word in words[:50] if word]
            assert some
            assert not source.lookup(some)[1].any()

    def test_carries_an_encoder(self) -> None:
        """Sentences of its words have vectors of length 1, fitted or not."""
        source = self.make_source()
        texts = [" ".join(self.known), " ".join([*self.known[::-1], self.known[0]])]
        for encoder in (
            GemEncoder(source, GemConfig(n_removed=0)),
            GemEncoder(source, GemConfig(n_removed=0)).fit(texts),
        ):
            rows = encoder.encode(texts)
            assert rows.shape == (2, source.dimension)
            np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
