"""Pipelines, against spaCy."""

import gc
import json
import sys

import numpy as np
import pytest

from gem_index.errors import ConfigError, InputError, MissingExtraError, VectorFormatError
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.options import SourceOptions
from gem_index.vectors.stored import import_vectors
from word_rows import content_of


class TestSpacy:
    @pytest.fixture
    def package(self, tmp_path, monkeypatch):
        """An installed pipeline package whose table was pruned: 40 words share 10 rows."""
        import spacy

        pipeline = spacy.blank("en")
        rng = np.random.default_rng(9)
        for i in range(40):
            pipeline.vocab.set_vector(f"word{i}", rng.normal(size=6).astype(np.float32))
            pipeline.vocab[f"word{i}"].is_oov  # noqa: B018 - lexemes are made when asked for
        pipeline.vocab.prune_vectors(10)
        name = "gem_test_pipeline"
        folder = tmp_path / "site" / name
        folder.mkdir(parents=True)
        pipeline.to_disk(folder / f"{name}-1.0.0")
        (folder / "__init__.py").write_text("raise RuntimeError('a pipeline is not imported')\n")
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        return name, pipeline

    def test_pruned_pipeline_by_package_name(self, package, tmp_path):
        name, pipeline = package
        file = read_vectors(name, "spacy")
        source = import_vectors(file, tmp_path / "v")
        assert source.rows.matrix.shape == (10, 6)
        assert len(source.vocabulary) == 40
        words = [f"word{i}" for i in range(40)]
        rows, unknown = source.lookup(words)
        assert not unknown.any()
        expected = np.stack([pipeline.vocab.get_vector(word) for word in words])
        np.testing.assert_array_equal(rows, expected)
        assert name not in sys.modules

    def test_by_package_name_into_a_home(self, home, package, tmp_path):
        name, pipeline = package
        info = home.vectors.add("p", name)
        assert (info.words, info.origin) == (40, f"spaCy pipeline {name}")
        np.testing.assert_array_equal(
            home.vectors.open("p").lookup(["word3"])[0][0], pipeline.vocab.get_vector("word3")
        )
        with pytest.raises(ConfigError, match="whose words share rows; expected no limit"):
            home.vectors.add("q", name, options=SourceOptions(limit=5))

    def test_floret_vectors_have_no_words(self, package, tmp_path):
        folder = tmp_path / "site" / package[0] / f"{package[0]}-1.0.0"
        (folder / "vocab" / "vectors.cfg").write_text('{"mode": "floret"}')
        with pytest.raises(VectorFormatError, match="has floret vectors, which have no words"):
            read_vectors(folder)

    def test_folder(self, package, tmp_path):
        name, _ = package
        folder = tmp_path / "site" / name / f"{name}-1.0.0"
        assert read_vectors(folder).format == "spacy"

    def test_exported_words_have_their_shared_rows(self, package, tmp_path):
        name, pipeline = package
        source = import_vectors(read_vectors(name, "spacy"), tmp_path / "v")
        write_vectors(source.as_file("mine", "spacy"), tmp_path / "v.txt")
        words, rows = content_of(read_vectors(tmp_path / "v.txt"))
        assert len(words) == 40
        np.testing.assert_array_equal(rows[3], pipeline.vocab.get_vector(words[3]))

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("vectors.cfg", b"garbage"), ("vectors.cfg", b"[]"), ("key2row", b"\x01"),
            ("vectors", b"x"), ("strings.json", b"3"),
            ("strings.json", b"[" * 100_000), ("strings.json", b'["a", 3]'), ("vectors.cfg", b"9" * 5000),
            ("key2row", b"\xdf\xff\xff\xff\xff"), ("key2row", b"\x81\x01\xc4\x01x"), ("key2row", b"\x80\x80"),
            ("key2row", b"\x81\x01\xcf" + b"\xff" * 8),
        ],
    )  # fmt: skip
    def test_damaged_pipelines(self, package, tmp_path, name, content):
        folder = tmp_path / "site" / package[0] / f"{package[0]}-1.0.0"
        (folder / "vocab" / name).write_bytes(content)
        with pytest.raises(VectorFormatError, match="cannot be read"):
            read_vectors(folder)

    def test_reading_leaves_the_collector_of_garbage_on(self, package, tmp_path):
        folder = tmp_path / "site" / package[0] / f"{package[0]}-1.0.0"
        (folder / "vocab" / "key2row").write_bytes(b"\xc1")
        with pytest.raises(VectorFormatError):
            read_vectors(folder)
        assert gc.isenabled()

    @pytest.mark.parametrize("name", ["__main__", "json", "without_init"])
    def test_names_that_are_not_pipelines(self, home, tmp_path, monkeypatch, name):
        (tmp_path / "site" / "without_init").mkdir(parents=True)
        monkeypatch.syspath_prepend(str(tmp_path / "site"))
        with pytest.raises(InputError, match="no file, address or known vectors"):
            home.vectors.add("x", name)

    def test_pipeline_without_vectors(self, tmp_path):
        import spacy

        spacy.blank("en").to_disk(tmp_path / "empty")
        with pytest.raises(VectorFormatError, match="has no vectors"):
            read_vectors(tmp_path / "empty")

    def test_what_is_said_in_whole(self, package, tmp_path):
        def told(name):
            with pytest.raises(VectorFormatError) as refused:
                read_vectors(name, "spacy")
            return str(refused.value)

        folder = tmp_path / "site" / package[0] / f"{package[0]}-1.0.0"
        assert told("no-pipeline") == (
            "no-pipeline is not a spaCy pipeline; expected an installed package or a folder with vocab/strings.json"
        )
        keys = (folder / "vocab/key2row").read_bytes()
        for content, byte in ((keys[:-1], len(keys) - 1), (keys + b"x", len(keys)), (b"\xc0", 1)):
            (folder / "vocab/key2row").write_bytes(content)
            assert told(folder) == (
                f"the vectors of {folder} cannot be read: {folder}/vocab/key2row is damaged at byte {byte}; expected the "
                "rows of spaCy's keys"
            )
        (folder / "vocab/key2row").write_bytes(keys)
        (folder / "vocab/vectors.cfg").write_text('{"mode": "floret"}')
        assert told(folder) == (
            f"{folder} has floret vectors, which have no words; expected a pipeline with a word table"
        )
        (folder / "vocab/vectors.cfg").unlink()
        (folder / "vocab/vectors").unlink()
        assert told(folder) == (
            f"{folder} has no vectors; expected a pipeline with vectors, for example en_core_web_md"
        )

    def test_keys_without_a_string_are_left_out_and_words_are_in_the_order_of_rows(
        self, package, tmp_path
    ):
        folder = tmp_path / "site" / package[0] / f"{package[0]}-1.0.0"
        before, _ = read_vectors(folder).table()
        strings = folder / "vocab/strings.json"
        known = json.loads(strings.read_text())
        strings.write_text(json.dumps([each for each in known if each != "word3"]))
        words, rows = read_vectors(folder).table()
        assert sorted(words) == sorted(set(before) - {"word3"})
        assert rows.tolist() == sorted(rows.tolist())

    def test_a_missing_package(self, package, monkeypatch):
        monkeypatch.setitem(sys.modules, "spacy.strings", None)
        with pytest.raises(MissingExtraError) as refused:
            read_vectors(package[0], "spacy")
        assert refused.value.extra == "spacy"
