"""search --queries: many queries from a file."""

import csv
import json

import pytest

from gem_index_cli.main import run


def build(home):
    path = home.root.parent / "r.jsonl"
    rows = [
        {"id": "visa", "text": "How do I renew a visa?"},
        {"id": "bank", "text": "When does the bank open?"},
        {"id": "school", "text": "Is the school open today?"},
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert run(["--home", str(home.root), "build", "faq", str(path)]) == 0


@pytest.fixture
def built(copied_home, tmp_path):
    """A home with the collection faq; return the folder that it is in."""
    copied_home(build)
    return tmp_path


def test_a_text_a_line(gem, built):
    path = built / "q.txt"
    path.write_text("renew a visa\n\nopening hours of the bank\n")
    lines = gem("search", "faq", "--queries", path, "-k", "2", "--jsonl").out.splitlines()
    found = [json.loads(line) for line in lines]
    assert [each["query"] for each in found] == ["renew a visa", "opening hours of the bank"]
    assert [each["results"][0]["id"] for each in found] == ["visa", "bank"]
    alone = gem("search", "faq", "renew a visa", "-k", "2", "--json").json
    assert [{**hit, "query": "renew a visa"} for hit in found[0]["results"]] == alone
    shown = gem("search", "faq", "--queries", path, "-k", "1").out
    assert shown.index("renew a visa") < shown.index("How do I renew a visa?")


def test_json_lines_and_an_output(gem, built):
    path, output = built / "q.jsonl", built / "out.jsonl"
    path.write_text('{"id": 7, "query": "renew a visa"}\n{"text": "bank"}\n"school"\n')
    done = gem("search", "faq", "--queries", path, "-o", output, "--json")
    assert done.json == {"collection": "faq", "queries": 3, "output": str(output)}
    found = [json.loads(line) for line in output.read_text().splitlines()]
    assert [each.get("id") for each in found] == [7, None, None]
    assert [each["results"][0]["id"] for each in found] == ["visa", "bank", "school"]
    assert (
        "The results of 3 queries are in"
        in gem("search", "faq", "--queries", path, "-o", output).out
    )


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("q.csv", "id,Query\n7,renew a visa\n8,bank\n"),
        ("q.csv", "question;id\nrenew a visa;7\nbank;8\n"),
        ("q.tsv", "id\ttext\n7\trenew a visa\n8\tbank\n"),
        ("q.json", '[{"id": "7", "query": "renew a visa"}, {"id": "8", "query": "bank"}]'),
    ],
)
def test_a_table(gem, built, name, content):
    (built / name).write_text(content)
    found = gem("search", "faq", "--queries", built / name, "--jsonl").lines
    assert [(each["id"], each["query"]) for each in found] == [("7", "renew a visa"), ("8", "bank")]
    assert [each["results"][0]["id"] for each in found] == ["visa", "bank"]


def test_a_table_without_a_query(gem, built):
    (built / "q.csv").write_text("id,words\n7,renew a visa\n")
    failed = gem("search", "faq", "--queries", built / "q.csv")
    assert (
        "q.csv line 2: found {'id': '7', 'words': 'renew a visa'}; expected a text, or a record"
        in failed.err
    )


@pytest.mark.parametrize("first", ["query", "id,query", "id;Question;topic", "qid\ttext"])
def test_a_text_file_that_begins_with_a_header(gem, built, first):
    path = built / "q.txt"
    path.write_text(f"{first}\nvisa\n")
    failed = gem("search", "faq", "--queries", path)
    assert failed.status == 2
    assert "q.txt line 1: the first line " in failed.err
    assert (
        "looks like the header of a table; expected one query per line: remove it, or" in failed.err
    )


@pytest.mark.parametrize("first", ["text of the visa", "my question, please", "what is a query?"])
def test_a_query_that_is_no_header(gem, built, first):
    path = built / "q.txt"
    path.write_text(f"{first}\n")
    assert gem("search", "faq", "--queries", path, "--jsonl").lines[0]["query"] == first


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 7}\n', "q.jsonl line 1: found {'id': 7}; expected a text, or a record such as"),
        ('"visa"\n"???"\n', "q.jsonl line 2: the query '???' holds no word; expected at least one"),
        ("visa\n", "q.jsonl line 1: the line"),
        ("\n", "q.jsonl holds no queries; expected a text a line, or JSON lines"),
    ],
)
def test_bad_files(gem, built, content, message):
    path, output = built / "q.jsonl", built / "out.jsonl"
    path.write_text(content)
    output.write_text("before")
    failed = gem("search", "faq", "--queries", path, "-o", output)
    assert failed.status == 2
    assert message in failed.err
    assert failed.err.count("\n") == 1
    assert output.read_text() == "before"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "found neither a query nor --queries; expected one of them"),
        (("visa", "--queries", "q.txt"), "found a query and --queries; expected one of them"),
        (("visa", "-o", "x.jsonl"), "found -o without --queries; expected both"),
        (("--queries", "absent.txt"), "absent.txt"),
        (
            ("--queries", "-", "-o", "x.txt"),
            "ends in '.txt'; expected a name such as results.jsonl",
        ),
    ],
)
def test_bad_options(gem, built, options, message):
    failed = gem("search", "faq", *options)
    assert failed.status == 2
    assert message in failed.err


