"""Checks of untrusted tokenizer files before the ``tokenizers`` package runs them.

That package trusts its files: some expand a word of ten letters to gigabytes and abort the process, others panic in Rust,
while loading or at some later word. Here known parts must stay within bounds that published tokenizers are far from; unknown
parts are refused.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Never

import numpy as np

from gem_index.common.json_input import read_json_file
from gem_index.errors import VectorFormatError
from gem_index.errors.quoting import quoted
from gem_index.vectors.formats.inputs import foreign_reader

__all__ = ["check_tokenizer", "unknown_piece"]

_MOST_GROWTH = 10_000  # characters that one character of a word may become, after all normalizers
_MOST_ADDED = (
    1 << 24
)  # characters of all added tokens after the normalizers, which run on them while loading
_MOST_PARTS = 1_000
_LONGEST_AFFIX = 100
_LONGEST_REGEX = 20_000
_MOST_REPEATS = 10_000  # product of the counts in a regular expression
_LONGEST_SPLIT_WORD = 1_000  # WordPiece takes time proportional to its square

# the largest number of characters that a part makes of one character
_NORMALIZERS = {
    "BertNormalizer": 12,
    "ByteLevel": 4,
    "Lowercase": 2,
    "NFC": 3,
    "NFD": 4,
    "NFKC": 18,
    "NFKD": 18,
    "Nmt": 1,
    "Strip": 1,
    "StripAccents": 1,
}
_PRE_TOKENIZERS = {
    "BertPreTokenizer": 1,
    "ByteLevel": 4,
    "CharDelimiterSplit": 1,
    "Digits": 1,
    "FixedLength": 1,
    "Metaspace": 2,
    "Punctuation": 1,
    "Split": 1,
    "UnicodeScripts": 1,
    "Whitespace": 1,
    "WhitespaceSplit": 1,
}
_POST_PROCESSORS = ("BertProcessing", "ByteLevel", "RobertaProcessing", "TemplateProcessing")
_MODELS = ("BPE", "Unigram", "WordLevel", "WordPiece")
_COUNTS = re.compile(r"(?<!\\x)\{(\d*),?(\d*)\}")
_EXPECTED = "a tokenizer as model2vec or sentence-transformers saves it"


def check_tokenizer(path: Path, rows: int) -> dict[str, Any]:
    """Return the content of a tokenizer file after checking that it can run on any word.

    Parameters
    ----------
    path : Path
        A ``tokenizers`` JSON file.
    rows : int
        Number of rows of the table; every piece has one.

    Raises
    ------
    VectorFormatError
        If it is not such a file, has an unknown part, expands text without bound, or refers to missing content.
    """
    try:
        document = read_json_file(path, unique=True, error=VectorFormatError)
    except OSError as error:
        raise VectorFormatError(
            f"{path} is not a tokenizer in JSON ({quoted(error.strerror)}); expected {_EXPECTED}"
        ) from error
    if not isinstance(document, dict) or not isinstance(document.get("model"), dict):
        raise VectorFormatError(
            f"{path} is not a tokenizer in JSON (it holds no model); expected {_EXPECTED}"
        )
    _Check(path, document).run()
    from tokenizers import Tokenizer

    with foreign_reader(f"{path} is not a tokenizer in JSON", _EXPECTED):
        pieces = Tokenizer.from_file(str(path)).get_vocab()
    if pieces and max(pieces.values()) >= rows:
        raise VectorFormatError(
            f"{path} has the piece {max(pieces.values())} and the table {rows} rows; expected a row for each piece"
        )
    return document


def unknown_piece(document: dict[str, Any]) -> int | None:
    """Return the piece that a checked tokenizer returns for text that it cannot split."""
    model = document["model"]
    if model.get("unk_id") is not None:
        return int(model["unk_id"])
    token = model.get("unk_token")
    if token is None:
        return None
    added = {entry["content"]: entry["id"] for entry in document.get("added_tokens") or ()}
    found = added.get(token, model["vocab"].get(token))
    return None if found is None else int(found)


class _Check:
    """Checks of the parts of one tokenizer.

    Parameters
    ----------
    path : Path
        For messages.
    document : dict
        The content of the file.
    """

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        self._path = path
        self._document = document
        # how many characters one character becomes in the following parts: for each character that a part names,
        # for all other characters, and for characters added to a word
        self._growth: dict[str, float] = {}
        self._other = 1.0
        self._added = 0.0

    def run(self) -> None:
        self._check_model(self._document["model"])
        self._check_added(self._document.get("added_tokens"))
        for part in self._parts("post_processor", "processors"):
            self._check_post_processor(part)
        # from the last part to the first: the following parts expand the output of a part
        for part in reversed(list(self._parts("pre_tokenizer", "pretokenizers"))):
            self._check_pre_tokenizer(part)
        for part in reversed(list(self._parts("normalizer", "normalizers"))):
            self._check_normalizer(part)
        worst = max(self._other, *self._growth.values(), self._added)
        if worst > _MOST_GROWTH:
            self._refuse(f"expands one character to more than {_MOST_GROWTH:,}", "less growth")
        added = [entry["content"] for entry in self._document.get("added_tokens") or ()]
        if sum(self._size(content) + self._added for content in added) > _MOST_ADDED:
            self._refuse(
                f"has added tokens that grow to more than {_MOST_ADDED:,} characters", "less growth"
            )

    def _refuse(self, found: str, expected: str) -> Never:
        raise VectorFormatError(f"{self._path} {found}; expected {expected}")

    def _parts(self, name: str, members: str) -> Iterator[dict[str, Any]]:
        """Iterate over the parts of a kind, including those inside sequences."""
        waiting = [self._document.get(name)]
        count = 0
        while waiting:
            part = waiting.pop()
            if part is None and not count:
                return
            count += 1
            if not isinstance(part, dict) or not isinstance(part.get("type"), str):
                self._refuse(f"has a {name} without a type", _EXPECTED)
            if count > _MOST_PARTS:
                self._refuse(f"has more than {_MOST_PARTS} parts of its {name}", "fewer")
            if part["type"] != "Sequence":
                yield part
                continue
            inner = part.get(members)
            if not isinstance(inner, list):
                self._refuse(f"has a {name} that is a sequence of nothing", _EXPECTED)
            waiting += reversed(inner)

    def _text(self, part: dict[str, Any], name: str, longest: int) -> str:
        value = part.get(name)
        if not isinstance(value, str) or len(value) > longest:
            self._refuse(
                f"has {quoted(value)} as {name} of a {part['type']}",
                f"a string of at most {longest:,} characters",
            )
        return value

    # Parts that expand text

    def _check_normalizer(self, part: dict[str, Any]) -> None:
        kind = part["type"]
        if kind == "Prepend":
            self._added += self._size(self._text(part, "prepend", _MOST_GROWTH))
        elif kind == "Replace":
            content = self._text(part, "content", _MOST_GROWTH)
            self._replace(self._pattern(part), self._size(content))
        elif kind == "Precompiled":
            self._multiply(self._check_charsmap(part.get("precompiled_charsmap")))
        elif kind in _NORMALIZERS:
            self._multiply(_NORMALIZERS[kind])
        else:
            self._refuse(f"has the normalizer {quoted(kind)}, which is not known", _EXPECTED)

    def _check_pre_tokenizer(self, part: dict[str, Any]) -> None:
        kind = part["type"]
        if kind not in _PRE_TOKENIZERS:
            self._refuse(f"has the pre-tokenizer {quoted(kind)}, which is not known", _EXPECTED)
        if kind == "Split":
            self._pattern(part)
        length = part.get("length", 1)
        if kind == "FixedLength" and not (isinstance(length, int) and length > 0):
            self._refuse(f"cuts words into runs of {quoted(length)}", "a length of 1 or more")
        self._multiply(_PRE_TOKENIZERS[kind])

    def _check_post_processor(self, part: dict[str, Any]) -> None:
        kind = part["type"]
        if kind not in _POST_PROCESSORS:
            self._refuse(f"has the post-processor {quoted(kind)}, which is not known", _EXPECTED)
        if kind == "TemplateProcessing":
            template = part.get("single")
            if not isinstance(template, list):
                self._refuse("has a template that is not a list", _EXPECTED)
            if sum(isinstance(item, dict) and "Sequence" in item for item in template) > 1:
                self._refuse("has a template that repeats a word's pieces", "each piece once")

    def _size(self, text: str) -> float:
        """Return how many characters a text becomes in the following parts."""
        return sum(self._growth.get(character, self._other) for character in text)

    def _multiply(self, factor: float) -> None:
        if factor > 1:
            self._other = factor * max(self._other, *self._growth.values(), 0.0)
            self._growth = {}

    def _replace(self, pattern: str | None, size: float) -> None:
        if (
            not pattern
        ):  # a regular expression may match the empty string between any two characters
            self._other += size
            self._added += size
            self._growth = {character: size + known for character, known in self._growth.items()}
            return
        for character in set(pattern):  # a match replaces len(pattern) characters
            known = self._growth.get(character, self._other)
            self._growth[character] = max(known, size / len(pattern))

    def _pattern(self, part: dict[str, Any]) -> str | None:
        """Return the string that a part searches for, None for a regular expression of bounded cost."""
        pattern = part.get("pattern")
        kinds = list(pattern) if isinstance(pattern, dict) else []
        text = pattern[kinds[0]] if pattern and kinds in (["String"], ["Regex"]) else None
        if not isinstance(text, str) or len(text) > _LONGEST_REGEX:
            self._refuse(
                f"has the pattern {quoted(pattern)}",
                f"a String or Regex of at most {_LONGEST_REGEX:,} characters",
            )
        if kinds == ["String"]:
            return text
        repeats = 1
        for counts in _COUNTS.findall(text):
            repeats *= max(int(count[:9] or 1) for count in counts) or 1
            if repeats > _MOST_REPEATS:
                self._refuse("has a regular expression that repeats too much", "less")
        return None

    def _check_charsmap(self, encoded: Any) -> int:
        """Check that a SentencePiece character map refers only to itself, and return the length of its longest replacement.

        The layout is that of SentencePiece's ``normalizer.cc``: the size of a double array (Yata et al., "A compact static
        double-array keeping character codes", 2007), its units of 4 bytes, then the replacements, each ended by a zero byte.
        The package follows its references without checking bounds.
        """
        try:
            blob = base64.b64decode(encoded, validate=True)
        except (TypeError, ValueError, binascii.Error):
            blob = b""
        if (
            base64.b64encode(blob).decode() != encoded
        ):  # Python accepts more padding than the package
            self._refuse("has a character map that is not base64", _EXPECTED)
        size = int.from_bytes(blob[:4], "little")
        if len(blob) < 8 or size % 4 or not 4 <= size <= len(blob) - 4:
            self._refuse(f"has a damaged character map of {len(blob)} bytes", _EXPECTED)
        units = np.frombuffer(blob, "<u4", size // 4, 4).astype(np.int64)
        texts = blob[4 + size :]
        try:
            texts.decode()
        except UnicodeDecodeError:
            self._refuse("has a character map whose replacements are not UTF-8", _EXPECTED)
        values = _values_of_double_array(units)
        # a replacement must begin at a character, not inside one
        begins = np.frombuffer(texts + b"\0", np.uint8) & 0xC0 != 0x80
        if values is None or (len(values) and values.max() > len(texts)):
            self._refuse("has a character map that refers to content outside of it", _EXPECTED)
        if not begins[values].all():
            self._refuse("has a character map that splits characters", _EXPECTED)
        return max(map(len, texts.split(b"\0")))

    # Parts that refer to other parts

    def _check_model(self, model: dict[str, Any]) -> None:
        kind = model.get("type")
        if kind not in _MODELS:
            self._refuse(f"has the model {quoted(kind)}", f"one of {', '.join(_MODELS)}")
        for name in ("continuing_subword_prefix", "end_of_word_suffix"):
            if model.get(name) is not None:
                self._text(model, name, _LONGEST_AFFIX)
        if kind == "Unigram":
            self._check_unigram(model)
            return
        vocabulary = model.get("vocab")
        if not isinstance(vocabulary, dict):
            self._refuse("has a vocabulary that is not an object", _EXPECTED)
        unknown = model.get("unk_token")
        if unknown is None and kind == "BPE":
            pass  # unknown text has no pieces
        elif not isinstance(unknown, str) or unknown not in vocabulary:
            self._refuse(
                f"names the unknown token {quoted(unknown)}, which its vocabulary does not hold",
                "one that it holds",
            )
        longest = model.get("max_input_chars_per_word", 100)
        if not isinstance(longest, int) or not 0 <= longest <= _LONGEST_SPLIT_WORD:
            self._refuse(
                f"splits words of up to {quoted(longest)} characters",
                f"at most {_LONGEST_SPLIT_WORD:,}",
            )
        if kind == "BPE":
            self._check_bpe(model)

    def _check_bpe(self, model: dict[str, Any]) -> None:
        if model.get("dropout"):
            self._refuse("omits merges at random (dropout)", "the same pieces every time")
        prefix: str = model.get("continuing_subword_prefix") or ""
        merges = model.get("merges")
        if not isinstance(merges, list):
            self._refuse("has merges that are not a list", _EXPECTED)
        for merge in merges if prefix else ():
            pair = merge.split(" ") if isinstance(merge, str) else merge
            if not (
                isinstance(pair, list)
                and len(pair) == 2
                and isinstance(pair[1], str)
                and pair[1].startswith(prefix)
            ):
                self._refuse(f"merges {quoted(pair)} without its prefix", quoted(prefix))

    def _check_unigram(self, model: dict[str, Any]) -> None:
        pieces, unknown = model.get("vocab"), model.get("unk_id")
        if not isinstance(pieces, list):
            self._refuse("has a vocabulary that is not a list", _EXPECTED)
        if not isinstance(unknown, int) or not 0 <= unknown < len(pieces):
            self._refuse(
                f"names the unknown piece {quoted(unknown)} of {len(pieces)}", "one that it holds"
            )

    def _check_added(self, added: Any) -> None:
        if added is None:
            return
        if not isinstance(added, list) or not all(
            isinstance(entry, dict)
            and isinstance(entry.get("content"), str)
            and isinstance(entry.get("id"), int)
            and len(entry["content"]) <= _MOST_GROWTH
            for entry in added
        ):
            self._refuse("has added tokens without content or id", _EXPECTED)


def _values_of_double_array(
    units: np.ndarray[Any, np.dtype[np.int64]],
) -> np.ndarray[Any, Any] | None:
    """Return the values of all keys; None if a key refers to a place outside the array."""
    size = len(units)
    labels = units & 0x800000FF
    offsets = (units >> 10) << ((units & (1 << 9)) >> 6)
    leaves = (units >> 8) & 1 == 1
    bytes_ = np.arange(1, 256)
    values: list[Sequence[int]] = []
    seen = np.zeros(size, dtype=bool)
    states = offsets[:1]
    while len(states):
        reached = states[:, None] ^ bytes_[None, :]
        if reached.max() >= size:
            return None
        taken = reached[labels[reached] == bytes_[None, :]]
        taken = np.unique(taken[~seen[taken]])
        seen[taken] = True
        states = taken_to = offsets[taken] ^ taken
        if len(states) and states.max() >= size:
            return None
        values.append(units[taken_to[leaves[taken]]] & 0x7FFFFFFF)
        states = np.unique(states)
    return np.concatenate([np.empty(0, np.int64), *values]).astype(np.int64)
