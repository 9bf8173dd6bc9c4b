"""What is read of each kind of file."""

import gzip
import random
import re

import pytest

from gem_index.converting.converters import convert
from gem_index.converting.pages import KINDS, kind_of
from gem_index.converting.pdf_text import repaired
from gem_index.converting.support import decoded
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
    assert page.text.removeprefix("# ").startswith("Parcels")
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
        assert pages(tmp_path / "a.epub")[0].text == f"Parcels\n\nBefore.\n\n# One\n\n{SENTENCE}"

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
            "The title\n\n## Part one\n\nText with code\nand & more\nfirst\nsecond\n\nx = 1\n\nshown\na | b\nc | d"
        )

    def test_restructured_text_with_directives_of_sphinx(self, tmp_path):
        source = "T\n=\n\n.. unknown:: x\n\nUse :func:`print` and :doc:`the page <page>`.\n\n.. comment\n"
        assert page_of(tmp_path, "a.rst", source).text == "# T\n\nx\n\nUse print and the page."

    def test_restructured_text_keeps_what_stands_in_directives_of_sphinx(self, tmp_path):
        source = (
            "T\n=\n\n.. function:: ship(parcel)\n   :module: post\n\n   Send a *parcel*.\n\n"
            "   .. versionadded:: 2.1\n      Also letters.\n\n.. toctree::\n   :maxdepth: 2\n\n   other\n"
        )
        page = page_of(tmp_path, "a.rst", source)
        assert page.text == "# T\n\nship(parcel)\n\nSend a parcel.\n\n2.1\nAlso letters."

    def test_directives_of_restructured_text_itself_keep_their_meaning(self, tmp_path):
        source = (
            "T\n=\n\n.. code:: python\n\n   d = `e` * 2\n\n.. image:: map.png\n   :alt: A map.\n"
        )
        assert page_of(tmp_path, "a.rst", source).text == "# T\n\nd = `e` * 2\n\nA map."

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

    @pytest.mark.parametrize(
        "title", ["report.docx", "REPORT.DOC", "Untitled", "Microsoft Word - a letter", " ", ""]
    )
    def test_a_title_that_a_program_wrote_is_not_one(self, tmp_path, title):
        page = page_of(tmp_path, "a.pdf", pdf_of("A real first line", title=title))
        assert page.title == "A real first line"

    @pytest.mark.parametrize(("line", "title"), [("Visa", "Visa"), ("p.1", "The next line")])
    def test_the_first_line_of_four_characters_is_the_title_of_a_pdf(self, tmp_path, line, title):
        assert page_of(tmp_path, "a.pdf", pdf_of(line, "The next line")).title == title

    def test_the_pages_of_a_pdf_stay_apart(self, tmp_path):
        page = page_of(tmp_path, "a.pdf", pdf_of("", "On the second", "and the third", title="T"))
        assert page.text == "T\n\n\fOn the second\n\n\fand the third"
        with_breaks = page_of(tmp_path, "b.pdf", pdf_of("", "", title="T"))
        assert with_breaks.text.strip() == "T"

    def test_an_archive_holds_a_document_for_each_entry(self, tmp_path):
        WRITERS["a.mbox"](tmp_path / "a.mbox", SENTENCE)
        assert [(p.key, p.title) for p in pages(tmp_path / "a.mbox")] == [
            ("1@example.org", "Parcels"),
            ("2@example.org", "Other"),
        ]
        box = (tmp_path / "a.mbox").read_text()
        (tmp_path / "b.mbox").write_text(re.sub("(?im)^message-id: .*\n", "", box))
        assert [p.key for p in pages(tmp_path / "b.mbox")] == ["1", "2"]
        WRITERS["a.warc.gz"](tmp_path / "a.warc.gz", SENTENCE)
        assert [p.key for p in pages(tmp_path / "a.warc.gz")] == ["http://example.org/parcels"]


