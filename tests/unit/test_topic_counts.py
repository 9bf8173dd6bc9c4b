"""Topics by a field and by time, and topics with given names."""

import pytest

from gem_index import Document
from gem_index.errors import InputError

TEXTS = {
    "visa": ["renew a visa", "visa office", "extend my visa", "a visa for a week"],
    "bank": ["open a bank account", "bank transfer", "interest of the bank", "my bank card"],
}


@pytest.fixture
def faq(home):
    faq = home.create_collection("dated")
    faq.upsert(
        Document(
            id=f"{kind}{number}",
            text=text,
            metadata={"created": f"2024-0{number + 1}-15", "kind": [kind, "any"], "topic": number},
        )
        for kind, texts in TEXTS.items()
        for number, text in enumerate(texts)
    )
    faq.upsert([Document(id="late", text="a bank visa")])
    return faq


def test_every_document_with_a_value_counts(faq):
    topics = faq.topics(2)
    counts = faq.count_topics(topics, "month(created)")
    assert list(counts.counts) == ["2024-01", "2024-02", "2024-03", "2024-04"]
    for month, sizes in counts.counts.items():
        of_month = [name for name in topics.assigned if name[-1] == str(int(month[-2:]) - 1)]
        assert dict(sizes) == {
            topic: number
            for topic in (0, 1)
            if (number := sum(topics.assigned[name] == topic for name in of_month))
        }
    rows = list(counts.rows())
    assert sum(row["documents"] for row in rows) == 8
    assert rows[0].keys() == {"value", "topic", "name", "documents"}
    assert rows[0]["name"] == topics[rows[0]["topic"]].name
    year = faq.count_topics(topics, "year(created)").counts
    assert (list(year), year["2024"].total()) == (["2024"], 8)


def test_fields_of_lists_and_of_the_name_of_a_column(faq):
    topics = faq.topics(2)
    kinds = faq.count_topics(topics, "kind").counts
    assert {name: sizes.total() for name, sizes in kinds.items()} == {
        "any": 8,
        "bank": 4,
        "visa": 4,
    }
    assert list(faq.count_topics(topics, "topic").counts) == ["0", "1", "2", "3"]


def test_a_field_that_is_missing_or_no_date_is_an_error(faq):
    topics = faq.topics(2)
    with pytest.raises(InputError, match="no document has the field 'creatd'"):
        faq.count_topics(topics, "month(creatd)")
    with pytest.raises(
        InputError, match="the field 'kind' has the value 'visa'; expected ISO dates"
    ):
        faq.count_topics(topics, "month(kind)")


def test_each_topic_gets_the_nearest_name(faq):
    labels = ["money and banks", "visas of offices", "ducks in a river"]
    topics = faq.topics(2, labels=labels)
    names = {faq.get([topic.examples[0].id])[0].id[:4]: topic.name for topic in topics}
    assert names == {"bank": labels[0], "visa": labels[1]}
    assert set(topics.field_values().values()) == set(labels[:2])
    twice = faq.topics(2, labels=["ducks"])
    assert [topic.name for topic in twice] == ["ducks", "ducks (2)"]
    with pytest.raises(InputError, match=r"the label '\?!' has no word with a vector"):
        faq.topics(2, labels=["ducks", "?!"])
    with pytest.raises(InputError, match="found one string 'ducks'; expected a list"):
        faq.topics(2, labels="ducks")
