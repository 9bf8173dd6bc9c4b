"""Formats of word vectors: against the programs that define them, and what damaged files get."""

import bz2
import gzip
import io
import json
import lzma
import os
import pickle
import struct
import sys
import zipfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save_file

from gem_index.errors import ConfigError, InputError, VectorFormatError
from gem_index.vectors.formats import read_vectors, write_vectors
from gem_index.vectors.formats.pickled import read_plain_data
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import findings_of, import_vectors, open_unstored

WORDS = ["the", "of", "river", "\u00e9t\u00e9", "\u6771\u4eac", "new_york", "bank"]
MATRIX = np.random.default_rng(3).normal(size=(7, 5)).astype(np.float32)


@pytest.fixture
def vectors():
    return MappedVectors.from_words(WORDS, MATRIX)


def content_of(file):
    words, rows = [], []
    for chunk_words, chunk in file.chunks():
        words += chunk_words
        rows.append(chunk)
    return words, np.concatenate(rows)


def keyed_vectors(words=WORDS, matrix=MATRIX):
    from gensim.models import KeyedVectors

    keyed = KeyedVectors(matrix.shape[1])
    keyed.add_vectors(words, matrix)
    return keyed


class TestGensim:
    @pytest.mark.parametrize("binary", [False, True])
    @pytest.mark.parametrize("ending", ["", ".gz"])
    def test_reads_what_gensim_writes(self, tmp_path, binary, ending):
        path = tmp_path / f"v{ending}"
        keyed_vectors().save_word2vec_format(str(path), binary=binary)
        file = read_vectors(path)
        assert file.format == ("word2vec-binary" if binary else "word2vec-text")
        words, rows = content_of(file)
        assert words == WORDS
        np.testing.assert_array_equal(rows, MATRIX)

    @pytest.mark.parametrize(("name", "binary"), [("v.vec", False), ("v.bin", True)])
    def test_gensim_reads_what_we_write(self, tmp_path, vectors, name, binary):
        from gensim.models import KeyedVectors

        path = tmp_path / name
        write_vectors(vectors.as_file("mine", "glove"), path)
        loaded = KeyedVectors.load_word2vec_format(str(path), binary=binary)
        assert loaded.index_to_key == WORDS
        np.testing.assert_array_equal(loaded.vectors, MATRIX)

    # gensim leaves this file open
    @pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
    def test_gensim_reads_our_glove_text(self, tmp_path, vectors):
        from gensim.models import KeyedVectors

        path = tmp_path / "v.txt"
        write_vectors(vectors.as_file("mine", "glove"), path)
        loaded = KeyedVectors.load_word2vec_format(str(path), binary=False, no_header=True)
        assert loaded.index_to_key == WORDS
        np.testing.assert_array_equal(loaded.vectors, MATRIX)

    def test_native_file_with_its_array_inside_and_beside(self, tmp_path):
        keyed_vectors().save(str(tmp_path / "inside.kv"))
        keyed_vectors().save(str(tmp_path / "beside.kv"), separately=["vectors"])
        assert (tmp_path / "beside.kv.vectors.npy").is_file()
        for name in ("inside.kv", "beside.kv"):
            file = read_vectors(tmp_path / name)
            words, rows = content_of(file)
            assert (file.format, words) == ("gensim", WORDS)
            np.testing.assert_array_equal(rows, MATRIX)

    @pytest.mark.parametrize("separately", [[], ["vectors"]])
    def test_whole_word2vec_model(self, tmp_path, separately):
        from gensim.models import Word2Vec

        model = Word2Vec([["a", "river", "bank"]] * 5, vector_size=4, min_count=1, workers=1)
        model.save(str(tmp_path / "model"), separately=separately)
        words, rows = content_of(read_vectors(tmp_path / "model"))
        assert words == model.wv.index_to_key
        np.testing.assert_array_equal(rows, model.wv.vectors)

    @pytest.mark.parametrize("separately", [[], ["vectors_vocab", "vectors_ngrams"]])
    def test_fasttext_of_gensim(self, tmp_path, separately):
        from gensim.models import FastText

        model = FastText(
            [["a", "river", "bank", "\u00e9t\u00e9"]] * 5, vector_size=4, min_count=1, workers=1,
            bucket=50, min_n=2, max_n=4,
        )  # fmt: skip
        model.save(str(tmp_path / "model"), separately=separately)
        model.wv.save(str(tmp_path / "kv"), separately=separately)
        for name in ("model", "kv"):
            file = read_vectors(tmp_path / name)
            words, rows = content_of(file)
            assert words == model.wv.index_to_key
            np.testing.assert_allclose(rows, model.wv.vectors, atol=1e-6)
            source = open_unstored(file, SourceOptions(oov="subword"))
            unknown = ["rivers", "banking", "\u6771\u4eac"]
            expected = np.stack([model.wv.get_vector(word) for word in unknown])
            np.testing.assert_allclose(source.lookup(unknown)[0], expected, atol=1e-6)

    def test_compressed_native_file(self, tmp_path):
        keyed_vectors().save(str(tmp_path / "v.kv.gz"), separately=["vectors"])
        assert (tmp_path / "v.kv.gz.vectors.npz").is_file()
        np.testing.assert_array_equal(content_of(read_vectors(tmp_path / "v.kv.gz"))[1], MATRIX)

    @pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
    def test_every_protocol(self, tmp_path, protocol):
        keyed_vectors().save(str(tmp_path / "v.kv"), pickle_protocol=protocol)
        np.testing.assert_array_equal(content_of(read_vectors(tmp_path / "v.kv"))[1], MATRIX)

    def test_whole_models_and_other_objects_in_memory(self, home):
        from gensim.models import Word2Vec

        model = Word2Vec([["a", "river", "bank"]] * 5, vector_size=4, min_count=1, workers=1)
        assert home.add_vectors("m", model).words == 3
        with pytest.raises(ConfigError, match="found a dict as word vectors"):
            home.add_vectors("x", {})

    def test_array_file_is_missing(self, tmp_path):
        keyed_vectors().save(str(tmp_path / "v.kv"), separately=["vectors"])
        (tmp_path / "v.kv.vectors.npy").unlink()
        with pytest.raises(VectorFormatError, match=r"expected v\.kv\.vectors\.npy beside it"):
            read_vectors(tmp_path / "v.kv")

    def test_object_in_memory(self):
        keyed = keyed_vectors()
        source = open_unstored(read_vectors(keyed))
        rows, unknown = source.lookup(["river", "nowhere"])
        np.testing.assert_array_equal(rows[0], keyed["river"])
        assert unknown.tolist() == [False, True]