@pytest.mark.parametrize("name", ["From", "Subject", "Date", "Content-Type", "Content-Disposition"])
@pytest.mark.parametrize("value", ["(" * 3000, '"' * 3000, "=?utf-8?b?" * 900, ";=" * 900])
def test_a_mail_with_a_malformed_header_keeps_its_text(tmp_path, name, value):
    whole = f"{name}: {value}\nTo: b@example.org\n\nThe text.\n"
    page = page_of(tmp_path, "a.eml", whole)
    assert "The text." in page.text
    assert page.metadata["to"] == "b@example.org"


def test_links_that_are_none_leave_their_text(tmp_path):
    """Also where thousands of them are nested, as in pages that never close them."""
    html = "<p>One <a name=x>two <b>three</b></a> four</p>" + "<a>" * 3000 + "five</a> six"
    assert page_of(tmp_path, "a.html", html).text == "One two three four\n\nfive six"


class TestHtml:
    def text_of(self, tmp_path, body):
        return page_of(tmp_path, "a.html", f"<html><body>{body}</body></html>").text

    def test_headings_paragraphs_lists_and_listings(self, tmp_path):
        body = (
            "<h2><a href='#one'>One</a><a href='#one'>\u00b6</a></h2><p>First\n line.</p><div class='sidebar'>Beside.</div>"
            "<ul><li>a</li><li>b</li></ul><dl><dt>term</dt><dd>meaning</dd></dl><pre>if x:\n    y()\n</pre>"
        )
        assert self.text_of(tmp_path, body) == (
            "## One\n\nFirst line.\n\nBeside.\n\na\nb\n\nterm\nmeaning\n\nif x:\n    y()"
        )

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            ("<div>One <p> two </p> three <br> four</div>", "One\n\ntwo\n\nthree\nfour"),
            ("<ul> <li>a </li> <li> b <i>c</i> </li> </ul> d", "a\nb c\n\nd"),
            ("x <table><tr><td> a </td> <td>b</td></tr></table> y ", "x\n\na | b\n\ny"),
            (
                "x <h2> T <b>U</b> </h2> y<hr> z <pre> p </pre> q",
                "x\n\n## T U\n\ny\n\nz\n\n p\n\nq",
            ),
            ("<p>one <b> two</b><i> </i>three</p> <p> </p><p></p> four", "one two three\n\nfour"),
        ],
    )
    def test_no_line_ends_with_a_blank_and_no_blank_comes_twice(self, tmp_path, body, text):
        assert self.text_of(tmp_path, body) == text

    def test_rows_of_a_table_and_cells_that_only_lay_out_a_page(self, tmp_path):
        rows = (
            "<tr><th>size</th><th>price</th></tr><tr><td><p>2 kg</p></td><td>4</td><td></td></tr>"
        )
        table = f"<table>{rows}</table>"
        assert self.text_of(tmp_path, table) == "size | price\n2 kg | 4"
        layout = f"<table><tr><td><h2>Prices</h2></td><td>{table}</td></tr></table>"
        assert self.text_of(tmp_path, layout) == "## Prices\n\nsize | price\n2 kg | 4"
        layout = (
            "<table><tr><th>Mon<td>shop <b>open</b><td><ul><li>tea<li>cakes</ul></table> Welcome"
        )
        assert self.text_of(tmp_path, layout) == "Mon\nshop open\n\ntea\ncakes\n\nWelcome"

    @pytest.mark.parametrize("tag", ["div", "font", "blockquote"])
    def test_a_deeply_nested_page_is_read_to_its_end(self, tmp_path, tag):
        """Tags that are never closed nest all that follows them."""
        body = "<p>Before.</p>" + f"<{tag}>" * 1900 + "<p>Inside.</p>" + f"</{tag}>" * 1900
        assert self.text_of(tmp_path, f"{body}<p>After.</p>") == "Before.\n\nInside.\n\nAfter."

    def test_a_page_that_is_nested_too_deeply_is_not_cut_off(self, tmp_path):
        with pytest.raises(InputError, match="nested so deeply that the rest of the page would be"):
            self.text_of(tmp_path, "<p>Before.</p>" + "<div>" * 3000 + "<p>Inside.</p>")

    @pytest.mark.parametrize(
        "menu",
        [
            "<nav>Sections</nav>",
            "<div role='navigation'>Sections</div>",
            "<footer>All rights</footer>",
            "<p style='display: none'>Not shown</p>",
            "<p hidden>Not shown</p>",
            "<ul><li><a href='1'>Sections</a></li><li><a href='2'>Letters</a></li></ul>",
            "<p>Next: <a rel='next' href='2'>Letters</a>, or the <a href='..'>contents</a></p>",
            "<table><tr><td><a accesskey='p' href='1'>Prev</a></td><th>Chapter of all rights</th></tr></table>",
            "<span class='lineno'>12</span>",
            "<template>Not shown</template>",
        ],
    )
    def test_menus_and_what_is_hidden_are_no_text(self, tmp_path, menu):
        text = "<p>We send <a href='parcels'>parcels</a> and letters.</p>"
        assert self.text_of(tmp_path, f"{menu}{text}{menu}") == "We send parcels and letters."

    def test_the_part_that_the_page_marks_as_its_main_one(self, tmp_path):
        body = "<h1>The Post</h1><p>Beside it.</p><main><h1>Parcels</h1><p>The text.</p></main>"
        page = page_of(tmp_path, "a.html", f"<title>Parcels | The Post</title>{body}")
        assert (page.title, page.text) == ("Parcels", "# Parcels\n\nThe text.")

    def test_a_page_that_is_only_links_keeps_them(self, tmp_path):
        links = "<ul><li><a href='1'>Parcels</a></li><li><a href='2'>Letters</a></li></ul>"
        assert self.text_of(tmp_path, links) == "Parcels\nLetters"
        assert self.text_of(tmp_path, f"<nav>{links}</nav>") == "Parcels\nLetters"

    def test_a_link_to_the_next_page_does_not_take_the_text_beside_it(self, tmp_path):
        body = "<h1>Parcels</h1><div><p>A short page.</p><a rel='next' href='2'>Letters</a></div>"
        assert self.text_of(tmp_path, body) == "# Parcels\n\nA short page.\n\nLetters"

    def test_deep_nesting_is_an_error_or_text(self, tmp_path):
        depth = 200
        assert "end" in self.text_of(tmp_path, "<div>" * depth + "end" + "</div>" * depth)


