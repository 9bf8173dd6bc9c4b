"""The transformer in scikit-learn's machinery, and the contract of embedding providers."""

import pickle
from dataclasses import asdict, replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks
from sklearn.utils.validation import check_is_fitted
from sklearn_gem import GemVectorizer

import calls
from gem_index import GemConfig, GemEncoder, open_provider, open_vectors
from gem_index.errors import ConfigError, FingerprintMismatchError
from gem_index.testing import EmbeddingProviderContract, fit_model, run_page, run_python

MONEY = [
    "where can I open a bank account",
    "which bank gives the best loan",
    "can I send money by phone",
    "what does a money transfer cost",
    "my bank card was refused",
    "how much interest is on a loan",
]
PERMITS = [
    "how do I renew my residence visa",
    "the visa office is closed",
    "where do I get a driving licence",
    "is my passport valid for a visa",
    "how long does a permit take",
    "my residence permit was lost",
]
TEXTS = MONEY + PERMITS
LABELS = ["money"] * 6 + ["permits"] * 6


class TestContract(EmbeddingProviderContract):
    embed = staticmethod(calls.embed)
    embed_query = staticmethod(calls.embed_query)

    def make(self, **choice):
        return GemVectorizer(**choice)


class TestFittedContract(TestContract):
    """After ``fit``: a named model or collection stays unchanged, otherwise the texts are fitted on."""

    def make(self, **choice):
        return GemVectorizer(**choice).fit(TEXTS)

    def default_encoder(self):
        return GemEncoder(open_vectors("wordllama-gem"), GemConfig.trained()).fit(TEXTS)

    def test_works_unfitted(self):
        rows = self.make().transform(TEXTS)
        np.testing.assert_array_equal(rows, self.default_encoder().encode(TEXTS))
        assert np.abs(rows - GemVectorizer().transform(TEXTS)).max() > 1e-3

    def test_works_fitted(self, tmp_path):
        fit_model(tmp_path / "m.safetensors", MONEY)
        named = GemVectorizer(model=tmp_path / "m.safetensors")
        np.testing.assert_array_equal(named.transform(TEXTS), named.fit(TEXTS).transform(TEXTS))


@pytest.mark.parametrize(
    "check",
    [
        checks.check_estimator_cloneable,
        checks.check_estimator_tags_renamed,
        checks.check_valid_tag_types,
        checks.check_estimator_repr,
        checks.check_no_attributes_set_in_init,
        checks.check_do_not_raise_errors_in_init_or_set_params,
        checks.check_mixin_order,
        checks.check_set_params,
        checks.check_get_params_invariance,
        checks.check_parameters_default_constructible,
    ],
    ids=lambda check: check.__name__,
)
def test_scikit_learns_own_checks_that_need_no_matrix(check):
    check("GemVectorizer", GemVectorizer())


def test_nothing_else_of_its_checks_takes_texts():
    """If scikit-learn begins to check transformers of strings, this test fails and shows it."""
    with pytest.warns(SkipTestWarning, match="Can't test estimator GemVectorizer which requires"):
        results = checks.check_estimator(GemVectorizer(), on_skip=None)
    assert [result["check_name"] for result in results] == ["check_estimator_cloneable"]


