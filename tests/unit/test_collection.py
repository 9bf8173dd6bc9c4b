"""Collections: ingest, search, delete, refit, build; every answer compared with exact search over the texts."""

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from brute_force import TEXTS, assert_exact, documents
from gem_index import Document, GemConfig, Home
from gem_index.collection.state import filter_cache as filters
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    EmptyTextError,
    FilterError,
    FingerprintMismatchError,
    HomeBusyError,
    InputError,
)
from gem_index.store.documents import DocumentRepository
from gem_index.testing import run_python
from stored import execute, other_writer


class TestIngestAndSearch:
    def test_warm_up_loads_what_a_search_needs(self, home):
        home.build("bundled", [Document(id="1", text=TEXTS[0])])
        script = (
            f"import sys; from gem_index import Home; found = Home({str(home.root)!r}).collection('bundled')\n"
            "found.warm_up() if 'warm' in sys.argv else None\n"
            "print(*(name in sys.modules for name in ('faiss', 'tokenizers')))"
        )
        cold, warm = (run_python("-c", script, start).stdout for start in ("cold", "warm"))
        assert cold == "False False\n"
        assert warm == "True True\n"

    def test_finds_what_was_just_ingested_without_a_fit(self, faq):
        report = faq.upsert(Document(id=str(i), text=text) for i, text in enumerate(TEXTS))
        assert (report.added, report.updated, report.unchanged, report.documents) == (8, 0, 0, 8)
        assert report.fingerprint == faq.encoder.fingerprint
        assert faq.search("ducks in a river", k=1)[0].text == TEXTS[5]
        assert faq.status().fitted == 0

    def test_follows_every_change(self, faq):
        truth = {d.id: d for d in documents(300)}
        faq.upsert(truth.values())
        assert_exact(faq, truth)
        faq.refit()
        assert_exact(faq, truth)
        changed = {
            d.id: Document(id=d.id, text=d.text + " river", metadata=d.metadata)
            for d in documents(20)
        }
        fresh = {d.id: d for d in documents(30, begin=1000)}
        report = faq.upsert([*changed.values(), *fresh.values(), truth["d100"]])
        assert (report.added, report.updated, report.unchanged) == (30, 20, 1)
        truth |= changed | fresh
        assert_exact(faq, truth)
        deleted = faq.delete(["d5", "d200", "d1003", "nowhere", "d5"])
        assert (deleted.deleted, deleted.missing) == (3, ("nowhere",))
        for name in ("d5", "d200", "d1003"):
            del truth[name]
        assert_exact(faq, truth, k=1000)
        faq.refit()
        assert_exact(faq, truth, k=1000)
        assert faq.status().index.tail == 0
        reports = []
        assert faq.verify(progress=lambda *each: reports.append(each)) == []
        assert reports[-1] == ("verify", len(faq), len(faq))

    def test_a_second_reader_sees_changes_without_reopening(self, home, faq):
        reader = home.collection("faq")
        truth = {d.id: d for d in documents(50)}
        faq.upsert(truth.values())
        assert_exact(reader, truth)
        faq.refit()
        assert_exact(reader, truth)
        faq.delete(["d0"])
        del truth["d0"]
        assert_exact(reader, truth, k=100)

    def test_changed_metadata_alone_is_an_update(self, faq):
        faq.upsert([Document(id="1", text="the bank", metadata={"lang": "en"})])
        report = faq.upsert([Document(id="1", text="the bank", metadata={"lang": "de"})])
        assert report.updated == 1
        assert faq.search("bank", where={"lang": "de"})[0].id == "1"
        assert faq.search("bank", where={"lang": "en"}) == []

    def test_filters_give_k_results_whenever_k_match(self, faq):
        truth = {d.id: d for d in documents(400)}
        faq.upsert(truth.values())
        faq.refit()
        extra = {d.id: d for d in documents(40, begin=500)}
        faq.upsert(extra.values())
        truth |= extra
        for where, accept in [
            ({"even": True}, lambda d: d.metadata["even"]),
            ({"n": {"$gte": 390, "$lt": 503}}, lambda d: 390 <= d.metadata["n"] < 503),
            ({"n": {"$in": [7, 399, 501]}}, lambda d: d.metadata["n"] in (7, 399, 501)),
            ({"n": -1}, lambda d: False),
        ]:
            assert_exact(faq, truth, k=20, where=where, accept=accept)
        with pytest.raises(FilterError):
            faq.search("bank", where={"n": {"$near": 1}})

    def test_filters_read_only_what_they_have_not_seen(self, faq, monkeypatch):
        read = []
        matching = DocumentRepository.matching
        monkeypatch.setattr(
            DocumentRepository,
            "matching",
            lambda self, where, after=0: read.append(after) or matching(self, where, after),
        )
        truth = {d.id: d for d in documents(400)}
        faq.upsert(truth.values())
        faq.refit()
        where, accept = {"even": True}, lambda d: d.metadata["even"]

        def check(mode="dense"):
            assert_exact(faq, truth, k=20, where=where, accept=accept)
            found = {hit.id for hit in faq.search("bank visa", 500, where, mode="lexical")}
            assert found
            assert all(name in truth and accept(truth[name]) for name in found)

        check()
        assert read == [0]
        check()
        assert read == [0]
        gone = [name for name in truth if accept(truth[name])][:150]
        faq.delete(gone)
        truth = {name: d for name, d in truth.items() if name not in gone}
        check()
        assert read == [0]
        newer = {d.id: d for d in documents(10, begin=500)}
        faq.upsert(newer.values())
        truth |= newer
        check()
        assert len(read) == 2
        assert read[1] > 0
        faq.refit()  # another snapshot
        check()
        assert read[2:] == [0]
        faq.search("bank", where={"n": {"$gte": 3}})
        assert len(faq.access.filters._entries) == 2
        monkeypatch.setattr(filters, "_MOST_IDS", 200)
        faq.search("bank", where={"n": {"$gte": 2}})
        assert not faq.access.filters._entries
        check()

    def test_a_long_tail_becomes_a_snapshot(self, faq, monkeypatch):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 100)
        truth = {d.id: d for d in documents(80)}
        faq.upsert(truth.values())
        assert faq.status().index.tail == 80
        more = {d.id: d for d in documents(40, begin=80)}
        faq.upsert(more.values())
        assert faq.status().index.tail == 0
        assert_exact(faq, truth | more)
        faq.delete([f"d{i}" for i in range(110)])
        assert faq.status().index.last_seq == 120
        assert_exact(faq, {k: v for k, v in (truth | more).items() if int(k[1:]) >= 110}, k=20)

    def test_documents_without_words_are_kept_and_score_zero(self, faq):
        faq.upsert([Document(id="empty", text="..."), Document(id="x", text="the bank")])
        scores = {r.id: r.score for r in faq.search("bank")}
        assert scores["empty"] == 0.0
        assert faq.status().documents == 2

    @pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
    def test_k_below_one_or_no_number(self, faq, k):
        with pytest.raises(InputError, match="expected a whole number of at least 1"):
            faq.search("bank", k=k)

    def test_a_query_without_words(self, faq):
        with pytest.raises(EmptyTextError, match="'\\?!' holds no word"):
            faq.search("?!")

    def test_an_empty_collection_finds_nothing(self, faq):
        assert faq.search("bank") == []
        with pytest.raises(InputError, match="has no documents"):
            faq.refit()

    def test_rerank_uses_the_collections_model(self, faq):
        faq.upsert(documents(100))
        faq.refit()
        found = faq.rerank("open a bank account", ["the river", "a bank account"], top_n=1)
        assert found[0].text == "a bank account"
        assert found[0].score == pytest.approx(
            faq.encoder.similarity("open a bank account", "a bank account")
        )


