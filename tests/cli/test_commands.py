"""Commands: their JSON, their streams, their exit status, and their output for people."""

import io
import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from gem_index import Home
from gem_index_cli.main import run
from gem_index_cli.output import in_units


def test_fields_that_count_more(gem, tmp_path):
    """The arguments of build are kept for later calls; a different one is used and reported."""
    posts = tmp_path / "posts.csv"
    posts.write_text("n,subject,body\n1,renew a visa,where do I go\n2,a bank account,renew it\n")
    weights = ("--text-field", "subject*2", "--text-field", "body")
    assert gem("build", "posts", posts, "--id-field", "n", *weights, "--json").status == 0
    (hit,) = gem("search", "posts", "visa", "-k", "1", "--json").json
    assert (hit["id"], hit["text"]) == ("1", "renew a visa\n\nwhere do I go")
    more = tmp_path / "more.csv"
    more.write_text("n,subject,body\n3,tea in a cup,visa visa\n1,renew a visa,where do I go\n")
    added = gem("add", "posts", more, "--json")
    assert (added.err, added.json["added"], added.json["unchanged"]) == ("", 1, 1)
    again = gem("build", "posts", more, "--json")
    assert (again.err, again.json["unchanged"]) == ("", 2)
    other = gem("add", "posts", more, "--text-field", "subject", "--json")
    assert other.err == (
        "Note: the collection was built with another --text-field: subject*2, body.\n"
    )
    assert other.json["updated"] == 2


def test_a_collection_over_several_encoders(gem, faq_file, tmp_path):
    config = tmp_path / "best.json"
    config.write_text(
        '{"encoders": [{"vectors": "wordllama-gem", "config": {"removed": 2}},'
        ' {"vectors": "wordllama", "config": {"removal": "none"}, "weight": 0.5}]}'
    )
    built = gem("build", "faq", faq_file, "--config", config)
    assert (built.status, built.err) == (0, "")
    assert "Model fitted on 5 texts with wordllama-gem, wordllama." in built.out
    (status,) = gem("status", "--json").json["collections"]
    assert (status["vectors"], status["fitted"]) == ("wordllama-gem, wordllama", 5)
    assert gem("search", "faq", "visa", "--json").json[0]["id"] == "v1"
    explained = gem("explain", "a visa", "--collection", "faq", "--json").json
    assert explained["fingerprint"] == status["fingerprint"]
    assert [part["weight"] for part in explained["encoders"]] == [1.0, 0.5]
    words = [part["explanation"]["words"] for part in explained["encoders"]]
    assert [word["token"] for word in words[1]] == ["a", "visa"]
    assert words[0] != words[1]
    shown = gem("explain", "a visa", "--collection", "faq").out
    assert "Encoder 1 of 2, weight 1\n" in shown
    assert "Encoder 2 of 2, weight 0.5\n" in shown
    assert gem("fit", "both", faq_file, "--config", config, "--json").status == 0
    (model,) = gem("models", "list", "--json").json
    assert [part["weight"] for part in model["config"]["encoders"]] == [1.0, 0.5]
    shown = gem("models", "list").out.split()
    assert shown[-3:] == ["5", str(model["dimension"]), model["fingerprint"][:12]]
    same = gem("similarity", "a visa", "visa", "--model", "both", "--json").json["score"]
    assert same == pytest.approx(
        Home(tmp_path / "home").models.open("both").similarity("a visa", "visa")
    )
    pairs = ("similarity", "a visa", "visa", "--config", config, "--json")
    assert 0 < gem(*pairs).json["score"] <= 1


def test_a_configuration_may_come_through_a_pipe(gem, faq_file):
    read, write = os.pipe()
    os.write(write, b'{"vectors": "wordllama", "config": {"removed": 1}}')
    os.close(write)
    built = gem("build", "faq", faq_file, "--config", f"/dev/fd/{read}")
    os.close(read)
    assert (built.status, built.err) == (0, "")
    assert "with wordllama.\n" in built.out


