"""Options for files of records: types, encodings, cleaning, repeated ids, reports; and what a collection remembers."""

import io
import json
import os
import sys

import pytest

TABLE = """id,text,year,open,code,tags
1,Where is the bank?,2020,true,007,law; money
2,<p>How do I renew a visa?</p>,2021,FALSE,12,law
2,A cup of tea,,,,
"""


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(TABLE)
    return path


def metadata(gem, name):
    return {row["id"]: row["metadata"] for row in gem("list", name, "--jsonl").lines}


def texts(gem, name):
    return {row["id"]: row["text"] for row in gem("list", name, "--jsonl").lines}


def test_a_new_collection_has_types_and_add_uses_them(gem, table, tmp_path):
    answer = gem("build", "c", table, "--duplicates", "first")
    assert answer.err.splitlines() == [
        "Note: types of columns: 'year' number, 'open' boolean; the others are text.",
        "Note: 1 of 3 texts look like HTML and are used as they are: strip them to their text with --clean auto",
        "Note: 1 records have the same id as another record; the first record of each id is used.",
    ]
    assert metadata(gem, "c")["1"] == {
        "year": 2020,
        "open": True,
        "code": "007",
        "tags": "law; money",
    }
    more = tmp_path / "more.csv"
    more.write_text("id,text,year,open,code\n3,tea,1999,no,8\n4,water,2000,true,9\n")
    answer = gem("add", "c", more)
    assert answer.err == (
        "Note: values that do not fit the type of their column stay text: 'open' 1.\n"
    )
    assert metadata(gem, "c")["3"] == {"year": 1999, "open": "no", "code": "8"}
    assert gem("count", "c", "--where", '{"year": {"$lt": 2000}}').out.strip().startswith("1")
    answer = gem("add", "c", more, "--types", "text")
    assert answer.err == (
        "Note: the collection was built with another --types: open boolean, year number.\n"
    )
    assert metadata(gem, "c")["3"]["year"] == "1999"


def test_types_as_json_or_in_a_file(gem, table, tmp_path):
    types = '{"tags": "list:;", "year": "text", "*": "auto"}'
    (tmp_path / "types.json").write_text(types)
    for name, given in (("a", types), ("b", tmp_path / "types.json")):
        answer = gem("build", name, table, "--types", given, "--duplicates", "last")
        assert answer.status == 0
        assert metadata(gem, name) == {
            "1": {"year": "2020", "open": True, "code": "007", "tags": ["law", "money"]},
            "2": {"year": "", "code": ""},
        }
        assert texts(gem, name)["2"] == "A cup of tea"
    assert gem("build", "t", table, "--types", "text", "--duplicates", "last").status == 0
    assert metadata(gem, "t")["2"] == {"year": "", "open": "", "code": "", "tags": ""}


def test_an_existing_collection_without_types_keeps_text(gem, faq, table):
    answer = gem("add", "faq", table, "--duplicates", "last")
    assert "types" not in answer.err
    answer = gem("build", "faq", table, "--duplicates", "last")
    assert "types" not in answer.err
    assert metadata(gem, "faq")["1"]["year"] == "2020"
    assert metadata(gem, "faq")["v1"]["year"] == 2019


