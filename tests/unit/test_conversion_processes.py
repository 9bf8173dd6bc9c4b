"""Files that harm the process that converts them: each is an error that names the file, and the next one is read."""

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
import zipfile

import pytest

from gem_index.converting import ConversionError, ConverterPool, Page
from gem_index.converting.processes import ConverterProcess
from tests.folder_files import pdf_of

MEMORY = 512 << 20


@pytest.fixture
def process():
    process = ConverterProcess(MEMORY, 20.0, 1 << 20)
    yield process
    process.close()


@pytest.fixture
def good(tmp_path):
    path = tmp_path / "good.txt"
    path.write_text("a good text")
    return path


def assert_still_reads(process, good):
    assert list(process.pages(good, "text", None)) == [
        Page("", "a good text"),
        hashlib.sha256(b"a good text").hexdigest(),
    ]


def read(process, path, kind):
    return list(process.pages(path, kind, None))


def test_pages_then_the_hash(process, good):
    assert_still_reads(process, good)


def test_a_process_has_its_own_bounds_and_its_own_session(process, good):
    """A core would hold what it has read, in the folder of the user; Ctrl-C in the terminal is not for this process."""
    assert_still_reads(process, good)
    pid = process._process.pid
    assert resource.prlimit(pid, resource.RLIMIT_AS) == (MEMORY, MEMORY)
    assert resource.prlimit(pid, resource.RLIMIT_CORE) == (0, 0)
    assert os.getsid(pid) == pid != os.getsid(0)


def zip_bomb(path, name):
    """Write a file of 1 MB whose parts unpack to 1 GB."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bomb:
        for part in name:
            with bomb.open(part, "w", force_zip64=True) as file:
                for _ in range(1024):
                    file.write(b" " * (1 << 20))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("a.docx", ["[Content_Types].xml"]),
        ("a.pptx", ["[Content_Types].xml"]),
        ("a.epub", ["META-INF/container.xml"]),
    ],
)
def test_a_zip_bomb(process, good, tmp_path, name, parts):
    zip_bomb(tmp_path / name, parts)
    with pytest.raises(
        ConversionError, match=r"needs more than 512 MiB|more than 64 MiB|needs more memory"
    ):
        read(process, tmp_path / name, name[2:])
    assert_still_reads(process, good)


def test_a_text_that_is_too_long(process, good, tmp_path):
    (tmp_path / "a.txt").write_bytes(b"word " * 300_000)
    with pytest.raises(
        ConversionError,
        match="its text has more than 1048576 bytes; expected at most that: split it",
    ):
        read(process, tmp_path / "a.txt", "text")
    with (tmp_path / "b.md").open("wb") as file:
        file.truncate(8 << 30)  # no byte of it is on the disk
    with pytest.raises(
        ConversionError, match="needs more than 512 MiB of memory; expected a smaller file"
    ):
        read(process, tmp_path / "b.md", "markdown")
    assert_still_reads(process, good)


def test_nesting(process, good, tmp_path):
    (tmp_path / "a.html").write_text("<div>" * 100_000 + "deep" + "</div>" * 100_000)
    (tmp_path / "a.md").write_text("> " * 50_000 + "deep")
    (tmp_path / "a.ipynb").write_text("[" * 100_000)
    for path, kind in (("a.html", "html"), ("a.md", "markdown"), ("a.ipynb", "ipynb")):
        try:
            found = read(process, tmp_path / path, kind)
        except ConversionError as error:
            assert "expected" in str(error)  # noqa: PT017 - either is well
        else:
            assert isinstance(found[-1], str)
    assert_still_reads(process, good)


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Let the converter of text run some code first."""

    def use(code):
        (tmp_path / "sitecustomize.py").write_text(
            "import gem_index.converting.converters as converters\n"
            "text = converters._CONVERTERS['text']\n"
            f"def harmful(path, encoding):\n    if 'bad' in path.name:\n        {code}\n    return text(path, encoding)\n"
            "converters._CONVERTERS['text'] = harmful\n"
        )
        monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)

    return use


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (
            "import os; os.kill(os.getpid(), 11)",
            r"ended the process that did \(SIGSEGV\); expected an undamaged file",
        ),
        ("import os; os._exit(3)", r"ended the process that did \(exit status 3\)"),
        (
            "import time; time.sleep(60)",
            "^reading it took more than 1 seconds; expected less, or raise GEM_INDEX_FILE_SECONDS$",
        ),
        ("raise KeyError('x')", r"it cannot be read \(KeyError: .*\); expected an undamaged file"),
        ("path.write_text('changed meanwhile')", "it changed while it was read"),
        ("print('a library prints')", None),
    ],
)
def test_a_parser_that_misbehaves(tmp_path, good, module, code, message):
    module(code)
    (tmp_path / "bad.txt").write_text("bad")
    process = ConverterProcess(MEMORY, 1.0 if "sleep" in code else 20.0, 1 << 20)
    try:
        if message is None:
            assert read(process, tmp_path / "bad.txt", "text")[0] == Page("", "bad")
        else:
            with pytest.raises(ConversionError, match=message):
                read(process, tmp_path / "bad.txt", "text")
        assert_still_reads(process, good)
    finally:
        process.close()


def test_pages_that_nobody_takes_to_their_end(process, good, tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf_of("one"))
    pages = process.pages(tmp_path / "a.pdf", "pdf", None)
    next(pages)
    pages.close()
    assert_still_reads(process, good)


def test_a_process_whose_pages_nobody_takes_to_their_end_is_free_again(good, tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf_of("one"))
    with ConverterPool(1, MEMORY, 20.0, 1 << 20) as pool:
        pages = pool.pages(tmp_path / "a.pdf", "pdf", None)
        next(pages)
        pages.close()
        later = threading.Thread(target=read, args=(pool, good, "text"), daemon=True)
        later.start()
        later.join(30)
        assert not later.is_alive()


def test_a_pool_leaves_no_process(good):
    with ConverterPool(2, MEMORY, 20.0, 1 << 20) as pool:
        list(pool.pages(good, "text", None))
        pids = [p._process.pid for p in pool._all if p._process is not None]
        assert len(pids) == 1
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_modules_beside_the_files_are_not_imported(process, good, tmp_path, monkeypatch):
    for name in ("json", "docx", "hashlib", "gem_index"):
        (tmp_path / f"{name}.py").write_text("open('touched', 'w').close()\nraise SystemExit\n")
    monkeypatch.chdir(tmp_path)
    assert_still_reads(process, good)
    assert not (tmp_path / "touched").exists()


def test_a_process_ends_itself_when_nobody_ends_it(tmp_path):
    os.mkfifo(tmp_path / "never.txt")
    command = [sys.executable, "-P", "-m", "gem_index.converting.worker", str(MEMORY), "1000", "1"]
    request = {"path": str(tmp_path / "never.txt"), "kind": "text", "encoding": None}
    ended = subprocess.run(command, input=json.dumps(request).encode() + b"\n", timeout=120)
    assert ended.returncode == -signal.SIGALRM
