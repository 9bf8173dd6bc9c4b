"""A third party's package of word vectors: installed by pip, found by name, used for the main job."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from gem_index.errors import ConfigError, VectorFormatError
from gem_index.testing import VectorSourceContract
from gem_index.vectors.registry import open_source

PACKAGE = Path(__file__).parent / "example_source"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A folder into which pip installed the package."""
    target = tmp_path_factory.mktemp("site")
    subprocess.run(
        [
            sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation",
            "--no-index", "--disable-pip-version-check", "--target", target, PACKAGE,
        ],
        check=True,
        capture_output=True,
    )  # fmt: skip
    return target


@pytest.fixture
def _installed(site, monkeypatch):
    monkeypatch.syspath_prepend(str(site))


@pytest.mark.usefixtures("_installed")
class TestLetters(VectorSourceContract):
    known = ("river", "bank")
    unknown = ("2024",)

    def make_source(self):
        return open_source("letters", {})

    def test_takes_part_in_combinations(self):
        assert open_source("letters*0.5+wordllama", {}).dimension == 26 + 256

    def test_is_used_and_not_copied(self, home):
        with pytest.raises(
            ConfigError, match="letters is provided by an installed package and used directly"
        ):
            home.vectors.add("copy", "letters")
        with pytest.raises(ConfigError, match="by an installed package"):
            home.vectors.export("letters", "x.vec")
        assert home.vectors.fit_vocabulary("cut", ["the river"], vectors="letters").words == 2
        with pytest.raises(VectorFormatError, match="cannot be opened: ZeroDivisionError"):
            open_source("failing", {})

    def test_anything_but_a_source_is_refused(self):
        with pytest.raises(VectorFormatError, match="gave a object; expected a VectorSource"):
            open_source("broken", {})


def test_the_main_job_in_another_process(site, tmp_path):
    (tmp_path / "faq.txt").write_text("how do I renew a visa?\nwhere is the bank?\n")
    environment = {**os.environ, "PYTHONPATH": str(site), "GEM_INDEX_HOME": str(tmp_path / "home")}

    def gem(*arguments):
        code = "import sys; from gem_index_cli.main import main; main()"
        return subprocess.run(
            [sys.executable, "-c", code, *arguments], env=environment, cwd=tmp_path,
            capture_output=True, text=True, check=True,
        ).stdout  # fmt: skip

    gem("build", "faq", "faq.txt", "--vectors", "letters")
    found = json.loads(gem("search", "faq", "renew visa", "-k", "1", "--json"))
    assert found[0]["text"] == "how do I renew a visa?"
    shown = json.loads(gem("vectors", "show", "letters", "--coverage", "faq.txt", "--json"))
    assert (shown["origin"], shown["dimension"]) == ("PyPI example-source", 26)
    assert shown["coverage"]["known_tokens"] == 1
