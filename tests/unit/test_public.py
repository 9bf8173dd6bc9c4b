"""The public interface: names, docstrings, protocols, and the README's Python."""

import ast
import importlib
import inspect
import pickle
import pkgutil
import re
import types
import typing
from dataclasses import is_dataclass
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

import gem_index
from gem_index import EmbeddingProvider, GemEncoder, GemProvider
from gem_index import errors as errors_module
from gem_index.errors import Action, Advice
from gem_index.public import PACKAGES, public_names
from gem_index.testing import run_page

ROOT = Path(__file__).resolve().parents[2]


def test_all_is_sorted_and_everything_in_it_exists():
    assert gem_index.__all__ == sorted(gem_index.__all__)
    assert len(gem_index.__all__) <= 20
    assert all(value is not None for value in public_names().values())
    assert callable(gem_index.rerank)
    assert dir(gem_index) == gem_index.__all__
    with pytest.raises(AttributeError, match="nothing"):
        _ = gem_index.nothing


def modules():
    return [
        importlib.import_module(module.name)
        for package in ("gem_index", "gem_index_cli")
        for module in pkgutil.walk_packages(
            importlib.import_module(package).__path__, f"{package}."
        )
        if module.name.rpartition(".")[2].isidentifier()  # libraries of kernels are no modules
        and module.name != "gem_index.kernels._declarations"  # which cffi writes
    ]


def test_every_module_declares_what_it_offers_and_says_what_it_is():
    for module in modules():
        assert module.__doc__, module.__name__
        for name in getattr(module, "__all__", []):
            offered = getattr(module, name)
            if inspect.isclass(offered) or inspect.isfunction(offered):
                assert inspect.getdoc(offered), f"{module.__name__}.{name}"


MUTABLE = {
    "CutText",
    "DocumentReader",
    "Findings",
    "FolderReader",
    "Loss",
    "PartReport",
    "QueryReader",
    "Record",
    "RecordReader",
    "RowReader",
    "UpsertCounts",
    "WordStatistics",
    "_FieldCounts",
    "_PartialFile",
}
"""Dataclasses that count or collect; all others are values."""


def test_values_do_not_change():
    classes = {
        value.__name__: value
        for module in modules()
        for value in vars(module).values()
        if inspect.isclass(value) and is_dataclass(value) and value.__module__ == module.__name__
    }
    assert len(classes) > 40
    assert {n for n, value in classes.items() if not value.__dataclass_params__.frozen} == MUTABLE


def test_the_error_tree_in_the_docstring_is_the_real_one():
    drawn = re.findall(r"[├└]── (\w+)", errors_module.__doc__)
    public = {name: getattr(errors_module, name) for name in errors_module.__all__}
    errors = {name: each for name, each in public.items() if issubclass(each, Exception)}
    assert sorted([*drawn, "GemIndexError"]) == list(errors)
    assert sorted(public.keys() - errors) == ["Action", "Advice", "Message"]
    for error in errors.values():
        assert issubclass(error, gem_index.GemIndexError)
        assert error.exit_status == (2 if issubclass(error, errors_module.InputError) else 1)


@pytest.mark.parametrize(
    "error",
    [
        errors_module.FingerprintMismatchError("the model x", "a" * 64, "b" * 64, "fit again"),
        errors_module.UnknownNameError("model", "fitt", ["fit"], "fit one"),
        errors_module.RecordError("faq.jsonl", 3, "no text"),
        errors_module.MissingFieldError("faq.jsonl", 3, "text", ["'a' (text)"], "id", ["a*2"]),
        errors_module.MissingExtraError("plots", "plot"),
        errors_module.EmptyTextError("?!"),
        errors_module.ExistingIdError("7"),
        errors_module.InputError("a message"),
        errors_module.InputError("a message", Advice(Action.REFIT, {"collection": "faq"})),
    ],
    ids=lambda error: type(error).__name__,
)
def test_errors_come_back_from_worker_processes(error):
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = run_page(ROOT / "README.md")
    assert names["vectors"].shape == (1, 256)
    assert names["hit"].text in names["corpus"]


def test_the_stability_page_lists_the_public_packages():
    page = (ROOT / "docs" / "stability.md").read_text()
    assert tuple(re.findall(r"^\| `(gem_index[a-z_.]*)` \|", page, re.MULTILINE)) == PACKAGES


