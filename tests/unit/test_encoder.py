"""The encoder: invariance, fitting, fingerprints, storing."""

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from safetensors import safe_open
from safetensors.numpy import save_file

from gem_index import GemConfig, GemEncoder
from gem_index.errors import ConfigError, CorruptionError, FingerprintMismatchError, InputError
from gem_index.gem import vector_output
from gem_index.gem.background import RECIPE, pseudo_sentences
from gem_index.gem.batches import TokenBatch, blocks_of_texts, ranges_by_length
from gem_index.gem.components import Components, CorpusStatistics
from gem_index.gem.vector_output import write_vectors
from gem_index.vectors.mapped import MappedVectors

CORPUS = [
    "the bank account is open and the bank has money",
    "two ducks swimming in the river water",
    "renew your visa at the school by phone",
    "a cup of tea and a phone plan with battery",
    "how do they open an account for the loan",
    "",
    "river river river",
    "...",
    "can you renew the loan at this bank",
] * 3


@pytest.fixture(scope="module")
def fitted(small_vectors):
    return GemEncoder(small_vectors, GemConfig(n_removed=4, n_components=8), threads=1).fit(CORPUS)


def random_texts(count, seed=3):
    rng = np.random.default_rng(seed)
    words = " ".join(CORPUS).split() + ["unknownword", "..."]
    return [" ".join(rng.choice(words, size=rng.integers(0, 40))) for _ in range(count)]


class TestInvariance:
    def test_bytes_do_not_depend_on_batch_order_or_threads(
        self, small_vectors, fitted, monkeypatch
    ):
        texts = random_texts(500)
        together = fitted.encode(texts)
        alone = np.concatenate([fitted.encode([text]) for text in texts])
        backwards = fitted.encode(texts[::-1])[::-1]
        threaded = GemEncoder(small_vectors, fitted.config, components=fitted.components, threads=4)
        monkeypatch.setattr("gem_index.gem.encoder._PARALLEL_CHARACTERS", 0)
        assert together.tobytes() == alone.tobytes()
        assert together.tobytes() == np.ascontiguousarray(backwards).tobytes()
        assert together.tobytes() == threaded.encode(texts).tobytes()

    def test_few_distinct_words_are_looked_up_at_once(self, fitted, monkeypatch):
        """Each needs a vector in memory; one text is not divided."""
        texts = [f"new{i} other{i} river bank" for i in range(100)]
        long = " ".join(f"word{i}" for i in range(50))
        expected = fitted.encode([*texts, long])
        counts, weigh = [], GemEncoder._weigh

        def counted(self, batch):
            counts.append(len(batch.words))
            return weigh(self, batch)

        monkeypatch.setattr("gem_index.gem.encoder._BATCH_CHARACTERS", 200)
        monkeypatch.setattr(GemEncoder, "_weigh", counted)
        assert fitted.encode([*texts, long]).tobytes() == expected.tobytes()
        assert max(counts[:-1]) <= 20
        assert counts[-1] == 50

    def test_a_fit_looks_few_distinct_words_up_at_once(self, fitted, monkeypatch):
        texts = [f"new{i} other{i} river bank" for i in range(100)]
        expected = fitted.unfitted().fit(texts)
        lookup, counts = type(fitted.vectors).lookup, []

        def counted(self, words):
            counts.append(len(words))
            return lookup(self, words)

        monkeypatch.setattr("gem_index.gem.encoder._BATCH_CHARACTERS", 200)
        monkeypatch.setattr(type(fitted.vectors), "lookup", counted)
        found = fitted.unfitted().fit(texts)
        assert max(counts) <= 20
        assert found.fingerprint == expected.fingerprint
        assert found.encode(texts).tobytes() == expected.encode(texts).tobytes()

    def test_bytes_do_not_depend_on_the_block_size(self, fitted, monkeypatch):
        texts = random_texts(100)
        whole = fitted.encode(texts)
        monkeypatch.setattr("gem_index.gem.encoder._BLOCK", 7)
        assert fitted.encode(texts).tobytes() == whole.tobytes()

    def test_threads_may_share_an_encoder(self, fitted):
        texts = random_texts(50)
        expected = fitted.encode(texts).tobytes()
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: fitted.encode(texts).tobytes(), range(32)))
        assert set(found) == {expected}

    def test_a_fit_does_not_depend_on_threads(self, small_vectors, fitted, monkeypatch):
        monkeypatch.setattr("gem_index.gem.encoder._PARALLEL_CHARACTERS", 0)
        threaded = GemEncoder(small_vectors, fitted.config, threads=3).fit(CORPUS)
        assert threaded.fingerprint == fitted.fingerprint


