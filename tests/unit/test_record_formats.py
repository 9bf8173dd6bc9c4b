"""Files of records as other programs write them: JSON values, tables of every form, spreadsheets, Stack Exchange's posts."""

import gzip
import io
import itertools
import json
import sys
import tracemalloc
import zipfile

import pytest

from gem_index.errors import ConfigError, InputError, MissingExtraError, RecordError
from gem_index.readers import DocumentReader
from gem_index.readers.parts import Part

FAQ = [
    {"id": "q1", "question": "How do I renew a visa?", "answer": "At the office."},
    {"id": "q2", "question": "Wo ist die Bank?", "answer": "In der Hauptstraße."},
    {"id": "q3", "question": "银行在哪里?", "answer": "أين المصرف؟"},
]
PAIR = {"text_fields": ["question", "answer"]}
EXPECTED = [(row["id"], f"{row['question']}\n\n{row['answer']}", {}) for row in FAQ]


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(*names, **options):
    return [(d.id, d.text, dict(d.metadata)) for d in DocumentReader(names, **options)]


def read_with_notes(name, **options):
    notes = []
    found = read(name, on_end=notes.extend, **options)
    return found, [str(note).removeprefix(f"{name}: ") for note in notes]


def stream_of(content):
    return io.TextIOWrapper(io.BufferedReader(io.BytesIO(content)))


def zipped(name, content):
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr(name, content)
    return packed.getvalue()


