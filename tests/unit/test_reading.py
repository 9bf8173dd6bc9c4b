"""Reading documents from files, and the errors for bad records."""

import csv
import gzip
import io
import json
import os
import sys
import threading
import zipfile

import pytest

from gem_index.documents import Document, text_id
from gem_index.errors import ConfigError, DuplicateIdError, InputError, RecordError
from gem_index.readers import DocumentReader
from gem_index.readers.formats import format_of_beginning, read_json_lines, read_lines, read_objects
from gem_index.readers.parts import Part

ROWS = [
    {"id": "a", "text": "first", "lang": "en"},
    {"id": 2, "text": "zwei\nLinien \u00fc", "lang": "de"},
]


def write(path, content):
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def read(*names, **options):
    return [(d.id, d.text, dict(d.metadata)) for d in DocumentReader(names, **options)]


EXPECTED = [("a", "first", {"lang": "en"}), ("2", "zwei\nLinien \u00fc", {"lang": "de"})]


class TestFormats:
    @pytest.mark.parametrize("ending", ["\n", "\r\n"])
    def test_json_lines(self, tmp_path, ending):
        content = ending.join(json.dumps(row) for row in ROWS) + ending + ending
        assert read(write(tmp_path / "x.jsonl", content)) == EXPECTED
        assert read(write(tmp_path / "x.ndjson", b"\xef\xbb\xbf" + content.encode())) == EXPECTED

    def test_csv_with_quotes_and_line_ends_in_fields(self, tmp_path):
        content = 'id,text,lang\r\na,first,en\r\n2,"zwei\nLinien \u00fc",de\r\n'
        assert read(write(tmp_path / "x.csv", content)) == EXPECTED

    def test_csv_with_semicolons(self, tmp_path):
        content = '\ufeff\r\nid;text;lang\r\na;first;en\r\n2;"zwei\nLinien \u00fc";de\r\n'
        assert read(write(tmp_path / "x.csv", content)) == EXPECTED
        rows = 'id,text\n1,"one; two"\n2,three; four\n'
        assert read(write(tmp_path / "y.csv", rows)) == [
            ("1", "one; two", {}),
            ("2", "three; four", {}),
        ]
        quoted = 'id;text;"language, or country"\na;first;en\n'
        assert read(write(tmp_path / "z.csv", quoted)) == [
            ("a", "first", {"language, or country": "en"})
        ]
        one = '"text","b;c"\none; two,3\n'
        assert [text for _, text, _ in read(write(tmp_path / "w.csv", one))] == ["one; two"]
        with pytest.raises(RecordError, match="line 2: found 2 columns; expected 3"):
            read(write(tmp_path / "x.csv", "id;text;lang\n1;a\n"))

    def test_tsv_takes_quotes_as_they_are(self, tmp_path):
        content = 'id\ttext\n1\tthe "best" bank\n2\t"\n'
        assert read(write(tmp_path / "x.tsv", content)) == [
            ("1", 'the "best" bank', {}),
            ("2", '"', {}),
        ]

    def test_text_is_a_document_a_line_named_by_its_content(self, tmp_path):
        name = write(tmp_path / "x.txt", "one\n\n  two \nthree")
        assert read(name) == [
            (text_id("one"), "one", {}),
            (text_id("two"), "two", {}),
            (text_id("three"), "three", {}),
        ]
        assert list(DocumentReader([name]).texts()) == ["one", "", "two", "three"]

    def test_parquet(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [{"id": str(row["id"]), **{k: row[k] for k in ("text", "lang")}} for row in ROWS]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
        assert read(str(tmp_path / "x.parquet")) == EXPECTED
        with pytest.raises(InputError, match="is not Parquet"):
            read(write(tmp_path / "y.parquet", b"nothing at all"))

    def test_parquet_values_of_every_kind(self, tmp_path):
        import datetime
        import decimal

        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {
            "text": pa.array(["a", "b"]),
            "bytes": pa.array([b"caf\xc3\xa9", b"\xff"], pa.binary()),
            "price": pa.array([decimal.Decimal("1.50"), decimal.Decimal("2.00")]),
            "took": pa.array([datetime.timedelta(seconds=90), None], pa.duration("s")),
            "day": pa.array([datetime.date(2020, 1, 2), None]),
            "at": pa.array([0, 2**60], pa.timestamp("us")),
            "nan": pa.array([float("nan"), 1.5]),
            "deep": pa.array([[{"x": b"y"}], None]),
        }
        pq.write_table(pa.table(columns), tmp_path / "x.parquet", store_schema=False)
        problems = []
        reader = DocumentReader([str(tmp_path / "x.parquet")], on_problem=problems.append)
        (document,) = list(reader)
        assert dict(document.metadata) == {
            "bytes": "caf\u00e9", "price": 1.5, "took": 90.0, "day": "2020-01-02",
            "at": "1970-01-01T00:00:00", "nan": None, "deep": [{"x": "y"}],
        }  # fmt: skip
        assert problems[0].line == 2
        assert "the field 'bytes' of type binary has an unsupported value" in str(problems[0])

    def test_packed_parquet_and_a_blank_line_in_a_table(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        rows = [{"id": str(row["id"]), **{k: row[k] for k in ("text", "lang")}} for row in ROWS]
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "x.parquet")
        packed = gzip.compress((tmp_path / "x.parquet").read_bytes())
        assert read(write(tmp_path / "x.parquet.gz", packed)) == EXPECTED
        assert read(write(tmp_path / "x.csv", "id,text\n\n1,a\n\n")) == [("1", "a", {})]

    def test_parquet_of_uuids(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        storage = pa.array([bytes(16)], pa.binary(16))
        table = pa.table({"text": ["a"], "key": pa.ExtensionArray.from_storage(pa.uuid(), storage)})
        pq.write_table(table, tmp_path / "x.parquet")
        key = "00000000-0000-0000-0000-000000000000"
        assert read(str(tmp_path / "x.parquet")) == [
            (Document.without_id("x", "a", {"key": key}).id, "a", {"key": key})
        ]

    def test_a_line_of_a_table_that_is_too_long_stops_it_whatever_is_skipped(self, tmp_path):
        name = write(tmp_path / "x.csv", "id,text\n1," + "x" * 5000 + "\n2,fine\n")
        with pytest.raises(RecordError, match="line 2: the line has 5003 bytes; expected at most"):
            read(name, max_record_bytes=2000, on_problem=print)

    def test_values_of_lines_that_are_too_long_or_no_text(self, tmp_path):
        name = write(tmp_path / "x.jsonl", b'{"a": 1}\n"' + b"x" * 5000 + b'"\n')
        values = read_json_lines(name, 2000)
        assert next(values) == (1, {"a": 1})
        with pytest.raises(RecordError, match="line 2: the line has 5003 bytes"):
            next(values)

    def test_texts_of_an_empty_file(self, tmp_path):
        with pytest.raises(InputError, match="is empty; expected at least one text"):
            list(DocumentReader([write(tmp_path / "x.txt", "")]).texts())

    def test_a_file_that_changes_before_it_is_read_again_keeps_the_first_error(self, tmp_path):
        name = write(tmp_path / "x.jsonl", '{"id": "a", "text": "x"}\n')
        with pytest.raises(DuplicateIdError), DocumentReader([name]).naming_duplicates():
            raise DuplicateIdError("a")

    def test_zip_files_with_damaged_headers(self, tmp_path):
        import zipfile

        path = tmp_path / "x.jsonl.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("x.jsonl", '{"text": "a visa"}\n' * 3)
        whole = path.read_bytes()
        refused = 0
        for place in range(len(whole)):
            for value in (0x00, 0xFF):
                path.write_bytes(whole[:place] + bytes([value]) + whole[place + 1 :])
                try:
                    assert len(read(str(path))) == 3
                except InputError as error:
                    assert "\n" not in str(error)  # noqa: PT017 - one of many
                    refused += 1
        assert refused > 50

    def test_gzip(self, tmp_path):
        packed = gzip.compress("\n".join(json.dumps(row) for row in ROWS).encode())
        assert read(write(tmp_path / "x.jsonl.gz", packed)) == EXPECTED
        with pytest.raises(InputError, match="cannot be read to its end"):
            read(write(tmp_path / "y.jsonl.gz", packed[:-12]))

    @pytest.mark.parametrize("name", ["faq.zip", "faq.jsonl.zip", "FAQ.ZIP"])
    def test_one_file_in_a_zip_file_whatever_its_name(self, tmp_path, name):
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            for folder in ("a folder/", "b/"):
                archive.writestr(folder, "")
            archive.writestr("a folder/faq.jsonl", "\n".join(json.dumps(row) for row in ROWS))
            archive.writestr("__MACOSX/._faq.jsonl", "metadata")
        assert read(tmp_path / name) == EXPECTED

    def test_a_zip_file_of_several_files_needs_a_name(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "faq.zip", "w") as archive:
            archive.writestr("a.jsonl", "{}")
            archive.writestr("b.jsonl", "{}")
        with pytest.raises(InputError, match=r"holds a\.jsonl, b\.jsonl; expected one of them"):
            read(tmp_path / "faq.zip")

    @pytest.mark.parametrize(
        ("content", "expected"),
        [
            ('{"id": 1, "text": "x"}\n', [("1", "x", {})]),
            ("x\ny\n", [(text_id("x"), "x", {}), (text_id("y"), "y", {})]),
        ],
    )
    def test_standard_input_is_recognised_by_its_first_byte(self, monkeypatch, content, expected):
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(content.encode())))
        monkeypatch.setattr(sys, "stdin", stdin)
        assert read("-") == expected
        assert not stdin.buffer.closed

    def test_format_overrides_the_name(self, tmp_path):
        name = write(tmp_path / "x.log", '{"text": "hi"}\n')
        assert read(name, format="jsonl") == [(text_id("hi"), "hi", {})]
        with pytest.raises(
            InputError, match=r"not of a known format; expected a name ending in \.jsonl"
        ):
            read(name)
        with pytest.raises(InputError, match="the format is 'xml'; expected one of jsonl"):
            read(name, format="xml")

    def test_several_text_fields_join_with_a_blank_line(self, tmp_path):
        name = write(
            tmp_path / "x.jsonl",
            '{"key": "q", "subject": "S", "body": "B", "n": 1}\n{"key": "r", "subject": null, "body": "only"}\n',
        )
        found = read(name, id_field="key", text_fields=["subject", "body"])
        assert found == [("q", "S\n\nB", {"n": 1}), ("r", "only", {})]

    def test_several_files_are_read_in_order(self, tmp_path):
        names = [write(tmp_path / "a.txt", "one\n"), write(tmp_path / "b.txt", "two\n")]
        assert [text for _, text, _ in read(*names)] == ["one", "two"]