class TestInvariants:
    """scikit-learn's checks of other transformers, on texts."""

    def test_fit_returns_itself_and_changes_no_parameter(self):
        config = {"removed": 1}
        vectorizer = GemVectorizer("wordllama", config=config)
        before = dict(vectorizer.get_params(deep=False))
        assert vectorizer.fit(TEXTS, LABELS) is vectorizer
        assert vectorizer.get_params(deep=False) == before
        assert config == {"removed": 1}
        assert set(vars(vectorizer)) == {*before, "encoder_", "words_", "_fitted_with"}

    def test_transform_changes_nothing(self):
        for vectorizer in (GemVectorizer(), GemVectorizer().fit(TEXTS)):
            vectorizer.transform(TEXTS)
            before = dict(vars(vectorizer))
            pickle.dumps(vectorizer)
            vectorizer.transform(TEXTS[:3])
            assert vars(vectorizer) == before

    def test_parameters_set_later_are_heeded(self):
        vectorizer = GemVectorizer("wordllama")
        first = vectorizer.transform(TEXTS)
        vectorizer.set_params(vectors="wordllama-gem")
        second = vectorizer.transform(TEXTS)
        assert np.abs(first - second).max() > 1e-3
        np.testing.assert_array_equal(second, GemVectorizer("wordllama-gem").transform(TEXTS))

    def test_fit_and_transform_is_fit_transform(self):
        rows = GemVectorizer().fit_transform(TEXTS)
        np.testing.assert_array_equal(rows, GemVectorizer().fit(TEXTS).transform(TEXTS))
        assert rows.dtype == np.float32
        twice = GemVectorizer().fit(MONEY).fit(TEXTS)
        np.testing.assert_array_equal(rows, twice.transform(TEXTS))

    def test_texts_that_can_be_read_once_are_read_once(self):
        rows = GemVectorizer().fit_transform(text for text in TEXTS)
        np.testing.assert_array_equal(rows, GemVectorizer().fit_transform(TEXTS))

    def test_order_and_subsets_do_not_matter(self):
        vectorizer = GemVectorizer().fit(TEXTS)
        rows = vectorizer.transform(TEXTS)
        np.testing.assert_array_equal(vectorizer.transform(TEXTS[::-1]), rows[::-1])
        np.testing.assert_array_equal(vectorizer.transform(TEXTS[3:5]), rows[3:5])
        assert vectorizer.transform([]).shape == (0, 256)

    @pytest.mark.parametrize(
        "container",
        [list, tuple, iter, np.array, pd.Series, lambda texts: np.array(texts, dtype=object)],
    )
    def test_any_column_of_texts(self, container):
        rows = GemVectorizer().transform(TEXTS)
        np.testing.assert_array_equal(GemVectorizer().transform(container(TEXTS)), rows)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ("a text", "found a str; expected texts"),
            (7, "found a int"),
            (["a", None], r"row 1 is None \(NoneType\); expected a text"),
            (pd.Series(["a", np.nan]), r"row 1 is nan \(float\)"),
            (pd.DataFrame({"text": ["a"]}), "found 2 dimensions; expected texts in one"),
            (np.ones((2, 3)), "found 2 dimensions"),
        ],
    )
    def test_anything_else_is_refused(self, wrong, message):
        for method in (GemVectorizer().fit, GemVectorizer().transform):
            with pytest.raises(ValueError, match=message):
                method(wrong)

    def test_texts_without_a_word_cannot_be_fitted_on(self):
        with pytest.raises(ValueError, match="found no text with a word to fit on"):
            GemVectorizer().fit(["", "?!"])
        assert not GemVectorizer(config=GemConfig(prior=10)).fit(["", "?!"]).transform([""]).any()

    def test_whether_it_is_fitted(self):
        check_is_fitted(GemVectorizer())  # it needs no fit
        with pytest.raises(NotFittedError):
            check_is_fitted(GemVectorizer(), "encoder_")
        check_is_fitted(GemVectorizer().fit(TEXTS), "encoder_")


class TestProgress:
    def test_ends_with_the_whole_count(self):
        reports = []
        vectorizer = GemVectorizer(progress=lambda *report: reports.append(report)).fit(TEXTS)
        assert reports[-1] == ("fit", 12, 12)
        rows = vectorizer.transform(TEXTS)
        assert reports[-1] == ("encode", 12, 12)
        reports.clear()
        np.testing.assert_array_equal(vectorizer.fit_transform(TEXTS), rows)
        assert [report for report in reports if report[1] == 12] == [
            ("fit", 12, 12),
            ("encode", 12, 12),
        ]

    def test_a_clone_reports_to_the_same_function(self):
        reports = []
        copy = clone(GemVectorizer(progress=lambda *report: reports.append(report)))
        copy.transform(TEXTS)
        assert reports[-1] == ("encode", 12, 12)
        assert copy.set_params(progress=None).get_params()["progress"] is None
        reports.clear()
        copy.transform(TEXTS)
        assert reports == []

    def test_it_is_kept_by_a_pickle_and_opens_nothing_anew(self):
        vectorizer = GemVectorizer(progress=calls.ignore).fit(TEXTS)
        encoder = vectorizer.encoder_
        assert vectorizer.set_params(progress=calls.ignore).encoder_ is encoder
        again = pickle.loads(pickle.dumps(vectorizer))
        assert again.progress is calls.ignore
        np.testing.assert_array_equal(again.transform(TEXTS), vectorizer.transform(TEXTS))


