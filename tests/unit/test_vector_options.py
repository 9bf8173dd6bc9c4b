"""Options of a source: their effect on look-ups, on stored vectors, and on the fingerprint."""

import gc

import numpy as np
import pytest

from gem_index import GemConfig, open_vectors
from gem_index.errors import ConfigError, InputError, VectorFormatError
from gem_index.gem.recommended import recommended_config
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.formats.base import ROWS_AT_ONCE
from gem_index.vectors.formats.registry import read_vectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import findings_of, import_vectors, open_unstored
from gem_index.vectors.subword import open_wordllama

WORDS = ["The", "river", "PARIS", "Paris", "bank", "zero"]
MATRIX = np.random.default_rng(11).normal(size=(6, 8)).astype(np.float32)
MATRIX[5] = 0


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "words.txt").write_text("\n".join(WORDS))
    np.save(tmp_path / "v" / "matrix.npy", MATRIX)
    return tmp_path / "v"


def stored(folder, tmp_path, **options):
    target = tmp_path / f"stored-{len(list(tmp_path.iterdir()))}"
    return import_vectors(read_vectors(folder), target, options=SourceOptions(**options)), target


class TestLookup:
    def test_unit_and_scale(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path, unit=True, scale=3.0)
        rows, _ = source.lookup(["river", "nowhere", "zero"])
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), [3, 3, 0], rtol=1e-6)
        np.testing.assert_allclose(rows[0], 3 * MATRIX[1] / np.linalg.norm(MATRIX[1]), rtol=1e-6)

    def test_unit_of_very_small_and_large_vectors(self):
        matrix = np.array([[1e-30, 1e-30], [1e25, 1e25], [3, 4]], np.float32)
        source = MappedVectors.from_words(["a", "b", "c"], matrix, SourceOptions(unit=True))
        rows, _ = source.lookup(["a", "b", "c"])
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)

    def test_words_that_no_line_can_hold(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path)
        rows, unknown = source.lookup(["river", "a\nb", "", "\ud800", "bank\n"])
        assert unknown.tolist() == [False, True, True, True, True]
        np.testing.assert_array_equal(rows[0], MATRIX[1])

    def test_scale_alone_multiplies(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path, scale=0.5)
        np.testing.assert_array_equal(source.lookup(["bank"])[0][0], MATRIX[4] * np.float32(0.5))

    def test_oov_zero(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path, oov="zero")
        rows, unknown = source.lookup(["nowhere", "bank"])
        np.testing.assert_array_equal(rows, [np.zeros(8), MATRIX[4]])
        assert unknown.tolist() == [True, False]

    @pytest.mark.parametrize(
        ("case", "found"),
        [
            ("keep", {"the": None, "The": 0, "paris": None, "PARIS": 2, "River": None}),
            ("lower", {"the": None, "The": None, "RIVER": 1, "river": 1, "Paris": None}),
            ("fallback", {"the": 0, "The": 0, "paris": 3, "PARIS": 2, "RIVER": 1, "pAris": 3}),
        ],
    )
    def test_case(self, folder, tmp_path, case, found):
        source, _ = stored(folder, tmp_path, case=case, oov="zero")
        rows, unknown = source.lookup(list(found))
        for row, absent, expected in zip(rows, unknown, found.values(), strict=True):
            assert absent == (expected is None)
            np.testing.assert_array_equal(row, 0 if expected is None else MATRIX[expected])

    def test_hash_of_a_lower_cased_word(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path, case="lower")
        rows, _ = source.lookup(["NOWHERE", "nowhere"])
        np.testing.assert_array_equal(rows[0], rows[1])

    def test_limit(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path, limit=3)
        assert list(source.vocabulary) == WORDS[:3]
        assert source.lookup(["bank"])[1].tolist() == [True]

    def test_limit_beyond_the_rows_that_are_read_at_once(self, tmp_path):
        words = [f"w{number}" for number in range(3 * ROWS_AT_ONCE)]
        (tmp_path / "many").mkdir()
        (tmp_path / "many" / "words.txt").write_text("\n".join(words) + "\n")
        np.save(tmp_path / "many" / "matrix.npy", np.ones((len(words), 2), np.float32))
        limit = ROWS_AT_ONCE + 1
        source = open_unstored(read_vectors(tmp_path / "many"), SourceOptions(limit=limit))
        assert list(source.vocabulary) == words[:limit]

    def test_limit_of_a_text_whose_header_announces_more(self, tmp_path):
        (tmp_path / "v.vec").write_text("3 2\na 1 2\nb 3 4\nc 5 6\n")
        source = open_unstored(read_vectors(tmp_path / "v.vec"), SourceOptions(limit=2))
        assert list(source.vocabulary) == ["a", "b"]