def test_what_can_be_read_only_once_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path / "pipe", "-"):
        with pytest.raises(InputError, match="can be read only once"):
            read_vectors(source)


class TestPickles:
    def test_nothing_is_run(self, tmp_path):
        class Bomb:
            def __reduce__(self):
                return (open, (str(tmp_path / "exploded"), "w"))

        path = tmp_path / "bomb.kv"
        for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
            path.write_bytes(pickle.dumps({"x": Bomb()}, protocol=protocol))
            with pytest.raises(VectorFormatError, match="expected gensim's KeyedVectors"):
                read_vectors(path)
        assert not (tmp_path / "exploded").exists()
        pickle.loads(path.read_bytes())["x"].close()
        assert (tmp_path / "exploded").exists(), "the bomb itself is none"

    @given(
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False)
            | st.text()
            | st.binary(),
            lambda inner: (
                st.lists(inner)
                | st.dictionaries(st.text(), inner)
                | st.tuples(inner)
                | st.tuples(inner, inner, inner, inner)
            ),
            max_leaves=20,
        ),
        st.integers(3, pickle.HIGHEST_PROTOCOL),  # before 3 bytes were calls of a function
    )
    def test_plain_data_comes_back(self, value, protocol):
        found = read_plain_data(io.BytesIO(pickle.dumps(value, protocol=protocol)), "x")
        assert found == value

    @pytest.mark.parametrize("cut", [1, 20, 200, -1])
    def test_cut_files_are_refused(self, tmp_path, cut):
        keyed_vectors().save(str(tmp_path / "v.kv"))
        content = (tmp_path / "v.kv").read_bytes()
        (tmp_path / "v.kv").write_bytes(content[:cut])
        with pytest.raises(VectorFormatError):
            read_vectors(tmp_path / "v.kv", "gensim")

    def test_no_module_of_ours_unpickles(self):
        import gem_index

        for path in __import__("pathlib").Path(gem_index.__file__).parent.rglob("*.py"):
            code = path.read_text()
            assert "import pickle\n" not in code, path
            assert "allow_pickle=True" not in code, path


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


