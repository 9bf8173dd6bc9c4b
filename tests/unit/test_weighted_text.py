"""Texts with weighted fields, from the file to the score."""

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive
from brute_force import words_scores
from gem_index import CombinedEncoder, Document, GemConfig, GemEncoder, WeightedText, open_vectors
from gem_index.collection.write.building import use_index
from gem_index.collection.write.imports import read_export
from gem_index.errors import ConfigError, InputError
from gem_index.readers import DocumentReader
from gem_index.readers.fields import with_title_weights
from gem_index.text.analyzer import ENGLISH
from gem_index.text.tokens import search_tokens, token_weights, tokenize

TEXT = WeightedText.joined([("Open a bank account", 2.5), ("Where, in the river?", 1.0)])
QUERY = "bank account"


@pytest.fixture
def encoder(vectors_folder):
    vectors = open_vectors(str(vectors_folder))
    return GemEncoder(vectors, GemConfig(n_removed=3)).fit([str(TEXT), "two ducks", "tea in a cup"])


class TestText:
    def test_is_the_string_it_reads(self):
        assert TEXT == "Open a bank account\n\nWhere, in the river?"
        assert (TEXT.weights, type(str(TEXT))) == (((21, 2.5), (20, 1.0)), str)
        for again in (copy.copy(TEXT), copy.deepcopy(TEXT), pickle.loads(pickle.dumps(TEXT))):
            assert (again, again.weights, type(again)) == (TEXT, TEXT.weights, WeightedText)

    def test_bounds_of_weights_and_lengths(self):
        assert WeightedText("ab", [(0, 2.0), (2, 1.0)]).weights == ((0, 2.0), (2, 1.0))
        assert WeightedText("ab", [(1, 0.01), (1, 100)]).weights == ((1, 0.01), (1, 100.0))
        for weight in (0.0099, 100.1):
            with pytest.raises(InputError, match=r"a number above 0, from 0\.01 to 100"):
                WeightedText("ab", [(1, weight), (1, 1)])

    def test_word_search_repeats_a_word_by_the_rounded_weight(self):
        text = WeightedText("a b c d", [(2, 1.4), (2, 1.6), (2, 0.3), (1, 3.0)])
        assert search_tokens(text) == ["a", "b", "b", "c", "d", "d", "d"]

    def test_equal_weights_are_none(self):
        with pytest.raises(InputError, match="the weight of a part of a text is 0"):
            WeightedText.joined([("a", 0), ("b", 0)])
        assert type(WeightedText.joined([("a", 3.0), ("b", 3.0)])) is str
        assert type(WeightedText.joined([("a", 3.0)])) is str

    def test_each_token_has_the_weight_of_where_it_begins(self):
        assert token_weights(TEXT) == [2.5] * 4 + [1.0] * 4
        assert search_tokens(TEXT) == ["open"] * 2 + ["a"] * 2 + ["bank"] * 2 + ["account"] * 2 + [
            "where",
            "in",
            "the",
            "river",
        ]
        light = WeightedText("é1 été", [(3, 0.2), (3, 4)])
        assert token_weights(light) == [0.2, 4.0]
        assert search_tokens(light) == ["é1", *["été"] * 4]
        assert ENGLISH.terms(light) == ["e1", "é1", *["ete", "été"] * 4]

    @pytest.mark.parametrize(
        "weights",
        [
            [(3, 1.0)],
            [(4, 0.0)],
            [(4, -1.0)],
            [(4, float("nan"))],
            [(4, float("inf"))],
            [(4, True)],
            [(4, 0.009)],
            [(4, 101)],
            [(4, 10**400)],
            None,
            5,
            [(4, "2")],
            [(True, 1.0)],
            [(-1, 1.0), (5, 1.0)],
            [4],
            ["ab"],
            [(4,)],
        ],
    )
    def test_bad_weights_are_refused(self, weights):
        with pytest.raises(InputError, match="expected"):
            WeightedText("text", weights)


