"""Providers opened by name."""

import pickle
import threading

import pytest

from gem_index import Document, GemConfig, Home, NamedProvider, open_provider, open_vectors
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    FingerprintMismatchError,
    InputError,
    UnknownNameError,
)

TEXTS = ["open a bank account", "the river bank", "renew my visa"]


@pytest.fixture
def tiny(home, vectors_folder):
    home.add_vectors("tiny", vectors_folder)
    return home


def test_the_bundled_vectors_need_no_home(tmp_path):
    provider = open_provider()
    assert isinstance(provider, NamedProvider)
    assert provider.dimension == 256
    assert provider.settings == {
        "vectors": "wordllama-gem",
        "config": GemConfig.trained().to_fields(),
        "fingerprint": provider.fingerprint,
    }
    assert not (tmp_path / "default-home").exists()


def test_bundled_vectors_are_held_once():
    assert open_vectors("wordllama") is open_vectors("wordllama")
    found = []
    threads = [
        threading.Thread(target=lambda: found.append(open_vectors("wordllama-gem")))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, found))) == 1


@pytest.mark.parametrize(
    "config", ["cqa", GemConfig.cqa(), {"window": 6, "removed": 15, "ranking": "plain"}]
)
def test_a_configuration_has_three_forms(config):
    assert open_provider("wordllama", config=config).encoder.config == GemConfig.cqa()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("best", "the preset is 'best'"),
        ({"windows": 3}, "expected an object with"),
        (7, "a preset"),
    ],
)
def test_other_forms_are_refused(config, message):
    with pytest.raises(ConfigError, match=message):
        open_provider(config=config)


def test_registered_vectors_a_model_and_a_collection(tiny):
    by_vectors = open_provider("tiny", home=tiny, config="sts")
    assert by_vectors.settings["home"] == str(tiny.root)
    fitted = tiny.fit_model("fitted", TEXTS, vectors="tiny", config=GemConfig(removed=1))
    by_model = open_provider(model="fitted", home=str(tiny.root))
    assert by_model.fingerprint == fitted.fingerprint
    assert by_model.settings == {
        "model": "fitted",
        "home": str(tiny.root),
        "fingerprint": fitted.fingerprint,
    }
    tiny.build("faq", [Document(id="1", text=TEXTS[0])], vectors="tiny")
    by_collection = open_provider(collection="faq", home=tiny)
    assert by_collection.fingerprint == tiny.collection("faq").encoder.fingerprint
    for provider in (by_vectors, by_model, by_collection):
        again = open_provider(**provider.settings)
        assert again.embed_documents(TEXTS).tobytes() == provider.embed_documents(TEXTS).tobytes()


def test_a_model_file_needs_its_vectors(tiny, tmp_path):
    path = tmp_path / "fitted.safetensors"
    tiny.fit_model("fitted", TEXTS, vectors="tiny", config=GemConfig(removed=1)).save(path)
    provider = open_provider("tiny", model=path, home=tiny)
    assert provider.settings["model"] == str(path)
    assert provider.settings["vectors"] == "tiny"
    with pytest.raises(FingerprintMismatchError, match=r"fitted\.safetensors"):
        open_provider(model=path)
    with pytest.raises(InputError, match="no such file"):
        open_provider(model=tmp_path / "none.safetensors")
    path.write_bytes(b"not a model")
    with pytest.raises(CorruptionError, match=r"fitted\.safetensors is not a gem-index model"):
        open_provider("tiny", model=path, home=tiny)


def test_what_contradicts_itself_is_refused(tiny):
    tiny.fit_model("fitted", TEXTS, vectors="tiny", config=GemConfig(removed=1))
    with pytest.raises(ConfigError, match="a model and a collection; expected one"):
        open_provider(model="fitted", collection="faq", home=tiny)
    with pytest.raises(ConfigError, match="a configuration beside a fitted model"):
        open_provider(model="fitted", config="cqa", home=tiny)
    with pytest.raises(FingerprintMismatchError, match="the model fitted was made with"):
        open_provider("wordllama", model="fitted", home=tiny)
    with pytest.raises(UnknownNameError, match="did you mean fitted"):
        open_provider(model="fited", home=tiny)
    with pytest.raises(UnknownNameError, match="nothing"):
        open_provider("nothing", home=tiny)


def test_another_fingerprint_is_refused_by_name(tiny):
    settings = open_provider("tiny", home=tiny).settings
    settings["fingerprint"] = "0" * 64
    with pytest.raises(FingerprintMismatchError, match="what was saved with the vectors tiny"):
        open_provider(**settings)
    settings = open_provider("wordllama").settings
    settings["vectors"] = "wordllama-gem"
    with pytest.raises(FingerprintMismatchError, match="the vectors wordllama-gem"):
        open_provider(**settings)


def test_the_default_home_is_where_names_are_looked_up(vectors_folder, tmp_path):
    Home().add_vectors("mine", vectors_folder)
    assert open_provider("mine").dimension == 24
    assert "home" not in open_provider("mine").settings


def test_a_fit_after_opening_has_no_name():
    provider = open_provider()
    provider.encoder.fit(TEXTS)
    with pytest.raises(ConfigError, match="fitted after it was opened"):
        _ = provider.settings
    with pytest.raises(ConfigError, match="fitted after it was opened"):
        pickle.dumps(provider)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"fingerprint": 5}, r"fingerprint is 5 \(int\); expected a str"),
        ({"home": 5}, r"home is 5 \(int\)"),
        ({"collection": ["faq"]}, r"collection is \['faq'\] \(list\)"),
        ({"home": "", "collection": "faq"}, "the home is ''; expected the name of a folder"),
        ({"home": "nowhere", "collection": "faq"}, "there is no home in .*nowhere"),
        ({"vectors": "./no.txt"}, "expected the path of an existing file"),
    ],
)
def test_each_wrong_argument_gets_one_clear_line(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        open_provider(**arguments)
    assert not (tmp_path / "nowhere").exists()


def test_bundled_vectors_do_not_ask_for_the_home_that_is_named(tmp_path):
    provider = open_provider("wordllama", home=tmp_path / "nowhere")
    assert provider.fingerprint == open_provider("wordllama").fingerprint
    with pytest.raises(InputError, match="there is no home in .*nowhere"):
        open_provider("mine", home=tmp_path / "nowhere")
    assert not (tmp_path / "nowhere").exists()


def test_paths_are_kept_whole(tiny, tmp_path, monkeypatch):
    tiny.fit_model("fitted", TEXTS, vectors="tiny", config="sts").save(tmp_path / "m.safetensors")
    monkeypatch.chdir(tmp_path)
    by_file = open_provider("tiny", model="m.safetensors", home="home")
    by_name = open_provider(model="fitted", home="home")
    monkeypatch.chdir("/")
    for provider in (by_file, by_name):
        assert open_provider(**provider.settings).fingerprint == provider.fingerprint


def test_numbers_of_numpy_are_numbers():
    import numpy as np

    config = {"removed": np.int64(2), "power": np.float32(3)}
    assert open_provider("wordllama", config=config).encoder.config == GemConfig(removed=2)
