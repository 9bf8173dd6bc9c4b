"""One metadata field is written for many documents; everything else stays as it is."""

import numpy as np
import pytest

from gem_index import Document, WeightedText
from gem_index.errors import InputError
from gem_index.readers import FolderReader

TEXTS = {
    "de": "Wie verlängere ich mein Visum?",
    "zh": "签证和银行账户的问题",
    "ar": "أسئلة حول التأشيرات",
    "long": "a visa and a bank " * 2000,
    "twin": "Wie verlängere ich mein Visum?",
}


@pytest.fixture
def faq(home):
    documents = [
        Document(id=name, text=text, metadata={"lang": name}) for name, text in TEXTS.items()
    ]
    home.build("faq", documents)
    return home.collection("faq")


def test_filters_find_the_documents_by_it(faq):
    assert faq.set_field("topic", {"de": "visa", "twin": "visa", "zh": 7, "gone": "x"}) == 3
    assert [each.id for each in faq.documents({"topic": "visa"})] == ["de", "twin"]
    assert [hit.id for hit in faq.search("Visum", where={"topic": {"$gt": 6}})] == ["zh"]
    assert faq.get(["zh", "ar"])[0].metadata == {"lang": "zh", "topic": 7}
    assert faq.get(["ar"])[0].metadata == {"lang": "ar"}
    assert {each.id: str(each.text) for each in faq.documents()} == TEXTS
    assert faq.verify() == []


def test_the_next_write_replaces_all_of_it(faq):
    faq.set_field("topic", {"de": "visa", "zh": "bank"})
    with pytest.raises(InputError, match="2 documents of faq have the field 'topic'; expected a"):
        faq.set_field("topic", {"ar": "visa"})
    assert faq.count({"topic": {"$exists": True}}) == 2
    assert faq.set_field("topic", {"ar": "visa", "zh": "bank"}, replace=True) == 2
    assert {each.id for each in faq.documents({"topic": {"$exists": True}})} == {"ar", "zh"}
    assert faq.set_field("topic", {"ar": "visa", "zh": "bank"}, replace=True) == 0


def test_documents_that_a_filter_does_not_accept_keep_theirs(faq):
    faq.set_field("topic", {"de": "visa", "zh": "bank"})
    faq.set_field("topic", {"ar": "visa"}, where={"lang": "ar"})
    assert {each.id for each in faq.documents({"topic": {"$exists": True}})} == {"de", "zh", "ar"}
    faq.set_field("topic", {}, where={"lang": "zh"}, replace=True)
    assert {each.id for each in faq.documents({"topic": {"$exists": True}})} == {"de", "ar"}


def test_the_fit_is_still_that_of_these_documents(faq):
    faq.upsert([Document(id="new", text="a new question of a bank")])
    before = faq.status()
    assert (before.documents, before.since_fit) == (6, 1)
    found = faq.search("bank", k=6)
    faq.set_field("topic", {"de": "visa", "long": "bank"})
    after = faq.status()
    assert (after.documents, after.since_fit, after.fitted) == (6, 1, before.fitted)
    again = faq.search("bank", k=6)
    assert {hit.id: hit.cosine for hit in again} == pytest.approx(
        {hit.id: hit.cosine for hit in found}, abs=1e-6
    )
    [new] = list(faq.documents())[-1:]
    assert new.id == "new"


def test_a_build_of_unchanged_documents_fits_nothing_again(home, faq):
    faq.set_field("topic", dict.fromkeys(TEXTS, "x"))
    assert faq.status().since_fit == 0
    with faq.access.reading() as rows:
        assert not rows.changed_since_fit()


def test_weights_and_document_sources_are_kept(home, tmp_path):
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.txt").write_text("a question about a visa")
    faq = home.create_collection("mixed")
    faq.upsert(FolderReader(str(folder)))
    faq.upsert([Document(id="w", text=WeightedText("title body", [(5, 2.0), (5, 1.0)]))])
    before = {each.id: each.text for each in faq.documents()}
    vectors = dict(zip(*faq.vectors(), strict=True))
    assert faq.set_field("topic", dict.fromkeys(before, "visa")) == 2
    assert {each.id: each.text for each in faq.documents()} == before
    for name, vector in zip(*faq.vectors(), strict=True):
        np.testing.assert_array_equal(vector, vectors[name])
    report = faq.upsert(FolderReader(str(folder)))
    assert (report.unchanged, report.updated) == (1, 0)
    (folder / "b.txt").write_text("a bank")
    (folder / "a.txt").unlink()
    assert faq.upsert(FolderReader(str(folder)), prune=True).deleted == 1


def test_thousands_of_documents(home):
    faq = home.create_collection("many")
    faq.upsert([Document(id=i, text=f"question {i}") for i in range(7000)])
    reports = []
    values = {str(i): i % 3 for i in range(7000)}
    assert faq.set_field("group", values, progress=lambda *each: reports.append(each)) == 7000
    assert ("store", 7000, 7000) in reports
    assert faq.count({"group": 2}) == 2333
    assert [each.id for each in faq.documents(limit=3)] == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["", " ", "a.b", 'a"', "a[0]", "$and", 7])
def test_a_name_that_filters_cannot_use_is_refused(faq, name):
    with pytest.raises(InputError, match="the field is .*; expected a name without"):
        faq.set_field(name, {"de": 1})


def test_a_value_that_is_not_json_changes_nothing(faq):
    with pytest.raises(InputError, match="the metadata 'topic' of 'zh' is not JSON"):
        faq.set_field("topic", {"de": "visa", "zh": {1, 2}})
    assert faq.count({"lang": {"$exists": True}}) == 5
    assert all("topic" not in each.metadata for each in faq.documents())
