"""What is reported and refused, whole, with workers that are threads of this process."""

from __future__ import annotations

import json
import stat

import pytest

import shared_target
from cluster_inputs import sentences, stopped_fit
from gem_index import Chunking
from gem_index.collection.push.query_record import QueryRecords
from gem_index.collection.write.adopting import ingest_shards
from gem_index.distributed import (
    PartitionOptions,
    build_shards,
    building,
    embed,
    embedding,
    encode,
    fit,
    sharding,
)
from gem_index.distributed.cluster import Cluster
from gem_index.distributed.encoding import EncodeReport
from gem_index.distributed.fitting import FitReport, fit_partitions
from gem_index.distributed.inputs import partitions_of
from gem_index.distributed.places import OutputFolder
from gem_index.errors import ConfigError, HomeBusyError, InputError
from gem_index.targets import open_target

SMALL = PartitionOptions(partition_bytes=1024)


@pytest.fixture
def skipping(tmp_path, monkeypatch):
    """Two files, each with bad records, and what is told about these."""
    monkeypatch.chdir(tmp_path)
    rows = [{"id": "1", "text": "a bank"}, {"id": "2"}, {"id": "3", "text": "..."}]
    others = [{"id": "4", "text": 5}, {"id": "5", "text": "two ducks"}, {"id": "6"}]
    for name, each in (("a.jsonl", rows), ("b.jsonl", others)):
        (tmp_path / name).write_text("".join(json.dumps(row) + "\n" for row in each))
    return [("a.jsonl", 2), ("b.jsonl", 1), ("b.jsonl", 3)]


def test_bad_records_of_all_parts_are_counted_and_listed(threads, encoder, home, skipping):
    inputs, options = ["a.jsonl", "b.jsonl"], PartitionOptions(errors="skip")
    encoded = encode(threads, encoder, inputs, "out", options=options)
    errors = encoded.skipped_records
    assert encoded == EncodeReport(3, 1, 3, errors, 2, 24, encoder.fingerprint)
    again = encode(threads, encoder, inputs, "out", options=options)
    fresh = encoder.unfitted()
    fitted = fit(threads, fresh, inputs, options=options)
    assert fitted == FitReport(fresh, 3, 3, fitted.skipped_records, 2)
    built = build_shards(threads, home, "faq", inputs, options=options)
    assert (built.report.added, built.report.documents, built.skipped) == (3, 3, 3)
    for report in (encoded, again, fitted, built):
        assert [(source, line) for source, line, _ in report.problems] == skipping
        told = [(each.problem, each.advice) for each in report.skipped_records]
        assert told == [(each.problem, each.advice) for each in errors]
    assert [each.advice is not None for each in errors] == [True, False, True]


def test_an_output_that_holds_something_else_is_told_before_anything_else(tmp_path, encoder):
    (tmp_path / "mine.txt").touch()
    with pytest.raises(InputError) as refused:
        encode(None, encoder, ["missing.txt"], tmp_path)
    assert str(refused.value) == (
        f"{tmp_path} holds mine.txt and no vectors of gem-index; expected an empty or a new folder"
    )


def test_only_an_encoding_that_fits_removes_sums(threads, encoder, tmp_path):
    path = tmp_path / "long.txt"
    path.write_text("\n".join(" ".join(sentences(9, seed=n)) for n in range(99)))
    with stopped_fit(sums=1):
        fit(threads, encoder.unfitted(), path, options=SMALL, checkpoint=tmp_path / "sums")
    before = sorted(each.name for each in (tmp_path / "sums").iterdir())
    encode(threads, encoder, path, tmp_path / "out", checkpoint=tmp_path / "sums")
    assert sorted(each.name for each in (tmp_path / "sums").iterdir()) == before
    assert len(before) == 2


def test_the_sums_of_other_pieces_are_not_used(threads, encoder, tmp_path):
    """A fit on whole documents that was stopped, then one on their pieces."""
    folder = OutputFolder.of(tmp_path / "sums", {})
    cluster = Cluster(threads)
    path = tmp_path / "long.txt"
    path.write_text("\n".join(" ".join(sentences(9, seed=n)) for n in range(99)))
    partitions, data = partitions_of(path, SMALL, cluster)
    assert len(partitions) > 8

    def run(chunking, folder=None):
        found = encoder.unfitted()
        fit_partitions(cluster, found, partitions, data, None, chunking, folder)
        return found.fingerprint

    with stopped_fit(sums=1):
        run(Chunking(None), folder)
    assert run(Chunking(10), folder) == run(Chunking(10)) != run(Chunking(None))


