"""Sparse encoders: what determines their vectors, what is stored of it, and what is refused."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from gem_index.errors import ConfigError, InputError
from gem_index.index.fusion import MATCH_WEIGHT
from gem_index.sparse import SparseEncoder, encoder
from gem_index.text.analyzer import ENGLISH, Analyzer
from gem_index.text.synonyms import Synonyms

TEXTS = ["open a bank account", "a bank at the river", "a bank bank of the river river river"]
GERMAN = [f"Die Müllabfuhr kommt am Dienstag um {hour} Uhr in die Stadt" for hour in range(9)]
SYNONYMS = Synonyms.of_groups([["KTR", "coffee machine"], ["bank", "credit institution"]])


def plain(vectors):
    return [(each.indices.tolist(), each.values.tolist()) for each in vectors]


def fields_of(found):
    return {
        "format": "gem-index sparse encoder",
        "version": 1,
        "analyzer": found.analyzer.stored,
        "texts": found.texts,
        "mean_terms": found.mean_terms,
        "frequencies": found.frequencies,
    }


class TestFit:
    def test_the_statistics_are_counts_of_the_terms_of_texts(self):
        found = SparseEncoder.fit(iter(TEXTS), ENGLISH)
        terms = [ENGLISH.terms(text) for text in TEXTS]
        assert found.texts == 3
        assert found.mean_terms == sum(map(len, terms)) / 3
        assert found.frequencies == Counter(term for each in terms for term in set(each))

    @pytest.mark.parametrize(("texts", "language"), [(TEXTS, "en"), (GERMAN, "de")])
    def test_the_language_is_that_of_the_texts(self, texts, language):
        found = SparseEncoder.fit(iter(texts))
        assert found.analyzer.language == language
        assert found.fingerprint == SparseEncoder.fit(texts, Analyzer(language)).fingerprint

    @pytest.mark.parametrize("language", ["en", "de", "zh", "mul", "none"])
    def test_the_background_has_texts_of_thirty_words(self, language):
        found = SparseEncoder.background(language)
        assert (found.texts, found.frequencies) == (1, None)
        assert found.mean_terms == 30 * Analyzer(language).terms_per_word

    @pytest.mark.parametrize(
        ("texts", "mean", "told"),
        [
            (-1, 1, "the number of texts is -1; expected a whole number of at least 0"),
            (1.5, 1, "the number of texts is 1.5; expected a whole number of at least 0"),
            (1, -0.5, "the mean number of terms is -0.5; expected a number from 0 to 1.79769e+308"),
            (1, "7", "the mean number of terms is '7'; expected a number from 0 to 1.79769e+308"),
        ],
    )
    def test_numbers_out_of_their_bounds(self, texts, mean, told):
        with pytest.raises(ConfigError) as refused:
            SparseEncoder(ENGLISH, texts, mean, {})
        assert str(refused.value) == told
        assert SparseEncoder(ENGLISH, 0, 0, {}).embed_query("bank").indices.tolist() == []


class TestDocuments:
    def test_values_follow_their_formula(self):
        found = SparseEncoder.fit(TEXTS, ENGLISH)
        for text, vector in zip(TEXTS, found.embed_documents(TEXTS), strict=True):
            counts = Counter(ENGLISH.terms(text))
            norm = 1.2 * (0.25 + 0.75 * counts.total() / found.mean_terms)
            expected = {
                SparseEncoder.fit([term], ENGLISH).embed_documents([term])[0].indices[0]: count
                / (count + norm)
                for term, count in counts.items()
            }
            assert vector.indices.tolist() == sorted(expected)
            np.testing.assert_allclose(
                vector.values, [expected[index] for index in sorted(expected)], rtol=1e-6
            )

    @pytest.mark.parametrize("most", [1, 2, 3, 9])
    def test_blocks_of_texts_give_what_the_texts_give_alone(self, monkeypatch, most):
        texts = ["bank", "bank", "", *TEXTS, "river", "river"]
        found = SparseEncoder.fit(TEXTS, ENGLISH)
        alone = [found.embed_documents([text])[0] for text in texts]
        monkeypatch.setattr(encoder, "_BLOCK", most)
        assert plain(found.embed_documents(iter(texts))) == plain(alone)
        assert found.embed_documents([]) == []

    def test_without_statistics_a_text_still_has_a_vector(self):
        [vector] = SparseEncoder.fit([], ENGLISH).embed_documents(["bank"])
        assert len(vector.indices) == 1
        assert 0 < vector.values[0] < 1e-6


class TestSynonyms:
    def test_they_change_queries_and_nothing_else(self):
        texts = [*TEXTS, "the coffee machine leaks"]
        one = SparseEncoder.fit(texts, ENGLISH)
        other = one.with_synonyms(SYNONYMS)
        assert fields_of(other) == fields_of(one)
        assert plain(other.embed_documents(texts)) == plain(one.embed_documents(texts))
        assert one.rewritten("my KTR") == "my KTR"
        assert other.rewritten("my KTR") == "my coffee machine"
        assert plain([other.embed_query("KTR")]) == plain([one.embed_query("coffee machine")])
        assert not len(one.embed_query("KTR").indices)
        assert other.embed_query("bank").values.sum() == pytest.approx(MATCH_WEIGHT)

    def test_a_form_is_held_only_with_all_its_words(self):
        found = SparseEncoder.fit(["a coffee", "a leak"], ENGLISH).with_synonyms(SYNONYMS)
        assert found.rewritten("my KTR") == "my KTR"

    def test_a_form_without_indexed_words_is_held_by_no_text(self):
        """A single Chinese character is no word of the index, which has pairs of characters."""
        found = SparseEncoder.fit(["我们没有电脑", "他有电脑"], Analyzer("zh"))
        found = found.with_synonyms(Synonyms.of_groups([["不", "没有"]]))
        assert found.rewritten("不 电脑") == "没有 电脑"


class TestStored:
    @pytest.mark.parametrize("synonyms", [None, SYNONYMS])
    @pytest.mark.parametrize("language", ["en", "de"])
    def test_a_file_has_all_that_determines_the_vectors(
        self, tmp_path, monkeypatch, synonyms, language
    ):
        monkeypatch.setenv("HOME", str(tmp_path))
        found = SparseEncoder.fit([*TEXTS, *GERMAN], Analyzer(language))
        expected = fields_of(found)
        if synonyms is not None:
            found = found.with_synonyms(synonyms)
            expected["synonyms"] = synonyms.stored
        found.save("~/words.json")
        assert [path.name for path in tmp_path.iterdir()] == ["words.json"]
        content = (tmp_path / "words.json").read_text(encoding="utf-8")
        assert content == json.dumps(expected, sort_keys=True, ensure_ascii=False)
        again = SparseEncoder.load("~/words.json")
        assert again.to_json() == found.to_json() == content
        assert again.synonyms == found.synonyms
        assert again.fingerprint == found.fingerprint

    def test_the_fingerprint_depends_on_each_value_and_not_on_the_order(self):
        found = SparseEncoder(ENGLISH, 3, 2.5, {"bank": 2, "river": 1})
        others = [
            SparseEncoder(Analyzer("de"), 3, 2.5, {"bank": 2, "river": 1}),
            SparseEncoder(ENGLISH, 4, 2.5, {"bank": 2, "river": 1}),
            SparseEncoder(ENGLISH, 3, 2.6, {"bank": 2, "river": 1}),
            SparseEncoder(ENGLISH, 3, 2.5, {"bank": 2, "river": 2}),
            SparseEncoder(ENGLISH, 3, 2.5, {}),
            SparseEncoder(ENGLISH, 3, 2.5, None),
            found.with_synonyms(SYNONYMS),
        ]
        prints = {each.fingerprint for each in (found, *others)}
        assert len(prints) == 1 + len(others)
        assert (
            SparseEncoder(ENGLISH, 3, 2.5, {"river": 1, "bank": 2}).fingerprint == found.fingerprint
        )

    @pytest.mark.parametrize(
        ("content", "error", "told"),
        [
            (5, InputError, "is not a sparse encoder; expected a file that SparseEncoder.save wrote"),
            ([], InputError, "is not a sparse encoder; expected a file that SparseEncoder.save wrote"),
            ({"format": "x"}, InputError, "is not a sparse encoder; expected a file that SparseEncoder.save wrote"),
            ({"version": 2}, ConfigError, "has version 2; expected 1: upgrade gem-index"),
            ({"version": 0}, ConfigError, "has version 0; expected 1: upgrade gem-index"),
            ({"texts": None}, None, None),
            ({"frequencies": ...}, InputError, "is damaged; expected a file that SparseEncoder.save wrote"),
            ({"texts": ...}, InputError, "is damaged; expected a file that SparseEncoder.save wrote"),
            ({"frequencies": {"bank": "x"}}, InputError, "is damaged; expected a file that SparseEncoder.save wrote"),
            ({"frequencies": {"bank": None}}, InputError, "is damaged; expected a file that SparseEncoder.save wrote"),
            ({"frequencies": [1]}, InputError, "is damaged; expected a file that SparseEncoder.save wrote"),
        ],
    )  # fmt: skip
    def test_other_files(self, tmp_path, content, error, told):
        path = tmp_path / "words.json"
        if isinstance(content, dict):
            fields = fields_of(SparseEncoder.fit(TEXTS, ENGLISH)) | content
            content = {name: value for name, value in fields.items() if value is not ...}
        path.write_text(json.dumps(content))
        with pytest.raises(error or ConfigError) as refused:
            SparseEncoder.load(path)
        if told is not None:
            assert str(refused.value) == f"{path} {told}"

    def test_empty_statistics_come_back(self, tmp_path):
        for frequencies in ({}, None):
            SparseEncoder(ENGLISH, 0, 0, frequencies).save(tmp_path / "words.json")
            assert SparseEncoder.load(tmp_path / "words.json").frequencies == frequencies

    def test_a_file_that_is_missing(self, tmp_path):
        with pytest.raises(InputError) as refused:
            SparseEncoder.load(tmp_path / "none.json")
        assert str(refused.value) == (
            f"cannot read {tmp_path}/none.json: no such file or directory; expected a file that SparseEncoder.save wrote"
        )

    def test_a_file_is_replaced_only_by_a_whole_one(self, tmp_path, monkeypatch):
        path = tmp_path / "words.json"
        found = SparseEncoder.fit(TEXTS, ENGLISH)
        found.save(path)
        monkeypatch.setattr(SparseEncoder, "to_json", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            SparseEncoder.fit(GERMAN, ENGLISH).save(path)
        monkeypatch.undo()
        assert path.read_text() == found.to_json()
        assert [each.name for each in Path(tmp_path).iterdir()] == ["words.json"]


class TestRules:
    def test_a_rule_makes_vectors_of_documents_alone(self):
        found = SparseEncoder.fit(TEXTS, ENGLISH)
        assert json.loads(found.rule) == {
            "version": 1,
            "analyzer": ENGLISH.stored,
            "mean_terms": found.mean_terms,
        }
        again = SparseEncoder.of_rule(found.rule)
        assert (again.texts, again.mean_terms, again.frequencies) == (0, found.mean_terms, {})
        assert not len(again.embed_query("bank").indices)
        assert found.with_synonyms(SYNONYMS).rule == found.rule

    @pytest.mark.parametrize(
        "rule", ["", "[]", "{}", '{"version": 1, "mean_terms": "x"}', "x" * 200]
    )
    def test_what_is_no_rule_is_told_by_its_beginning(self, rule):
        with pytest.raises(ConfigError) as refused:
            SparseEncoder.of_rule(rule)
        told = repr(rule) if len(rule) < 80 else f"'{rule[:75]}...'"
        assert str(refused.value) == (
            f"found the rule {told} of sparse vectors; expected an analyzer and mean_terms; push in full again"
        )

    @pytest.mark.parametrize("version", [0, 2])
    def test_a_rule_of_another_version(self, version):
        rule = json.loads(SparseEncoder.fit(TEXTS, ENGLISH).rule) | {"version": version}
        with pytest.raises(ConfigError) as refused:
            SparseEncoder.of_rule(json.dumps(rule))
        assert str(refused.value) == (
            f"found sparse vectors of version {version}; expected 1; upgrade gem-index"
        )


@pytest.mark.parametrize("query", [None, 5, ["bank"]])
def test_a_query_is_a_text(query):
    with pytest.raises(InputError, match="^the query is "):
        SparseEncoder.fit(TEXTS, ENGLISH).embed_query(query)