def test_cleaning_and_encoding_are_remembered(gem, tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_bytes("id,mail\n1,<p>Caf\u00e9</p>\n".encode("cp1252"))
    second.write_bytes('id,mail\n2,"<b>Th\u00e9</b>\n> gone\n"\n'.encode("cp1252"))
    answer = gem(
        "build", "c", first, "--clean", "html, quotes", "--encoding", "cp1252", "--text-field", "mail"
    )  # fmt: skip
    assert answer.err == "Note: cleaning (html, quotes) changed 1 of 1 texts.\n"
    assert gem("add", "c", second).err == answer.err
    assert texts(gem, "c") == {"1": "Caf\u00e9", "2": "Th\u00e9"}
    answer = gem("add", "c", second, "--clean", "none", "--encoding", "latin-1")
    assert answer.err.splitlines()[:2] == [
        "Note: the collection was built with another --clean: html, quotes.",
        "Note: the collection was built with another --encoding: cp1252.",
    ]
    assert texts(gem, "c")["2"] == "<b>Th\u00e9</b>\n> gone\n"


def test_a_remembered_encoding_is_not_that_of_parquet(gem, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    (tmp_path / "a.txt").write_bytes(b"caf\xe9\n")
    assert gem("build", "c", tmp_path / "a.txt", "--encoding", "cp1252").status == 0
    pq.write_table(pa.table({"id": ["x"], "text": ["th\u00e9"]}), tmp_path / "b.parquet")
    assert gem("add", "c", tmp_path / "b.parquet").status == 0
    assert texts(gem, "c")["x"] == "th\u00e9"
    assert gem("build", "c", tmp_path / "b.parquet").status == 0
    assert gem("add", "c", tmp_path / "a.txt").status == 0
    answer = gem("add", "c", tmp_path / "b.parquet", "--encoding", "cp1252")
    assert answer.status == 2
    assert "--encoding is 'cp1252', and all inputs define their own" in answer.err


def test_an_export_keeps_what_is_remembered(gem, table, tmp_path):
    gem("build", "c", table, "--duplicates", "last", "--clean", "auto", "--encoding", "utf-8")
    assert gem("export", "c", "-o", tmp_path / "c.jsonl").status == 0
    head = json.loads((tmp_path / "c.jsonl").read_text().splitlines()[0])
    reading = {
        "clean": ["auto"],
        "encoding": "utf-8",
        "types": {"open": "boolean", "year": "number"},
    }
    assert reading in head.values()
    assert gem("import", tmp_path / "c.jsonl", "d").status == 0
    text = (tmp_path / "c.jsonl").read_text()
    for wrong in ({"clean": ["soap"]}, {"clean": "html"}, {"types": {"a": "b"}}, {"encoding": 5}):
        (tmp_path / "e.jsonl").write_text(
            text.replace(json.dumps(reading, sort_keys=True), json.dumps(wrong))
        )
        answer = gem("import", tmp_path / "e.jsonl", "e")
        assert answer.status == 2
        assert "e.jsonl is damaged: in its head" in answer.err


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.csv"
    rows = "".join(f"{i},word {i}\n{i}\n" for i in range(1000))
    path.write_bytes(b"id,text\n" + rows.encode() + b"x,caf\xe9\n")
    return path


def test_problems_are_summed_up_and_reported(gem, bad, tmp_path):
    report = tmp_path / "bad.jsonl"
    answer = gem("build", "c", bad, "--on-error", "skip", "--report", report)
    assert answer.status == 0
    lines = answer.err.splitlines()
    assert lines[0] == (f"Skipped: {bad} line 3: found 1 columns; expected 2 as in the first row")
    assert len([line for line in lines if "found 1 columns" in line]) == 6
    assert lines[5].startswith(f"Skipped: {bad} line 2002: byte 6 is not UTF-8")
    assert lines[6:] == [
        "Skipped: … and 995 more like it: found 1 columns; expected 2 as in the first row",
        f"Note: 1,001 bad records are reported in {report}.",
    ]
    rows = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(rows) == 1001
    assert rows[1] == {
        "source": str(bad),
        "line": 5,
        "problem": "found 1 columns; expected 2 as in the first row",
    }
    assert gem("build", "d", bad, "--on-error", "skip", "--json").json["skipped"] == 1001


def test_a_second_reading_says_nothing_again(gem, bad, tmp_path):
    report = tmp_path / "bad.jsonl"
    answer = gem(
        "encode", bad, "-o", tmp_path / "x.npy", "--fit", "--on-error", "skip", "--report", report
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert len(answer.err.splitlines()) == 8
    assert len(report.read_text().splitlines()) == 1001


def test_a_type_is_for_a_column_of_one_of_the_files(gem, table, tmp_path):
    types = ("--types", '{"year": "number", "price": "number"}', "--duplicates", "last")
    prices = tmp_path / "prices.csv"
    prices.write_text("id,text,price\n7,A book,12\n")
    names = (table, prices, table)
    assert gem("build", "c", *names, *types).status == 0
    found = metadata(gem, "c")
    assert (found["7"]["price"], found["1"]["year"]) == (12, 2020)
    assert gem("add", "c", prices).status == 0  # what is remembered may be missing
    assert "'year', which no file has" in gem("add", "c", prices, *types).err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--types", "number"], "--types is 'number'; expected auto, text, or a type for each"),
        (["--types", "{"], "--types is not JSON at column 2"),
        (["--types", '{"a": "int"}'], "the type of the column 'a' is 'int'; expected text"),
        (["--types", '{"id": "number"}'], "expected text, because it holds the id or the text"),
        (["--types", "[]"], "--types is '[]'; expected auto"),
        (
            ["--types", '{"yaer": "number"}'],
            "the types name a column 'yaer', which no file has; did you mean 'year'?",
        ),
        (
            ["--types", '{"price": "number"}'],
            "a column 'price', which no file has; expected one of 'id', 'text', 'year', 'open'",
        ),
        (["--clean", "soap"], "the cleaning is 'soap'; expected a list of html, auto"),
        (["--clean", "html,auto"], "the cleaning is both html and auto"),
        (["--duplicates", "all"], "duplicates is 'all'; expected one of stop, first, last"),
        (["--report", "x.jsonl"], "found --report without --on-error skip; expected both"),
        (["--encoding", "nonsense"], "the encoding is 'nonsense'; expected one that Python"),
    ],
)
def test_wrong_options(gem, faq, state, table, options, message):
    before = state()
    for command in (["build", "new"], ["add", "faq"]):
        answer = gem(*command, table, *options)
        assert answer.status == 2
        assert answer.err.startswith("Error: ")
        assert answer.err.count("\n") == 1
        assert message in answer.err
    assert state() == before


def test_a_report_that_cannot_be_written(gem, faq, table, tmp_path):
    content = table.read_bytes()
    answer = gem("add", "faq", table, "--on-error", "skip", "--report", table)
    assert "is one of the inputs; expected another file" in answer.err
    assert table.read_bytes() == content
    answer = gem("add", "faq", table, "--on-error", "skip", "--report", tmp_path / "no" / "x")
    assert answer.status == 2
    assert "no such file or directory; expected a file for the report" in answer.err


@pytest.mark.parametrize("option", [("--types", "auto"), ("--duplicates", "first")])
def test_what_a_command_of_texts_cannot_use_is_refused(gem, table, tmp_path, option):
    for command in (["fit", "m", table], ["encode", table, "-o", tmp_path / "x.npy"]):
        answer = gem(*command, *option)
        assert answer.status == 2
        assert f"{option[0]} is '{option[1]}', and this command takes texts alone" in answer.err
    assert not (tmp_path / "x.npy").exists()


@pytest.mark.parametrize(
    "option", [("--types", "auto"), ("--clean", "html"), ("--duplicates", "last")]
)
def test_what_no_input_can_use_is_refused(gem, faq, state, tmp_path, option):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nhow do I renew a visa\n")
    before = state()
    for command in (["build", "new"], ["add", "faq"]):
        answer = gem(*command, folder, *option)
        assert answer.status == 2
        assert f"{option[0]} is '{option[1]}', and no input is a file of records" in answer.err
    assert state() == before


def test_skipped_files_of_a_folder_are_reported_with_records(gem, bad, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("# A\n\nhow do I renew a visa\n")
    for number in range(7):
        (folder / f"{number}.md").write_bytes(b"caf\xe9")
    report = tmp_path / "bad.jsonl"
    answer = gem("build", "c", folder, bad, "--on-error", "skip", "--report", report)
    assert answer.status == 0, answer.err
    rows = [json.loads(line) for line in report.read_text().splitlines()]
    assert len(rows) == 1008
    files = [row for row in rows if row["line"] is None]
    assert {row["source"] for row in files} == {str(folder / f"{n}.md") for n in range(7)}
    assert "Skipped: … and 3 more like it: byte 6 is not UTF-8" in answer.err
    assert answer.err.endswith(f"Note: 1,008 bad records are reported in {report}.\n")


def test_a_report_may_be_in_the_folder_that_is_read_unless_it_is_a_document(gem, tmp_path):
    folder = tmp_path / "notes"
    folder.mkdir()
    (folder / "a.md").write_text("how do I renew a visa")
    (folder / "b.md").write_bytes(b"caf\xe9")
    answer = gem("build", "c", folder, "--on-error", "skip", "--report", folder / "bad.jsonl")
    assert answer.status == 0, answer.err
    [row] = map(json.loads, (folder / "bad.jsonl").read_text().splitlines())
    assert row["source"] == str(folder / "b.md")
    answer = gem("build", "d", folder, "--on-error", "skip", "--report", folder / "bad.txt")
    assert (answer.status, answer.out) == (2, "")
    assert str(folder / "bad.txt") in answer.err
    assert not (folder / "bad.txt").exists()


def test_texts_are_cleaned_and_detected_for_encode_and_fit(gem, tmp_path):
    path = tmp_path / "x.txt"
    path.write_bytes(
        "<b>Wo ist das B\u00fcro? Was kostet die Stra\u00dfenkarte?</b>\n".encode("utf-16")
    )
    for command in (["fit", "m", path], ["encode", path, "-o", tmp_path / "x.npy"]):
        answer = gem(*command, "--encoding", "auto", "--clean", "html")
        assert answer.status == 0, answer.err
        assert answer.err.splitlines() == [
            f"Note: {path} is read as utf-16; this encoding was detected.",
            "Note: cleaning (html) changed 1 of 1 texts.",
        ]


def test_a_note_is_shown_once_by_commands_that_read_their_inputs_twice(gem, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": "1", "text": "a <b>bank</b>"}\n[]\n{"id": "3", "text": "a visa"}\n')
    for command in (
        ("encode", path, "-o", tmp_path / "x.npy", "--fit"),
        ("embed", path, "--to", f"parquet://{tmp_path}/out"),
    ):
        answer = gem(*command, "--clean", "html", "--on-error", "skip")
        assert answer.status == 0, answer.err
        skipped, *notes = answer.err.splitlines()
        assert skipped.startswith(f"Skipped: {path} line 2: found a JSON list; ")
        assert notes == ["Note: cleaning (html) changed 1 of 2 texts."]


def test_embed_takes_all_of_them(gem, table, tmp_path):
    answer = gem(
        "embed", table, "--to", f"parquet://{tmp_path}/out", "--types", "auto", "--duplicates", "last",
        "--clean", "auto", "--encoding", "auto", "--json",
    )  # fmt: skip
    assert answer.status == 0, answer.err
    assert answer.json["documents"] == 2
    assert "'year' number" in answer.err
    answer = gem("embed", table, "--to", f"parquet://{tmp_path}/text", "--duplicates", "first")
    assert "types" not in answer.err


def test_the_last_of_standard_input(gem, monkeypatch):
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(TABLE.encode())))
    monkeypatch.setattr(sys, "stdin", stdin)
    answer = gem("build", "c", "-", "--format", "csv", "--duplicates", "last")
    assert answer.status == 0, answer.err
    assert texts(gem, "c")["2"] == "A cup of tea"


def test_a_file_that_changes_stores_nothing(gem, faq, state, table, monkeypatch):
    from gem_index.readers.formats import FORMATS

    real = FORMATS["csv"]

    def changing(*arguments):
        yield from real(*arguments)
        os.utime(table, (1, 1))

    monkeypatch.setitem(FORMATS, "csv", changing)
    before = state()
    for command in (["add", "faq"], ["build", "new"]):
        answer = gem(*command, table, "--duplicates", "first", "--on-error", "skip")
        table.touch()
        assert answer.status == 2
        assert answer.err.startswith(f"Error: {table} changed while it was read; expected a file")
    assert state() == before


def test_the_form_of_a_table_is_remembered(gem, tmp_path):
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    first.write_text("1~'Where is the bank, please?'\n")
    second.write_text("2~'Where is the school, please?'\n")
    form = ("--no-header", "--columns", "id,text", "--delimiter", "~", "--quote", "'")
    assert gem("build", "c", first, *form).status == 0
    assert gem("add", "c", second).err == ""
    assert texts(gem, "c") == {
        "1": "Where is the bank, please?",
        "2": "Where is the school, please?",
    }
    answer = gem("add", "c", second, "--columns", "text,id", "--header")
    assert answer.status == 2
    assert sorted(answer.err.splitlines())[1:] == [
        "Note: the collection was built with another --columns: id, text.",
        "Note: the collection was built with another --header: no.",
    ]


def test_a_table_of_json_and_a_bad_record_among_good_ones(gem, tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"data": {"faqs": [{"text": "one"}, 2, {"text": "three"}]}}))
    answer = gem("build", "c", path, "--table", "data.faqs")
    assert (answer.status, answer.err) == (
        2,
        f"Error: {path} line 2: found a JSON int; expected an object or a text: skip such records with --on-error skip\n",
    )
    answer = gem("build", "c", path, "--table", "data.faqs", "--on-error", "skip")
    assert answer.err == (
        f"Skipped: {path} line 2: found a JSON int; expected an object or a text\n"
    )
    assert sorted(texts(gem, "c").values()) == ["one", "three"]


