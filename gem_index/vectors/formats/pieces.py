"""Static embedding models whose rows are a tokenizer's pieces: model2vec and sentence-transformers' StaticEmbedding."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from gem_index.errors import VectorFormatError
from gem_index.vectors.formats.base import Pieces, VectorFile, check_matrix, matrix_chunks

__all__ = ["find_static_embedding", "of_pieces", "read_model2vec", "read_static", "write_model2vec"]

_MODEL2VEC = "embeddings"  # the tensor's name tells the two formats apart
_STATIC = "embedding.weight"
_UNKNOWN = "[UNK]"


def of_pieces(
    origin: str, format: str, table: npt.NDArray[Any], tokenizer: Path, rule: str
) -> VectorFile:
    """Return a table of pieces and its tokenizer as a vector file; the unknown piece counts, except for model2vec."""
    if table.dtype.kind == "i":
        table = table.astype(np.float32)  # model2vec averages its int8 rows as they are
    dtype = check_matrix(table, origin)
    _check_tokenizer(tokenizer, len(table))
    left_out = _unknown_piece(tokenizer) if format == "model2vec" else None
    return VectorFile(
        origin,
        format,
        table.shape[1],
        dtype,
        lambda: matrix_chunks(table, (), f"{origin} row", dtype),
        words=len(table),
        composition=Pieces(tokenizer, rule, left_out),
    )


def _check_tokenizer(path: Path, rows: int) -> None:
    """Hold a tokenizer to the table: every piece has a row."""
    from tokenizers import Tokenizer

    try:
        pieces = Tokenizer.from_file(str(path)).get_vocab()
    except Exception as error:
        raise VectorFormatError(f"{path} is not a tokenizer in JSON: {error}") from error
    if pieces and max(pieces.values()) >= rows:
        raise VectorFormatError(
            f"{path} has the piece {max(pieces.values())} and the table {rows} rows; expected a row for each piece"
        )


def read_model2vec(path: str) -> VectorFile:
    """Open a model2vec folder; a word is the mean of its pieces, as its ``StaticModel`` encodes it before normalising."""
    return _read(path, Path(path), "static-embedding", _MODEL2VEC)


def read_static(path: str) -> VectorFile:
    """Open a sentence-transformers folder whose module is a ``StaticEmbedding``; a word is the mean of its pieces."""
    folder = find_static_embedding(Path(path))
    if folder is None:
        raise VectorFormatError(
            f"{path}/modules.json names no StaticEmbedding module; expected a static embedding model: "
            "others need a model server, not word vectors"
        )
    tensors = "model2vec" if (folder / "config.json").is_file() else "static-embedding"
    return _read(path, folder, tensors, _STATIC)


def find_static_embedding(folder: Path) -> Path | None:
    """Return the folder of a sentence-transformers model's ``StaticEmbedding`` module, if it has one."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        first = modules[0]
        if str(first["type"]).endswith("StaticEmbedding"):
            return folder / str(first["path"])
    except (OSError, ValueError, LookupError, TypeError):
        pass  # there is no such file, or it is another one
    return None


def _read(origin: str, folder: Path, format: str, expected: str) -> VectorFile:
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    weights = folder / "model.safetensors"
    try:
        tensors = load_file(weights)
    except (SafetensorError, OSError) as error:
        raise VectorFormatError(f"{weights} is not a safetensors file: {error}") from error
    name = next((known for known in (expected, _MODEL2VEC, _STATIC) if known in tensors), None)
    if name is None:
        raise VectorFormatError(
            f"{weights} holds the tensors {', '.join(tensors) or '(none)'}; expected {expected!r}"
        )
    table = tensors[name]
    try:
        if "mapping" in tensors:  # several pieces share a row
            table = table[tensors["mapping"]]
        if "weights" in tensors:  # a factor for each piece
            table = table * tensors["weights"].astype(np.float32)[:, None]
    except (IndexError, ValueError) as error:
        raise VectorFormatError(f"{weights}: the tensors do not agree ({error})") from error
    return of_pieces(
        origin,
        "model2vec" if name == _MODEL2VEC else format,
        table,
        folder / "tokenizer.json",
        "mean",
    )


def _unknown_piece(tokenizer: Path) -> int | None:
    """Return the piece that a tokenizer gives for text that it cannot split."""
    try:
        document = json.loads(tokenizer.read_text(encoding="utf-8"))
        model = document["model"]
        if model.get("unk_id") is not None:
            return int(model["unk_id"])
        token = model.get("unk_token")
        if token is None:
            return None
        vocabulary = model["vocab"] if isinstance(model["vocab"], dict) else {}
        added = {entry["content"]: entry["id"] for entry in document.get("added_tokens") or ()}
        found = added.get(token, vocabulary.get(token))
    except (OSError, ValueError, LookupError, TypeError, AttributeError) as error:
        raise VectorFormatError(f"{tokenizer} is not a tokenizer in JSON: {error}") from error
    return None if found is None else int(found)


def write_model2vec(folder: Path, vectors: VectorFile) -> None:
    """Write a model2vec folder: the source's own tokenizer, else one whose pieces are the words."""
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
                f"{vectors.origin} sums its pieces, model2vec averages them; expected a source that averages, "
                "or words: cut it to words with gem-index vectors fit-vocabulary"
            )
        if (
            vectors.composition.left_out is None
            and _unknown_piece(vectors.composition.tokenizer) is not None
        ):
            raise VectorFormatError(
                f"{vectors.origin} counts unknown pieces, model2vec leaves them out; expected a model2vec source, or "
                "words: cut it to words with gem-index vectors fit-vocabulary"
            )
        tokenizer = vectors.composition.tokenizer.read_text(encoding="utf-8")
    else:
        for word in words:
            if word.split() != [word]:
                raise VectorFormatError(
                    f"the word {word!r} is not one run of letters, which model2vec's tokenizer would split; expected "
                    "another format: glove, folder or parquet"
                )
        # a row for each piece: a word that came again has none, unknown text has one that is never counted
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
