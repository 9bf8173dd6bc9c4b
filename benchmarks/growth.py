"""How the time of readers, cleaners, converters, filters and explanations grows with their input.

    python -m benchmarks.growth [NAME...] [--size 20000] [--seconds 60]

Each input is made of a size n, 2n, 4n and 8n characters. A line gives the processor seconds of each and the slope between
the last two: 1 is linear, 2 quadratic. What takes less than a tenth of a second for 8n has no slope. What is refused
by a stated bound says so. ``tests/unit/test_growth.py`` is the short form.
"""

from __future__ import annotations

import argparse
import json
import math
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import sqlalchemy as sa

from gem_index import Chunking
from gem_index.converting.converters import convert
from gem_index.errors import InputError
from gem_index.readers import DocumentReader
from gem_index.readers.cleaning import CLEANINGS, is_html
from gem_index.readers.patterns import Patterns
from gem_index.store.where import compile_where

__all__ = ["INPUTS", "measured", "slope_of"]

Work = Callable[[], object]
_LEAST = 0.1  # seconds, below which a slope is noise


def _records(ending: str, content: Callable[[int], str], **options: object) -> Callable[..., Work]:
    def made(n: int, folder: Path) -> Work:
        path = folder / f"x{ending}"
        path.write_text(content(n), encoding="utf-8")
        reader = DocumentReader([str(path)], max_record_bytes=1 << 30, **options)  # type: ignore[arg-type]
        return lambda: list(reader)

    return made


def _file(ending: str, kind: str, content: Callable[[int], str]) -> Callable[..., Work]:
    def made(n: int, folder: Path) -> Work:
        path = folder / f"x{ending}"
        path.write_text(content(n), encoding="utf-8")
        return lambda: list(convert(path, kind))

    return made


def _text(function: Callable[[str], object], content: Callable[[int], str]) -> Callable[..., Work]:
    def made(n: int, _: Path) -> Work:
        text = content(n)
        return lambda: function(text)

    return made


