"""search --queries: many queries from a file."""

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
    ("content", "message"),
    [
        ('{"id": 7}\n', "q.jsonl line 1: found {'id': 7}; expected a text, or an object such as"),
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
