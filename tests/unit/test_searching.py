"""Single searches: arguments, the length of each list, and re-ranked hits."""

import re
from itertools import pairwise

import numpy as np
import pytest

from brute_force import TEXTS, documents, words_scores
from gem_index import Document, Home
from gem_index.collection.request import SearchRequest
from gem_index.collection.search import modes as searching
from gem_index.collection.search.answer import RERANKED
from gem_index.collection.search.passages import passages_of
from gem_index.collection.write import writing as module
from gem_index.collection.write.building import use_index
from gem_index.errors import ConfigError, InputError
from gem_index.index.fusion import fuse_ranks
from gem_index.text.chunking import Chunking
from homes import create_faq

QUERY = "open a bank account by phone"


def fill_faq(home, vectors_folder):
    create_faq(home, vectors_folder)
    faq = home.collection("faq")
    faq.upsert(documents(400))
    faq.refit()
    faq.upsert(documents(100, begin=1000))


@pytest.fixture
def home(request, copied_home, small_vectors_folder):
    fill = fill_faq if "many" in request.fixturenames else create_faq
    return copied_home(fill, small_vectors_folder)


@pytest.fixture
def many(home):
    return home.collection("faq")


def cosine(collection, hit):
    pair = collection.encoder.encode([QUERY, hit.text]).astype(np.float64)
    return float(pair[0] @ pair[1])


def reranked_scores(collection, texts):
    """(c + 2.25 match) / 3.25, c being 0.7 of a text's cosine and 0.3 of that of its best 20 words."""
    known = [document.text for document in collection.documents()][: len(many_known(collection))]
    _, matches = words_scores(texts, QUERY, known)
    scores = []
    for text, match in zip(texts, matches, strict=True):
        words = re.findall(r"\S+", text)
        cut = [words[b : b + 20] for b in range(0, max(len(words) - 10, 1), 10)]
        rows = collection.encoder.encode([QUERY, text, *(" ".join(part) for part in cut)])
        cosines = rows[1:].astype(np.float64) @ rows[0]
        best = cosines[1:].max() if len(words) > 20 else cosines[0]
        scores.append((0.7 * cosines[0] + 0.3 * best + 2.25 * match) / 3.25)
    return scores


def many_known(collection):
    return collection.access.views._view.snapshot.ids


