"""Word vectors reach a machine once, whole, and are mapped there."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import numpy as np
import platformdirs
import pytest

from cluster_processes import cache_of, free_port, refuse, scheduler_and_workers
from distributed import Client
from gem_index import GemEncoder
from gem_index.distributed import encode, shipping
from gem_index.errors import FingerprintMismatchError, InputError, WorkerMismatchError
from gem_index.vectors.registry import open_source


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(shipping, "_OPEN", {})
    monkeypatch.setattr(shipping, "_INSTALLED", {})
    return tmp_path / "cache" / "gem-index" / "vectors"


def send(reference, elsewhere, transfer="t", change=lambda chunk: chunk):
    for name, chunk in (*shipping.file_chunks(reference), ("", b"")):
        shipping.receive(elsewhere, name, change(chunk), transfer)


def test_files_arrive_once_and_are_mapped(encoder, cache, monkeypatch):
    monkeypatch.setattr(shipping, "_CHUNK", 1000)
    with ExitStack() as stack:
        shipped = shipping.pack(encoder, stack)
        (reference,) = shipped.sources
        elsewhere = replace(reference, folder="/nowhere")
        there = replace(shipped, sources=(elsewhere,))
        assert "not on this machine; expected them to be sent" in shipping.check_encoder(there)
        assert shipping.missing_sources([elsewhere, replace(elsewhere, name="wordllama")]) == [
            elsewhere
        ]
        with pytest.raises(InputError, match="arrived damaged"):
            send(reference, elsewhere, change=lambda chunk: chunk[:-1])
        send(reference, elsewhere)
        send(reference, elsewhere, "another")  # a second worker of the machine
    assert [path.name for path in cache.iterdir()] == [reference.fingerprint]
    assert not shipping.missing_sources([elsewhere])
    assert shipping.check_encoder(there) == ""
    found = shipping.open_encoder(encoder.fingerprint)
    assert isinstance(found.vectors.rows.matrix, np.memmap)
    texts = ["open a bank account", "two ducks", ""]
    assert found.encode(texts).tobytes() == encoder.encode(texts).tobytes()


def test_a_task_waits_for_vectors_that_are_on_their_way(encoder, cache):
    with ExitStack() as stack:
        shipped = shipping.pack(encoder, stack)
        (reference,) = shipped.sources
        elsewhere = replace(reference, folder="/nowhere")
        shipping.install(replace(shipped, sources=(elsewhere,)))
        with pytest.raises(InputError, match="not on this machine"):
            shipping.wait_for_encoder(encoder.fingerprint, 0)
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(shipping.wait_for_encoder, encoder.fingerprint)
            send(reference, elsewhere)
            assert waiting.result(30).fingerprint == encoder.fingerprint


def test_a_worker_with_other_bundled_vectors(encoder, cache):
    with ExitStack() as stack:
        shipped = shipping.pack(encoder, stack)
    (reference,) = shipped.sources
    other = replace(shipped, sources=(replace(reference, name="wordllama", folder=""),))
    problem = shipping.check_encoder(other)
    here = open_source("wordllama", {}).fingerprint
    told = (
        f"the encoder with the vectors wordllama was made with vectors {reference.fingerprint[:12]}, "
        f"found {here[:12]}; install the same version of their package"
    )
    assert told in problem
    with pytest.raises(FingerprintMismatchError) as refused:
        shipping.open_encoder(encoder.fingerprint)
    assert str(refused.value) == told
    assert (refused.value.expected, refused.value.found) == (reference.fingerprint, here)


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (OSError(24, "Too many open files"), "too many open files"),
        (
            FileNotFoundError(2, "No such file or directory", "/x/rows.npy"),
            "no such file or directory",
        ),
        (InputError("found no words; expected some"), "found no words; expected some"),
    ],
)
def test_what_a_worker_cannot_open_is_told_in_a_line(encoder, cache, monkeypatch, error, told):
    def fail(_fingerprint):
        raise error

    with ExitStack() as stack:
        shipped = shipping.pack(encoder, stack)
        monkeypatch.setattr(shipping, "open_encoder", fail)
        assert shipping.check_encoder(shipped) == told


def test_a_few_encoders_stay_open(encoder, small_vectors, cache):
    with ExitStack() as stack:
        prints = []
        for window in (1, 2, 3):
            config = replace(encoder.config, window=window)
            shipped = shipping.pack(GemEncoder(small_vectors, config), stack)
            assert shipping.check_encoder(shipped) == ""
            prints.append(shipped.fingerprint)
    assert list(shipping._OPEN) == prints[1:]


def hidden(monkeypatch, folder="/nowhere"):
    """Send encoders whose folder the workers do not see, as on another machine."""
    pack, chunks, folders = shipping.pack, shipping.file_chunks, {}

    def packed(encoder, stack):
        shipped = pack(encoder, stack)
        folders.update({each.fingerprint: each for each in shipped.sources})
        sources = tuple(replace(each, folder=folder) for each in shipped.sources)
        return replace(shipped, sources=sources)

    monkeypatch.setattr(shipping, "pack", packed)
    monkeypatch.setattr(shipping, "file_chunks", lambda each: chunks(folders[each.fingerprint]))


def test_a_cluster_is_sent_what_it_lacks(client, inputs, encoder, tmp_path, monkeypatch):
    hidden(monkeypatch)
    (place,) = set(client.run(cache_of).values())
    kept = Path(place, "vectors", encoder.vectors.fingerprint)
    assert not kept.exists()
    encode(client, encoder, inputs, tmp_path / "out")
    assert (kept / "vectors.json").is_file()
    written = (kept / "vectors.json").stat().st_mtime_ns
    encode(client, encoder, inputs, tmp_path / "again")
    assert (kept / "vectors.json").stat().st_mtime_ns == written
    assert [path.name for path in kept.parent.iterdir()] == [kept.name]


def test_workers_of_a_machine_that_share_no_folder_are_each_sent_them(
    inputs, encoder, tmp_path, monkeypatch
):
    hidden(monkeypatch)
    caches = [tmp_path / name / "gem-index" for name in ("one", "two")]
    environments = [{"XDG_CACHE_HOME": str(cache.parent)} for cache in caches]
    with (
        scheduler_and_workers(tmp_path, free_port(), 2, environments) as (address, _),
        Client(address, set_as_default=False, timeout=30) as client,
    ):
        client.wait_for_workers(2, timeout=30)
        encode(client, encoder, inputs, tmp_path / "out")
    for cache in caches:
        assert (cache / "vectors" / encoder.vectors.fingerprint / "vectors.json").is_file()


def test_a_worker_without_room_is_named(client, inputs, small_vectors, tmp_path, monkeypatch):
    from gem_index import GemConfig

    hidden(monkeypatch)
    found = GemEncoder(small_vectors, GemConfig(window=5), threads=1)
    monkeypatch.setattr(shipping, "receive", refuse)
    (place,) = set(client.run(cache_of).values())
    kept = Path(place, "vectors", small_vectors.fingerprint)
    if kept.exists():
        kept.rename(tmp_path / "kept")
    with pytest.raises(WorkerMismatchError, match="cannot keep the word vectors: no space left"):
        encode(client, found, inputs, tmp_path / "out")
