"""What is public: names, docstrings, protocols, and the README's own Python."""

import importlib
import inspect
import pickle
import pkgutil
import re
import runpy
from pathlib import Path

import numpy as np
import pytest

import gem_index
from gem_index import EmbeddingProvider, GemEncoder, GemProvider
from gem_index import errors as errors_module

ROOT = Path(__file__).resolve().parents[2]


def test_all_is_sorted_and_everything_in_it_exists():
    assert gem_index.__all__ == sorted(gem_index.__all__)
    assert set(gem_index._HOMES) | {"__version__"} == set(gem_index.__all__)
    for name in gem_index.__all__:
        assert getattr(gem_index, name) is not None
    assert callable(gem_index.rerank)
    assert dir(gem_index) == gem_index.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gem_index.nothing


def modules():
    return [
        importlib.import_module(module.name)
        for package in ("gem_index", "gem_index_cli")
        for module in pkgutil.walk_packages(
            importlib.import_module(package).__path__, f"{package}."
        )
    ]


def test_every_module_declares_what_it_offers_and_says_what_it_is():
    for module in modules():
        assert module.__doc__, module.__name__
        for name in getattr(module, "__all__", []):
            offered = getattr(module, name)
            if inspect.isclass(offered) or inspect.isfunction(offered):
                assert inspect.getdoc(offered), f"{module.__name__}.{name}"


def test_the_error_tree_in_the_docstring_is_the_real_one():
    drawn = re.findall(r"[├└]── (\w+)", errors_module.__doc__)
    assert sorted([*drawn, "GemIndexError"]) == errors_module.__all__
    for name in errors_module.__all__:
        error = getattr(errors_module, name)
        assert issubclass(error, gem_index.GemIndexError)
        assert error.exit_status == (2 if issubclass(error, errors_module.InputError) else 1)


def test_the_readmes_python_runs(tmp_path, monkeypatch):
    (block,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.S)
    script = tmp_path / "readme.py"
    script.write_text(block)
    monkeypatch.chdir(tmp_path)
    names = runpy.run_path(str(script))
    assert names["vectors"].shape == (1, 256)
    assert names["hit"].text in names["corpus"]


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