class TestModel2vec:
    @pytest.fixture
    def model(self):
        from model2vec import StaticModel
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.pre_tokenizers import Whitespace

        pieces = ["[UNK]", "[PAD]", "river", "bank", "##s", "##ing", "a", "b", "##a", "##b"]
        tokenizer = Tokenizer(
            WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
        )
        tokenizer.pre_tokenizer = Whitespace()
        tokenizer.enable_truncation(2)
        table = np.random.default_rng(5).normal(size=(len(pieces), 6)).astype(np.float32)
        return StaticModel(table, tokenizer, {"normalize": False})

    WORDS = ("river", "rivers", "banking", "a", "abab", "ab")

    def test_words_are_what_the_package_encodes(self, model, tmp_path):
        model.save_pretrained(tmp_path / "m")
        source = open_unstored(read_vectors(tmp_path / "m"))
        rows, unknown = source.lookup([*self.WORDS, "zzz"])
        np.testing.assert_allclose(rows[:-1], model.encode(list(self.WORDS)), atol=1e-6)
        assert unknown.tolist() == [False] * 6 + [True]

    def test_weights_and_shared_rows(self, model, tmp_path):
        from model2vec import StaticModel

        weights = np.linspace(0.5, 2, 10)
        mapping = np.array([0, 1, 2, 3, 4, 4, 5, 5, 6, 6])
        quantised = StaticModel(
            model.embedding[:7], model.tokenizer, {"normalize": False}, weights=weights,
            token_mapping=mapping,
        )  # fmt: skip
        quantised.save_pretrained(tmp_path / "m")
        rows, _ = open_unstored(read_vectors(tmp_path / "m")).lookup(self.WORDS)
        np.testing.assert_allclose(rows, quantised.encode(list(self.WORDS)), atol=1e-6)

    def test_the_package_reads_what_we_write(self, vectors, tmp_path):
        from model2vec import StaticModel

        write_vectors(vectors.as_file("mine", "glove"), tmp_path / "m", "model2vec")
        model = StaticModel.from_pretrained(tmp_path / "m")
        np.testing.assert_allclose(model.encode(WORDS), MATRIX, atol=1e-6)
        again = open_unstored(read_vectors(tmp_path / "m"))
        np.testing.assert_array_equal(again.lookup(WORDS)[0], MATRIX)
        assert again.lookup(["nowhere"])[1].tolist() == [True]

    def test_pieces_are_written_with_their_tokenizer(self, model, tmp_path):
        from model2vec import StaticModel

        model.save_pretrained(tmp_path / "m")
        source = import_vectors(read_vectors(tmp_path / "m"), tmp_path / "v")
        write_vectors(source.as_file("mine", "model2vec"), tmp_path / "again", "model2vec")
        again = StaticModel.from_pretrained(tmp_path / "again")
        np.testing.assert_allclose(
            again.encode(list(self.WORDS)), model.encode(list(self.WORDS)), atol=1e-6
        )
        with pytest.raises(VectorFormatError, match="composes words from pieces"):
            write_vectors(source.as_file("mine", "model2vec"), tmp_path / "v.txt")

    def test_sentence_transformers_folder(self, model, tmp_path):
        # the layout of SentenceTransformer.save_pretrained with one StaticEmbedding module
        inner = tmp_path / "st" / "0_StaticEmbedding"
        inner.mkdir(parents=True)
        modules = [{"idx": 0, "name": "0", "path": inner.name,
                    "type": "sentence_transformers.models.StaticEmbedding"}]  # fmt: skip
        (tmp_path / "st" / "modules.json").write_text(json.dumps(modules))
        save_file({"embedding.weight": model.embedding}, inner / "model.safetensors")
        model.tokenizer.save(str(inner / "tokenizer.json"))
        file = read_vectors(tmp_path / "st")
        assert file.format == "static-embedding"
        rows, _ = open_unstored(file).lookup(self.WORDS)
        np.testing.assert_allclose(rows, model.encode(list(self.WORDS)), atol=1e-6)

    def test_other_sentence_transformers_are_refused(self, tmp_path):
        (tmp_path / "modules.json").write_text(
            '[{"type": "sentence_transformers.models.Transformer"}]'
        )
        with pytest.raises(VectorFormatError, match="names no StaticEmbedding"):
            read_vectors(tmp_path)

    def test_int8_rows(self, model, tmp_path):
        from model2vec import StaticModel

        table = np.rint(model.embedding * 40).astype(np.int8)
        StaticModel(table, model.tokenizer, {"normalize": False}).save_pretrained(tmp_path / "m")
        rows, _ = open_unstored(read_vectors(tmp_path / "m")).lookup(["river", "rivers"])
        np.testing.assert_allclose(rows[0], table[2])
        np.testing.assert_allclose(rows[1], (table[2].astype(float) + table[4]) / 2)

    def test_a_table_with_too_few_rows(self, model, tmp_path):
        model.save_pretrained(tmp_path / "m")
        save_file({"embeddings": model.embedding[:5]}, tmp_path / "m" / "model.safetensors")
        with pytest.raises(VectorFormatError, match="the piece 9 and the table 5 rows"):
            read_vectors(tmp_path / "m", "model2vec")

    def test_words_and_pieces_that_do_not_fit(self, model, tmp_path):
        spaced = MappedVectors.from_words(["new york", "b"], np.eye(2, dtype=np.float32))
        with pytest.raises(VectorFormatError, match="'new york' is not one run of letters"):
            write_vectors(spaced.as_file("x", "glove"), tmp_path / "x", "model2vec")
        inner = tmp_path / "st"
        inner.mkdir()
        (inner / "modules.json").write_text('[{"path": "", "type": "x.StaticEmbedding"}]')
        save_file({"embedding.weight": model.embedding}, inner / "model.safetensors")
        model.tokenizer.save(str(inner / "tokenizer.json"))
        source = import_vectors(read_vectors(inner), tmp_path / "v")
        with pytest.raises(VectorFormatError, match="counts unknown pieces"):
            write_vectors(source.as_file("x", "static-embedding"), tmp_path / "x", "model2vec")

    @pytest.mark.parametrize("content", [b"{ nothing", b'{"model": {"vocab": {}}}', None])
    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
    def test_damaged_folders_are_refused(self, model, tmp_path, name, content):
        model.save_pretrained(tmp_path / "m")
        (tmp_path / "m" / name).unlink()
        if content is not None:
            (tmp_path / "m" / name).write_bytes(content)
        with pytest.raises(VectorFormatError, match=name):
            read_vectors(tmp_path / "m", "model2vec")