class TestRerank:
    @pytest.mark.parametrize("mode", ["lexical", "hybrid", "dense"])
    def test_the_best_hundred_of_the_mode_are_ordered_by_meaning_words_and_passage(
        self, many, mode
    ):
        best = many.search(QUERY, k=RERANKED, mode=mode)
        reranked = reranked_scores(many, [hit.text for hit in best])
        scores = dict(zip([hit.id for hit in best], reranked, strict=True))
        expected = sorted(scores.values(), reverse=True)[:7]
        found = many.search(QUERY, k=7, mode=mode, rerank=True)
        assert [hit.score for hit in found] == pytest.approx(expected, abs=1e-5)
        for hit in found:
            assert hit.score == pytest.approx(scores[hit.id], abs=1e-5)
            assert hit.cosine == pytest.approx(cosine(many, hit), abs=1e-6)
            assert (hit.text, hit.metadata) == next(
                (other.text, other.metadata) for other in best if other.id == hit.id
            )

    def test_the_best_passage_of_a_long_text_counts_and_is_shown(self, faq):
        answer = "you can open a bank account by phone at any hour"
        other = (
            "ducks swim in the river while tea is cold and loans are sent to the school today " * 3
        )
        faq.upsert(
            [
                Document(id="long", text=f"{other}{answer} {other}"),
                Document(id="short", text="where is the school"),
            ]
        )
        faq.refit()
        hits = {hit.id: hit for hit in faq.search(QUERY, rerank=True, k=9)}
        passage = hits["long"].passage
        assert passage.text == hits["long"].text[passage.start : passage.end]
        assert {"bank", "account", "phone"} <= set(passage.text.split())
        assert len(passage.text.split()) == 20
        plain = {hit.id: hit.score for hit in faq.search(QUERY, k=9)}
        assert hits["long"].score > plain["long"] + 0.01
        assert hits["short"].passage is None
        assert hits["short"].score == pytest.approx(plain["short"], abs=1e-6)

    def test_the_passage_of_a_text_in_pieces_has_its_place_in_the_document(self, tmp_path):
        collection = Home(tmp_path).create_collection("long", chunking=Chunking(40))
        text = ". ".join(f"{TEXTS[n % len(TEXTS)]} number {n}" for n in range(60))
        collection.upsert([Document(id="a", text=text)])
        [hit] = collection.search("two ducks number 45", rerank=True)
        assert hit.piece.start <= hit.passage.start < hit.passage.end <= hit.piece.end
        assert hit.passage.text == text[hit.passage.start : hit.passage.end]
        assert "ducks" in hit.passage.text

    def test_a_piece_with_exactly_the_least_score_is_a_result(self, tmp_path):
        collection = Home(tmp_path).create_collection("long", chunking=Chunking(40))
        text = ". ".join(f"{TEXTS[n % len(TEXTS)]} number {n}" for n in range(60))
        collection.upsert([Document(id="a", text=text)])
        every = collection.search("two ducks number 45", 5, pieces=True)
        found = collection.search("two ducks number 45", 5, min_score=every[1].score, pieces=True)
        assert found == every[: len(found)]
        assert len(found) >= 2

    def test_passages_cover_a_text_of_any_length(self):
        for words in (0, 5, 20, 21, 29, 30, 31, 400, 5000):
            text = " ".join(f"w{n}" for n in range(words))
            places = passages_of(text)
            assert len(places) <= 100
            if words <= 20:
                assert places == []
                continue
            assert (places[0][0], places[-1][1]) == (0, len(text))
            assert all(begin < end_before for (_, end_before), (begin, _) in pairwise(places))

    def test_damaged_files_of_words_cost_the_words(self, home, many, caplog):
        [meta] = home.root.glob("collections/*/*/words/meta.json")
        meta.write_bytes(b" " * meta.stat().st_size)
        found = many.search(QUERY, k=3, mode="dense", rerank=True)
        assert [hit.score for hit in found] == pytest.approx([h.cosine / 3.25 for h in found])
        assert "re-ranking by meaning alone" in caplog.text

    def test_more_than_a_hundred_where_more_are_asked_for(self, many):
        found = many.search(QUERY, k=130, mode="lexical", rerank=True)
        assert {hit.id for hit in found} == {
            hit.id for hit in many.search(QUERY, k=130, mode="lexical")
        }
        assert len(found) == 130

    def test_a_least_score_is_held_against_the_modes_own(self, many):
        lexical = many.search(QUERY, k=100, mode="lexical")
        least = lexical[20].score
        found = many.search(QUERY, k=None, mode="lexical", min_score=least, rerank=True)
        assert {hit.id for hit in found} == {hit.id for hit in lexical if hit.score >= least}
        assert all(hit.score <= 1 for hit in found)

    def test_filtered_hits(self, many):
        where = {"n": {"$gte": 1000}}
        found = many.search(QUERY, k=5, where=where, mode="lexical", rerank=True)
        assert len(found) == 5
        assert all(hit.metadata["n"] >= 1000 for hit in found)

    def test_a_vector_holds_no_text_to_rerank_by(self, many):
        vector = many.encoder.encode([QUERY])[0]
        with pytest.raises(InputError, match="found a vector to re-rank by; expected a text"):
            many.search(vector, fingerprint=many.encoder.fingerprint, rerank=True)


@pytest.mark.parametrize("vector", [["bank"] * 24, [[1.0], [2.0, 3.0]], object()])
def test_a_query_of_anything_but_numbers_is_refused(faq, vector):
    with pytest.raises(InputError, match=r"expected a text, or a vector of 24 numbers"):
        faq.search(vector, fingerprint=faq.encoder.fingerprint)