class TestEncode:
    def test_rows_are_unit_float32_and_empty_texts_are_zero(self, fitted):
        vectors = fitted.encode(["the river", "", "...", "open the bank"])
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), [1, 0, 0, 1], atol=1e-6)

    def test_no_texts_give_no_rows(self, fitted):
        assert fitted.encode([]).shape == (0, 24)
        assert fitted.encode(iter(())).shape == (0, 24)

    @pytest.mark.parametrize("wrong", [3, None, ("a", "b"), b"bytes"])
    def test_anything_but_a_string_is_refused_with_its_position(self, fitted, wrong):
        texts = ["the river"] * 40_000 + [wrong]
        with pytest.raises(InputError, match=r"text 40000 is .*; expected a string"):
            fitted.encode(texts)
        with pytest.raises(InputError, match=r"text 1 is "):
            GemEncoder(fitted.vectors).fit(["the river", wrong])

    def test_a_single_string_is_refused(self, fitted):
        with pytest.raises(InputError, match="found one string 'the river'"):
            fitted.encode("the river")

    def test_never_nan_whatever_the_vectors(self):
        rows = np.array(
            [[0, 0, 0], [1e-30, 0, 0], [1e18, 1e18, 0], [1, 1, 1], [1, 1, 1 + 1e-7]], np.float32
        )
        vectors = MappedVectors.from_words(["zero", "tiny", "huge", "one", "near"], rows)
        texts = [
            "zero",
            "zero zero tiny",
            "huge tiny one",
            "one near one near",
            "tiny tiny",
            "huge huge zero",
            "one",
        ]
        for config in (
            GemConfig(),
            GemConfig.cqa(),
            GemConfig.transfer(),
            GemConfig(alphas="", removal="sir"),
        ):
            encoder = GemEncoder(vectors, config).fit(texts)
            found = encoder.encode(texts)
            assert np.isfinite(found).all()
            norms = np.linalg.norm(found, axis=1)
            assert np.all((np.abs(norms - 1) < 1e-5) | (norms == 0))

    def test_a_vector_that_removal_cancels_is_zero_not_noise(self, small_vectors):
        encoder = GemEncoder(small_vectors, GemConfig(n_removed=17)).fit(["river"])
        assert not encoder.encode(["river"]).any()

    def test_a_text_of_one_word_said_over_and_over(self, fitted):
        np.testing.assert_allclose(
            fitted.encode(["bank " * 5000])[0], fitted.encode(["bank"])[0], atol=1e-6
        )

    def test_similarity_is_the_inner_product(self, fitted):
        a, b = fitted.encode(["open a bank account", "the river"]).astype(np.float64)
        assert fitted.similarity("open a bank account", "the river") == pytest.approx(a @ b)
        assert fitted.similarity("the river", "the river") == pytest.approx(1.0)
        assert fitted.similarity("the river", "...") == 0.0

    def test_similarity_is_a_cosine_whatever_the_rounding(self, fitted, monkeypatch):
        vector = np.array([0.6, 0.8], np.float32)
        assert vector.astype(np.float64) @ vector > 1
        for sign in (1, -1):
            monkeypatch.setattr(
                fitted, "encode", lambda _, sign=sign: np.stack([vector, sign * vector])
            )
            assert fitted.similarity("a", "b") == sign


