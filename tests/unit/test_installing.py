"""The command that installs an extra or a plugin: from a checkout its folder, else the name of the package."""

import json
import shlex
from types import SimpleNamespace

import pytest

from gem_index.errors import MissingExtraError, MissingTargetError, installing


@pytest.fixture
def installed_from(monkeypatch):
    def set_origin(content):
        origin = SimpleNamespace(read_text=lambda _: content)
        monkeypatch.setattr(installing, "distribution", lambda _: origin)
        installing._checkout.cache_clear()

    yield set_origin
    monkeypatch.undo()
    installing._checkout.cache_clear()


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "a checkout"
    for place in ("", "plugins/chroma"):
        (folder / place).mkdir(parents=True, exist_ok=True)
        (folder / place / "pyproject.toml").touch()
    return folder


@pytest.mark.parametrize("editable", [False, True])
def test_from_a_checkout(installed_from, checkout, editable):
    about = {"url": checkout.as_uri(), "dir_info": {"editable": True} if editable else {}}
    installed_from(json.dumps(about))
    option = ["-e"] if editable else []
    assert shlex.split(installing.install_line("gem-index[topics]")) == [
        "pip", "install", *option, f"{checkout}[topics]",
    ]  # fmt: skip
    assert shlex.split(installing.install_line("gem-index-chroma")) == [
        "pip", "install", f"{checkout}/plugins/chroma",
    ]  # fmt: skip
    assert installing.install_line("gem-index-other") == "pip install gem-index-other"


@pytest.mark.parametrize(
    "content",
    [
        None,
        "{}",
        "no JSON",
        '{"url": "file:///a.whl", "archive_info": {}}',
        '{"url": "file:///no/such/folder", "dir_info": {}}',
    ],
)
def test_from_anywhere_else(installed_from, content):
    installed_from(content)
    assert installing.install_line("gem-index[topics]") == "pip install 'gem-index[topics]'"
    assert installing.install_line("gem-index-chroma") == "pip install gem-index-chroma"


def test_errors_have_the_line(installed_from, checkout):
    installed_from(json.dumps({"url": checkout.as_uri(), "dir_info": {}}))
    assert str(MissingExtraError("a map", "map")) == (
        f"a map needs the optional extra 'map': pip install '{checkout}[map]'"
    )
    assert str(MissingTargetError("chroma", "gem-index-chroma")) == (
        "the package for chroma is not installed; expected it: "
        f"pip install '{checkout}/plugins/chroma'"
    )
