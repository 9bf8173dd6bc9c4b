"""The description of a collection: stored, kept in exports, bounded."""

import pytest

from gem_index import Home
from gem_index.errors import InputError

TEXTS = ["Fragen zu Visa und Konten", "签证和银行账户的问题", "أسئلة حول التأشيرات"]


@pytest.mark.parametrize("text", TEXTS)
def test_it_is_stored_and_replaced(home, text):
    faq = home.create_collection("described")
    assert (faq.description, faq.status().description) == ("", "")
    for _ in range(2):
        faq.set_description(f" {text}\n")
        assert Home(home.root).collection("described").description == text
    faq.set_description("")
    assert faq.status().description == ""


@pytest.mark.parametrize("name", ["d.jsonl", "d.parquet"])
def test_an_export_has_it(home, tmp_path, name):
    faq = home.create_collection("described")
    faq.upsert([("1", "a bank")])
    faq.set_description(TEXTS[1])
    faq.export(tmp_path / name)
    home.import_collection(tmp_path / name, "copy")
    assert home.collection("copy").description == TEXTS[1]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (7, "the description is 7; expected a string"),
        ("x" * 1001, "the description has 1001 characters; expected at most 1000"),
        ("\ud800", "expected one line without control"),
        ("a\nb", r"is 'a\\nb'; expected one line without control characters"),
    ],
)
def test_a_wrong_one_is_refused(home, wrong, told):
    faq = home.create_collection("described")
    faq.set_description("before")
    with pytest.raises(InputError, match=told):
        faq.set_description(wrong)
    assert faq.description == "before"