BAD = [
    ("x.jsonl", '{"text": "a"}\n{"text": \n', 2, "not JSON at column"),
    ("x.jsonl", '["a"]\n', 1, "found a JSON list; expected one JSON object"),
    ("x.jsonl", '{"title": "a"}\n', 1, "no field 'text', found 'title'"),
    ("x.jsonl", '{"text": null}\n', 1, "the field 'text' is null; expected a string"),
    ("x.jsonl", '{"text": 5}\n', 1, "the field 'text' is 5; expected a string"),
    ("x.jsonl", '{"id": 1.5, "text": "a"}\n', 1, "the id is 1.5; expected a string or an integer"),
    ("x.jsonl", '{"id": null, "text": "a"}\n', 1, "the id is None"),
    ("x.jsonl", '{"id": true, "text": "a"}\n', 1, "the id is True"),
    ("x.jsonl", '{"id": "", "text": "a"}\n', 1, "the id has 0 characters"),
    ("x.jsonl", '{"text": "\\ud800"}\n', 1, "half of a surrogate pair"),
    ("x.jsonl", '{"id": "a", "text": "\\ud800"}\n', 1, "half of a surrogate pair"),
    ("x.jsonl", '{"text": "a", "x": NaN}\n', 1, "holds NaN, which is not JSON"),
    ("x.jsonl", b'{"text": "a"}\n{"text": "\xff"}\n', 2, "byte 11 is not UTF-8"),
    ("x.txt", b"fine\n\xe9t\xe9\n", 2, "byte 1 is not UTF-8"),
    ("x.txt", "x" * 5000 + "\nfine\n", 1, "the line has 5001 bytes; expected at most 2000"),
    ("x.csv", "id,text\n1,a,b\n", 2, "found 3 columns; expected 2"),
    ("x.csv", "id,text\n1\n", 2, "found 1 columns; expected 2"),
    ("x.csv", 'id,text\n1,"a"b\n', 2, "not a table row"),
    ("x.csv", b"id,text\n1,\xff\n", 2, "byte 3 is not UTF-8"),
    ("x.jsonl", "[" * 100_000 + "\n", 1, "expected"),
]


