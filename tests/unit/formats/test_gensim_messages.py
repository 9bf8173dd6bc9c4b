"""What is said about files that gensim could have saved, in whole; the objects have the attributes of gensim's."""

import io
import pickle

import numpy as np
import pytest

from gem_index.errors import ConfigError, VectorFormatError
from gem_index.vectors.formats.pickled import read_plain_data
from gem_index.vectors.formats.registry import read_vectors
from word_rows import content_of


class KeyedVectors:
    def __init__(self, **state):
        self.__dict__.update(state)


class FastTextKeyedVectors(KeyedVectors):
    pass


class Model(KeyedVectors):
    pass


EYE = np.eye(2, dtype=np.float32)
WORDS = ["a", "b"]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "v.kv"


def told(path, saved=None, protocol=4):
    """Return what is said about a file with an object."""
    if saved is not None:
        path.write_bytes(pickle.dumps(saved, protocol=protocol))
    with pytest.raises(VectorFormatError) as refused:
        read_vectors(path, "gensim")
    assert type(refused.value) is VectorFormatError
    return str(refused.value)


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_an_object_with_its_array(path, protocol):
    path.write_bytes(pickle.dumps(KeyedVectors(index_to_key=WORDS, vectors=EYE), protocol=protocol))
    words, rows = content_of(read_vectors(path))
    assert (words, rows.tolist()) == (WORDS, EYE.tolist())


@pytest.mark.parametrize(
    ("saved", "message"),
    [
        ({"index_to_key": WORDS}, " holds a dict; expected gensim's KeyedVectors"),
        ([], " holds a list; expected gensim's KeyedVectors"),
        (
            KeyedVectors(vectors=EYE),
            f" holds a '{KeyedVectors.__module__}.KeyedVectors'; expected gensim's KeyedVectors",
        ),
        *(
            (
                KeyedVectors(index_to_key=words, vectors=EYE),
                ": the words are not a list of strings; expected gensim's KeyedVectors",
            )
            for words in (("a", "b"), ["a", 2], {"a": 0})
        ),
        (
            KeyedVectors(index_to_key=["x" * 1000] * 1000, vectors=EYE),
            ": the words are longer than the file; expected each once",
        ),
        (
            KeyedVectors(index_to_key=WORDS),
            " keeps its vectors in a separate file; expected v.kv.vectors.npy beside it",
        ),
        (
            Model(wv=KeyedVectors(index_to_key=WORDS)),
            ".wv keeps its vectors in a separate file; expected v.kv.wv.vectors.npy beside it",
        ),
        (
            KeyedVectors(index_to_key=["a"], vectors=EYE),
            " holds 1 words and 2 rows; expected as many of both",
        ),
        (
            FastTextKeyedVectors(index_to_key=["a"], vectors_vocab=EYE, vectors_ngrams=EYE, min_n=3, max_n=6),
            " holds 1 words, vectors (2, 2) and n-grams (2, 2); expected them to agree",
        ),
        (
            FastTextKeyedVectors(index_to_key=WORDS, vectors_vocab=EYE, vectors_ngrams=EYE[:, :1], min_n=3, max_n=6),
            " holds 2 words, vectors (2, 2) and n-grams (2, 1); expected them to agree",
        ),
        (
            FastTextKeyedVectors(index_to_key=WORDS, vectors_vocab=EYE, vectors_ngrams=EYE, max_n=6),
            " announces n-grams of None to 6 characters; expected at most 32",
        ),
        (
            FastTextKeyedVectors(index_to_key=WORDS, vectors_vocab=EYE, vectors_ngrams=EYE[:0], min_n=3, max_n=6),
            " holds float32 (0, 2); expected a float16 or float32 matrix (words, dimension)",
        ),
    ],
)  # fmt: skip
def test_objects_that_do_not_fit(path, saved, message):
    assert told(path, saved) == f"{path}{message}"


def test_ngrams_of_gensim_may_be_none(path):
    saved = FastTextKeyedVectors(
        index_to_key=WORDS, vectors_vocab=EYE, vectors_ngrams=EYE, min_n=3, max_n=0
    )
    path.write_bytes(pickle.dumps(saved))
    file = read_vectors(path)
    assert (content_of(file)[1].tolist(), file.composition) == (EYE.tolist(), None)


def test_arrays_beside_the_file(path, tmp_path):
    np.savez(tmp_path / "v.kv.vectors.npz", other=EYE)
    saved = KeyedVectors(index_to_key=WORDS)
    assert told(path, saved) == (
        f"{path}.vectors.npz holds no array 'val'; expected the file that gensim saved"
    )
    (tmp_path / "v.kv.vectors.npy").write_bytes(b"\x93NUMPY")
    said = told(path)
    assert said.startswith(f"{path}.vectors.npy is not a NumPy array file (")
    assert said.endswith("); expected a complete .npy file of numbers")
    np.save(tmp_path / "v.kv.vectors.npy", EYE)
    assert content_of(read_vectors(path))[1].tolist() == EYE.tolist()


def test_files_that_are_cut_or_of_another_kind(path):
    content = pickle.dumps(KeyedVectors(index_to_key=WORDS, vectors=EYE), protocol=4)
    path.write_bytes(content[:-1])
    assert told(path) == f"{path} ends early; expected a complete file that gensim saved"
    path.write_bytes(b"\x80\x04N\xff.")
    assert told(path).startswith(f"{path} byte 4: not a pickle of plain data (")
    path.write_bytes(b"\x80\x04T\xff\xff\xff\xff.")
    assert told(path) == (
        f"{path} byte 7: not a pickle of plain data ('a length of -1'); expected a file that gensim saved"
    )


def test_keys_with_a_costly_hash_are_left_out():
    content = pickle.dumps({2**60: 1, 2**60 - 1: 2, -(2**60) + 1: 3, ("a",): 4, None: 5, 1.5: 6})
    found, size = read_plain_data(io.BytesIO(content), "x")
    assert found == {2**60 - 1: 2, -(2**60) + 1: 3, None: 5, 1.5: 6}
    assert size == len(content)


def test_other_objects_in_memory():
    with pytest.raises(ConfigError) as refused:
        read_vectors({})
    assert str(refused.value) == (
        "found a dict as word vectors; expected a path, a name, or gensim's KeyedVectors"
    )
    found = read_vectors(Model(wv=KeyedVectors(index_to_key=["a", 7], vectors=EYE)))
    assert (content_of(found)[0], found.origin, found.format) == (
        ["a", "7"],
        "KeyedVectors",
        "gensim",
    )