def _imports(source):
    """The names that Python source takes from gem_index, each with its package."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "gem_index":
            yield from ((node.module, alias.name) for alias in node.names)
        if isinstance(node, ast.Import):
            assert not any(alias.name.startswith("gem_index.") for alias in node.names)


def _sources():
    """The source of every adapter, and the Python blocks of every page."""
    for path in (ROOT / "plugins").rglob("*.py"):
        # the paper's package is no adapter: it has commands of gem-index eval, with its measures and options
        if not {"tests", "gem_index_paper"}.intersection(path.parts):
            yield path, path.read_text()
    for path in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *ROOT.glob("plugins/**/*.md")]:
        for block in re.findall(
            r"^```python\n(.*?)^```", path.read_text(), re.DOTALL | re.MULTILINE
        ):
            yield path, block


def test_adapters_and_pages_import_what_is_public():
    allowed = {(package, name) for package in PACKAGES for name in import_module(package).__all__}
    packages = {tuple(package.rsplit(".", 1)) for package in PACKAGES if "." in package}
    for path, source in _sources():
        for found in _imports(source):
            assert found in allowed | packages, f"{path.relative_to(ROOT)}: {found}"


def _classes(hint):
    """The classes that a type is made of."""
    if isinstance(hint, type) and not isinstance(hint, types.GenericAlias):
        yield hint
    for argument in typing.get_args(hint):
        for each in argument if isinstance(argument, list | tuple) else (argument,):
            yield from _classes(each)


def _signatures():
    """Every function, method, property and dataclass that is public, other than for tests and clusters."""
    for name, offered in public_names().items():
        if name.startswith(("gem_index.testing", "gem_index.distributed")):
            continue
        if inspect.isfunction(offered):
            yield name, offered
        if not isinstance(offered, type):
            continue
        if is_dataclass(offered):
            yield name, offered
        for member, value in vars(offered).items():
            value = getattr(value, "__func__", getattr(value, "fget", value))
            public = not member.startswith("_") or member == "__init__"
            if public and inspect.isfunction(value):
                yield f"{name}.{member}", value


def test_every_type_of_a_public_signature_is_public():
    made_by_home = {
        "gem_index.Collection.__init__",
        "gem_index.collection.SearchedTarget.__init__",
        *(f"gem_index.home.{name}Library.__init__" for name in ("Key", "Model", "Vector")),
    }
    public = list(public_names().values())
    for name, offered in _signatures():
        for hint in typing.get_type_hints(offered).values() if name not in made_by_home else ():
            for found in _classes(hint):
                if found.__module__.startswith("gem_index"):
                    assert found in public, f"{name} names {found.__qualname__}"
                    assert inspect.getdoc(found)


class TestPages:
    """The runner of pages itself."""

    def test_blocks_are_one_program_and_text_blocks_are_its_output(self, tmp_path, monkeypatch):
        monkeypatch.delenv("REWRITE_PAGES", raising=False)
        page = tmp_path / "page.md"
        page.write_text(
            "```python\nx = 1\n```\n\n```python\nprint(x / 3)\n```\n\n```text\n0.3399\n```\n"
        )
        assert run_page(page)["x"] == 1
        page.write_text(page.read_text().replace("0.3399", "0.3499"))
        with pytest.raises(
            AssertionError, match="says\n0.3499\nand the block before it prints\n0.33"
        ):
            run_page(page)

    def test_a_page_is_rewritten_where_that_is_asked_for(self, tmp_path, monkeypatch):
        page = tmp_path / "page.md"
        block = "```python\nprint({})\n```\n\n```text\n{}\n```\n"
        empty = "```python\nprint(3)\n```\n\n```text\n```\n"
        # the output of the second block stands in the first too
        page.write_text("Before.\n\n" + block.format(1, 1) + block.format(2, 1) + empty)
        monkeypatch.setenv("REWRITE_PAGES", "1")
        run_page(page)
        assert page.read_text() == "Before.\n\n" + "".join(block.format(n, n) for n in (1, 2, 3))

    def test_errors_carry_the_pages_line(self, tmp_path):
        page = tmp_path / "page.md"
        page.write_text("# A page\n\n```python\nfine = 1\nfine / 0\n```\n")
        with pytest.raises(ZeroDivisionError) as caught:
            run_page(page)
        last = caught.traceback[-1]
        assert (str(last.path), last.lineno + 1) == (str(page), 5)

    def test_a_page_without_blocks_is_an_error(self, tmp_path):
        (tmp_path / "page.md").write_text("nothing to run\n")
        with pytest.raises(AssertionError, match="holds no python block"):
            run_page(tmp_path / "page.md")


class TestProvider:
    def test_wraps_an_encoder(self, small_vectors):
        provider = GemProvider(GemEncoder(small_vectors))
        assert isinstance(provider, EmbeddingProvider)
        texts = ["open a bank account", "", "the river"]
        documents = provider.embed_documents(texts)
        assert documents.tobytes() == provider.encoder.encode(texts).tobytes()
        assert provider.embed_query("the river").tobytes() == documents[2].tobytes()
        assert provider.embed_query("the river").shape == (provider.dimension,) == (24,)
        assert provider.fingerprint == provider.encoder.fingerprint

    def test_an_encoder_pickles(self, small_vectors):
        encoder = GemEncoder(small_vectors).fit(["open the bank", "the river", "a cup of tea"])
        copy = pickle.loads(pickle.dumps(encoder))
        assert copy.fingerprint == encoder.fingerprint
        np.testing.assert_array_equal(copy.encode(["the bank"]), encoder.encode(["the bank"]))