class TestExplain:
    def test_anything_but_text_is_refused(self, fitted):
        with pytest.raises(InputError, match=r"the text is 5 \(int\); expected a string"):
            fitted.explain(5)

    def test_names_words_and_sums_the_used_weights(self, small_vectors, fitted):
        words = fitted.explain("The river unknownword, river").words
        assert [word.token for word in words] == ["the", "river", "unknownword", "river"]
        assert [word.known for word in words] == [True, True, False, True]
        assert all(math.isclose(w.alpha, w.alpha_n + w.alpha_s + w.alpha_u) for w in words)
        novelty = GemEncoder(
            small_vectors,
            GemConfig(alphas="n", n_removed=4, n_components=8),
            components=fitted.components,
        )
        assert [w.alpha for w in novelty.explain("the river").words] == [
            w.alpha_n for w in fitted.explain("the river").words
        ]

    def test_a_repeated_word_brings_nothing_new(self, fitted):
        first, _, third = fitted.explain("river bank river").words
        assert (first.alpha_n, first.alpha_s, first.alpha_u) == (1.0, 0.0, 1.0)
        assert third == replace(first, share=third.share)
        assert third.share == pytest.approx(first.share)

    def test_the_weights_are_those_of_the_vector(self, small_vectors, fitted):
        text = "two ducks swimming in the river"
        config = GemConfig(removal="none", n_removed=4, n_components=8)
        encoder = GemEncoder(small_vectors, config, components=fitted.components)
        alphas = np.array([word.alpha for word in encoder.explain(text).words])
        total = alphas @ small_vectors.lookup(text.split())[0]
        np.testing.assert_allclose(
            encoder.encode([text])[0], total / np.linalg.norm(total), atol=1e-6
        )

    @pytest.mark.parametrize("text", ["two ducks swimming in the river", "ducks and ducks", "the"])
    def test_shares_are_what_words_add_to_the_vector(self, fitted, text):
        words = fitted.explain(text).words
        vector = fitted.encode([text])[0].astype(np.float64)
        added = fitted.word_vectors(text)
        np.testing.assert_allclose(added.sum(axis=0), vector, atol=1e-6)
        for word, part in zip(words, added, strict=True):
            assert word.share == pytest.approx(part @ vector, abs=1e-6)
        assert sum(word.share for word in words) == pytest.approx(1.0)

    def test_the_strongest_words_come_first_in_python(self, fitted):
        explanation = fitted.explain("two ducks swimming in the river")
        strongest = max(explanation.words, key=lambda word: word.share)
        assert repr(explanation).startswith(
            f"Explanation({strongest.token} {strongest.share:.2f}, "
        )

    def test_no_words(self, fitted):
        assert fitted.explain("!?").words == ()

    def test_a_zero_vector_has_no_shares(self, small_vectors, fitted):
        config = GemConfig(alphas="", share=1.0, n_removed=1, n_components=1, removal="sir")
        encoder = GemEncoder(small_vectors, config).fit(["river"])
        assert not encoder.encode(["river"]).any()
        assert [word.share for word in encoder.explain("river").words] == [0.0]


class TestFit:
    def test_reads_an_iterator_once(self, small_vectors, fitted):
        assert (
            GemEncoder(small_vectors, fitted.config).fit(iter(CORPUS)).fingerprint
            == fitted.fingerprint
        )

    def test_counts_texts_with_words_only(self, fitted):
        assert fitted.components.sentences == 21

    def test_keeps_no_more_directions_than_there_are(self, small_vectors):
        one = GemEncoder(small_vectors).fit(["open the bank", "", "..."])
        assert one.components.directions.shape == (1, 24)
        same = GemEncoder(small_vectors).fit(["open the bank"] * 50)
        assert same.components.directions.shape == (1, 24)
        many = GemEncoder(small_vectors).fit(random_texts(300))
        assert many.components.directions.shape == (24, 24)

    def test_directions_are_orthonormal_and_ordered(self, fitted):
        directions, sigma = fitted.components.directions, fitted.components.singular_values
        np.testing.assert_allclose(directions @ directions.T, np.eye(7), atol=1e-12)
        assert np.all(np.diff(sigma) <= 0)

    def test_parts_merge_into_the_whole(self, small_vectors):
        texts = random_texts(400)
        encoder = GemEncoder(small_vectors)
        whole = encoder.corpus_statistics(texts)
        merged = CorpusStatistics(24)
        for begin in range(0, 400, 4):
            merged.merge(encoder.corpus_statistics(texts[begin : begin + 4]))
        np.testing.assert_allclose(merged.moment, whole.moment, rtol=1e-9)
        assert merged.sentences == whole.sentences

    def test_partial_fit_equals_a_fit(self, small_vectors, fitted):
        step = (
            GemEncoder(small_vectors, fitted.config)
            .partial_fit(CORPUS[:10])
            .partial_fit(CORPUS[10:])
        )
        np.testing.assert_allclose(
            step.components.singular_values, fitted.components.singular_values, rtol=1e-9
        )
        assert step.components.sentences == fitted.components.sentences

    def test_partial_fit_of_given_components_is_refused(self, small_vectors, fitted):
        loaded = GemEncoder(small_vectors, components=fitted.components)
        with pytest.raises(ConfigError, match="without the statistics of their corpus"):
            loaded.partial_fit(CORPUS)

    def test_statistics_of_other_dimensions_do_not_merge(self):
        with pytest.raises(ConfigError, match="3 dimensions; expected 2"):
            CorpusStatistics(2).merge(CorpusStatistics(3))

    @pytest.mark.parametrize("corpus", [[], ["", "..."]])
    def test_nothing_to_fit_on(self, small_vectors, corpus):
        with pytest.raises(InputError, match="found no text with a word"):
            GemEncoder(small_vectors).fit(corpus)


