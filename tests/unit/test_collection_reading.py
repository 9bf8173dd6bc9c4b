"""Reading documents, searching by vector, policies for existing ids, pickles and forks."""

import itertools
import os
import pickle
import threading
import time

import numpy as np
import pytest

from gem_index import Document, GemConfig, GemEncoder, Home
from gem_index.common import forking
from gem_index.errors import (
    CollectionReplacedError,
    ConfigError,
    ExistingIdError,
    FilterError,
    FingerprintMismatchError,
    InputError,
    NameTakenError,
    UnknownNameError,
)
from gem_index.index.dense import faiss_threads, load_faiss
from gem_index.testing import call_in_child, in_forked_child
from gem_index.testing.processes import pool_of_children
from gem_index.text.chunking import Chunking

DOCUMENTS = [
    Document(id="visa", text="how do I renew my visa", metadata={"lang": "en", "n": 1}),
    Document(id="bank", text="where can I open a bank account", metadata={"lang": "en", "n": 2}),
    Document(id="tea", text="how long does tea keep in the cup", metadata={"lang": "de", "n": 3}),
]


def _drop_and_make_again(folder, name):
    other = Home(folder)
    other.drop(name)
    other.create_collection(name, vectors="tiny").upsert([DOCUMENTS[0]])


@pytest.fixture
def faq(faq):
    faq.upsert(DOCUMENTS)
    return faq


class TestDocuments:
    def test_get_returns_documents_in_the_order_asked_for(self, faq):
        assert faq.get(["tea", "nobody", "visa", "tea"]) == [DOCUMENTS[2], DOCUMENTS[0]]
        assert faq.get([]) == []

    def test_a_changed_document_is_read_as_it_is_now(self, faq):
        new = Document(id="visa", text="a visa is a stamp", metadata={"lang": "en"})
        faq.upsert([new])
        assert faq.get(["visa"]) == [new]
        assert list(faq.documents()) == [DOCUMENTS[1], DOCUMENTS[2], new]

    def test_documents_are_filtered_and_counted(self, faq):
        assert list(faq.documents()) == DOCUMENTS
        assert list(faq.documents({})) == DOCUMENTS
        assert list(faq.documents({"lang": "en"})) == DOCUMENTS[:2]
        assert faq.count() == 3
        assert faq.count({"n": {"$gte": 2}}) == 2
        faq.delete(["bank"])
        assert faq.count() == 2
        assert faq.count({"lang": "en"}) == 1

    def test_many_documents_come_in_order(self, faq):
        many = [Document(id=str(i), text=f"river number {i}") for i in range(4500)]
        faq.upsert(many)
        assert [document.id for document in faq.documents()][3:] == [d.id for d in many]
        assert faq.get([str(i) for i in range(4499, -1, -1)]) == many[::-1]

    def test_an_iteration_sees_one_moment(self, faq):
        iterator = faq.documents()
        first = next(iterator)
        faq.delete(["tea"])
        faq.upsert([Document(id="new", text="a new one")])
        assert [first, *iterator] == DOCUMENTS
        assert [document.id for document in faq.documents()] == ["visa", "bank", "new"]

    def test_a_bad_filter_is_refused(self, faq):
        with pytest.raises(FilterError, match=r"\$near"):
            list(faq.documents({"n": {"$near": 2}}))
        with pytest.raises(FilterError):
            faq.count({"$or": 3})

    def test_a_dropped_collection_is_gone(self, home, faq):
        home.create_collection("fag", vectors="tiny")
        home.drop("faq")
        for read in (lambda: faq.get(["visa"]), lambda: list(faq.documents()), faq.count):
            with pytest.raises(UnknownNameError, match="'faq'.*did you mean fag"):
                read()

    def test_a_collection_that_was_made_again_says_how_to_go_on(self, home, faq):
        call_in_child("fork", _drop_and_make_again, str(home.root), "faq")
        for ask in (
            faq.count,
            lambda: faq.get(["visa"]),
            lambda: faq.search("a visa"),
            lambda: faq.upsert(["a new text"]),
            lambda: faq.delete(["visa"]),
            faq.refit,
            faq.status,
        ):
            with pytest.raises(
                CollectionReplacedError,
                match="'faq' was dropped after it was opened, and another one was made under its name; expected .*: "
                r"open the new one with home\.collection\('faq'\)$",
            ) as caught:
                ask()
        error = pickle.loads(pickle.dumps(caught.value))
        assert (error.kind, error.name, str(error)) == ("collection", "faq", str(caught.value))
        assert home.collection("faq").count() == 1

    def test_ids_are_a_list(self, faq):
        faq.upsert([Document(id=5, text="a number for an id")])
        assert [document.id for document in faq.get([5])] == ["5"]
        for read in (faq.get, faq.delete):
            with pytest.raises(InputError, match="found one string 'tea'"):
                read("tea")
            with pytest.raises(InputError, match="the id is None"):
                read([None])
        assert faq.delete([5, "nobody"]).missing == ("nobody",)
        with pytest.raises(InputError, match="found 7; expected a Document"):
            faq.upsert([7])

    def test_filters_of_any_size_and_of_none(self, faq):
        many = {"n": {"$in": [None, True, "x", 2.0, *range(3, 40_000), 2**70, float("inf")]}}
        assert faq.count(many) == 2
        assert next(hit.id for hit in faq.search("a cup of tea", where=many)) == "tea"
        with pytest.raises(FilterError, match="more than 500 conditions; expected fewer"):
            faq.count({"$or": [{"n": i} for i in range(501)]})
        with pytest.raises(
            FilterError, match=r"\$in on 'n' holds 100001 values; expected at most 100000"
        ):
            faq.count({"n": {"$in": range(100_001)}})
        nested = {"n": 1}
        for _ in range(60):
            nested = {"$not": nested}
        with pytest.raises(FilterError, match="nested deeper than 50"):
            faq.count(nested)
        for read in (faq.count, lambda where: list(faq.documents(where))):
            with pytest.raises(FilterError, match=r"the filter is \[\]"):
                read([])

    def test_iterations_that_are_left_block_nobody(self, faq):
        left = [faq.documents() for _ in range(40)]
        assert {next(iterator).id for iterator in left} == {"visa"}
        faq.upsert([Document(id="new", text="a new one")])
        assert faq.count() == 4
        in_forked_child(lambda: faq.search("tea"))
        assert [document.id for document in left[0]] == ["bank", "tea"]


