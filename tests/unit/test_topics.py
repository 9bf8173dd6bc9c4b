"""Topics of a collection, their words, and the maps."""

import json
import re
import sys

import numpy as np
import pytest

from gem_index import Document
from gem_index.collection.corpus.topic_words import TopicWords
from gem_index.errors import InputError, MissingExtraError
from gem_index.text.analyzer import Analyzer

KINDS = {
    "visas": ["renew", "visa", "permit", "residence", "office"],
    "money": ["bank", "account", "loan", "card", "transfer"],
    "animals": ["ducks", "dogs", "river", "swimming", "garden"],
}


@pytest.fixture
def mixed(home):
    """Three topics of 40, 30 and 20 documents, with the bundled vectors."""
    collection = home.create_collection("mixed")
    rng = np.random.default_rng(3)
    collection.upsert(
        Document(
            id=f"{kind} {i}",
            text=f"the {' '.join(rng.choice(words, 4, replace=False))} is here",
            metadata={"kind": kind},
        )
        for size, (kind, words) in zip((40, 30, 20), KINDS.items(), strict=True)
        for i in range(size)
    )
    return collection


def test_topics_are_the_clusters_named_by_their_own_words(mixed):
    found = mixed.topics(3)
    assert [topic.documents for topic in found] == [40, 30, 20]
    for topic, words in zip(found, KINDS.values(), strict=True):
        assert sorted(topic.words) == sorted(words)
    for topic, kind in zip(found, KINDS, strict=True):
        assert [each.id.split()[0] for each in topic.examples] == [kind] * 3
        assert all(mixed.get([each.id])[0].text == each.text for each in topic.examples)
    assert "residence" in found._repr_html_()


def test_main_topics_are_groups_of_near_topics(mixed):
    """Six topics of three subjects: each main topic has the topics, the documents and the words of one subject."""
    found = mixed.topics(6, main=3)
    assert [each.documents for each in found.main] == [40, 30, 20]
    for main, words, kind in zip(found.main, KINDS.values(), KINDS, strict=True):
        assert sorted(main.words) == sorted(words)
        parts = [topic for topic in found if topic.main == main.name]
        assert sum(topic.documents for topic in parts) == main.documents
        assert {each.id.split()[0] for topic in parts for each in topic.examples} == {kind}
        assert [each.id for each in main.examples] == [topic.examples[0].id for topic in parts]
    assert [topic.words for topic in found] == [topic.words for topic in mixed.topics(6)]
    assert found == mixed.topics(6, main=3)
    row = next(iter(found.rows()))
    assert row["main"] == found[0].main
    by_document = {row["id"]: row for row in found.by_document().rows()}
    assert by_document["visas 0"]["main"] == found.main[0].name


def test_main_topics_at_the_ends(mixed):
    [only] = mixed.topics(4, main=1).main
    assert only.documents == 90
    assert [each.main for each in mixed.topics(1, main=1)] == [only.name]
    every = mixed.topics(4, main=4)
    assert len({each.main for each in every}) == 4
    assert [each.documents for each in every.main] == [each.documents for each in every]
    plain = mixed.topics(4)
    assert plain.main == ()
    assert {each.main for each in plain} == {""}
    with pytest.raises(InputError, match="found 5 main topics to divide 4 topics into"):
        mixed.topics(4, main=5)
    for wrong in (0, -1, 1.5, "2"):
        with pytest.raises(InputError, match="the number of main topics is"):
            mixed.topics(4, main=wrong)


def test_main_topics_of_an_empty_collection(home):
    assert home.create_collection("none").topics(main=2).main == ()


def test_each_document_has_a_topic_unless_it_has_no_word(mixed):
    mixed.upsert([Document(id="marks", text="!?"), Document(id="copy", text="bank account loan")])
    mixed.upsert([Document(id="copy 2", text="bank account loan")])
    found = mixed.topics(3)
    assert list(found.assigned) == [document.id for document in mixed.documents()]
    assert found.assigned["marks"] is None
    for name, number in found.assigned.items():
        kind = "money" if name.startswith("copy") else name.split()[0]
        assert number == (None if kind == "marks" else list(KINDS).index(kind))
    some = mixed.topics(1, where={"kind": "animals"}).assigned
    assert some == {f"animals {i}": 0 for i in range(20)}


