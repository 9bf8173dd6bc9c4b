"""Records without an id: nothing replaces anything, and the same input again changes nothing."""

import io
import json
import re
import sys

import pytest

from gem_index import Document, WeightedText
from gem_index.documents import text_id
from gem_index.errors import DuplicateIdError, ExistingIdError
from gem_index.readers import DocumentReader

TEXTS = ["Wie öffne ich ein Konto?", "我怎么付款", "كيف أدفع الفاتورة؟", "word " * 4000]


def create_faq(home):
    home.create_collection("faq")


@pytest.fixture
def home(copied_home):
    return copied_home(create_faq)


def table(folder, rows, name="faq.csv"):
    folder.mkdir(exist_ok=True)
    path = folder / name
    path.write_text("text,topic\n" + "".join(f"{text},{topic}\n" for text, topic in rows))
    return str(path)


def add(collection, *names, **options):
    report = collection.upsert(DocumentReader(names, **options))
    return report.added, report.updated, report.unchanged


def held(collection):
    return sorted((str(each.text), *each.metadata.values()) for each in collection.documents())


def test_another_file_of_the_same_name_replaces_nothing(faq, tmp_path):
    first = table(tmp_path / "a", [("pay a bill", "money"), ("send a parcel", "post")])
    second = table(tmp_path / "b", [("open an account", "money")])
    assert add(faq, first) == (2, 0, 0)
    assert add(faq, second) == (1, 0, 0)
    assert add(faq, first, second) == (0, 0, 3)
    assert held(faq) == [
        ("open an account", "money"), ("pay a bill", "money"), ("send a parcel", "post"),
    ]  # fmt: skip


def test_the_next_export_adds_what_is_new_wherever_it_stands(faq, tmp_path):
    rows = [(f"question {i}", "old") for i in range(6)]
    add(faq, table(tmp_path, rows))
    corrected = [("a new one", "new"), *rows[:4], ("question 5", "corrected")]
    assert add(faq, table(tmp_path, corrected)) == (2, 0, 4)
    assert len(held(faq)) == 8
    assert ("question 5", "old") in held(faq)
    assert ("question 5", "corrected") in held(faq)


def test_standard_input_twice(faq, monkeypatch):
    def piped(text):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(text.encode())))
        monkeypatch.setattr(sys, "stdin", stdin)
        return add(faq, "-")

    assert piped("\n".join(TEXTS)) == (4, 0, 0)
    assert piped("something else\n") == (1, 0, 0)
    assert piped("\n".join(reversed(TEXTS))) == (0, 0, 4)


def test_equal_rows_are_all_kept_and_found_again(faq, tmp_path):
    rows = [("thanks", "a"), ("thanks", "a"), ("thanks", "b"), ("thanks", "a")]
    name = table(tmp_path, rows)
    assert add(faq, name) == (4, 0, 0)
    assert add(faq, name) == (0, 0, 4)
    one = Document.without_id("x", "thanks", {"topic": "a"}).id
    other = Document.without_id("x", "thanks", {"topic": "b"}).id
    assert [each.id for each in faq.documents()] == [one, f"{one}-2", other, f"{one}-3"]
    assert add(faq, name, on_problem=print, duplicates="first") == (0, 0, 4)
    assert add(faq, name, duplicates="last") == (0, 0, 4)


def test_texts_that_differ_in_their_weights_alone_are_two_documents(faq):
    plain = "title\n\nbody"
    heavy, light = (WeightedText.joined([("title", weight), ("body", 1.0)]) for weight in (3, 2))
    for metadata in ({}, {"topic": "a"}):
        made = [Document.without_id("x", text, metadata) for text in (plain, heavy, light)]
        assert len({each.id for each in made}) == 3
        assert all(re.fullmatch("[0-9a-f]{32}", each.id) for each in made)
        assert {each.former_id for each in made} == {"x"}
        assert [each.id for each in made[1:]] == [each.content_hash.hex()[:32] for each in made[1:]]
        assert faq.upsert(made).added == 3
        assert faq.upsert(made).unchanged == 3
    assert Document.without_id("x", plain, {}).id == text_id(plain)


