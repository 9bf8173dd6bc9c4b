"""What a process of the command line loads."""

import os
import subprocess
import sys

import pytest

from gem_index import Home
from gem_index_cli import start
from gem_index_cli.main import run

SEARCH = """
import sys

from gem_index_cli.start import main

try:
    main()
except SystemExit as end:
    assert not end.code, end.code
assert "gem_index.kernels.library" in sys.modules
assert not {"numpy.testing", "pycparser", "scipy.linalg"} & set(sys.modules)
writing = {"gem_index.collection.write.writing", "gem_index.readers", "gem_index.vectors.download"}
assert not writing & set(sys.modules)
from gem_index import Home
Home(sys.argv[2]).collection("c").refit()
"""


def test_a_search_loads_nothing_that_only_building_or_writing_needs(tmp_path) -> None:
    made = Home(tmp_path).create_collection("c")
    made.upsert([("1", "renew a passport"), ("2", "open a bank account")])
    made.refit()
    arguments = ["--home", str(tmp_path), "search", "c", "a new passport", "-k", "1", "--json"]
    done = subprocess.run(
        [sys.executable, "-c", SEARCH, *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert '"id": "1"' in done.stdout


AFTER_OTHERS = """
import atexit, threading
from gem_index_cli.start import main

threading.Thread(target=lambda: (threading.main_thread().join(), print("a thread"))).start()
try:
    main()
finally:
    atexit.register(print, "registered")
"""


@pytest.mark.parametrize(
    ("arguments", "status"), [(["status"], 0), (["search", "c", "x"], 2), (["nonsense"], 2)]
)
def test_the_end_waits_for_threads_and_for_what_was_registered(tmp_path, arguments, status) -> None:
    done = subprocess.run(
        [sys.executable, "-c", AFTER_OTHERS, "--home", str(tmp_path), *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == status, done.stderr
    assert done.stdout.splitlines()[-2:] == ["a thread", "registered"]


MAIN = "from gem_index_cli.start import main; main()"


def test_the_database_is_closed_at_the_end(tmp_path) -> None:
    command = [sys.executable, "-c", MAIN, "--home", str(tmp_path)]
    for arguments in (["build", "c", "-"], ["search", "c", "bank"]):
        subprocess.run([*command, *arguments], input="a bank\n", text=True, check=True, timeout=300)
        assert not list(tmp_path.glob("*-wal")) + list(tmp_path.glob("*-shm"))


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("serch", "faq"), "No such command 'serch'. Did you mean 'search', 'serve'? See: gem-index --help"),
        (("search", "faq", "--moed", "dense"), "No such option: --moed. Did you mean --mode? See: gem-index search --help"),
        (("search", "faq", "x", "--k", "3"), "No such option: --k. Did you mean -k? See: gem-index search --help"),
        (("search", "faq", "x", "--zzzzzz"), "No such option: --zzzzzz. See: gem-index search --help"),
        (("build",), "Missing argument 'COLLECTION'. See: gem-index build --help"),
    ],
)  # fmt: skip
def test_what_is_mistyped(gem, arguments, told):
    answer = gem(*arguments)
    assert (answer.status, answer.err) == (2, f"Error: {told}\n")


def test_a_short_option_shows_the_same_help(gem):
    for arguments in ((), ("search",), ("vectors", "add")):
        short, long = gem(*arguments, "-h"), gem(*arguments, "--help")
        assert (short.status, short.out) == (0, long.out)
        assert "Usage: gem-index" in short.out


def test_an_interrupt_while_modules_are_imported_is_told(monkeypatch, capfd):
    def interrupt():
        raise KeyboardInterrupt

    monkeypatch.setattr("gem_index_cli.main.main", interrupt)
    with pytest.raises(SystemExit) as ended:
        start.main()
    assert ended.value.code == 130
    assert capfd.readouterr() == ("", "Error: interrupted\n")


def test_home_may_be_anywhere(gem, faq, tmp_path, capfd):
    home = str(tmp_path / "home")
    for arguments in (("list", "faq", "--home", home), ("list", f"--home={home}", "faq")):
        assert run(list(arguments)) == 0
        assert "v1" in capfd.readouterr().out
    assert run(["search", "faq", "--home", home, "-k", "1", "--", "--home"]) == 0


@pytest.mark.parametrize("command", [("status",), ("list", "faq"), ("search", "faq", "x")])
def test_a_mistyped_home_is_not_made(gem, tmp_path, capfd, command):
    absent = tmp_path / "hone"
    assert run(["--home", str(absent), *command]) == 2
    assert capfd.readouterr().err == (
        f"Error: the home {absent} does not exist; expected the folder of a home: make one with: gem-index build NAME FILE\n"
    )
    assert not absent.exists()


def test_other_names_are_named(gem, faq):
    assert (
        "no collection is named 'zzzzz': existing names: faq; make one with"
        in gem("list", "zzzzz").err
    )


MAIN = "from gem_index_cli.start import main; main()"


def in_ascii(home, *arguments):
    """Run a command in the locale C, which Python is not to read as UTF-8; the arguments are bytes."""
    settings = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return subprocess.run(
        [sys.executable, "-c", MAIN, "--home", str(home), *arguments],
        env={**os.environ, **settings},
        capture_output=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("query", ["Straße", "签证"])
def test_arguments_are_utf8_in_another_locale(tmp_path, query) -> None:
    made = Home(tmp_path / "home").create_collection("c")
    made.upsert([("1", query), ("2", "open a bank account")])
    made.refit()
    answer = in_ascii(tmp_path / "home", "search", "c", query.encode(), "-k", "1", "--json")
    assert answer.returncode == 0, answer.stderr
    assert b'"id": "1"' in answer.stdout
    exported = tmp_path / f"{query}.jsonl"
    answer = in_ascii(tmp_path / "home", "export", "c", "-o", os.fsencode(exported))
    assert answer.returncode == 0, answer.stderr
    assert exported.exists()


def test_an_argument_in_neither_encoding_is_named(tmp_path) -> None:
    Home(tmp_path / "home").create_collection("c").upsert([("1", "a")])
    answer = in_ascii(tmp_path / "home", "search", "c", b"caf\xe9")
    assert (answer.returncode, answer.stdout) == (2, b"")
    assert b"an argument is neither UTF-8 nor " in answer.stderr
    assert answer.stderr.count(b"\n") == 1
