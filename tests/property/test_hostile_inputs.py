"""Untrusted documents, exports, filters and index strings: accepted, or refused in one line, in bounded time.

The long form: ``GEM_TEST_FUZZ=20000 pytest tests/property/test_hostile_inputs.py`` (cases of each kind together).
"""

import base64
import bz2
import gzip
import json
import lzma
import os
import random
import subprocess
import sys
import time
import zipfile

import pytest

from gem_index import Document, Home
from gem_index.errors import CorruptionError, InputError
from gem_index.index.kinds import KINDS, check_kind
from gem_index.readers import DocumentReader

CASES = int(os.environ.get("GEM_TEST_FUZZ", "600")) // 6
EXTREMES = [
    None, True, -1, 0, 1, 2**63, 10**400, -0.0, 1e308, "", "x" * 10_000, "\ud800", "\0", "../../x", "/etc/passwd",
    [], {}, [[]], {"a": {"a": {}}}, "a\nb", "NaN", "?" * 5000,
]  # fmt: skip


def assert_refused_well(error, began):
    assert time.thread_time() - began < 10
    message = str(error)
    assert "\n" not in message
    assert message.isprintable() or "/" in message
    assert len(message) < 1500
    message.encode()


def flipped(rng, content):
    """Change, cut or repeat some bytes."""
    content = bytearray(content)
    for _ in range(rng.randint(1, 4)):
        place = rng.randrange(len(content))
        how = rng.random()
        if how < 0.5:
            content[place] = rng.randrange(256)
        elif how < 0.7:
            content[place] ^= 1 << rng.randrange(8)
        elif how < 0.8:
            del content[place : place + rng.randint(1, 40)]
        elif how < 0.9:
            content[place:place] = content[place : place + rng.randint(1, 40)]
        else:
            content[place : place + 4] = rng.choice([b"\xff" * 4, b"\0" * 4, b"\x7f\xff\xff\xff"])
        if not content:
            return b"\0"
    return bytes(content)


ROWS = [{"id": i, "text": f"how do I renew visa {i}", "n": {"x": [i, None]}} for i in range(20)]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS).encode()
TABLE = b"id,text\n" + b"".join(b'%d,"how do ""I"" renew, visa\n%d"\n' % (i, i) for i in range(20))


def zipped(name, content):
    import io

    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


FILES = {
    "x.jsonl": LINES,
    "x.csv": TABLE,
    "x.tsv": TABLE.replace(b",", b"\t"),
    "x.txt": LINES,
    "x.jsonl.gz": gzip.compress(LINES),
    "x.jsonl.bz2": bz2.compress(LINES),
    "x.jsonl.xz": lzma.compress(LINES),
    "x.jsonl.zip": zipped("x.jsonl", LINES),
}


@pytest.mark.parametrize("name", FILES)
def test_files_of_documents(name, tmp_path):
    rng = random.Random(name)
    path = tmp_path / name
    refused = 0
    for case in range(CASES):
        path.write_bytes(flipped(rng, FILES[name]))
        began = time.thread_time()
        skipped = []
        encoding = rng.choice([None, None, "latin-1", "cp1252", "utf-16", "utf-8", "auto"])
        on_problem = rng.choice([None, skipped.append])
        try:
            reader = DocumentReader(
                [str(path)],
                on_problem=on_problem,
                encoding=encoding,
                types=rng.choice(["text", "auto", {"text2": "list:,", "*": "number"}]),
                clean=rng.choice([[], ["auto", "quotes"], ["html", "signatures"]]),
                duplicates=rng.choice(["stop", "first", "last"]),
                on_end=lambda _: None,
            )
            found = list(reader)
        except InputError as error:
            assert_refused_well(error, began)
            refused += 1
        else:
            assert all(isinstance(document, Document) for document in found)
            for problem in skipped:
                assert_refused_well(problem, began)
        assert case >= 0
    assert refused


