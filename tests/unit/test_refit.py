"""An interrupted refit resumes where it stopped."""

import numpy as np
import pytest

from gem_index import Document, GemEncoder, Home
from gem_index.collection.state import texts
from gem_index.collection.write.building import use_index
from gem_index.index import checkpoint
from gem_index.text.chunking import Chunking

TEXTS = [f"how do I renew visa number {i} at the {word} bank" for i in range(50) for word in "ab"]


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 0)
    monkeypatch.setattr(checkpoint, "_SHARE", 0)
    monkeypatch.setattr(texts, "_BLOCK", 10)


@pytest.fixture
def work(monkeypatch):
    """Counts of fits and encoded texts, and the number of encoded texts after which the process dies."""

    class Work:
        encoded, fits, dies_after = 0, 0, 10**9

    encode, fit = GemEncoder.encode, GemEncoder.fit

    def counting_encode(self, texts):
        if Work.encoded >= Work.dies_after:
            raise KeyboardInterrupt
        Work.encoded += len(texts)
        return encode(self, texts)

    def counting_fit(self, corpus):
        Work.fits += 1
        return fit(self, corpus)

    monkeypatch.setattr(GemEncoder, "encode", counting_encode)
    monkeypatch.setattr(GemEncoder, "fit", counting_fit)
    return Work


@pytest.fixture
def made(tmp_path, vectors_folder):
    """Two collections of the same documents in separate homes."""

    def make(name, kind="flat"):
        home = Home(tmp_path / name)
        collection = home.create_collection("c", vectors=str(vectors_folder), prior=0, index=kind)
        collection.upsert(Document(id=str(i), text=text) for i, text in enumerate(TEXTS))
        return collection

    return make


def cut(collection, work, after):
    """Refit until the given number of texts is encoded."""
    work.encoded, work.dies_after = 0, after
    with pytest.raises(KeyboardInterrupt):
        collection.refit()
    work.encoded, work.dies_after, work.fits = 0, 10**9, 0


def files(collection, pattern):
    folder = collection.access.folder
    return sorted(path for path in folder.rglob(pattern) if path.is_file())


@pytest.mark.parametrize(
    ("kind", "sampled"), [("flat", 0), ("sq8", 100), ("rabitq", 100), ("hnsw", 100), ("pq", 100)]
)
def test_resumes_from_the_model_and_the_last_checkpoint(made, work, kind, sampled):
    whole, interrupted = made("whole", kind), made("interrupted", kind)
    whole.refit()
    before = interrupted.encoder.fingerprint
    cut(interrupted, work, sampled + 60)
    assert interrupted.encoder.fingerprint == before
    assert interrupted.search("visa bank", mode="dense")[0].score > 0.5  # the old model serves
    work.encoded = 0
    interrupted.refit()
    assert (work.fits, work.encoded) == (0, 40)
    assert interrupted.encoder.fingerprint == whole.encoder.fingerprint
    assert interrupted.verify() == []
    for name in ("ids.npy", "vectors.faiss")[
        : 1 if kind == "hnsw" else 2
    ]:  # a graph's levels are drawn
        (one,), (other,) = files(whole, name), files(interrupted, name)
        assert one.read_bytes() == other.read_bytes()
    ones, others = files(whole, "rows/*"), files(interrupted, "rows/*")
    assert len(ones) == len(others) == (kind != "flat")
    assert [path.read_bytes() for path in ones] == [path.read_bytes() for path in others]
    assert files(interrupted, "unfinished/**/*") == []


def test_starts_again_when_the_documents_changed(made, work):
    collection = made("home")
    cut(collection, work, 60)
    collection.upsert([Document(id="new", text="a new document about a river")])
    collection.refit()
    assert (work.fits, work.encoded) == (1, 101)


def test_starts_again_when_the_chunking_changed(made, work):
    collection = made("home")
    cut(collection, work, 60)
    Home(collection.access.workspace.root).build("c", [], chunking=Chunking(10))
    assert work.fits == 1
    assert collection.verify() == []
    assert collection.search("at the bank", 1, pieces=True)[0].piece is not None


@pytest.mark.parametrize(
    ("name", "kind", "fits", "encoded"),
    [
        ("model.safetensors", "flat", 1, 100),
        ("vectors.faiss", "flat", 0, 100),
        ("ids.npy", "flat", 0, 100),
        ("checkpoint.json", "flat", 0, 100),
        ("vectors.i16", "sq8", 0, 200),
    ],
)
def test_a_damaged_checkpoint_costs_time_alone(made, work, name, kind, fits, encoded, caplog):
    collection = made("home", kind)
    cut(collection, work, 60 if kind == "flat" else 160)
    (path,) = files(collection, f"unfinished/**/{name}")
    content = bytearray(path.read_bytes())
    content[-5] ^= 0x41
    path.write_bytes(content)
    collection.refit()
    assert (work.fits, work.encoded) == (fits, encoded)
    assert "again" in caplog.text or "from the beginning" in caplog.text
    assert collection.verify() == []


def test_a_checkpoint_that_cannot_be_opened_costs_time_alone(made, work, caplog):
    collection = made("home")
    cut(collection, work, 60)
    (path,) = files(collection, "unfinished/**/checkpoint.json")
    path.write_text("[]")
    collection.refit()
    assert (work.fits, work.encoded) == (0, 100)
    assert f"{path.parent} cannot be read" in caplog.text
    assert collection.verify() == []


def test_another_kind_begins_with_the_fitted_model(made, work):
    collection = made("home")
    cut(collection, work, 60)
    use_index(collection.access, "hnsw")
    collection.refit()
    assert (work.fits, work.encoded) == (0, 200)  # half of it to learn from


def test_a_disk_that_refuses_a_checkpoint_costs_no_refit(made, work, monkeypatch, caplog):
    def full(path, fill):
        raise OSError(28, "No space left on device")

    collection = made("home")
    monkeypatch.setattr(checkpoint, "publish_directory", full)
    collection.refit()
    assert "no checkpoint was kept" in caplog.text
    assert collection.verify() == []
    assert np.isclose(collection.search(TEXTS[3], k=1, mode="dense")[0].score, 1.0, atol=1e-6)