class TestSpacy:
    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        """An installed pipeline package whose table was pruned: 40 words share 10 rows."""
        import spacy

        pipeline = spacy.blank("en")
        rng = np.random.default_rng(9)
        for i in range(40):
            pipeline.vocab.set_vector(f"word{i}", rng.normal(size=6).astype(np.float32))
            pipeline.vocab[f"word{i}"].is_oov  # noqa: B018 - lexemes are made when asked for
        pipeline.vocab.prune_vectors(10)
        name = "gem_test_pipeline"
        folder = tmp_path / "site" / name
        folder.mkdir(parents=True)
        pipeline.to_disk(folder / f"{name}-1.0.0")
        (folder / "__init__.py").write_text("raise RuntimeError('a pipeline is not imported')\n")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return name, pipeline

    def test_pruned_pipeline_by_package_name(self, package, tmp_path):
        name, pipeline = package
        file = read_vectors(name, "spacy")
        source = import_vectors(file, tmp_path / "v")
        assert source.rows.matrix.shape == (10, 6)
        assert len(source.vocabulary) == 40
        words = [f"word{i}" for i in range(40)]
        rows, unknown = source.lookup(words)
        assert not unknown.any()
        expected = np.stack([pipeline.vocab.get_vector(word) for word in words])
        np.testing.assert_array_equal(rows, expected)
        assert name not in sys.modules

    def test_folder(self, package, tmp_path):
        name, _ = package
        folder = tmp_path / "site" / name / f"{name}-1.0.0"
        assert read_vectors(folder).format == "spacy"

    def test_exported_words_have_their_shared_rows(self, package, tmp_path):
        name, pipeline = package
        source = import_vectors(read_vectors(name, "spacy"), tmp_path / "v")
        write_vectors(source.as_file("mine", "spacy"), tmp_path / "v.txt")
        words, rows = content_of(read_vectors(tmp_path / "v.txt"))
        assert len(words) == 40
        np.testing.assert_array_equal(rows[3], pipeline.vocab.get_vector(words[3]))

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("vectors.cfg", b"garbage"), ("vectors.cfg", b"[]"), ("key2row", b"\x01"),
            ("vectors", b"x"), ("strings.json", b"3"),
        ],
    )  # fmt: skip
    def test_damaged_pipelines(self, package, tmp_path, name, content):
        folder = tmp_path / "site" / package[0] / f"{package[0]}-1.0.0"
        (folder / "vocab" / name).write_bytes(content)
        with pytest.raises(VectorFormatError, match="cannot be read"):
            read_vectors(folder)

    @pytest.mark.parametrize("name", ["__main__", "json"])
    def test_names_that_are_no_pipelines(self, home, name):
        with pytest.raises(InputError, match="no file, address or known vectors"):
            home.add_vectors("x", name)

    def test_pipeline_without_vectors(self, tmp_path):
        import spacy

        spacy.blank("en").to_disk(tmp_path / "empty")
        with pytest.raises(VectorFormatError, match="has no vectors"):
            read_vectors(tmp_path / "empty")


