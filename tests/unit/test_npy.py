"""Arrays in files: read by several threads at the same time, by name, and without running what a file brings."""

import gc
import io
import pickle
import threading

import numpy as np
import pytest

from gem_index.files.npy import NpyWriter, map_array, read_arrays


class _Yielding:
    """Garbage that lets another thread run while it is collected."""

    def __init__(self):
        self.me = self

    def __del__(self):
        threading.Event().wait(1e-6)


@pytest.mark.parametrize("take", [map_array, lambda path: read_arrays(path, "a")["a"]])
def test_threads_take_arrays_while_garbage_is_collected(tmp_path, take):
    path = tmp_path / "arrays"
    with path.open("wb") as file:
        if take is map_array:
            np.save(file, np.arange(74))
        else:
            np.savez(file, a=np.arange(74), b=np.arange(2))
    problems = []

    def load(depth):
        if depth:
            return load(depth - 1)
        for _ in range(300):
            _Yielding()
            try:
                assert take(path)[73] == 73
            except SystemError as error:  # of CPython 3.11.7, at about one of a hundred
                problems.append(error)
        return None

    before = gc.get_threshold()
    gc.set_threshold(5)
    try:
        threads = [threading.Thread(target=load, args=(6 * i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*before)
    assert not problems


def test_arrays_are_read_by_name(tmp_path):
    path = tmp_path / "arrays.npz"
    np.savez(path, a=np.arange(3), b=np.ones(2))
    assert list(read_arrays(path, "b", "none")) == ["b"]
    assert {name: array.tolist() for name, array in read_arrays(path).items()} == {
        "a": [0, 1, 2],
        "b": [1.0, 1.0],
    }


@pytest.mark.parametrize("take", [map_array, read_arrays])
def test_a_pickle_is_refused(tmp_path, take):
    """Unpickling would run what a file brings."""
    path = tmp_path / "arrays"
    path.write_bytes(pickle.dumps([1]))
    with pytest.raises(ValueError, match="pickle"):
        take(path)
    with path.open("wb") as file:
        np.savez(file, a=np.array([{}]))
    with pytest.raises(ValueError, match="allow_pickle=False"):
        read_arrays(path)


@pytest.mark.parametrize("take", [map_array, read_arrays])
def test_an_empty_file_is_no_array(tmp_path, take):
    path = tmp_path / "arrays"
    path.touch()
    with pytest.raises(ValueError, match=f"^{path} is empty; expected an array$"):
        take(path)
    with pytest.raises(ValueError, match="^the file is empty; expected an array$"):
        read_arrays(io.BytesIO())


def test_blocks_are_written_row_by_row_however_they_lie_in_memory(tmp_path):
    rows = np.arange(24, dtype=np.float32).reshape(6, 4)
    path = tmp_path / "rows.npy"
    with path.open("wb") as file, NpyWriter(file, 4, np.float32) as writer:
        writer.append(np.asfortranarray(rows[:2]))
        writer.append(np.repeat(rows[2:4], 2, axis=1)[:, ::2])
        writer.append(rows[4:].astype(np.float64))
    assert map_array(path).tolist() == rows.tolist()
