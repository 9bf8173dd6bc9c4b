"""A cache of the pieces and words of long texts that were found recently, because dividing a book takes a second."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from gem_index.collection.state.piece_encoder import PieceEncoder
from gem_index.common.forking import ForkSafeLock
from gem_index.index.counted_texts import CountedTexts
from gem_index.text.analyzer import Analyzer
from gem_index.text.chunking import Chunking, Piece

__all__ = ["CutText", "CutTexts", "cut_text"]

_HELD = 64_000_000  # bytes in the whole cache
_OF_PIECE = 200  # bytes of one piece, estimated
_LONG = 20_000  # characters; the pieces of shorter texts are not cached


@dataclass
class CutText:
    """The pieces of a text; the words of the pieces are counted on first need."""

    pieces: list[Piece]
    _words: CountedTexts | None = field(default=None, init=False)

    def counted(self, parts: Sequence[str], analyzer: Analyzer) -> CountedTexts:
        """Return the counted words of the pieces; ``parts`` has the text of each piece."""
        if self._words is None:
            self._words = CountedTexts(analyzer, parts)
        return self._words

    @property
    def nbytes(self) -> int:
        """The memory of the pieces and words in bytes, estimated."""
        return _OF_PIECE * len(self.pieces) + (0 if self._words is None else self._words.nbytes)


class CutTexts:
    """A cache of the pieces of recently used long texts, at most ``most`` bytes; thread-safe."""

    def __init__(self, most: int = _HELD) -> None:
        self._most = most
        self._lock = ForkSafeLock()
        self._texts: OrderedDict[tuple[Chunking, Analyzer, bytes], CutText] = OrderedDict()

    def of(self, text: str, pieces: PieceEncoder) -> CutText:
        """Return the pieces of a text."""
        if len(text) < _LONG:
            return CutText(pieces.chunking.pieces(text))
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        key = pieces.chunking, pieces.analyzer, digest
        with self._lock:
            found = self._texts.get(key)
            if found is not None:
                self._texts.move_to_end(key)
                return found
        found = CutText(pieces.chunking.pieces(text))
        with self._lock:
            self._texts[key] = found
            while sum(each.nbytes for each in self._texts.values()) > self._most:
                self._texts.popitem(last=False)
        return found


cut_text = CutTexts().of
"""Return the pieces of a text, from the cache of this process."""
