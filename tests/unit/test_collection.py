"""Collections: ingest, search, delete, refit, verify; every answer compared with exact search over the texts."""

import logging
import shutil
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gem_index import Document, GemConfig, Home
from gem_index.collection import filters
from gem_index.errors import (
    ConfigError,
    DuplicateIdError,
    EmptyTextError,
    FilterError,
    FingerprintMismatchError,
    HomeBusyError,
    InputError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.store.documents import DocumentRepository

TEXTS = [
    "how do I renew my residence visa",
    "where can I open a bank account",
    "which bank gives the best loan",
    "my phone battery is empty after half a day",
    "how long does tea keep in the cup",
    "two ducks are swimming in the river",
    "the school is closed today",
    "can you send money by phone",
]


def documents(count, begin=0):
    rng = np.random.default_rng(begin)
    words = " ".join(TEXTS).split()
    for i in range(begin, begin + count):
        text = " ".join(rng.choice(words, size=rng.integers(3, 15)))
        yield Document(id=f"d{i}", text=text, metadata={"n": i, "even": i % 2 == 0})


def exact(collection, truth, query, k, accept=lambda d: True):
    """The k best (id, score) by brute force over the documents that should be there."""
    kept = [document for document in truth.values() if accept(document)]
    vectors = collection.encoder.encode([query, *(document.text for document in kept)])
    scores = vectors[1:] @ vectors[0]
    order = np.argsort(-scores, kind="stable")[:k]
    return [kept[i].id for i in order], scores[order]


def assert_exact(
    collection, truth, query="open a bank account by phone", k=10, where=None, accept=lambda d: True
):
    found = collection.search(query, k=k, where=where)
    _, scores = exact(collection, truth, query, k, accept)
    np.testing.assert_allclose([r.score for r in found], scores, atol=1e-5)
    assert len({r.id for r in found}) == len(found) == min(k, sum(map(accept, truth.values())))
    for result in found:
        assert result.text == truth[result.id].text
        assert dict(result.metadata) == dict(truth[result.id].metadata)
        assert accept(truth[result.id])


@pytest.fixture
def faq(home, vectors_folder):
    home.add_vectors("tiny", vectors_folder)
    return home.create_collection("faq", vectors="tiny", config=GemConfig(components=12, removed=5))


class TestIngestAndSearch:
    def test_finds_what_was_just_ingested_without_a_fit(self, faq):
        report = faq.ingest(Document(id=str(i), text=text) for i, text in enumerate(TEXTS))
        assert (report.added, report.updated, report.unchanged, report.documents) == (8, 0, 0, 8)
        assert report.fingerprint == faq.encoder.fingerprint
        assert faq.search("ducks in a river", k=1)[0].text == TEXTS[5]
        assert faq.status().fitted == 0

    def test_follows_every_change(self, faq):
        truth = {d.id: d for d in documents(300)}
        faq.ingest(truth.values())
        assert_exact(faq, truth)
        faq.refit()
        assert_exact(faq, truth)
        changed = {
            d.id: Document(id=d.id, text=d.text + " river", metadata=d.metadata)
            for d in documents(20)
        }
        fresh = {d.id: d for d in documents(30, begin=1000)}
        report = faq.ingest([*changed.values(), *fresh.values(), truth["d100"]])
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
        assert faq.verify() == []

    def test_a_second_reader_sees_changes_without_reopening(self, home, faq):
        reader = home.collection("faq")
        truth = {d.id: d for d in documents(50)}
        faq.ingest(truth.values())
        assert_exact(reader, truth)
        faq.refit()
        assert_exact(reader, truth)
        faq.delete(["d0"])
        del truth["d0"]
        assert_exact(reader, truth, k=100)

    def test_changed_metadata_alone_is_an_update(self, faq):
        faq.ingest([Document(id="1", text="the bank", metadata={"lang": "en"})])
        report = faq.ingest([Document(id="1", text="the bank", metadata={"lang": "de"})])
        assert report.updated == 1
        assert faq.search("bank", where={"lang": "de"})[0].id == "1"
        assert faq.search("bank", where={"lang": "en"}) == []

    def test_filters_give_k_results_whenever_k_match(self, faq):
        truth = {d.id: d for d in documents(400)}
        faq.ingest(truth.values())
        faq.refit()
        extra = {d.id: d for d in documents(40, begin=500)}
        faq.ingest(extra.values())
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
        faq.ingest(truth.values())
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
        faq.ingest(newer.values())
        truth |= newer
        check()
        assert len(read) == 2
        assert read[1] > 0
        faq.refit()  # another snapshot
        check()
        assert read[2:] == [0]
        faq.search("bank", where={"n": {"$gte": 3}})
        assert len(faq._filters._entries) == 2
        monkeypatch.setattr(filters, "_MOST_IDS", 200)
        faq.search("bank", where={"n": {"$gte": 2}})
        assert not faq._filters._entries
        check()

    def test_a_long_tail_becomes_a_snapshot(self, faq, monkeypatch):
        monkeypatch.setattr("gem_index.collection.collection._TAIL_LIMIT", 100)
        truth = {d.id: d for d in documents(80)}
        faq.ingest(truth.values())
        assert faq.status().index.tail == 80
        more = {d.id: d for d in documents(40, begin=80)}
        faq.ingest(more.values())
        assert faq.status().index.tail == 0
        assert_exact(faq, truth | more)
        faq.delete([f"d{i}" for i in range(110)])
        assert faq.status().index.last_seq == 120
        assert_exact(faq, {k: v for k, v in (truth | more).items() if int(k[1:]) >= 110}, k=20)

    def test_documents_without_words_are_kept_and_score_zero(self, faq):
        faq.ingest([Document(id="empty", text="..."), Document(id="x", text="the bank")])
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
        with pytest.raises(InputError, match="holds no documents"):
            faq.refit()

    def test_rerank_uses_the_collections_model(self, faq):
        faq.ingest(documents(100))
        faq.refit()
        found = faq.rerank("open a bank account", ["the river", "a bank account"], top_n=1)
        assert found[0].text == "a bank account"
        assert found[0].score == pytest.approx(
            faq.encoder.similarity("open a bank account", "a bank account")
        )


class TestKinds:
    """Every kind of index answers as exact search does, through deletes, replacements, filters and a tail."""

    @pytest.mark.parametrize("kind", ["flat", "rabitq", "sq8", "ivf", "hnsw", "PQ8", "PCA8,SQ8"])
    def test_follows_every_change(self, home, vectors_folder, kind, monkeypatch):
        monkeypatch.setattr("gem_index.collection.collection._TAIL_LIMIT", 30)
        monkeypatch.setattr("gem_index.collection.view._ENCODED_AT_ONCE", 20)
        truth = {document.id: document for document in documents(400)}
        home.build("c", truth.values(), vectors=str(vectors_folder), index=kind)
        collection = home.collection("c")
        assert collection.status().index.kind == kind
        assert_exact(collection, truth)
        for begin in range(400, 640, 60):
            fresh = {document.id: document for document in documents(60, begin)}
            truth |= fresh
            collection.ingest(fresh.values())
            gone = list(truth)[begin % 7 :: 9]
            collection.delete(gone)
            for identifier in gone:
                del truth[identifier]
            assert_exact(collection, truth)
            for lowest in (0, begin - 30):
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
        monkeypatch.setattr("gem_index.collection.collection._TAIL_LIMIT", 30)
        faq.ingest(documents(100))
        before = faq.status().index.snapshot
        from gem_index.gem.encoder import GemEncoder

        seen = []
        encode = GemEncoder.encode
        monkeypatch.setattr(
            GemEncoder, "encode", lambda self, texts: seen.extend(texts) or encode(self, texts)
        )
        faq.ingest(documents(40, 100))
        assert faq.status().index.snapshot != before
        assert len(seen) == 40
        monkeypatch.undo()
        assert_exact(
            faq,
            {document.id: document for document in documents(100)}
            | {document.id: document for document in documents(40, 100)},
        )

    def test_a_damaged_snapshot_is_not_built_upon(self, home, faq, monkeypatch, caplog):
        monkeypatch.setattr("gem_index.collection.collection._TAIL_LIMIT", 30)
        faq.ingest(documents(100))
        index = next(home.root.rglob("vectors.faiss"))
        content = bytearray(index.read_bytes())
        content[-3] ^= 255
        index.write_bytes(content)
        faq.ingest(documents(40, 100))
        assert "making the index anew from the texts" in caplog.text
        assert home.verify() == []
        assert_exact(faq, {d.id: d for d in [*documents(100), *documents(40, 100)]})

    def test_a_kind_that_needs_more_documents_waits_for_them(self, home, vectors_folder, caplog):
        home.build("c", documents(30), vectors=str(vectors_folder), index="PQ8")
        assert "a flat one serves until then" in caplog.text
        assert home.collection("c").status().index.kind == "flat"
        home.build("c", documents(300))
        assert home.collection("c").status().index.kind == "PQ8"

    def test_an_index_that_cannot_be_written_costs_no_document(self, faq, monkeypatch, caplog):
        from gem_index.index.dense import DenseIndex

        def full(*_):
            raise OSError(28, "No space left on device")

        monkeypatch.setattr("gem_index.collection.collection._TAIL_LIMIT", 30)
        monkeypatch.setattr(DenseIndex, "write", full)
        assert faq.ingest(documents(100)).added == 100
        assert "was not brought up to date" in caplog.text
        assert_exact(faq, {document.id: document for document in documents(100)})

    def test_another_kind_is_taken_from_the_next_build_on(self, home, faq):
        faq.ingest(documents(50))
        home.build("faq", documents(60), index="sq8")
        assert home.collection("faq").status().index.kind == "sq8"
        with pytest.raises(ConfigError, match="expected auto, flat"):
            home.build("faq", documents(60), index="nonsense")
        with pytest.raises(ConfigError, match="expected auto, flat"):
            home.create_collection("other", index="PQ999")


class TestModes:
    @pytest.fixture
    def texts(self, faq):
        faq.ingest(Document(id=str(i), text=text) for i, text in enumerate(TEXTS))
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
        texts.ingest([Document(id="9", text="a river phone")])
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
        faq.ingest(truth.values())
        query = "open a bank account by phone"
        _, scores = exact(faq, truth, query, 300)
        for least in (0.3, 0.0, -1.0, 0.99):
            found = faq.search(query, k=None, min_score=least)
            assert len(found) == (scores >= least).sum()
            np.testing.assert_allclose(
                [hit.score for hit in found], scores[: len(found)], atol=1e-5
            )
        assert len(faq.search(query, k=5, min_score=-1.0)) == 5

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"mode": "both"}, "the mode is 'both'; expected dense, lexical, hybrid"),
            ({"mode": "hybrid", "fusion": "x"}, "the fusion is 'x'; expected weighted or rrf"),
            ({"k": None}, "found neither k nor min_score"),
            ({"min_score": "high"}, "min_score is 'high'; expected a number"),
        ],
    )
    def test_bad_options(self, texts, options, message):
        with pytest.raises(InputError, match=message):
            texts.search("bank", **options)


