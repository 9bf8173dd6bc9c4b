"""What a process of the command line loads."""

import subprocess
import sys

from gem_index import Home

SEARCH = """
import sys
from gem_index_cli.start import main

try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert "numba" in sys.modules
assert not {"numba.np.arraymath", "numba.np.linalg", "scipy.linalg"} & set(sys.modules)
from gem_index import Home
Home(sys.argv[2]).collection("c").refit()
"""


def test_a_search_loads_kernels_without_what_compiling_needs(tmp_path) -> None:
    made = Home(tmp_path).create_collection("c")
    made.ingest([("1", "renew a passport"), ("2", "open a bank account")])
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
