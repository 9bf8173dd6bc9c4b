"""Views of a collection: one thread at a time updates the view, and every state gives correct results."""

from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from threading import current_thread, main_thread
from weakref import finalize

import numpy as np
import pytest

from brute_force import documents
from gate import Gate
from gem_index import Document, Home
from gem_index.collection.state import tail, view_cache
from gem_index.collection.state.view_cache import ViewCache
from gem_index.text.analyzer import ENGLISH


@pytest.fixture
def gate():
    return Gate()


class TestThreads:
    def test_one_at_a_time_brings_a_view_up_to_date(self, faq, gate, monkeypatch):
        faq.upsert(documents(30))
        advance = ViewCache._advance
        monkeypatch.setattr(
            ViewCache,
            "_advance",
            gate.around(advance),
        )
        found = gate.run_two(lambda: [hit.id for hit in faq.search("bank river", k=30)])
        assert gate.most == 1
        assert found[0] == found[1]
        assert len(found[0]) == 30

    def test_a_model_is_opened_once_for_all_threads(self, home, faq, gate, monkeypatch):
        monkeypatch.setattr(view_cache, "open_encoder", gate.around(view_cache.open_encoder))
        fresh = Home(home.root).collection("faq")
        found = gate.run_two(lambda: fresh.encoder)
        assert gate.entered == 1
        assert found[0] is found[1]

    @pytest.mark.parametrize(
        "read",
        [
            lambda faq: [hit.id for hit in faq.search("a bank")],
            lambda faq: [name for group in faq.duplicates() for name in group.ids],
        ],
        ids=["search", "duplicates"],
    )
    def test_a_reader_reads_again_if_another_has_seen_a_newer_state(self, faq, monkeypatch, read):
        faq.upsert([Document(id="old", text="a bank")])
        at, overtaken = ViewCache.at, []

        def overtake():
            faq.upsert([Document(id="new", text="a bank")])
            faq.search(
                "a bank", why=True
            )  # answered alone: a fast request would wait for the first

        def at_after_another(cache, connection, record):
            if not overtaken:
                overtaken.append(record.last_seq)
                with ThreadPoolExecutor(1) as pool:
                    pool.submit(overtake).result(30)
            return at(cache, connection, record)

        monkeypatch.setattr(ViewCache, "at", at_after_another)
        assert read(faq) == ["old", "new"]
        assert overtaken == [1]


def test_a_transaction_has_the_encoder_of_its_own_moment(home, faq):
    faq.upsert(documents(30))
    with faq.access.reading() as rows:
        before = faq.access.encoder(rows).fingerprint
        Home(home.root).collection("faq").refit()
        assert faq.access.encoder(rows).fingerprint == before
    assert faq.access.encoder().fingerprint == faq.status().fingerprint != before


class TestOrder:
    """Equal scores: the older document first, wherever the two are."""

    @pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
    @pytest.mark.parametrize("indexed", [0, 3, 6])
    def test_equal_documents_come_by_age(self, faq, mode, indexed):
        same = [Document(id=f"n{i}", text="a bank by the river") for i in (5, 3, 4, 0, 2, 1)]
        faq.upsert(same[:indexed])
        if indexed:
            faq.refit()
        faq.upsert(same[indexed:])
        found = [hit.id for hit in faq.search("river bank", k=6, mode=mode)]
        assert found == [document.id for document in same]

    @pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
    @pytest.mark.parametrize("indexed", [0, 2, 4])
    def test_of_more_equal_documents_than_are_asked_for_the_oldest_come(self, faq, mode, indexed):
        same = [Document(id=f"n{i}", text="a bank by the river") for i in (3, 1, 2, 0)]
        faq.upsert(same[:indexed])
        if indexed:
            faq.refit()
        faq.upsert(same[indexed:])
        for k in (1, 2, 3):
            found = [hit.id for hit in faq.search("river bank", k=k, mode=mode)]
            assert found == [document.id for document in same[:k]]

    def test_the_best_come_first_by_score_and_not_by_place(self, faq):
        faq.upsert(documents(60))
        faq.refit()
        faq.upsert(documents(60, begin=100))
        for mode in ("dense", "lexical", "hybrid"):
            scores = [hit.score for hit in faq.search("bank river tea", k=200, mode=mode)]
            assert len(scores) > 20
            assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
@pytest.mark.parametrize("refit", [False, True])
def test_a_least_score_is_reached_by_an_equal_one(faq, mode, refit):
    faq.upsert(documents(40))
    if refit:
        faq.refit()
    hits = faq.search("bank river tea", k=20, mode=mode)
    scores = [hit.score for hit in hits]
    place = next(i for i in range(5, 15) if scores[i - 1] > scores[i] > scores[i + 1])
    found = faq.search("bank river tea", k=20, mode=mode, min_score=scores[place])
    assert [hit.id for hit in found] == [hit.id for hit in hits[: place + 1]]


