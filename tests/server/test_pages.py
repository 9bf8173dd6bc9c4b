"""What the page on running a server shows."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import httpx

from pages import blocks
from server_process import ServerProcess

PAGE = Path(__file__).resolve().parents[2] / "docs" / "howto" / "serve.md"


def test_its_requests_do_what_it_says(tmp_path):
    rows = [
        {"id": "visa", "text": "renew a visa", "year": 2020},
        {"id": "bank", "text": "a bank account"},
    ]
    (tmp_path / "questions.jsonl").write_text(
        "".join(json.dumps({"id": row["id"], "text": row["text"]}) + "\n" for row in rows)
    )
    [requests] = [block.text for block in blocks(PAGE.read_text()) if block.language == "bash"]
    with ServerProcess(tmp_path / "home") as server:
        lines = requests.replace("localhost:8080", server.url.removeprefix("http://")).splitlines()
        answers = [
            subprocess.run(
                ["bash", "-c", line], cwd=tmp_path, capture_output=True, check=True, text=True
            ).stdout
            for line in lines
        ]
        assert httpx.get(f"{server.url}/collections/notes").json()["fitted"] == 2
    created, stored, found, refitted = answers
    assert json.loads(created)["name"] == "notes"
    assert json.loads(stored)["added"] == 2
    assert json.loads(found)["results"][0]["id"] == "visa"
    assert refitted.strip().split("\n\n")[-1].startswith("event: done\ndata: {")
