"""The kind of a collection's FAISS index: given by a name or a factory string, or chosen by the number of vectors."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from gem_index.errors import ConfigError
from gem_index.errors.quoting import quoted

__all__ = ["AUTOMATIC", "KINDS", "IndexKind", "check_kind", "resolve_kind"]

AUTOMATIC = "auto"
QUANTISED = "pq"
KINDS = ("flat", "pq", "rabitq", "sq8", "ivf", "hnsw")
"""The short names of kinds; any other kind is a FAISS factory string."""

_BREAK_EVEN = 20_000
"""The number of vectors from which on product quantisation is faster than a flat scan (docs/performance.md)."""

_CANDIDATES, _CANDIDATES_PER_RESULT = 200, 4
_QUANTISED, _QUANTISED_PER_RESULT = (
    1000,
    20,
)  # candidates of a product quantiser (docs/performance.md)
_LEAST_PARTS = 64  # parts of a vector in a product quantiser; more if a part would be too long
_LONGEST_PART = 4  # numbers in a part


@dataclass(frozen=True)
class IndexKind:
    """A kind of index, for a certain number of vectors of a certain dimension.

    Attributes
    ----------
    name : str
        One of ``KINDS``, or a factory string.
    factory : str
        The argument of ``faiss.index_factory``.
    """

    name: str
    factory: str

    @property
    def exact(self) -> bool:
        """Whether the index computes exact cosines. If not, it proposes candidates, which are scored again."""
        return self.factory == "Flat"

    def candidates(self, k: int) -> int:
        """Return the number of candidates that the index must propose for k results."""
        if self.exact:
            return k
        if self.name == QUANTISED:
            return max(_QUANTISED, _QUANTISED_PER_RESULT * k)
        return max(_CANDIDATES, _CANDIDATES_PER_RESULT * k)


def resolve_kind(kind: str, vectors: int, dimension: int) -> IndexKind:
    """Return the kind of index for some vectors.

    For many vectors, ``auto`` chooses a product quantiser with 4 bits per part. All codes are scanned in registers
    (André, Kermarrec and Le Scouarnec, "Cache locality is not enough", VLDB 2015). With 32 bytes per vector, the scan
    takes a millisecond for a million vectors. Graphs and inverted lists would miss neighbours: GEM removes the
    directions that sentences share, so GEM's vectors form no clusters.
    """
    if kind == AUTOMATIC:
        kind = "flat" if vectors < _BREAK_EVEN else QUANTISED
    lists = max(1, min(round(4 * math.sqrt(vectors)), vectors // 39, 4096))
    named = {
        "flat": "Flat",
        QUANTISED: _quantiser(dimension),
        "rabitq": "RaBitQ",
        "sq8": "SQ8",
        "ivf": f"IVF{lists},SQ8",
        "hnsw": "HNSW32,SQ8",
    }
    return IndexKind(kind, named.get(kind, kind))


def _quantiser(dimension: int) -> str:
    """Return the factory string of a product quantiser; if equal parts do not divide a vector, zeros are appended."""
    numbers = min(_LONGEST_PART, max(1, round(dimension / _LEAST_PARTS)))
    parts = -(-dimension // numbers)
    padding = "" if parts * numbers == dimension else f"Pad{parts * numbers},"
    return f"{padding}PQ{parts}x4fs"


# FAISS accepts strings that end the process or use all memory. So only this form is accepted:
# [TRANSFORM,][IVFn,|HNSWm,]CODE[,Refine(Flat)], with numbers that suit the vectors.
_FACTORY = re.compile(
    r"(?:(?P<transform>PCAR?|OPQ|RR)(?P<size>\d{1,5})(?:_(?P<out>\d{1,5}))?,)?"
    r"(?:IVF(?P<lists>\d{1,5}),|HNSW(?P<links>\d{1,3})(?:,|$))?"
    r"(?P<code>Flat|SQ4|SQ6|SQ8|SQfp16|SQbf16|RaBitQ|RaBitQfs|PQ(?P<parts>\d{1,5})(?:x(?P<bits>\d{1,2}))?(?P<fast>fs)?|)"
    r"(?P<refined>,Refine\(Flat\)|,RFlat)?"
)
_MOST_LISTS = 65_536
_LINKS = range(2, 129)
_BITS = range(1, 11)


def check_kind(kind: str, dimension: int) -> None:
    """Check that FAISS can build a kind of index for vectors of this dimension.

    Raises
    ------
    ConfigError
        If the kind is neither a short name nor a factory string of the accepted form:
        ``[PCAn,|PCARn,|OPQm[_n],|RRn,][IVFn,|HNSWm,]CODE[,Refine(Flat)]`` where CODE is ``Flat``, ``SQ4``, ``SQ6``, ``SQ8``,
        ``SQfp16``, ``SQbf16``, ``RaBitQ``, ``RaBitQfs``, ``PQm``, ``PQmxb`` or ``PQmx4fs``, with m parts that divide the
        dimension.
    """
    if isinstance(kind, str) and (kind == AUTOMATIC or kind in KINDS):
        return
    if not isinstance(kind, str) or not _is_safe(kind, dimension):
        raise _kind_error(kind, dimension)
    import faiss

    try:
        faiss.index_factory(dimension, kind, faiss.METRIC_INNER_PRODUCT)
    except (RuntimeError, TypeError) as error:
        raise _kind_error(kind, dimension) from error


def _is_safe(factory: str, dimension: int) -> bool:
    """Tell whether a factory string is of the accepted form, with numbers that suit the dimension."""
    found = _FACTORY.fullmatch(factory)
    if found is None:
        return False
    number = {
        name: int(text) for name, text in found.groupdict().items() if text and text.isdigit()
    }
    transform, code, links = found["transform"], found["code"], number.get("links")
    if not code and (links is None or factory.endswith(",")):
        return False
    size = number.get("size", dimension)
    out = dimension
    if transform == "OPQ":
        out = number.get("out", dimension)
        if not 1 <= size <= out <= dimension or out % size:
            return False
    elif transform is not None:
        out = size
        if "out" in number or not 1 <= size <= dimension:
            return False
    if not 1 <= number.get("lists", 1) <= _MOST_LISTS:
        return False
    if links is not None and (links not in _LINKS or code.startswith("RaBitQ") or found["fast"]):
        return False
    parts, bits = number.get("parts"), number.get("bits", 8)
    if parts is not None and (parts < 1 or out % parts or bits not in _BITS):
        return False
    return not (found["fast"] and bits != 4)


def _kind_error(kind: object, dimension: int) -> ConfigError:
    return ConfigError(
        f"the index is {quoted(kind)}; expected {AUTOMATIC}, {', '.join(KINDS)}, or a FAISS factory string for "
        f"{dimension} dimensions: [PCAn,|OPQm,|RRn,][IVFn,|HNSWm,] and Flat, SQ8, SQfp16, PQm, PQmx4fs or RaBitQ, "
        f"optionally with ,Refine(Flat); parts m divide the dimension, lists are {_MOST_LISTS} at most"
    )