def _columns(separator: str) -> Callable[[int], str]:
    def content(n: int) -> str:
        names = separator.join(f"c{i}" for i in range(n // 8))
        values = separator.join("1" for _ in range(n // 8))
        return f"text{separator}{names}\nhello{separator}{values}\n"

    return content


def _notebook(n: int) -> str:
    cell = {"cell_type": "code", "source": ["x = 1\n"] * (n // 6)}
    return json.dumps({"cells": [cell, {"cell_type": "markdown", "source": ["- a\n"] * (n // 8)}]})


def _nested_mail(n: int) -> str:
    parts = n // 60
    heads = "".join(
        f'Content-Type: multipart/mixed; boundary="b{i}"\n\n--b{i}\n' for i in range(parts)
    )
    return heads + "Content-Type: text/plain\n\ntext\n"


def _filter(n: int) -> dict[str, object]:
    return {
        "$or": [{"year": {"$gte": i}} for i in range(min(400, n // 100))],
        "name": {"$in": ["x" * 9] * (n // 10)},
    }


def _compiled(n: int, _: Path) -> Work:
    where = _filter(n)
    return lambda: str(compile_where(where, sa.column("metadata")).compile())  # type: ignore[arg-type]


def _explained(texts: int) -> Callable[..., Work]:
    def made(n: int, _: Path) -> Work:
        from gem_index import GemEncoder, open_vectors

        encoder = GemEncoder(open_vectors("wordllama-gem"))
        text = " ".join(f"bank{i % 997} river" for i in range(n // 20))
        if texts == 1:
            return lambda: encoder.explain(text)
        return lambda: encoder.explain_match("a bank at the river", text)

    return made


HTML: dict[str, Callable[[int], str]] = {
    "an open tag": lambda n: "<p>text</p><" + "a" * n,
    "attributes of a tag": lambda n: (
        "<p " + " ".join(f"a{i}=1" for i in range(n // 8)) + ">text</p>"
    ),
    "attributes without values": lambda n: (
        "<p " + " ".join(f"a{i}" for i in range(n // 6)) + ">text</p>"
    ),
    "quoted blanks": lambda n: "<svg d='" + "M 1 2 " * (n // 6) + "'></svg>text",
    "open quotes": lambda n: "<p a='" * (n // 6) + "text",
    "nested elements": lambda n: "<div>" * (n // 8) + "text",
    "nested and closed": lambda n: "<div>" * (n // 16) + "text" + "</div>" * (n // 16),
    "nested links": lambda n: "<ul><li><a href=x>a</a>" * (n // 24),
    "links in links": lambda n: "<a>" * (n // 3) + "text",
    "formats in formats": lambda n: "<b><i><p>" * (n // 9) + "text",
    "table in table": lambda n: "<table><tr><td>" * (n // 24) + "text",
    "comments": lambda n: "text <!-- " * (n // 10),
    "headings": lambda n: "<h1><a href=x>a</a></h1>" * (n // 24),
    "entities": lambda n: "&amp;&am" * (n // 8),
    "scripts": lambda n: "<script>" * (n // 8),
    "menus": lambda n: "<nav><ul><li><a rel=next href=x>a</a></ul></nav><p>b</p>" * (n // 56),
}
MARKDOWN: dict[str, Callable[[int], str]] = {
    "comments": lambda n: "<!-- " * (n // 5),
    "brackets": lambda n: "[" * n,
    "links": lambda n: "[a](" * (n // 4),
    "stars": lambda n: "*a_ " * (n // 4),
    "quotes": lambda n: "> " * (n // 2) + "a",
    "numbers": lambda n: "1. " * (n // 3) + "a",
    "numbered lines": lambda n: "1.\n" * (n // 3) + "a",
    "declarations": lambda n: "<!X " * (n // 4),
    "instructions": lambda n: "<?x " * (n // 4),
    "lists": lambda n: "".join(f"{'  ' * (i % 50)}- a\n" for i in range(n // 50)),
    "no blank lines": lambda n: "- a line of a list\n" * (n // 19),
    "one line": lambda n: "word " * (n // 5),
    "backticks": lambda n: "".join("`" * (i % 300 + 1) + "a " for i in range(n // 150)),
    "table": lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    "wide table": lambda n: (
        "|" + "a|" * (n // 8) + "\n|" + "-|" * (n // 8) + "\n" + "|b|\n" * (n // 16)
    ),
    "references": lambda n: "".join(f"[a{i}]: x\n\n" for i in range(n // 10)),
    "paragraphs": lambda n: "A line of a text.\n\n" * (n // 19),
    "front matter": lambda n: "---\n" + "title\n" * (n // 6),
}
CLEANED: dict[str, Callable[[int], str]] = {
    "quoted lines": lambda n: "> a\n\nb\n" * (n // 8),
    "introductions": lambda n: "On Monday x\n> a\n" * (n // 16),
    "a long introduction": lambda n: "On " + "wrote" * (n // 5) + "\n> a\n",
    "hyphens": lambda n: "-" * n + "\n-- \n",
    "lines of hyphens": lambda n: "--\n" * (n // 3),
    "blank lines": lambda n: "> a" + "\n" * n + "b",
}
RST: dict[str, Callable[[int], str]] = {
    "nested lists": lambda n: "".join(f"{'  ' * (i % 40)}* a\n\n" for i in range(n // 46)),
    "paragraphs": lambda n: "A line of a text.\n\n" * (n // 19),
    "backticks": lambda n: "`a " * (n // 3),
}
CUT = HTML | MARKDOWN | {"headings": lambda n: "# a\n\ntext text\n\n" * (n // 16)}

INPUTS: dict[str, Callable[[int, Path], Work]] = {
    "CSV, columns": _records(".csv", _columns(",")),
    "CSV, columns and types": _records(".csv", _columns(","), types="auto"),
    "CSV, semicolons": _records(".csv", _columns(";")),
    "CSV, rows": _records(".csv", lambda n: "text,a\n" + "b,c\n" * (n // 4), types="auto"),
    "CSV, a quoted cell": _records(".csv", lambda n: 'text,a\n"' + "b\n" * (n // 2) + '",c\n'),
    "CSV, quotes": _records(".csv", lambda n: 'text,a\n"' + '""' * (n // 2) + '",c\n'),
    "TSV, columns": _records(".tsv", _columns("\t")),
    "JSON lines, fields": _records(
        ".jsonl", lambda n: json.dumps({"text": "a", **{f"f{i}": i for i in range(n // 12)}})
    ),
    "JSON lines, rows": _records(".jsonl", lambda n: '{"text": "a"}\n' * (n // 14)),
    "lines": _records(".txt", lambda n: "a b c\n" * (n // 6)),
    "one line": _records(".txt", lambda n: "word " * (n // 5)),
    "notebook": _file(".ipynb", "ipynb", _notebook),
    "mail, encoded words": _file(
        ".eml", "eml", lambda n: "Subject: " + "=?utf-8?q?a?= " * (n // 14) + "\n\ntext\n"
    ),
    **{
        f"mail, {name} in {header}": _file(
            ".eml", "eml", lambda n, sign=sign, header=header: f"{header}: {sign * n}\n\ntext\n"
        )
        for header in ("From", "Subject", "Content-Type", "Date", "Content-Disposition")
        for name, sign in (("brackets", "("), ("quotes", '"'), ("signs", "<"), ("semicolons", ";"))
    },
    "mail, parts in parts": _file(".eml", "eml", _nested_mail),
    "mail, addresses": _file(
        ".eml", "eml", lambda n: "To: " + "a@b.de, " * (n // 8) + "x@y.de\n\ntext\n"
    ),
    "patterns, stars": _text(lambda name: Patterns(["*a*a*a*b"]).say(name), lambda n: "a" * n),
    "patterns, folders": _text(
        lambda name: Patterns(["**/a/**/b"]).say(name), lambda n: "a/" * (n // 2)
    ),
    "filter": _compiled,
    "explanation": _explained(1),
    "explanation of a match": _explained(2),
    **{f"Markdown, {name}": _file(".md", "markdown", made) for name, made in MARKDOWN.items()},
    **{f"HTML, {name}": _file(".html", "html", made) for name, made in HTML.items()},
    **{f"reST, {name}": _file(".rst", "rst", made) for name, made in RST.items()},
    **{f"clean html, {name}": _text(CLEANINGS["html"], made) for name, made in HTML.items()},
    **{f"looks like HTML, {name}": _text(is_html, made) for name, made in HTML.items()},
    **{
        f"clean {step}, {name}": _text(CLEANINGS[step], made)
        for step in ("quotes", "signatures")
        for name, made in CLEANED.items()
    },
    **{f"pieces, {name}": _text(Chunking("auto").pieces, made) for name, made in CUT.items()},
    **{
        f"pieces that overlap, {name}": _text(Chunking(20, 10).pieces, made)
        for name, made in CUT.items()
    },
}
"""What makes the work of an input of n characters in a folder."""


def measured(name: str, size: int) -> float | None:
    """Return the processor seconds of an input of a size; None if it is refused by a stated bound."""
    with tempfile.TemporaryDirectory() as folder:
        work = INPUTS[name](size, Path(folder))
        start = time.process_time()
        try:
            work()
        except InputError:
            return None
        return time.process_time() - start


def slope_of(seconds: list[float | None]) -> float | None:
    """Return the power of the size that the time of the last two sizes, one twice the other, grows with."""
    before, last = seconds[-2:]
    if before is None or last is None or last < _LEAST:
        return None
    return math.log2(last / max(before, 1e-4))


def rows(
    names: list[str], size: int, longest: float
) -> Iterator[tuple[str, list[float | None], float | None]]:
    """Iterate over the names, seconds and slope of some inputs; what takes too long is not grown further."""
    for name in names:
        found: list[float | None] = []
        for times in (1, 2, 4, 8):
            found.append(measured(name, size * times))
            if found[-1] is None or found[-1] > longest:
                break
        yield name, found, slope_of(found) if len(found) > 1 else None


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", help="inputs whose name begins so; all by default")
    parser.add_argument("--size", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=60.0, help="not grown further after it")
    asked = parser.parse_args()
    chosen = [name for name in INPUTS if not asked.names or name.startswith(tuple(asked.names))]
    for name, found, slope in rows(chosen, asked.size, asked.seconds):
        shown = "  ".join("refused" if each is None else f"{each:7.3f}" for each in found)
        told = "" if slope is None else f"slope {slope:.1f}"
        if found[-1] is not None and found[-1] > asked.seconds:
            told += ", not grown further"
        print(f"{name:40s} {shown}   {told}", flush=True)


if __name__ == "__main__":
    main()
