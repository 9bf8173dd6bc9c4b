"""Kinds of index and modes of search; every answer compared with exact search over the texts."""

import numpy as np
import pytest

from brute_force import TEXTS, assert_exact, documents, exact
from gem_index import Document
from gem_index.collection.write.building import use_index
from gem_index.errors import (
    ConfigError,
    DiskError,
    InputError,
)
from gem_index.text.chunking import Chunking


class TestKinds:
    """Every kind of index gives the results of exact search, after deletes and replacements, with filters and a tail."""

    @pytest.mark.parametrize("kind", ["flat", "rabitq", "sq8", "ivf", "hnsw", "PQ8x4", "PCA8,SQ8"])
    def test_follows_every_change(self, home, vectors_folder, kind, monkeypatch):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 30)
        monkeypatch.setattr("gem_index.collection.state.view._ENCODED_AT_ONCE", 20)
        truth = {document.id: document for document in documents(400)}
        home.build("c", truth.values(), vectors=str(vectors_folder), index=kind, prior=1000)
        collection = home.collection("c")
        assert collection.status().index.kind == kind
        assert_exact(collection, truth)
        for begin in range(400, 520, 60):
            fresh = {document.id: document for document in documents(60, begin)}
            truth |= fresh
            collection.upsert(fresh.values())
            gone = list(truth)[begin % 7 :: 9]
            collection.delete(gone)
            for identifier in gone:
                del truth[identifier]
            assert_exact(collection, truth)
            for lowest in (0, begin - 30, begin + 50):  # searched, searched, scored from the texts
                where = {"n": {"$gte": lowest}, "even": True}
                assert_exact(
                    collection, truth, where=where,
                    accept=lambda d, lowest=lowest: d.metadata["even"] and d.metadata["n"] >= lowest,
                )  # fmt: skip
            assert_exact(home.collection("c"), truth, query="two ducks in the river", k=400)
        assert home.verify() == []
        collection.refit()
        assert_exact(collection, truth)

    def test_a_snapshot_grows_without_encoding_what_it_holds(self, faq, monkeypatch):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 30)
        faq.upsert(documents(100))
        before = faq.status().index.snapshot
        from gem_index.gem.encoder import GemEncoder

        seen = []
        encode = GemEncoder.encode
        monkeypatch.setattr(
            GemEncoder, "encode", lambda self, texts: seen.extend(texts) or encode(self, texts)
        )
        faq.upsert(documents(40, 100))
        assert faq.status().index.snapshot != before
        assert len(seen) == 40
        monkeypatch.undo()
        assert_exact(
            faq,
            {document.id: document for document in documents(100)}
            | {document.id: document for document in documents(40, 100)},
        )

    def test_an_index_of_another_kind_is_made_of_all_texts(self, faq, monkeypatch):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 30)
        truth = {document.id: document for document in documents(140)}
        assert use_index(faq.access, "sq8")
        faq.upsert(list(truth.values())[:100])
        assert faq.status().index.kind == "sq8"
        assert use_index(faq.access, "flat")
        faq.upsert(list(truth.values())[100:])
        assert (faq.status().index.kind, faq.status().index.tail) == ("flat", 0)
        assert_exact(faq, truth, k=140)  # what the rounded vectors of before would not give

    def test_a_damaged_snapshot_is_not_built_upon(self, home, faq, monkeypatch, caplog):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 30)
        faq.upsert(documents(100))
        index = next(home.root.rglob("vectors.faiss"))
        content = index.read_bytes()
        codes = 100 * 24 * 4
        index.write_bytes(content[:-codes] + bytes(codes))  # a size that opens, and no vector of it
        faq.upsert(documents(40, 100))
        assert faq.status().index.tail == 0
        assert "rebuilding the index from the texts" in caplog.text
        assert home.verify() == []
        truth = {d.id: d for d in [*documents(100), *documents(40, 100)]}
        assert_exact(faq, truth, k=140)
        for document in documents(100):
            if faq.encoder.encode([document.text]).any():
                assert faq.search(document.text, k=1, mode="dense")[0].score == pytest.approx(
                    1, abs=1e-5
                )

    def test_a_kind_that_needs_more_documents_waits_for_them(self, home, vectors_folder, caplog):
        home.build("c", documents(30), vectors=str(vectors_folder), index="PQ8x6")
        assert "using a flat index until it has enough documents" in caplog.text
        assert home.collection("c").status().index.kind == "flat"
        home.build("c", documents(300))
        assert home.collection("c").status().index.kind == "PQ8x6"

    def test_an_index_that_cannot_be_written_costs_no_document(self, faq, monkeypatch, caplog):
        from gem_index.index.dense import DenseIndex

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 30)
        monkeypatch.setattr(DenseIndex, "write", full)
        assert faq.upsert(documents(100)).added == 100
        assert "was not brought up to date" in caplog.text
        assert_exact(faq, {document.id: document for document in documents(100)})

    def test_another_kind_is_taken_also_if_no_document_has_changed(self, home, faq):
        home.build("faq", documents(60), index="sq8")
        home.build("faq", documents(60), index="hnsw")
        assert home.collection("faq").status().index.kind == "hnsw"

    @pytest.mark.parametrize("write", ["compact", "refit"])
    def test_a_full_disk_is_told_with_what_stays_in_use(self, home, faq, monkeypatch, write):
        faq.upsert(documents(50))

        def full(*_):
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("gem_index.index.snapshot_writing.publish_directory", full)
            with pytest.raises(DiskError) as refused:
                getattr(faq, write)()
        assert str(refused.value) == (
            "writing the index of faq failed (no space left on device); "
            "the present index stays in use: make room on the disk and try again"
        )
        assert_exact(faq, {document.id: document for document in documents(50)})

    def test_another_kind_is_taken_from_the_next_build_on(self, home, faq):
        faq.upsert(documents(50))
        home.build("faq", documents(60), index="sq8")
        assert home.collection("faq").status().index.kind == "sq8"
        with pytest.raises(ConfigError, match="expected auto, flat"):
            home.build("faq", documents(60), index="nonsense")
        with pytest.raises(ConfigError, match="expected auto, flat"):
            home.create_collection("other", index="PQ999")

    @pytest.mark.parametrize(
        "choice",
        [
            {"index": "auto"},
            {"index": "sq8"},
            {"chunking": Chunking(10)},
            {"language": "de"},
            {"language": "auto"},
            {"index": "flat", "chunking": Chunking(10), "language": "none"},
        ],
        ids=str,
    )
    def test_a_build_with_the_same_documents_and_choices_makes_no_index(
        self, home, vectors_folder, choice
    ):
        home.build("c", documents(60), vectors=str(vectors_folder), **choice)
        collection = home.collection("c")
        before = collection.status()
        report = home.build("c", documents(60), **choice)
        assert report.unchanged == 60
        assert collection.status() == before