def changed(rng, value):
    """Change one part of a JSON value."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        if rng.random() < 0.1:
            return {other: part for other, part in value.items() if other != key}
        if rng.random() < 0.1:
            return value | {rng.choice(["more", "name", "id", "x" * 3000]): rng.choice(EXTREMES)}
        return value | {key: changed(rng, value[key])}
    if isinstance(value, str) and rng.random() < 0.3:
        return value[: rng.randrange(len(value) + 1)] + rng.choice(["", "x", "\0", "=", "/", "+"])
    return rng.choice(EXTREMES)


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    home = Home(folder / "home")
    home.build("c", [Document(id=str(i), text=f"renew visa {i}") for i in range(8)])
    home.collection("c").export(folder / "c.jsonl")
    return home, (folder / "c.jsonl").read_text().splitlines()


def test_exports(exported, tmp_path):
    home, lines = exported
    rng = random.Random(0)
    path = tmp_path / "c.jsonl"
    taken = 0
    for case in range(CASES):
        if case % 3:
            head = json.dumps(changed(rng, json.loads(lines[0])))
            path.write_text("\n".join([head, *lines[1:]]))
        else:
            path.write_bytes(flipped(rng, "\n".join(lines).encode()))
        began = time.thread_time()
        models = home.models.list()
        try:
            home.import_collection(path, "again")
        except InputError as error:
            assert_refused_well(error, began)
        except CorruptionError as error:  # the components are not those that the fingerprint names
            assert_refused_well(error, began)
        else:
            taken += 1
            home.drop("again")
        assert home.models.list() == models == []
        assert [status.name for status in home.collections()] == ["c"]
    assert taken < CASES / 2
    assert home.verify() == []


HEAD = [
    ({"index": "x" * 100_000}, "index has 100000 characters"),
    ({"index": "PQ1x0"}, "the index is 'PQ1x0'"),
    ({"index": "Pad1000000000,Flat"}, "the index is 'Pad1000000000,Flat'"),
    ({"index": "IDMap,Flat"}, "the index is 'IDMap,Flat'"),
    ({"index": "NSG32"}, "the index is 'NSG32'"),
    ({"index": 5}, "index is 5, not a str"),
    ({"version": 3}, "has version 3; expected at most 2"),
    ({"collection": None}, "collection is None"),
    ({"model": []}, "model is [], not a dict"),
]
MODEL = [
    ({"vectors": "/etc/passwd"}, "the vectors name is '/etc/passwd'"),
    ({"vectors": "../x+wordllama"}, "the vectors name is '../x'"),
    ({"config": "[" * 900}, "nested deeper than 100 levels"),
    ({"config": "[" * 10_000}, "config has 10000 characters"),
    ({"config": '{"window": "x"}'}, "window is 'x'"),
    ({"dimension": True}, "dimension is True, not a int"),
    ({"dimension": 2**70}, "dimension is"),
    ({"dimension": 0}, "dimension is 0"),
    ({"sentences": -1}, "sentences -1"),
    ({"fingerprint": "xyz"}, "fingerprint is 'xyz', not a SHA-256"),
    ({"directions": base64.b64encode(b"\xff" * 8).decode()}, "singular values differ"),
    ({"directions": None}, "directions without singular values"),
    ({"created_at": {}}, "created_at is {}, not a str"),
    ({"created_at": "\ud800"}, r"created_at is '\ud800', which cannot be printed"),
    ({"recipe": "a\nb"}, r"recipe is 'a\nb', which cannot be printed"),
]


@pytest.mark.parametrize(("change", "message"), HEAD)
def test_a_head_that_is_not_ours(exported, tmp_path, change, message):
    assert_not_restored(exported, tmp_path, lambda head: head | change, message)


@pytest.mark.parametrize(("change", "message"), MODEL)
def test_a_model_that_is_not_ours(exported, tmp_path, change, message):
    def spoil(head):
        return head | {"model": head["model"] | change}

    assert_not_restored(exported, tmp_path, spoil, message)


def assert_not_restored(exported, tmp_path, spoil, message):
    home, lines = exported
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join([json.dumps(spoil(json.loads(lines[0]))), *lines[1:]]))
    began = time.thread_time()
    with pytest.raises(InputError) as caught:
        home.import_collection(path, "again")
    assert message in str(caught.value)
    assert_refused_well(caught.value, began)
    assert [status.name for status in home.collections()] == ["c"]


@pytest.mark.parametrize("name", ["planted", "c", None, 7])
def test_a_models_name_is_this_homes_affair(exported, tmp_path, name):
    home, lines = exported
    head = json.loads(lines[0])
    head["model"] |= {"name": name, "id": 1}
    path = tmp_path / "c.jsonl"
    path.write_text("\n".join([json.dumps(head), *lines[1:]]))
    home.import_collection(path, "again")
    assert home.models.list() == []
    assert home.collection("again").search("renew") == home.collection("c").search("renew")
    home.drop("again")


def filters(rng, depth=0):
    """Make a filter that is almost valid."""
    kind = rng.random()
    if kind < 0.3 and depth < 4:
        part = [filters(rng, depth + 1) for _ in range(rng.randint(0, 4))]
        return {rng.choice(["$and", "$or", "$nor"]): rng.choice([part, part, rng.choice(EXTREMES)])}
    if kind < 0.4 and depth < 4:
        return {"$not": filters(rng, depth + 1)}
    key = rng.choice(["n", "lang", "", "$x", 'a"b', "\ud800", "x" * 5000])
    operator = rng.choice(["$in", "$gt", "$lt", "$gte", "$lte", "$eq", ""])
    operand = rng.choice([*EXTREMES, ["a", 1], [None, "\ud800"], list(range(100))])
    return {key: rng.choice([operand, {operator: operand}])}


def test_filters(exported):
    home, _ = exported
    collection = home.collection("c")
    rng = random.Random(1)
    for _ in range(3 * CASES):
        where = filters(rng)
        began = time.thread_time()
        try:
            assert len(collection.search("visa", where=where)) <= 8
        except InputError as error:
            assert_refused_well(error, began)


@pytest.mark.parametrize(
    "where",
    [
        {"$or": [{"$and": [{"n": i} for i in range(400)]} for _ in range(80)]},
        {f"n{i}": i for i in range(20_000)},
        {"$or": [{"n": {"$gt": 1, "$lt": 2}}] * 400},
    ],
    ids=["nested", "wide", "operators"],
)
def test_filters_of_very_many_parts_are_refused_at_once(exported, where):
    home, _ = exported
    began = time.thread_time()
    with pytest.raises(InputError, match="has more than 500 conditions; expected fewer"):
        home.collection("c").search("visa", where=where)
    assert time.thread_time() - began < 10  # of this thread: others of the process may be busy


FACTORIES = """
import random, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
import numpy as np
from gem_index.errors import ConfigError
from gem_index.index.dense import DenseIndex
from gem_index.index.kinds import IndexKind, check_kind
rng = random.Random(int(sys.argv[1]))
vectors = np.random.default_rng(0).normal(size=(300, 24)).astype(np.float32)
made = 0
while made < int(sys.argv[2]):
    number = lambda: rng.choice([0, 1, 2, 3, 4, 8, 12, 16, 24, 25, 64, 99999])
    kind = rng.choice(["", "", f"PCA{number()},", f"OPQ{number()},", f"OPQ{number()}_{number()},", f"RR{number()},"])
    kind += rng.choice(["", "", f"IVF{number()},", f"HNSW{number()},"])
    code = ["Flat", "SQ8", "SQ4", "SQfp16", "RaBitQ", "RaBitQfs", "Pad9,Flat"]
    kind += rng.choice([*code, f"PQ{number()}x4", f"PQ{number()}x4fs"])
    kind += rng.choice(["", "", ",Refine(Flat)", ",RFlat"])
    try:
        check_kind(kind, 24)
        print(kind, flush=True)  # the last one, if the process ends
        index = DenseIndex.empty(24, IndexKind(kind, kind), lambda: vectors)
        index.add(vectors)
        assert len(index.nearest(vectors[0], 3)[0]) == 3
        made += 1
    except ConfigError as error:
        assert chr(10) not in str(error)