def test_build_add_delete_status_drop(gem, faq_file, tmp_path):
    built = gem("build", "faq", faq_file, "--json")
    assert (built.status, built.err) == (0, "")
    seconds = built.json.pop("seconds")
    assert seconds >= 0
    fingerprint = built.json["fingerprint"]
    expected = {
        "collection": "faq",
        "added": 5,
        "updated": 0,
        "unchanged": 0,
        "deleted": 0,
        "pieces": 5,
        "skipped": 0,
        "documents": 5,
        "language": "en",
    }
    assert built.json == expected | {"fingerprint": fingerprint, "seconds": seconds}
    assert len(fingerprint) == 64

    more = tmp_path / "more.csv"
    more.write_text("id,text\nv1,How can I renew a visa?\nn1,Is the school open?\n")
    added = gem("add", "faq", more, "--json").json
    assert {k: added[k] for k in expected} == expected | {
        "added": 1,
        "updated": 1,
        "pieces": 2,
        "documents": 6,
    }
    assert added["fingerprint"] == fingerprint

    status = gem("status", "--json").json["collections"]
    assert [s["name"] for s in status] == ["faq"]
    entry = status[0]
    assert (entry["documents"], entry["fingerprint"], entry["vectors"], entry["preset"]) == (
        6,
        fingerprint,
        "wordllama-gem",
        "trained",
    )
    assert entry["index"] == {
        "kind": "flat",
        "snapshot": entry["index"]["snapshot"],
        "last_seq": 5,
        "tail": 2,
    }
    assert entry["bytes"] > 0

    assert gem("delete", "faq", "n1", "zz", "--json").json == {"deleted": 1, "missing": ["zz"]}
    assert gem("refit", "faq", "--json").json["collections"][0]["fitted"] == 5
    assert gem("verify", "--json").json == {"ok": True, "problems": []}
    assert gem("drop", "faq", "--yes", "--json").json == {"dropped": "faq", "documents": 5}
    assert gem("status", "--json").json == {"collections": []}


def test_search(gem, faq):
    found = gem("search", "faq", "renewing a visa", "-k", 2, "--json").json
    assert [set(result) for result in found] == [
        {"id", "score", "text", "metadata", "query", "cosine", "bm25"}
    ] * 2
    assert {result["id"] for result in found} == {"v1", "v2"}
    assert found[0]["score"] >= found[1]["score"]
    assert found[0]["metadata"]["topic"] == "visa"
    where = '{"topic": "bank", "year": {"$gt": 2020}}'
    assert [r["id"] for r in gem("search", "faq", "visa", "--where", where, "--json").json] == [
        "b2"
    ]
    shown = gem("search", "faq", "renewing a visa", "-k", 1)
    assert found[0]["text"] in shown.out
    assert f"{found[0]['score']:.3f}" in shown.out


def test_why_a_text_was_found(gem, faq):
    (found,) = gem("search", "faq", "renewing a visa", "-k", 1, "--why", "--json").json
    why = found["why"]
    assert why["second"] == found["text"]
    assert sum(pair["share"] for pair in why["pairs"]) == pytest.approx(found["cosine"], abs=1e-5)
    word = max(why["second_words"], key=lambda word: word["share"])
    assert found["text"][word["begin"] : word["end"]].lower() == word["token"] in ("renew", "visa")
    assert word["same_word"] is True
    shown = gem("search", "faq", "renewing a visa", "-k", 1, "--why").out
    assert "visa ~ visa 0." in shown.splitlines()[1]
    assert "\x1b[" not in shown  # styles are for terminals


def test_why_two_texts_match(gem):
    texts = ("a cheap flight", "a low-cost plane ticket")
    found = gem("explain", texts[0], "--with", texts[1], "--json").json
    assert {
        "first",
        "second",
        "fingerprint",
        "cosine",
        "first_words",
        "second_words",
        "pairs",
    } == set(found)
    score = gem("similarity", *texts, "--json").json["score"]
    assert found["cosine"] == pytest.approx(score, abs=1e-6)
    assert len(found["pairs"]) == 15
    shown = gem("explain", texts[0], "--with", texts[1]).out
    assert f"cosine {score:.4f}" in shown
    assert "flight" in shown
    assert "5 other pairs" in shown
    assert "No words" in gem("explain", "?", "--with", "a flight").out


