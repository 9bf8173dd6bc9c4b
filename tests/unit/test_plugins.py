"""Plugins use only our public names and errors."""

import ast
from importlib import import_module
from pathlib import Path

import pytest

PUBLIC = ("gem_index", "gem_index.errors", "gem_index.targets")
PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
NO_ADAPTER = ("paper",)  # further commands of gem-index eval, with its measures and options
MODULES = sorted(
    path
    for path in PLUGINS.rglob("*.py")
    if not {"tests", *NO_ADAPTER}.intersection(path.relative_to(PLUGINS).parts)
)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_plugins_use_public_names_alone(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("gem_index.") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gem_index":
            assert node.module in PUBLIC, node.module
            names = {alias.name for alias in node.names}
            assert names <= set(import_module(node.module).__all__)


def test_there_are_plugins():
    assert MODULES
