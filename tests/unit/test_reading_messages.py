"""What readers of records say, in whole and with their advice, and forms of files that are easily taken for others."""

import datetime
import decimal
import io
import json
import sys
import zipfile

import pytest

from gem_index.errors import Action, ConfigError, InputError, MissingFieldError, RecordError
from gem_index.readers import DocumentReader
from gem_index.readers.fields import with_title_weights
from gem_index.readers.values import json_value
from told import error_of

LONG = "several words that are plainly a text of somebody"
LAST = "expected a file: to find the last record of an id, it is read twice"


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(*names, **options):
    return [(d.id, str(d.text), dict(d.metadata)) for d in DocumentReader(names, **options)]


def texts(name, **options):
    return [text for _, text, _ in read(name, **options)]


def told(kind, call, *arguments, **options):
    """Return the message of an error of exactly this kind, and the action and values of its advice."""
    error = error_of(kind, call, *arguments, **options)
    return (
        str(error),
        error.advice and error.advice.action,
        error.advice and dict(error.advice.values),
    )


def said(*arguments, **options):
    return told(*arguments, **options)[0]


class TestTables:
    @pytest.mark.parametrize(
        ("content", "options", "message"),
        [
            (
                "1,a,b\n",
                {"column_names": ["id", "text"]},
                "line 1: found 3 columns; expected 2, one for each name that was given",
            ),
            (
                "id,text,a,a\n1,a,b,c\n",
                {},
                "line 1: the header has several columns 'a'; expected different names: rename one",
            ),
            (
                'id,text\n1,"a"b\n',
                {},
                "line 2: not a table row (',' expected after '\"'); expected a header and quoted fields: if it is separated "
                "by tabs and quotes nothing, read it with format='tsv'",
            ),
            (
                "id,te\0xt\n",
                {},
                "line 1: byte 6 is zero, which text does not hold; expected UTF-8 text: name the file's encoding, as "
                "encoding='utf-16-le'",
            ),
            (
                b"id,text\n1,\xff\n",
                {},
                "line 2: byte 3 is not UTF-8; expected UTF-8 text: name the file's encoding, as encoding='auto'",
            ),
        ],
    )
    def test_what_is_said(self, tmp_path, content, options, message):
        name = write(tmp_path / "x.csv", content)
        assert said(RecordError, read, name, **options) == f"{name} {message}"

    def test_columns_without_names_do_not_count_as_alike(self, tmp_path):
        found = read(write(tmp_path / "x.csv", "id,text,,\n1,a,,\n"))
        assert [row[:2] for row in found] == [("1", "a")]

    def test_the_delimiter_of_the_user_counts_more_than_that_of_the_file(self, tmp_path):
        name = write(tmp_path / "x.csv", "sep=;\nid,text\n1,a;b\n")
        assert texts(name, delimiter=",") == ["a;b"]

    def test_names_of_columns_that_are_given_keep_their_blanks(self, tmp_path):
        name = write(tmp_path / "x.csv", "id, text ,text\n1,a,b\n")
        assert read(name, text_fields=[" text "]) == [("1", "a", {"text": "b"})]
        name = write(tmp_path / "y.csv", "id, text , n \n1,a,b\n")
        assert read(name, text_fields=[" text "]) == [("1", "a", {"n": "b"})]

    @pytest.mark.parametrize("delimiter", ["\0", "\n", "\r", "", "ab"])
    def test_characters_that_divide_nothing(self, delimiter):
        assert said(ConfigError, DocumentReader, ["x.csv"], delimiter=delimiter) == (
            f"the delimiter is {delimiter!r}; expected one character, or tab"
        )

    def test_the_choices_of_a_reader_are_what_was_given(self):
        given = {
            "id_field": "nr", "text_fields": ["title*2", "body"], "encoding": "cp1252", "types": {"n": "number"},
            "clean": ["quotes", "html"], "header": False, "column_names": ["nr", "title", "body", "n"], "delimiter": "tab",
            "quote": "none", "table": "faq",
        }  # fmt: skip
        assert DocumentReader(["x.csv"], **given).choices == given
        assert DocumentReader(["x.csv"]).choices == {}

    def test_a_sheet_whose_first_row_is_a_record(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl", reason='pip install ".[test]"')
        book = openpyxl.Workbook()
        for row in (("3", "Stocks fall."), ("4", "It rains.")):
            book.active.append(row)
        book.save(tmp_path / "x.xlsx")
        message, action, _ = told(RecordError, read, str(tmp_path / "x.xlsx"))
        assert message.startswith(
            f"{tmp_path}/x.xlsx line 2: no field 'text', found '3', 'Stocks fall.'; expected names of columns in the "
            "first row"
        )
        assert action is Action.NAME_NO_HEADER

    def test_a_sheet_that_says_it_is_smaller(self, tmp_path):
        openpyxl = pytest.importorskip("openpyxl", reason='pip install ".[test]"')
        book = openpyxl.Workbook()
        for row in (("id", "text", "n"), ("a", "tea", 1), ("b", "visa", 2)):
            book.active.append(row)
        book.save(tmp_path / "x.xlsx")
        with (
            zipfile.ZipFile(tmp_path / "x.xlsx") as whole,
            zipfile.ZipFile(tmp_path / "y.xlsx", "w") as wrong,
        ):
            for name in whole.namelist():
                content = whole.read(name).replace(
                    b'<dimension ref="A1:C3"', b'<dimension ref="A1:B2"'
                )
                wrong.writestr(name, content)
        assert read(str(tmp_path / "y.xlsx")) == [("a", "tea", {"n": 1}), ("b", "visa", {"n": 2})]

    def test_only_a_table_has_names_in_its_first_row(self, tmp_path):
        name = write(tmp_path / "x.jsonl", json.dumps({"3": "Stocks fall", "4": "It rains"}))
        message = said(MissingFieldError, read, name)
        assert message.startswith(
            f"{name} line 1: no field 'text', found '3' (text 'Stocks fall'), '4' (text 'It rains'); expected the fields of "
            "id and text: name them, as text='…'"
        )

    def test_columns_that_the_user_named_are_no_record(self, tmp_path):
        name = write(tmp_path / "x.csv", "a,b\n")
        message = said(MissingFieldError, read, name, header=False, column_names=["1", "2"])
        assert message.startswith(
            f"{name} line 1: no field 'text', found '1' (text 'a'), '2' (text 'b'); expected the fields"
        )


class TestJson:
    def test_an_entry_that_has_a_key_of_its_own(self, tmp_path):
        value = {"a": {"key": "own", "text": "tea"}, "b": {"text": "visa"}}
        found = read(write(tmp_path / "x.json", json.dumps(value)), id_field="key")
        assert [row[0] for row in found] == ["own", "b"]

    def test_an_id_alone_does_not_make_an_object_a_record(self, tmp_path):
        name = write(tmp_path / "x.json", '{"id": "tea", "other": "visa"}')
        assert texts(name, text_fields=["value"]) == ["tea", "visa"]

    def test_several_lists_advise_the_last_one(self, tmp_path):
        rows = [{"text": "a"}]
        name = write(tmp_path / "x.json", json.dumps({"old": rows, "new": rows}))
        message, action, values = told(InputError, read, name)
        assert message.startswith(
            f"{name} has several lists of objects, 'old' and 'new'; expected one"
        )
        assert (action, values) == (Action.NAME_TABLE, {"table": "new"})

    def test_a_list_alone_under_a_key(self, tmp_path):
        notes = []
        name = write(tmp_path / "x.json", '{"faqs": [{"text": "a"}]}')
        assert texts(name, on_end=notes.extend) == ["a"]
        assert [str(note) for note in notes] == [f"{name}: the records are the list 'faqs'."]

    @pytest.mark.parametrize("after", [" 7", "]", "{}"])
    def test_something_after_the_value(self, tmp_path, after):
        name = write(tmp_path / "x.json", '[{"text": "a"}]' + after)
        message, action, _ = told(InputError, read, name)
        assert message.startswith(f"{name} is not JSON (")
        assert ", after 1 records; expected one JSON value" in message
        assert action in (Action.READ_AS_JSON_LINES, None)

    def test_lines_with_a_byte_order_mark(self, tmp_path):
        content = '\ufeff{"text": "a"}\n{"text": "b"}\n'
        assert texts(write(tmp_path / "x.json", content)) == ["a", "b"]


class TestLines:
    def test_the_longest_line(self, tmp_path):
        name = write(tmp_path / "x.txt", "x" * 99 + "\n")
        assert texts(name, max_record_bytes=100) == ["x" * 99]
        assert said(RecordError, read, name, max_record_bytes=99) == (
            f"{name} line 1: the line has 100 bytes; expected at most 99: split it, or raise GEM_INDEX_MAX_RECORD_BYTES"
        )

    def test_only_the_first_line_has_a_byte_order_mark(self, tmp_path):
        assert texts(write(tmp_path / "x.txt", "\ufeffa\n\ufeffb\n")) == ["a", "\ufeffb"]

    def test_an_encoding_that_was_given_is_no_news(self, tmp_path):
        notes = []
        name = write(tmp_path / "x.txt", "café\n".encode("cp1252"))
        assert texts(name, encoding="cp1252", on_end=notes.extend) == ["café"]
        assert notes == []


class TestFiles:
    def test_an_unknown_name(self, tmp_path):
        name = write(tmp_path / "x.log", "a\n")
        message, action, _ = told(InputError, read, name)
        assert message == (
            f"{name} is not of a known format; expected a name ending in .jsonl, .ndjson, .json, .csv, .tsv, .txt, "
            ".parquet, .xlsx, .xml (also .gz, .bz2, .xz, .zip), for a collection also a document such as .md, .html, .pdf "
            "or .docx: if it is one of these, give its format, as format='tsv'"
        )
        assert action is Action.GIVE_FORMAT
        missing = said(InputError, read, str(tmp_path / "none.log"))
        assert "no such file or directory" in missing

    def test_damaged_parquet(self, tmp_path):
        name = write(tmp_path / "x.parquet", b"PAR1nothing")
        message = said(InputError, read, name)
        assert message.startswith(f"{name} is not Parquet: ")
        assert message.endswith("; expected an undamaged Parquet file")

    def test_nothing_good(self, tmp_path):
        name = write(tmp_path / "x.jsonl", "1\n2\n")
        assert said(InputError, read, name, on_problem=print) == (
            "all 2 records were bad; expected at least one good record"
        )
        empty = write(tmp_path / "y.txt", "")
        assert said(InputError, lambda: list(DocumentReader([empty]).texts())) == (
            f"{empty} is empty; expected at least one text"
        )
        assert said(InputError, read, empty) == f"{empty} has no documents; expected at least one"

    def test_a_pipe_for_the_last_of_each_id(self, tmp_path):
        import os

        os.mkfifo(tmp_path / "x.jsonl")
        name = str(tmp_path / "x.jsonl")
        assert said(InputError, read, name, duplicates="last") == (
            f"{name} can be read only once; {LAST}"
        )

    def test_a_bad_record_of_standard_input_has_its_name(self, monkeypatch):
        content = b'{"id": 1, "text": "a"}\n{"id": 2}\n'
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))
        monkeypatch.setattr(sys, "stdin", stdin)
        message, action, _ = told(RecordError, read, "-", duplicates="last")
        assert message.startswith("standard input line 2: no field 'text', found 'id'; expected it")
        assert action is Action.NAME_FIELD

    def test_repeated_ids_in_another_written_form(self, tmp_path):
        rows = [{"id": "caf\u00e9", "text": "a"}, {"id": "cafe\u0301", "text": "b"}]
        name = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        assert texts(name, duplicates="first") == ["a"]
        assert texts(name, duplicates="last") == ["b"]
        problems = []
        assert texts(name, on_problem=problems.append) == ["a"]
        assert [str(each) for each in problems] == [
            f"{name} line 2: the id 'cafe\u0301' came before in {name} line 1; expected each id once"
        ]


