"""The candidates of an evaluation: what they are made of, what they learn, and how they are described."""

from __future__ import annotations

import numpy as np
import pytest

from gem_index import GemConfig, open_vectors
from gem_index.errors import ConfigError
from gem_index.evaluate.candidates import (
    GEM,
    candidates,
    candidates_of,
    with_lexical,
)
from gem_index.evaluate.lexical_baselines import Bm25, TfIdf
from gem_index.home.choice import EncoderChoice
from known_scorers import Known, Spread


class TestCandidates:
    def test_a_hybrid_adds_the_weighted_words(self):
        corpus = ["a bank", "a river", "two ducks"]
        first, second = ["a bank", "the river"], ["the bank", "two ducks"]
        corpora = []
        found = with_lexical({GEM: lambda: Known(lambda a, b: 3.0, corpora), "x": TfIdf}, 0.5)
        assert list(found) == [GEM, "x"]
        scores = found[GEM]().fit(iter(corpus)).score(first, second)
        words = TfIdf().fit(corpus).score(first, second)
        assert words.any()
        np.testing.assert_allclose(scores, 3 + 0.5 * words)
        assert corpora == [corpus]
        for weight in (0, -1):
            with pytest.raises(ConfigError) as refused:
                with_lexical({GEM: TfIdf}, weight)
            assert (
                str(refused.value) == f"the lexical weight is {weight}; expected a number above 0"
            )

    def test_each_baseline_is_its_own(self, small_vectors):
        made = candidates(Spread, small_vectors, ("BM25", "mean", "TF-IDF"))
        assert [(name, type(make()).__name__) for name, make in made.items()] == [
            (GEM, "EncoderScorer"),
            ("BM25", "Bm25"),
            ("mean", "MeanEncoder"),
            ("TF-IDF", "TfIdf"),
        ]
        assert isinstance(made["BM25"](), Bm25)
        assert made["mean"]().vectors is small_vectors
        assert list(candidates(Spread, None, ("nothing",))) == [GEM]
        with pytest.raises(ConfigError) as refused:
            candidates(Spread, small_vectors, ("mean", "median"))
        assert str(refused.value) == (
            "the baseline is 'median'; expected mean, SIF, uSIF, p-mean, TF-IDF, BM25"
        )

    @pytest.mark.parametrize("fitted", [True, False])
    def test_a_fitted_encoder_learns_nothing_more(self, fitted):
        encoder = Spread()
        scorer = candidates(lambda: encoder, None, fitted=fitted)[GEM]()
        assert scorer.fit(["a", "b"]) is scorer
        assert encoder.corpora == ([] if fitted else [["a", "b"]])
        assert scorer.score(["a", "ab"], ["b", "a"]) == pytest.approx([0, 0.5**0.5])

    @pytest.mark.parametrize("background", [True, False])
    def test_a_choice_is_described_and_fitted_unless_it_is_to_be_left_as_it_is(self, background):
        choice = EncoderChoice(vectors="wordllama")
        found, head = candidates_of(choice, ("mean",), background=background)
        plain = choice.open().encoder
        assert head["vectors"] == "wordllama"
        assert head["config"]["window"] == plain.config.window
        assert list(found) == [GEM, "mean"]
        assert found["mean"]().vectors.fingerprint == plain.vectors.fingerprint
        texts = ["open a bank account", "two ducks swim", "a cup of tea"]
        own = found[GEM]().fit(texts)
        assert (own.encoder.fingerprint == plain.unfitted().fingerprint) == background

    def test_a_fitted_model_is_named_and_stays_as_it_is(self, home):
        texts = ["a bank", "a river"]
        home.models.fit("mine", texts, vectors="wordllama", config=GemConfig(window=3))
        model = home.models.open("mine")
        found, head = candidates_of(EncoderChoice(model="mine", home=home), ("mean",))
        assert head["vectors"] == "mine"
        assert head["config"]["window"] == 3
        own = found[GEM]().fit(["open a bank account", "two ducks swim"])
        assert own.encoder.fingerprint == model.fingerprint

    def test_several_encoders_are_described_and_baselines_have_the_vectors_of_the_first(self):
        encoders = [
            {"vectors": "wordllama", "config": {"window": 3}},
            {"vectors": "wordllama-gem", "config": {"window": 5}, "weight": 0.5},
        ]
        found, head = candidates_of(EncoderChoice(config={"encoders": encoders}), ("mean",))
        assert {name: value for name, value in head.items() if name != "config"} == {
            "vectors": ["wordllama", "wordllama-gem"],
            "weights": [1.0, 0.5],
        }
        assert [each["window"] for each in head["config"]] == [3, 5]
        first = open_vectors("wordllama").fingerprint
        assert found["mean"]().vectors.fingerprint == first
