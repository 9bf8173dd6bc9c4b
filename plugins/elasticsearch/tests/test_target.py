"""Elasticsearch and OpenSearch as targets: the contract, requests, bulk files, and what is refused."""

from __future__ import annotations

import copy
import http.client
import json
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from elasticsearch import Elasticsearch
from gem_index_elasticsearch.queries import filters_of
from opensearchpy import OpenSearch
from stub import basic, serve

from gem_index import Document, Home
from gem_index.errors import (
    ConfigError,
    MissingTargetError,
    RejectedDocumentsError,
    TargetUnavailableError,
)
from gem_index.sparse import Analyzer, SparseEncoder
from gem_index.targets import SparseVector, TargetDocument, TargetUrl, conditions_of, open_target
from gem_index.testing import TargetContract, run_page
from gem_index.testing.targets import DIRECTIONS, PLANE, directed

KINDS = ["elasticsearch", "opensearch"]
RULE = SparseEncoder(Analyzer(), 0, 2.0, {}).rule


DOCUMENTS = [directed(name) for name in DIRECTIONS]


def build(folder: Path, *documents: Document):
    home = Home(folder)
    home.build("faq", documents or [Document(id="1", text="a river")])
    return home.collection("faq")


@pytest.fixture(params=KINDS)
def server(request):
    with serve(request.param) as (stub, host):
        stub.host = host
        yield stub


@pytest.fixture
def url(server) -> str:
    return f"{server.kind}+http://{server.host}/?index=faq"


@pytest.fixture
def target(url: str):
    target = open_target(url)
    yield target
    target.close()


@pytest.fixture
def filled(target):
    target.create(PLANE).upsert(DOCUMENTS)
    return target


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    monkeypatch.setattr("gem_index.targets.retries.FIRST_WAIT", 0)


class ServerContract(TargetContract):
    finds_zero_vectors = False
    foreign_tables = ("the index faq", "the alias faq")
    foreign_staged_tables = ("the index faq-staged", "the alias faq-staged")

    def occupy(self, url: str, what: str) -> None:
        _, kind, name = what.split()
        index, aliases = (name, {}) if kind == "index" else ("theirs", {name: {}})
        self.server.indices = {
            index: {"aliases": aliases, "mappings": {}, "settings": {}, "docs": {"a": {}}}
        }

    id_field = "id"

    def fill(self, url: str, records) -> None:
        vectors = {"type": {"elasticsearch": "dense_vector"}.get(self.server.kind, "knn_vector")}
        self.server.indices = {
            "faq": {
                "aliases": {},
                "mappings": {"properties": {"vector": vectors, "body": {"type": "text"}}},
                "settings": {},
                "docs": {
                    each["key"]: {name: each[name] for name in ("body", "year", "vector")}
                    for each in records
                },
            }
        }

    def stored(self, url: str) -> dict:
        return copy.deepcopy(self.server.indices)


class TestElasticsearch(ServerContract):
    @pytest.fixture
    def url(self):
        with serve("elasticsearch") as (self.server, host):
            yield f"elasticsearch+http://{host}/?index=faq"


class TestOpenSearch(ServerContract):
    sentences = 1000

    @pytest.fixture
    def url(self):
        with serve("opensearch") as (self.server, host):
            yield f"opensearch+http://{host}/?index=faq"


class TestBulkFiles(TargetContract):
    reads_foreign_tables = False
    sentences = 1000

    @pytest.fixture
    def url(self, tmp_path):
        return f"elasticsearch://{tmp_path}/files?index=faq"

    def beside(self, url: str) -> str:
        return url.replace("/files", "/files_2")

    def occupy(self, url: str, what: str) -> None:
        folder = Path(TargetUrl.parse(url).path)
        folder.mkdir()
        (folder / what).write_text("mine")

    def stored(self, url: str) -> dict[Path, str]:
        folder = Path(TargetUrl.parse(url).path)
        return {path: path.read_text() for path in folder.rglob("*") if path.is_file()}


