"""What holds for a whole process of the server: how threads take turns, its memory, and what is garbage."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import sys
import time
from typing import Any

from gem_index.common.settings import available_threads

__all__ = ["give_memory_back", "leave_out_what_stands", "prepare_process"]

_TURN = 0.0002
"""Seconds after which a thread that waits asks the running one for its turn; a search asks for some fifty turns.

While the running thread writes to a file or a database, another thread could run. But the write is short, then the thread
goes on, and the waiting thread starts its count again. So beside work that writes more often than a turn, other threads
wait until its end. Beside a PUT of 16 MB, searches waited up to 0.3 s with turns of 0.5 ms, and 0.06 s with turns of 0.2 ms.
"""

_M_ARENA_MAX = -8  # glibc's malloc.h
_ARENAS = 2
_PAUSE = 2.0  # seconds between two looks at the work that was done
_WORK = 0.1  # seconds of processor time; less work leaves little free memory


def prepare_process() -> None:
    """Let threads take short turns, leave a processor to short requests, and allocate from two heaps.

    Python's own turns of 5 ms make a short request wait beside each step of a long one. And a thread that gets its turn
    waits some milliseconds for a processor if long work keeps all of them busy: beside a file of made-up words, on two
    processors, the longest search took 460 ms with two threads for the file, and 101 ms with one. If GEM_INDEX_THREADS is
    set, it counts instead.

    glibc gives each thread a heap of its own, up to eight per processor; the free memory of one is of no use to the others.
    If MALLOC_ARENA_MAX is set, it counts instead. Other C libraries have one heap, or no such setting.
    """
    sys.setswitchinterval(_TURN)
    os.environ.setdefault("GEM_INDEX_THREADS", str(max(1, available_threads() - 1)))
    library = _c_library()
    if hasattr(library, "mallopt") and "MALLOC_ARENA_MAX" not in os.environ:
        library.mallopt(_M_ARENA_MAX, _ARENAS)


async def give_memory_back() -> None:
    """Give the system the free pages of the heaps after work, every few seconds, until this is cancelled.

    glibc gives back only the end of a heap. Beneath it, the work of a long request leaves more than a hundred MB free. For
    a heap of 2 GB this takes 40 ms, the first time 140 ms, so it has a thread.
    """
    library = _c_library()
    done = 0.0
    while hasattr(library, "malloc_trim"):
        if time.process_time() - done > _WORK:
            await asyncio.to_thread(library.malloc_trim, 0)
            done = time.process_time()
        await asyncio.sleep(_PAUSE)


def _c_library() -> Any:  # None has none of the functions
    return ctypes.CDLL(None) if sys.platform == "linux" else None


def leave_out_what_stands() -> None:
    """Leave modules and the application out of the collections of garbage.

    While Python collects, no thread runs. The modules of a server hold some 150,000 objects, and beside a long request
    Python visited them once a second.
    """
    gc.collect()
    gc.freeze()
