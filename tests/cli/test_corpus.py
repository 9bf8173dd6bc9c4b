"""Commands on all documents of a collection together: duplicates, topics, and a collapsed search."""

import itertools
import json

import pyarrow.parquet as pq
import pytest


@pytest.fixture
def tickets(gem, tmp_path):
    texts = {
        "p1": "How do I reset my password?",
        "car": "Is there a parking place at the office?",
        "p2": "How do I reset my password",
        "p3": "How do I reset the password?",
        "\x1b[31m": "how do I reset my PASSWORD",
        "tea": "a cup of green tea",
    }
    path = tmp_path / "tickets.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": name, "text": text, "kind": name[0]}) + "\n"
            for name, text in texts.items()
        )
    )
    assert gem("build", "tickets", path).status == 0
    return texts


def refused(answer, *parts):
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.count("\n") == 1
    for part in parts:
        assert part in answer.err


def test_duplicates(gem, tickets):
    [group] = gem("duplicates", "tickets", "--json").json
    assert group["ids"] == ["p1", "p2", "p3", "\x1b[31m"]
    assert group["score"] == min(group["scores"]) == group["scores"][2] < 1
    assert group["text"] == tickets["p1"]
    assert group["views"] == ["wording", "meaning"]
    assert group["overlaps"][:2] == [1, 1]
    assert group["contrasts"] == [None] * 4
    assert gem("duplicates", "tickets", "--jsonl").lines == [group]
    shown = gem("duplicates", "tickets").out
    assert "p2, p3, \\x1b[31m" in shown
    assert shown.endswith("Groups: 1. Documents in them: 4, 3 more than one of each.\n")
    [fewer] = gem("duplicates", "tickets", "--threshold", "1", "--overlap", "1", "--json").json
    assert fewer["ids"] == ["p1", "p2", "\x1b[31m"]
    where = ("--where", '{"kind": {"$ne": "p"}}')
    assert gem("duplicates", "tickets", *where).out == "No two documents are near.\n"
    assert gem("duplicates", "tickets", *where, "--json").json == []


def test_duplicates_by_one_view_and_with_contrasts(gem, tmp_path):
    path = tmp_path / "pairs.txt"
    path.write_text(
        "I can log in to my account\nI can not log in to my account\nI can logg in to my acount\n"
    )
    assert gem("build", "pairs", path).status == 0
    first, second, third = (each["id"] for each in gem("list", "pairs", "--json").json)
    [group] = gem("duplicates", "pairs", "--view", "wording", "--json").json
    assert (group["ids"], group["views"]) == ([first, third], ["wording"])
    [group] = gem("duplicates", "pairs", "--view", "meaning", "--contrasts", "--json").json
    assert (group["ids"], group["contrasts"]) == ([first, second], [None, "negation"])
    shown = gem("duplicates", "pairs", "--view", "meaning", "--contrasts").out
    assert f"{second} (negation)" in " ".join(shown.split())


def test_many_groups_are_shown_in_part(gem, tmp_path):
    path = tmp_path / "pairs.txt"
    words = ["tea", "river", "school", "bank", "visa", "duck", "phone"]
    lines = [f"{a} {b}" for a in words for b in words if a < b]
    path.write_text("\n".join([*lines, *lines, *lines[:1] * 8]) + "\n")
    assert gem("build", "pairs", path).status == 0
    shown = gem("duplicates", "pairs", "--view", "meaning", "--threshold", "1").out
    assert "1 more: --json or --jsonl" in shown
    assert ", …" in shown
    assert "Groups: 21. Documents in them: 50, 29 more than one of each." in " ".join(shown.split())


