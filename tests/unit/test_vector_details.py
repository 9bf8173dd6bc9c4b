"""Word vectors in detail: coverage, near words, options, specifications and stored files, with whole messages."""

import hashlib
import json

import numpy as np
import pytest

from gem_index.errors import ConfigError, CorruptionError, InputError, VectorFormatError
from gem_index.vectors import coverage as coverage_module
from gem_index.vectors.catalogue import CATALOGUE, CatalogueEntry, RemoteFile, find_entry, hub_entry
from gem_index.vectors.combined import CombinedVectors
from gem_index.vectors.coverage import known_share, measure_coverage
from gem_index.vectors.cut_to_words import cut_to_words
from gem_index.vectors.download import checked_address, is_address
from gem_index.vectors.formats import fasttext
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.neighbors import nearest_words, solve_analogy
from gem_index.vectors.options import SourceOptions, row_of_unknown
from gem_index.vectors.rows import Loss, RowWriter, quantised
from gem_index.vectors.runs import mostly_runs
from gem_index.vectors.specification import VectorSpec, is_path
from gem_index.vectors.stored import damaged_files, import_vectors, open_stored, vector_file
from gem_index.vectors.vocabulary import Vocabulary
from told import told

WORDS = ["king", "man", "woman", "queen", "tea"]
ROWS = np.array([[1, 1], [1, 0], [0, 1], [-0.1, 2], [-1, 0]], np.float32)


@pytest.fixture
def source():
    return MappedVectors.from_words(WORDS, ROWS, SourceOptions(oov="zero"))


class TestCoverage:
    def test_of_a_corpus(self, source):
        texts = ["king king man", "x x x y tea", *(f"unknown{i}" for i in range(30))]
        found = measure_coverage(source, texts)
        assert (found.tokens, found.types) == (38, 35)
        assert found.known_tokens == pytest.approx(4 / 38)
        assert found.known_types == pytest.approx(3 / 35)
        assert found.unknown_words[:2] == [("x", 3), ("y", 1)]
        assert len(found.unknown_words) == 20
        edges, counts = zip(*found.norms, strict=True)
        assert edges == pytest.approx(np.arange(1, 11) * 2**0.5 / 10)
        assert counts == (0, 0, 0, 0, 0, 0, 0, 2, 0, 1)

    def test_blocks_change_nothing(self, source, monkeypatch):
        texts = ["king man x tea y queen"]
        whole = measure_coverage(source, texts)
        monkeypatch.setattr(coverage_module, "_BLOCK", 2)
        assert measure_coverage(source, texts) == whole

    def test_by_one_of_several_sources(self, source):
        other = MappedVectors.from_words(["x"], ROWS[:1], SourceOptions(oov="zero"))
        assert known_share([source, other], ["king x y y"]) == 0.5
        assert known_share([source], ["", "!"]) == 1.0
        assert told(InputError, measure_coverage, source, ["!"]) == (
            "the corpus holds no word; expected at least one"
        )

    def test_cut_to_words(self, source):
        words = [
            word for part, _ in cut_to_words(source, "v", ["tea x"], 0).chunks() for word in part
        ]
        assert words == ["tea"]
        assert told(ConfigError, cut_to_words, source, "v", ["tea"], -1) == (
            "found -1 frequent words to keep; expected 0 or more"
        )
        assert told(InputError, cut_to_words, source, "v", ["x"], 0) == (
            "v knows no word of the corpus; expected a source of its language"
        )


