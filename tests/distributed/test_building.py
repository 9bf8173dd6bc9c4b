"""A collection that workers read, fitted and encoded is the one that one machine builds."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cluster_inputs import sentences, write_inputs
from cluster_processes import killing, wait_for
from distributed import Client, LocalCluster
from gem_index import Chunking, Collection, Document, GemEncoder
from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.collection.write.adopting import ingest_shards
from gem_index.distributed import PartitionOptions, build_shards, building, connected, sharding
from gem_index.distributed.document_parts import DocumentPart
from gem_index.distributed.manifest import MANIFEST
from gem_index.distributed.places import OutputFolder
from gem_index.documents import text_id
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    DuplicateIdError,
    HomeBusyError,
    InputError,
    NameTakenError,
    NotIndexedError,
    RecordError,
    SchedulerUnavailableError,
)
from gem_index.index.dense import DenseIndex
from gem_index.readers import DocumentReader
from stored import snapshot_of

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


@pytest.mark.parametrize("chunking", [None, Chunking(10, 2)])
def test_a_collection_is_that_of_one_machine(client, inputs, home, monkeypatch, chunking):
    reader = DocumentReader(inputs, text_fields=("text*2",))
    local = home.build("local", reader, chunking=chunking)
    monkeypatch.setattr(sharding, "_LEAST", 100)  # several shards
    told = []
    with monkeypatch.context() as patch:
        patch.setattr(PieceEncoder, "rows", lambda *_: fail())  # nothing is encoded in this process
        report = build_shards(
            client, home, "cluster", reader, chunking=chunking, options=SMALL,
            progress=lambda stage, done, total: told.append(stage),
        )  # fmt: skip
    assert (report.report.added, report.report.pieces) == (local.added, local.pieces)
    assert (report.report.documents, report.skipped) == (local.documents, 0)
    found = home.collection("cluster")
    assert report.report.fingerprint == found.encoder.fingerprint
    assert found.reading == home.collection("local").reading == {"text_fields": ["text*2"]}
    assert {"fit", "encode", "store", "index words"} <= set(told)
    assert [path.name for path in (home.root / "parts").iterdir()] == ["cluster~lock"]
    check_alike(found, home.collection("local"))


@pytest.mark.parametrize("language", [None, "de", "mul"])
def test_the_language_is_that_of_one_machine(client, tmp_path, home, language):
    texts = [
        f"Die Müllabfuhr kommt in München jeden {day}tag um {n} Uhr"
        for n in range(80)
        for day in ("Diens", "Mon")
    ]
    path = tmp_path / "de.jsonl"
    path.write_text(
        "".join(json.dumps({"id": str(i), "text": t}) + "\n" for i, t in enumerate(texts))
    )
    home.build("local", DocumentReader([str(path)]), language=language)
    build_shards(client, home, "cluster", [str(path)], options=SMALL, language=language)
    one, other = home.collection("cluster"), home.collection("local")
    assert one.language == other.language == (language or "de")
    for query in ("Abfuhr in Muenchen", "Montags 7 Uhr", "Mülabfuhr"):
        first, second = one.search(query, 5), other.search(query, 5)
        assert [hit.id for hit in first] == [hit.id for hit in second]
        assert first.corrected == second.corrected
        assert np.allclose([hit.score for hit in first], [hit.score for hit in second], atol=1e-5)
    assert one.verify() == []


def test_it_behaves_like_any_other(client, inputs, home):
    local = home.build("local", DocumentReader(inputs))
    build_shards(client, home, "cluster", inputs, options=SMALL)
    one, other = home.collection("cluster"), home.collection("local")
    check_alike(one, other)
    for each in (one, other):
        each.upsert([Document(id="new", text="a cup of tea", metadata={"year": 3})])
        each.delete(["b1", text_id(sentences(900)[2])])
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


@pytest.mark.parametrize("kind", ["pq", "hnsw"])
def test_shards_become_the_files_of_one_machine(client, home, tmp_path, monkeypatch, kind):
    path = tmp_path / "x.txt"
    path.write_text("\n".join(f"{text} {i}" for i, text in enumerate(sentences(3000))))
    home.build("other", [Document(id="1", text="a cup of tea")])  # numbers of documents go on
    home.build("local", DocumentReader([str(path)]), index=kind)
    monkeypatch.setattr("gem_index.distributed.sharding._LEAST", 500)
    options = PartitionOptions(partition_bytes=4096)
    build_shards(client, home, "cluster", [str(path)], index=kind, options=options)
    one, other = (home.collection(name) for name in ("cluster", "local"))
    check_alike(one, other)
    folders = [snapshot_of(home, name) for name in ("cluster", "local")]
    shards = list((folders[0] / "rows").iterdir())
    if kind == "pq":
        codes = [DenseIndex.open(folder / "vectors.faiss") for folder in folders]
        for query in other.encoder.encode(["a cup of tea", "two ducks swimming 17"]):
            np.testing.assert_array_equal(*(index.nearest(query, 3000) for index in codes))
        assert len(shards) > 3
    joined = b"".join(path.read_bytes() for path in sorted(shards))
    assert joined == (folders[1] / "rows" / "0000.i16").read_bytes()
    segments = json.loads((folders[0] / "words" / "meta.json").read_text())["segments"]
    assert len(segments) > 3
    one.compact()
    check_alike(one, other)
    assert len(list((snapshot_of(home, "cluster") / "rows").iterdir())) == 1


def test_shards_that_are_there_are_not_made_again(client, inputs, home, monkeypatch, tmp_path):
    parts = tmp_path / "shared"
    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.write.adopting.upsert", lambda *_, **__: fail())
        with pytest.raises(OSError, match="No space"):
            build_shards(client, home, "faq", inputs, parts=parts)
    shard = parts / "shard-00000.zip"
    content = shard.read_bytes()
    assert "faq" not in home
    damaged = bytearray(content)
    damaged[len(damaged) // 3] ^= 255
    shard.write_bytes(damaged)
    with pytest.raises(CorruptionError, match=r"shard-00000\.zip cannot be read .*; run it again"):
        build_shards(client, home, "faq", inputs, parts=parts)
    assert not shard.exists()
    shard.write_bytes(content)
    time = shard.stat().st_mtime_ns
    seen = []
    fetch = sharding._fetch
    monkeypatch.setattr(sharding, "_fetch", lambda *a: (seen.append(shard.stat()), fetch(*a)))
    build_shards(client, home, "faq", inputs, parts=parts)
    assert [each.st_mtime_ns for each in seen] == [time]
    home.build("local", DocumentReader(inputs))
    check_alike(home.collection("faq"), home.collection("local"))


def test_a_build_that_was_stopped_goes_on(client, inputs, home, monkeypatch, tmp_path):
    parts = tmp_path / "shared"
    monkeypatch.setattr(building, "ingest_shards", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        build_shards(client, home, "faq", inputs, parts=parts, options=SMALL)
    assert "faq" not in home
    times = {path.name: path.stat().st_mtime_ns for path in parts.iterdir()}
    content = json.loads((parts / MANIFEST).read_text())
    content.pop("parts")
    (parts / MANIFEST).write_text(json.dumps(content))
    home.create_collection("faq")  # as a killed command leaves it
    seen = {}

    def ingested(*arguments):
        seen.update({path.name: path.stat().st_mtime_ns for path in parts.iterdir()})
        return ingest_shards(*arguments)

    monkeypatch.setattr(building, "ingest_shards", ingested)
    with pytest.raises(InputError, match="another request, which differs in inputs"):
        build_shards(client, home, "faq", inputs[:2], parts=parts, options=SMALL)
    assert "faq" in home
    report = build_shards(client, home, "faq", inputs, parts=parts, options=SMALL)
    assert {name: time for name, time in seen.items() if name != MANIFEST} == {
        name: time for name, time in times.items() if name != MANIFEST
    }
    home.build("local", DocumentReader(inputs))
    check_alike(home.collection("faq"), home.collection("local"))
    assert report.report.documents == len(home.collection("local"))
    assert not parts.exists()
    assert not parts.with_name("shared~fit").exists()


@pytest.mark.parametrize("damage", ["removed", "cut", "changed"])
def test_a_part_that_is_damaged_between_runs_is_made_again(
    client, inputs, home, monkeypatch, damage
):
    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.write.adopting.upsert", lambda *_, **__: fail())
        with pytest.raises(OSError, match="No space"):
            build_shards(client, home, "faq", inputs)
    path = home.root / "parts" / "faq" / "part-00001.parquet"
    content = bytearray(path.read_bytes())
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-500])
    if damage == "changed":  # a vector
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    for shard in path.parent.glob("shard-*.zip"):
        shard.unlink()
    if damage != "removed":
        with pytest.raises(
            CorruptionError, match=r"part-00001\.parquet cannot be read .*run it again"
        ):
            build_shards(client, home, "faq", inputs)
    build_shards(client, home, "faq", inputs)
    home.build("local", DocumentReader(inputs))
    check_alike(home.collection("faq"), home.collection("local"))
    assert not path.parent.exists()


def test_two_builds_of_one_collection(client, inputs, home, monkeypatch):
    def meanwhile(*arguments):
        with pytest.raises(HomeBusyError, match="another process builds the collection faq"):
            build_shards(client, home, "faq", inputs[:1])
        return ingest_shards(*arguments)

    monkeypatch.setattr(building, "ingest_shards", meanwhile)
    build_shards(client, home, "faq", inputs)
    assert home.collection("faq").verify() == []


def test_a_build_that_was_killed_before_it_was_published(client, inputs, home, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.write.adopting.publish", lambda *_, **__: fail())
        with pytest.raises(NotIndexedError):
            build_shards(client, home, "faq", inputs)
    assert (home.root / "parts" / "faq").exists()
    with pytest.raises(
        InputError, match=r"fitted and indexed: call home\.collection\('faq'\)\.refit\(\)"
    ):
        build_shards(client, home, "faq", inputs)
    assert {path.name for path in (home.root / "parts").iterdir()} == {"faq~lock"}
    home.collection("faq").refit()
    with pytest.raises(InputError, match="expected a new one: add to it"):
        build_shards(client, home, "faq", inputs)


def test_collections_whose_names_are_alike(client, inputs, home, monkeypatch, tmp_path):
    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.write.adopting.upsert", lambda *_, **__: fail())
        with pytest.raises(OSError, match="No space"):
            build_shards(client, home, "faq-fit", inputs)
    build_shards(client, home, "faq", inputs)
    parts = home.root / "parts"
    assert (parts / "faq-fit" / MANIFEST).exists()
    build_shards(client, home, "faq-fit", inputs, parts=tmp_path / "shared")
    assert {path.name for path in parts.iterdir()} == {"faq~lock", "faq-fit~lock"}


def test_workers_killed_in_a_build(own_cluster, inputs, home, tmp_path):
    more = write_inputs(tmp_path / "more")[0]
    path = Path(more).rename(tmp_path / "more" / "other.txt")
    path.write_text("\n".join(sentences(6000, seed=9)))
    with killing(own_cluster, every=0.3, times=4, seed=2):
        build_shards(own_cluster, home, "cluster", [*inputs, str(path)], options=SMALL)
    home.build("local", DocumentReader([*inputs, str(path)]))
    check_alike(home.collection("cluster"), home.collection("local"))


def test_workers_killed_while_shards_are_made(own_cluster, home, tmp_path, monkeypatch):
    path = tmp_path / "x.txt"
    path.write_text("\n".join(sentences(4000, seed=9)))
    monkeypatch.setattr(sharding, "_LEAST", 200)
    make, deaths = sharding.Sharding.make, []

    def shaken(self, plan):
        with killing(own_cluster, every=0.2, times=3, seed=3) as killed:
            folders = make(self, plan)
            wait_for(lambda: len(killed) == 3)
        deaths.extend(killed)
        assert len(folders) > 5
        return folders

    monkeypatch.setattr(sharding.Sharding, "make", shaken)
    build_shards(own_cluster, home, "cluster", [str(path)], options=SMALL)
    assert len(deaths) == 3
    home.build("local", DocumentReader([str(path)]))
    check_alike(home.collection("cluster"), home.collection("local"))


def test_a_scheduler_lost_while_shards_are_made(home, inputs, tmp_path, monkeypatch):
    make = sharding.Sharding.make
    with LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=":0") as cluster:

        def cut(self, plan):
            cluster.close()
            return make(self, plan)

        with Client(cluster, set_as_default=False) as client, monkeypatch.context() as patch:
            patch.setattr(sharding.Sharding, "make", cut)
            with pytest.raises(SchedulerUnavailableError):
                build_shards(client, home, "faq", inputs, options=SMALL)
    assert "faq" not in home  # nothing was stored
    parts = {path.name: path.stat().st_mtime_ns for path in (home.root / "parts" / "faq").iterdir()}
    assert sum(name.startswith("part-") for name in parts) > 3
    seen = []

    def look(self, plan):
        seen.append({each.name: each.stat().st_mtime_ns for each in folder.iterdir()})
        return make(self, plan)

    folder = home.root / "parts" / "faq"
    monkeypatch.setattr(sharding.Sharding, "make", look)
    with connected("local") as client:
        build_shards(client, home, "faq", inputs, options=SMALL)
    assert parts.items() <= seen[0].items()  # nothing was encoded again
    home.build("local", DocumentReader(inputs))
    check_alike(home.collection("faq"), home.collection("local"))


def test_what_is_wrong_with_documents(client, inputs, home, tmp_path):
    lines = Path(inputs[1]).read_text().splitlines()
    Path(inputs[1]).write_text("\n".join([*lines, '{"id": "b1", "text": "again"}']))
    with pytest.raises(DuplicateIdError, match="the id 'b1' occurs twice"):
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
    monkeypatch.setattr("gem_index.collection.write.adopting.publish", lambda *_, **__: fail())
    with pytest.raises(NotIndexedError, match=r"call home\.collection\('faq'\)\.refit\(\)"):
        build_shards(client, home, "faq", inputs)
    monkeypatch.undo()
    home.collection("faq").refit()
    assert home.collection("faq").verify() == []


def fail():
    raise OSError(28, "No space left on device")


class TestAdopting:
    def test_a_collection_that_holds_documents(self, home):
        found = home.create_collection("faq", vectors="wordllama")
        found.upsert([Document(id="1", text="a cup of tea")])
        encoder = found.encoder.unfitted().fit(["two ducks"])
        with pytest.raises(InputError, match="has 1 documents; expected an empty one"):
            ingest_shards(found.access, encoder, [], lambda _: fail())

    def test_an_encoder_of_another_kind(self, home, small_vectors):
        found = home.create_collection("faq", vectors="wordllama")
        with pytest.raises(ConfigError, match="other word vectors or another configuration"):
            ingest_shards(
                found.access, GemEncoder(small_vectors).fit(["two ducks"]), [], lambda _: fail()
            )

    def test_both_or_none(self, home):
        found = home.create_collection("faq", vectors="wordllama")
        texts = ["two ducks swimming", "a cup of tea"]
        encoder = found.encoder.unfitted().fit(texts)
        documents = [Document(id=str(i), text=text) for i, text in enumerate(texts)]
        with pytest.raises(OSError, match="No space"):
            ingest_shards(found.access, encoder, documents, lambda _: fail())
        plans = []

        def make(plan):
            plans.append(plan)
            assert plan.stop.wait(60)  # told that they are not needed
            return []

        with pytest.raises(DuplicateIdError):
            ingest_shards(found.access, encoder, documents * 2000, make)  # more than one batch
        assert not plans[0].folder.exists()
        assert len(found) == 0
        assert found.verify() == []

    def test_shards_of_other_documents(self, home):
        found = home.create_collection("faq", vectors="wordllama")
        texts = ["two ducks swimming", "a cup of tea"]
        encoder = found.encoder.unfitted().fit(texts)
        documents = [Document(id=str(i), text=text) for i, text in enumerate(texts)]
        other = home.build("other", documents[:1])
        folder = next((home.root / "collections").glob("*/*/snapshot.json")).parent
        with pytest.raises(NotIndexedError, match="found 1 documents in 1 shards; expected the 2"):
            ingest_shards(found.access, encoder, documents, lambda _: [folder])
        assert other.documents == 1
        assert [hit.id for hit in found.search("a cup of tea", k=1)] == ["1"]
        found.refit()
        assert found.verify() == []


def test_a_part_that_was_removed_meanwhile_is_named(tmp_path):
    part = DocumentPart(OutputFolder.of(tmp_path, {}), 1, 5)
    with pytest.raises(CorruptionError, match=r"part-00001\.parquet cannot be read .*run it again"):
        next(part.documents())
