"""Static models of pieces, against model2vec."""

import json

import numpy as np
import pytest
from safetensors.numpy import save_file

from gem_index.errors import VectorFormatError
from gem_index.vectors.formats.registry import read_vectors, write_vectors
from gem_index.vectors.mapped import MappedVectors
from gem_index.vectors.stored import import_vectors, open_unstored
from word_rows import MATRIX, WORDS


class TestModel2vec:
    @pytest.fixture
    def model(self):
        from model2vec import StaticModel
        from tokenizers import Tokenizer
        from tokenizers.models import WordPiece
        from tokenizers.pre_tokenizers import Whitespace

        pieces = ["[UNK]", "[PAD]", "river", "bank", "##s", "##ing", "a", "b", "##a", "##b"]
        tokenizer = Tokenizer(
            WordPiece({piece: i for i, piece in enumerate(pieces)}, unk_token="[UNK]")
        )
        tokenizer.pre_tokenizer = Whitespace()
        tokenizer.enable_truncation(2)
        table = np.random.default_rng(5).normal(size=(len(pieces), 6)).astype(np.float32)
        return StaticModel(table, tokenizer, {"normalize": False})

    WORDS = ("river", "rivers", "banking", "a", "abab", "ab")

    def test_words_equal_those_that_the_package_encodes(self, model, tmp_path):
        model.save_pretrained(tmp_path / "m")
        source = open_unstored(read_vectors(tmp_path / "m"))
        rows, unknown = source.lookup([*self.WORDS, "zzz"])
        np.testing.assert_allclose(rows[:-1], model.encode(list(self.WORDS)), atol=1e-6)
        assert unknown.tolist() == [False] * 6 + [True]

    def test_a_word_has_all_its_pieces_whatever_its_tokenizer_truncates_or_pads(
        self, model, tmp_path
    ):
        from tokenizers import Tokenizer

        model.save_pretrained(tmp_path / "m")
        path = str(tmp_path / "m" / "tokenizer.json")
        tokenizer = Tokenizer.from_file(path)
        tokenizer.enable_truncation(2)
        tokenizer.enable_padding(length=8, pad_id=1, pad_token="[PAD]")
        tokenizer.save(path)
        rows, _ = open_unstored(read_vectors(tmp_path / "m")).lookup(["abab", "a"])
        np.testing.assert_allclose(rows, model.encode(["abab", "a"]), atol=1e-6)

    def test_weights_and_shared_rows(self, model, tmp_path):
        from model2vec import StaticModel

        weights = np.linspace(0.5, 2, 10)
        mapping = np.array([0, 1, 2, 3, 4, 4, 5, 5, 6, 6])
        quantised = StaticModel(
            model.embedding[:7], model.tokenizer, {"normalize": False}, weights=weights,
            token_mapping=mapping,
        )  # fmt: skip
        quantised.save_pretrained(tmp_path / "m")
        rows, _ = open_unstored(read_vectors(tmp_path / "m")).lookup(self.WORDS)
        np.testing.assert_allclose(rows, quantised.encode(list(self.WORDS)), atol=1e-6)

    def test_the_package_reads_what_we_write(self, vectors, tmp_path):
        from model2vec import StaticModel

        write_vectors(vectors.as_file("mine", "glove"), tmp_path / "m", "model2vec")
        model = StaticModel.from_pretrained(tmp_path / "m")
        np.testing.assert_allclose(model.encode(WORDS), MATRIX, atol=1e-6)
        again = open_unstored(read_vectors(tmp_path / "m"))
        np.testing.assert_array_equal(again.lookup(WORDS)[0], MATRIX)
        assert again.lookup(["nowhere"])[1].tolist() == [True]

    def test_pieces_are_written_with_their_tokenizer(self, model, tmp_path):
        from model2vec import StaticModel

        model.save_pretrained(tmp_path / "m")
        source = import_vectors(read_vectors(tmp_path / "m"), tmp_path / "v")
        write_vectors(source.as_file("mine", "model2vec"), tmp_path / "again", "model2vec")
        again = StaticModel.from_pretrained(tmp_path / "again")
        np.testing.assert_allclose(
            again.encode(list(self.WORDS)), model.encode(list(self.WORDS)), atol=1e-6
        )
        with pytest.raises(VectorFormatError, match="composes words from pieces"):
            write_vectors(source.as_file("mine", "model2vec"), tmp_path / "v.txt")

    def test_sentence_transformers_folder(self, model, tmp_path):
        # the layout of SentenceTransformer.save_pretrained with one StaticEmbedding module
        inner = tmp_path / "st" / "0_StaticEmbedding"
        inner.mkdir(parents=True)
        modules = [{"idx": 0, "name": "0", "path": inner.name,
                    "type": "sentence_transformers.models.StaticEmbedding"}]  # fmt: skip
        (tmp_path / "st" / "modules.json").write_text(json.dumps(modules))
        save_file({"embedding.weight": model.embedding}, inner / "model.safetensors")
        model.tokenizer.save(str(inner / "tokenizer.json"))
        file = read_vectors(tmp_path / "st")
        assert file.format == "static-embedding"
        rows, _ = open_unstored(file).lookup(self.WORDS)
        np.testing.assert_allclose(rows, model.encode(list(self.WORDS)), atol=1e-6)

    def test_other_sentence_transformers_are_refused(self, tmp_path):
        (tmp_path / "modules.json").write_text(
            '[{"type": "sentence_transformers.models.Transformer"}]'
        )
        with pytest.raises(VectorFormatError, match="names no StaticEmbedding"):
            read_vectors(tmp_path)

    def test_a_folder_that_is_said_to_be_one(self, model, tmp_path):
        with pytest.raises(VectorFormatError, match="names no StaticEmbedding"):
            read_vectors(tmp_path, "static-embedding")
        model.save_pretrained(tmp_path / "m")
        save_file({"other": model.embedding}, tmp_path / "m" / "model.safetensors")
        with pytest.raises(VectorFormatError, match="expected 'embeddings'"):
            read_vectors(tmp_path / "m", "model2vec")

    def test_tensors_of_other_uses_are_left_alone(self, model, tmp_path):
        model.save_pretrained(tmp_path / "m")
        other = np.zeros(3, np.bool_)
        save_file(
            {"embeddings": model.embedding, "other": other}, tmp_path / "m" / "model.safetensors"
        )
        rows, _ = open_unstored(read_vectors(tmp_path / "m")).lookup(["river"])
        np.testing.assert_allclose(rows[0], model.embedding[2], atol=1e-6)

    def test_summed_pieces_cannot_be_written_as_model2vec(self, home, tmp_path):
        with pytest.raises(VectorFormatError, match="sums its pieces, but model2vec averages them"):
            home.vectors.export("wordllama", tmp_path / "x", "model2vec")
        assert not (tmp_path / "x").exists()

    def test_int8_rows(self, model, tmp_path):
        from model2vec import StaticModel

        table = np.rint(model.embedding * 40).astype(np.int8)
        StaticModel(table, model.tokenizer, {"normalize": False}).save_pretrained(tmp_path / "m")
        rows, _ = open_unstored(read_vectors(tmp_path / "m")).lookup(["river", "rivers"])
        np.testing.assert_allclose(rows[0], table[2])
        np.testing.assert_allclose(rows[1], (table[2].astype(float) + table[4]) / 2)

    def test_a_table_with_too_few_rows(self, model, tmp_path):
        model.save_pretrained(tmp_path / "m")
        save_file({"embeddings": model.embedding[:5]}, tmp_path / "m" / "model.safetensors")
        with pytest.raises(VectorFormatError, match="the piece 9 and the table 5 rows"):
            read_vectors(tmp_path / "m", "model2vec")

    def test_words_and_pieces_that_do_not_fit(self, model, tmp_path):
        spaced = MappedVectors.from_words(["new york", "b"], np.eye(2, dtype=np.float32))
        with pytest.raises(VectorFormatError, match="'new york' is not one run of letters"):
            write_vectors(spaced.as_file("x", "glove"), tmp_path / "x", "model2vec")
        inner = tmp_path / "st"
        inner.mkdir()
        (inner / "modules.json").write_text('[{"path": "", "type": "x.StaticEmbedding"}]')
        save_file({"embedding.weight": model.embedding}, inner / "model.safetensors")
        model.tokenizer.save(str(inner / "tokenizer.json"))
        source = import_vectors(read_vectors(inner), tmp_path / "v")
        with pytest.raises(VectorFormatError, match="counts unknown pieces"):
            write_vectors(source.as_file("x", "static-embedding"), tmp_path / "x", "model2vec")

    @pytest.mark.parametrize("content", [b"{ nothing", b'{"model": {"vocab": {}}}', None])
    @pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
    def test_damaged_folders_are_refused(self, model, tmp_path, name, content):
        model.save_pretrained(tmp_path / "m")
        (tmp_path / "m" / name).unlink()
        if content is not None:
            (tmp_path / "m" / name).write_bytes(content)
        with pytest.raises(VectorFormatError, match=name):
            read_vectors(tmp_path / "m", "model2vec")