class TestDepth:
    @pytest.mark.parametrize("k", [5, 150])
    def test_a_hybrid_search_fuses_a_hundred_of_each_list_and_k_where_that_is_more(self, many, k):
        """By ranks; the documents that both lists agree on come first."""
        ids = {document.id: place for place, document in enumerate(many.documents())}

        def hits(mode):
            found = many.search(QUERY, k=max(100, k), mode=mode)
            return [(ids[hit.id], hit.score) for hit in found]

        expected = fuse_ranks(hits("dense"), hits("lexical"), k)
        found = many.search(QUERY, k=k, mode="hybrid", fusion="rrf")
        assert [hit.score for hit in found] == pytest.approx(
            [score for _, score in expected], abs=1e-9
        )
        assert len(found) == k

    @pytest.mark.parametrize("kind", ["flat", "sq8"])
    @pytest.mark.parametrize("where", [None, {"even": True}])
    def test_the_default_search_scores_cosine_and_match_of_every_document(self, many, kind, where):
        """Files and tail, exact and approximate: a score is what the two texts alone would have."""
        if use_index(many.access, kind):
            many.refit()
            many.upsert(documents(100, begin=2000))
        stored = list(many.documents())
        words = many.access.views._view.snapshot.ids if many.search(QUERY) else []
        known = [document.text for document in stored][: len(words)]
        kept = [document for document in stored if where is None or document.metadata["even"]]
        texts = [document.text for document in kept]
        vectors = many.encoder.encode([QUERY, *texts])
        cosines = vectors[1:] @ vectors[0]
        bm25, match = words_scores(texts, QUERY, known)
        expected = (cosines + 2.25 * match) / 3.25
        places = {document.id: place for place, document in enumerate(kept)}
        for exact in (True, False):
            near = 1e-5 if exact or kind == "flat" else 1e-4
            found = many.search(QUERY, k=20, where=where, exact=exact)
            best = sorted(expected)[::-1][:20]
            assert [hit.score for hit in found] == pytest.approx(best, abs=near)
            for hit in found:
                place = places[hit.id]
                assert hit.score == pytest.approx(expected[place], abs=near)
                assert hit.cosine == pytest.approx(cosines[place], abs=near)
                assert hit.bm25 == pytest.approx(bm25[place], rel=1e-4, abs=1e-5)

    @pytest.mark.parametrize("fusion", ["weighted", "rrf"])
    def test_a_least_score_alone_finds_all_that_reach_it(self, many, fusion):
        everything = many.search(QUERY, k=len(many), fusion=fusion)
        for place in (0, 60, 150, 400):
            least = everything[place].score
            found = many.search(QUERY, k=None, min_score=least, fusion=fusion)
            expected = [hit for hit in everything if hit.score >= least]
            assert [hit.score for hit in found] == pytest.approx(
                [hit.score for hit in expected], abs=1e-6
            )

    @pytest.mark.parametrize("kind", ["IVF16,SQ8", "ivf", "rabitq"])
    def test_an_index_that_misses_hides_nothing_that_words_found(self, many, kind):
        """Its cosines are no bound for the others: the best of both lists come back, exactly scored."""
        use_index(many.access, kind)
        many.refit()
        texts = {document.id: document.text for document in many.documents()}
        for query in (QUERY, "tea", "river two", "phone"):
            lexical = [hit.id for hit in many.search(query, k=20, mode="lexical")]
            found = many.search(query, k=10)
            rows = many.encoder.encode([query, *(texts[name] for name in lexical)])
            _, match = words_scores(list(texts.values()), query)
            matches = dict(zip(texts, match, strict=True))
            for name, cosine in zip(lexical, rows[1:] @ rows[0], strict=True):
                score = (cosine + 2.25 * matches[name]) / 3.25
                assert score <= found[-1].score + 1e-5 or name in {hit.id for hit in found}

    def test_each_mode_says_what_it_computed(self, many):
        assert many.search(QUERY) == many.search(QUERY, mode="hybrid")
        (dense,) = many.search(QUERY, k=1, mode="dense")
        assert (dense.cosine, dense.bm25) == (dense.score, None)
        (lexical,) = many.search(QUERY, k=1, mode="lexical")
        assert (lexical.cosine, lexical.bm25) == (None, lexical.score)
        (ranked,) = many.search(QUERY, k=1, fusion="rrf")
        assert ranked.cosine == pytest.approx(cosine(many, ranked), abs=1e-5)
        assert ranked.bm25 > 0
        vector = many.encoder.encode([QUERY])[0]
        by_vector = many.search(vector, k=1, fingerprint=many.encoder.fingerprint)
        assert by_vector == many.search(QUERY, k=1, mode="dense")

    def test_a_query_of_words_that_no_document_holds_is_answered_by_meaning(self, many):
        found = many.search("zebra xylophone", k=3)
        assert [hit.id for hit in found] == [
            hit.id for hit in many.search("zebra xylophone", k=3, mode="dense")
        ]
        assert [hit.score for hit in found] == pytest.approx([hit.cosine / 3.25 for hit in found])
        assert [hit.bm25 for hit in found] == [0.0] * 3

    @pytest.mark.parametrize(
        "carrier",
        ["{}", "what about {}", "please look at {} again", "is there any news of {} please"],
    )
    def test_a_word_of_one_document_finds_it_first(self, many, carrier):
        many.upsert([Document(id="ticket", text="the school of ticket 48151623 is closed today")])
        many.refit()
        assert many.search(carrier.format("48151623"), k=1)[0].id == "ticket"

    def test_all_that_reach_a_score_are_asked_for_in_steps(self, many, monkeypatch):
        asked = []
        once = searching.Search._search
        monkeypatch.setattr(
            searching.Search, "_search", lambda self, k: asked.append(k) or once(self, k)
        )
        scores = [hit.score for hit in many.search(QUERY, k=500, mode="dense")]
        asked.clear()
        assert len(many.search(QUERY, k=None, min_score=scores[49], mode="dense")) == 50
        assert asked == [100]
        asked.clear()
        assert len(many.search(QUERY, k=None, min_score=-1, mode="dense")) == 500
        assert asked == [100, 400, 1600]
        asked.clear()
        assert len(many.search(QUERY, k=30, min_score=-1, mode="dense")) == 30
        assert asked == [30]


