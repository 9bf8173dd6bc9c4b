import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from gem_index_cli.main import run

SHARED = Path(__file__).resolve().parents[4] / "shared"  # research data beside the checkout
WORDS = """
the of and to a in is it that on are with at from or by what my how do i two open an bank account river ducks swim cups tea
cup renew visa phone plan students opened cinema this year friday
""".split()  # noqa: SIM905 - a list of words is longer


@dataclass
class Answer:
    status: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def gem(tmp_path, capfd):
    """Run a command in this process: gem('eval', 'speed', 'pairs.tsv') with the home tmp_path/home."""

    def command(*arguments: object) -> Answer:
        capfd.readouterr()
        status = run(["--home", str(tmp_path / "home"), *map(str, arguments)])
        out, err = capfd.readouterr()
        return Answer(status, out, err)

    return command


@pytest.fixture
def shared():
    if not SHARED.is_dir():
        pytest.skip("the research data sets are not beside the checkout (../shared)")
    return SHARED


@pytest.fixture
def vectors_folder(tmp_path):
    """Random vectors of 24 dimensions, as a folder of words.txt and matrix.npy."""
    folder = tmp_path / "tiny-24d"
    folder.mkdir()
    (folder / "words.txt").write_text("\n".join(WORDS) + "\n")
    matrix = np.random.default_rng(8).normal(size=(len(WORDS), 24))
    np.save(folder / "matrix.npy", matrix.astype(np.float16))
    return folder


@pytest.fixture
def subj(tmp_path):
    """SentEval's folder with one task, whose two classes share no word."""
    folder = tmp_path / "senteval" / "SUBJ"
    folder.mkdir(parents=True)
    for name, word in (("objective", "river"), ("subjective", "bank")):
        lines = "".join(f"the {word} number {i}\n" for i in range(20))
        (folder / f"subj.{name}").write_text(lines)
    return folder.parent
