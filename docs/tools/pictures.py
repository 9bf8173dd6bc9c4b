"""The pictures of the README: what real commands print, as SVG.

    python docs/tools/pictures.py [FOLDER]

runs the commands over the questions of ``gem-index demo`` and writes ``search.svg`` and ``explain.svg`` (into docs/pictures
unless another folder is named). A test compares the words in the pictures with what the commands print today.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import DIMMED_MONOKAI
from rich.text import Text

__all__ = ["PICTURES", "draw", "printed"]

FOLDER = Path(__file__).resolve().parents[1] / "pictures"
COLUMNS = 96
PICTURES = {
    "search": 'gem-index search demo "I cannot get into my online bank account" -k 3 --why',
    "explain": 'gem-index explain "There are two ducks swimming in the river."',
}
"""What each picture shows."""

_FORMAT = """\
<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: "DejaVu Sans Mono", Menlo, Consolas, monospace; font-size: {char_height}px }}
.{unique_id}-title {{ font-size: 16px; font-weight: bold; font-family: sans-serif }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal"><rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/></clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
"""rich's own form without its font, which would come from another server."""


def printed(command: str, home: Path) -> str:
    """Return what a command prints on a terminal, with its colours."""
    environment = os.environ | {
        "GEM_INDEX_HOME": str(home),
        "COLUMNS": str(COLUMNS),
        "FORCE_COLOR": "1",
        "TERM": "xterm-256color",
    }
    environment.pop("NO_COLOR", None)
    main = "from gem_index_cli.main import main; main()"
    done = subprocess.run(  # noqa: S603 - our own command
        [sys.executable, "-c", main, *shlex.split(command)[1:]],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return done.stdout


def draw(folder: Path) -> None:
    """Write the pictures to a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    shown: dict[str, list[Text]] = {}
    with tempfile.TemporaryDirectory() as home:
        printed("gem-index demo", Path(home))
        for name, command in PICTURES.items():
            shown[name] = [Text(f" $ {command}", style="bold green"), Text()]
            for line in printed(command, Path(home)).splitlines():
                if line.strip():
                    shown[name].append(Text(" ").append_text(Text.from_ansi(line.rstrip())))
            shown[name].append(Text())
    width = max(line.cell_len for lines in shown.values() for line in lines) + 1
    for name, lines in shown.items():
        console = Console(record=True, width=width, file=io.StringIO())
        console.print(*lines, sep="\n")
        svg = console.export_svg(
            title="gem-index", theme=DIMMED_MONOKAI, code_format=_FORMAT, unique_id=name
        )
        svg = re.sub(r"[ \t]+$", "", svg, flags=re.MULTILINE)
        (folder / f"{name}.svg").write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    draw(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