"""


def test_index_strings_that_are_taken_do_not_end_the_process():
    count = max(12, CASES // 8)
    answer = subprocess.run(
        [sys.executable, "-c", FACTORIES, "0", str(count)],
        capture_output=True, text=True, check=False, env=os.environ | {"OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    assert answer.returncode == 0, answer.stdout.splitlines()[-1:] + [answer.stderr[-500:]]
    assert len(answer.stdout.splitlines()) >= count


@pytest.mark.parametrize(
    "kind",
    ["x" * 100_000, "PQ1x0", "Pad1000000000,Flat", "IDMap,Flat", "NSG32", "IVF0,Flat", "HNSW1", "HNSW99999",
     "OPQ0,Flat", "PCA0,Flat", "PCA25,Flat", "PQ24x16", "PQ7", "IVF99999,Flat", "", ",", "Flat,", "LSHr", "ITQ24,LSH",
     "IVF4(IVF4),Flat", "PQ4x8fs", 5, None, b"Flat"],
)  # fmt: skip
def test_index_strings_outside_the_grammar(kind):
    began = time.thread_time()
    with pytest.raises(InputError, match="the index is") as caught:
        check_kind(kind, 24)
    assert_refused_well(caught.value, began)
    for name in KINDS:
        check_kind(name, 24)