class TestWords:
    def test_near_words_and_analogies(self, source):
        assert [word for word, _ in nearest_words(source, "king", 9)] == [
            "man",
            "woman",
            "queen",
            "tea",
        ]
        assert [word for word, _ in solve_analogy(source, "man", "king", "woman", 1)] == ["queen"]
        assert {word for word, _ in solve_analogy(source, "man", "king", "woman", 9)} == {
            "queen",
            "tea",
        }
        assert [word for word, _ in solve_analogy(source, "man", "tea", "woman", 1)] == ["queen"]
        twice = CombinedVectors([source, MappedVectors.from_words(["x"], ROWS[:1])])
        assert [word for word, _ in nearest_words(twice, "king", 1)] == ["man"]

    def test_what_is_said(self, source):
        assert told(InputError, nearest_words, source, "king", 0) == "k is 0; expected at least 1"
        assert told(InputError, solve_analogy, source, "king", "x", "y", 1) == (
            "the vectors do not hold the word 'x'; expected one they hold"
        )
        for word in ("", "a\nb"):
            assert told(InputError, nearest_words, source, word, 1) == (
                f"the word is {word!r}; expected a word of printable characters"
            )

    def test_combined(self, source):
        other = MappedVectors.from_words(["x", "tea"], ROWS[:2] * 3, SourceOptions(oov="zero"))
        both = CombinedVectors([source, other], [1, 0.5])
        rows, unknown = both.lookup(["tea", "x", "king", "none"])
        assert rows.tolist() == [[-1, 0, 1.5, 0], [0, 0, 1.5, 1.5], [1, 1, 0, 0], [0, 0, 0, 0]]
        assert unknown.tolist() == [False, False, False, True]
        ordered = MappedVectors.from_words(
            [f"w{i * 7 % 30:02}" for i in range(30)], np.ones((30, 2), np.float32)
        )
        assert (source.frequent_words(), both.frequent_words()) == (None, None)
        assert CombinedVectors([source, ordered]).frequent_words()[1] == "w07"
        for sources, weights in (([], None), ([source], [1, 2])):
            assert told(ConfigError, CombinedVectors, sources, weights) == (
                f"found {len(sources)} sources and {len(weights or ())} weights to combine; expected at least one source "
                "and as many weights"
            )
        assert told(ConfigError, CombinedVectors, [source], [0]).endswith(
            "a number from 1e-9 to 1e9"
        )


