"""Collections, models and providers with several encoders side by side: everything that works with one encoder."""

import json
import pickle
import re

import numpy as np
import pytest

from brute_force import documents, words_scores
from gem_index import CombinedEncoder, Document, GemConfig, GemEncoder, Home, open_provider
from gem_index.collection.write import refit_checkpoint
from gem_index.collection.write.building import use_index
from gem_index.errors import (
    ConfigError,
    CorruptionError,
    FingerprintMismatchError,
    InputError,
)
from stored import execute

QUERY = "open a bank account"
TWO = {
    "encoders": [
        {"vectors": "tiny", "config": {"components": 12, "removed": 5}},
        {"vectors": "tiny", "config": {"removal": "none", "prior": 50}, "weight": 0.25},
    ]
}


def fill(home, vectors_folder, built):
    home.vectors.add("tiny", vectors_folder)
    if built:
        home.build("two", documents(60), config=TWO)


@pytest.fixture
def home(request, copied_home, small_vectors_folder):
    return copied_home(fill, small_vectors_folder, "two" in request.fixturenames)


@pytest.fixture
def two(home):
    return home.collection("two")


def expected(home, texts):
    """The encoder that a collection of these texts has, made by hand."""
    vectors = home.vectors.open("tiny")
    configs = [
        GemConfig(n_components=12, n_removed=5, prior=10_000),
        GemConfig(removal="none", prior=50),
    ]
    encoders = [GemEncoder(vectors, config).fit(texts) for config in configs]
    return CombinedEncoder(encoders, [1.0, 0.25])


