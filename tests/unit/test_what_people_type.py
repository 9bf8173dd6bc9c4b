"""Searches of short collections as people type them: symbols, written forms, words that the collection lacks."""

import unicodedata

import numpy as np
import pytest

from gem_index import Document, Home
from gem_index.text.chunking import Chunking

FAQ = [
    "What is your return policy?",
    "How can I track my order?",
    "Do you ship to other countries?",
    "How do I pay by invoice?",
    "When are you open?",
]
GARDEN_SHOP = [
    "Gloves for gardeners",
    "A pot with a saucer",
    "Watering can, 5 litres",
    "Hose for the lawn",
    "Seeds of tomatoes",
    "Rake and spade",
    "Bench for two",
    "String of lamps",
]


def collection_of(texts, tmp_path, fit=True):
    collection = Home(tmp_path / "home").create_collection("texts")
    collection.upsert(Document(id=text, text=text) for text in texts)
    if fit:
        collection.refit()
    return collection


@pytest.fixture(scope="module", params=[True, False], ids=["files", "tail"])
def found_first(request, tmp_path_factory):
    """Return the text that a search of some texts finds first; a collection of them is made once."""
    collections = {}

    def find(texts, query, **options):
        if tuple(texts) not in collections:
            place = tmp_path_factory.mktemp("texts")
            collections[tuple(texts)] = collection_of(texts, place, fit=request.param)
        return collections[tuple(texts)].search(query, k=1, **options)[0].id

    return find


@pytest.mark.parametrize(
    ("texts", "query", "first"),
    [
        (FAQ, "where is my parcel?", "How can I track my order?"),
        (FAQ, "is it possible to send it back?", "What is your return policy?"),
        (FAQ, "can you deliver to Canada?", "Do you ship to other countries?"),
        (
            GARDEN_SHOP,
            "I am looking for something to give my plants water",
            "Watering can, 5 litres",
        ),
        (GARDEN_SHOP, "do you have a seat for my grandmother", "Bench for two"),
        (GARDEN_SHOP, "I need a spade for the garden", "Rake and spade"),
    ],
)
def test_common_words_carry_no_result(found_first, texts, query, first):
    assert found_first(texts, query) == first


def test_a_word_that_no_document_holds_does_not_make_another_the_whole_match(tmp_path):
    """ "is" is the only word of the query that the FAQ holds."""
    collection = collection_of(FAQ, tmp_path)
    for hit in collection.search("where is xylophone", k=5):
        assert hit.score < (hit.cosine + 2.25 * 0.1) / 3.25


SYMBOLS = [
    "a book on C for students",
    "a book on C# for students",
    "a book on C++ for students",
    "a book on .NET for students",
    "a book on vue.js for students",
    "my mark was a B+",
    "my mark was a B-",
    "release 2.14.1 hangs",
    "release 2.41.1 hangs",
    "the R&D department",
    "the D department",
]


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("C", 0),
        ("c#", 1),
        ("C++", 2),
        (".net", 3),
        ("vue.js", 4),
        ("B+", 5),
        ("B-", 6),
        ("what hangs in 2.14.1?", 7),
        ("2.41.1", 8),
        ("R&D", 9),
    ],
)
def test_symbols_tell_words_apart(found_first, mode, query, first):
    assert found_first(SYMBOLS, query, mode=mode) == SYMBOLS[first]


def full_width(word):
    return "".join(chr(ord(letter) + 0xFEE0) for letter in word)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "lexical"])
@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_written_forms_of_a_word_are_one(found_first, mode, form):
    texts = [
        "Öffnungszeiten des Cafés",
        "Straße gesperrt",
        f"{full_width('LAPTOP')} defekt",
        "Müllabfuhr",
    ]
    stored = [unicodedata.normalize("NFD" if form == "NFC" else "NFC", text) for text in texts]
    for query, place in (("Cafés", 0), ("müllabfuhr", 3), ("laptop", 2), (full_width("laptop"), 2)):
        asked = unicodedata.normalize(form, query)
        assert found_first(stored, asked, mode=mode) == stored[place]  # the text is as it was given


MANY = [
    f"{start} {verb} {thing}"
    for start in ("how do I", "where can I", "please", "can you")
    for verb in ("open", "close", "find", "send", "read", "lose")
    for thing in ("an account", "the card", "a letter", "my key", "the order 4711", "it again")
]


@pytest.fixture(scope="module")
def repeated(tmp_path_factory):
    """Texts of which many come several times, in files and behind them."""
    collection = Home(tmp_path_factory.mktemp("repeated")).create_collection("texts")
    rng = np.random.default_rng(5)
    drawn = rng.choice(MANY, 700).tolist()
    collection.upsert(Document(id=n, text=text) for n, text in enumerate(drawn[:600]))
    collection.refit()
    collection.upsert(Document(id=n, text=text) for n, text in enumerate(drawn[600:], 600))
    return collection


@pytest.mark.parametrize("options", [{}, {"mode": "dense"}, {"mode": "lexical"}, {"fusion": "rrf"}])
def test_fewer_hits_are_the_beginning_of_more(repeated, options):
    for query in (*MANY[::17], "letter", "order 4711", "key key card", "zebra"):
        every = [hit.id for hit in repeated.search(query, k=700, **options)]
        assert len(set(every)) == len(every)
        for k in (1, 2, 10, 29, 30, 31, 100, 350):
            assert [hit.id for hit in repeated.search(query, k=k, **options)] == every[:k]


def test_a_score_is_that_of_every_document(repeated):
    """The ten best are those of scoring all documents: no list that is fused ends too early."""
    for query in MANY[::11]:
        every = repeated.search(query, k=700)
        best = sorted((hit.score for hit in every), reverse=True)
        assert [hit.score for hit in every] == best
        assert [hit.score for hit in repeated.search(query, k=10)] == pytest.approx(best[:10])


def test_equal_scores_come_by_age(repeated):
    hits = repeated.search(MANY[40], k=700)
    equal = [hit for hit in hits if hit.score == hits[0].score]
    assert len(equal) > 1
    assert [int(hit.id) for hit in equal] == sorted(int(hit.id) for hit in equal)


def test_fewer_pieces_are_the_beginning_of_more(tmp_path):
    """A document far behind may hold a better piece than one before it, whose pieces match in different ways."""
    collection = Home(tmp_path).create_collection("long", chunking=Chunking(20))
    rng = np.random.default_rng(7)
    texts = [". ".join(rng.choice(MANY, 9)) + "." for _ in range(120)]
    collection.upsert(Document(id=n, text=text) for n, text in enumerate(texts))
    for query in MANY[::23]:
        every = [(hit.id, hit.text) for hit in collection.search(query, k=2000, pieces=True)]
        for k in (1, 5, 20):
            found = collection.search(query, k=k, pieces=True)
            assert [(hit.id, hit.text) for hit in found] == every[:k]
