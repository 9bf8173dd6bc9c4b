"""Folders, documents and databases as inputs of the commands."""

import json
import signal
import sqlite3
import subprocess
import sys

import pytest

from tests.folder_files import WRITERS


@pytest.fixture
def notes(tmp_path):
    root = tmp_path / "notes"
    root.mkdir()
    (root / "visa.md").write_text("# Visa\n\nHow do I renew a visa?\n")
    (root / "bank.txt").write_text("The bank opens at nine.\nIt closes at five.\n")
    return root


def test_a_folder_is_built_added_and_pruned(gem, notes):
    built = gem("build", "notes", notes, "--json")
    assert (built.json["added"], built.json["deleted"]) == (2, 0)
    assert gem("search", "notes", "renew a visa", "--json").json[0]["id"] == "visa.md"
    (notes / "bank.txt").unlink()
    assert gem("add", "notes", notes, "--json").json["unchanged"] == 1
    pruned = gem("add", "notes", notes, "--prune")
    assert (
        pruned.out
        == "notes: 0 added, 0 updated, 1 unchanged, 1 deleted, 0 skipped; 1 documents now.\n"
    )


def test_patterns_are_remembered_and_others_said(gem, notes):
    gem("build", "notes", notes, "--glob", "*.md")
    assert gem("add", "notes", notes, "--json").json == gem(
        "add", "notes", notes, "--json"
    ).json | {"seconds": pytest.approx(0, abs=60)}
    assert gem("count", "notes").out.split()[0] == "1"
    other = gem("add", "notes", notes, "--glob", "*.txt")
    assert other.err == "Note: the folder was read with another --glob: *.md.\n"
    assert gem("count", "notes").out.split()[0] == "2"


def test_a_named_text_file_is_lines_or_one_document(gem, notes, monkeypatch):
    gem("build", "lines", notes / "bank.txt")
    assert gem("count", "lines").out.split()[0] == "2"
    gem("build", "whole", notes / "bank.txt", "--whole")
    assert (
        gem("list", "whole", "--json").json[0]["text"]
        == "The bank opens at nine.\nIt closes at five."
    )
    monkeypatch.chdir(notes)  # the same file by another path is still one document
    assert gem("add", "whole", "bank.txt", "--json").json["unchanged"] == 1
    assert gem("count", "whole").out == "1\n"


def test_a_document_without_text_is_named(gem, notes, tmp_path):
    """A collection is not made of it, and one that exists is not stopped by it."""
    for name in ("empty.eml", "empty.html"):
        (tmp_path / name).write_text("")
    files = [tmp_path / "empty.eml", tmp_path / "empty.html"]
    refused = gem("build", "none", *files)
    assert (refused.status, refused.out) == (2, "")
    assert refused.err == (
        f"Error: found no text in {files[0]}, {files[1]}; expected at least one file with text\n"
    )
    assert "no collection is named 'none'" in gem("count", "none").err
    gem("build", "notes", notes)
    added = gem("add", "notes", files[0])
    assert added.out.endswith("\nWithout text, and not stored: empty.eml.\n")


def test_a_named_document(gem, notes, tmp_path):
    WRITERS["a.docx"](tmp_path / "a.docx", "The text of it.")
    gem("build", "one", tmp_path / "a.docx", notes / "visa.md")
    assert [each["id"] for each in gem("list", "one", "--json").json] == ["a.docx", "visa.md"]


def test_a_home_in_a_folder_is_not_read(gem, notes, tmp_path):
    home = tmp_path / "home"
    gem("build", "notes", notes)
    (home / "words.txt").write_text("a file of the home")
    (tmp_path / "homes").mkdir()
    (tmp_path / "homes" / "a").write_text("not a home")
    assert gem("build", "all", tmp_path, "--glob", "*").status == 0
    assert [document["id"] for document in gem("list", "all", "--json").json] == [
        "homes/a",
        *(f"notes/{file.name}" for file in sorted(notes.iterdir())),
    ]
    assert gem("build", "home", home).status == 0  # it is named itself


