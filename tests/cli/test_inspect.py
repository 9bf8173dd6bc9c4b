"""gem-index inspect, and the command that the error of a missing field offers."""

import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gem_index_cli.advice import without_password

CSV = (
    "ticket_id;subject;body;priority\n"
    "T-1;Printer is broken;It prints <b>nothing</b> since Monday;3\n"
    "T-2;No network;My laptop has no network in the meeting room;1\n"
)


@pytest.fixture
def tickets(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my tickets.csv").write_text(CSV)
    return "my tickets.csv"


def offered(line):
    return shlex.split(line.partition("gem-index ")[2])


def test_the_offered_command_works_as_it_is_printed(gem, tickets):
    answer = gem("build", "faq", tickets, "--types", "auto", "--text-field=text")
    assert answer.status == 2
    assert answer.err.endswith(
        "; expected the fields of id and text: run: gem-index --home "
        + answer.err.partition("gem-index --home ")[2]
    )
    command = offered(answer.err)
    assert command[2:] == [
        "build", "faq", tickets, "--types", "auto", "--id-field", "ticket_id", "--text-field", "subject*2", "--text-field",
        "body",
    ]  # fmt: skip
    assert gem(*command[2:]).status == 0
    (first, _) = gem("list", "faq", "--jsonl").lines
    assert (first["id"], first["metadata"]) == ("T-1", {"priority": 3})


def test_no_plain_text_leads_to_inspect(gem, tmp_path):
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    answer = gem("build", "faq", tmp_path / "x.jsonl")
    assert answer.err.endswith(
        "found 'a' (number 1); expected the fields of id and text: name them with --text-field and --id-field; gem-index "
        "inspect shows all fields\n"
    )


def test_a_table_of_the_fields(gem, tickets, monkeypatch):
    monkeypatch.setenv("COLUMNS", "120")
    answer = gem("inspect", tickets, "--delimiter", ";")
    rows = [
        line.split() for line in answer.out.splitlines() if line.startswith("  ") and line.strip()
    ]
    assert rows[0] == ["field", "type", "filled", "repeated", "language", "samples"]
    assert rows[1][:5] == ["ticket_id", "text", "100%", "0", "'T-1',"]
    assert rows[-1] == ["priority", "number", "100%", "0", "3,", "1"]
    lines = answer.out.splitlines()
    assert lines[-4:-1] == [
        "Records: 2; 0 bad.",
        "Texts that look like HTML: body 1; --clean auto makes plain text of them.",
        "Id: ticket_id. Text: subject*2, body. Metadata: priority.",
    ]
    command = offered(lines[-1])
    assert command[:4] == ["build", "NAME", tickets, "--delimiter"]
    assert gem(*(part.replace("NAME", "made") for part in command)).status == 0


def test_json_and_bad_records(gem, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"id": 1, "text": "a"}\n[]\n')
    answer = gem("inspect", path, "--json")
    assert answer.status == 0
    assert answer.err.startswith(f"Skipped: {path} line 2: found a JSON list")
    assert {key: answer.json[key] for key in ("records", "bad", "id_field", "text_fields")} == {
        "records": 1, "bad": 1, "id_field": "id", "text_fields": ["text"],
    }  # fmt: skip
    path.write_text('{"a": 1}\n')
    assert "No field is plainly the text: name it with --text-field." in gem("inspect", path).out


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "theirs").mkdir()
    rows = [{"ticket_id": f"T-{i}", "body": f"My laptop has no network {i}"} for i in range(3)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "theirs/a.parquet")
    return "parquet://./theirs"


def test_the_command_of_a_pull_works_as_it_is_printed(gem, table):
    answer = gem("pull", table, "faq")
    assert answer.status == 2
    command = offered(answer.err)[2:]
    assert command == ["pull", table, "faq", "--id-field", "ticket_id", "--text-field", "body"]
    assert gem(*command).out == "faq: 3 documents, 3 of them new.\n"
    assert gem("pull", table, "faq", "--json").json["unchanged"] == 3


def test_a_table_of_a_database_has_the_notes_of_a_file(gem, tmp_path):
    rows = [
        {"id": "1", "text": "a <b>bank</b> &amp; more"},
        {"id": "2", "text": "a visa"},
        {"id": "1", "text": "a bank, again"},
    ]
    folder = tmp_path / "theirs"
    folder.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), folder / "a.parquet")
    options = ("--clean", "html", "--duplicates", "last")
    notes = (
        "Note: cleaning (html) changed 1 of 3 texts.\n"
        "Note: 1 records have the same id as another record; the last record of each id is used.\n"
    )
    pulled = gem("pull", f"parquet://{folder}", "faq", *options)
    assert (pulled.out, pulled.err) == ("faq: 2 documents, 2 of them new.\n", notes)
    assert gem("pull", f"parquet://{folder}", "faq", *options).err == notes


def test_a_table_of_a_database_is_inspected(gem, table):
    answer = gem("inspect", table)
    assert "ticket_id" in answer.out
    assert answer.out.splitlines()[-1] == (
        f"Build a collection: gem-index pull {table} NAME --id-field ticket_id --text-field body"
    )
    refused = gem("inspect", table, "--delimiter", "tab")
    assert "--delimiter is 'tab', and no input is a file of records" in refused.err


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("postgresql://ann:a@b:c@h/db?table=t", "postgresql://ann:***@h/db?table=t"),
        ("qdrant+http://h/?collection=c&key=SECRET", "qdrant+http://h/?collection=c&key=***"),
        ("chroma+http://h/?Token=SECRET&collection=c", "chroma+http://h/?Token=***&collection=c"),
        ("milvus:///a.db?collection=c&key_file=x", "milvus:///a.db?collection=c&key_file=x"),
        ("a note: keys@home?key", "a note: keys@home?key"),
    ],
)
def test_offered_commands_show_no_password(argument, shown):
    assert without_password(argument) == shown
