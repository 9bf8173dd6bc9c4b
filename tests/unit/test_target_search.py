"""Search of a pushed table: the same scores as a collection's, from candidates that the database finds."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gem_index import Chunking, Collection, Document, Home, open_provider
from gem_index.collection.push.embedding import embed_into
from gem_index.collection.push.query_record import QueryRecord, QueryRecords
from gem_index.collection.push.sending import PushOptions
from gem_index.errors import (
    ConfigError,
    EmptyTextError,
    FilterError,
    FingerprintMismatchError,
    InputError,
)
from gem_index.targets import Target, TargetDocument, open_target

_PLACES = ("a bank", "a river", "the embassy", "a school", "the harbor", "a garden", "the station")
_VERBS = ("renew", "open", "close", "visit", "lose", "paint", "describe", "move", "measure")


def texts(count: int) -> list[Document]:
    return [
        Document(
            id=f"d{i}",
            text=f"How do I {_VERBS[i % 9]} {_PLACES[i % 7]} with form {i}?",
            metadata={"n": i, "even": i % 2 == 0},
        )
        for i in range(count)
    ]


def fill(home: Home) -> None:
    home.build("faq", texts(300))


@pytest.fixture
def faq(copied_home: Callable[..., Home]) -> Collection:
    return copied_home(fill).collection("faq")


@pytest.fixture
def other(tmp_path: Path) -> Home:
    """Return a home that holds nothing: that of another machine."""
    return Home(tmp_path / "other")


@pytest.mark.parametrize("scheme", ["parquet", "faiss"])
def test_the_results_are_those_of_the_collection(
    faq: Collection, other: Home, tmp_path: Path, scheme: str
) -> None:
    url = f"{scheme}://{tmp_path}/table"
    faq.push(url)
    with other.target(url) as target:
        for query in ("renew the embassy 7", "paint a garden", "form 250", "Was kostet das?"):
            for mode in ("hybrid", "dense"):
                own = faq.search(query, 5, mode=mode, correct=False)
                found = target.search(query, 5, mode=mode)
                np.testing.assert_allclose(
                    [hit.score for hit in found], [hit.score for hit in own], atol=1e-4
                )
                np.testing.assert_allclose(
                    [hit.cosine for hit in found], [hit.cosine for hit in own], atol=1e-5
                )
        assert target.search("form 250", 1)[0].id == "d250"
        assert target.search("form 250", 1)[0].metadata == {"n": 250, "even": True}
        assert target.search("form 250", 1)[0].text == texts(251)[250].text
        many = target.search_many(["form 3", "form 4"], 1)
        assert [hit.id for hits in many for hit in hits] == ["d3", "d4"]
        assert target.encoder.fingerprint == faq.encoder.fingerprint


def test_words_find_what_is_far_in_meaning(faq: Collection, other: Home, tmp_path: Path) -> None:
    """A document that is not among the nearest is found by its words, in a table with sparse vectors."""
    faq.upsert([Document(id="far", text="xqzw-77 bolts, tubes, gaskets, valves and other parts")])
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        query = "How do I renew the embassy with xqzw-77?"
        assert "far" in [hit.id for hit in target.search(query, 3)]
        assert "far" not in [hit.id for hit in target.search(query, 10, mode="dense")]


@pytest.mark.parametrize("scheme", ["parquet", "faiss"])
def test_rows_that_are_deleted_during_a_search_are_left_out(
    faq: Collection, other: Home, tmp_path: Path, scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the request that finds rows and the request that reads them."""
    url = f"{scheme}://{tmp_path}/table"
    faq.push(url)
    with other.target(url) as target:
        first = target.search("form 250", 2)
        assert first[0].id == "d250"
        table = type(target._current().table)
        fetch = table.fetch
        monkeypatch.setattr(
            table, "fetch", lambda self, ids: fetch(self, [each for each in ids if each != "d250"])
        )
        assert first[1].id in [hit.id for hit in target.search("form 250", 2)]