class TestOptions:
    def test_what_is_stored(self):
        options = SourceOptions(contractions="apostrophe", scale=2.0, oov="hash", runs="word")
        assert options.given() == {"tails": "apostrophe", "scale": 2.0}
        stored = {
            "case": "keep", "dtype": None, "limit": None, "oov": "hash", "scale": 2.0, "tails": "apostrophe", "unit": False,
        }  # fmt: skip
        assert json.loads(options.to_json()) == stored
        assert list(json.loads(options.to_json())) == sorted(stored)
        runs = SourceOptions(runs="split")
        assert SourceOptions.from_json(runs.to_json()) == runs
        assert [runs.decided(has_ngrams=n).oov for n in (True, False)] == ["subword", "hash"]
        assert SourceOptions().decided(has_ngrams=False, has_runs=True).runs == "split"

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"limit": 0}, "limit is 0; expected at least 1"),
            ({"case": "upper"}, "case is 'upper'; expected keep, lower, fallback"),
            ({"case": None}, "case is None; expected keep, lower, fallback"),
            ({"oov": "x"}, "oov is 'x'; expected hash, zero, subword"),
            ({"runs": "x"}, "runs is 'x'; expected word, split"),
            ({"dtype": "float64"}, "dtype is 'float64'; expected float32, float16, int8"),
            ({"contractions": "x"}, "contractions is 'x'; expected word, apostrophe"),
        ],
    )
    def test_others(self, options, message):
        assert told(ConfigError, SourceOptions, **options) == message

    def test_bounds_of_a_factor(self):
        for scale in (1e-9, 1e9):
            assert SourceOptions(scale=scale).scale == scale
        for scale in (9e-10, 1.1e9, 0, -1):
            assert told(ConfigError, SourceOptions, scale=scale).endswith(
                "a number from 1e-9 to 1e9"
            )

    def test_runs_of_known_words_are_known(self):
        table = MappedVectors.from_words(
            ["签证", "银行"], ROWS[:2], SourceOptions(runs="split", oov="zero")
        )
        rows, unknown = table.lookup(["签证银行", "咖", "签证"])
        assert rows.tolist() == [[1, 0.5], [0, 0], [1, 1]]
        assert unknown.tolist() == [False, True, False]

    def test_the_row_of_an_unknown_word_and_the_script_of_a_table(self):
        digest = hashlib.sha256("签".encode()).digest()
        assert row_of_unknown("签", 1000) == int.from_bytes(digest, "big") % 1000
        assert [mostly_runs(["签"] * n + ["a"] * 8) for n in (1, 2, 3)] == [False, False, True]
        assert not is_path("x" * 5000)
        assert not is_path("")

    def test_an_alphabetical_vocabulary_is_in_no_order_of_frequency(self):
        words = [f"w{i:02}" for i in range(20)]
        swapped = [words[1], words[0], *words[2:]]
        for given in (words, swapped, words[:19]):
            table = MappedVectors.from_words(given, np.ones((len(given), 2), np.float32))
            assert table.frequent_words() is None
        mixed = [words[i] for i in (1, 0, 3, 2, 5, 4, *range(6, 20))]
        table = MappedVectors.from_words(mixed, np.ones((20, 2), np.float32))
        assert list(table.frequent_words()) == mixed
        many = MappedVectors.from_words(list(map(str, range(1000))), np.ones((1000, 2), np.float32))
        assert repr(many) == "MappedVectors(1,000 words, 2 dimensions)"

    def test_forms_of_words(self):
        ends = ["s", "t", "ve", "re", "ll", "d", "m", "Tea"]
        apostrophes = SourceOptions(contractions="apostrophe", case="lower")
        assert list(apostrophes.spelled(ends)) == [f"'{each}" for each in ends[:-1]] + ["tea"]
        table = MappedVectors.from_words(
            ["tea", "Tea", "us"], ROWS[:3], SourceOptions(case="fallback")
        )
        rows, unknown = table.lookup(["tea", "TEA", "US", "uS"])
        assert rows.tolist() == ROWS[[0, 0, 2, 2]].tolist()
        assert not unknown.any()
        silent = MappedVectors.from_words(["tea", "s"], ROWS[:2], apostrophes)
        assert silent.lookup(["s", "tea"])[0].tolist() == [[0, 0], [1, 1]]
        long = MappedVectors.from_words(
            ["a", "b"],
            np.array([[3e38, 3e38], [0, 0]], np.float32),
            SourceOptions(unit=True, scale=2.0),
        )
        assert long.lookup(["a", "b"])[0] == pytest.approx(np.array([[2**0.5] * 2, [0, 0]]))
        limited = MappedVectors.from_words(WORDS, ROWS, SourceOptions(limit=2))
        assert (list(limited.vocabulary), repr(limited)) == (
            WORDS[:2],
            "MappedVectors(2 words, 2 dimensions)",
        )
        half = MappedVectors.from_words(WORDS, ROWS.astype(np.float16))
        assert half.rows.matrix.dtype == np.float16
        for words, rows in (
            (WORDS[:2], ROWS),
            (WORDS, np.full_like(ROWS, np.inf)),
            (WORDS, ROWS[:, 0]),
        ):
            assert told(VectorFormatError, MappedVectors.from_words, words, rows) == (
                f"found {len(words)} words and a matrix of shape {rows.shape}; expected a finite (words, dimension) matrix"
            )


