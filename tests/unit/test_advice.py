"""What errors advise: in the words of Python, of the command line and of the server."""

import ast
import re
import string
from pathlib import Path

import pytest

import gem_index
from gem_index.errors import (
    Action,
    Advice,
    InputError,
    Message,
    NotIndexedError,
    RecordError,
    UnknownNameError,
)
from gem_index_cli.advice import COMMANDS, message_of, problem_of
from gem_index_cli.tree import MODULES

LIBRARY = Path(gem_index.__file__).parent
ROOT = Path(__file__).parents[2]
COMMAND = re.compile(rf"--[a-z]|gem-index ({'|'.join(sum(MODULES.values(), ()))})\b")
FORMAT = "gem-index vectors"  # what files of this format begin with


def strings(tree):
    """Every string of a module but docstrings, also those within f-strings, with its line."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        told = isinstance(node, ast.Constant) and id(node) not in docstrings
        if told and isinstance(node.value, str):
            yield node.lineno, node.value


def test_libraries_name_no_command_and_no_option():
    modules = [*LIBRARY.rglob("*.py"), *(ROOT / "plugins").rglob("*.py")]
    found = [
        f"{path.name}:{line}: {text}"
        for path in modules
        if not {"tests", "__main__.py", "gem_index_paper"}.intersection(
            path.parts
        )  # no command lines
        for line, text in strings(ast.parse(path.read_text()))
        if COMMAND.search(text) and text != FORMAT
    ]
    assert found == []


@pytest.mark.parametrize(
    "text", ["expected --prune", "run: gem-index refit faq", "gem-index vectors list"]
)
def test_what_names_a_command_or_an_option_is_found(text):
    assert [line for line, each in strings(ast.parse(f"f({text!r})")) if COMMAND.search(each)]
    assert not list(strings(ast.parse(f'"""{text}"""')))


def fields(words):
    return {name for _, name, _, _ in string.Formatter().parse(words) if name is not None}


@pytest.mark.parametrize("action", Action, ids=lambda action: action.name)
def test_every_action_has_a_command(action):
    assert fields(COMMANDS[action]) <= fields(action.value)
    assert Advice(action, dict.fromkeys(fields(action.value), "faq")).said(COMMANDS)


def test_an_error_ends_with_its_advice():
    error = InputError("the index is old", Advice(Action.REFIT, {"collection": "faq"}))
    assert str(error) == "the index is old: call home.collection('faq').refit()"
    assert message_of(error) == "the index is old: run: gem-index refit faq"
    assert error.told({Action.REFIT: "refit {collection}"}) == "the index is old: refit faq"
    assert message_of(InputError("x")) == "x"
    assert message_of(OSError("x")) == "x"


def test_what_was_advised_is_not_taken_for_a_value_twice():
    error = InputError("x", Advice(Action.NAME_VECTORS, {"file": "{part}"}))
    assert message_of(error) == "x: gem-index vectors add NAME {part}"


def test_a_name_that_is_near_needs_no_advice():
    assert UnknownNameError("model", "fitt", ["fit"], Advice(Action.FIT_MODEL)).advice is None
    error = UnknownNameError("model", "fitt", [], Advice(Action.FIT_MODEL))
    assert message_of(error).endswith("there is none yet; fit one with: gem-index fit NAME FILE")


def test_a_record_at_another_place_keeps_its_advice():
    problem = Message("no text", Advice(Action.NAME_FIELD, {"field": "text"}))
    for error in (RecordError("a.csv", 3, problem), RecordError("b", 1, problem).moved("a.csv", 3)):
        assert str(error) == (
            "a.csv line 3: no text: name the field that holds the text, as text='…'"
        )
        assert error.problem == "no text: name the field that holds the text, as text='…'"
        assert problem_of(error) == "no text: name the field that holds the text with --text-field"
    assert problem_of(RecordError("a.csv", 3, "no text")) == "no text"


def test_an_index_that_was_not_written():
    error = NotIndexedError("faq", 3, MemoryError("full"), Action.COMPACT)
    assert str(error).endswith(
        "full; make room or fix the cause, then call home.collection('faq').compact()"
    )
    assert message_of(error).endswith("then run: gem-index compact faq")
