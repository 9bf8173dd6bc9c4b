""".ci/plugins over plugins of this test's own, with a python3 that only records what it is asked to do."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / ".ci" / "plugins"

PYTHON = """#!/bin/sh
# an environment is another one of these; a package that holds a file FAILS-<module> fails there
for last; do :; done
case "$1 $2 $3" in
  "-m venv "* | "-m uv venv") mkdir -p "$last/bin" && cp "$0" "$last/bin/python" && ln -sf /bin/true "$last/bin/gem-index" ;;
  "-m uv build") mkdir -p "$6" && touch "$6/$(basename "$last").whl" && [ ! -e "$last/FAILS-build" ] ;;
  "-m mypy "* | "-m pytest "*) echo "$2 in $(basename "$PWD")" && [ ! -e "FAILS-$2" ] ;;
esac
"""


@pytest.fixture
def project(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").write_text(PYTHON)
    (tmp_path / "bin" / "python3").chmod(0o755)
    (tmp_path / ".ci").mkdir()
    shutil.copy(SCRIPT, tmp_path / ".ci" / "plugins")
    for folder in ("alpha", "beta/one", "beta/two", "gamma"):
        (tmp_path / "plugins" / folder).mkdir(parents=True)
        (tmp_path / "plugins" / folder / "pyproject.toml").touch()
    return tmp_path


def run(project, *names):
    environment = os.environ | {"PATH": f"{project / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(
        [".ci/plugins", *names],
        cwd=project,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def test_all_pass(project):
    done = run(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[1:] == [
        "== plugin alpha",
        "mypy in alpha",
        "pytest in alpha",
        "== plugin beta",
        "mypy in one",
        "pytest in one",
        "mypy in two",
        "pytest in two",
        "== plugin gamma",
        "mypy in gamma",
        "pytest in gamma",
        "== all of these plugins passed: alpha beta gamma",
    ]


def test_one_that_fails_does_not_hide_the_others(project):
    (project / "plugins" / "alpha" / "FAILS-mypy").touch()
    (project / "plugins" / "beta" / "one" / "FAILS-pytest").touch()
    done = run(project)
    assert done.returncode == 1
    assert [line for line in done.stdout.splitlines() if line.startswith("pytest")] == [
        "pytest in alpha",
        "pytest in one",
        "pytest in two",
        "pytest in gamma",
    ]
    assert done.stdout.splitlines()[-3:] == [
        "== of these plugins: alpha beta gamma",
        "== failed: alpha (types)",
        "== failed: beta/one (tests)",
    ]


def test_one_that_cannot_be_installed_does_not_hide_the_others(project):
    (project / "plugins" / "alpha" / "FAILS-build").touch()
    done = run(project, "alpha", "gamma")
    assert done.returncode == 1
    assert "pytest in alpha" not in done.stdout
    assert "pytest in gamma" in done.stdout
    assert done.stdout.splitlines()[-1] == "== failed: alpha (installing it)"


def test_an_unknown_name_is_refused_before_anything_is_built(project):
    done = run(project, "gamma", "delta")
    assert (done.returncode, done.stdout) == (
        2,
        "found no plugin 'delta'; expected some of: alpha beta gamma\n",
    )
