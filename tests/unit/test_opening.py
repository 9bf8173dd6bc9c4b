"""Providers opened by name."""

import gc
import json
import pickle
import shutil
import threading

import pytest

from gem_index import Document, GemConfig, Home, open_provider, open_vectors
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    FingerprintMismatchError,
    InputError,
    UnknownNameError,
)
from gem_index.home import EncoderChoice, NamedProvider
from gem_index.home.opening import find_provider
from gem_index.vectors import subword

TEXTS = ["open a bank account", "the river bank", "renew my visa"]


@pytest.fixture
def tiny(home, vectors_folder):
    home.vectors.add("tiny", vectors_folder)
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


def test_a_provider_that_is_opened_again_reads_no_word_vectors(monkeypatch):
    """A retriever that is opened for each request does not read them each time."""
    gc.freeze()  # the objects of all packages, which take long to visit
    open_provider().embed_query("a")
    gc.collect()
    monkeypatch.setattr(subword, "_read_table", None)
    for _ in range(2):
        assert open_provider().embed_query("a").any()
        gc.collect()
    gc.unfreeze()


@pytest.mark.parametrize("config", ["cqa", GemConfig.cqa(), GemConfig.cqa().to_fields()])
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
    fitted = tiny.models.fit("fitted", TEXTS, vectors="tiny", config=GemConfig(n_removed=1))
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
    tiny.models.fit("fitted", TEXTS, vectors="tiny", config=GemConfig(n_removed=1)).save(path)
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


def test_a_choice_names_the_vectors_of_its_encoder(tiny, tmp_path):
    path = tmp_path / "fitted.safetensors"
    tiny.models.fit("fitted", TEXTS, vectors="tiny", config=GemConfig(n_removed=1)).save(path)
    tiny.build("faq", [Document(id="1", text=TEXTS[0])], vectors="tiny")
    two = {"encoders": [{"vectors": "wordllama"}, {"vectors": "tiny"}]}
    for fields, names in (
        ({}, "wordllama-gem"),
        ({"vectors": "tiny"}, "tiny"),
        ({"config": two}, "wordllama, tiny"),
        ({"model": "fitted"}, "tiny"),
        ({"collection": "faq"}, "tiny"),
        ({"model": path, "vectors": "tiny"}, "tiny"),
        ({"model": path}, "wordllama-gem"),
    ):
        assert EncoderChoice(**fields, home=tiny).vector_names == names


def test_contradictory_arguments_are_refused(tiny):
    tiny.models.fit("fitted", TEXTS, vectors="tiny", config=GemConfig(n_removed=1))
    with pytest.raises(ConfigError, match="a model and a collection; expected one"):
        open_provider(model="fitted", collection="faq", home=tiny)
    with pytest.raises(ConfigError, match="a configuration beside a fitted model"):
        open_provider(model="fitted", config="cqa", home=tiny)
    with pytest.raises(FingerprintMismatchError, match="the model fitted was made with") as caught:
        open_provider("wordllama", model="fitted", home=tiny)
    assert caught.value.expected == tiny.vectors.open("tiny").fingerprint
    assert caught.value.found == open_vectors("wordllama").fingerprint
    with pytest.raises(UnknownNameError, match="did you mean fitted"):
        open_provider(model="fited", home=tiny)
    with pytest.raises(UnknownNameError, match="nothing"):
        open_provider("nothing", home=tiny)


def test_another_fingerprint_is_refused_by_name(tiny):
    settings = open_provider("tiny", home=tiny).settings
    found, settings["fingerprint"] = settings["fingerprint"], "0" * 64
    with pytest.raises(
        FingerprintMismatchError, match="the data saved with the vectors tiny"
    ) as caught:
        open_provider(**settings)
    assert (caught.value.expected, caught.value.found) == ("0" * 64, found)
    assert str(caught.value).endswith(
        "open it with the word vectors, configuration and fit it was saved with, or embed everything again"
    )
    settings = open_provider("wordllama").settings
    settings["vectors"] = "wordllama-gem"
    with pytest.raises(FingerprintMismatchError, match="the vectors wordllama-gem"):
        open_provider(**settings)


def test_an_encoder_is_found_by_its_fingerprint(tiny):
    config = GemConfig(n_removed=1)
    models = {
        name: tiny.models.fit(name, TEXTS[:2], vectors="tiny", config=config) for name in "abcde"
    }
    tiny.build("faq", TEXTS, vectors="tiny")
    faq, fitted = tiny.collection("faq").encoder.fingerprint, models["a"].fingerprint
    assert find_provider(faq, tiny).settings["collection"] == "faq"
    assert find_provider(fitted, tiny).settings["model"] == "a"
    assert "model" not in find_provider(open_provider().fingerprint, tiny).settings
    with pytest.raises(ConfigError) as caught:
        find_provider("0" * 64, tiny)
    named = ", ".join([f"faq {faq[:12]}", *(f"{name} {fitted[:12]}" for name in "abcd")])
    expected = "expected the one that the vectors were made with: name its home, or push the collection again"
    assert str(caught.value) == (
        f"found no encoder 000000000000 in the home {tiny.root}; there are {named}; {expected}"
    )


