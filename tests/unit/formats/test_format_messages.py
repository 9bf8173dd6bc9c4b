"""What is said about damaged files of word vectors, and about names that cannot be written: whole messages."""

import json
import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from safetensors.numpy import save_file

from gem_index.errors import InputError, VectorFormatError
from gem_index.vectors.formats import base, binary, inputs, tables, text
from gem_index.vectors.formats.base import check_dimension
from gem_index.vectors.formats.inputs import foreign_reader
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.mapped import MappedVectors
from told import told
from word_rows import content_of

FINITE = "holds NaN or infinity; expected finite numbers"


def told_of(path, format=None):
    """Return what is said when a file is read to its end."""
    return told(VectorFormatError, lambda: content_of(read_vectors(path, format)))


@pytest.mark.parametrize("at_once", [8, 1 << 22])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty; expected a word and its vector on each line"),
        (
            b"just some prose here\n",
            "line 1 is not a word followed by numbers; expected GloVe or word2vec text or another format of word vectors",
        ),
        (
            b"3 2\na 1 2\nb 1 2\n",
            "line 1 announces 3 words, found 2; expected as many: the file may be truncated",
        ),
        (b"3 70000\na 1 2\n", "line 1 announces 70000 dimensions; expected 1 to 65536"),
        (b"3 0\na\n", "line 1 announces 0 dimensions; expected 1 to 65536"),
        (b"the 1 2\nof 3 4\nto 1\n", "line 3 holds 1 numbers; expected 2"),
        (b"3 2\nthe 1 2\nof 3 4\nto x 2\n", "line 4 holds 'x' where a number was expected"),
        (b"3 2\nthe 1 2\nof 3 4\nto nan 2\n", f"line 4 {FINITE}"),
        (b"the 1 2\nof 3 4\nto 1 inf\n", f"line 3 {FINITE}"),
        (b"the 1 2 3\n" + b"of 1 2\n" * 60, "line 1 holds more than a word and 2 numbers; expected 2"),
        (b"the 1 2\n" + b"of 1 2 3\n" * 60, "line 2 holds more than a word and 2 numbers; expected 2"),
        (b"the 1 2 3\n" + b"of 1 2\nto 1 2 3\n" * 30, "line 2 holds 2 numbers; expected 3"),
        (b"the 1 2\na b 5 3 4\n", "line 2 holds more than a word and 2 numbers; expected 2"),
    ],
)  # fmt: skip
def test_text(tmp_path, monkeypatch, at_once, content, message):
    monkeypatch.setattr(text, "_BYTES", at_once)
    (tmp_path / "v.txt").write_bytes(content)
    assert told_of(tmp_path / "v.txt") == f"{tmp_path}/v.txt {message}"


def test_text_that_is_said_to_have_a_header(tmp_path):
    (tmp_path / "v.txt").write_bytes(b"the 1 2\n")
    assert told_of(tmp_path / "v.txt", "word2vec-text") == (
        f"{tmp_path}/v.txt line 1 is b'the 1 2\\n'; expected the numbers of words and dimensions"
    )


def row(word, first, second):
    return word + b" " + struct.pack("<2f", first, second) + b"\n"


FIRST, REST = row(b"the", 1, 2), row(b"of", 3, 4) + row(b"a", 5, 6)


@pytest.mark.parametrize("at_once", [16, 1 << 22])
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"nothing\n", " begins with b'nothing\\n'; expected the numbers of words and dimensions"),
        (
            b"5 2\n" + FIRST + REST,
            " line 1 announces 5 words, found 3: the file ends inside word 4 at byte 40; expected a complete file",
        ),
        (
            b"2 2\n" + FIRST + REST,
            " line 1 announces 2 words, found 10 more bytes at byte 28; expected the end of the file",
        ),
        (b"2 2\n" + FIRST + row(b"of", 3, np.nan), f" word 2 {FINITE}"),
        (
            b"2 2\n" + FIRST + b"y" * 70_000,
            " byte 16: word 2 is longer than 65536 bytes; expected a word, a space and 2 numbers of 4 bytes",
        ),
        (
            b"2 2\n" + FIRST + row(b"\x08", 3, 4),
            " byte 16: word 2 is b'\\x08', which is not text; expected words without spaces, because this format cannot "
            "hold others: save it as word2vec text",
        ),
    ],
)
def test_binary(tmp_path, monkeypatch, at_once, content, message):
    monkeypatch.setattr(binary, "_BYTES", at_once)
    (tmp_path / "v.bin").write_bytes(content)
    assert told_of(tmp_path / "v.bin", "word2vec-binary") == f"{tmp_path}/v.bin{message}"


