"""Files of word vectors and static models that gem-index writes: names, what they hold, and whole messages."""

import json

import numpy as np
import pytest

from gem_index.errors import Action, InputError, VectorFormatError
from gem_index.vectors.formats.base import Pieces, VectorFile
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.mapped import MappedVectors
from told import told


class TestWriting:
    @pytest.fixture
    def file(self):
        return MappedVectors.from_words(["a"], np.eye(1, dtype=np.float32)).as_file("mine", "glove")

    @pytest.mark.parametrize(
        "name",
        [
            *(f"v.{ending}" for ending in (
                "xz", "bz2", "zip", "npy", "npz", "safetensors", "csv", "tsv", "json", "jsonl", "kv", "model", "pkl",
            )),
            "v.gz", "v.parquet.gz", "v.CSV", "-",
        ],
    )  # fmt: skip
    def test_names_that_tell_another_format(self, tmp_path, file, name):
        assert told(InputError, write_vectors, file, tmp_path / name) == (
            f"the output is {tmp_path / name}; expected a name ending in .txt, .vec, .bin, .parquet (all but .parquet also "
            ".gz), or one without an ending for a folder"
        )
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("name", "format"),
        [("v.TXT", "glove"), ("v.Vec", "word2vec-text"), ("v.bin.gz", "word2vec-binary"), ("v.50d", "folder")],
    )  # fmt: skip
    def test_names_tell_a_format(self, tmp_path, file, name, format):
        write_vectors(file, tmp_path / name)
        assert read_vectors(tmp_path / name).format == format
        if format == "folder":
            assert (tmp_path / name / "words.txt").read_bytes() == b"a\n"

    def test_what_exists_already(self, tmp_path, file):
        (tmp_path / "folder").mkdir()
        (tmp_path / "file").write_text("mine")
        for name, kind in (("folder", "glove"), ("file", "folder"), ("file", "model2vec")):
            assert told(InputError, write_vectors, file, tmp_path / name, kind) == (
                f"{tmp_path / name} exists already; expected the name of a new file or folder"
            )
        assert (tmp_path / "file").read_text() == "mine"
        write_vectors(file, tmp_path / "file", "glove")
        assert (tmp_path / "file").read_text() == "a 1\n"

    def test_where_nothing_can_be_written(self, tmp_path, file):
        path = tmp_path / "absent/v.txt"
        assert told(InputError, write_vectors, file, path) == (
            f"cannot write {path}: no such file or directory; expected a writable folder with room"
        )

    @pytest.mark.parametrize(
        ("word", "format", "problem"),
        [
            ("new york", "word2vec-text", "holds a space, which word2vec's formats cannot hold"),
            ("new york", "word2vec-binary", "holds a space, which word2vec's formats cannot hold"),
            ("", "word2vec-binary", "is empty, which word2vec's formats cannot hold"),
            ("new york", "model2vec", "is not one run of letters, which model2vec's tokenizer would split"),
        ],
    )  # fmt: skip
    def test_words_that_do_not_fit(self, tmp_path, word, format, problem):
        file = MappedVectors.from_words([word], np.eye(1, dtype=np.float32)).as_file("x", "glove")
        assert told(VectorFormatError, write_vectors, file, tmp_path / "v", format) == (
            f"the word {word!r} {problem}; expected another format: glove, folder or parquet"
        )
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("format", "rule", "told"),
        [
            ("glove", "mean", "mine composes words from pieces; expected the format model2vec, or words"),
            (
                "model2vec",
                "sum",
                "mine sums its pieces, but model2vec averages them; expected a source that averages, or words",
            ),
            (
                "model2vec",
                "mean",
                "mine counts unknown pieces, but model2vec omits them; expected a model2vec source, or words",
            ),
        ],
    )  # fmt: skip
    def test_pieces_that_do_not_fit(self, tmp_path, format, rule, told):
        tokenizer = tmp_path / "tokenizer.json"
        model = {"type": "WordLevel", "vocab": {"[UNK]": 0}, "unk_token": "[UNK]"}
        tokenizer.write_text(json.dumps({"version": "1.0", "added_tokens": [], "model": model}))
        rows = np.ones((1, 2), np.float32)
        file = VectorFile(
            "mine", "subword", 2, rows.dtype, lambda: iter([((), rows)]), words=1,
            composition=Pieces(tokenizer, rule),
        )  # fmt: skip
        with pytest.raises(VectorFormatError) as refused:
            write_vectors(file, tmp_path / "v", format)
        assert str(refused.value).startswith(told)
        assert refused.value.advice.action is Action.CUT_TO_WORDS

    def test_the_files_of_a_model2vec_folder(self, tmp_path):
        words = ["a", "[UNK]", "b", "a"]
        rows = np.arange(8, dtype=np.float32).reshape(4, 2)
        source = MappedVectors.from_words(words, rows)
        write_vectors(source.as_file("mine", "glove"), tmp_path / "m", "model2vec")
        assert sorted(path.name for path in (tmp_path / "m").iterdir()) == [
            "config.json", "model.safetensors", "tokenizer.json",
        ]  # fmt: skip
        assert (tmp_path / "m/config.json").read_text() == (
            '{\n "model_type": "model2vec",\n "hidden_dim": 2,\n "normalize": false\n}\n'
        )
        model = json.loads((tmp_path / "m/tokenizer.json").read_text())["model"]
        assert model["vocab"] == {"a": 0, "[UNK]": 1, "b": 2}
        from gem_index.vectors.formats.arrays import read_tensors

        (table,) = read_tensors(tmp_path / "m/model.safetensors").values()
        assert table.tolist() == rows[:3].tolist()
