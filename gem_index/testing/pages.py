"""Run the examples of documentation pages and compare their output with the page."""

from __future__ import annotations

import io
import os
import re
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

__all__ = ["run_page"]

_BLOCK = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run_page(path: str | Path) -> dict[str, Any]:
    """Run the ``python`` blocks of a Markdown page, in order, as one program.

    A ``text`` block holds the output of the block before it, and every block that prints needs one; numbers are compared
    to two decimals. If the environment variable ``REWRITE_PAGES`` is set, blocks with other output are rewritten
    instead: review the changes before you commit them.

    Parameters
    ----------
    path : str or Path

    Returns
    -------
    dict
        The program's global names at its end.

    Raises
    ------
    AssertionError
        If a block's output differs from the page, or the page has no block.
    """
    page = Path(path).read_text(encoding="utf-8")
    rewrite = bool(os.environ.get("REWRITE_PAGES"))
    rewritten, kept = "", 0
    names: dict[str, Any] = {"__name__": "__page__"}
    printed, blocks = "", 0
    for match in _BLOCK.finditer(page):
        kind, content = match.groups()
        if kind == "python":
            assert not printed, f"{path} does not say that a block prints\n{printed}"
        else:
            if rewrite and _rounded(printed) != _rounded(content):
                rewritten += page[kept : match.start(2)] + printed
                kept, content = match.end(2), printed
            assert _rounded(printed) == _rounded(content), (
                f"{path} says\n{content}and the block before it prints\n{printed}"
            )
            printed = ""
            continue
        line = page.count("\n", 0, match.start(2))
        code = compile("\n" * line + content, str(path), "exec")
        with redirect_stdout(io.StringIO()) as out:
            exec(code, names)  # noqa: S102 - the page's own example
        printed, blocks = out.getvalue(), blocks + 1
    assert not printed, f"{path} does not say that a block prints\n{printed}"
    assert blocks, f"{path} holds no python block to run"
    rewritten += page[kept:]
    if rewritten != page:
        Path(path).write_text(rewritten, encoding="utf-8")
    return names


def _rounded(text: str) -> str:
    return re.sub(r"(\d\.\d\d)\d+", r"\1", text).strip()
