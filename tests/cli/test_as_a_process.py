"""The installed program: its streams, signals and exit status."""

import errno
import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

from gem_index import Home


def opened_by(command, pipe):
    """The writing end of a pipe, once a command reads from it."""
    while command.poll() is None:
        try:
            return os.fdopen(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK), "w")
        except OSError as error:
            if error.errno != errno.ENXIO:
                raise
            time.sleep(0.01)  # nobody reads from it yet
    raise AssertionError(f"the command ended before it read: {command.communicate()}")


class TestAsAProcess:
    """The installed program, its streams and its exit status."""

    def gem(self, tmp_path, *arguments, stdin=""):
        command = [
            sys.executable,
            "-c",
            "from gem_index_cli.main import main; main()",
            "--home",
            str(tmp_path / "h"),
        ]
        return subprocess.run(
            [*command, *map(str, arguments)],
            input=stdin,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def test_reads_standard_input(self, tmp_path):
        lines = '{"id": 1, "text": "renew a visa"}\n{"id": 2, "text": "open an account"}\n'
        built = self.gem(tmp_path, "build", "x", "-", "--json", stdin=lines)
        assert (built.returncode, built.stderr) == (0, "")
        assert json.loads(built.stdout)["documents"] == 2

    def test_further_commands_read_standard_input(self, tmp_path):
        self.gem(tmp_path, "build", "x", "-", stdin='{"id": 1, "text": "renew a visa"}\n')
        query = '{"query": "visa", "candidates": ["a bank", "a visa"]}\n'
        ranked = self.gem(tmp_path, "rerank", "--collection", "x", "--json", stdin=query)
        assert json.loads(ranked.stdout)["results"][0]["index"] == 1
        out = tmp_path / "o.npy"
        encoded = self.gem(
            tmp_path, "encode", "-", "--fit", "-o", out, "--json", stdin="one line\nanother line\n"
        )
        assert json.loads(encoded.stdout)["rows"] == 2

    def test_errors_are_one_line_without_traceback(self, tmp_path):
        answer = self.gem(tmp_path, "search", "nowhere", "visa")
        assert (answer.returncode, answer.stdout) == (2, "")
        assert answer.stderr.count("\n") == 1
        assert answer.stderr.startswith(f"Error: the home {tmp_path / 'h'} does not exist")

    def start(self, tmp_path, *arguments, **streams):
        code = "from gem_index_cli.main import main; main()"
        command = [sys.executable, "-c", code, "--home", tmp_path / "h", *map(str, arguments)]
        return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, **streams)

    def test_a_closed_pipe_is_not_reported_as_an_error(self, tmp_path):
        (tmp_path / "h").mkdir()
        reading, writing = os.pipe()
        os.close(reading)
        with self.start(tmp_path, "status", stdout=writing) as command:
            os.close(writing)
            _, said = command.communicate(timeout=60)
        assert (command.returncode, said) == (1, "")

    def test_without_an_output_the_work_is_done(self, tmp_path):
        (tmp_path / "t.txt").write_text("a bank\na river\n")
        code = "from gem_index_cli.main import main; main()"
        answer = subprocess.run(
            [sys.executable, "-c", code, "--home", tmp_path / "h", "build", "x", tmp_path / "t.txt"],
            capture_output=True, text=True, timeout=60, check=False, preexec_fn=lambda: os.close(1)
        )  # fmt: skip
        assert (answer.returncode, answer.stderr) == (0, "")
        assert Home(tmp_path / "h").collection("x").count() == 2

    def test_an_interrupted_command_is_one_line_and_stores_nothing(self, tmp_path):
        os.mkfifo(tmp_path / "slow.jsonl")
        with (
            # background processes ignore interrupts
            self.start(
                tmp_path,
                "build",
                "x",
                tmp_path / "slow.jsonl",
                preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
            ) as command,
            opened_by(command, tmp_path / "slow.jsonl") as slow,
        ):
            slow.write('{"text": "a bank"}\n')
            slow.flush()
            command.send_signal(signal.SIGINT)
            _, said = command.communicate(timeout=60)
        assert (command.returncode, said.strip()) == (130, "Error: interrupted")
        assert Home(tmp_path / "h").collections() == []

    @pytest.mark.parametrize("module", ["typer", "gem_index_cli.main", "gem_index.home"])
    def test_an_interrupt_while_modules_are_imported_is_one_line(self, tmp_path, module):
        project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
        place, function = project["project"]["scripts"]["gem-index"].split(":")
        code = (
            "import os, signal, sys\n"
            "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
            "class Interrupting:\n"
            "    def find_spec(self, name, *_):\n"
            f"        if name == {module!r}:\n"
            "            os.kill(os.getpid(), signal.SIGINT)\n"
            "sys.meta_path.insert(0, Interrupting())\n"
            f"from {place} import {function} as command\n"
            "command()"
        )
        answer = subprocess.run(
            [sys.executable, "-c", code, "--home", tmp_path / "h", "status"],
            capture_output=True, text=True, timeout=60, check=False
        )  # fmt: skip
        assert (answer.returncode, answer.stdout) == (130, "")
        assert answer.stderr == "Error: interrupted\n"

    def test_help_imports_nothing_heavy(self):
        code = (
            "import sys\nfrom gem_index_cli.main import run\n"
            "assert run(['--help']) == 0\n"
            "heavy = {'numpy', 'cffi', '_cffi_backend', 'faiss', 'sqlalchemy', 'pydantic', 'nltk', 'alembic', 'scipy'}\n"
            "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
        )
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, timeout=60)