def test_a_long_text_is_cut_to_where_it_matches(gem, tmp_path):
    filler = "nothing of interest happens in this sentence at all. " * 30
    source = tmp_path / "long.jsonl"
    source.write_text(json.dumps({"id": "a", "text": f"{filler} The visa office. {filler}"}))
    gem("build", "long", source)
    line = gem("search", "long", "visa office", "--why").out.splitlines()[0]
    assert "visa office" in line
    assert len(line) <= 80
    assert line.count("…") == 2


def test_rerank_answers_a_line_a_query(gem, faq, tmp_path):
    source = tmp_path / "in.jsonl"
    rows = [
        {
            "id": 7,
            "query": "renew a visa",
            "candidates": [
                "open a bank account",
                {"id": "x", "text": "how to renew a visa"},
                "",
                "open a bank account",
            ],
        },
        {"query": "bank", "candidates": []},
    ]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    first, second = gem("rerank", source, "--collection", "faq", "--json").lines
    assert set(first) == {"id", "query", "results"}
    assert first["id"] == 7
    assert [set(result) for result in first["results"]] == [{"index", "id", "score", "text"}] * 4
    assert (first["results"][0]["index"], first["results"][0]["id"]) == (1, "x")
    scores = {result["index"]: result["score"] for result in first["results"]}
    assert scores[0] == scores[3]
    assert scores[2] == 0.0
    order = [result["index"] for result in first["results"]]
    assert order.index(0) < order.index(3)
    assert second == {"query": "bank", "results": []}
    assert "how to renew a visa" in gem("rerank", source, "--top-n", 1).out


def test_explain(gem, faq):
    answer = gem("explain", "Two ducks, swimming", "--json").json
    assert set(answer) == {"text", "fingerprint", "words"}
    assert [word["token"] for word in answer["words"]] == ["two", "ducks", "swimming"]
    assert set(answer["words"][0]) == {
        "token",
        "known",
        "alpha_n",
        "alpha_s",
        "alpha_u",
        "alpha",
        "share",
    }
    by_collection = gem("explain", "Two ducks, swimming", "--collection", "faq", "--json").json
    assert by_collection["fingerprint"] != answer["fingerprint"]
    shown = gem("explain", "Two ducks, swimming").out
    assert "ducks" in shown
    assert "█" in shown
    assert "No words" in gem("explain", "?!").out


def test_similarity(gem):
    same = gem("similarity", "a red bus", "A red bus!", "--json").json
    assert same == {"score": pytest.approx(1.0)}
    near = gem("similarity", "a cheap flight", "a low-cost plane ticket", "--json").json["score"]
    far = gem("similarity", "a cheap flight", "the chicken soup", "--json").json["score"]
    assert -1 <= far < near <= 1
    assert gem("similarity", "a red bus", "A red bus!").out == "1.0000\n"


def test_fit_models_and_encode(gem, faq, tmp_path):
    fitted = gem("fit", "m", faq, "--preset", "cqa", "--json").json
    assert {k: fitted[k] for k in ("model", "sentences", "dimension", "components")} == {
        "model": "m",
        "sentences": 5,
        "dimension": 256,
        "components": 5,
    }
    (model,) = gem("models", "list", "--json").json
    assert (model["name"], model["fingerprint"], model["config"]["window"]) == (
        "m",
        fitted["fingerprint"],
        6,
    )
    lines = tmp_path / "lines.txt"
    lines.write_text("renew a visa\n\nopen an account\n")
    out = tmp_path / "x.npy"
    encoded = gem("encode", lines, "-o", out, "--model", "m", "--json").json
    assert encoded == {
        "rows": 3,
        "dimension": 256,
        "empty": 1,
        "fingerprint": fitted["fingerprint"],
    }
    matrix = np.load(out)
    assert (matrix.shape, matrix.dtype) == ((3, 256), np.float32)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), [1, 0, 1], atol=1e-6)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["faq.jsonl", "home", "lines.txt", "x.npy"]
    assert gem("models", "remove", "m").status == 0
    assert gem("models", "list", "--json").json == []