class TestRows:
    def test_precision(self, tmp_path):
        stored, factors = quantised(np.array([[127, -1], [0, 0]], np.float32), np.dtype(np.int8))
        assert (stored.tolist(), factors.tolist()) == ([[127, -1], [0, 0]], [1, 0])
        loss = Loss()
        loss.add(
            np.array([[3, 4], [0, 0], [1, 0]], np.float32),
            np.array([[3, 3], [0, 0], [1, 0]], np.float32),
        )
        assert loss.summary() == {"mean": pytest.approx(0.1), "largest": pytest.approx(0.2)}
        assert Loss().summary() == {"mean": 0, "largest": 0}

        def write():
            with RowWriter(tmp_path, "m", 2, np.dtype(np.float16)) as writer:
                writer.append(ROWS)
                writer.append(np.array([[1, 1], [1e6, 0]], np.float32))

        assert told(VectorFormatError, write) == (
            "row 7 holds a number too large for float16 (65504); expected the dtype float32, or a scale below 1"
        )


class TestVocabulary:
    def test_places_and_repeats(self):
        words = Vocabulary.build(["a", "b", "a", "c", "b", "a"])
        assert (words.duplicates(), len(words), words[-1], words[1:3]) == (3, 6, "a", ["b", "a"])
        assert words.find(["a", "c", "x\ny", "x"]).tolist() == [0, 3, -1, -1]
        for place in (6, -7):
            with pytest.raises(IndexError):
                words[place]
        assert told(VectorFormatError, Vocabulary.build, ["a", "b\nc"]) == (
            "word 2 holds a line feed; expected words of one line"
        )


