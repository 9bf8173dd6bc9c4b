"""Damaged and hostile files of word vectors, made from small valid ones, and the process that opens them under limits.

``python tests/hostile_files.py FOLDER FIRST LAST`` opens the cases of these numbers in the order of ``case``, and prints a
line of JSON before and after each. A case is made of its number alone, so that a finding can be made again.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import pickletools
import random
import resource
import shutil
import struct
import sys
import tempfile
import time
import warnings
import zipfile
import zlib
from pathlib import Path

MEMORY = 4 << 30  # bytes of address space
GROWTH = 1 << 20  # KiB that one case may add to what the process holds
SECONDS = 10
LONGEST_MESSAGE = 500  # without the folder's name

WORDS = ["the", "of", "river", "bank", "\u00e9t\u00e9", "\u6771\u4eac", "ducks", "a"]
LOOKED_UP = ["the", "rivers", "zzz", "\u00e9", "a" * 40, "x1"]


def _matrix():
    import numpy as np

    return np.arange(48, dtype=np.float32).reshape(8, 6) / 10 - 2


def _text(header):
    lines = [
        f"{word} {' '.join(map(str, row))}"
        for word, row in zip(WORDS, _matrix().tolist(), strict=True)
    ]
    return ("8 6\n" * header + "\n".join(lines) + "\n").encode()


def _binary():
    return b"8 6\n" + b"".join(
        word.encode() + b" " + row.tobytes() + b"\n"
        for word, row in zip(WORDS, _matrix(), strict=True)
    )


def _fasttext():
    words, buckets, dimension = [word.encode() for word in WORDS], 8, 6
    head = struct.pack(
        "<ii12id", 793712314, 12, dimension, 5, 5, 1, 5, 1, 1, 2, buckets, 3, 6, 100, 1e-4
    )
    head += struct.pack("<iiiqq", len(words), len(words), 0, 99, -1)
    head += b"".join(word + b"\0" + struct.pack("<qb", 3, 0) for word in words)
    rows = _matrix().tobytes()
    return (
        head
        + b"\0"
        + struct.pack("<qq", 16, dimension)
        + rows * 2
        + b"\0"
        + struct.pack("<qq", 8, dimension)
        + rows
    )


def _npy(**how):
    import numpy as np

    file = io.BytesIO()
    if how:
        np.savez_compressed(file, **how)
    else:
        np.save(file, _matrix())
    return file.getvalue()


def _parquet():
    import pyarrow as pa
    import pyarrow.parquet as pq

    file = io.BytesIO()
    pq.write_table(pa.table({"word": WORDS, "vector": _matrix().tolist()}), file)
    return file.getvalue()


def _safetensors(name="vectors", **more):
    from safetensors.numpy import save

    return save({name: _matrix(), **more})


TOKENIZER = {
    "version": "1.0", "truncation": None, "padding": None,
    "added_tokens": [{"id": 0, "content": "[UNK]", "single_word": False, "lstrip": False, "rstrip": False,
                      "normalized": False, "special": True}],
    "normalizer": {"type": "Sequence", "normalizers": [
        {"type": "NFKC"}, {"type": "Lowercase"}, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "},
        {"type": "Replace", "pattern": {"String": "-"}, "content": " - "}, {"type": "Prepend", "prepend": " "},
        {"type": "Precompiled", "precompiled_charsmap": None},
    ]},
    "pre_tokenizer": {"type": "Sequence", "pretokenizers": [
        {"type": "WhitespaceSplit"}, {"type": "Split", "pattern": {"String": "x"}, "behavior": "Isolated", "invert": False},
    ]},
    "post_processor": {
        "type": "TemplateProcessing", "single": [{"Sequence": {"id": "A", "type_id": 0}}],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 1}}], "special_tokens": {},
    },
    "decoder": None,
}  # fmt: skip
MODELS = [
    {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
     "vocab": {"[UNK]": 0, "river": 1, "##s": 2, "a": 3, "##a": 4, "the": 5, "z": 6, "##z": 7}},
    {"type": "BPE", "dropout": None, "unk_token": "[UNK]", "continuing_subword_prefix": None, "end_of_word_suffix": None,
     "fuse_unk": False, "byte_fallback": False, "ignore_merges": False, "merges": [["r", "i"], ["t", "h"]],
     "vocab": {"[UNK]": 0, "r": 1, "i": 2, "ri": 3, "t": 4, "h": 5, "th": 6, "a": 7}},
    {"type": "Unigram", "unk_id": 0, "vocab": [["[UNK]", 0.0], ["ri", -1.0], ["v", -2.0], ["er", -1.5], ["a", -3.0],
                                                ["th", -1.0], ["e", -2.0], ["z", -2.5]], "byte_fallback": False},
]  # fmt: skip


def _tokenizer(model):
    import base64

    units = struct.pack("<512I", 0, 1 | 1 << 8 | 257 << 10, *[0xFF] * 254, 2, *[0] * 255)
    charsmap = base64.b64encode(struct.pack("<I", len(units)) + units + b"a\0b\0").decode()
    content = json.loads(json.dumps(TOKENIZER | {"model": MODELS[model]}))
    content["normalizer"]["normalizers"][-1]["precompiled_charsmap"] = charsmap
    return json.dumps(content).encode()


def _gensim(kind, separately=(), name="v.kv"):
    from gensim.models import FastText, KeyedVectors

    with tempfile.TemporaryDirectory() as folder:
        if kind == "fasttext":
            model = FastText(
                [["the", "river", "bank"]] * 5, vector_size=4, min_count=1, workers=1, bucket=20
            ).wv  # the model itself keeps the time of day
        else:
            model = KeyedVectors(6)
            model.add_vectors(WORDS, _matrix())
        model.save(str(Path(folder) / name), separately=list(separately))
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def _spacy():
    import spacy

    pipeline = spacy.blank("en")
    for word, row in zip(WORDS, _matrix(), strict=True):
        pipeline.vocab.set_vector(word, row)
    with tempfile.TemporaryDirectory() as folder:
        pipeline.to_disk(folder)
        names = ("strings.json", "key2row", "vectors", "vectors.cfg")
        return {f"vocab/{name}": (Path(folder) / "vocab" / name).read_bytes() for name in names}


def _zip(name, content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(name, content)
    return file.getvalue()


def _lines():
    return "\n".join(WORDS).encode() + b"\n"


def _static(model):
    return {
        "modules.json": json.dumps(
            [{"idx": 0, "name": "0", "path": "0_Static", "type": "x.StaticEmbedding"}]
        ).encode(),
        "0_Static/model.safetensors": _safetensors("embedding.weight"),
        "0_Static/tokenizer.json": _tokenizer(model),
    }


def _model2vec(model):
    import numpy as np

    more = (
        {"mapping": np.arange(8)[::-1].copy(), "weights": np.linspace(0.5, 1, 8)} if model else {}
    )
    return {
        "config.json": b"{}",
        "model.safetensors": _safetensors("embeddings", **more),
        "tokenizer.json": _tokenizer(model),
    }


FORMATS = {
    # the format's name, the file to open (the folder itself where there is none), the files
    "glove": ("glove", "v.txt", lambda: {"v.txt": _text(header=False)}),
    "word2vec-text": ("word2vec-text", "v.vec", lambda: {"v.vec": _text(header=True)}),
    "word2vec-binary": ("word2vec-binary", "v.bin", lambda: {"v.bin": _binary()}),
    "fasttext": ("fasttext", "v.bin", lambda: {"v.bin": _fasttext()}),
    "folder": ("folder", "", lambda: {"words.txt": _lines(), "matrix.npy": _npy()}),
    "npy": ("npy", "v.npy", lambda: {"v.npy": _npy(), "v.txt": _lines()}),
    "npz": ("npy", "v.npz", lambda: {"v.npz": _npy(vectors=_matrix()), "v.txt": _lines()}),
    "safetensors": ("safetensors", "v.safetensors", lambda: {"v.safetensors": _safetensors(), "words.txt": _lines()}),
    "parquet": ("parquet", "v.parquet", lambda: {"v.parquet": _parquet()}),
    "model2vec-wordpiece": ("model2vec", "", lambda: _model2vec(0)),
    "model2vec-bpe": ("model2vec", "", lambda: _model2vec(1)),
    "model2vec-unigram": ("model2vec", "", lambda: _model2vec(2)),
    "static-embedding": ("static-embedding", "", lambda: _static(1)),
    "gensim": ("gensim", "v.kv", lambda: _gensim("words")),
    "gensim-beside": ("gensim", "v.kv", lambda: _gensim("words", ["vectors"])),
    "gensim-packed": ("gensim", "v.kv.gz", lambda: _gensim("words", ["vectors"], "v.kv.gz")),
    "gensim-fasttext": ("gensim", "v.kv", lambda: _gensim("fasttext")),
    "spacy": ("spacy", "", _spacy),
    "glove.gz": ("glove", "v.txt.gz", lambda: {"v.txt.gz": gzip.compress(_text(header=False), mtime=0)}),
    "glove.bz2": ("glove", "v.txt.bz2", lambda: {"v.txt.bz2": bz2.compress(_text(header=False))}),
    "glove.xz": ("glove", "v.txt.xz", lambda: {"v.txt.xz": lzma.compress(_text(header=False))}),
    "fasttext.zip": ("fasttext", "v.zip", lambda: {"v.zip": _zip("v.bin", _fasttext())}),
}  # fmt: skip

_INTEGERS = [
    0,
    1,
    2,
    127,
    128,
    255,
    256,
    65_535,
    2**24,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**40,
    2**62,
    2**63 - 1,
    2**64 - 1,
]
_OPCODES = [
    b"2", b"2" * 20_000, b"0", b"(", b"(" * 200_000, b".", b"]", b"}", b")", b"\x85", b"\x86", b"\x87", b"2\x86" * 40,
    b"\x93", b"R", b"\x81", b"b", b"u", b"e", b"a", b"s", b"t", b"l", b"d", b"\x94", b"h\x00", b"h\x05",
    b"j\x00\x00\x00\x00",
    b"N", b"\x88", b"K\xff", b"J\xff\xff\xff\xff", b"\x8a\x01\xff", b"\x8b\xff\xff\xff\x7f", b"L" + b"9" * 5000 + b"L\n",
    b"I" + b"9" * 5000 + b"\n", b"F1e999\n", b"X\xff\xff\xff\x7f", b"\x8d" + b"\xff" * 8, b"\x8e" + b"\x00" * 7 + b"\x10",
    b"cos\nsystem\n", b"c\n\n", b"P1\n", b"Q", b"\x82\x01", b"\x97", b"\x98", b"(h\x00h\x00h\x00e" * 50, b"\x8c\x01x" * 500,
]  # fmt: skip
_VALUES = [
    None, True, 0, -1, 7, 2**31, 2**70, 10**400, 1.5, 1e300, float("nan"), "", "x",
    "\u0130" * 20, "x" * 20_000, "\ud800", [],
    {}, [[]], {"type": "Lowercase"}, {"String": ""}, {"Regex": ""}, {"Regex": "(a+)+$"}, "NFKD", "ByteLevel",
    "Prepend", "Replace",
    "FixedLength", "BF16", "F8_E4M3", "F64", "I64", "BOOL", "U8",
]  # fmt: skip


def _flip(content, rng):
    changed = bytearray(content or b"\0")
    for _ in range(rng.choice([1, 1, 2, 8])):
        changed[rng.randrange(len(changed))] ^= 1 << rng.randrange(8)
    return bytes(changed)


def _cut(content, rng):
    begin, end = sorted(rng.choices(range(len(content) + 1), k=2))
    how = rng.randrange(4)
    if how == 0:
        return content[:begin]
    if how == 1:
        return content[:begin] + content[end:]
    if how == 2:
        return content[:end] + content[begin:]
    return content[:begin] + rng.randbytes(rng.choice([1, 4, 100])) + content[begin:]


def _number(content, rng):
    size = rng.choice([1, 2, 4, 8])
    value = rng.choice(_INTEGERS) % (1 << 8 * size)
    # most numbers stand near the beginning or the end
    where = rng.choice([rng.randrange(len(content)), rng.randrange(min(len(content), 160)), len(content) - 1 - rng.randrange(
        min(len(content), 160))])  # fmt: skip
    return (
        content[:where]
        + value.to_bytes(size, rng.choice(["little", "big"]))
        + content[where + size :]
    )


def _token(content, rng):
    tokens = [b"\r", b"\n", b"\0", b" ", b"\t", b"\xff", b"nan", b"1e999", b"-", b"_", b"\x0b", b"\xe2\x80\xa8", b"9" * 5000,
              b" " * 3000, b"\n" * 3000, b"x" * 100_000, b"\r\n", b"1_0", b"\xef\xbb\xbf"]  # fmt: skip
    where = rng.randrange(len(content) + 1)
    return content[:where] + rng.choice(tokens) + content[where + rng.choice([0, 0, 1, 3]) :]


def _mutated_opcodes(content, rng):
    try:
        places = [position for _, _, position in pickletools.genops(content)]
    except ValueError:
        return _flip(content, rng)
    for _ in range(rng.choice([1, 1, 2, 4])):
        where = rng.choice(places)
        end = rng.choice([where, where, min((p for p in places if p > where), default=where)])
        content = content[:where] + rng.choice(_OPCODES) + content[end:]
        places = [p for p in places if p <= where] or [0]
    return content


def _mutated_tree(content, rng):
    """Change one place of a JSON document."""
    places = []

    def walk(node):
        items = (
            node.items()
            if isinstance(node, dict)
            else enumerate(node)
            if isinstance(node, list)
            else ()
        )
        for key, value in list(items):
            places.append((node, key))
            walk(value)

    walk(content)
    for _ in range(rng.choice([1, 1, 2])):
        if not places:
            return [content]
        node, key = rng.choice(places)
        how = rng.randrange(6)
        try:
            if how == 0:
                del node[key]
            elif how == 1 and isinstance(node, list):
                node[key:key] = [node[key]] * rng.choice([1, 30, 3000])
            elif how == 2:
                node[key] = rng.choice(places)[0]  # perhaps itself: then it is not written
                node[key] = json.loads(json.dumps(node[key])) if node[key] is not node else []
            elif how == 3 and isinstance(node, dict):
                node[str(rng.choice(_VALUES))[:40]] = node.pop(key)
            else:
                node[key] = rng.choice(_VALUES)
        except (LookupError, ValueError, RecursionError):
            pass
    return content


def _mutated_json(content, rng):
    if rng.randrange(8) == 0:
        return rng.choice([b"[" * 50_000, b'{"a":' * 50_000, b"9" * 5000, b'{"model": ' + b"9" * 5000 + b"}", b"\xff", b"",
                           b"null", b"\xef\xbb\xbf" + content, content * 2])  # fmt: skip
    try:
        return json.dumps(_mutated_tree(json.loads(content), rng)).encode()
    except (ValueError, RecursionError):
        return _flip(content, rng)


def _mutated_safetensors(content, rng):
    size = int.from_bytes(content[:8], "little")
    header = _mutated_json(content[8 : 8 + size], rng)
    return len(header).to_bytes(8, "little") + header + content[8 + size :]


def _mutated_npy(content, rng):
    if not content.startswith(b"\x93NUMPY"):
        return _number(content, rng)
    size = int.from_bytes(content[8:10], "little")
    shape = rng.choice(["(8, 6)", "(2**70,)", f"({2**70}, 6)", "(-8, 6)", "(48,)", "(0, 6)", "(8, 6, 1)", "()",
                        "(True, 6)", "(8.0, 6)",
                        f"({2**40}, {2**40})", "(8, -6)", f"({10**40},)", "(99999999, 6)"])  # fmt: skip
    kind = rng.choice(["'<f4'", "'<f2'", "'>f4'", "'|O'", "'|S999999999'", "'<f8'", "'<i4'", "[('a', '<f4')]", "'<U6'",
                       "'<c8'",
                       "'<f16'", "'|V4'", "'<M8[s]'", "3", "('<f4', (2,))"])  # fmt: skip
    header = f"{{'descr': {kind}, 'fortran_order': {rng.choice(['False', 'True', '3'])}, 'shape': {shape}, }}"
    if rng.randrange(6) == 0:
        header = rng.choice(
            ["(" * 500, "[" * 5000, "{'descr': '<f4'}", "9" * 5000, "{}", "\0", "L" * 100, "8L"]
        )
    return content[:8] + len(header).to_bytes(2, "little") + header.encode() + content[10 + size :]


def _mutation(name, content, rng):
    general = [_flip, _cut, _number, _token]
    if name.endswith((".json", ".cfg")):
        special = _mutated_json
    elif name.endswith(".safetensors"):
        special = _mutated_safetensors
    elif name.endswith(".npy") or name == "vocab/vectors":
        special = _mutated_npy
    elif name.endswith(".kv"):
        special = _mutated_opcodes
    else:
        special = _number
    if name.endswith(".kv.gz") and rng.randrange(2):
        try:
            content = gzip.decompress(content)
        except (OSError, EOFError, zlib.error):
            return _flip(content, rng)  # it was damaged before
        return gzip.compress(_mutated_opcodes(content, rng), mtime=0)
    return rng.choice([*general, special, special, special])(content, rng)


_VALID = {}


def case(number):
    """Return the format's name here, the file to open, whether its format is named, and the files of a case."""
    names = list(FORMATS)
    name = names[number % len(names)]
    kind, target, make = FORMATS[name]
    if name not in _VALID:
        _VALID[name] = make()
    files = dict(_VALID[name])
    rng = random.Random(f"gem-index {name} {number // len(names)}")
    for _ in range(rng.choice([1, 1, 1, 2])):
        changed = rng.choice([file for file in files if files[file]] or list(files))
        if files[changed]:
            files[changed] = _mutation(changed, files[changed], rng)
    if rng.randrange(60) == 0:
        files.pop(rng.choice(list(files)))
    return name, target, kind if rng.randrange(3) else None, files