def test_encode_fits_on_its_input(gem, faq, tmp_path):
    out = tmp_path / "x.npy"
    options = ("--vectors", "wordllama", "--fit", "--preset", "sts", "-o", out, "--json")
    encoded = gem("encode", faq, *options).json
    fitted = gem("fit", "m", faq, "--vectors", "wordllama", "--preset", "sts", "--json").json
    assert encoded["fingerprint"] == fitted["fingerprint"]
    assert encoded["rows"] == 5


def test_encode_to_parquet_keeps_ids_texts_and_order(gem, faq, tmp_path):
    import pyarrow.parquet as pq

    gem("encode", faq, "-o", tmp_path / "x.parquet")
    gem("encode", faq, "-o", tmp_path / "x.npy")
    table = pq.read_table(tmp_path / "x.parquet")
    assert table.column_names == ["id", "text", "vector"]
    assert table.column("id").to_pylist() == ["v1", "v2", "b1", "b2", "p1"]
    assert table.column("text").to_pylist()[0] == "How do I renew my residence visa?"
    stacked = np.array(table.column("vector").to_pylist(), dtype=np.float32)
    np.testing.assert_array_equal(stacked, np.load(tmp_path / "x.npy"))


def test_configuration_options_reach_the_model(gem, faq):
    options = ["--window", 3, "--components", 4, "--removed", 2, "--power", 2, "--removal", "sir"]
    options += ["--prior", 5, "--alphas", "-", "--ranking", "plain"]
    gem("fit", "m", faq, *options)
    (model,) = gem("models", "list", "--json").json
    assert model["config"] == {
        "window": 3,
        "components": 4,
        "removed": 2,
        "power": 2.0,
        "removal": "sir",
        "prior": 5.0,
        "alphas": "",
        "ranking": "plain",
    }


def test_vectors(gem, vectors_folder, tmp_path):
    added = gem("vectors", "add", "tiny", vectors_folder, "--licence", "CC0", "--json").json
    assert set(added) == {
        "name",
        "words",
        "dimension",
        "fingerprint",
        "format",
        "origin",
        "licence",
        "options",
        "findings",
    }
    assert (added["name"], added["dimension"], added["format"], added["licence"]) == (
        "tiny",
        24,
        "folder",
        "CC0",
    )
    listed = {entry["name"]: entry for entry in gem("vectors", "list", "--json").json}
    assert set(listed) == {"wordllama-gem", "wordllama", "tiny"}
    assert listed["tiny"] == added
    assert gem("vectors", "show", "tiny", "--json").json == added
    near = gem("vectors", "neighbors", "river", "--vectors", "tiny", "-k", 3, "--json").json
    assert [set(entry) for entry in near] == [{"word", "score"}] * 3
    words = {
        entry["word"] for entry in gem("vectors", "neighbors", "river", "-k", 8, "--json").json
    }
    assert words & {"rivers", "lake", "creek", "stream", "valley"}
    glove = tmp_path / "g.txt"
    glove.write_text("the 1 0\nriver 0 1\n")
    pair = gem("explain", "the river", "--vectors", f"tiny+{glove}", "--json")
    assert pair.status == 0
    assert gem("vectors", "remove", "tiny", "--json").json == {"removed": "tiny"}
    assert "tiny" not in gem("vectors", "list").out


def test_database(gem, tmp_path):
    (tmp_path / "home").mkdir()  # a home without a database
    assert gem("db", "current", "--json").json == {"revision": None, "newest": "0011"}
    assert gem("db", "upgrade", "--json").json == {"before": None, "revision": "0011"}
    assert gem("db", "current").out == "0011 (newest: 0011)\n"


def test_skipping_bad_lines_reports_them(gem, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"text": "the first"}\nnonsense\n{"text": "the third"}\n')
    answer = gem("build", "x", path, "--on-error", "skip", "--json")
    assert (answer.status, answer.json["skipped"], answer.json["documents"]) == (0, 1, 2)
    assert answer.err.startswith(f"Skipped: {path} line 2: the line is not JSON")