def test_the_second_page_and_fields_in_the_terminal(gem, built):
    path = built / "more.jsonl"
    path.write_text(
        '{"id": "new", "text": "Is the bank closed?", "title": "Hours", "year": 2020}\n'
    )
    assert gem("add", "faq", path).status == 0
    first = gem("search", "faq", "bank", "-k", 2, "--json").json
    rest = gem("search", "faq", "bank", "-k", 2, "--offset", 2, "--json").json
    whole = gem("search", "faq", "bank", "-k", 4, "--json").json
    assert first + rest == whole
    shown = gem("search", "faq", "bank", "--offset", 1, "-k", 1).out
    assert shown.split()[0] == "2"
    shown = gem("search", "faq", "is the bank closed", "-k", 2, "--show", "title, year,absent").out
    assert shown.count("title:") == 1
    assert '             title: "Hours", year: 2020\n' in shown
    failed = gem("search", "faq", "bank", "--offset", -1)
    assert failed.status == 2


@pytest.fixture
def two(gem, built):
    """Two collections with dates; return the folder of the home."""
    for name, begin in (("new", 2020), ("old", 1990)):
        rows = [
            {
                "id": f"{name}{n}",
                "text": f"The {name} bank number {n} opens at {n + 7}",
                "year": begin + n,
            }
            for n in range(4)
        ]
        rows[0]["text"] = "Hello. " * 30 + rows[0]["text"]
        path = built / f"{name}.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        assert gem("build", name, path).status == 0
    return built


def test_the_terminal_prints_the_part_that_matches(gem, two):
    plain = gem("search", "new", "bank number 0", "-k", 4).out
    assert "new0  Hello. Hello." in plain
    assert "number 0" not in plain
    shown = gem("search", "new", "bank number 0", "-k", 4, "--snippets").out
    assert "bank number 0 opens" in shown
    assert "~" not in shown
    assert "~" in gem("search", "new", "bank number 0", "-k", 1, "--snippets", "--why").out
    [row] = gem("search", "new", "bank number 0", "-k", 1, "--snippets", "--json").json
    assert row == gem("search", "new", "bank number 0", "-k", 1, "--json").json[0]


def test_order_by_a_field_and_boost(gem, two):
    rows = gem("search", "new", "bank", "--sort-by", "-year", "--json").json
    assert [row["metadata"]["year"] for row in rows] == [2023, 2022, 2021, 2020]
    rows = gem("search", "new", "bank", "--boost", "year:1", "--json").json
    plain = gem("search", "new", "bank", "--json").json
    factors = {row["id"]: 1 / (1 + 1 / row["metadata"]["year"]) for row in plain}
    expected = {row["id"]: row["score"] * (1 + factors[row["id"]]) / 2 for row in plain}
    assert {row["id"]: row["score"] for row in rows} == pytest.approx(expected)


def test_several_collections(gem, two):
    told = gem("search", "new, old", "bank number 2", "-k", 3).out.splitlines()
    assert told[0] == (
        "The scores of these collections cannot be compared: results are ordered by rank."
    )
    assert [line.split()[2] for line in told[1:]][:2] == ["new/new2", "old/old2"]
    rows = gem("search", "new,old", "bank number 2", "-k", 3, "--json").json
    assert [(row["collection"], row["id"]) for row in rows[:2]] == [
        ("new", "new2"),
        ("old", "old2"),
    ]
    path = two / "q.txt"
    path.write_text("bank number 2\nbank number 3\n")
    lines = gem("search", "new,old", "--queries", path, "-k", 3, "--jsonl").out.splitlines()
    assert [{**hit, "query": "bank number 2"} for hit in json.loads(lines[0])["results"]] == rows
    failed = gem("search", "new,odl", "bank")
    assert (failed.status, "did you mean old?" in failed.err) == (2, True)
    failed = gem("search", "new,", "bank")
    assert failed.status == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--boost", "year"], "the boost is 'year'; expected FIELD:NUMBER"),
        (["--boost", "absent:3"], "none of the best 3 results has a number in the field 'absent'"),
        (["--sort-by", "-"], "the field to sort by is '-'; expected a name"),
    ],
)
def test_bad_orders(gem, built, options, message):
    failed = gem("search", "faq", "bank", *options)
    assert failed.status == 2
    assert message in failed.err


def test_whole_lines_and_rows(gem, faq, tmp_path):
    """A field of the metadata with the name of a column has a name of its own."""
    scored = tmp_path / "scored.jsonl"
    rows = ({"id": "1", "text": "a visa", "score": 0}, {"id": "2", "text": "two visas", "place": 7})
    scored.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    gem("build", "scored", scored)
    asked = tmp_path / "asked.jsonl"
    asked.write_text('{"id": "q", "query": "vissa"}\n{"query": "visas"}\n')
    (one, two) = gem("search", "scored", "--queries", asked, "--json", "--offset", 1).lines
    assert [list(line) for line in (one, two)] == [
        ["id", "query", "corrected", "results"],
        ["query", "results"],
    ]
    assert (one["id"], one["query"], one["corrected"]) == ("q", "vissa", {"vissa": "visa"})
    (hit,) = one["results"]
    assert set(hit) == {"id", "score", "text", "metadata", "cosine", "bm25"}
    output = tmp_path / "rows.csv"
    gem(
        "search", "scored", "--queries", asked, "-o", output, "--show", "score,place", "--offset", 1
    )
    with output.open(encoding="utf-8", newline="") as file:
        first, second = csv.DictReader(file)
    columns = ["query_id", "query", "place", "id", "score", "text"]
    assert list(first) == [*columns, "metadata.score", "metadata.place"]
    assert (first["query_id"], first["query"], first["place"]) == ("q", "vissa", "2")
    assert (second["query_id"], second["query"], second["place"]) == ("", "visas", "2")
    values = {row["id"]: (row["metadata.score"], row["metadata.place"]) for row in (first, second)}
    expected = {"1": ("0", ""), "2": ("", "7")}
    assert all(values[identifier] == expected[identifier] for identifier in values)
