"""A collection that workers read, fitted and encoded is the one that one machine builds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cluster_inputs import sentences, write_inputs
from cluster_processes import killing
from gem_index import Collection, Cutting, Document, GemEncoder
from gem_index.collection.pieces import PieceEncoder
from gem_index.distributed import PartitionOptions, build_shards
from gem_index.distributed.manifest import MANIFEST
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    InputError,
    NameTakenError,
    NotIndexedError,
    RecordError,
)
from gem_index.reading import DocumentReader

SMALL = PartitionOptions(partition_bytes=1024)


def contents(collection):
    return [(each.id, each.text, dict(each.metadata)) for each in collection.documents()]


def check_alike(one: Collection, other: Collection):
    assert contents(one) == contents(other)
    for query in ("renew a visa", "two ducks swimming", "second line of 810"):
        first, second = one.search(query, k=8), other.search(query, k=8)
        assert [hit.id for hit in first] == [hit.id for hit in second]
        assert np.allclose([hit.score for hit in first], [hit.score for hit in second], atol=1e-5)
    mine, local = one.encoder.components, other.encoder.components
    assert np.abs(mine.directions - local.directions).max() < 1e-9
    assert one.status().fitted == other.status().fitted
    assert one.verify() == []


@pytest.mark.parametrize("cutting", [None, Cutting(10, 2)])
def test_a_collection_is_that_of_one_machine(client, inputs, home, monkeypatch, cutting):
    reader = DocumentReader(inputs, text_fields=("text*2",))
    local = home.build("local", reader, cutting=cutting)
    told = []
    with monkeypatch.context() as patch:
        patch.setattr(PieceEncoder, "rows", lambda *_: fail())  # nothing is encoded in this process
        report = build_shards(
            client, home, "cluster", reader, cutting=cutting, options=SMALL,
            progress=lambda stage, done, total: told.append(stage),
        )  # fmt: skip
    assert (report.ingest.added, report.ingest.pieces) == (local.added, local.pieces)
    assert (report.ingest.documents, report.skipped) == (local.documents, 0)
    found = home.collection("cluster")
    assert report.ingest.fingerprint == found.encoder.fingerprint
    assert found.reading == home.collection("local").reading == {"text_fields": ["text*2"]}
    assert {"fit", "encode", "store", "index words"} <= set(told)
    assert not list((home.root / "parts").iterdir())
    check_alike(found, home.collection("local"))


def test_it_behaves_like_any_other(client, inputs, home):
    local = home.build("local", DocumentReader(inputs))
    build_shards(client, home, "cluster", inputs, options=SMALL)
    one, other = home.collection("cluster"), home.collection("local")
    check_alike(one, other)
    for each in (one, other):
        each.ingest([Document(id="new", text="a cup of tea", metadata={"year": 3})])
        each.delete(["b1", "a.txt:3"])
        each.refit()
    check_alike(one, other)
    assert len(one) == local.documents - 1
    with pytest.raises(InputError, match="cluster holds documents; expected a new one"):
        build_shards(client, home, "cluster", inputs)
    with pytest.raises(ConfigError, match="has the configuration"):
        build_shards(client, home, "cluster", inputs, config="cqa")
    assert len(one) == local.documents - 1


def test_large_approximate_indexes(client, home, tmp_path):
    path = tmp_path / "x.txt"
    path.write_text("\n".join(f"{text} {i}" for i, text in enumerate(sentences(3000))))
    home.build("local", DocumentReader([str(path)]), index="IVF16,SQ8")
    build_shards(client, home, "cluster", [str(path)], index="IVF16,SQ8", options=SMALL)
    check_alike(home.collection("cluster"), home.collection("local"))
    assert home.collection("cluster").status().index.kind == "IVF16,SQ8"


def test_a_build_that_was_stopped_goes_on(client, inputs, home, monkeypatch, tmp_path):
    parts = tmp_path / "shared"
    adopt = Collection.adopt
    monkeypatch.setattr(Collection, "adopt", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_shards(client, home, "faq", inputs, parts=parts, options=SMALL)
    assert "faq" not in home
    times = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    content = json.loads((parts / MANIFEST).read_text())
    content.pop("parts")
    (parts / MANIFEST).write_text(json.dumps(content))
    home.create_collection("faq")  # as a killed command leaves it
    seen = {}

    def adopted(self, *rest):
        seen.update({path.name: path.stat().st_mtime_ns for path in parts.iterdir()})
        return adopt(self, *rest)

    monkeypatch.setattr(Collection, "adopt", adopted)
    with pytest.raises(InputError, match="another request, which differs in inputs"):
        build_shards(client, home, "faq", inputs[:2], parts=parts, options=SMALL)
    assert "faq" in home
    report = build_shards(client, home, "faq", inputs, parts=parts, options=SMALL)
    assert {name: time for name, time in seen.items() if name != MANIFEST} == {
        name: time for name, time in times.items() if name != MANIFEST
    }
    home.build("local", DocumentReader(inputs))
    check_alike(home.collection("faq"), home.collection("local"))
    assert report.ingest.documents == len(home.collection("local"))
    assert not parts.exists()
    assert not parts.with_name("shared-fit").exists()


def test_workers_killed_in_a_build(own_cluster, inputs, home, tmp_path):
    more = write_inputs(tmp_path / "more")[0]
    path = Path(more).rename(tmp_path / "more" / "other.txt")
    path.write_text("\n".join(sentences(6000, seed=9)))
    with killing(own_cluster, every=0.3, times=4, seed=2):
        build_shards(own_cluster, home, "cluster", [*inputs, str(path)], options=SMALL)
    home.build("local", DocumentReader([*inputs, str(path)]))
    check_alike(home.collection("cluster"), home.collection("local"))


def test_what_is_wrong_with_documents(client, inputs, home, tmp_path):
    lines = Path(inputs[1]).read_text().splitlines()
    Path(inputs[1]).write_text("\n".join([*lines, '{"id": "b1", "text": "again"}']))
    with pytest.raises(DuplicateIdError, match="the id 'b1' came twice"):
        build_shards(client, home, "faq", inputs, options=SMALL)
    assert "faq" not in home
    Path(inputs[1]).write_text("\n".join([*lines, '{"text": 5}']))
    with pytest.raises(RecordError, match=r"b\.jsonl line 307"):
        build_shards(client, home, "faq", inputs, options=SMALL)
    assert list((home.root / "parts").iterdir())  # to be forgotten, because the options change
    skipping = PartitionOptions(errors="skip", partition_bytes=1024)
    report = build_shards(client, home, "faq", inputs, options=skipping)
    assert report.skipped == 1
    assert report.problems[0][1] == 307
    with pytest.raises(NameTakenError):
        home.create_collection("faq")


def test_an_index_that_fails_leaves_the_documents(client, inputs, home, monkeypatch):
    monkeypatch.setattr("gem_index.collection.adopting.publish", lambda *_, **__: fail())
    with pytest.raises(NotIndexedError, match="run: gem-index refit faq"):
        build_shards(client, home, "faq", inputs)
    monkeypatch.undo()
    home.collection("faq").refit()
    assert home.collection("faq").verify() == []


def fail():
    raise OSError(28, "No space left on device")


class TestAdopting:
    def test_a_text_that_differs_is_encoded_here(self, home):
        found = home.create_collection("faq", vectors="wordllama")
        texts = ["two ducks swimming", "a cup of tea", "open a bank account"]
        encoder = found.encoder.unfitted().fit(texts)
        vectors = encoder.encode(texts)
        given = [(text, row[None]) for text, row in zip(texts, vectors, strict=True)]
        given[1] = ("another", np.zeros((1, 256), np.float32))
        documents = [Document(id=str(i), text=text) for i, text in enumerate(texts)]
        report = found.adopt(encoder, documents, given, {"id_field": "key"})
        assert (report.added, report.fingerprint) == (3, encoder.fingerprint)
        assert found.search("a cup of tea", mode="dense")[0].score == pytest.approx(1)
        assert found.reading == {"id_field": "key"}
        with pytest.raises(InputError, match="holds 3 documents; expected an empty one"):
            found.adopt(encoder, documents, given)

    def test_an_encoder_of_another_kind(self, home, small_vectors):
        found = home.create_collection("faq", vectors="wordllama")
        with pytest.raises(ConfigError, match="other word vectors or another configuration"):
            found.adopt(GemEncoder(small_vectors).fit(["two ducks"]), [], [])