def test_without_a_home_only_the_default_encoder_is_found():
    assert find_provider(open_provider().fingerprint).fingerprint == open_provider().fingerprint
    with pytest.raises(
        ConfigError, match=r"\(no home was searched\); there are no encoders; expected"
    ):
        find_provider("0" * 64)


def test_the_default_home_is_where_names_are_looked_up(vectors_folder, tmp_path):
    Home().vectors.add("mine", vectors_folder)
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


def test_a_path_of_word_vectors_may_have_a_comma(tiny, vectors_folder, tmp_path):
    fitted = tiny.models.fit("fitted", TEXTS, vectors="tiny", config="sts")
    fitted.save(tmp_path / "m.safetensors")
    shutil.copytree(vectors_folder, tmp_path / "a,b")
    provider = open_provider(str(tmp_path / "a,b"), model=tmp_path / "m.safetensors")
    assert provider.fingerprint == fitted.fingerprint
    assert open_provider(**provider.settings).fingerprint == fitted.fingerprint


def test_paths_are_kept_whole(tiny, tmp_path, monkeypatch):
    tiny.models.fit("fitted", TEXTS, vectors="tiny", config="sts").save(tmp_path / "m.safetensors")
    monkeypatch.chdir(tmp_path)
    by_file = open_provider("tiny", model="m.safetensors", home="home")
    by_name = open_provider(model="fitted", home="home")
    monkeypatch.chdir("/")
    for provider in (by_file, by_name):
        assert open_provider(**provider.settings).fingerprint == provider.fingerprint


def test_numbers_of_numpy_are_numbers():
    import numpy as np

    config = {"removed": np.int64(2), "power": np.float32(3)}
    assert open_provider("wordllama", config=config).encoder.config == GemConfig.trained(
        n_removed=2, power=3
    )


def test_a_name_means_the_same_at_every_door(home, vectors_folder, tmp_path, monkeypatch):
    """A registered name comes before a file of that name in the working directory."""
    monkeypatch.setenv("GEM_INDEX_HOME", str(home.root))
    home.vectors.add("two", vectors_folder)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "two").write_text("the 1 2 3\nbank 4 5 6\n")
    registered = home.vectors.open("two").fingerprint
    for source in (
        open_vectors("two"),
        open_vectors("two", home),
        open_provider("two").encoder.vectors,
        open_provider("two", home=home.root).encoder.vectors,
        home.create_collection("c", vectors="two").encoder.vectors,
        home.models.fit("m", ["a bank"], vectors="two").vectors,
    ):
        assert source.fingerprint == registered
    assert home.vectors.add("copy", "two").dimension == home.vectors.open("two").dimension
    assert home.vectors.add("file", "./two").dimension == 3
    assert open_vectors("./two").dimension == open_vectors(str(tmp_path / "two")).dimension == 3
    home.drop("c")
    home.models.remove("m")
    home.vectors.remove("two")
    assert open_vectors("two").dimension == 3


def test_the_home_of_the_settings_may_be_in_the_folder_of_the_user(tiny, monkeypatch):
    made = tiny.create_collection("faq", vectors="tiny").encoder.fingerprint
    monkeypatch.setenv("HOME", str(tiny.root.parent))
    monkeypatch.setenv("GEM_INDEX_HOME", f"~/{tiny.root.name}")
    assert Home().root == tiny.root
    assert open_vectors("tiny").fingerprint == tiny.vectors.open("tiny").fingerprint
    assert open_provider("tiny").settings["vectors"] == "tiny"
    assert find_provider(made).settings["fingerprint"] == made


def test_the_default_home_is_not_made_by_looking(tmp_path, monkeypatch, vectors_folder):
    monkeypatch.setenv("GEM_INDEX_HOME", str(tmp_path / "none"))
    monkeypatch.chdir(vectors_folder.parent)
    assert open_vectors(vectors_folder.name).dimension == 24
    assert open_provider("wordllama").dimension == 256
    for nothing in ("nothing", "nothing+wordllama"):
        with pytest.raises(UnknownNameError, match="no vectors are named 'nothing'"):
            open_vectors(nothing)
    assert not (tmp_path / "none").exists()


@pytest.mark.parametrize(
    ("config", "prior"),
    [
        (None, 1e4), ("cqa", 1e4), (GemConfig.cqa(), 1e4), ({"window": 3}, 1e4),
        (GemConfig.cqa(prior=0), 0), (GemConfig(prior=0.0), 0), ({"prior": 0}, 0), (GemConfig.sts(prior=7), 7),
    ],
)  # fmt: skip
def test_a_prior_that_was_given_is_taken_also_where_it_is_zero(home, config, prior):
    collection = home.create_collection("c", config=config)
    assert collection.encoder.config.prior == prior
    assert home.get_or_create_collection("c", config=config).name == "c"
    with pytest.raises(ConfigError):
        home.get_or_create_collection("c", config=config, prior=prior + 1)
    assert home.create_collection("d", config=config, prior=0).encoder.config.prior == 0


