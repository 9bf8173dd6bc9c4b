"""Collections over HTTP: their documents, searches, care."""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from dataclasses import asdict
from typing import ClassVar

import pytest
from fastapi.testclient import TestClient

from gem_index import Home, WeightedText
from gem_index.collection import Collection
from gem_index.errors import GemIndexError
from gem_index.server import documents, open_collections
from gem_index.server.app import create_app
from gem_index.server.settings import Limits
from gem_index.store.documents import DocumentRepository

ROWS = [
    {"id": "1", "text": "renew a passport", "metadata": {"lang": "en", "year": 2020}},
    {"id": "2", "text": "open a bank account", "metadata": {"lang": "en", "year": 2024}},
    {"id": "a/b c?", "text": "einen Pass verlängern", "metadata": {"lang": "de", "year": 2024}},
    {"id": "4", "text": "a river bank with ducks", "metadata": {"lang": "en", "year": 2021}},
]

NDJSON = {"Content-Type": "application/x-ndjson"}


async def streamed(app, receive, send):
    """Send a stream in parts; the test client would send one part."""
    headers = [(b"host", b"localhost"), (b"content-type", b"application/x-ndjson")]
    headers.append((b"transfer-encoding", b"chunked"))
    scope = {"type": "http", "method": "POST", "headers": headers, "query_string": b""}
    scope |= {"path": "/collections/faq/documents/stream", "scheme": "http"}
    async with app.router.lifespan_context(app):
        await app({**scope, "http_version": "1.1", "server": ("a", 1)}, receive, send)


@pytest.fixture
def faq(client):
    """The address of a collection with four documents."""
    assert client.post("/collections", json={"name": "faq"}).status_code == 201
    stored = client.put("/collections/faq/documents", json={"documents": ROWS})
    assert stored.status_code == 200, stored.text
    return "/collections/faq"


class TestWeights:
    """Texts whose parts count differently, such as a title before its text."""

    TEXT = WeightedText.joined([("a visa 😀", 2.0), ("where do I get one?", 1.0)])
    ROW: ClassVar = {"id": "w", "text": str(TEXT), "metadata": {"n": 1}, "weights": TEXT.weights}

    @pytest.mark.parametrize("stream", [False, True])
    def test_they_are_stored_and_returned(self, client, home, faq, stream):
        if stream:
            line = json.dumps(self.ROW)
            answer = client.post(f"{faq}/documents/stream", content=line, headers=NDJSON)
        else:
            answer = client.put(f"{faq}/documents", json={"documents": [self.ROW]})
        assert answer.json()["added"] == 1, answer.text
        [found] = home.collection("faq").get(["w"])
        assert (found.text, found.text.weights) == (self.TEXT, self.TEXT.weights)
        expected = json.loads(json.dumps(self.ROW))
        assert client.get(f"{faq}/documents/w").json() == expected
        assert expected in client.get(f"{faq}/documents").json()["documents"]
        again = client.put(f"{faq}/documents", json={"documents": [expected]})
        assert again.json()["unchanged"] == 1
        assert "weights" not in client.get(f"{faq}/documents/1").json()

    @pytest.mark.parametrize(
        ("weights", "told"),
        [([[3, 1.0]], "3"), ([[30, 1000.0]], "1000"), ([[30]], "weights"), ("heavy", "weights")],
    )
    def test_wrong_ones_are_told(self, client, faq, weights, told):
        row = self.ROW | {"weights": weights}
        answer = client.put(f"{faq}/documents", json={"documents": [row]})
        assert answer.status_code in (400, 422)
        assert told in answer.json()["error"]["message"]
        line = json.dumps(row)
        answer = client.post(f"{faq}/documents/stream", content=line, headers=NDJSON)
        assert answer.status_code == 400
        assert "line 1" in answer.json()["error"]["message"]

    def test_a_line_without_metadata_has_a_field_of_that_name(self, client, home, faq):
        line = json.dumps({"id": "x", "text": "a scale", "weights": [1, 2]})
        client.post(f"{faq}/documents/stream", content=line, headers=NDJSON)
        assert home.collection("faq").get(["x"])[0].metadata == {"weights": [1, 2]}


