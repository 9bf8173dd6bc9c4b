"""Whole pages that files become: title, text, key, metadata and problem, compared exactly."""

import io
import json
import re
import zipfile
from email.message import EmailMessage

import pytest

from gem_index.converting import converters, support
from gem_index.converting.converters import convert
from gem_index.converting.pages import KINDS, Page, kind_of
from gem_index.converting.pdf_text import repaired
from gem_index.converting.support import decoded, entry_page
from gem_index.errors import Action, InputError, MissingExtraError


def pages_of(tmp_path, name, content, encoding=None):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return list(convert(path, kind_of(name), encoding))


def message_about(tmp_path, name, content):
    with pytest.raises(InputError) as caught:
        pages_of(tmp_path, name, content)
    return str(caught.value)


def test_every_ending_and_its_case():
    for ending, kind in KINDS.items():
        assert kind_of(f"A{ending.upper()}") == kind_of(f"a.b{ending}") == kind
    assert kind_of("a.xhtml") == "html"
    assert kind_of("a.doc") is None


class TestConvert:
    """What is done with the pages of any converter."""

    def converted(self, monkeypatch, *given):
        monkeypatch.setitem(converters._CONVERTERS, "text", lambda *_: iter(given))
        return list(convert(None, "text"))

    @pytest.mark.parametrize(
        ("title", "text", "expected_title", "expected"),
        [
            ("A  title\n", "A text.", "A title", "A title\n\nA text."),
            ("Here", f"{'x' * 199} Here", "Here", f"{'x' * 199} Here"),
            ("Here", f"{'x' * 201} Here", "Here", f"Here\n\n{'x' * 201} Here"),
            ("t" * 250, "A text.", "t" * 200, f"{'t' * 200}\n\nA text."),
            ("", " \t\na\r\nb\n \n\t\n\nc\n\f \n", "", "a\nb\n\nc\n\f"),
        ],
    )
    def test_title_and_text(self, monkeypatch, title, text, expected_title, expected):
        [page] = self.converted(monkeypatch, Page(title, text, "k", {"a": 1}, "odd"))
        assert page == Page(expected_title, expected, "k", {"a": 1}, "odd")

    def test_each_key_is_another(self, monkeypatch):
        given = [Page("", "x", key) for key in ("a", "a", "b", "a", "l" * 500)]
        keys = [page.key for page in self.converted(monkeypatch, *given)]
        assert keys == ["a", "a:2", "b", "a:4", "l" * 400]

    def test_an_entry_that_cannot_be_read_is_named_with_its_problem(self):
        def fail(error):
            raise error

        assert entry_page("3", lambda: fail(ValueError("odd"))) == Page(
            "", "", "3", problem="it cannot be read: odd"
        )
        for error in (MissingExtraError("reading HTML", "documents"), MemoryError()):
            with pytest.raises(type(error)):
                entry_page("3", lambda error=error: fail(error))
        assert entry_page("3", lambda: Page("t", "x")) == Page("t", "x", "3")
        assert entry_page("3", lambda: Page("t", "x", "own")) == Page("t", "x", "own")


