"""gensim's objects and files, and pickles that are read without unpickling."""

import gzip
import io
import pickle
import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.errors import ConfigError, InputError, VectorFormatError
from gem_index.vectors.formats.pickled import read_plain_data
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import open_unstored
from memory import forget_peak_memory, peak_memory
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

    def test_an_array_that_lies_by_columns(self, tmp_path):
        keyed = keyed_vectors()
        keyed.vectors = np.asfortranarray(MATRIX)
        keyed.save(str(tmp_path / "v.kv"))
        words, rows = content_of(read_vectors(tmp_path / "v.kv"))
        assert words == WORDS
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
        assert home.vectors.add("m", model).words == 3
        with pytest.raises(ConfigError, match="found a dict as word vectors"):
            home.vectors.add("x", {})

    def test_words_and_parts_that_do_not_agree(self, tmp_path):
        from gensim.models import FastText

        model = FastText(
            [["a", "river", "bank"]] * 5, vector_size=4, min_count=1, workers=1, bucket=50
        )
        model.wv.index_to_key.append("more")
        model.wv.save(str(tmp_path / "kv"))
        with pytest.raises(VectorFormatError, match=r"holds 4 words, vectors \(3, 4\) and n-grams"):
            read_vectors(tmp_path / "kv")

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
        content = pickle.dumps(value, protocol=protocol)
        assert read_plain_data(io.BytesIO(content), "x") == (value, len(content))

    @pytest.mark.parametrize("protocol", [0, 1, 2])
    def test_plain_data_of_the_old_protocols_comes_back(self, protocol):
        value = {
            "a": [5, -(10**30), 2.5, True, None],
            "long": "x" * 200_000,
            "\u00e9 ": ("b", " c \t"),
        }
        content = pickle.dumps(value, protocol=protocol)
        assert read_plain_data(io.BytesIO(content), "x") == (value, len(content))

    @pytest.mark.parametrize(
        ("content", "value"),
        [
            (b"S'it\\'s\\n'\n.", "it's\n"),  # as Python 2 wrote strings
            (b'S"a"\n.', "a"),
            (b"U\x02\xe9!.", "\u00e9!"),
            (b"T\x01\x00\x00\x00a.", "a"),
            (b"(S'a'\nI1\nd.", {"a": 1}),
            (b"I01\n.", True),
        ],
    )
    def test_files_of_python_2(self, content, value):
        assert pickle.loads(content, encoding="latin-1") == value
        assert read_plain_data(io.BytesIO(content), "x")[0] == value

    @pytest.mark.parametrize("content", [b"Sa\n.", b"S'a\n.", b"S\n.", b"\x80\x02N\x86."])
    def test_strings_without_quotes_and_stacks_too_small(self, content):
        with pytest.raises(VectorFormatError):
            read_plain_data(io.BytesIO(content), "x")

    def test_objects_made_with_named_arguments_are_records(self):
        content = b"\x80\x04cgensim\nThing\n)}\x92}X\x01\x00\x00\x00aK\x05sb."
        assert read_plain_data(io.BytesIO(content), "x")[0].state == {"a": 5}

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
            if path.parent.name in ("testing", "distributed"):
                continue  # contract tests pickle what they made themselves, a cluster's processes trust one another
            code = path.read_text()
            assert "import pickle\n" not in code, path
            assert "allow_pickle=True" not in code, path


def opened(tmp_path, content, name="v.kv"):
    (tmp_path / name).write_bytes(content)
    return open_unstored(read_vectors(tmp_path / name, "gensim"))


PROTO = b"\x80\x04"
LIST = b"]"
KEYED = PROTO + b"cgensim\nKeyedVectors\n)\x81"


def with_state(*entries):
    """A pickle of KeyedVectors with some entries of its state, each as opcodes."""
    return KEYED + b"}(" + b"".join(entries) + b"ub."


def text(value):
    raw = value.encode()
    return b"X" + len(raw).to_bytes(4, "little") + raw


