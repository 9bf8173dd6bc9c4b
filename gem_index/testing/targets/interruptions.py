"""Pushes that are killed or compete: nothing is missing or double afterwards."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gem_index.collection.collection import Collection
from gem_index.collection.push.query_record import QUERY_SCHEMA
from gem_index.documents import Document
from gem_index.home.home import Home
from gem_index.targets.protocol import TargetDocument
from gem_index.targets.registry import open_target
from gem_index.testing.samples import documentation_sentences
from gem_index.testing.targets.base import TargetTests, documents, live, probe, pushing, vector

__all__ = ["InterruptionTests"]

_WRITE_UNTIL_KILLED = """
import os, signal, sys
import numpy as np
from gem_index.targets import TargetDocument, TargetSchema, open_target

def fill(table, *ids):
    table.upsert([TargetDocument(each, np.array([1, 0], np.float32)) for each in ids])

target = open_target(sys.argv[1])
schema = TargetSchema(fingerprint="f", dimension=2, token="t")
fill(target.create(schema), "a", "b")
fill(target.stage(schema), "c", "d", "e")
target.switch()
target.live().delete(["c"])
os.kill(os.getpid(), signal.SIGKILL)
"""
_KILL_AT_SWITCH = """
from gem_index.targets import open_target

target = open_target(url)
kind, switch = type(target), type(target).switch
target.close()

def cut(target):
    {before}
    kill()

kind.switch = cut
"""


class InterruptionTests(TargetTests):
    """Processes that end in the midst of a push, and two pushes at once."""

    @pytest.mark.parametrize("step", ["before", "after"])
    def test_a_killed_push_goes_on(
        self, faq: Collection, url: str, step: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Killed before or after the database took a batch: nothing is missing or double afterwards."""
        kind = type(probe(url, faq))
        upsert, calls = kind.upsert, []

        def cut(table: Any, documents: list[TargetDocument]) -> None:
            if table.schema == QUERY_SCHEMA:
                upsert(table, documents)
                return
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
        """The process is killed after the database took a batch; documents deleted later do not stay in the table."""
        kind = type(probe(url, faq))
        upsert = kind.upsert

        def cut(table: Any, documents: list[TargetDocument]) -> None:
            upsert(table, documents)
            if table.schema != QUERY_SCHEMA:
                raise KeyboardInterrupt

        for added in ([], documents(3, begin=60)):
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
        """Readers see the old vectors until the switch; a killed replacement can be continued."""
        faq.push(url)
        old = faq.encoder.fingerprint
        faq.upsert(documents(20, begin=100))
        faq.refit()
        target = open_target(url)
        kind = type(target) if method == "switch" else type(live(target))
        target.close()
        original, calls = getattr(kind, method), []

        def cut(*arguments: Any) -> None:
            original(*arguments)
            if getattr(arguments[0], "schema", None) == QUERY_SCHEMA:
                return
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

    @pytest.mark.parametrize("step", ["before", "after"])
    def test_a_killed_switch_goes_on(self, faq: Collection, url: str, step: str) -> None:
        """The process of a push is killed when it has filled the table of a new model, before or after the switch."""
        faq.push(url)
        old = faq.encoder.fingerprint
        faq.upsert(documents(20, begin=100))
        faq.refit()
        before = {"before": "pass", "after": "switch(target)"}[step]
        self.push_until_killed(faq, url, _KILL_AT_SWITCH.format(before=before))
        fingerprint = old if step == "before" else faq.encoder.fingerprint
        assert self.table(url).schema.fingerprint == fingerprint
        assert faq.push(url).documents == 80
        assert self.table(url).schema.fingerprint == faq.encoder.fingerprint != old
        self.assert_in_step(faq, url)

    def test_a_killed_process_has_stored_what_it_was_told(self, url: str) -> None:
        """Each call is durable when it returns."""
        run = subprocess.run(  # noqa: S603 - the test's own script
            [sys.executable, "-c", _WRITE_UNTIL_KILLED, url],
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == -signal.SIGKILL, run.stderr
        table = self.table(url)
        assert sorted(document.id for document in table.documents()) == ["d", "e"]
        assert {hit.id for hit in table.query(vector("east"), 5)} == {"d", "e"}

    def test_two_pushes_at_once(self, faq: Collection, url: str) -> None:
        """Of two processes that push one collection, one waits for the other."""
        with pushing(faq, url, 10) as one, pushing(faq, url, 10) as other:
            ends = [process.communicate(timeout=120) for process in (one, other)]
        assert [one.returncode, other.returncode] == [0, 0], ends
        assert all("pushed 60" in output for output, _ in ends)
        self.assert_in_step(faq, url)

    def test_real_sentences(self, url: str, tmp_path: Path) -> None:
        """Killed processes, changes and a refit; each time the nearest ten agree with an exact search."""
        sentences = documentation_sentences(self.sentences + 50)
        queries, home = sentences[-50:], Home(tmp_path / "sentences")
        part = self.sentences // 20
        home.build("docs", [Document(id=f"s{i}", text=t) for i, t in enumerate(sentences[:-50])])
        docs, dice = home.collection("docs"), np.random.default_rng()
        for _ in range(3):
            with pushing(docs, url, part) as process:
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
        table = live(target)
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