class TestBackground:
    def test_an_unfitted_encoder_works_and_says_so(self, small_vectors):
        encoder = GemEncoder(small_vectors)
        assert not encoder.fitted
        assert encoder.recipe == RECIPE
        assert np.linalg.norm(encoder.encode(["open the bank"])[0]) == pytest.approx(1, abs=1e-6)
        assert encoder.components.sentences == 0

    def test_is_the_statistics_of_the_pseudo_sentences(self, small_vectors):
        sentences = [" ".join(words) for words in pseudo_sentences(small_vectors.frequent_words())]
        by_hand = GemEncoder(small_vectors).fit(sentences)
        found = GemEncoder(small_vectors).components
        np.testing.assert_allclose(
            found.singular_values, by_hand.components.singular_values, rtol=1e-9
        )

    def test_pseudo_sentences_are_those_of_the_recipe(self):
        words = [f"w{i}" for i in range(200)] + ["..."] * 3
        sentences = list(pseudo_sentences(words))
        assert len(sentences) == 5000
        assert {len(sentence) for sentence in sentences} == set(range(6, 20))
        drawn = [word for sentence in sentences for word in sentence]
        assert "..." not in drawn
        # p(1) : p(2) : p(10) = 1/3.7 : 1/4.7 : 1/12.7
        counts = {word: drawn.count(word) for word in ("w0", "w1", "w9")}
        assert counts["w0"] / counts["w1"] == pytest.approx(4.7 / 3.7, rel=0.08)
        assert counts["w0"] / counts["w9"] == pytest.approx(12.7 / 3.7, rel=0.08)
        # the same on every machine: a change to the recipe has to change its version
        assert sentences[0][:4] == PINNED

    def test_a_vocabulary_of_punctuation_ends(self):
        assert next(iter(pseudo_sentences(["...", "!"]))) == []

    def test_a_source_without_order_draws_on_frequent_english(self):
        words = sorted(f"{a}{b}" for a in "abcdefghij" for b in "klmnopqrst")
        matrix = np.random.default_rng(1).normal(size=(100, 6)).astype(np.float32)
        encoder = GemEncoder(
            MappedVectors.from_words(words, matrix), GemConfig(n_removed=2, n_components=4)
        )
        assert encoder.components.directions.shape == (4, 6)

    def test_a_prior_adds_that_many_pseudo_sentences(self, small_vectors):
        plain = GemEncoder(small_vectors)
        own, background = plain.corpus_statistics(CORPUS), plain._background()
        config = GemConfig(prior=500)
        mixed = GemEncoder(small_vectors, config).fit(CORPUS).components
        values = np.linalg.eigvalsh(own.moment + 500 / 5000 * background.moment)[::-1]
        np.testing.assert_allclose(mixed.singular_values**2, values[:24], rtol=1e-8)
        assert mixed.sentences == 21

    def test_a_prior_alone_makes_an_empty_corpus_fit(self, small_vectors):
        fitted = GemEncoder(small_vectors, GemConfig(prior=10)).fit([])
        np.testing.assert_allclose(
            np.abs(
                np.sum(
                    fitted.components.directions * GemEncoder(small_vectors).components.directions,
                    axis=1,
                )
            ),
            1,
            atol=1e-6,
        )