def test_rows_that_are_all_deleted_during_a_search_are_no_error(
    faq: Collection, other: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also in a table from which a search by words would be refused."""
    url = f"parquet://{tmp_path}/table"
    faq.push(url, texts=False, words=False)
    with other.target(url) as target:
        monkeypatch.setattr(type(target._current().table), "fetch", lambda self, ids: {})
        assert list(target.search("form 250", 2)) == []


def test_a_filter_reads_as_deep_as_it_must(faq: Collection, other: Home, tmp_path: Path) -> None:
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        for where in ({"n": {"$lt": 3}}, {"even": True}, {"n": 77}, {"n": 1000}):
            own = faq.search("open a bank", 10, where, correct=False)
            found = target.search("open a bank", 10, where)
            assert {hit.id for hit in found} == {hit.id for hit in own}
        with pytest.raises(FilterError, match="lte"):
            target.search("a", 3, {"n": {"$lessthan": 3}})


@pytest.mark.parametrize("mode", ["hybrid", "dense"])
def test_all_rows_are_read_if_the_best_hold_too_few_that_a_filter_accepts(
    faq: Collection, other: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    for module in ("searching", "found_rows"):
        monkeypatch.setattr(f"gem_index.collection.push.{module}.DEEPEST", 50)
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        for where in ({"n": {"$in": [3, 77, 154, 299]}}, {"n": 1000}):
            own = faq.search("open a bank", 10, where, mode=mode, correct=False)
            found = target.search("open a bank", 10, where, mode=mode)
            assert {hit.id for hit in found} == {hit.id for hit in own}
            scores = [hit.score for hit in own]
            np.testing.assert_allclose([hit.score for hit in found], scores, atol=1e-4)


def test_all_rows_have_their_scores_by_words_in_a_table_without_sparse_vectors(
    faq: Collection, other: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the rows are read in several parts, and those with the best scores are not in the last one."""
    for module in ("searching", "found_rows"):
        monkeypatch.setattr(f"gem_index.collection.push.{module}.DEEPEST", 50)
    monkeypatch.setattr("gem_index.collection.push.found_rows._FETCHED", 40)
    faq.push(f"parquet://{tmp_path}/table", words=False)
    where = {"n": {"$in": [3, 77, 154, 299]}}
    own = faq.search("close a bank 3", 10, where, correct=False)
    with other.target(f"parquet://{tmp_path}/table") as target:
        found = target.search("close a bank 3", 10, where)
    assert [hit.id for hit in found] == [hit.id for hit in own]
    for name in ("score", "cosine"):
        expected = [getattr(hit, name) for hit in own]
        np.testing.assert_allclose([getattr(hit, name) for hit in found], expected, atol=1e-4)


def test_a_target_has_no_calibration(faq: Collection, other: Home, tmp_path: Path) -> None:
    faq.push(f"parquet://{tmp_path}/table")
    with (
        other.target(f"parquet://{tmp_path}/table") as target,
        pytest.raises(InputError, match="which has no calibration; expected a number"),
    ):
        target.search("open a bank", min_score="auto")


def test_a_least_score_returns_all_above_it(faq: Collection, other: Home, tmp_path: Path) -> None:
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        own = faq.search("open a bank", None, min_score=0.2, correct=False)
        found = target.search("open a bank", None, min_score=0.2)
        assert len(own) > 30
        assert {hit.id for hit in found} == {hit.id for hit in own}
        assert target.search("open a bank", 5, min_score=0.99) == []


def test_pieces_are_folded_to_their_document(tmp_path: Path, other: Home) -> None:
    long = " ".join(
        f"Chapter {i} is about {_PLACES[i % 7]} and {_VERBS[i % 9]}." for i in range(99)
    )
    home = Home(tmp_path / "home")
    home.build(
        "book",
        [Document(id="long", text=long, metadata={"n": 1}), *texts(20)],
        chunking=Chunking(40),
    )
    home.collection("book").push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        hits = target.search("chapter 50", 5)
        assert [hit.id for hit in hits].count("long") == 1
        first = hits[0]
        assert first.id == "long"
        assert first.piece is not None
        assert first.text == first.piece.text == long[first.piece.start : first.piece.end]
        assert "Chapter 50" in first.text
        assert dict(first.metadata) == {"n": 1}
        apart = target.search("chapter 50", 5, pieces=True)
        assert [hit.id for hit in apart].count("long") > 1
        assert len({hit.piece.number for hit in apart if hit.piece}) == len(
            [h for h in apart if h.piece]
        )


def test_documents_are_read_whole(tmp_path: Path, other: Home) -> None:
    """A document of more pieces than are read at once keeps its text, but for what lay between them."""
    long = "\n\n".join(
        f"Kapitel {i} über {_PLACES[i % 7]}: 你好 {_VERBS[i % 9]}." for i in range(500)
    )
    own = {"parent": "d3", "piece": 1, "start": 0, "end": 3}
    home = Home(tmp_path / "home")
    home.build(
        "book",
        [
            Document(id="long", text=long, metadata={"n": 1}),
            Document(id="own", text="a bank", metadata=own),
            *(Document(id=f"numbered#{i}", text=f"a bank {i}") for i in range(1, 101)),
            *texts(20),
        ],
        chunking=Chunking(20),
    )
    url = f"parquet://{tmp_path}/table"
    home.collection("book").push(url)
    with other.target(url) as target:
        assert target.count() > 300
        # the documents "numbered#1" and so on are no pieces of a document "numbered"
        found = target.get(["d7", "none", "numbered", "long", "own", "d7"])
        assert [each.id for each in found] == ["d7", "long", "own"]
        assert [dict(each.metadata) for each in found] == [{"n": 7, "even": False}, {"n": 1}, own]
        assert found[0].text == texts(8)[7].text
        assert found[1].text.split() == long.split()
        assert len(found[1].text) == len(long)
        names = {each.name for each in target.metadata_fields()}
        assert names == {"n", "even", "parent", "piece", "start", "end"}


def test_only_a_table_with_texts_is_read(faq: Collection, other: Home, tmp_path: Path) -> None:
    url = f"parquet://{tmp_path}/table"
    faq.push(url, texts=False)
    with (
        other.target(url) as target,
        pytest.raises(ConfigError, match="holds no texts; expected a table of a push with texts"),
    ):
        target.get(["d1"])


def test_an_offset_leaves_out_the_best(faq: Collection, other: Home, tmp_path: Path) -> None:
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        all_of_them = [hit.id for hit in target.search("open a bank", 12)]
        assert [hit.id for hit in target.search("open a bank", 4, offset=8)] == all_of_them[8:]
        above = target.search("open a bank", None, min_score=0.2)
        rest = target.search("open a bank", None, min_score=0.2, offset=3)
        assert [hit.id for hit in rest] == [hit.id for hit in above[3:]]
        assert target.search("open a bank", 4, offset=300) == []


@pytest.mark.parametrize("option", ["rerank", "collapse", "exact", "fusion"])
def test_options_of_collections_are_refused_by_name(
    faq: Collection, other: Home, tmp_path: Path, option: str
) -> None:
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        given = {option: "rrf" if option == "fusion" else True}
        with pytest.raises(InputError, match=f"found {option} for the target .*; expected"):
            target.search("open a bank", **given)
        target.search("open a bank", correct=False)


def test_why_explains_each_result(faq: Collection, other: Home, tmp_path: Path) -> None:
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        [hit] = target.search("renew the embassy", 1, why=True)
        assert hit.why is not None
        assert hit.why.cosine == pytest.approx(hit.cosine, abs=1e-5)


def test_a_push_in_full_is_seen_by_an_open_target(
    faq: Collection, other: Home, tmp_path: Path
) -> None:
    """Vectors of another model come with a new query record; that of the old table is deleted."""
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    with other.target(url) as target:
        old = target.encoder.fingerprint
        faq.upsert([Document(id="new", text="a harbor of gardens")])
        faq.refit()
        faq.push(url)
        assert target.search("harbor of gardens", 1)[0].id == "new"
        assert target.encoder.fingerprint == faq.encoder.fingerprint != old
    table = open_target(f"parquet://{tmp_path}/table/query").live()
    assert table is not None
    tokens = {row.metadata["token"] for row in table.documents()}
    assert tokens == {live_token(url)}


def live_token(url: str) -> str:
    table = open_target(url).live()
    assert table is not None
    return table.schema.token


def test_a_push_of_changes_keeps_the_record(faq: Collection, other: Home, tmp_path: Path) -> None:
    """Later documents are found, with the statistics of the first push."""
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    files = sorted((tmp_path / "table" / "query" / "live").iterdir())
    faq.upsert([Document(id="new", text="zweifelsohne")])
    faq.push(url)
    assert sorted((tmp_path / "table" / "query" / "live").iterdir()) == files
    with other.target(url) as target:
        assert target.search("harbor zweifelsohne", 300)[0].score <= 1


def test_a_push_tells_when_a_table_has_outgrown_its_word_statistics(
    faq: Collection, tmp_path: Path
) -> None:
    url = f"parquet://{tmp_path}/table"
    assert not faq.push(url).words_due
    faq.upsert(texts(599))
    assert not faq.push(url).words_due
    faq.upsert(texts(600))
    assert faq.push(url).words_due
    assert faq.push(url, dry_run=True).words_due
    assert not faq.push(url, full=True).words_due


def test_a_record_without_the_number_of_texts_is_written_again(
    faq: Collection, tmp_path: Path
) -> None:
    """Versions before it did not note the number."""
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    records = open_target(f"parquet://{tmp_path}/table/query").live()
    assert records is not None
    [first] = [each for each in records.documents() if each.id.endswith(" 0")]
    metadata = {key: value for key, value in first.metadata.items() if key != "texts"}
    records.upsert([replace(first, metadata=metadata)])
    assert not faq.push(url).words_due
    faq.upsert(texts(600))
    assert faq.push(url).words_due


def test_a_missing_record_is_written_by_the_next_push(
    faq: Collection, other: Home, tmp_path: Path
) -> None:
    """Tables of versions before it have none."""
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    open_target(f"parquet://{tmp_path}/table/query").drop()
    with pytest.raises(ConfigError, match="has no query record; .* push once more"):
        other.target(url)
    faq.push(url)
    with other.target(url) as target:
        assert target.search("form 9", 1)[0].id == "d9"


def test_a_record_of_another_encoder_is_refused(
    faq: Collection, other: Home, tmp_path: Path
) -> None:
    urls = [f"parquet://{tmp_path}/{name}" for name in ("table", "small")]
    small = Home(faq.access.workspace.root).create_collection("small", config="cqa")
    small.upsert(texts(3))
    for collection, url in zip((faq, small), urls, strict=True):
        collection.push(url)
    table, another = (QueryRecords(open_target(url)) for url in urls)
    table.write(live_token(urls[0]), another.read(live_token(urls[1])))
    with pytest.raises(FingerprintMismatchError, match="push in full again") as caught:
        other.target(urls[0])
    assert caught.value.expected == faq.encoder.fingerprint
    assert caught.value.found == small.encoder.fingerprint


def test_a_record_that_is_not_complete_does_not_count(
    faq: Collection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its first row is written last."""
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    records = QueryRecords(open_target(url))
    record = records.read(live_token(url))
    monkeypatch.setattr("gem_index.collection.push.query_record._PART", 1000)
    kind = type(open_target(url).live())
    upsert, calls = kind.upsert, []

    def cut(table, documents):
        calls.append([each.id for each in documents])
        if len(calls) == 2:
            raise KeyboardInterrupt
        upsert(table, documents)

    with monkeypatch.context() as patch:
        patch.setattr(kind, "upsert", cut)
        with pytest.raises(KeyboardInterrupt):
            records.write("later", record)
    assert len(calls[0]) > 1
    assert calls[1] == ["later 0"]
    assert records.texts_of("later") is None
    records.write("later", record)
    assert records.texts_of("later") == 300
    assert records.read("later") == record or records.read("later").model == record.model


@pytest.mark.parametrize("damage", ["cut", "changed", "later"])
def test_a_damaged_record_is_refused(
    faq: Collection, other: Home, tmp_path: Path, damage: str
) -> None:
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    token = live_token(url)
    target: Target = open_target(f"parquet://{tmp_path}/table/query")
    table = target.live()
    assert table is not None
    rows = {row.id: row for row in table.documents()}
    if damage == "later":
        import base64
        import zlib

        content = base64.b64encode(zlib.compress(json.dumps({"version": 99}).encode())).decode()
        first = rows[f"{token} 0"]
        table.upsert([TargetDocument(first.id, first.vector, content, {"token": token, "rows": 1})])
    elif damage == "changed":
        first = rows[f"{token} 0"]
        table.upsert([TargetDocument(first.id, first.vector, "abcd" * 9, first.metadata)])
    else:
        first = rows[f"{token} 0"]
        table.upsert(
            [TargetDocument(first.id, first.vector, first.text, {"token": token, "rows": 9})]
        )
        table.upsert(
            [TargetDocument(first.id, first.vector, first.text[:99], {"token": token, "rows": 9})]
        )
    expected = (
        "version 99; expected 1; upgrade" if damage == "later" else "damaged; .* push in full"
    )
    with pytest.raises(ConfigError, match=expected):
        other.target(url)


def test_a_table_without_texts_and_words_is_searched_by_meaning(
    faq: Collection, other: Home, tmp_path: Path
) -> None:
    url = f"parquet://{tmp_path}/table"
    faq.push(url, texts=False, words=False)
    with other.target(url) as target:
        assert target.search("form 9", 1, mode="dense")[0].text == ""
        with pytest.raises(ConfigError, match="found neither a sparse vector nor a text"):
            target.search("form 9", 1)
    faq.push(url, texts=False, full=True)
    with other.target(url) as target:
        assert target.search("form 9", 1)[0].id == "d9"


def test_bad_input_is_one_line(faq: Collection, other: Home, tmp_path: Path) -> None:
    url = f"parquet://{tmp_path}/table"
    with pytest.raises(
        ConfigError, match="found no table at .*; expected one that push or embed filled"
    ):
        other.target(url)
    faq.push(url)
    with other.target(url) as target:
        with pytest.raises(EmptyTextError):
            target.search("?!")
        with pytest.raises(InputError, match="found the mode lexical .*; expected hybrid or dense"):
            target.search("a", mode="lexical")
        with pytest.raises(InputError, match="a list of queries"):
            target.search_many("a")
        with pytest.raises(InputError, match="k"):
            target.search("a", 0)
        assert "parquet" in repr(target)


def test_a_query_without_a_known_word(faq: Collection, other: Home, tmp_path: Path) -> None:
    """Unknown words have vectors, by their hashes; no match of words."""
    faq.push(f"parquet://{tmp_path}/table")
    with other.target(f"parquet://{tmp_path}/table") as target:
        assert len(target.search("wxyzzy", 3)) == 3


def test_the_record_survives_a_round_trip(faq: Collection) -> None:
    words = faq.sparse_encoder()
    with faq.access.reading() as rows:
        record = QueryRecord(rows.model(), rows.record.chunking, words)
    again = QueryRecord.of_bytes(record.to_bytes(), "here")
    assert again.words.fingerprint == words.fingerprint
    assert again.chunking == record.chunking
    assert again.model.fingerprint == record.model.fingerprint


def test_an_embedded_table_is_refused(other: Home, tmp_path: Path) -> None:
    """Without a collection there are no word statistics."""
    url = f"parquet://{tmp_path}/table"
    embed_into(url, open_provider(home=other).encoder, texts(3), PushOptions())
    with pytest.raises(
        ConfigError,
        match="filled without a collection and has no word statistics; expected a table of push",
    ):
        other.target(url)


def test_a_filter_that_is_too_large_for_sqlite(
    faq: Collection, other: Home, tmp_path: Path
) -> None:
    url = f"parquet://{tmp_path}/table"
    faq.push(url)
    many = {"$or": [{"n": number} for number in range(500)]}
    for search in (faq.search, other.target(url).search):
        with pytest.raises(FilterError) as caught:
            search("a bank", where=many)
        assert str(caught.value).startswith("the filter is too large for SQLite: ")
        assert str(caught.value).endswith(
            "; expected fewer or shorter conditions: use $in for many values of one field"
        )