class TestWords:
    def test_a_query_of_many_words_is_cut_to_the_heaviest(self, target) -> None:
        table = target.create(replace(PLANE, words=RULE))
        table.upsert([replace(directed("east"), words=SparseVector.summed([7, 8], [0.5, 0.25]))])
        weights = np.full(1500, 0.125)
        weights[8] = 2
        many = SparseVector.summed(np.arange(1500), weights)
        [hit] = table.match(many, 5)
        assert hit.score == 0.125 * 0.5 + 2 * 0.25
        light = SparseVector.summed(np.arange(1500), np.linspace(0.1, 2, 1500))
        assert table.match(light, 5) == [], "the terms 7 and 8 are among the 500 lightest"

    def test_the_server_keeps_nine_bits_and_the_document_all(self, target) -> None:
        table = target.create(replace(PLANE, words=RULE))
        exact = SparseVector.summed([7], [0.3])
        table.upsert([replace(directed("east"), words=exact)])
        [hit] = table.match(SparseVector.summed([7], [1.0]), 5)
        assert hit.score == pytest.approx(0.3, rel=0.004)
        assert hit.score != exact.values[0]
        assert table.fetch(["east"])["east"].words.values.tolist() == exact.values.tolist()


MAPPING = {
    "properties": {
        "lang": {"type": "keyword"},
        "year": {"type": "long"},
        "price": {"type": "float"},
        "new": {"type": "boolean"},
        "author": {"properties": {"name": {"type": "keyword"}}},
    }
}


class TestFilters:
    """Conditions become filters where the server compares as a collection does."""

    @pytest.mark.parametrize(
        ("where", "filters"),
        [
            ({"lang": "de"}, [{"terms": {"metadata.lang": ["de"]}}]),
            ({"lang": {"$in": ["de", "fr"]}}, [{"terms": {"metadata.lang": ["de", "fr"]}}]),
            ({"new": True}, [{"terms": {"metadata.new": [True]}}]),
            ({"year": {"$gt": 2.5}}, [{"range": {"metadata.year": {"gte": 2}}}]),
            ({"year": {"$lte": -2.5}}, [{"range": {"metadata.year": {"lte": -2}}}]),
            (
                {"price": {"$in": [1, 2.5]}},
                [
                    {
                        "bool": {
                            "should": [
                                {"range": {"metadata.price": {"gte": 1, "lte": 1}}},
                                {"range": {"metadata.price": {"gte": 2, "lte": 3}}},
                            ]
                        }
                    }
                ],
            ),
            # a collection tells "2024" from 2024, and true from 1; a server does not
            ({"year": "2024"}, []),
            ({"year": {"$in": [2024, "2024"]}}, []),
            ({"year": True}, []),
            ({"lang": 5}, []),
            ({"new": 1}, []),
            ({"lang": "x" * 8192}, []),
            ({"year": {"$in": list(range(21))}}, []),
            ({"author": "A"}, []),
            ({"unknown": "A"}, []),
        ],
    )
    def test_only_values_of_the_type_of_the_field(self, where, filters) -> None:
        assert filters_of(conditions_of(where), MAPPING) == filters

    def test_before_any_document_has_metadata(self) -> None:
        assert filters_of(conditions_of({"lang": "de"}), {"type": "object"}) == []

    def test_a_field_of_whole_numbers_that_holds_a_fraction(self, filled) -> None:
        table = filled.live()
        table.upsert([directed("east", year=2), directed("north", year=2.7), directed("west", year=-2.7)])  # fmt: skip
        for where, expected in [
            ({"year": {"$gte": 2.5}}, "north"),
            ({"year": 2.7}, "north"),
            ({"year": {"$lt": -2.5}}, "west"),
        ]:
            narrowed = table.narrowed(conditions_of(where))
            assert expected in {hit.id for hit in narrowed.query(np.array([0.6, 0.8]), 5)}


class TestQuery:
    def test_the_official_client_finds_the_nearest(self, server, filled) -> None:
        vector = [0.6, 0.8]
        if server.kind == "elasticsearch":
            client = Elasticsearch(f"http://{server.host}")
            knn = {"field": "vector", "query_vector": vector, "k": 1, "num_candidates": 10}
            found = client.search(index="faq", knn=knn, size=1)
        else:
            client = OpenSearch([f"http://{server.host}"])
            body = {"size": 1, "query": {"knn": {"vector": {"vector": vector, "k": 1}}}}
            found = client.search(index="faq", body=body)
        assert [hit["_id"] for hit in found["hits"]["hits"]] == ["northeast"]
        client.close()

    def test_long_ids_have_a_key_of_their_own(self, server, filled) -> None:
        long = "é" * 400
        table = filled.live()
        table.upsert([TargetDocument(long, np.array([1, 0], np.float32), "far")])
        assert long in {each.id for each in table.documents()}
        assert long in {hit.id for hit in table.query(np.array([1, 0], np.float32), 2)}
        table.delete([long])
        assert table.count() == 5


