"""Small files of every kind that is read from folders, each with one known sentence."""

from __future__ import annotations

import gzip
import json
import mailbox
import os
import zipfile
from collections.abc import Callable
from email.message import EmailMessage
from pathlib import Path

import pytest

__all__ = ["WRITERS", "pdf_of", "refuse_listing", "write_docx"]


def pdf_of(*pages: str, title: str = "") -> bytes:
    """Return a PDF with a line of text on each page."""
    kids = " ".join(f"{4 + 2 * i} 0 R" for i in range(len(pages)))
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>",
    ]
    for i, text in enumerate(pages):
        stream = f"BT /F1 12 Tf 72 720 Td ({text}) Tj ET"
        objects.append(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] "
            f"/Resources << /Font << /F1 3 0 R >> >> /Contents {5 + 2 * i} 0 R >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({title}) >>")
    out, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    start = len(out)
    out += f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    out += f"trailer\n<< /Size {len(objects) + 1} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
    return (out + f"startxref\n{start}\n%%EOF\n").encode()


def write_docx(path: Path, text: str, title: str = "Parcels") -> None:
    import docx

    document = docx.Document()
    document.add_heading(title, 0)
    document.add_paragraph(text)
    table = document.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "weight", "two kilograms"
    document.save(str(path))


def _pptx(path: Path, text: str) -> None:
    from pptx import Presentation

    presentation = Presentation()
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "Parcels"
    slide.placeholders[1].text = text
    slide.notes_slide.notes_text_frame.text = "said aloud"
    presentation.save(str(path))


def _epub(path: Path, text: str) -> None:
    with zipfile.ZipFile(path, "w") as book:
        book.writestr("mimetype", "application/epub+zip")
        book.writestr(
            "META-INF/container.xml",
            '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
            '<rootfile full-path="OEBPS/content.opf"/></rootfiles></container>',
        )
        book.writestr(
            "OEBPS/content.opf",
            '<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/">'
            "<metadata><dc:title>Parcels</dc:title><dc:creator>A. Writer</dc:creator></metadata>"
            '<manifest><item id="one" href="ch%201.xhtml"/><item id="two" href="two.xhtml"/></manifest>'
            '<spine><itemref idref="two"/><itemref idref="one"/></spine></package>',
        )
        book.writestr("OEBPS/ch 1.xhtml", f"<html><body><h1>One</h1><p>{text}</p></body></html>")
        book.writestr(
            "OEBPS/two.xhtml",
            "<html><head><style>x</style></head><body><p>Before.</p></body></html>",
        )


def _mail(text: str, subject: str = "Parcels", identifier: str = "<1@example.org>") -> EmailMessage:
    message = EmailMessage()
    message["Subject"] = subject
    message["From"] = "Ada <ada@example.org>"
    message["Date"] = "Mon, 05 Oct 2026 10:00:00 +0200"
    message["Message-ID"] = identifier
    message.set_content(text)
    message.add_alternative(f"<p>{text} as HTML</p>", subtype="html")
    return message


def _mbox(path: Path, text: str) -> None:
    box = mailbox.mbox(path)
    box.add(_mail(text))
    box.add(_mail("The second message.", "Other", "<2@example.org>"))
    box.close()


def _ipynb(path: Path, text: str) -> None:
    cells = [
        {"cell_type": "markdown", "source": ["# Parcels\n", "\n", text]},
        {"cell_type": "code", "source": "print(1)", "outputs": []},
    ]
    path.write_text(
        json.dumps({"cells": cells, "nbformat": 4, "nbformat_minor": 5, "metadata": {}})
    )


def _html(text: str) -> str:
    return (
        "<html><head><title>Parcels</title><meta name='author' content='A. Writer'>"
        "<style>p {color: red}</style><script>var x = 'never';</script></head>"
        f"<body><nav><a href='/'>Home</a></nav><article><h1>Parcels</h1><p>{text} "
        "We answer on the same day and say what it costs, before anything is sent to you.</p></article></body></html>"
    )


def _warc(path: Path, text: str) -> None:
    records = []
    for url, status, kind, body in (
        ("http://example.org/parcels", "200 OK", "text/html; charset=utf-8", _html(text)),
        ("http://example.org/gone", "404 Not Found", "text/html", _html("gone")),
        ("http://example.org/a.css", "200 OK", "text/css", "p {}"),
    ):
        response = f"HTTP/1.0 {status}\r\nContent-Type: {kind}\r\n\r\n{body}".encode()
        head = (
            f"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: {url}\r\nWARC-Date: 2026-10-05T10:00:00Z\r\n"
            f"WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-00000000000{len(records)}>\r\n"
            f"Content-Type: application/http; msgtype=response\r\nContent-Length: {len(response)}\r\n\r\n"
        )
        record = head.encode() + response + b"\r\n\r\n"
        records.append(gzip.compress(record) if path.suffix == ".gz" else record)
    path.write_bytes(b"".join(records))


def _zim(path: Path, text: str) -> None:
    from libzim.writer import Creator, Hint, Item, StringProvider

    class Article(Item):
        def get_path(self) -> str:
            return "parcels"

        def get_title(self) -> str:
            return "Parcels"

        def get_mimetype(self) -> str:
            return "text/html"

        def get_contentprovider(self) -> StringProvider:
            return StringProvider(_html(text))

        def get_hints(self) -> dict[Hint, bool]:
            return {Hint.FRONT_ARTICLE: True}

    with Creator(path) as creator:
        creator.add_item(Article())


def _text(template: str) -> Callable[[Path, str], None]:
    return lambda path, text: path.write_text(template.format(text=text), "utf-8") and None


WRITERS: dict[str, Callable[[Path, str], None]] = {
    "a.txt": _text("Parcels\n\n{text}\n"),
    "a.md": _text("# Parcels\n\n*{text}*\n\n| weight | two |\n|---|---|\n| a | b |\n"),
    "a.rst": _text(
        "Parcels\n=======\n\n{text} See :ref:`there <x>`.\n\n.. toctree::\n   :maxdepth: 2\n"
    ),
    "a.html": lambda path, text: path.write_text(_html(text), "utf-8") and None,
    "a.pdf": lambda path, text: (
        path.write_bytes(pdf_of(text, "Page two", title="Parcels")) and None
    ),
    "a.docx": write_docx,
    "a.pptx": _pptx,
    "a.epub": _epub,
    "a.eml": lambda path, text: path.write_bytes(_mail(text).as_bytes()) and None,
    "a.ipynb": _ipynb,
    "a.mbox": _mbox,
    "a.warc": _warc,
    "a.warc.gz": _warc,
    "a.zim": _zim,
}
"""Writer of each kind of file, by a name for it: called with the path and a sentence."""


def refuse_listing(monkeypatch: pytest.MonkeyPatch, ending: str) -> None:
    """Let nobody list folders whose path ends so."""
    scandir = os.scandir

    def refused(path: str) -> object:
        if str(path).endswith(ending):
            raise PermissionError(13, "Permission denied", str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", refused)