class TestAllOrNothing:
    @pytest.mark.parametrize("place", [1, 2500])
    def test_a_duplicate_id_anywhere_stores_nothing(self, faq, place):
        faq.upsert(documents(10))
        batch = [*documents(3000, begin=10)]
        with pytest.raises(DuplicateIdError, match="'d10' occurs twice"):
            faq.upsert([*batch[:place], batch[0], *batch[place:]])
        assert faq.status().documents == 10
        assert len(faq.search("bank", k=100)) == 10

    def test_an_unchanged_document_counts_as_seen(self, faq):
        faq.upsert(documents(10))
        with pytest.raises(DuplicateIdError):
            faq.upsert([*documents(10), *documents(1)])

    def test_an_error_of_the_source_stores_nothing(self, faq):
        def broken():
            yield from documents(5000)
            raise InputError("line 5001 is wrong")

        with pytest.raises(InputError, match="line 5001"):
            faq.upsert(broken())
        assert faq.status().documents == 0
        assert faq.search("bank") == []

    def test_a_failed_build_leaves_neither_collection_nor_vectors(self, home, vectors_folder):
        def broken():
            yield from documents(5)
            raise InputError("bad line")

        with pytest.raises(InputError):
            home.build("new", broken(), vectors=str(vectors_folder))
        assert home.collections() == []
        assert [info.name for info in home.vectors.list()] == ["wordllama-gem", "wordllama"]
        assert not list((home.root / "vectors").iterdir())

    def test_a_failed_build_into_an_existing_collection_leaves_it_as_it_was(self, home, faq):
        faq.upsert(documents(5))
        before = faq.status()
        with pytest.raises(DuplicateIdError):
            home.build("faq", [*documents(1, begin=70), *documents(1, begin=70)])
        assert faq.status() == before


