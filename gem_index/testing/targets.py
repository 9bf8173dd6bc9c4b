"""Contract tests for vector databases that a collection is pushed into.

In your own package, with pytest::

    from gem_index.testing import TargetContract

    class TestMyDatabase(TargetContract):
        @pytest.fixture
        def url(self, tmp_path):
            return f"mydatabase://{tmp_path}/db?table=faq"
"""

from __future__ import annotations

import os
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
from gem_index.collection.push.embedding import embed_into
from gem_index.collection.push.sending import PushOptions
from gem_index.documents import Document
from gem_index.errors import FingerprintMismatchError, GemIndexError, TargetChangedError
from gem_index.home.home import Home
from gem_index.home.opening import open_provider
from gem_index.targets.protocol import Target, TargetDocument, TargetSchema, TargetTable
from gem_index.targets.registry import open_target
from gem_index.testing.samples import documentation_sentences, write_word_vectors
from gem_index.text.chunking import Chunking

__all__ = ["TargetContract"]

_SUBJECTS = ("a visa", "the bank", "my account", "the school", "a river", "tea", "an embassy")
_VERBS = ("renew", "open", "close", "find", "pay", "visit", "lose")
_PUSH = """
import sys
from gem_index import Home

root, name, url, batch = sys.argv[1:]
show = lambda step, done, total: print(step, done, flush=True)
print("pushed", Home(root).collection(name).push(url, batch=int(batch), progress=show).documents, flush=True)
"""
METADATA: dict[str, Any] = {"lang": "en", "year": 2024, "price": 3.5, "new": True}
"""Metadata of the types that every database is expected to keep."""


def _documents(count: int, begin: int = 0) -> list[Document]:
    return [
        Document(
            id=f"d{i}",
            text=f"how do I {_VERBS[i % 7]} {_SUBJECTS[i // 7 % 7]} number {i}",
            metadata=METADATA | {"year": 2000 + i % 25},
        )
        for i in range(begin, begin + count)
    ]


def _build(folder: Path) -> Path:
    """Build the collection in a folder, with word vectors beside it, and return the folder."""
    vectors = write_word_vectors(folder / "vectors.txt", [d.text for d in _documents(130)])
    # The vectors have eight dimensions: with the default nothing would be left of them.
    config = {"removed": 1, "components": 3}
    Home(folder / "home").build("faq", _documents(60), vectors=str(vectors), prior=0, config=config)
    return folder


_PLANE = TargetSchema(fingerprint="f" * 64, dimension=2, token="t")  # noqa: S106 - a mark, no secret
_DIRECTIONS = {
    "east": (1, 0),
    "north": (0, 1),
    "west": (-1, 0),
    "northeast": (0.6, 0.8),
    "none": (0, 0),
}


def _vector(name: str) -> np.ndarray:
    return np.array(_DIRECTIONS[name], dtype=np.float32)


def _directed(name: str, **metadata: Any) -> TargetDocument:
    return TargetDocument(name, _vector(name), f"to the {name}", metadata)


