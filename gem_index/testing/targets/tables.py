"""A table stores and finds what it is given, and a staged one replaces it at once."""

from __future__ import annotations

import numpy as np
import pytest

from gem_index.errors import ConfigError, GemIndexError
from gem_index.targets.protocol import TargetDocument, TargetSchema
from gem_index.testing.targets.base import DIRECTIONS, PLANE, TargetTests, directed, live, vector

__all__ = ["TableTests"]

_SPACE = TargetSchema(fingerprint="e" * 64, dimension=3, token="new")  # noqa: S106 - a mark, no secret


class TableTests(TargetTests):
    """Values, and the states of a table."""

    def test_scores_are_cosines(self, url: str) -> None:
        """A vector of length zero has the score 0, between the near and the opposite ones."""
        table = self.plane(self.open(url), *map(directed, DIRECTIONS))
        hits = table.query(vector("east"), 5)
        found = {hit.id: round(hit.score, 4) for hit in hits}
        expected = {"east": 1.0, "northeast": 0.6, "north": 0.0, "none": 0.0, "west": -1.0}
        if not self.finds_zero_vectors:
            del expected["none"]
        assert found == expected
        assert [hit.id for hit in hits[:2]] == ["east", "northeast"]
        assert hits[-1].id == "west"
        assert table.query(vector("east"), 0) == []

    def test_a_query_of_length_zero(self, url: str) -> None:
        """It has the score 0 with everything, or finds nothing in an engine that refuses vectors of length zero."""
        table = self.plane(self.open(url), *map(directed, DIRECTIONS))
        scores = [hit.score for hit in table.query(vector("none"), 3)]
        assert scores == ([0, 0, 0] if self.finds_zero_vectors else [])

    def test_an_empty_table(self, url: str) -> None:
        """Nothing is found in it, added to it or deleted from it."""
        table = self.plane(self.open(url))
        table.upsert([])
        table.delete([])
        table.delete(["unknown"])
        assert table.count() == 0
        assert table.query(vector("east"), 3) == []
        assert list(table.documents()) == []

    def test_a_replaced_document_keeps_nothing_of_the_old_one(self, url: str) -> None:
        """Its vector, its text and all of its fields are new, also from and to a vector of length zero."""
        table = self.plane(
            self.open(url), directed("east", a=1, b="x"), directed("none", a=1), directed("west")
        )
        table.upsert(
            [
                TargetDocument("none", vector("east")),
                TargetDocument("east", vector("none"), "new", {"c": 2}),
            ]
        )
        found = {document.id: document for document in table.documents()}
        assert (found["none"].text, dict(found["none"].metadata)) == (None, {})
        assert (found["east"].text, dict(found["east"].metadata)) == ("new", {"c": 2})
        assert found["none"].vector.tolist() == [1, 0]
        assert found["east"].vector.tolist() == [0, 0]
        assert [hit.id for hit in table.query(vector("east"), 1)] == ["none"]
        table.delete(["none", "unknown", "none"])
        assert (table.count(), len(found)) == (2, 3)

    def test_the_last_of_two_with_the_same_id_is_kept(self, url: str) -> None:
        """In one batch."""
        vectors = np.eye(2, dtype=np.float32)
        table = self.plane(self.open(url), *(TargetDocument("twice", vector) for vector in vectors))
        assert [document.vector.tolist() for document in table.documents()] == [[0, 1]]
        assert [hit.id for hit in table.query(vectors[0], 9)] == ["twice"]

    def test_metadata_keeps_value_and_type(self, url: str) -> None:
        """Each field that the engine does not name as unsupported, also under names that it may use itself."""
        asked = {
            "text": "a", "id": "my own", "vector": 1, "metadata": 2, "a.b": 1, "line\n数": "v'\"\n数", "whole": 2**53 + 1,
            "small": -(2**63), "float": 1.0, "tenth": 0.1, "huge": 1e300, "true": True, "one": 1, "list": ["b", "a", "a"],
            "deep": {"a": [1, 2.0]}, "mixed": [1, None, "x", True, {}], "nothing": None, "when": "2024-01-01T00:00:00Z",
            "": [], "c": {"c[0]": {"metadata": None}}, "big": 2**63, "uuid": "6d1f5d3c-0d4e-5c0b-9a51-6f0f2f1e4b7a",
        }  # fmt: skip
        target = self.open(url)
        table = self.plane(target)
        kept = {
            name: value for name, value in asked.items() if not target.unsupported({name: value})
        }
        assert {"float", "true", "one"} <= set(kept)
        table.upsert([directed("east", **kept)])
        (found,) = self.table(url).documents()
        assert dict(found.metadata) == kept
        types = {name: type(value) for name, value in found.metadata.items()}
        assert types == {name: type(value) for name, value in kept.items()}

    def test_a_wrong_dimension_is_refused(self, url: str) -> None:
        """By the table itself, before anything is stored."""
        table = self.plane(self.open(url))
        wrong = TargetDocument("wrong", np.ones(3, np.float32))
        for batch in ([wrong], [directed("east"), wrong]):
            with pytest.raises(GemIndexError, match="expected 2 numbers"):
                table.upsert(batch)
        assert table.count() == 0

    def test_readers_see_the_old_table_until_the_switch(self, url: str) -> None:
        """Then they see the table of another model, with its dimension; two switches, as each may use other names."""
        target, old = self.open(url), sorted(DIRECTIONS)
        self.plane(target, *map(directed, DIRECTIONS))
        for name in ("one", "two"):
            target.stage(_SPACE).upsert([TargetDocument("left", np.eye(3, dtype=np.float32)[1])])
            staged = target.stage(_SPACE)
            staged.upsert([TargetDocument(name, np.eye(3, dtype=np.float32)[0])])
            assert sorted(each.id for each in live(target).documents()) == old
            assert [each.id for each in staged.documents()] == [name]
            target.switch()
            assert target.staged() is None
            assert live(target).schema == _SPACE
            assert [hit.id for hit in live(target).query(np.eye(3, dtype=np.float32)[0], 5)] == [
                name
            ]
            old = [name]

    def test_a_switch_needs_a_staged_table(self, url: str) -> None:
        """Without one, readers see what they saw."""
        target = self.open(url)
        self.plane(target, directed("east"))
        with pytest.raises(ConfigError, match=r"found no staged .*; push in full again"):
            target.switch()
        assert live(target).count() == 1

    def test_a_table_is_created_once(self, url: str) -> None:
        """The one that exists keeps its documents."""
        target = self.open(url)
        self.plane(target, directed("east"))
        with pytest.raises(
            ConfigError, match=r"drop it before it is created|another program has created"
        ):
            target.create(PLANE)
        assert self.table(url).count() == 1

    def test_a_dropped_table_is_gone(self, url: str) -> None:
        """So is the staged one; both can be created again."""
        target = self.open(url)
        self.plane(target, directed("east"))
        target.stage(_SPACE)
        for _ in range(2):
            target.drop()
            assert target.live() is target.staged() is None
        assert target.create(PLANE).count() == 0

    def test_two_tables_in_one_place(self, url: str) -> None:
        """Each is filled, replaced and dropped without the other."""
        self.plane(self.open(url), directed("east"))
        other = self.open(self.beside(url))
        table = self.plane(other, directed("west"))
        assert [document.id for document in table.documents()] == ["west"]
        other.drop()
        assert [document.id for document in self.table(url).documents()] == ["east"]
