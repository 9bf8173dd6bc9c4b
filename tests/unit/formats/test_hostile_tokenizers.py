"""Tokenizer files that expand text, panic or refer to missing content."""

import base64
import json
import struct
import time

import numpy as np
import pytest
from safetensors.numpy import save_file

from gem_index.errors import VectorFormatError
from gem_index.vectors.formats.registry import read_vectors
from gem_index.vectors.formats.tokenizers import check_tokenizer, unknown_piece
from gem_index.vectors.stored import open_unstored

VOCABULARY = {"[UNK]": 0, "a": 1, "b": 2, "river": 3, "ab": 4}
MODEL = {"type": "WordLevel", "vocab": VOCABULARY, "unk_token": "[UNK]"}


def document(**parts):
    return {"version": "1.0", "added_tokens": [], "model": MODEL, **parts}


def sequence(*parts):
    return {"type": "Sequence", "normalizers": list(parts)}


def replacing(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def charsmap(units, texts=b"\0"):
    blob = struct.pack("<I", 4 * len(units)) + struct.pack(f"<{len(units)}I", *units) + texts
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(blob).decode()}


def bpe(**parts):
    return {"type": "BPE", "vocab": VOCABULARY, "merges": [["a", "b"]], **parts}


@pytest.fixture
def folder(tmp_path):
    """A model2vec folder with a given tokenizer."""

    def write(content):
        (tmp_path / "config.json").write_text("{}")
        rows = np.arange(10, dtype=np.float32).reshape(5, 2)
        save_file({"embeddings": rows}, tmp_path / "model.safetensors")
        text = content if isinstance(content, str) else json.dumps(content)
        (tmp_path / "tokenizer.json").write_text(text)
        return tmp_path

    return write


