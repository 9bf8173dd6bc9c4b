"""gem-index inspect, and the command that the error of a missing field offers."""

import shlex

import pytest

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
        "inspect FILE shows all fields\n"
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
