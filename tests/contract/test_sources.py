"""The contract of word-vector sources, for each built-in kind."""

import numpy as np
import pytest

from gem_index.testing import VectorSourceContract
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.formats.base import Ngrams, VectorFile
from gem_index.vectors.formats.registry import read_vectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import import_vectors, open_stored, open_unstored
from gem_index.vectors.subword import open_wordllama, wordllama_file

WORDS = [f"{letter}{number}" for number in (3, 1, 2) for letter in "hgfedcba"] + ["river", "bank"]
MATRIX = np.random.default_rng(2).normal(size=(len(WORDS), 6)).astype(np.float32)


class Ours(VectorSourceContract):
    known = ("river", "bank", "a1")
    unknown = ("zzyzzxq", "nowhere")
    options = SourceOptions()

    def make_source(self):
        return MappedVectors.from_words(WORDS, MATRIX, self.options)


class TestInMemory(Ours):
    pass


class TestOnDisk(Ours):
    @pytest.fixture(autouse=True)
    def _folder(self, tmp_path):
        (tmp_path / "v.txt").write_text(
            "".join(
                f"{w} {' '.join(map(repr, r))}\n"
                for w, r in zip(WORDS, MATRIX.tolist(), strict=True)
            )
        )
        self.folder = tmp_path / "stored"
        import_vectors(read_vectors(tmp_path / "v.txt"), self.folder, options=self.options)

    def make_source(self):
        return open_stored(self.folder)


class TestInt8(TestOnDisk):
    options = SourceOptions(dtype="int8", unit=True)


class TestZero(TestOnDisk):
    options = SourceOptions(oov="zero", case="fallback", dtype="float16", scale=2)


class TestSharedRows(Ours):
    def make_source(self):
        table = (WORDS, np.arange(len(WORDS)) // 2)
        file = VectorFile(
            "shared", "spacy", 6, np.dtype(np.float32), lambda: iter([((), MATRIX[:13])]),
            table=lambda: table,
        )  # fmt: skip
        return open_unstored(file)

    known = ("river", "h3", "c1")


class TestNgrams(Ours):
    known = ("river", "bank", "anything", "else")
    unknown = ()

    def make_source(self):
        file = VectorFile(
            "ngrams", "fasttext", 6, np.dtype(np.float32), lambda: iter([(WORDS, MATRIX)]),
            composition=Ngrams(2, 4, lambda: iter([MATRIX[::-1]])),
        )  # fmt: skip
        return open_unstored(file, SourceOptions(oov="subword"))


class TestCombined(Ours):
    def make_source(self):
        return CombinedVectors([super().make_source(), super().make_source()], [1.0, 0.5])


class TestWordllama(VectorSourceContract):
    known = ("river", "bank", "zzyzzxq")

    def make_source(self):
        return open_wordllama()


class TestWordllamaTakenIn(VectorSourceContract):
    known = ("river", "bank", "zzyzzxq")

    def make_source(self):
        return open_unstored(wordllama_file(), SourceOptions(unit=True, dtype="int8"))


class TestTheContractItself:
    """A source with a fault fails the test that names it."""

    def failing(self, **changes):
        source = MappedVectors.from_words(WORDS, MATRIX)
        faulty = type("Faulty", (), {
            "dimension": 6, "fingerprint": source.fingerprint, "lookup": source.lookup,
            "frequent_words": source.frequent_words,
        } | changes)  # fmt: skip
        contract = Ours()
        contract.make_source = faulty  # type: ignore[method-assign]
        failed = set()
        for name in dir(contract):
            if name.startswith("test_"):
                try:
                    getattr(contract, name)()
                except (AssertionError, ValueError, IndexError):
                    failed.add(name)
        return failed

    def test_a_faultless_source_passes(self):
        source = MappedVectors.from_words(WORDS, MATRIX)
        assert (
            self.failing(
                lookup=staticmethod(source.lookup),
                frequent_words=staticmethod(source.frequent_words),
            )
            == set()
        )

    def test_faults_are_found(self):
        source = MappedVectors.from_words(WORDS, MATRIX)
        rng = np.random.default_rng()

        def double(words):
            rows, unknown = source.lookup(words)
            return rows.astype(np.float64), unknown

        def random(words):
            rows, unknown = source.lookup(words)
            return rows + rng.normal(size=rows.shape).astype(np.float32), unknown

        order = staticmethod(source.frequent_words)
        assert "test_lookup_gives_float32_rows_and_a_mask" in self.failing(
            lookup=staticmethod(double), frequent_words=order
        )
        assert "test_a_word_does_not_depend_on_its_batch" in self.failing(
            lookup=staticmethod(random), frequent_words=order
        )
        assert "test_is_a_vector_source" in self.failing(
            fingerprint="x", lookup=staticmethod(source.lookup), frequent_words=order
        )
        assert "test_frequent_words_are_words_it_knows" in self.failing(
            lookup=staticmethod(source.lookup), frequent_words=staticmethod(lambda: ["nowhere"])
        )