class TestBooks:
    CONTAINER = '<container><rootfile full-path="OEBPS/book.opf"/></container>'

    def book(self, chapters, title="Parcels", author=" A. Writer "):
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as book:
            book.writestr("META-INF/container.xml", self.CONTAINER)
            items = "".join(
                f'<item id="{i}" href="{href}"/>' for i, (href, _) in enumerate(chapters)
            )
            spine = "".join(f'<itemref idref="{i}"/>' for i in range(len(chapters)))
            book.writestr(
                "OEBPS/book.opf",
                f"<package><metadata><title>{title}</title><creator>{author}</creator></metadata>"
                f"<manifest>{items}</manifest><spine>{spine}</spine></package>",
            )
            for href, text in chapters:
                name = href.partition("#")[0].replace("%20", " ").replace("../", "")
                folder = "" if href.startswith("..") else "OEBPS/"
                book.writestr(folder + name, text)
        return content.getvalue()

    def test_chapters(self, tmp_path):
        chapters = [
            ("a%20b.html", "<html><body><h1>One</h1><p>first</p></body></html>"),
            ("text/c.html#part", "<html><body><p>second</p></body></html>"),
            ("../d.html", "  "),
        ]
        assert pages_of(tmp_path, "a.epub", self.book(chapters)) == [
            Page("Parcels", "Parcels\n\n# One\n\nfirst\n\nsecond", "", {"author": "A. Writer"})
        ]
        [page] = pages_of(tmp_path, "b.epub", self.book(chapters[:1], author=""))
        assert page.metadata == {}

    def test_a_large_chapter(self, tmp_path, monkeypatch):
        from gem_index.converting import books

        monkeypatch.setattr(books, "LARGEST_ENTRY", 2 << 20)
        chapter = "<p>x</p>".ljust(2 << 20)
        assert pages_of(tmp_path, "a.epub", self.book([("a.html", chapter)]))[0].text
        message = message_about(tmp_path, "b.epub", self.book([("a.html", f"{chapter} ")]))
        assert message == (
            "'OEBPS/a.html' in it has more than 2 MiB; expected a book of smaller chapters"
        )


class TestHtml:
    def page(self, tmp_path, body, head="", encoding=None):
        html = f"<html><head>{head}</head><body>{body}</body></html>"
        [page] = pages_of(tmp_path, "a.html", html, encoding)
        return page

    @pytest.mark.parametrize(
        ("body", "text"),
        [
            ("<h6>Deep</h6><p>a</p>", "###### Deep\n\na"),
            ("<table><tr><th>a</th><td></td><td>b</td></tr></table>", "a | b"),
            ("<table><tr><td><h6>T</h6>a</td> <td>b</td></tr></table>", "###### T\n\na\nb"),
            ("<table><caption>C</caption><tr><td>a</td></tr></table>", "C\na"),
            ("<pre>\n  a\n b \n</pre>c", "a\n b\n\nc"),
            ("<p hidden>x</p><p aria-hidden='true'>y</p><p>a</p>", "a"),
            ("<div style='display : none'>x</div><p>a</p>", "a"),
            ("<footer>x</footer><p>a</p>", "a"),
            ("<article><p>a</p><footer>by A.</footer></article>", "a\n\nby A."),
            ("<pre><span class='lineno'>1</span>a</pre>", "a"),
            ("<p>a</p><p><a href='n' accesskey='u'>Up</a></p>", "a"),
            (f"<p>{'b' * 496} <a href='n' rel='next'>go</a></p><p>a</p>", "a"),
            (
                f"<p>{'b' * 500} <a href='n' rel='next'>go</a></p><p>a</p>",
                f"{'b' * 500} go\n\na",
            ),
            (
                "<div><p>b</p><a href='n' rel='next'>go</a></div><p>a</p>",
                "b\n\ngo\n\na",
            ),
            ("<main>m</main><main>n</main><p>a</p>", "m\n\nn\n\na"),
            ("<main> </main><main>n</main><p>a</p>", "n"),
            ("<h1>T <a href='#t'>¶</a></h1><p>a<a name='x'></a></p>", "# T\n\na"),
            ("<ul><li><a href='1'>one</a></li></ul><p>a</p>", "one\n\na"),
            ("<ul><li><a href='1'>one</a><li><a href='2'>two</a></ul><p>a</p>", "a"),
            (
                "<ul><li><a href='1'>one</a> 12<li><a href='2'>two</a> 34</ul><p>a</p>",
                "one 12\ntwo 34\n\na",
            ),
            ("<ul><li><a href='1'>one</a><li><a href='2'>two</a></ul>", "one\ntwo"),
            ("<nav>one</nav>", "one"),
            ("<nav>n</nav><ul><li><a href='1'>one</a><li><a href='2'>two</a></ul>", "one\ntwo"),
            ("<ul><li><a href='1'>abc</a> x<li><a href='2'>abc</a></ul><p>a</p>", "a"),
            ("<ul><li><a>one</a><li><a>two</a></ul><p>a</p>", "one\ntwo\n\na"),
        ],
    )  # fmt: skip
    def test_text(self, tmp_path, body, text):
        assert self.page(tmp_path, body) == Page("T" if "<h1>T" in body else "", text)

    @pytest.mark.parametrize(
        ("title", "body", "found"),
        [
            ("Post - How to pay", "<h1>Post</h1><h1>How to pay</h1>", "How to pay"),
            ("Post", "<h1>How to pay</h1>", "Post"),
            ("", "<h1></h1><h1>How to pay</h1><h1>Post</h1>", "How to pay"),
            ("", "a", ""),
        ],
    )
    def test_title(self, tmp_path, title, body, found):
        assert self.page(tmp_path, body, f"<title>{title}</title>").title == found

    def test_author_and_date(self, tmp_path):
        head = "".join(
            f"<meta name='{name}' content='{content}'>"
            for name, content in (("author", f"A  {'b' * 300}"), ("date", "2025-01-14"))
        )
        page = self.page(tmp_path, "a", head)
        assert page.metadata == {"author": f"A {'b' * 198}", "date": "2025-01-14"}
        assert self.page(tmp_path, "a", "<meta name='date' content=''>").metadata == {}

    @pytest.mark.parametrize(
        ("content", "encoding", "text"),
        [
            ("<p>5 €", None, "5 €"),
            ("<p>5 €".encode("cp1252"), None, "5 €"),
            ("<META CHARSET='iso-8859-15'><p>5 €".encode("iso-8859-15"), None, "5 €"),
            ("<p>5 €".encode("iso-8859-15"), "iso-8859-15", "5 €"),
            ("<p>5 €", "x-none", "5 €"),
            ("", None, ""),
            ("<!-- a -->", None, ""),
        ],
    )
    def test_encoding(self, tmp_path, content, encoding, text):
        assert pages_of(tmp_path, "a.html", content, encoding) == [Page("", text)]

    def test_a_tag_of_many_attributes(self, tmp_path):
        many = " ".join(f"a{i}" for i in range(4095))
        assert self.page(tmp_path, f"<p {many}>a</p>").text == "a"
        assert message_about(tmp_path, "a.html", f"<p {many} b>a</p>") == (
            "a tag has more than 4,096 attributes; expected a page with fewer: remove that element"
        )