class TestCreate:
    def test_create_list_status_drop(self, client, home):
        made = client.post("/collections", json={"name": "faq", "index": "flat"})
        assert made.status_code == 201
        assert made.json() == asdict(home.collection("faq").status())
        assert client.get("/collections").json()["collections"] == [made.json()]
        assert client.get("/collections/faq").json() == made.json()
        assert client.delete("/collections/faq").json() == {"dropped": "faq"}
        assert "faq" not in home
        assert client.get("/collections/faq").status_code == 404

    def test_the_collections_that_are_used_stay_open(self, client, monkeypatch):
        monkeypatch.setattr(open_collections, "_MOST", 2)
        opened = []
        find = Home.collection
        monkeypatch.setattr(
            Home, "collection", lambda self, name: opened.append(name) or find(self, name)
        )
        for name in ("a", "b", "c"):
            client.post("/collections", json={"name": name})
        for name in ("a", "b", "a", "c", "a", "c", "b"):
            assert client.get(f"/collections/{name}").json()["name"] == name
        assert opened == ["a", "b", "c", "b"]

    def test_a_collection_made_again_is_another(self, client, home, faq):
        assert client.post(f"{faq}/search", json={"query": "passport"}).json()["results"]
        home.drop("faq")
        home.create_collection("faq").upsert([("9", "a passport")])
        [hit] = client.post(f"{faq}/search", json={"query": "passport"}).json()["results"]
        assert hit["id"] == "9"

    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ({"name": "../up"}, 400, "collection name"),
            ({"name": ""}, 400, "collection name"),
            ({}, 422, "name"),
            ({"name": "x", "vectors": "/etc/passwd"}, 404, "'/etc/passwd'"),
            (
                {"name": "x", "vectors": "https://example.org/v.txt"},
                404,
                "'https://example.org/v.txt'",
            ),
            ({"name": "x", "vectors": "glove-6b-50d+./v.txt"}, 404, "vectors"),
            ({"name": "x", "preset": "/etc/passwd"}, 400, "preset"),
            ({"name": "x", "index": "nonsense"}, 400, "nonsense"),
        ],
    )
    def test_what_is_refused_leaves_nothing(self, client, home, body, status, told):
        before = home.vectors.list()
        answer = client.post("/collections", json=body)
        assert answer.status_code == status
        assert told in answer.json()["error"]["message"]
        assert home.collections() == []
        assert home.vectors.list() == before

    @pytest.mark.parametrize("vectors", ["{}", "wordllama+{}", "wordllama*0.5+{}*2"])
    def test_word_vectors_in_a_file_of_the_server_are_refused(
        self, client, home, vectors_folder, vectors
    ):
        body = {"name": "x", "vectors": vectors.format(vectors_folder)}
        answer = client.post("/collections", json=body)
        assert answer.status_code == 404
        assert "no word vectors are named '/" in answer.json()["error"]["message"]
        assert home.collections() == []


