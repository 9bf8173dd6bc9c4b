"""Arrays that several threads map at the same time."""

import gc
import threading

import numpy as np

from gem_index.files.npy import map_array


class _Yielding:
    """Garbage that lets another thread run while it is collected."""

    def __init__(self):
        self.me = self

    def __del__(self):
        threading.Event().wait(1e-6)


def test_threads_map_arrays_while_garbage_is_collected(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(74))
    problems = []

    def load(depth):
        if depth:
            return load(depth - 1)
        for _ in range(300):
            _Yielding()
            try:
                assert map_array(tmp_path / "a.npy")[73] == 73
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
