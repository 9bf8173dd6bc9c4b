"""fastText's models, against the package."""

import gzip
import struct
import time

import numpy as np
import pytest

from gem_index.errors import ConfigError, VectorFormatError
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.ngrams import NgramTable
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.registry import open_source
from gem_index.vectors.rows import Rows
from gem_index.vectors.stored import import_vectors, open_stored, vector_file
from memory import forget_peak_memory, peak_memory
from word_rows import MATRIX, content_of


@pytest.fixture(scope="module", params=[(3, 6, 500), (1, 2, 37), (0, 0, 500)])
def fasttext_model(request, tmp_path_factory):
    import fasttext

    folder = tmp_path_factory.mktemp("fasttext")
    lines = ["the river bank \u00e9t\u00e9 \u6771\u4eac", "a bank account at the river"] * 20
    (folder / "corpus.txt").write_text("\n".join(lines))
    shortest, longest, buckets = request.param
    # fasttext initialises a tenth of its numbers, rounded down, for each thread
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
        source = import_vectors(
            read_vectors(path), tmp_path / "v", options=SourceOptions(oov="hash")
        )
        assert source.lookup(["rivers"])[1].tolist() == [True]
        assert not (tmp_path / "v" / "ngrams.npy").exists()

    def test_unknown_words_are_composed_unless_something_else_is_chosen(
        self, fasttext_model, tmp_path
    ):
        _, path = fasttext_model
        file = read_vectors(path)
        expected = "hash" if file.composition is None else "subword"
        chosen = import_vectors(file, tmp_path / "v")
        assert chosen.options.oov == expected
        assert open_stored(tmp_path / "v").options.oov == expected
        same = import_vectors(file, tmp_path / "w", options=SourceOptions(oov=expected))
        assert same.fingerprint == chosen.fingerprint
        assert open_source(str(path), {}).options.oov == expected
        copy = import_vectors(vector_file(tmp_path / "v"), tmp_path / "x")
        assert copy.fingerprint == chosen.fingerprint

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


def model_of(words, dimension=1, shortest=3, longest=6, buckets=1):
    """A fastText model with zero vectors."""
    args = struct.pack(
        "<12id", dimension, 5, 5, 1, 5, 1, 1, 2, buckets, shortest, longest, 100, 1e-4
    )
    entries = b"".join(word + b"\0" + struct.pack("<qb", 1, 0) for word in words)
    rows = len(words) + buckets
    matrices = b"".join(
        b"\0" + struct.pack("<qq", n, dimension) + bytes(4 * n * dimension)
        for n in (rows, len(words))
    )
    head = struct.pack("<iiiqq", len(words), len(words), 0, len(words), -1)
    return struct.pack("<ii", 793712314, 12) + args + head + entries + matrices


def read_vectors_of(tmp_path, content):
    (tmp_path / "m.bin").write_bytes(content)
    return read_vectors(tmp_path / "m.bin")