class TestDocuments:
    def test_stored_ones_are_read_back(self, client, faq):
        for row in ROWS:
            path = row["id"].replace("?", "%3F")
            assert client.get(f"{faq}/documents/{path}").json() == row

    def test_an_upsert_reports_what_it_did(self, client, faq):
        changed = [ROWS[0], {"id": "2", "text": "close a bank account"}, {"id": "5", "text": "new"}]
        report = client.put(f"{faq}/documents", json={"documents": changed}).json()
        counted = {name: report[name] for name in ("added", "updated", "unchanged", "documents")}
        assert counted == {"added": 1, "updated": 1, "unchanged": 1, "documents": 5}

    def test_one_bad_document_stores_none(self, client, faq):
        body = {"documents": [{"id": "7", "text": "x"}, {"id": "7", "text": "y"}]}
        assert client.put(f"{faq}/documents", json=body).status_code == 400
        assert client.get(f"{faq}/documents/7").status_code == 404

    def test_a_page_of_a_list(self, client, faq):
        first = client.get(f"{faq}/documents", params={"limit": 3}).json()
        second = client.get(f"{faq}/documents", params={"limit": 3, "offset": 3}).json()
        assert first["total"] == second["total"] == 4
        assert first["documents"] + second["documents"] == ROWS
        where = json.dumps({"year": {"$gte": 2021}, "lang": "en"})
        found = client.get(f"{faq}/documents", params={"where": where}).json()
        assert [each["id"] for each in found["documents"]] == ["2", "4"]
        assert found["total"] == 2
        for bad in ("{", "[]", '{"year": {"$near": 1}}'):
            assert client.get(f"{faq}/documents", params={"where": bad}).status_code == 400

    def test_a_page_reads_no_other_texts(self, client, faq, monkeypatch):
        read: list[int] = []
        by_seq = DocumentRepository.by_seq

        def noting(documents, seqs):
            read.extend(seqs)
            return by_seq(documents, seqs)

        monkeypatch.setattr(DocumentRepository, "by_seq", noting)
        page = client.get(f"{faq}/documents", params={"offset": 1, "limit": 2}).json()
        assert page["documents"] == ROWS[1:3]
        assert len(read) == 2
        for offset, status in ((2**53, 200), (2**53 + 1, 422), (-1, 422)):
            answer = client.get(f"{faq}/documents", params={"offset": offset})
            assert answer.status_code == status

    def test_a_field_of_another_name_is_refused(self, client, faq):
        for path, body in (
            ("search", {"query": "bank", "filter": {"lang": "de"}}),
            ("explain", {"text": "bank", "whit": "river"}),
            ("push", {"target": "x", "dryrun": True}),
            ("documents/delete", {"ids": ["1"], "limit": 0}),
            ("duplicates", {"treshold": 1}),
        ):
            answer = client.post(f"{faq}/{path}", json=body)
            assert answer.status_code == 422, path
            name = list(body)[-1]
            told = f"found the field '{name}'; expected none of that name"
            assert answer.json()["error"]["message"] == told
        rows = [{"id": "9", "text": "x", "lang": "en"}]
        answer = client.put(f"{faq}/documents", json={"documents": rows})
        assert answer.status_code == 422
        told = "found the field 'documents.0.lang'; expected none of that name"
        assert answer.json()["error"]["message"] == told

    def test_delete_by_id_and_by_filter(self, client, faq):
        body = client.post(f"{faq}/documents/delete", json={"ids": ["1", "nope"]}).json()
        assert body == {"deleted": 1, "missing": ["nope"]}
        body = client.post(f"{faq}/documents/delete", json={"where": {"lang": "en"}}).json()
        assert body == {"deleted": 2, "missing": []}
        assert client.get(f"{faq}/documents").json()["documents"] == [ROWS[2]]
        for bad in ({}, {"where": {}}, {"ids": ["1"], "where": {"lang": "en"}}):
            assert client.post(f"{faq}/documents/delete", json=bad).status_code == 400
        assert client.get(f"{faq}/documents").json()["total"] == 1

    def test_a_missing_document_is_named(self, client, faq):
        answer = client.get(f"{faq}/documents/nope")
        assert answer.status_code == 404
        assert answer.json()["error"]["message"] == (
            "the collection faq has no document 'nope'; expected one that GET /collections/faq/documents lists"
        )