@pytest.mark.parametrize("times", [1, 2, 4, 8])
def test_equal_rows_of_many_batches(faq, tmp_path, times):
    name = tmp_path / "lines.txt"
    name.write_text("yes\nno\n" * 2500 * times)
    assert add(faq, str(name)) == (5000 * times, 0, 0)
    assert add(faq, str(name)) == (0, 0, 5000 * times)


def test_the_id_is_that_of_python(faq, tmp_path):
    faq.upsert(TEXTS)
    path = tmp_path / "x.txt"
    path.write_text("\n".join(text.strip() for text in TEXTS))
    assert add(faq, str(path)) == (1, 0, 3)  # the long one ends with a blank there
    rows = [{"text": "tea", "price": 3}, {"text": "tea", "price": 4}, {"text": "tea"}]
    assert faq.upsert(rows).added == 3
    lines = tmp_path / "x.jsonl"
    lines.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert add(faq, str(lines)) == (0, 0, 3)
    assert text_id("tea") in {each.id for each in faq.documents()}


class TestCollectionsOfEarlierVersions:
    """They hold records by file and line, mappings by their text."""

    def test_the_same_file_is_unchanged_also_where_rows_moved(self, faq, tmp_path):
        rows = [
            ("pay a bill", "money"),
            ("thanks", "x"),
            ("thanks", "x"),
            ("send a parcel", "post"),
        ]
        faq.upsert(
            Document(id=f"faq.csv:{line}", text=text, metadata={"topic": topic})
            for line, (text, topic) in enumerate(rows, 2)
        )
        before = [each.id for each in faq.documents()]
        assert add(faq, table(tmp_path, rows)) == (0, 0, 4)
        moved = [("a new one", "new"), *rows]
        assert add(faq, table(tmp_path, moved)) == (1, 0, 4)
        assert add(faq, table(tmp_path, moved)) == (0, 0, 5)
        assert [each.id for each in faq.documents()][:4] == before

    def test_another_file_of_the_same_name_replaces_nothing(self, faq, tmp_path):
        faq.upsert([Document(id="faq.csv:2", text="pay a bill", metadata={"topic": "money"})])
        faq.upsert([Document(id="faq.csv:x", text="tea", metadata={"topic": "y"})])  # of a user
        assert add(faq, table(tmp_path, [("send a parcel", "post"), ("tea", "y")])) == (2, 0, 0)
        assert len(held(faq)) == 4

    def test_a_file_name_in_the_other_form_of_unicode(self, faq, tmp_path):
        composed, decomposed = "caf\u00e9.csv", "cafe\u0301.csv"
        faq.upsert([Document(id=f"{composed}:2", text="tea", metadata={"topic": "a"})])
        assert add(faq, table(tmp_path, [("tea", "a")], decomposed)) == (0, 0, 1)

    def test_mappings(self, faq):
        faq.upsert([Document(id=text_id("tea"), text="tea", metadata={"price": 3})])
        assert faq.upsert([{"text": "tea", "price": 3}]).unchanged == 1
        assert faq.upsert([{"text": "tea", "price": 4}]).added == 1
        assert (
            faq.upsert(["tea"]).added == 1
        )  # it has no price: the id is taken, the content is new
        assert faq.upsert(["tea"]).unchanged == 1
        assert len(faq) == 3


def test_given_ids_are_not_numbered(faq):
    twice = [{"id": "a", "text": "tea"}, {"id": "a", "text": "tea"}]
    with pytest.raises(DuplicateIdError):
        faq.upsert(twice)
    assert faq.upsert([{"text": "tea"}]).added == 1
    with pytest.raises(ExistingIdError, match=text_id("tea")):
        faq.upsert([{"text": "tea"}], on_existing="refuse")