class TestCollection:
    def test_its_model_is_fitted_as_by_hand(self, home, two):
        encoder = expected(home, [document.text for document in documents(60)])
        status = two.status()
        assert two.encoder.fingerprint == encoder.fingerprint == status.fingerprint
        assert (status.vectors, status.preset) == ("tiny, tiny", "custom, transfer")
        assert (status.prior, status.fitted, status.since_fit) == (10_000, 60, 0)
        assert Home(home.root).collection("two").encoder.fingerprint == encoder.fingerprint

    @pytest.mark.parametrize("kind", ["flat", "sq8"])
    def test_searches_files_and_tail(self, home, two, kind):
        use_index(two.access, kind)
        two.refit()
        two.upsert(documents(30, 60))
        texts = [document.text for document in two.documents()]
        rows = two.encoder.encode([QUERY, *texts])
        cosines = rows[1:] @ rows[0]
        hits = two.search(QUERY, k=5, mode="dense", exact=True)
        assert [hit.score for hit in hits] == pytest.approx(sorted(cosines)[:-6:-1], abs=1e-5)
        _, match = words_scores(texts, QUERY, texts[:60])
        fused = sorted((cosines + 2.25 * match) / 3.25)
        assert [hit.score for hit in two.search(QUERY, k=5, exact=True)] == pytest.approx(
            fused[:-6:-1], abs=1e-5
        )
        (hit,) = two.search(QUERY, k=1, why=True, exact=True)
        assert hit.why.cosine == pytest.approx(hit.cosine, abs=1e-5)
        assert hit.why.fingerprint == two.encoder.fingerprint

    def test_refits_all_of_them(self, home, two):
        two.upsert(documents(30, 60))
        before = two.encoder.fingerprint
        drift = two.drift()
        two.refit()
        texts = [document.text for document in two.documents()]
        assert two.encoder.fingerprint == expected(home, texts).fingerprint != before
        assert (drift.since_fit, len(drift.angles)) == (30, 24 + 12)
        assert list(drift.angles) == sorted(drift.angles)
        assert two.drift().score_change == 0

    def test_resumes_from_the_fit_of_a_killed_refit(self, home, two, monkeypatch):
        two.upsert(documents(30, 60))
        monkeypatch.setattr(refit_checkpoint.RefitCheckpoint, "checkpoint", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            two.refit()
        monkeypatch.undo()
        monkeypatch.setattr(CombinedEncoder, "fit", lambda *_: 1 / 0)
        two.refit()
        texts = [document.text for document in two.documents()]
        assert two.encoder.fingerprint == expected(home, texts).fingerprint

    @pytest.mark.parametrize(("more", "known"), [([], 0.5), ([{"vectors": "wordllama"}], 1.0)])
    def test_a_word_is_known_if_one_encoder_knows_it(self, home, more, known):
        config = {"encoders": [{"vectors": "tiny"}, *more]}
        built = home.build(
            "zoo",
            [Document(id="a", text="a bank and two zebras giraffes lions monkeys")],
            config=config,
        )
        assert built.known_words == known

    @pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
    def test_export_and_import(self, home, two, tmp_path, suffix):
        path = tmp_path / f"two.{suffix}"
        assert two.export(path) == 60
        again = home.import_collection(path, "again")
        assert again.encoder.fingerprint == two.encoder.fingerprint
        assert again.search(QUERY) == two.search(QUERY)
        again.refit()
        assert again.encoder.fingerprint == two.encoder.fingerprint
        with pytest.raises(InputError, match="tiny"):
            Home(tmp_path / "elsewhere").import_collection(path)

    @pytest.mark.parametrize(
        ("change", "problem"),
        [
            (lambda model: model["parts"].pop(), "parts are .*not 2 to 100"),
            (lambda model: model["parts"][1].pop("weight"), "without a weight above 0"),
            (lambda model: model["parts"][1].update(weight=-1.0), "without a weight above 0"),
            (lambda model: model["parts"][1].update(vectors="/etc/passwd"), "vectors name"),
            (lambda model: model["parts"][0].update(extra=1), "unknown field 'extra'"),
            (lambda model: model.update(extra=1), "unknown field 'extra'"),
            (lambda model: model.update(dimension=7), "not the sum of its parts"),
            (lambda model: model.update(fingerprint="x"), "not a SHA-256"),
        ],
    )
    def test_a_damaged_export_leaves_nothing(self, home, two, tmp_path, change, problem):
        path = tmp_path / "two.jsonl"
        two.export(path)
        head, *rest = path.read_text().splitlines(keepends=True)
        fields = json.loads(head)
        assert fields["version"] == 2  # earlier versions cannot read several encoders
        change(fields["model"])
        path.write_text(json.dumps(fields) + "\n" + "".join(rest))
        with pytest.raises(InputError, match=problem):
            home.import_collection(path, "again")
        assert [status.name for status in home.collections()] == ["two"]

    def test_backup_verify_compact_and_drop(self, home, two, tmp_path):
        home.backup(tmp_path / "copy")
        copy = Home(tmp_path / "copy")
        assert copy.collection("two").search(QUERY) == two.search(QUERY)
        assert copy.verify() == []
        two.delete(["d0"])
        home.compact("two")
        assert home.verify() == []
        with pytest.raises(InputError, match="collection two"):
            home.vectors.remove("tiny")
        home.drop("two")
        home.vectors.remove("tiny")

    def test_stored_components_that_changed_are_told(self, home, two):
        execute(home, "UPDATE model_parts SET weight = 0.5 WHERE weight = 0.25")
        with pytest.raises(CorruptionError, match="are not those that were fitted"):
            Home(home.root).collection("two").search(QUERY)

    def test_a_later_build_agrees_or_is_refused(self, home, two):
        report = home.build("two", documents(5, 60), config=TWO)
        assert (report.added, report.documents) == (5, 65)
        home.build("two", documents(5, 65))
        first, second = TWO["encoders"]
        for others, problem in (
            ([first, {**second, "weight": 0.5}], "has 2 encoders with the weights"),
            ([first], "has 2 encoders with the weights"),
            ([first, second, second], "has 2 encoders with the weights"),
            ([first, {**second, "config": {"removal": "sir"}}], "has the configuration"),
        ):
            with pytest.raises(ConfigError, match=problem):
                home.build("two", documents(5, 70), config={"encoders": others})
        other = {**second, "vectors": "wordllama"}
        with pytest.raises(FingerprintMismatchError):
            home.build("two", documents(5, 70), config={"encoders": [first, other]})
        with pytest.raises(ConfigError, match="has 2 encoders with the weights"):
            home.build("two", documents(5, 70), vectors="tiny")
        assert len(two) == 70

    def test_the_weight_of_a_single_encoder_means_nothing(self, home):
        one = {"encoders": [{**TWO["encoders"][1], "weight": 0.25}]}
        home.build("one", documents(5), config=one)
        home.build("one", documents(5, 5), config=one)
        assert isinstance(home.collection("one").encoder, GemEncoder)
        assert len(home.collection("one")) == 10

    def test_nothing_is_left_of_a_build_that_fails(self, home, vectors_folder):
        path = str(vectors_folder)
        encoders = [{"vectors": path}, {"vectors": path}, {"vectors": "no-such-vectors"}]
        with pytest.raises(InputError, match="no-such-vectors"):
            home.build("new", documents(5), config={"encoders": encoders})
        assert home.collections() == []
        assert {info.name for info in home.vectors.list()} == {"wordllama", "wordllama-gem", "tiny"}

    def test_vectors_of_a_build_that_cannot_be_fitted_are_forgotten(self, home, vectors_folder):
        config = {"encoders": [{"vectors": str(vectors_folder), "config": {"prior": 0}}]}
        with pytest.raises(InputError, match="found no text with a word"):
            home.build("new", [Document(id="1", text="!!!")], config=config)
        assert home.collections() == []
        assert {info.name for info in home.vectors.list()} == {"wordllama", "wordllama-gem", "tiny"}

    @pytest.mark.parametrize(
        ("config", "problem"),
        [
            ({"encoders": TWO["encoders"] * 51}, "has 102 encoders; expected at most 100"),
            ({**TWO, "removed": 2}, "has 'removed' beside encoders"),
            ({"encoders": []}, "has no configuration"),
            ({"encoders": [{"vectors": "tiny", "config": {"share": object()}}]}, "share is"),
        ],
    )
    def test_a_configuration_that_is_none(self, home, config, problem):
        with pytest.raises(ConfigError, match=problem):
            home.build("new", documents(5), config=config)
        assert home.collections() == []


def test_a_model_of_several_is_kept_under_a_name(home):
    texts = [document.text for document in documents(60)]
    encoder = home.models.fit("both", texts, config=TWO)
    assert encoder.fitted
    assert home.models.open("both").fingerprint == encoder.fingerprint
    (record,) = home.models.list()
    assert [part["weight"] for part in record.config["encoders"]] == [1.0, 0.25]
    assert (record.name, record.vectors, record.sentences) == ("both", "tiny, tiny", 60)
    home.models.remove("both")
    assert not execute(home, "SELECT * FROM model_parts")


class TestProvider:
    def test_opens_from_a_configuration(self, home):
        provider = open_provider(config=TWO, home=home)
        again = open_provider(**provider.settings)
        assert again.fingerprint == provider.fingerprint
        assert provider.settings["config"]["encoders"][1]["weight"] == 0.25
        rows = pickle.loads(pickle.dumps(provider)).embed_documents([QUERY])
        np.testing.assert_array_equal(rows, provider.embed_documents([QUERY]))
        with pytest.raises(ConfigError, match="beside encoders that name their own"):
            open_provider("tiny", config=TWO, home=home)

    def test_opens_the_model_of_a_collection_and_a_file(self, home, two, tmp_path):
        provider = open_provider(collection="two", home=home)
        assert provider.fingerprint == two.encoder.fingerprint
        assert open_provider(**provider.settings).fingerprint == provider.fingerprint
        path = tmp_path / "two.safetensors"
        two.encoder.save(path)
        found = open_provider(vectors="tiny, tiny", model=path, home=home)
        assert found.fingerprint == provider.fingerprint
        assert open_provider(**found.settings).fingerprint == provider.fingerprint
        both = open_provider(vectors="tiny, tiny", collection="two", home=home)
        assert both.fingerprint == provider.fingerprint
        with pytest.raises(ConfigError, match="has 2 encoders, found 1 names of vectors"):
            open_provider(vectors="tiny", collection="two", home=home)
        with pytest.raises(ConfigError, match="has 2 encoders, found 1 word vectors"):
            open_provider(vectors="tiny", model=path, home=home)
        with pytest.raises(FingerprintMismatchError):
            open_provider(vectors="tiny, wordllama", model=path, home=home)
        with pytest.raises(ConfigError, match="has 2 encoders; expected one"):
            GemEncoder.load(path, home.vectors.open("tiny"))
        path.write_bytes(path.read_bytes().replace(b"weight", b"wEight"))
        with pytest.raises(CorruptionError, match="is not a gem-index model"):
            open_provider(vectors="tiny, tiny", model=path, home=home)


def test_each_encoder_explains_its_weights(home, two):
    explanation = two.encoder.explain(QUERY)
    assert (explanation.text, explanation.fingerprint) == (QUERY, two.encoder.fingerprint)
    assert [part.weight for part in explanation.encoders] == [1.0, 0.25]
    for part, encoder in zip(explanation.encoders, two.encoder.encoders, strict=True):
        assert part.explanation == encoder.explain(QUERY)
    shown = explanation._repr_html_()
    assert re.findall("<p>(.*?)</p><table", shown) == ["weight 1", "weight 0.25"]
    assert shown.count("<table") == 2


def test_components_fitted_before_make_the_encoder_again(home, two):
    parts = [part.components for part in two.encoder.encoders]
    assert two.encoder.unfitted().with_components(parts).fingerprint == two.encoder.fingerprint
    first = two.encoder.encoders[0]
    assert first.unfitted().with_components(parts[:1]).fingerprint == first.fingerprint


def test_progress_is_reported_to_the_end(home, two):
    told = []
    two.encoder.encode(["a bank"] * 3, progress=lambda *found: told.append(found))
    assert told == [("encode", 1, 3), ("encode", 3, 3)]
    texts = [Document(id="a", text="a bank").text] * 5
    fresh = two.encoder.unfitted()
    assert not fresh.fitted
    fresh.fit(texts, progress=lambda *found: told.append(found))
    assert told[-1] == ("fit", 5, 5)