class TestSpecifications:
    @pytest.mark.parametrize(
        ("text", "shown"),
        [
            ("a", "a"),
            ("a*1+b", "a+b"),
            (" a * 2 + b ", "a*2.0+b"),
            ("a*1e-9+b*1e9", "a*1e-09+b*1000000000.0"),
        ],
    )
    def test_text(self, text, shown):
        spec = VectorSpec.parse(text)
        assert str(spec) == shown
        assert VectorSpec.parse(shown) == spec
        assert spec.scaled(0, 2.0).weights[0] == 2 * spec.weights[0]

    @pytest.mark.parametrize("text", ["", "a+", "a*0", "a*-1", "a*x", "a*1e-10", "a*1.1e9", "*2"])
    def test_others(self, text):
        assert told(ConfigError, VectorSpec.parse, text) == (
            f"the vectors are {text!r}; expected names or paths joined by '+', each with an optional "
            "weight from 1e-9 to 1e9: lexvec*1.0+fasttext*0.7+psl"
        )

    def test_the_name_of_a_file_may_have_signs_of_a_specification(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        (tmp_path / "a+b.TXT").write_text("tea 1\n")
        (tmp_path / "a+b").write_text("tea 1\n")
        assert VectorSpec.parse("a+b.TXT").names == {"a+b.TXT"}
        assert VectorSpec.parse("./a+b").names == {"./a+b"}
        assert VectorSpec.parse("a+b").names == {"a", "b"}
        assert VectorSpec.parse("x" * 5000).names == {"x" * 5000}


class TestStored:
    def test_files_and_limits(self, tmp_path):
        (tmp_path / "v.txt").write_text("tea 1 0\nriver 0 1\ntea 2 2\nbank 1 1\n")
        seen = []
        file = vector_file(tmp_path / "v.txt")
        found = import_vectors(file, tmp_path / "s", seen.append, SourceOptions(limit=3))
        assert list(found.vocabulary) == ["tea", "river", "tea"]
        assert seen[-1] == 3
        assert damaged_files(tmp_path / "s") == []
        assert vector_file(tmp_path / "s").format == "folder"
        (tmp_path / "s/words.txt").write_text("x")
        (tmp_path / "s/keys.npy").unlink()
        assert damaged_files(tmp_path / "s") == ["keys.npy", "words.txt"]
        meta = json.loads((tmp_path / "s/vectors.json").read_text())
        assert meta["findings"] == {
            "latin1": 0,
            "spaced": 0,
            "duplicates": 1,
            "empty": 0,
            "loss": None,
        }
        (tmp_path / "s/vectors.json").write_text(json.dumps(meta | {"version": 3}))
        assert told(CorruptionError, open_stored, tmp_path / "s") == (
            f"{tmp_path}/s is 'gem-index word vectors' version 3; expected 'gem-index word vectors' version 2"
        )
        (tmp_path / "s/vectors.json").unlink()
        assert damaged_files(tmp_path / "s") == ["vectors.json"]
        assert told(
            ConfigError, import_vectors, file, tmp_path / "t", None, SourceOptions(oov="subword")
        ) == (
            f"oov is 'subword' and {file.origin} has no n-grams; expected hash or zero, or a fastText .bin model"
        )


class TestNgramModels:
    def model(self, monkeypatch, own, buckets, longest=3):
        monkeypatch.setattr(fasttext, "ROWS_AT_ONCE", 2)
        words = [b"a", b"bc", b"d", b"</s>"]
        return fasttext.of_ngram_model(
            "m.bin", "fasttext", words, own, buckets, 2, longest, b"</s>"
        )

    def test_a_word_is_the_mean_of_its_own_vector_and_those_of_its_ngrams(self, monkeypatch):
        own, buckets = np.arange(8, dtype=np.float32).reshape(4, 2), np.full((1, 2), 8, np.float32)
        file = self.model(monkeypatch, own, buckets)
        words, rows = zip(*file.chunks(), strict=True)
        assert words == (["a", "bc"], ["d", "</s>"])
        counts = np.array([3, 5, 3, 0])[:, None]  # <a a> <a>; <b bc c> <bc bc>; <d d> <d>
        np.testing.assert_allclose(np.concatenate(rows), (own + 8 * counts) / (counts + 1), 1e-6)
        assert [block.tolist() for block in file.composition.rows()] == [[[8, 8]]]
        plain = self.model(monkeypatch, own, buckets, longest=0)
        np.testing.assert_array_equal(np.concatenate([each for _, each in plain.chunks()]), own)
        assert plain.composition is None
        for each in (file, plain):
            assert (each.origin, each.format, each.dimension, each.words) == (
                "m.bin", "fasttext", 2, 4,
            )  # fmt: skip

    @pytest.mark.parametrize("place", range(4))
    def test_what_is_not_finite_has_the_number_of_its_word_or_bucket(self, monkeypatch, place):
        fine, wrong = np.ones((4, 2), np.float32), np.ones((4, 2), np.float32)
        wrong[place, 1] = np.inf
        problem = f"{place + 1} holds NaN or infinity; expected finite numbers"
        of_words = self.model(monkeypatch, wrong, fine)
        assert told(VectorFormatError, list, of_words.chunks()) == f"m.bin word {problem}"
        blocks = self.model(monkeypatch, fine, wrong).composition.rows()
        assert told(VectorFormatError, list, blocks) == f"m.bin n-gram bucket {problem}"


class TestCatalogue:
    def test_sizes_and_names(self):
        files = (RemoteFile("a", "a", 1), RemoteFile("b", "b", 2), RemoteFile("c", "c"))
        sizes = [CatalogueEntry(each, "MIT", "").size for each in (files[:2], files, ())]
        assert sizes == [3, None, None]
        [file] = CATALOGUE["lexvec.commoncrawl.300d"].files
        assert file.name == "lexvec.commoncrawl.300d.W.pos.vectors.gz"
        assert hub_entry("a/b").hub == "a/b"
        assert [find_entry(f"fasttext.cc.{code}.300") is None for code in ("de", "ceb", "d", "eNg", "abcd")] == [
            False, False, True, True, True,
        ]  # fmt: skip

    def test_addresses(self):
        assert [is_address(each) for each in ("HTTPS://a", "http://a", "ftp://a", "a")] == [
            True,
            True,
            False,
            False,
        ]
        assert checked_address("https://ü.org/ä b?x=1") == "https://%C3%BC.org/%C3%A4%20b?x=1"
        for text in ("https://", "https://a:x/", "https://[a/"):
            assert told(ConfigError, checked_address, text) == (
                f"the address is {text!r}; expected one like https://example.org/vectors.vec.gz"
            )
