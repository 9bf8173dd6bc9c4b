"""Read real folders: what is read of each file, how fast, in how much memory, and what a second time costs.

``python -m benchmarks.folders --check FOLDER`` prints how many of the expectations below hold; FOLDER holds Debian
packages that ``dpkg -x`` unpacked there, see ``docs/performance.md``. ``--kept FOLDER`` prints which share of the headings,
paragraphs and listings of its HTML pages is read. ``python -m benchmarks.folders FOLDER`` reads up to 500 files of each
kind (``--at-most``) in a process of its own, then builds a collection of the folder and adds it again. ``--small N`` makes
a folder of N small files and does that with them; ``--watch`` says when a saved file is found, and how many transactions
follow 1,000 changes.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gem_index import Home
from gem_index.collection.watching import watch
from gem_index.converting import KINDS, kind_of
from gem_index.converting.converters import convert
from gem_index.errors import GemIndexError
from gem_index.readers import FolderReader

SMALL_TEXT = (
    "the parcel letter stamp counter opens closes at nine five weight price sent back to address customer receipt form "
    "asks shows week office queue window clerk card number country post box key"
)


class Expected(NamedTuple):
    """What must be read of a file, and what must not."""

    path: str
    title: str
    sentence: str
    absent: str


DOC = "usr/share/doc/"
EXPECTED = [
    Expected(*row)
    for row in [
        # HTML by Sphinx
        (f"{DOC}python3.11/html/library/queue.html", "queue — A synchronized queue class",
         "The queue module implements multi-producer, multi-consumer queues.", "Previous topic"),
        (f"{DOC}python3.11/html/library/json.html", "json — JSON encoder and decoder",
         "Be cautious when parsing JSON data from untrusted sources.", "Report a Bug"),
        (f"{DOC}cmake-data/html/command/add_custom_command.html", "add_custom_command",
         "Add a custom build rule to the generated build system.", "Previous topic"),
        (f"{DOC}python-flask-doc/html/templating.html", "Templates",
         "To disable the autoescape system in templates, you can use the {% autoescape %} block:", "Quick search"),
        ("usr/share/developers-reference/developer-duties.html", "3. Debian Developer's Duties",
         "3.1.1. Work towards the next stable release", "Next topic"),
        ("usr/share/developers-reference/best-pkging-practices.html", "6. Best Packaging Practices",
         "Most Debian package maintainers are not native English speakers.", "Quick search"),
        (f"{DOC}debian-policy/policy.html/ch-maintainerscripts.html",
         "6. Package maintainer scripts and installation procedure",
         "Package maintainer scripts and installation procedure", "Quick search"),
        # by DocBook
        (f"{DOC}debian/FAQ/compatibility.en.html", "Chapter 4. Compatibility issues",
         "4.2. What kernels does Debian GNU/Linux run?", "Prev"),
        (f"{DOC}postgresql-doc-15/html/sql-createopfamily.html", "CREATE OPERATOR FAMILY",
         "CREATE OPERATOR FAMILY — define a new operator family", "Home"),
        (f"{DOC}postgresql-doc-15/html/ecpg-connect.html", "36.2. Managing Database Connections",
         "If your application uses multiple threads of execution, they cannot share a connection", "Prev"),
        (f"{DOC}apt-doc/guide.html/ch2.html", "Chapter 2. apt-get",
         "Install is used to install packages by name.", "Table of Contents"),
        (f"{DOC}apt-doc/guide.de.html/ch3.html", "Kapitel 3. DSelect",
         "Die APT-dselect-Methode stellt das komplette APT-System", "Weiter"),
        (f"{DOC}aptitude/html/en/ch02s06.html", "Playing Minesweeper",
         "If you think you know where a mine is", "Prev"),
        (f"{DOC}aptitude/html/ja/ch02s02s02.html", "パッケージ情報へのアクセス",
         "i | - | パッケージはインストール予定です。", "戻る"),
        (f"{DOC}debian-handbook/html/de-DE/sect.virtualization.html", "12.2. Virtualisierung",
         "Dateisystem anhand der numerischen Kennungen", "Zurück"),
        (f"{DOC}debian-handbook/html/ru-RU/sect.manipulating-packages-with-dpkg.html",
         "5.4. Работа с пакетами при помощи dpkg", "which displays the headers of this Debian package.", "Пред."),  # noqa: RUF001
        ("usr/share/debian-reference/ch12.en.html", "Chapter 12. Programming",
         "int main(int argc, char **argv, char **envp){", "Prev"),
        (f"{DOC}maint-guide/html/first.en.html", "Chapter 2. First steps",
         "The first step of the Autotools workflow", "Prev"),
        (f"{DOC}libxml2/html/tutorial/ar01s07.html", "Writing Attribute", "xmlNewProp", "Prev"),
        # by gtk-doc, Doxygen, Javadoc, Haddock, RDoc, rustdoc's and Erlang's own
        ("usr/share/gtk-doc/html/gobject/GTypeModule.html", "GTypeModule: GObject Reference Manual",
         "As long as any instances of the type exist, the type plugin will not be unloaded.", "Prev"),
        ("usr/share/gtk-doc/html/glib/glib-Balanced-Binary-Trees.html", "Balanced Binary Trees: GLib Reference Manual",
         "The tree may not be modified while iterating over it", "Prev"),
        (f"{DOC}libeigen3-dev/html/group__LeastSquares.html", "Eigen: Solving linear least squares systems",
         "An overdetermined system of equations, say Ax = b, has no solutions.", "Loading..."),
        (f"{DOC}libcommons-lang3-java/api/org/apache/commons/lang3/BitField.html",
         "BitField (Apache Commons Lang 3.12.0 API)",
         "Supports operations on bit-mapped fields.", "Skip navigation links"),
        (f"{DOC}libcommons-io-java/api/org/apache/commons/io/filefilter/NotFileFilter.html",
         "NotFileFilter (Apache Commons IO 2.11.0 API)", "filter - the filter, must not be null",
         "Skip navigation links"),
        (f"{DOC}libghc-aeson-doc/html/Data-Aeson-Text.html", "Data.Aeson.Text",
         "Most frequently, you'll probably want to encode straight to UTF-8", "Quick Jump"),
        (f"{DOC}asciidoctor-doc/html/Asciidoctor/AbstractBlock.html", "class Asciidoctor::AbstractBlock",
         "Public: Describes the type of content this block accepts", "Table of Contents"),
        (f"{DOC}erlang-doc/doc/efficiency_guide/myths.html", "Erlang -- The Seven Myths of Erlang Performance",
         "2.1 Myth: Tail-Recursive Functions are Much Faster Than Recursive Functions", "Expand All"),
        (f"{DOC}erlang-doc/lib/inets-8.2.2/doc/html/http_client.html", "Erlang -- HTTP Client",
         '{ok, RequestId} = httpc:request(get, {"http://www.erlang.org", []}, [], [{sync, false}', "Expand All"),
        # by AsciiDoc, Texinfo, LaTeX2HTML, MkDocs
        (f"{DOC}git-doc/git-shortlog.html", "git-shortlog(1)", "git-shortlog - Summarize 'git log' output",
         "Last updated"),
        (f"{DOC}git-doc/gitignore.html", "gitignore(5)", "For example, a pattern doc/frotz/ matches doc/frotz directory",
         "Last updated"),
        (f"{DOC}zsh-common/html/Command-Execution.html", "8 Command Execution",
         "The search was unsuccessful. The error message is", "Next:"),
        (f"{DOC}gnuplot/htmldocs/node223.html", "Frequency",
         "The smooth frequency option makes the data monotonic in x", "Previous:"),
        (f"{DOC}mkdocs/html/dev-guide/themes.html", "Themes - MkDocs",
         "A guide to creating and distributing custom themes.", "Keyboard Shortcuts"),
        (f"{DOC}libfreetype-dev/reference/ft2-module_management.html", "Module Management",
         "FT_CONFIG_OPTION_ENVIRONMENT_PROPERTIES is set", "Skip to content"),
        # by hand or by what a project wrote for itself
        (f"{DOC}apache2-doc/manual/de/configuring.html",
         "Konfigurationsdateien", "Prüfen Sie den Kontext der Direktive", "Verfügbare Sprachen"),
        (f"{DOC}apache2-doc/manual/en/rewrite/tech.html", "Apache mod_rewrite Technical Details",
         "Because of this inconsistency between contexts, mixing mod_rewrite", "Apache License"),
        (f"{DOC}sqlite3/vtab.html", "The Virtual Table Mechanism Of SQLite",
         "A virtual table is an object that is registered with an open SQLite database connection.", "Site Map"),
        (f"{DOC}nodejs/api/querystring.html", "Query string | Node.js v18.20.4 Documentation",
         "querystring is more performant than <URLSearchParams> but is not a standardized API.", "Other versions"),
        (f"{DOC}vim/html/usr_09.html", "Vim documentation: usr_09",
         "The mouse can be further tuned.", "<a"),
        # PDF by pdfTeX, XeTeX, Texinfo, groff, dblatex and Beamer
        ("usr/share/R/doc/manual/R-FAQ.pdf", "R FAQ", "R for Windows FAQ", ". . . ."),
        ("usr/share/R/doc/manual/R-intro.pdf", "An Introduction to R",
         "Before giving a formal specification, a few examples may usefully set the picture.", ". . . ."),
        ("usr/share/R/doc/manual/R-exts.pdf", "Writing R Extensions", 'person(c("José", "C."), "Pinheiro"', ". . . ."),
        (f"{DOC}bash/bash.pdf", "BASH(1) General Commands Manual BASH(1)",
         "Bash is an sh-compatible command language interpreter", "\x02"),
        (f"{DOC}gnuplot/gnuplot.pdf", "gnuplot documentation", "Hans-Bernhard Bröker", ". . . ."),
        ("usr/share/developers-reference/developers-reference.pdf", "Debian Developer's Reference",
         "debian-el provides an Emacs mode for viewing Debian binary packages.", ". . . ."),
        ("usr/share/debian-reference/debian-reference.en.pdf", "Debian Reference",
         "is intended to provide a broad overview of the Debian system", ". . . ."),
        (f"{DOC}packaging-tutorial/packaging-tutorial.de.pdf", "Debian-Paketier-Anleitung",
         "Sie werden weitere Dokumentation lesen müssen", "\ufffe"),
        (f"{DOC}packaging-tutorial/packaging-tutorial.fr.pdf", "Tutoriel : la construction de paquets Debian",
         "Devenir un utilisateur chevronné de Debian", "\ufb01"),
        (f"{DOC}packaging-tutorial/packaging-tutorial.ja.pdf", "Debian パッケージングチュートリアル",
         "このチュートリアルについて", "\ufffd"),
        (f"{DOC}packaging-tutorial/packaging-tutorial.ru.pdf", "Руководство по созданию пакетов Debian",
         "дистрибутив", "\x1b"),
        (f"{DOC}texlive-doc/latex/rtklage/rtklage.pdf", "rtklage.cls v 0.01",
         "Optionen können gesetzt werden", ". . . ."),
        (f"{DOC}texlive-doc/latex/jurarsp/jurarsp.pdf", "", "beeinflussen die", "\x1d"),
        # Word by LibreOffice and pandoc, from the pages of these names
        ("word/kernel.en.docx", "Chapter 10. Debian and the kernel",
         "10.2. What tools does Debian provide to build custom kernels?", "<"),
        ("word/sql-select.docx", "SELECT", "SELECT retrieves rows from zero or more tables.", "</"),
        ("word/network-services.docx", "", "Postfix", "</"),
        ("word/queue.docx", "queue — A synchronized queue class — Python 3.11.2 documentation",
         "The queue module implements multi-producer, multi-consumer queues.", "</"),
        ("word/git-shortlog.docx", "git-shortlog(1)", "git-shortlog - Summarize 'git log' output", "</"),
        ("word/compatibility.en.docx", "Chapter 4. Compatibility issues",
         "amd64: this covers systems based on AMD 64bit CPUs with AMD64 extension", "</"),
        # books
        (f"{DOC}debian-policy/policy.epub", "Debian Policy Manual",
         "This manual describes the policy requirements for the Debian distribution.", "</"),
        ("usr/share/developers-reference/developers-reference.epub", "developers-reference",
         "debian-el provides an Emacs mode for viewing Debian binary packages.", "</"),
        # Markdown
        (f"{DOC}nodejs/api/string_decoder.md", "String decoder", "const { StringDecoder } = require('node:string_decoder');",
         "<!--"),
    ]
]  # fmt: skip


def check(folder: Path) -> None:
    """Print which expectations do not hold, and how many do."""
    held: dict[str, list[bool]] = defaultdict(list)
    for expected in EXPECTED:
        path = folder / expected.path
        kind = kind_of(path.name) or "text"
        if not path.exists():
            print(f"{expected.path}: not there")
            continue
        page = next(iter(convert(path, kind)))
        text = " ".join(page.text.split())
        said = {
            f"title {page.title!r}": expected.title in ("", page.title),
            f"without {expected.sentence!r}": expected.sentence in text,
            f"with {expected.absent!r}": not re.search(
                rf"(?<!\w){re.escape(expected.absent)}", page.text
            ),
        }
        wrong = [problem for problem, holds in said.items() if not holds]
        if wrong:
            print(f"{expected.path}: {'; '.join(wrong)}")
        held[kind].append(not wrong)
    for kind, results in held.items():
        print(f"{kind}: {sum(results)} of {len(results)}")


def kept(folder: Path, most: int) -> None:
    """Print the share of the headings, paragraphs, definitions and listings outside menus that is read of HTML pages."""
    from lxml import html

    pages = [
        path for path in sorted(folder.rglob("*.html")) if path.is_file() and not path.is_symlink()
    ]
    groups: dict[str, list[Path]] = defaultdict(list)
    for path in pages:  # five pages of each package
        groups["/".join(path.relative_to(folder).parts[:-1][:4])].append(path)
    shares: dict[str, float] = {}
    for name, paths in groups.items():
        found = there = 0
        for path in paths[:: max(1, len(paths) // most)][:most]:
            content = path.read_bytes()
            text = _flat(next(iter(convert(path, "html", "auto"))).text)
            parser = html.HTMLParser(encoding="utf-8")
            tree = html.document_fromstring(content, parser=parser) if content.strip() else None
            if tree is None:
                continue
            for node in tree.xpath("//p|//h1|//h2|//h3|//h4|//dd|//pre"):
                menu = node.xpath("ancestor::nav|ancestor::footer|ancestor::*[@role='navigation']")
                words = _flat(node.text or "")
                if len(words) > 3 and not menu:
                    there += 1
                    found += words in text
        if there:
            shares[name] = found / there
    for name, share in sorted(shares.items(), key=lambda item: item[1])[:5]:
        print(f"{name}: {share:.0%}")
    print(f"mean of {len(shares)} packages: {sum(shares.values()) / len(shares):.1%}")


def _flat(text: str) -> str:
    return " ".join(text.replace("|", " ").split())


def peak() -> int:
    """Return the peak memory of this process in MiB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) // 1024


