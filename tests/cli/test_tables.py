"""Results as files: -o of list, count, duplicates, drift and search --queries, and results as fields."""

import csv
import json
import re

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def tickets(gem, tmp_path):
    texts = {
        "p1": "How do I reset my password?",
        "car": "Is there a parking place at the office?",
        "p2": "How do I reset my password",
        "zh": "如何重置密码",
    }
    path = tmp_path / "tickets.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": name, "text": text, "kind": name[0], "day": f"2024-0{number}-01"})
            + "\n"
            for number, (name, text) in enumerate(texts.items(), 1)
        )
    )
    assert gem("build", "tickets", path).status == 0
    return texts


def rows_of(path):
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_list(gem, tickets, tmp_path):
    path = tmp_path / "list.csv"
    assert gem("list", "tickets", "-o", path).out == f"4 rows in {path}.\n"
    assert [row["text"] for row in rows_of(path)] == list(tickets.values())
    assert list(rows_of(path)[0]) == ["id", "text", "day", "kind"]
    where = ("--where", '{"kind": {"$in": ["c", "p"]}}', "--show", "kind", "--limit", 1, "--json")
    told = gem("list", "tickets", "-o", tmp_path / "list.parquet", *where).json
    assert told == {"collection": "tickets", "rows": 1, "output": str(tmp_path / "list.parquet")}
    assert pq.read_table(tmp_path / "list.parquet").to_pylist() == [
        {"id": "p1", "text": tickets["p1"], "kind": "p"}
    ]
    assert gem("list", "tickets", "-o", path, "--where", '{"kind": "z"}').status == 0
    assert [row["id"] for row in rows_of(path)] == ["zh"]
    for output in (("--json",), ()):
        refused = gem("list", "tickets", "--show", "", *output)
        assert "found --show without --output" in refused.err


def test_list_with_vectors(gem, tickets, tmp_path):
    assert gem("list", "tickets", "--vectors", "-o", tmp_path / "v.csv").status == 0
    rows = rows_of(tmp_path / "v.csv")
    assert list(rows[0]) == ["id", "text", "vector", "day", "kind"]
    assert len(json.loads(rows[0]["vector"])) == 256
    for output in ((), ("--json",), ("--jsonl",)):
        refused = gem("list", "tickets", "--vectors", *output)
        assert (refused.status, refused.out, refused.err) == (
            2,
            "",
            "Error: found --vectors without --output; expected a file for them: -o FILE\n",
        )
    told = gem("export", "tickets", "-o", tmp_path / "e.csv").err
    assert told.endswith("write a table with: gem-index list tickets --vectors -o FILE.csv\n")


def test_what_is_written_can_be_built_again(gem, tickets, tmp_path):
    for name in ("list.csv", "list.jsonl", "list.parquet"):
        assert gem("list", "tickets", "-o", tmp_path / name).status == 0
        copy = name.replace(".", "-")
        assert gem("build", copy, tmp_path / name).status == 0
        assert gem("list", copy, "--json").json == gem("list", "tickets", "--json").json


def test_count(gem, tickets, tmp_path):
    shown = gem("count", "tickets", "--by", "kind").out.split()
    assert shown[-6:] == ["p", "2", "c", "1", "z", "1"]
    counts = gem("count", "tickets", "--by", "kind", "--where", '{"kind": "p"}', "--json").json
    assert counts["values"] == [{"value": "p", "documents": 2}]
    months = gem("count", "tickets", "--by", "month(day)", "--jsonl").lines
    assert months[0] == {"value": "2024-01", "documents": 1}
    path = tmp_path / "count.csv"
    assert gem("count", "tickets", "--by", "year(day)", "-o", path).status == 0
    assert rows_of(path) == [{"value": "2024", "documents": "4"}]
    refused = gem("count", "tickets", "-o", path)
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert "found --output without --by" in refused.err
    assert "no document has the field 'kinds'" in gem("count", "tickets", "--by", "kinds").err


@pytest.mark.parametrize("more", [0, 1])
def test_twenty_rows_and_five_problems_are_shown_and_the_others_counted(gem, tmp_path, more):
    path = tmp_path / "pairs.jsonl"
    rows = [{"text": f"ticket {4711 + n // 2}", "tag": f"t{n // 2}"} for n in range(40 + 2 * more)]
    lines = [json.dumps({"id": str(n), **row}) for n, row in enumerate(rows)] + ["{}"] * (5 + more)
    path.write_text("\n".join(lines))
    told = gem("build", "pairs", path, "--on-error", "skip").err.splitlines()
    assert len(told) == 5 + more
    assert sum("… and 1 more like it: " in line for line in told) == more
    counted = gem("count", "pairs", "--by", "tag").out.splitlines()
    view = ("--view", "meaning", "--threshold", "1")
    found = gem("duplicates", "pairs", *view, "--overlap", "1").out.splitlines()
    for shown in (counted, found):
        assert sum(line.endswith(" more: --json or --jsonl") for line in shown) == more
    assert sum(bool(re.match(r" *t\d", line)) for line in counted) == 20


