"""Word vectors: vocabulary, unknown words, formats, combination, the bundled source."""

import gzip
import hashlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index.errors import (
    ConfigError,
    CorruptionError,
    InputError,
    UnknownNameError,
    VectorFormatError,
)
from gem_index.vectors.base import VectorSource
from gem_index.vectors.catalogue import CATALOGUE
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.formats.registry import read_vectors
from gem_index.vectors.formats.text import parse_quickly
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.neighbors import nearest_words
from gem_index.vectors.registry import open_source
from gem_index.vectors.specification import SpecPart, VectorSpec
from gem_index.vectors.stored import (
    damaged_files,
    findings_of,
    import_vectors,
    open_stored,
    open_unstored,
)
from gem_index.vectors.vocabulary import Vocabulary

GLOVE = "the 1 0 0.5\nof 0 1 -2e-1\nriver 0 0 1\n"


def unknown_row(word, rows):
    return int(hashlib.sha256(word.encode("utf-8")).hexdigest(), 16) % rows


class TestVocabulary:
    @given(
        st.lists(
            st.text(st.characters(exclude_characters="\n", exclude_categories=["Cs"])), min_size=1
        )
    )
    def test_finds_the_first_row_of_every_word(self, words):
        vocabulary = Vocabulary.build(words)
        found = vocabulary.find(words)
        assert found.tolist() == [words.index(word) for word in words]
        assert list(vocabulary) == words

    def test_says_where_a_word_is_absent(self):
        vocabulary = Vocabulary.build(["a", "b"])
        assert vocabulary.find(["c", "b", "", "A"]).tolist() == [-1, 1, -1, -1]

    def test_tells_words_of_equal_hash_apart(self, monkeypatch):
        monkeypatch.setattr(
            "gem_index.vectors.vocabulary._keys",
            lambda text, offsets: np.zeros(len(offsets) - 1, dtype=np.uint64),
        )
        vocabulary = Vocabulary.build(["a", "bc", "a", "b"])
        assert vocabulary.find(["b", "a", "bc", "c", "bcd"]).tolist() == [3, 0, 1, -1, -1]

    def test_indexes_like_a_sequence(self):
        vocabulary = Vocabulary.build(["a", "\u00e9t\u00e9", "", "d"])
        assert (vocabulary[1], vocabulary[-1], vocabulary[1:3]) == (
            "\u00e9t\u00e9",
            "d",
            ["\u00e9t\u00e9", ""],
        )
        with pytest.raises(IndexError):
            vocabulary[4]

    def test_opens_what_it_saved(self, tmp_path):
        Vocabulary.build(["x", "y", "x"]).save(tmp_path)
        opened = Vocabulary.open(tmp_path)
        assert list(opened) == ["x", "y", "x"]
        assert opened.find(["y", "z"]).tolist() == [1, -1]

    def test_refuses_no_words_and_words_of_two_lines(self):
        with pytest.raises(VectorFormatError, match="empty"):
            Vocabulary.build([])
        with pytest.raises(VectorFormatError, match="word 2 holds a line feed"):
            Vocabulary.build(["a", "b\nc"])


class TestMapped:
    def test_known_words_take_their_row_and_unknown_words_the_row_of_their_hash(self):
        matrix = np.arange(15, dtype=np.float32).reshape(5, 3)
        vectors = MappedVectors.from_words(["a", "b", "c", "d", "e"], matrix)
        rows, unknown = vectors.lookup(["c", "zzyzzx", "a", "\u00e9", "zzyzzx"])
        expected = [
            2,
            unknown_row("zzyzzx", 5),
            0,
            unknown_row("\u00e9", 5),
            unknown_row("zzyzzx", 5),
        ]
        np.testing.assert_array_equal(rows, matrix[expected])
        assert rows.dtype == np.float32
        assert unknown.tolist() == [False, True, False, True, True]

    def test_no_words_give_no_rows(self, small_vectors):
        rows, unknown = small_vectors.lookup([])
        assert rows.shape == (0, 24)
        assert unknown.shape == (0,)

    def test_the_first_of_two_equal_words_wins(self):
        vectors = MappedVectors.from_words(["a", "b", "a"], np.eye(3, dtype=np.float32))
        assert vectors.lookup(["a"])[0].tolist() == [[1, 0, 0]]

    def test_refuses_numbers_that_are_not_finite(self):
        with pytest.raises(VectorFormatError, match="finite"):
            MappedVectors.from_words(["a"], np.array([[np.nan]], dtype=np.float32))

    def test_fingerprint_tells_words_numbers_and_precision_apart(self):
        matrix = np.eye(2, dtype=np.float32)
        prints = {
            MappedVectors.from_words(words, m).fingerprint
            for words, m in [
                (["a", "b"], matrix),
                (["b", "a"], matrix),
                (["a", "b"], matrix * 2),
                (["a", "b"], matrix.astype(np.float16)),
            ]
        }
        assert len(prints) == 4
        assert MappedVectors.from_words(["a", "b"], matrix.copy()).fingerprint in prints

    def test_alphabetical_words_have_no_order_of_frequency(self, small_vectors):
        assert list(small_vectors.frequent_words())[:2] == ["the", "of"]
        words = [f"w{i:03}" for i in range(50)]
        assert (
            MappedVectors.from_words(words, np.eye(50, dtype=np.float32)).frequent_words() is None
        )