class TargetContract:
    """Test methods for one engine; inherit, and return the URL of an unused table from the fixture ``url``."""

    overlap = 0.99
    """Least share of the ten nearest documents that agrees with an exact search; 0.95 for approximate engines."""

    sentences = int(os.environ.get("GEM_TEST_SENTENCES", "1000"))
    """How many real sentences are pushed, at least 100; the environment variable GEM_TEST_SENTENCES gives another number."""

    finds_zero_vectors = True
    """Whether a search finds vectors of length zero, and with one anything, with the score 0; some engines refuse them."""

    @pytest.fixture
    def url(self, tmp_path: Path) -> str:
        """Return the URL of a table that does not exist yet."""
        raise NotImplementedError("return the URL of the target to test")

    @pytest.fixture
    def faq(self, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
        """Return a fitted collection of 60 documents: a copy of one that is built once."""
        template = tmp_path_factory.getbasetemp() / "target-contract"
        if not template.exists():
            _build(tmp_path_factory.mktemp("build")).rename(template)
        shutil.copytree(template, tmp_path, dirs_exist_ok=True)
        collection = Home(tmp_path / "home").collection("faq")
        assert np.linalg.norm(collection.encoder.encode(["renew a visa"])) > 0
        return collection

    @pytest.fixture(autouse=True)
    def closes(self) -> Iterator[None]:
        """Close the targets that :meth:`table` opened."""
        self._opened: list[Target] = []
        yield
        for target in self._opened:
            target.close()

    def table(self, url: str) -> TargetTable:
        """Open the target again and return its live table; it is closed at the end of the test."""
        target = open_target(url)
        self._opened.append(target)
        return _live(target)

    def plane(self, url: str, *documents: TargetDocument) -> TargetTable:
        """Return a new table of two dimensions that holds some documents; it is closed at the end of the test."""
        target = open_target(url)
        self._opened.append(target)
        table = target.create(_PLANE)
        table.upsert(list(documents))
        return table

    def assert_in_step(self, faq: Collection, url: str) -> None:
        """Compare the table with the collection: documents, vectors, texts and metadata."""
        expected = {document.id: document for document in faq.documents()}
        target = open_target(url)
        table = _live(target)
        found = {document.id: document for document in table.documents()}
        assert table.count() == len(found) == len(expected)
        assert set(found) == set(expected)
        texts = [expected[identifier].text for identifier in found]
        vectors = np.array([document.vector for document in found.values()])
        np.testing.assert_allclose(vectors, faq.encoder.encode(texts), atol=1e-6)
        for identifier, document in found.items():
            assert document.text == expected[identifier].text
            assert dict(document.metadata) == dict(expected[identifier].metadata)
        target.close()

    def test_a_push_brings_the_table_into_step(self, faq: Collection, url: str) -> None:
        """All at first, then nothing, then only what changed."""
        report = faq.push(url, batch=7)
        assert (report.added, report.updated, report.deleted, report.documents) == (60, 0, 0, 60)
        assert report.fingerprint == faq.encoder.fingerprint
        self.assert_in_step(faq, url)
        again = faq.push(url)
        assert (again.added, again.updated, again.deleted, again.unchanged) == (0, 0, 0, 60)
        faq.upsert([Document(id="d3", text="the tea is new"), *_documents(5, begin=60)])
        faq.delete(["d1", "d2"])
        dry = faq.push(url, dry_run=True)
        assert (dry.added, dry.updated, dry.deleted, dry.unchanged) == (5, 1, 2, 57)
        changed = faq.push(url)
        assert (changed.added, changed.updated, changed.deleted, changed.unchanged) == (5, 1, 2, 57)
        self.assert_in_step(faq, url)

    def test_the_database_finds_what_an_exact_search_finds(self, faq: Collection, url: str) -> None:
        """The ten nearest documents, by the database's own search."""
        faq.push(url)
        table = self.table(url)
        common = []
        for query in ("renew a visa", "the bank is closed", "lose my account"):
            vector = faq.encoder.encode([query])[0]
            hits = table.query(vector, 10)
            assert len(hits) == 10
            exact = {hit.id: hit.score for hit in faq.search(query, 60, mode="dense")}
            best = sorted(exact.values())[-10]
            common.append(np.mean([exact[hit.id] >= best - 1e-5 for hit in hits]))
            assert all(abs(hit.score - exact[hit.id]) < 1e-3 for hit in hits)
            assert [hit.score for hit in hits] == sorted((h.score for h in hits), reverse=True)
        assert np.mean(common) >= self.overlap

    @pytest.mark.parametrize("step", ["before", "after"])
    def test_a_killed_push_goes_on(
        self, faq: Collection, url: str, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Killed before or after the database took a batch: nothing is missing or double afterwards."""
        kind = type(_probe(url, faq))
        upsert, calls = kind.upsert, []

        def cut(table: Any, documents: list[TargetDocument]) -> None:
            calls.append(len(documents))
            if step == "after":
                upsert(table, documents)
            if len(calls) == 3:
                raise KeyboardInterrupt
            if step == "before":
                upsert(table, documents)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "upsert", cut)
            with pytest.raises(KeyboardInterrupt):
                faq.push(url, batch=10)
        report = faq.push(url, batch=10)
        assert report.documents == 60
        assert report.added + report.updated == 40
        self.assert_in_step(faq, url)

    def test_documents_deleted_after_a_killed_push(
        self, faq: Collection, url: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Killed after the database took a batch; what is deleted then does not stay in the table."""
        kind = type(_probe(url, faq))
        upsert = kind.upsert

        def cut(table: Any, documents: list[TargetDocument]) -> None:
            upsert(table, documents)
            raise KeyboardInterrupt

        for added in ([], _documents(3, begin=60)):
            faq.upsert(added)
            with monkeypatch.context() as patch:
                patch.setattr(kind, "upsert", cut)
                with pytest.raises(KeyboardInterrupt):
                    faq.push(url, batch=10)
            faq.delete([added[0].id if added else "d3"])
            faq.push(url, batch=10)
            self.assert_in_step(faq, url)

    @pytest.mark.parametrize("method", ["upsert", "switch"])
    def test_a_refit_replaces_all_vectors_at_once(
        self, faq: Collection, url: str, method: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Readers see the old vectors until the switch; a killed replacement goes on."""
        faq.push(url)
        old = faq.encoder.fingerprint
        faq.upsert(_documents(20, begin=100))
        faq.refit()
        target = open_target(url)
        kind = type(target) if method == "switch" else type(_live(target))
        target.close()
        original, calls = getattr(kind, method), []

        def cut(*arguments: Any) -> None:
            original(*arguments)
            calls.append(1)
            if len(calls) == (1 if method == "switch" else 3):
                raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(kind, method, cut)
            with pytest.raises(KeyboardInterrupt):
                faq.push(url, batch=10)
        if method == "upsert":
            assert self.table(url).schema.fingerprint == old
            assert self.table(url).count() == 60
        faq.push(url, batch=10)
        assert self.table(url).schema.fingerprint == faq.encoder.fingerprint != old
        self.assert_in_step(faq, url)

    def test_a_changed_table_is_noticed(self, faq: Collection, url: str) -> None:
        """Somebody deleted or dropped documents: said by name, and repaired by a full push."""
        faq.push(url)
        self.table(url).delete(["d5"])
        with pytest.raises(TargetChangedError, match="holds 59 documents, the last push left 60"):
            faq.push(url)
        faq.push(url, full=True)
        self.assert_in_step(faq, url)
        target = open_target(url)
        target.drop()
        target.close()
        with pytest.raises(TargetChangedError, match="there is no table"):
            faq.push(url)
        faq.push(url, full=True)
        self.assert_in_step(faq, url)

    def test_a_table_of_another_collection_is_refused(
        self, faq: Collection, url: str, tmp_path: Path
    ) -> None:
        """Two collections do not overwrite each other."""
        faq.push(url)
        home = Home(tmp_path / "home")
        home.build("other", _documents(10), vectors=str(tmp_path / "vectors.txt"), prior=0)
        with pytest.raises(TargetChangedError, match="filled by another collection"):
            home.collection("other").push(url)
        self.assert_in_step(faq, url)

    def test_any_text_and_id(self, faq: Collection, url: str) -> None:
        """Texts without words, Unicode, quotes and long ids."""
        odd = [
            Document(id="ünï 'quoted\" ; -- 数", text="où est l'école? 😀 数"),
            Document(id="x" * 200, text="?!"),
            Document(id="0", text=""),
            Document(
                id="path/../to", text="a\nb\t\\n 'c' \"d\" %s {e}", metadata={"k": "v'\"\n数"}
            ),
        ]
        faq.upsert(odd)
        faq.push(url)
        self.assert_in_step(faq, url)
        faq.delete([document.id for document in odd])
        faq.push(url)
        self.assert_in_step(faq, url)

    def test_without_texts(self, faq: Collection, url: str) -> None:
        """Vectors and metadata alone."""
        faq.push(url, texts=False)
        assert all(document.text is None for document in self.table(url).documents())

    def test_unsupported_metadata(self, faq: Collection, url: str) -> None:
        """It is stored as it is, or refused by name, or left out when asked."""
        odd = {"deep": {"a": [1, {"b": None}]}, "nothing": None, "lang": "de"}
        faq.upsert([Document(id="odd", text="a river", metadata=odd)])
        try:
            faq.push(url)
        except GemIndexError as error:
            message = str(error)
            target = open_target(url)
            assert target.live() is None
            target.close()
            faq.push(url, drop_unsupported=True)
        else:
            message = "'odd'"
        assert "'odd'" in message
        found = {document.id: document for document in self.table(url).documents()}["odd"]
        assert found.metadata["lang"] == "de"
        assert all(odd[name] == value for name, value in found.metadata.items())

    def test_two_pushes_at_once(self, faq: Collection, url: str) -> None:
        """Of two processes that push one collection, one waits for the other."""
        with _pushing(faq, url, 10) as one, _pushing(faq, url, 10) as other:
            ends = [process.communicate(timeout=120) for process in (one, other)]
        assert [one.returncode, other.returncode] == [0, 0], ends
        assert all("pushed 60" in output for output, _ in ends)
        self.assert_in_step(faq, url)

    def test_vectors_of_another_encoder_are_refused(self, url: str) -> None:
        """By fingerprint, before anything is stored."""
        documents, options = _documents(20), PushOptions()
        one, other = (
            open_provider(config={"removed": r}).encoder.fit([d.text for d in documents])
            for r in (0, 1)
        )
        embed_into(url, one, documents, options)
        with pytest.raises(FingerprintMismatchError, match=one.fingerprint[:12]):
            embed_into(url, other, _documents(20, begin=20), options)
        assert self.table(url).schema.fingerprint == one.fingerprint
        assert self.table(url).count() == 20

    def test_metadata_by_id(self, faq: Collection, url: str) -> None:
        """Of the documents that are asked for, as far as there are any."""
        odd = "ünï 'quoted\" ; -- 数#1"
        faq.upsert([Document(id=odd, text="a river", metadata=METADATA)])
        faq.push(url)
        table, fields = self.table(url), {d.id: dict(d.metadata) for d in faq.documents()}
        asked = [*(f"d{i}" for i in range(40, 1000)), odd, "d3", "d3#1", "D3"]
        found = {name: dict(metadata) for name, metadata in table.metadata_of(asked).items()}
        assert found == {name: fields[name] for name in asked if name in fields}
        assert len(found) == 22
        assert table.metadata_of([]) == table.metadata_of(["none"]) == {}

    def test_embedded_texts_in_pieces(self, faq: Collection, url: str) -> None:
        """Rows for each piece; a text that changes leaves none of its earlier rows."""
        sentences = [f"{document.text}. " for document in _documents(40)]
        for count in (40, 20, 1, 30):
            document = Document(id="long", text="".join(sentences[:count]), metadata=METADATA)
            report = embed_into(
                url,
                faq.encoder,
                [document, *_documents(2)],
                PushOptions(batch=2),
                chunking=Chunking(20),
            )
            assert (report.documents, report.deleted) == (3, 0)
            assert (report.added, report.updated) == ((3, 0) if count == 40 else (0, 3))
            found = {row.id: row for row in self.table(url).documents()}
            pieces = Chunking(20).pieces(document.text)
            expected = {f"long#{n}": piece for n, piece in enumerate(pieces, 1)}
            assert set(found) == {"d0", "d1"} | (set(expected) if count > 1 else {"long"})
            for name, piece in expected.items() if count > 1 else ():
                number, place = int(name[5:]), {"start": piece.start, "end": piece.end}
                assert found[name].metadata == {
                    **METADATA,
                    "parent": "long",
                    "piece": number,
                    **place,
                }
                assert found[name].text == document.text[piece.start : piece.end]

    def test_real_sentences(self, url: str, tmp_path: Path) -> None:
        """Killed processes, changes and a refit; each time the nearest ten agree with an exact search."""
        sentences = documentation_sentences(self.sentences + 50)
        queries, home = sentences[-50:], Home(tmp_path / "sentences")
        part = self.sentences // 20
        home.build("docs", [Document(id=f"s{i}", text=t) for i, t in enumerate(sentences[:-50])])
        docs, dice = home.collection("docs"), np.random.default_rng()
        for _ in range(3):
            with _pushing(docs, url, part) as process:
                assert process.stdout is not None
                for _ in range(dice.integers(1, 6)):
                    assert process.stdout.readline()
                process.send_signal(signal.SIGKILL)
                process.wait()
        assert docs.push(url).documents == self.sentences
        self.assert_finds(docs, url, queries)
        docs.upsert([Document(id=f"s{i + part}", text=sentences[i]) for i in range(part)])
        docs.delete([f"s{i}" for i in range(part)])
        report = docs.push(url)
        assert (report.added, report.updated, report.deleted) == (0, part, part)
        self.assert_finds(docs, url, queries)
        docs.refit()
        assert docs.push(url).updated == self.sentences - part
        self.assert_finds(docs, url, queries)

    def assert_finds(self, collection: Collection, url: str, queries: list[str]) -> None:
        """Compare the ids, vectors and nearest documents of a table with those of a collection."""
        expected = {document.id: document.text for document in collection.documents()}
        target = open_target(url)
        table = _live(target)
        found = list(table.documents())
        assert table.count() == len(found) == len(expected)
        assert {document.id: document.text for document in found} == expected
        vectors = collection.encoder.encode(list(expected.values()))
        stored = {document.id: document.vector for document in found}
        np.testing.assert_allclose([stored[each] for each in expected], vectors, atol=1e-6)
        overlaps = []
        for query in collection.encoder.encode(queries):
            scores = vectors @ query
            least = np.sort(scores)[-10] - 1e-5  # equally near documents count alike
            exact = dict(zip(expected, scores, strict=True))
            hits = table.query(query, 10)
            assert len({hit.id for hit in hits}) == 10
            assert all(abs(hit.score - exact[hit.id]) < 1e-3 for hit in hits)
            overlaps.append(np.mean([exact[hit.id] >= least for hit in hits]))
        target.close()
        assert np.mean(overlaps) >= self.overlap

    def test_scores_are_cosines(self, url: str) -> None:
        """A vector of length zero has the score 0, between the near and the opposite ones."""
        table = self.plane(url, *map(_directed, _DIRECTIONS))
        hits = table.query(_vector("east"), 5)
        found = {hit.id: round(hit.score, 4) for hit in hits}
        expected = {"east": 1.0, "northeast": 0.6, "north": 0.0, "none": 0.0, "west": -1.0}
        if not self.finds_zero_vectors:
            del expected["none"]
        assert found == expected
        assert [hit.id for hit in hits[:2]] == ["east", "northeast"]
        assert hits[-1].id == "west"

    def test_a_query_of_length_zero(self, url: str) -> None:
        """It has the score 0 with everything, or finds nothing in an engine that refuses vectors of length zero."""
        table = self.plane(url, *map(_directed, _DIRECTIONS))
        scores = [hit.score for hit in table.query(_vector("none"), 3)]
        assert scores == ([0, 0, 0] if self.finds_zero_vectors else [])

    def test_an_empty_table(self, url: str) -> None:
        """Nothing is found in it, added to it or deleted from it."""
        table = self.plane(url)
        table.upsert([])
        table.delete([])
        table.delete(["unknown"])
        assert table.count() == 0
        assert table.query(_vector("east"), 3) == []
        assert list(table.documents()) == []

    def test_a_replaced_document_keeps_nothing_of_the_old_one(self, url: str) -> None:
        """Its vector, its text and all of its fields are new, also from and to a vector of length zero."""
        table = self.plane(
            url, _directed("east", a=1, b="x"), _directed("none", a=1), _directed("west")
        )
        table.upsert(
            [
                TargetDocument("none", _vector("east")),
                TargetDocument("east", _vector("none"), "new", {"c": 2}),
            ]
        )
        found = {document.id: document for document in table.documents()}
        assert (found["none"].text, dict(found["none"].metadata)) == (None, {})
        assert (found["east"].text, dict(found["east"].metadata)) == ("new", {"c": 2})
        assert found["none"].vector.tolist() == [1, 0]
        assert found["east"].vector.tolist() == [0, 0]
        assert [hit.id for hit in table.query(_vector("east"), 1)] == ["none"]
        table.delete(["none", "unknown", "none"])
        assert (table.count(), len(found)) == (2, 3)

    def test_the_last_of_two_with_the_same_id_is_kept(self, url: str) -> None:
        """In one batch."""
        vectors = np.eye(2, dtype=np.float32)
        table = self.plane(url, *(TargetDocument("twice", vector) for vector in vectors))
        assert [document.vector.tolist() for document in table.documents()] == [[0, 1]]
        assert [hit.id for hit in table.query(vectors[0], 9)] == ["twice"]

    def test_metadata_keeps_value_and_type(self, url: str) -> None:
        """Each field that the engine does not name as unsupported, also under names that it may use itself."""
        asked = {
            "text": "a", "id": "my own", "vector": 1, "metadata": 2, "a.b": 1, "line\n数": "v'\"\n数", "whole": 2**53 + 1,
            "small": -(2**63), "float": 1.0, "tenth": 0.1, "huge": 1e300, "true": True, "one": 1, "list": ["b", "a", "a"],
            "deep": {"a": [1, 2.0]}, "mixed": [1, None, "x", True, {}], "nothing": None, "when": "2024-01-01T00:00:00Z",
        }  # fmt: skip
        table = self.plane(url)
        target = self._opened[-1]
        kept = {
            name: value for name, value in asked.items() if not target.unsupported({name: value})
        }
        assert {"float", "true", "one"} <= set(kept)
        table.upsert([_directed("east", **kept)])
        (found,) = table.documents()
        assert dict(found.metadata) == kept
        types = {name: type(value) for name, value in found.metadata.items()}
        assert types == {name: type(value) for name, value in kept.items()}

    def test_a_dry_run_creates_nothing(self, faq: Collection, url: str) -> None:
        """It counts what a push would send."""
        assert faq.push(url, dry_run=True).added == 60
        target = open_target(url)
        assert target.live() is None
        target.close()

    def test_a_wrong_dimension_is_refused(self, url: str) -> None:
        """By the table itself, before anything is stored."""
        target = open_target(url)
        table = target.create(
            TargetSchema(fingerprint="f" * 64, dimension=4, token="t", texts=False)  # noqa: S106
        )
        with pytest.raises(GemIndexError, match="4"):
            table.upsert([TargetDocument("1", np.ones(3, np.float32))])
        assert table.count() == 0
        target.close()


@contextmanager
def _pushing(collection: Collection, url: str, batch: int) -> Iterator[subprocess.Popen[str]]:
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


def _live(target: Target) -> TargetTable:
    table = target.live()
    assert table is not None
    return table


def _probe(url: str, faq: Collection) -> TargetTable:
    """Return a table of the engine; it is dropped again."""
    target = open_target(url)
    table = target.create(
        TargetSchema(fingerprint="f" * 64, dimension=faq.encoder.dimension, token="probe")  # noqa: S106
    )
    target.drop()
    target.close()
    return table
