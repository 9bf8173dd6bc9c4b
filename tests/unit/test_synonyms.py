"""Synonyms that a user gives: a query that contains one form also searches for the others."""

from __future__ import annotations

import random
import string

import pytest

from gem_index import Home
from gem_index.errors import InputError
from gem_index.index.terms import Alternative, QueryTerms, match_weights
from gem_index.readers.synonyms import read_synonyms
from gem_index.sparse import SparseEncoder
from gem_index.targets.parquet import ParquetTable
from gem_index.text.analyzer import ENGLISH, Analyzer
from gem_index.text.synonyms import NO_SYNONYMS, Synonyms
from gem_index.text.tokens import WeightedText

TEXTS = {
    "tunnel": "How do I reset my virtual private network connection?",
    "short": "My VPN client crashes at the start",
    "coffee": "The coffee machine is broken and needs cleaning",
    "park": "Where can I park my bicycle?",
    "notebook": "The keyboard of my laptop is broken",
}
GROUPS = [["VPN", "virtual private network"], ["KTR", "coffee machine"]]


@pytest.fixture
def faq(home):
    home.build("faq", TEXTS.items(), language="en")
    faq = home.collection("faq")
    faq.set_synonyms(GROUPS)
    return faq


class TestForms:
    @pytest.mark.parametrize(
        ("query", "forms"),
        [
            ("the vpn is slow", {"VPN": ("virtual private network",)}),
            ("Virtual  PRIVATE networks!", {"virtual private network": ("VPN",)}),
            ("vpn", {"VPN": ("virtual private network",)}),
            ("vpnx or a virtual network", {}),
            ("", {}),
        ],
    )
    def test_a_query_contains_the_stems_of_a_form_one_after_another(self, query, forms):
        assert Synonyms.of_groups(GROUPS).found_in(query, ENGLISH) == forms

    def test_the_longest_form_counts(self):
        synonyms = Synonyms.of_groups([["network", "net"], ["private network", "intranet"]])
        assert synonyms.found_in("a private network and a network", ENGLISH) == {
            "private network": ("intranet",),
            "network": ("net",),
        }

    def test_the_longest_of_forms_that_begin_alike_counts_and_no_form_inside_it(self):
        groups = [["private", "secret"], ["private network", "intranet"], ["network", "net"]]
        synonyms = Synonyms.of_groups(groups)
        assert synonyms.found_in("a private network", ENGLISH) == {"private network": ("intranet",)}
        assert synonyms.found_in("private net", ENGLISH) == {
            "private": ("secret",),
            "net": ("network",),
        }

    def test_several_forms_of_a_query_are_replaced(self):
        synonyms = Synonyms.of_groups([["ktr", "coffee machine"], ["vpn", "private network"]])
        held = {"ktr": 2, "coffee machine": 0, "vpn": 0, "private network": 1}
        rewritten = synonyms.rewritten(
            "coffee machine and vpn here", ENGLISH, lambda forms: [held[form] for form in forms]
        )
        assert rewritten == "ktr and private network here"

    def test_signs_of_scripts_without_blanks(self):
        synonyms = Synonyms.of_groups([["电脑", "计算机", "PC"]])
        chinese = Analyzer("zh")
        assert synonyms.found_in("我的电脑坏了", chinese) == {"电脑": ("计算机", "PC")}
        assert synonyms.found_in("pc", chinese) == {"PC": ("电脑", "计算机")}
        assert (
            synonyms.rewritten("我的电脑坏了", chinese, lambda forms: [0, 3, 1]) == "我的计算机坏了"
        )

    def test_a_text_with_weights_is_not_searched(self):
        assert Synonyms.of_groups(GROUPS).found_in(WeightedText("vpn", [(3, 2.0)]), ENGLISH) == {}

    def test_a_form_that_no_document_contains_is_replaced_by_the_most_frequent(self):
        synonyms = Synonyms.of_groups([["ktr", "coffee machine", "espresso maker"]])
        held = {"ktr": 0, "coffee machine": 2, "espresso maker": 1}
        rewritten = synonyms.rewritten(
            "My KTR leaks", ENGLISH, lambda forms: [held[f] for f in forms]
        )
        assert rewritten == "my coffee machine leaks"
        assert Synonyms.of_groups([["a", "x" * 100]])
        held["ktr"] = 1
        same = synonyms.rewritten("My KTR leaks", ENGLISH, lambda forms: [held[f] for f in forms])
        assert same == "My KTR leaks"
        assert synonyms.rewritten("My KTR", ENGLISH, lambda forms: [0, 0, 0]) == "My KTR"

    def test_what_is_stored_comes_back(self):
        synonyms = Synonyms.of_groups([["Größe", "größe der Schuhe"], ["电脑", "计算机"]])
        assert Synonyms.of(synonyms.stored) == synonyms
        assert Synonyms.of("") == NO_SYNONYMS
        assert (NO_SYNONYMS.stored, NO_SYNONYMS.fingerprint) == ("", "")
        assert not NO_SYNONYMS
        with pytest.raises(InputError, match="expected groups as JSON"):
            Synonyms.of("{")