def test_words_of_a_binary_file_keep_all_but_the_line_feed_before_them(tmp_path):
    rows = b"".join(row(word, 1, 2) for word in (b"\tthe", b"of\r", b"to"))
    (tmp_path / "v.bin").write_bytes(b"3 2\n" + rows)
    assert content_of(read_vectors(tmp_path / "v.bin", "word2vec-binary"))[0] == [
        "\tthe",
        "of\r",
        "to",
    ]


class TestArrays:
    def test_matrices_and_their_words(self, tmp_path):
        path = tmp_path / "a.npy"
        np.save(path, np.eye(2, dtype=np.float32))
        assert told_of(path) == (
            f"{path} is a matrix without words; expected one word per line in a file beside it: a.words.txt or a.txt or "
            "a.vocab or words.txt"
        )
        (tmp_path / "words.txt").write_text("one\n")
        assert told_of(path) == f"{path} holds 1 words and 2 rows; expected as many of both"
        (tmp_path / "words.txt").write_bytes(b"a\n\xff\n")
        assert told_of(path) == f"{tmp_path}/words.txt is not UTF-8 at byte 2"
        path.write_bytes(b"\x93NUMPY")
        (tmp_path / "words.txt").write_text("a\nb\n")
        message = told_of(path)
        assert message.startswith(f"{path} is not a NumPy array file (")
        assert message.endswith("); expected a complete .npy file of numbers")

    @pytest.mark.parametrize(
        ("matrix", "found"),
        [
            (np.eye(2, dtype=np.int64), "int64 (2, 2)"),
            (np.zeros((2, 0), np.float32), "float32 (2, 0)"),
            (np.zeros((2, 2, 2), np.float32), "float32 (2, 2, 2)"),
        ],
    )
    def test_other_arrays(self, tmp_path, matrix, found):
        np.save(tmp_path / "a.npy", matrix)
        (tmp_path / "words.txt").write_text("a\nb\n")
        assert told_of(tmp_path / "a.npy") == (
            f"{tmp_path}/a.npy holds {found}; expected a float16 or float32 matrix (words, dimension)"
        )

    def test_the_word_list_that_is_named_most_like_the_matrix_is_taken(self, tmp_path):
        np.save(tmp_path / "a.npy", np.eye(1, dtype=np.float32))
        names = ("a.words.txt", "a.txt", "a.vocab", "words.txt")
        for name in names:
            (tmp_path / name).write_text(name)
        for name in names:
            assert content_of(read_vectors(tmp_path / "a.npy"))[0] == [name]
            (tmp_path / name).unlink()

    def test_only_line_feeds_divide_words(self, tmp_path):
        words = ["a\r", "b\x85", "c\u2028d", "e\x0c"]
        np.save(tmp_path / "a.npy", np.eye(4, dtype=np.float32))
        (tmp_path / "a.txt").write_bytes("\n".join(words).encode())
        assert content_of(read_vectors(tmp_path / "a.npy"))[0] == words

    @pytest.mark.parametrize(
        ("names", "found"),
        [
            ("", "(none)"),
            ("abcde"[:2], "a, b"),
            ("abcde", "a, b, c, d, e"),
            ("abcdef", "a, b, c, d, e and others"),
        ],
    )
    def test_tensors(self, tmp_path, names, found):
        path = tmp_path / "m.safetensors"
        save_file({name: np.eye(1, dtype=np.float32) for name in names}, path)
        (tmp_path / "words.txt").write_text("a\n")
        assert told_of(path, "safetensors") == (
            f"{path} holds the tensors {found}; expected one matrix (words, dimension)"
        )

    def test_a_packed_matrix_is_called_by_its_own_name(self, tmp_path):
        import gzip

        save_file({"v": np.array([[np.nan]], np.float32)}, tmp_path / "m")
        path = tmp_path / "m.safetensors.gz"
        path.write_bytes(gzip.compress((tmp_path / "m").read_bytes()))
        (tmp_path / "words.txt").write_text("a\n")
        assert read_vectors(path).origin == str(path)
        assert told_of(path) == f"{path} row 1 {FINITE}"

    def test_rows_are_numbered_through_all_blocks(self, tmp_path, monkeypatch):
        monkeypatch.setattr(base, "ROWS_AT_ONCE", 2)
        matrix = np.ones((5, 1), np.float32)
        matrix[3] = np.inf
        np.save(tmp_path / "a.npy", matrix)
        (tmp_path / "a.txt").write_text("a\n" * 5)
        assert told_of(tmp_path / "a.npy") == f"{tmp_path}/a.npy row 4 {FINITE}"


def test_dimensions():
    assert [check_dimension(n, "x") for n in (1, 65_536)] == [1, 65_536]
    for n in (0, 65_537):
        assert told(VectorFormatError, check_dimension, n, "x") == (
            f"x announces {n} dimensions; expected 1 to 65536"
        )


