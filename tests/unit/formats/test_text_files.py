"""Text and word2vec files: tolerated problems, and errors for damaged files."""

import bz2
import gzip
import lzma
import os
import struct
import zipfile

import numpy as np
import pytest

from gem_index.errors import InputError, VectorFormatError
from gem_index.vectors.formats.fasttext import of_ngram_model
from gem_index.vectors.formats.registry import read_vectors
from gem_index.vectors.stored import findings_of, import_vectors
from word_rows import content_of


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

    @pytest.mark.parametrize("header", [b"", b"2 2\n"])
    def test_words_with_spaces(self, tmp_path, header):
        source = self.read(tmp_path, header + b"the 1 2\nnew york 3 4\n")
        assert list(source.vocabulary) == ["the", "new york"]
        np.testing.assert_array_equal(source.rows.matrix, [[1, 2], [3, 4]])
        assert findings_of(tmp_path / "out").spaced == 1

    def test_words_with_spaces_do_not_fit_into_the_binary_format(self, tmp_path):
        rows = np.random.default_rng(0).standard_normal((5, 50)).astype("<f4")
        words = [b"the", b"new york", b"of", b"los angeles", b"a"]
        content = b"5 50\n" + b"".join(
            word + b" " + row.tobytes() for word, row in zip(words, rows, strict=True)
        )
        with pytest.raises(
            VectorFormatError, match="word 3 is .*not text; expected words without spaces"
        ):
            self.read(tmp_path, content, "v.bin")

    @pytest.mark.parametrize("space", [b"\r", b"\x0b", b"\x0c"])
    def test_white_space_inside_of_a_number_is_none(self, tmp_path, space):
        for line in (b"of 3" + space + b" 4\n", b"of " + space + b"3 4\n"):
            with pytest.raises(VectorFormatError, match="line 2 holds"):
                self.read(tmp_path, b"the 1 2\n" + line)

    def test_a_word_with_an_embedded_carriage_return_is_kept(self, tmp_path):
        source = self.read(tmp_path, b"the 1 2\no\rf 3 4\n")
        assert list(source.vocabulary) == ["the", "o\rf"]
        np.testing.assert_array_equal(source.lookup(["o\rf"])[0], [[3, 4]])

    def test_found_values_are_quoted_in_bounded_length(self, tmp_path):
        for content in (
            b"the 1 2\nof " + b"x" * 100_000 + b" 4\n",
            b"2 2\nthe 1 2\no\x1b[2J 3x 4\n",
        ):
            with pytest.raises(VectorFormatError) as caught:
                self.read(tmp_path, content)
            assert str(caught.value).isprintable()
            assert len(str(caught.value)) < 400

    def test_a_file_that_unpacks_to_much_more(self, tmp_path):
        with pytest.raises(VectorFormatError, match="unpacks to more than 30 times its size"):
            self.read(tmp_path, gzip.compress(b"the 1 2\n" * 3_000_000), "v.txt.gz")

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
        with pytest.raises(InputError, match="cannot be read to its end"):
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
        with pytest.raises(InputError, match="not a complete zip file"):
            read_vectors(tmp_path / "broken.zip")

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"99999999999999999999999 3\na 1 2 3\n", "announces 99999999999999999999999 words"),
            (b"10 300", "announces 10 words, found 0"),
            (b"a 1 2\nb 1 2 3\n", "line 2 holds more than a word and 2 numbers"),
            (b"2 2\nthe 1 2\nnew 5 3 4\n", "line 3 holds more than a word and 2 numbers"),
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


@pytest.mark.parametrize("kind", ["text", "binary", "fasttext"])
def test_findings_are_counted_again_when_a_file_is_read_again(tmp_path, kind):
    words = [b"the", b"caf\xe9", b"the", b"na\xefve"]
    if kind == "fasttext":
        rows = np.ones((4, 2), np.float32)
        file = of_ngram_model("words", "fasttext", words, rows, rows[:0], 0, 0)
    elif kind == "text":
        (tmp_path / "v.txt").write_bytes(b"".join(b"%b 1 2\n" % word for word in words))
        file = read_vectors(tmp_path / "v.txt")
    else:
        rows = b"".join(b"%b %b\n" % (word, struct.pack("<2f", 1, 2)) for word in words)
        (tmp_path / "v.bin").write_bytes(b"4 2\n" + rows)
        file = read_vectors(tmp_path / "v.bin", "word2vec-binary")
    for name in ("first", "second"):
        import_vectors(file, tmp_path / name)
        found = findings_of(tmp_path / name)
        assert (found.duplicates, found.empty, found.latin1, found.spaced) == (1, 0, 2, 0)


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
        ("content", "format"),
        [
            (b"the 1 2\nof 3 4\n", "glove"),
            (b"3 2 1\nthe 1 2\n", "glove"),
            (b"2 2\nthe 1 2\nof 3 4\n", "word2vec-text"),
            (b"2 2\nnew york 1 2\n\0", "word2vec-text"),
            (b"2 2\nthe\tone\ttwo\nof\t3\t4\r\n", "word2vec-text"),  # damaged, but no binary file
            (b"2 2\n", "word2vec-text"),
            (b"2 2\nthe " + struct.pack("<2f", 1, 2), "word2vec-binary"),
            (b"2 2\nthe \x08one two", "word2vec-binary"),
        ],
    )
    def test_is_told_from_text(self, tmp_path, content, format):
        (tmp_path / "v").write_bytes(content)
        assert read_vectors(tmp_path / "v").format == format

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            ({"words": b"5 2"}, "announces 5 words, found 3: the file ends inside word 4 at byte"),
            ({"words": b"1000000000000 2"}, "announces 1000000000000 words, found 3"),
            ({"words": b"2 2"}, "announces 2 words, found 13 more bytes at byte"),
            ({"rows": [(b"a", 1, 2), (b"b", float("nan"), 1), (b"c", 1, 1)]}, "word 2 holds NaN"),
            ({"rows": [(b"x" * 70_000, 1, 2)] * 3}, "byte 4: word 1 is longer than"),
            ({"words": b"1 2\n" + b"y" * 70_000, "rows": []}, "byte 4: word 1 is longer than"),
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


def test_a_stream_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for source in (tmp_path / "pipe", "-"):
        with pytest.raises(InputError, match="can be read only once"):
            read_vectors(source)