def test_a_remembered_gitignore_is_switched_off(gem, notes):
    (notes / ".gitignore").write_text("visa.md\n")
    assert gem("build", "notes", notes, "--gitignore", "--json").json["documents"] == 1
    assert gem("add", "notes", notes, "--json").json["documents"] == 1
    off = gem("add", "notes", notes, "--no-gitignore")
    assert off.err == "Note: the folder was read with --gitignore.\n"
    assert "1 added" in off.out
    again = gem("add", "notes", notes, "--prune", "--json")
    assert (again.json["documents"], again.err) == (2, "")
    on = gem("add", "notes", notes, "--gitignore", "--prune", "--json")
    assert (on.json["documents"], on.json["deleted"]) == (1, 1)
    assert on.err == "Note: the folder was read with --no-gitignore.\n"


def test_files_that_cannot_be_read(gem, notes):
    (notes / "bad.pdf").write_bytes(b"not a PDF")
    (notes / "empty.md").write_text("")
    stopped = gem("build", "notes", notes)
    assert stopped.status == 2
    assert stopped.err.startswith(f"Error: {notes}/bad.pdf was not read: it cannot be opened: ")
    assert gem("status", "--json").json["collections"] == []
    skipped = gem("build", "notes", notes, "--on-error", "skip")
    assert skipped.err.startswith(f"Skipped: {notes}/bad.pdf was not read: ")
    assert "2 added, 0 updated, 0 unchanged, 1 skipped; 2 documents now." in skipped.out
    assert "Without text, and not stored: empty.md." in skipped.out


def test_a_database(gem, tmp_path):
    path = tmp_path / "faq.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("create table faq (number integer, body text, changed integer)")
        connection.execute(
            "insert into faq values (1, 'How do I renew a visa?', 1), (2, 'The bank', 2)"
        )
    connection.close()
    url = f"sql:sqlite:///{path}"
    read = ("--id-field", "number", "--text-field", "body")
    query = ("--query", "select * from faq", "--since", "changed")
    assert gem("build", "faq", url, *query, *read, "--json").json["added"] == 2
    with sqlite3.connect(path) as connection:
        connection.execute("insert into faq values (3, 'Parcels', 3)")
        connection.execute("delete from faq where number = 1")
    connection.close()
    again = gem("add", "faq", url, "--prune", "--json").json
    assert (again["added"], again["unchanged"], again["deleted"]) == (1, 1, 1)


def test_embed_takes_folders(gem, notes, tmp_path):
    report = gem("embed", notes, "--to", f"parquet://{tmp_path}/out", "--json").json
    assert report["added"] == 2


@pytest.mark.parametrize("name", ["{file}", "{folder}/../r.jsonl", "{link}"])
def test_a_report_does_not_overwrite_what_is_read(gem, notes, tmp_path, name):
    records = tmp_path / "r.jsonl"
    records.write_text('{"id": "1", "text": "a record"}\nbad\n')
    (tmp_path / "link").symlink_to(records)
    (tmp_path / "other.jsonl").write_text('{"id": "2", "text": "another record"}\n')
    report = name.format(file=records, folder=notes, link=tmp_path / "link")
    for inputs in ([records], [tmp_path / "other.jsonl", records], [notes, "-", records]):
        failed = gem("build", "faq", *inputs, "--on-error", "skip", "--report", report)
        assert failed.status == 2
        assert failed.err == (
            f"Error: the report {report} is one of the inputs; expected another file\n"
        )
        assert records.read_text().startswith('{"id": "1"')


