"""A process imports the module of the command that it was asked for, and no other."""

import subprocess
import sys
from importlib import import_module

import pytest
import typer

from gem_index_cli.tree import MODULES, PANELS, modules_for


@pytest.mark.parametrize("module", MODULES)
def test_the_table_names_what_a_module_adds(module):
    app = typer.Typer()
    app.callback()(lambda: None)
    import_module(f"gem_index_cli.{module}").register(app)
    root = typer.main.get_command(app)
    assert tuple(root.commands) == MODULES[module]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["search", "faq", "build"], ("search",)),
        (["--home", "build", "search", "faq"], ("search",)),
        (["--home=x", "eval", "sts"], ("evaluate",)),
        (["serch", "faq"], tuple(MODULES)),
        (["--help", "search"], tuple(MODULES)),
        (["--version"], tuple(MODULES)),
        (["--home", "x"], tuple(MODULES)),
        (["--home"], tuple(MODULES)),
        ([], tuple(MODULES)),
    ],
)
def test_a_command_is_found_behind_the_options_of_all(arguments, expected):
    assert modules_for(arguments) == expected


def test_a_process_imports_what_it_was_asked_for(tmp_path):
    code = (
        "import sys\nfrom gem_index_cli.main import run\n"
        "assert run(['--home', sys.argv[1], 'status']) == 0\n"
        f"print(*sorted({set(MODULES)} & {{m.partition('.')[2] for m in sys.modules if m.startswith('gem_index_cli.')}}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path], capture_output=True, text=True, check=False
    )
    assert done.stdout.splitlines()[-1] == "collections", done.stderr


def test_unknown_commands_are_compared_with_all(gem):
    answer = gem("serch", "faq")
    assert answer.status == 2
    assert "'search'" in answer.err


def panels(text):
    """The panels of a help text, each with its entries."""
    found = {}
    for line in text.splitlines():
        if line.startswith("╭─ "):
            entries = found.setdefault(line.strip("╭─╮ "), [])
        elif line.startswith("│ ") and line[2] not in " *":
            entries.append(line[2:].split()[0])
    return found


def test_every_command_is_in_one_panel():
    named = [name for names in PANELS.values() for name in names]
    assert sorted([*named, "neighbours"]) == sorted(
        name for names in MODULES.values() for name in names
    )


def test_the_help_is_divided_into_panels(gem):
    found = panels(gem("--help").out)
    del found["Options"]
    assert {panel: tuple(names) for panel, names in found.items()} == PANELS


@pytest.mark.parametrize(
    ("command", "everyday"),
    [
        (
            "build",
            "vectors index language synonyms whole prune json id-field text-field clean on-error chunk help",
        ),
        ("search", "show snippets mode min-score where rerank why json jsonl help"),
    ],
)
def test_a_command_shows_its_everyday_options_first(gem, command, everyday):
    found = panels(gem(command, "--help").out)
    first = [name.removeprefix("--") for name in found.pop("Options") if name != "-k"]
    assert first == everyday.split()
    assert len(found) > 2
    if command == "build":
        assert found["Configuration of the model"][2:6] == [
            "--window",
            "--components",
            "--removed",
            "--power",
        ]
        assert found["Cluster"] == ["--parts", "--scheduler"]


@pytest.mark.parametrize("group", [("db",), ("eval",), ("keys",), ("models",), ("vectors",)])
def test_a_group_without_a_command_shows_its_help(gem, group):
    answer, asked = gem(*group), gem(*group, "--help")
    assert (answer.status, answer.err) == (2, "")
    assert answer.out.rstrip() == asked.out.rstrip()
    assert "Usage:" in answer.out