class TestArrays:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
    def test_npy_and_safetensors_with_a_word_list_beside(self, tmp_path, dtype):
        matrix = MATRIX.astype(dtype)
        np.save(tmp_path / "a.npy", matrix)
        (tmp_path / "a.txt").write_text("\n".join(WORDS))
        save_file({"vectors": matrix}, tmp_path / "b.safetensors")
        (tmp_path / "words.txt").write_text("\ufeff" + "\r\n".join(WORDS) + "\r\n")
        for name, expected in (("a.npy", "npy"), ("b.safetensors", "safetensors")):
            file = read_vectors(tmp_path / name)
            words, rows = content_of(file)
            assert file.format == expected
            assert words == WORDS
            assert rows.dtype == (np.float16 if dtype == np.float16 else np.float32)
            np.testing.assert_array_equal(rows, matrix.astype(rows.dtype))

    def test_packed_and_odd_numbers(self, tmp_path):
        np.save(tmp_path / "a.npy", MATRIX)
        save_file({"vectors": MATRIX}, tmp_path / "b.safetensors")
        (tmp_path / "words.txt").write_text("\n".join(WORDS))
        for name in ("a.npy", "b.safetensors"):
            packed = tmp_path / f"{name}.xz"
            packed.write_bytes(lzma.compress((tmp_path / name).read_bytes()))
            np.testing.assert_array_equal(content_of(read_vectors(packed))[1], MATRIX)
        np.save(tmp_path / "c.npy", np.full((7, 2), 1e300))
        with pytest.raises(VectorFormatError, match="row 1 holds NaN or infinity"):
            open_unstored(read_vectors(tmp_path / "c.npy"))
        header = b'{"v":{"dtype":"BF16","shape":[7,1],"data_offsets":[0,14]}}'
        content = len(header).to_bytes(8, "little") + header + bytes(14)
        (tmp_path / "d.safetensors").write_bytes(content)
        with pytest.raises(VectorFormatError, match=r"d\.safetensors"):
            read_vectors(tmp_path / "d.safetensors")
        damaged = bytearray((tmp_path / "a.npy").read_bytes())
        damaged[10:40] = b"{'descr': (((((((((((((((((((("
        (tmp_path / "e.npy").write_bytes(damaged)
        with pytest.raises(VectorFormatError, match="not a NumPy array file"):
            read_vectors(tmp_path / "e.npy")

    def test_matrix_without_words(self, tmp_path):
        np.save(tmp_path / "a.npy", MATRIX)
        with pytest.raises(VectorFormatError, match=r"a\.words\.txt or a\.txt"):
            read_vectors(tmp_path / "a.npy")

    def test_absurd_array_header(self, tmp_path):
        with (tmp_path / "a.npy").open("wb") as file:
            header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 300)}
            np.lib.format.write_array_header_1_0(file, header)
        (tmp_path / "a.txt").write_text("a\n")
        with pytest.raises(VectorFormatError, match="not a NumPy array file"):
            read_vectors(tmp_path / "a.npy")

    def test_safetensors_with_several_tensors(self, tmp_path):
        save_file({"a": MATRIX, "b": MATRIX}, tmp_path / "a.safetensors")
        (tmp_path / "a.txt").write_text("a\n")
        with pytest.raises(VectorFormatError, match="holds the tensors a, b"):
            read_vectors(tmp_path / "a.safetensors")


