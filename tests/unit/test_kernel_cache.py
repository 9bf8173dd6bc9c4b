"""Where the machine code of kernels is kept when it cannot lie beside the package."""

import os
import subprocess
import sys

import pytest

_SCRIPT = """
import numba
from numba.core import caching


def refuse(self):
    raise OSError("read-only")


for locator in caching.CacheImpl._locator_classes:
    if "UserProvided" not in locator.__name__:
        locator.ensure_cache_path = refuse

from gem_index.kernels.compiled import compiled

before = numba.config.CACHE_DIR


@compiled
def doubled(number):
    return 2.0 * number


assert numba.config.CACHE_DIR == before
print(doubled(3.0))
"""


@pytest.mark.parametrize("writable", [True, False])
def test_a_service_that_can_write_its_home_alone(tmp_path, writable):
    script, home = tmp_path / "script.py", tmp_path / "home"
    script.write_text(_SCRIPT)
    if not writable:
        home.write_text("not a folder")
    environment = {**os.environ, "GEM_INDEX_HOME": str(home)}
    environment.pop("NUMBA_CACHE_DIR", None)
    command = [sys.executable, str(script)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "6.0\n", done.stderr
    assert len(list(home.glob("compiled/**/*.nbi"))) == (1 if writable else 0)