class TestBadRecords:
    @pytest.mark.parametrize(("name", "content", "line", "problem"), BAD)
    def test_is_named_by_file_and_line(self, tmp_path, name, content, line, problem):
        path = write(tmp_path / name, content)
        longest = 200_000 if "[[" in str(content) else 2000
        reader = DocumentReader([path], max_record_bytes=longest)
        for records in (reader, reader.rows()):
            with pytest.raises(RecordError) as caught:
                list(records)
            assert str(caught.value).startswith(f"{path} line {line}: ")
            assert problem in str(caught.value)
            assert caught.value.exit_status == 2

    def test_may_be_skipped_and_is_counted(self, tmp_path):
        content = (
            '{"text": "a"}\nnonsense\n{"id": 7, "text": "b"}\n' + "x" * 3000 + '\n{"text": "c"}\n'
        )
        problems = []
        reader = DocumentReader(
            [write(tmp_path / "x.jsonl", content)],
            on_problem=problems.append,
            max_record_bytes=2000,
        )
        assert [d.text for d in reader] == ["a", "b", "c"]
        assert reader.skipped == 2
        assert [problem.line for problem in problems] == [2, 4]

    def test_a_badly_encoded_row_is_a_bad_record_like_any_other(self, tmp_path):
        content = b'id,text\n1,good\n2,caf\xe9\n3,"two\nlines \xff"\n4,"fine, too"\n5,x,y\n6,"a"b\n7,last\n'
        for name, packed in (("x.csv", content), ("x.tsv", content.replace(b",", b"\t"))):
            problems = []
            reader = DocumentReader([write(tmp_path / name, packed)], on_problem=problems.append)
            found = {document.id: document.text for document in reader}
            assert {"1", "7"} <= set(found)
            assert "2" not in found
            assert problems[0].line == 3
            assert "byte 6 is not UTF-8; expected UTF-8 text" in str(problems[0])
            assert reader.skipped == len(problems)
            if name == "x.csv":
                assert found == {"1": "good", "4": "fine, too", "7": "last"}
                assert [problem.line for problem in problems] == [3, 5, 7, 8]
            with pytest.raises(RecordError, match="line 3: byte 6 is not UTF-8"):
                read(str(tmp_path / name))

    def test_a_header_that_cannot_be_read_stops_in_any_case(self, tmp_path):
        path = write(tmp_path / "x.csv", b"id,te\xffxt\n1,a\n")
        with pytest.raises(RecordError, match="line 1: byte 6 is not UTF-8"):
            list(DocumentReader([path], on_problem=print))

    @pytest.mark.parametrize("encoding", ["cp1252", "latin-1", "utf-16", "utf-16-le", "cp037"])
    def test_another_encoding(self, tmp_path, encoding):
        rows = 'id,text\n1,caf\u00e9 "\u00fc"\n2,visa\n'
        path = write(tmp_path / "x.csv", rows.encode(encoding))
        assert read(path, encoding=encoding) == [("1", 'caf\u00e9 "\u00fc"', {}), ("2", "visa", {})]
        packed = write(tmp_path / "x.csv.gz", gzip.compress(rows.encode(encoding)))
        assert read(packed, encoding=encoding) == read(path, encoding=encoding)

    def test_undecodable_bytes_are_a_bad_record(self, tmp_path):
        path = write(tmp_path / "x.txt", b"fine\nbad \x81 byte\nfine, too\n")
        problems = []
        reader = DocumentReader([path], encoding="cp1252", on_problem=problems.append)
        assert [document.text for document in reader] == ["fine", "fine, too"]
        assert "line 2: byte 5 is not cp1252; expected cp1252 text" in str(problems[0])
        for encoding in ("nonsense", "rot13", "base64", "idna", "quopri", "zip", ""):
            with pytest.raises(
                InputError, match=f"the encoding is '{encoding}'; expected one that"
            ):
                read(path, encoding=encoding)
        with pytest.raises(InputError, match="x.txt is not utf-16: .*[Ss]tream does not start"):
            read(path, encoding="utf-16")

    def test_nothing_but_bad_records(self, tmp_path):
        reader = DocumentReader([write(tmp_path / "x.jsonl", "1\n2\n")], on_problem=print)
        with pytest.raises(InputError, match="all 2 records were bad"):
            list(reader)

    def test_the_same_file_twice(self, tmp_path):
        name = write(tmp_path / "x.jsonl", '{"id": 1, "text": "a"}\n')
        problems = []
        reader = DocumentReader([name, name], on_problem=problems.append)
        assert [d.text for d in reader] == ["a"]
        reader = DocumentReader([name, name])
        assert [d.text for d in reader] == ["a", "a"]
        with (
            pytest.raises(
                RecordError, match="line 1: the id '1' came before in .*x.jsonl line 1"
            ) as e,
            reader.naming_duplicates(),
        ):
            raise DuplicateIdError("1")
        assert str(problems[0]) == str(e.value)

    def test_two_documents_of_one_id(self, tmp_path):
        content = '{"id": 1, "text": "a"}\n\n{"id": 2, "text": "c"}\n{"id": "1", "text": "b"}\n'
        reader = DocumentReader([write(tmp_path / "x.jsonl", content)])
        with (
            pytest.raises(RecordError, match="x.jsonl line 4: the id '1' came .*x.jsonl line 1;"),
            reader.naming_duplicates(),
        ):
            raise DuplicateIdError("1")
        with (
            pytest.raises(DuplicateIdError, match="'1' occurs twice"),
            DocumentReader(["-"]).naming_duplicates(),
        ):
            raise DuplicateIdError("1")

    def test_missing_id_field_that_was_asked_for(self, tmp_path):
        name = write(tmp_path / "x.jsonl", '{"id": 1, "text": "a"}\n')
        with pytest.raises(
            RecordError, match="no field 'key', found 'id' .*as id='id', text='text'"
        ):
            read(name, id_field="key")

    @pytest.mark.parametrize("content", ["", "\n\n", "\r\n"])
    @pytest.mark.parametrize("name", ["x.jsonl", "x.txt"])
    def test_empty_files(self, tmp_path, name, content):
        with pytest.raises(InputError, match="has no documents; expected at least one"):
            read(write(tmp_path / name, content))

    def test_missing_file_and_folder(self, tmp_path):
        with pytest.raises(InputError, match="no such file or directory; expected a readable file"):
            read(str(tmp_path / "none.jsonl"))
        with pytest.raises(InputError, match="is a directory"):
            read(str(tmp_path))

    def test_a_long_line_is_not_held_in_memory(self, tmp_path):
        import tracemalloc

        path = tmp_path / "x.txt"
        path.write_bytes(b"x" * 30_000_000)
        tracemalloc.start()
        with pytest.raises(RecordError, match="30000000 bytes"):
            read(str(path), max_record_bytes=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10_000_000


class TestDuplicates:
    ROWS = "".join(
        f'{{"id": {number}, "text": "{text}"}}\n'
        for number, text in [(1, "a"), (2, "b"), (1, "c"), (3, "d"), (1, "e"), (3, "f")]
    )

    @pytest.mark.parametrize(
        ("duplicates", "expected"),
        [("first", ["a", "b", "d"]), ("last", ["b", "e", "f"]), ("stop", list("abcdef"))],
    )
    def test_which_record_counts(self, tmp_path, duplicates, expected):
        notes = []
        reader = DocumentReader(
            [write(tmp_path / "x.jsonl", self.ROWS)], duplicates=duplicates, on_end=notes.extend
        )
        for _ in range(2):
            assert [d.text for d in reader] == expected
        told = f"3 records have the same id as another record; the {duplicates} record of each id is used."
        assert [str(each) for each in notes] == ([] if duplicates == "stop" else [told, told])

    @pytest.mark.parametrize("duplicates", ["first", "last"])
    def test_bad_records_do_not_count(self, tmp_path, duplicates):
        rows = f'{{"id": 1}}\n{self.ROWS}nonsense\n{{"id": 2, "text": 7}}\n'
        name = write(tmp_path / "x.jsonl", rows)
        problems = []
        reader = DocumentReader([name], duplicates=duplicates, on_problem=problems.append)
        assert len(list(reader)) == 3
        assert [problem.line for problem in problems] == [1, 8, 9]
        assert reader.skipped == 3
        with pytest.raises(RecordError, match="line 1: no field 'text'"):
            list(DocumentReader([name], duplicates=duplicates))

    def test_last_of_several_inputs_and_of_standard_input(self, tmp_path, monkeypatch):
        names = [
            write(tmp_path / "a.jsonl", self.ROWS),
            write(tmp_path / "b.csv", "id,text\n1,z\n"),
        ]
        assert [d.text for d in DocumentReader(names, duplicates="last")] == ["b", "f", "z"]
        stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(self.ROWS.encode())))
        monkeypatch.setattr(sys, "stdin", stdin)
        found = DocumentReader([names[1], "-"], duplicates="last")
        assert [d.text for d in found] == ["b", "e", "f"]

    def test_last_of_a_pipe(self, tmp_path):
        path = tmp_path / "x.jsonl"
        os.mkfifo(path)
        with pytest.raises(InputError, match="x.jsonl can be read only once; expected a file"):
            list(DocumentReader([str(path)], duplicates="last"))

    def test_they_can_be_stored(self, tmp_path, home):
        name = write(tmp_path / "x.jsonl", self.ROWS)
        home.build("c", DocumentReader([name], duplicates="last"))
        assert {d.id: d.text for d in home.collection("c").documents()} == {
            "1": "e",
            "2": "b",
            "3": "f",
        }

    def test_unknown_choice(self):
        with pytest.raises(ConfigError, match="duplicates is 'all'; expected one of stop, first"):
            DocumentReader([], duplicates="all")


