"""Plugins use only our public names and errors."""

import ast
from pathlib import Path

import pytest

import gem_index

PLUGINS = Path(__file__).resolve().parents[2] / "plugins"
MODULES = sorted(path for path in PLUGINS.rglob("*.py") if "tests" not in path.parts)


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PLUGINS)))
def test_plugins_use_public_names_alone(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("gem_index.") for alias in node.names)
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gem_index":
            assert node.module in ("gem_index", "gem_index.errors"), node.module
            if node.module == "gem_index":
                assert {alias.name for alias in node.names} <= set(gem_index.__all__)


def test_there_are_plugins():
    assert MODULES
