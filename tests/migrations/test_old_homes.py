"""Homes written by older versions: everything in them is still found."""

import hashlib
import json
import sqlite3
import tarfile
from pathlib import Path

import numpy as np
import pytest

import gem_index_migrations
from gem_index import Document, Home
from gem_index.errors import DatabaseVersionError

ASSETS = Path(__file__).parent / "assets"
REVISIONS = sorted(
    path.name[5:9] for path in ASSETS.glob("home-*.json") if path.name != "home-0001.json"
)
NEWEST = "0011"


@pytest.fixture
def old(tmp_path):
    """What commit 751a66b (revision 0001) wrote: word vectors, a fitted collection with a tail, a model, an empty one."""
    with tarfile.open(ASSETS / "home-0001.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "oldhome", json.loads((ASSETS / "home-0001.json").read_text())


def test_a_home_of_revision_0001(old):
    root, expected = old
    home = Home(root)
    assert home.database_revision == NEWEST
    faq = home.collection("faq")
    assert faq.status().fingerprint == expected["fingerprint"]
    home.verify(fix=True)
    found = faq.search("open an account", k=5, mode="dense")
    assert [hit.id for hit in found] == [identifier for identifier, _ in expected["search"]]
    scores = [score for _, score in expected["search"]]
    np.testing.assert_allclose([hit.score for hit in found], scores, atol=1e-6)
    faq.refit()
    assert {hit.id for hit in faq.search("open an account", k=9)} == {hit.id for hit in found}
    model = home.models.open("m")
    assert model.fingerprint == expected["model"]
    np.testing.assert_allclose(
        model.encode(["a bank account"])[0][:8], expected["vector"], atol=1e-6
    )
    info = home.vectors.describe("tiny")
    assert (info.licence, info.options, info.findings.duplicates) == ("CC0", {}, 0)
    home.collection("empty").upsert([Document(id="1", text="a river")])
    assert home.verify() == []
    assert home.collection("faq").search("account", mode="lexical")[0].id in ("q1", "q5")


def opened(tmp_path, revision):
    """What ``make_home.py`` wrote with the last commit of a revision: a home, and what it answered."""
    with tarfile.open(ASSETS / f"home-{revision}.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "oldhome", json.loads((ASSETS / f"home-{revision}.json").read_text())


@pytest.mark.parametrize("revision", REVISIONS)
class TestEachRevision:
    def test_everything_is_found(self, tmp_path, revision):
        root, expected = opened(tmp_path, revision)
        home = Home(root)
        assert home.verify() == []
        faq = home.collection("faq")
        assert home.database_revision == NEWEST
        assert faq.status().fingerprint == expected["fingerprint"]
        assert {d.id: d.text for d in faq.documents()} == expected["documents"]
        for query, before in expected["dense"].items():
            hits = faq.search(query, 5, mode="dense")
            assert [hit.id for hit in hits] == [name for name, _ in before]
            scores = [score for _, score in before]
            np.testing.assert_allclose([hit.score for hit in hits], scores, atol=1e-6)
        assert home.models.open("m").fingerprint == expected["model"]
        assert {hit.id for hit in faq.search("town hall", 2, where={"n": {"$lt": 2}})} <= {
            "l1",
            "q0",
            "q1",
            "l0",
        }

    def test_it_can_be_written(self, tmp_path, revision):
        root, expected = opened(tmp_path, revision)
        faq = Home(root).collection("faq")
        faq.upsert([("new", "where can i renew my garden")])
        faq.set_synonyms([["garden", "allotment"]])
        faq.refit()
        assert faq.search("renew my allotment", 1)[0].id == "new"
        assert len(faq) == len(expected["documents"]) + 1
        assert Home(root).verify() == []


def test_there_is_a_home_of_each_revision():
    """A migration is added: make the home of the revision before it with make_home.py."""
    assert [*REVISIONS, NEWEST] == sorted(name.partition("_")[0] for name in HASHES)[1:]


HASHES = {
    "0001_first_schema.py": "bc0ec0c5f2e616c83575bf9db58b47b7cfad6ff03c32770533ace2d7daebc993",
    "0002_sources_and_kinds.py": "214bb887c76b2f93a580ba9075b16f644875d24eaf51d617d8098b7ebd4c5b5d",
    "0003_fields_and_several_encoders.py": "7c53603f580d4ced1f2c7b721ef842e632df979caa5f64ae14cd5ebc654bc63e",
    "0004_targets.py": "c4592c250773740aa7d4a3bee8f89a5c60834f0b16a16c9260eec9ed5d94b7db",
    "0005_sources.py": "5dc656c90a97826473fa232c61db7602acac582978c829b4d1331e1216d76cea",
    "0006_api_keys.py": "3bd68499c5d5497df9b06dcd0e7f96d0acfb3f5ed8235050e2da205266121ba6",
    "0007_analysis.py": "25d43f10293ee542a401b8837140547124962f91b37fd9011b63c5b2113a3ed6",
    "0008_descriptions.py": "6ce0a0a8cb8c767ae29370827e92f877bed41ffb99d2abc3913035d54177c421",
    "0009_calibrations.py": "b30dd9d0d3143707e843bb795036e567cbe001bb4eb40a7c1f3e4bc2c2088638",
    "0010_synonyms.py": "431f9613f678a97cefbc727f3e964e1b321f12b18e4d670d5693577613580ba0",
    "0011_makers_of_keys.py": "857f7fb43248f4bfaeb00f49e98722c862faf0cfbe73260dc74ad680d593923e",
}


def test_migrations_are_not_changed_any_more():
    """Homes of their time exist: a change of the schema is a new migration. (A new one gets its line here.)"""
    folder = Path(gem_index_migrations.__file__).parent / "versions"
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.glob("0*.py"))
    }
    assert found == HASHES


def test_an_older_home_that_cannot_be_written_says_so(old, monkeypatch):
    root, _ = old
    monkeypatch.setattr("gem_index.store.database.is_writable", lambda _: False)
    with pytest.raises(
        DatabaseVersionError,
        match="has the older schema 0001 and cannot be written; expected .* writable once",
    ):
        Home(root)


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE collections DROP COLUMN analysis",
        "DROP TABLE api_keys",
        "UPDATE alembic_version SET version_num = '0007'",
        "UPDATE alembic_version SET version_num = '0001'",
    ],
)
def test_a_home_of_a_development_version_is_refused_in_one_line(tmp_path, change):
    """Its migrations had other contents under the same number."""
    home = Home(tmp_path / "home")
    home.create_collection("c")
    home.workspace.database.close()
    with sqlite3.connect(tmp_path / "home" / "gem-index.sqlite3") as connection:
        connection.execute(change)
    connection.close()

    def use():
        opened = Home(tmp_path / "home")
        opened.keys.list()
        opened.collections()

    with pytest.raises(DatabaseVersionError) as refused:
        use()
    assert "other tables than its schema says" in str(refused.value)
    assert "export its collections with the development version that made it" in str(refused.value)
    assert "\n" not in str(refused.value)


def test_is_left_alone_without_leave(old):
    root, _ = old
    assert Home(root, upgrade=False).database_revision == "0001"
