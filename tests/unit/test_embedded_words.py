"""Tables that are filled without a collection hold words too, and are searched as those of a push."""

import numpy as np
import pytest

from gem_index import Chunking, Document, Home
from gem_index.collection.push import embedded_words
from gem_index.collection.push.embedded_words import CountedInputs
from gem_index.collection.push.embedding import TableWords, embed_into
from gem_index.collection.push.query_record import QueryRecords
from gem_index.collection.push.sending import PushOptions
from gem_index.errors import ConfigError
from gem_index.sparse import SparseEncoder
from gem_index.targets import open_target
from gem_index.text.analyzer import Analyzer

_PLACES = ("a bank", "a river", "the embassy", "a school", "the harbor", "a garden")
_VERBS = ("renew", "open", "close", "visit", "lose", "paint", "describe", "move")
_LONG = "Nothing happened on that day in the town, and the weather was fine. " * 20


def texts(count):
    short = [
        Document(
            id=f"d{i}",
            text=f"How do I {_VERBS[i % 8]} {_PLACES[i % 6]} with form {i}?",
            metadata={"n": i},
        )
        for i in range(count)
    ]
    return [*short, Document(id="long", text=f"{_LONG}\n\nThe ferry to xqzw-77 leaves. {_LONG}")]


def fill(home):
    home.build("faq", texts(200), chunking=Chunking(40))


@pytest.fixture
def faq(copied_home):
    return copied_home(fill).collection("faq")


@pytest.fixture
def other(tmp_path):
    """A home that holds nothing: that of another machine."""
    return Home(tmp_path / "other")


@pytest.fixture
def embed(faq):
    def embed(url, documents, *, language="auto", **options):
        words = TableWords(faq.status().vectors, CountedInputs(documents, language))
        return embed_into(
            url,
            faq.encoder,
            documents,
            PushOptions(batch=50, **options),
            chunking=Chunking(40),
            words=words,
        )

    return embed


def record_in(url):
    target = open_target(url)
    records = QueryRecords(target)
    try:
        return records.read(target.live().schema.token)
    finally:
        records.close()
        target.close()


@pytest.mark.parametrize("scheme", ["parquet", "faiss"])
def test_the_results_are_those_of_a_collection(faq, other, embed, tmp_path, scheme):
    url = f"{scheme}://{tmp_path}/table"
    report = embed(url, texts(200))
    assert report.words is (True if scheme == "parquet" else None)
    assert not report.words_due
    assert record_in(url).words.fingerprint == faq.sparse_encoder().fingerprint
    with other.target(url) as target:
        for query in ("renew the embassy 7", "form 150", "the ferry to xqzw-77", "Was kostet das?"):
            own, found = faq.search(query, 5, correct=False), target.search(query, 5)
            np.testing.assert_allclose(
                [hit.score for hit in found], [hit.score for hit in own], atol=1e-4
            )
        assert target.search("form 150", 1)[0].metadata == {"n": 150}
        assert target.search("the ferry to xqzw-77", 1)[0].id == "long"
        assert target.get(["long"])[0].text.split() == texts(0)[0].text.split()


def test_words_of_the_first_documents_stay(other, embed, tmp_path):
    url = f"parquet://{tmp_path}/table"
    embed(url, texts(40))
    before = record_in(url).words.fingerprint
    assert not embed(url, texts(60)).words_due
    assert embed(url, texts(200)).words_due
    assert record_in(url).words.fingerprint == before
    with other.target(url) as target:
        assert target.search("how to renew the bank", 1)[0].cosine > 0
        assert target.count() > 200


def test_progress_and_reports_count_all_documents(faq, tmp_path):
    url, told = f"parquet://{tmp_path}/table", []

    def report(documents):
        told.clear()
        found = embed_into(
            url, faq.encoder, documents, PushOptions(batch=8), lambda *each: told.append(each),
            chunking=Chunking(40),
        )  # fmt: skip
        return found.added, found.updated, found.unchanged, found.documents

    assert report(texts(19)) == (20, 0, 0, 20)
    assert told == [("embed", 8, 0), ("embed", 16, 0), ("embed", 20, 0)]
    assert report(texts(21)[11:]) == (2, 9, 11, 22)
    assert told == [("embed", 8, 0), ("embed", 11, 0)]


def test_words_are_counted_once_with_and_without_a_sample_for_the_language(monkeypatch):
    monkeypatch.setattr(embedded_words, "_TOLD", 7)
    monkeypatch.setattr(embedded_words, "SAMPLED", 5)
    told, found = [], []
    for language, analyzer in (("auto", None), ("en", None), ("de", Analyzer("en"))):
        count = CountedInputs(texts(20), language, lambda *each: told.append(each))
        found.append(count(Chunking(None), analyzer))
    assert told == [("count words", number, 0) for number in (7, 14, 21)] * 3
    assert [each.texts for each in found] == [21] * 3
    assert {each.analyzer for each in found} == {Analyzer("en")}
    whole = SparseEncoder.fit([each.text for each in texts(20)], Analyzer("en"))
    assert {each.fingerprint for each in found} == {whole.fingerprint}


def test_the_language_of_a_table(embed, tmp_path):
    german = [
        Document(id=str(i), text=f"Die Banken öffnen morgens um {i} Uhr, und die Häuser sind alt.")
        for i in range(30)
    ]
    for language, expected in (("auto", "de"), ("none", "none")):
        url = f"parquet://{tmp_path}/{language}"
        embed(url, german, language=language)
        assert record_in(url).words.analyzer == Analyzer(expected)


def test_without_words(faq, other, embed, tmp_path):
    url = f"parquet://{tmp_path}/table"
    assert embed(url, texts(20), words=False).words is False
    with pytest.raises(ConfigError, match="was filled without a collection and has no word"):
        other.target(url)
    report = embed(url, texts(40))  # a table with rows keeps what it is
    assert (report.words, report.words_due) == (False, False)
    with pytest.raises(ConfigError, match="was filled without a collection and has no word"):
        other.target(url)


def test_a_run_that_ends_before_the_record_is_written(other, embed, tmp_path, monkeypatch):
    """The table is there and empty: the next run writes the record, by the table's rule for vectors of documents."""
    url = f"parquet://{tmp_path}/table"

    class KilledError(Exception):
        pass

    def killed(*_):
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(QueryRecords, "write", killed)
        with pytest.raises(KilledError):
            embed(url, texts(40))
    target = open_target(url)
    rule = target.live().schema.words
    assert target.live().count() == 0
    target.close()
    assert SparseEncoder.of_rule(rule).mean_terms > 0
    embed(url, texts(90), language="de")
    words = record_in(url).words
    assert words.rule == rule
    assert words.texts > 90
    with other.target(url) as target:
        assert target.search("form 77", 1)[0].id == "d77"


def test_texts_are_counted_before_a_table_is_made(embed, tmp_path):
    class Failing:
        def __init__(self):
            self.readings = 0

        def __iter__(self):
            self.readings += 1
            yield from texts(3)
            if self.readings > 1:
                raise OSError(5, "Input/output error")

    with pytest.raises(OSError, match="Input/output error"):
        embed(f"parquet://{tmp_path}/table", Failing())
    assert not (tmp_path / "table").exists()


def test_progress(faq):
    told = []
    many = [Document(id=str(i), text="a bank") for i in range(2500)]
    counting = CountedInputs(many, "en", lambda *each: told.append(each))
    assert counting(Chunking(), None).texts == 2500
    assert told == [("count words", 1000, 0), ("count words", 2000, 0)]