@pytest.mark.parametrize(("count", "more"), [(1, ""), (3, ""), (4, " and 1 more")])
def test_three_files_that_were_not_stored_are_named_and_the_others_counted(
    gem, tmp_path, count, more
):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "n.md").write_text("a note about the bank")
    for n in range(count):
        (folder / f"r{n}.jsonl").write_text("")
        (folder / f"e{n}.txt").write_text(" ")
    records = " ".join(f"{folder}/r{n}.jsonl" for n in range(min(count, 3)))
    note = f"Note: not read, because they are files of records: {records}{more}. To store them too, name them as inputs.\n"
    empty = ", ".join(f"e{n}.txt" for n in range(min(count, 3)))
    answer = gem("build", "c", folder)
    assert answer.err == note
    assert answer.out.splitlines()[1] == f"Without text, and not stored: {empty}{more}."
    assert gem("add", "c", folder, "--json").err == note


def test_files_of_records_in_a_folder_are_named(gem, tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "n.md").write_text("# A note\n\nabout the bank")
    for name in ("a.jsonl", "b.csv", "c.json", "d.xlsx", "e.xml"):
        (folder / name).write_text("")
    answer = gem("build", "c", folder)
    assert answer.out.startswith("c: 1 added, 0 updated")
    assert answer.err == (
        f"Note: not read, because they are files of records: {folder}/a.jsonl {folder}/b.csv {folder}/c.json and 1 more. "
        "To store them too, name them as inputs.\n"
    )
    (folder / "n.md").unlink()
    answer = gem("build", "d", folder)
    assert (answer.status, answer.err) == (
        2,
        f"Error: {folder} holds no document, but 4 files of records, such as a.jsonl; expected documents: name the files of "
        "records themselves as inputs\n",
    )