class TestWordsOfTheTail:
    INDEXED = (
        "the bank of the river",
        "a bank account",
        "bank bank bank bank bank bank bank",
        "a school by the water",
        "tea and a cup of tea",
    )
    LATER = ("two ducks by the river bank", "the tea of the two ducks")

    def expected(self, text, query):
        """BM25 with the statistics of what is indexed."""
        held = [ENGLISH.terms(other) for other in self.INDEXED]
        mean = sum(map(len, held)) / len(held)
        terms, score = ENGLISH.terms(text), 0.0
        for term in set(ENGLISH.terms(query)):
            frequency = sum(term in other for other in held)
            weight = np.log1p((len(held) - frequency + 0.5) / (frequency + 0.5))
            times = terms.count(term)
            score += weight * times * 2.2 / (times + 1.2 * (0.25 + 0.75 * len(terms) / mean))
        return score

    def test_score_as_they_would_in_the_files(self, faq):
        texts = [*self.INDEXED, *self.LATER]
        faq.upsert(Document(id=str(i), text=text) for i, text in enumerate(self.INDEXED))
        faq.refit()
        faq.upsert(Document(id=str(i + 5), text=text) for i, text in enumerate(self.LATER))
        assert faq.status().index.tail == 2
        for query in ("bank", "ducks", "tea by the river", "two banks"):
            scores = {hit.id: hit.score for hit in faq.search(query, k=9, mode="lexical")}
            for i, text in enumerate(texts):
                assert scores.get(str(i), 0.0) == pytest.approx(
                    self.expected(text, query), rel=1e-4
                ), (query, text)

    def test_follow_deletions_and_replacements(self, faq):
        faq.upsert(Document(id=str(i), text=text) for i, text in enumerate(self.INDEXED))
        assert len(faq.search("bank tea", mode="lexical")) == 4
        faq.delete(["0", "3"])
        faq.upsert([Document(id="2", text="a phone")])
        for query, expected in (("tea", ["4"]), ("bank", ["1"]), ("phone", ["2"]), ("school", [])):
            assert [hit.id for hit in faq.search(query, mode="lexical")] == expected

    @pytest.mark.parametrize("indexed", [False, True])
    def test_a_collection_that_stays_open_finds_what_a_new_one_does(
        self, home, faq, monkeypatch, indexed
    ):
        """After each of many writes, also when the words of what is gone are forgotten."""
        monkeypatch.setattr(tail, "_FORGOTTEN", 5)
        faq.upsert(documents(20))
        if indexed:
            faq.refit()
        rng = np.random.default_rng(1)
        for i in range(60):
            if i % 3 == 2:
                faq.delete([str(rng.integers(20))])
            else:
                text = f"bank {rng.integers(9)} river {'account ' * int(rng.integers(3))}"
                faq.upsert([Document(id=str(rng.integers(20)), text=text)])
            for mode in ("lexical", "hybrid"):
                asked = {"k": 30, "mode": mode}
                expected = Home(home.root).collection("faq").search("river bank 3", **asked)
                assert faq.search("river bank 3", **asked) == expected

    def test_a_deleted_document_is_not_counted_in_the_next_index(self, faq, monkeypatch):
        monkeypatch.setattr("gem_index.collection.write.writing._TAIL_LIMIT", 3)
        faq.upsert(Document(id=str(i), text=text) for i, text in enumerate(self.INDEXED))
        faq.delete(["2"])
        faq.upsert(Document(id=f"n{i}", text="a loan for the school") for i in range(4))
        assert faq.status().index.tail == 0
        with faq.access.workspace.database.reading() as connection:
            view = faq.access.views.at(connection, faq.access.rows(connection).record)
        assert len(view.snapshot.words) == 8
        assert view.snapshot.ids.tolist() == [1, 2, 4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("refit", [True, False])
def test_a_filter_that_was_used_before_finds_no_document_that_was_deleted_since(faq, mode, refit):
    faq.upsert(
        [Document(id=str(n), text=f"a bank {n}", metadata={"even": n % 2 == 0}) for n in range(6)]
    )
    if refit:
        faq.refit()

    def found(**where):
        return sorted(hit.id for hit in faq.search("a bank", where=where, mode=mode))

    assert found(even=True) == ["0", "2", "4"]
    faq.delete(["2", "3"])
    faq.upsert([Document(id="4", text="a bank 4", metadata={"even": False})])
    faq.upsert([Document(id="6", text="a bank 6", metadata={"even": True})])
    assert found(even=True) == ["0", "6"]
    assert found(even=False) == ["1", "4", "5"]


def test_a_snapshot_that_is_not_there_is_searched_around(home, faq, caplog):
    faq.upsert(documents(50))
    faq.refit()
    before = [(hit.id, hit.score) for hit in faq.search("bank river", k=50)]
    next(home.root.rglob("ids.npy")).unlink()
    found = [
        (hit.id, hit.score) for hit in Home(home.root).collection("faq").search("bank river", k=50)
    ]
    assert "searching from the stored texts instead" in caplog.text
    assert [name for name, _ in found] == [name for name, _ in before]
    assert [score for _, score in found] == pytest.approx([score for _, score in before], abs=1e-6)


def test_another_thread_than_that_of_the_search_drops_a_replaced_snapshot(home, faq, monkeypatch):
    monkeypatch.setattr(view_cache, "_KEPT", 0.2)
    faq.upsert([Document(id="1", text="a bank")])
    faq.refit()
    faq.search("bank")
    dropped_by = SimpleQueue()
    finalize(faq.access.view().snapshot, lambda: dropped_by.put(current_thread()))
    Home(home.root).collection("faq").refit()  # another process would do the same
    faq.search("bank")
    assert dropped_by.get(timeout=60) is not main_thread()
