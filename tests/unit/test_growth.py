"""Readers, cleaners, converters, filters and explanations take time in proportion to their input, or refuse it.

``python -m benchmarks.growth`` prints the slopes.
"""

import importlib.util
import json
from pathlib import Path

import pytest

from gem_index.converting.converters import convert
from gem_index.converting.markup import _without_tags
from gem_index.errors import InputError, RecordError
from gem_index.readers import DocumentReader

# by its file: with the folder of the checkout on the path, an installed package would not be what is tested
_FILE = Path(__file__).parents[2] / "benchmarks" / "growth.py"
_SPEC = importlib.util.spec_from_file_location("growth", _FILE)
growth = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(growth)

SIZE = 5000
LINEAR, MOST = 8, 24  # eight times the input: a square would take 64 times as long
ENOUGH = 0.2  # seconds of processor time, below which no input of the size is worth a thought
LEAST = 0.01


@pytest.mark.parametrize("name", growth.INPUTS)
def test_time_grows_with_the_input(name):
    growth.measured(name, 100)  # imports
    for _ in range(3):  # another process may disturb
        small, large = growth.measured(name, SIZE), growth.measured(name, SIZE * LINEAR)
        if small is None or large is None or large < max(ENOUGH, MOST * max(small, LEAST)):
            return
    pytest.fail(f"{small:.3f} s of {SIZE} characters, {large:.3f} s of {SIZE * LINEAR}")


def test_many_columns(tmp_path):
    path = tmp_path / "x.csv"
    names = [f"Spalte {i} 列" for i in range(50_000)]
    path.write_text(f"text,{','.join(names)}\nhello,{','.join('1' for _ in names)}\n")
    [document] = DocumentReader([str(path)])
    assert len(document.metadata) == 50_000
    path.write_text(f"text,,,{','.join(names)},Spalte 7 列,Spalte 3 列\n")
    with pytest.raises(RecordError, match="the header has several columns 'Spalte 3 列'; expected"):
        list(DocumentReader([str(path)]))


def test_comments_of_markdown_are_left_out_as_before():
    assert _without_tags("a <!-- b <p> --> c <p>d</p> <!-- e --> f <!-- g") == "a  c d  f <!-- g"
    assert _without_tags("<!--> a --> b <x") == "b <x"


def test_a_tag_of_too_many_attributes_is_refused(tmp_path):
    path = tmp_path / "x.html"
    attributes = " ".join(f"a{i}=1" for i in range(4000))
    path.write_text(f"<title>Title</title><p {attributes}>text</p>")
    [page] = convert(path, "html")
    assert page.text == "Title\n\ntext"
    path.write_text(f"<p {attributes} {attributes.replace('a', 'b')}>text</p>")
    with pytest.raises(
        InputError, match="a tag has more than 4,096 attributes; expected a page with fewer"
    ):
        list(convert(path, "html"))
    data = "<img src='data:image/png;base64," + "A" * 100_000 + "'><p>text</p>"
    path.write_text(data + f"<svg d='{'M 1 2 ' * 20_000}'></svg>")
    [page] = convert(path, "html")
    assert page.text == "text"


def test_a_long_header_of_mail_is_read_at_its_beginning(tmp_path):
    path = tmp_path / "x.eml"
    words = " ".join("=?utf-8?q?Gr=C3=BC=C3=9Fe_?=" for _ in range(5000))
    path.write_text(f"Subject: {words}\nTo: {'a@b.de, ' * 20_000}x@y.de\n\ntext\n")
    [page] = convert(path, "eml")
    assert page.title == ("Grüße " * 40)[:200].strip()
    assert page.metadata["to"].startswith("a@b.de, a@b.de")
    assert len(page.metadata["to"]) <= 500
    assert json.dumps(page.text).endswith('text"')
