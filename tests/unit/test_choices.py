"""A collection that exists has the settings that a caller chooses, or the message names both."""

import dataclasses

import pytest

from gem_index import GemConfig
from gem_index.collection.write.choice import check_chunking
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.text.chunking import Chunking

SAME = "expected the same: leave it out, or build"


@pytest.fixture
def made(home, faq):
    return home.create_collection(
        "made", vectors="tiny", prior=7, chunking=Chunking(40), language="de", index="flat"
    )


def test_the_same_settings_agree(home, made):
    for given in (
        {},
        {"vectors": "tiny"},
        {"prior": 7},
        {"chunking": Chunking(40)},
        {"language": "de"},
        {"language": "auto"},
        {"index": "auto"},
        {"config": made.encoder.config},
        {"config": dataclasses.replace(made.encoder.config)},
    ):
        assert home.get_or_create_collection("made", **given).name == "made", given


def test_another_prior_is_refused_with_both_configurations(home, made):
    own = made.encoder.config
    wanted = dataclasses.replace(own, prior=8)
    with pytest.raises(ConfigError) as refused:
        home.get_or_create_collection("made", prior=8)
    assert str(refused.value) == (
        f"the collection made has the configuration {own.to_json()}, found {wanted.to_json()}; {SAME} a new collection"
    )


@pytest.mark.parametrize(
    ("chunking", "shown"), [(Chunking(30), "{'chunk': 30}"), (Chunking(None), "none")]
)
def test_another_chunking_is_refused_with_both(home, made, chunking, shown):
    with pytest.raises(ConfigError) as refused:
        home.get_or_create_collection("made", chunking=chunking)
    assert str(refused.value) == (
        f"the collection made has the chunking {{'chunk': 40}}, found {shown}; {SAME} the collection again with it"
    )
    home.create_collection("whole", vectors="tiny", chunking=Chunking(None))
    with pytest.raises(ConfigError, match=r"^the collection whole has the chunking none, found \{"):
        home.get_or_create_collection("whole", chunking=Chunking(30))


def test_a_chunking_of_an_earlier_version_is_the_same():
    check_chunking("made", Chunking(40, version=2), Chunking(40))
    check_chunking("made", Chunking(40), None)
    with pytest.raises(ConfigError):
        check_chunking("made", Chunking(40, 3), Chunking(40))


def test_another_language_is_refused_with_both(home, made):
    with pytest.raises(ConfigError) as refused:
        home.get_or_create_collection("made", language="fr")
    assert str(refused.value) == (
        f"the collection made has the language de, found fr; {SAME} the collection again with it"
    )


def test_other_vectors_are_refused_with_both_fingerprints(home, made):
    own = made.encoder.vectors.fingerprint
    with pytest.raises(FingerprintMismatchError) as refused:
        home.get_or_create_collection("made", vectors="wordllama")
    assert (refused.value.expected, refused.value.kind) == (own, "vectors")
    assert str(refused.value).startswith(
        f"the collection made was made with vectors {own[:12]}, found "
    )


def test_an_index_that_cannot_be_made_is_refused(home, made):
    with pytest.raises(ConfigError):
        home.get_or_create_collection("made", index="nonsense")


def test_the_weights_of_several_encoders_are_told(home, made):
    parts = [{"vectors": "tiny", "weight": weight} for weight in (1.0, 0.5)]
    with pytest.raises(ConfigError) as refused:
        home.get_or_create_collection("made", config={"encoders": parts})
    assert str(refused.value) == (
        "the collection made has 1 encoders with the weights [1.0], found 2 with the weights [1.0, 0.5]; expected the same: "
        "leave them out, or build a new collection"
    )


def test_a_preset_keeps_the_prior_that_was_chosen(home, faq):
    config = GemConfig(n_components=12, n_removed=5)
    home.create_collection("chosen", vectors="tiny", config=config, prior=9)
    again = home.get_or_create_collection("chosen", config=config)
    assert again.encoder.config.prior == 9