class TestFormats:
    def read(self, path):
        return open_unstored(read_vectors(path))

    def test_glove_text(self, tmp_path):
        path = tmp_path / "v.txt"
        path.write_text(GLOVE)
        vectors = self.read(path)
        assert list(vectors.vocabulary) == ["the", "of", "river"]
        np.testing.assert_array_equal(
            vectors.rows.matrix, np.array([[1, 0, 0.5], [0, 1, -0.2], [0, 0, 1]], dtype=np.float32)
        )

    def test_word2vec_text_gzip_and_glove_give_the_same_vectors(self, tmp_path):
        (tmp_path / "g.txt").write_text(GLOVE)
        (tmp_path / "w.txt").write_text("3 3\n" + GLOVE.replace("\n", " \n"))
        with gzip.open(tmp_path / "w.txt.gz", "wt") as file:
            file.write("3 3\n" + GLOVE)
        files = [read_vectors(tmp_path / name) for name in ("g.txt", "w.txt", "w.txt.gz")]
        assert [file.format for file in files] == ["glove", "word2vec-text", "word2vec-text"]
        assert len({open_unstored(file).fingerprint for file in files}) == 1

    def test_a_word_may_hold_spaces(self, tmp_path):
        path = tmp_path / "v.txt"
        path.write_text("the 1 2\n. . . 3 4\nat name@domain.com 5 6\n")
        assert list(self.read(path).vocabulary) == ["the", ". . .", "at name@domain.com"]

    def test_every_float_is_read_as_python_reads_it(self, tmp_path):
        numbers = ["1e-38", "-0.0", "3.4028235e38", "0.1", "123456789.123", "1E5", "-.5", "7."]
        path = tmp_path / "v.txt"
        path.write_text(f"w {' '.join(numbers)}\n")
        expected = np.array([float(n) for n in numbers], dtype=np.float32)
        np.testing.assert_array_equal(self.read(path).rows.matrix[0], expected)

    @given(
        st.lists(
            st.floats(width=64, allow_nan=False, allow_infinity=False)
            | st.integers(-(10**16), 10**16),
            min_size=1,
            max_size=6,
        ),
        st.sampled_from(["r", "e", "f", "g"]),
    )
    def test_compiled_parsing_equals_python(self, numbers, form):
        formats = {"r": repr, "e": "{:.7e}".format, "f": "{:.6f}".format, "g": "{:+.5G}".format}
        texts = [formats[form](number) for number in numbers]
        block = f"w\u00f6rd {' '.join(texts)}\r\nother {' '.join(texts)} \n".encode()
        chunk = parse_quickly(block, 2, len(numbers))
        with np.errstate(over="ignore"):
            expected = np.array([float(text) for text in texts]).astype(np.float32)
        if chunk is not None:
            assert chunk[0] == ["w\u00f6rd", "other"]
            assert chunk[1].tobytes() == np.stack([expected, expected]).tobytes()

    def test_compiled_parsing_accepts_real_files(self):
        words, rows = parse_quickly(b"the 0.1 -2.5e-3\nof .5 7.\nto +1 1E2\n", 3, 2)
        assert words == ["the", "of", "to"]
        assert rows.tolist() == np.array([[0.1, -0.0025], [0.5, 7], [1, 100]], np.float32).tolist()
        for odd in (
            b"a 1 2 3\n",
            b"a 1\n",
            b"a 1 x\n",
            b"a 1  2\n",
            b"a 1 --2\n",
            b"a 1 2e\n",
            b"a 1 nan\n",
            b"a . . 1\n",
        ):
            assert parse_quickly(odd, 1, 2) is None

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is empty"),
            (b"the 1 2\nof 1\n", "line 2 holds 1 numbers; expected 2"),
            (b"the 1 2\nof 1 2\nto 1 nan\n", "line 3 holds NaN or infinity"),
            (b"the 1 2\nof 1 -inf\n", "line 2 holds NaN or infinity"),
            (b"the 1 2\nof 1 2x\n", "line 2 holds '2x' where a number was expected"),
            (b"the 1 2\nof 1 \xff\xfe\n", "line 2 holds .* where a number was expected"),
            (b"3 2\na 1 2\nb 1 2\n", "announces 3 words, found 2"),
            (b"3 9999999999\na 1 2\n", "line 1 announces 9999999999 dimensions"),
            (b"just some prose here\n", "line 1 is not a word followed by numbers"),
            (b"2 2\n", "announces 2 words, found 0"),
            (b"the 1 2\n\nof 1 2\n", "line 2 holds 0 numbers"),
        ],
    )
    def test_damaged_text_is_named_by_line_and_leaves_nothing(self, tmp_path, content, message):
        path = tmp_path / "v.txt"
        path.write_bytes(content)
        with pytest.raises(VectorFormatError, match=message):
            import_vectors(read_vectors(path), tmp_path / "out")
        assert [file.name for file in tmp_path.iterdir()] == ["v.txt"]

    def test_folder(self, vectors_folder):
        file = read_vectors(vectors_folder)
        assert (file.format, file.dimension, file.dtype) == ("folder", 24, np.float16)
        vectors = open_unstored(file)
        np.testing.assert_array_equal(vectors.rows.matrix, np.load(vectors_folder / "matrix.npy"))

    @pytest.mark.parametrize(
        ("damage", "message"),
        [
            (lambda f: (f / "words.txt").unlink(), "holds no words.txt"),
            (lambda f: (f / "words.txt").write_text("one\ntwo\n"), "holds 2 words and .* rows"),
            (lambda f: (f / "words.txt").write_bytes(b"\xff\n" * 92), "not UTF-8 at byte 0"),
            (lambda f: (f / "matrix.npy").write_bytes(b"nothing"), "is not a NumPy array file"),
            (lambda f: np.save(f / "matrix.npy", np.zeros(3)), r"holds float64 \(3,\)"),
            (
                lambda f: np.save(
                    f / "matrix.npy", np.array([{}], dtype=object), allow_pickle=True
                ),
                "NumPy array file",
            ),
        ],
    )
    def test_damaged_folder(self, vectors_folder, damage, message):
        damage(vectors_folder)
        with pytest.raises(VectorFormatError, match=message):
            open_unstored(read_vectors(vectors_folder))

    def test_nan_in_a_folder_is_named_by_row(self, vectors_folder):
        matrix = np.load(vectors_folder / "matrix.npy")
        matrix[41, 3] = np.nan
        np.save(vectors_folder / "matrix.npy", matrix)
        with pytest.raises(VectorFormatError, match=r"matrix.npy row 42 holds NaN"):
            open_unstored(read_vectors(vectors_folder))


