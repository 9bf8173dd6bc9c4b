"""Commands on documents: show, list, count, delete, similar."""

import base64
import json

import numpy as np
import pytest


@pytest.fixture
def notes(gem, tmp_path):
    rows = [
        {"id": "visa", "text": "how do I renew a visa", "tags": ["law", "travel"], "year": 2020},
        {"id": "work", "text": "a work visa for a year", "tags": ["law"], "year": 2024},
        {"id": "tea", "text": "a cup of green tea", "author": {"name": "Ann"}},
        {"id": "odd", "text": "line one\n\x1b[31mred", "tags": None},
    ]
    path = tmp_path / "notes.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert gem("build", "notes", path).status == 0


def ids(answer):
    return [document["id"] for document in answer.json]


def test_show(gem, notes):
    assert gem("show", "notes", "visa", "--json").json == {
        "id": "visa",
        "text": "how do I renew a visa",
        "metadata": {"tags": ["law", "travel"], "year": 2020},
    }
    assert gem("show", "notes", "visa").out == (
        'visa\n  tags: ["law", "travel"]\n  year: 2020\n\nhow do I renew a visa\n'
    )
    assert gem("show", "notes", "odd").out.endswith("\nline one\n\\x1b[31mred\n")
    missing = gem("show", "notes", "vis\x1b")
    assert missing.status == 2
    assert missing.err.startswith("Error: the collection notes has no document 'vis\\x1b'; exp")


def test_a_document_without_metadata(gem, notes, tmp_path):
    (tmp_path / "plain.jsonl").write_text('{"id": "plain", "text": "a plain text"}\n')
    assert gem("add", "notes", tmp_path / "plain.jsonl").status == 0
    plain = {"id": "plain", "text": "a plain text", "metadata": {}}
    assert gem("show", "notes", "plain", "--json").json == plain
    assert gem("list", "notes", "--json").json[-1] == plain


def test_list(gem, notes):
    assert ids(gem("list", "notes", "--json")) == ["visa", "work", "tea", "odd"]
    assert ids(gem("list", "notes", "--limit", "2", "--json")) == ["visa", "work"]
    assert ids(gem("list", "notes", "--where", '{"tags": "travel"}', "--json")) == ["visa"]
    lines = gem("list", "notes", "--jsonl").out.splitlines()
    assert [json.loads(line)["id"] for line in lines] == ["visa", "work", "tea", "odd"]
    shown = gem("list", "notes", "--limit", "3").out
    assert "a cup of green tea" in shown
    assert shown.endswith("1 more: --limit 4\n")
    assert "more:" not in gem("list", "notes").out
    assert len(gem("list", "notes", "--limit", str(10**20), "--json").json) == 4
    refused = gem("list", "notes", "--limit", "0")
    assert (refused.status, "--limit is 0; expected" in refused.err) == (2, True)
    assert gem("list", "notes", "--where", '{"year": 1}').out == "No document is accepted.\n"


def test_people_get_twenty_documents_and_programs_all(gem, tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("".join(f"visa number {number}\n" for number in range(23)))
    assert gem("build", "many", path).status == 0
    assert (
        len(gem("list", "many", "--json").json) == len(gem("list", "many", "--jsonl").lines) == 23
    )
    assert gem("list", "many").out.endswith("3 more: --limit 23\n")


def test_count(gem, notes):
    assert gem("count", "notes").out == "4\n"
    where = '{"author.name": {"$like": "a%"}}'
    assert gem("count", "notes", "--where", where, "--json").json == {
        "collection": "notes",
        "documents": 1,
    }


def test_a_field_that_no_document_has(gem, notes):
    for command in (
        ["count", "notes"],
        ["list", "notes"],
        ["delete", "notes"],
        ["search", "notes", "visa"],
        ["similar", "notes", "visa"],
    ):
        answer = gem(*command, "--where", '{"yaer": 2020}')
        assert answer.status == 2
        assert "no document has the field 'yaer' of the filter; expected a field" in answer.err
        assert "'year'" in answer.err
    assert gem("count", "notes", "--where", '{"yaer": {"$exists": true}}').out == "0\n"
    assert gem("search", "notes", "visa", "--where", '{"year": 1}').out == "Nothing was found.\n"


def test_delete_by_filter(gem, notes):
    where = '{"year": {"$lt": 2022}}'
    assert gem("delete", "notes", "--where", where, "--json").json == {"deleted": 1, "missing": []}
    assert gem("delete", "notes", "--where", where).status == 1
    assert ids(gem("list", "notes", "--json")) == ["work", "tea", "odd"]
    for arguments, found in (
        ([], "found no ids and no filter"),
        (["tea", "--where", where], "found ids and a filter"),
        (["--where", "{}"], "found an empty filter"),
    ):
        refused = gem("delete", "notes", *arguments)
        assert refused.status == 2
        assert found in refused.err
    assert gem("count", "notes").out == "3\n"


def test_similar(gem, notes):
    found = gem("similar", "notes", "visa", "-k", "2", "--json").json
    assert found[0]["id"] == "work"
    assert {hit["id"] for hit in found} < {"work", "tea", "odd"}
    assert len(found) == 2
    assert "a work visa" in gem("similar", "notes", "visa").out
    only = gem("similar", "notes", "visa", "--where", '{"author": {"$exists": true}}', "--jsonl")
    assert [json.loads(line)["id"] for line in only.out.splitlines()] == ["tea"]
    assert gem("similar", "notes", "none").status == 2
    assert gem("similar", "notes", "visa", "-k", "0").status == 2


def test_an_import_may_fit_the_texts_here(gem, notes, tmp_path):
    path = tmp_path / "exported.jsonl"
    assert gem("export", "notes", "-o", path).status == 0
    first, rest = path.read_text().split("\n", 1)
    head = json.loads(first)
    values = np.frombuffer(base64.b64decode(head["model"]["singular_values"]), "<f8")
    head["model"]["singular_values"] = base64.b64encode((2 * values).tobytes()).decode()
    path.write_text(f"{json.dumps(head)}\n{rest}")
    refused = gem("import", path, "again")
    assert (refused.status, refused.out) == (2, "")
    assert refused.err.endswith("run: gem-index import FILE --fit\n")
    [before] = gem("status", "notes", "--json").json["collections"]
    [after] = gem("import", path, "again", "--fit", "--json").json["collections"]
    assert (after["name"], after["fingerprint"]) == ("again", before["fingerprint"])
    assert (after["documents"], after["since_fit"]) == (before["documents"], 0)