PINNED = ["w21", "w1", "w5", "w4"]


def test_the_background_is_computed_once_for_vectors_of_one_fingerprint(small_vectors, monkeypatch):
    _ = GemEncoder(small_vectors).components

    def again(words):
        raise AssertionError("the pseudo-sentences were drawn again")

    monkeypatch.setattr("gem_index.gem.background.pseudo_sentences", again)
    assert (
        len(
            GemEncoder(small_vectors, GemConfig(n_removed=3, n_components=10)).components.directions
        )
        == 10
    )
    with pytest.raises(AssertionError, match="drawn again"):
        _ = GemEncoder(small_vectors, GemConfig(power=2.0)).components


def test_no_more_than_a_few_backgrounds_are_kept():
    from gem_index.gem import background

    words = [f"w{i}" for i in range(30)]
    for seed in range(12):
        rows = np.random.default_rng(seed).normal(size=(30, 4)).astype(np.float32)
        vectors = MappedVectors.from_words(words, rows)
        found = background.background_statistics(vectors, 3.0)
        assert found is background.background_statistics(vectors, 3.0)
    assert len(background._known) == 8


class TestFingerprint:
    def test_covers_vectors_configuration_and_components(self, small_vectors, fitted):
        other = MappedVectors.from_words(["a"], np.ones((1, 24), np.float32))
        config, components = fitted.config, fitted.components
        encoders = [
            fitted,
            GemEncoder(other, config, components=components),
            GemEncoder(small_vectors, GemConfig.cqa(), components=components),
            GemEncoder(small_vectors, config).fit(CORPUS[:5]),
            GemEncoder(small_vectors, config),
        ]
        assert len({encoder.fingerprint for encoder in encoders}) == len(encoders)
        again = GemEncoder(small_vectors, config, components=components, threads=9)
        assert again.fingerprint == fitted.fingerprint

    def test_of_the_background_is_known_without_computing_it(self, small_vectors):
        encoder = GemEncoder(small_vectors)
        before = encoder.fingerprint
        assert encoder._components is None
        encoder.encode(["the river"])
        assert encoder.fingerprint == before


def test_vectors_are_written_without_anybody_who_watches(fitted, tmp_path):
    texts = ["open a bank account", "...", "two ducks"]
    rows = list(zip("abc", texts, strict=True))
    assert write_vectors(tmp_path / "v.npy", fitted, rows) == (3, 1)
    np.testing.assert_array_equal(np.load(tmp_path / "v.npy"), fitted.encode(texts))


@pytest.mark.parametrize(("most", "characters"), [(1, 99), (2, 99), (5, 99), (99, 12), (2, 7)])
def test_vectors_are_written_block_by_block_with_their_ids(
    fitted, tmp_path, monkeypatch, most, characters
):
    monkeypatch.setattr(vector_output, "_BLOCK", most)
    monkeypatch.setattr(vector_output, "_BLOCK_CHARACTERS", characters)
    rows = [("v", "visa"), ("b", "bank"), ("", ""), ("r", "river bank"), ("0", "...")]
    expected = fitted.encode([text for _, text in rows])
    for name in ("rows.npy", "rows.parquet"):
        told = []
        assert write_vectors(tmp_path / name, fitted, iter(rows), told.append) == (5, 2)
        assert told == sorted(set(told))
        assert told[-1] == 5
    np.testing.assert_array_equal(np.load(tmp_path / "rows.npy"), expected)
    table = pq.read_table(tmp_path / "rows.parquet")
    assert [(row["id"], row["text"]) for row in table.to_pylist()] == rows
    np.testing.assert_array_equal(np.stack(table["vector"].to_numpy()), expected)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["rows.npy", "rows.parquet"]


