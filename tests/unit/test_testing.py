"""The helpers of gem_index.testing for the tests of adapters: processes, samples, and the isolation of tests."""

import os
import subprocess
import time

import pytest

from gem_index import open_provider, open_vectors
from gem_index.testing import (
    call_in_child,
    cosine_ranking,
    fit_model,
    in_forked_child,
    run_python,
    write_word_vectors,
)
from gem_index.testing.processes import pool_of_children

TEXTS = ["open a bank account", "how do I renew a visa?", "how do I renew a visa?", "?!"]


class TestProcesses:
    @pytest.mark.parametrize("start", ["fork", "spawn"])
    def test_a_child_returns_what_the_function_returns(self, start):
        assert call_in_child(start, os.getpid) != os.getpid()
        assert call_in_child(start, divmod, 7, 2) == (3, 1)
        with pytest.raises(ZeroDivisionError):
            call_in_child(start, divmod, 7, 0)

    def test_a_child_that_hangs_is_killed(self):
        with (
            pytest.raises(TimeoutError),
            pool_of_children("fork") as pool,
        ):
            pool.submit(time.sleep, 3600).result(0.01)

    def test_a_forked_child_that_hangs_shows_where(self, capfd):
        with pytest.raises(AssertionError, match="did not end within 1 s"):
            in_forked_child(lambda: time.sleep(3600), seconds=1)
        assert "in test_a_forked_child_that_hangs_shows_where" in capfd.readouterr().err

    def test_a_forked_child_that_fails_fails_the_test(self, capfd):
        in_forked_child(lambda: None)
        with pytest.raises(AssertionError, match="the forked child failed"):
            in_forked_child(lambda: divmod(7, 0))
        assert "ZeroDivisionError" in capfd.readouterr().err

    def test_a_new_python_runs_in_the_current_directory(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        script = "import os, sys; print(os.getcwd(), sys.argv[1])"
        assert run_python("-c", script, "an argument").stdout == f"{tmp_path} an argument\n"

    def test_python_imports_from_the_folder_that_is_named(self, tmp_path, monkeypatch):
        (tmp_path / "one").mkdir()
        (tmp_path / "one" / "calls_one.py").write_text("")
        (tmp_path / "calls_two.py").write_text("")
        monkeypatch.setenv("PYTHONPATH", str(tmp_path))
        run_python("-c", "import calls_one, calls_two", import_from=tmp_path / "one")
        assert "calls_one" in run_python("-c", "import calls_one", status=1).stderr

    def test_an_unexpected_exit_status_fails_with_the_output(self):
        with pytest.raises(AssertionError, match="found exit status 1\n(?s:.*)ZeroDivisionError"):
            run_python("-c", "1 / 0")
        with pytest.raises(AssertionError, match="found exit status 0"):
            run_python("-c", "", status=1)
        with pytest.raises(subprocess.TimeoutExpired):
            run_python("-c", "import time; time.sleep(60)", timeout=0.01)


class TestSamples:
    def test_a_model_of_another_corpus_has_another_fingerprint(self, tmp_path):
        path = tmp_path / "model.safetensors"
        first = fit_model(path, TEXTS)
        assert open_provider(model=path).fingerprint == first.fingerprint
        second = fit_model(str(path), TEXTS[:2])
        assert open_provider(model=path).fingerprint == second.fingerprint != first.fingerprint

    def test_word_vectors_of_another_seed_hold_the_same_words(self, tmp_path):
        files = [write_word_vectors(tmp_path / f"{seed}.txt", TEXTS, seed) for seed in (1, 1, 2)]
        first, again, other = (open_vectors(path) for path in files)
        words = ["account", "renew", "visa"]
        rows, unknown = first.lookup(words)
        assert rows.shape == (3, 8)
        assert unknown.tolist() == other.lookup(words)[1].tolist() == [False] * 3
        assert first.fingerprint == again.fingerprint != other.fingerprint

    def test_a_cosine_ranking_starts_with_the_best_and_keeps_the_order_of_equal_ones(self):
        ranking = cosine_ranking("renewing my visa", TEXTS)
        assert [place for place, _ in ranking[:2]] == [1, 2]
        assert sorted(place for place, _ in ranking) == [0, 1, 2, 3]
        assert dict(ranking)[3] == 0
        expected = open_provider().encoder.similarity("renewing my visa", TEXTS[1])
        assert ranking[0] == (1, expected)
        assert ranking[0] == (1, expected + 9e-7)
        assert ranking[0] != (1, expected + 2e-6)
        configured = cosine_ranking("renewing my visa", TEXTS, config="cqa")
        assert configured[0][1].expected != expected


ISOLATED = """
import os
from pathlib import Path

import pytest

@pytest.fixture(scope="session")
def shared():
    return os.environ["GEM_INDEX_HOME"]


def test_own(own_home, shared, tmp_path):
    assert Path.cwd() == tmp_path
    assert os.environ["GEM_INDEX_HOME"] == str(own_home) == str(tmp_path / "default-home")
    assert shared not in (str(own_home), "person/home")
    assert "GEM_INDEX_THREADS" not in os.environ
    assert os.environ["HF_HUB_OFFLINE"] == "1"
"""


def run_tests(folder, tests, plugin):
    (folder / "test_it.py").write_text(tests)
    options = ["-W", "error", "-p", "no:cacheprovider", "-p", "no:randomly", "-p", plugin]
    run_python("-m", "pytest", *options, str(folder))


def test_an_isolated_test_sees_nothing_of_the_person_who_runs_it(tmp_path, monkeypatch):
    monkeypatch.setenv("GEM_INDEX_HOME", "person/home")
    monkeypatch.setenv("GEM_INDEX_THREADS", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    run_tests(tmp_path, ISOLATED, "gem_index.testing.isolation")


LOOPS = """
import asyncio

loops = []


def test_first():
    loops.append(asyncio.get_event_loop())
    loops[0].run_until_complete(asyncio.sleep(0))


def test_second():
    assert loops[0].is_closed()
    assert asyncio.get_event_loop() is not loops[0]
"""


def test_each_test_has_an_event_loop_that_is_closed(tmp_path):
    run_tests(tmp_path, LOOPS, "gem_index.testing.event_loops")