class TestAllOrNothing:
    @pytest.mark.parametrize("place", [1, 2500])
    def test_a_duplicate_id_anywhere_stores_nothing(self, faq, place):
        faq.ingest(documents(10))
        batch = [*documents(3000, begin=10)]
        with pytest.raises(DuplicateIdError, match="'d10' came twice"):
            faq.ingest([*batch[:place], batch[0], *batch[place:]])
        assert faq.status().documents == 10
        assert len(faq.search("bank", k=100)) == 10

    def test_an_unchanged_document_counts_as_seen(self, faq):
        faq.ingest(documents(10))
        with pytest.raises(DuplicateIdError):
            faq.ingest([*documents(10), *documents(1)])

    def test_an_error_of_the_source_stores_nothing(self, faq):
        def broken():
            yield from documents(5000)
            raise InputError("line 5001 is wrong")

        with pytest.raises(InputError, match="line 5001"):
            faq.ingest(broken())
        assert faq.status().documents == 0
        assert faq.search("bank") == []

    def test_a_failed_build_leaves_neither_collection_nor_vectors(self, home, vectors_folder):
        def broken():
            yield from documents(5)
            raise InputError("bad line")

        with pytest.raises(InputError):
            home.build("new", broken(), vectors=str(vectors_folder))
        assert home.collections() == []
        assert [info.name for info in home.vectors()] == ["wordllama-gem", "wordllama"]
        assert not list((home.root / "vectors").iterdir())

    def test_a_failed_build_into_an_existing_collection_leaves_it_as_it_was(self, home, faq):
        faq.ingest(documents(5))
        before = faq.status()
        with pytest.raises(DuplicateIdError):
            home.build("faq", [*documents(1, begin=70), *documents(1, begin=70)])
        assert faq.status() == before