@pytest.mark.parametrize(
    ("name", "chunking", "told"),
    [
        ("other", None, "collection"),
        ("faq", Chunking(10), "chunking"),
        ("other", Chunking(10), "chunking, collection"),
    ],
)
def test_parts_of_another_collection_or_chunking_are_not_used(
    threads, home, skipping, tmp_path, monkeypatch, name, chunking, told
):
    options = PartitionOptions(errors="skip")
    with monkeypatch.context() as patch:
        patch.setattr(building, "ingest_shards", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build_shards(threads, home, "faq", ["a.jsonl"], parts="parts", options=options)
    with pytest.raises(InputError) as refused:
        build_shards(
            threads, home, name, ["a.jsonl"], parts="parts", options=options, chunking=chunking
        )
    assert str(refused.value) == (
        f"{tmp_path}/parts holds vectors of another request, which differs in {told}; expected the same request, which "
        "continues, or another folder"
    )


@pytest.mark.parametrize("chunking", [Chunking(None), Chunking(10)])
def test_the_kind_of_an_index_is_chosen_by_the_number_of_pieces(
    threads, home, tmp_path, monkeypatch, chunking
):
    path, counts, resolve = tmp_path / "long.txt", [], sharding.resolve_kind
    path.write_text("\n".join(" ".join(sentences(9, seed=n)) for n in range(9)))

    def resolved(kind, count, dimension):
        counts.append(count)
        return resolve(kind, count, dimension)

    monkeypatch.setattr(sharding, "resolve_kind", resolved)
    built = build_shards(threads, home, "faq", path, chunking=chunking).report
    assert (built.documents, built.pieces) == (9, counts[0])
    assert (built.pieces > 9) == (chunking.chunk is not None)


def test_a_build_says_that_another_one_is_running(threads, home, skipping, monkeypatch):
    locks = []

    def meanwhile(*arguments):
        with pytest.raises(HomeBusyError) as refused:
            build_shards(threads, home, "faq", ["a.jsonl"], options=options)
        locks.append(str(refused.value))
        locks.append(stat.S_IMODE((home.root / "parts" / "faq~lock").stat().st_mode))
        return ingest_shards(*arguments)

    options = PartitionOptions(errors="skip")
    monkeypatch.setattr(building, "ingest_shards", meanwhile)
    build_shards(threads, home, "faq", ["a.jsonl"], options=options)
    assert locks == ["another process builds the collection faq; wait until it is done", 0o600]


def test_a_collection_that_cannot_be_removed_after_a_failure_is_named(
    threads, home, skipping, monkeypatch
):
    def refuse(*_):
        raise OSError(16, "Device or resource busy")

    monkeypatch.setattr(building, "ingest_shards", lambda *_: 1 / 0)
    monkeypatch.setattr(type(home), "drop", refuse)
    with pytest.raises(ZeroDivisionError) as failed:
        build_shards(threads, home, "faq", ["a.jsonl"], options=PartitionOptions(errors="skip"))
    [note] = failed.value.__notes__
    assert note.startswith("the collection faq was not removed: ")


class TestEmbedding:
    @pytest.fixture
    def url(self, tmp_path, monkeypatch):
        shared_target.install(tmp_path / "site")
        monkeypatch.syspath_prepend(tmp_path / "site")
        return f"shared://{tmp_path / 'x.db'}"

    @pytest.fixture
    def german(self, tmp_path):
        for name in ("a", "b"):
            lines = (f"Die Banken öffnen in {name} um {i} Uhr in der Stadt.\n" for i in range(50))
            (tmp_path / f"{name}.txt").write_text("".join(lines))
        return [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]

    @pytest.mark.parametrize(
        ("language", "found"), [("auto", "de"), ("en", "en"), ("none", "none")]
    )
    def test_words_are_of_the_language_and_the_progress_counts_parts(
        self, threads, encoder, german, url, language, found
    ):
        told = []
        report = embed(
            threads, encoder, german, url, vectors="tiny", language=language,
            progress=lambda *each: told.append(each),
        )  # fmt: skip
        assert told == [(stage, done, 2) for stage in ("count words", "embed") for done in (1, 2)]
        assert (report.push.added, report.push.documents, report.skipped) == (100, 100, 0)
        target = open_target(url)
        records = QueryRecords(target)
        words = records.read(target.live().schema.token).words
        records.close()
        target.close()
        assert (words.analyzer.language, words.texts) == (found, 100)

    def test_new_and_known_documents_of_all_parts_are_counted(
        self, threads, encoder, german, url, tmp_path
    ):
        (tmp_path / "c.txt").write_text("".join(f"Ein Satz {i} mehr.\n" for i in range(30)))
        embed(threads, encoder, german[:1], url)
        report = embed(threads, encoder, [*german, str(tmp_path / "c.txt")], url)
        assert (report.push.added, report.push.updated, report.push.documents) == (80, 50, 130)

    def test_a_table_that_is_dropped_meanwhile(
        self, threads, encoder, german, url, tmp_path, monkeypatch
    ):
        wait = embedding.wait_for_encoder

        def dropped(fingerprint):
            (tmp_path / "x.db").unlink(missing_ok=True)
            return wait(fingerprint)

        monkeypatch.setattr(embedding, "wait_for_encoder", dropped)
        with pytest.raises(ConfigError) as refused:
            embed(threads, encoder, german[:1], url)
        assert str(refused.value) == (
            f"the table of {url} is gone; expected that nobody drops it meanwhile"
        )