class TestWord:
    def of(self, tmp_path, change):
        import docx

        document = docx.Document()
        change(document)
        document.save(str(tmp_path / "a.docx"))
        return pages(tmp_path / "a.docx")[0].text

    def test_equal_cells_of_a_row_are_all_there(self, tmp_path):
        def change(document):
            table = document.add_table(1, 3)
            for cell in table.rows[0].cells:
                cell.text = "yes"

        assert self.of(tmp_path, change) == "yes | yes | yes"

    def test_merged_cells_and_tables_in_tables_are_there_once(self, tmp_path):
        def change(document):
            table = document.add_table(2, 2)
            table.cell(0, 0).merge(table.cell(0, 1)).text = "wide"
            table.cell(1, 0).text = "outer"
            table.cell(1, 1).add_table(1, 2).rows[0].cells[1].text = "inner"

        text = self.of(tmp_path, change)
        assert text.split() == ["wide", "outer", "inner"]

    def test_content_controls_and_tracked_changes(self, tmp_path):
        def change(document):
            from docx.oxml import parse_xml
            from docx.oxml.ns import nsdecls

            paragraph = "<w:p><w:r><w:t>In a control.</w:t></w:r></w:p>"
            control = f"<w:sdt {nsdecls('w')}><w:sdtContent>{paragraph}</w:sdtContent></w:sdt>"
            changes = (
                f"<w:p {nsdecls('w')}><w:ins><w:r><w:t>Inserted.</w:t></w:r></w:ins>"
                "<w:del><w:r><w:delText>Deleted.</w:delText></w:r></w:del><w:r><w:tab/><w:t>End.</w:t></w:r></w:p>"
            )
            for xml in (control, changes):
                document.element.body.insert(0, parse_xml(xml))

        assert self.of(tmp_path, change) == "Inserted.\tEnd.\n\nIn a control."

    def test_a_cell_in_a_content_control_stands_beside_the_others(self, tmp_path):
        def change(document):
            from docx.oxml import parse_xml
            from docx.oxml.ns import nsdecls

            row = document.add_table(1, 1).rows[0]
            row.cells[0].text = "weight"
            cell = "<w:tc><w:p><w:r><w:t>two kilograms</w:t></w:r></w:p></w:tc>"
            control = f"<w:sdt {nsdecls('w')}><w:sdtContent>{cell}</w:sdtContent></w:sdt>"
            row._tr.append(parse_xml(control))

        assert self.of(tmp_path, change) == "weight | two kilograms"

    def test_headings_are_marked_with_their_levels(self, tmp_path):
        import docx

        rst = "T\n=\n\nx\n\nPart\n----\n\ny\n\nDeep\n~~~~\n\nz\n"
        assert page_of(tmp_path, "a.rst", rst).text == "# T\n\nx\n\n## Part\n\ny\n\n### Deep\n\nz"
        two = "A\n=\n\nx\n\nB\n=\n\ny\n"
        assert page_of(tmp_path, "b.rst", two).text == "# A\n\nx\n\n# B\n\ny"
        document = docx.Document()
        for text, level in (("T", 0), ("Part", 1), ("Deep", 2)):
            document.add_heading(text, level)
        document.core_properties.author = " Ada Byron "
        document.save(str(tmp_path / "a.docx"))
        (page,) = pages(tmp_path / "a.docx")
        assert page.metadata == {"author": "Ada Byron"}
        assert page.text == "# T\n\n# Part\n\n## Deep"

    def test_notes_stand_after_what_refers_to_them_and_headers_are_left_out(self, tmp_path):
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.opc.packuri import PackURI
        from docx.opc.part import Part
        from docx.oxml import parse_xml
        from docx.oxml.ns import nsdecls

        def change(document):
            for kind, kinds in (
                ("footnote", RELATIONSHIP_TYPE.FOOTNOTES),
                ("endnote", RELATIONSHIP_TYPE.ENDNOTES),
            ):
                content = (
                    f"<w:{kind}s {nsdecls('w')}><w:{kind} w:type='separator' w:id='-1'><w:p/></w:{kind}>"
                    f"<w:{kind} w:id='2'><w:p><w:r><w:t>Said in a {kind},</w:t></w:r></w:p>"
                    f"<w:p><w:r><w:t>on two lines.</w:t></w:r></w:p></w:{kind}></w:{kind}s>"
                )
                name = PackURI(f"/word/{kind}s.xml")
                part = Part(name, "application/xml", content.encode(), document.part.package)
                document.part.relate_to(part, kinds)
                paragraph = document.add_paragraph(f"With a {kind}")
                paragraph.add_run()._r.append(
                    parse_xml(f"<w:{kind}Reference {nsdecls('w')} w:id='2'/>")
                )
                paragraph.add_run().text = " inside."
            document.add_paragraph("The end.")
            document.sections[0].header.paragraphs[0].text = "Confidential"

        assert self.of(tmp_path, change) == (
            "With a footnote inside.\n\nSaid in a footnote,\non two lines.\n\n"
            "With a endnote inside.\n\nSaid in a endnote,\non two lines.\n\nThe end."
        )

    def test_a_text_box_is_there_once(self, tmp_path):
        def change(document):
            from docx.oxml import parse_xml
            from docx.oxml.ns import nsdecls

            box = "<w:txbxContent><w:p><w:r><w:t>Open at nine.</w:t></w:r></w:p></w:txbxContent>"
            old = "http://schemas.openxmlformats.org/markup-compatibility/2006"
            run = (
                f"<w:r {nsdecls('w')} xmlns:mc='{old}'><mc:AlternateContent>"
                f"<mc:Choice>{box}</mc:Choice><mc:Fallback>{box}</mc:Fallback></mc:AlternateContent></w:r>"
            )
            document.add_paragraph("In a box:")._p.append(parse_xml(run))

        assert " ".join(self.of(tmp_path, change).split()) == "In a box: Open at nine."

    def test_notes_that_are_damaged(self, tmp_path):
        from docx.opc.constants import RELATIONSHIP_TYPE
        from docx.opc.packuri import PackURI
        from docx.opc.part import Part

        def change(document):
            name = PackURI("/word/footnotes.xml")
            part = Part(name, "application/xml", b"<w:foot", document.part.package)
            document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)

        with pytest.raises(InputError, match="its notes cannot be read: .*; expected an undamaged"):
            self.of(tmp_path, change)

    def test_the_title_of_slides_is_on_the_first_not_that_of_a_template(self, tmp_path):
        from pptx import Presentation

        WRITERS["a.pptx"](tmp_path / "a.pptx", SENTENCE)
        presentation = Presentation(str(tmp_path / "a.pptx"))
        presentation.core_properties.title = "Slides of the company"
        presentation.save(str(tmp_path / "a.pptx"))
        assert pages(tmp_path / "a.pptx")[0].title == "Parcels"

    def test_tables_and_groups_of_slides_are_read(self, tmp_path):
        from pptx import Presentation
        from pptx.util import Cm

        WRITERS["a.pptx"](tmp_path / "a.pptx", SENTENCE)
        presentation = Presentation(str(tmp_path / "a.pptx"))
        shapes = presentation.slides[0].shapes
        table = shapes.add_table(2, 2, 0, 0, Cm(8), Cm(2)).table
        for row, texts in enumerate((("weight", "price"), ("2 kg", "9 €"))):
            for column, text in enumerate(texts):
                table.cell(row, column).text = text
        group = shapes.add_group_shape()
        box = group.shapes.add_group_shape().shapes.add_textbox(0, 0, Cm(8), Cm(2))
        box.text_frame.text = "in a group of a group"
        presentation.save(str(tmp_path / "a.pptx"))

        text = pages(tmp_path / "a.pptx")[0].text
        assert "weight | price\n2 kg | 9 €\nin a group of a group" in text


