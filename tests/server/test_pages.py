"""What the pages on running and on using a server show."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from pages import SERVED, TUTORIAL, Block, PageRun, blocks, write_files
from server_process import ServerProcess

pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")  # clients leave connections open

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "serve.md"


def test_its_requests_do_what_it_says(tmp_path):
    rows = [
        {"id": "visa", "text": "renew a visa", "year": 2020},
        {"id": "bank", "text": "a bank account"},
    ]
    (tmp_path / "questions.jsonl").write_text(
        "".join(json.dumps({"id": row["id"], "text": row["text"]}) + "\n" for row in rows)
    )
    (tmp_path / "posts.csv").write_text("id,subject,body\nducks,Ducks,They swim on the river.\n")
    [requests] = [block.text for block in blocks(PAGE.read_text()) if block.language == "bash"]
    with ServerProcess(tmp_path / "home") as server:
        lines = requests.replace("localhost:8080", server.url.removeprefix("http://")).splitlines()
        answers = [
            subprocess.run(
                ["bash", "-c", line], cwd=tmp_path, capture_output=True, check=True, text=True
            ).stdout
            for line in lines
        ]
        assert httpx.get(f"{server.url}/collections/notes", timeout=60).json()["fitted"] == 3
    created, stored, found, filed, refitted = answers
    assert json.loads(created)["name"] == "notes"
    assert json.loads(stored)["added"] == 2
    assert json.loads(found)["results"][0]["id"] == "visa"
    assert json.loads(filed)["added"] == 1
    assert refitted.strip().split("\n\n")[-1].startswith("event: done\ndata: {")


class ServedPage(PageRun):
    """A page that starts a server and speaks to it at another address than it says."""

    def __init__(self, monkeypatch, capfd, stack: ExitStack) -> None:
        super().__init__(SERVED, monkeypatch, capfd)
        self._stack = stack
        self._address = "localhost:8080"

    def _run_block(self, block: Block) -> str:
        if block.language not in ("python", "bash"):
            return super()._run_block(block)
        here = block.text.replace("localhost:8080", self._address)
        if block.language == "python":
            return super()._run_block(replace(block, text=here))
        return subprocess.run(
            ["bash", "-c", here], capture_output=True, check=True, text=True, timeout=60
        ).stdout

    def _run_line(self, line: str) -> str:
        command, *options = shlex.split(line)[1:]
        if command != "serve":
            return super()._run_line(line)
        home = Path(os.environ["GEM_INDEX_HOME"])
        server = self._stack.enter_context(ServerProcess(home, *options))
        self._address = server.url.removeprefix("http://")
        return ""


@pytest.mark.usefixtures("offline", "collected")
def test_each_client_does_what_the_page_says(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path / "llm"))
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    write_files(TUTORIAL)
    with ExitStack() as stack:
        ServedPage(monkeypatch, capfd, stack).run()
