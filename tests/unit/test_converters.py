"""What is read of each kind of file."""

import pytest

from gem_index.converting.converters import convert
from gem_index.converting.pages import KINDS, kind_of
from gem_index.errors import InputError
from tests.folder_files import WRITERS, pdf_of

SENTENCE = "How do I send a parcel back to you?"


def pages(path, encoding=None):
    return list(convert(path, kind_of(path.name), encoding))


def page_of(tmp_path, name, content, encoding=None):
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    (page,) = pages(tmp_path / name, encoding)
    return page


def test_every_kind_has_a_file_here():
    assert {kind_of(name) for name in WRITERS} == set(KINDS.values())


@pytest.mark.parametrize("name", WRITERS)
def test_title_and_text(tmp_path, name):
    WRITERS[name](tmp_path / name, SENTENCE)
    page = pages(tmp_path / name)[0]
    assert page.title == ("" if name == "a.txt" else "Parcels")
    assert page.text.startswith("Parcels")
    assert page.text.count(SENTENCE) == 1
    for markup in ("<", "*", ":ref:", "var x", "color", "toctree", "|---"):
        assert markup not in page.text


class TestMetadata:
    def of(self, tmp_path, name):
        WRITERS[name](tmp_path / name, SENTENCE)
        return dict(pages(tmp_path / name)[0].metadata)

    def test_author(self, tmp_path):
        assert self.of(tmp_path, "a.html") == {"author": "A. Writer"}
        assert self.of(tmp_path, "a.epub") == {"author": "A. Writer"}

    def test_pages(self, tmp_path):
        assert self.of(tmp_path, "a.pdf") == {"pages": 2}
        assert self.of(tmp_path, "a.pptx") == {"slides": 1}

    def test_of_mail(self, tmp_path):
        assert self.of(tmp_path, "a.eml") == {
            "from": "Ada <ada@example.org>",
            "date": "2026-10-05T10:00:00+02:00",
            "message_id": "<1@example.org>",
        }


class TestText:
    def test_order_of_a_book_is_that_of_its_spine(self, tmp_path):
        WRITERS["a.epub"](tmp_path / "a.epub", SENTENCE)
        assert pages(tmp_path / "a.epub")[0].text == f"Parcels\n\nBefore.\n\nOne\n\n{SENTENCE}"

    def test_tables_and_notes(self, tmp_path):
        WRITERS["a.docx"](tmp_path / "a.docx", SENTENCE)
        assert "weight | two kilograms" in pages(tmp_path / "a.docx")[0].text
        WRITERS["a.pptx"](tmp_path / "a.pptx", SENTENCE)
        assert pages(tmp_path / "a.pptx")[0].text.endswith("said aloud")

    def test_markdown(self, tmp_path):
        source = (
            "---\ntitle: 'The title'\ntags: [x]\n---\n\n## Part [one](http://x.org)\n\nText with `code`\nand &amp; more\n\n"
            "- first\n- second\n\n```python\nx = 1\n```\n\n<div>shown</div>\n\n<!-- hidden -->\n\n"
            "| a | b |\n|---|---|\n| c | d |\n"
        )
        page = page_of(tmp_path, "a.md", source)
        assert page.title == "The title"
        assert page.text == (
            "The title\n\nPart one\n\nText with code\nand & more\nfirst\nsecond\n\nx = 1\n\nshown\na | b\nc | d"
        )

    def test_restructured_text_with_directives_of_sphinx(self, tmp_path):
        source = "T\n=\n\n.. unknown:: x\n\nUse :func:`print` and :doc:`the page <page>`.\n\n.. comment\n"
        assert page_of(tmp_path, "a.rst", source).text == "T\n\nUse print and the page."

    def test_an_include_of_another_file_is_not_followed(self, tmp_path):
        (tmp_path / "secret").write_text("the secret")
        page = page_of(tmp_path, "a.rst", f"T\n=\n\n.. include:: {tmp_path}/secret\n\nEnd.\n")
        assert "secret" not in page.text.replace("include", "")

    def test_entities_of_a_book_are_not_expanded(self, tmp_path):
        import zipfile

        WRITERS["a.epub"](tmp_path / "a.epub", SENTENCE)
        bomb = (
            '<!DOCTYPE x [<!ENTITY a "aaaaaaaa"><!ENTITY b "&a;&a;&a;">]><container>&b;</container>'
        )
        with zipfile.ZipFile(tmp_path / "b.epub", "w") as book:
            book.writestr("META-INF/container.xml", bomb)
        with pytest.raises(InputError, match="it is not an EPUB: .*; expected an undamaged book"):
            pages(tmp_path / "b.epub")

    def test_a_page_in_an_old_encoding_that_it_names(self, tmp_path):
        head = "<head><meta charset='iso-8859-15'><title>Café</title></head>"
        html = f"<html>{head}<body><p>Le prix est 5 €.</p></body></html>"
        page = page_of(tmp_path, "a.html", html.encode("iso-8859-15"))
        assert (page.title, "5 €" in page.text) == ("Café", True)

    def test_a_title_that_a_program_wrote_is_not_one(self, tmp_path):
        page = page_of(tmp_path, "a.pdf", pdf_of("A real first line", title="report.docx"))
        assert page.title == "A real first line"

    def test_an_archive_holds_a_document_for_each_entry(self, tmp_path):
        WRITERS["a.mbox"](tmp_path / "a.mbox", SENTENCE)
        assert [(p.key, p.title) for p in pages(tmp_path / "a.mbox")] == [
            ("1@example.org", "Parcels"),
            ("2@example.org", "Other"),
        ]
        WRITERS["a.warc.gz"](tmp_path / "a.warc.gz", SENTENCE)
        assert [p.key for p in pages(tmp_path / "a.warc.gz")] == ["http://example.org/parcels"]


class TestEncodings:
    def test_marks_at_the_beginning_say_it(self, tmp_path):
        for codec in ("utf-8-sig", "utf-16"):
            assert page_of(tmp_path, "a.txt", "Grüße".encode(codec)).text == "Grüße"

    def test_another_is_named_or_detected(self, tmp_path):
        text = "Die Straße führt über die Brücke, und die Häuser stehen schön am Fluß. Größe, Öl und Äpfel.".encode(
            "cp1252"
        )
        with pytest.raises(
            InputError, match=r"byte \d+ is not UTF-8; expected UTF-8 text: name the encoding"
        ):
            page_of(tmp_path, "a.txt", text)
        assert "Straße führt" in page_of(tmp_path, "a.txt", text, "cp1252").text
        assert "Straße führt" in page_of(tmp_path, "a.md", text, "auto").text


@pytest.mark.parametrize(
    "name",
    [
        name
        for name in WRITERS
        if kind_of(name) not in ("text", "markdown", "rst", "html", "eml", "mbox")
    ],
)
def test_damaged_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"neither this nor that")
    with pytest.raises(InputError, match="; expected .*"):
        pages(tmp_path / name)


def test_bytes_are_not_text(tmp_path):
    with pytest.raises(InputError, match="it holds zero bytes; expected text"):
        page_of(tmp_path, "a.txt", b"\x7fELF\0\0\0")
