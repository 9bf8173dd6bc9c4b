"""gensim's objects and files, and pickles that are read without unpickling."""

import io
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.errors import ConfigError, VectorFormatError
from gem_index.vectors.formats import read_vectors, write_vectors
from gem_index.vectors.formats.pickled import read_plain_data
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import open_unstored
from word_rows import MATRIX, WORDS, content_of


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
            if path.parent.name == "testing":
                continue  # contract tests pickle what they made themselves
            code = path.read_text()
            assert "import pickle\n" not in code, path
            assert "allow_pickle=True" not in code, path
