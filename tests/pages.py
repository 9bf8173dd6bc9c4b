"""Pages whose shell commands and Python are run: what a page says is what happens."""

from __future__ import annotations

import importlib.util
import io
import os
import re
import shlex
import sys
from collections.abc import Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from gem_index_cli.main import run

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
TUTORIAL = DOCS / "tutorial.md"
SERVED = DOCS / "howto" / "server.md"
"""The page that speaks to a server, which tests/server/test_pages.py runs."""

GUIDES = [
    *(ROOT / "README.md", TUTORIAL),
    *(page for page in sorted(DOCS.glob("howto/[a-z]*.md")) if page != SERVED),
]
"""Pages whose commands are run in the order in which they stand there."""

NOT_RUN = {
    "gem-index vectors add glove.840B.300d": "downloads 2 GB",
    "gem-index vectors add glove.840B.300d --from glove.840B.300d.zip": "needs what was downloaded",
    "gem-index vectors add fasttext.cc.de.300": "downloads 4 GB",
    "gem-index watch notes notes": "runs until it is interrupted",
    "gem-index serve --port 8080": "runs until it is interrupted",
    'gem-index serve --table "shop=postgresql://reader@db.example.org/shop?table=faq"': "needs a database",
    "gem-index mcp --collection faq": "serves until its standard input is closed",
    "gem-index mcp --http --port 8081": "serves until it is interrupted",
    "gem-index mcp --http --host 0.0.0.0 --name search.example.org": "serves until it is interrupted",
}
"""What is left out, and why; tests of its own hold these commands (test_downloaded_vectors.py, test_sources.py,
tests/server)."""

_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def tool(name: str) -> ModuleType:
    """Return a module of docs/tools."""
    spec = importlib.util.spec_from_file_location(name, DOCS / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the file it shows if any, and its text."""

    language: str
    file: str | None
    text: str
    place: tuple[int, int]


def blocks(page: str) -> list[Block]:
    return [Block(m[1], m[2], m[3], m.span(3)) for m in _BLOCK.finditer(page)]


def lines_of(block: Block) -> list[str]:
    """Return the command lines of a block, those that a backslash continues as one."""
    lines = block.text.replace("\\\n", " ").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def shell_lines(page: str) -> Iterator[str]:
    """Yield the command lines of a page."""
    for block in blocks(page):
        if block.language == "sh":
            yield from lines_of(block)


def parts(line: str) -> list[str]:
    """Return what stands between ``|`` and ``&&`` of a line."""
    return re.split(r" \| | && ", line)


def commands(line: str) -> list[str]:
    """Return the gem-index commands of a line, without where their output goes."""
    return [part.split(" > ")[0] for part in parts(line) if part.startswith("gem-index ")]


def write_files(path: Path) -> None:
    """Write the files that a page shows to the current directory."""
    for block in blocks(path.read_text(encoding="utf-8")):
        if block.file is not None:
            Path(block.file).parent.mkdir(exist_ok=True)
            Path(block.file).write_text(block.text, encoding="utf-8")


class PageRun:
    """One page in one home: its blocks in order, each ``text`` block compared with what the block before it printed.

    With the environment variable REWRITE_PAGES a block that says something else is rewritten.
    """

    def __init__(self, path: Path, monkeypatch: Any, capfd: Any) -> None:
        self.path, self.monkeypatch, self.capfd = path, monkeypatch, capfd
        self.page = path.read_text(encoding="utf-8")
        self.ran: list[str] = []
        self._names: dict[str, Any] = {"__name__": "__page__"}

    def run(self) -> None:
        changes: list[tuple[tuple[int, int], str]] = []
        language, printed = "", ""
        for block in [*blocks(self.page), Block("end", None, "", (0, 0))]:
            if block.file is not None:
                Path(block.file).parent.mkdir(exist_ok=True)
                Path(block.file).write_text(block.text, encoding="utf-8")
            elif block.language == "text":
                assert language, f"{self.path.name}: nothing prints\n{block.text}"
                if normal(printed) != normal(block.text):
                    assert os.environ.get("REWRITE_PAGES"), (
                        f"{self.path.name} says\n{block.text}and the block before it prints\n{printed}"
                    )
                    lines = [line.rstrip() for line in printed.strip("\n").splitlines()]
                    changes.append((block.place, "".join(f"{line}\n" for line in lines)))
                language = printed = ""
            else:
                assert not (printed and language == "python"), (
                    f"{self.path.name} does not say that a block prints\n{printed}"
                )
                language, printed = block.language, self._run_block(block)
        if changes:
            page = self.page
            for (start, end), text in reversed(changes):
                page = page[:start] + text + page[end:]
            self.path.write_text(page, encoding="utf-8")

    def _run_block(self, block: Block) -> str:
        if block.language == "sh":
            return "".join(self._run_line(line) for line in lines_of(block))
        if block.language == "python":
            line = self.page.count("\n", 0, block.place[0])
            code = compile("\n" * line + block.text, str(self.path), "exec")
            with redirect_stdout(io.StringIO()) as out:
                exec(code, self._names)
            return out.getvalue()
        return ""

    def _run_line(self, line: str) -> str:
        """Run the commands of a line in this process, and return what the last one prints."""
        if line in NOT_RUN:
            return ""
        rest = [part for part in parts(line) if part not in commands(line)]
        assert all(part.startswith(("pip install ", "pytest")) for part in rest), (
            f"{self.path.name}: nothing here runs {line!r}"
        )
        out = ""
        for command in commands(line):
            stdin = io.TextIOWrapper(io.BufferedReader(io.BytesIO(out.encode())))
            self.monkeypatch.setattr(sys, "stdin", stdin)
            self.capfd.readouterr()
            status = run(shlex.split(command)[1:])
            out, said = self.capfd.readouterr()
            assert status == 0, f"{self.path.name}: {command}\n{said}"
            self.ran.append(command)
        return out


def normal(text: str) -> str:
    """Return a text whose numbers count to two decimals, without spaces at the ends of lines.

    A fingerprint counts by its form: the last bits of directions depend on the processor and on LAPACK's threads.
    """
    lines = [line.rstrip() for line in text.strip().splitlines()]
    rounded = re.sub(r"(\d\.\d\d)\d+", r"\1", "\n".join(lines))
    return re.sub(r"fingerprint [0-9a-f]{12}", "fingerprint", rounded)