class TestImport:
    def test_imported_vectors_are_those_of_the_file(self, vectors_folder, tmp_path):
        direct = open_unstored(read_vectors(vectors_folder))
        seen = []
        imported = import_vectors(read_vectors(vectors_folder), tmp_path / "mapped", seen.append)
        words = ["the", "river", "unknownword"]
        assert imported.fingerprint == direct.fingerprint
        np.testing.assert_array_equal(imported.lookup(words)[0], direct.lookup(words)[0])
        assert open_stored(tmp_path / "mapped").fingerprint == direct.fingerprint
        assert seen == [len(direct.vocabulary)]

    def test_is_itself_a_folder_of_vectors(self, vectors_folder, tmp_path):
        imported = import_vectors(read_vectors(vectors_folder), tmp_path / "mapped")
        assert open_unstored(read_vectors(tmp_path / "mapped")).fingerprint == imported.fingerprint

    def test_damage_is_found(self, vectors_folder, tmp_path):
        folder = tmp_path / "mapped"
        import_vectors(read_vectors(vectors_folder), folder)
        assert damaged_files(folder) == []
        content = bytearray((folder / "matrix.npy").read_bytes())
        content[-1] ^= 1
        (folder / "matrix.npy").write_bytes(content)
        (folder / "keys.npy").unlink()
        assert damaged_files(folder) == ["keys.npy", "matrix.npy"]
        with pytest.raises(CorruptionError, match="cannot be opened"):
            open_stored(folder)

    def test_hashes_of_another_version_are_refused(self, vectors_folder, tmp_path):
        """With them, every word would be unknown."""
        folder = tmp_path / "mapped"
        import_vectors(read_vectors(vectors_folder), folder)
        keys = np.load(folder / "keys.npy")
        for other in (keys + np.uint64(1), keys // np.uint64(2), np.zeros_like(keys)):
            np.save(folder / "keys.npy", other)
            with pytest.raises(CorruptionError, match="stored with hashes that this version does"):
                open_stored(folder)
        np.save(folder / "keys.npy", keys)
        assert open_stored(folder).vocabulary.find(["the"])[0] >= 0

    def test_a_newer_version_is_refused_by_name(self, vectors_folder, tmp_path):
        folder = tmp_path / "mapped"
        import_vectors(read_vectors(vectors_folder), folder)
        meta = json.loads((folder / "vectors.json").read_text())
        (folder / "vectors.json").write_text(json.dumps(meta | {"version": 3}))
        with pytest.raises(CorruptionError, match="version 3; expected .* version 2"):
            open_stored(folder)


class TestCombined:
    def test_concatenates_and_maps_unknown_words_per_source(self):
        a = MappedVectors.from_words(["x", "y"], np.array([[1, 2], [3, 4]], np.float32))
        b = MappedVectors.from_words(["y", "z", "q"], np.array([[5], [6], [7]], np.float32))
        both = CombinedVectors([a, b])
        rows, unknown = both.lookup(["y", "z", "nowhere"])
        expected = [
            [3, 4, 5],
            [*a.rows.matrix[unknown_row("z", 2)], 6],
            [*a.rows.matrix[unknown_row("nowhere", 2)], *b.rows.matrix[unknown_row("nowhere", 3)]],
        ]
        np.testing.assert_array_equal(rows, expected)
        assert unknown.tolist() == [False, False, True]
        assert both.dimension == 3

    def test_order_matters_to_the_fingerprint(self, small_vectors):
        other = MappedVectors.from_words(["a"], np.ones((1, 2), np.float32))
        prints = {
            CombinedVectors(pair).fingerprint
            for pair in ([small_vectors, other], [other, small_vectors])
        }
        assert len(prints) == 2

    def test_needs_one(self):
        with pytest.raises(ConfigError, match="at least one"):
            CombinedVectors([])


class TestWordllama:
    def test_a_word_is_the_sum_of_its_pieces(self, wordllama):
        tokenizer, table = wordllama._tokenizer, wordllama.rows.matrix
        pieces = tokenizer.encode("believing", add_special_tokens=False)
        assert len(pieces.ids) > 1
        expected = table[pieces.ids].astype(np.float32).sum(axis=0)
        rows, unknown = wordllama.lookup(["believing"])
        np.testing.assert_allclose(rows[0], expected, rtol=1e-6)
        assert not unknown[0]

    def test_knows_any_word_and_does_not_depend_on_the_batch(self, wordllama):
        words = ["guitar", "zzyzzx", "\u6771\u4eac", "\U0001f600", "don", "a"]
        together, unknown = wordllama.lookup(words)
        assert together.shape == (6, 256)
        assert not unknown.any()
        alone = np.concatenate([wordllama.lookup([word])[0] for word in words])
        assert together.tobytes() == alone.tobytes()

    def test_is_sane(self, wordllama):
        assert {"rivers", "lake"} & {word for word, _ in nearest_words(wordllama, "river", 5)}


class TestRegistry:
    def test_splits_at_plus_but_not_inside_an_existing_path(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a+b.txt").write_text(GLOVE)
        for text, parts in [
            ("x+y", (SpecPart("x"), SpecPart("y"))),
            ("x*0.5 + y", (SpecPart("x", 0.5), SpecPart("y"))),
            ("a+b.txt", (SpecPart("a+b.txt"),)),
        ]:
            spec = VectorSpec.parse(text)
            assert spec.parts == parts
            assert VectorSpec.parse(str(spec)) == VectorSpec.parse(spec) == spec
        with pytest.raises(ConfigError, match="joined by"):
            VectorSpec.parse("x++y")

    def test_opens_names_paths_and_combinations(self, vectors_folder, tmp_path):
        import_vectors(read_vectors(vectors_folder), tmp_path / "mapped")
        registered = {"tiny": tmp_path / "mapped"}
        tiny = open_source("tiny", registered)
        assert isinstance(tiny, VectorSource)
        assert tiny.fingerprint == open_source(str(vectors_folder), {}).fingerprint
        assert (
            open_source(f"tiny+{vectors_folder}+wordllama", registered).dimension == 24 + 24 + 256
        )

    def test_well_known_names(self, vectors_folder, monkeypatch):
        entry = replace(CATALOGUE["glove.6B.50d"], packaged=lambda: read_vectors(vectors_folder))
        monkeypatch.setitem(CATALOGUE, "glove.6B.50d", entry)  # the real one is read for seconds
        assert open_source("glove.6B.50d", {}).dimension == 24
        with pytest.raises(UnknownNameError, match=r"with home\.vectors\.add\('glove.840B.300d'\)"):
            open_source("glove.840B.300d", {})

    def test_a_collection_takes_well_known_vectors_into_its_home(
        self, home, vectors_folder, monkeypatch
    ):
        entry = replace(CATALOGUE["glove.6B.50d"], packaged=lambda: read_vectors(vectors_folder))
        monkeypatch.setitem(CATALOGUE, "glove.6B.50d", entry)
        home.create_collection("c", vectors="glove.6B.50d")
        monkeypatch.undo()
        assert home.collection("c").encoder.dimension == 24
        assert "glove.6B.50d" in {vectors.name for vectors in home.vectors.list()}

    def test_suggests_near_names(self):
        with pytest.raises(UnknownNameError, match="did you mean wordllama"):
            open_source("wordlama", {})


def test_neighbours_are_those_of_brute_force(small_vectors):
    matrix = small_vectors.rows.matrix / np.linalg.norm(
        small_vectors.rows.matrix, axis=1, keepdims=True
    )
    words = list(small_vectors.vocabulary)
    scores = matrix @ matrix[words.index("river")]
    expected = [words[i] for i in np.argsort(-scores) if words[i] != "river"][:4]
    found = nearest_words(small_vectors, "river", 4)
    assert [word for word, _ in found] == expected
    assert found[0][1] == pytest.approx(np.sort(scores)[-2], abs=1e-6)


def test_neighbours_of_combined_sources_are_words_of_the_first(small_vectors):
    other = MappedVectors.from_words(["river", "elsewhere"], np.eye(2, dtype=np.float32))
    found = nearest_words(CombinedVectors([small_vectors, other]), "river", 100)
    assert {word for word, _ in found} == set(small_vectors.vocabulary) - {"river"}


@pytest.mark.parametrize("word", ["", "a\nb", "\x1b[31m"])
def test_neighbours_of_an_unprintable_word(small_vectors, word):
    with pytest.raises(InputError, match="expected a word of printable characters"):
        nearest_words(small_vectors, word, 4)


def test_damage_of_stored_vectors_is_reported(vectors_folder, tmp_path):
    folder = tmp_path / "mapped"
    import_vectors(read_vectors(vectors_folder), folder)
    for content in ("[]", "{", "{}"):
        (folder / "vectors.json").write_text(content)
        assert damaged_files(folder) == ["vectors.json"]
        with pytest.raises(CorruptionError, match=r"vectors\.json cannot be read .*add them again"):
            findings_of(folder)


def test_reprs_are_short(small_vectors, wordllama):
    assert repr(wordllama) == "SubwordVectors(any word, 256 dimensions)"
    both = CombinedVectors([small_vectors, wordllama])
    assert repr(both) == f"CombinedVectors({small_vectors!r}, {wordllama!r})"


def test_a_name_too_long_for_a_file_is_told():
    with pytest.raises(VectorFormatError, match=r"cannot be read \(.*[Ff]ile name too long"):
        read_vectors("x" * 5000)


def test_an_interrupted_import_leaves_nothing(vectors_folder, tmp_path):
    def interrupt(_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        import_vectors(read_vectors(vectors_folder), tmp_path / "mapped", interrupt)
    shutil.rmtree(vectors_folder)
    assert not list(tmp_path.iterdir())
