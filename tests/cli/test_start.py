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
assert "numba.np.arraymath" in sys.modules
assert "scipy.linalg" not in sys.modules
import scipy.linalg
from gem_index import Home
Home(sys.argv[2]).collection("c").refit()
"""


def test_a_search_does_without_scipy_and_a_later_fit_finds_it(tmp_path) -> None:
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