class TestMail:
    def mail(self, plain=None, html=None, **headers):
        message = EmailMessage()
        for name, value in headers.items():
            message[name.replace("_", "-")] = value
        if plain is not None:
            message.set_content(plain)
        if html is not None:
            message.add_alternative(html, subtype="html")
        return message.as_bytes()

    def test_headers_and_the_plain_text(self, tmp_path):
        content = self.mail(
            "Plain.",
            "<p>HTML.</p>",
            subject="A parcel",
            to=", ".join(f"a{i}@example.org" for i in range(60)),
            date="Mon, 05 Oct 2026 10:00:00 +0200",
        )
        [page] = pages_of(tmp_path, "a.eml", content)
        assert (page.title, page.text) == ("A parcel", "A parcel\n\nPlain.")
        assert page.metadata["date"] == "2026-10-05T10:00:00+02:00"
        assert page.metadata["to"].startswith("a0@example.org, a1@")
        assert len(page.metadata["to"]) == 500

    def test_only_html_a_date_that_is_none_and_an_unknown_encoding(self, tmp_path):
        html = b"Subject: S\nDate: soon\nContent-Type: text/html\n\n<p>a</p><p>b</p>"
        assert pages_of(tmp_path, "a.eml", html) == [Page("S", "S\n\na\n\nb", "", {"date": "soon"})]
        odd = "Content-Type: text/plain; charset=x-none\n\ngrün".encode()
        assert pages_of(tmp_path, "b.eml", odd) == [Page("", "grün")]

    def test_a_mailbox(self, tmp_path):
        content = b"".join(
            b"From a@b Mon Oct  5 10:00:00 2026\n" + head + b"\n\ntext\n\n"
            for head in (b"Subject: S", b"Message-ID: <1@x>", b"Message-ID: <1@x>")
        )
        assert pages_of(tmp_path, "a.mbox", content) == [
            Page("S", "S\n\ntext", "1"),
            Page("", "text", "1@x", {"message_id": "<1@x>"}),
            Page("", "text", "1@x:3", {"message_id": "<1@x>"}),
        ]
        spaced = b"".join(
            b"From a@b Mon Oct  5 10:00:00 2026\nMessage-ID:" + key + b"\n\ntext\n\n"
            for key in (b" <1@x> ", b"\n <2@x>\t", b" 3@x ", b" ")
        )
        assert [page.key for page in pages_of(tmp_path, "s.mbox", spaced)] == [
            "1@x", "2@x", "3@x", "4",
        ]  # fmt: skip
        assert pages_of(tmp_path, "b.mbox", b"") == []
        assert message_about(tmp_path, "c.mbox", "Dear A,") == (
            "it is not a mailbox: it does not begin with From; expected .mbox"
        )


