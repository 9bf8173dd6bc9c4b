"""What a process of the command line loads."""

import subprocess
import sys

import pytest

from gem_index import Home

SEARCH = """
import sys

from gem_index_cli.start import main

try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert "gem_index.kernels.library" in sys.modules
assert not {"numpy.testing", "pycparser", "scipy.linalg"} & set(sys.modules)
writing = {"gem_index.collection.write.writing", "gem_index.readers", "gem_index.vectors.download"}
assert not writing & set(sys.modules)
from gem_index import Home
Home(sys.argv[2]).collection("c").refit()
"""


def test_a_search_loads_nothing_that_only_building_or_writing_needs(tmp_path) -> None:
    made = Home(tmp_path).create_collection("c")
    made.upsert([("1", "renew a passport"), ("2", "open a bank account")])
    made.refit()
    arguments = ["--home", str(tmp_path), "search", "c", "a new passport", "-k", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"id": "1"' in done.stdout


AFTER_OTHERS = """
import atexit, threading
from gem_index_cli.start import main

threading.Thread(target=lambda: (threading.main_thread().join(), print("a thread"))).start()
try:
    main()
finally:
    atexit.register(print, "registered")
"""


@pytest.mark.parametrize(
    ("arguments", "status"), [(["status"], 0), (["search", "c", "x"], 2), (["nonsense"], 2)]
)
def test_the_end_waits_for_threads_and_for_what_was_registered(tmp_path, arguments, status) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_OTHERS, "--home", str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines()[-2:] == ["a thread", "registered"]


MAIN = "from gem_index_cli.start import main; main()"


def test_the_database_is_closed_at_the_end(tmp_path) -> None:
    command = [sys.executable, "-c", MAIN, "--home", str(tmp_path)]
    for arguments in (["build", "c", "-"], ["search", "c", "bank"]):
        subprocess.run([*command, *arguments], input="a bank\n", text=True, check=True, timeout=300)
        assert not list(tmp_path.glob("*-wal")) + list(tmp_path.glob("*-shm"))