DOUBLED = sequence(*[replacing("a", "aa")] * 40)
HOSTILE = {
    "doubled forty times": (document(normalizer=DOUBLED),
        "expands one character to more than 10,000; expected less growth"),
    "doubled in sequences of sequences": (
        document(normalizer=sequence(*[sequence(replacing("a", "bb"), replacing("b", "aa"))] * 20)),
        "expands one character to more than 10,000; expected less growth",
    ),
    "a megabyte for a letter": (document(normalizer=replacing("a", "x" * 10**6)),
        "has 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' as content of a Replace; expected a "
        "string of at most 10,000 characters"),
    "by a regular expression": (
        document(normalizer=sequence(*[replacing("", "ab", "Regex")] * 40)),
        "expands one character to more than 10,000; expected less growth"),
    "by the empty string": (document(normalizer=sequence(*[replacing("", "ab")] * 40)),
        "expands one character to more than 10,000; expected less growth"),
    "by bytes": (document(normalizer=sequence(*[{"type": "ByteLevel"}] * 40)),
        "expands one character to more than 10,000; expected less growth"),
    "by a prefix": (document(normalizer={"type": "Prepend", "prepend": "x" * 10**6}),
        "has 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' as prepend of a Prepend; expected a "
        "string of at most 10,000 characters"),
    "by many prefixes": (
        document(normalizer=sequence(*[{"type": "Prepend", "prepend": "x" * 9000}] * 2)),
        "expands one character to more than 10,000; expected less growth"),
    "by pre-tokenizers": (
        document(pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "ByteLevel"}] * 40}),
        "expands one character to more than 10,000; expected less growth"),
    "by a template": (
        document(post_processor={
            "type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}] * 1000,
            "pair": [], "special_tokens": {},
        }),
        "has a template that repeats a word's pieces; expected each piece once"),
    "a thousand parts": (document(normalizer=sequence(*[{"type": "NFC"}] * 5000)),
        "has more than 1000 parts of its normalizer; expected fewer"),
    "a regular expression that repeats": (
        document(normalizer=replacing("((a{1000}){1000}){1000}", "", "Regex")),
        "has a regular expression that repeats too much; expected less"),
    "a long regular expression": (
        document(pre_tokenizer={"type": "Split", "pattern": {"Regex": "a" * 30_000}, "behavior": "Isolated",
                                "invert": False}),
        "has the pattern {'Regex': 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa...}; expected a String or "
        "Regex of at most 20,000 characters"),
    "an empty character map": (
        document(normalizer={"type": "Precompiled", "precompiled_charsmap": ""}),
        "has a damaged character map of 0 bytes; expected a tokenizer as model2vec or sentence-transformers "
        "saves it"),
    "no base64": (
        document(normalizer={"type": "Precompiled", "precompiled_charsmap": "\u00e9"}),
        "has a character map that is not base64; expected a tokenizer as model2vec or sentence-transformers "
        "saves it"),
    "base64 with too much padding": (
        document(normalizer={"type": "Precompiled", "precompiled_charsmap": "BAAAAAAAAAA====="}),
        "has a character map that is not base64; expected a tokenizer as model2vec or sentence-transformers "
        "saves it"),
    "a character map that leads out": (document(normalizer=charsmap([1 << 10, 0, 0])),
        "has a character map that refers to content outside of it; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a replacement that is not there": (
        # the byte 1 leads from unit 0 to unit 1, whose leaf is unit 256 + 1 ^ 1
        document(normalizer=charsmap([0, 1 | 1 << 8 | 257 << 10, *[0xFF] * 254, 99, *[0] * 255])),
        "has a character map that refers to content outside of it; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a replacement that cuts a character": (
        document(normalizer=charsmap([0, 1 | 1 << 8 | 257 << 10, *[0xFF] * 254, 1, *[0] * 255], b"\xc3\xa9\0")),
        "has a character map that splits characters; expected a tokenizer as model2vec or sentence-transformers "
        "saves it"),
    "a replacement of a megabyte": (
        document(normalizer=charsmap([0] * 256, b"x" * 10**6 + b"\0")),
        "expands one character to more than 10,000; expected less growth"),
    "runs of nothing": (document(pre_tokenizer={"type": "FixedLength", "length": 0}),
        "cuts words into runs of 0; expected a length of 1 or more"),
    "an unknown normalizer": (document(normalizer={"type": "Explode"}),
        "has the normalizer 'Explode', which is not known; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "an unknown pre-tokenizer": (document(pre_tokenizer={"type": "Explode"}),
        "has the pre-tokenizer 'Explode', which is not known; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a normalizer without a type": (document(normalizer={"prepend": "x"}),
        "has a normalizer without a type; expected a tokenizer as model2vec or sentence-transformers saves it"),
    "an unknown model": (document(model={"type": "Explode"}),
        "has the model 'Explode'; expected one of BPE, Unigram, WordLevel, WordPiece"),
    "no model": ({"version": "1.0"},
        "is not a tokenizer in JSON (it holds no model); expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a list": ([],
        "is not a tokenizer in JSON (it holds no model); expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a missing unknown token": (document(model={**MODEL, "unk_token": "<unk>"}),
        "names the unknown token '<unk>', which its vocabulary does not hold; expected one that it holds"),
    "no unknown token": (document(model={**MODEL, "unk_token": None}),
        "names the unknown token None, which its vocabulary does not hold; expected one that it holds"),
    "a missing unknown piece": (
        document(model={"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": None}),
        "names the unknown piece None of 1; expected one that it holds"),
    "an unknown piece out of range": (
        document(model={"type": "Unigram", "vocab": [["a", 0.0]], "unk_id": 7}),
        "names the unknown piece 7 of 1; expected one that it holds"),
    "merges that panic": (
        document(model=bpe(continuing_subword_prefix="##########")),
        "merges ['a', 'b'] without its prefix; expected '##########'"),
    "merges by chance": (document(model=bpe(dropout=0.5)),
        "omits merges at random (dropout); expected the same pieces every time"),
    "a long affix": (document(model=bpe(end_of_word_suffix="x" * 10**6)),
        "has 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' as end_of_word_suffix of a BPE; "
        "expected a string of at most 100 characters"),
    "words without end": (
        document(model={**MODEL, "type": "WordPiece", "max_input_chars_per_word": 10**9,
                        "continuing_subword_prefix": "##"}),
        "splits words of up to 1000000000 characters; expected at most 1,000"),
    "a piece beyond the table": (
        document(model={**MODEL, "vocab": {**VOCABULARY, "x": 5}}),
        "has the piece 5 and the table 5 rows; expected a row for each piece"),
    "added tokens that are none": (document(added_tokens=[{"id": 1}]),
        "has added tokens without content or id; expected a tokenizer as model2vec or sentence-transformers "
        "saves it"),
    "added tokens that grow": (
        document(normalizer=replacing("a", "b" * 9000),
                 added_tokens=[{"id": i, "content": "a" * 1000} for i in range(2000)]),
        "has added tokens that grow to more than 16,777,216 characters; expected less growth"),
    "a sequence of nothing": (document(normalizer={"type": "Sequence", "normalizers": 5}),
        "has a normalizer that is a sequence of nothing; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "an unknown post-processor": (document(post_processor={"type": "Own"}),
        "has the post-processor 'Own', which is not known; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a template of nothing": (
        document(post_processor={"type": "TemplateProcessing", "single": None}),
        "has a template that is not a list; expected a tokenizer as model2vec or sentence-transformers saves it"),
    "a character map that is not text": (
        document(normalizer=charsmap([0] * 256, b"\xff\0")),
        "has a character map whose replacements are not UTF-8; expected a tokenizer as model2vec or "
        "sentence-transformers saves it"),
    "a vocabulary that is a list": (document(model=MODEL | {"vocab": ["a"]}),
        "has a vocabulary that is not an object; expected a tokenizer as model2vec or sentence-transformers "
        "saves it"),
    "a unigram vocabulary that is none": (
        document(model={"type": "Unigram", "vocab": {"a": 1}, "unk_id": 0}),
        "has a vocabulary that is not a list; expected a tokenizer as model2vec or sentence-transformers saves "
        "it"),
    "merges that are an object": (document(model=bpe(merges={})),
        "has merges that are not a list; expected a tokenizer as model2vec or sentence-transformers saves it"),
    "two normalizers": (
        json.dumps(document(normalizer=None))[:-1] + ', "normalizer": {"type": "NFC"}}',
        "holds the key 'normalizer' twice in one object; expected it once"),
    "deep": ('{"model": ' + "[" * 100_000,
        "is nested deeper than 100 levels; expected fewer"),
    "an integer of many digits": ('{"model": ' + "9" * 5000 + "}",
        "holds an integer of 5000 digits; expected at most 4,300"),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), HOSTILE.values(), ids=HOSTILE)
def test_are_refused_before_they_run(folder, capfd, content, message):
    path = folder(content)
    started = time.process_time()
    with pytest.raises(VectorFormatError) as caught:
        read_vectors(path)
    assert str(caught.value) == f"{path}/tokenizer.json {message}"
    assert len(str(caught.value)) < 350
    assert str(caught.value).isprintable()
    assert time.process_time() - started < 5
    assert capfd.readouterr().err == "", "a panic tells of itself"


KNOWN = {
    "WordLevel": document(),
    "BERT": document(
        normalizer={"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True,
                    "strip_accents": None, "lowercase": True},
        pre_tokenizer={"type": "BertPreTokenizer"},
        post_processor={"type": "BertProcessing", "sep": ["b", 2], "cls": ["a", 1]},
        model={"type": "WordPiece", "vocab": VOCABULARY, "unk_token": "[UNK]", "continuing_subword_prefix": "##",
               "max_input_chars_per_word": 100},
    ),
    "Llama": document(
        normalizer=sequence({"type": "Prepend", "prepend": "\u2581"}, replacing(" ", "\u2581")),
        model=bpe(),
        post_processor={"type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
                        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}],
                        "special_tokens": {}},
    ),
    "punctuation by itself": document(
        normalizer=sequence({"type": "NFKC"}, {"type": "Lowercase"}, *[replacing(c, f" {c} ") for c in "!?.,;:-()[]"],
                            replacing(r"\s+", " ", "Regex"), {"type": "Strip", "strip_left": True, "strip_right": True}),
        pre_tokenizer={"type": "Sequence", "pretokenizers": [{"type": "WhitespaceSplit"}, {"type": "Punctuation",
                       "behavior": "Isolated"}]},
    ),
    "a character map": document(
        normalizer=charsmap([0, 1 | 1 << 8 | 257 << 10, *[0xFF] * 254, 2, *[0] * 255], b"a\0b\0")
    ),
    "Unigram": document(model={"type": "Unigram", "unk_id": 0, "vocab": [[word, -1.0] for word in VOCABULARY],
                               "byte_fallback": False}),
}  # fmt: skip


@pytest.mark.parametrize("content", KNOWN.values(), ids=KNOWN)
def test_published_forms_are_read(folder, content):
    source = open_unstored(read_vectors(folder(content)))
    rows, _ = source.lookup(["river", "zzz", "\u00e9"])
    assert rows.shape == (3, 2)


def test_a_character_map_is_followed_as_the_package_does(folder):
    source = open_unstored(read_vectors(folder(KNOWN["a character map"])))
    np.testing.assert_array_equal(source.lookup(["\x01"])[0], source.lookup(["b"])[0])


def test_a_panic_at_a_word_is_one_error(folder, monkeypatch):
    class PanicException(BaseException):
        pass

    class Panicking:
        def encode(self, word, **_):
            raise PanicException("index out of bounds\nat line 3")

    source = open_unstored(read_vectors(folder(document())))
    monkeypatch.setattr(source, "_tokenizer", Panicking())
    with pytest.raises(
        VectorFormatError, match=r"cannot split the word 'a' \('index out of bounds\\nat"
    ):
        source.lookup(["a"])


def test_a_tokenizer_is_not_there(tmp_path):
    with pytest.raises(VectorFormatError, match=r"tokenizer\.json is not a tokenizer"):
        check_tokenizer(tmp_path / "tokenizer.json", 3)


def test_numbers_whose_sum_is_none(folder):
    path = folder(KNOWN["Llama"])
    largest = np.full((5, 2), np.finfo(np.float32).max)
    save_file({"embeddings": largest.astype(np.float32)}, path / "model.safetensors")
    assert np.isfinite(open_unstored(read_vectors(path)).lookup(["abba", "a"])[0]).all()


class TestTables:
    """Tensors of a folder that do not agree."""

    @pytest.mark.parametrize(
        ("tensors", "message"),
        [
            ({"mapping": np.zeros((5, 2), np.int64)}, "do not agree"),
            ({"mapping": np.array([0.0, 1.0])}, "do not agree"),
            ({"mapping": np.array([0, 7])}, "do not agree"),
            ({"mapping": np.array([-1, 0])}, "do not agree"),
            ({"mapping": np.array([True, False])}, "do not agree"),
            ({"weights": np.zeros((5, 1000), np.float32)}, "do not agree"),
            ({"weights": np.zeros(1, np.float32)}, "do not agree"),
            ({"weights": np.full(5, np.inf, np.float32)}, "NaN or infinity"),
            ({"embeddings": np.zeros(5, np.float32)}, r"the table \(5,\)"),
            ({"embeddings": np.zeros((5, 0), np.float32)}, r"model\.safetensors|m holds|holds float32"),
            ({"embeddings": np.zeros((1, 60_000), np.float16), "mapping": np.zeros(200_000, np.int64)}, "do not agree"),
        ],
    )  # fmt: skip
    def test_are_refused(self, folder, tensors, message):
        path = folder(document())
        rows = np.arange(10, dtype=np.float32).reshape(5, 2)
        save_file({"embeddings": rows, **tensors}, path / "model.safetensors")
        with pytest.raises(VectorFormatError, match=message):
            open_unstored(read_vectors(path))

    @pytest.mark.parametrize(
        ("modules", "message"),
        [
            ('[{"type": "StaticEmbedding", "path": "../other"}]', r"the folder '\.\./other'"),
            ('[{"type": "StaticEmbedding", "path": "/etc"}]', "the folder '/etc'"),
            ('[{"type": "StaticEmbedding", "path": "a\\u0000b"}]', "the folder"),
            ('[{"type": "StaticEmbedding", "path": 7}]', "the folder 7"),
            ("[" * 100_000, "nested deeper than 100"),
            ('[{"type": ' + "9" * 5000 + "}]", "an integer of 5000 digits"),
            ("{", "is not JSON"),
            ("{}", "names no StaticEmbedding"),
            ("\ud800", "not UTF-8"),
        ],
    )
    def test_modules(self, folder, modules, message):
        path = folder(document())
        (path / "modules.json").write_bytes(modules.encode(errors="surrogatepass"))
        with pytest.raises(VectorFormatError, match=message):
            read_vectors(path)


def wordpiece(**parts):
    return {**MODEL, "type": "WordPiece", "continuing_subword_prefix": "##", **parts}


BOUNDS = {
    "growth": (document(normalizer=replacing("b", "x" * 10_000)), None),
    "growth of two steps": (
        document(normalizer=sequence(replacing("b", "xx"), replacing("x", "y" * 5001))),
        "expands one character to more than 10,000; expected less growth",
    ),
    "the same steps in the other order": (
        document(normalizer=sequence(replacing("x", "y" * 5001), replacing("b", "xx"))), None),
    "the longest word": (document(model=wordpiece(max_input_chars_per_word=1000)), None),
    "a longer word": (
        document(model=wordpiece(max_input_chars_per_word=1001)),
        "splits words of up to 1001 characters; expected at most 1,000",
    ),
    "merges as strings": (
        document(model=bpe(continuing_subword_prefix="#", vocab={**VOCABULARY, "#b": 4}, merges=["a #b"])), None),
    "merges without the prefix": (
        document(model=bpe(continuing_subword_prefix="##", merges=["a b"])),
        "merges ['a', 'b'] without its prefix; expected '##'",
    ),
    "a long added token": (
        document(added_tokens=[{"id": 4, "content": "x" * 10_001}]),
        "has added tokens without content or id; expected a tokenizer as model2vec or sentence-transformers saves it",
    ),
    "an unknown token": (
        document(model={**MODEL, "unk_token": "?"}),
        "names the unknown token '?', which its vocabulary does not hold; expected one that it holds",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("content", "message"), BOUNDS.values(), ids=BOUNDS)
def test_bounds(folder, content, message):
    path = folder(content)
    if message is None:
        assert read_vectors(path).words == 5
        return
    with pytest.raises(VectorFormatError) as refused:
        read_vectors(path)
    assert str(refused.value) == f"{path}/tokenizer.json {message}"


@pytest.mark.parametrize(
    ("model", "added", "piece"),
    [
        ({"unk_id": 0, "vocab": [["a", 0.0]]}, None, 0),
        ({"unk_token": None, "vocab": {}}, None, None),
        ({"unk_token": "?", "vocab": {"?": 3}}, None, 3),
        ({"unk_token": "?", "vocab": {"?": 3}}, [{"content": "?", "id": 7}], 7),
        ({"unk_token": "?", "vocab": {}}, [{"content": "!", "id": 7}], None),
    ],
)
def test_the_piece_of_unknown_text(model, added, piece):
    assert unknown_piece({"model": model, "added_tokens": added}) == piece


def test_a_missing_tokenizer_is_told_in_whole(tmp_path):
    with pytest.raises(VectorFormatError) as refused:
        check_tokenizer(tmp_path / "tokenizer.json", 3)
    assert str(refused.value) == (
        f"{tmp_path}/tokenizer.json is not a tokenizer in JSON ('No such file or directory'); expected a tokenizer as "
        "model2vec or sentence-transformers saves it"
    )


def test_a_long_pattern_is_told_with_its_bound(folder):
    with pytest.raises(VectorFormatError) as refused:
        read_vectors(folder(document(normalizer=replacing("x" * 20_001, ""))))
    assert str(refused.value).endswith("; expected a String or Regex of at most 20,000 characters")
    assert read_vectors(folder(document(normalizer=replacing("x" * 20_000, "")))).words == 5