@pytest.mark.parametrize("name", ["x.JSONL", "x.jsonl.GZ", "X.Ndjson"])
def test_the_case_of_an_ending_does_not_count(tmp_path, name):
    content = b'{"id": 1, "text": "a"}\n'
    packed = gzip.compress(content) if name.endswith("GZ") else content
    assert read(write(tmp_path / name, packed)) == [("1", "a", {})]


def test_lines_are_read_without_the_blanks_around_them(tmp_path):
    name = write(tmp_path / "x.txt", "  a b \r\n\n \tc\n")
    assert list(read_lines(name, 100)) == [(1, "a b"), (3, "c")]


@pytest.mark.parametrize(
    ("begin", "expected"),
    [
        (b"[{", "json"), (b"[ \n {", "json"), (b"{\n", "json"), (b"{ \r\n", "json"), (b'{"a": 1}', "jsonl"),
        (b"[1]", "txt"), (b"a", "txt"), (b"", "txt"),
    ],
)  # fmt: skip
def test_the_beginning_of_a_stream_tells_its_format(begin, expected):
    assert format_of_beginning(begin) == expected


class TestParts:
    def test_the_rows_of_a_part_of_parquet_have_their_numbers(self, tmp_path):
        import pyarrow as pa
        import pyarrow.parquet as pq

        table = pa.table({"id": ["a", "b", "c", "d"], "text": ["t", "u", None, "w"]})
        pq.write_table(table, tmp_path / "x.parquet", row_group_size=2)
        problems = []
        part = Part(1, 2, before=2)
        reader = DocumentReader(
            [str(tmp_path / "x.parquet")], part=part, on_problem=problems.append
        )
        assert [document.id for document in reader] == ["d"]
        assert [problem.line for problem in problems] == [3]

    @pytest.mark.parametrize("part", [Part(0, 10), Part(10, 12, 1)])
    def test_a_part_may_have_no_good_record(self, tmp_path, part):
        """Another part may have some: only a whole input without documents is an error."""
        name = write(tmp_path / "x.jsonl", '{"id": 1}\n\n\n{"id": 2, "text": "b"}\n')
        problems = []
        assert list(DocumentReader([name], part=part, on_problem=problems.append)) == []
        assert [problem.line for problem in problems] == ([1] if part.begin == 0 else [])
        with pytest.raises(InputError):
            list(DocumentReader([write(tmp_path / "y.jsonl", "\n\n")]))