class TestNestedParameters:
    def test_they_are_those_of_the_configuration(self):
        vectorizer = GemVectorizer(config=GemConfig.cqa())
        nested = {f"config__{name}": value for name, value in asdict(GemConfig.cqa()).items()}
        assert vectorizer.get_params(deep=True) == vectorizer.get_params(deep=False) | nested
        assert GemVectorizer(config="cqa").get_params()["config__window"] == 6
        assert GemVectorizer(config={"window": 3}).get_params()["config__window"] == 3
        for config in (None, "no preset", 7):  # word vectors are not opened for it
            vectorizer = GemVectorizer("nowhere", config=config)
            assert vectorizer.get_params(deep=True) == vectorizer.get_params(deep=False)

    def test_some_fields_change_what_suits_the_word_vectors(self):
        vectorizer = GemVectorizer(config={"window": 3})
        shown = vectorizer.get_params(deep=True)
        assert shown == vectorizer.get_params(deep=False) | {"config__window": 3}
        recommended = open_provider().encoder.config
        vectorizer.set_params(config__power=2.0)
        assert vectorizer.config == replace(recommended, window=3, power=2.0)

    def test_setting_one_keeps_the_others(self):
        vectorizer = GemVectorizer("wordllama", config="cqa")
        assert vectorizer.set_params(config__window=3) is vectorizer
        assert vectorizer.config == GemConfig.cqa(window=3)
        vectorizer.set_params(config__n_removed=2, config="transfer")
        assert vectorizer.config == GemConfig.transfer(n_removed=2)
        vectorizer.set_params(config=None, vectors="wordllama-gem", config__power=1)
        recommended = open_provider("wordllama-gem").encoder.config
        assert vectorizer.config == replace(recommended, power=1.0)

    def test_a_clone_keeps_them(self):
        vectorizer = GemVectorizer().set_params(config__window=3)
        copy = clone(vectorizer)
        assert copy.get_params() == vectorizer.get_params()
        np.testing.assert_array_equal(copy.transform(TEXTS), vectorizer.transform(TEXTS))
        assert np.abs(copy.transform(TEXTS) - GemVectorizer().transform(TEXTS)).max() > 1e-3

    def test_unknown_ones_and_bad_values_are_refused(self):
        vectorizer = GemVectorizer(config="cqa")
        with pytest.raises(ValueError, match="no parameter windo; expected some of window, n_rem"):
            vectorizer.set_params(vectors="wordllama", config__windo=3)
        with pytest.raises(ConfigError, match="window is -1; expected a whole number"):
            vectorizer.set_params(config__window=-1)
        with pytest.raises(ValueError, match="Invalid parameter 'vecters'"):
            vectorizer.set_params(vecters="wordllama")
        assert (vectorizer.config, vectorizer.vectors) == ("cqa", None)

    def test_a_named_model_keeps_its_configuration(self, tmp_path):
        fit_model(tmp_path / "m.safetensors", MONEY)
        vectorizer = GemVectorizer(model=tmp_path / "m.safetensors").set_params(config__window=3)
        with pytest.raises(ConfigError, match="found a configuration beside a fitted model"):
            vectorizer.fit(TEXTS)


class TestMachinery:
    def test_pipeline_and_cross_validation(self):
        pipeline = make_pipeline(GemVectorizer(), LogisticRegression())
        by_hand = []
        for test in ([0, 1, 6, 7], [2, 3, 8, 9], [4, 5, 10, 11]):
            train = [i for i in range(12) if i not in test]
            vectorizer = GemVectorizer().fit([TEXTS[i] for i in train])
            model = LogisticRegression().fit(
                vectorizer.transform([TEXTS[i] for i in train]), [LABELS[i] for i in train]
            )
            rows = vectorizer.transform([TEXTS[i] for i in test])
            by_hand.append(model.score(rows, [LABELS[i] for i in test]))
        assert list(cross_val_score(pipeline, TEXTS, LABELS, cv=3)) == by_hand
        pipeline.fit(TEXTS, LABELS)
        assert list(pipeline.predict(["a loan of the bank", "renewing a visa"])) == [
            "money",
            "permits",
        ]

    def test_grid_search_in_processes(self):
        pipeline = make_pipeline(GemVectorizer(), LogisticRegression())
        grid = {
            "gemvectorizer__config": ["transfer", {"removed": 1, "components": 3}],
            "gemvectorizer__vectors": ["wordllama", "wordllama-gem"],
        }
        search = GridSearchCV(pipeline, grid, cv=2, n_jobs=2, error_score="raise")
        search.fit(TEXTS, LABELS)
        assert len(search.cv_results_["params"]) == 4
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        alone = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(TEXTS, LABELS)
        np.testing.assert_array_equal(
            search.cv_results_["mean_test_score"], alone.cv_results_["mean_test_score"]
        )

    @pytest.mark.parametrize("config", [None, "cqa"])
    def test_grid_search_over_fields_of_the_configuration(self, config):
        pipeline = make_pipeline(GemVectorizer(config=config), LogisticRegression())
        grid = {"gemvectorizer__config__window": [0, 5], "gemvectorizer__config__power": [1.0]}
        search = GridSearchCV(pipeline, grid, cv=2, error_score="raise")
        search.fit(TEXTS, LABELS)
        present = open_provider(config=config).encoder.config
        by_hand = [
            cross_val_score(
                make_pipeline(GemVectorizer(config=changed), LogisticRegression()),
                TEXTS,
                LABELS,
                cv=2,
            ).mean()
            for changed in (replace(present, window=window, power=1.0) for window in (0, 5))
        ]
        np.testing.assert_array_equal(search.cv_results_["mean_test_score"], by_hand)
        best = search.best_estimator_[0]
        window = search.best_params_["gemvectorizer__config__window"]
        assert best.config == replace(present, window=window, power=1.0)
        assert best.encoder_.config == best.config
        assert pipeline[0].config is config

    def test_column_transformer_and_data_frames(self):
        frame = pd.DataFrame({"text": TEXTS, "length": [float(len(text)) for text in TEXTS]})
        columns = ColumnTransformer(
            [("gem", GemVectorizer(), "text"), ("scaled", StandardScaler(), ["length"])],
            verbose_feature_names_out=False,
        ).set_output(transform="pandas")
        rows = columns.fit_transform(frame)
        assert list(rows.columns) == [*(f"gemvectorizer{i}" for i in range(256)), "length"]
        np.testing.assert_array_equal(
            rows.iloc[:, :256].to_numpy(dtype=np.float32), GemVectorizer().fit_transform(TEXTS)
        )

    def test_feature_names_and_output(self):
        vectorizer = GemVectorizer().set_output(transform="pandas")
        frame = vectorizer.fit_transform(pd.Series(TEXTS, index=range(100, 112)))
        assert list(frame.columns) == list(vectorizer.get_feature_names_out())
        assert list(frame.index) == list(range(100, 112))
        assert len(GemVectorizer().get_feature_names_out()) == 256

    def test_clones_are_independent(self):
        vectorizer = GemVectorizer(config="cqa").fit(TEXTS)
        copy = clone(vectorizer)
        assert copy.get_params() == vectorizer.get_params()
        assert not hasattr(copy, "encoder_")
        copy.fit(MONEY)
        np.testing.assert_array_equal(
            vectorizer.transform(TEXTS), GemVectorizer(config="cqa").fit_transform(TEXTS)
        )