@pytest.mark.parametrize("group", [[], ["models"], ["vectors"], ["keys"], ["db"], ["eval"]])
def test_no_command_shows_the_help(capfd, group):
    assert run(group) == 2
    out, err = capfd.readouterr()
    assert f"Usage: {' '.join(['gem-index', *group])} " in out
    assert err == ""


def test_the_version_is_that_of_the_package(gem):
    from importlib.metadata import version

    assert gem("--version").out == f"gem-index {version('gem-index')}\n"


@pytest.mark.parametrize("ending", ["txt", "jsonl"])
def test_a_pipe_that_is_read_twice_gives_the_same_as_a_file(gem, tmp_path, monkeypatch, ending):
    lines = ["a bank by the river", "two ducks"]
    if ending == "jsonl":
        lines = [json.dumps({"id": i, "text": line}) for i, line in enumerate(lines)]
    source = tmp_path / f"in.{ending}"
    source.write_text("\n".join(lines) + "\n")
    expected = gem("encode", source, "--fit", "-o", tmp_path / "a.npy", "--json").json
    stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(source.read_bytes())))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert gem("encode", "-", "--fit", "-o", tmp_path / "b.npy", "--json").json == expected
    assert (tmp_path / "a.npy").read_bytes() == (tmp_path / "b.npy").read_bytes()


def test_housekeeping_as_json(gem, faq, tmp_path):
    gem("fit", "m", faq)
    assert gem("drift", "faq", "--json").json["since_fit"] == 0
    export = gem("export", "faq", "-o", tmp_path / "e.jsonl", "--json").json
    assert export == {"collection": "faq", "documents": 5, "output": str(tmp_path / "e.jsonl")}
    assert (
        gem("import", tmp_path / "e.jsonl", "again", "--json").json["collections"][0]["name"]
        == "again"
    )
    assert gem("compact", "faq", "--json").json == {"compacted": ["faq"]}
    assert gem("compact", "--json").json == {"compacted": ["again", "faq"]}
    assert gem("backup", tmp_path / "b", "--json").json == {"backup": str(tmp_path / "b")}
    assert Home(tmp_path / "b").collection("faq").count() == 5
    assert gem("models", "remove", "m", "--json").json == {"removed": "m"}
    assert gem("models", "list", "--json").json == []


def test_a_file_of_the_same_name_in_another_folder_replaces_nothing(gem, tmp_path):
    names = []
    for folder, rows in (("a", "pay,1\nsend,2\n"), ("b", "open,3\n")):
        path = tmp_path / folder / "faq.csv"
        path.parent.mkdir()
        path.write_text("text,number\n" + rows)
        names.append(path)
    counted = []
    for line in (("build", names[0]), ("add", names[1]), ("add", *names), ("build", names[0])):
        found = gem(line[0], "k", *line[1:], "--json").json
        counted.append((found["added"], found["updated"], found["unchanged"]))
    assert counted == [(2, 0, 0), (1, 0, 0), (0, 0, 3), (0, 0, 2)]
    assert [row["text"] for row in gem("list", "k", "--jsonl").lines] == ["pay", "send", "open"]


def test_drop_asks_or_is_told(gem, faq, state, monkeypatch):
    before = state()
    with Path(os.devnull).open() as nothing:
        monkeypatch.setattr(sys, "stdin", nothing)
        refused = gem("drop", "faq")
        assert refused.status == 2
        assert refused.out == ""
        assert refused.err == (
            "Error: standard input is not a terminal, so nobody can be asked whether to remove faq with 5 documents; "
            "expected --yes to remove it\n"
        )
        assert state() == before
        assert "no collection is named 'faqs'" in gem("drop", "faqs").err
        assert gem("drop", "faq", "--yes").status == 0