class TestParquet:
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_round_trip(self, tmp_path, dtype):
        source = MappedVectors.from_words(WORDS, MATRIX.astype(dtype))
        write_vectors(source.as_file("mine", "glove"), tmp_path / "v.parquet")
        file = read_vectors(tmp_path / "v.parquet")
        words, rows = content_of(file)
        assert (file.format, words, rows.dtype) == ("parquet", WORDS, dtype)
        np.testing.assert_array_equal(rows, MATRIX.astype(dtype))

    def test_lists_of_any_size_and_double_numbers(self, tmp_path):
        table = pa.table({"token": WORDS, "emb": MATRIX.astype(np.float64).tolist()})
        pq.write_table(table, tmp_path / "v.parquet")
        words, rows = content_of(read_vectors(tmp_path / "v.parquet"))
        assert words == WORDS
        np.testing.assert_array_equal(rows, MATRIX)

    @pytest.mark.parametrize(
        ("columns", "message"),
        [
            ({"word": ["a"], "other": ["b"], "v": [[1.0]]}, "expected one column of strings"),
            ({"word": ["a"]}, "expected one column of strings"),
            ({"word": ["a", None], "v": [[1.0], [2.0]]}, "row 2 holds no word"),
            ({"word": ["a", "b"], "v": [[1.0], [2.0, 3.0]]}, "row 2 holds 2 numbers"),
            ({"word": ["a", "b"], "v": [[1.0], [float("nan")]]}, "row 2 holds NaN"),
        ],
    )
    def test_damage_is_named_by_row(self, tmp_path, columns, message):
        pq.write_table(pa.table(columns), tmp_path / "v.parquet")
        with pytest.raises(VectorFormatError, match=message):
            open_unstored(read_vectors(tmp_path / "v.parquet"))

    def test_packed(self, tmp_path):
        source = MappedVectors.from_words(WORDS, MATRIX)
        write_vectors(source.as_file("x", "glove"), tmp_path / "v.parquet")
        packed = gzip.compress((tmp_path / "v.parquet").read_bytes())
        (tmp_path / "v.parquet.gz").write_bytes(packed)
        np.testing.assert_array_equal(
            content_of(read_vectors(tmp_path / "v.parquet.gz"))[1], MATRIX
        )

    def test_cut_file(self, tmp_path):
        pq.write_table(pa.table({"word": ["a"], "v": [[1.0]]}), tmp_path / "v.parquet")
        (tmp_path / "v.parquet").write_bytes((tmp_path / "v.parquet").read_bytes()[:-9])
        with pytest.raises(VectorFormatError, match="not a whole Parquet file"):
            read_vectors(tmp_path / "v.parquet")