class TestPrecision:
    @pytest.mark.parametrize(("dtype", "most"), [("float16", 5e-4), ("int8", 1e-2)])
    def test_loss_is_measured_and_told(self, folder, tmp_path, dtype, most):
        source, target = stored(folder, tmp_path, dtype=dtype)
        assert source.rows.matrix.dtype == np.dtype(dtype)
        rows = source.lookup(WORDS)[0]
        errors = np.linalg.norm(rows - MATRIX, axis=1)[:5] / np.linalg.norm(MATRIX, axis=1)[:5]
        loss = findings_of(target).loss
        assert loss["largest"] == pytest.approx(errors.max(), rel=1e-3)
        assert loss["mean"] == pytest.approx(errors.mean(), rel=1e-3)
        assert 0 < loss["largest"] < most

    def test_float32_loses_nothing_and_halves_are_kept(self, folder, tmp_path):
        _, target = stored(folder, tmp_path)
        assert findings_of(target).loss is None
        np.save(folder / "matrix.npy", MATRIX.astype(np.float16))
        source, target = stored(folder, tmp_path)
        assert source.rows.matrix.dtype == np.float16
        assert findings_of(target).loss is None
        wide, _ = stored(folder, tmp_path, dtype="float32")
        np.testing.assert_array_equal(wide.lookup(WORDS)[0], source.lookup(WORDS)[0])

    def test_int8_rows_are_within_half_a_step(self, folder, tmp_path):
        source, _ = stored(folder, tmp_path, dtype="int8")
        step = np.abs(MATRIX).max(axis=1, keepdims=True) / 127
        assert (np.abs(source.lookup(WORDS)[0] - MATRIX) <= step * 0.5001).all()

    def test_numbers_too_large_for_float16_are_named(self, folder, tmp_path):
        matrix = MATRIX.copy()
        matrix[2, 2] = 1e6
        np.save(folder / "matrix.npy", matrix)
        with pytest.raises(VectorFormatError, match="row 3 holds a number too large for float16"):
            stored(folder, tmp_path, dtype="float16")
        assert [path.name for path in tmp_path.iterdir()] == ["v"]

    def test_memory_and_disk_agree(self, folder, tmp_path):
        for options in ({"dtype": "int8"}, {"dtype": "float16", "unit": True}, {"limit": 2}):
            source, _ = stored(folder, tmp_path, **options)
            direct = MappedVectors.from_words(WORDS, MATRIX, SourceOptions(**options))
            assert source.fingerprint == direct.fingerprint
            np.testing.assert_array_equal(source.lookup(WORDS)[0], direct.lookup(WORDS)[0])