class TestVector:
    def test_a_word_counts_as_its_part_does(self, encoder):
        """Against the plain twin: Eq. 10 with every weight times that of its part."""
        tokens = tokenize(TEXT)
        rows, _ = encoder.vectors.lookup(tokens)
        components, config = encoder.components, encoder.config
        S, sigma = rows.T.astype(np.float64), components.singular_values
        settings = {"n_removed": config.n_removed, "ranking": config.ranking}
        parts = naive.weights(S, components.directions, sigma, window=config.window, **settings)
        vector = S @ (parts.sum(axis=1) * token_weights(TEXT))
        chosen = naive.select_directions(
            S, components.directions, sigma, config.n_removed, config.ranking
        )
        for direction in components.directions[chosen]:
            vector = vector - (vector @ direction) * direction
        expected = vector / np.linalg.norm(vector)
        np.testing.assert_allclose(encoder.encode([TEXT])[0], expected, atol=1e-5)

    def test_depends_on_no_neighbour(self, encoder):
        alone = encoder.encode([TEXT])[0]
        mixed = ["ein Füßchen", TEXT, "", str(TEXT), TEXT]
        rows = encoder.encode(mixed)
        np.testing.assert_array_equal(rows[1], alone)
        np.testing.assert_array_equal(rows[4], alone)
        np.testing.assert_array_equal(rows[3], encoder.encode([str(TEXT)])[0])
        assert rows[3] @ alone < 0.9999

    def test_weights_are_relative(self, encoder):
        more = WeightedText(TEXT, [(21, 25), (20, 10)])
        np.testing.assert_allclose(encoder.encode([more]), encoder.encode([TEXT]), atol=1e-6)
        one = WeightedText(TEXT, [(41, 7.0)])
        np.testing.assert_allclose(encoder.encode([one]), encoder.encode([str(TEXT)]), atol=1e-6)

    SINGLE = GemEncoder(open_vectors("wordllama"), GemConfig(n_removed=3))
    ENCODERS = (SINGLE, CombinedEncoder([SINGLE, SINGLE], [1, 0.5]))

    @given(weight=st.floats(0.01, 100))
    def test_shares_add_up_to_the_cosine(self, weight):
        text = WeightedText(TEXT, [(21, weight), (20, 1.0)])
        for encoder in self.ENCODERS:
            match = encoder.explain_match(QUERY, text)
            assert match.cosine == pytest.approx(encoder.similarity(QUERY, text), abs=1e-6)
            assert sum(word.share for word in match.second_words) == pytest.approx(match.cosine)

    def test_explains_the_weights_it_uses(self, encoder):
        weighed, plain = encoder.explain(TEXT).words, encoder.explain(str(TEXT)).words
        for one, other, counts in zip(weighed, plain, token_weights(TEXT), strict=True):
            assert one.alpha == pytest.approx(counts * other.alpha)
            assert one.alpha_n == other.alpha_n


ROWS = [
    {"id": 1, "subject": "river", "body": "where is the bank with the ducks"},
    {"id": 2, "subject": "bank account", "body": "where do I open one by the river"},
    {"id": 3, "body": "no subject here, tea alone"},
    {"id": 4, "subject": "only a subject", "body": None},
    *({"id": n, "subject": f"word{n}", "body": f"other{n} things"} for n in range(5, 30)),
]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "posts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return path


def reader(path, *fields):
    return DocumentReader([str(path)], text_fields=fields or ("subject*2", "body"))


class TestReader:
    def test_joins_fields_with_weights(self, path):
        one, two, three, four, *_ = reader(path)
        assert one.text.weights == ((7, 2.0), (32, 1.0))
        assert two.text == "bank account\n\nwhere do I open one by the river"
        assert [type(document.text) for document in (three, four)] == [str, str]
        assert one.metadata == {}

    @pytest.mark.parametrize(
        "weight", ["0", "-1", "x", "nan", "inf", "", "1e999", "1e300", "0.001"]
    )
    def test_a_weight_that_is_not_a_positive_number(self, path, weight):
        with pytest.raises(ConfigError, match="the weight of the text field 'subject' is"):
            reader(path, f"subject*{weight}")

    def test_a_name_with_an_asterisk(self, tmp_path):
        path = tmp_path / "a.csv"
        path.write_text("id,a*b,c\n1,one,two\n")
        (document,) = reader(path, "a*b*3", "c")
        assert document.text.weights == ((5, 3.0), (3, 1.0))

    def test_choices_make_the_same_reader(self, path):
        first = reader(path)
        assert first.choices == {"text_fields": ["subject*2", "body"]}
        assert DocumentReader([str(path)], **first.choices).choices == first.choices
        assert DocumentReader([str(path)]).choices == {}
        assert DocumentReader([str(path)], id_field="id").choices == {"id_field": "id"}


