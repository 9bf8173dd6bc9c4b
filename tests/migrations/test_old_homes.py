"""Homes written by older versions: everything in them is still found."""

import json
import tarfile
from pathlib import Path

import numpy as np
import pytest

from gem_index import Document, Home

ASSETS = Path(__file__).parent / "assets"


@pytest.fixture
def old(tmp_path):
    """What commit 751a66b (revision 0001) wrote: word vectors, a fitted collection with a tail, a model, an empty one."""
    with tarfile.open(ASSETS / "home-0001.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / "oldhome", json.loads((ASSETS / "home-0001.json").read_text())


def test_a_home_of_revision_0001(old):
    root, expected = old
    home = Home(root)
    assert home.database_revision == "0009"
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


def test_is_left_alone_without_leave(old):
    root, _ = old
    assert Home(root, upgrade=False).database_revision == "0001"
