"""Matrices, Parquet, and all formats that can be written."""

import gzip
import json
import lzma

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from gem_index.errors import InputError, VectorFormatError
from gem_index.vectors.formats.arrays import read_tensors
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.stored import open_unstored
from word_rows import MATRIX, WORDS, content_of


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

    def test_a_folder_is_read_from_the_matrix_it_has_and_from_npy_if_it_has_both(self, tmp_path):
        (tmp_path / "words.txt").write_text("\n".join(WORDS))
        with pytest.raises(VectorFormatError) as refused:
            read_vectors(tmp_path)
        assert str(refused.value) == (
            f"the folder {tmp_path} holds no words.txt + matrix.npy; expected both (line i of words.txt naming row i), or "
            "a model2vec, sentence-transformers or spaCy folder"
        )
        save_file({"vectors": MATRIX}, tmp_path / "matrix.safetensors")
        np.testing.assert_array_equal(content_of(read_vectors(tmp_path))[1], MATRIX)
        np.save(tmp_path / "matrix.npy", 2 * MATRIX)
        file = read_vectors(tmp_path)
        assert (file.format, file.origin) == ("folder", str(tmp_path))
        np.testing.assert_array_equal(content_of(file)[1], 2 * MATRIX)
        (tmp_path / "words.txt").unlink()
        with pytest.raises(VectorFormatError, match=r"holds no words\.txt"):
            read_vectors(tmp_path)

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

    def test_a_zip_file_and_shapes_that_are_none(self, tmp_path):
        (tmp_path / "words.txt").write_text("a\n")
        np.savez(tmp_path / "matrix.npz", MATRIX)
        (tmp_path / "matrix.npz").rename(tmp_path / "matrix.npy")
        with pytest.raises(InputError, match="1 words and 7 rows"):
            read_vectors(tmp_path)  # unpacked like any compressed file
        for shape in ((2**70,), (-7, 5), (2**62, 0)):
            with (tmp_path / "matrix.npy").open("wb") as file:
                header = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(file, header)
                file.write(bytes(140))
            with pytest.raises(VectorFormatError, match=r"matrix\.npy"):
                read_vectors(tmp_path)

    @pytest.mark.parametrize("kind", ["BF16", "F8_E4M3", "F8_E5M2", "C64", "F4"])
    def test_numbers_that_numpy_does_not_have(self, tmp_path, kind):
        size = {"BF16": 2, "C64": 8}.get(kind, 1)
        head = {
            "v": {
                "dtype": kind,
                "shape": [7, 2],
                "data_offsets": [0, 14 * size if kind != "F4" else 7],
            }
        }
        header = json.dumps(head).encode()
        content = (
            len(header).to_bytes(8, "little") + header + bytes(14 * size if kind != "F4" else 7)
        )
        (tmp_path / "d.safetensors").write_bytes(content)
        (tmp_path / "words.txt").write_text("a\n" * 7)
        with pytest.raises(VectorFormatError, match=r"d\.safetensors"):
            read_vectors(tmp_path / "d.safetensors")

    def test_a_tensor_that_is_not_asked_for_may_have_such_numbers(self, tmp_path):
        path = tmp_path / "d.safetensors"
        head = {
            "a": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]},
            "v": {"dtype": "F16", "shape": [2], "data_offsets": [2, 6]},
        }
        header = json.dumps(head).encode()
        numbers = np.array([0.5, 2], np.float16)
        path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(2) + numbers.tobytes())
        (found,) = read_tensors(path, "v", "w").items()
        assert (found[0], found[1].tolist()) == ("v", [0.5, 2])
        with pytest.raises(VectorFormatError) as refused:
            read_tensors(path)
        assert str(refused.value) == (
            f"{path} holds numbers of the kind 'BF16', which NumPy does not have; expected F16 or F32: save it as float32"
        )

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
            (
                {"word": ["a"], "v": pa.array([None], pa.list_(pa.float32())), "n": [1]},
                "holds no vector in its first row; expected one",
            ),
            ({"word": ["a", None], "v": [[1.0], [2.0]]}, "row 2 holds no word"),
            ({"word": ["a", "b"], "v": [[1.0], [2.0, 3.0]]}, "row 2 holds 2 numbers"),
            ({"word": ["a", "b"], "v": [[1.0], [float("nan")]]}, "row 2 holds NaN"),
        ],
    )
    def test_damage_is_named_by_row(self, tmp_path, columns, message):
        pq.write_table(pa.table(columns), tmp_path / "v.parquet")
        with pytest.raises(VectorFormatError, match=message):
            open_unstored(read_vectors(tmp_path / "v.parquet"))

    @pytest.mark.parametrize(
        ("rows", "word", "numbers", "message"),
        [
            (1, "a", 4_000_000, "announces 4,000,000 values in a column"),
            (3_000_000, "a", 1, "announces 2,000,000 values in a column"),
            (200, "a" * 1_000_000, 1, "a word of 1000000 bytes"),
            (200, "a" * 60_000, 1, "the words have 12,000,000 bytes"),
        ],
    )
    def test_run_lengths_do_not_make_much_of_little(self, tmp_path, rows, word, numbers, message):
        zeros = pa.array(np.zeros(rows * numbers, dtype=np.float32))
        words = pa.array([word]).take(pa.array(np.zeros(rows, dtype=np.int64)))
        table = pa.table({"w": words, "v": pa.FixedSizeListArray.from_arrays(zeros, numbers)})
        pq.write_table(table, tmp_path / "v.parquet", compression="zstd", row_group_size=1_000_000)
        with pytest.raises(VectorFormatError, match=message):
            open_unstored(read_vectors(tmp_path / "v.parquet"))

    def test_damaged_words(self, tmp_path):
        pq.write_table(
            pa.table({"w": ["abcdef"], "v": [[1.0]]}), tmp_path / "v.parquet", compression="none"
        )
        content = (tmp_path / "v.parquet").read_bytes()
        (tmp_path / "v.parquet").write_bytes(content.replace(b"abcdef", b"ab\xff\xffef"))
        with pytest.raises(VectorFormatError, match="row 1 cannot be read"):
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
        with pytest.raises(VectorFormatError, match="not a complete Parquet file"):
            read_vectors(tmp_path / "v.parquet")


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

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("v.txt", "a 1 0.5\né -2 0.100000001\n".encode()),
            ("v.vec", "2 2\na 1 0.5\né -2 0.100000001\n".encode()),
            (
                "v.bin",
                b"2 2\na "
                + np.array([1, 0.5], "<f4").tobytes()
                + b"\n\xc3\xa9 "
                + np.array([-2, 0.1], "<f4").tobytes()
                + b"\n",
            ),
        ],
    )
    def test_the_bytes_of_a_file(self, tmp_path, name, content):
        matrix = np.array([[1, 0.5], [-2, 0.1]], np.float32)
        source = MappedVectors.from_words(["a", "é"], matrix)
        write_vectors(source.as_file("mine", "glove"), tmp_path / name)
        assert (tmp_path / name).read_bytes() == content
        write_vectors(source.as_file("mine", "glove"), tmp_path / f"{name}.gz")
        packed = (tmp_path / f"{name}.gz").read_bytes()
        assert packed[:8] == b"\x1f\x8b\x08" + bytes(5)  # packed, without a file name and a time
        assert gzip.decompress(packed) == content

    def test_words_that_do_not_fit(self, tmp_path):
        source = MappedVectors.from_words(["at home", "b"], np.eye(2, dtype=np.float32))
        for name in ("v.vec", "v.bin"):
            with pytest.raises(VectorFormatError, match="'at home' holds a space"):
                write_vectors(source.as_file("mine", "glove"), tmp_path / name)
        write_vectors(source.as_file("mine", "glove"), tmp_path / "v.txt")
        assert [path.name for path in tmp_path.iterdir()] == ["v.txt"]
        assert content_of(read_vectors(tmp_path / "v.txt"))[0] == ["at home", "b"]

    def test_words_that_a_format_cannot_hold(self, tmp_path, vectors):
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
