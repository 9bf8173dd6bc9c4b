"""A large write brings its index: no reader, of this process or another, has to encode what it stored."""

import random
import threading

import pytest

from gem_index import Document, Home
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.write import writing as module
from gem_index.testing import run_python

WORDS = {
    "English": ["visa", "bank", "river", "school", "tea", "cup", "phone", "money", "two", "ducks"],
    "German": [
        "Visum",
        "Bank",
        "Fluss",
        "Schule",
        "Tee",
        "Tasse",
        "Telefon",
        "Geld",
        "zwei",
        "Übergrößen",
    ],
    "Chinese": ["签证", "银行", "河流", "学校", "茶", "杯子", "电话", "钱", "两", "鸭子"],
    "Arabic": ["تأشيرة", "بنك", "نهر", "مدرسة", "شاي", "كوب", "هاتف", "مال", "اثنان", "بط"],
}


def documents(count, length=1000, words="English", name="d"):
    rng = random.Random(count)
    for i in range(count):
        yield Document(id=f"{name}{i}", text=" ".join(rng.choices(WORDS[words], k=length)))


@pytest.fixture
def large(home, vectors_folder):
    made = home.create_collection("large", vectors=str(vectors_folder))
    made.upsert([Document(id="first", text="renew a visa at the bank")])
    assert [hit.id for hit in made.search("visa")] == ["first"]
    return made


@pytest.fixture
def encoded(monkeypatch):
    """How many texts each call has encoded, in this process; of documents, not of queries."""
    counts, rows = [], PieceEncoder.rows

    def counted(self, texts):
        counts.append(len(texts))
        return rows(self, texts)

    monkeypatch.setattr(PieceEncoder, "rows", counted)
    return counts


@pytest.mark.parametrize("words", list(WORDS))
def test_what_a_large_write_stores_is_encoded_once_by_the_writer(home, large, encoded, words):
    large.upsert(documents(40, words=words))
    assert sum(encoded) == 41
    assert large.status().index.tail == 0
    for each in (large, Home(home.root).collection("large")):
        assert len(each.search(f"visa {WORDS[words][0]}", k=100)) == 41
    assert sum(encoded) == 41
    assert home.verify() == []


def test_the_same_documents_again_are_not_encoded_again(large, encoded):
    large.upsert(documents(80))
    before = large.status().index.snapshot
    report = large.upsert(documents(80))
    assert report.unchanged == 80
    assert sum(encoded) == 81
    assert large.status().index.snapshot == before


def test_a_small_write_leaves_the_index_and_readers_encode_it(large, encoded):
    large.upsert(documents(80))
    before = large.status().index.snapshot
    large.upsert(documents(2, length=10, name="small"))
    assert large.status().index.snapshot == before
    assert sum(encoded) == 81
    assert len(large.search("visa", k=100)) == 83
    assert sum(encoded) == 83


def test_one_long_text_is_a_large_write(large, encoded):
    large.upsert(documents(1, length=50_000))
    assert large.status().index.tail == 0
    assert len(large.search("visa", k=100)) == 2
    assert sum(encoded) == 2


def test_a_larger_index_allows_a_longer_tail(large, monkeypatch):
    """It is copied; a copy for each small write would take time in proportion to the square of the documents."""
    large.upsert(documents(80))
    size = large.status().bytes
    monkeypatch.setattr(module, "_TAIL_CHARACTERS", 10)
    monkeypatch.setattr(module, "_TAIL_BYTE_SHARE", 1000 / size)
    large.upsert([Document(id="short", text="a" * 999)])
    assert large.status().index.tail == 1
    large.upsert([Document(id="one more", text="b")])
    assert large.status().index.tail == 2
    large.upsert([Document(id="the last", text="c")])
    assert large.status().index.tail == 0


def test_searches_go_on_while_a_large_write_is_encoded(home, large, monkeypatch):
    """Readers have the state before until the commit, and encode nothing."""
    encoding, go_on = threading.Event(), threading.Event()
    rows = PieceEncoder.rows

    def slow(self, texts):
        assert threading.current_thread().name == "writer", "a reader encodes documents"
        encoding.set()
        assert go_on.wait(60)
        return rows(self, texts)

    other = Home(home.root).collection("large")
    assert len(other.search("visa", k=100)) == 1
    monkeypatch.setattr(PieceEncoder, "rows", slow)
    writer = threading.Thread(name="writer", target=lambda: large.upsert(documents(80)))
    writer.start()
    try:
        assert encoding.wait(60)
        for each in (large, other):
            assert [hit.id for hit in each.search("visa", k=100)] == ["first"]
    finally:
        go_on.set()
        writer.join()
    for each in (large, other):
        assert len(each.search("visa", k=100)) == 81


def test_another_process_finds_what_was_written_without_encoding_it(home, large):
    large.upsert(documents(80))
    code = (
        "import sys\n"
        "from gem_index import Home\n"
        "from gem_index.collection.state.piece_encoder import PieceEncoder\n"
        "def refuse(self, texts): raise SystemExit('a reader encodes documents')\n"
        "PieceEncoder.rows = refuse\n"
        "print(len(Home(sys.argv[1]).collection('large').search('visa', k=100)))"
    )
    assert run_python("-c", code, str(home.root)).stdout.strip() == "81"


@pytest.mark.parametrize("stage", ["store", "encode", "index words"])
def test_an_interrupt_at_any_stage_stores_nothing(home, large, stage):
    def interrupt(reached, done, total):
        if reached == stage:
            raise KeyboardInterrupt

    folders = sorted(path.name for path in large.access.folder.glob("*"))
    with pytest.raises(KeyboardInterrupt):
        large.upsert(documents(80), progress=interrupt)
    assert [hit.id for hit in large.search("visa", k=100)] == ["first"]
    assert sorted(path.name for path in large.access.folder.glob("*")) == folders
    assert home.verify() == []
    large.upsert(documents(80))
    assert len(large.search("visa", k=100)) == 81


def test_a_build_on_documents_brings_its_index_before_it_fits(home, large, encoded, monkeypatch):
    """Searches during the fit would otherwise encode what the build has stored."""
    seen = []
    monkeypatch.setattr(
        "gem_index.collection.write.building.refit",
        lambda access, *_: seen.append(access.status().index.tail),
    )
    home.build("large", documents(80))
    assert seen == [0]
    home.build("new", documents(80), vectors=large.status().vectors)
    assert seen == [0, 80]  # nobody searches a collection that is being made
