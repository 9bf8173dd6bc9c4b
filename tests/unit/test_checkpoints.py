"""What a build that was cut goes on with, and what it logs about its checkpoints."""

import json
import logging
from contextlib import nullcontext

import numpy as np
import pytest

from gem_index.errors import DiskError
from gem_index.index import checkpoint
from gem_index.index.checkpoint import Checkpoint
from gem_index.index.dense import DenseIndex
from gem_index.index.kinds import IndexKind

FLAT, SQ8 = IndexKind("flat", "Flat"), IndexKind("sq8", "SQ8")
VECTORS = np.array([[1, 0], [0, 1], [0.6, 0.8], [0.8, 0.6]], np.float32)
NEWEST = "000000000003"


@pytest.fixture(autouse=True)
def _always_due(monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 0.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 0.0)


def saved(folder, kind=SQ8):
    """Return a checkpoint of two documents, which have two pieces and one."""
    found = Checkpoint(folder, kind)
    built = found.begin(DenseIndex.empty(2, kind, lambda: VECTORS), 2)
    with built.rows or nullcontext():
        built.add(VECTORS[:3])
        found.keep(built, [np.array([4]), np.array([7])], [np.array([2]), np.array([1])])
    return found


@pytest.mark.parametrize("kind", [FLAT, SQ8])
def test_a_build_goes_on_after_the_last_vector_that_was_saved(tmp_path, kind):
    saved(tmp_path, kind)
    built = Checkpoint(tmp_path, kind).load(2)
    assert (built.ids.tolist(), built.counts.tolist()) == ([4, 7], [2, 1])
    with built.rows or nullcontext():
        built.add(VECTORS[3:])
    assert len(built.index) == 4
    if kind is SQ8:
        rows = np.fromfile(tmp_path / "vectors.i16", "<i2").reshape(-1, 2)
        np.testing.assert_array_equal(rows, np.rint(VECTORS * 32767))


@pytest.mark.parametrize(
    ("file", "content", "told"),
    [
        *(
            (name, b"x", "{newest} is not what was written; encoding from the beginning")
            for name in ("ids.npy", "pieces.npy", "vectors.faiss")
        ),
        (
            "../vectors.i16",
            bytes(12),
            "{folder}/vectors.i16 is not what was written; encoding again",
        ),
        *(
            (
                "checkpoint.json",
                content,
                "{newest} cannot be read (" + reason + "); encoding from the beginning",
            )
            for content, reason in (
                (b"[]", "list indices must be integers or slices, not str"),
                (b"{}", "'factory'"),
                (b'{"factory": "SQ8"}', "'ids.npy'"),
                (b"{", "Expecting property name enclosed in double quotes: line 1 column 2 (char 1)"),
            )
        ),
    ],
)  # fmt: skip
def test_a_damaged_checkpoint_is_logged_and_not_used(tmp_path, caplog, file, content, told):
    found = saved(tmp_path)
    (tmp_path / NEWEST / file).write_bytes(content)
    with caplog.at_level(logging.WARNING):
        assert found.load(2) is None
    assert caplog.messages == [told.format(newest=tmp_path / NEWEST, folder=tmp_path)]


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left on device"), DiskError("the disk is full")]
)
def test_a_checkpoint_that_cannot_be_written_is_logged(tmp_path, monkeypatch, caplog, error):
    def refuse(path, fill):
        raise error

    monkeypatch.setattr(checkpoint, "publish_directory", refuse)
    with caplog.at_level(logging.WARNING):
        saved(tmp_path)
    assert caplog.messages == [f"no checkpoint was kept: {error}"]


def test_checkpoints_that_take_no_time_are_a_minute_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(checkpoint, "_EVERY", 60.0)
    monkeypatch.setattr(checkpoint, "_SHARE", 20)
    now, written = [0.0], []
    monkeypatch.setattr(checkpoint.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(checkpoint, "publish_directory", lambda path, fill: written.append(now[0]))
    found = Checkpoint(tmp_path, FLAT)
    built = found.begin(DenseIndex.empty(2, FLAT, lambda: None), 2)
    for moment in (59.0, 60.0, 61.0, 119.0, 120.0):
        now[0] = moment
        found.keep(built, [np.array([1])], [np.array([1])])
    assert written == [60.0, 120.0]


def test_the_hashes_of_a_checkpoint_are_those_of_its_files(tmp_path):
    saved(tmp_path)
    meta = json.loads((tmp_path / NEWEST / "checkpoint.json").read_text())
    assert list(meta) == ["factory", "ids.npy", "pieces.npy", "vectors.faiss", "rows"]
    assert meta["factory"] == "SQ8"