class TestJson:
    @pytest.mark.parametrize("indent", [None, 2])
    def test_a_list_of_objects(self, tmp_path, indent):
        content = json.dumps(FAQ, indent=indent, ensure_ascii=indent is None).encode()
        assert read(write(tmp_path / "x.json", content), **PAIR) == EXPECTED
        assert read(write(tmp_path / "y.json", b"\xef\xbb\xbf" + content), **PAIR) == EXPECTED
        assert read(write(tmp_path / "x.json.gz", gzip.compress(content)), **PAIR) == EXPECTED
        assert read(write(tmp_path / "x.json.zip", zipped("x.json", content)), **PAIR) == EXPECTED

    def test_a_list_under_a_key(self, tmp_path):
        value = {"version": 1.5, "about": {"by": "us"}, "tags": ["a", 1], "faqs": FAQ, "end": None}
        found, notes = read_with_notes(write(tmp_path / "x.json", json.dumps(value)), **PAIR)
        assert found == EXPECTED
        assert notes == [
            "the records are the list 'faqs'; not read: 'version', 'about', 'tags', 'end'."
        ]

    def test_several_lists_need_a_name(self, tmp_path):
        name = write(tmp_path / "x.json", json.dumps({"old": [FAQ[0]], "new": {"en": FAQ}}))
        assert read(name, **PAIR) == EXPECTED[:1]
        assert read(name, table="new.en", **PAIR) == EXPECTED
        assert read(name, table="old", **PAIR) == EXPECTED[:1]
        with pytest.raises(InputError, match="has no 'newer', found 'old', 'new'; expected one"):
            read(name, table="newer", **PAIR)
        with pytest.raises(InputError, match="has no 'x', found no key"):
            read(name, table="old.x", **PAIR)
        name = write(tmp_path / "y.json", json.dumps({"old": FAQ, "new": FAQ}))
        with pytest.raises(
            InputError, match="several lists of objects, 'old' and 'new'; expected one: name one"
        ):
            read(name, **PAIR)

    def test_an_object_of_texts_or_of_objects(self, tmp_path):
        value = {row["question"]: row["answer"] for row in FAQ}
        name = write(tmp_path / "x.json", json.dumps(value))
        expected = [text for _, text, _ in EXPECTED]
        assert [text for _, text, _ in read(name, text_fields=["key", "value"])] == expected
        value = {row.pop("id"): row for row in map(dict, FAQ)}
        name = write(tmp_path / "y.json", json.dumps(value))
        assert read(name, id_field="key", **PAIR) == EXPECTED
        name = write(tmp_path / "z.json", json.dumps({"all": value}))
        assert read(name, table="all", id_field="key", **PAIR) == EXPECTED

    def test_an_object_of_more_texts_than_are_held(self, tmp_path):
        name = write(tmp_path / "x.json", json.dumps({f"k{i}": f"text {i}" for i in range(300)}))
        found = read(name, id_field="key", text_fields=["value"])
        assert found == [(f"k{i}", f"text {i}", {}) for i in range(300)]

    def test_one_record_and_a_list_of_texts(self, tmp_path):
        name = write(tmp_path / "x.json", json.dumps({"id": 7, "text": "hello", "tags": ["a"]}))
        assert read(name) == [("7", "hello", {"tags": ["a"]})]
        name = write(tmp_path / "y.json", '["one", "two"]')
        assert [text for _, text, _ in read(name)] == ["one", "two"]

    def test_values_are_those_of_json_lines(self, tmp_path):
        row = {
            "id": "a",
            "text": "b",
            "numbers": [1, 2.5, 1e5, -0.1, 0, 1e-7, 2**62],
            "none": None,
        }
        row["deep"] = {"yes": True, "list": [[], {}, [{"x": "\U0001f600\u2028"}]]}
        as_list = read(write(tmp_path / "x.json", json.dumps([row])))
        as_lines = read(write(tmp_path / "x.jsonl", json.dumps(row)))
        assert as_list == as_lines
        assert [type(each) for each in as_list[0][2]["numbers"]] == [
            int,
            float,
            float,
            float,
            int,
            float,
            int,
        ]

    def test_json_lines_with_the_ending_of_json(self, tmp_path):
        content = "".join(json.dumps(row) + "\n" for row in FAQ)
        found, notes = read_with_notes(write(tmp_path / "x.json", content), **PAIR)
        assert found == EXPECTED
        assert notes == ["each line is a JSON object."]
        name = write(tmp_path / "y.json", '{"text": "b"} {"text": "c"}')
        with pytest.raises(
            InputError, match="trailing garbage.*; expected one JSON value: if each line is a JSON"
        ):
            read(name)

    def test_standard_input(self, tmp_path, monkeypatch):
        for content in (json.dumps(FAQ), json.dumps({"faqs": FAQ}, indent=1)):
            monkeypatch.setattr("sys.stdin", stream_of(content.encode()))
            assert read("-", **PAIR) == EXPECTED
        monkeypatch.setattr("sys.stdin", stream_of(b"[solved] hello\n"))
        assert [text for _, text, _ in read("-")] == ["[solved] hello"]

    def test_bad_elements_are_reported_with_their_number(self, tmp_path):
        content = '[{"id": 1, "text": "a"}, 7, [], {"id": 3, "text": "c"}]'
        name = write(tmp_path / "x.json", content)
        problems = []
        assert [i for i, _, _ in read(name, on_problem=problems.append)] == ["1", "3"]
        assert [(each.line, each.problem) for each in problems] == [
            (2, "found a JSON int; expected an object or a text"),
            (3, "found a JSON list; expected an object or a text"),
        ]
        with pytest.raises(
            RecordError, match="line 2: found a JSON int.*: skip such records with on_problem"
        ):
            read(name)
        name = write(tmp_path / "y.json", '{"a": "b", "c": 5}')
        with pytest.raises(
            RecordError, match="line 2: the value of 'c' is a JSON int; expected a text or"
        ):
            read(name, text_fields=["value"])

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ('[{"text": "a"}', "is not JSON .*premature EOF.*after 1 records; expected one JSON value"),
            ('[{"text": "a"},]', "is not JSON .*unallowed token.*after 1 records"),
            (b'[{"text": "caf\xe9"}]', "invalid bytes in UTF8.*: name the file's encoding, as encoding='auto'"),
            ('[{"text": NaN}]', "is not JSON"),
            ("7", "is a JSON number; expected a list of objects, or an object of texts"),
            ('[{"text": "a", "n": ' + "1" * 5000 + "}]", "a number that is too large .*integer overflow., after 0 records"),
            ('[{"text": "a"}, 1e999]', "a number that is too large.*, after 1 records; expected integers below 2"),
            ('[{"text": ' + "[" * 200 + "]" * 200 + "}]", "nested deeper than 100 levels"),
            ("", "has no documents"),
            ("[]", "has no documents"),
        ],
    )  # fmt: skip
    def test_a_file_that_is_not_json(self, tmp_path, content, problem):
        with pytest.raises(InputError, match=problem):
            read(write(tmp_path / "x.json", content))

    @pytest.mark.parametrize("ending", ["json", "jsonl"])
    def test_the_depth_of_a_record_is_bounded(self, tmp_path, ending):
        for depth, problem in (
            (90, None),
            (91, " line 1: the metadata of '1' is nested deeper than 90 levels"),
            (100, " line 1: the metadata of '1' is nested deeper than 90 levels"),
            (101, "is nested deeper than 100 levels"),
        ):
            inner = "[" * (depth - 1) + "]" * (depth - 1)
            row = f'{{"id": "1", "text": "a", "m": {inner}}}'
            name = write(tmp_path / f"x.{ending}", f"[{row}]" if ending == "json" else f"{row}\n")
            if problem is None:
                assert len(read(name)) == 1
                continue
            with pytest.raises(InputError, match=problem):
                read(name)

    def test_the_length_of_a_record_is_bounded(self, tmp_path):
        rows = [{"text": "a" * 900}, {"text": "b" * 100_000}]
        name = write(tmp_path / "x.json", json.dumps(rows * 3))
        with pytest.raises(RecordError, match="line 2: the record has more than 1000 bytes"):
            read(name, max_record_bytes=1000)
        assert len(read(name, max_record_bytes=100_100)) == 6

    def test_a_large_file_is_read_as_a_stream(self, tmp_path):
        path = tmp_path / "x.json"
        with path.open("w") as file:
            file.write("[")
            file.writelines(json.dumps({"id": i, "text": "x" * 3000}) + "," for i in range(2000))
            file.write('{"id": "last", "text": "y"}]')
        next(iter(DocumentReader([str(path)])))  # imports what reads it
        tracemalloc.start()
        try:
            count = sum(1 for _ in DocumentReader([str(path)]))
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
        assert count == 2001
        assert peak < path.stat().st_size / 5


