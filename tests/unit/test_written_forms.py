"""Names in Unicode's composed and decomposed forms: kept as given, found in either."""

import json
import unicodedata
import zipfile

import pytest

from gem_index import Document
from gem_index.errors import DuplicateIdError, InputError, RecordError
from gem_index.files.inputs import open_input, user_path
from gem_index.readers import DocumentReader
from gem_index.readers.patterns import Patterns
from gem_index.text.written_forms import found_in_any_form, written_forms

NFC, NFD = (unicodedata.normalize(form, "Café Zürich") for form in ("NFC", "NFD"))


def test_forms_of_a_name():
    assert written_forms("plain") == ("plain",)
    assert written_forms(NFC) == (NFC, NFD)
    assert written_forms(NFD) == (NFD, NFC)
    assert found_in_any_form([NFD, "x"], {NFC: 1}) == {NFD: 1}
    assert found_in_any_form([NFC, NFD], {NFC: 1, NFD: 2}) == {NFC: 1, NFD: 2}


@pytest.mark.parametrize(("stored", "asked"), [(NFC, NFD), (NFD, NFC)])
class TestIds:
    def test_are_kept_as_given_and_found_in_either_form(self, faq, stored, asked):
        faq.upsert([Document(id=stored, text="where is the bank?"), ("2", "two ducks")])
        assert [document.id for document in faq.get([asked])] == [stored]
        assert [hit.id for hit in faq.similar(asked, k=5)] == ["2"]
        report = faq.delete([asked, stored])
        assert (report.deleted, report.missing, len(faq)) == (1, (), 1)

    def test_an_upsert_replaces_the_document_of_either_form(self, faq, stored, asked):
        faq.upsert([Document(id=stored, text="where is the bank?")])
        assert faq.upsert([Document(id=asked, text="where is the bank?")]).unchanged == 1
        assert faq.upsert([Document(id=asked, text="where is the river?")]).updated == 1
        assert [document.text for document in faq.documents()] == ["where is the river?"]

    def test_both_forms_at_once_are_one_id_twice(self, faq, stored, asked):
        with pytest.raises(DuplicateIdError):
            faq.upsert([Document(id=stored, text="a bank"), Document(id=asked, text="a river")])
        assert len(faq) == 0


@pytest.mark.parametrize(("stored", "asked"), [(NFC, NFD), (NFD, NFC)])
class TestRecords:
    @pytest.mark.parametrize(("duplicates", "text"), [("first", "a bank"), ("last", "a river")])
    def test_the_first_or_last_record_of_either_form_counts(
        self, tmp_path, stored, asked, duplicates, text
    ):
        path = tmp_path / "x.jsonl"
        rows = [{"id": stored, "text": "a bank"}, {"id": asked, "text": "a river"}]
        path.write_text("\n".join(map(json.dumps, rows)))
        found = list(DocumentReader([str(path)], duplicates=duplicates))
        assert [document.text for document in found] == [text]

    def test_an_id_in_both_forms_is_named_with_both_places(self, tmp_path, faq, stored, asked):
        path = tmp_path / "x.jsonl"
        rows = [{"id": stored, "text": "a bank"}, {"id": asked, "text": "a river"}]
        path.write_text("\n".join(map(json.dumps, rows)))
        reader = DocumentReader([str(path)])
        named = pytest.raises(RecordError, match=r"line 2: the id .* came before in .* line 1")
        with named, reader.naming_duplicates():
            faq.upsert(reader)
        problems = []
        reader = DocumentReader([str(path)], on_problem=problems.append)
        assert [document.text for document in reader] == ["a bank"]
        assert len(problems) == 1


@pytest.mark.parametrize(("stored", "asked"), [(NFC, NFD), (NFD, NFC)])
class TestFileNames:
    def test_a_file_is_found_in_either_form(self, tmp_path, stored, asked):
        (tmp_path / f"{stored}.txt").write_text("a bank\n")
        assert user_path(tmp_path / f"{asked}.txt") == tmp_path / f"{stored}.txt"
        assert user_path(tmp_path / f"{asked}.csv") == tmp_path / f"{asked}.csv"
        with open_input(str(tmp_path / f"{asked}.txt")) as file:
            assert file.read() == b"a bank\n"

    def test_the_form_that_is_there_counts(self, tmp_path, stored, asked):
        for name in (stored, asked):
            (tmp_path / name).write_text(name)
        assert user_path(tmp_path / asked).read_text() == asked

    def test_a_member_of_a_zip_file(self, tmp_path, stored, asked):
        with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
            archive.writestr(f"{stored}.txt", "a bank")
            archive.writestr("other.txt", "a river")
        with open_input(str(tmp_path / "a.zip" / f"{asked}.txt")) as file:
            assert file.read() == b"a bank"
        missing = open_input(str(tmp_path / "a.zip" / "none.txt"))
        with pytest.raises(InputError, match="is not there: the zip file holds"), missing:
            pass

    def test_patterns(self, stored, asked):
        patterns = Patterns([f"{asked}/*.md"])
        assert patterns.say(f"{stored}/a.md") is True
        assert patterns.say("Cafe/a.md") is None
