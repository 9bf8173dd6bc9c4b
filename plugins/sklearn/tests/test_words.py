"""Vectors and words side by side in one matrix."""

import pickle

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted
from sklearn_gem import GemVectorizer

from gem_index import Document, Home

TEXTS = [
    "where can I open a bank account",
    "my bank card was refused, refused again",
    "how do I renew my residence visa",
    "the visa office is closed",
]
LABELS = ["money", "money", "permits", "permits"]


def test_vectors_and_words_are_in_one_matrix():
    vectorizer = GemVectorizer(words=True).fit(TEXTS)
    found = vectorizer.transform(TEXTS)
    assert issparse(found)
    assert (found.format, found.dtype) == ("csr", np.float32)
    vectors = GemVectorizer().fit(TEXTS).transform(TEXTS)
    np.testing.assert_array_equal(found[:, :256].toarray(), vectors)
    words = found[:, 256:]
    assert found.shape == (4, 256 + vectorizer.words_.count)
    np.testing.assert_allclose(np.sqrt(words.multiply(words).sum(axis=1)), 3, rtol=1e-6)
    assert list(vectorizer.get_feature_names_out()) == [
        f"gemvectorizer{i}" for i in range(found.shape[1])
    ]


def test_a_rare_word_counts_more_and_a_repeated_word_counts_more():
    vectorizer = GemVectorizer(words=True).fit(TEXTS)

    def values(text):
        return sorted(vectorizer.transform([text])[:, 256:].data)

    often, rare = values("visa office")  # two texts have "visa", one has "office"
    assert rare > 1.2 * often
    once, twice = values("office closed closed")
    assert twice > 1.2 * once


def test_unknown_words_have_no_column():
    vectorizer = GemVectorizer(words=True).fit(TEXTS)
    known, unknown, empty = vectorizer.transform(["visa", "zeppelin", ""])
    assert (known[:, 256:].nnz, unknown[:, 256:].nnz, empty.nnz) == (1, 0, 0)


def test_words_are_those_of_the_language():
    texts = ["Krankenversicherungen sind teuer und ungerecht", "der Hund schläft im Garten"] * 10
    vectorizer = GemVectorizer(words=True).fit(texts)
    [row] = vectorizer.transform(["Versicherungen"])
    assert row[:, 256:].nnz > 3  # the 4-grams of the compound


def test_the_statistics_are_those_of_a_collection(tmp_path):
    home = Home(tmp_path)
    home.build("c", [Document(id=text, text=text) for text in TEXTS])
    vectorizer = GemVectorizer(collection="c", home=tmp_path, words=True).fit(TEXTS[:1])
    collection = home.collection("c")
    assert vectorizer.encoder_.fingerprint == collection.encoder.fingerprint
    assert vectorizer.transform(["a bank account"])[:, 256:].nnz > 0


def test_it_learns_words_in_a_fit_only():
    vectorizer = GemVectorizer(words=True)
    with pytest.raises(NotFittedError):
        check_is_fitted(vectorizer)
    for method in (vectorizer.transform, vectorizer.get_feature_names_out):
        with pytest.raises(NotFittedError):
            method(TEXTS)
    vectorizer.fit(TEXTS).set_params(words=False)
    assert issparse(vectorizer.transform(TEXTS))  # a fit is kept until the next one
    assert not issparse(vectorizer.fit(TEXTS).transform(TEXTS))


def test_a_pickle_and_a_clone_keep_the_words():
    vectorizer = GemVectorizer(words=True).fit(TEXTS)
    again = pickle.loads(pickle.dumps(vectorizer))
    assert (again.transform(TEXTS) != vectorizer.transform(TEXTS)).nnz == 0
    assert clone(vectorizer).words is True


def test_a_grid_search_compares_them():
    pipeline = make_pipeline(GemVectorizer(), LogisticRegression())
    grid = {"gemvectorizer__words": [False, True]}
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(TEXTS * 2, LABELS * 2)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
