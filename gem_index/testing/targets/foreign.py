"""A table that gem-index did not create is never read, replaced or dropped."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import pytest

from gem_index.collection.collection import Collection
from gem_index.errors import ConfigError
from gem_index.targets.registry import open_target
from gem_index.testing.targets.base import PLANE, TargetTests

__all__ = ["ForeignTableTests"]


class ForeignTableTests(TargetTests):
    """Names that are in use for something else."""

    foreign_tables: ClassVar[Sequence[str]] = ("faq",)
    """Kinds of objects that may have the name of the live table, in words that :meth:`occupy` understands."""

    foreign_staged_tables: ClassVar[Sequence[str]] = ()
    """Kinds of objects that may have the name of another table that a push needs."""

    def occupy(self, url: str, what: str) -> None:
        """Create a table with a row through the engine's client, as another program would."""
        raise NotImplementedError("create a table that is not of gem-index")

    def stored(self, url: str) -> object:
        """Return all tables and their rows, as the engine's client lists them."""
        raise NotImplementedError("return what the database holds")

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run a test for each table of somebody else."""
        if "foreign" in metafunc.fixturenames:
            metafunc.parametrize("foreign", [*self.foreign_tables, *self.foreign_staged_tables])

    def test_a_table_of_somebody_else_is_left_alone(
        self, faq: Collection, url: str, foreign: str
    ) -> None:
        """Neither a target nor a push uses its name."""
        self.occupy(url, foreign)
        before = self.stored(url)
        target = open_target(url)
        calls: list[Callable[[], object]] = [target.drop, lambda: target.stage(PLANE)]
        if foreign in self.foreign_tables:
            calls += [target.live, lambda: target.create(PLANE)]
        for call in calls:
            with pytest.raises(ConfigError, match="which gem-index did not create; expected"):
                call()
        target.close()
        for full in (False, True) if foreign in self.foreign_tables else ():
            with pytest.raises(ConfigError, match="which gem-index did not create; expected"):
                faq.push(url, full=full)
        assert self.stored(url) == before
