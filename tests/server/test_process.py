"""What holds for a whole process of the server."""

import asyncio
import os
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from gem_index.server import process

THREADS = """
import re, sys, threading
from gem_index.server.process import prepare_process
if sys.argv[1:]:
    prepare_process()
both = threading.Barrier(12)
def allocate():
    kept = [bytes(5000) for _ in range(50)]
    both.wait()
threads = [threading.Thread(target=allocate) for _ in range(12)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
# glibc reserves 64 MiB for the heap of a thread, at a multiple of 64 MiB
heaps = {first for first in re.findall("(?m)^([0-9a-f]+)-[0-9a-f]+ rw-p 0+ 00:00 0 *$", open("/proc/self/maps").read())
         if int(first, 16) % (1 << 26) == 0}
print(len(heaps), sys.getswitchinterval())
"""


@pytest.fixture
def environ():
    """The environment of this process, without a number of heaps."""
    return {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}


def run(*arguments, **variables):
    """Return the count of heaps of 12 threads, and the seconds of a turn."""
    command = [sys.executable, "-c", THREADS, *arguments]
    done = subprocess.run(
        command, env=variables, capture_output=True, text=True, check=True, timeout=120
    )
    heaps, turn = done.stdout.split()
    return int(heaps), float(turn)


def test_threads_share_two_heaps_and_take_short_turns(environ):
    assert run(**environ)[0] > 2  # each thread has its own
    heaps, turn = run("prepared", **environ)
    assert heaps <= 1  # beside the one of the main thread
    assert turn <= 0.0002  # work that writes more often than a turn does not give way


SETTING = """
import os
os.sched_getaffinity = lambda process: set(range({processors}))
from gem_index.common.settings import load_settings
from gem_index.server.process import prepare_process
prepare_process()
print(load_settings().threads)
"""


@pytest.mark.parametrize(
    ("processors", "chosen", "threads"),
    [(1, {}, 1), (2, {}, 1), (8, {}, 7), (8, {"GEM_INDEX_THREADS": "8"}, 8)],
)
def test_long_work_leaves_a_processor_to_short_requests(environ, processors, chosen, threads):
    command = [sys.executable, "-c", SETTING.format(processors=processors)]
    done = subprocess.run(
        command, env={**environ, **chosen}, capture_output=True, text=True, check=True, timeout=120
    )
    assert int(done.stdout) == threads


STANDING = """
import gc, json, os, sys
from dataclasses import asdict
from gem_index.server import running
os.environ[running._OPTIONS] = json.dumps(asdict(running.ServeOptions(home=sys.argv[1])))
app = running.application()
print(gc.get_freeze_count())
"""


def test_modules_and_the_application_are_left_out_of_collections_of_garbage(tmp_path):
    command = [sys.executable, "-c", STANDING, str(tmp_path / "home")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) > 100_000


FREED = """
import asyncio, contextlib
from pathlib import Path
from gem_index.server.process import give_memory_back
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) >> 8  # MiB, for pages of 4 KiB
blocks = [bytes(2000) for _ in range(50_000)]
last = blocks.pop()  # glibc gives back nothing beneath it
del blocks
before = resident()
with contextlib.suppress(TimeoutError):
    asyncio.run(asyncio.wait_for(give_memory_back(), 0.2))
print(before - resident())
"""


def test_free_memory_is_given_back_to_the_system():
    command = [sys.executable, "-c", FREED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    assert int(done.stdout) > 70


def test_without_work_no_memory_is_given_back(monkeypatch):
    trims = []
    library = SimpleNamespace(malloc_trim=trims.append)
    monkeypatch.setattr(process, "_c_library", lambda: library)
    monkeypatch.setattr(process, "_PAUSE", 0.01)

    async def work_once():
        giving = asyncio.create_task(process.give_memory_back())
        await asyncio.sleep(0.1)
        assert trims == [0]  # of the work before
        end = time.process_time() + 0.2
        while time.process_time() < end:
            pass
        await asyncio.sleep(0.1)
        giving.cancel()

    asyncio.run(work_once())
    assert trims == [0, 0]


def test_a_number_of_heaps_that_the_user_set_counts(environ):
    assert run("prepared", **environ, MALLOC_ARENA_MAX="6")[0] > 2