def test_the_same_documents_give_the_same_topics(mixed):
    first, second = mixed.topics(3), mixed.topics(3)
    assert first == second
    assert [point.id for point in first.points] == [point.id for point in second.points]


def test_examples_are_the_nearest_to_the_centre(mixed):
    [topic] = mixed.topics(1)
    vectors = mixed.encoder.encode([document.text for document in mixed.documents()])
    distinct = np.unique(vectors, axis=0)
    centre = distinct.astype(np.float64).mean(axis=0)
    best = (distinct @ centre).max()
    first = mixed.encoder.encode([topic.examples[0].text])[0] @ centre
    assert first == pytest.approx(best, abs=1e-6)


def test_equal_texts_count_in_the_numbers_and_not_for_the_clusters(home):
    collection = home.create_collection("copies")
    texts = ["open a bank account"] * 50 + ["two ducks in the river", "a dog in the river"]
    collection.upsert(Document(id=str(i), text=text) for i, text in enumerate(texts))
    found = collection.topics(2)
    assert [topic.documents for topic in found] == [50, 2]
    assert [example.id for example in found[0].examples] == ["0"]


def test_a_long_word_does_not_fill_the_map(home, tmp_path):
    collection = home.create_collection("long")
    collection.upsert(
        [Document(id="a", text="tea " + "donaudampfschiff" * 6), Document(id="b", text="a river")]
    )
    collection.topics(2).plot(tmp_path / "map.html")
    data = re.search(r'id="data">(.*?)</script>', (tmp_path / "map.html").read_text(), re.DOTALL)
    labels = [text for text, _, _ in json.loads(data[1])["labels"]]
    assert any(text.endswith("…") for text in labels)
    assert max(map(len, labels)) <= 40


def test_words_are_shown_as_they_are_written_most_often(home):
    collection = home.create_collection("forms")
    texts = ["the libraries here", "two libraries there", "a library", "my cat", "a cat"]
    collection.upsert(Document(id=str(i), text=text) for i, text in enumerate(texts))
    words = [word for topic in collection.topics(2) for word in topic.words]
    assert "libraries" in words
    assert "librari" not in words
    assert "library" not in words


def test_the_number_of_topics_grows_with_the_root_of_the_documents(mixed):
    distinct = {document.text for document in mixed.documents()}
    assert len(mixed.topics()) == round((len(distinct) / 8) ** 0.5)


def test_a_filter_chooses_the_documents(mixed):
    [topic] = mixed.topics(1, where={"kind": "money"})
    assert topic.documents == 30
    assert {example.id.split()[0] for example in topic.examples} == {"money"}


def test_documents_without_a_word_have_no_topic(home):
    collection = home.create_collection("few")
    assert collection.topics() == []
    collection.upsert([Document(id="none", text="!!!"), Document(id="one", text="a bank")])
    [topic] = collection.topics()
    assert topic.documents == 1
    assert topic.words == ("bank",)


@pytest.mark.parametrize("n", [0, -3, 1.5, True, "many"])
def test_a_number_of_topics_that_is_none(mixed, n):
    with pytest.raises(InputError, match="expected a whole number of at least 1"):
        mixed.topics(n)


def test_more_topics_than_texts(mixed):
    with pytest.raises(InputError, match=r"found 5000 topics .* expected at most \d"):
        mixed.topics(5000)


def test_a_page_holds_every_point_and_needs_nothing_else(mixed, tmp_path):
    mixed.upsert([Document(id="</script>", text="a bank </script><script>alert(1)</script>")])
    topics = mixed.topics(3)
    topics.plot(tmp_path / "map.html")
    page = (tmp_path / "map.html").read_text()
    [text] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.S)
    data = json.loads(text)
    assert [point[3] for point in data["points"]] == [point.id for point in topics.points]
    assert [topic["words"] for topic in data["topics"]] == [list(t.words) for t in topics]
    assert page.count("</script>") == 2
    assert not re.findall(r"(?:src|href)=|https?://(?!www\.w3\.org)", page)
    # documents of one topic lie together
    places = np.array([point[:2] for point in data["points"]])
    kinds = np.array([point[2] for point in data["points"]])
    distances = np.linalg.norm(places[:, None] - places[None], axis=2)
    same = kinds[:, None] == kinds[None]
    assert distances[same].mean() < 0.6 * distances[~same].mean()