class TestFields:
    def test_a_missing_text_beside_the_usual_id(self, tmp_path):
        name = write(tmp_path / "x.jsonl", json.dumps({"id": 1, "body": LONG}))
        message = said(MissingFieldError, read, name)
        assert message.endswith("expected the fields of id and text: name them, as text='body'")

    def test_missing_fields_of_a_later_record(self, tmp_path):
        first = {"id": "a", "text": "t", "m": 1}
        for second, options, message, field in (
            ({"id": "b"}, {}, "no field 'text', found 'id'; expected it", "text"),
            ({"text": "b", "m": 1}, {"id_field": "id"}, "no field 'id', found 'text', 'm'; expected it", "id"),
            ({}, {}, "no field 'text', found nothing; expected it", "text"),
            (
                {f"c{i}": i for i in range(9)}, {},
                f"no field 'text', found {', '.join(repr(f'c{i}') for i in range(8))}; expected it", "text",
            ),
        ):  # fmt: skip
            rows = f"{json.dumps(first)}\n{json.dumps(second)}\n"
            name = write(tmp_path / "x.jsonl", rows)
            found, action, values = told(RecordError, read, name, **options)
            assert found.startswith(f"{name} line 2: {message}")
            assert (action, values) == (Action.NAME_FIELD, {"field": field})

    def test_values_that_are_no_text(self, tmp_path):
        for value, message in (
            ("null", "the field 'text' is null; expected a string"),
            ("[1]", "the field 'text' is [1]; expected a string"),
        ):
            name = write(tmp_path / "x.jsonl", f'{{"text": {value}}}\n')
            assert said(RecordError, read, name) == f"{name} line 1: {message}"

    def test_rows_have_the_ids_of_the_documents(self, tmp_path):
        rows = [{"text": "a"}, {"text": "a", "n": 1}, {"id": 7, "text": "b"}]
        name = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        found = [(each.id, each.text) for each in DocumentReader([name])]
        assert list(DocumentReader([name]).rows()) == found
        assert len({identifier for identifier, _ in found}) == 3

    @pytest.mark.parametrize("title", ["title", "Subject", "QUESTION", "heading"])
    def test_a_title_counts_twice(self, title):
        assert with_title_weights([title, "body"]) == [f"{title}*2", "body"]

    def test_an_asterisk_in_a_name(self):
        message = said(ConfigError, DocumentReader, ["x.csv"], text_fields=["a*b"])
        assert message.startswith("the weight of the text field 'a' is 'b'; expected ")
        assert message.endswith(" (write a field name with an asterisk as NAME*1)")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (decimal.Decimal("2.00"), 2),
        (decimal.Decimal("2.5"), 2.5),
        (decimal.Decimal("nan"), None),
        (float("nan"), None),
        (float("inf"), None),
        (datetime.timedelta(minutes=1.5), 90.0),
        (datetime.time(9, 30), "09:30:00"),
        ((1, {"a": float("-inf")}), [1, {"a": None}]),
        (b"caf\xc3\xa9", "café"),
        (True, True),
    ],
)
def test_values_of_tables_as_json(value, expected):
    found = json_value(value)
    assert (found, type(found)) == (expected, type(expected))