def test_a_record_with_an_empty_text_is_a_document_and_an_empty_line_is_none(tmp_path):
    records = write(tmp_path / "x.jsonl", '{"id": 1, "text": ""}\n{"id": 2, "text": "a"}\n')
    assert read(records) == [("1", "", {}), ("2", "a", {})]
    lines = write(tmp_path / "x.txt", "a\n\nb\n")
    assert [document.text for document in DocumentReader([lines])] == ["a", "b"]


class TestCleaning:
    def test_fields_are_cleaned_before_they_are_stored(self, tmp_path, home):
        rows = [
            {"id": 1, "subject": "Caf&eacute;", "body": "<p>one</p><p>two</p>", "note": "<b>x</b>"},
            {"id": 2, "subject": "a < b", "body": None, "note": 1},
        ]
        name = write(tmp_path / "x.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        notes = []
        reader = DocumentReader(
            [name], text_fields=["subject*2", "body"], clean=["html"], on_end=notes.extend
        )
        home.build("c", reader)
        first, second = home.collection("c").documents()
        assert first.text == "Caf\u00e9\n\none\n\ntwo"
        assert first.text.weights == ((6, 2.0), (8, 1.0))
        assert first.metadata == {"note": "<b>x</b>"}
        assert second.text == "a < b"
        (hit,) = home.collection("c").search("two", k=1, mode="lexical")
        assert hit.text[hit.text.index("two") :] == "two"  # offsets are those of the stored text
        assert [str(each) for each in notes] == ["cleaning (html) changed 1 of 2 texts."]
        kept = home.collection("c").reading
        assert kept == {"text_fields": ["subject*2", "body"], "clean": ["html"]}
        assert home.collection("c").upsert(DocumentReader([name], **kept)).unchanged == 2

    def test_texts_are_cleaned_in_their_order(self, tmp_path):
        name = write(tmp_path / "x.txt", "<b>a</b>\n\nplain\n")
        assert list(DocumentReader([name], clean=["auto"]).texts()) == ["a", "", "plain"]

    def test_html_that_is_left_after_another_cleaning_is_not_told(self, tmp_path):
        name = write(tmp_path / "x.txt", "<b>a</b>\nb\n")
        notes = []
        list(DocumentReader([name], clean=["quotes"], on_end=notes.extend))
        assert [str(each) for each in notes] == ["cleaning (quotes) changed 0 of 2 texts."]

    def test_a_record_without_a_text_is_no_text_of_the_notes(self, tmp_path):
        name = write(tmp_path / "x.jsonl", '{"text": "<b>a</b>"}\n{"id": 2}\n{"text": null}\n')
        for clean, told in (
            (["html"], "cleaning (html) changed 1 of 1"),
            ([], "1 of 1 texts look"),
        ):
            notes, skipped = [], []
            list(
                DocumentReader([name], clean=clean, on_problem=skipped.append, on_end=notes.extend)
            )
            assert (len(skipped), len(notes)) == (2, 1)
            assert str(notes[0]).startswith(told)

    def test_html_that_stays_is_told(self, tmp_path):
        name = write(tmp_path / "x.txt", "<b>a</b>\na < b\nI&#39;m\n")
        notes = []
        found = DocumentReader([name], on_end=notes.extend)
        assert [d.text for d in found] == ["<b>a</b>", "a < b", "I&#39;m"]
        assert len(notes) == 1
        assert str(notes[0]).startswith("2 of 3 texts look like HTML and are used as they are")


class TestHostileFiles:
    @pytest.mark.parametrize("how", ["grown", "replaced", "touched", "removed"])
    def test_a_file_that_changes_while_it_is_read(self, tmp_path, home, how):
        path = tmp_path / "x.jsonl"
        write(path, "".join(f'{{"id": {i}, "text": "tea {i}"}}\n' for i in range(5)))

        def documents():
            for document in DocumentReader([str(path)]):
                yield document
                if document.id == "2":
                    if how == "grown":
                        path.write_bytes(path.read_bytes() + b'{"id": 9, "text": "late"}\n')
                    elif how == "replaced":
                        write(tmp_path / "y", path.read_bytes())
                        (tmp_path / "y").replace(path)
                    elif how == "touched":
                        os.utime(path, ns=(0, path.stat().st_mtime_ns ^ 1))
                    else:
                        path.unlink()

        home.create_collection("c")
        with pytest.raises(
            InputError, match=r"x\.jsonl changed while it was read; expected a file"
        ):
            home.collection("c").upsert(documents())
        assert home.collection("c").status().documents == 0

    def test_between_the_two_readings_for_the_last_of_an_id(self, tmp_path):
        path = tmp_path / "x.jsonl"
        write(path, '{"id": 1, "text": "a"}\n{"id": 2, "text": "b"}\n')
        reader = DocumentReader([str(path)], duplicates="last")
        first = reader._last_records

        def then_changed():
            found = first()
            write(path, '{"id": 3, "text": "a"}\n{"id": 2, "text": "b"}\n')
            return found

        reader._last_records = then_changed
        with pytest.raises(InputError, match="changed while it was read"):
            list(reader)

    def test_a_stream_may_grow(self, tmp_path):
        path = tmp_path / "x.txt"
        os.mkfifo(path)
        writer = threading.Thread(target=path.write_bytes, args=(b"one\ntwo\n",))
        writer.start()
        assert [text for _, text, _ in read(str(path))] == ["one", "two"]
        writer.join()

    @pytest.mark.parametrize("name", ["x.jsonl.gz", "x.csv.gz", "x.txt.gz"])
    def test_a_bomb_is_not_held_in_memory(self, tmp_path, name):
        import tracemalloc

        path = tmp_path / name
        with gzip.open(path, "wb", compresslevel=1) as file:
            for _ in range(100):
                file.write(b" " * (1 << 20))
        assert path.stat().st_size < 1_000_000
        tracemalloc.start()
        with pytest.raises(
            RecordError, match="line 1: the line has 104857600 bytes; expected at most"
        ):
            read(str(path), max_record_bytes=1_000_000)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 10_000_000

    def test_a_long_field_of_a_table(self, tmp_path):
        before = csv.field_size_limit(131_072)  # as in a new process
        try:
            long = "word " * 200_000
            path = write(tmp_path / "x.csv", f'id,text\n1,"{long}"\n2,"{long}\nmore"\n')
            assert [len(text) for _, text, _ in read(path)] == [1_000_000, 1_000_005]
            lines = "\n".join(["x" * 99_999] * 50)  # each of them short
            with pytest.raises(
                RecordError, match=r"a field has more than \d+ characters; expected"
            ):
                read(write(tmp_path / "y.csv", f'id,text\n1,"{lines}"\n'))
        finally:
            csv.field_size_limit(before)

    def test_a_quote_that_never_ends(self, tmp_path):
        rows = 'id,text\n1,"' + "x\n" * 400_000
        with pytest.raises(RecordError, match="not a table row"):
            read(write(tmp_path / "x.csv", rows))

    def test_a_link_to_itself(self, tmp_path):
        path = tmp_path / "x.jsonl"
        path.symlink_to(path)
        with pytest.raises(InputError, match="cannot read .*x.jsonl: .*[Tt]oo many levels"):
            list(DocumentReader([str(path)], on_problem=print))

    def test_a_folder_whose_name_has_no_format(self, tmp_path):
        with pytest.raises(InputError, match="is a directory"):
            list(DocumentReader([str(tmp_path)], on_problem=print))


def test_read_objects(tmp_path):
    name = write(tmp_path / "x.jsonl", '{"a": 1}\n\n{"b": 2}\n')
    assert list(read_objects(name, 1000)) == [(1, {"a": 1}), (3, {"b": 2})]
    with pytest.raises(RecordError, match="line 1"):
        list(read_objects(write(tmp_path / "y.jsonl", "1\n"), 1000))


class TestDocument:
    def test_metadata_is_canonical(self):
        a = Document(id=1, text="t", metadata={"b": 1, "a": {"x": [None, True]}})
        b = Document(id="1", text="t", metadata={"a": {"x": [None, True]}, "b": 1})
        assert a.id == "1"
        assert a.metadata_json == '{"a":{"x":[null,true]},"b":1}'
        assert a.content_hash == b.content_hash
        assert a.content_hash != Document(id="1", text="t", metadata={}).content_hash

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"id": b"x", "text": "t"}, "the id is b'x'"),
            ({"id": "x" * 513, "text": "t"}, "has 513 characters"),
            ({"id": "x", "text": None}, "the text of 'x' is null"),
            ({"id": "x", "text": ["t"]}, "the text of 'x' is a list"),
            ({"id": "x", "text": "t", "metadata": {1: 2}}, "not an object with string keys"),
            (
                {"id": "x", "text": "t", "metadata": {"ok": 1, "when": object()}},
                r"the metadata 'when' of 'x' is not JSON: Object of type object .*; expected strings",
            ),
            ({"id": "x", "text": "t", "metadata": {"n": 10**5000}}, "the metadata 'n' of 'x'"),
            ({"id": "x", "text": "t", "metadata": {"n": float("nan")}}, "the metadata 'n' of 'x'"),
            ({"id": "x", "text": "\ud800"}, "the document 'x' holds half of a surrogate pair"),
            (
                {"id": "\ud800", "text": "t"},
                r"the document '\\ud800' holds half of a surrogate pair",
            ),
            (
                {"id": "x", "text": "t", "metadata": json.loads('{"a":' * 91 + "1" + "}" * 91)},
                "the metadata of 'x' is nested deeper than 90 levels",
            ),
        ],
    )
    def test_refuses_values_that_cannot_be_stored(self, fields, message):
        with pytest.raises(InputError, match=message):
            Document(**fields)