def test_a_report_does_not_overwrite_documents_and_databases(gem, notes, tmp_path):
    database = tmp_path / "faq.sqlite"
    with sqlite3.connect(database) as connection:
        connection.execute("create table faq (id, text)")
    connection.close()
    before = database.read_bytes()
    skip = ("--on-error", "skip", "--report")
    for source, report in (
        (notes / "visa.md", notes / "visa.md"),
        (notes, notes / "visa.md"),
        (f"sql:sqlite:///{database}", database),
    ):
        failed = gem("build", "faq", source, *skip, report)
        assert failed.status == 2
        assert "is one of the inputs; expected another file" in failed.err
    assert (notes / "visa.md").read_text().startswith("# Visa")
    assert database.read_bytes() == before
    assert gem("build", "faq", notes, *skip, notes / "skipped.jsonl").status == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("{records}", "--glob", "*.md"),
            "found --glob and no input that takes it; expected a folder",
        ),
        (
            ("{records}", "--gitignore"),
            "found --gitignore and no input that takes it; expected a folder",
        ),
        (
            ("{records}", "--no-gitignore"),
            "found --no-gitignore and no input that takes it; expected a folder",
        ),
        (
            ("{notes}", "--query", "select 1"),
            "found --query and no input that takes it; expected sql:URL",
        ),
        (("{notes}", "--since", "a"), "found --since and no input that takes it; expected sql:URL"),
        (
            ("{records}", "--prune"),
            "found prune with an input that is neither a folder nor a database",
        ),
        (("{notes}/none.md",), "there is no folder or file"),
        (("",), "found an input without a name; expected a file, a folder or sql:URL"),
        (("{notes}", "--glob", "!"), "glob is '!'; expected a pattern as in .gitignore"),
        (("{notes}", "--format", "csv"), "--format is 'csv', and no input is a file of records"),
        (("{notes}", "--types", "auto"), "--types is 'auto', and no input is a file of records"),
        (
            ("{notes}", "--glob", "*.pdf"),
            "holds no file that matches the patterns; expected at least one",
        ),
        (
            ("sql:sqlite:////none/none.sqlite", "--query", "select 1"),
            "cannot be read: there is no such file; expected a database that exists",
        ),
        (
            ("sql:sqlite://",),
            "the collection knows no query of sql:sqlite://; expected a SELECT statement: give it with --query",
        ),
        (("{notes}", "--on-error", "explode"), "--on-error is 'explode'; expected stop or skip"),
        (("{notes}", "--encoding", "nonsense"), "the encoding is 'nonsense'"),
    ],
)
def test_bad_options(gem, faq, notes, arguments, message):
    records = faq
    named = [each.format(records=records, notes=notes) for each in arguments]
    failed = gem("add", "faq", *named)
    assert failed.status == 2
    assert message in failed.err
    assert failed.err.count("\n") == 1
    assert gem("count", "faq").out.split()[0] == "5"


class TestWatch:
    @pytest.fixture
    def watched(self, gem, notes, tmp_path):
        """Start the command in a process; yield it."""
        gem("build", "notes", notes)
        command = [
            sys.executable,
            "-c",
            "from gem_index_cli.main import main; main()",
            "--home",
            str(tmp_path / "home"),
            "watch",
        ]
        started = []

        def start(*arguments):
            process = subprocess.Popen(
                [*command, "notes", *map(str, arguments)],
                stdout=subprocess.PIPE,
                text=True,
                # a script that runs the tests in the background makes them ignore it
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            )
            started.append(process)
            return process

        yield start
        for process in started:
            process.kill()
            process.communicate()

    def test_until_it_is_interrupted(self, watched, gem, notes):
        process = watched("--json")
        assert json.loads(process.stdout.readline())["unchanged"] == 2
        (notes / "parcels.md").write_text("How do I send a parcel back?")
        assert json.loads(process.stdout.readline())["added"] == 1
        assert gem("search", "notes", "send a parcel", "--json").json[0]["id"] == "parcels.md"
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout.read() == ""

    def test_that_it_stopped_is_said_to_people(self, watched):
        process = watched()
        assert process.stdout.readline().startswith("notes: 0 added")
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0
        assert process.stdout.read() == "Stopped.\n"

    def test_a_kill_loses_nothing(self, watched, gem, notes):
        process = watched(notes)
        assert (
            process.stdout.readline() == "notes: 0 added, 0 updated, 0 deleted; 2 documents now.\n"
        )
        for i in range(300):
            (notes / f"{i}.txt").write_text(f"text {i}")
            if i == 150:
                process.kill()
        process.wait(60)
        again = watched(notes)
        again.stdout.readline()
        assert gem("count", "notes", "--json").json["documents"] == 302
        assert gem("verify", "--json").json["ok"]

    def test_nothing_to_watch(self, gem, tmp_path):
        (tmp_path / "r.txt").write_text("a\n")
        gem("build", "faq", tmp_path / "r.txt")
        assert "found no folder, and faq has no folder; expected one" in gem("watch", "faq").err
        assert "there is no folder" in gem("watch", "faq", tmp_path / "none").err