@pytest.mark.parametrize(
    ("read", "text"),
    [
        ("The win\x02dow of non\ufffeusers", "The window of nonusers"),
        ("state-of-the\x02art", "state-of-the-art"),
        ("non\x02English texts", "non-English texts"),
        ("COVID\x0219", "COVID-19"),
        ("win\x02dow-pane", "window-pane"),
        ("of\x1cce\x02rs", "officers"),
        ("e\x02mail", "email"),
        ("-win\x02dow", "-window"),
        ("a\x02 b", "a b"),
        ("\x1cve di\x1berent o\x1eces", "five different offices"),
        ("a \x1c b", "a  b"),
        ("page \uf731\uf732 of \uf767em", "page 12 of Gem"),
        ("\uf72f\uf730\uf739\uf73a \uf760\uf761\uf77a\uf77b", "\uf72f09\uf73a \uf760AZ\uf77b"),
        ("J\u00b4er\u02c6ome Mikul\u00b4\u0131k", "J\u00e9r\u00f4me Mikul\u00edk"),
        ("5\u00b4 north", "5\u00b4 north"),
        ("\u00a8k", "\u00a8k"),
        ("1 Parcels . . . . . . . . 3\n2 Letters.......... 4", "1 Parcels 3\n2 Letters 4"),
        ("wait ... and see.", "wait ... and see."),
    ],
)
def test_text_of_a_pdf_is_repaired(read, text):
    assert repaired(read) == text


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        (["Send an e-", "mail, not two"], "Send an email, not two"),
        (["Send an e-", "mail or E-mail"], "Send an e-mail or E-mail"),
        (["by e-", "mail-addresses and e-mail"], "by e-mail-addresses and e-mail"),
        (["a state-of-the-", "art win-", "dow"], "a state-of-the-art window"),
    ],
)
def test_a_word_keeps_its_hyphen_if_it_has_it_elsewhere(tmp_path, lines, text):
    page = page_of(tmp_path, "a.pdf", pdf_of(") Tj 0 -14 Td (".join(lines), title="Letters"))
    assert " ".join(page.text.split()) == f"Letters {text}"


