"""The command demo: it shows what further commands print about its collection."""


def test_its_report_has_what_the_commands_find(gem, tmp_path):
    found = gem("demo", "--json").json
    queries = [each["query"] for each in found["search"]]
    question = found["rerank"]["query"]
    assert found == {
        "home": str(tmp_path / "home"),
        "collection": "demo",
        "documents": gem("status", "--json").json["collections"][0]["documents"],
        "seconds": found["seconds"],
        "search": found["search"],
        "rerank": {"query": question, "results": found["rerank"]["results"]},
        "explain": gem("explain", question, "--collection", "demo", "--json").json,
    }
    assert found["documents"] == 324
    for each in found["search"]:
        results = [
            {**{key: value for key, value in result.items() if value}, "query": each["query"]}
            for result in each["results"]
        ]
        assert results == gem("search", "demo", each["query"], "-k", "3", "--json").json
    topics = [each["results"][0]["metadata"]["topic"] for each in found["search"]]
    assert topics == ["banking", "parcels"]
    assert [each["index"] for each in found["rerank"]["results"]] == [1, 3, 2, 0]
    assert 0 < found["seconds"] < 60

    shown = gem("demo").out
    first, second = (gem("search", "demo", query, "-k", "3").out for query in queries)
    before, _, rest = shown.partition("3. Re-rank: ")
    assert before == (
        "1. Build: 324 questions, embedded with wordllama-gem in the collection 'demo'.\n"
        f"2. Search: {queries[0]}\n{first}2. Search: {queries[1]}\n{second}"
    )
    ranked, _, rest = rest.partition("4. Explain: ")
    assert ranked.startswith(f"{question}\n  1   0.570  The vase was broken when it came.")
    explained = gem("explain", question, "--collection", "demo").out
    explanation, _, after = rest.partition("That took ")
    assert explanation == f"what its words add to its vector\n{explained}"
    assert after.partition(" s. ")[2] == (
        f"Everything is stored in {tmp_path / 'home'}\n"
        "What next?\n"
        "  ask your own:\n"
        '    gem-index search demo "how do I send something back?"\n'
        "  your own texts: .jsonl, .json, .csv, .tsv, .xlsx, .txt, .parquet:\n"
        "    gem-index build faq my-questions.jsonl\n"
        "  compare two texts:\n"
        '    gem-index similarity "a cheap flight" "a low-cost plane ticket"\n'
        "  bring your own word vectors:\n"
        "    gem-index vectors add glove glove.6B.300d.txt\n"
        "  remove this sample:\n"
        "    gem-index drop demo\n"
    )