class TestIndices:
    def test_the_schema_is_in_the_mapping(self, server, filled) -> None:
        [(name, index)] = server.indices.items()
        assert name.startswith("faq-gem-")
        assert index["mappings"]["_meta"] == PLANE.to_strings()
        assert index["aliases"] == {"faq": {}}

    def test_a_reader_sees_the_old_index_until_the_switch(self, server, filled) -> None:
        filled.stage(PLANE).upsert([directed("west")])
        assert len(server.resolve("faq")["docs"]) == 5
        before = len(server.requests)
        filled.switch()
        changes = [each for each in server.requests[before:] if each[0] != "GET"]
        assert changes == [("POST", "/_aliases")]
        assert list(server.resolve("faq")["docs"]) == ["west"]
        assert len(server.indices) == 1

    def test_drop_and_other_indices(self, server, filled) -> None:
        server.indices["faq-mine"] = {"aliases": {}, "mappings": {}, "settings": {}, "docs": {}}
        filled.stage(PLANE)
        filled.drop()
        assert list(server.indices) == ["faq-mine"]
        assert filled.live() is filled.staged() is None

    def test_an_index_deleted_in_the_midst_is_not_made_again(self, server, filled) -> None:
        table = filled.live()
        server.indices.clear()
        with pytest.raises(ConfigError, match="no such index"):
            table.upsert([directed("west")])
        assert not server.indices

    def test_a_dry_run_creates_nothing(self, server, url, tmp_path) -> None:
        build(tmp_path / "home").push(url, dry_run=True)
        assert not server.indices


class TestFailures:
    @pytest.mark.parametrize("failure", [429, 502, 503, 504, "drop", "busy"])
    def test_what_passes_is_tried_again(self, server, url, tmp_path, failure) -> None:
        server.failures = [failure, failure]
        documents = [Document(id=str(i), text=f"a river {i}") for i in range(10)]
        assert build(tmp_path / "home", *documents).push(url).added == 10
        assert server.failures == []
        assert len(server.resolve("faq")["docs"]) == 10

    def test_a_server_that_stays_away(self, server, url, tmp_path) -> None:
        faq = build(tmp_path / "home")
        server.failures = [503] * 100
        with pytest.raises(TargetUnavailableError, match="status 503.*told to") as caught:
            faq.push(url)
        assert "\n" not in str(caught.value)
        server.failures = []
        assert faq.push(url).added == 1

    def test_refused_documents_are_named_and_the_others_stored(self, server, url, tmp_path) -> None:
        years = [2024, 2025, {"from": 1}, True]
        documents = [
            Document(id=f"d{i}", text=f"a river {i}", metadata={"year": year})
            for i, year in enumerate(years)
        ]
        faq = build(tmp_path / "home", *documents)
        with pytest.raises(RejectedDocumentsError, match="refused 2 documents, 'd2', 'd3'") as caught:  # fmt: skip
            faq.push(url)
        assert "field [metadata.year] of type [long]" in str(caught.value)
        assert set(server.resolve("faq")["docs"]) == {"d0", "d1"}
        faq.upsert([Document(id="d2", text="a", metadata={}), Document(id="d3", text="b")])
        assert faq.push(url).documents == 4
        assert len(server.resolve("faq")["docs"]) == 4

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_refused_connection(self, kind) -> None:
        target = open_target(f"{kind}+http://127.0.0.1:9/?index=faq")
        with pytest.raises(TargetUnavailableError, match="cannot be reached") as caught:
            target.live()
        assert "\n" not in str(caught.value)
        target.close()

    @pytest.mark.parametrize(("found", "asked"), [KINDS, KINDS[::-1]])
    def test_a_server_of_another_kind(self, found, asked) -> None:
        with serve(found) as (stub, host):
            target = open_target(f"{asked}+http://{host}/?index=faq")
            with pytest.raises(ConfigError, match=f"found .*; expected (?i:{asked})"):
                target.create(PLANE)
            target.close()
            assert not stub.indices


