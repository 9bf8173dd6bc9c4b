"""Count the documents of each topic by the values of a field or by time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gem_index.collection.corpus.topic_list import Topics
from gem_index.collection.search.periods import part_of_date
from gem_index.files.tables import Tabular

__all__ = ["TopicCounts", "count_topics"]


class TopicCounts(Tabular):
    """The number of documents with each topic and value of a field; a table with a row for each such pair.

    Attributes
    ----------
    counts : dict
        For each value, in ascending order, the number of documents of each topic. The key of a topic is its position in
        the list of topics.
    """

    columns = ("value", "topic", "name", "documents")

    def __init__(self, topics: Topics, counts: Mapping[str, Counter[int]]) -> None:
        self._topics = topics
        self.counts = dict(sorted(counts.items()))

    def rows(self) -> Iterator[dict[str, Any]]:
        """Iterate over the rows, value by value; a topic that has no document with the value has no row."""
        for value, sizes in self.counts.items():
            for topic, documents in sorted(sizes.items()):
                row = (value, topic, self._topics[topic].name, documents)
                yield dict(zip(self.columns, row, strict=True))


def count_topics(
    topics: Topics, rows: Iterable[Mapping[str, Any]], field: str, period: str | None
) -> TopicCounts:
    """Count rows by their topic and by the value of a field; with a period, by the year, month or day of the value.

    Each row has ``topic``, the number of its topic, and may have the field.

    Raises
    ------
    InputError
        If a period is given, and a value is not an ISO date.
    """
    counts: dict[str, Counter[int]] = {}
    for row in rows:
        value = row.get(field)
        if row["topic"] is None or value is None:
            continue
        for each in value if isinstance(value, list) else [value]:
            name = str(each) if period is None else part_of_date(field, each, period)
            counts.setdefault(name, Counter())[row["topic"]] += 1
    return TopicCounts(topics, counts)