class TestSeveralEncoders:
    CONFIG = {  # noqa: RUF012 - read alone
        "encoders": [
            {"vectors": "wordllama", "config": {"removed": 1}},
            {"vectors": "wordllama-gem", "config": {"removal": "none"}, "weight": 0.5},
        ]
    }

    def test_are_fitted_and_saved_as_one(self):
        vectorizer = GemVectorizer(config=self.CONFIG).fit(TEXTS)
        rows = vectorizer.transform(TEXTS)
        assert rows.shape == (len(TEXTS), 512)
        again = pickle.loads(pickle.dumps(vectorizer))
        np.testing.assert_array_equal(again.transform(TEXTS), rows)
        assert clone(vectorizer).get_params()["config"] == self.CONFIG

    def test_one_field_of_theirs_is_nobodys(self):
        with pytest.raises(ValueError, match="the configuration has 2 encoders; expected one"):
            GemVectorizer(config=self.CONFIG).set_params(config__window=3)


class TestSaving:
    def test_joblib_and_another_process(self, tmp_path):
        vectorizer = GemVectorizer(config="cqa").fit(TEXTS)
        joblib.dump(vectorizer, tmp_path / "vectorizer.joblib")
        assert (tmp_path / "vectorizer.joblib").stat().st_size < 300_000  # no word vectors inside
        script = (
            "import joblib\n"
            "vectorizer = joblib.load('vectorizer.joblib')\n"
            "print(vectorizer.encoder_.fingerprint, vectorizer.transform(['a visa'])[0].tolist())"
        )
        answer = run_python("-c", script).stdout
        row = vectorizer.transform(["a visa"])[0].tolist()
        assert answer == f"{vectorizer.encoder_.fingerprint} {row}\n"

    def test_a_fit_is_kept_whatever_parameters_are_set_later(self):
        vectorizer = GemVectorizer("wordllama", config="cqa").fit(TEXTS)
        rows = vectorizer.transform(TEXTS)
        vectorizer.set_params(vectors="wordllama-gem", config="sts")
        again = pickle.loads(pickle.dumps(vectorizer))
        np.testing.assert_array_equal(again.transform(TEXTS), rows)
        assert again.get_params() == vectorizer.get_params()
        assert again.encoder_.fingerprint == vectorizer.encoder_.fingerprint

    def test_other_vectors_are_refused_by_name(self):
        state = GemVectorizer("wordllama", config="cqa").__getstate__()
        state["vectors"] = "wordllama-gem"
        with pytest.raises(
            FingerprintMismatchError, match="saved with wordllama-gem was made with the encoder"
        ):
            GemVectorizer().__setstate__(state)


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/sklearn.md"])
def test_the_pages_run(page):
    run_page(Path(__file__).parents[1] / page)