def array(rows, columns=1):
    """Opcodes of a zero float32 array whose numbers are in the file."""
    data = bytes(4 * rows * columns)
    return (
        b"cnumpy.core.numeric\n_frombuffer\n(B" + len(data).to_bytes(4, "little") + data
        + b"cnumpy\ndtype\n" + text("f4") + b"\x89\x88\x87R(K\x03" + text("<") + b"NNNJ\xff\xff\xff\xff"
        + b"J\xff\xff\xff\xffK\x00tb(" + b"J%bJ%bt" % (
            rows.to_bytes(4, "little"), columns.to_bytes(4, "little")
        ) + text("C") + b"tR"
    )  # fmt: skip


HOSTILE = {
    "nested tuples as a name": b"\x80\x04)" + b"2\x86" * 26 + b"N\x93.",
    "nested tuples as the object": b"\x80\x04)" + b"2\x86" * 200 + b".",
    "nested tuples as the words": with_state(text("index_to_key"), b")" + b"2\x86" * 60),
    "nested tuples as n-grams": with_state(text("min_n"), b")" + b"2\x86" * 60),
    "nested lists in one another": PROTO + LIST + b"\x94" + b"]\x94h\x00h\x00(h\x01h\x01e" * 60 + b".",
    "a list that holds itself": PROTO + LIST + b"\x94(" + b"h\x00" * 1000 + b"e.",
    "copies by the million": PROTO + b"(N" + b"2" * 1_100_000 + b"l.",
    "a stack by the million": PROTO + b"(" * 1_000_000 + b".",
    "lists by the million": PROTO + b"]0" * 1_100_000 + b"N.",
    "tuples in tuples": PROTO + b")" + b"\x85" * 1_100_000 + b".",
    "calls of calls": PROTO + b"cos\nsystem\n" + b")R" * 1_100_000 + b".",
    "a long name": b"\x80\x02c" + b"a" * 100_000 + b"\nb\n.",
    "a long name by parts": PROTO + text("a" * 100_000) + b"\x94" + b"h\x00h\x00\x93" * 1000 + b".",
    "a length of 2^31": PROTO + b"B\xff\xff\xff\x7f.",
    "a length of 2^63": PROTO + b"\x8e" + b"\xff" * 7 + b"\x7f.",
    "a length below 0": PROTO + b"T\xff\xff\xff\xff.",
    "a huge integer": PROTO + b"\x8b\x00\x00\x10\x00" + b"\x7f" * (1 << 20) + b".",
    "many digits": PROTO + b"L" + b"9" * 1_000_000 + b"L\n.",
    "many digits as a float": PROTO + b"F" + b"9" * 1_000_000 + b"\n.",
    "many digits as a place": PROTO + b"g" + b"9" * 1_000_000 + b"\n.",
    "keys that collide": with_state(
        *(b"\x8a\x0a" + (i * (2**61 - 1)).to_bytes(10, "little") + b"N" for i in range(30_000))
    ),
    "one state for a million objects": (
        PROTO + b"}\x94(" + b"".join(b"M" + i.to_bytes(2, "little") + b"N" for i in range(60_000)) + b"u("
        + b"cos\nsystem\n)Rh\x00b" * 20_000 + b"."
    ),
    "two states": KEYED + b"}b}b.",
    "a persistent id": PROTO + b"Px\n.",
    "an extension": PROTO + b"\x82\x01.",
    "a buffer outside": b"\x80\x05\x97.",
    "not an opcode": PROTO + b"\xff.",
    "a key without a value": PROTO + b"}(Nu.",
    "no mark": PROTO + b"]e.",
    "an empty stack": PROTO + b".",
    "one word a million times over": with_state(
        text("index_to_key"), b"](" + text("x" * 100_000) + b"\x94" + b"h\x00" * 99_999 + b"e",
        text("vectors"), array(100_000),
    ),
    "an array of signs that are no bytes": with_state(
        text("index_to_key"), b"](" + text("a") + b"e", text("vectors"),
        array(1).replace(b"B\x04\0\0\0" + bytes(4), b"c_codecs\nencode\n(" + text("\u0100" * 4) + text("latin1") + b"tR"),
    ),
    "an array of 2^70": with_state(
        text("index_to_key"), LIST, text("vectors"), b"cx._reconstruct\nx\n)R(K\x01\x8a\x09" + bytes(8)
        + b"\x40\x85NNNtb",
    ),
}  # fmt: skip