class TestCredentials:
    def test_user_and_password(self, server, url, monkeypatch) -> None:
        server.keys = {basic("ann", "r1ght")}
        with_user = url.replace("://", "://ann:wr0ng@")
        target = open_target(with_user)
        with pytest.raises(ConfigError, match="check user and password") as caught:
            target.live()
        assert "wr0ng" not in str(caught.value)
        target.close()
        for good in (with_user.replace("wr0ng", "r1ght"), url.replace("://", "://ann@")):
            monkeypatch.setenv("GEM_INDEX_TARGET_PASSWORD", "r1ght")
            target = open_target(good)
            assert target.live() is None
            assert "r1ght" not in str(target.url)
            target.close()

    def test_a_key_from_a_file(self, server, url, tmp_path) -> None:
        server.keys = {"ApiKey k3y" if server.kind == "elasticsearch" else "Bearer k3y"}
        (tmp_path / "key").write_text("k3y\n")
        target = open_target(f"{url}&key_file={tmp_path}/key")
        assert target.live() is None
        target.close()

    def test_a_user_who_may_not_write(self, server, url, filled) -> None:
        server.keys = server.read_only = {basic("guest", "g")}
        target = open_target(url.replace("://", "://guest:g@"))
        with pytest.raises(ConfigError, match="unauthorized.*ask for the right"):
            target.live().upsert([directed("west")])
        target.close()


class TestRefused:
    @pytest.mark.parametrize(
        ("end", "message"),
        [
            ("", "has no index; expected \\?index=NAME"),
            ("?index=FAQ", "found the index name 'FAQ'; expected small letters"),
            ("?index=a*", "found the index name 'a\\*'"),
            ("?index=faq&colour=red", "has no option 'colour'"),
        ],
    )
    @pytest.mark.parametrize("begin", ["elasticsearch+http://h:1/", "opensearch:///folder"])
    def test_a_bad_url(self, begin: str, end: str, message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            open_target(begin + end)
        assert "\n" not in str(caught.value)

    def test_fields_that_no_index_takes(self, filled) -> None:
        bad = {"": 1, " ": 2, "a.": 3, ".b": 4, "ok": {"": 1}, "big": 2**63, "fine": {"a": [1]}}
        assert filled.unsupported(bad) == ["", " ", "a.", ".b", "ok", "big"]

    def test_a_missing_client(self, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "opensearchpy", None)
        with pytest.raises(MissingTargetError, match=r"gem-index-elasticsearch\[opensearch\]"):
            open_target("opensearch+http://h:1/?index=faq")


class TestFiles:
    """The files of a folder are what a server takes."""

    def test_they_bring_a_server_into_step(self, server, tmp_path) -> None:
        faq = build(tmp_path / "home", *[Document(id=f"d{i}", text=f"a river {i}") for i in range(10)])  # fmt: skip
        url = f"{server.kind}://{tmp_path}/files?index=faq"
        faq.push(url, batch=4)
        faq.upsert([Document(id="d1", text="the bank"), Document(id="d2", text="?!")])
        faq.delete(["d7"])
        faq.push(url)
        live = tmp_path / "files/live"
        names = json.loads((live / "_table.json").read_text())["files"]
        assert names == sorted(path.name for path in live.glob("*.ndjson"))

        def send(method: str, path: str, body: bytes, kind: str) -> dict:
            connection = http.client.HTTPConnection(server.host)
            connection.request(method, path, body, {"content-type": kind})
            answer = connection.getresponse()
            assert answer.status == 200
            content = json.loads(answer.read())
            connection.close()
            return content

        send("PUT", "/faq", (live / "index.json").read_bytes(), "application/json")
        for _ in range(2):  # twice, as after an error in between
            for name in names:
                answer = send("POST", "/faq/_bulk", (live / name).read_bytes(), "application/x-ndjson")  # fmt: skip
                assert not answer["errors"]
        docs = server.indices["faq"]["docs"]
        assert {key: source["text"] for key, source in docs.items()} == {
            document.id: document.text for document in faq.documents()
        }
        assert "vector" not in docs["d2"]


@pytest.mark.parametrize("page", ["README.md", "../../docs/cookbook/elasticsearch.md"])
def test_the_pages_run(page: str, monkeypatch) -> None:
    with serve("elasticsearch") as (_, host):
        monkeypatch.setenv("ELASTICSEARCH", host)
        run_page(Path(__file__).parents[1] / page)
