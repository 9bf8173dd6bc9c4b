"""After a push, a table has the present documents of the collection, whatever their texts and fields are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gem_index.collection.collection import Collection
from gem_index.collection.push.embedding import embed_into
from gem_index.collection.push.sending import PushOptions
from gem_index.documents import Document
from gem_index.errors import FingerprintMismatchError, GemIndexError, TargetChangedError
from gem_index.home.home import Home
from gem_index.home.opening import open_provider
from gem_index.targets.registry import open_target
from gem_index.testing.targets.base import METADATA, TargetTests, documents
from gem_index.text.chunking import Chunking

__all__ = ["PushTests"]


class PushTests(TargetTests):
    """Pushes of a collection, and of texts without one."""

    def test_a_push_brings_the_table_into_step(self, faq: Collection, url: str) -> None:
        """All at first, then nothing, then only what changed."""
        report = faq.push(url, batch=7)
        assert (report.added, report.updated, report.deleted, report.documents) == (60, 0, 0, 60)
        assert report.fingerprint == faq.encoder.fingerprint
        self.assert_in_step(faq, url)
        again = faq.push(url)
        assert (again.added, again.updated, again.deleted, again.unchanged) == (0, 0, 0, 60)
        faq.upsert([Document(id="d3", text="the tea is new"), *documents(5, begin=60)])
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

    def test_a_changed_table_is_noticed(self, faq: Collection, url: str) -> None:
        """Somebody deleted or dropped documents: the error names the table, and a full push repairs it."""
        faq.push(url)
        self.table(url).delete(["d5"])
        with pytest.raises(TargetChangedError, match="holds 59 rows, the last push left 60"):
            faq.push(url)
        faq.push(url, full=True)
        self.assert_in_step(faq, url)
        target = open_target(url)
        target.drop()
        target.close()
        with pytest.raises(TargetChangedError, match="no longer exists"):
            faq.push(url)
        faq.push(url, full=True)
        self.assert_in_step(faq, url)

    def test_a_table_of_another_collection_is_refused(
        self, faq: Collection, url: str, tmp_path: Path
    ) -> None:
        """Two collections do not overwrite each other."""
        faq.push(url)
        home = Home(tmp_path / "home")
        home.build("other", documents(10), vectors=str(tmp_path / "vectors.txt"), prior=0)
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
        """It is stored unchanged, or the error names it, or it is left out with ``drop_unsupported``."""
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

    def test_a_dry_run_creates_nothing(self, faq: Collection, url: str) -> None:
        """It counts what a push would send."""
        assert faq.push(url, dry_run=True).added == 60
        target = open_target(url)
        assert target.live() is None
        target.close()

    def test_vectors_of_another_encoder_are_refused(self, url: str) -> None:
        """By fingerprint, before anything is stored."""
        texts, options = documents(20), PushOptions()
        one, other = (
            open_provider(config={"removed": r}).encoder.fit([d.text for d in texts])
            for r in (0, 1)
        )
        embed_into(url, one, texts, options)
        with pytest.raises(FingerprintMismatchError, match=one.fingerprint[:12]):
            embed_into(url, other, documents(20, begin=20), options)
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
        sentences = [f"{document.text}. " for document in documents(40)]
        for count in (40, 20, 1, 30):
            document = Document(id="long", text="".join(sentences[:count]), metadata=METADATA)
            report = embed_into(
                url,
                faq.encoder,
                [document, *documents(2)],
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