def open_case(folder, target, kind, files):
    """Open a case as a user would: read it, take it in, look words up. Return what became of it."""
    import numpy as np

    from gem_index.errors import InputError
    from gem_index.vectors.formats.registry import read_vectors
    from gem_index.vectors.stored import open_unstored

    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    try:
        source = open_unstored(read_vectors(folder / target, kind))
        rows, unknown = source.lookup(LOOKED_UP)
    except InputError as error:
        message = str(error).replace(str(folder), "")
        if not message.isprintable() or len(message) > LONGEST_MESSAGE:
            return "message", message[:2000]
        return "refused", message
    if rows.shape != (len(LOOKED_UP), source.dimension) or len(unknown) != len(LOOKED_UP):
        return "shape", str(rows.shape)
    return ("opened", "") if np.isfinite(rows).all() else ("not finite", "")


def main(base, first, last):
    """Open the cases of a range of numbers, under limits; one JSON line each before and after."""
    warnings.simplefilter("error")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number in range(len(FORMATS)):
        case(number)  # the packages that make valid files, before the limits
    open_case(base / "first", "v.txt", None, {"v.txt": _text(header=False)})
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(first, last):
        name, target, kind, files = case(number)
        folder = base / str(number)
        folder.mkdir()
        print(json.dumps({"case": number, "format": name}), flush=True)  # noqa: T201 - the same
        before, printed = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, os.fstat(2).st_size
        started = time.perf_counter()
        try:
            outcome, detail = open_case(folder, target, kind, files)
        except BaseException as error:  # noqa: BLE001 - what is looked for
            outcome, detail = "raised", f"{type(error).__name__}: {str(error)[:500]}"
        seconds = time.perf_counter() - started
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        if seconds > SECONDS:
            outcome, detail = "slow", f"{seconds:.1f} s, {outcome} {detail}"
        if grown > GROWTH:
            outcome, detail = "large", f"{grown >> 10} MiB, {outcome} {detail}"
        if os.fstat(2).st_size != printed:
            outcome, detail = "printed", f"{outcome} {detail}"
        print(  # noqa: T201 - talks to its parent on standard output
            json.dumps({"case": number, "format": name, "outcome": outcome, "detail": detail}),
            flush=True,
        )
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