class TestStream:
    def test_lines_in_parts_of_any_size(self, client, faq, home):
        lines = [json.dumps({"id": str(i), "text": f"text {i} äöü"}) for i in range(2500)]
        whole = ("\n\n".join(lines)).encode()

        def parts():
            for begin in range(0, len(whole), 977):
                yield whole[begin : begin + 977]

        answer = client.post(f"{faq}/documents/stream", content=parts(), headers=NDJSON)
        assert answer.json() == {"collection": "faq", "added": 2497, "updated": 3, "unchanged": 0}
        assert len(home.collection("faq")) == 2501

    @pytest.mark.parametrize(
        ("line", "told"),
        [
            (b"{", "line 1502 is not JSON"),
            (b"[1]", "line 1502 is [1]; expected an object with id and text"),
            (b'{"id": "1"}', "line 1502"),
            (b'{"id": "1", "text": 3}', "line 1502"),
            (b'{"id": [], "text": "x"}', "line 1502"),
            (b'{"id": "1", "text": "x", "metadata": [1]}', "line 1502"),
            (b'{"id": "1", "text": "x", "metadata": []}', "line 1502"),
            (b"\xff", "line 1502 is not UTF-8 at byte 1; expected JSON in UTF-8"),
            (
                b'{"id": "1", "text": "x", "lang": "en", "metadata": {}}',
                "line 1502 has the field 'lang' beside metadata; expected it inside metadata",
            ),
        ],
    )
    def test_an_error_names_its_line_and_what_is_stored(self, client, faq, home, line, told):
        good = [json.dumps({"id": f"s{i}", "text": f"text {i}"}).encode() for i in range(1501)]
        answer = client.post(
            f"{faq}/documents/stream", content=b"\n".join([*good, line, *good]), headers=NDJSON
        )
        assert answer.status_code == 400
        body = answer.json()
        assert told in body["error"]["message"]
        assert body["stored"] == {"added": 1000, "updated": 0, "unchanged": 0}
        assert len(home.collection("faq")) == 1004

    def test_other_fields_are_metadata_as_in_files(self, client, faq, tmp_path):
        lines = b'\xef\xbb\xbf{"id": "5", "text": "a visa", "lang": "en"}\n' + (
            b'{"id": "6", "text": "a visa", "metadata": {"lang": "de"}}\n{"id": "7", "text": "x", "metadata": null}'
        )
        answer = client.post(f"{faq}/documents/stream", content=lines, headers=NDJSON)
        assert answer.json()["added"] == 3
        found = [client.get(f"{faq}/documents/{name}").json()["metadata"] for name in "567"]
        assert found == [{"lang": "en"}, {"lang": "de"}, {}]

    def test_streams_share_the_memory_of_bodies(self, home, caplog):
        app = create_app(home, limits=Limits(memory=400, body=300))
        line = json.dumps({"id": "1", "text": "x" * 200}).encode()
        with TestClient(app) as client:
            client.post("/collections", json={"name": "faq"})
            address = "/collections/faq/documents/stream"
            answer = client.post(address, content=b"\n".join([line, b" " * 250]), headers=NDJSON)
            assert answer.status_code == 503
            assert answer.headers["retry-after"] == "1"
            assert answer.json()["stored"] == {"added": 0, "updated": 0, "unchanged": 0}
            for _ in range(3):  # what was refused is free again, and what was passed over or stored
                answer = client.post(
                    address, content=b" " * 100 + b"\n" + line + b"\n\n", headers=NDJSON
                )
                assert answer.status_code == 200
            assert app.state.context.memory.held == 0
        assert not [each for each in caplog.records if each.levelname == "ERROR"]

    def test_a_stream_may_be_larger_than_the_memory_of_the_server(self, home):
        """What is stored is released, and blank lines too."""
        home.create_collection("faq")
        lines = [json.dumps({"id": str(i), "text": f"{i} " * 100}).encode() for i in range(50)]

        app = create_app(home, limits=Limits(memory=3000, body=1000))
        parts = iter([line + b"\n" + b" " * 400 + b"\n" for line in lines])
        sent = []

        async def receive():
            part = next(parts, b"")
            return {"type": "http.request", "body": part, "more_body": bool(part)}

        async def send(message):
            sent.append(message)

        asyncio.run(streamed(app, receive, send))
        assert json.loads(sent[1]["body"]) == {
            "collection": "faq",
            "added": 50,
            "updated": 0,
            "unchanged": 0,
        }
        assert app.state.context.memory.held == 0

    def test_the_time_that_the_server_needs_is_not_that_of_the_client(self, home, monkeypatch):
        """A part arrives soon after it is asked for, but storing the one before takes longer than a part may."""
        home.create_collection("faq")
        upsert = Collection.upsert

        def slow(*arguments):
            time.sleep(0.5)
            return upsert(*arguments)

        monkeypatch.setattr(Collection, "upsert", slow)
        monkeypatch.setattr(documents, "_BATCH", 1)
        parts = iter([b'{"id": "%d", "text": "a visa"}\n' % number for number in range(3)])
        sent = []

        async def receive():
            await asyncio.sleep(0.05)
            part = next(parts, b"")
            return {"type": "http.request", "body": part, "more_body": bool(part)}

        async def send(message):
            sent.append(message)

        asyncio.run(streamed(create_app(home, limits=Limits(seconds=0.3)), receive, send))
        assert sent[0]["status"] == 200, sent
        assert json.loads(sent[1]["body"])["added"] == 3

    @pytest.mark.parametrize(
        ("lines", "told"),
        [
            (b'\n \n{"id": "1"}\n', "line 3 is {'id': '1'}; expected an object with id and text"),
            (b'\n\n\n{"id": "1"}', "line 4 is {'id': '1'}; expected an object with id and text"),
            (b'{"text": "a"}', "line 1 is {'text': 'a'}; expected an object with id and text"),
            (b'\n{"id": "1", "text": "' + b"a" * 901 + b'"}', "line 2: text 0 has 901 characters; expected at most 900"),
            (b'\n\n{"id": "", "text": "a"}', "line 3: the id has 0 characters; expected 1 to 512"),
            (b"\n" + b"a" * 1001, "line 2 has more than 1000 bytes; expected fewer"),
        ],
    )  # fmt: skip
    def test_blank_lines_count_in_the_number_of_a_line(self, home, lines, told):
        home.create_collection("faq")
        limits = Limits(body=1000, characters=900)
        with TestClient(create_app(home, limits=limits)) as client:
            address = "/collections/faq/documents/stream"
            answer = client.post(address, content=lines, headers=NDJSON).json()
        assert answer["error"]["message"] == told
        assert answer["stored"] == {"added": 0, "updated": 0, "unchanged": 0}

    def test_a_long_line_is_refused_while_it_arrives(self, home):
        home.create_collection("faq")
        with TestClient(create_app(home, limits=Limits(body=1000))) as client:
            sent = 0

            def endless():
                nonlocal sent
                for _ in range(10_000):
                    sent += 500
                    yield b"x" * 500

            answer = client.post(
                "/collections/faq/documents/stream", content=endless(), headers=NDJSON
            )
            assert answer.status_code == 413
            assert "line 1 has more than 1000 bytes" in answer.json()["error"]["message"]