class TestCollection:
    @pytest.fixture
    def posts(self, home, vectors_folder, path):
        home.vectors.add("tiny", vectors_folder)
        home.build("posts", reader(path), vectors="tiny", config={"removed": 3, "components": 12})
        return home.collection("posts")

    @pytest.mark.parametrize("kind", ["flat", "sq8"])
    def test_files_and_tail_score_the_weighted_text(self, posts, path, kind):
        use_index(posts.access, kind)
        posts.compact()
        known = [document.text for document in posts.documents()]
        late = WeightedText.joined([("account", 3.0), ("tea in the bank", 1.0)])
        posts.upsert([Document(id="late", text=late)])
        texts = [document.text for document in posts.documents()]
        assert texts[-1].weights == late.weights
        rows = posts.encoder.encode([QUERY, *texts])
        cosines = rows[1:] @ rows[0]
        bm25, match = words_scores(texts, QUERY, known)
        expected = (cosines + 2.25 * match) / 3.25
        found = posts.search(QUERY, k=len(texts), exact=True)
        assert [hit.score for hit in found] == pytest.approx(sorted(expected)[::-1], abs=1e-5)
        names = [document.id for document in posts.documents()]
        for hit in found:
            place = names.index(hit.id)
            assert hit.cosine == pytest.approx(cosines[place], abs=1e-5)
            assert hit.bm25 == pytest.approx(bm25[place], rel=1e-4, abs=1e-5)
            assert getattr(hit.text, "weights", None) == getattr(texts[place], "weights", None)

    def test_hits_are_reranked_as_they_are_weighted(self, posts):
        hits = posts.search(QUERY, k=5, mode="dense")
        ranked = posts.rerank(QUERY, [(hit.id, hit.text) for hit in hits])
        assert [hit.score for hit in ranked] == pytest.approx([hit.score for hit in hits])
        mappings = [
            {"id": h.id, "text": str(h.text), "weights": getattr(h.text, "weights", None)}
            for h in hits
        ]
        assert posts.rerank(QUERY, mappings) == ranked

    @pytest.mark.parametrize(
        "reading", ['"x"', '{"x": 1}', '{"text_fields": [1]}', '{"text_fields": ["a*x"]}']
    )
    def test_a_damaged_reading_in_an_export(self, home, posts, tmp_path, reading):
        path = tmp_path / "posts.jsonl"
        posts.export(path)
        text = path.read_text()
        was = '"reading": {"text_fields": ["subject*2", "body"]}'
        assert was in text
        path.write_text(text.replace(was, f'"reading": {reading}'))
        with pytest.raises(InputError, match="is damaged: in its head"):
            home.import_collection(path, "again")

    def test_other_weights_are_another_document(self, posts, path):
        report = posts.upsert(reader(path))
        assert report.unchanged == len(ROWS)
        report = posts.upsert(reader(path, "subject*3", "body"))
        assert (report.updated, report.unchanged) == (len(ROWS) - 2, 2)
        assert posts.verify() == []

    @pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
    def test_export_carries_them(self, home, posts, tmp_path, suffix):
        path = tmp_path / f"posts.{suffix}"
        posts.export(path)
        assert [d.weights_json for d in read_export(path).documents()] == [
            d.weights_json for d in posts.documents()
        ]
        again = home.import_collection(path, "again")
        assert again.search(QUERY) == posts.search(QUERY)
        assert again.reading == posts.reading

    def test_only_an_export_with_weights_needs_the_newer_version(self, home, posts, tmp_path):
        plain = home.create_collection("plain", vectors=posts.status().vectors)
        plain.upsert([Document(id="1", text="Open a bank account")])
        for collection, version in ((posts, 2), (plain, 1)):
            collection.export(tmp_path / f"{version}.jsonl")
            head = json.loads((tmp_path / f"{version}.jsonl").read_text().partition("\n")[0])
            assert head["version"] == version

    def test_a_damaged_weight_in_an_export(self, home, posts, tmp_path):
        path = tmp_path / "posts.jsonl"
        posts.export(path)
        path.write_text(path.read_text().replace("[[7, 2.0]", "[[8, 2.0]"))
        with pytest.raises(InputError, match="do not add up"):
            home.import_collection(path, "again")
        assert "again" not in home

    def test_the_choice_is_kept_for_what_comes_later(self, home, posts, path):
        assert posts.reading == {"text_fields": ["subject*2", "body"]}
        home.build("posts", reader(path, "body", "subject"))
        assert posts.reading == {"text_fields": ["body", "subject"]}
        home.build("posts", [Document(id="x", text="tea")])
        assert posts.reading == {"text_fields": ["body", "subject"]}


class TestTitles:
    @pytest.mark.parametrize(
        ("names", "kept", "read"),
        [
            (["title", "body"], None, ["title*2", "body"]),
            (["body", "Subject"], None, ["body", "Subject*2"]),
            (["question", "answer"], ["question*2", "answer"], ["question*2", "answer"]),
            (["title", "body"], ["title", "body"], ["title", "body"]),  # as it was built
            (["title*1", "body"], None, ["title*1", "body"]),
            (["title", "body*3"], None, ["title", "body*3"]),
            (["title"], None, ["title"]),
            ("title", None, "title"),
            (["name", "body"], None, ["name", "body"]),
        ],
    )
    def test_a_title_among_several_fields_counts_twice(self, names, kept, read):
        assert with_title_weights(names, kept) == read

    @pytest.mark.parametrize("door", ["build", "upsert"])
    def test_in_a_collection(self, home, door):
        rows = [{"id": "1", "title": "renew a visa", "body": "where do I go?"}]
        if door == "build":
            home.build("faq", rows, text=["title", "body"])
        else:
            home.create_collection("faq").upsert(rows, text=["title", "body"])
        collection = home.collection("faq")
        [document] = (
            collection.get(["1"]).values()
            if isinstance(collection.get(["1"]), dict)
            else collection.get(["1"])
        )
        assert document.text.weights == ((14, 2.0), (14, 1.0))
        again = collection.upsert(rows, text=["title", "body"])
        assert again.unchanged == 1
