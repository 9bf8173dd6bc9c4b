"""Small models and word vectors for tests, and the ranking that an adapter of them must return."""

from __future__ import annotations

import ast
import re
import sysconfig
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from gem_index.gem.combined import Encoder
from gem_index.home.opening import open_provider
from gem_index.text.tokens import tokenize

__all__ = ["cosine_ranking", "documentation_sentences", "fit_model", "write_word_vectors"]


def fit_model(path: str | Path, corpus: Sequence[str]) -> Encoder:
    """Fit the bundled word vectors on a few texts, and save the model.

    Parameters
    ----------
    path : str or Path
        The model file, replaced if it exists; models of different corpora have different fingerprints.
    corpus : sequence of str

    Returns
    -------
    Encoder
        The encoder that was saved.
    """
    encoder = open_provider(config={"removed": 1, "components": 3}).encoder.fit(corpus)
    encoder.save(path)
    return encoder


def write_word_vectors(path: str | Path, texts: Sequence[str], seed: int = 0) -> Path:
    """Write random word vectors of eight dimensions for the words of a few texts, in GloVe's format.

    Parameters
    ----------
    path : str or Path
        A ``.txt`` file, replaced if it exists.
    texts : sequence of str
    seed : int
        Different seeds give the same words different vectors.

    Returns
    -------
    Path
        The file.
    """
    path = Path(path)
    words = sorted({word for text in texts for word in tokenize(text)})
    rows = np.random.default_rng(seed).standard_normal((len(words), 8))
    lines = [
        f"{word} {' '.join(f'{x:.4f}' for x in row)}" for word, row in zip(words, rows, strict=True)
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def documentation_sentences(count: int) -> list[str]:
    """Return distinct English sentences from the docstrings of Python's standard library, always in the same order.

    Parameters
    ----------
    count : int
        Up to about 15,000.

    Returns
    -------
    list of str
    """
    library = Path(sysconfig.get_path("stdlib"))
    found = list(_first_sentences(library, count))
    if len(found) < count:
        raise ValueError(f"found {len(found)} sentences in {library}; expected {count}")
    return found


@lru_cache(maxsize=2)  # parsing the modules takes five seconds
def _first_sentences(library: Path, count: int) -> tuple[str, ...]:
    files = (*sorted(library.glob("*.py")), *sorted(library.glob("[a-z]*/*.py")))
    return tuple(islice(_distinct(_sentences(files)), count))


def _sentences(files: Sequence[Path]) -> Iterator[str]:
    """Iterate over the sentences of at least four words in the docstrings of some modules."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef)
    for file in files:
        if "test" in file.parent.name or file.parent.name == "lib2to3":
            continue
        for node in ast.walk(ast.parse(file.read_bytes())):
            text = ast.get_docstring(node) if isinstance(node, documented) else None
            for paragraph in re.split(r"\n\s*\n", text or ""):
                line = " ".join(paragraph.split())
                for sentence in re.split(r"(?<=[.!?])\s+(?=[A-Z])", line):
                    if re.fullmatch(r"[A-Z]\S*(?: \S+){3,60}[.!?]", sentence):
                        yield sentence


def _distinct(values: Iterator[str]) -> Iterator[str]:
    seen: set[str] = set()
    for value in values:
        if value not in seen:
            seen.add(value)
            yield value


def cosine_ranking(query: str, texts: Sequence[str], **choice: Any) -> list[tuple[int, Any]]:
    """Rank texts by the cosine similarity of their embeddings to a query's embedding.

    Parameters
    ----------
    query : str
    texts : sequence of str
    **choice
        The arguments of :func:`gem_index.open_provider`.

    Returns
    -------
    list of tuple
        The position in ``texts`` and the cosine of each text, the highest first, equal ones in the order of the texts. The
        cosine is a :func:`pytest.approx`, equal to any number within 1e-6.
    """
    import pytest  # imported here: only those who run the tests have it

    provider = open_provider(**choice)
    cosines = provider.embed_documents(texts) @ provider.embed_query(query)
    order = np.argsort(-cosines, kind="stable")
    return [(int(i), pytest.approx(float(cosines[i]), abs=1e-6)) for i in order]