@pytest.mark.parametrize(("copies", "more"), [(6, False), (7, True)])
def test_at_most_five_others_of_a_group_are_named(gem, tmp_path, copies, more):
    path = tmp_path / "copies.jsonl"
    rows = [{"id": f"n{number}", "text": "a cup of green tea"} for number in range(copies)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert gem("build", "copies", path).status == 0
    shown = " ".join(gem("duplicates", "copies").out.split())
    assert f"n1, n2, n3, n4, n5{', …' if more else ' '}" in shown


def test_a_collapsed_search(gem, tickets):
    ask = ("search", "tickets", "reset my password", "-k", "2")
    first, second = gem(*ask, "--collapse", "--json").json
    assert sorted([first["id"], *first["similar"]]) == sorted(["p1", "p2", "p3", "\x1b[31m"])
    assert second["similar"] == []
    assert second["id"] in ("car", "tea")
    assert gem(*ask, "--collapse", "--jsonl").lines == [first, second]
    near = gem(*ask, "--collapse", "--threshold", "1", "--json").json
    assert [len(hit["similar"]) for hit in near] == [2, 0]
    assert all("similar" not in hit for hit in gem(*ask, "--json").json)
    assert "\\x1b[31m" in gem(*ask, "--collapse").out.split("similar: ")[1]
    assert "similar" not in gem(*ask).out


def test_topics(gem, tickets, tmp_path):
    found = gem("topics", "tickets", "-n", "3", "--json").json
    assert [topic["documents"] for topic in found] == [4, 1, 1]
    assert "password" in found[0]["words"]
    assert found[0]["examples"][0]["text"] in tickets.values()
    assert gem("topics", "tickets", "-n", "3", "--jsonl").lines == found
    rows = [row.rstrip() for row in gem("topics", "tickets", "-n", "3").out.splitlines()]
    for topic in found:
        assert any(row.endswith(topic["examples"][0]["text"]) for row in rows)
    each = gem("topics", "tickets", "-n", "3", "--documents", "--jsonl").lines
    assert gem("topics", "tickets", "-n", "3", "--documents", "--json").json == each
    assert {row["id"] for row in each} == set(tickets)
    for row in each:
        assert row["words"] == found[row["topic"]]["words"]
        assert (row["topic"] == 0) == (row["id"] not in ("car", "tea"))
    table = gem("topics", "tickets", "-n", "3", "--documents").out
    assert all(name in table for name in ("p1", "car", "tea"))
    page = tmp_path / "map.html"
    shown = gem("topics", "tickets", "-n", "2", "--plot", page)
    assert "password" in shown.out
    assert shown.out.endswith(f"Map: {page}\n")
    assert "green tea" in page.read_text()
    assert [t["documents"] for t in gem("topics", "tickets", "--json").json] == [6]
    where = ("--where", '{"kind": "t"}')
    assert [t["documents"] for t in gem("topics", "tickets", *where, "--json").json] == [1]


def test_main_topics(gem, tickets, tmp_path):
    found = gem("topics", "tickets", "-n", "3", "--main", "2", "--json").json
    main = [each["main"] for each in found]
    assert len(set(main)) == 2
    assert all(main)
    shown = gem("topics", "tickets", "-n", "3", "--main", "2").out
    for name in set(main):
        documents = sum(each["documents"] for each in found if each["main"] == name)
        assert f"{name}: {documents} document" in shown
    assert gem("topics", "tickets", "-n", "3", "--main", "2", "-o", tmp_path / "t.csv").status == 0
    assert main[0] in (tmp_path / "t.csv").read_text()
    refused(gem("topics", "tickets", "-n", "2", "--main", "3"), "found 3 main topics to divide 2")


def test_more_topics_than_texts(gem, tickets, state):
    before = state()
    refused(gem("topics", "tickets", "--documents", "-n", "99"), "found 99 topics for")
    assert state() == before


def test_no_topics_without_words(gem, tmp_path):
    (tmp_path / "marks.txt").write_text("!!!\n???\n")
    assert gem("build", "marks", tmp_path / "marks.txt").status == 0
    assert gem("topics", "marks").out == "marks has no documents with words.\n"
    assert gem("topics", "marks", "--json").json == []
    assert {row["topic"] for row in gem("topics", "marks", "--documents", "--json").json} == {None}


def test_the_topic_of_each_document_is_its_number_or_a_dash(gem, tmp_path):
    rows = [{"id": "p1", "text": "reset my password"}, {"id": "none", "text": "???"}]
    path = tmp_path / "x.jsonl"
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert gem("build", "few", path).status == 0
    shown = gem("topics", "few", "-n", "1", "--documents").out.splitlines()
    rows = [row.split() for row in shown if row.startswith(("  p1", "  none"))]
    assert rows == [["p1", "0", "password,", "reset"], ["none", "-"]]


def test_bad_input(gem, tickets, state, tmp_path):
    before = state()
    for threshold in ("0", "-1", "1.5", "nan"):
        refused(gem("duplicates", "tickets", "--threshold", threshold), "above 0 and at most 1")
        search = ("search", "tickets", "tea", "--collapse", "--threshold", threshold)
        refused(gem(*search), "the cosine to collapse by is", "above 0 and at most 1")
    refused(gem("search", "tickets", "tea", "--threshold", "0.9"), "without --collapse")
    refused(
        gem("duplicates", "tickets", "--view", "words"), "expected one or both of wording, meaning"
    )
    refused(gem("duplicates", "tickets", "--overlap", "2"), "the overlap is 2", "at most 1")
    refused(gem("duplicates", "missing"), "no collection is named 'missing'")
    refused(gem("topics", "tickets", "-n", "0"), "number of topics is 0; expected")
    refused(gem("topics", "tickets", "-n", "7"), "found 7 topics", "6 different texts")
    refused(gem("topics", "tickets", "--plot", tmp_path / "x.gif"), "x.gif ends in '.gif'")
    refused(gem("topics", "tickets", "--plot", tmp_path / "no" / "x.png"), "cannot write")
    refused(gem("topics", "tickets", "--where", "{"), "--where")
    assert state() == before


def test_drift_names_new_subjects(gem, tmp_path):
    old = ["visa", "permit", "residence", "office", "renew", "passport"]
    new = ["ducks", "dogs", "river", "swimming", "garden", "trees"]

    def file(name, words):
        lines = [" ".join(each) for each in itertools.combinations(words, 3)] * 2
        rows = [{"id": f"{name}-{i}", "text": line} for i, line in enumerate(lines)]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("\n".join(map(json.dumps, rows)))
        return path

    gem("build", "c", file("old", old))
    gem("add", "c", file("new", new[:3]))
    assert "too few to look for new subjects" in gem("drift", "c").out
    gem("add", "c", file("new", new))
    found = gem("drift", "c").out
    assert "Compared: 20 new texts with 20 of the fit." in found
    assert "New subjects: 20 texts are far from the texts of the fit." in found
    assert "gem-index refit c" in found
    answer = gem("drift", "c", "--json").json
    assert answer["novelty"]["found"] is True
    assert set(answer["novelty"]["topics"][0]["words"]) <= set(new)
    gem("refit", "c")
    gem("add", "c", file("again", old))
    assert "No new subjects." in gem("drift", "c").out


def test_a_map_in_a_file(gem, tickets, tmp_path):
    table = tmp_path / "map.csv"
    assert gem("map", "tickets", "-o", table).out == f"Map of 6 documents: {table}\n"
    rows = table.read_text().splitlines()
    assert rows[0] == "id,x,y,group,name"
    assert {row.split(",")[0] for row in rows[1:]} == set(tickets)
    (tmp_path / "more.jsonl").write_text(json.dumps({"id": "late", "text": "a late train"}))
    gem("add", "tickets", tmp_path / "more.jsonl")
    shown = gem("map", "tickets", "-o", tmp_path / "map.html", "--color", "kind").out
    assert "1 documents have no place: they came later (--again)" in shown
    assert "a late train" not in (tmp_path / "map.html").read_text()
    again = gem("map", "tickets", "-o", tmp_path / "map.html", "--again", "--json").json
    assert (again["shown"], again["documents"]) == (7, 7)
    assert "a late train" in (tmp_path / "map.html").read_text()
    refused(gem("map", "tickets", "-o", "x.gif"), "x.gif ends in '.gif'; expected a name such as")
    refused(
        gem("map", "tickets", "-o", table, "--color", "none"), "has a field 'none'; expected one of"
    )


def test_label(gem, tmp_path):
    words = {
        "money": ["bank", "loan", "card", "account"],
        "permits": ["visa", "permit", "passport", "papers"],
    }
    rows = [
        {"id": f"{label}{i}", "text": f"a question about my {word} number {i}", "n": i}
        for label, kinds in words.items()
        for i, word in enumerate(kinds * 4)
    ]
    texts, examples = tmp_path / "texts.jsonl", tmp_path / "examples.csv"
    texts.write_text("".join(json.dumps(row) + "\n" for row in rows))
    taught = [f"{label}{i}" for label in words for i in range(8)]
    examples.write_text("id,team\n" + "".join(f"{name},{name[:-1]}\n" for name in taught))
    assert gem("build", "tickets", texts).status == 0
    dry = gem("label", "tickets", examples, "--field", "team", "--dry-run")
    assert dry.status == 0
    assert "Cross-validated on 16 examples in 5 parts: 0.88 are right (0.64 to 0.97)." in " ".join(
        dry.out.split()
    )
    assert dry.out.endswith("32 documents would get the field team; nothing was written.\n")
    assert gem("count", "tickets", "--where", '{"team": {"$in": ["money"]}}').status == 2
    told = gem("label", "tickets", examples, "--field", "team", "--json").json
    assert (told["accuracy"], told["baseline"], told["parts"]) == (0.875, 0.5, 5)
    assert (told["labeled"], told["unlabeled"], told["changed"]) == (32, 0, 32)
    assert [each["documents"] for each in told["labels"]] == [16, 16]
    assert gem("count", "tickets", "--where", '{"team": "money"}').out == "16\n"
    other = tmp_path / "other.csv"
    other.write_text(examples.read_text().replace("id,team", "id,some"))
    some = gem("label", "tickets", other, "--field", "some", "--where", '{"n": {"$lt": 4}}')
    assert some.status == 0
    assert gem("count", "tickets", "--where", '{"some": {"$exists": true}}').out == "8\n"
    refused(gem("label", "tickets", examples, "--field", "team"), "replace them with --replace")
    shown = gem("label", "tickets", examples, "--field", "team", "--replace").out
    assert shown.endswith("0 documents changed: 32 have the field team now.\n")


def test_topics_as_a_table_and_as_a_field(gem, tickets, tmp_path):
    path = tmp_path / "topics.jsonl"
    assert gem("topics", "tickets", "-n", 3, "--save-as", "topic", "-o", path).status == 0
    topics = [json.loads(line) for line in path.read_text().splitlines()]
    assert [topic["documents"] for topic in topics] == [4, 1, 1]
    assert len({topic["name"] for topic in topics}) == 3
    where = json.dumps({"topic": topics[0]["name"]})
    assert gem("count", "tickets", "--where", where).out == "4\n"
    each = ("topics", "tickets", "-n", 3, "--documents", "-o", path, "--show", "kind")
    assert gem(*each).out == f"6 rows in {path}.\n"
    rows = {row["id"]: row for row in map(json.loads, path.read_text().splitlines())}
    name = topics[0]["name"]
    assert rows["p1"] == {"id": "p1", "topic": 0, "name": name, "main": "", "kind": "p"}
    assert gem("status", "tickets", "--json").json["collections"][0]["since_fit"] == 0
    refused(gem("topics", "tickets", "--save-as", "topic"), "6 documents", "--replace")
    assert gem("topics", "tickets", "-n", 1, "--save-as", "topic", "--replace").status == 0
    assert len(gem("count", "tickets", "--by", "topic", "--json").json["values"]) == 1
    table = tmp_path / "places.parquet"
    assert gem("map", "tickets", "-o", table).status == 0
    assert pq.read_table(table).column_names == ["id", "x", "y", "group", "name"]


def test_what_topics_write_and_print_beside_each_other(gem, tickets, tmp_path):
    path, page = tmp_path / "counts.csv", tmp_path / "map.html"
    both = gem("topics", "tickets", "--by", "kind", "--documents", "-o", path)
    refused(both, "found --documents and --by; expected one of them")
    assert gem("topics", "tickets", "-n", 2, "--by", "kind", "-o", path).status == 0
    assert path.read_text().startswith("value,")
    shown = gem("topics", "tickets", "-n", 2, "--documents", "--plot", page).out
    assert shown.endswith(f"Map: {page}\n")


def test_of_many_values_the_last_are_shown(gem, tmp_path):
    path = tmp_path / "days.jsonl"
    rows = [
        {"text": f"a cup of green tea {day}", "day": f"2024-01-{day:02}"} for day in range(1, 26)
    ]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert gem("build", "days", path).status == 0
    shown = gem("topics", "days", "-n", 1, "--by", "day(day)").out
    assert "2024-01-25" in shown
    assert "2024-01-06" in shown
    assert "2024-01-05" not in shown
    assert "Values: 25, topics: 1." in shown


def test_topics_with_given_names_and_by_a_field(gem, tickets, tmp_path):
    names = tmp_path / "names.txt"
    names.write_text("passwords\ncars at the office\n\ngreen tea\n")
    shown = gem("topics", "tickets", "-n", 3, "--labels", names).out
    assert "name" in shown
    assert "passwords" in shown
    rows = gem("topics", "tickets", "-n", 3, "--labels", names, "--by", "kind", "--json").json
    assert {row["value"]: row["name"] for row in rows if row["value"] != "\x1b"} == {
        "p": "passwords",
        "c": "cars at the office",
        "t": "green tea",
    }
    assert {row["value"]: row["documents"] for row in rows}["p"] == 3
    table = gem("topics", "tickets", "-n", 3, "--labels", names, "--by", "kind").out
    assert "passwords" in table
    assert "All of them" not in table
    both = gem("topics", "tickets", "--by", "kind", "--documents")
    refused(both, "found --documents and --by; expected one of them")


@pytest.mark.parametrize(("values", "topics"), [(21, 2), (2, 6)])
def test_a_table_of_many_values_or_topics_says_that_there_are_more(gem, tmp_path, values, topics):
    words = ("tea", "bank", "river", "visa", "school", "music")
    path = tmp_path / "many.jsonl"
    rows = ({"text": f"{words[i % 6]} {words[i % 6]}s", "day": f"d{i % values}"} for i in range(42))
    path.write_text("".join(json.dumps({"id": str(i), **row}) + "\n" for i, row in enumerate(rows)))
    assert gem("build", "many", path).status == 0
    answer = gem("topics", "many", "-n", topics, "--by", "day")
    told = f"Values: {values}, topics: {topics}. All of them: --json or --output"
    assert told in answer.out + answer.err