class TestText:
    def read(self, tmp_path, content, name="v.txt"):
        (tmp_path / name).write_bytes(content)
        return import_vectors(read_vectors(tmp_path / name), tmp_path / "out")

    @pytest.mark.parametrize(
        "content",
        [
            b"the 1 2\r\nof 3 4\r\n",
            b"\xef\xbb\xbfthe 1 2\nof 3 4\n",
            b"\xef\xbb\xbf2 2\nthe 1 2\nof 3 4",
            b"the 1 2 \nof 3 4   \n",
            b"2 2 \r\nthe 1 2 \r\nof 3 4 \r\n",
            b"the\t1\t2\nof\t3\t4\n",
            b"the 1  2\nof  3 4\n",
        ],
    )
    def test_what_is_tolerated(self, tmp_path, content):
        source = self.read(tmp_path, content)
        assert list(source.vocabulary) == ["the", "of"]
        np.testing.assert_array_equal(source.rows.matrix, [[1, 2], [3, 4]])

    def test_duplicates_empty_words_and_latin1_are_counted(self, tmp_path):
        content = b"the 1 2\nof 3 4\nthe 5 6\n 7 8\ncaf\xe9 9 10\nof 11 12\n"
        source = self.read(tmp_path, content)
        found = findings_of(tmp_path / "out")
        assert (found.duplicates, found.empty, found.latin1) == (2, 1, 1)
        rows, unknown = source.lookup(["the", "of", "caf\u00e9"])
        np.testing.assert_array_equal(rows, [[1, 2], [3, 4], [9, 10]])
        assert not unknown.any()

    @pytest.mark.parametrize(
        "pack", [gzip.compress, bz2.compress, lzma.compress], ids=["gz", "bz2", "xz"]
    )
    def test_compressed_and_cut(self, tmp_path, pack):
        lines = b"".join(b"word%d %f %f\n" % (i, i, -i) for i in range(5000))
        source = self.read(tmp_path, pack(lines))
        assert len(source.vocabulary) == 5000
        packed = pack(lines)
        (tmp_path / "cut").write_bytes(packed[: len(packed) // 2])
        with pytest.raises(VectorFormatError, match="cannot be read"):
            import_vectors(read_vectors(tmp_path / "cut"), tmp_path / "never")
        assert not (tmp_path / "never").exists()

    def test_zip_files(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "one.zip", "w") as archive:
            archive.writestr("v.txt", "the 1 2\n")
        with zipfile.ZipFile(tmp_path / "two.zip", "w") as archive:
            archive.writestr("v.50d.txt", "the 1 2\n")
            archive.writestr("v.100d.txt", "of 1 2 3\n")
        assert read_vectors(tmp_path / "one.zip").dimension == 2
        assert read_vectors(tmp_path / "two.zip" / "v.100d.txt").dimension == 3
        with pytest.raises(InputError, match=r"holds v\.50d\.txt, v\.100d\.txt; expected one"):
            read_vectors(tmp_path / "two.zip")
        with pytest.raises(InputError, match="is not there: the zip file holds"):
            read_vectors(tmp_path / "two.zip" / "v.25d.txt")
        locked = bytearray((tmp_path / "one.zip").read_bytes())
        struct.pack_into("<H", locked, 6, 1)  # the member says that it is encrypted
        struct.pack_into("<H", locked, locked.find(b"PK\x01\x02") + 8, 1)
        (tmp_path / "locked.zip").write_bytes(locked)
        with pytest.raises(InputError, match="without password"):
            read_vectors(tmp_path / "locked.zip")
        (tmp_path / "broken.zip").write_bytes((tmp_path / "one.zip").read_bytes()[:40])
        with pytest.raises(InputError, match="not a whole zip file"):
            read_vectors(tmp_path / "broken.zip")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"99999999999999999999999 3\na 1 2 3\n", "announces 99999999999999999999999 words"),
            (b"10 300", "announces 10 words, found 0"),
            (b"a 1 2\nb 1 2 3\n", "line 2 holds more than a word and 2 numbers"),
            (b"2 2\nthe 1 2\nnew york 3 4\n", "line 3 holds more than a word and 2 numbers"),
            (b"1000000000000 3\nthe 1 2 3\n", "announces 1000000000000 words, found 1"),
            (b"2 60000\nthe 1\nof 2\n", "line 2 holds 1 numbers; expected 60000"),
            (b"2 3\nthe 1 2 3\nof 1_0 2 3\n", "line 3 holds '1_0' where a number was expected"),
            (b"the 1 2\nof 3 4\n\xff\x00 5\n", "line 3 holds 1 numbers"),
            (b"the 1 2\nof 1e400 2\n", "line 2 holds NaN or infinity"),
        ],
    )
    def test_absurd_headers_and_damage(self, tmp_path, content, message):
        with pytest.raises(VectorFormatError, match=message):
            self.read(tmp_path, content)
        assert not (tmp_path / "out").exists()