def read_files(paths: Sequence[str]) -> None:
    """Convert some files of a kind, and print a row of the table."""
    kind = kind_of(paths[0]) or "text"
    size = texts = failed = 0
    started = time.perf_counter()
    for name in paths:
        size += Path(name).stat().st_size
        try:
            texts += sum(len(page.text) for page in convert(Path(name), kind, "auto"))
        except GemIndexError:
            failed += 1
    seconds = time.perf_counter() - started
    rates = f"{len(paths) / seconds:,.0f} | {size / seconds / 1e6:.2f}"
    print(
        f"| {kind} | {len(paths):,} | {rates} | {texts / size:.2f} | {failed} | {peak()} |",
        flush=True,
    )


def by_kind(folder: Path, most: int) -> None:
    """Read files of each kind in a process of its own."""
    files: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("*")):
        kind = kind_of(path.name)
        if kind and path.is_file() and not path.is_symlink():
            files[kind].append(str(path))
    print(
        "| kind | files | files/s | MB/s | characters per byte | not read | peak MiB |\n|---|---|---|---|---|---|---|",
        flush=True,
    )
    for kind in dict.fromkeys(KINDS.values()):
        if files[kind]:
            step = max(1, len(files[kind]) // most)
            chosen = files[kind][::step][:most]
            subprocess.run(
                [sys.executable, "-m", "benchmarks.folders", "--read", *chosen], check=True
            )


def twice(folder: Path) -> None:
    """Build a collection of a folder, and add it again, by size and time and by content."""
    with tempfile.TemporaryDirectory() as name:
        home = Home(name)
        skipped: list[str] = []

        def reader(**options: Any) -> FolderReader:
            return FolderReader(
                folder, encoding="auto", on_problem=lambda e: skipped.append(str(e)), **options
            )

        started = time.perf_counter()
        home.build("folder", reader())
        collection = home.collection("folder")
        seconds = time.perf_counter() - started
        print(
            f"build: {collection.count():,} documents in {seconds:.1f} s, {len(skipped)} files not read",
            flush=True,
        )
        for checksum in (False, True):
            started = time.perf_counter()
            report = collection.upsert(reader(checksum=checksum), prune=True)
            seconds = time.perf_counter() - started
            print(
                f"add{' --checksum' * checksum}: {report.unchanged:,} unchanged in {seconds:.2f} s",
                flush=True,
            )


def write_small_files(folder: Path, count: int) -> None:
    """Write short Markdown files into folders of a hundred."""
    words = SMALL_TEXT.split()
    for i in range(count):
        path = folder / f"{i // 100:04}" / f"{i}.md"
        path.parent.mkdir(exist_ok=True)
        text = " ".join(words[(i * step + step) % len(words)] for step in range(60))
        path.write_text(f"# Note {i}\n\n{text}\n")


def followed() -> None:
    """Print how long after it was saved a file is found, and how many transactions 1,000 changes are."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "notes"
        folder.mkdir()
        write_small_files(folder, 1000)
        home = Home(f"{name}/home")
        home.build("notes", FolderReader(folder))
        collection = home.collection("notes")
        reports: list[Any] = []
        new, stop = threading.Condition(), threading.Event()

        def take(report: Any) -> None:
            with new:
                reports.append(report)
                new.notify_all()

        options = {"on_report": take, "on_error": print, "stop": stop}
        thread = threading.Thread(
            target=watch, args=(collection, [FolderReader(folder)]), kwargs=options
        )
        thread.start()
        with new:
            new.wait_for(lambda: reports, 60)
        delays = []
        for i in range(20):
            saved = time.perf_counter()
            (folder / f"saved{i}.md").write_text(f"# Saved {i}\n\nThe word zebra{i} stands here.\n")
            while not collection.search(f"zebra{i}", k=1, mode="lexical"):
                time.sleep(0.01)
            delays.append(time.perf_counter() - saved)
        print(
            f"a saved file is found after {sorted(delays)[10]:.2f} s, at most {max(delays):.2f} s, of 20"
        )
        before = len(reports)
        for path in sorted(folder.glob("*/*.md")):
            path.write_text(path.read_text() + "Changed.\n")
        saved = time.perf_counter()
        with new:
            new.wait_for(lambda: sum(report.updated for report in reports[before:]) >= 1000, 120)
        seconds = time.perf_counter() - saved
        print(
            f"1,000 changes: {len(reports) - before} transactions, the last {seconds:.1f} s after the last change"
        )
        stop.set()
        thread.join()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--at-most", type=int, default=500)
    parser.add_argument("--small", type=int)
    parser.add_argument("--watch", action="store_true")
    parser.add_argument("--read", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.read:
        read_files(options.read)
    elif options.watch:
        followed()
    elif options.small:
        with tempfile.TemporaryDirectory() as name:
            write_small_files(Path(name), options.small)
            twice(Path(name))
    elif options.folder is None:
        parser.error("expected a folder")
    elif options.check:
        check(options.folder)
    elif options.kept:
        kept(options.folder, 5)
    else:
        by_kind(options.folder, options.at_most)
        twice(options.folder)


if __name__ == "__main__":
    main()