def test_a_person_is_asked_before_a_collection_is_dropped(gem, faq, monkeypatch):
    person, terminal = os.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        os.write(person, b"n\n")
        answer = gem("drop", "faq")
        assert answer.status == 1
        assert "Remove faq with 5 documents?" in answer.out
        assert answer.err == "Error: interrupted\n"
        assert gem("search", "faq", "visa", "--json").status == 0
        os.write(person, b"y\n")
        assert gem("drop", "faq").status == 0
    os.close(person)
    assert gem("status", "--json").json["collections"] == []


def test_the_language_of_a_collection(gem, tmp_path):
    file = tmp_path / "faq.jsonl"
    texts = ["护照过期了怎么办 需要带身份证和照片去办理", "图书馆周末开放时间是上午九点到下午五点"]
    lines = [json.dumps({"id": str(i), "text": text}) for i, text in enumerate(texts)]
    file.write_text("\n".join(lines), encoding="utf-8")
    built = gem("build", "faq", file)
    assert "Language for word search: zh (100% of a sample); build with --language" in built.out
    assert gem("search", "faq", "护照", "--mode", "lexical", "--json").json[0]["id"] == "0"
    assert "zh" in gem("status").out
    again = gem("build", "faq", file, "--language", "none", "--json")
    assert again.json["language"] == "none"
    assert gem("status", "--json").json["collections"][0]["language"] == "none"
    wrong = gem("build", "faq", file, "--language", "chinese")
    assert wrong.status == 2
    assert (
        "the language is 'chinese'; expected auto, none, mul, or a code of ISO 639-1" in wrong.err
    )


def test_words_of_a_query_are_corrected_and_told(gem, faq):
    found = gem("search", "faq", "renew my residense")
    assert found.out.startswith("Searched for residence; no text holds residense (--no-correct")
    [first, *_] = gem("search", "faq", "renew my residense", "--json").json
    assert (first["query"], first["corrected"]) == (
        "renew my residense",
        {"residense": "residence"},
    )
    [plain, *_] = gem("search", "faq", "renew my residense", "--no-correct", "--json").json
    assert "corrected" not in plain


@pytest.mark.parametrize("keys", ["{}", "en:{}"])
def test_vectors_that_know_few_words_are_told(gem, faq_file, tmp_path, keys):
    words = [
        "how",
        "do",
        "i",
        "renew",
        "my",
        "residence",
        "visa",
        "what",
        "papers",
        "need",
        "to",
        "extend",
        "a",
    ]
    words += [
        "where",
        "can",
        "open",
        "bank",
        "account",
        "which",
        "gives",
        "the",
        "cheapest",
        "loan",
        "is",
    ]
    file = tmp_path / "own.txt"
    rows = [
        f"{keys.format(word)} {number + 1} {(7 * number) % 5} 1"
        for number, word in enumerate(words)
    ]
    file.write_text("\n".join(rows))
    model, vectors = tmp_path / "texts.txt", tmp_path / "v.npy"
    model.write_text("How do I renew my residence visa?\nWhat papers do I need to extend a visa?\n")
    answers = [
        gem("build", "own", faq_file, "--vectors", file),
        gem("fit", "m", model, "--vectors", file),
        gem("encode", model, "-o", vectors, "--vectors", file),
    ]
    for answer in answers:
        assert answer.status == 0, answer.err
        told = "Note: the word vectors know" in answer.err
        assert told is (keys != "{}"), answer.err


def test_the_status_is_one_table_and_explains_the_tail(gem, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    path = tmp_path / "texts.txt"
    path.write_text("a bank\na river\n")
    gem("build", "questions", path)
    gem("status", "questions")
    assert "tail:" not in gem("status").out
    path.write_text("a third text\n")
    gem("add", "questions", path)
    lines = gem("status").out.splitlines()
    assert [line.split()[0] for line in lines if line.strip()][::2] == ["collection", "questions"]
    assert lines[-1] == "tail: documents newer than the index; searches compare them one by one."
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (999, "999 B"),
        (1000, "1 kB"),
        (999_499, "999 kB"),
        (999_500, "1 MB"),
        (141_656, "142 kB"),
        (2_400_000_000, "2 GB"),
        (5_000_000_000_000, "5000 GB"),
    ],
)
def test_bytes_in_units(count, text):
    assert in_units(count) == text
