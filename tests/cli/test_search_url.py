"""The command search with the URL of a pushed table, and what push says of its words."""

import io
import json

import pytest


@pytest.fixture
def url(gem, faq_file, tmp_path):
    assert gem("build", "faq", faq_file).status == 0
    url = f"parquet://{tmp_path}/table"
    pushed = gem("push", "faq", url)
    assert (pushed.status, pushed.err) == (0, "")
    assert "dense vectors only" not in pushed.out
    return url


def test_a_table_is_searched_as_its_collection(gem, url, tmp_path, monkeypatch):
    own = gem("search", "faq", "renew a visa", "-k", "3", "--json").json
    lines = gem("search", "faq", "renew a visa", "-k", "3").out
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "another"))
    found = gem("search", url, "renew a visa", "-k", "3", "--json").json
    assert [hit["id"] for hit in found] == [hit["id"] for hit in own]
    assert [hit["score"] for hit in found] == pytest.approx([hit["score"] for hit in own], abs=1e-4)
    assert set(found[0]) == set(own[0])
    assert gem("search", url, "renew a visa", "-k", "3").out == lines
    explained = gem("search", url, "renew a visa", "-k", "1", "--why", "--json").json
    assert explained[0]["why"]["cosine"] == pytest.approx(found[0]["cosine"], abs=1e-4)


def test_a_file_of_queries(gem, url, tmp_path):
    queries = tmp_path / "queries.txt"
    queries.write_text("renew a visa\na bank account\n")
    answer = gem("search", url, "--queries", queries, "-k", "1", "--jsonl")
    rows = [json.loads(line) for line in answer.out.splitlines()]
    assert [row["query"] for row in rows] == ["renew a visa", "a bank account"]
    assert all(len(row["results"]) == 1 for row in rows)


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--rerank",), "rerank"),
        (("--collapse",), "collapse"),
        (("--fusion", "rrf"), "fusion"),
        (("--exact",), "exact"),
        (("--boost", "votes:10"), "boost"),
        (("--sort-by", "votes"), "sort_by"),
    ],
)
def test_an_option_of_collections_alone_is_named(gem, url, options, named):
    refused = gem("search", url, "visa", *options)
    assert refused.status == 2
    assert f"found {named} for the target parquet://" in refused.err
    assert "expected it in a search of a collection only" in refused.err


def test_a_table_has_no_calibration(gem, url):
    refused = gem("search", url, "visa", "--min-score", "auto")
    assert refused.status == 2
    assert "found the min_score auto for the target parquet://" in refused.err


def test_the_second_page_of_a_table(gem, url):
    lines = gem("search", url, "renew a visa", "-k", "4").out.splitlines()
    page = gem("search", url, "renew a visa", "-k", "2", "--offset", "2").out.splitlines()
    assert page == lines[2:]
    assert page[0].split()[0] == "3"
    assert (
        gem("search", url, "renew a visa", "-k", "2", "--no-correct").out.splitlines() == lines[:2]
    )


def test_bad_input(gem, url, tmp_path):
    assert "found no table at" in gem("search", f"parquet://{tmp_path}/none", "visa").err
    assert "holds no word" in gem("search", url, "?!").err
    lexical = gem("search", url, "visa", "--mode", "lexical")
    assert "found the mode lexical" in lexical.err
    assert "expected hybrid or dense" in lexical.err
    assert "nosuch" in gem("search", "nosuch://x?table=y", "visa").err


def test_a_dense_table_stays_so_and_push_says_it(gem, url, tmp_path):
    dense = f"parquet://{tmp_path}/dense"
    assert "dense vectors only" not in gem("push", "faq", dense, "--dense-only").out
    again = gem("push", "faq", dense)
    assert "push it with --full to add sparse vectors of words" in again.out
    assert gem("push", "faq", dense, "--json").json["words"] is False
    assert "dense vectors only" not in gem("push", "faq", dense, "--full").out
    assert gem("push", "faq", dense, "--json").json["words"] is True
    assert gem("push", "faq", f"faiss://{tmp_path}/faiss", "--json").json["words"] is None


def test_embedded_files_are_searched_as_a_collection(gem, faq_file, tmp_path, monkeypatch):
    url = f"parquet://{tmp_path}/embedded"
    made = gem("embed", faq_file, "--to", url, "--json")
    assert (made.status, made.err) == (0, "")
    assert (made.json["words"], made.json["words_due"]) == (True, False)
    gem("build", "faq", faq_file)
    [own] = gem("search", "faq", "renew a visa", "-k", "1", "--json").json
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "another"))
    [found] = gem("search", url, "renew a visa", "-k", "1", "--json").json
    assert (found["id"], found["text"]) == (own["id"], own["text"])
    dense = f"parquet://{tmp_path}/dense"
    assert gem("embed", faq_file, "--to", dense, "--dense-only", "--json").json["words"] is False
    refused = gem("search", dense, "renew a visa")
    assert refused.status == 2
    assert "has no word statistics" in refused.err


def test_embedded_files_with_bad_records_are_told_of_once(gem, faq_file, tmp_path):
    bad = tmp_path / "bad.jsonl"
    bad.write_text(
        '{"id": "1", "text": "renew a visa"}\n{"text": 7}\n{"id": "2", "text": "a bank"}\n'
    )
    report = tmp_path / "report.jsonl"
    made = gem(
        "embed", bad, "--to", f"parquet://{tmp_path}/out", "--on-error", "skip", "--report", report
    )
    assert made.status == 0
    assert made.err.count("Skipped:") == 1
    assert len(report.read_text().splitlines()) == 1
    assert "2 documents; added 2" in made.out


def test_standard_input_is_embedded_with_words(gem, tmp_path, monkeypatch):
    def typed(lines):
        stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(lines.encode())))
        monkeypatch.setattr("sys.stdin", stream)

    url = f"parquet://{tmp_path}/out"
    lines = "renew a visa\nopen a bank account\nlose a passport\n"
    typed(lines)
    made = gem("embed", "-", "--to", url, "--language", "en", "--json")
    assert made.status == 0, made.err
    assert (made.json["added"], made.json["words"]) == (3, True)
    assert gem("search", url, "passport", "-k", "1", "--json").json[0]["text"] == "lose a passport"
    typed(lines)
    wrong = gem("embed", "-", "--to", f"{url}2", "--language", "english")
    assert wrong.status == 2
    assert "english" in wrong.err
