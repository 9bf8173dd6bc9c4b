"""Keys that make and remove keys, by requests."""

from __future__ import annotations

import json

import pytest
from fastapi.testclient import TestClient

from gem_index.errors import KeyRefusedError
from gem_index.home import key_library
from gem_index.home.key_library import digest_of
from gem_index.server.app import create_app


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


@pytest.fixture
def lead(home):
    return home.keys.add("lead", "keys")


@pytest.fixture
def client(home, lead):
    with TestClient(create_app(home), headers=bearer(lead)) as started:
        yield started


class TestMaking:
    @pytest.mark.parametrize("allowed", ["read", "write", "admin"])
    def test_a_made_key_allows_what_was_asked(self, client, home, allowed):
        answer = client.post("/keys", json={"name": "shop", "allow": allowed})
        assert answer.status_code == 201
        made = answer.json()
        assert (made["name"], made["allow"]) == ("shop", allowed)
        assert answer.headers["cache-control"] == "no-store"
        found = client.get("/access", headers=bearer(made["key"])).json()
        assert found["permission"] == allowed
        [stored] = [each for each in home.keys.list() if each.name == "shop"]
        assert (stored.permission, stored.made_by) == (allowed, "lead")

    def test_reading_is_the_default(self, client):
        assert client.post("/keys", json={"name": "shop"}).json()["allow"] == "read"

    @pytest.mark.parametrize(
        ("body", "status", "told"),
        [
            (
                {"name": "x", "allow": "keys"},
                403,
                "a key cannot make a key that allows keys: the op",
            ),
            ({"name": "x", "allow": "root"}, 422, "'read', 'write', 'admin' or 'keys'"),
            ({"name": "a b"}, 400, "the key name is 'a b'"),
            ({"name": "lead"}, 409, "a key is named 'lead' already"),
            ({"name": "x", "made_by": None}, 422, "made_by"),
            ({}, 422, "name"),
        ],
    )
    def test_what_is_refused(self, client, home, body, status, told):
        answer = client.post("/keys", json=body)
        assert answer.status_code == status
        assert told in answer.json()["error"]["message"]
        assert [each.name for each in home.keys.list()] == ["lead"]

    def test_there_is_a_limit(self, client, monkeypatch):
        """A key that became known to others cannot slow the server with keys: each request is compared with all."""
        monkeypatch.setattr(key_library, "_MOST_MADE", 2)
        for name in ("a", "b"):
            assert client.post("/keys", json={"name": name}).status_code == 201
        answer = client.post("/keys", json={"name": "c"})
        assert answer.status_code == 403
        assert "keys have made 2 keys already" in answer.json()["error"]["message"]
        assert client.delete("/keys/a").status_code == 200
        assert client.post("/keys", json={"name": "c"}).status_code == 201


class TestList:
    def test_it_has_no_secret(self, client, home, lead):
        home.keys.add("shop", "write")
        made = client.post("/keys", json={"name": "tea"}).json()["key"]
        answer = client.get("/keys")
        listed = {each["name"]: each for each in answer.json()["keys"]}
        assert set(listed["tea"]) == {"name", "allow", "created_at", "made_by"}
        found = {name: (each["allow"], each["made_by"]) for name, each in listed.items()}
        assert found == {"lead": ("keys", None), "shop": ("write", None), "tea": ("read", "lead")}
        assert answer.json()["yours"] == "lead"
        for key in (made, lead):
            assert key not in answer.text
            assert digest_of(key).hex() not in answer.text


class TestRemoving:
    def test_a_removed_key_is_refused(self, client, home):
        key = home.keys.add("shop", "write")
        assert client.get("/access", headers=bearer(key)).status_code == 200
        assert client.delete("/keys/shop").json() == {"removed": "shop"}
        assert client.get("/access", headers=bearer(key)).status_code == 401

    @pytest.mark.parametrize(
        ("name", "status", "told"),
        [
            ("lead", 403, "the operator of the server removes it on its machine"),
            ("other", 403, "the key other allows keys, and a key cannot remove such a key"),
            ("nope", 404, "no key is named 'nope'"),
        ],
    )
    def test_what_is_refused(self, client, home, name, status, told):
        home.keys.add("other", "keys")
        answer = client.delete(f"/keys/{name}")
        assert answer.status_code == status
        assert told in answer.json()["error"]["message"]
        assert len(home.keys.list()) == 2


class TestWhoMay:
    @pytest.mark.parametrize("allowed", ["read", "write", "admin"])
    def test_no_other_key(self, client, home, allowed):
        head = bearer(home.keys.add(allowed, allowed))
        home.keys.add("shop")
        for method, path in (("GET", "/keys"), ("POST", "/keys"), ("DELETE", "/keys/shop")):
            answer = client.request(method, path, json={"name": "x"}, headers=head)
            assert answer.status_code == 403, (method, path)
            assert "expected one that allows keys: the operator" in answer.text
        assert {each.name for each in home.keys.list()} == {"lead", allowed, "shop"}

    def test_no_key_of_a_file(self, home):
        """The permissions of such keys end at admin, however the server was started."""
        given = {digest_of("of-a-file"): "keys"}
        with TestClient(create_app(home, keys=given), headers=bearer("of-a-file")) as client:
            answer = client.post("/keys", json={"name": "x"})
            assert answer.status_code == 403
            assert answer.json()["error"]["message"] == (
                "the key does not allow keys, or was removed; expected a key of the home that allows keys: "
                "the operator of the server makes such a key on its machine"
            )
        assert home.keys.list() == []

    def test_nobody_on_a_server_without_keys(self, home):
        """Otherwise the first request would close the server to all others."""
        with TestClient(create_app(home)) as client:
            answer = client.post("/keys", json={"name": "x"})
            assert answer.status_code == 403
            assert answer.json()["error"]["message"].startswith("found no key; expected one that")
        assert home.keys.list() == []

    def test_a_key_that_was_removed_a_moment_ago(self, client, home):
        """A server knows its keys for a second; what they change is checked with the change."""
        assert client.get("/keys").status_code == 200
        home.keys.remove("lead")
        home.keys.add("shop")
        answer = client.post("/keys", json={"name": "x"})
        assert answer.status_code in (401, 403)
        with pytest.raises(KeyRefusedError, match="was removed"):
            home.keys.add("x", maker=digest_of("gem-removed"))
        with pytest.raises(KeyRefusedError, match="was removed"):
            home.keys.remove("shop", maker=digest_of("gem-removed"))
        assert [each.name for each in home.keys.list()] == ["shop"]

    def test_a_key_for_less_is_no_maker(self, home):
        admin = digest_of(home.keys.add("boss", "admin"))
        with pytest.raises(KeyRefusedError, match="does not allow keys"):
            home.keys.add("x", maker=admin)


def test_changes_are_logged_without_secrets(client, logged):
    made = client.post("/keys", json={"name": "tea"}).json()["key"]
    client.delete("/keys/tea")
    lines = [json.loads(line) for line in logged]
    assert [(each["message"], each["name"]) for each in lines if "name" in each] == [
        ("a key was made", "tea"),
        ("a key was removed", "tea"),
    ]
    assert made not in "".join(logged)
