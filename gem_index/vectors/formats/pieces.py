"""Static embedding models whose rows are a tokenizer's pieces: model2vec and sentence-transformers' StaticEmbedding."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.common.json_input import read_json_file
from gem_index.errors import Action, Advice, VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.formats.arrays import named_tensors, read_tensors
from gem_index.vectors.formats.base import Pieces, VectorFile, check_matrix, matrix_chunks
from gem_index.vectors.formats.tokenizers import check_tokenizer, unknown_piece

__all__ = ["find_static_embedding", "of_pieces", "read_model2vec", "read_static", "write_model2vec"]

_MODEL2VEC = "embeddings"  # the tensor's name tells the two formats apart
_STATIC = "embedding.weight"
_UNKNOWN = "[UNK]"
_FOLDER = re.compile(r"(?:[\w.][\w. /-]{,199})?")
_ALWAYS_SHARED = 1 << 26  # always accepted: this many numbers in a table whose pieces share rows,
_MOST_SHARED = 100  # or this many times the numbers in the file


def of_pieces(
    origin: str, format: str, table: npt.NDArray[Any], tokenizer: Path, rule: str
) -> VectorFile:
    """Return a table of pieces and its tokenizer as a vector file; for model2vec the unknown piece does not count."""
    if table.dtype.kind == "i":
        table = table.astype(np.float32)  # model2vec averages int8 rows without factors
    dtype = check_matrix(table, origin)
    document = check_tokenizer(tokenizer, len(table))
    left_out = unknown_piece(document) if format == "model2vec" else None
    return VectorFile(
        origin,
        format,
        table.shape[1],
        dtype,
        lambda: matrix_chunks(table, (), f"{origin} row", dtype),
        words=len(table),
        composition=Pieces(tokenizer, rule, left_out),
    )


def read_model2vec(path: str) -> VectorFile:
    """Open a model2vec folder; a word is the mean of its pieces, as in ``StaticModel`` before normalisation."""
    return _read(path, Path(path), "static-embedding", _MODEL2VEC)


def read_static(path: str) -> VectorFile:
    """Open a sentence-transformers folder whose module is a ``StaticEmbedding``; a word is the mean of its pieces."""
    folder = find_static_embedding(Path(path))
    if folder is None:
        raise VectorFormatError(
            f"{path}/modules.json names no StaticEmbedding module; expected a static embedding model: "
            "other models do not hold word vectors"
        )
    tensors = "model2vec" if (folder / "config.json").is_file() else "static-embedding"
    return _read(path, folder, tensors, _STATIC)


def find_static_embedding(folder: Path) -> Path | None:
    """Return the folder of a sentence-transformers model's ``StaticEmbedding`` module, if it has one."""
    try:
        modules = read_json_file(folder / "modules.json", error=VectorFormatError)
    except OSError:
        return None  # the file does not exist
    first = modules[0] if isinstance(modules, list) and modules else None
    if not isinstance(first, dict) or not str(first.get("type")).endswith("StaticEmbedding"):
        return None
    path = first.get("path", "")
    if not isinstance(path, str) or not _FOLDER.fullmatch(path) or ".." in Path(path).parts:
        raise VectorFormatError(
            f"{folder / 'modules.json'} names the folder {quoted(path)}; expected one inside {folder.name}"
        )
    return folder / path