class TestFingerprint:
    def test_every_option_counts(self, folder, tmp_path):
        prints = {
            stored(folder, tmp_path, **options)[0].fingerprint
            for options in (
                {}, {"unit": True}, {"scale": 2.0}, {"oov": "zero"}, {"case": "lower"},
                {"case": "fallback"}, {"limit": 4}, {"dtype": "float16"}, {"dtype": "int8"},
            )
        }  # fmt: skip
        assert len(prints) == 9

    def test_subword_bundle_counts_options_too(self, wordllama):
        from gem_index.vectors.subword import wordllama_file

        plain = open_unstored(wordllama_file())
        assert plain.fingerprint == wordllama.fingerprint
        unit = open_unstored(wordllama_file(), SourceOptions(unit=True, case="lower"))
        assert unit.fingerprint != plain.fingerprint
        rows, _ = unit.lookup(["river", "RIVER"])
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-6)
        np.testing.assert_array_equal(rows[0], rows[1])
        with pytest.raises(ConfigError, match="has the options unit or contractions"):
            unit.as_file("mine", "subword")
        half = open_unstored(wordllama_file(), SourceOptions(scale=0.5))
        np.testing.assert_allclose(
            half.lookup(["believing"])[0], plain.lookup(["believing"])[0] / 2, rtol=1e-6
        )

    @pytest.mark.parametrize("options", [{"limit": 5}, {"case": "fallback"}])
    def test_options_that_do_not_apply_to_pieces(self, options):
        from gem_index.vectors.subword import wordllama_file

        with pytest.raises(ConfigError):
            open_unstored(wordllama_file(), SourceOptions(**options))