def test_pictures_are_pictures_and_equal_each_time(mixed, tmp_path):
    topics = mixed.topics(3)
    for name in ("map.png", "map.svg", "map.pdf", "again.svg"):
        topics.plot(tmp_path / name)
    assert (tmp_path / "map.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "map.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "map.svg").read_bytes() == (tmp_path / "again.svg").read_bytes()


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5])
def test_a_map_of_few_documents(home, tmp_path, count):
    collection = home.create_collection("few")
    words = ["bank", "river", "visa", "school", "tea"]
    collection.upsert(Document(id=w, text=f"the {w}") for w in words[:count])
    collection.topics(1).plot(tmp_path / "few.html")
    assert all(word in (tmp_path / "few.html").read_text() for word in words[:count])


def test_a_map_that_cannot_be_drawn(mixed, tmp_path):
    topics = mixed.topics(2)
    with pytest.raises(InputError, match=r"map\.gif.*expected a name that ends with \.html"):
        topics.plot(tmp_path / "map.gif")
    for name in ("map.html", "map.png"):
        with pytest.raises(InputError, match="cannot write"):
            topics.plot(tmp_path / "missing" / name)


@pytest.mark.parametrize(
    ("module", "name"), [("sklearn.cluster", None), ("openTSNE", "m.html"), ("matplotlib.figure", "m.png")]
)  # fmt: skip
def test_a_missing_extra_is_named(mixed, monkeypatch, tmp_path, module, name):
    topics = mixed.topics(2)
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError, match=r"\[(topics|map)\]"):
        mixed.topics(2) if name is None else topics.plot(tmp_path / name)


def words_of(groups, language="en"):
    counted = TopicWords(Analyzer(language=language), len(groups))
    for number, texts in enumerate(groups):
        for text in texts:
            counted.add(number, text)
    return counted.telling()


@pytest.mark.parametrize(
    ("language", "groups", "expected"),
    [
        (
            "fr",
            [
                ["quelles sont les cartes bancaires"] * 3 + ["les cartes sont perdues"],
                ["quels sont les trains de la gare"] * 3 + ["la gare est fermée"],
            ],
            [{"cartes", "bancaires"}, {"trains", "gare"}],
        ),
        (
            "de",
            [
                ["wer und was ist der Vertrag"] * 3 + ["der Vertrag wird gekündigt"],
                ["wann und wo ist die Rechnung"] * 3 + ["die Rechnung ist bezahlt"],
            ],
            [{"vertrag"}, {"rechnung"}],
        ),
        (
            "zh",
            [["我的银行账户有多少钱"] * 3, ["什么时候去动物园"] * 3],
            [{"银行", "账户"}, {"动物"}],
        ),
    ],
)
def test_labels_have_no_function_words(language, groups, expected):
    for words, wanted in zip(words_of(groups, language), expected, strict=True):
        assert wanted <= set(words)
        assert not set(words) & {
            "les",
            "sont",
            "quelles",
            "quels",
            "der",
            "die",
            "und",
            "ist",
            "wer",
        }
        assert not {word for word in words if "的" in word or "么" in word}


def test_labels_have_no_urls_entities_ids_and_numbers():
    texts = [
        "the bank &amp; loan https://t.co/ab12 me@example.org 4711",
        "a bank 3fa85f64deadbeef 12kg",
    ]
    found = words_of([texts, ["a river &quot;here&quot; www.example.org"]])
    assert [set(words) for words in found] == [{"bank", "loan"}, {"river"}]


def test_a_name_that_all_topics_have_is_weighed_down():
    companies = ["airline"] * 20
    lost = [f"airline lost my {word}" for word in ["bag", "luggage", "suitcase", "bag", "bag"] * 4]
    late = [f"airline {word} late" for word in ["flight", "plane", "departure", "flight"] * 3]
    for words in words_of([lost + companies, late]):
        assert words[0] in ("bag", "lost", "late", "flight")
        assert words.index("airline") > 1 if "airline" in words else True


def test_one_topic_is_named_by_frequent_words_with_a_subject(home):
    collection = home.create_collection("one")
    texts = [
        "the bank is open",
        "a bank account is mine",
        "bank loans are here",
        "the river",
        "an ox",
    ]
    collection.upsert(Document(id=str(i), text=text) for i, text in enumerate(texts))
    [topic] = collection.topics(1)
    assert topic.words[0] == "bank"