class TestSearch:
    def test_hits_are_those_of_the_collection(self, client, faq, home):
        options = {"mode": "dense", "where": {"lang": "en"}, "why": True, "k": 2}
        body = client.post(f"{faq}/search", json={"query": "passport renewal", **options}).json()
        expected = home.collection("faq").search("passport renewal", **options)
        plain = [hit.to_dict(why=True) for hit in expected]
        short = client.post(f"{faq}/search", json={"query": "passport", "why": True, "pairs": 1})
        assert [len(hit["why"]["pairs"]) for hit in short.json()["results"]] == [1] * 4
        assert body == json.loads(
            json.dumps({"query": "passport renewal", "results": plain, "corrected": {}})
        )
        assert body["results"][0]["id"] == "1"

    def test_several_queries_at_once(self, client, faq, home):
        queries = ["passport renewal", "bank"]
        body = client.post(f"{faq}/search", json={"queries": queries, "k": 3}).json()
        second = client.post(f"{faq}/search", json={"queries": queries, "k": 2, "offset": 1}).json()
        assert [each["results"] for each in second["searches"]] == [
            each["results"][1:] for each in body["searches"]
        ]
        for query, answer in zip(queries, body["searches"], strict=True):
            alone = client.post(f"{faq}/search", json={"query": query, "k": 3}).json()
            assert answer == alone

    def test_order_by_metadata(self, client, faq, home):
        for options in ({"boost": "year:2000"}, {"sort_by": "-year"}):
            body = {"query": "passport", **options}
            found = client.post(f"{faq}/search", json=body).json()["results"]
            expected = home.collection("faq").search("passport", **options)
            assert found == json.loads(json.dumps([hit.to_dict() for hit in expected]))
            several = client.post(f"{faq}/search", json={"queries": ["passport"], **options}).json()
            assert several["searches"][0]["results"] == found
        failed = client.post(f"{faq}/search", json={"query": "passport", "boost": "year"})
        assert failed.status_code == 400
        assert "expected FIELD:NUMBER" in failed.json()["error"]["message"]

    def test_weak_results(self, client, faq, home):
        failed = client.post(f"{faq}/search", json={"query": "passport", "min_score": "auto"})
        assert failed.status_code == 400
        assert "calibrate it in the server's home" in failed.json()["error"]["message"]
        rows = [(f"{row['text']} {n}", row["id"]) for row in ROWS for n in range(4)]
        bound = home.collection("faq").calibrate(rows).modes["hybrid"].min_score
        found = client.post(f"{faq}/search", json={"query": "passport"}).json()["results"]
        assert [hit["weak"] for hit in found] == [hit["score"] < bound for hit in found]
        strong = client.post(f"{faq}/search", json={"query": "passport", "min_score": "auto"})
        assert strong.json()["results"] == [hit for hit in found if not hit["weak"]]
        assert client.get(faq).json()["calibration"] == "valid"

    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            ({}, 400, "neither query nor queries"),
            ({"query": "a", "min_score": "high"}, 422, "min_score"),
            ({"query": "a", "queries": ["b"]}, 400, "query and queries"),
            ({"query": "?!"}, 422, "word"),
            ({"query": "a", "k": 0}, 422, "k"),
            ({"query": "a", "k": 10_001}, 422, "k"),
            ({"query": "a", "mode": "sparse"}, 400, "sparse"),
            ({"query": "a", "fusion": "sum"}, 400, "sum"),
            ({"query": "a", "where": {"lang": {"$near": 1}}}, 400, "$near"),
            ({"queries": ["a", "!"]}, 400, "query 2"),
            ({"queries": ["a"] * 11, "k": 1000}, 413, "11 queries with k 1000"),
            ({"query": "a", "k": 1000, "offset": 9001}, 413, "offset 9001; expected at most 10000"),
            ({"query": "a", "offset": -1}, 422, "offset"),
            ({"query": "a" * 1_000_001}, 413, "characters"),
            ({"query": "a" * 1001, "why": True}, 413, "1001 characters"),
            ({"query": "a", "why": True, "k": 101}, 400, "k is 101 with why"),
        ],
    )
    def test_bad_input(self, client, faq, body, status, told):
        answer = client.post(f"{faq}/search", json=body)
        assert answer.status_code == status, answer.text
        assert told in answer.json()["error"]["message"]

    def test_similar_rerank_explain(self, client, faq, home):
        faq_itself = home.collection("faq")
        near = client.post(f"{faq}/similar", json={"id": "2", "k": 1}).json()
        assert [hit["id"] for hit in near["results"]] == [faq_itself.similar("2", 1)[0].id]
        asked = {"query": "bank", "candidates": ["ducks", "a bank", "a passport"], "top_n": 2}
        ranked = client.post(f"{faq}/rerank", json=asked).json()["results"]
        expected = faq_itself.rerank("bank", asked["candidates"], 2)
        assert ranked == [asdict(each) for each in expected]
        body = client.post(f"{faq}/explain", json={"text": "a bank", "with": "river bank"}).json()
        assert body["cosine"] == pytest.approx(
            faq_itself.encoder.similarity("a bank", "river bank"), abs=1e-6
        )
        words = client.post(f"{faq}/explain", json={"text": "a bank"}).json()["words"]
        assert [word["token"] for word in words] == ["a", "bank"]


