"""Common parts of the contract: documents, a fitted collection, and tables that are closed after each test."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gem_index.collection.collection import Collection
from gem_index.common.arrays import F32, SparseVector
from gem_index.documents import Document
from gem_index.home.home import Home
from gem_index.sparse import SparseEncoder
from gem_index.targets.protocol import (
    Target,
    TargetDocument,
    TargetSchema,
    TargetTable,
    word_dimensions,
)
from gem_index.targets.registry import open_target
from gem_index.testing.samples import write_word_vectors

__all__ = [
    "DIRECTIONS",
    "METADATA",
    "PLANE",
    "TargetTests",
    "directed",
    "documents",
    "live",
    "probe",
    "pushing",
    "vector",
]

_SUBJECTS = ("a visa", "the bank", "my account", "the school", "a river", "tea", "an embassy")
_VERBS = ("renew", "open", "close", "find", "pay", "visit", "lose")
_PUSH = """
import sys
from gem_index import Home

root, name, url, batch = sys.argv[1:]
show = lambda step, done, total: print(step, done, flush=True)
print("pushed", Home(root).collection(name).push(url, batch=int(batch), progress=show).documents, flush=True)
"""
_PUSH_UNTIL_KILLED = """
import os, signal, sys
from gem_index import Home

root, name, url = sys.argv[1:]
kill = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
{patch}
Home(root).collection(name).push(url)
"""
METADATA: dict[str, Any] = {"lang": "en", "year": 2024, "price": 3.5, "new": True}
"""Metadata of the types that every database is expected to keep."""


def documents(count: int, begin: int = 0) -> list[Document]:
    """Return documents of different texts."""
    return [
        Document(
            id=f"d{i}",
            text=f"how do I {_VERBS[i % 7]} {_SUBJECTS[i // 7 % 7]} number {i}",
            metadata=METADATA | {"year": 2000 + i % 25},
        )
        for i in range(begin, begin + count)
    ]


def build(folder: Path) -> Path:
    """Build the collection in a folder, with word vectors beside it, and return the folder."""
    vectors = write_word_vectors(folder / "vectors.txt", [d.text for d in documents(130)])
    # The vectors have eight dimensions: with the default nothing would be left of them.
    config = {"removed": 1, "components": 3}
    Home(folder / "home").build("faq", documents(60), vectors=str(vectors), prior=0, config=config)
    return folder


PLANE = TargetSchema(fingerprint="f" * 64, dimension=2, token="t")  # noqa: S106 - a mark, no secret
"""The schema of a table of two dimensions."""
DIRECTIONS = {
    "east": (1, 0),
    "north": (0, 1),
    "west": (-1, 0),
    "northeast": (0.6, 0.8),
    "none": (0, 0),
}
"""Vectors of documents in it."""


def vector(name: str) -> F32:
    """Return the vector of a direction."""
    return np.array(DIRECTIONS[name], dtype=np.float32)


def directed(name: str, **metadata: Any) -> TargetDocument:
    """Return the document of a direction."""
    return TargetDocument(name, vector(name), f"to the {name}", metadata)


class TargetTests:
    """The engine under test, and the properties that tests need."""

    overlap = 0.99
    """Least share of the ten nearest documents that agrees with an exact search; 0.95 for approximate engines."""

    sentences = int(os.environ.get("GEM_TEST_SENTENCES", "1000"))
    """How many real sentences are pushed, at least 100; the environment variable GEM_TEST_SENTENCES gives another number."""

    finds_zero_vectors = True
    """Whether vectors of length zero are found, and queries of length zero find anything; some engines refuse them."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """Return the URL of a table that does not exist yet."""
        raise NotImplementedError("return the URL of the target to test")

    @pytest.fixture
    def faq(self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
        """Return a fitted collection of 60 documents: a copy of one that is built once."""
        template = tmp_path_factory.getbasetemp() / "target-contract"
        if not template.exists():
            build(tmp_path_factory.mktemp("build")).rename(template)
        shutil.copytree(template, tmp_path, dirs_exist_ok=True)
        collection = Home(tmp_path / "home").collection("faq")
        assert np.linalg.norm(collection.encoder.encode(["renew a visa"])) > 0
        return collection

    @pytest.fixture(autouse=True)
    def closes(self) -> Iterator[None]:
        """Close the targets that :meth:`open` opened."""
        self._opened: list[Target] = []
        yield
        for target in self._opened:
            target.close()

    def open(self, url: str) -> Target:
        """Return a target that is closed at the end of the test."""
        target = open_target(url)
        self._opened.append(target)
        return target

    def table(self, url: str) -> TargetTable:
        """Open the target again and return its live table."""
        return live(self.open(url))

    def plane(self, target: Target, *documents: TargetDocument) -> TargetTable:
        """Return a new table of two dimensions that holds some documents."""
        table = target.create(PLANE)
        table.upsert(list(documents))
        return table

    def assert_words(
        self, rule: str, texts: list[str], found: list[SparseVector | None], dimensions: int
    ) -> None:
        """Compare sparse vectors with those of the texts by the table's rule."""
        for words, expected in zip(
            found, SparseEncoder.of_rule(rule).embed_documents(texts), strict=True
        ):
            assert words is not None
            terms = dict(zip(words.indices.tolist(), words.values.tolist(), strict=True))
            own = expected.folded(dimensions)
            assert list(terms) == own.indices.tolist()
            np.testing.assert_allclose(list(terms.values()), own.values, rtol=1e-6)

    def assert_in_step(self, faq: Collection, url: str, *, words: bool = True) -> None:
        """Compare the table with the collection: documents, vectors, texts, metadata and, if it has them, words."""
        expected = {document.id: document for document in faq.documents()}
        target = open_target(url)
        table = live(target)
        found = {document.id: document for document in table.documents()}
        assert table.count() == len(found) == len(expected)
        assert set(found) == set(expected)
        texts = [expected[identifier].text for identifier in found]
        vectors = np.array([document.vector for document in found.values()])
        np.testing.assert_allclose(vectors, faq.encoder.encode(texts), atol=1e-6)
        assert bool(table.schema.words) == (words and word_dimensions(target) > 0)
        if table.schema.words:
            stored = [each.words for each in found.values()]
            self.assert_words(table.schema.words, texts, stored, word_dimensions(target))
        for identifier, document in found.items():
            assert document.text == expected[identifier].text
            assert dict(document.metadata) == dict(expected[identifier].metadata)
        target.close()

    def beside(self, url: str) -> str:
        """Return the URL of another table in the same place: the option that names it has another value."""
        named = re.sub(r"(?<=[?&])((?:table|collection|index)=[^&]+)", r"\1_2", url, count=1)
        return named if named != url else f"{url}_2"

    def push_until_killed(self, collection: Collection, url: str, patch: str) -> None:
        """Push in a process that is killed when some code, which runs before the push, calls ``kill()``."""
        program = _PUSH_UNTIL_KILLED.format(patch=patch)
        arguments = [str(collection.access.workspace.root), collection.name, url]
        run = subprocess.run(  # noqa: S603 - the test's own script
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False
        )
        assert run.returncode == -signal.SIGKILL, run.stderr


@contextmanager
def pushing(collection: Collection, url: str, batch: int) -> Iterator[subprocess.Popen[str]]:
    """Start a process that pushes a collection and prints each batch that the database has acknowledged."""
    arguments = [str(collection.access.workspace.root), collection.name, url, str(batch)]
    with subprocess.Popen(  # noqa: S603 - the test's own script
        [sys.executable, "-c", _PUSH, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def live(target: Target) -> TargetTable:
    """Return the live table of a target, which must have one."""
    table = target.live()
    assert table is not None
    return table


def probe(url: str, faq: Collection) -> TargetTable:
    """Return a table of the engine, after dropping it."""
    target = open_target(url)
    table = target.create(
        TargetSchema(fingerprint="f" * 64, dimension=faq.encoder.dimension, token="probe")  # noqa: S106
    )
    target.drop()
    target.close()
    return table