class TestMarkup:
    def test_text(self, tmp_path):
        assert pages_of(tmp_path, "a.txt", f"{'a' * 4096}\0") == [Page("", f"{'a' * 4096}\0")]
        assert message_about(tmp_path, "a.txt", f"{'a' * 4095}\0") == (
            "it holds zero bytes; expected text"
        )

    @pytest.mark.parametrize(
        ("source", "title", "text"),
        [
            ('---\ntitle: "One"\n---\n# Two\n\na', "One", "One\n\n# Two\n\na"),
            ("---\ntags: x\n---\n# Two\n\n## Three\n\na", "Two", "# Two\n\n## Three\n\na"),
            ("a <b>b</b>\nc", "", "a b\nc"),
            ("- a\n- b\n\n1. c\n\n   d", "", "a\nb\n\nc\n\nd"),
            ("|a|b|\n|-|-|\n|c|d|\n\ne", "", "a | b\nc | d\n\ne"),
            ("<p>a<!-- x > y -->b</p>\n\nc", "", "ab\n\nc"),
        ],
    )
    def test_markdown(self, tmp_path, source, title, text):
        assert pages_of(tmp_path, "a.md", source) == [Page(title, text)]

    def test_restructured_text(self, tmp_path):
        source = (
            "T\n=\n\nA\n-\n\n|x| :ref:`~a.b` :ref:`the page <p>`\n\n.. |x| replace:: y\n\n.. raw:: html\n\n   <p>raw</p>\n\n"
            'B\n~\n\nC\n^\n\nD\n"\n\nE\n+\n\nF\n*\n\nend\n\n.. index:: an entry\n\nZ\n-\n'
        )
        text = "# T\n\n## A\n\ny a.b the page\n\n### B\n\n#### C\n\n##### D\n\n###### E\n\n###### F\n\nend\n\n## Z"
        assert pages_of(tmp_path, "a.rst", source) == [Page("T", text)]
        two = "A\n=\n\na\n\nB\n=\n\nb\n"
        assert pages_of(tmp_path, "b.rst", two) == [Page("A", "# A\n\na\n\n# B\n\nb")]

    def test_only_titles_of_sections_are_headings_of_restructured_text(self, tmp_path):
        source = (
            ".. topic:: Aside\n\n   a\n\n.. sidebar:: Box\n\n   b\n\nFirst\n=====\n\n"
            ".. table:: Prices\n\n   == ==\n   c  d\n   == ==\n\n.. admonition:: Careful\n\n   e\n\nSecond\n======\n\nf\n"
        )
        [page] = pages_of(tmp_path, "a.rst", source)
        assert (page.title, re.sub("\n+", "\n", page.text)) == (
            "First",
            "Aside\na\nBox\nb\n# First\nPrices\nc\nd\nCareful\ne\n# Second\nf",
        )

    def test_what_docutils_does_not_know_is_read_and_prints_nothing(self, tmp_path, capfd):
        source = (
            ".. automodule:: a.b\n   :members:\n\n   Of a module.\n\n.. py:function:: f(x)\n\n   Of f.\n\n"
            ":unknown:`a role` and `b <c\n\n.. figure::\n\n.. image:: x.png\n   :nosuch: 1\n\nend\n"
        )
        [page] = pages_of(tmp_path, "a.rst", source)
        for text in ("Of a module.", "Of f.", "a role and", "end"):
            assert text in page.text
        assert capfd.readouterr() == ("", "")

    def test_a_notebook(self, tmp_path):
        cells = [
            {"cell_type": "markdown", "source": ["# One\n", "a"]},
            {"cell_type": "code", "input": "x = 1"},
            {"cell_type": "code", "source": " "},
            {"cell_type": "raw", "source": "raw"},
            {"cell_type": "markdown", "source": "# Two"},
        ]
        page = Page("One", "# One\n\na\n\nx = 1\n\n# Two")
        for notebook in ({"cells": cells}, {"worksheets": [{"cells": cells}]}):
            assert pages_of(tmp_path, "a.ipynb", json.dumps(notebook)) == [page]
        message = message_about(tmp_path, "a.ipynb", "{}")
        assert message == "it is not a notebook: 'worksheets'; expected .ipynb"