class TestParquet:
    @pytest.mark.parametrize(
        ("words", "vectors", "message"),
        [
            (["a", "b", "c", None], [[1.0]] * 4, "row 4 holds no word; expected a word and 1 numbers"),
            ("abcd", [[1.0], [1.0], [1.0], []], "row 4 holds 0 numbers; expected a word and 1 numbers"),
            ("abcd", [[1.0], [1.0], [float("inf")], [1.0]], f"row 3 {FINITE}"),
            (["x" * 65_537], [[1.0]], "has a word of 65537 bytes at row 1 or later; expected at most 65536"),
        ],
    )  # fmt: skip
    def test_rows(self, tmp_path, monkeypatch, words, vectors, message):
        monkeypatch.setattr(tables, "ROWS_AT_ONCE", 2)
        table = pa.table({"w": list(words), "v": pa.array(vectors, pa.list_(pa.float32()))})
        pq.write_table(table, tmp_path / "v.parquet")
        assert told_of(tmp_path / "v.parquet") == f"{tmp_path}/v.parquet {message}"

    def test_the_bytes_of_all_words_together(self, tmp_path, monkeypatch):
        monkeypatch.setattr(tables, "ROWS_AT_ONCE", 2)
        pq.write_table(pa.table({"w": ["word"] * 4, "v": [[1.0]] * 4}), tmp_path / "v.parquet")
        monkeypatch.setattr(tables, "_MOST_READ", 0)
        monkeypatch.setattr(tables, "_ALWAYS_READ", 16)
        assert content_of(read_vectors(tmp_path / "v.parquet"))[0] == ["word"] * 4
        monkeypatch.setattr(tables, "_ALWAYS_READ", 15)
        assert told_of(tmp_path / "v.parquet") == (
            f"{tmp_path}/v.parquet row 3: the words have 16 bytes so far; expected at most 15 in a file of its size"
        )

    @pytest.mark.parametrize("more", [0, 4])
    def test_columns(self, tmp_path, more):
        pq.write_table(pa.table({f"c{i}": [i] for i in range(2 + more)}), tmp_path / "v.parquet")
        named = ", ".join(f"'c{i}' (int64)" for i in range(min(2 + more, 5)))
        assert told_of(tmp_path / "v.parquet") == (
            f"{tmp_path}/v.parquet has the columns {named}{' and others' if more else ''}; expected one column of strings "
            "(the words) and one of number lists (the vectors)"
        )

    @pytest.mark.parametrize("text", [pa.string(), pa.large_string()])
    @pytest.mark.parametrize("numbers", [pa.list_, pa.large_list, lambda kind: pa.list_(kind, 2)])
    def test_every_kind_of_texts_and_lists_is_read(self, tmp_path, text, numbers):
        longest = "x" * 65_536
        table = pa.table(
            {
                "w": pa.array(["a", longest], text),
                "v": pa.array([[1, 2], [3, 4]], numbers(pa.float32())),
            }
        )
        pq.write_table(table, tmp_path / "v.parquet")
        file = read_vectors(tmp_path / "v.parquet")
        words, rows = content_of(file)
        assert (words, rows.tolist(), file.words) == (["a", longest], [[1, 2], [3, 4]], 2)


class TestForeignReaders:
    class PanicException(BaseException):
        """As PyO3 calls it."""

    @pytest.mark.parametrize(
        ("error", "reason"),
        [
            (ValueError("odd\nbytes"), "'odd\\nbytes'"),
            (ValueError(), "ValueError"),
            (PanicException("index 3"), "'index 3'"),
        ],
    )
    def test_any_error_of_theirs_is_one_of_the_format(self, error, reason):
        def read():
            with foreign_reader("v is damaged", "a whole file"):
                raise error

        assert told(VectorFormatError, read) == f"v is damaged ({reason}); expected a whole file"

    @pytest.mark.parametrize("error", [InputError("our own"), KeyboardInterrupt()])
    def test_others_stay_what_they_are(self, error):
        with pytest.raises(type(error)) as raised, foreign_reader("v is damaged", "a whole file"):
            raise error
        assert raised.value is error


def test_packed_files(tmp_path, monkeypatch):
    import gzip

    path = tmp_path / "v.txt.gz"
    path.write_bytes(gzip.compress(b"the 1 2\n" * 3000))  # 24,000 bytes of about 100
    assert len(content_of(read_vectors(path))[0]) == 3000
    monkeypatch.setattr(inputs, "ALWAYS_UNPACKED", 24_000)
    assert len(content_of(read_vectors(path))[0]) == 3000
    monkeypatch.setattr(inputs, "ALWAYS_UNPACKED", 23_999)
    assert told_of(path) == (
        f"{path} unpacks to more than 30 times its size; expected word vectors: unpack it yourself if you trust it"
    )