class TestExistingIds:
    NEW = (
        Document(id="visa", text="another text"),
        Document(id="fresh", text="a fresh text"),
    )

    def test_kept(self, faq):
        report = faq.upsert(self.NEW, on_existing="keep")
        assert (report.added, report.updated, report.unchanged) == (1, 0, 1)
        assert faq.get(["visa", "fresh"]) == [DOCUMENTS[0], self.NEW[1]]

    def test_refused_and_nothing_is_stored(self, faq):
        with pytest.raises(ExistingIdError, match="'visa' is stored already") as caught:
            faq.upsert(self.NEW[::-1], on_existing="refuse")
        assert caught.value.document_id == "visa"
        assert list(faq.documents()) == DOCUMENTS
        assert faq.upsert(self.NEW[1:], on_existing="refuse").added == 1

    def test_replaced(self, faq):
        assert faq.upsert(self.NEW).updated == 1
        assert faq.get(["visa"]) == [self.NEW[0]]

    def test_another_word_is_refused(self, faq):
        with pytest.raises(ConfigError, match="'ignore'; expected one of replace, keep, refuse"):
            faq.upsert(self.NEW, on_existing="ignore")
        assert faq.count() == 3


class TestSearchByVector:
    def test_finds_what_its_text_finds(self, faq):
        vector = faq.encoder.encode(["a visa to renew"])[0]
        by_text = faq.search("a visa to renew", k=3, mode="dense")
        for query in (vector, 7 * vector.astype(np.float64), vector.tolist()):
            found = faq.search(query, k=3, fingerprint=faq.encoder.fingerprint)
            assert [hit.id for hit in found] == [hit.id for hit in by_text]
            np.testing.assert_allclose(
                [hit.score for hit in found], [hit.score for hit in by_text], atol=1e-6
            )
        found = faq.search(vector, k=3, where={"lang": "de"}, fingerprint=faq.encoder.fingerprint)
        assert [hit.id for hit in found] == ["tea"]

    @pytest.mark.parametrize(
        "vector",
        [np.zeros(24), np.ones(23), np.ones((1, 24)), np.full(24, np.nan), [1.0, np.inf] * 12],
        ids=["zero", "short", "matrix", "nan", "infinite"],
    )
    def test_other_vectors_are_refused(self, faq, vector):
        with pytest.raises(InputError, match=r"shape \(24,\) that is not zero"):
            faq.search(vector, fingerprint=faq.encoder.fingerprint)

    def test_whose_it_is_has_to_be_said(self, faq):
        other = GemEncoder(faq.encoder.vectors, GemConfig.cqa())
        vector = other.encode(["a visa to renew"])[0]
        assert vector.shape == (faq.encoder.dimension,)
        with pytest.raises(InputError, match="found a query vector and the fingerprint None; exp"):
            faq.search(vector)
        with pytest.raises(FingerprintMismatchError, match="made with the encoder") as caught:
            faq.search(vector, fingerprint=other.fingerprint)
        assert caught.value.found == other.fingerprint
        assert caught.value.expected == faq.encoder.fingerprint
        assert caught.value.kind == "encoder"

    def test_words_cannot_be_taken_from_a_vector(self, faq):
        for mode in ("lexical", "hybrid"):
            with pytest.raises(InputError, match=f"found a vector for a {mode} search"):
                faq.search(np.ones(24), mode=mode)