class TestRequest:
    @staticmethod
    def ask(**options):
        given = {
            "query": "bank", "k": 3, "where": None, "mode": "dense", "min_score": None, "fusion": "rrf"
        }  # fmt: skip
        return SearchRequest(**(given | options))

    @pytest.mark.parametrize("where", [{"a": 1}, {"$or": []}])
    def test_is_filtered(self, where):
        assert self.ask(where=where).filtered

    @pytest.mark.parametrize("where", [None, {}])
    def test_is_not_filtered(self, where):
        assert not self.ask(where=where).filtered

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"k": True}, "k is True; expected a whole number of at least 1"),
            ({"k": 0}, "k is 0; expected a whole number of at least 1"),
            ({"k": 2.0}, "k is 2.0; expected a whole number of at least 1"),
            ({"k": None}, "found neither k nor min_score"),
            ({"min_score": float("nan")}, "min_score is nan; expected a finite number"),
            ({"min_score": float("inf")}, "min_score is inf; expected a finite number"),
            ({"min_score": "1"}, "min_score is '1'; expected a finite number"),
            ({"query": None}, "the query is None; expected a text, or a vector"),
            ({"query": b"bank"}, "the query is b'bank'; expected a text, or a vector"),
            ({"query": {"a": 1}}, "expected a text, or a vector"),
            ({"query": True}, "the query is True; expected a text, or a vector"),
            ({"mode": "Dense"}, "the mode is 'Dense'; expected one of dense, lexical, hybrid"),
            ({"query": [0.5], "mode": "hybrid"}, "found a vector for a hybrid search"),
        ],
    )
    def test_is_refused(self, options, message):
        with pytest.raises(InputError, match=message):
            self.ask(**options)

    def test_a_mode_that_is_not_given_follows_from_the_query(self):
        assert self.ask(mode=None).mode == "hybrid"
        assert self.ask(mode=None, query=[0.5], fingerprint="f").mode == "dense"

    def test_another_fusion_is_refused(self):
        with pytest.raises(ConfigError, match="the fusion is 'sum'; expected weighted or rrf"):
            self.ask(fusion="sum")

    def test_one_of_k_and_a_least_score_is_enough(self):
        assert self.ask(k=None, min_score=0).k is None
        assert self.ask(k=1).min_score is None


def test_scores_keep_their_scale_after_deletes(faq, monkeypatch):
    """Files that were extended still count what died; a word in all of them divides by nothing."""
    monkeypatch.setattr(module, "_TAIL_LIMIT", 3)
    faq.upsert(Document(id=str(i), text=f"visa number {i} is open") for i in range(30))
    faq.refit()
    faq.delete(map(str, range(20)))
    assert faq.status().index.tail == 0
    found = faq.search("visa", k=20)
    assert len(found) == 10
    assert all(hit.score <= 1 for hit in found)
    assert all(3 * hit.score - hit.cosine < 2 for hit in found)  # twice a match of less than 1
    assert faq.search("visa number 25", k=1)[0].id == "25"


def test_scores_are_cosines(faq):
    faq.upsert([Document(id="same", text=QUERY), Document(id="none", text="...")])
    scores = {hit.id: hit.score for hit in faq.search(QUERY, mode="dense")}
    assert scores["same"] == pytest.approx(1.0, abs=1e-6)
    assert scores["same"] <= 1.0
    assert scores["none"] == 0.0


class TestWhy:
    def test_each_hit_says_what_each_word_adds_to_its_cosine(self, many):
        text = "Renewing a VISA: where can I open an account?"
        many.upsert([Document(id="why", text=text)])
        (hit,) = many.search("can visas be renewed", k=1, where=None, why=True)
        assert hit.id == "why"
        assert hit.why.cosine == pytest.approx(hit.cosine, abs=1e-5)
        assert (hit.why.first, hit.why.second) == ("can visas be renewed", text)
        assert hit.why.fingerprint == many.encoder.fingerprint
        same = {word.token for word in hit.why.second_words if word.same_word}
        assert same == {"renewing", "visa", "can"}
        assert {word.token for word in hit.why.first_words if word.same_word} == {
            "can", "visas", "renewed"
        }  # fmt: skip

    @pytest.mark.parametrize("mode", ["lexical", "dense"])
    def test_in_every_mode_and_re_ranked(self, many, mode):
        for rerank in (False, True):
            found = many.search(QUERY, k=3, mode=mode, rerank=rerank, why=True)
            for hit in found:
                assert hit.why.cosine == pytest.approx(cosine(many, hit), abs=1e-5)

    def test_only_where_it_is_asked_for_and_of_a_text(self, many):
        assert many.search(QUERY, k=1)[0].why is None
        vector = many.encoder.encode([QUERY])[0]
        with pytest.raises(InputError, match="found a vector to explain; expected"):
            many.search(vector, fingerprint=many.encoder.fingerprint, why=True)