def test_a_name_that_cannot_be_opened():
    name = "x" * 5000
    assert told(VectorFormatError, read_vectors, name) == (
        f'{name} cannot be read ("[Errno 36] File name too long: \'{"x" * 83}..."); expected a readable, undamaged file'
    )


def test_what_can_be_read_only_once(tmp_path):
    assert told(InputError, read_vectors, "-") == (
        "- can be read only once; expected a file: save it first and add the file"
    )


@pytest.mark.parametrize(
    ("alias", "format"),
    [
        ("paragram", "glove"),
        ("fasttext-text", "word2vec-text"),
        ("lexvec", "word2vec-text"),
        ("numberbatch", "word2vec-text"),
    ],
)
def test_other_names_of_formats(tmp_path, alias, format):
    source = MappedVectors.from_words(["a", "b"], np.eye(2, dtype=np.float32))
    write_vectors(source.as_file("mine", "glove"), tmp_path / "v", alias)
    first = (tmp_path / "v").read_bytes().splitlines()[0]
    assert first == (b"a 1 0" if format == "glove" else b"2 2")
    assert read_vectors(tmp_path / "v", alias).format == format


class TestStaticModels:
    """Folders of models whose parts do not agree."""

    @pytest.fixture
    def folder(self, tmp_path):
        model = {"type": "WordLevel", "vocab": {"[UNK]": 0, "a": 1}, "unk_token": "[UNK]"}
        (tmp_path / "tokenizer.json").write_text(
            json.dumps({"version": "1.0", "added_tokens": [], "model": model})
        )
        (tmp_path / "config.json").write_text("{}")
        return tmp_path

    @pytest.mark.parametrize(
        ("tensors", "message"),
        [
            ({}, " holds the tensors (none); expected 'embeddings'"),
            (
                {"embeddings": np.zeros(2, np.float32)},
                " holds the table (2,); expected a matrix (pieces, dimension)",
            ),
            (
                {"embeddings": np.eye(2, dtype=np.float32), "weights": np.ones(1, np.float32)},
                ": the tensors do not agree ((1,) weights for 2 rows); expected one for each",
            ),
            (
                {"embeddings": np.eye(2, dtype=np.float32), "mapping": np.array([0, 2])},
                ": the tensors do not agree (a mapping int64 (2,) to 2 rows); expected the row of each piece",
            ),
        ],
    )
    def test_tensors(self, folder, tensors, message):
        save_file(tensors, folder / "model.safetensors")
        assert told_of(folder, "model2vec") == f"{folder}/model.safetensors{message}"

    def test_whole_numbers_of_eight_bits(self, folder):
        save_file(
            {"embeddings": np.array([[1, -2], [3, 127]], np.int8)}, folder / "model.safetensors"
        )
        assert content_of(read_vectors(folder, "model2vec"))[1].tolist() == [[1, -2], [3, 127]]
        save_file({"embeddings": np.ones((2, 2), np.uint8)}, folder / "model.safetensors")
        assert told_of(folder, "model2vec") == (
            f"{folder} holds uint8 (2, 2); expected a float16 or float32 matrix (words, dimension)"
        )

    @pytest.mark.parametrize("path", ["../other", "a/../../b", "/etc", 3])
    def test_a_folder_outside_of_the_model(self, tmp_path, path):
        modules = [{"type": "sentence_transformers.models.StaticEmbedding", "path": path}]
        (tmp_path / "modules.json").write_text(json.dumps(modules))
        assert told_of(tmp_path) == (
            f"{tmp_path}/modules.json names the folder {path!r}; expected one inside {tmp_path.name}"
        )

    def test_no_static_model(self, tmp_path):
        (tmp_path / "modules.json").write_text('[{"type": "models.Transformer"}]')
        assert told_of(tmp_path) == (
            f"{tmp_path}/modules.json names no StaticEmbedding module; expected a static embedding model: other models do "
            "not hold word vectors"
        )

    def test_a_table_with_the_tensor_of_the_other_kind(self, folder):
        """The name of the tensor tells which unknown pieces count, whatever the folder is called."""
        both = {
            "embeddings": np.eye(2, dtype=np.float32),
            "embedding.weight": 2 * np.eye(2, dtype=np.float32),
        }
        save_file(both, folder / "model.safetensors")
        found = read_vectors(folder, "model2vec")
        assert (found.format, found.composition.left_out) == ("model2vec", 0)
        np.testing.assert_array_equal(content_of(found)[1], np.eye(2))
        (folder / "modules.json").write_text('[{"type": "x.StaticEmbedding", "path": ""}]')
        found = read_vectors(folder, "static-embedding")
        assert (found.format, found.composition.left_out) == ("model2vec", 0)
        np.testing.assert_array_equal(content_of(found)[1], 2 * np.eye(2))
        (folder / "config.json").unlink()
        found = read_vectors(folder)
        assert (found.format, found.composition.left_out) == ("static-embedding", None)
