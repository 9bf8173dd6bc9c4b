"""Long texts in pieces: how they are cut, and that a document stays one thing."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gem_index import Chunking, Document, Home
from gem_index.collection.push import embedding
from gem_index.collection.push.embedding import embed_into
from gem_index.collection.push.sending import PushOptions
from gem_index.errors import ConfigError
from gem_index.home.pulling import pull
from gem_index.targets import open_target
from gem_index.targets.parquet import ParquetTable
from gem_index.text.chunking import Piece
from gem_index.text.sections import blocks
from homes import leave_empty
from stored import execute

FILLER = "The weather was fine on that day and nothing else happened in the town. "
VISA = "How do I renew a visa? You fill in form 27b and pay the fee. "
BANK = "When does the bank open? It opens at nine on every working day. "


def long_text(*parts):
    return "\n\n".join(part + FILLER * 4 for part in parts)


class TestChunking:
    def test_short_texts_are_whole(self):
        for chunking in (Chunking(), Chunking("auto"), Chunking(20)):
            assert chunking.pieces("a short text") == [Piece(0, 12)]
            assert chunking.pieces("") == [Piece(0, 0)]

    def test_auto_cuts_what_is_longer_than_250_words(self):
        assert len(Chunking("auto").pieces("word " * 250)) == 1
        pieces = Chunking("auto").pieces("word " * 251)
        assert len(pieces) == 2
        assert len(Chunking().pieces("word " * 10_000)) == 1

    def test_headings(self):
        text = f"# Town\n\n{FILLER * 3}\n\n## Bank\n\n{BANK * 3}\n\n### Fees\n\n{BANK * 3}\n\n## Visa\n\n{VISA * 3}"
        pieces = Chunking(30).pieces(text)
        found = {text[piece.start : piece.end].split("\n")[0]: piece.heading for piece in pieces}
        assert found["# Town"] == "Town"
        assert found["## Bank"] == "Town > Bank"
        assert found["### Fees"] == "Town > Bank > Fees"
        assert found["## Visa"] == "Town > Visa"
        assert Chunking(30, headings=True).embedded(text, pieces[-1]).startswith("Town > Visa\n\n")

    def test_pages(self):
        text = f"{FILLER * 2}\n\n\f{BANK * 3}\n\n\f\f{VISA * 2}"
        pages = {piece.page: text[piece.start : piece.end] for piece in Chunking(40).pieces(text)}
        assert list(pages) == [1, 2, 4]
        assert pages[4].startswith("How do I renew a visa?")
        assert {piece.page for piece in Chunking(40).pieces(FILLER * 30)} == {None}

    def test_overlap(self):
        text = "One sentence of six words here. " * 40
        pieces = Chunking(30, overlap=12).pieces(text)
        assert all(after.start < before.end for before, after in pairwise(pieces))

    @pytest.mark.parametrize(("version", "repeated"), [(1, 45), (2, 47), (3, 15)])
    def test_overlap_is_counted_as_pieces_are(self, version, repeated):
        """In versions 1 and 2, a word stands between blanks; in version 3, each Chinese character is one."""
        text = " ".join(["银行卡"] * 100)
        first, second, *_ = Chunking(30, overlap=12, version=version).pieces(text)
        assert first.end - second.start == repeated

    @given(
        st.lists(
            st.sampled_from(["wörd ", "# ", "\n\n", "a. ", "😀 ", "\n## x\n", "é", " "]),
            max_size=300,
        ),
        st.sampled_from([Chunking(10), Chunking(10, 5), Chunking(25), Chunking("auto")]),
    )
    def test_pieces_hold_all_words_in_order(self, parts, chunking):
        text = "".join(parts)
        pieces = chunking.pieces(text)
        assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})
        assert all(0 <= piece.start <= piece.end <= len(text) for piece in pieces)
        covered = np.zeros(len(text), bool)
        for piece in pieces:
            covered[piece.start : piece.end] = True
        assert not "".join(c for c, inside in zip(text, covered, strict=True) if not inside).strip()

    @given(
        st.lists(
            st.sampled_from(
                ["wörd ", "# ", "\n\n", "a. ", "😀 ", "\n## x\n", "é", " ", "鸭子", "\n```\n"]
            ),
            max_size=300,
        ),
        st.sampled_from([Chunking(10), Chunking(10, 5), Chunking(25), Chunking("auto")]),
        st.integers(12, 200),
    )
    def test_pieces_hold_all_words_in_order_whatever_is_cut_at_once(self, parts, chunking, block):
        text = "".join(parts)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("gem_index.text.chunking._BLOCK", block)
            patch.setattr("gem_index.text.chunking._BLOCK_PER_WORD", 0)
            pieces = chunking.pieces(text)
        assert [piece.start for piece in pieces] == sorted({piece.start for piece in pieces})
        left = list(text)
        for piece in pieces:
            left[piece.start : piece.end] = " " * (piece.end - piece.start)
        assert not "".join(left).strip()

    def test_a_piece_never_holds_a_part_of_one_section_and_the_beginning_of_the_next(self):
        text = f"# Town\n\n{FILLER}\n\n## Bank\n\n{BANK * 40}\n\n## Visa\n\n{VISA}\n\n## Fees\n\nTen.\n"
        found = [(text[p.start : p.end], p.heading) for p in Chunking("auto").pieces(text)]
        assert [part.split() for part, _ in found[::len(found) - 1]] == [
            f"# Town {FILLER}".split(), f"## Visa {VISA} ## Fees Ten.".split()
        ]  # fmt: skip
        assert found[0][1] == found[-1][1] == "Town"
        assert all(heading == "Town > Bank" and "Visa" not in part for part, heading in found[1:-1])

    def test_short_sections_stand_under_their_common_heading(self):
        notes = "\n\n".join(f"## Note {i}\n\n### Text\n\n{BANK * 2}" for i in range(12))
        text = f"# All\n\n{notes}\n\n# More\n"
        pieces = Chunking(80).pieces(text)
        assert [piece.heading for piece in pieces] == ["All"] * 6 + ["More"]
        assert text[pieces[0].start :].startswith("# All\n\n## Note 0")

    def test_short_sections_fill_a_piece_to_its_last_word(self):
        notes = "\n\n".join(f"## Note {i}\n\n{'word ' * 7}" for i in range(4))
        text = f"# All\n\n{notes}"
        assert [len(text[p.start : p.end].split()) for p in Chunking(22).pieces(text)] == [22, 20]

    def test_a_piece_begins_and_ends_with_a_word(self):
        text = f"\n\n\n{BANK * 4}\n\n# Visa\n\n{VISA * 3}\n"
        found = [text[piece.start : piece.end] for piece in Chunking(60).pieces(text)]
        assert found == [(BANK * 4).strip(), f"# Visa\n\n{VISA * 3}".strip()]

    def test_a_line_of_code_is_not_a_heading(self):
        text = f"# Town\n\n{BANK * 20}\n\n```sh\n# a comment\nls\n```\n\n{BANK}"
        assert {piece.heading for piece in Chunking(60).pieces(text)} == {"Town"}

    def test_the_heading_shown_is_that_of_the_words_found(self, home):
        boats = "Boats pass under the bridge every morning. " * 80
        text = f"# Rivers\n\nThe bank is steep.\n\n## Boats\n\n{boats}\n\n## Zebra\n\nA zebra drinks at the ford.\n"
        home.build("notes", [Document(id="n", text=text), Document(id="m", text=FILLER * 30)])
        [hit] = home.collection("notes").search("a zebra", 1)
        assert hit.piece.heading == "Rivers > Zebra"
        assert hit.piece.text == "## Zebra\n\nA zebra drinks at the ford."

    @pytest.mark.parametrize(
        "of",
        [
            lambda n: "word " * n,
            lambda n: '{"text":"hello there","tags":[1, 2]},' * (n // 4),
            lambda n: "- a line of a list\n" * (n // 4),
            lambda n: "# a\n\ntext\n\n" * n,
            lambda n: "word " * 300 + "x" * (4 * n),
            lambda n: "word " * 300 + "河边有鸭子。" * n,
        ],
    )
    @pytest.mark.parametrize("chunking", [Chunking("auto"), Chunking(20, 10), Chunking(1000)])
    def test_the_splitter_never_sees_more_than_a_block(self, monkeypatch, of, chunking):
        """Its time grows with the square of a text without breaks."""
        seen = []

        def blocks_of(*arguments):
            for start, end in blocks(*arguments):
                seen.append(end - start)
                yield start, end

        monkeypatch.setattr("gem_index.text.chunking.blocks", blocks_of)
        monkeypatch.setattr("gem_index.text.chunking._BLOCK", 4000)
        monkeypatch.setattr("gem_index.text.chunking._BLOCK_PER_WORD", 0)
        for times in (1, 2, 4, 8):
            seen.clear()
            text = of(1500 * times)
            chunking.pieces(text)
            assert max(seen, default=0) <= 4000
            assert sum(seen) <= len(text)

    def test_collections_of_earlier_versions_keep_their_pieces(self, home):
        text = f"# Town\n\n{BANK * 40}\n\n## Visa\n\n{VISA}"
        before = Chunking.of({"chunk": "auto"})
        assert before.fields == {"chunk": "auto"}
        assert before.pieces(text)[-1].heading == "Town"
        assert Chunking("auto").pieces(text)[-1].heading == "Town > Visa"
        assert Chunking.of(Chunking(20, 5).fields) == Chunking(20, 5)
        home.create_collection("old", chunking=before).upsert([Document(id="a", text=text)])
        old = home.get_or_create_collection("old", chunking=Chunking("auto"))
        assert old.chunking == before
        old.refit()
        assert old.chunking == before
        home.build("old", [Document(id="b", text=text)], chunking=Chunking("auto"))
        assert old.chunking == Chunking("auto")
        assert not old.verify()
        with pytest.raises(ConfigError, match="the chunking has version 4; expected at most 3"):
            Chunking.of({"chunk": 20, "version": 4})

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            (
                {"chunk": 5},
                "number of words of a piece is 5; expected auto, none, or a whole number from 10",
            ),
            ({"chunk": "long"}, "number of words of a piece is 'long'"),
            ({"chunk": True}, "number of words of a piece is True"),
            ({"chunk": 50, "overlap": -1}, "the overlap is -1; expected a number of words"),
            (
                {"chunk": 50, "overlap": 26},
                "the overlap is 26 words, and pieces have 50; expected at most half",
            ),
            ({"overlap": 5}, "found an overlap or headings, but texts are not divided"),
            ({"headings": True}, "found an overlap or headings, but texts are not divided"),
        ],
    )
    def test_refused(self, fields, message):
        with pytest.raises(ConfigError, match=message):
            Chunking(**fields)


def documents():
    return [
        Document(id="guide", text=long_text("# Guide\n\n", VISA, BANK), metadata={"lang": "en"}),
        Document(
            id="other",
            text=long_text("A story.", "Another day.", "And one more."),
            metadata={"lang": "en"},
        ),
        Document(id="visa", text=VISA, metadata={"lang": "de"}),
        Document(id="bank", text=BANK, metadata={"lang": "de"}),
    ]


@pytest.fixture
def corpus():
    return documents()


def build(home):
    home.build("cut", documents(), chunking=Chunking(40))


@pytest.fixture
def home(request, copied_home):
    return copied_home(build if "cut" in request.fixturenames else leave_empty)


@pytest.fixture
def cut(home):
    return home.collection("cut")


class TestCollection:
    def test_a_document_is_one_thing(self, cut, corpus):
        assert (len(cut), cut.status().documents) == (4, 4)
        assert sorted(document.id for document in cut.documents()) == [
            "bank",
            "guide",
            "other",
            "visa",
        ]
        assert cut.get(["guide"])[0].text == corpus[0].text
        for mode in ("dense", "lexical", "hybrid"):
            found = cut.search("renew a visa", 10, mode=mode)
            assert len({hit.id for hit in found}) == len(found)
            assert {hit.id for hit in found[:2]} == {"visa", "guide"}

    def test_a_hit_has_its_best_piece(self, cut, corpus):
        hit = next(hit for hit in cut.search("renew a visa") if hit.id == "guide")
        assert hit.text == corpus[0].text
        assert hit.text[hit.piece.start : hit.piece.end] == hit.piece.text
        assert hit.piece.text.startswith("How do I renew a visa?")
        assert hit.piece.heading == "Guide"
        bank = next(hit for hit in cut.search("when does the bank open") if hit.id == "guide")
        assert bank.piece.text.startswith("When does the bank open?")
        assert {hit.id for hit in cut.search("bank visa") if hit.piece is None} <= {"visa", "bank"}
        assert all(hit.piece.hits >= 1 for hit in cut.search("bank visa") if hit.piece)

    @pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
    def test_pieces_apart(self, cut, mode):
        found = cut.search("renew a visa", 3, mode=mode, pieces=True)
        assert [hit.id for hit in found[:2]] in (["visa", "guide"], ["guide", "visa"])
        assert all(len(hit.text.split()) <= 40 for hit in found)
        scores = [hit.score for hit in found]
        assert scores == sorted(scores, reverse=True)
        every = cut.search("the day in the town", 50, mode=mode, pieces=True)
        assert len(every) > len({hit.id for hit in every})

    @pytest.mark.parametrize("mode", ["dense", "lexical", "hybrid"])
    def test_a_document_of_one_piece_has_the_score_of_its_piece(self, cut, mode):
        whole, apart = (
            {hit.id: hit.score for hit in cut.search("renew a visa", 50, mode=mode, pieces=pieces)}
            for pieces in (False, True)
        )
        assert apart["visa"] == pytest.approx(whole["visa"], abs=1e-5)

    def test_a_result_as_a_row_is_what_a_push_stores(self, cut, tmp_path):
        cut.push(f"parquet://{tmp_path}/out")
        rows = rows_in(tmp_path / "out")
        for apart in (True, False):
            found = [hit.as_row() for hit in cut.search("renew a visa", 20, pieces=apart)]
            assert {hit.id for hit in found} <= set(rows)
            assert {hit.id.split("#")[0] for hit in found} == {"guide", "other", "visa", "bank"}
            for hit in found:
                assert (hit.text, hit.metadata) == (rows[hit.id].text, rows[hit.id].metadata)
        every = [hit.as_row().id for hit in cut.search("renew a visa", 50, pieces=True)]
        assert sorted(every) == sorted(rows)

    def test_the_score_is_that_of_the_best_piece(self, cut):
        vectors = cut.encoder
        for hit in cut.search("renew a visa", mode="dense"):
            part = hit.text if hit.piece is None else hit.piece.text
            [query, piece] = vectors.encode(["renew a visa", part])
            assert hit.score == pytest.approx(float(query @ piece), abs=1e-5)

    def test_filters_explanations_and_reranking_speak_of_documents(self, cut):
        assert {hit.id for hit in cut.search("visa", where={"lang": "en"})} <= {"guide", "other"}
        hit = cut.search("renew a visa", 1, where={"lang": "en"}, why=True)[0]
        assert "visa" in {word.token for word in hit.why.second_words}
        assert len(hit.why.second_words) <= 60
        assert {hit.id for hit in cut.search("renew a visa", 2, rerank=True)} == {"visa", "guide"}
        assert cut.similar("visa", 1)[0].id in ("guide", "bank")

    def test_reranked_results_explain_the_piece_that_they_show(self, cut):
        plain = {hit.id: hit.why for hit in cut.search("renew a visa", 50, why=True)}
        reranked = {
            hit.id: hit.why for hit in cut.search("renew a visa", 50, why=True, rerank=True)
        }
        assert reranked == plain

    def test_updates_and_deletions(self, cut):
        cut.upsert([Document(id="guide", text=long_text(BANK, BANK))])
        assert [hit.id for hit in cut.search("renew a visa", 1)] == ["visa"]
        new = [Document(id="new", text=long_text(VISA, VISA))]
        assert cut.upsert(new).pieces > 2
        assert cut.upsert(new).pieces == 0  # it is the same
        assert "new" in {hit.id for hit in cut.search("renew a visa", 2)}
        cut.delete(["new"])
        assert "new" not in {hit.id for hit in cut.search("renew a visa", 10)}
        assert not cut.verify()
        cut.compact()
        assert [hit.id for hit in cut.search("renew a visa", 1)] == ["visa"]
        assert not cut.verify()

    @pytest.mark.parametrize("index", ["flat", "rabitq", "sq8", "hnsw"])
    def test_the_tail_and_every_index_find_the_same(self, tmp_path, corpus, index):
        home = Home(tmp_path / "home")
        home.build("indexed", corpus, chunking=Chunking(40), index=index)
        home.create_collection("tail", chunking=Chunking(40))
        for name in ("indexed", "tail"):
            found = home.collection(name).search("renew a visa", 4, mode="dense")
            assert {hit.id for hit in found[:2]} == {"visa", "guide"}, name
            assert len(found) == 4 or name == "tail"
            home.collection("tail").upsert(corpus)

    def test_it_is_the_same_after_a_restart_an_export_and_a_backup(self, cut, home, tmp_path):
        expected = [(hit.id, hit.score, hit.piece) for hit in cut.search("renew a visa")]
        again = Home(home.root).collection("cut")
        assert [(hit.id, hit.score, hit.piece) for hit in again.search("renew a visa")] == expected
        for ending in ("jsonl", "parquet"):
            cut.export(tmp_path / f"cut.{ending}")
            copy = home.import_collection(tmp_path / f"cut.{ending}", ending)
            assert copy.chunking == Chunking(40)
            found = [(hit.id, hit.score, hit.piece) for hit in copy.search("renew a visa")]
            assert [(each[0], each[2]) for each in found] == [
                (each[0], each[2]) for each in expected
            ]

    def test_another_size_is_taken_from_the_next_build_on(self, cut, home, corpus):
        home.build("cut", corpus, chunking=Chunking(20))
        assert home.collection("cut").chunking == Chunking(20)
        found = home.collection("cut").search("renew a visa", 20, pieces=True)
        assert all(len(hit.text.split()) <= 20 for hit in found)
        home.build("cut", corpus, chunking=Chunking())
        assert home.collection("cut").search("renew a visa", 1)[0].piece is None
        assert not home.collection("cut").verify()

    def test_an_index_of_other_pieces_is_found_and_mended(self, cut, home):
        execute(home, "UPDATE collections SET cutting = ?", '{"chunk": 20}')
        [problem] = cut.verify()
        assert (
            'the chunking and analysis of the index are {"chunk": 40, "version": 3}'
            in problem.detail
        )
        assert [hit.id for hit in cut.search("renew a visa", 1)] in (["visa"], ["guide"])
        assert cut.verify(fix=True)[0].fixed
        assert not cut.verify()

    def test_drift_compares_with_what_a_refit_would_fit(self, cut):
        from gem_index.collection.corpus.drift import measure_drift

        cut.upsert([Document(id="new", text=long_text("Rivers carry water to the sea. " * 30))])
        before, drift = cut.encoder, cut.drift()
        cut.refit()
        after = cut.encoder
        expected = measure_drift(before, after, ["a bank", "a river"], 5, 1)
        assert drift.angles == pytest.approx(expected.angles, abs=1e-3)
        assert cut.drift().score_change == 0

    def test_duplicates_and_topics_are_of_documents(self, cut, corpus):
        cut.upsert([Document(id="again", text=corpus[0].text)])
        assert [group.ids for group in cut.duplicates(0.9999)] == [("guide", "again")]

    def test_many_pieces_of_one_document_do_not_hide_others(self, home):
        book = Document(id="book", text=long_text(*[VISA] * 60))
        others = [Document(id=str(i), text=f"{VISA} number {i}") for i in range(8)]
        home.build("c", [book, *others], chunking=Chunking(20))
        for mode in ("dense", "hybrid", "lexical"):
            assert len(home.collection("c").search("renew a visa", 9, mode=mode)) == 9


def rows_in(folder):
    target = open_target(f"parquet://{folder}")
    found = {row.id: row for row in target.live().documents()}
    target.close()
    return found


class TestPush:
    def test_pieces_with_their_parent(self, cut, tmp_path, corpus):
        report = cut.push(f"parquet://{tmp_path}/out")
        assert (report.added, report.documents) == (4, 4)
        rows = rows_in(tmp_path / "out")
        assert {"visa", "bank", "guide#1", "guide#2"} <= set(rows)
        assert "guide" not in rows
        for row in rows.values():
            if "parent" in row.metadata:
                start, end = row.metadata["start"], row.metadata["end"]
                whole = next(each.text for each in corpus if each.id == row.metadata["parent"])
                assert row.text == whole[start:end]
                assert row.metadata["lang"] == "en"
        assert cut.push(f"parquet://{tmp_path}/out").added == 0

    def test_fewer_and_more_pieces_and_none(self, cut, tmp_path, corpus):
        url = f"parquet://{tmp_path}/out"
        cut.push(url)
        for text in (corpus[0].text * 2, VISA + "now", long_text(VISA), "short"):
            cut.upsert([Document(id="guide", text=text)])
            assert cut.push(url).updated == 1
            own = [row for row in rows_in(tmp_path / "out") if row.split("#")[0] == "guide"]
            pieces = cut.chunking.pieces(text)
            assert len(own) == len(pieces)
        cut.delete(["other", "guide"])
        cut.push(url)
        assert set(rows_in(tmp_path / "out")) == {"visa", "bank"}

    def test_unchanged_pieces_keep_their_vectors(self, cut, tmp_path, corpus):
        url = f"parquet://{tmp_path}/out"
        cut.push(url)
        before = rows_in(tmp_path / "out")
        cut.upsert([Document(id="guide", text=f"{corpus[0].text}\n\n{long_text(VISA)}")])
        cut.push(url)
        after = rows_in(tmp_path / "out")
        same = [
            name
            for name, row in before.items()
            if row.metadata.get("parent") == "guide" and after[name].text == row.text
        ]
        assert len(same) >= 2
        assert all(np.array_equal(before[name].vector, after[name].vector) for name in same)
        assert after["guide#1"].vector.any()

    def test_an_id_that_is_that_of_a_piece(self, cut, tmp_path):
        cut.upsert([Document(id="guide#1", text="mine")])
        with pytest.raises(
            ConfigError, match="'guide#1' has the id of a piece of another document"
        ):
            cut.push(f"parquet://{tmp_path}/out")

    def test_pulled_documents_are_whole_again(self, cut, home, tmp_path, corpus):
        cut.push(f"parquet://{tmp_path}/out")
        report = pull(home, f"parquet://{tmp_path}/out", "again")
        assert report.documents == 4
        guide = home.collection("again").get(["guide"])[0]
        assert guide.text.split() == corpus[0].text.split()
        assert dict(guide.metadata) == {"lang": "en"}

    def test_pulled_pieces_of_a_long_text_are_in_order(self, cut, home, tmp_path):
        text = "\n\n".join(f"{FILLER}Paragraph {number}." for number in range(60))
        cut.upsert([Document(id="long", text=text)])
        cut.push(f"parquet://{tmp_path}/out")
        pull(home, f"parquet://{tmp_path}/out", "again")
        assert home.collection("again").get(["long"])[0].text.split() == text.split()

    def test_pages_travel_and_come_back(self, cut, home, tmp_path):
        text = f"{FILLER * 4}\n\n\f{BANK * 4}\n\n\f\n{VISA * 3}"
        cut.upsert(
            [
                Document(id="paper", text=text),
                Document(id="book", text=long_text(BANK, VISA), metadata={"page": 7}),
            ]
        )
        hit = next(hit for hit in cut.search("renew a visa", 10) if hit.id == "paper")
        assert hit.piece.page == hit.as_row().metadata["page"] == 3
        cut.push(f"parquet://{tmp_path}/out")
        rows = rows_in(tmp_path / "out")
        pages = [row.metadata["page"] for name, row in rows.items() if name.startswith("paper#")]
        assert set(pages) == {1, 2, 3}
        pull(home, f"parquet://{tmp_path}/out", "again")
        paper, book = home.collection("again").get(["paper", "book"])
        assert [page.split() for page in paper.text.split("\f")] == [
            page.split() for page in text.split("\f")
        ]
        assert (dict(paper.metadata), dict(book.metadata)) == ({}, {"page": 7})


class TestEmbed:
    @pytest.fixture
    def folder(self, tmp_path):
        return tmp_path / "out"

    @pytest.fixture
    def embed(self, cut, folder):
        def embed(documents, chunking=None, **options):
            url = f"parquet://{folder}"
            return embed_into(
                url, cut.encoder, documents, PushOptions(**options), chunking=chunking
            )

        return embed

    def test_the_rows_are_those_of_a_push(self, cut, embed, folder, tmp_path, corpus):
        cut.push(f"parquet://{tmp_path}/pushed")
        report = embed(corpus, Chunking(40), batch=2)
        assert (report.added, report.updated, report.documents) == (4, 0, 4)
        pushed, found = rows_in(tmp_path / "pushed"), rows_in(folder)
        assert set(found) == set(pushed)
        assert "guide#2" in found
        for name, row in found.items():
            assert (row.text, row.metadata) == (pushed[name].text, pushed[name].metadata)
            np.testing.assert_allclose(row.vector, pushed[name].vector, atol=1e-6)

    def test_headings_are_embedded_and_not_stored(self, cut, embed, folder, corpus):
        embed(corpus, Chunking(40, headings=True))
        row = rows_in(folder)["guide#2"]
        assert row.metadata["heading"] == "Guide"
        assert "Guide" not in row.text
        [vector] = cut.encoder.encode([f"Guide\n\n{row.text}"])
        np.testing.assert_allclose(row.vector, vector, atol=1e-6)

    def test_a_new_table_is_cut_like_a_new_collection(self, embed, folder):
        embed([Document(id="a", text="a river " * 125), Document(id="b", text="a bank " * 126)])
        assert set(rows_in(folder)) == {"a", "b#1", "b#2"}

    def test_a_table_keeps_its_pieces(self, embed, folder, corpus):
        embed(corpus[:1], Chunking(40, 5))
        before = rows_in(folder)
        report = embed(corpus)
        assert (report.added, report.updated, report.documents) == (3, 1, 4)
        assert report.unchanged == 0
        assert set(before) < set(rows_in(folder))
        for other, shown in ((Chunking(), "none"), (Chunking(40), "{'chunk': 40}")):
            with pytest.raises(
                ConfigError,
                match=f"{{'chunk': 40, 'overlap': 5}}, found {shown}; expected the same",
            ):
                embed(corpus, other)

    def test_a_table_of_whole_texts_stays_one(self, embed, folder, corpus):
        embed(corpus, Chunking())
        assert set(rows_in(folder)) == {"guide", "other", "visa", "bank"}
        assert embed(corpus).unchanged == 0
        with pytest.raises(ConfigError, match=r"has the chunking none, found \{'chunk': 'auto'\}"):
            embed(corpus, Chunking("auto"))
        assert set(rows_in(folder)) == {"guide", "other", "visa", "bank"}

    def test_a_changed_text_leaves_no_earlier_rows(self, embed, folder, corpus):
        for text in (corpus[0].text * 2, VISA, long_text(VISA), long_text(VISA, BANK, VISA), "x"):
            report = embed([Document(id="guide", text=text), corpus[2]], Chunking(40))
            assert report.added + report.updated == 2
            pieces = len(Chunking(40).pieces(text))
            own = {"guide"} if pieces == 1 else {f"guide#{n}" for n in range(1, pieces + 1)}
            assert set(rows_in(folder)) == own | {"visa"}

    def test_nothing_is_read_but_rows_of_the_documents(self, embed, folder, corpus, monkeypatch):
        """Of a table of thousands, a few rows around those of each document."""
        embed([Document(id=f"d{i}", text=f"{VISA} {i}") for i in range(3000)], Chunking(40))
        embed([Document(id="guide", text=long_text(VISA, BANK, VISA, BANK))])
        asked = []
        metadata_of = ParquetTable.metadata_of

        def noted(table, ids):
            asked.extend(ids)
            return metadata_of(table, ids)

        monkeypatch.setattr(ParquetTable, "metadata_of", noted)
        monkeypatch.setattr(ParquetTable, "documents", None)
        monkeypatch.setattr(embedding, "_COUNTED", 3000)
        report = embed(corpus)
        assert (report.added, report.updated, report.unchanged, report.documents) == (
            3,
            1,
            None,
            None,
        )
        assert {name.partition("#")[0] for name in asked} == {each.id for each in corpus}
        monkeypatch.undo()
        count = len(Chunking(40).pieces(corpus[0].text))
        rows = {name for name in rows_in(folder) if name.startswith("guide")}
        assert rows == {f"guide#{number}" for number in range(1, count + 1)}

    @pytest.mark.parametrize("text", [VISA, long_text(VISA)])
    def test_a_deletion_that_breaks_off_is_completed(self, embed, folder, text, monkeypatch):
        embed([Document(id="a", text=" ".join([long_text(VISA, BANK)] * 5))], Chunking(20))
        before = len(rows_in(folder))
        delete = ParquetTable.delete

        def cut(table, ids):
            delete(table, ids[: len(ids) // 2])
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(ParquetTable, "delete", cut)
            with pytest.raises(KeyboardInterrupt):
                embed([Document(id="a", text=text)])
        count = len(Chunking(20).pieces(text))
        assert count < len(rows_in(folder)) < before
        embed([Document(id="a", text=text)])
        assert len(rows_in(folder)) == count

    def test_metadata_that_number_a_piece_by_a_word(self, embed, folder):
        odd = {"parent": "a", "piece": "one", "start": 0, "end": 5}
        for _ in range(2):
            embed([Document(id="a#one", text="a river", metadata=odd)])
        assert set(rows_in(folder)) == {"a#one"}

    def test_an_id_that_comes_twice_leaves_the_rows_of_the_last(self, embed, folder, corpus):
        texts = [VISA, corpus[0].text, VISA, corpus[0].text * 2, long_text(VISA)]
        report = embed([Document(id="a", text=text) for text in texts], Chunking(40), batch=1)
        assert (report.added, report.documents) == (1, 1)
        count = len(Chunking(40).pieces(texts[-1]))
        assert set(rows_in(folder)) == {f"a#{n}" for n in range(1, count + 1)}

    def test_an_id_that_is_that_of_a_piece(self, embed, corpus):
        piece = Document(id="guide#1", text="mine")
        message = "'guide#1' has the id of a piece of another document.*or embed the texts whole"
        for documents in ([piece, corpus[0]], [corpus[0], piece]):
            for batch in (1, 2):
                with pytest.raises(ConfigError, match=message):
                    embed(documents, Chunking(40), batch=batch)
        with pytest.raises(ConfigError, match=message):  # the table holds the other
            embed([corpus[0]])

    def test_an_id_of_a_piece_that_is_gone_is_free(self, embed, folder, corpus):
        embed([corpus[0]], Chunking(40))
        embed([Document(id="guide", text=VISA), Document(id="guide#1", text=BANK)])
        assert set(rows_in(folder)) == {"guide", "guide#1"}

    def test_a_table_of_a_version_that_cuts_otherwise(self, embed, folder, corpus):
        embed(corpus, Chunking(40))
        manifest = folder / "live" / "_table.json"
        manifest.write_text(manifest.read_text().replace('chunk\\"', 'size\\"'))
        with pytest.raises(ConfigError, match="expected chunk, overlap and headings"):
            embed(corpus)

    def test_pulled_documents_are_whole_again(self, embed, home, folder, corpus):
        embed(corpus, Chunking(40, 5))
        assert pull(home, f"parquet://{folder}", "again").documents == 4
        guide = home.collection("again").get(["guide"])[0]
        assert guide.text.split() == corpus[0].text.split()
        assert dict(guide.metadata) == {"lang": "en"}

    def test_metadata_like_those_of_a_piece_make_no_piece(self, embed, home, folder):
        place = {"parent": "a", "piece": 1, "start": 0, "end": 5}
        embed([Document(id="b", text="a river", metadata=place)])
        pull(home, f"parquet://{folder}", "again")
        assert dict(home.collection("again").get(["b"])[0].metadata) == place
