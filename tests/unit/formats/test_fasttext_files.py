"""fastText's models, against the package."""

import gzip
import struct

import numpy as np
import pytest

from gem_index.errors import ConfigError, VectorFormatError
from gem_index.vectors.formats import read_vectors, write_vectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import import_vectors
from word_rows import MATRIX, content_of


@pytest.fixture(scope="module", params=[(3, 6, 500), (1, 2, 37), (0, 0, 500)])
def fasttext_model(request, tmp_path_factory):
    import fasttext

    folder = tmp_path_factory.mktemp("fasttext")
    lines = ["the river bank \u00e9t\u00e9 \u6771\u4eac", "a bank account at the river"] * 20
    (folder / "corpus.txt").write_text("\n".join(lines))
    shortest, longest, buckets = request.param
    # fasttext 0.9.3 initialises a tenth of its numbers, rounded down, for each thread
    model = fasttext.train_unsupervised(
        str(folder / "corpus.txt"), dim=10, minn=shortest, maxn=longest, bucket=buckets,
        minCount=1, epoch=2, thread=10, verbose=0,
    )  # fmt: skip
    path = folder / "model.bin"
    model.save_model(str(path))
    return model, path


class TestFastText:
    def test_known_words_are_those_of_fasttext(self, fasttext_model):
        trained, path = fasttext_model
        words, rows = content_of(read_vectors(path))
        assert words == trained.get_words(on_unicode_error="strict")
        expected = np.stack([trained.get_word_vector(word) for word in words])
        np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_unknown_words_are_composed_of_ngrams(self, fasttext_model, tmp_path):
        trained, path = fasttext_model
        words = [
            "rivers",
            "b",
            "\u00e9",
            "\u6771\u4eac\u90fd",
            "x" * 300,
            "banks-and-rivers",
            "river",
        ]
        file = read_vectors(path)
        if file.composition is None:
            with pytest.raises(ConfigError, match="has no n-grams"):
                import_vectors(file, tmp_path / "v", options=SourceOptions(oov="subword"))
            return
        source = import_vectors(file, tmp_path / "v", options=SourceOptions(oov="subword"))
        rows, _ = source.lookup(words)
        expected = np.stack([trained.get_word_vector(word) for word in words])
        np.testing.assert_allclose(rows, expected, atol=1e-5)

    def test_without_subwords_unknown_words_hash_and_buckets_are_left_out(
        self, fasttext_model, tmp_path
    ):
        _, path = fasttext_model
        source = import_vectors(read_vectors(path), tmp_path / "v")
        assert source.lookup(["rivers"])[1].tolist() == [True]
        assert not (tmp_path / "v" / "ngrams.npy").exists()

    def test_compressed(self, fasttext_model, tmp_path):
        _, path = fasttext_model
        packed = tmp_path / "model.bin.gz"
        packed.write_bytes(gzip.compress(path.read_bytes()))
        np.testing.assert_array_equal(
            content_of(read_vectors(packed))[1], content_of(read_vectors(path))[1]
        )

    def test_fasttext_trains_from_our_text(self, tmp_path, vectors):
        import fasttext

        write_vectors(vectors.as_file("mine", "glove"), tmp_path / "v.vec")
        (tmp_path / "corpus.txt").write_text("__label__x the river bank\n__label__y of\n")
        model = fasttext.train_supervised(
            str(tmp_path / "corpus.txt"), dim=5, lr=0.0, epoch=1, minCount=1,
            pretrainedVectors=str(tmp_path / "v.vec"), verbose=0, thread=10,
        )  # fmt: skip
        np.testing.assert_allclose(model.get_word_vector("river"), MATRIX[2], atol=1e-5)

    def test_classifiers_are_read_without_their_labels(self, tmp_path):
        import fasttext

        (tmp_path / "corpus.txt").write_text(
            "__label__x the river bank\n__label__y of money and more\n" * 30
        )
        model = fasttext.train_supervised(
            str(tmp_path / "corpus.txt"), dim=10, lr=0.01, epoch=1, minCount=1, verbose=0, thread=10
        )
        model.save_model(str(tmp_path / "m.bin"))
        words, rows = content_of(read_vectors(tmp_path / "m.bin"))
        assert "__label__x" not in words
        expected = np.stack([model.get_word_vector(word) for word in words])
        np.testing.assert_allclose(rows, expected, atol=1e-6)

    def test_quantised_models_are_refused(self, tmp_path):
        import fasttext

        lines = [
            f"__label__{i % 2} {' '.join(f'w{j}' for j in range(i, i + 5))}" for i in range(300)
        ]
        (tmp_path / "corpus.txt").write_text("\n".join(lines))
        model = fasttext.train_supervised(
            str(tmp_path / "corpus.txt"), dim=10, lr=0.01, epoch=1, verbose=0, thread=10
        )
        model.quantize()
        model.save_model(str(tmp_path / "m.ftz"))
        with pytest.raises(VectorFormatError, match="quantised"):
            read_vectors(tmp_path / "m.ftz")

    @pytest.mark.parametrize("cut", [3, 40, 90, 200, -1])
    def test_cut_models_are_refused(self, fasttext_model, tmp_path, cut):
        _, path = fasttext_model
        (tmp_path / "cut.bin").write_bytes(path.read_bytes()[:cut])
        with pytest.raises(VectorFormatError):
            read_vectors(tmp_path / "cut.bin", "fasttext")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            (2, -5),
            (2, 10**9),
            (10, -1),
            (12, -1),
            (12, 10**6),
            (15, 2**31 - 1),
            (15, -3),
        ],
    )
    def test_absurd_headers_cost_nothing(self, fasttext_model, tmp_path, field, value):
        _, path = fasttext_model
        content = bytearray(path.read_bytes())
        offset = 4 * field if field < 14 else 4 * field + 4
        struct.pack_into("<i", content, offset, value)
        (tmp_path / "absurd.bin").write_bytes(content)
        with pytest.raises(VectorFormatError):
            read_vectors(tmp_path / "absurd.bin")