def test_duplicates(gem, tickets, tmp_path):
    path = tmp_path / "groups.csv"
    assert (
        gem("duplicates", "tickets", "-o", path, "--show", "kind,day").out == f"2 rows in {path}.\n"
    )
    assert [(row["group"], row["id"], row["day"]) for row in rows_of(path)] == [
        ("p1", "p1", "2024-01-01"),
        ("p1", "p2", "2024-03-01"),
    ]
    told = gem("duplicates", "tickets", "--show", "kind")
    assert (told.status, told.out) == (2, "")
    assert "found --show without --output" in told.err
    assert "ends in '.txt'" in gem("duplicates", "tickets", "-o", tmp_path / "g.txt").err


@pytest.mark.parametrize(
    "command",
    [("list",), ("duplicates",), ("topics",), ("drift",), ("label", "some.csv")],
    ids=lambda command: command[0],
)
def test_a_table_is_checked_before_the_collection_is_opened(gem, command):
    name, *more = command
    told = gem(name, "absent", *more, "--show", "kind")
    assert (told.status, told.out) == (2, "")
    assert told.err == "Error: found --show without --output; expected both, or neither\n"
    told = gem(name, "absent", *more, "-o", "rows.txt")
    assert (told.status, told.out) == (2, "")
    assert told.err == "Error: rows.txt ends in '.txt'; expected a name such as rows.csv\n"


def test_groups_as_a_field(gem, tickets):
    assert gem("duplicates", "tickets", "--save-as", "group").status == 0
    found = gem("list", "tickets", "--where", '{"group": "p1"}', "--json").json
    assert [each["id"] for each in found] == ["p1", "p2"]
    again = gem("duplicates", "tickets", "--save-as", "group")
    assert again.status == 2
    assert again.err.rstrip().endswith("replace them with --replace")
    alone = ("--view", "meaning", "--threshold", 1, "--where", '{"kind": "c"}')
    assert gem("duplicates", "tickets", "--save-as", "group", *alone).status == 0
    options = ("--where", '{"kind": "p"}', "--overlap", 1, "--threshold", 1, "--view", "meaning")
    assert gem("duplicates", "tickets", "--save-as", "group", "--replace", *options).status == 0
    assert gem("list", "tickets", "--json").json[-1]["metadata"].keys() == {"kind", "day", "group"}


def test_results_of_many_queries(gem, tickets, tmp_path):
    queries = tmp_path / "queries.csv"
    queries.write_text("id,query\n7,reset a password\n8,parking\n")
    path = tmp_path / "found.csv"
    ask = ("search", "tickets", "--queries", queries, "-k", 2, "--show", "kind")
    assert gem(*ask, "-o", path).out == f"4 rows in {path}.\n"
    rows = rows_of(path)
    assert [(row["query_id"], row["query"], row["place"]) for row in rows] == [
        ("7", "reset a password", "1"),
        ("7", "reset a password", "2"),
        ("8", "parking", "1"),
        ("8", "parking", "2"),
    ]
    assert (rows[2]["id"], rows[2]["kind"], rows[2]["text"]) == ("car", "c", tickets["car"])
    assert gem(*ask, "-o", tmp_path / "found.parquet", "--json").json["rows"] == 4
    table = pq.read_table(tmp_path / "found.parquet").to_pylist()
    assert [row["score"] for row in table] == [float(row["score"]) for row in rows]
    assert gem(*ask, "--offset", 1, "-o", tmp_path / "later.csv").status == 0
    assert [row["place"] for row in rows_of(tmp_path / "later.csv")] == ["2", "3", "2", "3"]


@pytest.mark.parametrize(
    ("command", "name"),
    [
        (("topics", "tickets", "--documents", "-o"), "rows.csv"),
        (("topics", "tickets", "--plot"), "topics.html"),
        (("map", "tickets", "-o"), "map.html"),
        (("search", "tickets", "--queries", "queries.txt", "-o"), "results.jsonl"),
    ],
)
def test_an_output_that_is_a_folder_or_in_no_folder(gem, tickets, tmp_path, command, name):
    """Its ending is right; the command is refused before its work."""
    folder = tmp_path / name
    folder.mkdir()
    (tmp_path / "file").write_text("")
    for path in (folder, tmp_path / "no" / name, tmp_path / "file" / name):
        answer = gem(*command, path)
        assert (answer.status, answer.out) == (2, "")
        assert answer.err == (
            f"Error: cannot write {path}; expected the name of a file in an existing folder\n"
        )
    other = tmp_path / "x.gif"
    assert gem(*command, other).err == (
        f"Error: {other} ends in '.gif'; expected a name such as {name}\n"
    )


def test_new_subjects(gem, tickets, tmp_path):
    path = tmp_path / "new.jsonl"
    assert gem("drift", "tickets", "-o", path, "--show", "kind").out == f"0 rows in {path}.\n"
    assert path.read_text() == ""