def _read(origin: str, folder: Path, format: str, expected: str) -> VectorFile:
    weights = folder / "model.safetensors"
    tensors = read_tensors(weights, _MODEL2VEC, _STATIC, "mapping", "weights")
    name = next((known for known in (expected, _MODEL2VEC, _STATIC) if known in tensors), None)
    if name is None:
        raise VectorFormatError(f"{weights} holds {named_tensors(tensors)}; expected {expected!r}")
    table = tensors[name]
    if table.ndim != 2:
        raise VectorFormatError(
            f"{weights} holds the table {table.shape}; expected a matrix (pieces, dimension)"
        )
    if "mapping" in tensors:  # several pieces share a row
        table = table[_check_mapping(tensors["mapping"], table, weights)]
    if "weights" in tensors:  # a factor for each piece
        factors = tensors["weights"]
        if factors.shape != (len(table),):
            raise VectorFormatError(
                f"{weights}: the tensors do not agree ({factors.shape} weights for {len(table)} rows); "
                "expected one for each"
            )
        with np.errstate(over="ignore", invalid="ignore"):  # infinity is reported by its row
            table = table * factors.astype(np.float32)[:, None]
    return of_pieces(
        origin,
        "model2vec" if name == _MODEL2VEC else format,
        table,
        folder / "tokenizer.json",
        "mean",
    )


def _check_mapping(
    mapping: npt.NDArray[Any], table: npt.NDArray[Any], weights: Path
) -> npt.NDArray[Any]:
    """Return the row of each piece after checking that the rows exist and that the expanded table is not too large."""
    numbers = mapping.size * table.shape[1]
    if (
        mapping.ndim != 1
        or mapping.dtype.kind not in "iu"
        or not (mapping.size and 0 <= int(mapping.min()) <= int(mapping.max()) < len(table))
        or numbers > max(_ALWAYS_SHARED, _MOST_SHARED * table.size)
    ):
        raise VectorFormatError(
            f"{weights}: the tensors do not agree (a mapping {mapping.dtype} {mapping.shape} to {len(table)} rows); "
            "expected the row of each piece"
        )
    return mapping


def write_model2vec(folder: Path, vectors: VectorFile) -> None:
    """Write a model2vec folder with the source's tokenizer, or with a tokenizer whose pieces are the words."""
    from safetensors.numpy import save_file

    blocks: list[npt.NDArray[Any]] = []
    words: list[str] = []
    for chunk_words, chunk_rows in vectors.chunks():
        blocks.append(chunk_rows)
        words += chunk_words
    rows = np.concatenate(blocks)
    if isinstance(vectors.composition, Pieces):
        if vectors.composition.rule != "mean":
            raise VectorFormatError(
                f"{vectors.origin} sums its pieces, but model2vec averages them; expected a source that averages, "
                "or words",
                Advice(Action.CUT_TO_WORDS),
            )
        if (
            vectors.composition.left_out is None
            and unknown_piece(read_json_file(vectors.composition.tokenizer)) is not None
        ):
            raise VectorFormatError(
                f"{vectors.origin} counts unknown pieces, but model2vec omits them; expected a model2vec source, or "
                "words",
                Advice(Action.CUT_TO_WORDS),
            )
        tokenizer = vectors.composition.tokenizer.read_text(encoding="utf-8")
    else:
        for word in words:
            if word.split() != [word]:
                raise VectorFormatError(
                    f"the word {quoted(word)} is not one run of letters, which model2vec's tokenizer would split; expected "
                    "another format: glove, folder or parquet"
                )
        # one row per piece: repeated words have none, and unknown text has a row that never counts
        places = {word: row for row, word in reversed(list(enumerate(words)))}
        kept = sorted(places.values())
        unknown = [] if _UNKNOWN in places else [np.zeros((1, vectors.dimension), rows.dtype)]
        rows = np.concatenate([rows[kept], *unknown])
        tokenizer = _tokenizer_of_words([words[row] for row in kept])
    save_file({_MODEL2VEC: rows}, folder / "model.safetensors")
    (folder / "tokenizer.json").write_text(tokenizer, encoding="utf-8")
    config = {"model_type": "model2vec", "hidden_dim": vectors.dimension, "normalize": False}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")


def _tokenizer_of_words(words: list[str]) -> str:
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import WhitespaceSplit

    vocabulary = {word: row for row, word in enumerate(words)}
    vocabulary.setdefault(_UNKNOWN, len(words))
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token=_UNKNOWN))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return str(tokenizer.to_str())
