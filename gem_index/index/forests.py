"""Find connected components in several threads: each thread joins pairs in its own forest."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue

import numpy as np

from gem_index.common.arrays import I32
from gem_index.kernels.near_pairs import merge_forest

__all__ = ["joined_forest"]


def joined_forest(
    count: int,
    tasks: Iterable[int],
    threads: int,
    join: Callable[[int, I32], None],
    done: Callable[[int], None],
) -> I32:
    """Return, for each of ``count`` items, the position of the first item of its component.

    Parameters
    ----------
    count : int
    tasks : iterable of int
    threads : int
        At least 1.
    join : callable
        Joins the pairs of a task. The function gets the task and a forest, an int32 array (count,), and changes the
        forest.
    done : callable
        Called with each finished task, in the order of the tasks.

    Returns
    -------
    int32 array (count,)
        The positions. An item that no task joined has its own position.
    """
    forests = [np.arange(count, dtype=np.int32) for _ in range(threads)]
    free: SimpleQueue[I32] = SimpleQueue()
    for forest in forests:
        free.put(forest)

    def work(task: int) -> int:
        forest = free.get()
        join(task, forest)
        free.put(forest)
        return task

    with ThreadPoolExecutor(threads) as pool:
        try:
            for task in pool.map(work, tasks):
                done(task)
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise
    for forest in forests:
        merge_forest(forests[0], forest)
    return forests[0]