class TestOffice:
    def test_word(self, tmp_path):
        import docx

        document = docx.Document()
        document.core_properties.author = ""
        for text, style in (
            ("Parcels", "Title"), ("Post", "Title"), ("Deep", "Heading 6"), ("", "Heading 1"), ("a\tb", None),
        ):  # fmt: skip
            document.add_paragraph(text, style)
        document.save(str(tmp_path / "a.docx"))
        page = Page("Parcels", "# Parcels\n\n# Post\n\n###### Deep\n\na\tb")
        assert list(convert(tmp_path / "a.docx", "docx")) == [page]
        document.core_properties.author, document.core_properties.title = " A. Writer ", "Own"
        document.save(str(tmp_path / "b.docx"))
        [own] = convert(tmp_path / "b.docx", "docx")
        assert (own.title, own.metadata) == ("Own", {"author": "A. Writer"})
        assert message_about(tmp_path, "c.docx", "x").endswith("; expected .docx")

    def test_slides(self, tmp_path):
        from pptx import Presentation

        presentation = Presentation()
        presentation.core_properties.title = "Template"
        for title, body in (("", ""), ("Parcels", "a"), ("Post", "b")):
            slide = presentation.slides.add_slide(presentation.slide_layouts[1])
            slide.shapes.title.text, slide.placeholders[1].text = title, body
        slide.notes_slide.notes_text_frame.text = "said"
        presentation.save(str(tmp_path / "a.pptx"))
        page = Page("Parcels", "Parcels\na\n\nPost\nb\nsaid", "", {"slides": 3})
        assert list(convert(tmp_path / "a.pptx", "pptx")) == [page]
        untitled = Presentation()
        untitled.core_properties.title = " Own "
        untitled.slides.add_slide(untitled.slide_layouts[6])
        untitled.save(str(tmp_path / "b.pptx"))
        assert list(convert(tmp_path / "b.pptx", "pptx")) == [
            Page("Own", "Own\n\n", "", {"slides": 1})
        ]
        assert message_about(tmp_path, "c.pptx", "x").endswith("; expected .pptx")