class TestBinary:
    def content(
        self, words=b"3 2", rows=((b"the", 1, 2), (b"of", 3, 4), (b"caf\xe9", 5, 6)), end=b"\n"
    ):
        parts = [words + b"\n"]
        parts += [word + b" " + struct.pack("<2f", a, b) + end for word, a, b in rows]
        return b"".join(parts)

    def read(self, tmp_path, content):
        (tmp_path / "v.bin").write_bytes(content)
        return import_vectors(read_vectors(tmp_path / "v.bin", "word2vec-binary"), tmp_path / "out")

    @pytest.mark.parametrize("end", [b"\n", b""])
    def test_with_and_without_line_feeds(self, tmp_path, end):
        source = self.read(tmp_path, self.content(end=end))
        assert list(source.vocabulary) == ["the", "of", "caf\u00e9"]
        np.testing.assert_array_equal(source.rows.matrix, [[1, 2], [3, 4], [5, 6]])
        assert findings_of(tmp_path / "out").latin1 == 1

    def test_is_recognised(self, tmp_path):
        (tmp_path / "v").write_bytes(self.content())
        assert read_vectors(tmp_path / "v").format == "word2vec-binary"

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ({"words": b"5 2"}, "announces 5 words, found 3: the file ends inside word 4 at byte"),
            ({"words": b"1000000000000 2"}, "announces 1000000000000 words, found 3"),
            ({"words": b"2 2"}, "announces 2 words, found 13 more bytes at byte"),
            ({"rows": [(b"a", 1, 2), (b"b", float("nan"), 1), (b"c", 1, 1)]}, "word 2 holds NaN"),
            ({"rows": [(b"x" * 70_000, 1, 2)] * 3}, "byte 4: word 1 is longer than"),
            ({"words": b"nothing"}, "begins with"),
        ],
    )
    def test_damage_is_named(self, tmp_path, content, message):
        with pytest.raises(VectorFormatError, match=message):
            self.read(tmp_path, self.content(**content))
        assert not (tmp_path / "out").exists()

    def test_every_cut_is_noticed(self, tmp_path):
        whole = self.content()
        for cut in range(len(whole) - 1):
            with pytest.raises(VectorFormatError):
                self.read(tmp_path, whole[:cut])


class TestWriting:
    @pytest.mark.parametrize(
        "name", ["v.txt", "v.vec", "v.bin", "v.txt.gz", "v.bin.gz", "v.parquet", "folder"]
    )
    @pytest.mark.parametrize("dtype", [np.float16, np.float32])
    def test_every_number_comes_back(self, tmp_path, name, dtype):
        rng = np.random.default_rng(1)
        matrix = (rng.normal(size=(300, 4)) * 10.0 ** rng.integers(-4, 4, (300, 1))).astype(dtype)
        words = [f"w{i}" for i in range(300)]
        source = MappedVectors.from_words(words, matrix)
        write_vectors(source.as_file("mine", "glove"), tmp_path / name)
        found_words, rows = content_of(read_vectors(tmp_path / name))
        assert found_words == words
        np.testing.assert_array_equal(rows.astype(np.float32), matrix.astype(np.float32))

    def test_words_that_do_not_fit(self, tmp_path):
        source = MappedVectors.from_words(["at home", "b"], np.eye(2, dtype=np.float32))
        for name in ("v.vec", "v.bin"):
            with pytest.raises(VectorFormatError, match="'at home' holds a space"):
                write_vectors(source.as_file("mine", "glove"), tmp_path / name)
        write_vectors(source.as_file("mine", "glove"), tmp_path / "v.txt")
        assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]
        assert content_of(read_vectors(tmp_path / "v.txt"))[0] == ["at home", "b"]

    def test_what_cannot_be_written(self, tmp_path, vectors):
        with pytest.raises(InputError, match="the format is 'spacy'"):
            write_vectors(vectors.as_file("mine", "glove"), tmp_path / "v", "spacy")
        for name in ("v.xz", "v.npy", "v.parquet.gz", "v.csv", "-"):
            with pytest.raises(InputError, match="expected a name ending in"):
                write_vectors(vectors.as_file("mine", "glove"), tmp_path / name)
        with pytest.raises(InputError, match=r"cannot write .*v\.vec: no such file"):
            write_vectors(vectors.as_file("mine", "glove"), tmp_path / "absent" / "v.vec")
        (tmp_path / "there").mkdir()
        with pytest.raises(InputError, match="exists already"):
            write_vectors(vectors.as_file("mine", "glove"), tmp_path / "there")


def test_format_can_be_named_and_is_held_to(tmp_path):
    (tmp_path / "v.txt").write_text("3 1\n5 2\n7 3\n")
    assert read_vectors(tmp_path / "v.txt").format == "word2vec-text"
    file = read_vectors(tmp_path / "v.txt", "paragram")  # words that are numbers
    assert content_of(file)[0] == ["3", "5", "7"]
    for name in ("gensim", "fasttext", "npy", "safetensors", "parquet", "folder", "spacy"):
        with pytest.raises(InputError):
            read_vectors(tmp_path / "v.txt", name)
    with pytest.raises(InputError, match="the format is 'nonsense'; expected one of glove"):
        read_vectors(tmp_path / "v.txt", "nonsense")