def _search(collection, query):
    return [(hit.id, hit.score) for hit in collection.search(query, k=3, mode="dense")]


def _write(collection, identifier):
    collection.upsert([Document(id=identifier, text="a text of a child")])
    return os.getpid()


class TestProcesses:
    def test_a_collection_pickles_as_its_name(self, faq):
        copy = pickle.loads(pickle.dumps(faq))
        assert _search(copy, "renew a visa") == _search(faq, "renew a visa")
        faq.delete(["visa"])
        assert copy.get(["visa"]) == []

    def test_a_home_pickles_as_its_folder(self, home, faq, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pickled = pickle.dumps(Home("home"))
        monkeypatch.chdir("/")
        assert pickle.loads(pickled).collection("faq").count() == 3

    def test_a_pickle_of_a_dropped_collection_is_refused(self, home, faq):
        pickled = pickle.dumps(faq)
        home.drop("faq")
        with pytest.raises(UnknownNameError, match="faq"):
            pickle.loads(pickled)

    def test_forked_children_search_and_write(self, faq):
        expected = _search(faq, "renew a visa")
        with pool_of_children("fork", 2) as pool:
            assert pool.submit(_search, faq, "renew a visa").result(60) == expected
            pids = [pool.submit(_write, faq, f"child{i}") for i in range(6)]
            assert os.getpid() not in {future.result(60) for future in pids}
        assert faq.count() == 9
        assert len(faq.search("a text of a child", k=9)) == 9
        assert faq.verify() == []

    def test_a_forked_child_searches_in_one_thread(self):
        def child():
            load_faiss().omp_set_num_threads(2)
            with faiss_threads():
                assert load_faiss().omp_get_max_threads() == 1

        load_faiss()
        in_forked_child(child)

    @pytest.mark.parametrize("kind", ["rabitq", "hnsw", "ivf"])
    def test_a_forked_child_adds_to_any_index(self, faq, home, kind):
        """OpenMP's threads exist only in the parent: a child that waited for them would never end."""
        other = home.create_collection("other", vectors="tiny", index=kind)
        rng = np.random.default_rng(3)
        words = " ".join(document.text for document in DOCUMENTS).split()
        texts = [" ".join(rng.choice(words, 6)) for _ in range(16_000)]
        other.upsert(Document(id=str(i), text=text) for i, text in enumerate(texts[:8000]))
        with pool_of_children("fork") as pool:
            rest = [Document(id=f"c{i}", text=text) for i, text in enumerate(texts[8000:])]
            assert pool.submit(other.upsert, rest).result(120).added == 8000
        assert other.status().index.tail == 0
        assert len(other.search("a bank", k=5)) == 5

    def test_a_child_uses_the_very_object_of_its_parent(self, faq, home):
        """Not a pickled copy: a server that loads first and forks then does this, here while threads search and write."""
        expected = {(name, round(score, 4)) for name, score in _search(faq, "renew a visa")}
        stop = threading.Event()

        def search():
            while not stop.wait(0.001):
                faq.search("renew a visa", where={"lang": "en"})

        def write():
            for i in itertools.count():
                if stop.wait(0.001):
                    return
                home.collection("other").upsert([Document(id=str(i), text=f"river {i}")])

        home.create_collection("other", vectors="tiny")
        threads = [threading.Thread(target=work) for work in (search, search, write)]
        for thread in threads:
            thread.start()
        try:
            for i in range(8):

                def child(i=i):
                    found = faq.search("renew a visa", k=100, mode="dense")
                    assert expected <= {(hit.id, round(hit.score, 4)) for hit in found}
                    _write(faq, f"child{i}")

                in_forked_child(child, 15)
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert faq.count() == 11
        assert faq.get(["child7"])[0].text == "a text of a child"
        assert home.verify() == []

    def test_a_fork_while_a_collection_is_opened(self, home, faq):
        """A lock that another thread holds at that moment is free in the child."""
        for delay in (0, 0.001, 0.005, 0.01, 0.02, 0.05):
            fresh = Home(home.root).collection("faq")
            thread = threading.Thread(target=fresh.search, args=("visa",))
            thread.start()
            time.sleep(delay)
            in_forked_child(lambda fresh=fresh: fresh.search("visa", 3), seconds=30)
            thread.join()


def test_a_thread_that_is_inside_forks_and_enters_again_without_waiting(monkeypatch):
    """Or it would wait for itself."""

    class Never(threading.Condition):
        def wait(self, timeout=None):
            raise AssertionError("the thread would wait")

    with monkeypatch.context() as patch:
        patch.setattr(forking, "Condition", Never)
        patch.setattr(forking.os, "register_at_fork", lambda **_: None)
        told = []
        gate = forking.ForkGate(lambda: told.append("before the fork"))
        with gate.passing():
            gate._close()
            with gate.passing():
                assert told == ["before the fork"]
            gate._open()
        gate._close()
        with pytest.raises(AssertionError, match="would wait"), gate.passing():
            pass


class TestAgreement:
    """A collection that may exist already."""

    def test_an_existing_one_is_returned_where_it_agrees(self, home, faq):
        same = home.get_or_create_collection("faq")
        assert list(same.documents()) == DOCUMENTS
        config = GemConfig(n_components=12, n_removed=5)
        assert home.get_or_create_collection("faq", vectors="tiny", config=config).count() == 3
        assert home.get_or_create_collection("new", vectors="tiny").count() == 0

    def test_other_vectors_or_settings_are_refused(self, home, faq):
        with pytest.raises(FingerprintMismatchError, match="the collection faq"):
            home.get_or_create_collection("faq", vectors="wordllama")
        with pytest.raises(ConfigError, match="the collection faq has the configuration"):
            home.get_or_create_collection("faq", config=GemConfig.cqa())
        own = GemConfig(n_components=12, n_removed=5, prior=7)
        with pytest.raises(ConfigError, match="the collection faq has the configuration"):
            home.get_or_create_collection("faq", config=own)
        with pytest.raises(ConfigError, match="expected auto, flat"):
            home.get_or_create_collection("faq", index="nonsense")
        with pytest.raises(
            ConfigError,
            match=r"the collection faq has the chunking .*, found \{'chunk': 40\}; expected",
        ):
            home.get_or_create_collection("faq", chunking=Chunking(40))
        own = home.collection("faq").chunking
        assert home.get_or_create_collection("faq", chunking=own).chunking == own
        with pytest.raises(NameTakenError, match="faq exists already"):
            home.create_collection("faq")
