"""A build with another chunking or language: the old index answers until the new one is written."""

import pytest

from gem_index import GemEncoder, Home
from gem_index.errors import NotIndexedError
from gem_index.text.chunking import Chunking

TEXTS = [f"Wie verlängere ich meine Visa {i} in den Städten am Fluss? " * 4 for i in range(40)]
CHOICES = [
    {"language": "de"},
    {"chunking": Chunking(20)},
    {"language": "de", "chunking": Chunking(20)},
]


@pytest.fixture
def home(tmp_path, vectors_folder):
    home = Home(tmp_path / "home")
    documents = [{"id": str(i), "text": text} for i, text in enumerate(TEXTS)]
    home.build("visa", documents, vectors=str(vectors_folder), language="en")
    return home


@pytest.fixture
def encoded(monkeypatch):
    """The number of texts of each call that encodes."""
    counts = []
    encode = GemEncoder.encode

    def counting(self, texts):
        counts.append(len(texts))
        return encode(self, texts)

    monkeypatch.setattr(GemEncoder, "encode", counting)
    return counts


def settings(home):
    with home.collection("visa").access.reading() as rows:
        return rows.record.analyzer.language, rows.record.chunking.chunk


@pytest.mark.parametrize("choice", CHOICES)
def test_searches_meanwhile_encode_only_their_query(home, encoded, choice):
    before, other = settings(home), Home(home.root)
    expected = [hit.id for hit in other.collection("visa").search("Visa 7", 5)]
    seen = []

    def search(stage, done, total):
        del encoded[:]
        found = Home(home.root).collection("visa").search("Visa 7", 5)
        assert [hit.id for hit in found] == expected
        assert sum(encoded) == 1
        assert settings(other) == before
        seen.append(stage)

    home.build("visa", [], **choice, progress=search)
    assert len(set(seen)) >= 3
    language, chunk = settings(home)
    assert language == choice.get("language", before[0])
    assert chunk == (20 if "chunking" in choice else before[1])
    del encoded[:]
    collection = Home(home.root).collection("visa")
    assert collection.verify() == []
    assert collection.search("verlängern", mode="lexical", k=1) or language == "en"
    assert sum(encoded) <= 1


@pytest.mark.parametrize("choice", CHOICES)
def test_a_build_that_fails_keeps_the_settings_and_tells_to_repeat_it(home, monkeypatch, choice):
    before = settings(home)
    with monkeypatch.context() as patched:
        patched.setattr(GemEncoder, "fit", lambda *_: (_ for _ in ()).throw(OSError("no room")))
        with pytest.raises(NotIndexedError) as failed:
            home.build("visa", [{"id": "new", "text": "a new text"}], **choice)
    assert str(failed.value) == (
        "visa holds its 41 documents, all of them stored and searchable, but its index was not written: no room; make "
        "room or fix the cause, then call home.build('visa', documents) again with the same choices"
    )
    assert settings(home) == before
    assert [hit.id for hit in home.collection("visa").search("a new text", 1)] == ["new"]
    home.build("visa", [], **choice)
    assert settings(home) != before
    assert home.collection("visa").verify() == []


def test_a_build_that_fails_without_such_a_choice_tells_to_refit(home, monkeypatch):
    monkeypatch.setattr(GemEncoder, "fit", lambda *_: (_ for _ in ()).throw(OSError("no room")))
    with pytest.raises(NotIndexedError, match=r"then call home.collection\('visa'\).refit\(\)$"):
        home.build("visa", [{"id": "new", "text": "a new text"}])


def test_the_language_is_detected_again(home):
    assert home.build("visa", [], language="auto").language == "de"
    assert settings(home)[0] == "de"
    snapshot = home.collection("visa").status().index
    home.build("visa", [], language="auto")  # it is the same now
    assert home.collection("visa").status().index == snapshot
