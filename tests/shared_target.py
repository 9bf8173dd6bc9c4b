"""A vector database that many processes write to: a file of SQLite."""

from __future__ import annotations

import json
import pickle
import sqlite3
from dataclasses import replace
from pathlib import Path

import numpy as np

from gem_index.common.arrays import WORD_DIMENSIONS
from gem_index.targets import Neighbor, TargetDocument, TargetSchema

ENTRY_POINTS = "[gem_index.targets]\nshared = shared_target:SharedTarget\nsingle = shared_target:SingleTarget\n"


def install(folder: Path) -> None:
    """Write what makes the engine known to a process that has the folder and the tests on its path."""
    info = folder / "shared_target-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shared-target\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(ENTRY_POINTS)


class SharedTable:
    def __init__(self, connection, schema):
        self._connection = connection
        self.schema = schema

    def upsert(self, documents):
        rows = [
            (
                each.id,
                each.vector.tobytes(),
                each.text,
                json.dumps(dict(each.metadata)),
                None if each.words is None else pickle.dumps(each.words),
            )
            for each in documents
        ]
        with self._connection:
            self._connection.executemany("INSERT INTO writes VALUES (?)", [row[:1] for row in rows])
            self._connection.executemany("INSERT OR REPLACE INTO rows VALUES (?, ?, ?, ?, ?)", rows)

    def delete(self, ids):
        with self._connection:
            self._connection.executemany("DELETE FROM rows WHERE id = ?", [(each,) for each in ids])

    def count(self):
        return self._connection.execute("SELECT count(*) FROM rows").fetchone()[0]

    def query(self, vector, k):
        found = [Neighbor(each.id, float(each.vector @ vector)) for each in self.documents()]
        return sorted(found, key=lambda hit: -hit.score)[:k]

    def match(self, words, k):
        found = [Neighbor(each.id, each.words.dot(words)) for each in self.documents()]
        return sorted(found, key=lambda hit: -hit.score)[:k]

    def documents(self):
        rows = self._connection.execute("SELECT * FROM rows")
        for name, vector, text, metadata, words in rows:
            yield TargetDocument(
                name,
                np.frombuffer(vector, np.float32),
                text,
                json.loads(metadata),
                None if words is None else pickle.loads(words),
            )

    def fetch(self, ids):
        wanted = set(ids)
        return {each.id: each for each in self.documents() if each.id in wanted}

    def metadata_of(self, ids):
        wanted = set(ids)
        return {each.id: each.metadata for each in self.documents() if each.id in wanted}

    def finish(self):
        with self._connection:
            self._connection.execute("INSERT INTO finished VALUES (1)")


class SharedTarget:
    many_writers = True
    word_dimensions = WORD_DIMENSIONS

    def __init__(self, url):
        self.url = url
        self.query_table = replace(url, path=f"{url.path}__query")
        self._connection = sqlite3.connect(url.path, timeout=60)

    def unsupported(self, metadata):
        return [name for name in metadata if name == "unsupported"]

    def live(self):
        try:
            (text,) = self._connection.execute("SELECT text FROM schema").fetchone()
        except sqlite3.OperationalError:
            return None
        return SharedTable(self._connection, TargetSchema.from_strings(json.loads(text)))

    def create(self, schema):
        with self._connection:
            self._connection.execute("CREATE TABLE schema (text)")
            self._connection.execute("CREATE TABLE writes (id)")
            self._connection.execute("CREATE TABLE finished (id)")
            self._connection.execute(
                "CREATE TABLE rows (id PRIMARY KEY, vector, text, metadata, words)"
            )
            self._connection.execute(
                "INSERT INTO schema VALUES (?)", [json.dumps(schema.to_strings())]
            )
        return SharedTable(self._connection, schema)

    def close(self):
        self._connection.close()


class SingleTarget(SharedTarget):
    many_writers = False