class TestHostileModels:
    """Announced sizes are checked before they cost anything."""

    def opened(self, tmp_path, content):
        (tmp_path / "m.bin").write_bytes(content)
        return import_vectors(
            read_vectors(tmp_path / "m.bin"), tmp_path / "v", options=SourceOptions(oov="subword")
        )

    def test_a_plain_one_is_read(self, tmp_path):
        source = self.opened(tmp_path, model_of([b"a", b"river"]))
        assert list(source.vocabulary) == ["a", "river"]
        assert source.lookup(["riverside"])[1].tolist() == [False]

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"shortest": 1, "longest": 100}, "n-grams of 1 to 100 characters; expected at most 32"),
            ({"words": [b"x" * 100_000]}, "word 1 has 100000 bytes; expected at most 65536"),
            ({"words": [b"x" * (1 << 22)]}, "word 1"),
            ({"words": [b"x" * 60_000] * 50, "shortest": 1, "longest": 32}, "expected at most 1000 n-grams per word"),
            ({"words": [b"x" * 60_000], "dimension": 65_536}, "expected at most 1000 n-grams per word"),
            ({"words": [b"a", b"x" * 60_000]}, "has 2 words of up to 60000 bytes with n-grams of 3 to 6 characters"),
        ],
    )  # fmt: skip
    def test_absurd_ones_are_refused(self, tmp_path, arguments, message):
        started = time.process_time()
        before = forget_peak_memory()
        with pytest.raises(VectorFormatError, match=message):
            self.opened(tmp_path, model_of(**{"words": [b"a"], **arguments}))
        assert peak_memory() - before < 200e6
        assert time.process_time() - started < 10

    @pytest.mark.parametrize(
        ("form", "at", "value", "message"),
        [
            ("<i", 8, 2, "announces a matrix of 3 x 1; expected 3 x 2"),
            ("<i", 68, 1, "announces 1 words, found 2"),
            ("<i", 68, 0, "announces 0 words of 2; expected a plain fastText model"),
            ("<i", 68, 3, "announces 3 words of 2; expected a plain fastText model"),
        ],
    )
    def test_parts_that_do_not_agree(self, tmp_path, form, at, value, message):
        content = bytearray(model_of([b"a", b"river"]))
        struct.pack_into(form, content, at, value)
        with pytest.raises(VectorFormatError, match=message):
            self.opened(tmp_path, bytes(content))

    def test_a_matrix_that_the_file_cannot_hold(self, tmp_path):
        content = model_of([b"a", b"river"])
        with pytest.raises(VectorFormatError, match=r"m\.bin"):
            self.opened(tmp_path, content[: content.rindex(b"\0" + struct.pack("<qq", 2, 1)) - 4])

    @pytest.mark.parametrize(
        ("cut", "problem"),
        [
            (3, "ends at byte 3; expected a complete fastText model"),
            (60, "ends at byte 60; expected a complete fastText model"),
            (90, "ends at byte 90; expected a complete fastText model"),
            (
                105,
                "ends inside or has no end of word 2 of 2; "
                "expected a complete fastText model, with words of up to 65536 bytes",
            ),
            (126, "ends at byte 126; expected a complete fastText model"),
            (152, "ends at byte 152; expected a complete fastText model"),
        ],
    )
    def test_a_model_that_ends_too_early_is_told_with_its_last_byte(self, tmp_path, cut, problem):
        path = tmp_path / "m.bin"
        path.write_bytes(model_of([b"a", b"river"])[:cut])
        with pytest.raises(VectorFormatError) as refused:
            read_vectors(path, "fasttext")
        assert str(refused.value) == f"{path} {problem}"

    PLAIN = "expected a plain fastText model: use the .bin it was made from"

    @pytest.mark.parametrize(
        ("form", "at", "value", "problem"),
        [
            ("<i", 0, 5, "is not a fastText model of version 12 (found the number 5, version 12)"),
            ("<i", 4, 10, "is not a fastText model of version 12 (found the number 793712314, version 10)"),
            ("<i", 4, 13, "is not a fastText model of version 12 (found the number 793712314, version 13)"),
            ("<i", 8, 0, "byte 8 announces 0 dimensions; expected 1 to 65536"),
            ("<i", 40, -1, f"announces 2 words of 2; {PLAIN}"),
            ("<i", 44, 7, "byte 44 announces n-grams of 7 to 6 characters; expected at most 32"),
            ("<i", 48, 33, "byte 44 announces n-grams of 3 to 33 characters; expected at most 32"),
            ("<i", 68, 3, f"announces 3 words of 2; {PLAIN}"),
            ("<q", 84, 1, f"is quantised or pruned; {PLAIN}"),
            ("<b", 102, 1, "announces 2 words, found 1"),
            ("<b", 117, 1, f"is quantised; {PLAIN}"),
            ("<q", 118, 5, "byte 118 announces a matrix of 5 x 1; expected 3 x 1"),
        ],
    )  # fmt: skip
    def test_a_changed_number_is_told_in_whole(self, tmp_path, form, at, value, problem):
        content = bytearray(model_of([b"a", b"b" * 4]))
        assert content[117:134] == b"\0" + struct.pack("<qq", 3, 1)
        struct.pack_into(form, content, at, value)
        path = tmp_path / "m.bin"
        path.write_bytes(content)
        with pytest.raises(VectorFormatError) as refused:
            read_vectors(path, "fasttext")
        assert str(refused.value) == f"{path} {problem}"

    def test_a_matrix_of_words_alone_has_no_ngrams(self, tmp_path):
        content = model_of([b"a", b"river"])
        begin = content.index(b"\0" + struct.pack("<qq", 3, 1))
        words = b"\0" + struct.pack("<qq", 2, 1) + struct.pack("<2f", 5, 7)
        file = read_vectors_of(tmp_path, content[:begin] + words + content[begin + 17 + 12 :])
        found, rows = content_of(file)
        assert (found, rows.tolist(), file.composition) == (["a", "river"], [[5], [7]], None)

    @pytest.mark.parametrize("longest", [0, 32])
    def test_the_longest_ngrams(self, tmp_path, longest):
        file = read_vectors_of(tmp_path, model_of([b"a"], shortest=1, longest=longest))
        assert (file.composition is None) is (longest == 0)

    def test_so_many_ngrams_that_this_is_no_model_of_words(self, tmp_path):
        with pytest.raises(VectorFormatError) as refused:
            read_vectors_of(tmp_path, model_of([b"a", b"x" * 60_000]))
        assert str(refused.value) == (
            f"{tmp_path}/m.bin has 2 words of up to 60000 bytes with n-grams of 3 to 6 characters; expected at most 1000 "
            "n-grams per word: this is not a model of words"
        )
        assert read_vectors_of(tmp_path, model_of([b"x" * 2000])).words == 1

    @pytest.mark.parametrize("change", [-1, 1])
    def test_a_byte_more_or_less_than_the_matrices_have(self, tmp_path, change):
        content = model_of([b"a", b"river"])
        size = len(content)
        with pytest.raises(
            VectorFormatError,
            match=f"has {size + change} bytes; expected {size}: the file may be truncated$",
        ):
            self.opened(tmp_path, (content + b"\0")[: size + change])

    def test_a_quantised_output_is_not_looked_at(self, tmp_path):
        content = model_of([b"a", b"river"])
        end = content.rindex(b"\0" + struct.pack("<qq", 2, 1))
        source = self.opened(tmp_path, content[:end] + b"\1" + b"of another form")
        assert list(source.vocabulary) == ["a", "river"]

    def test_a_classifier_of_the_version_before_has_no_ngrams(self, tmp_path):
        content = bytearray(model_of([b"a", b"river"]))
        struct.pack_into("<i", content, 4, 11)
        assert read_vectors_of(tmp_path, content).composition is not None
        struct.pack_into("<i", content, 8 + 4 * 6, 3)  # supervised
        assert read_vectors_of(tmp_path, content).composition is None

    def test_words_shorter_than_every_ngram(self, tmp_path):
        source = self.opened(tmp_path, model_of([b"a", b"river"], shortest=5))
        rows, unknown = source.lookup(["b", "c"])
        assert unknown.tolist() == [True, True]
        assert np.isfinite(rows).all()

    def test_a_word_of_a_megabyte_that_is_looked_up(self, tmp_path):
        source = self.opened(tmp_path, model_of([b"a"], dimension=300, longest=32))
        source.lookup(["river"])
        before = forget_peak_memory()
        _, unknown = source.lookup(["x" * 60_000, "river", "y" * 20_000])
        assert peak_memory() - before < 400e6  # 3 GB for all n-grams at once
        assert not unknown.any()

    def test_numbers_whose_sum_is_none(self, tmp_path):
        largest = np.finfo(np.float32).max
        rows = Rows(np.array([[largest, -largest, 1]], dtype=np.float32))
        vectors, _ = NgramTable(rows, 3, 6).compose(["river"])
        assert np.isfinite(vectors).all()
        content = model_of([b"river"])
        at = content.index(struct.pack("<qq", 2, 1)) + 16
        content = content[:at] + struct.pack("<2f", largest, largest) + content[at + 8 :]
        with pytest.raises(VectorFormatError, match="word 1 holds NaN or infinity"):
            self.opened(tmp_path, content)

    def test_ngrams_in_parts_are_those_of_the_whole(self, monkeypatch):
        rows = Rows(np.random.default_rng(0).normal(size=(50, 7)).astype(np.float32))
        words = [b"<%s>" % (b"word%d" % i * (i + 1)) for i in range(20)]
        whole = NgramTable(rows, 2, 4).sums(words)
        for most in (7 * 400, 7 * 100, 7):
            monkeypatch.setattr("gem_index.vectors.ngrams._NUMBERS_AT_ONCE", most)
            sums, counts = NgramTable(rows, 2, 4).sums(words)
            np.testing.assert_array_equal(counts, whole[1])
            np.testing.assert_allclose(sums, whole[0], rtol=1e-5, atol=1e-5)
        monkeypatch.setattr("gem_index.vectors.ngrams._NUMBERS_AT_ONCE", 7 * 400)
        np.testing.assert_array_equal(NgramTable(rows, 2, 4).sums(words[:5])[0], whole[0][:5])