class TestWebArchives:
    def record(self, url, body, status="200 OK", kind="text/html", of="response"):
        block = f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\n\r\n".encode() + body
        head = (
            f"WARC/1.0\r\nWARC-Type: {of}\r\nWARC-Target-URI: {url}\r\n"
            f"Content-Type: application/http\r\nContent-Length: {len(block)}\r\n\r\n"
        )
        return head.encode() + block + b"\r\n\r\n"

    def test_each_address_once(self, tmp_path):
        content = b"".join(
            (
                self.record(
                    "http://a", "<p>5 €".encode("cp1250"), kind="text/html; charset=cp1250"
                ),
                self.record("http://a", b"<p>again"),
                self.record("http://b", b"<p>gone", status="404 Not Found"),
                self.record("http://c", b"image", kind="image/png"),
                self.record("http://d", b"GET", of="request"),
                self.record("http://e", b"<meta name=author content=A><title>E</title><p>e"),
            )
        )
        assert pages_of(tmp_path, "a.warc", content) == [
            Page("", "5 €", "http://a", {"url": "http://a"}),
            Page("E", "E\n\ne", "http://e", {"author": "A", "url": "http://e"}),
        ]

    def test_an_answer_of_another_protocol_is_no_page(self, tmp_path):
        """A crawler keeps the addresses that it looked up, too."""
        block = b"20261129120000\nexample.org. 300 IN A 192.0.2.1\n"
        looked_up = (
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: dns:example.org\r\n"
            f"Content-Type: text/dns\r\nContent-Length: {len(block)}\r\n\r\n"
        ).encode() + block
        content = looked_up + b"\r\n\r\n" + self.record("http://e", b"<p>e")
        assert pages_of(tmp_path, "a.warc", content) == [
            Page("", "e", "http://e", {"url": "http://e"})
        ]

    def test_what_is_said_about_another_file(self, tmp_path):
        assert message_about(tmp_path, "a.warc", "<html>") == (
            "it is not WARC: it does not begin with WARC/; expected an archive"
        )
        assert pages_of(tmp_path, "b.warc", "") == []


class TestEncodings:
    @pytest.mark.parametrize("encoding", [None, "auto"])
    @pytest.mark.parametrize(
        "content",
        ["é".encode("utf-8-sig"), b"\xff\xfe\xe9\x00", b"\xfe\xff\x00\xe9", "é".encode()],
    )
    def test_marks(self, content, encoding):
        assert decoded(content, encoding) == "é"

    @pytest.mark.parametrize(
        ("content", "encoding", "message", "advised"),
        [
            (b"ab\xe9", None, "byte 3 is not UTF-8; expected UTF-8 text", "auto"),
            (b"\xe9", "ascii", "byte 1 is not ascii; expected ascii text", "auto"),
            (None, "auto", "its encoding was not recognised; expected text", "cp1252"),
        ],
    )
    def test_what_is_said_about_another(self, monkeypatch, content, encoding, message, advised):
        if content is None:
            import charset_normalizer

            class Nothing:
                def best(self):
                    return None

            monkeypatch.setattr(charset_normalizer, "from_bytes", lambda _: Nothing())
        with pytest.raises(InputError) as caught:
            support.decoded(content or b"\xe9", encoding)
        assert str(caught.value).startswith(message)
        assert caught.value.advice.action is Action.NAME_ENCODING
        assert caught.value.advice.values == {"encoding": advised}


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("\uf77a\uf761\uf739", "ZA9"),
        ("a\x02b", "ab"),
        ("a\x02B", "a-B"),
        ("a\x022", "a-2"),
        ("a-b\x02c", "a-b-c"),
        ("a ... b", "a ... b"),
        ("a .... b", "a b"),
        ("\u00b4\u0131", "í"),
        ("\u00b4q", "\u00b4q"),
        ("a\x07b\x7f", "ab"),
    ],
)
def test_the_text_of_a_pdf(text, whole):
    assert repaired(text) == whole


def test_a_divided_word_keeps_the_hyphen_that_its_beginning_has_elsewhere():
    assert repaired("e\x02mail-list and x\x02y", {"e-mail"}) == "e-mail-list and xy"
