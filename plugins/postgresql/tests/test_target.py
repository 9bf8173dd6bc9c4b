"""PostgreSQL as a target: the contract, the table in SQL, its index, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import psycopg
import pytest
from gem_index_postgresql import PostgresqlTarget

from gem_index import Document, Home
from gem_index.errors import (
    ConfigError,
    RejectedDocumentsError,
    TargetChangedError,
    TargetUnavailableError,
)
from gem_index.targets import TargetDocument, TargetSchema, TargetUrl, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

DOCUMENTS = [directed(name) for name in DIRECTIONS]


def tables(connection) -> set[str]:
    rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {name for (name,) in rows}


def definitions(connection) -> list[str]:
    rows = connection.execute("SELECT indexdef FROM pg_indexes WHERE tablename = 'faq'")
    return [text for (text,) in rows if "hnsw" in text]


def build(folder: Path, *documents: Document):
    home = Home(folder)
    home.build("faq", documents or [Document(id="1", text="a river")])
    return home.collection("faq")


@pytest.fixture
def url(new_table: str) -> str:
    return new_table


@pytest.fixture
def target(url: str):
    target = open_target(url)
    yield target
    target.close()


@pytest.fixture
def filled(target):
    target.create(PLANE).upsert(DOCUMENTS)
    return target


class PostgresqlContract(TargetContract):
    foreign_tables = tuple(
        f"{kind} {name}" for kind in ("TABLE", "VIEW") for name in ("faq", "faq_gem")
    )
    foreign_staged_tables = ("TABLE faq__staged", "VIEW faq__staged")

    @contextmanager
    def connected(self, url: str) -> Iterator[psycopg.Connection]:
        parsed = TargetUrl.parse(url)
        name, options = parsed.path.strip("/"), parsed.options
        with psycopg.connect(host=options["host"], user="postgres", dbname=name) as connection:
            yield connection

    def occupy(self, url: str, what: str) -> None:
        content = "(a INTEGER)" if what.startswith("TABLE") else "AS SELECT 1 AS a"
        with self.connected(url) as connection:
            connection.execute(f"CREATE {what} {content}")

    def fill(self, url: str, records) -> None:
        with self.connected(url) as connection:
            connection.execute("CREATE EXTENSION vector")
            connection.execute(
                "CREATE TABLE faq (key uuid PRIMARY KEY, body text, year integer, vector vector(2))"
            )
            connection.cursor().executemany(
                "INSERT INTO faq VALUES (%(key)s, %(body)s, %(year)s, %(vector)s::float4[]::vector)",
                records,
            )

    def stored(self, url: str) -> dict[str, list]:
        with self.connected(url) as connection:
            rows = connection.execute(
                "SELECT table_name FROM information_schema.tables WHERE table_schema = 'public'"
            ).fetchall()
            return {
                name: connection.execute(f"SELECT * FROM {name}").fetchall() for (name,) in rows
            }


class TestHnsw(PostgresqlContract):
    overlap = 0.95

    @pytest.fixture
    def url(self, new_table: str) -> str:
        return new_table


class TestExact(PostgresqlContract):
    sentences = 1000
    overlap = 0.99

    @pytest.fixture
    def url(self, new_table: str) -> str:
        return f"{new_table}&index=exact"


def test_the_short_scheme_names_the_same_table(tmp_path: Path, url: str) -> None:
    collection = build(tmp_path)
    assert collection.push(url).added == 1
    assert collection.push(url.replace("postgresql", "postgres")).unchanged == 1


class TestQuery:
    def test_scores_are_inner_products_and_a_zero_vector_has_the_score_0(self, filled) -> None:
        for index in (False, True):
            if index:
                filled.live().finish()
            hits = filled.live().query(np.array([1, 0], np.float32), 5)
            assert [(hit.id, round(hit.score, 6)) for hit in hits if hit.score != 0] == [
                ("east", 1), ("northeast", 0.6), ("west", -1),
            ]  # fmt: skip
            assert {hit.id for hit in hits if hit.score == 0} == {"none", "north"}
        assert filled.live().query(np.array([1, 0], np.float32), 0) == []

    def test_documents_are_of_one_state(self, filled) -> None:
        table = filled.live()
        documents = table.documents()
        first = next(documents)
        table.delete(["west"])
        assert len([first, *documents]) == 5


class TestIndex:
    def test_hnsw_by_inner_product_is_created_once(self, connection, url, tmp_path) -> None:
        faq = build(tmp_path / "home")
        faq.push(url)
        (definition,) = definitions(connection)
        assert "vector_ip_ops" in definition
        assert "m='32'" in definition
        assert "ef_construction='200'" in definition
        faq.upsert([Document(id="2", text="a bank")])
        faq.push(url)
        faq.refit()
        faq.push(url)
        assert len(definitions(connection)) == 1

    def test_an_exact_table_has_none(self, connection, url, tmp_path) -> None:
        build(tmp_path / "home").push(f"{url}&index=exact")
        assert definitions(connection) == []

    def test_options_of_the_index_do_not_name_another_target(self, url, tmp_path) -> None:
        faq = build(tmp_path / "home")
        faq.push(f"{url}&index=exact&type=halfvec")
        assert faq.push(url).unchanged == 1

    def test_options_that_contradict_the_table_are_refused(self, url, tmp_path) -> None:
        faq = build(tmp_path / "home")
        faq.push(url)
        faq.upsert([Document(id="2", text="a bank")])
        with pytest.raises(ConfigError, match="vectors of the type vector .*; expected halfvec"):
            faq.push(f"{url}&type=halfvec")
        with pytest.raises(ConfigError, match="found an HNSW index .*leave index= out"):
            faq.push(f"{url}&index=exact")
        assert faq.push(f"{url}&type=vector&index=hnsw").added == 1
        assert faq.push(f"{url}&type=halfvec&index=exact", full=True).documents == 2

    def test_halfvec(self, connection, url, tmp_path) -> None:
        texts = ["a river", "the bank is closed", "how do I renew a visa?"]
        faq = build(tmp_path / "home", *[Document(id=text, text=text) for text in texts])
        faq.push(f"{url}&type=halfvec")
        [(kind,)] = connection.execute("SELECT DISTINCT pg_typeof(vector)::text FROM faq")
        assert kind == "halfvec"
        assert "halfvec_ip_ops" in definitions(connection)[0]
        target = open_target(url)
        table = target.live()
        stored = {each.id: each.vector for each in table.documents()}
        np.testing.assert_allclose(
            [stored[text] for text in texts], faq.encoder.encode(texts), atol=1e-3
        )
        assert table.query(faq.encoder.encode(["renew a visa"])[0], 1)[0].id == texts[2]
        target.close()

    def test_too_many_dimensions(self, connection, url, tmp_path) -> None:
        target = open_target(url)
        with pytest.raises(ConfigError, match="2001 dimensions; expected at most 2000 .*halfvec"):
            target.create(TargetSchema(fingerprint="f", dimension=2001, token="t"))
        assert tables(connection) == set()
        wide = open_target(f"{url}&index=exact")
        wide.create(TargetSchema(fingerprint="f", dimension=2001, token="t"))
        assert tables(connection) == {"faq", "faq_gem"}
        for each in (target, wide):
            each.close()


class TestSql:
    def test_the_nearest_document_in_plain_sql(self, connection, filled) -> None:
        rows = connection.execute(
            "SELECT id, text FROM faq ORDER BY vector <=> '[0.1,0.9]' LIMIT 1"
        ).fetchall()
        assert rows == [("north", "to the north")]

    def test_metadata_is_jsonb(self, connection, filled) -> None:
        filled.live().upsert([directed("west", year=2024, tags=["a", "b"])])
        rows = connection.execute("SELECT id FROM faq WHERE metadata @> '{\"year\": 2024}'")
        assert rows.fetchall() == [("west",)]

    def test_the_schema_is_written_down(self, connection, filled) -> None:
        assert dict(connection.execute("SELECT key, value FROM faq_gem")) == PLANE.to_strings()

    def test_a_reader_sees_the_old_table_until_the_switch(self, connection, filled) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        assert connection.execute("SELECT count(*) FROM faq").fetchone() == (5,)
        filled.switch()
        assert connection.execute("SELECT id FROM faq").fetchall() == [("west",)]
        assert tables(connection) == {"faq", "faq_gem"}

    def test_a_switch_keeps_grants(self, folder, connection, filled, database) -> None:
        connection.execute('CREATE ROLE "my ""reader" LOGIN')
        connection.execute('GRANT SELECT ON faq TO "my ""reader"')
        connection.execute("GRANT SELECT ON faq TO PUBLIC")
        try:
            filled.stage(PLANE).upsert([directed("west")])
            filled.switch()
            with psycopg.connect(host=str(folder), user='my "reader', dbname=database) as reader:
                assert reader.execute("SELECT id FROM faq").fetchall() == [("west",)]
        finally:
            connection.execute('DROP OWNED BY "my ""reader"')
            connection.execute('DROP ROLE "my ""reader"')

    def test_a_view_of_the_table_stops_the_switch_alone(self, connection, filled) -> None:
        connection.execute("CREATE VIEW mine AS SELECT id FROM faq")
        filled.stage(PLANE).upsert([directed("west")])
        with pytest.raises(ConfigError, match="depend on it.*; drop these views"):
            filled.switch()
        assert filled.live().count() == 5
        assert filled.staged().count() == 1
        connection.execute("DROP VIEW mine")
        filled.switch()
        assert filled.live().count() == 1

    def test_drop_leaves_other_tables(self, connection, filled) -> None:
        connection.execute("CREATE TABLE mine (a INTEGER)")
        filled.stage(PLANE)
        filled.drop()
        assert tables(connection) == {"mine"}
        assert filled.live() is filled.staged() is None

    def test_two_tables_and_a_schema(self, connection, url, filled) -> None:
        connection.execute("CREATE SCHEMA app")
        for name, where in (("table=2", 'public."2"'), ("table=faq&schema=app", "app.faq")):
            other = open_target(url.replace("table=faq", name))
            assert other.live() is None
            other.create(PLANE).upsert([directed("west")])
            other.close()
            assert connection.execute(f"SELECT id FROM {where}").fetchall() == [("west",)]
        assert filled.live().count() == 5


class TestServer:
    def test_a_server_that_closed_the_connection(self, connection, filled) -> None:
        table = filled.live()
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
            "AND datname = current_database()"
        )
        with pytest.raises(TargetUnavailableError, match="cannot be reached"):
            table.count()
        assert table.count() == 5

    def test_a_push_goes_on_when_the_connection_is_lost(
        self, connection, url, tmp_path, monkeypatch
    ) -> None:
        monkeypatch.setattr("gem_index.targets.retries.FIRST_WAIT", 0)
        faq = build(
            tmp_path / "home", *[Document(id=str(i), text=f"a river {i}") for i in range(20)]
        )

        def cut(*_) -> None:
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND datname = current_database()"
            )

        assert faq.push(url, batch=5, progress=cut).added == 20
        assert connection.execute("SELECT count(*) FROM faq").fetchone() == (20,)

    def test_a_refused_connection(self, tmp_path) -> None:
        for url in ("postgresql://127.0.0.1:9/db?table=faq", f"postgresql:///db?host={tmp_path}&table=faq"):  # fmt: skip
            with pytest.raises(TargetUnavailableError, match="cannot be reached") as caught:
                open_target(url)
            assert "\n" not in str(caught.value)

    def test_credentials(self, folder, connection, url, monkeypatch, tmp_path) -> None:
        """From the URL, the environment and a file; a wrong one is not printed."""
        rules = folder / "pg_hba.conf"
        before = rules.read_text()
        connection.execute("CREATE ROLE ann LOGIN PASSWORD 'right' SUPERUSER")
        rules.write_text("local all ann scram-sha-256\n" + before)
        connection.execute("SELECT pg_reload_conf()")
        try:
            ann = url.replace("user=postgres", "user=ann")
            with pytest.raises(ConfigError, match="password") as caught:
                open_target(f"{ann}&password=wrong-one")
            assert "wrong-one" not in str(caught.value)
            assert "\n" not in str(caught.value)
            file = tmp_path / "password"
            file.write_text("right\n")
            monkeypatch.setenv("GEM_INDEX_TARGET_PASSWORD", "right")
            targets = [open_target(ann), open_target(f"{ann}&password_file={file}")]
            for target in targets:
                assert target.live() is None
                assert "right" not in str(target.url)
                target.close()
        finally:
            rules.write_text(before)
            connection.execute("SELECT pg_reload_conf()")
            connection.execute("DROP ROLE ann")

    def test_a_user_without_rights(self, folder, connection, url, filled) -> None:
        connection.execute("CREATE ROLE guest LOGIN")
        connection.execute("GRANT SELECT ON faq, faq_gem TO guest")
        try:
            guest = open_target(url.replace("user=postgres", "user=guest"))
            with pytest.raises(ConfigError, match="permission denied .* ask the database's owner"):
                guest.live().upsert([directed("west")])
            guest.close()
            assert filled.live().count() == 5
        finally:
            connection.execute("DROP OWNED BY guest")
            connection.execute("DROP ROLE guest")

    def test_a_read_only_database(self, connection, database, url, filled) -> None:
        connection.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        target = open_target(url)
        with pytest.raises(ConfigError, match="read-only transaction.*; connect to the primary"):
            target.live().delete(["west"])
        target.close()
        assert filled.live().count() == 5

    def test_zero_bytes_are_refused_by_name(self, filled) -> None:
        table = filled.live()
        bad = TargetDocument("bad", np.array([1, 0], np.float32), "a\0b")
        with pytest.raises(RejectedDocumentsError, match="refused 1 documents, 'bad': .*zero byte"):
            table.upsert([directed("west"), bad])
        with pytest.raises(RejectedDocumentsError):
            table.upsert([TargetDocument("bad", np.array([1, 0], np.float32), "", {"k": "\0"})])
        assert table.count() == 5

    def test_numbers_keep_their_types_or_are_refused(self, filled) -> None:
        kept = {"a": 1, "b": 1.0, "c": -9.9e15, "d": 1e-300, "e": 10**40, "f": [True, 0.1]}
        table = filled.live()
        table.upsert([directed("west", **kept)])
        [found] = [each.metadata for each in table.documents() if each.id == "west"]
        assert found == kept
        assert {name: type(value) for name, value in found.items()} == {
            name: type(value) for name, value in kept.items()
        }
        assert filled.unsupported(kept) == []
        odd = {"big": 1e16, "deep": {"a": [-1e308]}, "ok": 1.5}
        assert filled.unsupported(odd) == ["big", "deep"]
        assert filled.stores_json(['{"a":1,"b":[0.5,"text"]}'])
        assert not filled.stores_json(["{}", json.dumps(odd)])


class TestRefused:
    @pytest.mark.parametrize(
        ("end", "message"),
        [
            ("", "has no table; expected \\?table=NAME"),
            ("&table=a%20b", "found the table name 'a b'"),
            ("&table=a&schema=a%3Bb", "found the table name 'a;b'"),
            ("&table=a&colour=red", "has no option 'colour'"),
            ("&table=a&type=bit", "found type='bit' .*; expected vector or halfvec"),
            ("&table=a&index=ivf", "found index='ivf' .*; expected hnsw or exact"),
        ],
    )
    def test_a_bad_url(self, url: str, end: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            PostgresqlTarget(TargetUrl.parse(url.replace("&table=faq", end)))
        assert "\n" not in str(caught.value)

    def test_a_database_that_does_not_exist(self, url: str, database: str) -> None:
        with pytest.raises(ConfigError, match="does not exist; .*; create it"):
            open_target(url.replace(database, "nosuch"))

    def test_a_dry_run_creates_nothing(self, connection, url: str, tmp_path: Path) -> None:
        build(tmp_path / "home").push(url, dry_run=True)
        assert tables(connection) == set()
        assert connection.execute("SELECT 1 FROM pg_extension WHERE extname = 'vector'").fetchall() == []  # fmt: skip

    def test_a_table_somebody_dropped(self, connection, url: str, tmp_path: Path) -> None:
        faq = build(tmp_path / "home")
        faq.push(url)
        connection.execute("DROP TABLE faq")
        with pytest.raises(TargetChangedError, match="no longer exists"):
            faq.push(url)
        assert faq.push(url, full=True).added == 1


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/postgresql.md"])
def test_the_pages_run(page: str, folder: Path, connection, monkeypatch) -> None:
    monkeypatch.setenv("PGHOST", str(folder))
    monkeypatch.setenv("PGUSER", "postgres")
    connection.execute("CREATE DATABASE support")
    try:
        run_page(Path(__file__).parents[1] / page)
    finally:
        connection.execute("DROP DATABASE support WITH (FORCE)")
