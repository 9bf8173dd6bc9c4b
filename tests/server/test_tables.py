"""Tables of vector databases that the server searches as collections."""

from __future__ import annotations

import pytest

pytest.importorskip("fastapi")

from fastapi.testclient import TestClient

from assistant import Assistant, command
from gem_index import Document, Home
from gem_index.collection.push.searching import SearchedTarget
from gem_index.errors import ConfigError, CorruptionError, TargetUnavailableError, UnknownNameError
from gem_index.server.app import create_app
from gem_index.text.chunking import Chunking

LONG = "\n".join(f"Chapter {i} is about the river and the {i}th duck of it." for i in range(60))
FAQ = [
    Document(id="visa", text="How do I renew a visa?", metadata={"lang": "en"}),
    Document(id="bank", text="How do I open a bank account?", metadata={"lang": "en"}),
    Document(id="ente", text="Zwei Enten schwimmen im Fluss", metadata={"lang": "de"}),
    Document(id="银行", text="如何开立银行账户", metadata={"lang": "zh"}),
    Document(id="long", text=LONG, metadata={"lang": "en"}),
]


@pytest.fixture(scope="module")
def pushed(tmp_path_factory):
    """The URL of a table, whose collection is in another home."""
    folder = tmp_path_factory.mktemp("tables")
    made = Home(folder / "home")
    made.build("faq", FAQ, chunking=Chunking(40))
    url = f"parquet://{folder}/table"
    made.collection("faq").push(url)
    return url


@pytest.fixture
def served(pushed, tmp_path):
    home = Home(tmp_path / "home")
    home.build("notes", [("1", "water the plants")])
    with TestClient(create_app(home, tables={"shop": pushed})) as client:
        yield client


def test_a_table_is_searched_as_its_collection_is(served, pushed, tmp_path):
    with Home(tmp_path / "home").target(pushed) as target:
        for query in ("renew a visa", "Enten im Fluss", "银行账户", "the duck of chapter 31"):
            body = {"query": query, "k": 3, "where": {"lang": {"$in": ["en", "de", "zh"]}}}
            found = served.post("/collections/shop/search", json=body).json()["results"]
            own = target.search(query, 3, body["where"])
            assert found == [hit.to_dict() for hit in own]
            assert len(found) == 3
    many = {"queries": ["renew a visa", "Enten"], "k": 1, "why": True}
    searches = served.post("/collections/shop/search", json=many).json()["searches"]
    assert [each["results"][0]["id"] for each in searches] == ["visa", "ente"]
    assert searches[0]["results"][0]["why"]["pairs"]


def test_a_table_is_read_explained_and_a_knowledge_base(served):
    document = served.get("/collections/shop/documents/long").json()
    assert document["text"] == LONG
    assert document["metadata"] == {"lang": "en"}
    missing = served.get("/collections/shop/documents/none")
    assert missing.status_code == 404
    assert served.post("/collections/shop/explain", json={"text": "a visa"}).json()["words"]
    ranked = {"query": "a visa", "candidates": ["water", "renew a visa"], "top_n": 1}
    [best] = served.post("/collections/shop/rerank", json=ranked).json()["results"]
    assert best["text"] == "renew a visa"
    asked = {"knowledge_id": "shop", "query": "renew a visa"}
    assert served.post("/retrieval", json=asked).json()["records"][0]["title"] == "visa"


def test_tables_are_listed_beside_the_collections(served):
    listed = served.get("/collections").json()
    assert [each["name"] for each in listed["collections"]] == ["notes"]
    assert listed["tables"] == [{"name": "shop"}]


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "", None),
        ("DELETE", "", None),
        ("GET", "/drift", None),
        ("GET", "/documents", None),
        ("PUT", "/documents", {"documents": [{"id": "1", "text": "a"}]}),
        ("POST", "/documents/delete", {"ids": ["visa"]}),
        ("POST", "/duplicates", {}),
        ("POST", "/refit", None),
        ("POST", "/similar", {"id": "visa"}),
        ("PUT", "/description", {"description": "a"}),
        ("GET", "/synonyms", None),
        ("PUT", "/synonyms", {"groups": []}),
    ],
)
def test_more_than_a_search_is_refused(served, method, path, body):
    answer = served.request(method, f"/collections/shop{path}", json=body)
    assert answer.status_code == 400
    assert "'shop' is a table of a vector database; expected a collection" in answer.text
    assert served.get("/collections/shop/documents/visa").status_code == 200


def test_a_collection_cannot_take_the_name_of_a_table(served, pushed, tmp_path):
    assert served.post("/collections", json={"name": "shop"}).status_code == 400
    home = Home(tmp_path / "home")
    assert [each.name for each in home.collections()] == ["notes"]
    with pytest.raises(ConfigError, match="'notes' is a collection of the home; expected another"):
        create_app(home, tables={"notes": pushed})
    with pytest.raises(UnknownNameError):
        create_app(home, tables={"other": "nowhere://table"})


def test_options_that_tables_do_not_have_are_refused(served):
    for option in ({"mode": "lexical"}, {"rerank": True}, {"collapse": True}):
        answer = served.post("/collections/shop/search", json={"query": "a visa", **option})
        assert answer.status_code == 400, option
        assert "for the target parquet://" in answer.json()["error"]["message"]