class TestFields:
    def test_fields_and_counts_are_those_of_the_library(self, client, faq, home):
        faq_itself = home.collection("faq")
        found = client.get(f"{faq}/fields").json()["fields"]
        fields = faq_itself.metadata_fields()
        assert [each["name"] for each in found] == [each.name for each in fields]
        assert [each["distinct"] for each in found] == [each.distinct for each in fields]
        body = {"by": ["lang"], "where": {"lang": {"$exists": True}}, "limit": 1}
        counted = client.post(f"{faq}/count", json=body).json()
        expected = faq_itself.count_by("lang", body["where"], 1)
        assert counted["documents"] == expected.documents > 0
        assert [each["values"] for each in counted["counts"]] == [
            [asdict(value) for value in expected.values]
        ]
        plain = client.post(f"{faq}/count", json={}).json()
        assert plain == {"documents": faq_itself.count(), "counts": []}

    def test_documents_in_an_order(self, client, faq, home):
        faq_itself = home.collection("faq")
        for options in ({"newest_first": True}, {"sort_by": "-lang"}):
            found = client.get(f"{faq}/documents", params=options).json()["documents"]
            assert [each["id"] for each in found] == [d.id for d in faq_itself.documents(**options)]


class TestCare:
    def test_refit_answers_at_its_end(self, client, faq, home):
        before = client.get(faq).json()["fingerprint"]
        after = client.post(f"{faq}/refit").json()
        assert after["fingerprint"] != before
        assert after == client.get(faq).json()
        assert after["fitted"] == 4

    def test_refit_sends_events_to_who_asks(self, client, faq, home):
        lines = [json.dumps({"id": str(i), "text": f"word{i} bank {i}"}) for i in range(3000)]
        client.post(f"{faq}/documents/stream", content="\n".join(lines), headers=NDJSON)
        answer = client.post(f"{faq}/refit", headers={"Accept": "text/event-stream"})
        assert answer.headers["content-type"].startswith("text/event-stream")
        events = [block.split("\n") for block in answer.text.strip().split("\n\n")]
        kinds = [block[0].removeprefix("event: ") for block in events]
        assert kinds[-1] == "done"
        assert set(kinds[:-1]) == {"progress"}
        progress = json.loads(events[0][1].removeprefix("data: "))
        assert set(progress) == {"stage", "done", "total"}
        assert json.loads(events[-1][1].removeprefix("data: ")) == client.get(faq).json()

    def test_an_unknown_collection_has_a_status_also_for_events(self, client):
        answer = client.post("/collections/no/refit", headers={"Accept": "text/event-stream"})
        assert answer.status_code == 404

    def test_an_error_is_the_last_event(self, client, home):
        client.post("/collections", json={"name": "none"})
        answer = client.post("/collections/none/refit", headers={"Accept": "text/event-stream"})
        blocks = answer.text.strip().split("\n\n")
        kind, data = blocks[-1].split("\n")
        with pytest.raises(GemIndexError) as raised:
            home.collection("none").refit()
        assert kind == "event: error"
        assert json.loads(data.removeprefix("data: "))["message"] == str(raised.value)

    def test_calibrate(self, client, faq, home):
        texts = [
            {"id": f"c{i}", "text": f"question {i} about the visa {i} of week {i}"}
            for i in range(20)
        ]
        client.put(f"{faq}/documents", json={"documents": texts})
        found = client.post(f"{faq}/calibrate", json={}).json()
        assert found == asdict(home.collection("faq").calibration)
        assert found["known_answers"] is False
        assert client.get(faq).json()["calibration"] == "valid"
        queries = [{"query": each["text"], "expected": [each["id"]]} for each in texts]
        known = client.post(f"{faq}/calibrate", json={"queries": queries}).json()
        assert (known["known_answers"], known["queries"]) == (True, 20)
        wrong = [{"query": "visa", "expected": ["gone"]}]
        answer = client.post(f"{faq}/calibrate", json={"queries": wrong * 10})
        assert answer.status_code == 400
        assert client.get(faq).json()["calibration"] == "valid"

    def test_drift_and_duplicates(self, client, faq, home):
        drift = client.get(f"{faq}/drift").json()
        assert drift["documents"] == 4
        assert (drift["novelty"], drift["advice"]) == (None, "none")
        client.put(
            f"{faq}/documents", json={"documents": [{"id": "6", "text": "Renew a passport"}]}
        )
        groups = client.post(f"{faq}/duplicates", json={"threshold": 0.9}).json()["groups"]
        assert [sorted(group["ids"]) for group in groups] == [["1", "6"]]

    def test_push_goes_to_named_targets_only(self, home, tmp_path):
        home.create_collection("faq").upsert([("1", "renew a passport")])
        url = f"parquet://{tmp_path}/pushed"
        with TestClient(create_app(home, targets={"lake": url})) as client:
            report = client.post("/collections/faq/push", json={"target": "lake"}).json()
            assert (report["added"], report["target"]) == (1, "lake")
            assert (tmp_path / "pushed").is_dir()
            other = f"parquet://{tmp_path}/other"
            answer = client.post("/collections/faq/push", json={"target": other})
            assert answer.status_code == 404
            assert not (tmp_path / "other").exists()