class TestBuild:
    def test_fits_on_the_texts_and_is_idempotent(self, home, vectors_folder):
        config = GemConfig(components=12, removed=5)
        report = home.build("b", documents(200), vectors=str(vectors_folder), config=config)
        status = home.collection("b").status()
        assert (status.fitted, status.prior, status.vectors, status.index.tail) == (
            200,
            1000.0,
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
            patch.setattr("gem_index.collection.collection.Collection.refit", cut)
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
        faq.ingest(documents(10))
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
        from sqlalchemy import text

        faq.ingest(documents(5))
        np.save(vectors_folder / "matrix.npy", np.load(vectors_folder / "matrix.npy") * 2)
        home.add_vectors("other", vectors_folder)
        with home._workspace.database.writing() as connection:
            connection.execute(text("UPDATE vector_sources SET name = 'old' WHERE name = 'tiny'"))
            connection.execute(text("UPDATE vector_sources SET name = 'tiny' WHERE name = 'other'"))
        with pytest.raises(FingerprintMismatchError, match="add the vectors it was fitted with"):
            home.collection("faq").search("bank")


class TestHome:
    def test_names_are_checked(self, home):
        for name in ("", "../x", "a/b", ".hidden", "x" * 65, "a b", "a+b"):
            with pytest.raises(ConfigError, match="the collection name is"):
                home.create_collection(name)

    def test_unknown_names_suggest_near_ones(self, home, faq):
        with pytest.raises(
            UnknownNameError, match="no collection is named 'fac': did you mean faq"
        ):
            home.collection("fac")
        with pytest.raises(UnknownNameError, match="no model is named 'm': there is none yet"):
            home.model("m")
        with pytest.raises(
            UnknownNameError, match="no vectors is named 'tinny': did you mean tiny"
        ):
            home.create_collection("x", vectors="tinny")
        assert [s.name for s in home.collections()] == ["faq"]

    def test_a_name_is_taken_once(self, home, faq, vectors_folder):
        with pytest.raises(NameTakenError, match="the collection faq exists already"):
            home.create_collection("faq")
        for name in ("tiny", "wordllama"):
            with pytest.raises(NameTakenError, match="exist already"):
                home.add_vectors(name, vectors_folder)

    def test_vectors_in_use_are_not_removed(self, home, faq):
        with pytest.raises(NameTakenError, match="used by collection faq"):
            home.remove_vectors("tiny")
        home.drop("faq")
        home.remove_vectors("tiny")
        assert not list((home.root / "vectors").iterdir())

    def test_drop_removes_everything(self, home, faq):
        faq.ingest(documents(10))
        faq.refit()
        home.drop("faq")
        assert home.collections() == []
        assert not list((home.root / "collections").iterdir())
        for use in (faq.status, lambda: faq.search("bank"), lambda: faq.ingest(documents(1))):
            with pytest.raises(UnknownNameError):
                use()
        again = home.create_collection("faq", vectors="tiny")
        assert again.search("bank") == []

    def test_models_are_kept_by_name(self, home, vectors_folder):
        encoder = home.fit_model("m", TEXTS, vectors=str(vectors_folder), config=GemConfig.cqa())
        assert home.model("m").fingerprint == encoder.fingerprint
        assert home.model("m").encode(TEXTS).tobytes() == encoder.encode(TEXTS).tobytes()
        with pytest.raises(NameTakenError, match="the model m exists already"):
            home.fit_model("m", TEXTS)
        other = home.fit_model("m", TEXTS[:4], overwrite=True)
        assert home.model("m").fingerprint == other.fingerprint
        home.remove_vectors("tiny-24d")
        home.remove_model("m")
        assert home.models() == []

    def test_the_same_vectors_by_path_register_once(self, home, vectors_folder):
        home.create_collection("a", vectors=str(vectors_folder))
        home.create_collection("b", vectors=str(vectors_folder))
        assert [info.name for info in home.vectors()] == ["wordllama-gem", "wordllama", "tiny-24d"]
        np.save(vectors_folder / "matrix.npy", np.load(vectors_folder / "matrix.npy") * 2)
        with pytest.raises(NameTakenError, match="other vectors than"):
            home.create_collection("c", vectors=str(vectors_folder))

    def test_what_a_killed_import_left_is_swept(self, home, vectors_folder):
        home.add_vectors("a", vectors_folder)
        left = home.root / "vectors" / ".b-0123.partial-99"
        left.mkdir()
        (left / "matrix.npy").write_bytes(b"half")
        home.add_vectors("b", vectors_folder)
        assert sorted(p.name[0] for p in left.parent.iterdir()) == ["a", "b"]

    def test_is_private(self, home):
        assert home.root.stat().st_mode & 0o777 == 0o700


class TestDamage:
    @pytest.fixture
    def built(self, home, faq):
        faq.ingest(documents(100))
        faq.refit()
        return home.root / "collections" / "1"

    @pytest.mark.parametrize("name", ["vectors.faiss", "ids.npy", "snapshot.json"])
    def test_is_named_searched_around_and_fixed(self, home, built, name, caplog):
        truth = {d.id: d for d in documents(100)}
        (directory,) = built.iterdir()
        path = directory / name
        path.write_bytes(path.read_bytes()[:-9])
        problems = home.verify()
        assert [(p.kind, p.fixed) for p in problems] == [("index", False)]
        assert name in problems[0].detail
        with caplog.at_level(logging.WARNING):
            assert_exact(home.collection("faq"), truth)
        assert "searching from the stored texts instead" in caplog.text
        assert [p.fixed for p in home.verify("faq", fix=True)] == [True]
        assert home.verify() == []
        assert_exact(home.collection("faq"), truth)

    def test_a_flipped_bit_is_found(self, home, built):
        (directory,) = built.iterdir()
        path = directory / "vectors.faiss"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert "vectors.faiss is not what was written" in home.verify("faq")[0].detail

    def test_a_missing_directory_costs_no_document(self, home, built):
        shutil.rmtree(built)
        assert_exact(home.collection("faq"), {d.id: d for d in documents(100)})
        assert home.verify(fix=True)[0].fixed
        assert home.verify() == []

    def test_damaged_vectors_are_named(self, home, faq):
        (folder,) = (home.root / "vectors").iterdir()
        path = folder / "matrix.npy"
        content = bytearray(path.read_bytes())
        content[-1] ^= 1
        path.write_bytes(content)
        assert "tiny: matrix.npy is not what was written" in home.verify()[0].detail


HOLD_LOCK = """
import sys
from gem_index import Home
with Home(sys.argv[1])._workspace.write_lock():
    print("held", flush=True)
    sys.stdin.read()
"""


class TestConcurrency:
    def test_a_writer_that_waits_too_long_says_so(self, home, faq, monkeypatch):
        command = [sys.executable, "-c", HOLD_LOCK, str(home.root)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as other:
            assert other.stdout.readline() == "held\n"
            monkeypatch.setenv("GEM_INDEX_LOCK_TIMEOUT", "0.2")
            waiting = Home(home.root).collection("faq")
            with pytest.raises(HomeBusyError, match=f"process {other.pid} .* has been writing"):
                waiting.ingest(documents(1))
            assert waiting.search("bank") == []
            other.communicate("")
        assert waiting.ingest(documents(1)).added == 1

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
                faq.ingest(documents(50, begin=50 * round_))
                if round_ % 3 == 2:
                    faq.refit()
            stop.set()
            for reader in readers:
                reader.result()
        assert counts
        assert all(count % 50 == 0 for count in counts)
        assert len(faq.search("bank", k=10_000)) == 400
