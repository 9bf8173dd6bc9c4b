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
