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
from gem_index.errors import (
    ConfigError,
    FingerprintMismatchError,
    InputError,
    WorkerMismatchError,
)
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


def test_an_encoder_that_became_another_one_on_its_way(encoder, cache):
    with ExitStack() as stack:
        shipped = replace(shipping.pack(encoder, stack), fingerprint="0" * 64)
        told = f"the work was made with the encoder 000000000000, found {encoder.fingerprint[:12]}; install the same version"
        assert shipping.check_encoder(shipped) == told
        with pytest.raises(FingerprintMismatchError) as refused:
            shipping.wait_for_encoder("0" * 64)
        assert str(refused.value) == told
        assert shipping._OPEN == {}


def test_vectors_that_are_missing_or_damaged_are_told_by_their_beginning(encoder, cache):
    with ExitStack() as stack:
        shipped = shipping.pack(encoder, stack)
        (reference,) = shipped.sources
        elsewhere, short = replace(reference, folder="/nowhere"), reference.fingerprint[:12]
        assert shipping.check_encoder(replace(shipped, sources=(elsewhere,))) == (
            f"the word vectors {short} are not on this machine; expected them to be sent first"
        )
        with pytest.raises(InputError) as refused:
            send(reference, elsewhere, change=lambda chunk: chunk[:-1])
        assert str(refused.value).startswith(f"the word vectors {short} arrived damaged (")
        assert str(refused.value).endswith("); run it again")
        assert list(cache.iterdir()) == []


def test_all_files_are_sent_in_their_order_and_in_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr(shipping, "_CHUNK", 4)
    for name, content in (("b", b"12345678"), ("a", b"123456789"), ("c", b"")):
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    found = list(shipping.file_chunks(shipping.SourceReference("0" * 64, folder=str(tmp_path))))
    assert found == [
        *(("a", b"1234"), ("a", b"5678"), ("a", b"9")),
        *(("b", b"1234"), ("b", b"5678")),
        ("c", b""),
    ]


@pytest.mark.parametrize("faster", [True, False])
def test_a_worker_that_is_slower_keeps_what_another_one_brought(
    encoder, cache, monkeypatch, faster
):
    with ExitStack() as stack:
        (reference,) = shipping.pack(encoder, stack).sources
        elsewhere, rename = replace(reference, folder="/nowhere"), Path.rename

        def renamed(path, target):
            if faster:
                rename(path, target)
                path.mkdir()
            raise OSError(39, "Directory not empty")

        monkeypatch.setattr(Path, "rename", renamed)
        if faster:
            send(reference, elsewhere)
            assert [path.name for path in cache.iterdir()] == [reference.fingerprint]
            assert not shipping.missing_sources([elsewhere])
        else:
            with pytest.raises(OSError, match="Directory not empty"):
                send(reference, elsewhere)
            assert shipping.missing_sources([elsewhere]) == [elsewhere]


def test_vectors_that_no_folder_holds_are_refused_with_the_reason(small_vectors, monkeypatch):
    def fail(*_):
        raise InputError("found no words; expected some")

    monkeypatch.setattr(shipping, "_holds", lambda *_: False)
    monkeypatch.setattr(shipping, "import_vectors", fail)
    with ExitStack() as stack, pytest.raises(ConfigError) as refused:
        shipping.pack(GemEncoder(small_vectors), stack)
    assert str(refused.value) == (
        f"the word vectors {small_vectors!r} cannot be sent to workers: found no words; expected some; expected vectors of "
        "a home: add them to one"
    )
    other = type("Stored", (), {"fingerprint": "0" * 64})
    monkeypatch.setattr(shipping, "import_vectors", lambda *_: other)
    with ExitStack() as stack, pytest.raises(ConfigError, match="they are stored in no folder"):
        shipping.pack(GemEncoder(small_vectors), stack)