class TestModes:
    @pytest.fixture
    def texts(self, faq):
        faq.upsert(Document(id=str(i), text=text) for i, text in enumerate(TEXTS))
        return faq

    def test_lexical_finds_words_in_any_form(self, texts):
        found = texts.search("banking loans", mode="lexical")
        assert [hit.id for hit in found] == ["2", "1"]
        assert found[0].score > found[1].score > 0
        assert texts.search("xylophone", mode="lexical") == []

    def test_lexical_is_the_same_from_files_and_from_the_tail(self, home, texts, monkeypatch):
        before = texts.search("bank phone river", mode="lexical")
        texts.refit()
        assert texts.status().index.tail == 0
        after = texts.search("bank phone river", mode="lexical")
        assert [hit.id for hit in after] == [hit.id for hit in before]
        assert [hit.score for hit in after] == pytest.approx([hit.score for hit in before])
        texts.upsert([Document(id="9", text="a river phone")])
        texts.delete(["5"])
        found = [hit.id for hit in texts.search("river", mode="lexical")]
        assert found == ["9"]

    def test_hybrid_holds_the_best_of_both(self, texts):
        for fusion in ("weighted", "rrf"):
            found = texts.search("bank loan", mode="hybrid", fusion=fusion, k=3)
            assert found[0].id == "2"
            assert len(found) == 3
            assert [hit.score for hit in found] == sorted(
                (hit.score for hit in found), reverse=True
            )

    def test_min_score(self, faq):
        truth = {document.id: document for document in documents(300)}
        faq.upsert(truth.values())
        query = "open a bank account by phone"
        _, scores = exact(faq, truth, query, 300)
        for least in (0.3, 0.0, -1.0, 0.99):
            found = faq.search(query, k=None, min_score=least, mode="dense")
            assert len(found) == (scores >= least).sum()
            np.testing.assert_allclose(
                [hit.score for hit in found], scores[: len(found)], atol=1e-5
            )
        assert len(faq.search(query, k=5, min_score=-1.0)) == 5

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"mode": "both"}, "the mode is 'both'; expected one of dense, lexical, hybrid"),
            ({"mode": "hybrid", "fusion": "x"}, "the fusion is 'x'; expected weighted or rrf"),
            ({"k": None}, "found neither k nor min_score"),
            ({"min_score": "high"}, "min_score is 'high'; expected a finite number"),
        ],
    )
    def test_bad_options(self, texts, options, message):
        with pytest.raises(InputError, match=message):
            texts.search("bank", **options)