def test_a_home_is_shared_with_the_command_line(client, faq, home: Home):
    """What another process stores is found by the next search."""
    home.collection("faq").upsert([("z", "a zebra crossing")])
    [hit] = client.post(f"{faq}/search", json={"query": "zebra", "k": 1}).json()["results"]
    assert hit["id"] == "z"


def test_a_server_without_its_home_is_not_ready(client, home):
    assert client.get("/health/ready").json() == {"status": "ready"}
    client.app.state.ready = False
    answer = client.get("/health/ready")
    assert (answer.status_code, answer.json()) == (503, {"status": "starting"})
    shutil.rmtree(home.root)
    answer = client.get("/health/ready")
    assert answer.status_code == 503
    assert answer.json() == {"status": "the home was removed or replaced"}


def test_a_collection_is_described(client):
    client.post("/collections", json={"name": "described"})
    body = {"description": "Questions about visas"}
    answer = client.put("/collections/described/description", json=body)
    assert answer.status_code == 200
    assert answer.json()["description"] == "Questions about visas"
    assert client.get("/collections/described").json()["description"] == "Questions about visas"
    wrong = client.put("/collections/described/description", json={"description": "x" * 1001})
    assert wrong.status_code == 400
    told = "the description has 1001 characters; expected at most 1000"
    assert wrong.json()["error"]["message"] == told
    missing = client.put("/collections/nope/description", json=body)
    assert missing.status_code == 404


def test_synonyms_are_set_and_used(client):
    client.post("/collections", json={"name": "shortened"})
    documents = [{"id": "1", "text": "The coffee machine leaks"}, {"id": "2", "text": "Parking"}]
    client.put("/collections/shortened/documents", json={"documents": documents})
    route, groups = "/collections/shortened/synonyms", [["KTR", "coffee machine"]]
    assert client.get(route).json() == {"groups": []}
    sent = [["KTR", " coffee  machine "]]
    assert client.put(route, json={"groups": sent}).json() == {"groups": groups}
    assert client.get(route).json() == {"groups": groups}
    search = "/collections/shortened/search"
    found = client.post(search, json={"query": "our ktr"}).json()
    assert found["synonyms"] == {"KTR": ["coffee machine"]}
    assert found["results"][0]["id"] == "1"
    assert "synonyms" not in client.post(search, json={"query": "parking"}).json()
    wrong = client.put(route, json={"groups": [["KTR"]]})
    assert wrong.status_code == 400
    told = "the number of forms in group 1 is 1; expected 2 to 50, separated by commas"
    assert wrong.json()["error"]["message"] == told
    assert client.get(route).json() == {"groups": groups}
