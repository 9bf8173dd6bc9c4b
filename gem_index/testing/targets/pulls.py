"""A table that gem-index did not create is read by pull, and stays as it is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar
from uuid import UUID

import pytest

from gem_index.errors import ConfigError, MissingFieldError
from gem_index.home.home import Home
from gem_index.home.pulling import pull
from gem_index.targets.protocol import RowsTarget
from gem_index.testing.targets.foreign import ForeignTableTests

__all__ = ["PullTests"]

_TEXTS = (
    "How do I renew a visa?",
    "Wie verlängere ich meinen Ausweis?",
    "如何续签护照",
    "كيف أجدد جواز السفر؟",
)


def _records(count: int) -> list[dict[str, Any]]:
    return [
        {
            "key": str(UUID(int=i + 1)),
            "body": f"{_TEXTS[i % len(_TEXTS)]} {i}",
            "year": 2000 + i % 25,
            "vector": [0.6, 0.8],
        }
        for i in range(count)
    ]


class PullTests(ForeignTableTests):
    """Rows of somebody else."""

    id_field: ClassVar[str] = "key"
    """The field of the key in a row of :meth:`fill`; ``id`` if the engine stores the id outside the fields."""

    text_field: ClassVar[str] = "body"
    """The field of the body; ``text`` if the engine stores the text outside the fields."""

    reads_foreign_tables: ClassVar[bool] = True
    """Whether the target is a :class:`~gem_index.targets.RowsTarget`."""

    def fill(self, url: str, records: Sequence[Mapping[str, Any]]) -> None:
        """Create the live table through the engine's client, as another program would.

        Each record has a ``key`` (a UUID as text), a ``body``, a ``year`` and a ``vector`` of two numbers.
        """
        raise NotImplementedError("create a table that is not of gem-index, with these rows")

    def test_a_table_of_somebody_else_is_pulled(self, tmp_path: Path, url: str) -> None:
        """With all texts, ids and metadata; the second time, nothing is new, and the fields need no names."""
        home, fields = self._home(tmp_path, url)
        records = _records(8)
        self.fill(url, records)
        before = self.stored(url)
        assert pull(home, url, "theirs", reading=fields).added == len(records)
        found = {each.id: each for each in home.collection("theirs").documents()}
        assert {key: each.text for key, each in found.items()} == {
            each["key"]: each["body"] for each in records
        }
        assert all(dict(found[each["key"]].metadata) == {"year": each["year"]} for each in records)
        again = pull(home, url, "theirs")
        assert (again.added, again.updated, again.unchanged) == (0, 0, len(records))
        assert self.stored(url) == before

    def test_a_missing_field_of_somebody_else_is_explained(self, tmp_path: Path, url: str) -> None:
        """The error names the field that is clearly the text; nothing is stored."""
        home, fields = self._home(tmp_path, url)
        self.fill(url, _records(8))
        with pytest.raises(MissingFieldError, match=r"no field 'answer', found .*'year'") as caught:
            pull(home, url, "theirs", reading=fields | {"text_fields": ["answer"]})
        assert caught.value.text_fields == (self.text_field,)
        assert "theirs" not in home

    def test_all_rows_of_somebody_else_are_read(self, tmp_path: Path, url: str) -> None:
        """Also where an engine returns them by pages."""
        self._home(tmp_path, url)
        records = _records(2100)
        self.fill(url, records)
        target = self.open(url)
        assert isinstance(target, RowsTarget)
        rows = {str(row[self.id_field]): row for row in target.rows()}
        assert {key: row[self.text_field] for key, row in rows.items()} == {
            each["key"]: each["body"] for each in records
        }
        assert all(set(row) == {self.id_field, self.text_field, "year"} for row in rows.values())

    def _home(self, tmp_path: Path, url: str) -> tuple[Home, dict[str, Any]]:
        """Return a home, and the names of the fields; an engine that reads no such tables has to say so."""
        home = Home(tmp_path / "home")
        if not self.reads_foreign_tables:
            self.occupy(url, self.foreign_tables[0])
            with pytest.raises(
                ConfigError, match="cannot read foreign tables of this engine; expected"
            ):
                pull(home, url, "theirs")
            pytest.skip("this engine reads no tables of others")
        return home, {"id_field": self.id_field, "text_fields": [self.text_field]}
