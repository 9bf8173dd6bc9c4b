"""What a search of several collections together takes from each of them."""

import pytest

from gem_index import Document


@pytest.fixture
def group(home):
    texts = {
        "one": ["a password", "the tea of the office"],
        "two": ["a passport and a coffee machine", "tea for the library"],
    }
    for name, own in texts.items():
        home.create_collection(name).upsert(
            Document(id=f"{name}{n}", text=text, metadata={"n": n}) for n, text in enumerate(own)
        )
    home.collection("two").set_synonyms([["KTR", "coffee machine"]])
    return home.group(["one", "two"])


def test_corrections_and_synonyms_are_those_of_all(group):
    found = group.search("pasword of the ktr in the libary")
    assert found.corrected == {"pasword": "password", "libary": "library"}
    assert found.synonyms == {"KTR": ("coffee machine",)}
    plain = group.search("tea")
    assert (plain.corrected, plain.synonyms) == ({}, {})


def test_a_filter_and_the_options_hold_for_each(group):
    names = [(hit.collection, hit.id) for hit in group.search("tea", where={"n": 0})]
    assert sorted(names) == [("one", "one0"), ("two", "two0")]
    assert group.search("tea", min_score=2.0) == []
    assert group.search("pasword", correct=False).corrected == {}


def test_ranks_of_words_are_merged_although_the_models_are_equal(group):
    """A score of words depends on the other texts of its collection."""
    found = group.search("tea office password", mode="lexical")
    assert [hit.collection for hit in found] == ["one", "two", "one"]
    assert found[1].score < found[2].score