class TestBadGroups:
    @pytest.mark.parametrize(
        ("groups", "message"),
        [
            ("vpn", "the synonyms are 'vpn'; expected a list of lists of texts"),
            (["vpn"], "group 1 of the synonyms is 'vpn'; expected a list of texts"),
            ([["a", "b"], ["c"]], "the number of forms in group 2 is 1; expected 2 to 50"),
            (
                [[f"w{n}" for n in range(51)]],
                "the number of forms in group 1 is 51; expected 2 to 50",
            ),
            ([["a", "!?"]], "a form in group 1 is '!\\?'; expected a word or several"),
            ([["a", 3]], "a form in group 1 is 3; expected a text"),
            ([["a", "x" * 101]], "of at most 100 characters"),
            ([["a", "b\x07c"]], r"a form in group 1 is 'b\\x07c'; expected a word or several"),
            ([["a", "b"], ["B", "c"]], "the form 'B' in group 2 came before in group 1"),
            ([["a", "a"]], "the form 'a' in group 1 came before in group 1"),
            ([["a", "b => c"]], "found 'b => c' in group 1; expected forms separated by commas"),
            ([[f"a{n}", f"b{n}"] for n in range(10_001)], "10,001 groups .* at most 10,000"),
        ],
    )
    def test_are_refused_by_their_number(self, groups, message):
        with pytest.raises(InputError, match=message):
            Synonyms.of_groups(groups)

    def test_nothing_is_lost(self, faq):
        with pytest.raises(InputError):
            faq.set_synonyms([["a"]])
        assert faq.synonyms == Synonyms.of_groups(GROUPS)


