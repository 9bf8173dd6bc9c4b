"""The pytest plugin that finds the test that left a resource open."""

import re
import subprocess
import sys

import pytest

TESTS = """
import gc, socket

gc.disable()


def test_before(): ...


def test_leaves_a_socket():
    cycle = [socket.socket()]
    cycle.append(cycle)


def test_what_stood_before_is_left_out():
    assert gc.get_freeze_count() > 10_000


def test_after(): ...
"""


@pytest.mark.parametrize("order", ["no:randomly", "randomly"])
def test_the_test_that_left_a_socket_open_is_the_one_that_fails(tmp_path, order):
    (tmp_path / "test_it.py").write_text(TESTS)
    options = ["-W", "error", "-rEf", "-p", "no:cacheprovider", "-p", order]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "gem_index.testing.leftovers", *options, "."],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert re.findall(r"^(?:ERROR|FAILED) \S+", run.stdout, re.MULTILINE) == [
        "ERROR test_it.py::test_leaves_a_socket"
    ], run.stdout
    assert "ResourceWarning: unclosed <socket.socket" in run.stdout
    assert "4 passed, 1 error" in run.stdout