def test_a_table_that_is_not_there_yet_is_searched_once_it_is(tmp_path):
    home, url = Home(tmp_path / "home"), f"parquet://{tmp_path}/later"
    home.build("notes", [("1", "water the plants")])
    with TestClient(create_app(home, tables={"later": url})) as client:
        answer = client.post("/collections/later/search", json={"query": "plants"})
        assert answer.status_code == 400
        assert "found no table at parquet://" in answer.text
        home.collection("notes").push(url)
        found = client.post("/collections/later/search", json={"query": "plants"}).json()
        assert [hit["id"] for hit in found["results"]] == ["1"]
        home.collection("notes").upsert([("2", "plants in the garden")])
        home.collection("notes").refit()
        home.collection("notes").push(url)
        found = client.post("/collections/later/search", json={"query": "garden"}).json()
        assert found["results"][0]["id"] == "2"


def test_a_database_that_is_away_is_not_asked_by_each_request(served, monkeypatch):
    """Each question takes half a minute, and the requests of a table wait for one another."""
    asked, messages = [], set()

    def away(*_: object, **__: object) -> None:
        asked.append(1)
        raise TargetUnavailableError("parquet://x", "connection refused")

    body = {"query": "renew a visa"}
    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.push.searching.SearchedTarget.search", away)
        for _ in range(3):
            answer = served.post("/collections/shop/search", json=body)
            assert answer.status_code == 503
            assert "cannot be reached: connection refused" in answer.text
            messages.add(answer.json()["error"]["message"])
    assert len(asked) == 1
    assert len(messages) == 1
    monkeypatch.setattr("gem_index.server.tables.monotonic", lambda: float("inf"))
    assert served.post("/collections/shop/search", json=body).status_code == 200


def test_a_table_that_is_damaged_is_opened_again_at_once(served, monkeypatch):
    def damaged(*_: object, **__: object) -> None:
        raise CorruptionError("a file is damaged")

    body = {"query": "renew a visa"}
    with monkeypatch.context() as patch:
        patch.setattr("gem_index.collection.push.searching.SearchedTarget.search", damaged)
        assert served.post("/collections/shop/search", json=body).status_code == 500
    opened = []
    target = Home.target
    monkeypatch.setattr(Home, "target", lambda self, url: opened.append(url) or target(self, url))
    for _ in range(2):
        assert served.post("/collections/shop/search", json=body).status_code == 200
    assert len(opened) == 1


def test_a_wrong_search_leaves_the_table_open(served, monkeypatch):
    body = {"query": "renew a visa"}
    assert served.post("/collections/shop/search", json=body).status_code == 200
    monkeypatch.setattr(Home, "target", None)
    assert served.post("/collections/shop/search", json={"query": "?"}).status_code == 422
    assert served.post("/collections/shop/search", json=body).status_code == 200


def test_a_table_is_closed_with_the_server(pushed, tmp_path, monkeypatch):
    closed = []
    close = SearchedTarget.close
    monkeypatch.setattr(SearchedTarget, "close", lambda self: closed.append(1) or close(self))
    with TestClient(create_app(Home(tmp_path / "home"), tables={"shop": pushed})) as client:
        client.post("/collections/shop/search", json={"query": "a visa"})
        assert not closed
    assert closed == [1]


def test_only_searches_says_so(served):
    assert served.get("/collections/shop").json()["error"]["message"] == (
        "'shop' is a table of a vector database; expected a collection: a table can be searched and read only"
    )


def test_names_of_tables_need_not_be_names_of_collections(pushed, tmp_path):
    with TestClient(create_app(Home(tmp_path / "home"), tables={"my shop": pushed})) as client:
        body = {"query": "renew a visa", "k": 1}
        [hit] = client.post("/collections/my shop/search", json=body).json()["results"]
        assert hit["id"] == "visa"


def test_an_assistant_sees_collections_beside_a_table_that_is_missing(tmp_path):
    home = Home(tmp_path / "home")
    home.build("notes", [("1", "water the plants")])
    with Assistant(command(home.root, "--table", f"gone=parquet://{tmp_path}/gone")) as assistant:
        notes, gone = assistant.answer("list_collections")["collections"]
        assert notes["documents"] == 1
        assert (gone["name"], gone["documents"], gone["fields"]) == ("gone", 0, [])
        assert gone["description"].startswith("It cannot be searched now: found no table at")


def test_an_assistant_sees_a_table(pushed, tmp_path):
    home = Home(tmp_path / "home")
    home.build("notes", [("1", "water the plants")])
    home.build("secret", [("1", "the secret plants")])
    options = ("--table", f"shop={pushed}", "--collection", "notes", "--allow-add")
    with Assistant(command(home.root, *options)) as assistant:
        notes, shop = assistant.answer("list_collections")["collections"]
        assert (notes["name"], notes["documents"]) == ("notes", 1)
        assert shop["name"] == "shop"
        assert shop["documents"] > len(FAQ)
        assert [each["name"] for each in shop["fields"]] == ["lang"]
        found = assistant.answer("search", collection="shop", query="renew a visa", k=1)
        assert found["results"][0]["id"] == "visa"
        read = assistant.answer("read", collection="shop", ids=["long", "none"])
        assert read["documents"][0]["text"] == LONG
        assert read["missing"] == ["none"]
        assert assistant.answer("explain", collection="shop", text="a visa")["encoders"]
        new = [{"text": "a"}]
        problem = assistant.problem("add", collection="shop", documents=new)
        assert "'shop' is a table of a vector database; expected a collection" in problem
