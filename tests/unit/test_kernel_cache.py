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


_AFTER_LOADING = """
import sys
from numba.core.runtime.nrt import rtsys
from gem_index.kernels.compiled import compiled


@compiled
def doubled(number):
    return 2.0 * number


@compiled
def total(numbers):
    found = 0.0
    for number in sorted([x for x in numbers]):
        found += number
    return found


print(doubled(3.0), doubled.stats.cache_hits.total(), "numba.np.linalg" in sys.modules, rtsys._init)
if sys.argv[1:]:
    import numpy as np

    print(total(np.array([1.5, 2.0])), doubled(3), len(doubled.signatures), total.stats.cache_hits.total())
"""


def test_loaded_code_does_without_declarations_and_what_is_compiled_then_has_them(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_AFTER_LOADING)

    def run(*arguments):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, str(script), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    assert run() == ["6.0 0 True True"]  # compiles
    assert run() == ["6.0 1 False False"]
    assert run("compile") == ["6.0 1 False False", "3.5 6.0 2 0"]
    assert run("compile") == ["6.0 1 False False", "3.5 6.0 2 1"]  # which allocates a list


_WITH_PARTS = """
import sys
import llvmlite.binding
from gem_index.kernels.compiled import compiled, compiled_part

parse, parsed = llvmlite.binding.parse_bitcode, []


def parse_bitcode(code, context=None):
    module = parse(code, context)
    parsed.extend(function.name for function in module.functions)
    return module


llvmlite.binding.parse_bitcode = parse_bitcode


@compiled_part
def squared(number):
    return number * number


@compiled
def sum_of_squares(numbers):
    found = 0.0
    for number in numbers:
        found += squared(number)
    return found


@compiled
def largest_square(numbers):
    found = 0.0
    for number in numbers:
        found = max(found, squared(number))
    return found


import numpy as np

print(sum_of_squares(np.array([1.0, 2.0])), bool(parsed))
if sys.argv[1:]:
    print(largest_square(np.array([3.0, 2.0])), squared.stats.cache_hits.total(), bool(parsed))
"""


def test_bitcode_is_parsed_for_kernels_that_are_compiled_alone(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(_WITH_PARTS)

    def run(*arguments):
        environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
        command = [sys.executable, str(script), *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.splitlines()

    run()  # compiles
    assert run() == ["5.0 False"]
    assert run("compile") == ["5.0 False", "9.0 1 True"]  # with a part of which code was loaded
    assert run("compile") == ["5.0 False", "9.0 0 False"]