class TestStoring:
    def test_round_trip(self, small_vectors, fitted, tmp_path):
        fitted.save(tmp_path / "m.safetensors")
        loaded = GemEncoder.load(tmp_path / "m.safetensors", small_vectors)
        assert loaded.fingerprint == fitted.fingerprint
        assert loaded.config == fitted.config
        assert loaded.encode(CORPUS).tobytes() == fitted.encode(CORPUS).tobytes()

    def test_an_unfitted_encoder_stays_unfitted(self, small_vectors, tmp_path):
        encoder = GemEncoder(small_vectors)
        encoder.save(tmp_path / "m.safetensors")
        loaded = GemEncoder.load(tmp_path / "m.safetensors", small_vectors)
        assert not loaded.fitted
        assert loaded.fingerprint == encoder.fingerprint

    def test_other_vectors_are_refused(self, fitted, tmp_path):
        fitted.save(tmp_path / "m.safetensors")
        other = MappedVectors.from_words(["a"], np.ones((1, 24), np.float32))
        with pytest.raises(FingerprintMismatchError) as caught:
            GemEncoder.load(tmp_path / "m.safetensors", other)
        assert str(caught.value) == (
            f"the model {tmp_path}/m.safetensors was made with vectors {fitted.vectors.fingerprint[:12]}, "
            f"found {other.fingerprint[:12]}; open the vectors it was fitted with"
        )

    def test_a_file_that_is_not_a_model(self, small_vectors, fitted, tmp_path):
        path = tmp_path / "m.safetensors"
        with pytest.raises(InputError, match="no such file"):
            GemEncoder.load(path, small_vectors)
        path.write_bytes(b"nothing")
        with pytest.raises(CorruptionError, match="not a gem-index model"):
            GemEncoder.load(path, small_vectors)
        fitted.save(path)
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        with pytest.raises(CorruptionError, match="no longer has the components"):
            GemEncoder.load(path, small_vectors)

    @pytest.mark.parametrize("meta", [None, {"magic": "another"}, {"version": "9"}])
    def test_files_of_others_and_of_other_versions_are_told(
        self, small_vectors, fitted, tmp_path, meta
    ):
        path = tmp_path / "m.safetensors"
        fitted.save(path)
        with safe_open(path, "numpy") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            written = file.metadata()
        save_file(tensors, path, None if meta is None else written | meta)
        with pytest.raises(CorruptionError, match=r"m\.safetensors is .* version .*; expected '"):
            GemEncoder.load(path, small_vectors)

    @pytest.mark.parametrize("shape", [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (2, 1))])
    def test_directions_and_values_must_agree(self, shape):
        directions, values = map(np.ones, shape)
        with pytest.raises(ConfigError, match=r"found directions .*; expected \(K, d\) and \(K,\)"):
            Components(directions, values, 1)

    def test_components_must_fit_the_vectors(self, small_vectors):
        with pytest.raises(ConfigError, match="3 dimensions and vectors of 24"):
            GemEncoder(small_vectors, components=Components(np.ones((2, 3)), np.ones(2), 1))


class TestBatches:
    def test_numbers_words_by_first_appearance(self):
        for batch in (
            TokenBatch.of_tokens([["a", "b", "a"], [], ["c", "b"]]),
            TokenBatch.of_texts(["a B, a!", "...", "c-b"]),
            TokenBatch.of_texts(["a B, a!\u2014", "\u2026", "c-b"]),
        ):
            assert batch.words == ["a", "b", "c"]
            assert batch.ids.tolist() == [0, 1, 0, 2, 1]
            assert batch.offsets.tolist() == [0, 3, 3, 5]
            assert batch.filled == 2

    @pytest.mark.parametrize(
        "lengths", [[5, 5, 5, 5], [100, 1, 1, 1], [0, 0, 0], [], [0, 7, 0, 0, 9]]
    )
    @pytest.mark.parametrize("parts", [1, 2, 3, 8])
    def test_ranges_cover_every_text_once(self, lengths, parts):
        ranges = ranges_by_length(["x" * length for length in lengths], parts)
        assert [s for begin, end in ranges for s in range(begin, end)] == list(range(len(lengths)))
        assert len(ranges) <= parts

    def test_blocks_are_bounded_by_texts_and_characters(self):
        texts = ["a", "bb", "cccc", "d" * 50, "e", "f", "g", "h"]
        blocks = list(blocks_of_texts(iter(texts), most=3, characters=6))
        assert blocks == [["a", "bb"], ["cccc"], ["d" * 50], ["e", "f"], ["g", "h"]]
        assert list(blocks_of_texts([], 3, 6)) == []
