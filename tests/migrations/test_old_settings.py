"""Settings that adapters saved before fields were renamed, as they were: they open the same encoders."""

import json
from hashlib import sha256

import pytest

from gem_index import GemConfig, open_provider
from gem_index.errors import ConfigError
from gem_index.vectors import SourceOptions

TRAINED = {
    "window": 10,
    "removed": 3,
    "components": 45,
    "power": 2.0,
    "ranking": "singular",
    "removal": "sdr",
    "share": 0.4,
    "alphas": "nu",
}
STS = {
    "window": 7,
    "removed": 17,
    "components": 45,
    "power": 3.0,
    "ranking": "singular",
    "removal": "sdr",
    "alphas": "nsu",
}
CQA = STS | {"window": 6, "removed": 15, "ranking": "plain"}

# What NamedProvider.settings held at commit 19a3287, with the fingerprints of that commit.
SETTINGS = [
    {
        "vectors": "wordllama-gem",
        "config": TRAINED,
        "fingerprint": "947316a484f90ae3476bdeaeb2510e62241a67b0c76fd0b91e786ac1bfbe8014",
    },
    {
        "vectors": "wordllama",
        "config": TRAINED,
        "fingerprint": "a32d07a1e7cf264117d876564521868fe3d72f6a5694d12109da24b5df596f6e",
    },
    {
        "vectors": "wordllama",
        "config": CQA,
        "fingerprint": "59d2e5e4ae9aa39ecf5798a680811054345ed4debe64ab1aabeb3a1bd6e2b29d",
    },
    {
        "vectors": "wordllama-gem",
        "config": TRAINED | {"removed": 1, "components": 3},
        "fingerprint": "4ea5c8ff66e28fc63e0959cfdfdfb685ea0b56ecd3501aea9111dd5c25e06247",
    },
    {
        "config": {
            "encoders": [
                {"vectors": "wordllama", "config": STS | {"removed": 2}, "weight": 0.5},
                {"vectors": "wordllama-gem", "config": STS, "weight": 1.0},
            ]
        },
        "fingerprint": "a708ad512c4e3bc04ef59640f1966271c9ffc187d6b7dacb558655bdaa858de5",
    },
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings["fingerprint"][:6])
def test_saved_settings_open_the_same_encoder_and_are_saved_as_they_were(settings):
    """The fingerprint in the settings is checked when they are opened."""
    assert open_provider(**settings).settings == settings


def test_canonical_json_is_that_of_the_first_fingerprints():
    """Its SHA-256 is a part of every fingerprint."""
    found = sha256(GemConfig.trained(fit_words=0).to_json().encode()).hexdigest()
    assert found == "b7a1916eab5a52fa9f4cca83325476938b8e001bf399ae81bf187d502938c7c4"


def test_options_of_word_vectors_are_stored_as_they_were():
    options = SourceOptions(contractions="apostrophe", scale=0.1, oov="zero")
    stored = (
        '{"case": "keep", "dtype": null, "limit": null, "oov": "zero", "scale": 0.1, '
        '"tails": "apostrophe", "unit": false}'
    )
    assert options.to_json() == stored
    assert SourceOptions.from_json(stored) == options
    assert options.given() == {"scale": 0.1, "oov": "zero", "tails": "apostrophe"}


def test_fields_go_by_both_names_but_not_at_once():
    stored = {"removed": 2, "components": 9}
    own = {"n_removed": 2, "n_components": 9}
    assert GemConfig.of(stored) == GemConfig.of(own) == GemConfig(n_removed=2, n_components=9)
    assert json.loads(GemConfig.of(own).to_json()).items() >= stored.items()
    with pytest.raises(ConfigError, match="holds n_removed and removed, which are the same"):
        GemConfig.of({"removed": 2, "n_removed": 2})
    with pytest.raises(TypeError):
        GemConfig(removed=2)