ROWS = [("1", "hello there, you", {}), ("2", "good day", {})]


class TestTables:
    @pytest.mark.parametrize(
        ("content", "note"),
        [
            ("id\ttext\n1\thello there, you\n2\tgood day\n", "the fields are separated by tabs."),
            ("id|text\n1|hello there, you\n2|good day\n", "the fields are separated by bars."),
            ("sep=;\nid;text\n1;hello there, you\n2;good day\n", "the fields are separated by ';', as its first line says."),
            ('\ufeffsep=,\r\nid,text\r\n1,"hello there, you"\r\n2,good day\r\n',
             "the fields are separated by ',', as its first line says."),
            ('ID,Text\n1,"hello there, you"\n2,good day\n',
             "the column 'ID' is read as 'id'; the column 'Text' is read as 'text'."),
            (' id , text \n1,"hello there, you"\n2,good day\n',
             "the column ' id ' is read as 'id'; the column ' text ' is read as 'text'."),
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("packed", ["", ".gz", ".zip"])
    def test_forms_that_are_recognised(self, tmp_path, content, note, packed):
        raw = content.encode()
        raw = {"": raw, ".gz": gzip.compress(raw), ".zip": zipped("x.csv", raw)}[packed]
        found, notes = read_with_notes(write(tmp_path / f"x.csv{packed}", raw))
        assert found == ROWS
        assert notes == [note]

    def test_names_that_could_be_two_columns_stay(self, tmp_path):
        found = read(write(tmp_path / "x.csv", "id,text,Text, a ,a\n1,x,y,2,3\n"))
        assert found == [("1", "x", {"Text": "y", " a ": "2", "a": "3"})]
        with pytest.raises(RecordError, match="no field 'text', found 'id' .*, 'Text' .*, 'TEXT' "):
            read(write(tmp_path / "x.csv", "id,Text,TEXT\n1,x,y\n"))

    def test_a_table_without_header(self, tmp_path):
        name = write(
            tmp_path / "x.csv", '"3","Stocks fall","Prices fell."\n"4","Rain","It rains."\n'
        )
        expected = [
            ("3", "Stocks fall\n\nPrices fell."), ("4", "Rain\n\nIt rains."),
        ]  # fmt: skip
        found = read(name, header=False, id_field="column1", text_fields=["column2", "column3"])
        assert [row[:2] for row in found] == expected
        names = {"id_field": "label", "text_fields": ["title", "body"]}
        options = {"column_names": ["label", "title", "body"], **names}
        assert [row[:2] for row in read(name, header=False, **options)] == expected
        assert [row[:2] for row in read(name, **options)] == expected[1:]
        with pytest.raises(
            RecordError, match="line 1: found 3 columns; expected 2, one for each name"
        ):
            read(name, header=False, column_names=["id", "text"])
        reader = DocumentReader([name], header=False, **options)
        list(reader)
        assert reader.choices == {"header": False, **options}
        assert list(DocumentReader([name], **reader.choices)) == list(reader)

    def test_quote_and_delimiter_that_are_given(self, tmp_path):
        name = write(tmp_path / "x.csv", "id,text\n1,'hello there, you'\n2,5\" nails\n")
        assert read(name, quote="'") == [("1", "hello there, you", {}), ("2", '5" nails', {})]
        name = write(tmp_path / "y.csv", 'id~text\n1~"hello\n')
        assert read(name, quote="none", delimiter="~") == [("1", '"hello', {})]
        name = write(tmp_path / "z.tsv", 'id\ttext\n1\t"a\tb"\n')
        assert read(name, quote='"') == [("1", "a\tb", {})]
        name = write(tmp_path / "w.csv", "id,x\ttext\n1,x\ta\n")
        assert read(name, delimiter="tab", id_field="id,x") == [("1,x", "a", {})]

    @pytest.mark.parametrize(
        ("options", "problem"),
        [
            ({"delimiter": ";;"}, "the delimiter is ';;'; expected one character, or tab"),
            ({"quote": ""}, "the quote is ''; expected one character, or none"),
            ({"column_names": ["a", "a"]}, "expected a different name for each column"),
            ({"column_names": []}, "expected a different name for each column"),
            ({"column_names": "ab"}, "expected a different name for each column"),
        ],
    )
    def test_wrong_options(self, options, problem):
        with pytest.raises(ConfigError, match=problem):
            DocumentReader(["x.csv"], **options)

    @pytest.mark.parametrize(
        ("count", "more"), [(30, ""), (31, " and 1 more"), (40, " and 10 more")]
    )
    def test_thirty_fields_are_named_and_the_others_counted(self, tmp_path, count, more):
        columns = ",".join(f"c{n}" for n in range(count))
        name = write(tmp_path / "x.csv", f"{columns}\n{columns}\n")
        shown = ", ".join(f"'c{n}' (text 'c{n}')" for n in range(30))
        with pytest.raises(RecordError) as refused:
            read(name)
        assert str(refused.value).startswith(
            f"{name} line 2: no field 'text', found {shown}{more}; expected the fields of id and text"
        )

    def test_a_ragged_row_among_good_ones_names_the_way_to_skip_it(self, tmp_path):
        name = write(tmp_path / "x.csv", "id,text\n1,a\n2,b,c\n3,d\n")
        with pytest.raises(
            RecordError,
            match=r"line 3: found 3 columns; expected 2 as in the first row: skip such records",
        ):
            read(name)
        problems = []
        assert [i for i, _, _ in read(name, on_problem=problems.append)] == ["1", "3"]
        assert problems[0].problem == "found 3 columns; expected 2 as in the first row"
        with pytest.raises(RecordError, match=r"expected 2 as in the first row$"):
            read(write(tmp_path / "y.csv", "id,text\n2,b,c\n"))


def workbook(**sheets):
    from openpyxl import Workbook

    book = Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


class TestSpreadsheets:
    @pytest.fixture(autouse=True)
    def _needs_openpyxl(self):
        pytest.importorskip("openpyxl", reason='pip install ".[test]"')

    def test_without_openpyxl_it_is_said_what_to_install(self, tmp_path, monkeypatch):
        path = write(tmp_path / "a.xlsx", workbook(A=[["text"], ["a visa"]]))
        monkeypatch.setitem(sys.modules, "openpyxl", None)
        with pytest.raises(MissingExtraError) as caught:
            read(path)
        assert (caught.value.feature, caught.value.extra) == ("reading .xlsx", "excel")

    def test_a_sheet(self, tmp_path):
        import datetime

        rows = [
            (), ("ID", "text", "year", None, "day"), (1, "Wo ist die Bank?", 2024, None, datetime.date(2024, 1, 2)), (),
            ("b", "银行在哪里?", None, None, None),
        ]  # fmt: skip
        content = workbook(FAQ=rows, Notes=[("nothing",)])
        expected = [
            ("1", "Wo ist die Bank?", {"year": 2024, "day": "2024-01-02T00:00:00"}),
            ("b", "银行在哪里?", {}),
        ]
        found, notes = read_with_notes(write(tmp_path / "x.xlsx", content))
        assert found == expected
        assert notes == [
            "the sheet 'FAQ' is read; not read: 'Notes'; the column 'ID' is read as 'id'."
        ]
        assert read(write(tmp_path / "x.xlsx.gz", gzip.compress(content))) == expected
        assert read(write(tmp_path / "x.xlsx.zip", zipped("x.xlsx", content))) == expected

    def test_another_sheet_and_no_header(self, tmp_path):
        name = write(tmp_path / "x.xlsx", workbook(A=[("x",)], B=[("one", 1), ("two", 2)]))
        found = read(name, table="B", header=False, column_names=["text", "n"])
        assert [row[1:] for row in found] == [("one", {"n": 1}), ("two", {"n": 2})]
        with pytest.raises(InputError, match="has no sheet 'C'; expected one of 'A', 'B'"):
            read(name, table="C")

    def test_what_is_wrong(self, tmp_path):
        with pytest.raises(RecordError, match="line 2: the cell in column 2 has no name"):
            read(write(tmp_path / "x.xlsx", workbook(A=[("text",), ("a", "lost")])))
        with pytest.raises(InputError, match="is not an .xlsx file"):
            read(write(tmp_path / "x.xlsx", b"nothing"))
        content = workbook(A=[("text",), ("a",)])
        with pytest.raises(InputError, match="is not a complete zip file"):
            read(write(tmp_path / "x.xlsx", content[: len(content) // 2]))
        with pytest.raises(InputError, match="is not an .xlsx file"):
            read(write(tmp_path / "x.xlsx", zipped("[Content_Types].xml", b"nothing")))

    def test_a_file_that_unpacks_to_too_much_is_not_read(self, tmp_path, monkeypatch):
        monkeypatch.setattr("gem_index.readers.spreadsheets._LARGEST", 1000)
        with pytest.raises(
            InputError, match="bytes unpacked; expected at most 1,000: save it as CSV"
        ):
            read(write(tmp_path / "x.xlsx", workbook(A=[("text",), ("a",)])))


POSTS = """<?xml version="1.0" encoding="utf-8"?>
<posts>
  <row Id="1" PostTypeId="1" AcceptedAnswerId="3" CreationDate="2021-01-03T10:00:00.000" Score="-4" ViewCount="9"
    Body="&lt;p&gt;Wie lange?&lt;/p&gt;" Title="Dried hops &amp; yeast" Tags="&lt;hops&gt;&lt;home-brew&gt;"
    AnswerCount="2" />
  <row Id="2" PostTypeId="2" ParentId="1" Score="7" Body="&lt;p&gt;一年&lt;/p&gt;" />
  <row Id="3" PostTypeId="2" ParentId="1" Score="6" Body="&lt;p&gt;Longer&#xA;than that&lt;/p&gt;" />
  <row Id="4" PostTypeId="4" Body="a wiki" />
  <row Id="5" PostTypeId="1" Score="5" Body="&lt;p&gt;How?&lt;/p&gt;" Title="Bread" Tags="|bread|yeast|" />
</posts>
"""


class TestPosts:
    @pytest.mark.parametrize("packed", [False, True])
    def test_questions_and_answers(self, tmp_path, packed):
        raw = POSTS.encode()
        name = write(tmp_path / f"Posts.xml{'.gz' * packed}", gzip.compress(raw) if packed else raw)
        assert read(name, clean=["html"]) == [
            ("1", "Dried hops & yeast\n\nWie lange?", {
                "type": "question", "title": "Dried hops & yeast", "tags": ["hops", "home-brew"], "accepted_answer": "3",
                "created": "2021-01-03T10:00:00.000", "score": -4, "answers": 2, "views": 9,
            }),
            ("2", "一年", {"type": "answer", "question": "1", "accepted": False, "score": 7}),
            ("3", "Longer than that", {"type": "answer", "question": "1", "accepted": True, "score": 6}),
            ("5", "Bread\n\nHow?", {"type": "question", "title": "Bread", "tags": ["bread", "yeast"], "score": 5}),
        ]  # fmt: skip

    DUMP = "the file Posts.xml of a Stack Exchange data dump"
    UNDAMAGED = "the undamaged file Posts.xml of a Stack Exchange data dump"

    @pytest.mark.parametrize(
        ("content", "problem"),
        [
            ("<posts></posts>", f" has no post; expected {DUMP}"),
            ('<users><row Id="1"/></users>', f" has no post; expected {DUMP}"),
            (POSTS[:300], f" is not XML (unclosed token, line 6); expected {UNDAMAGED}"),
            ("hello", f" is not XML (syntax error, line 1); expected {UNDAMAGED}"),
            (
                '<!DOCTYPE a [<!ENTITY b "c">]><posts/>',
                f" has a document type, which can define entities without bounds; expected {DUMP}, which has none",
            ),
            (
                '<p><row PostTypeId="1" Body="x"/></p>',
                " line 1: the post has no Id; expected one",
            ),
        ],
    )
    def test_what_is_wrong(self, tmp_path, content, problem):
        name = write(tmp_path / "Posts.xml", content)
        with pytest.raises(InputError) as refused:
            read(name)
        assert str(refused.value) == f"{name}{problem}"

    def test_a_post_that_is_too_long(self, tmp_path):
        content = f'<posts>\n<row Id="1" PostTypeId="1" Body="{"x" * 300_000}"/></posts>'
        name = write(tmp_path / "Posts.xml", content)
        with pytest.raises(RecordError, match="line 2: the post has more than 1000 bytes"):
            read(name, max_record_bytes=1000)
        assert len(read(name)[0][1]) == 300_000


def test_the_same_records_in_every_format_are_the_same_documents(tmp_path):
    """Also of a long text, and read twice."""
    rows = [
        {"id": "long", "text": "Wort " * 5000}, {"id": "de", "text": "Straße"}, {"id": "zh", "text": "银行在哪里"},
        {"id": "ar", "text": "أين المصرف؟"},
    ]  # fmt: skip
    table = "id,text\n" + "".join(f"{row['id']},{row['text']}\n" for row in rows)
    names = [
        write(tmp_path / "a.jsonl", "".join(json.dumps(row) + "\n" for row in rows)),
        write(tmp_path / "a.json", json.dumps(rows)),
        write(tmp_path / "b.json", json.dumps({"all": rows})),
        write(tmp_path / "a.csv", table),
        write(tmp_path / "b.csv", table.replace(",", "|")),
        write(tmp_path / "a.tsv", table.replace(",", "\t")),
    ]
    expected = [(row["id"], row["text"].strip(), {}) for row in rows]
    for name in itertools.chain(names, names):
        assert [(i, text.strip(), m) for i, text, m in read(name)] == expected


@pytest.mark.parametrize("length", [100, (1 << 20) + 100])
def test_parts_have_each_line_once_beside_one_that_is_too_long(tmp_path, length):
    """The part with the long line ends where the next part begins, also if the line is read in several steps."""
    lines = [b"first\n", b"x" * length + b"\n", b"third\n", b"fourth\n"]
    name = write(tmp_path / "x.txt", b"".join(lines))
    edge = sum(map(len, lines[:2]))
    found, problems = [], []
    for part in (Part(0, edge), Part(edge, edge + 6, 2), Part(edge + 6, None, 3)):
        options = {"max_record_bytes": 50, "part": part, "on_problem": problems.append}
        found.append([document.text for document in DocumentReader([name], **options)])
    assert found == [["first"], ["third"], ["fourth"]]
    assert list(map(str, problems)) == [
        f"{name} line 2: the line has {length + 1} bytes; expected at most 50: split it, or raise "
        "GEM_INDEX_MAX_RECORD_BYTES"
    ]