@pytest.mark.parametrize(
    "options",
    [
        {"scale": 0}, {"scale": 1e39}, {"scale": 1e-60},
        {"scale": -1}, {"scale": float("inf")}, {"scale": "x"}, {"limit": 0},
        {"oov": "guess"}, {"case": "upper"}, {"dtype": "float64"},
    ],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        SourceOptions(**options)


def test_options_survive_json():
    options = SourceOptions(
        unit=True, scale=0.5, oov="zero", case="fallback", limit=3, dtype="int8"
    )
    assert SourceOptions.from_json(options.to_json()) == options
    for runs in (None, "word"):  # both are missing, as in homes of versions without the option
        assert SourceOptions(runs=runs).to_json() == (
            '{"case": "keep", "dtype": null, "limit": null, "oov": null, "scale": 1.0, "tails": "word", "unit": false}'
        )
    split = SourceOptions(runs="split", contractions="apostrophe", limit=3)
    assert split.to_json() == (
        '{"case": "keep", "dtype": null, "limit": 3, "oov": null, "runs": "split", "scale": 1.0, "tails": "apostrophe", '
        '"unit": false}'
    )
    assert SourceOptions.from_json(split.to_json()) == split
    assert SourceOptions().given() == {}
    assert SourceOptions(scale=2).given() == {"scale": 2}


class TestWeights:
    def test_each_source_is_weighted(self, folder):
        source = MappedVectors.from_words(WORDS, MATRIX)
        other = MappedVectors.from_words(["river"], np.ones((1, 2), np.float32))
        both = CombinedVectors([source, other], [0.5, 2.0])
        rows, _ = both.lookup(["river"])
        np.testing.assert_array_equal(rows[0], [*(MATRIX[1] * np.float32(0.5)), 2, 2])

    def test_weights_are_part_of_the_fingerprint(self):
        source = MappedVectors.from_words(WORDS, MATRIX)
        assert (
            len({CombinedVectors([source, source], w).fingerprint for w in (None, [1, 2], [2, 1])})
            == 3
        )
        assert (
            CombinedVectors([source, source]).fingerprint
            == CombinedVectors([source, source], [1, 1]).fingerprint
        )

    @pytest.mark.parametrize("weights", [[0.0, 1.0], [-1.0, 1.0], [float("nan"), 1.0], [1.0]])
    def test_bad_weights(self, weights):
        source = MappedVectors.from_words(WORDS, MATRIX)
        with pytest.raises(ConfigError):
            CombinedVectors([source, source], weights)

    @pytest.mark.parametrize(
        "spec", ["a*", "*2", "a*x", "a*0", "a*-1", "a*inf", "a*1e39", "a*2*3+", "a*nan"]
    )
    def test_bad_specifications(self, spec, home):
        with pytest.raises(ConfigError, match="expected names or paths joined by"):
            home.vectors.open(spec)

    def test_specification_in_a_home(self, home, folder):
        home.vectors.add("v", folder)
        weighted = home.vectors.open("v*0.5")
        np.testing.assert_array_equal(weighted.lookup(["river"])[0][0], MATRIX[1] * np.float32(0.5))
        collection = home.create_collection("c", vectors="v*1.0+wordllama*0.07")
        assert collection.status().vectors == "v+wordllama*0.07"
        assert home.collection("c").encoder.vectors.dimension == 8 + 256
        with pytest.raises(Exception, match="are used by collection c"):
            home.vectors.remove("v")


class TestLibrary:
    def test_a_source_again_with_other_options(self, home, folder):
        home.vectors.add("v", folder, licence="CC0", origin="here")
        info = home.vectors.add("v8", "v", options=SourceOptions(unit=True, dtype="int8"))
        assert (info.licence, info.origin) == ("CC0", "here")
        assert info.options == {"unit": True, "dtype": "int8"}
        assert info.findings.loss["largest"] < 1e-2
        assert home.vectors.describe("v8") == info
        rows = home.vectors.open("v8").lookup(["river"])[0]
        assert np.linalg.norm(rows) == pytest.approx(1, rel=1e-5)
        doubled = home.vectors.add("v16", "v8", options=SourceOptions(scale=2))
        rows = home.vectors.open(doubled.name).lookup(["river"])[0]
        assert np.linalg.norm(rows) == pytest.approx(2, rel=1e-5)

    def test_the_bundled_source_with_options(self, home, wordllama):
        info = home.vectors.add("wl", "wordllama", options=SourceOptions(scale=0.07))
        assert (info.words, info.licence, info.format) == (None, "MIT", "subword")
        np.testing.assert_allclose(
            home.vectors.open("wl").lookup(["river"])[0],
            wordllama.lookup(["river"])[0] * np.float32(0.07),
            rtol=1e-6,
        )
        home.create_collection("c", vectors="wl").upsert([])
        assert home.verify() == []

    def test_cutting_to_a_corpus(self, home, folder):
        home.vectors.add("v", folder, licence="CC0", options=SourceOptions(case="fallback"))
        texts = ["The river! in Paris paris", "a river bank nowhere"]
        info = home.vectors.fit_vocabulary("small", texts, vectors="v", frequent=0)
        assert (info.words, info.licence, info.format) == (4, "CC0", "cut")
        assert info.options == {"case": "fallback"}
        small, large = home.vectors.open("small"), home.vectors.open("v")
        words = ["the", "river", "paris", "bank"]
        np.testing.assert_array_equal(small.lookup(words)[0], large.lookup(words)[0])
        assert small.lookup(["nowhere"])[1].tolist() == [True]

    def test_cutting_keeps_frequent_words_first(self, home, small_vectors):
        from gem_index.vectors.cut_to_words import cut_to_words

        file = cut_to_words(small_vectors, "x", ["ducks swimming zzz"], 30)
        words = [word for chunk, _ in file.chunks() for word in chunk]
        assert words == [*list(small_vectors.vocabulary)[:30], "ducks", "swimming"]

    def test_cutting_to_nothing(self, home, folder):
        home.vectors.add("v", folder)
        for texts, frequent, message in (
            (["..."], 5, "the corpus holds no word; expected at least one"),
            (["nowhere else"], 0, "knows no word of the corpus; expected a source of its language"),
            (["a river"], -1, "found -1 frequent words to keep; expected 0 or more"),
        ):
            with pytest.raises(InputError, match=message):
                home.vectors.fit_vocabulary("small", texts, vectors="v", frequent=frequent)
        assert "small" not in {vectors.name for vectors in home.vectors.list()}

    def test_words_alone_have_no_ngrams(self):
        with pytest.raises(ConfigError, match="oov is 'subword' and these vectors have no n-grams"):
            MappedVectors.from_words(WORDS, MATRIX, SourceOptions(oov="subword"))

    def test_collections_of_garbage_visit_no_known_word(self, monkeypatch):
        source = open_wordllama()
        cache = {"known": b""}
        monkeypatch.setattr(source, "_piece_cache", cache)
        source.lookup([f"zq{i}xv" for i in range(5000)])
        assert len(cache) > 5000
        assert not any(map(gc.is_tracked, [*cache, *cache.values()]))

    def test_words_are_forgotten_before_they_fill_the_memory(self, monkeypatch):
        monkeypatch.setattr("gem_index.vectors.subword._CACHED_WORDS", 2)
        source = open_wordllama()
        words = ["believing", "rivers", "banking", "ducks", "believing"]
        expected = np.concatenate([open_wordllama().lookup([word])[0] for word in words])
        np.testing.assert_array_equal(source.lookup(words)[0], expected)
        assert len(source._piece_cache) <= 2

    def test_cutting_a_source_that_composes_words(self, home, wordllama):
        info = home.vectors.fit_vocabulary("small", ["believing rivers"], vectors="wordllama*2")
        np.testing.assert_allclose(
            home.vectors.open("small").lookup(["believing"])[0],
            wordllama.lookup(["believing"])[0] * 2,
            rtol=1e-6,
        )
        assert (info.words, info.licence) == (2, "MIT")

    def test_gensim_objects(self, home):
        from gensim.models import KeyedVectors

        from gem_index import open_vectors

        keyed = KeyedVectors(8)
        keyed.add_vectors(WORDS, MATRIX)
        info = home.vectors.add("k", keyed)
        assert (info.format, info.origin) == ("gensim", "KeyedVectors")
        assert open_vectors(keyed).fingerprint == info.fingerprint

    def test_export_and_back(self, home, folder, tmp_path):
        info = home.vectors.add("v", folder)
        assert home.vectors.export("v", tmp_path / "out.txt.gz") == 6
        again = home.vectors.add("again", tmp_path / "out.txt.gz")
        assert again.fingerprint == info.fingerprint

    def test_an_added_folder_is_itself_a_source(self, home, folder, tmp_path):
        home.vectors.add("v", folder, options=SourceOptions(dtype="int8"))
        kept = next((home.root / "vectors").iterdir())
        again = home.vectors.add("again", kept)
        np.testing.assert_array_equal(
            home.vectors.open("again").lookup(WORDS)[0], home.vectors.open("v").lookup(WORDS)[0]
        )
        assert again.words == 6


class TestTails:
    def test_tails_are_looked_up_with_their_apostrophe(self):
        words = ["it", "s", "'s", "don", "t"]
        matrix = np.eye(5, dtype=np.float32)
        tails = SourceOptions(contractions="apostrophe")
        found, unknown = MappedVectors.from_words(words, matrix, tails).lookup(
            ["it", "s", "don", "t", "ve", "word"]
        )
        np.testing.assert_array_equal(
            found[:5], [matrix[0], matrix[2], matrix[3], 0 * matrix[0], 0 * matrix[0]]
        )
        assert found[5].any()  # any other unknown word has the row that its hash names
        assert unknown.tolist() == [False, False, False, True, True, True]
        plain, _ = MappedVectors.from_words(words, matrix).lookup(["s", "t"])
        np.testing.assert_array_equal(plain, matrix[[1, 4]])

    def test_pieces_of_tails(self, wordllama):
        gem = open_vectors("wordllama-gem")
        found, _ = gem.lookup(["s", "river"])
        expected, _ = wordllama.lookup(["'s", "river"])
        np.testing.assert_allclose(found, expected * np.float32(0.1), rtol=1e-6)
        assert gem.fingerprint != wordllama.fingerprint


def test_the_spectrum_tells_which_configuration_suits(wordllama, vectors_folder):
    assert recommended_config(wordllama) == GemConfig.trained()
    assert recommended_config(open_vectors("wordllama-gem")).preset_name == "trained"
    words = [f"w{i}" for i in range(200)]
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(200, 24)) + 3.0  # all share a direction
    shared_direction = MappedVectors.from_words(words, matrix.astype(np.float32))
    assert recommended_config(shared_direction) == GemConfig.sts()