class TestFiles:
    def test_a_group_per_line(self, tmp_path):
        path = tmp_path / "synonyms.txt"
        path.write_text("\ufeff# ours\n\n VPN ,virtual  private network\r\nKTR, coffee machine\n")
        assert read_synonyms(path) == Synonyms.of_groups(GROUPS)
        path.write_text("# none\n  # nor here, or there\n")
        assert read_synonyms(path) == NO_SYNONYMS

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"a, b\nc\n", "synonyms.txt line 2 is 1; expected"),
            (b"a, b\n# c\nd, b\n", "line 3 came before in .*line 1"),
            (b"a, b\n\xff\xfe, c\n", "line 2 is not UTF-8"),
            (b"a, b\n" * 4_000_000, "more than 16,777,216 bytes"),
        ],
    )
    def test_a_bad_file_is_refused_by_its_line(self, tmp_path, content, message):
        path = tmp_path / "synonyms.txt"
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_synonyms(path)

    def test_the_longest_file(self, monkeypatch, tmp_path):
        path = tmp_path / "synonyms.txt"
        path.write_bytes(b"a, b\n")
        monkeypatch.setattr("gem_index.readers.synonyms._LONGEST", 5)
        assert read_synonyms(path).groups == (("a", "b"),)
        path.write_bytes(b"a, bc\n")
        with pytest.raises(InputError, match="has more than 5 bytes"):
            read_synonyms(path)

    def test_a_missing_file(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            read_synonyms(tmp_path / "none.txt")


class TestWeights:
    def test_another_form_weighs_as_much_as_that_of_the_query(self):
        terms = QueryTerms.of("slow vpn", ENGLISH, {"VPN": ("virtual private network",)})
        held = {"slow": 3, "vpn": 2, "virtual": 1, "privat": 4, "network": 2}
        plain = match_weights(QueryTerms.of("slow vpn", ENGLISH), held, 50, ENGLISH)
        weights = match_weights(terms, held, 50, ENGLISH)
        assert {term: weights[term] for term in plain} == pytest.approx(plain)

        def match(*present):  # of a text in which every frequency is at its bound
            alone = [
                match_weights(QueryTerms((term,)), held, 50, ENGLISH)[term] for term in present
            ]
            return sum(weights[term] / whole for term, whole in zip(present, alone, strict=True))

        assert match("virtual", "privat", "network") == pytest.approx(match("vpn"))
        assert match("slow", "vpn") == pytest.approx(1.0)

    def test_terms_are_counted_once(self):
        forms = {"VPN": ("virtual private network", "private tunnel")}
        terms = QueryTerms.of("VPN vpn and a private VPN", ENGLISH, forms)
        assert terms.own == ("vpn", "and", "a", "privat")
        assert terms.every == ("vpn", "and", "a", "privat", "virtual", "network", "tunnel")

    def test_a_term_of_query_and_synonym_has_its_own_weight_and_one_of_two_synonyms_the_larger(
        self,
    ):
        held = {"vpn": 2, "net": 9, "privat": 4, "network": 3, "tunnel": 1}
        own = ("vpn", "net", "privat")
        plain = match_weights(QueryTerms(own), held, 50, ENGLISH)

        def weights(*forms):
            alternatives = tuple(Alternative((form,), other) for form, other in forms)
            return match_weights(QueryTerms(own, alternatives), held, 50, ENGLISH)

        assert weights(("vpn", ("privat",))) == plain
        first, second = ("vpn", ("privat", "network")), ("net", ("network", "tunnel"))
        for forms in ((first, second), (second, first)):
            found = weights(*forms)
            assert {term: found[term] for term in own} == plain
            apart = weights(first)["network"], weights(second)["network"]
            assert apart[0] != apart[1]
            assert found["network"] == max(apart)
            assert found["tunnel"] == weights(second)["tunnel"]

    def test_a_form_of_which_no_document_has_a_word(self):
        terms = QueryTerms.of("vpn", ENGLISH, {"VPN": ("virtual private network",)})
        assert match_weights(terms, {"vpn": 1}, 10, ENGLISH).keys() == {"vpn"}


class TestSearch:
    @pytest.mark.parametrize("mode", ["hybrid", "lexical"])
    @pytest.mark.parametrize("rerank", [False, True])
    @pytest.mark.parametrize("where", ["files", "tail"])
    def test_each_form_finds_the_others(self, home, mode, rerank, where):
        if where == "files":
            home.build("faq", TEXTS.items(), language="en")
            faq = home.collection("faq")
        else:
            faq = home.create_collection("faq", language="en")
            faq.upsert(TEXTS.items())
        options = {"mode": mode, "rerank": rerank}
        before = {hit.id for hit in faq.search("vpn", 2, **options) if hit.bm25}
        faq.set_synonyms(GROUPS)
        for query in ("vpn", "virtual private networks"):
            hits = faq.search(query, 2, **options)
            assert {hit.id for hit in hits} == {"tunnel", "short"}, query
            assert all(hit.bm25 for hit in hits)
        assert before == {"short"}
        faq.set_synonyms([])
        assert faq.search("vpn", 2, **options).synonyms == {}

    @pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
    def test_a_form_that_no_document_contains_finds_what_the_other_finds(self, faq, mode):
        unknown = faq.search("our ktr leaks", mode=mode)
        known = faq.search("our coffee machine leaks", mode=mode)
        assert [(hit.id, hit.score) for hit in unknown] == [(hit.id, hit.score) for hit in known]
        assert unknown.synonyms == {"KTR": ("coffee machine",)}
        assert known.synonyms == {"coffee machine": ("KTR",)}
        assert unknown[0].id == "coffee"

    def test_a_chinese_form_that_documents_hold_in_parts_only_is_replaced(self, home):
        texts = [("1", "护照过期了怎么办"), ("2", "旅行的时候带好证件")]
        home.build("zh", texts, language="zh")
        chinese = home.collection("zh")
        chinese.set_synonyms([["护照", "旅行证件"]])
        hits = chinese.search("旅行证件过期")
        assert (hits[0].id, hits.synonyms) == ("1", {"旅行证件": ("护照",)})
        assert hits[0].score == chinese.search("护照过期")[0].score

    def test_a_query_without_a_form_is_as_before(self, faq):
        with_synonyms = faq.search("where is my bicycle")
        faq.set_synonyms([])
        without = faq.search("where is my bicycle")
        assert [(hit.id, hit.score) for hit in with_synonyms] == [
            (hit.id, hit.score) for hit in without
        ]
        assert with_synonyms.synonyms == {}

    def test_a_form_is_not_corrected(self, home):
        home.build("faq", [("1", "kubernetes clusters"), ("2", "kubernets")], language="en")
        faq = home.collection("faq")
        faq.set_synonyms([["kubernetis", "clusters"]])
        assert faq.search("kubernetis").corrected == {}
        assert faq.search("kubernetis")[0].id == "1"

    def test_why_compares_the_words_that_were_searched_for(self, faq):
        [hit, *_] = faq.search("our ktr leaks", why=True)
        assert "machine" in [word.token for word in hit.why.first_words]
        assert hit.why.cosine == pytest.approx(hit.cosine, abs=1e-5)

    def test_several_queries_and_collections(self, home, faq):
        found = faq.search_many(["vpn", "bicycle"])
        assert [hits.synonyms for hits in found] == [{"VPN": ("virtual private network",)}, {}]
        home.build("other", TEXTS.items(), language="en")
        both = home.group(["faq", "other"]).search("vpn")
        assert both.synonyms == {"VPN": ("virtual private network",)}

    def test_another_process_sees_them(self, home, faq):
        other = Home(home.root).collection("faq")
        assert other.search("vpn").synonyms
        faq.set_synonyms([["VPN", "bicycle"]])
        assert other.search("vpn").synonyms == {"VPN": ("bicycle",)}


class TestKept:
    def test_by_refits_and_builds(self, home, faq):
        faq.refit()
        home.build("faq", [*TEXTS.items(), ("new", "A new text")])
        assert faq.synonyms == Synonyms.of_groups(GROUPS)

    @pytest.mark.parametrize("ending", ["jsonl", "parquet"])
    def test_by_exports(self, home, faq, tmp_path, ending):
        faq.export(tmp_path / f"faq.{ending}")
        home.import_collection(tmp_path / f"faq.{ending}", "again")
        assert home.collection("again").synonyms == Synonyms.of_groups(GROUPS)

    def test_a_damaged_export_is_refused(self, home, faq, tmp_path):
        path = tmp_path / "faq.jsonl"
        faq.export(path)
        path.write_text(path.read_text().replace('"synonyms": [["VPN", ', '"synonyms": [["", ', 1))
        with pytest.raises(InputError, match="is damaged: in its head a form in group 1 is ''"):
            home.import_collection(path, "again")

    def test_by_backups(self, home, faq, tmp_path):
        home.backup(tmp_path / "backup")
        assert Home(tmp_path / "backup").collection("faq").synonyms == faq.synonyms


class TestTables:
    def test_a_table_is_searched_with_them(self, home, faq, tmp_path):
        url = f"parquet://{tmp_path}/table"
        faq.push(url)

        def search(query):
            with home.target(url) as target:
                return target.search(query, why=True)

        assert [(h.id, pytest.approx(h.score, abs=1e-5)) for h in search("our ktr leaks")] == [
            (h.id, h.score) for h in faq.search("our ktr leaks")
        ]
        assert {hit.id for hit in search("vpn")[:2]} == {"tunnel", "short"}
        assert search("vpn").synonyms == {"VPN": ("virtual private network",)}
        faq.set_synonyms([["VPN", "bicycle"]])
        assert faq.push(url).updated == 0  # the record alone changes
        assert search("vpn").synonyms == {"VPN": ("bicycle",)}
        faq.set_synonyms([])
        faq.push(url)
        assert search("vpn").synonyms == {}

    def test_a_push_that_is_killed_while_they_change_leaves_the_earlier_ones(
        self, home, faq, tmp_path, monkeypatch
    ):
        url = f"parquet://{tmp_path}/table"
        draw = random.Random(2)
        words = ["".join(draw.choices(string.ascii_lowercase, k=9)) for _ in range(9000)]
        many = [[first, second] for first, second in zip(words[::2], words[1::2], strict=True)]
        faq.set_synonyms([*GROUPS, *many])  # several rows of a record
        faq.push(url)
        faq.set_synonyms([["KTR", "bicycle"], *many[1:]])
        written = []
        upsert = ParquetTable.upsert

        def dies(self, batch):
            if self.schema.token != "query" or not written:
                written.append(self.schema.token)
                return upsert(self, batch)
            raise KeyboardInterrupt

        monkeypatch.setattr(ParquetTable, "upsert", dies)
        with pytest.raises(KeyboardInterrupt):
            faq.push(url)
        assert written == ["query"]  # the other rows, not the first
        monkeypatch.undo()
        with home.target(url) as target:
            assert target.search("our ktr").synonyms == {"KTR": ("coffee machine",)}
        faq.push(url)
        with home.target(url) as target:
            assert target.search("our ktr").synonyms == {"KTR": ("bicycle",)}

    def test_sparse_encoders_hold_them(self, faq, tmp_path):
        encoder = faq.sparse_encoder()
        encoder.save(tmp_path / "words.json")
        again = SparseEncoder.load(tmp_path / "words.json")
        assert again.fingerprint == encoder.fingerprint
        assert again.embed_query("our ktr").dot(encoder.embed_query("coffee machine")) > 0
        plain = encoder.with_synonyms(NO_SYNONYMS)
        assert plain.fingerprint != encoder.fingerprint
        assert plain.embed_query("ktr").indices.size == 0
        assert plain.embed_documents(["a vpn"])[0].dot(encoder.embed_query("vpn")) > 0