def test_some_fields_change_what_suits_the_vectors(home):
    recommended = open_provider().encoder.config
    changed = open_provider(config={"window": 3}).encoder.config
    assert (changed.window, changed.n_removed) == (3, recommended.n_removed)
    assert recommended.n_removed == 3
    whole = open_provider(config=json.loads(GemConfig.sts().to_json())).encoder.config
    assert whole == GemConfig.sts()
    assert home.models.fit("m", ["a bank"], config={"window": 3}).config == changed


def test_an_unchosen_prior_counts_as_zero_and_hashes_as_it_did():
    config = GemConfig.sts()
    assert config.prior == 0
    assert not config.prior_chosen
    assert GemConfig.sts(prior=0).prior_chosen
    assert config == GemConfig.sts(prior=0)
    assert config.to_json() == GemConfig.sts(prior=0).to_json()
    assert '"prior":0.0' in config.to_json()
    assert config.preset_name == "sts"


def test_a_choice_is_checked_when_it_is_made_and_saved_as_json(tiny):
    with pytest.raises(ConfigError, match="a model and a collection; expected one"):
        EncoderChoice(model="m", collection="c")
    with pytest.raises(InputError, match=r"vectors is 5 \(int\)"):
        EncoderChoice(vectors=5)
    choice = EncoderChoice(vectors="tiny", config=GemConfig.cqa(), home=tiny)
    provider = choice.open()
    assert json.loads(json.dumps(choice.to_dict())) == choice.to_dict()
    again = EncoderChoice.from_dict(choice.to_dict()).open()
    assert again.fingerprint == provider.fingerprint == provider.settings["fingerprint"]
    assert EncoderChoice.from_dict(provider.settings).to_dict() == provider.settings
    provider.settings["config"]["window"] = 0
    assert provider.settings["config"]["window"] == 6
    with pytest.raises(ConfigError, match="found the field 'vector'; expected some of vectors"):
        EncoderChoice.from_dict({"vector": "tiny"})


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"config": {"foo": 1}}, "the configuration is"),
        ({"config": 5}, "expected a GemConfig, its fields, or the name of a preset"),
        ({"config": "stz"}, "the preset is 'stz'"),
        ({"config": {"window": -1}}, "window is -1"),
        ({"vectors": "a++b"}, r"joined by '\+'"),
        ({"vectors": "wordllama", "config": {"encoders": []}}, "beside encoders"),
        ({"vectors": ""}, "vectors is empty"),
        ({"model": ""}, "model is empty"),
        ({"fingerprint": ""}, "fingerprint is empty"),
    ],
)
def test_a_choice_is_checked_when_it_is_made(fields, problem):
    with pytest.raises(InputError, match=problem):
        EncoderChoice(**fields)


@pytest.mark.parametrize("fields", [["vectors"], None, "abc", {1: 2, "a": 3}])
def test_a_choice_is_made_of_a_mapping(fields):
    with pytest.raises(ConfigError, match="expected"):
        EncoderChoice.from_dict(fields)


def test_paths_of_a_choice_are_absolute(tmp_path, monkeypatch, vectors_folder):
    monkeypatch.chdir(vectors_folder.parent)
    choice = EncoderChoice(vectors=f"./{vectors_folder.name}*0.5+wordllama")
    assert choice.vectors == f"{vectors_folder}*0.5+wordllama"
    settings = choice.open().settings
    monkeypatch.chdir(tmp_path)
    assert open_provider(**settings).settings == settings


def test_a_file_does_not_change_what_joined_names_mean(home, vectors_folder, tmp_path, monkeypatch):
    home.vectors.add("two", vectors_folder)
    monkeypatch.chdir(tmp_path)
    for name in ("two+wordllama", "two*2"):
        before = home.vectors.open(name).fingerprint
        (tmp_path / name).write_text("a 1 2\nb 3 4\n")
        assert home.vectors.open(name).fingerprint == before
        assert home.vectors.open(f"./{name}").dimension == 2


def test_a_corpus_for_a_vocabulary_is_texts(home):
    with pytest.raises(InputError, match="found one string"):
        home.vectors.fit_vocabulary("cut", "how do I", vectors="wordllama")
    with pytest.raises(InputError, match=r"the text is 3 \(int\)"):
        home.vectors.fit_vocabulary("cut", [3], vectors="wordllama")


def test_a_wrong_name_suggests_the_vectors_of_an_installed_package(monkeypatch):
    monkeypatch.setattr("gem_index.vectors.registry.plugins", lambda: {"medical-words": None})
    with pytest.raises(UnknownNameError, match="did you mean medical-words"):
        open_vectors("medical-word")