class TestEncodings:
    def test_marks_at_the_beginning_say_it(self, tmp_path):
        for codec in ("utf-8-sig", "utf-16"):
            assert page_of(tmp_path, "a.txt", "Grüße".encode(codec)).text == "Grüße"

    def test_another_is_named_or_detected(self, tmp_path):
        text = "Die Straße führt über die Brücke, und die Häuser stehen schön am Fluß. Größe, Öl und Äpfel.".encode(
            "cp1252"
        )
        with pytest.raises(
            InputError,
            match=r"byte 9 is not UTF-8; expected UTF-8 text: name the file's encoding, as encoding='auto'",
        ):
            page_of(tmp_path, "a.txt", text)
        assert "Straße führt" in page_of(tmp_path, "a.txt", text, "cp1252").text
        assert "Straße führt" in page_of(tmp_path, "a.md", text, "auto").text


@pytest.mark.parametrize(
    "name",
    [name for name in WRITERS if kind_of(name) not in ("text", "markdown", "rst", "html", "eml")]
    + ["a.warc"],
)
def test_damaged_files(tmp_path, name):
    (tmp_path / name).write_bytes(b"neither this nor that")
    with pytest.raises(InputError, match="; expected .*"):
        pages(tmp_path / name)


def test_an_archive_that_ends_in_its_headers(tmp_path):
    head = b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 999\r\n\r\nHTTP/1.0 200 OK"
    (tmp_path / "a.warc.gz").write_bytes(gzip.compress(head)[:-9])
    with pytest.raises(InputError, match="it is not WARC: .*; expected an undamaged archive"):
        pages(tmp_path / "a.warc.gz")


