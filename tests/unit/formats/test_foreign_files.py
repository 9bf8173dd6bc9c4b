"""Formats of word vectors that are not read: each is named, with the way to convert it."""

import gzip
import struct

import numpy as np
import pytest

from gem_index.errors import VectorFormatError
from gem_index.vectors.formats.registry import read_vectors

OLD_FASTTEXT = struct.pack("<12id", 100, 5, 5, 1, 5, 1, 1, 2, 2_000_000, 3, 6, 100, 1e-4)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"\x89HDF\r\n\x1a\n" + bytes(100), "is an HDF5 file; expected another format: read it with h5py or pandas"),
        (b"FiFu" + bytes(100), "is a finalfusion file; .*read it with the package finalfusion, and save"),
        (b"SQLite format 3\0" + bytes(100), "is a Magnitude file; .*pymagnitude"),
        (b"50000 300 4 5 2 2166136261 < >\n0 0.1 0.2\n", "is a table of floret; .*load it into a spaCy pipeline"),
        (b'{"the": [0.1, 0.2]}', "is JSON; expected another format: write one line per word"),
        (b'[\n {"word": "the", "vector": [0.1]}]', "is JSON; "),
        (OLD_FASTTEXT + bytes(100), "is a fastText model of before version 12 .*load it with fasttext 0.1"),
        (b"2 2\n/c/en/the 1 2\n/c/en/of 3 4\n", "is a file with the keys of ConceptNet.*begin with /c/en/"),
        (b"/c/de/das 1 2\n", "ConceptNet, which are no words; .*begin with /c/de/, and remove /c/de/ from them"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("packed", [False, True])
def test_a_format_that_is_not_read(tmp_path, content, told, packed):
    path = tmp_path / "v"
    path.write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(VectorFormatError, match=told):
        read_vectors(path)


@pytest.mark.parametrize(
    "content", [b"{ 0.1 0.2\n} 0.3 0.4\n", b"[ 0.1 0.2\n", b"/c/ 1 2\n", b"/c 1 2\nof 3 4\n"]
)
def test_words_that_look_like_it_are_read(tmp_path, content):
    (tmp_path / "v.txt").write_bytes(content)
    assert read_vectors(tmp_path / "v.txt").dimension == 2


def test_an_archive_of_numpy_arrays_is_told_with_the_way_to_convert_it(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(["river", "bank"]), vectors=np.eye(2))
    with pytest.raises(
        VectorFormatError,
        match=r"v\.npz is an archive of several NumPy arrays; .* as words\.txt, .*matrix\.npy",
    ):
        read_vectors(tmp_path / "v.npz")
    (tmp_path / "v.txt").write_text("river\nbank\n")
    np.savez(tmp_path / "v.npz", vectors=np.eye(2))
    assert read_vectors(tmp_path / "v.npz").words == 2


TEXT = "save its words and vectors as word2vec text"
LINES = "write one line per word: the word, then its numbers, with blanks between them"


@pytest.mark.parametrize(
    ("content", "name", "way"),
    [
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file", f"read it with h5py or pandas, and {TEXT}"),
        (b"FiFu", "a finalfusion file", f"read it with the package finalfusion, and {TEXT}"),
        (
            b"SQLite format 3\0",
            "a Magnitude file",
            f"read it with the package pymagnitude, and {TEXT}",
        ),
        (
            b"5 3 4 5 2 21 < >\r\n",
            "a table of floret",
            "load it into a spaCy pipeline, and name the pipeline's folder",
        ),
        (b' \n{ "the": 1}', "JSON", LINES),
        (b"\n[ [1, 2]]", "JSON", LINES),
        (b'["the"]', "JSON", LINES),
        (
            OLD_FASTTEXT,
            "a fastText model of before version 12 (2017)",
            f"load it with fasttext 0.1, and {TEXT}",
        ),
        (
            b"/c/deu/x 1 2\n",
            "a file with the keys of ConceptNet, which are no words",
            "keep the lines that begin with /c/deu/, and remove /c/deu/ from them",
        ),
    ],
)
def test_the_way_to_convert_it_is_told_in_whole(tmp_path, content, name, way):
    (tmp_path / "v").write_bytes(content)
    with pytest.raises(VectorFormatError) as refused:
        read_vectors(tmp_path / "v")
    assert str(refused.value) == f"{tmp_path}/v is {name}; expected another format: {way}"


def test_the_way_to_convert_an_archive_is_told_in_whole(tmp_path):
    np.savez(tmp_path / "v.npz", words=np.array(["river"]), vectors=np.eye(1))
    with pytest.raises(VectorFormatError) as refused:
        read_vectors(tmp_path / "v.npz")
    assert str(refused.value) == (
        f"{tmp_path}/v.npz is an archive of several NumPy arrays; expected another format: save the words as words.txt, one "
        "per line, and the vectors as matrix.npy, and name the folder of both"
    )


ARGUMENTS = {
    "dimension": (0, (1, 10_000)),
    "window": (1, (1, 1000)),
    "ngrams": (5, (1, 100)),
    "loss": (6, (1, 3)),
    "model": (7, (1, 3)),
    "buckets": (8, (0, 2**31 - 1)),
    "longest": (10, (3, 1000)),
}


@pytest.mark.parametrize("argument", ARGUMENTS)
def test_the_bounds_of_the_arguments_of_an_old_model_of_fasttext(tmp_path, argument):
    place, bounds = ARGUMENTS[argument]
    for value, known in ((bounds[0], True), (bounds[0] - 1, False), (bounds[1], True)):
        content = bytearray(OLD_FASTTEXT)
        struct.pack_into("<i", content, 4 * place, value)
        (tmp_path / "v").write_bytes(content)
        with pytest.raises(VectorFormatError) as refused:
            read_vectors(tmp_path / "v")
        assert ("before version 12" in str(refused.value)) is known, value
