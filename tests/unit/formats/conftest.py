import pytest

from gem_index.vectors.mapped import MappedVectors
from word_rows import MATRIX, WORDS


@pytest.fixture
def vectors():
    return MappedVectors.from_words(WORDS, MATRIX)