def test_a_text_of_no_known_encoding_is_refused_with_an_encoding_to_name():
    with pytest.raises(InputError) as caught:
        decoded(random.Random(0).randbytes(20), "auto")
    assert str(caught.value) == (
        "its encoding was not recognised; expected text: name the file's encoding, as encoding='cp1252'"
    )


def test_a_pdf_says_whether_its_password_or_damage_hinders(tmp_path):
    owner, user = "11" * 32, "22" * 32
    standard = f"/Filter /Standard /V 1 /R 2 /P -4 /O <{owner}> /U <{user}>"
    locked = f"trailer\n<< /Encrypt << {standard} >> /ID [<00> <00>]".encode()
    content = pdf_of("Visa").replace(b"trailer\n<<", locked)
    with pytest.raises(InputError, match="password error.*; expected a file without a password$"):
        page_of(tmp_path, "a.pdf", content)
    with pytest.raises(InputError, match="it cannot be opened: .*; expected an undamaged PDF$"):
        page_of(tmp_path, "b.pdf", b"nothing")


def test_bytes_are_not_text(tmp_path):
    with pytest.raises(InputError, match="it holds zero bytes; expected text"):
        page_of(tmp_path, "a.txt", b"\x7fELF\0\0\0")


def test_nested_lists_of_restructuredtext_are_read_or_refused(tmp_path):
    path = tmp_path / "nested.rst"
    path.write_text("\n\n".join("  " * level + "- item" for level in range(50)))
    (page,) = convert(path, "rst")
    assert page.text.count("item") == 50
    path.write_text("\n\n".join("  " * level + "- item" for level in range(800)))
    with pytest.raises(InputError, match="nested too deeply; expected less than 100 levels"):
        list(convert(path, "rst"))