class TestHostilePickles:
    @pytest.mark.parametrize("content", HOSTILE.values(), ids=HOSTILE)
    def test_are_refused_in_one_line_and_at_little_cost(self, tmp_path, content):
        started = time.process_time()  # of this process: others may be busy
        before = forget_peak_memory()
        with pytest.raises(VectorFormatError) as caught:
            opened(tmp_path, content)
        message = str(caught.value).replace(str(tmp_path), "")
        assert len(message) < 250
        assert message.isprintable()
        assert time.process_time() - started < 20  # 80 s before
        assert peak_memory() - before < 400e6

    def test_what_looks_like_them_is_read(self, tmp_path):
        content = with_state(
            text("index_to_key"), b"](" + text("a") + text("b") + b"e", text("vectors"), array(2, 3)
        )
        source = opened(tmp_path, content)
        assert (list(source.vocabulary), source.dimension) == (["a", "b"], 3)

    @pytest.mark.parametrize(
        ("kind", "shape"),
        [
            ("O", "J\x01\x00\x00\x00J\x01\x00\x00\x00"), ("S999999999", None), ("f4,f4", None), ("f99", None),
            ("f4", "J\xff\xff\xff\xffJ\xff\xff\xff\xff"), ("f4", "NN"), ("f4", "J\x01\x00\x00\x00J\x03\x00\x00\x00"),
        ],
    )  # fmt: skip
    def test_arrays_that_are_none(self, tmp_path, kind, shape):
        good = array(1)
        bad = good.replace(text("f4"), text(kind))
        if shape is not None:
            bad = bad.replace(b"J\x01\x00\x00\x00" * 2, shape.encode("latin-1"))
        words = (text("index_to_key"), b"](" + text("a") + b"e")
        assert opened(tmp_path, with_state(*words, text("vectors"), good)).dimension == 1
        with pytest.raises(VectorFormatError, match=r"expected v\.kv\.vectors\.npy beside it"):
            opened(tmp_path, with_state(*words, text("vectors"), bad))

    def test_a_pickle_that_unpacks_to_much_more(self, tmp_path):
        content = PROTO + b"B" + (1 << 27).to_bytes(4, "little") + bytes(1 << 27) + b"."
        with pytest.raises(VectorFormatError, match="unpacks to more than 30 times its size"):
            opened(tmp_path, gzip.compress(content, 1), "v.kv.gz")

    def test_array_files_beside_it(self, tmp_path):
        keyed_vectors().save(str(tmp_path / "v.kv"), separately=["vectors"])
        beside = tmp_path / "v.kv.vectors.npy"
        good = beside.read_bytes()
        for shape in (b"(7, 9999)", b"(-7, 5)  ", b"(7, 2**70)"):
            beside.write_bytes(good.replace(b"(7, 5), }", shape[:8] + b"}"))
            with pytest.raises(VectorFormatError, match=r"vectors\.npy"):
                read_vectors(tmp_path / "v.kv")
        beside.unlink()
        np.savez_compressed(tmp_path / "v.kv.vectors.npz", other=MATRIX)
        with pytest.raises(InputError, match=r"vectors\.npz"):
            read_vectors(tmp_path / "v.kv")
        np.savez_compressed(tmp_path / "v.kv.vectors.npz", val=np.zeros((1 << 13, 1 << 13)))
        with pytest.raises(VectorFormatError, match="unpacks to more than 30 times"):
            read_vectors(tmp_path / "v.kv")