class TestBuild:
    def test_fits_on_the_texts_and_is_idempotent(self, home, vectors_folder):
        config = GemConfig(n_components=12, n_removed=5)
        report = home.build("b", documents(200), vectors=str(vectors_folder), config=config)
        status = home.collection("b").status()
        assert (status.fitted, status.prior, status.vectors, status.index.tail) == (
            200,
            10_000.0,
            "tiny-24d",
            0,
        )
        assert report.fingerprint == status.fingerprint
        again = home.build("b", documents(200))
        assert (again.added, again.updated, again.unchanged) == (0, 0, 200)
        assert home.collection("b").status() == status
        shutil.rmtree(vectors_folder)
        assert_exact(home.collection("b"), {d.id: d for d in documents(200)})

    def test_a_build_that_was_cut_before_the_fit_is_fitted_by_the_next(self, home, monkeypatch):
        home.build("b", documents(60), prior=0)

        def cut(*_):
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("gem_index.collection.write.building.refit", cut)
            with pytest.raises(KeyboardInterrupt):
                home.build("b", documents(30, begin=60))
        assert home.collection("b").status().documents == 90
        assert home.collection("b").status().fitted == 60
        assert home.build("b", documents(30, begin=60)).unchanged == 30
        assert home.collection("b").status().fitted == 90
        home.collection("b").delete(["d1"])
        home.build("b", documents(1))
        assert home.collection("b").status().fitted == 89

    def test_prior_may_be_chosen(self, home):
        home.build("none", documents(60), prior=0)
        home.build("own", documents(60), config=GemConfig.cqa(prior=5))
        assert home.collection("none").status().prior == 0
        assert home.collection("own").status().prior == 5
        assert home.collection("own").status().preset == "cqa"

    def test_refuses_to_mix_vectors_or_configurations(self, home, faq):
        faq.upsert(documents(10))
        with pytest.raises(
            FingerprintMismatchError, match="the collection faq was made with vectors"
        ):
            home.build("faq", documents(1, begin=50), vectors="wordllama")
        with pytest.raises(ConfigError, match="the collection faq has the configuration"):
            home.build("faq", documents(1, begin=50), config=GemConfig.cqa())
        assert faq.status().documents == 10
        assert home.build("faq", documents(1, begin=50), vectors="tiny").documents == 11

    def test_vectors_that_changed_under_their_name_are_refused(
        self, home, faq, vectors_folder, tmp_path
    ):
        faq.upsert(documents(5))
        np.save(vectors_folder / "matrix.npy", np.load(vectors_folder / "matrix.npy") * 2)
        home.vectors.add("other", vectors_folder)
        execute(home, "UPDATE vector_sources SET name = 'old' WHERE name = 'tiny'")
        execute(home, "UPDATE vector_sources SET name = 'tiny' WHERE name = 'other'")
        with pytest.raises(FingerprintMismatchError, match="add the vectors it was fitted with"):
            home.collection("faq").search("bank")


class TestConcurrency:
    def test_a_writer_that_waits_too_long_says_so(self, home, faq, monkeypatch):
        with other_writer(home) as other:
            monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.2")
            waiting = Home(home.root).collection("faq")
            with pytest.raises(HomeBusyError, match=f"process {other.pid} .* has been writing"):
                waiting.upsert(documents(1))
            assert waiting.search("bank") == []
        assert waiting.upsert(documents(1)).added == 1

    def test_readers_see_whole_batches_while_a_writer_works(self, home, faq):
        stop = threading.Event()
        counts = []

        def read():
            reader = home.collection("faq")
            while not stop.is_set():
                found = reader.search("bank account phone", k=10_000)
                assert len({r.id for r in found}) == len(found)
                counts.append(len(found))

        with ThreadPoolExecutor(3) as pool:
            readers = [pool.submit(read) for _ in range(3)]
            for round_ in range(8):
                faq.upsert(documents(50, begin=50 * round_))
                if round_ % 3 == 2:
                    faq.refit()
            stop.set()
            for reader in readers:
                reader.result()
        assert counts
        assert all(count % 50 == 0 for count in counts)
        assert len(faq.search("bank", k=10_000)) == 400
